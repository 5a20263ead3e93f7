/* nufft_kernels_shared.cu - method SM (Shih, Wright, Anden, Blaschke, Barnett, cuFINUFFT, 2021): a tile of the fine grid with
 * its halo in shared memory.
 *
 * A block takes a subproblem: at most bins.most points of a tile of size[0] x size[1] x length cells (the slide axis last).
 * Its copy in shared memory is w - 1 cells larger an axis; element 0 is the cell after the tile's first. Spreading fills it
 * with atomic additions in shared memory and adds it to the grid; interpolation reads it from the grid first. LANES lanes
 * serve a point, as in nufft_kernels_direct.cu: kernel values in registers, row factors by shuffles.
 *
 * Shared memory: (size + w - 1)^d cells, chosen by nufft_cuda_method.c to fit the device's opt-in limit (up to 227 KiB;
 * w = 12, double, complex: 8 x 8 x 7 cells, 19 x 19 x 18 with the halo, 102 KiB, two blocks a SM).
 */
#include "nufft/nufft_kernels_device.cuh"

#define BLOCK 256

/* The tile's box in its copy and in the grid. */
struct tile {
    int32_t size[3];  /* cells of the copy */
    int32_t start[3]; /* grid cell of element 0 */
    int cells;
};

__device__ static void make_tile(struct tile &tile, const struct nufft_job &job,
                                 const struct nufft_subproblem &sub)
{
    const int d = job.dimension;
    const int32_t origin[3] = {sub.x, d == 3 ? sub.y : sub.slide, sub.slide};
    const int32_t size[3] = {job.bins.size[0], d == 3 ? job.bins.size[1] : job.bins.length,
                             job.bins.length};
    tile.cells = 1;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        tile.size[a] = a < d ? size[a] + job.width[a] - 1 : 1;
        tile.start[a] = a < d ? origin[a] + 1 : 0;
        tile.cells *= tile.size[a];
    }
}

/* Grid cell of element i of the copy; a tile at the end of a small grid may wrap more than once. */
__device__ __forceinline__ int64_t tile_cell(const struct tile &tile, const struct nufft_job &job,
                                             int i)
{
    const int x = i % tile.size[0], yz = i / tile.size[0];
    const int y = yz % tile.size[1], z = yz / tile.size[1];
    return (tile.start[2] + z) % job.nf[2] * job.grid_plane +
           (tile.start[1] + y) % job.nf[1] * job.grid_row + (tile.start[0] + x) % job.nf[0];
}

/* First tap of point j in the copy, and this lane's tap of each axis. */
template <class T>
__device__ __forceinline__ int place_point(T k[3], const struct tile &tile,
                                           const struct nufft_job &job, int64_t j, int lane)
{
    int first = 0, step = 1;
#pragma unroll
    for (int a = 0; a < 3; a++) {
        k[a] = lane == 0 ? (T)1 : (T)0;
        if (a < job.dimension) {
            const int w = job.width[a];
            k[a] = lane < w ? kernel_tap<T>((const T *)job.poly[a], w, NUFFT_KERNEL_DEGREE(w),
                                            ((const T *)job.s[a])[j], lane)
                            : (T)0;
            first += (job.cell[a][j] + 1 - tile.start[a]) * step;
        }
        step *= tile.size[a];
    }
    return first;
}

/* b_l = sum_j c_j phi(l - g_j). Grid x = subproblems, y = groups of vectors.
 * 3-D, complex: 2 w^3 atomic additions in shared memory a point, 32 a cycle and SM at best in single precision, a compare
 * and swap each, about 2 a cycle, in double: w = 7: 21 / 343 cycles, 0.08 / 1.3 ns on 132 SMs at 1.98 GHz; w = 12 double:
 * 1730 cycles, 6.6 ns. Bytes: the tile (w = 12 double: 104 kB) is added to the grid once a subproblem: ((size + w - 1) / size)^3
 * of the grid. 1.64e7 points at w = 12: 108 ms, and at most 3.9 GB of additions, 1.6 ms. */
template <class T, int LAYOUT, int LANES>
__global__ void spread_shared_kernel(struct nufft_job job, const void *strengths, int64_t groups)
{
    const int N = components_of<LAYOUT>::n;
    DYN_SHARED(T, copy);
    const struct nufft_subproblem sub = job.subproblems[blockIdx.x];
    const int t = (int)threadIdx.x, lane = t % LANES;
    struct tile tile;
    make_tile(tile, job, sub);
    for (int64_t g = blockIdx.y; g < groups; g += gridDim.y) {
        const field<T, LAYOUT> from(strengths, job.n_points, g), to(job.grid, job.grid_vector, g);
        for (int i = t; i < tile.cells * N; i += BLOCK) {
            copy[i] = (T)0;
        }
        __syncthreads();
        for (int64_t base = sub.begin; base < sub.end; base += BLOCK / LANES) {
            const int64_t point = base + t / LANES;
            const int64_t j = point < sub.end ? point : (int64_t)sub.end - 1;
            const bool writes = point < sub.end && lane < job.width[0];
            const int64_t user = job.order[j];
            T k[3], c[components_of<LAYOUT>::n];
            const int first = place_point<T>(k, tile, job, j, lane) + lane;
            for (int m = 0; m < N; m++) {
                c[m] = *from.at(user, m) * k[0];
            }
            for (int iz = 0; iz < job.width[2]; iz++) {
                const T kz = __shfl_sync(0xffffffffu, k[2], iz, LANES);
                for (int iy = 0; iy < job.width[1]; iy++) {
                    const T row = kz * __shfl_sync(0xffffffffu, k[1], iy, LANES);
                    const int at = first + (iz * tile.size[1] + iy) * tile.size[0];
                    for (int m = 0; m < N && writes; m++) {
                        atomicAdd(&copy[at * N + m], row * c[m]);
                    }
                }
            }
        }
        __syncthreads();
        for (int i = t; i < tile.cells; i += BLOCK) {
            const int64_t cell = tile_cell(tile, job, i);
            for (int m = 0; m < N; m++) {
                if (copy[i * N + m] != (T)0) {
                    atomicAdd(to.at(cell, m), copy[i * N + m]);
                }
            }
        }
        __syncthreads();
    }
}

/* c_j = sum_l b_l phi(l - g_j). Grid as above, no atomics. From shared memory instead of L1, whose tags random rows would
 * miss, and both parts of a complex number in one access: w = 12 double complex: 144 rows of 192 bytes in 2 cycles and one of a
 * shuffle, 432 cycles a point, 1.7 ns, 27 ms for 1.64e7 points, and 104 kB of the grid a subproblem, at most 3.9 GB, 0.8 ms of
 * L2 (5 TB/s). */
template <class T, int LAYOUT, int LANES>
__global__ void interpolate_shared_kernel(struct nufft_job job, void *strengths, int64_t groups)
{
    const int N = components_of<LAYOUT>::n;
    DYN_SHARED(T, copy);
    const struct nufft_subproblem sub = job.subproblems[blockIdx.x];
    const int t = (int)threadIdx.x, lane = t % LANES;
    struct tile tile;
    make_tile(tile, job, sub);
    for (int64_t g = blockIdx.y; g < groups; g += gridDim.y) {
        const field<T, LAYOUT> to(strengths, job.n_points, g), from(job.grid, job.grid_vector, g);
        for (int i = t; i < tile.cells; i += BLOCK) {
            const int64_t cell = tile_cell(tile, job, i);
            from.read(copy + i * N, cell);
        }
        __syncthreads();
        for (int64_t base = sub.begin; base < sub.end; base += BLOCK / LANES) {
            const int64_t point = base + t / LANES;
            const int64_t j = point < sub.end ? point : (int64_t)sub.end - 1;
            T k[3], sum[components_of<LAYOUT>::n];
            const int first =
                place_point<T>(k, tile, job, j, lane) + (lane < job.width[0] ? lane : 0);
            for (int m = 0; m < N; m++) {
                sum[m] = (T)0;
            }
            for (int iz = 0; iz < job.width[2]; iz++) {
                const T kz = __shfl_sync(0xffffffffu, k[2], iz, LANES);
                for (int iy = 0; iy < job.width[1]; iy++) {
                    const T row = kz * __shfl_sync(0xffffffffu, k[1], iy, LANES);
                    const int at = first + (iz * tile.size[1] + iy) * tile.size[0];
                    for (int m = 0; m < N; m++) {
                        sum[m] += row * copy[at * N + m];
                    }
                }
            }
            for (int m = 0; m < N; m++) {
                sum[m] *= k[0];
                for (int step = LANES / 2; step > 0; step /= 2) {
                    sum[m] += __shfl_xor_sync(0xffffffffu, sum[m], step, LANES);
                }
                if (lane == 0 && point < sub.end) {
                    *to.at((int64_t)job.order[j], m) = sum[m];
                }
            }
        }
        __syncthreads();
    }
}

/* ---- launcher ---------------------------------------------------------------------------------- */
template <class T, int LAYOUT, int LANES>
static cudaError_t launch_groups(struct nufft_job job, int spread, void *strengths, int64_t first,
                                 int64_t groups, cudaStream_t stream)
{
    int64_t bytes = sizeof(T) * components_of<LAYOUT>::n;
    for (int a = 0; a < job.dimension; a++) {
        const int cells = a == job.dimension - 1 && a > 0 ? job.bins.length : job.bins.size[a];
        bytes *= cells + job.width[a] - 1;
    }
    const dim3 blocks((unsigned)job.n_subproblems, group_blocks(groups));
    const int parts = LAYOUT == COMPLEX ? 2 : 1;
    job.grid = (T *)job.grid + parts * job.grid_vector * first;
    void *values = (T *)strengths + parts * job.n_points * first;
    const cudaError_t allowed =
        cudaFuncSetAttribute(spread ? (const void *)spread_shared_kernel<T, LAYOUT, LANES>
                                    : (const void *)interpolate_shared_kernel<T, LAYOUT, LANES>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
    if (allowed != cudaSuccess) {
        return allowed;
    }
    if (spread) {
        LAUNCH((spread_shared_kernel<T, LAYOUT, LANES>), blocks, BLOCK, (size_t)bytes, stream, job,
               (const void *)values, groups);
    } else {
        LAUNCH((interpolate_shared_kernel<T, LAYOUT, LANES>), blocks, BLOCK, (size_t)bytes, stream,
               job, values, groups);
    }
    return cudaGetLastError();
}

extern "C" cudaError_t nufft_launch_shared(const struct nufft_job *job, int spread, void *strengths,
                                           int64_t vectors, cudaStream_t stream)
{
    const int w = job->width[0];
    cudaError_t result = cudaSuccess;
    if (job->n_subproblems == 0) {
        return result;
    }
#define SHARED(T, LAYOUT, first, groups)                                                           \
    if (result == cudaSuccess) {                                                                   \
        result =                                                                                   \
            w <= 4 ? launch_groups<T, LAYOUT, 4>(*job, spread, strengths, first, groups, stream)   \
            : w <= 8                                                                               \
                ? launch_groups<T, LAYOUT, 8>(*job, spread, strengths, first, groups, stream)      \
                : launch_groups<T, LAYOUT, 16>(*job, spread, strengths, first, groups, stream);    \
    }
    FOR_LAYOUTS(job, vectors, SHARED);
#undef SHARED
    return result;
}
