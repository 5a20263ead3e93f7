/* fft.h - real 3-D Fourier transforms in double precision, on the memory of a backend.
 *
 * n = (nz, ny, nx), any sizes >= 1. A real array is [nz][ny][nx], x fastest. Its half spectrum is
 * [nz][ny][nx/2+1] complex numbers (re, im interleaved), all three axes in FFT order (frequencies
 * 0, 1, .., then the negative ones; x has the non-negative ones only):
 *     forward   F[kz][ky][kx] = sum_r f[z][y][x] exp(-2 pi i (kz z/nz + ky y/ny + kx x/nx))
 *     inverse   f[z][y][x] = sum over the full spectrum of F exp(+2 pi i ...),  not normalised:
 *               inverse(forward(f)) = nz ny nx f
 * The spectrum given to the inverse is taken as that of a real array: the imaginary parts of the
 * modes that are their own mirror images are ignored.
 *
 * Plans depend on the sizes and the backend alone, never on timings, and the same input gives the
 * same bits for every number of threads.
 */
#ifndef MTIP_CORE_FFT_H
#define MTIP_CORE_FFT_H

#include <stdint.h>

#include "core/backend.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct fft_plan;

/* One table a backend; private to core. */
struct fft_ops {
    enum mtip_status (*create)(struct fft_plan *plan);
    enum mtip_status (*forward)(const struct fft_plan *plan, const double *real, double *half);
    enum mtip_status (*inverse)(const struct fft_plan *plan, double *half, double *real);
    void (*destroy)(struct fft_plan *plan);
};

/* Opaque to users of the transform; one plan serves one thread at a time. */
struct fft_plan {
    const struct fft_ops *ops;
    const struct backend *backend; /* borrowed: must outlive the plan */
    int64_t n[3];
    void *detail; /* owned by the backend's table */
};

/* Makes a plan for arrays of n[3] = (nz, ny, nx) in the memory of `backend`, which must outlive the
 * plan. May be called from several threads. Errors: MTIP_ERR_ARGUMENT (a size < 1 or the grid too large),
 * MTIP_ERR_MEMORY, MTIP_ERR_UNSUPPORTED, MTIP_ERR_DEVICE; *plan is NULL then. */
enum mtip_status fft_plan_create(struct fft_plan **plan, const struct backend *backend,
                                 const int64_t n[3]) MTIP_NODISCARD;

/* Forward transform. `real` is kept; the arrays must not overlap. On CUDA asynchronous on the
 * backend's stream. */
enum mtip_status fft_plan_forward(const struct fft_plan *plan, const double *real,
                                  double *half) MTIP_NODISCARD;

/* Unnormalised inverse transform. `half` is destroyed; the arrays must not overlap. On CUDA asynchronous
 * on the backend's stream. */
enum mtip_status fft_plan_inverse(const struct fft_plan *plan, double *half,
                                  double *real) MTIP_NODISCARD;

/* Frees the plan and sets *plan to NULL; NULL plans are allowed. */
void fft_plan_destroy(struct fft_plan **plan);

/* Smallest size >= at_least with no prime factors but 2, 3, 5 and 7; an odd one when `odd` is not 0.
 * Sizes below 1 count as 1. Pure. */
int64_t fft_good_size(int64_t at_least, int odd);

/* Numbers of items: real values nz ny nx, complex values nz ny (nx/2+1) of a half spectrum. Pure. */
int64_t fft_real_count(const int64_t n[3]);
int64_t fft_half_count(const int64_t n[3]);

extern const struct fft_ops fft_ops_cpu;
#ifdef MTIP_HAVE_CUDA
extern const struct fft_ops fft_ops_cuda;
#endif

#ifdef __cplusplus
}
#endif

#endif
