/* nufft_cuda_fft.c - CUDA backend: cuFFT in place on the fine grid, and the passes between its spectrum and the modes.
 *
 * Two plans, of the whole batch and of one vector, share one work area: they run on one stream.
 */
#include "core/status_cuda.h"
#include "nufft/nufft_cuda.h"

enum { BATCH = 0, SINGLE = 1 };

static cufftType transform_type(const struct nufft_plan *plan)
{
    if (!plan->options.real_data) {
        return plan->precision == NUFFT_FLOAT ? CUFFT_C2C : CUFFT_Z2Z;
    }
    if (plan->type == 1) {
        return plan->precision == NUFFT_FLOAT ? CUFFT_R2C : CUFFT_D2Z;
    }
    return plan->precision == NUFFT_FLOAT ? CUFFT_C2R : CUFFT_Z2D;
}

static enum mtip_status make_plan(const struct nufft_plan *plan, struct nufft_cuda_state *state,
                                  int64_t batch, size_t *work_bytes)
{
    enum mtip_status status = MTIP_OK;
    const int rank = plan->dimension;
    const int real_data = plan->options.real_data;
    long long size[3], cells[3], spectrum[3];
    for (int a = 0; a < rank; a++) { /* slowest first */
        size[rank - 1 - a] = cells[rank - 1 - a] = spectrum[rank - 1 - a] = plan->axis[a].nf;
    }
    cells[rank - 1] = plan->grid_row;
    spectrum[rank - 1] = state->modes.spectrum_row;
    const int real_in = real_data && plan->type == 1, real_out = real_data && plan->type != 1;
    cufftHandle *handle = &state->fft[state->n_fft];
    CUFFT_TRY(cufftCreate(handle));
    state->n_fft++;
    CUFFT_TRY(cufftSetAutoAllocation(*handle, 0));
    CUFFT_TRY(cufftMakePlanMany64(*handle, rank, size, real_in ? cells : spectrum, 1,
                                  real_in ? plan->grid_vector : state->modes.spectrum_vector,
                                  real_out ? cells : spectrum, 1,
                                  real_out ? plan->grid_vector : state->modes.spectrum_vector,
                                  transform_type(plan), batch, work_bytes));
    CUFFT_TRY(cufftSetStream(*handle, state->stream));
cleanup:
    return status;
}

enum mtip_status nufft_cuda_fft_create(struct nufft_plan *plan)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_cuda_state *state = plan->state;
    size_t bytes[2] = {0, 0};
    MTIP_TRY(make_plan(plan, state, plan->batch, &bytes[BATCH]));
    if (plan->batch > 1) {
        MTIP_TRY(make_plan(plan, state, 1, &bytes[SINGLE]));
    }
    state->work_bytes = bytes[BATCH] > bytes[SINGLE] ? bytes[BATCH] : bytes[SINGLE];
    MTIP_TRY(nufft_cuda_alloc(&state->work, (int64_t)state->work_bytes, 1, "the FFT work area"));
    for (int i = 0; i < state->n_fft && state->work != NULL; i++) {
        CUFFT_TRY(cufftSetWorkArea(state->fft[i], state->work));
    }
cleanup:
    return status;
}

void nufft_cuda_fft_destroy(struct nufft_cuda_state *state)
{
    while (state->n_fft > 0) {
        (void)cufftDestroy(state->fft[--state->n_fft]);
    }
    nufft_cuda_free(&state->work);
    state->work_bytes = 0;
}

static cufftResult run_plan(cufftHandle fft, const struct nufft_plan *plan, void *grid)
{
    const int direction = plan->sign > 0 ? CUFFT_INVERSE : CUFFT_FORWARD;
    switch (transform_type(plan)) {
    case CUFFT_C2C:
        return cufftExecC2C(fft, grid, grid, direction);
    case CUFFT_Z2Z:
        return cufftExecZ2Z(fft, grid, grid, direction);
    case CUFFT_R2C:
        return cufftExecR2C(fft, grid, grid);
    case CUFFT_D2Z:
        return cufftExecD2Z(fft, grid, grid);
    case CUFFT_C2R:
        return cufftExecC2R(fft, grid, grid);
    default:
        return cufftExecZ2D(fft, grid, grid);
    }
}

/* The transform of grids 0 .. count-1. */
static enum mtip_status transform(const struct nufft_plan *plan, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    const struct nufft_cuda_state *state = plan->state;
    const size_t vector =
        state->real_size * (size_t)state->job.components * (size_t)plan->grid_vector;
    if (count == plan->batch) {
        CUFFT_TRY(run_plan(state->fft[BATCH], plan, plan->grid));
        return status;
    }
    for (int64_t v = 0; v < count; v++) {
        CUFFT_TRY(run_plan(state->fft[SINGLE], plan, (char *)plan->grid + (size_t)v * vector));
    }
cleanup:
    return status;
}

enum mtip_status nufft_cuda_grid_to_modes(struct nufft_plan *plan, void *modes, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_cuda_state *state = plan->state;
    int previous = -1;
    MTIP_TRY(nufft_cuda_has_grid(plan));
    MTIP_TRY(nufft_cuda_enter(state, &previous));
    status = transform(plan, count);
    if (status == MTIP_OK) {
        status =
            CUDA_STATUS(nufft_launch_grid_to_modes(&state->modes, modes, count, state->stream));
    }
    nufft_cuda_leave(state, previous);
cleanup:
    return status;
}

enum mtip_status nufft_cuda_modes_to_grid(struct nufft_plan *plan, const void *modes, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_cuda_state *state = plan->state;
    int previous = -1;
    MTIP_TRY(nufft_cuda_has_grid(plan));
    MTIP_TRY(nufft_cuda_enter(state, &previous));
    status = CUDA_STATUS(nufft_launch_modes_to_grid(&state->modes, modes, count, state->stream));
    if (status == MTIP_OK) {
        status = transform(plan, count);
    }
    nufft_cuda_leave(state, previous);
cleanup:
    return status;
}
