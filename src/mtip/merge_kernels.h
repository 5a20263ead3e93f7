/* merge_kernels.h - launchers of the merging kernels. Arguments as in merge_ops.h; asynchronous on `stream`. */
#ifndef MTIP_MTIP_MERGE_KERNELS_H
#define MTIP_MTIP_MERGE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

cudaError_t merge_strengths_launch(double *out, const float *frames, int64_t ld,
                                   const int64_t *index, int64_t count, const double *fluence,
                                   const double *response, const double *scale, int64_t n_use,
                                   cudaStream_t stream);
cudaError_t merge_accumulate_launch(double *kernel, double *rhs, const double *modes, int64_t m,
                                    double kernel_anchor, double rhs_anchor, cudaStream_t stream);
cudaError_t merge_expand_launch(double *circulant, const double *kernel, int64_t m, int64_t n,
                                cudaStream_t stream);
cudaError_t merge_unfold_launch(double *full, const double *half, int64_t m, cudaStream_t stream);
cudaError_t merge_real_part_launch(double *real, const double *half, int64_t count, double scale,
                                   cudaStream_t stream);
cudaError_t merge_pad_launch(double *padded, const double *v, int64_t m, int64_t n, double radius,
                             cudaStream_t stream);
cudaError_t merge_multiply_launch(double *half, const double *spectrum, int64_t count,
                                  cudaStream_t stream);
cudaError_t merge_crop_launch(double *out, const double *padded, const double *v, double lambda,
                              int64_t m, int64_t n, double radius, cudaStream_t stream);
cudaError_t merge_combine_launch(double *y, double a, const double *x, double b, int64_t count,
                                 cudaStream_t stream);

/* Both leave *n_partials (host, at most 512) partial sums in `partials`, to be added in order: of r . r and of x . y. */
cudaError_t merge_advance_launch(double *partials, int *n_partials, double *a, double *r,
                                 const double *d, const double *q, double step, int64_t count,
                                 cudaStream_t stream);
cudaError_t merge_dot_launch(double *partials, int *n_partials, const double *x, const double *y,
                             int64_t count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
