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
#include "mtip/particle_chain.h"
#include "mtip/scatter.h"
#include "mtip/vec3.h"

#define SIDE_CANDIDATES 8 /* positions tried for each side-chain atom */
#define NEIGHBOUR_RADIUS 14.0

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

static const struct particle_body bodies[] = {
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
        if (vec_distance(&atoms->xyz[3 * j], residue->alpha) < NEIGHBOUR_RADIUS) {
            near[n_near++] = j;
        }
    }
    for (; *side != '\0'; side++) {
        double best[3] = {0.0}, best_room = -1.0;
        for (int c = 0; c < SIDE_CANDIDATES; c++) {
            double step[3], r[3], room = 3.5;
            particle_random_direction(step, rng);
            vec_along(step, step, 0.8, residue->outward);
            vec_normalise(step);
            vec_along(r, last, 1.5, step);
            for (int64_t k = 0; k < n_near; k++) {
                const double d = vec_distance(r, &atoms->xyz[3 * near[k]]);
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
            clash = vec_distance(&atoms->xyz[3 * i], &atoms->xyz[3 * j]) < bond;
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
    chain.capacity = chain.body->n_residues + PARTICLE_CHAIN_SPARE;
    MTIP_TRY(MEMORY_ALLOC(&chain.residues, chain.capacity, "residues"));
    MTIP_TRY(MEMORY_ALLOC(&chain.axis_points, 3 * chain.capacity, "helix axes"));
    particle_chain_grow(&chain);
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
        vec_along(sum, sum, weight, &atoms->xyz[3 * j]);
    }
    if (!(electrons > 0.0)) {
        return;
    }
    for (int64_t j = 0; j < atoms->n; j++) {
        vec_along(&atoms->xyz[3 * j], &atoms->xyz[3 * j], -1.0 / electrons, sum);
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
        const double r = vec_distance(&atoms->xyz[3 * j], origin);
        largest_radius = r > largest_radius ? r : largest_radius;
    }
    for (int64_t i = 0; i < atoms->n; i++) {
        if (vec_distance(&atoms->xyz[3 * i], origin) + largest_radius <= longest) {
            continue;
        }
        for (int64_t j = 0; j < i; j++) {
            const double d = vec_distance(&atoms->xyz[3 * i], &atoms->xyz[3 * j]);
            longest = d > longest ? d : longest;
        }
    }
    return longest + 3.0;
}
