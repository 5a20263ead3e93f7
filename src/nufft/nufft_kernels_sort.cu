/* nufft_kernels_sort.cu - exclusive scans, and a stable sort of point indices by bin.
 *
 * The sort is by digits of at most 8 bits, the least significant first, each pass a count, scan and scatter: a block counts
 * the digits of its tile of keys; the scan over (digit, tile) gives each tile the place of its first key of every digit;
 * inside a tile warps take their keys in order, so that equal digits keep theirs. No atomics whose order matters: the result
 * is the same every time.
 *
 * Bytes a point and pass: 4 for the count, 8 read and 8 written (4 in the last pass, 4 read in the first) by the scatter,
 * in runs of 16 keys where digits are evenly filled. Two passes up to 65536 bins, three up to 1.6e7: 32 / 52 bytes a point,
 * 0.01 ns on an H200 (4.8 TB/s). The scatter needs 16 votes a thread. Times below: 1.64e7 points on 210^3 cells, w = 12: 3.7e5
 * bins of COLUMN, three passes of 128 digits, 5.1e5 counters.
 */
#include "nufft/nufft_kernels_device.cuh"

#include <limits.h>

#define BLOCK 256
/* Values a thread scans. */
#define SCAN_ITEMS 8
#define SCAN_TILE (BLOCK * SCAN_ITEMS)
/* Keys a thread sorts. */
#define SORT_ITEMS 16
#define SORT_TILE (BLOCK * SORT_ITEMS)
#define DIGIT_BITS 8
#define DIGITS (1 << DIGIT_BITS)
#define WARPS (BLOCK / 32)

/* ---- exclusive scan ---------------------------------------------------------------------------- */
/* A block scans SCAN_TILE values in place and leaves their sum in totals[block]. Threads hold SCAN_ITEMS neighbouring
 * values; their sums are scanned over the block in shared memory (log2 steps, two buffers, 2 KiB). No atomics.
 * 8 bytes and 3 additions a value: 5.1e5 in 0.9 us; stores 32 bytes apart take a sector each, 3.3 us of L2 (5 TB/s), which
 * governs. */
__global__ void scan_kernel(uint32_t *__restrict__ values, int64_t n, uint32_t *__restrict__ totals)
{
    __shared__ uint32_t sums[2][BLOCK];
    const int t = (int)threadIdx.x;
    const int64_t first = (int64_t)blockIdx.x * SCAN_TILE + (int64_t)t * SCAN_ITEMS;
    uint32_t own[SCAN_ITEMS];
    uint32_t sum = 0;
    for (int i = 0; i < SCAN_ITEMS; i++) {
        own[i] = first + i < n ? values[first + i] : 0;
        sum += own[i];
    }
    int at = 0;
    sums[0][t] = sum;
    __syncthreads();
    for (int step = 1; step < BLOCK; step *= 2) {
        sums[1 - at][t] = sums[at][t] + (t >= step ? sums[at][t - step] : 0);
        at = 1 - at;
        __syncthreads();
    }
    uint32_t running = sums[at][t] - sum;
    for (int i = 0; i < SCAN_ITEMS; i++) {
        if (first + i < n) {
            values[first + i] = running;
        }
        running += own[i];
    }
    if (t == BLOCK - 1) {
        totals[blockIdx.x] = sums[at][t];
    }
}

/* A thread SCAN_ITEMS values: adds the scanned totals of the tiles before. 8 bytes and an addition a value, memory: 5.1e5 in
 * 0.9 us. */
__global__ void scan_add_kernel(uint32_t *__restrict__ values, int64_t n,
                                const uint32_t *__restrict__ totals)
{
    const uint32_t before = totals[blockIdx.x];
    for (int i = 0; i < SCAN_ITEMS; i++) {
        const int64_t k = (int64_t)blockIdx.x * SCAN_TILE + i * BLOCK + threadIdx.x;
        if (k < n) {
            values[k] += before;
        }
    }
}

int64_t nufft_scan_space(int64_t n)
{
    int64_t space = 0;
    do {
        n = (n + SCAN_TILE - 1) / SCAN_TILE;
        space += n;
    } while (n > 1);
    return space;
}

extern "C" cudaError_t nufft_launch_scan(uint32_t *values, int64_t n, uint32_t *space,
                                         cudaStream_t stream)
{
    const int64_t tiles = (n + SCAN_TILE - 1) / SCAN_TILE;
    if (n == 0) {
        return cudaSuccess;
    }
    LAUNCH(scan_kernel, (unsigned)tiles, BLOCK, 0, stream, values, n, space);
    if (tiles > 1 && !refused() &&
        nufft_launch_scan(space, tiles, space + tiles, stream) == cudaSuccess) {
        LAUNCH(scan_add_kernel, (unsigned)tiles, BLOCK, 0, stream, values, n, space);
    }
    return cudaPeekAtLastError();
}

/* ---- stable sort ------------------------------------------------------------------------------- */
/* Block = tile: counts[digit][tile] = keys of the tile with this digit. Atomics on shared counters, 1 KiB.
 * 4 bytes and an atomic addition a key: 1.64e7 keys in 14 us, memory; where a warp's keys have one digit, its additions
 * may queue: one a cycle and SM (1.98 GHz, 132 SMs) would take 63 us. */
__global__ void digit_count_kernel(uint32_t *__restrict__ counts, const uint32_t *__restrict__ key,
                                   int64_t n, int shift, int digits)
{
    __shared__ uint32_t count[DIGITS];
    const int t = (int)threadIdx.x;
    count[t] = 0;
    __syncthreads();
    for (int i = 0; i < SORT_ITEMS; i++) {
        const int64_t j = (int64_t)blockIdx.x * SORT_TILE + i * BLOCK + t;
        if (j < n) {
            atomicAdd(&count[key[j] >> shift & (uint32_t)(digits - 1)], 1u);
        }
    }
    __syncthreads();
    if (t < digits) {
        counts[(int64_t)t * gridDim.x + blockIdx.x] = count[t];
    }
}

/* Block = tile, warp = SORT_ITEMS * 32 keys of it in order. A key goes to the place of its digit and tile (counts, scanned)
 * + keys of this digit in the warps before + those before it in its warp. item: what travels with the keys, NULL = their
 * index; to_key NULL: not wanted. 8 KiB of shared memory, no atomics.
 * 16 bytes a key (12 in the first and in the last pass; its second reading is from L1) and one vote: 1.64e7 keys in 55 (41)
 * us, memory; at worst every store takes a sector of 32 bytes, 0.21 ms of L2 (5 TB/s). */
__global__ void digit_scatter_kernel(uint32_t *__restrict__ to_item, uint32_t *__restrict__ to_key,
                                     const uint32_t *__restrict__ item,
                                     const uint32_t *__restrict__ key,
                                     const uint32_t *__restrict__ counts, int64_t n, int shift,
                                     int digits)
{
    __shared__ uint32_t place[WARPS][DIGITS];
    const int t = (int)threadIdx.x, lane = t % 32, warp = t / 32;
    const int64_t first = (int64_t)blockIdx.x * SORT_TILE + (int64_t)warp * SORT_ITEMS * 32 + lane;
    uint32_t rank[SORT_ITEMS];
    for (int w = 0; w < WARPS; w++) {
        place[w][t] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SORT_ITEMS; i++) {
        const int64_t j = first + i * 32;
        const uint32_t digit = j < n ? key[j] >> shift & (uint32_t)(digits - 1) : UINT_MAX;
        const unsigned same = __match_any_sync(0xffffffffu, digit);
        const int before = __popc(same & ((1u << lane) - 1u));
        rank[i] = j < n ? place[warp][digit] + (uint32_t)before : 0;
        __syncwarp();
        if (j < n && before == 0) {
            place[warp][digit] += (uint32_t)__popc(same);
        }
        __syncwarp();
    }
    __syncthreads();
    if (t < digits) {
        uint32_t running = counts[(int64_t)t * gridDim.x + blockIdx.x];
        for (int w = 0; w < WARPS; w++) {
            const uint32_t own = place[w][t];
            place[w][t] = running;
            running += own;
        }
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < SORT_ITEMS; i++) {
        const int64_t j = first + i * 32;
        if (j < n) {
            const uint32_t k = key[j];
            const uint32_t to = place[warp][k >> shift & (uint32_t)(digits - 1)] + rank[i];
            to_item[to] = item != NULL ? item[j] : (uint32_t)j;
            if (to_key != NULL) {
                to_key[to] = k;
            }
        }
    }
}

static int64_t sort_tiles(int64_t n)
{
    return (n + SORT_TILE - 1) / SORT_TILE;
}

int64_t nufft_sort_space(int64_t n)
{
    return DIGITS * sort_tiles(n);
}

extern "C" cudaError_t nufft_launch_stable_sort(const struct nufft_job *job, uint32_t *key,
                                                cudaStream_t stream)
{
    const int64_t n = job->n_points, tiles = sort_tiles(n);
    int bits = 1;
    while (job->bins.n_bins > (int64_t)1 << bits) {
        bits++;
    }
    /* Keys and indices go to and fro between two pairs of arrays; the last pass writes job->order. The second pair has no
     * array of indices in 1-D, where job->order stands in: then it must not be read last. */
    const int fewest = (bits + DIGIT_BITS - 1) / DIGIT_BITS;
    const int passes = fewest == 3 && job->dimension == 1 ? 4 : fewest;
    const int digit_bits = (bits + passes - 1) / passes;
    uint32_t *const keys[2] = {key, (uint32_t *)job->s[0]};
    uint32_t *const items[2] = {job->dimension > 1 ? (uint32_t *)job->cell[1] : job->order,
                                (uint32_t *)job->s[0] + n};
    for (int p = 0; p < passes; p++) {
        const int from = p % 2, last = p == passes - 1, shift = p * digit_bits;
        const int digits = 1 << digit_bits;
        LAUNCH(digit_count_kernel, (unsigned)tiles, BLOCK, 0, stream, job->sort_counts, keys[from],
               n, shift, digits);
        if (refused() || nufft_launch_scan(job->sort_counts, digits * tiles, job->scan_totals,
                                           stream) != cudaSuccess) {
            break;
        }
        LAUNCH(digit_scatter_kernel, (unsigned)tiles, BLOCK, 0, stream,
               last ? job->order : items[1 - from], last ? (uint32_t *)NULL : keys[1 - from],
               p == 0 ? (const uint32_t *)NULL : items[from], keys[from], job->sort_counts, n,
               shift, digits);
        if (refused()) {
            break;
        }
    }
    return cudaPeekAtLastError();
}
