/* nufft_cpu_fft_impl.h - the pruned FFT of 2-D and 3-D grids for one precision; included by nufft_cpu_fft.c with REAL,
 * NAME(x), FFTW(x), after nufft_cpu_lines_impl.h.
 *
 * A grid cell is one complex number; in real-data mode two real cells share the place of one k_x after the transform
 * along x. `row` etc. count complex numbers.
 */

/* One call for `count` vectors: what its items share. */
struct NAME(fft_job) {
    const struct nufft_plan *plan;
    const struct nufft_cpu_fft *fft;
    struct NAME(complex) * grid;
    struct NAME(complex) * modes; /* type 2 only reads them */
    int64_t row;                  /* complex numbers from row to row */
    int64_t plane;                /* from plane to plane */
    int64_t vector;
    int64_t vector_modes;
    int64_t blocks;                  /* of LINES stored k_x */
    struct nufft_cpu_run kept[3][2]; /* of each axis: the cells that hold modes */
};

static struct NAME(fft_job) NAME(make_fft_job)(const struct nufft_plan *plan, void *modes)
{
    const struct nufft_cpu_state *state = plan->state;
    struct NAME(fft_job)
        job = {.plan = plan, .fft = state->fft, .grid = plan->grid, .modes = modes};
    job.row = plan->grid_row * state->components / 2;
    job.plane = job.row * plan->axis[1].nf;
    job.vector = job.plane * plan->axis[2].nf;
    job.vector_modes = 1;
    for (int a = 0; a < 3; a++) {
        job.vector_modes *= plan->axis[a].n_stored;
        kept_cells(&plan->axis[a], plan->options.order, job.kept[a]);
    }
    job.blocks = blocks_of(plan->axis[0].n_stored, LINES);
    return job;
}

static enum mtip_status NAME(make_plans)(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    struct nufft_cpu_fft *fft = state->fft;
    const int nx = (int)plan->axis[0].nf;
    REAL *grid = plan->grid;
    REAL *row = fft->rows;
    REAL *lines = fft->lines;
    if (!plan->options.real_data) {
        const int sign = plan->sign > 0 ? FFTW_BACKWARD : FFTW_FORWARD;
        FFTW(complex) *from = plan->type == 1 ? plan->grid : fft->rows;
        FFTW(complex) *to = plan->type == 1 ? fft->rows : plan->grid;
        fft->x = FFTW(plan_dft_1d)(nx, from, to, sign, PLAN_FLAGS);
    } else if (plan->type == 1) {
        fft->x = FFTW(plan_dft_r2c_1d)(nx, grid, (FFTW(complex) *)row, PLAN_FLAGS);
    } else {
        fft->x = FFTW(plan_dft_c2r_1d)(nx, (FFTW(complex) *)row, grid, PLAN_FLAGS);
    }
    if (fft->x == NULL) {
        return MTIP_ERROR(MTIP_ERR_INTERNAL, "nufft: FFTW made no plan for a row of %d", nx);
    }
    for (int a = 1; a < plan->dimension; a++) {
        fft->columns[a] =
            NAME(plan_lines)(plan->axis[a].nf, plan->sign, lines, lines + fft->size.line_values);
        if (fft->columns[a] == NULL) {
            return MTIP_ERROR(MTIP_ERR_INTERNAL, "nufft: FFTW made no plan for lines of %lld",
                              (long long)plan->axis[a].nf);
        }
    }
    return MTIP_OK;
}

static struct NAME(complex) * NAME(row_buffer)(const struct nufft_cpu_fft *fft, int thread)
{
    return (struct NAME(complex) *)((REAL *)fft->rows + thread * fft->size.row_values);
}

/* Columns of stored k_x in a block. */
static struct NAME(block) NAME(block_columns)(const struct NAME(fft_job) * job, int64_t block)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
    const int64_t first = block * LINES;
    struct NAME(block) made = {0};
    while (made.n < LINES && first + made.n < axis->n_stored) {
        made.column[made.n] = nufft_mode_cell(axis, job->plan->options.order, first + made.n);
        made.n++;
    }
    made.is_run = made.n == LINES && made.column[LINES - 1] - made.column[0] == LINES - 1;
    return made;
}

static void NAME(conjugate)(struct NAME(complex) * cells, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        cells[i].im = -cells[i].im;
    }
}

/* Type 1, a row: its transform along x, of which the kept k_x return; the conjugate gives the other sign of a real
 * transform. */
static void NAME(row_forward)(const struct NAME(fft_job) * job, struct NAME(complex) * row,
                              struct NAME(complex) * buffer)
{
    FFTW(complex) *out = (FFTW(complex) *)buffer;
    if (job->plan->options.real_data) {
        FFTW(execute_dft_r2c)(job->fft->x, (REAL *)row, out);
        if (job->plan->sign > 0) {
            NAME(conjugate)(buffer, job->plan->axis[0].n_stored);
        }
    } else {
        FFTW(execute_dft)(job->fft->x, (FFTW(complex) *)row, out);
    }
    for (int r = 0; r < 2; r++) {
        const struct nufft_cpu_run *run = &job->kept[0][r];
        memcpy(row + run->begin, buffer + run->begin,
               (size_t)(run->end - run->begin) * sizeof *row);
    }
}

/* Type 2, a row: the modes with zeros where none is stored, and from them the row. */
static void NAME(row_backward)(const struct NAME(fft_job) * job, struct NAME(complex) * row,
                               struct NAME(complex) * buffer)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
    FFTW(complex) *in = (FFTW(complex) *)buffer;
    const int64_t spectrum = job->plan->options.real_data ? axis->nf / 2 + 1 : axis->nf;
    for (int r = 0; r < 2; r++) {
        const struct nufft_cpu_run *run = &job->kept[0][r];
        memcpy(buffer + run->begin, row + run->begin,
               (size_t)(run->end - run->begin) * sizeof *row);
    }
    NAME(clear)(buffer, job->kept[0][0].end, gap_end(job->kept[0], spectrum));
    if (!job->plan->options.real_data) {
        FFTW(execute_dft)(job->fft->x, in, (FFTW(complex) *)row);
        return;
    }
    if (job->plan->sign < 0) {
        NAME(conjugate)(buffer, axis->n_stored);
    }
    FFTW(execute_dft_c2r)(job->fft->x, in, (REAL *)row);
}

/* Type 1, LINES columns of one plane along y: kept k_y return to their rows. */
static void NAME(y_forward)(const struct NAME(fft_job) * job, struct NAME(complex) * plane,
                            int64_t block, int thread)
{
    struct NAME(complex) *in = NAME(buffer)(job->fft, thread, 0);
    struct NAME(complex) *out = NAME(buffer)(job->fft, thread, 1);
    const struct NAME(block) columns = NAME(block_columns)(job, block);
    NAME(gather)(in, plane, job->row, 0, job->plan->axis[1].nf, &columns);
    NAME(transform_lines)(job->fft->columns[1], in, out);
    for (int r = 0; r < 2; r++) {
        const struct nufft_cpu_run *run = &job->kept[1][r];
        NAME(scatter)(plane, job->row, out, run->begin, run->end, &columns);
    }
}

/* Type 2, LINES columns of one plane along y: kept k_y to all y. */
static void NAME(y_backward)(const struct NAME(fft_job) * job, struct NAME(complex) * plane,
                             int64_t block, int thread)
{
    const int64_t nf = job->plan->axis[1].nf;
    struct NAME(complex) *in = NAME(buffer)(job->fft, thread, 0);
    struct NAME(complex) *out = NAME(buffer)(job->fft, thread, 1);
    const struct NAME(block) columns = NAME(block_columns)(job, block);
    for (int r = 0; r < 2; r++) {
        const struct nufft_cpu_run *run = &job->kept[1][r];
        NAME(gather)(in, plane, job->row, run->begin, run->end, &columns);
    }
    NAME(clear)(in, job->kept[1][0].end * LINES, gap_end(job->kept[1], nf) * LINES);
    NAME(transform_lines)(job->fft->columns[1], in, out);
    NAME(scatter)(plane, job->row, out, 0, nf, &columns);
}

/* The transform along the last axis a (y in 2-D, z in 3-D), between grid and modes: LINES columns at element i_y of y (0 in
 * 2-D) of vector v. */
struct NAME(last) {
    int a;
    int64_t step; /* from cell to cell of the axis, in the grid */
    struct NAME(complex) * grid;
    int64_t mode_step;
    struct NAME(complex) * modes;
    struct NAME(block) columns;
    double correction[LINES]; /* of each column, times that of i_y */
};

static struct NAME(last) NAME(make_last)(const struct NAME(fft_job) * job, int64_t item)
{
    const struct nufft_plan *plan = job->plan;
    const enum nufft_order order = plan->options.order;
    const int64_t n_x = plan->axis[0].n_stored;
    const int64_t n_y = plan->dimension == 3 ? plan->axis[1].n_stored : 1;
    const int64_t block = item % job->blocks;
    const int64_t i_y = item / job->blocks % n_y;
    const int64_t v = item / job->blocks / n_y;
    struct NAME(last) last = {.a = plan->dimension - 1};
    double other = 1.0;
    last.step = last.a == 1 ? job->row : job->plane;
    last.grid = job->grid + v * job->vector;
    if (last.a == 2) {
        other = nufft_correction(&plan->axis[1], order, i_y);
        last.grid += nufft_mode_cell(&plan->axis[1], order, i_y) * job->row;
    }
    last.mode_step = n_x * n_y;
    last.modes = job->modes + v * job->vector_modes + i_y * n_x + block * LINES;
    last.columns = NAME(block_columns)(job, block);
    for (int l = 0; l < last.columns.n; l++) {
        const int64_t i = block * LINES + l;
        const double edge = plan->type == 2 && nufft_mode_is_edge(&plan->axis[0], i) ? 0.5 : 1.0;
        last.correction[l] = edge * nufft_correction(&plan->axis[0], order, i) * other;
    }
    return last;
}

/* Between the modes at element i of the last axis and the buffer, at its cell g. */
static void NAME(move_last)(const struct NAME(fft_job) * job, const struct NAME(last) * last,
                            struct NAME(complex) * buffer)
{
    const struct nufft_axis *axis = &job->plan->axis[last->a];
    const int is_forward = job->plan->type == 1;
    const int n = last->columns.n;
    for (int r = 0; r < 2; r++) {
        const struct nufft_cpu_run *run = &job->kept[last->a][r];
        for (int64_t g = run->begin; g < run->end; g++) {
            const int64_t i = g + run->shift;
            struct NAME(complex) *cells = buffer + g * LINES;
            struct NAME(complex) *modes = last->modes + i * last->mode_step;
            const double other = nufft_correction(axis, job->plan->options.order, i);
            struct NAME(complex) *to = is_forward ? modes : cells;
            struct NAME(complex) *from = is_forward ? cells : modes;
            NAME(scale)(to, from, last->correction, 1, other, n);
        }
    }
}

static void NAME(last_forward)(void *work, int64_t item, int thread)
{
    const struct NAME(fft_job) *job = work;
    const struct NAME(last) last = NAME(make_last)(job, item);
    const struct nufft_axis *axis = &job->plan->axis[last.a];
    struct NAME(complex) *in = NAME(buffer)(job->fft, thread, 0);
    struct NAME(complex) *out = NAME(buffer)(job->fft, thread, 1);
    NAME(gather)(in, last.grid, last.step, 0, axis->nf, &last.columns);
    NAME(transform_lines)(job->fft->columns[last.a], in, out);
    NAME(move_last)(job, &last, out);
}

static void NAME(last_backward)(void *work, int64_t item, int thread)
{
    const struct NAME(fft_job) *job = work;
    const struct NAME(last) last = NAME(make_last)(job, item);
    const struct nufft_axis *axis = &job->plan->axis[last.a];
    struct NAME(complex) *in = NAME(buffer)(job->fft, thread, 0);
    struct NAME(complex) *out = NAME(buffer)(job->fft, thread, 1);
    if (last.columns.n < LINES) {
        NAME(clear)(in, 0, axis->nf * LINES);
    } else {
        NAME(clear)
        (in, job->kept[last.a][0].end * LINES, gap_end(job->kept[last.a], axis->nf) * LINES);
    }
    NAME(move_last)(job, &last, in);
    NAME(transform_lines)(job->fft->columns[last.a], in, out);
    NAME(scatter)(last.grid, last.step, out, 0, axis->nf, &last.columns);
}

/* 2-D: a row along x. */
static void NAME(row_item)(void *work, int64_t item, int thread)
{
    const struct NAME(fft_job) *job = work;
    struct NAME(complex) *buffer = NAME(row_buffer)(job->fft, thread);
    struct NAME(complex) *row = job->grid + item * job->row;
    if (job->plan->type == 1) {
        NAME(row_forward)(job, row, buffer);
    } else {
        NAME(row_backward)(job, row, buffer);
    }
}

/* 3-D: a plane along x and y, which stays in cache in between. */
static void NAME(plane_item)(void *work, int64_t item, int thread)
{
    const struct NAME(fft_job) *job = work;
    struct NAME(complex) *buffer = NAME(row_buffer)(job->fft, thread);
    struct NAME(complex) *plane = job->grid + item * job->plane;
    const int64_t ny = job->plan->axis[1].nf;
    const int forward = job->plan->type == 1;
    for (int64_t y = 0; forward && y < ny; y++) {
        NAME(row_forward)(job, plane + y * job->row, buffer);
    }
    for (int64_t b = 0; b < job->blocks; b++) {
        if (forward) {
            NAME(y_forward)(job, plane, b, thread);
        } else {
            NAME(y_backward)(job, plane, b, thread);
        }
    }
    for (int64_t y = 0; !forward && y < ny; y++) {
        NAME(row_backward)(job, plane + y * job->row, buffer);
    }
}

/* Both directions: type 1 takes rows and planes first, type 2 last. */
static void NAME(transform_grid)(const struct nufft_plan *plan, void *modes, int64_t count)
{
    const struct nufft_cpu_state *state = plan->state;
    struct NAME(fft_job) job = NAME(make_fft_job)(plan, modes);
    nufft_cpu_item *first = plan->dimension == 2 ? NAME(row_item) : NAME(plane_item);
    const int64_t items = first_items(plan, count);
    const int64_t lines = last_items(plan, count);
    if (plan->type == 1) {
        nufft_cpu_for(state->n_threads, items, first, &job);
        nufft_cpu_for(state->n_threads, lines, NAME(last_forward), &job);
    } else {
        nufft_cpu_for(state->n_threads, lines, NAME(last_backward), &job);
        nufft_cpu_for(state->n_threads, items, first, &job);
    }
}
