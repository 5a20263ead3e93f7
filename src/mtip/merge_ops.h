/* merge_ops.h - kernels of merging and of its Toeplitz solver, one table a backend; private to src/mtip.
 *
 * Arrays are backend memory. M odd grid size, L = 2 M - 1 lags a side, n >= L circulant size. Grids are
 * in FFT order (index 0 = origin, negative last); half grids keep x = 0 .. and are real, as those of
 * real even functions.
 */
#ifndef MTIP_MTIP_MERGE_OPS_H
#define MTIP_MTIP_MERGE_OPS_H

#include <stdint.h>

#include "core/backend.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct merge_ops {
    /* Weights and weighted data of `count` frames, frame i being frames[index[i] * ld ..]:
     *   out[0][i][p] = fluence[index[i]] c_p / m_p,   out[1][i][p] = d_p / m_p
     * and zero where the fluence is not positive. out [2][count][n_use]; scale[p] = 1 / m_p. */
    enum mtip_status (*strengths)(const struct backend *backend, double *out, const float *frames,
                                  int64_t ld, const int64_t *index, int64_t count,
                                  const double *fluence, const double *response,
                                  const double *scale, int64_t n_use);

    /* kernel[L][L][M] += Re modes[0], rhs[M][M][(M+1)/2] += Re modes[1] at |k| <= (M-1)/2, each term rounded to the
     * quantum of its anchor (core/exact_sum.h); modes complex [2][L][L][M]. */
    enum mtip_status (*accumulate)(const struct backend *backend, double *kernel, double *rhs,
                                   const double *modes, int64_t m, const double anchors[2]);

    /* circulant[n][n][n] from the half grid kernel[L][L][M]; zero at lags out of reach. */
    enum mtip_status (*expand)(const struct backend *backend, double *circulant,
                               const double *kernel, int64_t m, int64_t n);

    /* full[M][M][M] from the half grid half[M][M][(M+1)/2]. */
    enum mtip_status (*unfold)(const struct backend *backend, double *full, const double *half,
                               int64_t m);

    /* real[i] = scale Re half[i], count complex numbers. */
    enum mtip_status (*real_part)(const struct backend *backend, double *real, const double *half,
                                  int64_t count, double scale);

    /* padded[n][n][n] = v[M][M][M] inside the ball |k| <= radius, zero elsewhere. */
    enum mtip_status (*pad)(const struct backend *backend, double *padded, const double *v,
                            int64_t m, int64_t n, double radius);

    /* half[i] *= spectrum[i], complex by real. */
    enum mtip_status (*multiply)(const struct backend *backend, double *half,
                                 const double *spectrum, int64_t count);

    /* out[M][M][M] = (padded at the same k, inside the ball, else 0) + lambda v. */
    enum mtip_status (*crop)(const struct backend *backend, double *out, const double *padded,
                             const double *v, double lambda, int64_t m, int64_t n, double radius);

    /* y = a x + b y. */
    enum mtip_status (*combine)(const struct backend *backend, double *y, double a, const double *x,
                                double b, int64_t count);

    /* One step of conjugate gradients: a += step d, r -= step q; *norm (host) = sum_i r_i^2, in an order as below. */
    enum mtip_status (*advance)(const struct backend *backend, double *norm, double *a, double *r,
                                const double *d, const double *q, double step, int64_t count);

    /* *result (host) = sum_i x_i y_i, in an order that the number of threads does not change. */
    enum mtip_status (*dot)(const struct backend *backend, double *result, const double *x,
                            const double *y, int64_t count);
};

/* Table of a backend; NULL when it is not built in. */
const struct merge_ops *merge_ops_of(enum backend_kind kind);

extern const struct merge_ops merge_ops_cpu;
#ifdef MTIP_HAVE_CUDA
extern const struct merge_ops merge_ops_cuda;
#endif

#ifdef __cplusplus
}
#endif

#endif
