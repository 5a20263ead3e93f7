/* toeplitz.c - conjugate gradients on the Toeplitz normal equations. */
#include "mtip/toeplitz.h"

#include <math.h>
#include <stdlib.h>

#include "core/fft.h"
#include "core/memory.h"
#include "mtip/merge_ops.h"

struct toeplitz_solver {
    const struct backend *backend; /* borrowed */
    const struct merge_ops *ops;
    int64_t m, n;
    struct fft_plan *fft;                 /* of n^3 */
    double *padded;                       /* [n][n][n] */
    double *half;                         /* complex [n][n][n/2+1] */
    double *spectrum;                     /* [n][n][n/2+1] of the kernel, over n^3 */
    double *residual, *direction, *image; /* [M][M][M] */
};

static void sizes(int64_t m, int64_t *n, int64_t *real_count, int64_t *half_count)
{
    *n = fft_good_size(2 * m - 1, 0);
    const int64_t cube[3] = {*n, *n, *n};
    *real_count = fft_real_count(cube);
    *half_count = fft_half_count(cube);
}

size_t toeplitz_bytes(int64_t m)
{
    int64_t n = 0, real_count = 0, half_count = 0;
    sizes(m, &n, &real_count, &half_count);
    return (size_t)(real_count + 3 * half_count + 3 * m * m * m) * sizeof(double);
}

enum mtip_status toeplitz_create(struct toeplitz_solver **solver, const struct backend *backend,
                                 int64_t m)
{
    enum mtip_status status = MTIP_OK;
    int64_t real_count = 0, half_count = 0;
    const int64_t volume = m * m * m;
    *solver = NULL;
    struct toeplitz_solver *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "solver: cannot allocate %zu bytes", sizeof *s);
    }
    s->backend = backend;
    s->ops = merge_ops_of(backend->kind);
    s->m = m;
    sizes(m, &s->n, &real_count, &half_count);
    const int64_t cube[3] = {s->n, s->n, s->n};
    MTIP_TRY(fft_plan_create(&s->fft, backend, cube));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->padded, real_count, "solver grid"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->half, 2 * half_count, "solver spectrum"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->spectrum, half_count, "solver kernel"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->residual, volume, "solver residual"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->direction, volume, "solver direction"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->image, volume, "solver image"));
    *solver = s;
    s = NULL;
cleanup:
    toeplitz_destroy(&s);
    return status;
}

void toeplitz_destroy(struct toeplitz_solver **solver)
{
    struct toeplitz_solver *s = *solver;
    if (s == NULL) {
        return;
    }
    backend_free(s->backend, &s->image);
    backend_free(s->backend, &s->direction);
    backend_free(s->backend, &s->residual);
    backend_free(s->backend, &s->spectrum);
    backend_free(s->backend, &s->half);
    backend_free(s->backend, &s->padded);
    fft_plan_destroy(&s->fft);
    free(s);
    *solver = NULL;
}

/* Spectrum of the circulant, scaled for the unnormalised inverse; *weight = kernel at lag 0. */
static enum mtip_status load_kernel(struct toeplitz_solver *s, const double *kernel, double *weight)
{
    enum mtip_status status = MTIP_OK;
    int64_t n = 0, real_count = 0, half_count = 0;
    sizes(s->m, &n, &real_count, &half_count);
    MTIP_TRY(backend_download(s->backend, weight, kernel, sizeof *weight));
    MTIP_TRY(s->ops->expand(s->backend, s->padded, kernel, s->m, n));
    MTIP_TRY(fft_plan_forward(s->fft, s->padded, s->half));
    MTIP_TRY(
        s->ops->real_part(s->backend, s->spectrum, s->half, half_count, 1.0 / (double)real_count));
cleanup:
    return status;
}

/* out = P T^H W T P v + lambda v */
static enum mtip_status apply(struct toeplitz_solver *s, double *out, const double *v,
                              double lambda, double radius)
{
    enum mtip_status status = MTIP_OK;
    const int64_t cube[3] = {s->n, s->n, s->n};
    MTIP_TRY(s->ops->pad(s->backend, s->padded, v, s->m, s->n, radius));
    MTIP_TRY(fft_plan_forward(s->fft, s->padded, s->half));
    MTIP_TRY(s->ops->multiply(s->backend, s->half, s->spectrum, fft_half_count(cube)));
    MTIP_TRY(fft_plan_inverse(s->fft, s->half, s->padded));
    MTIP_TRY(s->ops->crop(s->backend, out, s->padded, v, lambda, s->m, s->n, radius));
cleanup:
    return status;
}

/* v restricted to the ball, in place, through the padded grid. */
static enum mtip_status confine(struct toeplitz_solver *s, double *v, double radius)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(s->ops->pad(s->backend, s->padded, v, s->m, s->n, radius));
    MTIP_TRY(s->ops->crop(s->backend, v, s->padded, v, 0.0, s->m, s->n, radius));
cleanup:
    return status;
}

enum mtip_status toeplitz_solve(struct toeplitz_solver *s, double *a, const double *kernel,
                                const double *rhs, const struct toeplitz_options *options,
                                struct toeplitz_metrics *metrics)
{
    enum mtip_status status = MTIP_OK;
    const struct backend *backend = s->backend;
    const struct merge_ops *ops = s->ops;
    const int64_t volume = s->m * s->m * s->m;
    double weight = 0.0, right = 0.0, old = 0.0, now = 0.0, curvature = 0.0;
    int64_t done = 0;

    MTIP_TRY(load_kernel(s, kernel, &weight));
    if (!(weight > 0.0) || !isfinite(weight)) {
        MTIP_FAIL(MTIP_ERR_DATA, "no frame has any weight: the merge has no data");
    }
    const double lambda = options->regularization * weight;
    MTIP_TRY(ops->unfold(backend, s->residual, rhs, s->m));
    MTIP_TRY(confine(s, s->residual, options->radius));
    MTIP_TRY(ops->dot(backend, &right, s->residual, s->residual, volume));
    MTIP_TRY(confine(s, a, options->radius));
    /* residual = rhs + lambda A0 - (operator) A0, and the start is A0 */
    MTIP_TRY(ops->combine(backend, s->residual, lambda, a, 1.0, volume));
    MTIP_TRY(apply(s, s->image, a, lambda, options->radius));
    MTIP_TRY(ops->combine(backend, s->residual, -1.0, s->image, 1.0, volume));
    MTIP_TRY(backend_copy(backend, s->direction, s->residual, (size_t)volume * sizeof *a));
    MTIP_TRY(ops->dot(backend, &old, s->residual, s->residual, volume));
    const double enough = options->tolerance * options->tolerance * right;
    while (done < options->iterations && old > enough) {
        MTIP_TRY(apply(s, s->image, s->direction, lambda, options->radius));
        MTIP_TRY(ops->dot(backend, &curvature, s->direction, s->image, volume));
        if (!(curvature > 0.0)) {
            break; /* rounding has used up the direction */
        }
        const double step = old / curvature;
        MTIP_TRY(ops->advance(backend, &now, a, s->residual, s->direction, s->image, step, volume));
        MTIP_TRY(ops->combine(backend, s->direction, 1.0, s->residual, now / old, volume));
        old = now;
        done++;
    }
    if (metrics != NULL) {
        metrics->iterations = done;
        metrics->residual = right > 0.0 ? sqrt(old / right) : 0.0;
    }
cleanup:
    return status;
}
