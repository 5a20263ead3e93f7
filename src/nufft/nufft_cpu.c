/* nufft_cpu.c - the CPU backend: choice of kernels, state, and the table of stages. */
#include "nufft/nufft_cpu.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

#if defined(__x86_64__) || defined(__i386__)
static const struct nufft_cpu_kernels *avx2(enum nufft_precision precision)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? nufft_cpu_kernels_avx2(precision)
               : NULL;
}
static const struct nufft_cpu_kernels *avx512(enum nufft_precision precision)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")
               ? nufft_cpu_kernels_avx512(precision)
               : NULL;
}
/* Whether vectors of 64 bytes are worth it: where units are as wide (not in Zen 4, of AMD's family 19h, where they were
 * the slower at all widths), and a row takes fewer of them. */
static int is_wide(int width, int components, int lanes)
{
    return !__builtin_cpu_is("amdfam19h") && nufft_cpu_x_vectors(width, components, lanes) <
                                                 nufft_cpu_x_vectors(width, components, lanes / 2);
}
#else
static const struct nufft_cpu_kernels *avx2(enum nufft_precision precision)
{
    (void)precision;
    return NULL;
}
static const struct nufft_cpu_kernels *avx512(enum nufft_precision precision)
{
    (void)precision;
    return NULL;
}
static int is_wide(int width, int components, int lanes)
{
    (void)width;
    (void)components;
    (void)lanes;
    return 0;
}
#endif

const struct nufft_cpu_kernels *nufft_cpu_kernels_choose(enum nufft_precision precision, int width,
                                                         int components)
{
    const struct nufft_cpu_kernels *const known[3] = {avx512(precision), avx2(precision),
                                                      nufft_cpu_kernels_portable(precision)};
    const char *wanted = getenv("MTIP_NUFFT_ISA");
    for (int i = 0; i < 3; i++) {
        if (known[i] == NULL) {
            continue;
        }
        if (wanted != NULL && wanted[0] != '\0') {
            if (strcmp(wanted, known[i]->name) == 0) {
                return known[i];
            }
        } else if (i > 0 || known[1] == NULL || is_wide(width, components, known[i]->lanes)) {
            return known[i];
        }
    }
    return NULL;
}

static enum mtip_status check_cpu(void)
{
    if (nufft_cpu_kernels_choose(NUFFT_DOUBLE, 1, 1) == NULL) {
        return MTIP_ERROR(
            MTIP_ERR_UNSUPPORTED,
            "nufft: MTIP_NUFFT_ISA is \"%s\"; this processor and build have: portable%s%s",
            getenv("MTIP_NUFFT_ISA"), avx2(NUFFT_DOUBLE) != NULL ? " avx2" : "",
            avx512(NUFFT_DOUBLE) != NULL ? " avx512" : "");
    }
    return MTIP_OK;
}

static int components_of(const struct nufft_plan *plan)
{
    return plan->options.real_data ? 1 : 2;
}

static int x_width_cpu(const struct nufft_plan *plan, int width)
{
    const struct nufft_cpu_kernels *kernels =
        nufft_cpu_kernels_choose(plan->precision, width, components_of(plan));
    if (kernels == NULL || kernels->spread[0][0][width] == NULL) {
        return 0;
    }
    return nufft_cpu_x_width(width, components_of(plan), kernels->lanes, plan->dimension,
                             plan->precision == NUFFT_FLOAT ? NUFFT_CPU_FLOAT_WIDTH
                                                            : NUFFT_MAX_X_WIDTH);
}

/* Vector operations a point: one multiply-add for each vector of each row, and the polynomials. */
static double point_cost_cpu(const struct nufft_plan *plan)
{
    const int w = plan->axis[plan->dimension - 1].width;
    const struct nufft_cpu_kernels *kernels =
        nufft_cpu_kernels_choose(plan->precision, w, components_of(plan));
    const int across =
        nufft_cpu_x_vectors(plan->axis[0].width, components_of(plan), kernels->lanes);
    const int along = (w + kernels->lanes - 1) / kernels->lanes;
    double rows = 1.0;
    double taps = across * (double)nufft_kernel_degree(plan->axis[0].width);
    for (int a = 1; a < plan->dimension; a++) {
        rows *= w;
        taps += along * (double)nufft_kernel_degree(w);
    }
    return 4.0 + 0.25 * (taps + rows * across);
}

static double cell_cost_cpu(const struct nufft_plan *plan)
{
    const double bytes = components_of(plan) * (plan->precision == NUFFT_FLOAT ? 4.0 : 8.0);
    /* The FFT of a 1-D grid goes through memory twice. */
    return (plan->dimension == 1 ? 0.9 : 0.6) * bytes;
}

/* A kernel table with lanes: [NUFFT_SUBINTERVALS][degree+1][row], each tap `copies` times, zeros after the last. */
static enum mtip_status lane_table(void **table, const struct nufft_axis *axis, int copies, int row,
                                   enum nufft_precision precision)
{
    const int width = axis->width;
    const int64_t lines = (int64_t)NUFFT_SUBINTERVALS * (nufft_kernel_degree(width) + 1);
    const size_t size = precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    const enum mtip_status status = memory_alloc(table, lines * row, size, "nufft kernel lanes");
    if (status != MTIP_OK) {
        return status;
    }
    for (int64_t line = 0; line < lines; line++) {
        for (int i = 0; i < width * copies; i++) {
            const double value = axis->poly[line * width + i / copies];
            if (precision == NUFFT_FLOAT) {
                ((float *)*table)[line * row + i] = (float)value;
            } else {
                ((double *)*table)[line * row + i] = value;
            }
        }
    }
    return MTIP_OK;
}

/* Tables of the axes; axes with the same kernel share one, so that less of the L1 cache is taken. */
static enum mtip_status make_tables(const struct nufft_plan *plan, struct nufft_cpu_state *state)
{
    const int lanes = state->kernels->lanes;
    for (int a = 0; a < plan->dimension; a++) {
        const struct nufft_axis *axis = &plan->axis[a];
        const int copies = a == 0 ? state->components : 1;
        for (int b = copies == 1 ? 0 : 1; b < a && state->table[a] == NULL; b++) {
            const int same_layout = b > 0 || state->components == 1;
            if (same_layout && plan->axis[b].width == axis->width &&
                plan->axis[b].beta == axis->beta) {
                state->table[a] = state->table[b];
            }
        }
        if (state->table[a] == NULL) {
            const int row = (axis->width * copies + lanes - 1) / lanes * lanes;
            const enum mtip_status status =
                lane_table(&state->table[a], axis, copies, row, plan->precision);
            if (status != MTIP_OK) {
                return status;
            }
        }
    }
    return MTIP_OK;
}

static void free_tables(struct nufft_cpu_state *state)
{
    for (int a = 2; a >= 0; a--) {
        for (int b = 0; b < a; b++) {
            if (state->table[a] == state->table[b]) {
                state->table[a] = NULL;
            }
        }
        memory_free(&state->table[a]);
    }
}

/* Rows start on cache lines; real rows have room for the half spectrum of an in-place FFT. */
static int64_t grid_row(const struct nufft_plan *plan)
{
    const int components = components_of(plan);
    const int64_t line = 64 / (plan->precision == NUFFT_FLOAT ? 4 : 8) / components;
    const int64_t needed = plan->axis[0].nf + (components == 1 ? 2 : 0);
    return (needed + line - 1) / line * line;
}

static enum mtip_status reserve_cpu(struct nufft_plan *plan, int64_t batch)
{
    struct nufft_cpu_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    memory_free(&plan->grid);
    memory_free(&state->tile);
    plan->grid_row = grid_row(plan);
    plan->grid_vector = plan->grid_row * plan->axis[1].nf * plan->axis[2].nf;
    const size_t cell = state->real_size * (size_t)state->components;
    /* Pages lie near the thread that touches them first: here, before columns across all parts are written. */
    MTIP_TRY(
        memory_alloc_untouched(&plan->grid, batch * plan->grid_vector, cell, "nufft fine grid"));
    MTIP_TRY(memory_alloc_untouched(&state->tile, batch * state->n_threads * state->tile_vector,
                                    state->real_size, "nufft tiles"));
    nufft_cpu_clear_grid(plan, batch);
    plan->batch = batch;
cleanup:
    return status;
}

static void describe_state(const struct nufft_plan *plan, struct nufft_cpu_state *state)
{
    state->components = components_of(plan);
    state->kernels = nufft_cpu_kernels_choose(
        plan->precision, plan->axis[plan->dimension - 1].width, state->components);
    state->real_size = plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    state->n_threads = nufft_cpu_threads(plan);
    nufft_cpu_tiles_design(plan, state);
}

static enum mtip_status create_cpu(struct nufft_plan *plan)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_cpu_state *state = NULL;
    MTIP_TRY(MEMORY_ALLOC(&state, 1, "nufft state"));
    plan->state = state;
    describe_state(plan, state);
    MTIP_TRY(make_tables(plan, state));
    MTIP_TRY(nufft_cpu_points_create(plan));
    MTIP_TRY(reserve_cpu(plan, plan->batch));
    if (plan->type != 3) { /* its inner plan has the FFT */
        MTIP_TRY(nufft_cpu_fft_create(plan));
    }
cleanup:
    return status;
}

static void destroy_cpu(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    if (state == NULL) {
        return;
    }
    nufft_cpu_fft_destroy(plan);
    nufft_cpu_points_destroy(state);
    memory_free(&state->tile);
    memory_free(&plan->grid);
    free_tables(state);
    memory_free(&plan->state);
}

static void memory_cpu(const struct nufft_plan *plan, int64_t n_points, size_t *host_bytes,
                       size_t *device_bytes)
{
    struct nufft_cpu_state state = {0};
    (void)device_bytes;
    describe_state(plan, &state);
    const size_t huge = (size_t)2 << 20;
    size_t grid = state.real_size * (size_t)state.components * (size_t)grid_row(plan);
    grid *= (size_t)plan->axis[1].nf * (size_t)plan->axis[2].nf * (size_t)plan->batch;
    const size_t tiles =
        state.real_size * (size_t)plan->batch * (size_t)state.n_threads * (size_t)state.tile_vector;
    *host_bytes += grid + tiles + nufft_cpu_points_memory(plan, &state, n_points) +
                   nufft_cpu_fft_memory(plan, state.n_threads) + sizeof state + 8 * huge;
}

const struct nufft_ops nufft_ops_cpu = {
    .name = "cpu",
    .check = check_cpu,
    .x_width = x_width_cpu,
    .point_cost = point_cost_cpu,
    .cell_cost = cell_cost_cpu,
    .create = create_cpu,
    .destroy = destroy_cpu,
    .reserve = reserve_cpu,
    .set_points = nufft_cpu_set_points,
    .spread = nufft_cpu_spread,
    .interpolate = nufft_cpu_interpolate,
    .grid_to_modes = nufft_cpu_grid_to_modes,
    .modes_to_grid = nufft_cpu_modes_to_grid,
    .memory = memory_cpu,
    .spares_memory = 1,
    .borrows_points = 1,
    .type3 = &nufft_cpu_type3_ops,
};
