/* merge_kernels.cu - weights and data of frames, half grids, and the vectors of the Toeplitz solver.
 *
 * M odd grid size, L = 2 M - 1 lags, n >= L circulant size, all in FFT order. Row kernels: a warp takes a row
 * (z, y) at a time with its lanes along x, 8 warps a block, grid over rows, capped. Every element is written
 * once, so nothing needs to be zeroed before and nothing is atomic. No shared memory but in the dot product.
 * Everything here is bound by memory: times are bytes over 4.8 TB/s, for M = 81 (n = 162).
 */
#include "mtip/merge_kernels.h"

#include "core/cuda_kernels.cuh"
#include "core/cuda_launch.h"

/* out[0][i][p] = phi_i c_p / m_p, out[1][i][p] = d_ip / m_p; zero where phi_i <= 0.
 * A thread keeps one pixel and walks over frames; stores are whole lines. Grid (pixels / 256, frames), capped
 * together. 20 bytes and 5 flops a point: 2e6 points in 8.3 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    strengths_kernel(double *__restrict__ out, const float *__restrict__ frames, int64_t ld,
                     const int64_t *__restrict__ index, int64_t count,
                     const double *__restrict__ fluence, const double *__restrict__ response,
                     const double *__restrict__ scale, int64_t n_use)
{
    for (int64_t p = flat_first(); p < n_use; p += flat_step()) {
        const double c = response[p], s = scale[p];
        for (int64_t i = blockIdx.y; i < count; i += gridDim.y) {
            const int64_t frame = index[i];
            const double phi = fluence[frame], on = phi > 0.0 ? 1.0 : 0.0;
            out[i * n_use + p] = on * phi * c * s;
            out[(count + i) * n_use + p] = on * (double)frames[frame * ld + p] * s;
        }
    }
}

/* As exact_round of core/exact_sum.h, said so that no compiler option can take it apart. */
__device__ static double rounded(double term, double anchor)
{
    return __dsub_rn(__dadd_rn(term, anchor), anchor);
}

/* kernel[L][L][M] += Re modes[0]; rhs[M][M][(M+1)/2] += Re modes[1] on the rows and columns that it has.
 * Row kernel over the L^2 rows of the kernel. 32 bytes and 3 flops a lag, and an eighth as much for the right-hand
 * side: 2.1e6 lags in 16 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    accumulate_kernel(double *__restrict__ kernel, double *__restrict__ rhs,
                      const double2 *__restrict__ modes, int64_t m, double kernel_anchor,
                      double rhs_anchor)
{
    const int64_t l = 2 * m - 1, half = (m + 1) / 2, reach = (m - 1) / 2;
    const double2 *second = modes + l * l * m;
    for (int64_t row = row_first(); row < l * l; row += row_step()) {
        for (int64_t x = threadIdx.x; x < m; x += ROW_LANES) {
            kernel[row * m + x] += rounded(modes[row * m + x].x, kernel_anchor);
        }
        const int64_t kz = fft_frequency(row / l, l), ky = fft_frequency(row % l, l);
        if (kz >= -reach && kz <= reach && ky >= -reach && ky <= reach) {
            const int64_t to = (fft_position(kz, m) * m + fft_position(ky, m)) * half;
            for (int64_t x = threadIdx.x; x < half; x += ROW_LANES) {
                rhs[to + x] += rounded(second[row * m + x].x, rhs_anchor);
            }
        }
    }
}

/* circulant[n][n][n]: the half grid kernel[L][L][M] at k_x >= 0, its mirror image at k_x < 0, zero where a lag is
 * out of reach. Row kernel over the n^2 rows. 8 bytes written and about as many read, no flops: 4.3e6 in 14 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    expand_kernel(double *__restrict__ circulant, const double *__restrict__ kernel, int64_t m,
                  int64_t n)
{
    const int64_t l = 2 * m - 1;
    for (int64_t row = row_first(); row < n * n; row += row_step()) {
        const int64_t kz = fft_frequency(row / n, n), ky = fft_frequency(row % n, n);
        const bool inside = kz > -m && kz < m && ky > -m && ky < m;
        const double *plus = kernel + (fft_position(kz, l) * l + fft_position(ky, l)) * m;
        const double *minus = kernel + (fft_position(-kz, l) * l + fft_position(-ky, l)) * m;
        for (int64_t x = threadIdx.x; x < n; x += ROW_LANES) {
            const int64_t kx = fft_frequency(x, n);
            double value = 0.0;
            if (inside && kx > -m && kx < m) {
                value = kx >= 0 ? plus[kx] : minus[-kx];
            }
            circulant[row * n + x] = value;
        }
    }
}

/* full[M][M][M] from half[M][M][(M+1)/2]: half(-k) where k_x < 0. Row kernel over the M^2 rows. 12 bytes a
 * voxel, no flops: 1.3 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    unfold_kernel(double *__restrict__ full, const double *__restrict__ half, int64_t m)
{
    const int64_t h = (m + 1) / 2;
    for (int64_t row = row_first(); row < m * m; row += row_step()) {
        const int64_t z = row / m, y = row % m;
        const double *plus = half + row * h;
        const double *minus = half + ((m - z) % m * m + (m - y) % m) * h;
        for (int64_t x = threadIdx.x; x < m; x += ROW_LANES) {
            full[row * m + x] = x < h ? plus[x] : minus[m - x];
        }
    }
}

/* real[i] = scale Re half[i]. A thread a number, flat grid. 24 bytes, a product: 2.15e6 modes in 11 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    real_part_kernel(double *__restrict__ real, const double2 *__restrict__ half, int64_t count,
                     double scale)
{
    for (int64_t i = flat_first(); i < count; i += flat_step()) {
        real[i] = scale * half[i].x;
    }
}

/* padded[n][n][n] = v inside the ball |k| <= radius of the M^3 grid, zero elsewhere. Row kernel over the n^2 rows; most
 * of the time is writing zeros: 9 bytes and at most 2 flops a voxel of the n^3 grid, 8 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    pad_kernel(double *__restrict__ padded, const double *__restrict__ v, int64_t m, int64_t n,
               double radius)
{
    const int64_t reach = (m - 1) / 2;
    for (int64_t row = row_first(); row < n * n; row += row_step()) {
        const int64_t kz = fft_frequency(row / n, n), ky = fft_frequency(row % n, n);
        const bool inside = kz >= -reach && kz <= reach && ky >= -reach && ky <= reach;
        const double left = radius * radius - (double)(kz * kz + ky * ky);
        const double *from = v + (fft_position(kz, m) * m + fft_position(ky, m)) * m;
        for (int64_t x = threadIdx.x; x < n; x += ROW_LANES) {
            const int64_t kx = fft_frequency(x, n);
            double value = 0.0;
            if (inside && kx >= -reach && kx <= reach && (double)(kx * kx) <= left) {
                value = from[fft_position(kx, m)];
            }
            padded[row * n + x] = value;
        }
    }
}

/* half[i] *= spectrum[i], complex by real. A thread a mode, flat grid. 40 bytes, 2 flops: 2.15e6 modes in 18 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    multiply_kernel(double2 *__restrict__ half, const double *__restrict__ spectrum, int64_t count)
{
    for (int64_t i = flat_first(); i < count; i += flat_step()) {
        const double factor = spectrum[i];
        double2 value = half[i];
        value.x *= factor;
        value.y *= factor;
        half[i] = value;
    }
}

/* out[M][M][M] = (padded at the same k inside the ball, else 0) + lambda v; out may be v. Row kernel over the M^2
 * rows. 24 bytes, 4 flops a voxel: 2.7 us. */
__global__ void __launch_bounds__(ROW_LANES *ROW_WARPS)
    crop_kernel(double *out, const double *__restrict__ padded, const double *v, double lambda,
                int64_t m, int64_t n, double radius)
{
    for (int64_t row = row_first(); row < m * m; row += row_step()) {
        const int64_t kz = fft_frequency(row / m, m), ky = fft_frequency(row % m, m);
        const double left = radius * radius - (double)(kz * kz + ky * ky);
        const double *from = padded + (fft_position(kz, n) * n + fft_position(ky, n)) * n;
        for (int64_t x = threadIdx.x; x < m; x += ROW_LANES) {
            const int64_t kx = fft_frequency(x, m);
            const double inside = (double)(kx * kx) <= left ? from[fft_position(kx, n)] : 0.0;
            out[row * m + x] = inside + lambda * v[row * m + x];
        }
    }
}

/* y = a x + b y. A thread a number, flat grid. 24 bytes, 3 flops: 2.7 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    combine_kernel(double *__restrict__ y, double a, const double *__restrict__ x, double b,
                   int64_t count)
{
    for (int64_t i = flat_first(); i < count; i += flat_step()) {
        y[i] = a * x[i] + b * y[i];
    }
}

/* partials[block] = sum of x_i y_i over the block's elements, in a fixed order (the grid depends on `count` alone).
 * Threads stride over the vectors; 64 bytes of shared memory. 16 bytes, 2 flops an element: 1.8 us. */
__global__ void __launch_bounds__(FLAT_THREADS)
    dot_kernel(double *__restrict__ partials, const double *__restrict__ x,
               const double *__restrict__ y, int64_t count)
{
    __shared__ double warps[BLOCK_WARPS];
    double sum = 0.0;
    for (int64_t i = flat_first(); i < count; i += flat_step()) {
        sum += x[i] * y[i];
    }
    sum = block_sum(sum, warps);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
    }
}

/* a += step d, r -= step q, partials[block] = sum of r_i^2 over the block's elements, as in dot_kernel: a step of
 * conjugate gradients in one pass. 48 bytes, 6 flops an element: 5.3 us, against 7.1 us in three passes, and two launches
 * less. */
__global__ void __launch_bounds__(FLAT_THREADS)
    advance_kernel(double *__restrict__ partials, double *__restrict__ a, double *__restrict__ r,
                   const double *__restrict__ d, const double *__restrict__ q, double step,
                   int64_t count)
{
    __shared__ double warps[BLOCK_WARPS];
    double sum = 0.0;
    for (int64_t i = flat_first(); i < count; i += flat_step()) {
        const double left = r[i] - step * q[i];
        a[i] += step * d[i];
        r[i] = left;
        sum += left * left;
    }
    sum = block_sum(sum, warps);
    if (threadIdx.x == 0) {
        partials[blockIdx.x] = sum;
    }
}

static dim3 flat_grid(int64_t count)
{
    return dim3(block_count(count, FLAT_THREADS, MOST_BLOCKS));
}

static dim3 row_grid(int64_t rows)
{
    return dim3(block_count(rows, ROW_WARPS, MOST_BLOCKS));
}

static const dim3 flat_block(FLAT_THREADS);
static const dim3 row_block(ROW_LANES, ROW_WARPS);

extern "C" cudaError_t merge_strengths_launch(double *out, const float *frames, int64_t ld,
                                              const int64_t *index, int64_t count,
                                              const double *fluence, const double *response,
                                              const double *scale, int64_t n_use,
                                              cudaStream_t stream)
{
    if (count == 0 || n_use == 0) {
        return cudaSuccess;
    }
    const unsigned along = block_count(n_use, FLAT_THREADS, MOST_BLOCKS);
    const dim3 grid(along, block_count(count, 1, MOST_BLOCKS / along));
    LAUNCH(strengths_kernel, grid, flat_block, 0, stream, out, frames, ld, index, count, fluence,
           response, scale, n_use);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_accumulate_launch(double *kernel, double *rhs, const double *modes,
                                               int64_t m, double kernel_anchor, double rhs_anchor,
                                               cudaStream_t stream)
{
    LAUNCH(accumulate_kernel, row_grid((2 * m - 1) * (2 * m - 1)), row_block, 0, stream, kernel,
           rhs, (const double2 *)modes, m, kernel_anchor, rhs_anchor);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_expand_launch(double *circulant, const double *kernel, int64_t m,
                                           int64_t n, cudaStream_t stream)
{
    LAUNCH(expand_kernel, row_grid(n * n), row_block, 0, stream, circulant, kernel, m, n);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_unfold_launch(double *full, const double *half, int64_t m,
                                           cudaStream_t stream)
{
    LAUNCH(unfold_kernel, row_grid(m * m), row_block, 0, stream, full, half, m);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_real_part_launch(double *real, const double *half, int64_t count,
                                              double scale, cudaStream_t stream)
{
    if (count == 0) {
        return cudaSuccess;
    }
    LAUNCH(real_part_kernel, flat_grid(count), flat_block, 0, stream, real, (const double2 *)half,
           count, scale);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_pad_launch(double *padded, const double *v, int64_t m, int64_t n,
                                        double radius, cudaStream_t stream)
{
    LAUNCH(pad_kernel, row_grid(n * n), row_block, 0, stream, padded, v, m, n, radius);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_multiply_launch(double *half, const double *spectrum, int64_t count,
                                             cudaStream_t stream)
{
    if (count == 0) {
        return cudaSuccess;
    }
    LAUNCH(multiply_kernel, flat_grid(count), flat_block, 0, stream, (double2 *)half, spectrum,
           count);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_crop_launch(double *out, const double *padded, const double *v,
                                         double lambda, int64_t m, int64_t n, double radius,
                                         cudaStream_t stream)
{
    LAUNCH(crop_kernel, row_grid(m * m), row_block, 0, stream, out, padded, v, lambda, m, n,
           radius);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_combine_launch(double *y, double a, const double *x, double b,
                                            int64_t count, cudaStream_t stream)
{
    if (count == 0) {
        return cudaSuccess;
    }
    LAUNCH(combine_kernel, flat_grid(count), flat_block, 0, stream, y, a, x, b, count);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_advance_launch(double *partials, int *n_partials, double *a, double *r,
                                            const double *d, const double *q, double step,
                                            int64_t count, cudaStream_t stream)
{
    *n_partials = 0;
    if (count == 0) {
        return cudaSuccess;
    }
    const unsigned blocks = block_count(count, 4 * FLAT_THREADS, MOST_PARTIALS);
    *n_partials = (int)blocks;
    LAUNCH(advance_kernel, dim3(blocks), flat_block, 0, stream, partials, a, r, d, q, step, count);
    return cudaGetLastError();
}

extern "C" cudaError_t merge_dot_launch(double *partials, int *n_partials, const double *x,
                                        const double *y, int64_t count, cudaStream_t stream)
{
    *n_partials = 0;
    if (count == 0) {
        return cudaSuccess;
    }
    const unsigned blocks = block_count(count, 4 * FLAT_THREADS, MOST_PARTIALS);
    *n_partials = (int)blocks;
    LAUNCH(dot_kernel, dim3(blocks), flat_block, 0, stream, partials, x, y, count);
    return cudaGetLastError();
}
