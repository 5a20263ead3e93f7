/* nufft_cpu_fft.c - CPU backend: from the fine grid to the modes and back, by FFTs of only those lines that hold or need
 * data.
 *
 * The fine grid holds N of nf modes an axis. Type 1 transforms the grid along x, then along y only the columns of kept
 * k_x, then along z only those of kept k_x and k_y; type 2 the other way round. In 3-D with nf = 2 N this is 58 % of a
 * full FFT. Lines along y and z are gathered LINES at a time into a buffer that stays in cache, zero-padded and corrected
 * on the way. Rows along x are contiguous: one at a time, and only their kept cells are written. The line of a 1-D grid is
 * cut into many short ones (nufft_cpu_long_impl.h).
 *
 * Plans are made with FFTW_ESTIMATE: measured plans would differ from run to run and rank to rank, and so would the
 * last bits of results. Every line is transformed by one thread, hence their number does not show in the results. All
 * transforms go from one array to another: in place FFTW would take buffers of its own in each, and be slower. Each thread
 * has buffers in the plan.
 */
#include <fftw3.h>
#include <math.h>
#include <string.h>

#include "core/fftw_lock.h"
#include "core/memory.h"
#include "nufft/nufft_cpu.h"

#define LINES NUFFT_CPU_LINES
#define PAIRS (LINES / 2)
#define PLAN_FLAGS (FFTW_ESTIMATE | FFTW_DESTROY_INPUT)

/* The line of a 1-D grid as a matrix; see nufft_cpu_long_impl.h. */
struct nufft_cpu_long {
    int64_t n; /* complex cells, rows x columns */
    int64_t rows;
    int64_t columns;
    int64_t column_items; /* blocks of LINES columns, */
    int64_t row_items;    /* and of LINES rows or PAIRS pairs of them */
    struct nufft_cpu_twiddles twiddles;
    double *half; /* owned [rows + columns][2], real-data mode: W^k1, then W^(rows k2) */
    void *down;   /* owned FFTW plan of LINES columns */
    void *along;  /* owned FFTW plan of LINES rows */
};

/* Work space of the threads that can have work at once, in values. */
struct nufft_cpu_buffers {
    int64_t line_values; /* LINES lines */
    int64_t line_sets;   /* threads with two of these, for what goes in and what comes out */
    int64_t row_values;  /* a row along x, in 2-D and 3-D */
    int64_t row_sets;    /* threads with one of these */
};

struct nufft_cpu_fft {
    struct nufft_cpu_buffers size;
    void *lines; /* owned [line_sets][2][line_values] */
    void *rows;  /* owned [row_sets][row_values] */
    void *x; /* owned FFTW plan of a row: type 1 from grid to buffer, type 2 from buffer to grid */
    void *columns[3]; /* owned FFTW plans of LINES lines along y and z */
    struct nufft_cpu_long line;
};

/* Neighbouring cells of an axis that hold modes; cell g holds element g + shift of the modes. */
struct nufft_cpu_run {
    int64_t begin;
    int64_t end;
    int64_t shift;
};

/* The two runs of an axis: k >= 0, and k < 0 at its end (empty in real-data mode along x). */
static void kept_cells(const struct nufft_axis *axis, enum nufft_order order,
                       struct nufft_cpu_run run[2])
{
    const int64_t positive = axis->half ? axis->n_stored : (axis->n_modes + 1) / 2;
    const int64_t negative = axis->n_stored - positive;
    const int centred = order == NUFFT_ORDER_CENTRED && !axis->half;
    run[0] = (struct nufft_cpu_run){.end = positive, .shift = centred ? negative : 0};
    run[1] = (struct nufft_cpu_run){.begin = axis->nf - negative, .end = axis->nf};
    run[1].shift = (centred ? 0 : positive) - run[1].begin;
}

static int64_t blocks_of(int64_t n, int64_t length)
{
    return (n + length - 1) / length;
}

/* Items of `count` vectors that have threads of their own, 2-D and 3-D: rows (2-D) or planes, */
static int64_t first_items(const struct nufft_plan *plan, int64_t count)
{
    return count * plan->axis[plan->dimension - 1].nf;
}

/* and blocks of LINES columns along the last axis. */
static int64_t last_items(const struct nufft_plan *plan, int64_t count)
{
    const int64_t lines = plan->dimension == 3 ? plan->axis[1].n_stored : 1;
    return count * lines * blocks_of(plan->axis[0].n_stored, LINES);
}

/* Where the cells end that hold no mode, out of `cells`. */
static int64_t gap_end(const struct nufft_cpu_run run[2], int64_t cells)
{
    return run[1].begin < cells ? run[1].begin : cells;
}

/* exp(i sign 2 pi power / n), 0 <= power < n. */
static void root_of_unity(double factor[2], int sign, int64_t power, int64_t n)
{
    const double pi = 3.14159265358979323846;
    const double angle = 2.0 * pi * (double)power / (double)n;
    factor[0] = cos(angle);
    factor[1] = sign * sin(angle);
}

#define REAL float
#define NAME(x) x##_float
#define FFTW(x) fftwf_##x
#include "nufft/nufft_cpu_lines_impl.h"

#include "nufft/nufft_cpu_fft_impl.h"
#include "nufft/nufft_cpu_long_impl.h"
#undef REAL
#undef NAME
#undef FFTW
#define REAL double
#define NAME(x) x##_double
#define FFTW(x) fftw_##x
#include "nufft/nufft_cpu_lines_impl.h"

#include "nufft/nufft_cpu_fft_impl.h"
#include "nufft/nufft_cpu_long_impl.h"
#undef REAL
#undef NAME
#undef FFTW

/* How a 1-D line is cut: near the root of n; if possible into multiples of 4, which FFTW does in about 3/4 of the time. */
static struct nufft_cpu_long design_long(const struct nufft_plan *plan)
{
    struct nufft_cpu_long line = {.n = plan->axis[0].nf / (plan->options.real_data ? 2 : 1)};
    int64_t good = 0;
    for (int64_t d = 1; d * d <= line.n; d++) {
        if (line.n % d == 0) {
            line.rows = d;
            good = d % 4 == 0 && line.n / d % 4 == 0 ? d : good;
        }
    }
    if (2 * good > line.rows) {
        line.rows = good;
    }
    line.columns = line.n / line.rows;
    line.column_items = blocks_of(line.columns, LINES);
    line.row_items =
        plan->options.real_data ? blocks_of(line.rows / 2 + 1, PAIRS) : blocks_of(line.rows, LINES);
    line.twiddles.rows = line.rows;
    while ((int64_t)1 << 2 * line.twiddles.shift < line.n) {
        line.twiddles.shift++;
    }
    return line;
}

static int64_t coarse_steps(const struct nufft_cpu_long *line)
{
    return (line->n >> line->twiddles.shift) + 1;
}

static enum mtip_status create_long(struct nufft_plan *plan, struct nufft_cpu_long *line)
{
    const struct nufft_cpu_state *state = plan->state;
    const int64_t fine = (int64_t)1 << line->twiddles.shift;
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(MEMORY_ALLOC(&line->twiddles.fine, 2 * fine, "nufft twiddles"));
    MTIP_TRY(MEMORY_ALLOC(&line->twiddles.coarse, 2 * coarse_steps(line), "nufft twiddles"));
    MTIP_TRY(memory_alloc(&line->twiddles.step, 2 * line->rows * LINES, state->real_size,
                          "nufft twiddles"));
    for (int64_t i = 0; i < fine; i++) {
        root_of_unity(line->twiddles.fine + 2 * i, plan->sign, i, line->n);
    }
    for (int64_t i = 0; i < coarse_steps(line); i++) {
        root_of_unity(line->twiddles.coarse + 2 * i, plan->sign, i * fine, line->n);
    }
    if (plan->options.real_data) {
        MTIP_TRY(MEMORY_ALLOC(&line->half, 2 * (line->rows + line->columns), "nufft twiddles"));
        for (int64_t k = 0; k < line->rows; k++) {
            root_of_unity(line->half + 2 * k, plan->sign, k, plan->axis[0].nf);
        }
        for (int64_t k = 0; k < line->columns; k++) {
            root_of_unity(line->half + 2 * (line->rows + k), plan->sign, line->rows * k,
                          plan->axis[0].nf);
        }
    }
cleanup:
    return status;
}

/* Whole cache lines of values that hold `cells` complex cells. */
static int64_t buffer_values(int64_t cells)
{
    return (2 * cells + 15) / 16 * 16;
}

static int64_t at_most(int64_t n, int64_t limit)
{
    return n < limit ? n : limit;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* No more sets than items, of which a long thin grid has few along one axis. `line` matters in 1-D. */
static struct nufft_cpu_buffers design_buffers(const struct nufft_plan *plan,
                                               const struct nufft_cpu_long *line, int n_threads)
{
    const int64_t n = plan->n_vectors; /* at most so many are on the grid at once */
    struct nufft_cpu_buffers size = {0};
    if (plan->dimension == 1) {
        size.line_values = buffer_values(LINES * line->columns);
        size.line_sets = at_most(n * larger(line->column_items, line->row_items), n_threads);
        return size;
    }
    const int64_t first = first_items(plan, n);
    const int64_t last = last_items(plan, n);
    size.line_values = buffer_values(LINES * larger(plan->axis[1].nf, plan->axis[2].nf));
    size.line_sets = at_most(plan->dimension == 3 ? larger(first, last) : last, n_threads);
    size.row_values = buffer_values(plan->axis[0].nf);
    size.row_sets = at_most(first, n_threads);
    return size;
}

size_t nufft_cpu_fft_memory(const struct nufft_plan *plan, int n_threads)
{
    const size_t real = plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    struct nufft_cpu_long line = {0};
    size_t bytes = 0;
    if (plan->dimension == 1) {
        line = design_long(plan);
        bytes += 2 * (size_t)(line.rows * LINES) * real;
        bytes += 2 * sizeof(double) *
                 ((size_t)(((int64_t)1 << line.twiddles.shift) + coarse_steps(&line)) +
                  (plan->options.real_data ? (size_t)(line.rows + line.columns) : 0));
    }
    const struct nufft_cpu_buffers size = design_buffers(plan, &line, n_threads);
    return bytes +
           real * (size_t)(2 * size.line_values * size.line_sets + size.row_values * size.row_sets);
}

static enum mtip_status make_plans(struct nufft_plan *plan)
{
    if (plan->precision == NUFFT_FLOAT) {
        return plan->dimension == 1 ? make_long_float(plan) : make_plans_float(plan);
    }
    return plan->dimension == 1 ? make_long_double(plan) : make_plans_double(plan);
}

/* Each thread its own, so that they lie near it. */
static void clear_buffers(void *work, int64_t i, int thread)
{
    const struct nufft_cpu_state *state = work;
    const struct nufft_cpu_fft *fft = state->fft;
    const size_t lines = 2 * (size_t)fft->size.line_values * state->real_size;
    const size_t row = (size_t)fft->size.row_values * state->real_size;
    (void)thread;
    if (i < fft->size.line_sets) {
        memset((char *)fft->lines + (size_t)i * lines, 0, lines);
    }
    if (i < fft->size.row_sets) {
        memset((char *)fft->rows + (size_t)i * row, 0, row);
    }
}

static enum mtip_status create_buffers(const struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    struct nufft_cpu_fft *fft = state->fft;
    enum mtip_status status = MTIP_OK;
    fft->size = design_buffers(plan, &fft->line, state->n_threads);
    MTIP_TRY(memory_alloc_untouched(&fft->lines, 2 * fft->size.line_sets * fft->size.line_values,
                                    state->real_size, "nufft FFT buffers"));
    MTIP_TRY(memory_alloc_untouched(&fft->rows, fft->size.row_sets * fft->size.row_values,
                                    state->real_size, "nufft FFT buffers"));
    nufft_cpu_for(state->n_threads, state->n_threads, clear_buffers, state);
cleanup:
    return status;
}

enum mtip_status nufft_cpu_fft_create(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(MEMORY_ALLOC(&state->fft, 1, "nufft FFT state"));
    if (plan->dimension == 1) {
        state->fft->line = design_long(plan);
        MTIP_TRY(create_long(plan, &state->fft->line));
    }
    MTIP_TRY(create_buffers(plan));
    fftw_lock();
    status = make_plans(plan);
    fftw_unlock();
cleanup:
    return status;
}

void nufft_cpu_fft_destroy(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    struct nufft_cpu_fft *fft = state->fft;
    if (fft == NULL) {
        return;
    }
    void *const plans[] = {fft->x, fft->columns[1], fft->columns[2], fft->line.down,
                           fft->line.along};
    fftw_lock();
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        if (plan->precision == NUFFT_FLOAT) {
            free_plan_float(plans[i]);
        } else {
            free_plan_double(plans[i]);
        }
    }
    fftw_unlock();
    memory_free(&fft->line.twiddles.fine);
    memory_free(&fft->line.twiddles.coarse);
    memory_free(&fft->line.twiddles.step);
    memory_free(&fft->line.half);
    memory_free(&fft->lines);
    memory_free(&fft->rows);
    memory_free(&state->fft);
}

static void transform(const struct nufft_plan *plan, void *modes, int64_t count)
{
    if (plan->precision == NUFFT_FLOAT) {
        (plan->dimension == 1 ? transform_long_float : transform_grid_float)(plan, modes, count);
    } else {
        (plan->dimension == 1 ? transform_long_double : transform_grid_double)(plan, modes, count);
    }
}

enum mtip_status nufft_cpu_grid_to_modes(struct nufft_plan *plan, void *modes, int64_t count)
{
    transform(plan, modes, count);
    return MTIP_OK;
}

enum mtip_status nufft_cpu_modes_to_grid(struct nufft_plan *plan, const void *modes, int64_t count)
{
    transform(plan, (void *)modes, count); /* type 2: read only */
    return MTIP_OK;
}
