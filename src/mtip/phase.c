/* phase.c - phasing, written once over the kernels of phase_ops.h. */
#include "mtip/phase.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/phase_ops.h"

/* Shrink-wrap may move the support this far out of the bounding ball, a random start begins with
 * START_MARGIN (voxels): the radius is known roughly. */
#define BALL_MARGIN 2.0
#define START_MARGIN 1.0

static const struct phase_ops *const all_ops[BACKEND_COUNT] = {
    [BACKEND_CPU] = &phase_ops_cpu,
#ifdef MTIP_HAVE_CUDA
    [BACKEND_CUDA] = &phase_ops_cuda,
#endif
};

struct phaser {
    const struct phase_ops *ops;
    const struct backend *backend; /* borrowed */
    struct fft_plan *fft;          /* owned */
    int64_t M;
    int64_t n;         /* voxels */
    int64_t n_half;    /* modes of the half spectrum */
    double *magnitude; /* owned, backend: [n_half], -1 where free */
    double *half;      /* owned, backend: [n_half] complex */
    double *work;      /* owned, backend: [n] */
    int has_data;
};

enum mtip_status phaser_create(struct phaser **phaser, const struct backend *backend, int64_t M)
{
    enum mtip_status status = MTIP_OK;
    struct phaser *made = NULL;
    *phaser = NULL;
    if (M < 4) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "phasing: a grid of %lld points a side; it needs 4",
                          (long long)M);
    }
    if (all_ops[backend->kind] == NULL) {
        return MTIP_ERROR(MTIP_ERR_UNSUPPORTED, "phasing: no kernels for the %s backend",
                          backend_kind_name(backend->kind));
    }
    made = calloc(1, sizeof *made);
    if (made == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "phasing: cannot allocate %zu bytes", sizeof *made);
    }
    const int64_t size[3] = {M, M, M};
    made->ops = all_ops[backend->kind];
    made->backend = backend;
    made->M = M;
    MTIP_TRY(fft_plan_create(&made->fft, backend, size));
    made->n = fft_real_count(size);
    made->n_half = fft_half_count(size);
    MTIP_TRY(BACKEND_ALLOC(backend, &made->magnitude, made->n_half, "Fourier magnitudes"));
    MTIP_TRY(BACKEND_ALLOC(backend, &made->half, 2 * made->n_half, "phasing spectrum"));
    MTIP_TRY(BACKEND_ALLOC(backend, &made->work, made->n, "phasing work grid"));
    *phaser = made;
    made = NULL;
cleanup:
    phaser_destroy(&made);
    return status;
}

void phaser_destroy(struct phaser **phaser)
{
    struct phaser *p = *phaser;
    if (p == NULL) {
        return;
    }
    backend_free(p->backend, &p->work);
    backend_free(p->backend, &p->half);
    backend_free(p->backend, &p->magnitude);
    fft_plan_destroy(&p->fft);
    free(p);
    *phaser = NULL;
}

size_t phaser_bytes(int64_t M)
{
    const int64_t size[3] = {M, M, M};
    return (size_t)(3 * fft_half_count(size) + fft_real_count(size)) * sizeof(double);
}

const struct fft_plan *phaser_fft(const struct phaser *phaser)
{
    return phaser->fft;
}

enum mtip_status phaser_set_data(struct phaser *phaser, const double *intensity,
                                 const uint8_t *measured)
{
    phaser->has_data = 1;
    return phaser->ops->magnitudes(phaser->backend, phaser->n_half, phaser->magnitude, intensity,
                                   measured);
}

/* ---- one phasing ----------------------------------------------------------------------------- */

/* `count` iterations of one algorithm: the only loop that costs time. */
static enum mtip_status iterate(struct phaser *p, enum phase_algorithm algorithm, double beta,
                                int count, double *density, const uint8_t *support)
{
    enum mtip_status status = MTIP_OK;
    for (int i = 0; i < count; i++) {
        MTIP_TRY(fft_plan_forward(p->fft, density, p->half));
        MTIP_TRY(p->ops->project(p->backend, p->n_half, p->half, p->magnitude, 1 / (double)p->n));
        MTIP_TRY(fft_plan_inverse(p->fft, p->half, p->work));
        MTIP_TRY(p->ops->update(p->backend, p->n, algorithm, beta, density, p->work, support));
    }
cleanup:
    return status;
}

/* The rank-th largest of n values >= 0 (rank from 1), digit by digit from the top of their bits. */
static enum mtip_status select_value(double *selected, const struct phaser *p, const double *values,
                                     int64_t rank)
{
    enum mtip_status status = MTIP_OK;
    int64_t counts[PHASE_DIGITS];
    uint64_t prefix = 0;
    for (int shift = 5 * PHASE_DIGIT_BITS; shift >= 0; shift -= PHASE_DIGIT_BITS) {
        int digit = PHASE_DIGITS - 1;
        MTIP_TRY(p->ops->histogram(p->backend, p->n, values, prefix, shift, counts));
        while (digit > 0 && counts[digit] < rank) {
            rank -= counts[digit--];
        }
        prefix = prefix << PHASE_DIGIT_BITS | (uint64_t)digit;
    }
    memcpy(selected, &prefix, sizeof *selected);
cleanup:
    return status;
}

/* Support = the n_support brightest voxels, within the ball, of the blurred positive density; all
 * voxels above zero when fewer are. */
static enum mtip_status shrink_wrap(struct phaser *p, const struct phase_schedule *schedule,
                                    double sigma, const double *density, uint8_t *support)
{
    enum mtip_status status = MTIP_OK;
    const int64_t rank = schedule->n_support < p->n ? schedule->n_support : p->n;
    double threshold = 0;
    MTIP_TRY(p->ops->positive(p->backend, p->n, p->work, density, NULL));
    MTIP_TRY(fft_plan_forward(p->fft, p->work, p->half));
    MTIP_TRY(p->ops->blur(p->backend, p->M, p->half, sigma));
    MTIP_TRY(fft_plan_inverse(p->fft, p->half, p->work));
    MTIP_TRY(p->ops->confine(p->backend, p->M, p->work, schedule->radius + BALL_MARGIN));
    MTIP_TRY(select_value(&threshold, p, p->work, rank));
    threshold = threshold > 0 ? threshold : DBL_MIN;
    MTIP_TRY(p->ops->threshold(p->backend, p->n, support, p->work, threshold));
cleanup:
    return status;
}

/* Moves the centre of mass of the density in the support to the origin, by whole voxels. */
static enum mtip_status recentre(struct phaser *p, double *density, uint8_t *support)
{
    enum mtip_status status = MTIP_OK;
    double sums[5];
    int64_t shift[3];
    MTIP_TRY(p->ops->moments(p->backend, p->M, sums, density, support));
    for (int axis = 0; axis < 3; axis++) {
        shift[axis] = sums[0] > 0 ? -(int64_t)lround(sums[axis + 1] / sums[0]) : 0;
    }
    if (shift[0] == 0 && shift[1] == 0 && shift[2] == 0) {
        goto cleanup;
    }
    /* The spectrum's memory is free between iterations and holds the rolled support. */
    uint8_t *rolled = (uint8_t *)p->half;
    MTIP_TRY(p->ops->roll(p->backend, p->M, p->work, density, shift));
    MTIP_TRY(p->ops->roll_support(p->backend, p->M, rolled, support, shift));
    MTIP_TRY(backend_copy(p->backend, density, p->work, (size_t)p->n * sizeof *density));
    MTIP_TRY(backend_copy(p->backend, support, rolled, (size_t)p->n * sizeof *support));
cleanup:
    return status;
}

static enum mtip_status measure(struct phaser *p, const double *density, const uint8_t *support,
                                struct phase_metrics *metrics)
{
    enum mtip_status status = MTIP_OK;
    double misfit[2], sums[5];
    MTIP_TRY(fft_plan_forward(p->fft, density, p->half));
    MTIP_TRY(p->ops->misfit(p->backend, p->M, misfit, p->half, p->magnitude));
    MTIP_TRY(p->ops->moments(p->backend, p->M, sums, density, support));
    if (!isfinite(misfit[0]) || !isfinite(sums[0])) {
        MTIP_FAIL(MTIP_ERR_DATA, "phasing: the intensities or the density hold a number that is "
                                 "not finite");
    }
    metrics->r_factor = misfit[1] > 0 ? sqrt(misfit[0] / misfit[1]) : 0.0;
    metrics->n_support = (int64_t)sums[4];
cleanup:
    return status;
}

enum mtip_status phaser_run(struct phaser *phaser, const struct phase_schedule *schedule,
                            double *density, uint8_t *support, struct phase_metrics *metrics)
{
    enum mtip_status status = MTIP_OK;
    const struct phase_schedule *s = schedule;
    MTIP_TRY(phase_schedule_check(s));
    if (!phaser->has_data) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT, "phasing: no intensities were set");
    }
    /* Positivity would turn a NaN into zeros and hide it: look before. */
    struct phase_metrics at_start;
    MTIP_TRY(measure(phaser, density, support, &at_start));
    for (int loop = 0; loop < s->loops; loop++) {
        const double part = s->loops > 1 ? (double)loop / (s->loops - 1) : 0.0;
        const double sigma = s->sigma_start + (s->sigma_end - s->sigma_start) * part;
        const double beta_end = s->beta_end > 0 ? s->beta_end : s->beta;
        const double beta = s->beta + (beta_end - s->beta) * part;
        MTIP_TRY(iterate(phaser, s->algorithm, beta, s->iterations, density, support));
        MTIP_TRY(iterate(phaser, PHASE_ER, beta, s->er_iterations, density, support));
        MTIP_TRY(shrink_wrap(phaser, s, sigma, density, support));
        MTIP_TRY(recentre(phaser, density, support));
    }
    MTIP_TRY(iterate(phaser, PHASE_ER, s->beta, s->final_er_iterations, density, support));
    if (metrics != NULL) {
        MTIP_TRY(measure(phaser, density, support, metrics));
        metrics->iterations =
            (int64_t)s->loops * (s->iterations + s->er_iterations) + s->final_er_iterations;
    }
cleanup:
    return status;
}

/* ---- starts and derived grids ---------------------------------------------------------------- */

enum mtip_status phaser_ball(struct phaser *phaser, double radius, uint8_t *support)
{
    return phaser->ops->ball(phaser->backend, phaser->M, support, radius);
}

/* Fills host arrays with the random density and 0 outside the ball. */
static double fill_random(double *host, int64_t M, uint64_t seed, uint64_t start, double radius)
{
    double energy = 0;
    int64_t v = 0;
    for (int64_t z = 0; z < M; z++) {
        const double d_z = (double)(z <= M / 2 ? z : M - z);
        for (int64_t y = 0; y < M; y++) {
            const double d_y = (double)(y <= M / 2 ? y : M - y);
            for (int64_t x = 0; x < M; x++, v++) {
                const double d_x = (double)(x <= M / 2 ? x : M - x);
                host[v] = 0;
                if (d_z * d_z + d_y * d_y + d_x * d_x <= radius * radius) {
                    struct rng rng = rng_stream(seed, RNG_PHASE_START, start, (uint64_t)v);
                    host[v] = rng_uniform(&rng);
                    energy += host[v] * host[v];
                }
            }
        }
    }
    return energy;
}

enum mtip_status phaser_random_start(struct phaser *phaser, uint64_t seed, uint64_t start,
                                     double radius, double *density, uint8_t *support)
{
    enum mtip_status status = MTIP_OK;
    struct phaser *p = phaser;
    double *host = NULL;
    double misfit[2] = {0, 0};
    MTIP_TRY(MEMORY_ALLOC(&host, p->n, "random start"));
    const double energy = fill_random(host, p->M, seed, start, radius);
    MTIP_TRY(backend_upload(p->backend, density, host, (size_t)p->n * sizeof *host));
    MTIP_TRY(phaser_ball(p, radius + START_MARGIN, support));
    if (p->has_data && energy > 0) {
        MTIP_TRY(fft_plan_forward(p->fft, density, p->half));
        MTIP_TRY(p->ops->misfit(p->backend, p->M, misfit, p->half, p->magnitude));
        const double factor = sqrt(misfit[1] / ((double)p->n * energy)); /* Parseval */
        MTIP_TRY(p->ops->scale(p->backend, p->n, density, factor));
    }
cleanup:
    memory_free(&host);
    return status;
}

enum mtip_status phaser_autocorrelation(struct phaser *phaser, const double *density,
                                        double *autocorrelation)
{
    enum mtip_status status = MTIP_OK;
    struct phaser *p = phaser;
    MTIP_TRY(fft_plan_forward(p->fft, density, p->half));
    MTIP_TRY(p->ops->square(p->backend, p->n_half, p->half, 1 / (double)p->n));
    MTIP_TRY(fft_plan_inverse(p->fft, p->half, autocorrelation));
cleanup:
    return status;
}
