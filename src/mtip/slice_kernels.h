/* slice_kernels.h - launchers of the slicing kernels. Arguments as in slice_ops.h; asynchronous on `stream`. */
#ifndef MTIP_MTIP_SLICE_KERNELS_H
#define MTIP_MTIP_SLICE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t slice_rotate_launch(void *x, void *y, void *z, const double *matrices,
                                const double *pixels, int64_t n_rotations, int64_t n_use,
                                enum nufft_precision precision, cudaStream_t stream);

cudaError_t slice_finish_launch(void *values, double *sums, const double *response,
                                const double *log_model, double log_model_sum, double floor,
                                int64_t n_rotations, int64_t n_use, enum nufft_precision precision,
                                cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
