/* phase_kernels.cu - the steps of phasing between its Fourier transforms, one pass each.
 *
 * M grid points a side, arrays in FFT order, half spectra [M][M][M/2+1]. Flat kernels: a thread a voxel or mode,
 * 256 a block, grid capped and looped. Row kernels: a warp takes a row (z, y) at a time with its lanes along x, 8
 * warps a block. Nothing is atomic but the counts of the histogram, which are integers; sums are taken in a fixed
 * order. All are bound by memory: times are bytes over 4.8 TB/s for M = 81 (5.3e5 voxels, 2.7e5 modes), less than
 * the 2 to 3 us that a launch takes; what a generation spends here is launches.
 */
#include "mtip/phase_kernels.h"

#include "core/cuda_kernels.cuh"
#include "core/cuda_launch.h"
#include "mtip/phase_ops.h"

#define PI 3.14159265358979323846

/* magnitude = sqrt(max(intensity, 0)) where measured, -1 where free; NaN stays NaN. Flat. 17 bytes and a root a
 * mode: 1.0 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    magnitudes_kernel(int64_t n, double *__restrict__ magnitude,
                      const double *__restrict__ intensity, const uint8_t *__restrict__ measured)
{
    for (int64_t i = flat_first(); i < n; i += flat_step()) {
        const double value = intensity[i];
        magnitude[i] = !measured[i] ? -1.0 : value <= 0.0 ? 0.0 : sqrt(value);
    }
}

/* half = scale half (m / |half| where m >= 0, else 1); phase 0 where |half| = 0. Flat. 40 bytes, 7 flops, a root and a
 * division a mode: 2.2 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    project_kernel(int64_t n, double2 *__restrict__ half, const double *__restrict__ magnitude,
                   double scale)
{
    for (int64_t i = flat_first(); i < n; i += flat_step()) {
        double2 f = half[i];
        const double m = magnitude[i];
        const double q = f.x * f.x + f.y * f.y;
        if (q == 0.0 && m >= 0.0) {
            f.x = m;
            f.y = 0.0;
        } else {
            const double wanted = m < 0.0 ? 1.0 : m / sqrt(q);
            f.x *= wanted;
            f.y *= wanted;
        }
        f.x *= scale;
        f.y *= scale;
        half[i] = f;
    }
}

/* One of the updates of phase.h; support and positivity are taken in. Flat. 25 bytes and at most 9 flops a voxel:
 * 2.8 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    update_kernel(int64_t n, enum phase_algorithm algorithm, double beta,
                  double *__restrict__ density, const double *__restrict__ projected,
                  const uint8_t *__restrict__ support)
{
    for (int64_t i = flat_first(); i < n; i += flat_step()) {
        const double p = projected[i];
        const bool inside = support[i] != 0;
        if (algorithm == PHASE_RAAR) {
            const double rho = density[i], y = 2.0 * p - rho;
            const double s = inside && y > 0.0 ? y : 0.0;
            density[i] = 0.5 * beta * ((2.0 * s - y) + rho) + (1.0 - beta) * p;
        } else if (algorithm == PHASE_HIO) {
            density[i] = inside && p > 0.0 ? p : density[i] - beta * p;
        } else {
            density[i] = inside && p > 0.0 ? p : 0.0;
        }
    }
}

/* to = max(from, 0), in the support alone when there is one. Flat. 17 bytes and a comparison a voxel: 1.9 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    positive_kernel(int64_t n, double *__restrict__ to, const double *__restrict__ from,
                    const uint8_t *__restrict__ support)
{
    for (int64_t i = flat_first(); i < n; i += flat_step()) {
        const double value = from[i];
        to[i] = value > 0.0 && (support == NULL || support[i]) ? value : 0.0;
    }
}

/* Squared distance from the origin of (row, x), rows counted over an M x M face. */
__device__ __forceinline__ double squared_radius(int64_t row, int64_t x, int64_t M)
{
    const double dz = (double)fft_frequency(row / M, M), dy = (double)fft_frequency(row % M, M);
    const double dx = (double)fft_frequency(x, M);
    return dz * dz + dy * dy + dx * dx;
}

/* half *= exp(-2 (pi sigma |k| / M)^2). Rows of modes; k_x = M/2 of an even M counts as -M/2, with the same square.
 * 32 bytes, 9 flops and an exponential a mode: 1.8 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    blur_kernel(int64_t M, double2 *__restrict__ half, double sigma)
{
    const int64_t n_x = M / 2 + 1;
    const double t = PI * sigma / (double)M;
    for (int64_t row = row_first(); row < M * M; row += row_step()) {
        for (int64_t x = threadIdx.x; x < n_x; x += ROW_LANES) {
            const double b = exp(-2.0 * t * t * squared_radius(row, x, M));
            double2 f = half[row * n_x + x];
            f.x *= b;
            f.y *= b;
            half[row * n_x + x] = f;
        }
    }
}

/* values = max(values, 0) inside the ball, 0 outside. Rows of voxels. 16 bytes, 5 flops a voxel: 1.8 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    confine_kernel(int64_t M, double *__restrict__ values, double radius)
{
    for (int64_t row = row_first(); row < M * M; row += row_step()) {
        for (int64_t x = threadIdx.x; x < M; x += ROW_LANES) {
            const double value = values[row * M + x];
            const bool inside = squared_radius(row, x, M) <= radius * radius;
            values[row * M + x] = inside && value > 0.0 ? value : 0.0;
        }
    }
}

/* support = 1 inside the ball, else 0. Rows of voxels. 1 byte and 5 flops a voxel: 0.1 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    ball_kernel(int64_t M, uint8_t *__restrict__ support, double radius)
{
    for (int64_t row = row_first(); row < M * M; row += row_step()) {
        for (int64_t x = threadIdx.x; x < M; x += ROW_LANES) {
            support[row * M + x] = squared_radius(row, x, M) <= radius * radius;
        }
    }
}

/* bins[d] += number of values whose bits above the digit equal `prefix` and whose digit is d.
 * Counts are kept in shared memory (8 KiB) and added to the bins at the end, all by integer atomics, so the order
 * does not matter. Most values are zeros that fall in one bin: the lanes of a warp that hold the same digit add
 * once. Flat grid of at most 512 blocks. 8 bytes, a vote and at most one addition a value: 0.9 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    histogram_kernel(int64_t n, unsigned long long *__restrict__ bins,
                     const double *__restrict__ values, uint64_t prefix, int shift)
{
    __shared__ unsigned count[PHASE_DIGITS];
    const int prefix_shift = shift + PHASE_DIGIT_BITS;
    for (int d = threadIdx.x; d < PHASE_DIGITS; d += FLAT_THREADS) {
        count[d] = 0;
    }
    __syncthreads();
    /* whole blocks go round together, so that all lanes take part in the vote */
    for (int64_t base = (int64_t)blockIdx.x * FLAT_THREADS; base < n; base += flat_step()) {
        const int64_t i = base + threadIdx.x;
        int digit = -1;
        if (i < n) {
            const uint64_t bits = (uint64_t)__double_as_longlong(values[i]);
            if (prefix_shift >= 64 || bits >> prefix_shift == prefix) {
                digit = (int)(bits >> shift & (PHASE_DIGITS - 1));
            }
        }
        const unsigned same = __match_any_sync(0xffffffffu, digit);
        const int first = __ffs((int)same) - 1;
        if (digit >= 0 && (int)threadIdx.x % 32 == first) {
            atomicAdd(&count[digit], (unsigned)__popc(same));
        }
    }
    __syncthreads();
    for (int d = threadIdx.x; d < PHASE_DIGITS; d += FLAT_THREADS) {
        if (count[d] > 0) {
            atomicAdd(&bins[d], (unsigned long long)count[d]);
        }
    }
}

/* support = values >= threshold. Flat. 9 bytes and a comparison a voxel: 1 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    threshold_kernel(int64_t n, uint8_t *__restrict__ support, const double *__restrict__ values,
                     double threshold)
{
    for (int64_t i = flat_first(); i < n; i += flat_step()) {
        support[i] = values[i] >= threshold;
    }
}

/* partials[block][5] = sum of max(density, 0) in the support, its moments in z, y, x, and voxels of the support, over
 * the block's rows. Rows of voxels, at most 512 blocks; 64 bytes of shared memory. 9 bytes, 8 flops a voxel: 1 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    moments_kernel(int64_t M, double *__restrict__ partials, const double *__restrict__ density,
                   const uint8_t *__restrict__ support)
{
    __shared__ double warps[BLOCK_WARPS];
    double sums[5] = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (int64_t row = row_first(); row < M * M; row += row_step()) {
        const double z = (double)fft_frequency(row / M, M), y = (double)fft_frequency(row % M, M);
        for (int64_t x = threadIdx.x; x < M; x += ROW_LANES) {
            const bool inside = support[row * M + x] != 0;
            const double value = density[row * M + x];
            const double rho = inside && value > 0.0 ? value : 0.0;
            sums[0] += rho;
            sums[1] += rho * z;
            sums[2] += rho * y;
            sums[3] += rho * (double)fft_frequency(x, M);
            sums[4] += inside ? 1.0 : 0.0;
        }
    }
#pragma unroll
    for (int i = 0; i < 5; i++) {
        const double sum = block_sum(sums[i], warps);
        if (threadIdx.x == 0 && threadIdx.y == 0) {
            partials[5 * blockIdx.x + i] = sum;
        }
        __syncthreads(); /* `warps` is about to be used again */
    }
}

/* to[(r + shift) mod M] = from[r], 0 <= shift < M. Rows of voxels. 16 (2) bytes a voxel, no flops: 1.8
 * (0.2) us. */
template <typename T>
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    roll_kernel(int64_t M, T *__restrict__ to, const T *__restrict__ from, int64_t by_z,
                int64_t by_y, int64_t by_x)
{
    for (int64_t row = row_first(); row < M * M; row += row_step()) {
        const int64_t z = (row / M + by_z) % M, y = (row % M + by_y) % M;
        for (int64_t x = threadIdx.x; x < M; x += ROW_LANES) {
            const int64_t at = x + by_x < M ? x + by_x : x + by_x - M;
            to[(z * M + y) * M + at] = from[row * M + x];
        }
    }
}

/* partials[block][2] = sum of (|half| - m)^2 and of m^2 over the block's measured modes; those with 0 < k_x < M/2 stand
 * for two. Rows of modes, at most 512 blocks; 64 bytes of shared memory. 24 bytes, 10 flops and a root a mode:
 * 1.4 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    misfit_kernel(int64_t M, double *__restrict__ partials, const double2 *__restrict__ half,
                  const double *__restrict__ magnitude)
{
    __shared__ double warps[BLOCK_WARPS];
    const int64_t n_x = M / 2 + 1;
    double misfit = 0.0, data = 0.0;
    for (int64_t row = row_first(); row < M * M; row += row_step()) {
        for (int64_t x = threadIdx.x; x < n_x; x += ROW_LANES) {
            const double m = magnitude[row * n_x + x];
            if (!(m < 0.0)) {
                const double2 f = half[row * n_x + x];
                const double weight = x == 0 || 2 * x == M ? 1.0 : 2.0;
                const double d = sqrt(f.x * f.x + f.y * f.y) - m;
                misfit += weight * d * d;
                data += weight * m * m;
            }
        }
    }
    misfit = block_sum(misfit, warps);
    __syncthreads(); /* `warps` is used again */
    data = block_sum(data, warps);
    if (threadIdx.x == 0 && threadIdx.y == 0) {
        partials[2 * blockIdx.x] = misfit;
        partials[2 * blockIdx.x + 1] = data;
    }
}

/* half = (scale |half|^2, 0). Flat. 32 bytes, 4 flops a mode: 1.8 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    square_kernel(int64_t n, double2 *__restrict__ half, double scale)
{
    for (int64_t i = flat_first(); i < n; i += flat_step()) {
        const double2 f = half[i];
        half[i] = make_double2(scale * (f.x * f.x + f.y * f.y), 0.0);
    }
}

/* values *= factor. Flat. 16 bytes and a product a voxel: 1.8 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    scale_kernel(int64_t n, double *__restrict__ values, double factor)
{
    for (int64_t i = flat_first(); i < n; i += flat_step()) {
        values[i] *= factor;
    }
}

static const dim3 flat_block(FLAT_THREADS);
static const dim3 row_block(ROW_LANES, ROW_WARPS);

static dim3 flat_grid(int64_t count)
{
    return dim3(block_count(count, FLAT_THREADS, MOST_BLOCKS));
}

static dim3 row_grid(int64_t rows)
{
    return dim3(block_count(rows, ROW_WARPS, MOST_BLOCKS));
}

extern "C" cudaError_t phase_magnitudes_launch(int64_t n, double *magnitude,
                                               const double *intensity, const uint8_t *measured,
                                               cudaStream_t stream)
{
    if (n == 0) {
        return cudaSuccess;
    }
    LAUNCH(magnitudes_kernel, flat_grid(n), flat_block, 0, stream, n, magnitude, intensity,
           measured);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_project_launch(int64_t n, double *half, const double *magnitude,
                                            double scale, cudaStream_t stream)
{
    if (n == 0) {
        return cudaSuccess;
    }
    LAUNCH(project_kernel, flat_grid(n), flat_block, 0, stream, n, (double2 *)half, magnitude,
           scale);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_update_launch(int64_t n, enum phase_algorithm algorithm, double beta,
                                           double *density, const double *projected,
                                           const uint8_t *support, cudaStream_t stream)
{
    if (n == 0) {
        return cudaSuccess;
    }
    LAUNCH(update_kernel, flat_grid(n), flat_block, 0, stream, n, algorithm, beta, density,
           projected, support);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_positive_launch(int64_t n, double *to, const double *from,
                                             const uint8_t *support, cudaStream_t stream)
{
    if (n == 0) {
        return cudaSuccess;
    }
    LAUNCH(positive_kernel, flat_grid(n), flat_block, 0, stream, n, to, from, support);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_blur_launch(int64_t M, double *half, double sigma, cudaStream_t stream)
{
    LAUNCH(blur_kernel, row_grid(M * M), row_block, 0, stream, M, (double2 *)half, sigma);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_confine_launch(int64_t M, double *values, double radius,
                                            cudaStream_t stream)
{
    LAUNCH(confine_kernel, row_grid(M * M), row_block, 0, stream, M, values, radius);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_ball_launch(int64_t M, uint8_t *support, double radius,
                                         cudaStream_t stream)
{
    LAUNCH(ball_kernel, row_grid(M * M), row_block, 0, stream, M, support, radius);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_histogram_launch(int64_t n, int64_t *bins, const double *values,
                                              uint64_t prefix, int shift, cudaStream_t stream)
{
    if (n == 0) {
        return cudaSuccess;
    }
    LAUNCH(histogram_kernel, dim3(block_count(n, 4 * FLAT_THREADS, MOST_PARTIALS)), flat_block, 0,
           stream, n, (unsigned long long *)bins, values, prefix, shift);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_threshold_launch(int64_t n, uint8_t *support, const double *values,
                                              double threshold, cudaStream_t stream)
{
    if (n == 0) {
        return cudaSuccess;
    }
    LAUNCH(threshold_kernel, flat_grid(n), flat_block, 0, stream, n, support, values, threshold);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_moments_launch(int64_t M, double *partials, int *n_partials,
                                            const double *density, const uint8_t *support,
                                            cudaStream_t stream)
{
    const unsigned blocks = block_count(M * M, ROW_WARPS, MOST_PARTIALS);
    *n_partials = (int)blocks;
    LAUNCH(moments_kernel, dim3(blocks), row_block, 0, stream, M, partials, density, support);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_misfit_launch(int64_t M, double *partials, int *n_partials,
                                           const double *half, const double *magnitude,
                                           cudaStream_t stream)
{
    const unsigned blocks = block_count(M * M, ROW_WARPS, MOST_PARTIALS);
    *n_partials = (int)blocks;
    LAUNCH(misfit_kernel, dim3(blocks), row_block, 0, stream, M, partials, (const double2 *)half,
           magnitude);
    return cudaGetLastError();
}

/* shift modulo M, 0 .. M - 1. */
static int64_t modulo(int64_t shift, int64_t M)
{
    return (shift % M + M) % M;
}

extern "C" cudaError_t phase_roll_launch(int64_t M, double *to, const double *from,
                                         const int64_t shift[3], cudaStream_t stream)
{
    LAUNCH((roll_kernel<double>), row_grid(M * M), row_block, 0, stream, M, to, from,
           modulo(shift[0], M), modulo(shift[1], M), modulo(shift[2], M));
    return cudaGetLastError();
}

extern "C" cudaError_t phase_roll_support_launch(int64_t M, uint8_t *to, const uint8_t *from,
                                                 const int64_t shift[3], cudaStream_t stream)
{
    LAUNCH((roll_kernel<uint8_t>), row_grid(M * M), row_block, 0, stream, M, to, from,
           modulo(shift[0], M), modulo(shift[1], M), modulo(shift[2], M));
    return cudaGetLastError();
}

extern "C" cudaError_t phase_square_launch(int64_t n, double *half, double scale,
                                           cudaStream_t stream)
{
    if (n == 0) {
        return cudaSuccess;
    }
    LAUNCH(square_kernel, flat_grid(n), flat_block, 0, stream, n, (double2 *)half, scale);
    return cudaGetLastError();
}

extern "C" cudaError_t phase_scale_launch(int64_t n, double *values, double factor,
                                          cudaStream_t stream)
{
    if (n == 0) {
        return cudaSuccess;
    }
    LAUNCH(scale_kernel, flat_grid(n), flat_block, 0, stream, n, values, factor);
    return cudaGetLastError();
}
