/* cuda_kernels.cuh - what the kernels of all stages share: sizes of launches, sums in a fixed order, and
 * the loop over rows of 3-D grids. For .cu files only.
 *
 * Launch shapes depend on the sizes of the problem alone, never on the device, and all sums are taken in an
 * order fixed by the shape: the same input gives the same bits on every run.
 */
#ifndef MTIP_CORE_CUDA_KERNELS_CUH
#define MTIP_CORE_CUDA_KERNELS_CUH

#include <cstdint>

#include <cuda_runtime.h>

/* Threads of a block of flat kernels. */
#define FLAT_THREADS 256

/* Row kernels: a block is ROW_LANES x ROW_WARPS threads and a warp takes one row at a time. */
#define ROW_LANES 32
#define ROW_WARPS 8

/* Blocks of a launch at most: two waves and more of the largest devices; what is left over is looped. */
#define MOST_BLOCKS 4096

/* Blocks of a reduction at most: each leaves one partial result, which the host adds up. */
#define MOST_PARTIALS 512

static inline unsigned block_count(int64_t items, int64_t a_block, int64_t most)
{
    const int64_t wanted = (items + a_block - 1) / a_block;
    return (unsigned)(wanted < 1 ? 1 : wanted < most ? wanted : most);
}

/* Flat loop: for (int64_t i = flat_first(); i < n; i += flat_step()). */
__device__ __forceinline__ int64_t flat_first()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ int64_t flat_step()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* Row loop: for (int64_t row = row_first(); row < rows; row += row_step()), lanes along x. */
__device__ __forceinline__ int64_t row_first()
{
    return (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
}
__device__ __forceinline__ int64_t row_step()
{
    return (int64_t)gridDim.x * blockDim.y;
}

/* Frequency of index i of an axis of n in FFT order, and back. */
__device__ __forceinline__ int64_t fft_frequency(int64_t i, int64_t n)
{
    return i <= (n - 1) / 2 ? i : i - n;
}
__device__ __forceinline__ int64_t fft_position(int64_t k, int64_t n)
{
    return k < 0 ? k + n : k;
}

/* Sum over the block's FLAT_THREADS (or ROW_LANES * ROW_WARPS, as many) threads, in thread 0: a tree over each
 * warp, then over the warps. `shared` holds one number a warp and may be used again after a barrier. */
#define BLOCK_WARPS (FLAT_THREADS / 32)
__device__ __forceinline__ double block_sum(double value, double *shared)
{
    const int thread = threadIdx.y * blockDim.x + threadIdx.x;
    for (int d = 16; d > 0; d >>= 1) {
        value += __shfl_down_sync(0xffffffffu, value, d);
    }
    if (thread % 32 == 0) {
        shared[thread / 32] = value;
    }
    __syncthreads();
    if (thread < 32) {
        value = thread < BLOCK_WARPS ? shared[thread] : 0.0;
        for (int d = BLOCK_WARPS / 2; d > 0; d >>= 1) {
            value += __shfl_down_sync(0xffffffffu, value, d);
        }
    }
    return value;
}

#endif
