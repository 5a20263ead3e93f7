/* faults.cu - planted faults, one a kernel. The line at fault carries a comment with the word plant
 * and the fault's name, by which selftest.py knows what the report must say.
 */
#include <cuda_runtime.h>

#include <cstring>

#include "core/cuda_launch.h"
#include "faults.h"

/* Each thread writes its element and reads that of another. */
__global__ void missing_barrier_kernel(float *x, int n)
{
    DYN_SHARED(float, t);
    const int i = threadIdx.x;
    t[i] = (float)i;
    x[i] = t[n - 1 - i]; // plant missing-barrier
}

__global__ void shared_add_kernel(float *x, int n)
{
    __shared__ float sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    if ((int)threadIdx.x < n) {
        sum += 1.0f; // plant shared-add
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        x[0] = sum;
    }
}

__global__ void global_add_kernel(float *x)
{
    x[threadIdx.x / 2] += 1.0f; // plant global-add
}

/* Every block at a place of its own; without `late` by one thread. */
__global__ void late_add_kernel(float *x, int late)
{
    if (late || threadIdx.x == 0) {
        x[blockIdx.x] += 1.0f; // plant late-add
    }
}

__global__ void block_add_kernel(float *x)
{
    __shared__ float one;
    if (threadIdx.x == 0) {
        one = 1.0f;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        x[0] += one; // plant block-add
    }
}

__global__ void static_bounds_kernel(float *x, int n)
{
    __shared__ float tile[64];
    tile[threadIdx.x] = (float)n;
    __syncthreads();
    x[threadIdx.x] = tile[(int)threadIdx.x + n - 63]; // plant static-bounds
}

__global__ void dynamic_bounds_kernel(float *x, int n)
{
    DYN_SHARED(float, tile);
    tile[threadIdx.x] = 1.0f;
    __syncthreads();
    x[threadIdx.x] = tile[(int)threadIdx.x + n - 63]; // plant dynamic-bounds
}

__global__ void dynamic_below_kernel(float *x)
{
    DYN_SHARED(float, tile);
    x[threadIdx.x] = tile[(int)threadIdx.x - 1]; // plant dynamic-below
}

__global__ void global_write_kernel(float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) {
        x[i] = 1.0f; // plant global-write
    }
}

__global__ void global_read_kernel(float *x, int n)
{
    x[threadIdx.x] = x[threadIdx.x + n - 63]; // plant global-read
}

__global__ void divergent_barrier_kernel(float *x)
{
    if (threadIdx.x < 32) {
        x[threadIdx.x] = 1.0f;
        __syncthreads(); // plant divergent-barrier
    } else {
        x[threadIdx.x] = 2.0f;
        __syncthreads();
    }
}

__global__ void early_exit_kernel(float *x)
{
    if (threadIdx.x >= 40) {
        return;
    }
    x[threadIdx.x] = 1.0f;
    __syncthreads(); // plant early-exit
    x[threadIdx.x] += 1.0f;
}

__global__ void skipped_barrier_kernel(float *x)
{
    if (threadIdx.x < 32) {
        __syncthreads(); // plant skipped-barrier
    } else {
        __syncwarp();
        x[threadIdx.x] = __shfl_sync(0xffffffffu, x[threadIdx.x], 0);
        if (threadIdx.x == 40) {
            __shfl_sync(0xffffffffu, 1, 0);
        }
    }
}

__global__ void dynamic_uninitialised_kernel(float *x)
{
    DYN_SHARED(float, sum);
    x[threadIdx.x] = sum[0] + 1.0f; // plant dynamic-uninitialised
}

__global__ void static_uninitialised_kernel(float *x)
{
    __shared__ float sum[4];
    x[threadIdx.x] = sum[threadIdx.x % 4] + 1.0f; // plant static-uninitialised
    __syncthreads();
    sum[threadIdx.x % 4] = 3.0f;
}

__global__ void mask_without_caller_kernel(float *x)
{
    float v = (float)threadIdx.x;
    v += __shfl_down_sync(0x0000ffffu, v, 8); // plant mask-without-caller
    x[threadIdx.x] = v;
}

__global__ void mask_of_absent_kernel(float *x)
{
    float v = (float)threadIdx.x;
    if (threadIdx.x % 32 < 16) {
        v += __shfl_down_sync(0xffffffffu, v, 8); // plant mask-of-absent
    }
    x[threadIdx.x] = v;
}

__global__ void different_primitives_kernel(float *x)
{
    if (threadIdx.x % 2) {
        x[threadIdx.x] = (float)__ballot_sync(0xffffffffu, 1);
    } else {
        x[threadIdx.x] = __shfl_sync(0xffffffffu, 1.0f, 0); // plant different-primitives
    }
}

__global__ void null_kernel(float *x)
{
    float *nothing = x ? nullptr : x;
    nothing[threadIdx.x] = 1.0f; // plant null-pointer
}

__device__ int deep(int n, volatile char *above)
{
    volatile char here[512];
    here[n % 512] = above ? above[0] : 1; // plant stack-overflow
    return n == 0 ? here[0] : deep(n - 1, here) + 1;
}

__global__ void stack_overflow_kernel(float *x)
{
    x[threadIdx.x] = (float)deep(100000, nullptr);
}

__global__ void assert_kernel(float *x, int n)
{
    assert((int)threadIdx.x < n - 10); // plant device-assert
    x[threadIdx.x] = 1.0f;
}

__global__ void set_kernel(float *x, int n, float value)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = value;
    }
}

struct Target {
    float *x;
    int n;
    float value;
};

__global__ void set_in_struct_kernel(Target target)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < target.n) {
        target.x[i] = target.value; // plant struct-access
    }
}

__global__ void shape_kernel(float *x)
{
    DYN_SHARED(float, t);
    t[threadIdx.x] = 1.0f;
    x[0] = t[0];
}

extern "C" cudaError_t faults_launch(const char *name, float *x, int n, cudaStream_t stream)
{
#define FAULT(text, blocks, shared, kernel, ...)                                                   \
    if (!strcmp(name, text)) {                                                                     \
        LAUNCH(kernel, (blocks), 64, (shared), stream, __VA_ARGS__);                               \
        return cudaGetLastError();                                                                 \
    }
    if (!strcmp(name, "late-add")) {
        LAUNCH(late_add_kernel, 8, 256, 0, stream, x, 0);
        LAUNCH(late_add_kernel, 8, 256, 0, stream, x, 1);
        return cudaGetLastError();
    }
    if (!strcmp(name, "late-block-add")) {
        LAUNCH(late_add_kernel, 8, 256, 0, stream, x, 0);
        LAUNCH(block_add_kernel, 8, 256, 0, stream, x);
        return cudaGetLastError();
    }
    if (!strcmp(name, "turns-add") || !strcmp(name, "turns-block-add")) {
        for (int i = 0; i < 8; i++) {
            if (!strcmp(name, "turns-add")) {
                LAUNCH(late_add_kernel, 8, 256, 0, stream, x, i > 3);
            } else {
                LAUNCH(block_add_kernel, i > 3 ? 8 : 1, 256, 0, stream, x);
            }
        }
        return cudaGetLastError();
    }
    FAULT("missing-barrier", 1, 256, missing_barrier_kernel, x, 64)
    FAULT("shared-add", 1, 0, shared_add_kernel, x, n)
    FAULT("global-add", 1, 0, global_add_kernel, x)
    FAULT("block-add", 2, 0, block_add_kernel, x)
    FAULT("static-bounds", 1, 0, static_bounds_kernel, x, 64)
    FAULT("dynamic-bounds", 1, 256, dynamic_bounds_kernel, x, 64)
    FAULT("dynamic-below", 2, 256, dynamic_below_kernel, x)
    FAULT("global-write", n / 64 + 1, 0, global_write_kernel, x, n)
    FAULT("global-read", 1, 0, global_read_kernel, x, n)
    FAULT("divergent-barrier", 1, 0, divergent_barrier_kernel, x)
    FAULT("early-exit", 1, 0, early_exit_kernel, x)
    FAULT("skipped-barrier", 1, 0, skipped_barrier_kernel, x)
    FAULT("dynamic-uninitialised", 2, 256, dynamic_uninitialised_kernel, x)
    FAULT("static-uninitialised", 1, 0, static_uninitialised_kernel, x)
    FAULT("mask-without-caller", 1, 0, mask_without_caller_kernel, x)
    FAULT("mask-of-absent", 1, 0, mask_of_absent_kernel, x)
    FAULT("different-primitives", 1, 0, different_primitives_kernel, x)
    FAULT("null-pointer", 1, 0, null_kernel, x)
    FAULT("stack-overflow", 1, 0, stack_overflow_kernel, x)
    FAULT("device-assert", 1, 0, assert_kernel, x, 64)
#undef FAULT
    return cudaErrorInvalidValue;
}

extern "C" cudaError_t faults_set(float *x, int n, float value, cudaStream_t stream)
{
    LAUNCH(set_kernel, (n + 127) / 128, 128, 0, stream, x, n, value);
    return cudaGetLastError();
}

extern "C" cudaError_t faults_set_in_struct(float *x, int n, float value, cudaStream_t stream)
{
    const Target target = {x, n, value};
    LAUNCH(set_in_struct_kernel, (n + 127) / 128, 128, 0, stream, target);
    return cudaGetLastError();
}

extern "C" cudaError_t faults_shape(float *x, int threads, size_t shared, size_t opt_in,
                                    cudaStream_t stream)
{
    if (opt_in) {
        const cudaError_t error = cudaFuncSetAttribute(
            (const void *)shape_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)opt_in);
        if (error != cudaSuccess) {
            return error;
        }
    }
    LAUNCH(shape_kernel, 1, threads, shared, stream, x);
    return cudaGetLastError();
}
