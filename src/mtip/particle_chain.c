/* particle_chain.c - growing the chain of a built-in particle: helices, and loops between them. */
#include "mtip/particle_chain.h"

#include <math.h>
#include <string.h>

#include "mtip/vec3.h"

#define PI 3.14159265358979323846264338327950288

#define AXIS_STEP 1.5       /* A along a helix axis per residue: an alpha helix */
#define AXIS_TURN 100.0     /* degrees per residue */
#define AXIS_SEPARATION 7.5 /* A between axes of helices that touch */
#define AXIS_CONTACT 11.5   /* A: closer axis points count as contact */
#define LOOP_STEP 3.4       /* A between residues of a loop */
#define CANDIDATES 10000    /* helices tried for each place */

struct helix {
    double start[3], axis[3];
    int n_residues;
};

void particle_random_direction(double out[3], struct rng *rng)
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
    vec_along(u, pick, -vec_dot(pick, axis), axis);
    vec_normalise(u);
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
        vec_along(point, helix->start, k * AXIS_STEP, helix->axis);
        if (!chain->body->holds(point)) {
            return -1.0;
        }
        for (int64_t j = 0; j < chain->n_axis_points; j++) {
            const double *other = &chain->axis_points[3 * j];
            const double d[3] = {point[0] - other[0], point[1] - other[1], point[2] - other[2]};
            const double d2 = vec_dot(d, d);
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
        particle_random_direction(helix.axis, &chain->rng);
        helix.n_residues = shortest + (int)((spread + 1) * rng_uniform(&chain->rng));
        if (last_end != NULL && c % 2 == 0) {
            double step[3];
            particle_random_direction(step, &chain->rng);
            vec_along(helix.start, last_end, 8.5 + 3.5 * rng_uniform(&chain->rng), step);
        } else {
            for (int i = 0; i < 3; i++) {
                const double half = chain->body->half_box[i];
                helix.start[i] = half * (2.0 * rng_uniform(&chain->rng) - 1.0);
            }
        }
        double score = helix_score(chain, &helix);
        if (score > 0.0 && last_end != NULL) {
            score -= 0.7 * vec_distance(last_end, helix.start);
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
        vec_along(point, helix->start, k * AXIS_STEP, helix->axis);
        for (int i = 0; i < 3; i++) {
            residue.outward[i] = cos(phi) * u[i] + sin(phi) * v[i];
            residue.axis[i] = helix->axis[i];
        }
        vec_along(residue.alpha, point, 2.3, residue.outward);
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
    vec_along(direction, to, -1.0, from);
    const double length = sqrt(vec_dot(direction, direction));
    const int count = (int)(length / LOOP_STEP);
    vec_normalise(direction);
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
void particle_chain_grow(struct chain *chain)
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
        vec_along(end, helix.start, (helix.n_residues - 1) * AXIS_STEP, helix.axis);
        last_end = end;
    }
    if (chain->n_residues > chain->body->n_residues) {
        chain->n_residues = chain->body->n_residues;
    }
}
