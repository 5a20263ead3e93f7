/* nufft_cpu_sort.c - CPU backend: sorts the points of a segment by counting, twice: by tile over all points, then by cell
 * within runs of a tile's points, which stay in cache. Both sorts are stable and cut the points by number only, so that the
 * order is the same for every number of threads.
 */
#include <omp.h>
#include <string.h>

#include "nufft/nufft_cpu.h"

/* Points of a tile sorted together: enough to find points of one column next to each other. */
#define RUN_POINTS 131072
#define LEAST_RUN_POINTS 16384

/* Points of a run at most: few of small sets, whose work space should be small, too. */
static int64_t run_length(int64_t n)
{
    const int64_t part = n / 16 < LEAST_RUN_POINTS ? LEAST_RUN_POINTS : n / 16;
    const int64_t most = part < RUN_POINTS ? part : RUN_POINTS;
    return n < most ? n : most;
}

/* Bytes of a thread's work space: first the tiles of its share of the points, 16 bits each, then a run, 2 numbers a point. */
int64_t nufft_cpu_sort_scratch(const struct nufft_cpu_state *state, int64_t n)
{
    const int64_t tiles = (n / state->n_threads + 1) * (int64_t)sizeof(uint16_t);
    const int64_t run = 2 * run_length(n) * (int64_t)sizeof(uint32_t);
    return ((tiles > run ? tiles : run) + 63) / 64 * 64;
}

static void *thread_scratch(const struct nufft_cpu_state *state, int thread)
{
    return state->scratch + thread * state->scratch_stride;
}

/* One thread's share: tiles of points begin .. end-1, kept for the second pass and counted. Returns 1 when a coordinate is
 * beyond the limit of its axis. */
static int count_share(const struct nufft_plan *plan, uint16_t *tile, int64_t begin, int64_t end,
                       uint32_t *counter)
{
    const struct nufft_cpu_state *state = plan->state;
    for (int64_t i = begin; i < end; i += NUFFT_CPU_POINT_BLOCK, tile += NUFFT_CPU_POINT_BLOCK) {
        const int n = end - i < NUFFT_CPU_POINT_BLOCK ? (int)(end - i) : NUFFT_CPU_POINT_BLOCK;
        if (state->kernels->locate(tile, state->x, i, n, plan->dimension, state->folding)) {
            return 1;
        }
        for (int p = 0; p < n; p++) {
            counter[tile[p]]++;
        }
    }
    return 0;
}

/* Sorts a segment by tile: order and tile_begin. Returns 1 when a coordinate is beyond the limit of its axis. */
static int sort_by_tile(const struct nufft_plan *plan, const struct nufft_cpu_segment *segment)
{
    struct nufft_cpu_state *state = plan->state;
    const int shares = state->n_threads;
    const int64_t tiles = state->n_tiles;
    const int64_t first = segment->first;
    const int64_t n = segment->n;
    uint32_t *order = state->order + first;
    int beyond = 0;
    memset(state->histogram, 0, (size_t)(shares * tiles) * sizeof(uint32_t));
#pragma omp parallel for num_threads(shares) schedule(static, 1) reduction(| : beyond)
    for (int b = 0; b < shares; b++) {
        beyond |= count_share(plan, thread_scratch(state, b), first + n * b / shares,
                              first + n * (b + 1) / shares, state->histogram + b * tiles);
    }
    if (beyond) {
        return 1;
    }
    int64_t total = 0;
    for (int64_t t = 0; t < tiles; t++) {
        segment->tile_begin[t] = first + total;
        for (int b = 0; b < shares; b++) {
            uint32_t *count = &state->histogram[b * tiles + t];
            const uint32_t own = *count;
            *count = (uint32_t)total;
            total += own;
        }
    }
    segment->tile_begin[tiles] = first + total;
#pragma omp parallel for num_threads(shares) schedule(static, 1)
    for (int b = 0; b < shares; b++) {
        const uint16_t *tile = thread_scratch(state, b);
        uint32_t *next = state->histogram + b * tiles;
        for (int64_t i = n * b / shares; i < n * (b + 1) / shares; i++) {
            order[next[*tile++]++] = (uint32_t)i;
        }
    }
    return 0;
}

/* Sorts places begin .. end-1, points of one tile and at most `length`, by cell; x are the coordinates of the segment. */
static void sort_run(const struct nufft_plan *plan, const void *const *x, int64_t tile,
                     int64_t begin, int64_t end, int64_t length)
{
    struct nufft_cpu_state *state = plan->state;
    const int64_t cells = state->tile_cells;
    const int64_t n = end - begin;
    const int thread = omp_get_thread_num();
    uint32_t *count = state->histogram + thread * (cells + 1);
    uint32_t *index = thread_scratch(state, thread);
    uint32_t *key = index + length;
    uint32_t *order = state->order + begin;
    int32_t start[3];
    nufft_cpu_tile_start(state, tile, start);
    memcpy(index, order, (size_t)n * sizeof *index);
    memset(count, 0, (size_t)(cells + 1) * sizeof *count);
    for (int64_t i = 0; i < n; i += NUFFT_CPU_POINT_BLOCK) {
        const int some = n - i < NUFFT_CPU_POINT_BLOCK ? (int)(n - i) : NUFFT_CPU_POINT_BLOCK;
        const int64_t left = n - i - some;
        const int ahead = left < NUFFT_CPU_POINT_BLOCK ? (int)left : NUFFT_CPU_POINT_BLOCK;
        state->kernels->rank_cells(key + i, x, index + i, some, ahead, plan->dimension,
                                   state->folding, start);
        for (int p = 0; p < some; p++) {
            count[key[i + p] + 1]++;
        }
    }
    for (int64_t c = 0; c < cells; c++) {
        count[c + 1] += count[c];
    }
    for (int64_t i = 0; i < n; i++) {
        order[count[key[i]]++] = index[i];
    }
}

/* Sorts each tile of a segment by cell, run by run; a thread takes the next run when it is done with one. */
static void sort_by_cell(const struct nufft_plan *plan, const struct nufft_cpu_segment *segment)
{
    const struct nufft_cpu_state *state = plan->state;
    const int64_t length = run_length(segment->n);
    const int64_t *tile_begin = segment->tile_begin;
    const void *const x[3] = {nufft_cpu_x_from(state, 0, segment->first),
                              nufft_cpu_x_from(state, 1, segment->first),
                              nufft_cpu_x_from(state, 2, segment->first)};
    int64_t next = 0;
#pragma omp parallel num_threads(state->n_threads)
    {
        int64_t run = 0;
        int64_t own;
#pragma omp atomic capture
        own = next++;
        for (int64_t t = 0; t < state->n_tiles; t++) {
            for (int64_t i = tile_begin[t]; i < tile_begin[t + 1]; i += length) {
                if (run++ < own) {
                    continue;
                }
                const int64_t left = tile_begin[t + 1] - i;
                sort_run(plan, x, t, i, i + (left < length ? left : length), length);
#pragma omp atomic capture
                own = next++;
            }
        }
    }
}

int nufft_cpu_sort(const struct nufft_plan *plan, const struct nufft_cpu_segment *segment)
{
    if (sort_by_tile(plan, segment)) {
        return 1;
    }
    sort_by_cell(plan, segment);
    return 0;
}
