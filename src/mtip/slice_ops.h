/* slice_ops.h - kernels of slicing and merging at the points of rotated frames, one table a backend; private to src/mtip.
 *
 * All arrays are backend memory unless named host; R rotations, n_use pixels, point (r, p) at index
 * r * n_use + p.
 */
#ifndef MTIP_MTIP_SLICE_OPS_H
#define MTIP_MTIP_SLICE_OPS_H

#include <stdint.h>

#include "core/backend.h"
#include "core/status.h"
#include "nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

struct slice_ops {
    /* (x, y, z)[r][p] = matrices[r] pixels[p]; outputs in `precision`, matrices [R][9], pixels [.][3] double. */
    enum mtip_status (*rotate)(const struct backend *backend, void *x, void *y, void *z,
                               const double *matrices, const double *pixels, int64_t n_rotations,
                               int64_t n_use, enum nufft_precision precision);

    /* In place: W = max(values, floor); sums[r] = sum_p c_p W_rp;
     * values = log(W_rp) - log_model[p] - log(sums[r]) + log_model_sum. sums [R] double. */
    enum mtip_status (*finish)(const struct backend *backend, void *values, double *sums,
                               const double *response, const double *log_model,
                               double log_model_sum, double floor, int64_t n_rotations,
                               int64_t n_use, enum nufft_precision precision);
};

/* Table of a backend; NULL when it is not built in. */
const struct slice_ops *slice_ops_of(enum backend_kind kind);

extern const struct slice_ops slice_ops_cpu;
#ifdef MTIP_HAVE_CUDA
extern const struct slice_ops slice_ops_cuda;
#endif

#ifdef __cplusplus
}
#endif

#endif
