/* basics.cu - correct kernels with the constructs that real ones use: shared memory of both kinds,
 * barriers, shuffles, votes, atomics, constant memory. They must give the same results on the layer,
 * in every order and every mode, as on a device.
 */
#include <cuda_runtime.h>

#include "basics.h"
#include "core/cuda_launch.h"

#define FULL 0xffffffffu

template <class T> __device__ __forceinline__ T warp_sum(T value)
{
    for (int d = 16; d > 0; d >>= 1) {
        value += __shfl_down_sync(FULL, value, d);
    }
    return value;
}

template <class T> __global__ void sum_kernel(T *sum, const T *__restrict__ x, int n)
{
    __shared__ T part[32];
    T mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        mine += x[i];
    }
    mine = warp_sum(mine);
    if (threadIdx.x % 32 == 0) {
        part[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        mine = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : T(0);
        mine = warp_sum(mine);
        if (threadIdx.x == 0) {
            atomicAdd(sum, mine);
        }
    }
}

__global__ void __launch_bounds__(256) scan_kernel(int *out, const int *in, int n)
{
    __shared__ int warp_total[32];
    __shared__ int carry;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) {
        carry = 0;
    }
    __syncthreads();
    for (int base = 0; base < n; base += blockDim.x) {
        const int i = base + threadIdx.x;
        const int value = i < n ? in[i] : 0;
        int upto = value;
        for (int d = 1; d < 32; d <<= 1) {
            const int other = __shfl_up_sync(FULL, upto, d);
            upto += lane >= d ? other : 0;
        }
        if (lane == 31) {
            warp_total[warp] = upto;
        }
        __syncthreads();
        int before = carry;
        for (int w = 0; w < warp; w++) {
            before += warp_total[w];
        }
        if (i < n) {
            out[i] = before + upto - value;
        }
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) {
            carry = before + upto;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        out[n] = carry;
    }
}

__global__ void transpose_kernel(float *out, const float *in, int nx, int ny)
{
    DYN_SHARED(float, tile); /* [32][33] */
    const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        if (x0 + (int)threadIdx.x < nx && y0 + j < ny) {
            tile[j * 33 + threadIdx.x] = in[(size_t)(y0 + j) * nx + x0 + threadIdx.x];
        }
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += blockDim.y) {
        if (y0 + (int)threadIdx.x < ny && x0 + j < nx) {
            out[(size_t)(x0 + j) * ny + y0 + threadIdx.x] = tile[threadIdx.x * 33 + j];
        }
    }
}

__global__ void histogram_kernel(int *counts, const int *values, int n, int n_bins)
{
    DYN_SHARED(int, bins);
    for (int b = threadIdx.x; b < n_bins; b += blockDim.x) {
        bins[b] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[values[i]], 1);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < n_bins; b += blockDim.x) {
        if (bins[b]) {
            atomicAdd(&counts[b], bins[b]);
        }
    }
}

__global__ void votes_kernel(int *right)
{
    const int t = threadIdx.x, lane = t & 31;
    int good = 0;
    good += __ballot_sync(FULL, lane % 3 == 0) == 0x49249249u;
    good += __any_sync(FULL, lane == 7) != 0 && __all_sync(FULL, lane < 32) != 0;
    good += __shfl_sync(FULL, lane, 5) == 5 && __shfl_sync(FULL, lane, 3, 8) == (lane & ~7) + 3;
    good += __shfl_xor_sync(FULL, (double)lane, 3) == (double)(lane ^ 3);
    good += __popc(__match_any_sync(FULL, lane / 4)) == 4;
    good += __syncthreads_count(t % 2 == 0) == (int)blockDim.x / 2;
    good += __syncthreads_and(t < 1000) != 0 && __syncthreads_or(t == 1) != 0;
    if (lane < 16) { /* half a warp with its own mask */
        good += __shfl_down_sync(0xffffu, lane, 1, 16) == (lane < 15 ? lane + 1 : 15);
    } else {
        good += __ballot_sync(0xffff0000u, 1) == 0xffff0000u;
    }
    __syncwarp();
    atomicAdd(right, good);
}

__global__ void large_shared_kernel(double *out, int n)
{
    DYN_SHARED(double, buffer);
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        buffer[n - 1 - i] = (double)(blockIdx.x + i);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        out[(size_t)blockIdx.x * n + i] = buffer[n - 1 - i];
    }
}

__constant__ float constant_factor[1];

__global__ void scale_by_constant_kernel(float *x, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] *= constant_factor[0];
    }
}

extern "C" __global__ void basics_axpi(int n, float *x, float a)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = a * x[i] + (float)i;
    }
}
LAUNCH_BY_ADDRESS(basics_axpi)

extern "C" cudaError_t basics_sum(double *sum, const double *x, int n, cudaStream_t stream)
{
    LAUNCH(sum_kernel<double>, 6, 128, 0, stream, sum, x, n);
    return cudaGetLastError();
}

extern "C" cudaError_t basics_scan(int *out, const int *in, int n, cudaStream_t stream)
{
    LAUNCH(scan_kernel, 1, 256, 0, stream, out, in, n);
    return cudaGetLastError();
}

extern "C" cudaError_t basics_transpose(float *out, const float *in, int nx, int ny,
                                        cudaStream_t stream)
{
    const dim3 grid((nx + 31) / 32, (ny + 31) / 32), block(32, 8);
    LAUNCH(transpose_kernel, grid, block, 32 * 33 * sizeof(float), stream, out, in, nx, ny);
    return cudaGetLastError();
}

extern "C" cudaError_t basics_histogram(int *counts, const int *values, int n, int n_bins,
                                        cudaStream_t stream)
{
    LAUNCH(histogram_kernel, 5, 96, n_bins * sizeof(int), stream, counts, values, n, n_bins);
    return cudaGetLastError();
}

extern "C" cudaError_t basics_votes(int *right, cudaStream_t stream)
{
    LAUNCH(votes_kernel, 1, 64, 0, stream, right);
    return cudaGetLastError();
}

extern "C" cudaError_t basics_large_shared(double *out, int n_blocks, size_t bytes,
                                           cudaStream_t stream)
{
    const cudaError_t error = cudaFuncSetAttribute(
        (const void *)large_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (error != cudaSuccess) {
        return error;
    }
    LAUNCH(large_shared_kernel, n_blocks, 256, bytes, stream, out, (int)(bytes / sizeof(double)));
    return cudaGetLastError();
}

extern "C" cudaError_t basics_scale_by_constant(float *x, int n, float factor, cudaStream_t stream)
{
    const cudaError_t error = cudaMemcpyToSymbolAsync(constant_factor, &factor, sizeof factor, 0,
                                                      cudaMemcpyHostToDevice, stream);
    if (error != cudaSuccess) {
        return error;
    }
    LAUNCH(scale_by_constant_kernel, (n + 127) / 128, 128, 0, stream, x, n);
    return cudaGetLastError();
}
