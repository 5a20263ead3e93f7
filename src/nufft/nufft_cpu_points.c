/* nufft_cpu_points.c - CPU backend: the tiles, and the points sorted into them.
 *
 * set_points folds each coordinate to its cell and fraction and sorts twice by counting: by tile over all points, then
 * by cell within each tile, where everything is in cache. Both sorts are stable and cut the points into blocks by
 * number only, so that the order is the same for every number of threads.
 */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include "core/memory.h"
#include "nufft/nufft_cpu.h"

/* Bytes of a padded tile: most of a small L2 cache (512 KiB). The larger, the less of it is rim. */
#define TILE_BYTES 400000
/* Points in a task: small enough to share out a dense tile, large enough to pay for its copy. */
#define TASK_POINTS 16384

static struct nufft_cpu_folding make_folding(const struct nufft_plan *plan, int a)
{
    const struct nufft_cpu_state *state = plan->state;
    const struct nufft_axis *axis = &plan->axis[a];
    const int64_t step[3] = {state->components, state->tile_row, state->tile_plane};
    return (struct nufft_cpu_folding){.nf = (double)axis->nf,
                                      .shift = 0.5 * axis->width,
                                      .size = (double)state->tile_size[a],
                                      .per_tile = 1.0 / (double)state->tile_size[a],
                                      .tiles = (int32_t)state->tile_count[a],
                                      .step = (int32_t)step[a]};
}

/* Tile size along one axis near `wanted`: every tile, the last too, holds at least `width` cells, so that a tile's taps
 * reach no further than the next tile; an even number of tiles needs two colours, an odd one three. */
static int64_t split_axis(int64_t nf, int64_t width, int64_t wanted)
{
    if (wanted < width) {
        wanted = width;
    }
    int64_t fallback = nf;
    for (int64_t count = (nf + wanted - 1) / wanted; count > 1; count--) {
        const int64_t size = (nf + count - 1) / count;
        const int64_t last = nf - (count - 1) * size;
        if (size < width || last < width) {
            continue;
        }
        if (count % 2 == 0) {
            return size;
        }
        if (fallback == nf) {
            fallback = size;
        }
    }
    return fallback;
}

/* Side of a tile whose padded copy takes TILE_BYTES. */
static int64_t wanted_side(const struct nufft_plan *plan, const struct nufft_cpu_state *state)
{
    const double cells = TILE_BYTES / (double)(state->real_size * (size_t)state->components);
    const double side = plan->dimension == 1   ? 0.25 * cells
                        : plan->dimension == 2 ? 0.5 * sqrt(cells)
                                               : cbrt(cells);
    return (int64_t)side - plan->axis[plan->dimension - 1].width;
}

void nufft_cpu_tiles_design(const struct nufft_plan *plan, struct nufft_cpu_state *state)
{
    const int64_t wanted = wanted_side(plan, state);
    const int64_t line = 64 / (int64_t)state->real_size;
    int64_t padded[3];
    state->n_tiles = 1;
    state->tile_cells = 1;
    for (int a = 0; a < 3; a++) {
        const struct nufft_axis *axis = &plan->axis[a];
        state->tile_size[a] =
            a < plan->dimension ? split_axis(axis->nf, axis->width, wanted) : axis->nf;
        state->tile_count[a] = (axis->nf + state->tile_size[a] - 1) / state->tile_size[a];
        state->n_tiles *= state->tile_count[a];
        const int64_t block = a == 0 || a >= plan->dimension ? 1
                              : a == plan->dimension - 1     ? NUFFT_CPU_OUTER_BLOCK
                                                             : NUFFT_CPU_INNER_BLOCK;
        state->tile_cells *= (state->tile_size[a] + block - 1) / block * block;
        padded[a] = state->tile_size[a] + axis->width;
    }
    /* The last point of a row reads whole vectors. */
    const int64_t across =
        nufft_cpu_x_vectors(plan->axis[0].width, state->components, state->kernels->lanes) *
        state->kernels->lanes;
    const int64_t row = state->tile_size[0] * state->components + across;
    /* An odd number of cache lines a row and a plane spreads a point's patch over the sets of the L1 cache. */
    state->tile_row = ((row + line - 1) / line | 1) * line;
    state->tile_plane = (state->tile_row / line * padded[1] | 1) * line;
    state->tile_vector = state->tile_plane * padded[2] + across;
    state->tile_vector = (state->tile_vector + line - 1) / line * line;
}

/* Colours of an axis' tiles: neighbours differ, also around the end. */
static int axis_colours(int64_t count)
{
    return count == 1 ? 1 : count % 2 == 0 ? 2 : 3;
}

static int tile_colour(const struct nufft_cpu_state *state, int64_t tile)
{
    int colour = 0;
    int64_t index[3];
    for (int a = 0; a < 3; a++) {
        index[a] = tile % state->tile_count[a];
        tile /= state->tile_count[a];
    }
    for (int a = 2; a >= 0; a--) {
        const int colours = axis_colours(state->tile_count[a]);
        const int own =
            colours == 3 && index[a] == state->tile_count[a] - 1 ? 2 : (int)(index[a] & 1);
        colour = colour * colours + own;
    }
    return colour;
}

enum mtip_status nufft_cpu_points_create(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    state->n_colours = 1;
    for (int a = 0; a < 3; a++) {
        state->n_colours *= axis_colours(state->tile_count[a]);
    }
    const int64_t counters =
        state->n_tiles > state->tile_cells ? state->n_tiles : state->tile_cells;
    MTIP_TRY(MEMORY_ALLOC(&state->tile_begin, state->n_tiles + 1, "nufft tile starts"));
    MTIP_TRY(MEMORY_ALLOC(&state->turn, state->n_tiles, "nufft tile turns"));
    MTIP_TRY(
        MEMORY_ALLOC(&state->histogram, state->n_threads * (counters + 1), "nufft sort counters"));
cleanup:
    return status;
}

static void free_points(struct nufft_cpu_state *state)
{
    for (int a = 0; a < 3; a++) {
        memory_free(&state->s[a]);
    }
    memory_free(&state->offset);
    memory_free(&state->order);
    memory_free(&state->scratch);
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

/* Room for n points; kept when there is enough, and given back when much smaller sets follow. */
static enum mtip_status reserve_points(const struct nufft_plan *plan, int64_t n)
{
    struct nufft_cpu_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    if (n <= state->capacity && (n > state->capacity / 4 || state->capacity < 100000)) {
        return MTIP_OK;
    }
    free_points(state);
    for (int a = 0; a < plan->dimension; a++) {
        MTIP_TRY(memory_alloc(&state->s[a], n, state->real_size, "nufft sorted points"));
    }
    MTIP_TRY(MEMORY_ALLOC(&state->offset, n, "nufft point offsets"));
    MTIP_TRY(MEMORY_ALLOC(&state->order, n, "nufft point order"));
    if (plan->dimension == 1) {
        MTIP_TRY(MEMORY_ALLOC(&state->scratch, n, "nufft sort"));
    }
    state->capacity = n;
cleanup:
    if (status != MTIP_OK) {
        free_points(state);
    }
    return status;
}

/* Tile starts to tasks, colour by colour. */
static enum mtip_status make_tasks(struct nufft_cpu_state *state)
{
    int64_t needed = 0;
    for (int64_t t = 0; t < state->n_tiles; t++) {
        const int64_t points = state->tile_begin[t + 1] - state->tile_begin[t];
        needed += (points + TASK_POINTS - 1) / TASK_POINTS;
    }
    if (needed > state->task_capacity) {
        memory_free(&state->tasks);
        state->task_capacity = 0;
        const enum mtip_status status = MEMORY_ALLOC(&state->tasks, needed, "nufft tasks");
        if (status != MTIP_OK) {
            return status;
        }
        state->task_capacity = needed;
    }
    int64_t at[NUFFT_CPU_MAX_COLOURS + 1] = {0};
    for (int64_t t = 0; t < state->n_tiles; t++) {
        const int64_t points = state->tile_begin[t + 1] - state->tile_begin[t];
        at[tile_colour(state, t) + 1] += (points + TASK_POINTS - 1) / TASK_POINTS;
    }
    for (int c = 0; c < state->n_colours; c++) {
        at[c + 1] += at[c];
    }
    memcpy(state->colour_begin, at, sizeof at);
    for (int64_t t = 0; t < state->n_tiles; t++) {
        const int64_t begin = state->tile_begin[t];
        const int64_t points = state->tile_begin[t + 1] - begin;
        const int64_t parts = (points + TASK_POINTS - 1) / TASK_POINTS;
        const int colour = tile_colour(state, t);
        for (int64_t p = 0; p < parts; p++) {
            state->tasks[at[colour]++] =
                (struct nufft_cpu_task){.begin = begin + points * p / parts,
                                        .end = begin + points * (p + 1) / parts,
                                        .tile = t,
                                        .part = p};
        }
    }
    state->n_tasks = needed;
    return MTIP_OK;
}

/* Sorts each tile by cell: index and key to state->order. */
static void sort_by_cell(struct nufft_cpu_state *state, const uint32_t *index, const uint32_t *key)
{
    const int64_t cells = state->tile_cells;
#pragma omp parallel for num_threads(state->n_threads) schedule(dynamic, 1)
    for (int64_t t = 0; t < state->n_tiles; t++) {
        const int64_t begin = state->tile_begin[t];
        const int64_t end = state->tile_begin[t + 1];
        uint32_t *count = state->histogram + omp_get_thread_num() * (cells + 1);
        if (begin == end) {
            continue;
        }
        memset(count, 0, (size_t)(cells + 1) * sizeof *count);
        for (int64_t i = begin; i < end; i++) {
            count[key[i] + 1]++;
        }
        for (int64_t c = 0; c < cells; c++) {
            count[c + 1] += count[c];
        }
        for (int64_t i = begin; i < end; i++) {
            state->order[begin + count[key[i]]++] = index[i];
        }
    }
}

#define REAL float
#define NAME(x) x##_float
#include "nufft/nufft_cpu_points_impl.h"
#undef REAL
#undef NAME
#define REAL double
#define NAME(x) x##_double
#include "nufft/nufft_cpu_points_impl.h"
#undef REAL
#undef NAME

enum mtip_status nufft_cpu_set_points(struct nufft_plan *plan, int64_t n, const void *x,
                                      const void *y, const void *z)
{
    struct nufft_cpu_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    const void *const coordinates[3] = {x, y, z};
    if (n > (int64_t)UINT32_MAX) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "nufft: %" PRId64 " points exceed the %" PRIu32 " of one plan; use several plans",
                  n, UINT32_MAX);
    }
    MTIP_TRY(reserve_points(plan, n));
    if (plan->precision == NUFFT_FLOAT) {
        MTIP_TRY(sort_points_float(plan, n, coordinates));
    } else {
        MTIP_TRY(sort_points_double(plan, n, coordinates));
    }
    MTIP_TRY(make_tasks(state));
cleanup:
    if (status != MTIP_OK) {
        state->n_tasks = 0;
    }
    return status;
}
