/* faults.h - launchers of the wrong kernels in faults.cu. All pointers are device memory.
 */
#ifndef HOSTCUDA_KERNELS_FAULTS_H
#define HOSTCUDA_KERNELS_FAULTS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* x[0..n) and, where two blocks are launched, more are within the memory of the caller, except in
 * the faults that are about just that. Unknown names return cudaErrorInvalidValue. */
cudaError_t faults_launch(const char *name, float *x, int n, cudaStream_t stream);

/* x[i] = value for i < n: a right kernel, for what is wrong around it. */
cudaError_t faults_set(float *x, int n, float value, cudaStream_t stream);

/* The same with the pointer inside a structure. */
cudaError_t faults_set_in_struct(float *x, int n, float value, cudaStream_t stream);

/* Launches with the given shape and dynamic shared memory, opting in for `opt_in` bytes if > 0. */
cudaError_t faults_shape(float *x, int threads, size_t shared, size_t opt_in, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
