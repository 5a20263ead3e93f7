/* slice_kernels.cu - points of rotated frames, and log-slices. R rotations, P = n_use pixels. */
#include "mtip/slice_kernels.h"

#include "core/cuda_kernels.cuh"
#include "core/cuda_launch.h"

/* (x, y, z)[r][p] = M_r s_p.
 * A thread keeps the position of one pixel and walks over rotations; a warp's pixels are neighbours, so stores
 * are whole lines and the nine matrix elements are one broadcast. Grid (pixels / 256, rotations), capped
 * together. No atomics, no shared memory.
 * 15 flops and 12 (float) or 24 (double) bytes stored a point, memory: 1e6 points in 2.5 (5.0) us at 4.8 TB/s. */
template <typename T>
__global__ void __launch_bounds__(FLAT_THREADS)
    rotate_kernel(T *__restrict__ x, T *__restrict__ y, T *__restrict__ z,
                  const double *__restrict__ matrices, const double *__restrict__ pixels,
                  int64_t n_rotations, int64_t n_use)
{
    for (int64_t p = flat_first(); p < n_use; p += flat_step()) {
        const double s0 = pixels[3 * p], s1 = pixels[3 * p + 1], s2 = pixels[3 * p + 2];
        for (int64_t r = blockIdx.y; r < n_rotations; r += gridDim.y) {
            const double *m = matrices + 9 * r;
            const int64_t at = r * n_use + p;
            x[at] = (T)(m[0] * s0 + m[1] * s1 + m[2] * s2);
            y[at] = (T)(m[3] * s0 + m[4] * s1 + m[5] * s2);
            z[at] = (T)(m[6] * s0 + m[7] * s1 + m[8] * s2);
        }
    }
}

__device__ __forceinline__ float log_of(float x)
{
    return logf(x);
}
__device__ __forceinline__ double log_of(double x)
{
    return log(x);
}

/* W = max(value, floor); sums[r] = sum_p c_p W_rp; value = log W_rp - log m_p - log sums[r] + log_model_sum.
 * A block takes a rotation at a time: it sums the row, then reads it again (from L1, where rows of up to 50000
 * floats still are) to take logarithms. Sums in a fixed order; no atomics; 72 bytes of shared memory.
 * 8 (16) bytes a point to and from memory (4.8 TB/s), which governs, and some 30 flops for the logarithm: 1e6 points in 1.7
 * (3.3) us, 2048 threads an SM. */
template <typename T>
__global__ void __launch_bounds__(FLAT_THREADS)
    finish_kernel(T *__restrict__ values, double *__restrict__ sums,
                  const double *__restrict__ response, const double *__restrict__ log_model,
                  double log_model_sum, T low, int64_t n_rotations, int64_t n_use)
{
    __shared__ double warps[BLOCK_WARPS];
    __shared__ double shift;
    for (int64_t r = blockIdx.x; r < n_rotations; r += gridDim.x) {
        T *v = values + r * n_use;
        double sum = 0.0;
        for (int64_t p = threadIdx.x; p < n_use; p += FLAT_THREADS) {
            const T w = v[p] > low ? v[p] : low;
            sum += response[p] * (double)w;
        }
        sum = block_sum(sum, warps);
        if (threadIdx.x == 0) {
            shift = log_model_sum - log(sum);
            sums[r] = sum;
        }
        __syncthreads();
        for (int64_t p = threadIdx.x; p < n_use; p += FLAT_THREADS) {
            const T w = v[p] > low ? v[p] : low;
            v[p] = log_of(w) + (T)(shift - log_model[p]);
        }
        __syncthreads(); /* `shift` is about to be replaced */
    }
}

template <typename T>
static void rotate(void *x, void *y, void *z, const double *matrices, const double *pixels,
                   int64_t n_rotations, int64_t n_use, cudaStream_t stream)
{
    const unsigned along = block_count(n_use, FLAT_THREADS, MOST_BLOCKS);
    const dim3 grid(along, block_count(n_rotations, 1, MOST_BLOCKS / along));
    LAUNCH((rotate_kernel<T>), grid, dim3(FLAT_THREADS), 0, stream, (T *)x, (T *)y, (T *)z,
           matrices, pixels, n_rotations, n_use);
}

template <typename T>
static void finish(void *values, double *sums, const double *response, const double *log_model,
                   double log_model_sum, double floor, int64_t n_rotations, int64_t n_use,
                   cudaStream_t stream)
{
    const dim3 grid(block_count(n_rotations, 1, MOST_BLOCKS));
    LAUNCH((finish_kernel<T>), grid, dim3(FLAT_THREADS), 0, stream, (T *)values, sums, response,
           log_model, log_model_sum, (T)floor, n_rotations, n_use);
}

extern "C" cudaError_t slice_rotate_launch(void *x, void *y, void *z, const double *matrices,
                                           const double *pixels, int64_t n_rotations, int64_t n_use,
                                           enum nufft_precision precision, cudaStream_t stream)
{
    if (n_rotations == 0 || n_use == 0) {
        return cudaSuccess;
    }
    if (precision == NUFFT_FLOAT) {
        rotate<float>(x, y, z, matrices, pixels, n_rotations, n_use, stream);
    } else {
        rotate<double>(x, y, z, matrices, pixels, n_rotations, n_use, stream);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t slice_finish_launch(void *values, double *sums, const double *response,
                                           const double *log_model, double log_model_sum,
                                           double floor, int64_t n_rotations, int64_t n_use,
                                           enum nufft_precision precision, cudaStream_t stream)
{
    if (n_rotations == 0) {
        return cudaSuccess;
    }
    if (precision == NUFFT_FLOAT) {
        finish<float>(values, sums, response, log_model, log_model_sum, floor, n_rotations, n_use,
                      stream);
    } else {
        finish<double>(values, sums, response, log_model, log_model_sum, floor, n_rotations, n_use,
                       stream);
    }
    return cudaGetLastError();
}
