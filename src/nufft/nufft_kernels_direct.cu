/* nufft_kernels_direct.cu - methods GM and GM-sort: every point straight to the fine grid and from it.
 *
 * LANES lanes (4, 8 or 16, the least that hold the kernel's width w) serve a point; a warp serves 32 / LANES. Lane i
 * works out tap i of all three axes and keeps them in registers; the row factors ky kz reach the others by shuffles,
 * so that there is no table of kernel values, no local memory and no dependence on w at compile time. A row of w taps is
 * one coalesced access.
 */
#include "nufft/nufft_kernels_device.cuh"

#define BLOCK 128

/* Taps of this lane's point: k[a] = phi_a(tap lane), 0 past the width; beyond the dimension 1 for tap 0. */
template <class T>
__device__ __forceinline__ void lane_taps(T k[3], const struct nufft_job &job, int64_t j, int lane)
{
    for (int a = 0; a < 3; a++) {
        k[a] = lane == 0 ? (T)1 : (T)0;
        if (a < job.dimension) {
            const int w = job.width[a];
            k[a] = lane < w ? kernel_tap<T>((const T *)job.poly[a], w, NUFFT_KERNEL_DEGREE(w),
                                            ((const T *)job.s[a])[j], lane)
                            : (T)0;
        }
    }
}

/* b[l] += c_j phi(l - g_j): a group of LANES lanes a point, over the w^(d-1) rows.
 * Grid: x = points, y = groups of vectors. Global atomics: w^d a point and value, coalesced by rows. No shared memory.
 *
 * 3-D, complex: 2 w^3 multiply-adds and atomic additions. Additions of 8 bytes go through L2 at about 2.4 TB/s (half
 * of its bandwidth: an estimate), so a point takes 16 w^3 / 2.4e12 s: w = 7: 2.3 ns, w = 12: 12 ns (double); half in
 * single precision. Arithmetic (w = 12: 0.2 ns) does not matter. */
template <class T, int LAYOUT, int LANES>
__global__ void spread_points_kernel(struct nufft_job job, const void *strengths, int64_t groups)
{
    const int lane = (int)threadIdx.x % LANES;
    const int64_t point =
        ((int64_t)blockIdx.x * BLOCK + threadIdx.x) / LANES; /* the last warp may have none */
    const int64_t j = point < job.n_points ? point : job.n_points - 1;
    const int writes = point < job.n_points && lane < job.width[0];
    const int64_t user = job.order != NULL ? (int64_t)job.order[j] : j;
    const int32_t y0 = first_tap(job, 1, j), z0 = first_tap(job, 2, j);
    const int32_t x = wrapped(first_tap(job, 0, j) + (lane < job.width[0] ? lane : 0), job.nf[0]);
    T k[3];
    lane_taps<T>(k, job, j, lane);
    for (int64_t g = blockIdx.y; g < groups; g += gridDim.y) {
        const field<T, LAYOUT> from(strengths, job.n_points, g), to(job.grid, job.grid_vector, g);
        T c[field<T, LAYOUT>::n];
        for (int m = 0; m < field<T, LAYOUT>::n; m++) {
            c[m] = *from.at(user, m) * k[0];
        }
        for (int iz = 0; iz < job.width[2]; iz++) {
            const T kz = __shfl_sync(0xffffffffu, k[2], iz, LANES);
            const int64_t plane = wrapped(z0 + iz, job.nf[2]) * job.grid_plane + x;
            for (int iy = 0; iy < job.width[1]; iy++) {
                const T row = kz * __shfl_sync(0xffffffffu, k[1], iy, LANES);
                const int64_t cell = plane + wrapped(y0 + iy, job.nf[1]) * job.grid_row;
                for (int m = 0; m < field<T, LAYOUT>::n && writes; m++) {
                    atomicAdd(to.at(cell, m), row * c[m]);
                }
            }
        }
    }
}

/* c_j = sum_l b[l] phi(l - g_j): a group of LANES lanes a point; lane i sums its column of taps x_j + i over the rows,
 * then the group adds up by shuffles. Grid as above. No atomics, no shared memory; the same bits every time.
 *
 * 3-D, complex: w^2 rows of 2 w reals through L1 (128 bytes a cycle and SM), both parts in one access, and a shuffle of
 * ky a row in the same unit, one word of a warp a cycle: w = 12 double: 144 rows of 192 bytes, 2 + 1 cycles each,
 * 432 cycles a point, 1.7 ns on 132 SMs at 1.98 GHz, 27 ms for 1.64e7 points; w = 7: 49 x 1.5 = 74 cycles, 0.28 ns;
 * arithmetic is 3 w^2 LANES / 64 cycles (w = 12: 108). Points in sorted order find their rows in L1 and L2. */
template <class T, int LAYOUT, int LANES>
__global__ void interpolate_points_kernel(struct nufft_job job, void *strengths, int64_t groups)
{
    const int lane = (int)threadIdx.x % LANES;
    const int64_t point = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) / LANES;
    const int64_t j = point < job.n_points ? point : job.n_points - 1;
    const int64_t user = job.order != NULL ? (int64_t)job.order[j] : j;
    const int32_t y0 = first_tap(job, 1, j), z0 = first_tap(job, 2, j);
    const int32_t x = wrapped(first_tap(job, 0, j) + (lane < job.width[0] ? lane : 0), job.nf[0]);
    T k[3];
    lane_taps<T>(k, job, j, lane);
    for (int64_t g = blockIdx.y; g < groups; g += gridDim.y) {
        const field<T, LAYOUT> to(strengths, job.n_points, g), from(job.grid, job.grid_vector, g);
        T sum[field<T, LAYOUT>::n];
        for (int m = 0; m < field<T, LAYOUT>::n; m++) {
            sum[m] = (T)0;
        }
        for (int iz = 0; iz < job.width[2]; iz++) {
            const T kz = __shfl_sync(0xffffffffu, k[2], iz, LANES);
            const int64_t plane = wrapped(z0 + iz, job.nf[2]) * job.grid_plane + x;
            for (int iy = 0; iy < job.width[1]; iy++) {
                const T row = kz * __shfl_sync(0xffffffffu, k[1], iy, LANES);
                const int64_t cell = plane + wrapped(y0 + iy, job.nf[1]) * job.grid_row;
                T value[field<T, LAYOUT>::n];
                from.read(value, cell);
                for (int m = 0; m < field<T, LAYOUT>::n; m++) {
                    sum[m] += row * value[m];
                }
            }
        }
        for (int m = 0; m < field<T, LAYOUT>::n; m++) {
            sum[m] *= k[0];
            for (int step = LANES / 2; step > 0; step /= 2) {
                sum[m] += __shfl_xor_sync(0xffffffffu, sum[m], step, LANES);
            }
            if (lane == 0 && point < job.n_points) {
                *to.at(user, m) = sum[m];
            }
        }
    }
}

/* ---- launchers --------------------------------------------------------------------------------- */
static dim3 point_blocks(const struct nufft_job *job, int lanes, int64_t groups)
{
    const int64_t each = BLOCK / lanes;
    return dim3((unsigned)((job->n_points + each - 1) / each), group_blocks(groups));
}

/* `first` vector on: arrays are moved to it. */
template <class T, int LAYOUT> static void *from_vector(void *array, int64_t vector, int64_t first)
{
    return (T *)array + (LAYOUT == COMPLEX ? 2 : 1) * vector * first;
}

template <class T, int LAYOUT, int LANES>
static void spread_groups(struct nufft_job job, const void *strengths, int64_t first,
                          int64_t groups, cudaStream_t stream)
{
    job.grid = from_vector<T, LAYOUT>(job.grid, job.grid_vector, first);
    const void *from = from_vector<T, LAYOUT>((void *)strengths, job.n_points, first);
    LAUNCH((spread_points_kernel<T, LAYOUT, LANES>), point_blocks(&job, LANES, groups), BLOCK, 0,
           stream, job, from, groups);
}

template <class T, int LAYOUT, int LANES>
static void interpolate_groups(struct nufft_job job, void *strengths, int64_t first, int64_t groups,
                               cudaStream_t stream)
{
    job.grid = from_vector<T, LAYOUT>(job.grid, job.grid_vector, first);
    void *to = from_vector<T, LAYOUT>(strengths, job.n_points, first);
    LAUNCH((interpolate_points_kernel<T, LAYOUT, LANES>), point_blocks(&job, LANES, groups), BLOCK,
           0, stream, job, to, groups);
}

static int lanes_for(const struct nufft_job *job)
{
    int widest = 1;
    for (int a = 0; a < job->dimension; a++) {
        widest = job->width[a] > widest ? job->width[a] : widest;
    }
    return widest <= 4 ? 4 : widest <= 8 ? 8 : 16;
}

extern "C" cudaError_t nufft_launch_spread_points(const struct nufft_job *job,
                                                  const void *strengths, int64_t vectors,
                                                  cudaStream_t stream)
{
    const int lanes = lanes_for(job);
    if (job->n_points == 0) {
        return cudaSuccess;
    }
#define SPREAD(T, LAYOUT, first, groups)                                                           \
    lanes == 4   ? spread_groups<T, LAYOUT, 4>(*job, strengths, first, groups, stream)             \
    : lanes == 8 ? spread_groups<T, LAYOUT, 8>(*job, strengths, first, groups, stream)             \
                 : spread_groups<T, LAYOUT, 16>(*job, strengths, first, groups, stream)
    FOR_LAYOUTS(job, vectors, SPREAD);
#undef SPREAD
    return cudaGetLastError();
}

extern "C" cudaError_t nufft_launch_interpolate_points(const struct nufft_job *job, void *strengths,
                                                       int64_t vectors, cudaStream_t stream)
{
    const int lanes = lanes_for(job);
    if (job->n_points == 0) {
        return cudaSuccess;
    }
#define INTERPOLATE(T, LAYOUT, first, groups)                                                      \
    lanes == 4   ? interpolate_groups<T, LAYOUT, 4>(*job, strengths, first, groups, stream)        \
    : lanes == 8 ? interpolate_groups<T, LAYOUT, 8>(*job, strengths, first, groups, stream)        \
                 : interpolate_groups<T, LAYOUT, 16>(*job, strengths, first, groups, stream)
    FOR_LAYOUTS(job, vectors, INTERPOLATE);
#undef INTERPOLATE
    return cudaGetLastError();
}
