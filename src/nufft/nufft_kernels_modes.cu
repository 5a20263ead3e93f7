/* nufft_kernels_modes.cu - between modes and the spectrum of the fine grid: correction, truncation, zero padding, mode
 * order, and in real-data mode the half spectrum's conventions, in one pass each.
 *
 * Threads: 32 along x, 8 rows a block; grid x over x, y over rows, z over vectors. No atomics, no shared memory.
 */
#include "nufft/nufft_kernels_device.cuh"

#define LANES 32
#define ROWS 8

template <class T> struct complex_number {
    T re;
    T im;
};

/* Fine-grid index of mode element i of an axis (nufft_mode_cell). */
__device__ __forceinline__ int64_t cell_of_mode(const struct nufft_modes_job &job, int a, int64_t i)
{
    const int64_t n = job.n_modes[a];
    if (a == 0 && job.half) {
        return i;
    }
    if (job.order == NUFFT_ORDER_CENTRED) {
        return i < n / 2 ? i - n / 2 + job.nf[a] : i - n / 2;
    }
    return i < (n + 1) / 2 ? i : i - n + job.nf[a];
}

/* Mode element at a fine-grid index, -1 where no mode is stored. */
__device__ __forceinline__ int64_t mode_of_cell(const struct nufft_modes_job &job, int a,
                                                int64_t cell)
{
    const int64_t n = job.n_modes[a], nf = job.nf[a];
    if (a == 0 && job.half) {
        return cell < job.n_stored[0] ? cell : -1;
    }
    if (cell < (n + 1) / 2) {
        return job.order == NUFFT_ORDER_CENTRED ? cell + n / 2 : cell;
    }
    if (cell >= nf - n / 2) {
        return job.order == NUFFT_ORDER_CENTRED ? cell - nf + n / 2 : cell - nf + n;
    }
    return -1;
}

template <class T>
__device__ __forceinline__ T correction_at(const struct nufft_modes_job &job, int a, int64_t i)
{
    return __ldg((const T *)job.correction[a] + i);
}

/* f_k = corr_k B_k: a thread a mode. Reads and writes each stored mode once: 4 w bytes with w = 4 or 8, and 5 flops, memory:
 * 81^3 double: 17 MB, 3.5 us at 4.8 TB/s; 256^3: 0.54 GB, 0.11 ms. */
template <class T>
__global__ void grid_to_modes_kernel(struct nufft_modes_job job, complex_number<T> *modes,
                                     int64_t vectors)
{
    const int64_t rows = job.n_stored[1] * job.n_stored[2];
    const int64_t ix = (int64_t)blockIdx.x * LANES + threadIdx.x;
    if (ix >= job.n_stored[0]) {
        return;
    }
    const T corr_x = correction_at<T>(job, 0, ix);
    const int64_t cell_x = cell_of_mode(job, 0, ix);
    const T im_sign = job.conjugate ? (T)-1 : (T)1;
    for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < rows;
         row += (int64_t)gridDim.y * ROWS) {
        const int64_t iy = row % job.n_stored[1], iz = row / job.n_stored[1];
        const T factor = corr_x * correction_at<T>(job, 1, iy) * correction_at<T>(job, 2, iz);
        const int64_t cell =
            (cell_of_mode(job, 2, iz) * job.nf[1] + cell_of_mode(job, 1, iy)) * job.spectrum_row +
            cell_x;
        for (int64_t v = blockIdx.z; v < vectors; v += gridDim.z) {
            const complex_number<T> from =
                ((const complex_number<T> *)job.grid)[v * job.spectrum_vector + cell];
            complex_number<T> to;
            to.re = factor * from.re;
            to.im = factor * im_sign * from.im;
            modes[(v * rows + row) * job.n_stored[0] + ix] = to;
        }
    }
}

/* Corrected mode at fine-grid cell (x, y, z), 0 where none is stored. */
template <class T>
__device__ complex_number<T> padded_mode(const struct nufft_modes_job &job,
                                         const complex_number<T> *modes, int64_t x, int64_t y,
                                         int64_t z)
{
    complex_number<T> to;
    to.re = to.im = (T)0;
    const int64_t ix = mode_of_cell(job, 0, x);
    const int64_t iy = mode_of_cell(job, 1, y);
    const int64_t iz = mode_of_cell(job, 2, z);
    if (ix < 0 || iy < 0 || iz < 0) {
        return to;
    }
    T factor =
        correction_at<T>(job, 0, ix) * correction_at<T>(job, 1, iy) * correction_at<T>(job, 2, iz);
    if (job.half && ix > 0 && 2 * ix == job.n_modes[0]) {
        factor *= (T)0.5; /* its own mirror image: counted once (nufft_mode_is_edge) */
    }
    const complex_number<T> from = modes[(iz * job.n_stored[1] + iy) * job.n_stored[0] + ix];
    to.re = factor * from.re;
    to.im = (job.conjugate ? -factor : factor) * from.im;
    return to;
}

/* B_k = corr_k f_k, zero elsewhere: a thread a cell of the (half) spectrum, all of it written. In real-data mode the
 * plane k_x = 0 is made Hermitian, which leaves the real part of the transform as it is: a complex-to-real FFT is
 * defined for such input only. Bytes: 16 a cell and 16 a mode (double complex), and 4 flops a mode, memory: 81^3 modes on
 * 210^3 cells: 0.16 GB, 33 us at 4.8 TB/s; 256^3 on 512^3: 2.4 GB, 0.5 ms. */
template <class T>
__global__ void modes_to_grid_kernel(struct nufft_modes_job job, const complex_number<T> *modes,
                                     int64_t vectors)
{
    const int64_t rows = job.nf[1] * job.nf[2];
    const int64_t stored = job.n_stored[0] * job.n_stored[1] * job.n_stored[2];
    const int64_t across = job.half ? job.nf[0] / 2 + 1 : job.nf[0];
    const int64_t x = (int64_t)blockIdx.x * LANES + threadIdx.x;
    if (x >= across) {
        return;
    }
    for (int64_t row = (int64_t)blockIdx.y * ROWS + threadIdx.y; row < rows;
         row += (int64_t)gridDim.y * ROWS) {
        const int64_t y = row % job.nf[1], z = row / job.nf[1];
        for (int64_t v = blockIdx.z; v < vectors; v += gridDim.z) {
            const complex_number<T> *from = modes + v * stored;
            complex_number<T> value = padded_mode<T>(job, from, x, y, z);
            if (job.half && x == 0) {
                const complex_number<T> mirror = padded_mode<T>(
                    job, from, 0, y == 0 ? 0 : job.nf[1] - y, z == 0 ? 0 : job.nf[2] - z);
                value.re = (T)0.5 * (value.re + mirror.re);
                value.im = (T)0.5 * (value.im - mirror.im);
            }
            ((complex_number<T> *)job.grid)[v * job.spectrum_vector + row * job.spectrum_row + x] =
                value;
        }
    }
}

static dim3 blocks_for(int64_t across, int64_t rows, int64_t vectors)
{
    const int64_t y = (rows + ROWS - 1) / ROWS;
    return dim3((unsigned)((across + LANES - 1) / LANES), (unsigned)(y < 65535 ? y : 65535),
                (unsigned)(vectors < 65535 ? vectors : 65535));
}

extern "C" cudaError_t nufft_launch_grid_to_modes(const struct nufft_modes_job *job, void *modes,
                                                  int64_t vectors, cudaStream_t stream)
{
    const dim3 blocks = blocks_for(job->n_stored[0], job->n_stored[1] * job->n_stored[2], vectors);
    if (job->precision == NUFFT_FLOAT) {
        LAUNCH((grid_to_modes_kernel<float>), blocks, dim3(LANES, ROWS), 0, stream, *job,
               (complex_number<float> *)modes, vectors);
    } else {
        LAUNCH((grid_to_modes_kernel<double>), blocks, dim3(LANES, ROWS), 0, stream, *job,
               (complex_number<double> *)modes, vectors);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t nufft_launch_modes_to_grid(const struct nufft_modes_job *job,
                                                  const void *modes, int64_t vectors,
                                                  cudaStream_t stream)
{
    const int64_t across = job->half ? job->nf[0] / 2 + 1 : job->nf[0];
    const dim3 blocks = blocks_for(across, job->nf[1] * job->nf[2], vectors);
    if (job->precision == NUFFT_FLOAT) {
        LAUNCH((modes_to_grid_kernel<float>), blocks, dim3(LANES, ROWS), 0, stream, *job,
               (const complex_number<float> *)modes, vectors);
    } else {
        LAUNCH((modes_to_grid_kernel<double>), blocks, dim3(LANES, ROWS), 0, stream, *job,
               (const complex_number<double> *)modes, vectors);
    }
    return cudaGetLastError();
}
