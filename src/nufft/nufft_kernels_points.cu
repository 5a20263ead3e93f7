/* nufft_kernels_points.cu - set_points on the device: check, fold, sort by bin, subproblems.
 *
 * Count, scan, scatter: fold_kernel counts the points of each bin and keeps the rank that each point got; an exclusive
 * scan of the counts gives the bins' starts; start + rank is a point's place. The order inside a bin is that in which
 * the counters were reached, which may differ from run to run (and with it the last bits of a spread). Where that must not
 * be (job.exact), a stable sort by bin takes the place of the ranks (nufft_kernels_sort.cu).
 *
 * Bytes a point (3-D, float / double): fold reads 12 / 24 and writes 8; place reads 12, writes 4; gather reads 4 + 12 / 24
 * (scattered), writes 24 / 36; the bins' counters add 8 a bin, thrice. In all some 76 / 112 bytes, on an H200
 * (4.8 TB/s) 0.016 / 0.023 ns a point where coordinates are nearly in order, and up to 3 sectors of 32 bytes, 0.02 ns,
 * more where they are random. Times below: 1.64e7 points, double, on 210^3 cells with w = 12 (1764 columns).
 */
#include "nufft/nufft_kernels_device.cuh"

#include <limits.h>

#define BLOCK 256

static unsigned blocks_for(int64_t n, int64_t each)
{
    return (unsigned)((n + each - 1) / each);
}

/* ---- fold ------------------------------------------------------------------------------------- */
/* Cell and fraction of x on an axis (nufft_ops.h); not finite x: *finite = 0 and cell 0. In double precision, as on
 * the CPU. */
__device__ static int32_t fold(double x, int32_t nf, int width, double *fraction, int *finite)
{
    if (!isfinite(x)) {
        *finite = 0;
        *fraction = 0.0;
        return 0;
    }
    double turns = x * 0.15915494309189533577;
    if (!(turns >= -0.5 && turns <= 0.5)) {
        turns -= floor(turns + 0.5);
    }
    double q = turns * nf - 0.5 * width; /* over -nf, as nf >= 2 width */
    if (q < 0.0) {
        q += nf;
    }
    int32_t cell = (int32_t)q;
    if (cell >= nf) { /* rounding at the end of the period */
        cell = 0;
        q = 0.0;
    }
    *fraction = q - cell;
    return cell;
}

/* Bin of a point's cells; see nufft_kernels.h. */
__device__ static uint32_t bin_of(const struct nufft_job &job, const int32_t cell[3])
{
    int64_t column = cell[0] / job.bins.size[0];
    if (job.dimension == 3) {
        column += job.bins.columns_x * (cell[1] / job.bins.size[1]);
    }
    const int32_t along = job.dimension == 1 ? 0 : job.dimension == 2 ? cell[1] : cell[2];
    return (uint32_t)(column * job.bins.slide + along);
}

/* A thread a point: its bin to key, its rank among the bin's points to rank (NULL: not wanted). Lanes of a warp with the
 * same bin share one atomic addition, so that clustered points do not queue at one counter.
 * 3-D, double: 32 bytes, some 20 flops, 12 conversions (16 a cycle and SM: 0.05 ms) and at most one atomic addition of 4 bytes
 * (2.4 TB/s at 8 bytes each: 0.05 ms) a point, memory: 0.11 ms. */
template <class T>
__global__ void fold_kernel(struct nufft_job job, const T *__restrict__ x, const T *__restrict__ y,
                            const T *__restrict__ z, uint32_t *__restrict__ key,
                            uint32_t *__restrict__ rank)
{
    const T *const from[3] = {x, y, z};
    const int64_t j = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    const int lane = threadIdx.x % 32;
    int32_t cell[3] = {0, 0, 0};
    int finite = 1;
    if (j < job.n_points) {
#pragma unroll
        for (int a = 0; a < 3; a++) {
            double fraction;
            if (a < job.dimension) {
                cell[a] = fold((double)from[a][j], job.nf[a], job.width[a], &fraction, &finite);
            }
        }
        if (!finite) {
            atomicMin(&job.report->bad, (unsigned long long)j);
        }
    }
    if (key == NULL) {
        return; /* the user's order is kept: only the check was wanted */
    }
    const uint32_t bin = j < job.n_points ? bin_of(job, cell) : UINT_MAX;
    const unsigned same = __match_any_sync(0xffffffffu, bin);
    const int leader = __ffs((int)same) - 1;
    uint32_t first = 0;
    if (lane == leader && j < job.n_points) {
        first = atomicAdd(&job.bin_start[bin], (uint32_t)__popc(same));
    }
    first = __shfl_sync(0xffffffffu, first, leader);
    if (j < job.n_points) {
        key[j] = bin;
    }
    if (j < job.n_points && rank != NULL) {
        rank[j] = first + (uint32_t)__popc(same & ((1u << lane) - 1u));
    }
}

/* A thread a point: its place in the order. No atomics. 16 bytes and an addition a point, memory: 55 us; 72 bytes, 0.25 ms,
 * where start and place take a sector each, in random order. */
__global__ void place_kernel(struct nufft_job job, const uint32_t *__restrict__ key,
                             const uint32_t *__restrict__ rank)
{
    const int64_t j = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (j < job.n_points) {
        job.order[job.bin_start[key[j]] + rank[j]] = (uint32_t)j;
    }
}

/* A thread a sorted point: cell and 8 f, written coalesced. 3-D, double: 64 bytes, some 20 flops and 12 conversions a point,
 * memory: 0.22 ms; 136 bytes, 0.46 ms, where each coordinate takes a sector, in random order. */
template <class T>
__global__ void gather_kernel(struct nufft_job job, const T *__restrict__ x,
                              const T *__restrict__ y, const T *__restrict__ z)
{
    const T *const from[3] = {x, y, z};
    const int64_t j = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (j >= job.n_points) {
        return;
    }
    const int64_t i = job.order != NULL ? (int64_t)job.order[j] : j;
#pragma unroll
    for (int a = 0; a < 3; a++) { /* all of it in registers */
        double fraction;
        int finite = 1;
        if (a < job.dimension) {
            job.cell[a][j] = fold((double)from[a][i], job.nf[a], job.width[a], &fraction, &finite);
            ((T *)job.s[a])[j] = (T)(fraction * NUFFT_SUBINTERVALS);
        }
    }
}

/* ---- subproblems ------------------------------------------------------------------------------- */
/* A thread a segment (and one more): how many subproblems its points make. 12 bytes and a division a segment, and an atomic
 * maximum at one counter: 1764 segments, 21 kB: a launch, 2 to 3 us. */
__global__ void count_subproblems_kernel(struct nufft_job job)
{
    const struct nufft_bins &bins = job.bins;
    const int64_t g = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (g > bins.n_segments) {
        return;
    }
    uint32_t count = 0;
    if (g < bins.n_segments) {
        const int64_t column = g / bins.segments;
        const int64_t begin = (g % bins.segments) * bins.length;
        const int64_t end = begin + bins.length < bins.slide ? begin + bins.length : bins.slide;
        const uint32_t points =
            job.bin_start[column * bins.slide + end] - job.bin_start[column * bins.slide + begin];
        count = (uint32_t)((points + bins.most - 1) / bins.most);
    }
    job.segment_start[g] = count;
    if (count > 0) {
        atomicMax(&job.report->most_subproblems, count);
    }
}

/* A thread a possible subproblem: finds its segment by bisection, and its share of the segment's points. 20 bytes written and
 * 20 + 4 log2(segments) read from L2: 17,800 threads, 1.5 MB, 0.3 us; the 11 loads that wait for each other (some 250 cycles
 * each, an estimate) take 1.4 us: a launch. */
__global__ void make_subproblems_kernel(struct nufft_job job)
{
    const struct nufft_bins &bins = job.bins;
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    const int64_t total = job.segment_start[bins.n_segments];
    if (i == 0) {
        job.report->n_subproblems = (uint32_t)total;
    }
    if (i >= total) {
        return;
    }
    int64_t low = 0, high = bins.n_segments; /* segment_start[low] <= i < segment_start[high] */
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        if (job.segment_start[middle] <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const int64_t column = low / bins.segments;
    const int64_t begin = (low % bins.segments) * bins.length;
    const int64_t end = begin + bins.length < bins.slide ? begin + bins.length : bins.slide;
    const int64_t first = job.bin_start[column * bins.slide + begin];
    const int64_t points = job.bin_start[column * bins.slide + end] - first;
    const int64_t part = i - job.segment_start[low];
    const int64_t parts = job.segment_start[low + 1] - job.segment_start[low];
    struct nufft_subproblem sub;
    sub.begin = (uint32_t)(first + points * part / parts);
    sub.end = (uint32_t)(first + points * (part + 1) / parts);
    sub.x = (int32_t)(column % bins.columns_x) * bins.size[0];
    sub.y = (int32_t)(column / bins.columns_x) * bins.size[1];
    sub.slide = (int32_t)begin;
    job.subproblems[i] = sub;
}

/* ---- launchers --------------------------------------------------------------------------------- */
static void launch_subproblems(const struct nufft_job *job, cudaStream_t stream)
{
    const int64_t n = job->bins.n_segments + 1;
    LAUNCH(count_subproblems_kernel, blocks_for(n, BLOCK), BLOCK, 0, stream, *job);
    if (refused()) {
        return;
    }
    (void)nufft_launch_scan(job->segment_start, n, job->scan_totals, stream);
    if (refused()) {
        return;
    }
    LAUNCH(make_subproblems_kernel, blocks_for(job->max_subproblems, BLOCK), BLOCK, 0, stream,
           *job);
}

template <class T>
static void launch_points(const struct nufft_job *job, const void *const x[3], cudaStream_t stream)
{
    const unsigned blocks = blocks_for(job->n_points, BLOCK);
    /* Work space: arrays that are written only at the end. */
    uint32_t *key = job->order != NULL ? (uint32_t *)job->cell[0] : NULL;
    uint32_t *rank = job->exact ? NULL : (uint32_t *)job->s[0];
    LAUNCH((fold_kernel<T>), blocks, BLOCK, 0, stream, *job, (const T *)x[0], (const T *)x[1],
           (const T *)x[2], key, rank);
    if (key != NULL && !refused()) {
        (void)nufft_launch_scan(job->bin_start, job->bins.n_bins + 1, job->scan_totals, stream);
        if (!refused() && job->exact) {
            (void)nufft_launch_stable_sort(job, key, stream);
        } else if (!refused()) {
            LAUNCH(place_kernel, blocks, BLOCK, 0, stream, *job, key, rank);
        }
    }
    if (refused()) {
        return;
    }
    LAUNCH((gather_kernel<T>), blocks, BLOCK, 0, stream, *job, (const T *)x[0], (const T *)x[1],
           (const T *)x[2]);
    if (key != NULL && job->max_subproblems > 0 && !refused()) {
        launch_subproblems(job, stream);
    }
}

extern "C" cudaError_t nufft_launch_points(const struct nufft_job *job, const void *const x[3],
                                           cudaStream_t stream)
{
    if (job->n_points == 0) {
        return cudaSuccess;
    }
    if (job->precision == NUFFT_FLOAT) {
        launch_points<float>(job, x, stream);
    } else {
        launch_points<double>(job, x, stream);
    }
    return cudaGetLastError();
}
