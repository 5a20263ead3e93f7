/* nufft_cpu_tiles.c - CPU backend: how the fine grid is cut into tiles, and their points into tasks. */
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "nufft/nufft_cpu.h"

/* Bytes of a padded tile: most of a small L2 cache (512 KiB). The larger, the less of it is rim. */
#define TILE_BYTES 400000
/* Points in a task: small enough to share out a dense tile, large enough to pay for its copy. */
#define TASK_POINTS 16384

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

/* Tiles with sides near `wanted`. */
static void cut_axes(const struct nufft_plan *plan, struct nufft_cpu_state *state, int64_t wanted)
{
    state->n_tiles = 1;
    state->tile_cells = 1;
    for (int a = 0; a < 3; a++) {
        const struct nufft_axis *axis = &plan->axis[a];
        state->tile_size[a] =
            a < plan->dimension ? split_axis(axis->nf, axis->width, wanted) : axis->nf;
        state->tile_count[a] = (axis->nf + state->tile_size[a] - 1) / state->tile_size[a];
        state->n_tiles *= state->tile_count[a];
        const int64_t block = a == 0                     ? state->grain
                              : a >= plan->dimension     ? 1
                              : a == plan->dimension - 1 ? NUFFT_CPU_OUTER_BLOCK
                                                         : NUFFT_CPU_INNER_BLOCK;
        const int64_t blocks = (state->tile_size[a] + block - 1) / block;
        state->tile_cells *= a == 0 ? blocks : blocks * block;
    }
}

void nufft_cpu_tiles_design(const struct nufft_plan *plan, struct nufft_cpu_state *state)
{
    const int64_t line = 64 / (int64_t)state->real_size;
    int64_t wanted = wanted_side(plan, state);
    state->grain = nufft_cpu_grain(plan->axis[0].width, state->components, state->kernels->lanes,
                                   plan->dimension);
    cut_axes(plan, state, wanted);
    while (state->n_tiles > NUFFT_CPU_MAX_TILES) {
        wanted *= 2;
        cut_axes(plan, state, wanted);
    }
    /* The last point of a row reads whole vectors. */
    const int64_t across =
        nufft_cpu_x_vectors(plan->axis[0].width, state->components, state->kernels->lanes) *
        state->kernels->lanes;
    state->tile_beyond = across - plan->axis[0].width * state->components;
    const int64_t row = state->tile_size[0] * state->components + across;
    const int64_t rows = state->tile_size[1] + plan->axis[1].width;
    const int64_t planes = state->tile_size[2] + plan->axis[2].width;
    /* An odd number of cache lines a row and a plane spreads a point's patch over the sets of the L1 cache. */
    state->tile_row = ((row + line - 1) / line | 1) * line;
    state->tile_plane = (state->tile_row / line * rows | 1) * line;
    state->tile_vector = state->tile_plane * planes + across;
    state->tile_vector = (state->tile_vector + line - 1) / line * line;
}

/* First cell of a tile on each axis. */
void nufft_cpu_tile_start(const struct nufft_cpu_state *state, int64_t tile, int32_t *start)
{
    for (int a = 0; a < 3; a++) {
        start[a] = (int32_t)(tile % state->tile_count[a] * state->tile_size[a]);
        tile /= state->tile_count[a];
    }
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

int nufft_cpu_colours(const struct nufft_cpu_state *state)
{
    int colours = 1;
    for (int a = 0; a < 3; a++) {
        colours *= axis_colours(state->tile_count[a]);
    }
    return colours;
}

static int64_t parts_of(const struct nufft_cpu_segment *segment, int64_t tile)
{
    const int64_t points = segment->tile_begin[tile + 1] - segment->tile_begin[tile];
    return (points + TASK_POINTS - 1) / TASK_POINTS;
}

/* Tasks of one tile, from `task` on; returns what follows them. */
static struct nufft_cpu_task *make_tile_tasks(const struct nufft_cpu_state *state, int64_t tile,
                                              struct nufft_cpu_task *task)
{
    int64_t part = 0;
    for (int64_t s = 0; s < state->n_segments; s++) {
        const struct nufft_cpu_segment *segment = &state->segments[s];
        const int64_t begin = segment->tile_begin[tile];
        const int64_t points = segment->tile_begin[tile + 1] - begin;
        const int64_t parts = parts_of(segment, tile);
        for (int64_t p = 0; p < parts; p++) {
            *task++ = (struct nufft_cpu_task){.begin = begin + points * p / parts,
                                              .end = begin + points * (p + 1) / parts,
                                              .first = segment->first,
                                              .tile = tile,
                                              .part = part++};
        }
    }
    return task;
}

/* Tile starts to tasks, colour by colour. */
enum mtip_status nufft_cpu_make_tasks(struct nufft_cpu_state *state)
{
    int64_t at[NUFFT_CPU_MAX_COLOURS + 1] = {0};
    for (int64_t t = 0; t < state->n_tiles; t++) {
        for (int64_t s = 0; s < state->n_segments; s++) {
            at[tile_colour(state, t) + 1] += parts_of(&state->segments[s], t);
        }
    }
    for (int c = 0; c < state->n_colours; c++) {
        at[c + 1] += at[c];
    }
    const int64_t needed = at[state->n_colours];
    if (needed > state->task_capacity) {
        memory_free(&state->tasks);
        state->task_capacity = 0;
        const enum mtip_status status = MEMORY_ALLOC(&state->tasks, needed, "nufft tasks");
        if (status != MTIP_OK) {
            return status;
        }
        state->task_capacity = needed;
    }
    memcpy(state->colour_begin, at, sizeof at);
    for (int64_t t = 0; t < state->n_tiles; t++) {
        int64_t *next = &at[tile_colour(state, t)];
        *next = make_tile_tasks(state, t, state->tasks + *next) - state->tasks;
    }
    state->n_tasks = needed;
    return MTIP_OK;
}
