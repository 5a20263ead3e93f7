/* nufft_cpu_points.c - CPU backend: the order in which points are taken.
 *
 * What is kept of a point is its place in that order, 4 bytes; its coordinates stay where the user has them, unless
 * copies in that order are asked for (option copy_points). set_points sorts by counting, twice: by tile over all points,
 * then by cell within runs of a tile's points, which stay in cache. Both sorts are stable and cut the points by number
 * only, so that the order is the same for every number of threads.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "nufft/nufft_cpu.h"

/* Points of a tile sorted together: enough to find points of one column next to each other. */
#define RUN_POINTS 131072
#define LEAST_RUN_POINTS 16384

static void make_folding(const struct nufft_plan *plan, int far)
{
    struct nufft_cpu_state *state = plan->state;
    const int64_t step[3] = {state->components, state->tile_row, state->tile_plane};
    const int is_float = plan->precision == NUFFT_FLOAT;
    for (int a = 0; a < 3; a++) {
        const double nf = (double)plan->axis[a].nf;
        const long double scale = nf * 0.159154943091895335768883763372514362L; /* nf / 2 pi */
        const double rounded = is_float ? (double)(float)scale : (double)scale;
        /* Cells and half cells must be exact in the precision, also where fold() adds a half to them. */
        const double most = is_float ? 0x1p21 : 0x1p48;
        const int beyond = far || nf > most;
        const double greatest = is_float ? FLT_MAX : DBL_MAX;
        state->folding[a] =
            (struct nufft_cpu_folding){.nf = nf,
                                       .scale = rounded,
                                       .scale_rest = (double)(scale - (long double)rounded),
                                       .shift = 0.5 * plan->axis[a].width,
                                       .limit = beyond ? greatest : most / rounded,
                                       .far = beyond,
                                       .size = (int32_t)state->tile_size[a],
                                       .per_tile = 1.0 / (double)state->tile_size[a],
                                       .tiles = (int32_t)state->tile_count[a],
                                       .step = (int32_t)step[a],
                                       .grain = a == 0 ? state->grain : 1};
    }
}

enum mtip_status nufft_cpu_points_create(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    state->n_colours = nufft_cpu_colours(state);
    const int64_t counters =
        state->n_tiles > state->tile_cells ? state->n_tiles : state->tile_cells;
    for (int a = 0; a < plan->dimension; a++) {
        if (plan->axis[a].nf > INT32_MAX) {
            MTIP_FAIL(MTIP_ERR_ARGUMENT,
                      "nufft: a fine grid of %" PRId64 " cells on axis %d exceeds %" PRId32,
                      plan->axis[a].nf, a, INT32_MAX);
        }
    }
    MTIP_TRY(MEMORY_ALLOC(&state->tile_begin, state->n_tiles + 1, "nufft tile starts"));
    MTIP_TRY(MEMORY_ALLOC(&state->turn, state->n_tiles, "nufft tile turns"));
    MTIP_TRY(
        MEMORY_ALLOC(&state->histogram, state->n_threads * (counters + 1), "nufft sort counters"));
cleanup:
    return status;
}

static void free_points(struct nufft_cpu_state *state)
{
    memory_free(&state->order);
    for (int a = 0; a < 3; a++) {
        memory_free(&state->sorted[a]);
    }
    state->capacity = 0;
}

void nufft_cpu_points_destroy(struct nufft_cpu_state *state)
{
    free_points(state);
    memory_free(&state->tasks);
    memory_free(&state->histogram);
    memory_free(&state->turn);
    memory_free(&state->tile_begin);
}

/* Points of a run at most: few of small sets, whose work space should be small, too. */
static int64_t run_length(int64_t n)
{
    const int64_t part = n / 16 < LEAST_RUN_POINTS ? LEAST_RUN_POINTS : n / 16;
    const int64_t most = part < RUN_POINTS ? part : RUN_POINTS;
    return n < most ? n : most;
}

/* Bytes of a thread's work space: first the tiles of its share of the points, 16 bits each, then a run, 2 numbers a point. */
static int64_t scratch_bytes(const struct nufft_cpu_state *state, int64_t n)
{
    const int64_t tiles = (n / state->n_threads + 1) * (int64_t)sizeof(uint16_t);
    const int64_t run = 2 * run_length(n) * (int64_t)sizeof(uint32_t);
    return ((tiles > run ? tiles : run) + 63) / 64 * 64;
}

/* Each thread's work space is in the part of the grid that it will fill, so that pages are near their users. */
static enum mtip_status take_scratch(const struct nufft_plan *plan, int64_t n)
{
    struct nufft_cpu_state *state = plan->state;
    const int64_t needed = scratch_bytes(state, n);
    const int64_t grid = plan->batch * plan->grid_vector * state->components;
    const int64_t part = grid * (int64_t)state->real_size / state->n_threads / 64 * 64;
    if (!plan->prepared && needed <= part) {
        state->scratch = plan->grid;
        state->scratch_stride = part;
        return MTIP_OK;
    }
    const enum mtip_status status =
        MEMORY_ALLOC_UNTOUCHED(&state->own_scratch, state->n_threads * needed, "nufft sort");
    state->scratch = state->own_scratch;
    state->scratch_stride = needed;
    return status;
}

/* Room for n points; kept when there is enough, and given back when much smaller sets follow. */
static enum mtip_status reserve_points(const struct nufft_plan *plan, int64_t n)
{
    struct nufft_cpu_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    if (n <= state->capacity && (n > state->capacity / 4 || state->capacity < 100000)) {
        return MTIP_OK;
    }
    free_points(state);
    MTIP_TRY(MEMORY_ALLOC_UNTOUCHED(&state->order, n, "nufft point order"));
    for (int a = 0; plan->options.copy_points && a < plan->dimension; a++) {
        MTIP_TRY(
            memory_alloc_untouched(&state->sorted[a], n, state->real_size, "nufft sorted points"));
    }
    state->capacity = n;
cleanup:
    if (status != MTIP_OK) {
        free_points(state);
    }
    return status;
}

size_t nufft_cpu_points_memory(const struct nufft_plan *plan, const struct nufft_cpu_state *state,
                               int64_t n)
{
    const size_t copies =
        plan->options.copy_points ? (size_t)(plan->dimension * n) * state->real_size : 0;
    const size_t counters = (size_t)(state->n_tiles + state->tile_cells + 2);
    return ((size_t)n + (size_t)state->n_threads * counters) * sizeof(uint32_t) +
           (size_t)(state->n_threads * scratch_bytes(state, n)) + copies +
           (size_t)state->n_tiles * 64 + (size_t)(n / 1024 + 1) * sizeof(struct nufft_cpu_task);
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

/* Sorts by tile: order and tile_begin. Returns 1 when a coordinate is beyond the limit of its axis. */
static int sort_by_tile(const struct nufft_plan *plan, int64_t n)
{
    struct nufft_cpu_state *state = plan->state;
    const int shares = state->n_threads;
    const int64_t tiles = state->n_tiles;
    int beyond = 0;
    memset(state->histogram, 0, (size_t)(shares * tiles) * sizeof(uint32_t));
#pragma omp parallel for num_threads(shares) schedule(static, 1) reduction(| : beyond)
    for (int b = 0; b < shares; b++) {
        beyond |= count_share(plan, thread_scratch(state, b), n * b / shares, n * (b + 1) / shares,
                              state->histogram + b * tiles);
    }
    if (beyond) {
        return 1;
    }
    int64_t total = 0;
    for (int64_t t = 0; t < tiles; t++) {
        state->tile_begin[t] = total;
        for (int b = 0; b < shares; b++) {
            uint32_t *count = &state->histogram[b * tiles + t];
            const uint32_t own = *count;
            *count = (uint32_t)total;
            total += own;
        }
    }
    state->tile_begin[tiles] = total;
#pragma omp parallel for num_threads(shares) schedule(static, 1)
    for (int b = 0; b < shares; b++) {
        const uint16_t *tile = thread_scratch(state, b);
        uint32_t *next = state->histogram + b * tiles;
        for (int64_t i = n * b / shares; i < n * (b + 1) / shares; i++) {
            state->order[next[*tile++]++] = (uint32_t)i;
        }
    }
    return 0;
}

/* Sorts points begin .. end-1 of a tile, at most `length`, by cell. */
static void sort_run(const struct nufft_plan *plan, int64_t tile, int64_t begin, int64_t end,
                     int64_t length)
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
        state->kernels->rank_cells(key + i, state->x, index + i, some, ahead, plan->dimension,
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

/* Sorts each tile by cell, run by run; a thread takes the next run when it is done with one. */
static void sort_by_cell(const struct nufft_plan *plan, int64_t n)
{
    const struct nufft_cpu_state *state = plan->state;
    const int64_t length = run_length(n);
    int64_t next = 0;
#pragma omp parallel num_threads(state->n_threads)
    {
        int64_t run = 0;
        int64_t own;
#pragma omp atomic capture
        own = next++;
        for (int64_t t = 0; t < state->n_tiles; t++) {
            for (int64_t i = state->tile_begin[t]; i < state->tile_begin[t + 1]; i += length) {
                if (run++ < own) {
                    continue;
                }
                const int64_t left = state->tile_begin[t + 1] - i;
                sort_run(plan, t, i, i + (left < length ? left : length), length);
#pragma omp atomic capture
                own = next++;
            }
        }
    }
}

/* Copies of the coordinates in their order; they take the place of the user's. */
static void copy_points(const struct nufft_plan *plan, int64_t n)
{
    struct nufft_cpu_state *state = plan->state;
    for (int a = 0; a < plan->dimension; a++) {
        const void *from = state->x[a];
        void *to = state->sorted[a];
#pragma omp parallel for num_threads(state->n_threads) schedule(static)
        for (int64_t i = 0; i < n; i++) {
            if (plan->precision == NUFFT_FLOAT) {
                ((float *)to)[i] = ((const float *)from)[state->order[i]];
            } else {
                ((double *)to)[i] = ((const double *)from)[state->order[i]];
            }
        }
        state->x[a] = to;
    }
}

/* Index of the first point that is NaN or infinite, n if none. Slow: only where one is suspected. */
static int64_t first_bad(const struct nufft_plan *plan, int64_t n)
{
    const struct nufft_cpu_state *state = plan->state;
    for (int64_t i = 0; i < n; i++) {
        for (int a = 0; a < plan->dimension; a++) {
            const double x = plan->precision == NUFFT_FLOAT
                                 ? (double)((const float *)state->x[a])[i]
                                 : ((const double *)state->x[a])[i];
            if (!isfinite(x)) {
                return i;
            }
        }
    }
    return n;
}

enum mtip_status nufft_cpu_set_points(struct nufft_plan *plan, int64_t n, const void *x,
                                      const void *y, const void *z)
{
    struct nufft_cpu_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    state->x[0] = x;
    state->x[1] = y;
    state->x[2] = z;
    if (n > (int64_t)UINT32_MAX) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "nufft: %" PRId64 " points exceed the %" PRIu32 " of one plan; use several plans",
                  n, UINT32_MAX);
    }
    MTIP_TRY(reserve_points(plan, n));
    MTIP_TRY(take_scratch(plan, n));
    make_folding(plan, 0);
    if (sort_by_tile(plan, n)) {
        make_folding(plan, 1);
        if (sort_by_tile(plan, n)) {
            MTIP_FAIL(MTIP_ERR_ARGUMENT,
                      "nufft: point %" PRId64 " has a coordinate that is not finite",
                      first_bad(plan, n));
        }
    }
    sort_by_cell(plan, n);
    if (plan->options.copy_points) {
        copy_points(plan, n);
    }
    MTIP_TRY(nufft_cpu_make_tasks(state));
cleanup:
    memory_free(&state->own_scratch);
    if (status != MTIP_OK) {
        state->n_tasks = 0;
    }
    return status;
}
