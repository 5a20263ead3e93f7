/* basics.h - launchers of the kernels in basics.cu, for the layer's own tests. All pointers are
 * device memory; all launches are asynchronous on `stream`.
 */
#ifndef HOSTCUDA_KERNELS_BASICS_H
#define HOSTCUDA_KERNELS_BASICS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *sum += sum of x[0..n) */
cudaError_t basics_sum(double *sum, const double *x, int n, cudaStream_t stream);
/* out[i] = in[0] + ... + in[i-1], i = 0..n; one block */
cudaError_t basics_scan(int *out, const int *in, int n, cudaStream_t stream);
/* out[x][y] = in[y][x] by 32 x 32 tiles */
cudaError_t basics_transpose(float *out, const float *in, int nx, int ny, cudaStream_t stream);
/* counts[v] += number of i with values[i] == v, v < n_bins */
cudaError_t basics_histogram(int *counts, const int *values, int n, int n_bins,
                             cudaStream_t stream);
/* counts of the answers of warp and block votes that are right, of `8 * 64` */
cudaError_t basics_votes(int *right, cudaStream_t stream);
/* out[b][i] = b + i, through `bytes` of dynamic shared memory a block */
cudaError_t basics_large_shared(double *out, int n_blocks, size_t bytes, cudaStream_t stream);
/* x[i] *= factor[0] (constant memory) */
cudaError_t basics_scale_by_constant(float *x, int n, float factor, cudaStream_t stream);
#ifndef __cplusplus /* there it is the kernel itself */
/* The host address of a kernel, for cudaLaunchKernel: x[i] = a * x[i] + i. */
void basics_axpi(int n, float *x, float a);
#endif

#ifdef __cplusplus
}
#endif

#endif
