/* particle.c - the built-in particles, and mass, diameter and centre of any.
 *
 * A built-in particle is grown like a protein, because what makes a reconstruction easy or hard
 * is contrast at 7 to 10 A: helices are laid one after the other into a body so that they touch
 * earlier ones without crossing them, loops join their ends, side chains of natural composition
 * fill the space between. Everything comes from one counter-based random stream.
 */
#include "mtip/particle.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/scatter.h"

#define PI 3.14159265358979323846264338327950288

#define AXIS_STEP 1.5       /* A along a helix axis per residue: an alpha helix */
#define AXIS_TURN 100.0     /* degrees per residue */
#define AXIS_SEPARATION 7.5 /* A between axes of helices that touch */
#define AXIS_CONTACT 11.5   /* A: closer axis points count as contact */
#define LOOP_STEP 3.4       /* A between residues of a loop */
#define CANDIDATES 10000    /* helices tried for each place */
#define SIDE_CANDIDATES 8   /* positions tried for each side-chain atom */
#define NEIGHBOUR_RADIUS 14.0

/* A body: whether a helix axis may pass at r, a box that holds it, and how many residues it gets. */
struct body {
    const char *name;
    int (*holds)(const double r[3]);
    double half_box[3];
    int n_residues;
    uint64_t seed;
};

static int in_ellipsoid(const double r[3], const double centre[3], const double half[3])
{
    double sum = 0.0;
    for (int i = 0; i < 3; i++) {
        const double u = (r[i] - centre[i]) / half[i];
        sum += u * u;
    }
    return sum <= 1.0;
}

/* Two unequal domains and a spur; side chains reach 5 A further. */
static int protein_holds(const double r[3])
{
    static const double centre[3][3] = {{-8.0, 0.0, 0.0}, {14.5, 6.0, 4.0}, {-12.0, 14.0, -11.0}};
    static const double half[3][3] = {{19.0, 16.5, 15.0}, {14.0, 11.5, 13.0}, {8.0, 11.0, 8.0}};
    for (int i = 0; i < 3; i++) {
        if (in_ellipsoid(r, centre[i], half[i])) {
            return 1;
        }
    }
    return 0;
}

/* Along z: a round end below, a taper to a blunt end above. */
static int rod_holds(const double r[3])
{
    const double rho = sqrt(r[0] * r[0] + r[1] * r[1]), z = r[2];
    const double radius = 17.5, bottom = -28.5, top = 45.0;
    if (z < bottom) {
        return rho * rho + (z - bottom) * (z - bottom) <= radius * radius;
    }
    return z <= top && rho <= (z < 5.0 ? radius : radius - 10.0 * (z - 5.0) / (top - 5.0));
}

static const struct body bodies[] = {
    {"protein", protein_holds, {30.0, 26.0, 20.0}, 300, 3},
    {"rod", rod_holds, {17.5, 17.5, 47.0}, 960, 5},
};

/* Side-chain atoms of the amino acids and their frequency in proteins (UniProtKB/Swiss-Prot,
 * percent). */
static const struct residue_kind {
    const char *side;
    double percent;
} residue_kinds[] = {
    {"C", 8.25},     {"CCCNCNN", 5.53}, {"CCON", 4.06},       {"CCOO", 5.46},     {"CS", 1.38},
    {"CCCON", 3.93}, {"CCCOO", 6.72},   {"", 7.07},           {"CCNCCN", 2.27},   {"CCCC", 5.91},
    {"CCCC", 9.65},  {"CCCCN", 5.80},   {"CCSC", 2.41},       {"CCCCCCC", 3.86},  {"CCC", 4.74},
    {"CO", 6.65},    {"COC", 5.36},     {"CCCCNCCCCC", 1.10}, {"CCCCCCCO", 2.92}, {"CCC", 6.86},
};
#define N_RESIDUE_KINDS ((int)(sizeof residue_kinds / sizeof residue_kinds[0]))
#define MAX_RESIDUE_ATOMS 14

/* A residue before its side chain: alpha carbon, the axis of its piece of chain, outward
 * direction. */
struct residue {
    double alpha[3], axis[3], outward[3];
    int in_helix;
};

struct helix {
    double start[3], axis[3];
    int n_residues;
};

struct chain {
    const struct body *body;
    struct rng rng;
    struct residue *residues; /* owned [capacity] */
    double *axis_points;      /* owned [capacity][3], of helices laid so far */
    int64_t n_residues, n_axis_points, capacity;
};

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static double distance(const double a[3], const double b[3])
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(dot(d, d));
}

static void normalise(double a[3])
{
    const double scale = 1.0 / (sqrt(dot(a, a)) + 1e-30);
    for (int i = 0; i < 3; i++) {
        a[i] *= scale;
    }
}

/* out = a + t b. */
static void along(double out[3], const double a[3], double t, const double b[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = a[i] + t * b[i];
    }
}

static void random_direction(double out[3], struct rng *rng)
{
    const double z = 2.0 * rng_uniform(rng) - 1.0, phi = 2.0 * PI * rng_uniform(rng);
    const double rho = sqrt(1.0 - z * z);
    out[0] = rho * cos(phi);
    out[1] = rho * sin(phi);
    out[2] = z;
}

/* Two unit vectors that make a right-handed frame with the unit vector `axis`. */
static void frame_about(double u[3], double v[3], const double axis[3])
{
    const double pick[3] = {fabs(axis[0]) < 0.6, fabs(axis[0]) >= 0.6, 0.0};
    along(u, pick, -dot(pick, axis), axis);
    normalise(u);
    v[0] = axis[1] * u[2] - axis[2] * u[1];
    v[1] = axis[2] * u[0] - axis[0] * u[2];
    v[2] = axis[0] * u[1] - axis[1] * u[0];
}

/* Contacts of a helix with those laid before, -1 when it leaves the body or crosses one. The far
 * end is looked at first: it is where most candidates fail. */
static double helix_score(const struct chain *chain, const struct helix *helix)
{
    double contacts = 0.0;
    for (int k = helix->n_residues - 1; k >= 0; k--) {
        double point[3];
        along(point, helix->start, k * AXIS_STEP, helix->axis);
        if (!chain->body->holds(point)) {
            return -1.0;
        }
        for (int64_t j = 0; j < chain->n_axis_points; j++) {
            const double *other = &chain->axis_points[3 * j];
            const double d[3] = {point[0] - other[0], point[1] - other[1], point[2] - other[2]};
            const double d2 = dot(d, d);
            if (d2 < AXIS_SEPARATION * AXIS_SEPARATION) {
                return -1.0;
            }
            contacts += d2 < AXIS_CONTACT * AXIS_CONTACT;
        }
    }
    return contacts + helix->n_residues;
}

/* The best of many random helices of `shortest` residues and up to `spread` more: most in
 * contact, its start near the end of the last one. 0 when none fits. */
static int helix_find(struct helix *best, struct chain *chain, const double *last_end, int shortest,
                      int spread)
{
    double best_score = 0.0;
    for (int c = 0; c < CANDIDATES; c++) {
        struct helix helix;
        random_direction(helix.axis, &chain->rng);
        helix.n_residues = shortest + (int)((spread + 1) * rng_uniform(&chain->rng));
        if (last_end != NULL && c % 2 == 0) {
            double step[3];
            random_direction(step, &chain->rng);
            along(helix.start, last_end, 8.5 + 3.5 * rng_uniform(&chain->rng), step);
        } else {
            for (int i = 0; i < 3; i++) {
                const double half = chain->body->half_box[i];
                helix.start[i] = half * (2.0 * rng_uniform(&chain->rng) - 1.0);
            }
        }
        double score = helix_score(chain, &helix);
        if (score > 0.0 && last_end != NULL) {
            score -= 0.7 * distance(last_end, helix.start);
            score = score > 0.0 ? score : 0.01;
        }
        if (score > best_score) {
            best_score = score;
            *best = helix;
        }
    }
    return best_score > 0.0;
}

static void residue_add(struct chain *chain, const struct residue *residue)
{
    if (chain->n_residues < chain->capacity) {
        chain->residues[chain->n_residues++] = *residue;
    }
}

/* Alpha carbons on a helix of radius 2.3 A about the axis. */
static void helix_add(struct chain *chain, const struct helix *helix)
{
    double u[3], v[3];
    frame_about(u, v, helix->axis);
    for (int k = 0; k < helix->n_residues; k++) {
        const double phi = k * AXIS_TURN * PI / 180.0;
        double point[3];
        struct residue residue = {.in_helix = 1};
        along(point, helix->start, k * AXIS_STEP, helix->axis);
        for (int i = 0; i < 3; i++) {
            residue.outward[i] = cos(phi) * u[i] + sin(phi) * v[i];
            residue.axis[i] = helix->axis[i];
        }
        along(residue.alpha, point, 2.3, residue.outward);
        residue_add(chain, &residue);
        if (chain->n_axis_points < chain->capacity) {
            memcpy(&chain->axis_points[3 * chain->n_axis_points++], point, sizeof point);
        }
    }
}

/* A loop from the last residue to `to`, bowed to one side. */
static void loop_add(struct chain *chain, const double to[3])
{
    double from[3], direction[3], u[3], v[3];
    memcpy(from, chain->residues[chain->n_residues - 1].alpha, sizeof from);
    along(direction, to, -1.0, from);
    const double length = sqrt(dot(direction, direction));
    const int count = (int)(length / LOOP_STEP);
    normalise(direction);
    frame_about(u, v, direction);
    const double phi = 2.0 * PI * rng_uniform(&chain->rng);
    for (int k = 1; k <= count; k++) {
        const double t = (double)k / (count + 1);
        struct residue residue = {.in_helix = 0};
        for (int i = 0; i < 3; i++) {
            residue.outward[i] = cos(phi + 2.0 * k) * u[i] + sin(phi + 2.0 * k) * v[i];
            residue.axis[i] = direction[i];
            residue.alpha[i] = from[i] + t * length * direction[i] +
                               3.0 * sin(PI * t) * (cos(phi) * u[i] + sin(phi) * v[i]);
        }
        residue_add(chain, &residue);
    }
}

/* Helices of 5 to 17 residues while one fits, then single turns in the gaps. */
static void chain_grow(struct chain *chain)
{
    struct helix helix;
    double end[3];
    const double *last_end = NULL;
    int shortest = 5, spread = 12;
    while (chain->n_residues < chain->body->n_residues) {
        if (!helix_find(&helix, chain, last_end, shortest, spread)) {
            if (shortest == 2) {
                break;
            }
            shortest = 2;
            spread = 2;
            continue;
        }
        if (last_end != NULL) {
            loop_add(chain, helix.start);
        }
        helix_add(chain, &helix);
        along(end, helix.start, (helix.n_residues - 1) * AXIS_STEP, helix.axis);
        last_end = end;
    }
    if (chain->n_residues > chain->body->n_residues) {
        chain->n_residues = chain->body->n_residues;
    }
}

static int element_of(char symbol)
{
    return symbol == 'C' ? 6 : symbol == 'N' ? 7 : symbol == 'O' ? 8 : 16;
}

static void atom_add(struct atoms *atoms, const double r[3], char symbol)
{
    memcpy(&atoms->xyz[3 * atoms->n], r, 3 * sizeof *r);
    atoms->element[atoms->n] = element_of(symbol);
    atoms->occupancy[atoms->n] = 1.0;
    atoms->b_factor[atoms->n] = 20.0;
    atoms->n++;
}

/* N, CA, C, O about an alpha carbon: (along the axis, outward, around) in A, of an ideal alpha
 * helix, and of an extended chain. */
static void backbone_add(struct atoms *atoms, const struct residue *residue)
{
    static const double helix_offsets[4][3] = {
        {-0.9, -1.0, -0.75}, {0.0, 0.0, 0.0}, {1.1, -0.9, 0.75}, {2.2, -0.5, 0.85}};
    static const double loop_offsets[4][3] = {
        {-1.2, -0.8, 0.0}, {0.0, 0.0, 0.0}, {1.25, -0.8, 0.0}, {1.3, -2.0, 0.2}};
    const double(*offsets)[3] = residue->in_helix ? helix_offsets : loop_offsets;
    const double *a = residue->axis, *o = residue->outward;
    const double around[3] = {a[1] * o[2] - a[2] * o[1], a[2] * o[0] - a[0] * o[2],
                              a[0] * o[1] - a[1] * o[0]};
    for (int k = 0; k < 4; k++) {
        double r[3];
        for (int i = 0; i < 3; i++) {
            r[i] = residue->alpha[i] + offsets[k][0] * a[i] + offsets[k][1] * o[i] +
                   offsets[k][2] * around[i];
        }
        atom_add(atoms, r, "NCCO"[k]);
    }
}

/* Grows a side chain from the alpha carbon, each atom 1.5 A from the one before, outward, where
 * there is most room. near: scratch for indices of all atoms. */
static void side_chain_add(struct atoms *atoms, const struct residue *residue, const char *side,
                           struct rng *rng, int64_t *near)
{
    int64_t n_near = 0;
    double last[3];
    memcpy(last, residue->alpha, sizeof last);
    for (int64_t j = 0; j < atoms->n; j++) {
        if (distance(&atoms->xyz[3 * j], residue->alpha) < NEIGHBOUR_RADIUS) {
            near[n_near++] = j;
        }
    }
    for (; *side != '\0'; side++) {
        double best[3] = {0.0}, best_room = -1.0;
        for (int c = 0; c < SIDE_CANDIDATES; c++) {
            double step[3], r[3], room = 3.5;
            random_direction(step, rng);
            along(step, step, 0.8, residue->outward);
            normalise(step);
            along(r, last, 1.5, step);
            for (int64_t k = 0; k < n_near; k++) {
                const double d = distance(r, &atoms->xyz[3 * near[k]]);
                room = d < room ? d : room;
            }
            if (room > best_room) {
                best_room = room;
                memcpy(best, r, sizeof best);
            }
        }
        near[n_near++] = atoms->n;
        atom_add(atoms, best, *side);
        memcpy(last, best, sizeof last);
    }
}

/* Leaves out atoms that lie closer than a bond to an earlier one: loops are drawn without
 * looking. */
static void clashes_remove(struct atoms *atoms)
{
    const double bond = 1.15;
    int64_t kept = 0;
    for (int64_t i = 0; i < atoms->n; i++) {
        int clash = 0;
        for (int64_t j = 0; j < kept && !clash; j++) {
            clash = distance(&atoms->xyz[3 * i], &atoms->xyz[3 * j]) < bond;
        }
        if (!clash) {
            memmove(&atoms->xyz[3 * kept], &atoms->xyz[3 * i], 3 * sizeof *atoms->xyz);
            atoms->element[kept++] = atoms->element[i];
        }
    }
    atoms->n = kept; /* occupancy and B are the same for all */
}

static const char *side_chain_pick(struct rng *rng)
{
    double total = 0.0, sum = 0.0;
    for (int k = 0; k < N_RESIDUE_KINDS; k++) {
        total += residue_kinds[k].percent;
    }
    const double pick = total * rng_uniform(rng);
    for (int k = 0; k < N_RESIDUE_KINDS; k++) {
        sum += residue_kinds[k].percent;
        if (pick < sum) {
            return residue_kinds[k].side;
        }
    }
    return "";
}

static enum mtip_status chain_to_atoms(struct atoms *atoms, struct chain *chain)
{
    enum mtip_status status = MTIP_OK;
    int64_t *near = NULL;
    const int64_t capacity = chain->n_residues * MAX_RESIDUE_ATOMS;

    MTIP_TRY(MEMORY_ALLOC(&near, capacity, "neighbours of a side chain"));
    MTIP_TRY(atoms_alloc(atoms, capacity));
    atoms->n = 0;
    for (int64_t i = 0; i < chain->n_residues; i++) {
        backbone_add(atoms, &chain->residues[i]);
    }
    for (int64_t i = 0; i < chain->n_residues; i++) {
        side_chain_add(atoms, &chain->residues[i], side_chain_pick(&chain->rng), &chain->rng, near);
    }
    clashes_remove(atoms);

cleanup:
    memory_free(&near);
    return status;
}

enum mtip_status particle_create(struct atoms *atoms, const char *name)
{
    enum mtip_status status = MTIP_OK;
    struct chain chain = {.body = NULL};

    memset(atoms, 0, sizeof *atoms);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        if (strcmp(bodies[i].name, name) == 0) {
            chain.body = &bodies[i];
        }
    }
    if (chain.body == NULL) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "no built-in particle is called '%s'; there are protein and rod", name);
    }
    chain.rng = rng_stream(chain.body->seed, RNG_PARTICLE, 0, 0);
    chain.capacity = chain.body->n_residues + 64; /* the last loop and helix may pass the end */
    MTIP_TRY(MEMORY_ALLOC(&chain.residues, chain.capacity, "residues"));
    MTIP_TRY(MEMORY_ALLOC(&chain.axis_points, 3 * chain.capacity, "helix axes"));
    chain_grow(&chain);
    MTIP_TRY(chain_to_atoms(atoms, &chain));
    particle_centre(atoms);

cleanup:
    memory_free(&chain.residues);
    memory_free(&chain.axis_points);
    if (status != MTIP_OK) {
        atoms_release(atoms);
    }
    return status;
}

void particle_centre(struct atoms *atoms)
{
    double sum[3] = {0.0, 0.0, 0.0}, electrons = 0.0;
    for (int64_t j = 0; j < atoms->n; j++) {
        const double weight = atoms->occupancy[j] * atoms->element[j];
        electrons += weight;
        along(sum, sum, weight, &atoms->xyz[3 * j]);
    }
    if (!(electrons > 0.0)) {
        return;
    }
    for (int64_t j = 0; j < atoms->n; j++) {
        along(&atoms->xyz[3 * j], &atoms->xyz[3 * j], -1.0 / electrons, sum);
    }
}

double particle_mass_kDa(const struct atoms *atoms)
{
    double mass = 0.0, hydrogens = 0.0;
    int has_hydrogen = 0;
    for (int64_t j = 0; j < atoms->n; j++) {
        const int z = atoms->element[j];
        if (z < 1 || z > SCATTER_MAX_Z) {
            continue;
        }
        mass += atoms->occupancy[j] * scatter_elements[z - 1].mass_Da;
        has_hydrogen |= z == 1;
        hydrogens += z >= 6 && z <= 8 ? atoms->occupancy[j] : 0.0;
    }
    if (!has_hydrogen) {
        mass += hydrogens * scatter_elements[0].mass_Da;
    }
    return 1e-3 * mass;
}

/* Only atoms far from the centre can be an end of the longest line: with R the largest radius
 * found, a pair (i, j) is no longer than r_i + R, so inner atoms are skipped. */
double particle_diameter_A(const struct atoms *atoms)
{
    const double origin[3] = {0.0, 0.0, 0.0};
    double largest_radius = 0.0, longest = 0.0;
    for (int64_t j = 0; j < atoms->n; j++) {
        const double r = distance(&atoms->xyz[3 * j], origin);
        largest_radius = r > largest_radius ? r : largest_radius;
    }
    for (int64_t i = 0; i < atoms->n; i++) {
        if (distance(&atoms->xyz[3 * i], origin) + largest_radius <= longest) {
            continue;
        }
        for (int64_t j = 0; j < i; j++) {
            const double d = distance(&atoms->xyz[3 * i], &atoms->xyz[3 * j]);
            longest = d > longest ? d : longest;
        }
    }
    return longest + 3.0;
}
