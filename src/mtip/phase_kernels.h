/* phase_kernels.h - launchers of the phasing kernels. Arguments as in phase_ops.h; asynchronous on `stream`. */
#ifndef MTIP_MTIP_PHASE_KERNELS_H
#define MTIP_MTIP_PHASE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "mtip/phase.h"

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t phase_magnitudes_launch(int64_t n, double *magnitude, const double *intensity,
                                    const uint8_t *measured, cudaStream_t stream);
cudaError_t phase_project_launch(int64_t n, double *half, const double *magnitude, double scale,
                                 cudaStream_t stream);
cudaError_t phase_update_launch(int64_t n, enum phase_algorithm algorithm, double beta,
                                double *density, const double *projected, const uint8_t *support,
                                cudaStream_t stream);
cudaError_t phase_positive_launch(int64_t n, double *to, const double *from, const uint8_t *support,
                                  cudaStream_t stream);
cudaError_t phase_blur_launch(int64_t M, double *half, double sigma, cudaStream_t stream);
cudaError_t phase_confine_launch(int64_t M, double *values, double radius, cudaStream_t stream);
cudaError_t phase_ball_launch(int64_t M, uint8_t *support, double radius, cudaStream_t stream);
cudaError_t phase_threshold_launch(int64_t n, uint8_t *support, const double *values,
                                   double threshold, cudaStream_t stream);
cudaError_t phase_roll_launch(int64_t M, double *to, const double *from, const int64_t shift[3],
                              cudaStream_t stream);
cudaError_t phase_roll_support_launch(int64_t M, uint8_t *to, const uint8_t *from,
                                      const int64_t shift[3], cudaStream_t stream);
cudaError_t phase_square_launch(int64_t n, double *half, double scale, cudaStream_t stream);
cudaError_t phase_scale_launch(int64_t n, double *values, double factor, cudaStream_t stream);

/* Adds to bins[PHASE_DIGITS], device memory that was zeroed before. */
cudaError_t phase_histogram_launch(int64_t n, int64_t *bins, const double *values, uint64_t prefix,
                                   int shift, cudaStream_t stream);

/* Leave *n_partials (host, at most 512) partial results [5] and [2] in `partials`, to be added in order. */
cudaError_t phase_moments_launch(int64_t M, double *partials, int *n_partials,
                                 const double *density, const uint8_t *support,
                                 cudaStream_t stream);
cudaError_t phase_misfit_launch(int64_t M, double *partials, int *n_partials, const double *half,
                                const double *magnitude, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
