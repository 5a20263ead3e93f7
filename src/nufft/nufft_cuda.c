/* nufft_cuda.c - the CUDA backend: state, tables, the fine grid, and the table of stages.
 *
 * A plan belongs to the device that was current when it was made; every stage makes it current and puts back the
 * caller's. All work goes to the caller's stream. Only set_points waits for it (it must say whether a coordinate is not
 * finite).
 */
#include "nufft/nufft_cuda.h"

#include <inttypes.h>
#include <string.h>

#include "core/memory.h"
#include "core/status_cuda.h"

/* Tables start on multiples of this many bytes. */
#define TABLE_ALIGNMENT 256

enum mtip_status nufft_cuda_enter(const struct nufft_cuda_state *state, int *previous)
{
    enum mtip_status status = MTIP_OK;
    CUDA_TRY(cudaGetDevice(previous));
    if (*previous != state->device) {
        CUDA_TRY(cudaSetDevice(state->device));
    }
cleanup:
    return status;
}

void nufft_cuda_leave(const struct nufft_cuda_state *state, int previous)
{
    if (previous != state->device) {
        (void)cudaSetDevice(previous);
    }
}

enum mtip_status nufft_cuda_alloc(void *memory, int64_t count, size_t item_size, const char *what)
{
    size_t bytes = 0;
    void *got = NULL;
    memcpy(memory, &got, sizeof got);
    const enum mtip_status status = memory_bytes(&bytes, count, item_size, what);
    if (status != MTIP_OK || bytes == 0) {
        return status;
    }
    const cudaError_t code = cudaMalloc(&got, bytes);
    if (code == cudaErrorMemoryAllocation) {
        size_t left = 0, all = 0;
        char wanted_text[32], left_text[32], all_text[32];
        (void)cudaGetLastError();
        if (cudaMemGetInfo(&left, &all) != cudaSuccess) {
            (void)cudaGetLastError();
        }
        return MTIP_ERROR(MTIP_ERR_MEMORY,
                          "nufft: %s needs %s of device memory, of which %s of %s are free", what,
                          memory_format_bytes(wanted_text, sizeof wanted_text, bytes),
                          memory_format_bytes(left_text, sizeof left_text, left),
                          memory_format_bytes(all_text, sizeof all_text, all));
    }
    if (code != cudaSuccess) {
        return status_from_cuda(code, "cudaMalloc", __FILE__, __LINE__);
    }
    memcpy(memory, &got, sizeof got);
    return MTIP_OK;
}

void nufft_cuda_free(void *memory)
{
    void *held = NULL;
    void *const none = NULL;
    memcpy(&held, memory, sizeof held);
    if (held != NULL) {
        (void)cudaFree(held);
    }
    memcpy(memory, &none, sizeof none);
}

/* ---- cost, for the choice of width and fine grid ---------------------------------------------- */
static int x_width_cuda(const struct nufft_plan *plan, int width)
{
    (void)plan;
    return width;
}

static double point_cost_cuda(const struct nufft_plan *plan)
{
    return nufft_cuda_point_ns(plan, plan->options.method);
}

/* Zeroing, three passes of an FFT each way and correction at 4.8 TB/s, and the method's own traffic. */
static double cell_cost_cuda(const struct nufft_plan *plan)
{
    const double bytes =
        (plan->options.real_data ? 1.0 : 2.0) * (plan->precision == NUFFT_FLOAT ? 4.0 : 8.0);
    return 8.0 * bytes / 4800.0 + nufft_cuda_cell_ns(plan, plan->options.method);
}

/* ---- tables ----------------------------------------------------------------------------------- */
static size_t padded(size_t bytes)
{
    return (bytes + TABLE_ALIGNMENT - 1) / TABLE_ALIGNMENT * TABLE_ALIGNMENT;
}

static int64_t poly_values(const struct nufft_axis *axis)
{
    return (int64_t)NUFFT_SUBINTERVALS * (nufft_kernel_degree(axis->width) + 1) * axis->width;
}

static size_t table_bytes(const struct nufft_plan *plan)
{
    const size_t real = plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    size_t bytes = padded(real); /* the 1 of axes beyond the dimension */
    for (int a = 0; a < plan->dimension; a++) {
        bytes += padded(real * (size_t)poly_values(&plan->axis[a])) +
                 padded(real * (size_t)plan->axis[a].n_stored);
    }
    return bytes + padded(sizeof(struct nufft_point_report));
}

static void put_value(const struct nufft_cuda_state *state, char *to, int64_t i, double value)
{
    if (state->real_size == sizeof(float)) {
        ((float *)(void *)to)[i] = (float)value;
    } else {
        ((double *)(void *)to)[i] = value;
    }
}

/* Moves *at, an offset in the host's copy of the tables, on over n values; returns where they will be on the device. */
static void *move_on(const struct nufft_cuda_state *state, size_t *at, int64_t n)
{
    void *const there = (char *)state->tables + *at;
    *at += padded(state->real_size * (size_t)n);
    return there;
}

static enum mtip_status make_tables(const struct nufft_plan *plan, struct nufft_cuda_state *state)
{
    enum mtip_status status = MTIP_OK;
    const size_t bytes = table_bytes(plan);
    char *host = NULL;
    size_t at = 0;
    MTIP_TRY(nufft_cuda_alloc(&state->tables, (int64_t)bytes, 1, "the kernel tables"));
    MTIP_TRY(MEMORY_ALLOC(&host, (int64_t)bytes, "nufft kernel tables"));
    put_value(state, host, 0, 1.0);
    void *const unity = move_on(state, &at, 1);
    for (int a = 0; a < 3; a++) {
        const struct nufft_axis *axis = &plan->axis[a];
        state->modes.correction[a] = unity;
        if (a < plan->dimension) {
            for (int64_t i = 0; i < poly_values(axis); i++) {
                put_value(state, host + at, i, axis->poly[i]);
            }
            state->job.poly[a] = move_on(state, &at, poly_values(axis));
            for (int64_t i = 0; i < axis->n_stored; i++) {
                put_value(state, host + at, i, nufft_correction(axis, plan->options.order, i));
            }
            state->modes.correction[a] = move_on(state, &at, axis->n_stored);
        }
    }
    state->job.report = (struct nufft_point_report *)(void *)((char *)state->tables + at);
    CUDA_TRY(cudaMemcpyAsync(state->tables, host, at, cudaMemcpyHostToDevice, state->stream));
    CUDA_TRY(cudaStreamSynchronize(state->stream));
cleanup:
    memory_free(&host);
    return status;
}

/* ---- state ------------------------------------------------------------------------------------ */
/* Real rows have room for the half spectrum of an in-place FFT. */
static int64_t grid_row(const struct nufft_plan *plan)
{
    return plan->options.real_data ? 2 * (plan->axis[0].nf / 2 + 1) : plan->axis[0].nf;
}

static int64_t grid_vector(const struct nufft_plan *plan)
{
    return grid_row(plan) * plan->axis[1].nf * plan->axis[2].nf;
}

static void describe_jobs(const struct nufft_plan *plan, struct nufft_cuda_state *state)
{
    struct nufft_job *job = &state->job;
    struct nufft_modes_job *modes = &state->modes;
    job->precision = modes->precision = plan->precision;
    job->dimension = plan->dimension;
    job->components = plan->options.real_data ? 1 : 2;
    job->shared_limit = state->properties.shared_limit;
    modes->half = plan->options.real_data;
    modes->order = (int)plan->options.order;
    /* R2C goes with exp(-i ..), C2R with exp(+i ..). */
    modes->conjugate = plan->options.real_data && (plan->type == 1) == (plan->sign > 0);
    for (int a = 0; a < 3; a++) {
        const struct nufft_axis *axis = &plan->axis[a];
        job->width[a] = axis->width;
        job->nf[a] = (int32_t)axis->nf;
        modes->n_modes[a] = axis->n_modes;
        modes->n_stored[a] = axis->n_stored;
        modes->nf[a] = axis->nf;
    }
    job->grid_row = grid_row(plan);
    job->grid_plane = job->grid_row * plan->axis[1].nf;
    job->grid_vector = grid_vector(plan);
    modes->spectrum_row = plan->options.real_data ? job->grid_row / 2 : job->grid_row;
    modes->spectrum_vector = plan->options.real_data ? job->grid_vector / 2 : job->grid_vector;
}

static enum mtip_status ask_device(struct nufft_cuda_state *state)
{
    enum mtip_status status = MTIP_OK;
    int shared = 0;
    CUDA_TRY(cudaGetDevice(&state->device));
    CUDA_TRY(cudaDeviceGetAttribute(&state->properties.multiprocessors,
                                    cudaDevAttrMultiProcessorCount, state->device));
    CUDA_TRY(
        cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, state->device));
    state->properties.shared_limit = shared;
cleanup:
    return status;
}

static enum mtip_status reserve_here(struct nufft_plan *plan, int64_t batch)
{
    struct nufft_cuda_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    nufft_cuda_fft_destroy(state);
    nufft_cuda_free(&plan->grid);
    nufft_cuda_free(&state->job.fixed);
    plan->grid_row = grid_row(plan);
    plan->grid_vector = grid_vector(plan);
    plan->batch = batch;
    MTIP_TRY(nufft_cuda_alloc(&plan->grid, batch * plan->grid_vector,
                              state->real_size * (size_t)state->job.components, "the fine grid"));
    MTIP_TRY(nufft_cuda_alloc(&state->job.fixed, batch, sizeof *state->job.fixed, "the fine grid"));
    state->job.grid = plan->grid;
    state->modes.grid = plan->grid;
    MTIP_TRY(nufft_cuda_fft_create(plan));
cleanup:
    return status;
}

enum mtip_status nufft_cuda_has_grid(const struct nufft_plan *plan)
{
    if (plan->grid == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY,
                          "nufft: the plan lost its fine grid when more memory was asked for");
    }
    return MTIP_OK;
}

static enum mtip_status reserve_cuda(struct nufft_plan *plan, int64_t batch)
{
    enum mtip_status status = MTIP_OK;
    int previous = -1;
    const int64_t before = plan->batch;
    MTIP_TRY(nufft_cuda_enter(plan->state, &previous));
    status = reserve_here(plan, batch);
    if (status != MTIP_OK && reserve_here(plan, before) != MTIP_OK) {
        nufft_cuda_free(&plan->grid); /* the stages say so */
    }
    nufft_cuda_leave(plan->state, previous);
cleanup:
    return status;
}

static enum mtip_status create_cuda(struct nufft_plan *plan)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_cuda_state *state = NULL;
    for (int a = 0; a < 3; a++) {
        if (plan->axis[a].nf > INT32_MAX / 2) {
            MTIP_FAIL(MTIP_ERR_ARGUMENT, "nufft: more than 2^30 fine-grid cells along one axis");
        }
    }
    MTIP_TRY(MEMORY_ALLOC(&state, 1, "nufft state"));
    plan->state = state;
    state->stream = (cudaStream_t)plan->options.stream;
    state->real_size = plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    state->device = -1;
    MTIP_TRY(ask_device(state));
    describe_jobs(plan, state);
    MTIP_TRY(make_tables(plan, state));
    MTIP_TRY(reserve_here(plan, plan->batch));
cleanup:
    return status;
}

static void destroy_cuda(struct nufft_plan *plan)
{
    struct nufft_cuda_state *state = plan->state;
    if (state == NULL) {
        return;
    }
    /* Freeing does not depend on the current device, and must not on a call that can fail. */
    nufft_cuda_fft_destroy(state);
    nufft_cuda_free_points(state);
    nufft_cuda_free(&plan->grid);
    nufft_cuda_free(&state->job.fixed);
    nufft_cuda_free(&state->tables);
    memory_free(&plan->state);
}

/* ---- stages ----------------------------------------------------------------------------------- */
/* The present method's kernels. */
static cudaError_t launch(const struct nufft_plan *plan, int spread, void *strengths, int64_t count)
{
    const struct nufft_cuda_state *state = plan->state;
    if (state->method == NUFFT_METHOD_SM) {
        return nufft_launch_shared(&state->job, spread, strengths, count, state->stream);
    }
    if (state->method == NUFFT_METHOD_COLUMN) {
        return plan->precision == NUFFT_FLOAT
                   ? nufft_launch_column_float(&state->job, spread, strengths, count, state->stream)
                   : nufft_launch_column_double(&state->job, spread, strengths, count,
                                                state->stream);
    }
    return spread ? nufft_launch_spread_points(&state->job, strengths, count, state->stream)
                  : nufft_launch_interpolate_points(&state->job, strengths, count, state->stream);
}

static enum mtip_status spread_here(struct nufft_plan *plan, const void *strengths, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    const struct nufft_cuda_state *state = plan->state;
    const size_t vector =
        state->real_size * (size_t)(state->job.components * state->job.grid_vector);
    MTIP_TRY(nufft_cuda_has_grid(plan));
    CUDA_TRY(cudaMemsetAsync(plan->grid, 0, (size_t)count * vector, state->stream));
    if (state->job.exact) {
        CUDA_TRY(cudaMemsetAsync(state->job.fixed, 0, (size_t)count * sizeof *state->job.fixed,
                                 state->stream));
        CUDA_TRY(nufft_launch_fixed_scales(&state->job, strengths, count, state->stream));
    }
    CUDA_TRY(launch(plan, 1, (void *)strengths, count));
    if (state->job.exact) {
        CUDA_TRY(nufft_launch_fixed_to_float(&state->job, count, state->stream));
    }
cleanup:
    return status;
}

static enum mtip_status spread_cuda(struct nufft_plan *plan, const void *strengths, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    int previous = -1;
    MTIP_TRY(nufft_cuda_enter(plan->state, &previous));
    status = spread_here(plan, strengths, count);
    nufft_cuda_leave(plan->state, previous);
cleanup:
    return status;
}

static enum mtip_status interpolate_here(struct nufft_plan *plan, void *strengths, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(nufft_cuda_has_grid(plan));
    CUDA_TRY(launch(plan, 0, strengths, count));
cleanup:
    return status;
}

static enum mtip_status interpolate_cuda(struct nufft_plan *plan, void *strengths, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    int previous = -1;
    MTIP_TRY(nufft_cuda_enter(plan->state, &previous));
    status = interpolate_here(plan, strengths, count);
    nufft_cuda_leave(plan->state, previous);
cleanup:
    return status;
}

static void memory_cuda(const struct nufft_plan *plan, int64_t n_points, size_t *host_bytes,
                        size_t *device_bytes)
{
    /* A device is not asked: bounds for any. */
    const struct nufft_cuda_device device = {.multiprocessors = 256, .shared_limit = 99 << 10};
    const size_t cell = (plan->options.real_data ? 1 : 2) *
                        (plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double));
    const size_t grid = cell * (size_t)grid_vector(plan) * (size_t)plan->batch;
    const size_t slack = (size_t)4 << 20; /* rounding of allocations */
    *host_bytes += sizeof(struct nufft_cuda_state);
    /* cuFFT's work area is about as large as the data. */
    *device_bytes += 2 * grid + (size_t)plan->batch * sizeof(struct nufft_fixed) +
                     table_bytes(plan) + nufft_cuda_points_memory(plan, &device, n_points) + slack;
}

const struct nufft_ops nufft_ops_cuda = {
    .name = "cuda",
    .x_width = x_width_cuda,
    .point_cost = point_cost_cuda,
    .cell_cost = cell_cost_cuda,
    .create = create_cuda,
    .destroy = destroy_cuda,
    .reserve = reserve_cuda,
    .set_points = nufft_cuda_set_points,
    .spread = spread_cuda,
    .interpolate = interpolate_cuda,
    .grid_to_modes = nufft_cuda_grid_to_modes,
    .modes_to_grid = nufft_cuda_modes_to_grid,
    .memory = memory_cuda,
};
