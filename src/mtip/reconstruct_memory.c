/* reconstruct_memory.c - batches of a run chosen so that it fits into memory.
 *
 * Whole batches with all frames on the device if that fits; else the frames are streamed through two windows
 * there; else batches are halved, down to a size below which kernels do not fill a device. Batches are the same on
 * every rank, as blocks of slices go round them; windows are each rank's own.
 */
#include "core/memory.h"
#include "mtip/reconstruct.h"

/* Points of one batch of slices: large enough for the NUFFT to run at its rate, small enough for the
 * caches' sake (host) and memory's. */
#define BATCH_POINTS_CPU ((int64_t)1 << 20)
#define BATCH_POINTS_CUDA ((int64_t)1 << 22)
#define BATCH_POINTS_LEAST ((int64_t)1 << 15)

/* Device memory that the libraries take for themselves: cuBLAS's workspace, code. */
#define LIBRARY_BYTES ((size_t)48 << 20)

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sets the batches that follow from the number of points. */
static void set_batches(struct reconstruction *r, const struct frames *mine, int64_t points)
{
    const int64_t fit = points / r->geometry.n_pixel;
    r->max_rotations = larger(fit, search_least_rotations(r->config->orientation.refine_trials));
    r->merge_frames = larger(1, smaller(2 * fit, frames_half_chunk(mine)));
}

/* Frames that a window must hold: those of a batch of trials, and of a merging batch, which takes every other one. */
static int64_t least_window(const struct reconstruction *r)
{
    const int64_t trials = search_least_rotations(r->config->orientation.refine_trials);
    return larger(r->max_rotations / trials, 2 * r->merge_frames);
}

static size_t frame_bytes(const struct frames *mine, int64_t count)
{
    return (size_t)(count * mine->n_pixel) * sizeof(float);
}

/* What everything takes; window = 0: all frames in backend memory. */
static enum mtip_status make_plan(struct memory_plan *plan, const struct reconstruction *r,
                                  const struct frames *mine)
{
    enum mtip_status status = MTIP_OK;
    const int on_device = r->backend->kind != BACKEND_CPU;
    const int64_t m = r->geometry.grid_size, volume = m * m * m;
    plan->n_items = 0;
    memory_plan_add(plan, r->window > 0 ? "frame windows" : "frames",
                    frame_bytes(mine, r->window > 0 ? 2 * r->window : mine->n), on_device);
    if (on_device) {
        memory_plan_add(plan, "frames", frame_bytes(mine, mine->n), 0);
        memory_plan_add(plan, "libraries", LIBRARY_BYTES, 1);
        /* as much as a half spectrum, twice that to be safe: the solver's (2 M)^3 and the phaser's M^3 */
        memory_plan_add(plan, "FFT work areas", (size_t)(2 * 9 * volume) * sizeof(double), 1);
    }
    MTIP_TRY(slicer_plan_memory(plan, r->backend, &r->geometry, r->precision, r->max_rotations));
    search_plan_memory(plan, r->backend, &r->geometry, mine, r->precision, r->max_rotations);
    MTIP_TRY(merger_plan_memory(plan, r->backend, &r->geometry, r->precision, r->merge_frames));
    memory_plan_add(plan, "phasing", phaser_bytes(m), on_device);
    memory_plan_add(plan, "volumes", (size_t)(12 * volume) * sizeof(double), 0);
    const int64_t n_jobs = 2 * r->config->phasing.starts + 2;
    memory_plan_add(plan, "phased densities",
                    (size_t)(n_jobs * volume * (r->comm->rank == 0 ? 2 : 1)) * sizeof(double), 0);
cleanup:
    return status;
}

/* Tries batches of `points`: *need is 0 where they fit, else what was wanted last. */
static enum mtip_status try_batches(struct memory_plan *plan, size_t *need,
                                    struct reconstruction *r, const struct frames *mine,
                                    int64_t points, size_t free_bytes)
{
    enum mtip_status status = MTIP_OK;
    const int on_device = r->backend->kind != BACKEND_CPU;
    set_batches(r, mine, points);
    r->window = 0;
    MTIP_TRY(make_plan(plan, r, mine));
    *need = memory_plan_total(plan, on_device);
    if (free_bytes == 0 || *need <= free_bytes) {
        *need = 0;
        return MTIP_OK;
    }
    const int64_t least = least_window(r);
    if (on_device && least < mine->n) {
        const size_t others = *need - frame_bytes(mine, mine->n);
        const size_t spare = others < free_bytes ? free_bytes - others : 0;
        r->window = larger(least, (int64_t)(spare / (2 * frame_bytes(mine, 1))));
        MTIP_TRY(make_plan(plan, r, mine));
        *need = memory_plan_total(plan, on_device);
        if (*need <= free_bytes) {
            *need = 0;
        }
    }
cleanup:
    return status;
}

static void log_plan(const struct reconstruction *r, const struct memory_plan *plan,
                     size_t free_bytes)
{
    const int on_device = r->backend->kind != BACKEND_CPU;
    char text[2][32];
    for (int i = 0; i < plan->n_items; i++) {
        log_detail(r->log, "  %-20s %10s%s", plan->items[i].name,
                   memory_format_bytes(text[0], sizeof text[0], plan->items[i].bytes),
                   plan->items[i].on_device ? " on the device" : "");
    }
    log_info(r->log, "memory      %s a rank%s, %s free",
             memory_format_bytes(text[0], sizeof text[0], memory_plan_total(plan, on_device)),
             on_device ? " on the device" : "",
             memory_format_bytes(text[1], sizeof text[1], free_bytes));
    if (r->window > 0) {
        log_info(r->log, "            frames are streamed to the device, %lld at a time",
                 (long long)r->window);
    }
}

enum mtip_status reconstruct_fit_memory(struct reconstruction *r, int64_t n_frames)
{
    enum mtip_status status = MTIP_OK;
    struct memory_plan plan = {.n_items = 0};
    struct frames mine = {.n = 0};
    size_t free_bytes = 0, total_bytes = 0, need = 0;
    int64_t points = r->backend->kind == BACKEND_CPU ? BATCH_POINTS_CPU : BATCH_POINTS_CUDA;
    char text[2][32];

    frames_split(&mine, n_frames, r->geometry.n_pixel, r->comm->size, r->comm->rank);
    status = backend_memory(r->backend, &free_bytes, &total_bytes);
    const double allowed = r->config->run.memory * (double)((size_t)1 << 30);
    if (allowed > 0.0 && (free_bytes == 0 || allowed < (double)free_bytes)) {
        free_bytes = (size_t)allowed;
    }
    if (status == MTIP_OK) {
        status = try_batches(&plan, &need, r, &mine, points, free_bytes);
    }
    while (status == MTIP_OK && need > 0 && points > BATCH_POINTS_LEAST) {
        points /= 2;
        status = try_batches(&plan, &need, r, &mine, points, free_bytes);
    }
    if (status == MTIP_OK && need > 0) {
        status = MTIP_ERROR(
            MTIP_ERR_MEMORY,
            "rank %d needs %s%s but %s are free: use more ranks, a smaller grid.size, or "
            "input.bin",
            r->comm->rank, memory_format_bytes(text[0], sizeof text[0], need),
            r->backend->kind == BACKEND_CPU ? "" : " of device memory",
            memory_format_bytes(text[1], sizeof text[1], free_bytes));
    }
    MTIP_TRY(comm_agree(r->comm, status));
    double agreed = (double)points;
    MTIP_TRY(comm_allreduce_min(r->comm, &agreed, 1));
    /* what fitted with larger batches fits with smaller ones */
    MTIP_TRY(comm_agree(r->comm, try_batches(&plan, &need, r, &mine, (int64_t)agreed, free_bytes)));
    log_plan(r, &plan, free_bytes);
cleanup:
    return status;
}
