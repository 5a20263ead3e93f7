/* compare_search.c - rotation by correlation of amplitudes: an even grid over SO(3) at low
 * resolution, then fewer and fewer candidates at finer and finer shells, each refined by
 * Nelder-Mead.
 *
 * Amplitudes of a particle of diameter D change over 1/D in reciprocal space, so a turn that
 * matters at |s| is 1 / (D |s|) radians: this ties every angle here to a resolution.
 */
#include "mtip/compare_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/orient.h"
#include "mtip/resolution.h"
#include "mtip/simplex.h"

/* |s| D at which the grid search looks: high enough to tell rotations apart, low enough for a
 * coarse grid. */
#define COARSE_REACH 3.2
#define GRID_STEP 0.75 /* of the turn that matters there */
#define COARSE_POINTS 700
#define BATCH_POINTS ((int64_t)1 << 17)

/* The rounds after the grid: candidates kept, resolution as |s| D (0 = all), points, simplex as
 * part of the turn that matters, evaluations. */
static const struct round {
    int keep;
    double reach;
    int64_t points;
    double simplex;
    int evaluations;
} rounds[] = {
    {24, 4.5, 1200, 0.9, 45},
    {8, 8.0, 3000, 0.7, 50},
    {3, 14.0, 5000, 0.5, 50},
    {1, 0.0, 9000, 0.3, 90},
};
#define N_ROUNDS ((int)(sizeof rounds / sizeof rounds[0]))

struct candidate {
    double q[4];
    double score;
};

/* Points of one round with the density's amplitudes, normalised in each shell to mean 0 and norm
 * 1. */
struct points {
    const struct compare_search *search; /* borrowed */
    int64_t n, n_shells, capacity;       /* capacity: rotations evaluated at a time */
    double *s;                           /* owned [n][3] */
    double *target;                      /* owned [n] */
    int64_t *shell;                      /* owned [n] */
    double *count;                       /* owned [n_shells] */
    double *weight;                      /* owned [n_shells] of each shell in the score */
    double *rotated;                     /* owned [capacity][n][3] */
    double *amplitude;                   /* owned [capacity][n][2] */
    double *sums;                        /* owned [n_shells][3] */
};

static void points_release(struct points *points)
{
    memory_free(&points->s);
    memory_free(&points->target);
    memory_free(&points->shell);
    memory_free(&points->count);
    memory_free(&points->weight);
    memory_free(&points->rotated);
    memory_free(&points->amplitude);
    memory_free(&points->sums);
}

static double wave_number(int64_t index, int64_t M)
{
    return (double)(index <= M / 2 ? index : index - M);
}

/* One of each Friedel pair inside the half spectrum. */
static int is_upper_half(int64_t z, int64_t y, int64_t x, int64_t M)
{
    const double k_z = wave_number(z, M), k_y = wave_number(y, M);
    return x > 0 || k_y > 0 || (k_y == 0.0 && k_z > 0);
}

/* Calls of `take` for the modes of shells 0 .. n_shells - 1: counts them (points->s NULL), or
 * keeps a random part. */
static int64_t points_scan(struct points *points, double part)
{
    const struct compare_search *search = points->search;
    const int64_t M = search->M, n_x = M / 2 + 1;
    const double step = 1.0 / ((double)M * search->voxel_A);
    struct rng rng = rng_stream(1, RNG_TEST, (uint64_t)points->n_shells, 0);
    int64_t n = 0;
    for (int64_t zy = 0; zy < M * M; zy++) {
        for (int64_t x = 0; x < n_x; x++) {
            const int64_t z = zy / M, y = zy % M;
            const int64_t shell = resolution_shell(z, y, x, M);
            if (shell < 0 || shell >= points->n_shells || !is_upper_half(z, y, x, M) ||
                rng_uniform(&rng) >= part) {
                continue;
            }
            if (points->s != NULL) {
                const double *f = &search->half_spectrum[2 * (zy * n_x + x)];
                points->s[3 * n] = step * wave_number(x, M);
                points->s[3 * n + 1] = step * wave_number(y, M);
                points->s[3 * n + 2] = step * wave_number(z, M);
                points->target[n] = sqrt(f[0] * f[0] + f[1] * f[1]);
                points->shell[n] = shell;
            }
            n++;
        }
    }
    return n;
}

static void normalise_target(struct points *points)
{
    double *sums = points->sums;
    memset(sums, 0, 3 * (size_t)points->n_shells * sizeof *sums);
    for (int64_t i = 0; i < points->n; i++) {
        points->count[points->shell[i]] += 1.0;
        sums[3 * points->shell[i]] += points->target[i];
    }
    for (int64_t i = 0; i < points->n; i++) {
        const int64_t k = points->shell[i];
        points->target[i] -= sums[3 * k] / points->count[k];
        sums[3 * k + 1] += points->target[i] * points->target[i];
    }
    for (int64_t i = 0; i < points->n; i++) {
        const double norm = sqrt(sums[3 * points->shell[i] + 1]);
        points->target[i] = norm > 0.0 ? points->target[i] / norm : 0.0;
    }
}

/* A few modes correlate by chance. */
#define LEAST_MODES 4.0

/* Every shell counts by its modes. */
static void weigh_by_modes(struct points *points)
{
    for (int64_t k = 0; k < points->n_shells; k++) {
        points->weight[k] = points->count[k] < LEAST_MODES ? 0.0 : points->count[k];
    }
}

/* Points up to |s| D = reach (0 = all usable shells), at most about `most` of them, for
 * `capacity` rotations at once. */
static enum mtip_status points_create(struct points *points, const struct compare_search *search,
                                      double reach, int64_t most, int64_t capacity)
{
    enum mtip_status status = MTIP_OK;
    const double box = (double)search->M * search->voxel_A;
    *points = (struct points){.search = search, .n_shells = search->n_shells};
    if (reach > 0.0) {
        const double shells = reach * box / search->diameter_A;
        const int64_t wanted = shells < 3.0 ? 3 : (int64_t)shells;
        points->n_shells = wanted < search->n_shells ? wanted : search->n_shells;
    }
    const int64_t all = points_scan(points, 1.0);
    const double part = all > most ? (double)most / (double)all : 1.0;
    points->n = points_scan(points, part);
    if (points->n < 10) {
        MTIP_FAIL(MTIP_ERR_DATA,
                  "compare: only %lld Fourier modes lie inside the resolution limits",
                  (long long)points->n);
    }
    points->capacity = capacity > 0 ? capacity : BATCH_POINTS / points->n + 1;
    MTIP_TRY(MEMORY_ALLOC(&points->s, 3 * points->n, "points of compare"));
    MTIP_TRY(MEMORY_ALLOC(&points->target, points->n, "points of compare"));
    MTIP_TRY(MEMORY_ALLOC(&points->shell, points->n, "points of compare"));
    MTIP_TRY(MEMORY_ALLOC(&points->count, points->n_shells, "points of compare"));
    MTIP_TRY(MEMORY_ALLOC(&points->weight, points->n_shells, "points of compare"));
    MTIP_TRY(MEMORY_ALLOC(&points->sums, 3 * points->n_shells, "points of compare"));
    MTIP_TRY(MEMORY_ALLOC(&points->rotated, 3 * points->n * points->capacity, "rotated points"));
    MTIP_TRY(MEMORY_ALLOC(&points->amplitude, 2 * points->n * points->capacity, "amplitudes"));
    (void)points_scan(points, part);
    normalise_target(points);
    weigh_by_modes(points);
cleanup:
    return status;
}

/* Correlation in shell k, from the sums that correlate() has made. */
static double shell_correlation(const struct points *points, int64_t k)
{
    const double *sum = &points->sums[3 * k], n = points->count[k];
    const double variance = n > 0.0 ? sum[1] - sum[0] * sum[0] / n : 0.0;
    return variance > 0.0 ? sum[2] / sqrt(variance) : 0.0;
}

/* Mean over shells of the correlation of |amplitude| [n][2] with the target. */
static double correlate(const struct points *points, const double *amplitude)
{
    double *sums = points->sums, total = 0.0, weight = 0.0;
    memset(sums, 0, 3 * (size_t)points->n_shells * sizeof *sums);
    for (int64_t i = 0; i < points->n; i++) {
        const double re = amplitude[2 * i], im = amplitude[2 * i + 1];
        const double squared = re * re + im * im, value = sqrt(squared);
        double *sum = &sums[3 * points->shell[i]];
        sum[0] += value;
        sum[1] += squared;
        sum[2] += value * points->target[i];
    }
    for (int64_t k = 0; k < points->n_shells; k++) {
        total += points->weight[k] * shell_correlation(points, k);
        weight += points->weight[k];
    }
    return weight > 0.0 ? total / weight : 0.0;
}

/* Scores of n rotations, n <= capacity. */
static enum mtip_status evaluate(struct candidate *candidates, const struct points *points,
                                 int64_t n)
{
    enum mtip_status status = MTIP_OK;
    for (int64_t c = 0; c < n; c++) {
        double rotation[9];
        double *out = &points->rotated[3 * c * points->n];
        quaternion_to_matrix(rotation, candidates[c].q);
        for (int64_t i = 0; i < points->n; i++) {
            const double *s = &points->s[3 * i];
            for (int row = 0; row < 3; row++) {
                out[3 * i + row] = rotation[3 * row] * s[0] + rotation[3 * row + 1] * s[1] +
                                   rotation[3 * row + 2] * s[2];
            }
        }
    }
    MTIP_TRY(scatter_map_amplitudes(points->search->map, points->amplitude, points->rotated,
                                    n * points->n));
    for (int64_t c = 0; c < n; c++) {
        candidates[c].score = correlate(points, &points->amplitude[2 * c * points->n]);
    }
cleanup:
    return status;
}

/* What a turn about a start is scored with. */
struct refinement {
    const struct points *points;
    double start[4];
};

/* q = the turn of a rotation vector (radians), after the start. */
static void turn_start(double q[4], const struct refinement *refinement, const double vector[3])
{
    double turn[4];
    quaternion_from_vector(turn, vector);
    quaternion_multiply(q, turn, refinement->start);
}

static enum mtip_status score_turn(double *value, const double vector[3], void *work)
{
    const struct refinement *refinement = work;
    struct candidate candidate;
    turn_start(candidate.q, refinement, vector);
    const enum mtip_status status = evaluate(&candidate, refinement->points, 1);
    *value = status == MTIP_OK ? candidate.score : 0.0;
    return status;
}

/* Climbs from candidate->q; size in radians. */
static enum mtip_status refine(struct candidate *candidate, const struct points *points,
                               double size, int evaluations)
{
    struct refinement refinement = {.points = points};
    double vector[3] = {0.0, 0.0, 0.0};
    memcpy(refinement.start, candidate->q, sizeof refinement.start);
    const enum mtip_status status =
        simplex_climb(vector, &candidate->score, size, evaluations, score_turn, &refinement);
    if (status == MTIP_OK) {
        turn_start(candidate->q, &refinement, vector);
        quaternion_canonical(candidate->q);
    }
    return status;
}

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    return (a->score < b->score) - (a->score > b->score);
}

/* Orders by score and keeps up to `keep` candidates that differ by more than `apart` radians. */
static int64_t keep_distinct(struct candidate *candidates, int64_t n, int64_t keep, double apart)
{
    int64_t kept = 0;
    qsort(candidates, (size_t)n, sizeof *candidates, compare_candidates);
    for (int64_t i = 0; i < n && kept < keep; i++) {
        int is_new = 1;
        for (int64_t j = 0; j < kept && is_new; j++) {
            is_new = quaternion_angle(candidates[i].q, candidates[j].q) > apart;
        }
        if (is_new) {
            candidates[kept++] = candidates[i];
        }
    }
    return kept;
}

/* Scores the grid of n rotations. */
static enum mtip_status search_grid(struct candidate *candidates, int64_t n,
                                    const struct compare_search *search)
{
    enum mtip_status status = MTIP_OK;
    struct points points = {.search = NULL};
    MTIP_TRY(points_create(&points, search, COARSE_REACH, COARSE_POINTS, 0));
    for (int64_t first = 0; first < n; first += points.capacity) {
        const int64_t count = n - first < points.capacity ? n - first : points.capacity;
        log_progress(search->log, "rotation", first, n);
        for (int64_t i = first; i < first + count; i++) {
            orient_super_fibonacci(candidates[i].q, i, n, NULL);
        }
        MTIP_TRY(evaluate(&candidates[first], &points, count));
    }
    log_progress(search->log, "rotation", n, n);
cleanup:
    points_release(&points);
    return status;
}

/* Shells that agree at this rotation count by how much they do, so that those a reconstruction did
 * not reach add no noise to the last step. */
static enum mtip_status weigh_by_agreement(struct points *points, const struct candidate *candidate)
{
    struct candidate copy = *candidate;
    const enum mtip_status status = evaluate(&copy, points, 1);
    if (status == MTIP_OK && copy.score > 0.0) {
        for (int64_t k = 0; k < points->n_shells; k++) {
            points->weight[k] *= fmax(shell_correlation(points, k), 0.0);
        }
    }
    return status;
}

/* The turn that matters at the finest shell of `points`. */
static double turn_that_matters(const struct points *points)
{
    const struct compare_search *search = points->search;
    return (double)search->M * search->voxel_A / (search->diameter_A * (double)points->n_shells);
}

enum mtip_status compare_search_rotation(double q[4], double *score,
                                         const struct compare_search *search)
{
    enum mtip_status status = MTIP_OK;
    struct candidate *candidates = NULL;
    struct points points = {.search = NULL};
    const double spacing = GRID_STEP / COARSE_REACH;
    const int64_t n_grid = (int64_t)ceil(79.0 / (spacing * spacing * spacing));
    int64_t n = n_grid;

    MTIP_TRY(MEMORY_ALLOC(&candidates, n_grid + search->n_hints, "rotations"));
    MTIP_TRY(search_grid(candidates, n_grid, search));
    n = keep_distinct(candidates, n, rounds[0].keep, 0.8 * spacing);
    for (int64_t i = 0; i < search->n_hints; i++) {
        memcpy(candidates[n++].q, &search->hints[4 * i], 4 * sizeof *search->hints);
    }
    for (int r = 0; r < N_ROUNDS; r++) {
        const struct round *round = &rounds[r];
        points_release(&points);
        MTIP_TRY(points_create(&points, search, round->reach, round->points, 1));
        const double turn = turn_that_matters(&points);
        if (r + 1 == N_ROUNDS) {
            MTIP_TRY(weigh_by_agreement(&points, &candidates[0]));
        }
        for (int64_t i = 0; i < n; i++) {
            MTIP_TRY(refine(&candidates[i], &points, round->simplex * turn, round->evaluations));
        }
        n = keep_distinct(candidates, n, r + 1 < N_ROUNDS ? rounds[r + 1].keep : 1, 0.2 * turn);
    }
    weigh_by_modes(&points);
    MTIP_TRY(evaluate(candidates, &points, 1));
    memcpy(q, candidates[0].q, sizeof candidates[0].q);
    *score = candidates[0].score;

cleanup:
    points_release(&points);
    memory_free(&candidates);
    return status;
}
