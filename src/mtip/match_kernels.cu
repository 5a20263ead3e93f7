/* match_kernels.cu - the best of a tile of scores, and scores of trials. N frames, R slices, P = n_use pixels. */
#include "mtip/match_kernels.h"

#include "core/cuda_kernels.cuh"
#include "core/cuda_launch.h"

/* (score, index)[n] = the better of itself and max_r (scores[n][r], first_index + r).
 * A warp takes a frame: each lane keeps the best of every 32nd score, first come first kept, then the lanes
 * compare in five steps with ties to the lower index, so that the order does not matter. 8 warps a block, grid over
 * frames, capped. No atomics, no shared memory.
 * 4 (8) bytes and a comparison a score, from L2 for tiles of up to some 30 MB: at 5 TB/s the 4.2e6 scores of a tile take 3.4
 * (6.7) us, against 140 us for the products at 1000 pixels and 60 TFLOP/s. */
template <typename T>
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    best_kernel(double *__restrict__ best_score, int64_t *__restrict__ best_index,
                const T *__restrict__ scores, int64_t n_frames, int64_t n_slices,
                int64_t first_index, struct match_draw draw)
{
    for (int64_t n = row_first(); n < n_frames; n += row_step()) {
        const T *row = scores + n * n_slices;
        T top = (T)-INFINITY;
        int64_t at = n_slices; /* none yet */
        for (int64_t r = threadIdx.x; r < n_slices; r += ROW_LANES) {
            const T score = row[r];
            if (score > top && match_is_candidate(draw, n, first_index + r)) {
                top = score;
                at = r;
            }
        }
        for (int d = 16; d > 0; d >>= 1) {
            const T other = __shfl_xor_sync(0xffffffffu, top, d);
            const int64_t other_at = __shfl_xor_sync(0xffffffffu, at, d);
            if (other > top || (other == top && other_at < at)) {
                top = other;
                at = other_at;
            }
        }
        if (threadIdx.x == 0 && at < n_slices) {
            const double score = (double)top;
            const int64_t index = first_index + at;
            if (score > best_score[n] || (score == best_score[n] && index < best_index[n])) {
                best_score[n] = score;
                best_index[n] = index;
            }
        }
    }
}

/* wide[n][p] = frames[n][p] in double precision.
 * A warp takes a frame, lanes along pixels; 8 warps a block. No atomics, no shared memory.
 * 12 bytes and a conversion a value, memory (4.8 TB/s): 1e6 values in 2.5 us, beside 60 us for their products with 1000 slices
 * at 34 TFLOP/s. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    widen_kernel(double *__restrict__ wide, const float *__restrict__ frames, int64_t ld,
                 int64_t n_frames, int64_t n_use)
{
    for (int64_t n = row_first(); n < n_frames; n += row_step()) {
        for (int64_t p = threadIdx.x; p < n_use; p += ROW_LANES) {
            wide[n * n_use + p] = (double)frames[n * ld + p];
        }
    }
}

/* scores[i] = sum_p frames[i / T][p] slices[i][p], in double precision.
 * A block takes a trial at a time, threads along pixels; the sum has a fixed order. The T trials of a frame are
 * neighbours in the grid and find its row in L2. No atomics; 64 bytes of shared memory.
 * 4 (8) bytes and 2 flops a point, memory (4.8 TB/s): 1e6 points in 0.8 (1.7) us. */
template <typename T>
__global__ void __launch_bounds__(FLAT_THREADS)
    trials_kernel(double *__restrict__ scores, const float *__restrict__ frames, int64_t ld,
                  const T *__restrict__ slices, int64_t n_slices, int64_t n_trials, int64_t n_use)
{
    __shared__ double warps[BLOCK_WARPS];
    for (int64_t i = blockIdx.x; i < n_slices; i += gridDim.x) {
        const float *d = frames + i / n_trials * ld;
        const T *slice = slices + i * n_use;
        double sum = 0.0;
        for (int64_t p = threadIdx.x; p < n_use; p += FLAT_THREADS) {
            sum += (double)d[p] * (double)slice[p];
        }
        sum = block_sum(sum, warps);
        if (threadIdx.x == 0) {
            scores[i] = sum;
        }
        __syncthreads(); /* `warps` is about to be used again */
    }
}

extern "C" cudaError_t match_best_launch(double *best_score, int64_t *best_index,
                                         const void *scores, int64_t n_frames, int64_t n_slices,
                                         int64_t first_index, struct match_draw draw,
                                         enum nufft_precision precision, cudaStream_t stream)
{
    const dim3 block(ROW_LANES, ROW_WARPS);
    if (n_frames == 0 || n_slices == 0) {
        return cudaSuccess;
    }
    const dim3 grid(block_count(n_frames, ROW_WARPS, MOST_BLOCKS));
    if (precision == NUFFT_FLOAT) {
        LAUNCH((best_kernel<float>), grid, block, 0, stream, best_score, best_index,
               (const float *)scores, n_frames, n_slices, first_index, draw);
    } else {
        LAUNCH((best_kernel<double>), grid, block, 0, stream, best_score, best_index,
               (const double *)scores, n_frames, n_slices, first_index, draw);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t match_widen_launch(double *wide, const float *frames, int64_t ld,
                                          int64_t n_frames, int64_t n_use, cudaStream_t stream)
{
    if (n_frames == 0 || n_use == 0) {
        return cudaSuccess;
    }
    LAUNCH(widen_kernel, dim3(block_count(n_frames, ROW_WARPS, MOST_BLOCKS)),
           dim3(ROW_LANES, ROW_WARPS), 0, stream, wide, frames, ld, n_frames, n_use);
    return cudaGetLastError();
}

extern "C" cudaError_t match_trials_launch(double *scores, const float *frames, int64_t ld,
                                           const void *slices, int64_t n_slices, int64_t n_trials,
                                           int64_t n_use, enum nufft_precision precision,
                                           cudaStream_t stream)
{
    if (n_slices == 0) {
        return cudaSuccess;
    }
    const dim3 grid(block_count(n_slices, 1, MOST_BLOCKS)), block(FLAT_THREADS);
    if (precision == NUFFT_FLOAT) {
        LAUNCH((trials_kernel<float>), grid, block, 0, stream, scores, frames, ld,
               (const float *)slices, n_slices, n_trials, n_use);
    } else {
        LAUNCH((trials_kernel<double>), grid, block, 0, stream, scores, frames, ld,
               (const double *)slices, n_slices, n_trials, n_use);
    }
    return cudaGetLastError();
}
