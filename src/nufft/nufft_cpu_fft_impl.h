/* nufft_cpu_fft_impl.h - the pruned FFT for one precision; included by nufft_cpu_fft.c with REAL, NAME(x), FFTW(x).
 *
 * A grid cell is one complex number; in real-data mode two real cells share the place of one k_x after the transform
 * along x. `row_step` etc. count complex numbers. */
struct NAME(complex) {
    REAL re;
    REAL im;
};

/* Everything a stage needs, worked out once an execute. */
struct NAME(fft_job) {
    const struct nufft_plan *plan;
    const struct nufft_cpu_fft *fft;
    int64_t row;   /* complex numbers from row to row */
    int64_t plane; /* from plane to plane */
    int64_t vector;
    int64_t blocks; /* of LINES stored k_x */
};

static struct NAME(fft_job) NAME(make_fft_job)(const struct nufft_plan *plan)
{
    const struct nufft_cpu_state *state = plan->state;
    struct NAME(fft_job) job = {.plan = plan, .fft = state->fft};
    job.row = plan->grid_row * state->components / 2;
    job.plane = job.row * plan->axis[1].nf;
    job.vector = job.plane * plan->axis[2].nf;
    job.blocks = (plan->axis[0].n_stored + LINES - 1) / LINES;
    return job;
}

static struct NAME(complex) * NAME(thread_buffer)(const struct nufft_cpu_fft *fft)
{
    REAL *buffers = fft->buffers;
    return (struct NAME(complex) *)(buffers + omp_get_thread_num() * fft->buffer_values);
}

static enum mtip_status NAME(make_plans)(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    struct nufft_cpu_fft *fft = state->fft;
    const int nx = (int)plan->axis[0].nf;
    const int sign = plan->sign > 0 ? FFTW_BACKWARD : FFTW_FORWARD;
    REAL *grid = plan->grid;
    FFTW(complex) *spectrum = plan->grid;
    FFTW(plan_with_nthreads)(plan->dimension == 1 ? LINE_PARTS : 1);
    if (!plan->options.real_data) {
        fft->x = FFTW(plan_dft_1d)(nx, spectrum, spectrum, sign, FFTW_ESTIMATE);
    } else if (plan->type == 1) {
        fft->x = FFTW(plan_dft_r2c_1d)(nx, grid, spectrum, FFTW_ESTIMATE);
    } else {
        fft->x = FFTW(plan_dft_c2r_1d)(nx, spectrum, grid, FFTW_ESTIMATE);
    }
    if (fft->x == NULL) {
        return MTIP_ERROR(MTIP_ERR_INTERNAL, "nufft: FFTW made no plan for a row of %d", nx);
    }
    FFTW(plan_with_nthreads)(1);
    for (int a = 1; a < plan->dimension; a++) {
        const int n = (int)plan->axis[a].nf;
        FFTW(complex) *buffer = fft->buffers;
        fft->columns[a] = FFTW(plan_many_dft)(1, &n, LINES, buffer, NULL, LINES, 1, buffer, NULL,
                                              LINES, 1, sign, FFTW_ESTIMATE);
        if (fft->columns[a] == NULL) {
            return MTIP_ERROR(MTIP_ERR_INTERNAL, "nufft: FFTW made no plan for lines of %d", n);
        }
    }
    return MTIP_OK;
}

static void NAME(free_plans)(struct nufft_cpu_fft *fft)
{
    for (int a = 0; a < 3; a++) {
        if (fft->columns[a] != NULL) {
            FFTW(destroy_plan)(fft->columns[a]);
        }
    }
    if (fft->x != NULL) {
        FFTW(destroy_plan)(fft->x);
    }
}

static void NAME(transform_columns)(const struct nufft_cpu_fft *fft, int axis,
                                    struct NAME(complex) * buffer)
{
    FFTW(complex) *data = (FFTW(complex) *)buffer;
    FFTW(execute_dft)(fft->columns[axis], data, data);
}

/* Columns of stored k_x in a block, and where they are in a grid row. */
static int NAME(block_columns)(const struct NAME(fft_job) * job, int64_t block, int64_t *column)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
    const int64_t first = block * LINES;
    int n = 0;
    while (n < LINES && first + n < axis->n_stored) {
        column[n] = nufft_mode_cell(axis, job->plan->options.order, first + n);
        n++;
    }
    return n;
}

/* Type 1, a row: transform along x in place; the conjugate gives the other sign of a real transform. */
static void NAME(row_forward)(const struct NAME(fft_job) * job, struct NAME(complex) * row)
{
    FFTW(complex) *data = (FFTW(complex) *)row;
    if (!job->plan->options.real_data) {
        FFTW(execute_dft)(job->fft->x, data, data);
        return;
    }
    FFTW(execute_dft_r2c)(job->fft->x, (REAL *)row, data);
    if (job->plan->sign > 0) {
        for (int64_t k = 0; k < job->plan->axis[0].n_stored; k++) {
            row[k].im = -row[k].im;
        }
    }
}

/* Type 2, a row: zeros where no mode is stored, then transform along x in place. */
static void NAME(row_backward)(const struct NAME(fft_job) * job, struct NAME(complex) * row)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
    FFTW(complex) *data = (FFTW(complex) *)row;
    if (!job->plan->options.real_data) {
        const int64_t positive = (axis->n_modes + 1) / 2;
        memset(row + positive, 0, (size_t)(axis->nf - axis->n_modes) * sizeof *row);
        FFTW(execute_dft)(job->fft->x, data, data);
        return;
    }
    const int64_t spectrum = axis->nf / 2 + 1;
    memset(row + axis->n_stored, 0, (size_t)(spectrum - axis->n_stored) * sizeof *row);
    if (job->plan->sign < 0) {
        for (int64_t k = 0; k < axis->n_stored; k++) {
            row[k].im = -row[k].im;
        }
    }
    FFTW(execute_dft_c2r)(job->fft->x, data, (REAL *)row);
}

/* Type 1, LINES columns of one plane along y: kept k_y return to their rows. */
static void NAME(y_forward)(const struct NAME(fft_job) * job, struct NAME(complex) * plane,
                            int64_t block)
{
    const struct nufft_axis *axis = &job->plan->axis[1];
    struct NAME(complex) *buffer = NAME(thread_buffer)(job->fft);
    int64_t column[LINES];
    const int n = NAME(block_columns)(job, block, column);
    for (int64_t y = 0; y < axis->nf; y++) {
        for (int l = 0; l < n; l++) {
            buffer[y * LINES + l] = plane[y * job->row + column[l]];
        }
    }
    NAME(transform_columns)(job->fft, 1, buffer);
    for (int64_t i = 0; i < axis->n_stored; i++) {
        const int64_t y = nufft_mode_cell(axis, job->plan->options.order, i);
        for (int l = 0; l < n; l++) {
            plane[y * job->row + column[l]] = buffer[y * LINES + l];
        }
    }
}

/* Type 2, LINES columns of one plane along y: kept k_y to all y. */
static void NAME(y_backward)(const struct NAME(fft_job) * job, struct NAME(complex) * plane,
                             int64_t block)
{
    const struct nufft_axis *axis = &job->plan->axis[1];
    struct NAME(complex) *buffer = NAME(thread_buffer)(job->fft);
    int64_t column[LINES];
    const int n = NAME(block_columns)(job, block, column);
    memset(buffer, 0, (size_t)(axis->nf * LINES) * sizeof *buffer);
    for (int64_t i = 0; i < axis->n_stored; i++) {
        const int64_t y = nufft_mode_cell(axis, job->plan->options.order, i);
        for (int l = 0; l < n; l++) {
            buffer[y * LINES + l] = plane[y * job->row + column[l]];
        }
    }
    NAME(transform_columns)(job->fft, 1, buffer);
    for (int64_t y = 0; y < axis->nf; y++) {
        for (int l = 0; l < n; l++) {
            plane[y * job->row + column[l]] = buffer[y * LINES + l];
        }
    }
}

/* Correction of mode (i_x of the block's columns) times `other`, the factors of the other axes. */
static void NAME(block_correction)(const struct NAME(fft_job) * job, int64_t block, int n,
                                   double other, REAL *factor)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
    for (int l = 0; l < n; l++) {
        const int64_t i = block * LINES + l;
        const double edge = job->plan->type == 2 && nufft_mode_is_edge(axis, i) ? 0.5 : 1.0;
        factor[l] = (REAL)(edge * nufft_correction(axis, job->plan->options.order, i) * other);
    }
}

/* The last axis a (y in 2-D, z in 3-D) of type 1: LINES columns at element i_y of y (0 in 2-D) go to the modes. */
static void NAME(last_forward)(const struct NAME(fft_job) * job, const struct NAME(complex) * grid,
                               struct NAME(complex) * modes, int64_t i_y, int64_t block)
{
    const int a = job->plan->dimension - 1;
    const struct nufft_axis *axis = &job->plan->axis[a];
    const enum nufft_order order = job->plan->options.order;
    const int64_t step = a == 1 ? job->row : job->plane;
    const int64_t n_x = job->plan->axis[0].n_stored;
    const int64_t mode_step = a == 1 ? n_x : n_x * job->plan->axis[1].n_stored;
    struct NAME(complex) *buffer = NAME(thread_buffer)(job->fft);
    int64_t column[LINES];
    REAL factor[LINES];
    const int n = NAME(block_columns)(job, block, column);
    double other = 1.0;
    if (a == 2) {
        other = nufft_correction(&job->plan->axis[1], order, i_y);
        grid += nufft_mode_cell(&job->plan->axis[1], order, i_y) * job->row;
    }
    for (int64_t g = 0; g < axis->nf; g++) {
        for (int l = 0; l < n; l++) {
            buffer[g * LINES + l] = grid[g * step + column[l]];
        }
    }
    NAME(transform_columns)(job->fft, a, buffer);
    for (int64_t i = 0; i < axis->n_stored; i++) {
        const struct NAME(complex) *from = buffer + nufft_mode_cell(axis, order, i) * LINES;
        struct NAME(complex) *to = modes + i * mode_step + i_y * n_x + block * LINES;
        NAME(block_correction)(job, block, n, other * nufft_correction(axis, order, i), factor);
        for (int l = 0; l < n; l++) {
            to[l].re = from[l].re * factor[l];
            to[l].im = from[l].im * factor[l];
        }
    }
}

/* The same for type 2: modes to the columns of the grid. */
static void NAME(last_backward)(const struct NAME(fft_job) * job, struct NAME(complex) * grid,
                                const struct NAME(complex) * modes, int64_t i_y, int64_t block)
{
    const int a = job->plan->dimension - 1;
    const struct nufft_axis *axis = &job->plan->axis[a];
    const enum nufft_order order = job->plan->options.order;
    const int64_t step = a == 1 ? job->row : job->plane;
    const int64_t n_x = job->plan->axis[0].n_stored;
    const int64_t mode_step = a == 1 ? n_x : n_x * job->plan->axis[1].n_stored;
    struct NAME(complex) *buffer = NAME(thread_buffer)(job->fft);
    int64_t column[LINES];
    REAL factor[LINES];
    const int n = NAME(block_columns)(job, block, column);
    double other = 1.0;
    if (a == 2) {
        other = nufft_correction(&job->plan->axis[1], order, i_y);
        grid += nufft_mode_cell(&job->plan->axis[1], order, i_y) * job->row;
    }
    memset(buffer, 0, (size_t)(axis->nf * LINES) * sizeof *buffer);
    for (int64_t i = 0; i < axis->n_stored; i++) {
        struct NAME(complex) *to = buffer + nufft_mode_cell(axis, order, i) * LINES;
        const struct NAME(complex) *from = modes + i * mode_step + i_y * n_x + block * LINES;
        NAME(block_correction)(job, block, n, other * nufft_correction(axis, order, i), factor);
        for (int l = 0; l < n; l++) {
            to[l].re = from[l].re * factor[l];
            to[l].im = from[l].im * factor[l];
        }
    }
    NAME(transform_columns)(job->fft, a, buffer);
    for (int64_t g = 0; g < axis->nf; g++) {
        for (int l = 0; l < n; l++) {
            grid[g * step + column[l]] = buffer[g * LINES + l];
        }
    }
}

/* 1-D: the corrected modes of one row. */
static void NAME(line_forward)(const struct NAME(fft_job) * job, const struct NAME(complex) * row,
                               struct NAME(complex) * modes)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
#pragma omp for schedule(static)
    for (int64_t i = 0; i < axis->n_stored; i++) {
        const struct NAME(complex) from = row[nufft_mode_cell(axis, job->plan->options.order, i)];
        const REAL factor = (REAL)nufft_correction(axis, job->plan->options.order, i);
        modes[i].re = from.re * factor;
        modes[i].im = from.im * factor;
    }
}

static void NAME(line_backward)(const struct NAME(fft_job) * job, struct NAME(complex) * row,
                                const struct NAME(complex) * modes)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
#pragma omp for schedule(static)
    for (int64_t i = 0; i < axis->n_stored; i++) {
        struct NAME(complex) *to = row + nufft_mode_cell(axis, job->plan->options.order, i);
        const double edge = nufft_mode_is_edge(axis, i) ? 0.5 : 1.0;
        const REAL factor = (REAL)(edge * nufft_correction(axis, job->plan->options.order, i));
        to->re = modes[i].re * factor;
        to->im = modes[i].im * factor;
    }
}

static void NAME(lines_to_modes)(const struct NAME(fft_job) * job, struct NAME(complex) * modes,
                                 int64_t count)
{
    const struct nufft_plan *plan = job->plan;
    const struct nufft_cpu_state *state = plan->state;
    for (int64_t v = 0; v < count; v++) {
        struct NAME(complex) *row = (struct NAME(complex) *)plan->grid + v * job->vector;
        NAME(row_forward)(job, row);
#pragma omp parallel num_threads(state->n_threads)
        NAME(line_forward)(job, row, modes + v * plan->axis[0].n_stored);
    }
}

static void NAME(modes_to_lines)(const struct NAME(fft_job) * job,
                                 const struct NAME(complex) * modes, int64_t count)
{
    const struct nufft_plan *plan = job->plan;
    const struct nufft_cpu_state *state = plan->state;
    for (int64_t v = 0; v < count; v++) {
        struct NAME(complex) *row = (struct NAME(complex) *)plan->grid + v * job->vector;
#pragma omp parallel num_threads(state->n_threads)
        NAME(line_backward)(job, row, modes + v * plan->axis[0].n_stored);
        NAME(row_backward)(job, row);
    }
}

static void NAME(grid_to_modes)(const struct nufft_plan *plan, struct NAME(complex) * modes,
                                int64_t count)
{
    const struct nufft_cpu_state *state = plan->state;
    const struct NAME(fft_job) job = NAME(make_fft_job)(plan);
    const int64_t ny = plan->axis[1].nf;
    const int64_t nz = plan->axis[2].nf;
    const int64_t stored_y = plan->axis[1].n_stored;
    const int64_t stored = plan->axis[0].n_stored * stored_y * plan->axis[2].n_stored;
    if (plan->dimension == 1) {
        NAME(lines_to_modes)(&job, modes, count);
        return;
    }
#pragma omp parallel num_threads(state->n_threads)
    for (int64_t v = 0; v < count; v++) {
        struct NAME(complex) *grid = (struct NAME(complex) *)plan->grid + v * job.vector;
        struct NAME(complex) *out = modes + v * stored;
        if (plan->dimension == 2) {
#pragma omp for schedule(static)
            for (int64_t y = 0; y < ny; y++) {
                NAME(row_forward)(&job, grid + y * job.row);
            }
#pragma omp for schedule(static)
            for (int64_t b = 0; b < job.blocks; b++) {
                NAME(last_forward)(&job, grid, out, 0, b);
            }
        } else {
#pragma omp for schedule(static)
            for (int64_t z = 0; z < nz; z++) { /* a plane stays in cache between x and y */
                struct NAME(complex) *plane = grid + z * job.plane;
                for (int64_t y = 0; y < ny; y++) {
                    NAME(row_forward)(&job, plane + y * job.row);
                }
                for (int64_t b = 0; b < job.blocks; b++) {
                    NAME(y_forward)(&job, plane, b);
                }
            }
#pragma omp for schedule(static)
            for (int64_t line = 0; line < stored_y * job.blocks; line++) {
                NAME(last_forward)(&job, grid, out, line / job.blocks, line % job.blocks);
            }
        }
    }
}

static void NAME(modes_to_grid)(const struct nufft_plan *plan, const struct NAME(complex) * modes,
                                int64_t count)
{
    const struct nufft_cpu_state *state = plan->state;
    const struct NAME(fft_job) job = NAME(make_fft_job)(plan);
    const int64_t ny = plan->axis[1].nf;
    const int64_t nz = plan->axis[2].nf;
    const int64_t stored_y = plan->axis[1].n_stored;
    const int64_t stored = plan->axis[0].n_stored * stored_y * plan->axis[2].n_stored;
    if (plan->dimension == 1) {
        NAME(modes_to_lines)(&job, modes, count);
        return;
    }
#pragma omp parallel num_threads(state->n_threads)
    for (int64_t v = 0; v < count; v++) {
        struct NAME(complex) *grid = (struct NAME(complex) *)plan->grid + v * job.vector;
        const struct NAME(complex) *in = modes + v * stored;
        if (plan->dimension == 2) {
#pragma omp for schedule(static)
            for (int64_t b = 0; b < job.blocks; b++) {
                NAME(last_backward)(&job, grid, in, 0, b);
            }
#pragma omp for schedule(static)
            for (int64_t y = 0; y < ny; y++) {
                NAME(row_backward)(&job, grid + y * job.row);
            }
        } else {
#pragma omp for schedule(static)
            for (int64_t line = 0; line < stored_y * job.blocks; line++) {
                NAME(last_backward)(&job, grid, in, line / job.blocks, line % job.blocks);
            }
#pragma omp for schedule(static)
            for (int64_t z = 0; z < nz; z++) {
                struct NAME(complex) *plane = grid + z * job.plane;
                for (int64_t b = 0; b < job.blocks; b++) {
                    NAME(y_backward)(&job, plane, b);
                }
                for (int64_t y = 0; y < ny; y++) {
                    NAME(row_backward)(&job, plane + y * job.row);
                }
            }
        }
    }
}
