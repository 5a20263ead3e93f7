/* nufft_cpu_points.c - CPU backend: the order in which points are taken.
 *
 * What is kept of a point is its place in that order, 4 bytes; its coordinates stay where the user has them, unless
 * copies in that order are asked for (option copy_points).
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "nufft/nufft_cpu.h"

int64_t nufft_cpu_segment_points = UINT32_MAX;

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
    MTIP_TRY(MEMORY_ALLOC(&state->turn, state->n_tiles, "nufft tile turns"));
    MTIP_TRY(
        MEMORY_ALLOC(&state->histogram, state->n_threads * (counters + 1), "nufft sort counters"));
cleanup:
    return status;
}

static void free_points(struct nufft_cpu_state *state)
{
    memory_free(&state->order);
    memory_free(&state->segments);
    memory_free(&state->tile_begin);
    state->n_segments = 0;
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
}

static int64_t count_segments(int64_t n)
{
    return n > 0 ? (n + nufft_cpu_segment_points - 1) / nufft_cpu_segment_points : 1;
}

/* Points of the longest segment. */
static int64_t segment_length(int64_t n)
{
    return (n + count_segments(n) - 1) / count_segments(n);
}

/* Each thread's work space is in the part of the grid that it will fill, so that pages are near their users. */
static enum mtip_status take_scratch(const struct nufft_plan *plan, int64_t n)
{
    struct nufft_cpu_state *state = plan->state;
    const int64_t needed = nufft_cpu_sort_scratch(state, segment_length(n));
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

/* n points in their segments. */
static enum mtip_status cut_segments(struct nufft_cpu_state *state, int64_t n)
{
    const int64_t count = count_segments(n);
    enum mtip_status status = MTIP_OK;
    if (count != state->n_segments) {
        memory_free(&state->segments);
        memory_free(&state->tile_begin);
        state->n_segments = 0;
        MTIP_TRY(MEMORY_ALLOC(&state->segments, count, "nufft segments"));
        MTIP_TRY(
            MEMORY_ALLOC(&state->tile_begin, count * (state->n_tiles + 1), "nufft tile starts"));
        state->n_segments = count;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t begin = i * segment_length(n);
        const int64_t end = begin + segment_length(n);
        state->segments[i] = (struct nufft_cpu_segment){
            .first = begin,
            .n = (end < n ? end : n) - begin,
            .tile_begin = state->tile_begin + i * (state->n_tiles + 1),
        };
    }
cleanup:
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
           (size_t)(state->n_threads * nufft_cpu_sort_scratch(state, segment_length(n))) + copies +
           (size_t)count_segments(n) * (size_t)(state->n_tiles + 1) * sizeof(int64_t) +
           (size_t)state->n_tiles * 64 + (size_t)(n / 1024 + 1) * sizeof(struct nufft_cpu_task);
}

/* Copies of a segment's coordinates in their order. */
static void copy_segment(const struct nufft_plan *plan, const struct nufft_cpu_segment *segment)
{
    struct nufft_cpu_state *state = plan->state;
    const uint32_t *order = state->order + segment->first;
    for (int a = 0; a < plan->dimension; a++) {
        const void *from = nufft_cpu_x_from(state, a, segment->first);
        char *to = (char *)state->sorted[a] + (size_t)segment->first * state->real_size;
#pragma omp parallel for num_threads(state->n_threads) schedule(static)
        for (int64_t i = 0; i < segment->n; i++) {
            if (plan->precision == NUFFT_FLOAT) {
                ((float *)to)[i] = ((const float *)from)[order[i]];
            } else {
                ((double *)to)[i] = ((const double *)from)[order[i]];
            }
        }
    }
}

/* All segments. Returns 1 when a coordinate is beyond the limit of its axis. */
static int sort_points(const struct nufft_plan *plan)
{
    const struct nufft_cpu_state *state = plan->state;
    for (int64_t i = 0; i < state->n_segments; i++) {
        if (nufft_cpu_sort(plan, &state->segments[i])) {
            return 1;
        }
    }
    return 0;
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
    MTIP_TRY(reserve_points(plan, n));
    MTIP_TRY(cut_segments(state, n));
    MTIP_TRY(take_scratch(plan, n));
    make_folding(plan, 0);
    if (sort_points(plan)) {
        make_folding(plan, 1);
        if (sort_points(plan)) {
            MTIP_FAIL(MTIP_ERR_ARGUMENT,
                      "nufft: point %" PRId64 " has a coordinate that is not finite",
                      first_bad(plan, n));
        }
    }
    for (int64_t i = 0; plan->options.copy_points && i < state->n_segments; i++) {
        copy_segment(plan, &state->segments[i]);
    }
    for (int a = 0; plan->options.copy_points && a < plan->dimension; a++) {
        state->x[a] = state->sorted[a];
    }
    MTIP_TRY(nufft_cpu_make_tasks(state));
cleanup:
    memory_free(&state->own_scratch);
    if (status != MTIP_OK) {
        state->n_tasks = 0;
    }
    return status;
}
