/* nufft_cpu_spread.c - CPU backend: the loops over tiles, for spreading and for interpolation. */
#include <omp.h>
#include <string.h>

#include "nufft/nufft_cpu.h"

/* The tile as a box of the grid. */
struct box {
    int64_t start[3]; /* grid cell of element 0, folded */
    int64_t size[3];  /* padded cells that hold data */
};

static struct box tile_box(const struct nufft_plan *plan, int64_t tile)
{
    const struct nufft_cpu_state *state = plan->state;
    struct box box;
    int32_t start[3];
    nufft_cpu_tile_start(state, tile, start);
    for (int a = 0; a < 3; a++) {
        const int64_t nf = plan->axis[a].nf;
        int64_t cells = nf - start[a];
        if (cells > state->tile_size[a]) {
            cells = state->tile_size[a];
        }
        /* Axes beyond the dimension have one cell and one tap, at 0. */
        const int64_t first = a < plan->dimension ? 1 : 0;
        box.start[a] = (start[a] + first) % nf;
        box.size[a] = cells + plan->axis[a].width - 1;
    }
    return box;
}

enum direction { GRID_TO_TILE, TILE_TO_GRID };

/* Copies a row of the grid to the tile, or adds a row of the tile to the grid; the row wraps around. */
static void move_row(const struct nufft_cpu_state *state, enum direction direction, char *grid,
                     char *tile, int64_t start, int64_t cells, int64_t nf)
{
    const size_t cell = state->real_size * (size_t)state->components;
    while (cells > 0) {
        const int64_t run = cells < nf - start ? cells : nf - start;
        char *g = grid + (size_t)start * cell;
        if (direction == GRID_TO_TILE) {
            memcpy(tile, g, (size_t)run * cell);
        } else {
            state->kernels->add(g, tile, run * state->components);
        }
        tile += (size_t)run * cell;
        cells -= run;
        start = 0;
    }
}

static void move_tile(const struct nufft_plan *plan, enum direction direction, char *tile,
                      const struct box *box, int64_t vector)
{
    const struct nufft_cpu_state *state = plan->state;
    const size_t cell = state->real_size * (size_t)state->components;
    const size_t beyond = state->real_size * (size_t)state->tile_beyond;
    char *grid = (char *)plan->grid + (size_t)(vector * plan->grid_vector) * cell;
    for (int64_t z = 0; z < box->size[2]; z++) {
        const int64_t gz = (box->start[2] + z) % plan->axis[2].nf;
        for (int64_t y = 0; y < box->size[1]; y++) {
            const int64_t gy = (box->start[1] + y) % plan->axis[1].nf;
            const int64_t row = (gz * plan->axis[1].nf + gy) * plan->grid_row;
            char *own =
                tile + (size_t)(z * state->tile_plane + y * state->tile_row) * state->real_size;
            move_row(state, direction, grid + (size_t)row * cell, own, box->start[0], box->size[0],
                     plan->axis[0].nf);
            /* What vectors read there is multiplied by taps of zero, which must give zero: it must be finite. */
            if (direction == GRID_TO_TILE && beyond > 0) {
                memset(own + (size_t)box->size[0] * cell, 0, beyond);
            }
        }
    }
}

static struct nufft_cpu_job make_job(const struct nufft_plan *plan, int64_t count)
{
    const struct nufft_cpu_state *state = plan->state;
    struct nufft_cpu_job job = {.order = state->order,
                                .sorted = state->sorted[0] != NULL,
                                .folding = state->folding,
                                .tile_row = state->tile_row,
                                .tile_plane = state->tile_plane,
                                .tile_vector = state->tile_vector,
                                .strengths_vector = plan->n_points * state->components,
                                .count = count};
    for (int a = 0; a < 3; a++) {
        job.x[a] = state->x[a];
        job.table[a] = state->table[a];
    }
    return job;
}

static nufft_cpu_kernel *choose_kernel(const struct nufft_plan *plan, int spread)
{
    const struct nufft_cpu_state *state = plan->state;
    const int d = plan->dimension - 1;
    nufft_cpu_kernel *const *kernels = spread
                                           ? state->kernels->spread[state->components - 1][d]
                                           : state->kernels->interpolate[state->components - 1][d];
    /* In 1-D x was widened from a kernel's width to fill the same vectors: that kernel. */
    int width = plan->axis[d].width;
    while (kernels[width] == NULL) {
        width--;
    }
    return kernels[width];
}

#define CLEAR_BYTES ((size_t)1 << 16)

struct clearing {
    char *grid;
    size_t bytes;
};

static void clear_item(void *work, int64_t i, int thread)
{
    const struct clearing *clearing = work;
    const size_t at = (size_t)i * CLEAR_BYTES;
    (void)thread;
    memset(clearing->grid + at, 0,
           clearing->bytes - at < CLEAR_BYTES ? clearing->bytes - at : CLEAR_BYTES);
}

void nufft_cpu_clear_grid(const struct nufft_plan *plan, int64_t count)
{
    const struct nufft_cpu_state *state = plan->state;
    const size_t row = state->real_size * (size_t)(state->components * plan->grid_row);
    struct clearing clearing = {.grid = plan->grid};
    clearing.bytes = (size_t)(count * plan->axis[2].nf * plan->axis[1].nf) * row;
    nufft_cpu_for(state->n_threads, (int64_t)((clearing.bytes + CLEAR_BYTES - 1) / CLEAR_BYTES),
                  clear_item, &clearing);
}

/* `all` is the job of all tasks but for what is set here. */
static void run_kernel(const struct nufft_cpu_state *state, nufft_cpu_kernel *kernel,
                       const struct nufft_cpu_job *all, const struct nufft_cpu_task *task)
{
    struct nufft_cpu_job job = *all;
    const size_t first = state->real_size * (size_t)task->first;
    for (int a = 0; a < 3 && !job.sorted; a++) {
        job.x[a] = nufft_cpu_x_from(state, a, task->first);
    }
    if (job.values != NULL) {
        job.values = (char *)job.values + first * (size_t)state->components;
    } else {
        job.strengths = (const char *)job.strengths + first * (size_t)state->components;
    }
    nufft_cpu_tile_start(state, task->tile, job.start);
    job.begin = task->begin;
    job.end = task->end;
    kernel(&job);
}

static void spread_task(const struct nufft_plan *plan, nufft_cpu_kernel *kernel,
                        const struct nufft_cpu_job *job, const struct nufft_cpu_task *task)
{
    struct nufft_cpu_state *state = plan->state;
    const struct box box = tile_box(plan, task->tile);
    memset(job->tile, 0, state->real_size * (size_t)(job->count * state->tile_vector));
    run_kernel(state, kernel, job, task);
    while (atomic_load_explicit(&state->turn[task->tile], memory_order_acquire) != task->part) {
        /* An earlier part of the tile was started before this one and will end. */
    }
    for (int64_t v = 0; v < job->count; v++) {
        move_tile(plan, TILE_TO_GRID,
                  (char *)job->tile + state->real_size * (size_t)(v * state->tile_vector), &box, v);
    }
    atomic_store_explicit(&state->turn[task->tile], task->part + 1, memory_order_release);
}

static char *thread_tile(const struct nufft_plan *plan, int thread)
{
    const struct nufft_cpu_state *state = plan->state;
    return (char *)state->tile +
           state->real_size * (size_t)(thread * plan->batch * state->tile_vector);
}

enum mtip_status nufft_cpu_spread(struct nufft_plan *plan, const void *strengths, int64_t count)
{
    struct nufft_cpu_state *state = plan->state;
    nufft_cpu_kernel *kernel = choose_kernel(plan, 1);
    nufft_cpu_clear_grid(plan, count);
    for (int64_t t = 0; t < state->n_tiles; t++) {
        atomic_store_explicit(&state->turn[t], 0, memory_order_relaxed);
    }
    if (state->n_threads == 1) { /* see nufft_cpu_for */
        struct nufft_cpu_job job = make_job(plan, count);
        job.strengths = strengths;
        job.tile = thread_tile(plan, 0);
        for (int64_t t = 0; t < state->n_tasks; t++) {
            spread_task(plan, kernel, &job, &state->tasks[t]);
        }
        return MTIP_OK;
    }
#pragma omp parallel num_threads(state->n_threads)
    {
        struct nufft_cpu_job job = make_job(plan, count);
        job.strengths = strengths;
        job.tile = thread_tile(plan, omp_get_thread_num());
        for (int c = 0; c < state->n_colours; c++) {
            /* monotonic: parts of a tile are started in their order */
#pragma omp for schedule(monotonic : dynamic, 1)
            for (int64_t t = state->colour_begin[c]; t < state->colour_begin[c + 1]; t++) {
                spread_task(plan, kernel, &job, &state->tasks[t]);
            }
        }
    }
    return MTIP_OK;
}

struct interpolation {
    const struct nufft_plan *plan;
    nufft_cpu_kernel *kernel;
    struct nufft_cpu_job job; /* but for the thread's tile */
};

static void interpolate_task(void *work, int64_t i, int thread)
{
    const struct interpolation *all = work;
    const struct nufft_cpu_state *state = all->plan->state;
    const struct nufft_cpu_task *task = &state->tasks[i];
    const struct box box = tile_box(all->plan, task->tile);
    struct nufft_cpu_job job = all->job;
    job.tile = thread_tile(all->plan, thread);
    for (int64_t v = 0; v < job.count; v++) {
        move_tile(all->plan, GRID_TO_TILE,
                  (char *)job.tile + state->real_size * (size_t)(v * state->tile_vector), &box, v);
    }
    run_kernel(state, all->kernel, &job, task);
}

enum mtip_status nufft_cpu_interpolate(struct nufft_plan *plan, void *strengths, int64_t count)
{
    struct nufft_cpu_state *state = plan->state;
    struct interpolation all = {.plan = plan, .kernel = choose_kernel(plan, 0)};
    all.job = make_job(plan, count);
    all.job.values = strengths;
    nufft_cpu_for_uneven(state->n_threads, state->n_tasks, interpolate_task, &all);
    return MTIP_OK;
}
