/* nufft_cpu_long_impl.h - the FFT of 1-D grids for one precision; included by nufft_cpu_fft.c with REAL, NAME(x), FFTW(x),
 * after nufft_cpu_lines_impl.h.
 *
 * A line of n = rows columns cells is read as a matrix (the "four-step" method: Bailey, J. Supercomput. 4, 23, 1990). With
 * j = j1 columns + j2, k = k1 + rows k2 and w = exp(i s 2 pi / n)
 *     X[k] = sum_j2 w^(rows j2 k2)  w^(j2 k1)  sum_j1 w^(columns j1 k1) x[j]
 * so that there are short transforms down the columns, factors (twiddles), and short transforms along the rows, LINES at a
 * time. The last go straight to the modes, hence nothing is transposed, and all threads share the work. Type 2 takes the
 * same steps in the reverse order.
 *
 * In real-data mode two neighbouring cells make a complex one, z[j] = x[2j] + i x[2j+1], n = nf / 2. With
 * W = exp(i s 2 pi / nf), and X[-k] = conj X[k]:
 *     type 1   X[k] = (Z[k] + conj Z[n-k]) / 2 - i W^k (Z[k] - conj Z[n-k]) / 2
 *     type 2   Z[k] =  X[k] + conj X[n-k]      + i W^k (X[k] - conj X[n-k])
 * Rows k1 and (rows - k1) % rows hold k and n-k and are taken together.
 */

struct NAME(long_job) {
    const struct nufft_plan *plan;
    const struct nufft_cpu_fft *fft;
    const struct nufft_cpu_long *line;
    struct NAME(complex) * grid;
    struct NAME(complex) * modes; /* type 2 only reads them */
    int64_t vector;               /* cells from one vector's line to the next */
    struct nufft_cpu_run kept[2];
};

static enum mtip_status NAME(make_long)(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    struct nufft_cpu_fft *fft = state->fft;
    struct nufft_cpu_long *line = &fft->line;
    REAL *lines = fft->lines;
    REAL *step = line->twiddles.step;
    for (int64_t k = 0; k < line->rows; k++) {
        for (int l = 0; l < LINES; l++) {
            double factor[2];
            root_of_unity(factor, plan->sign, k * l, line->n);
            step[(2 * k) * LINES + l] = (REAL)factor[0];
            step[(2 * k + 1) * LINES + l] = (REAL)factor[1];
        }
    }
    line->down = NAME(plan_lines)(line->rows, plan->sign, lines, lines + fft->size.line_values);
    line->along = NAME(plan_lines)(line->columns, plan->sign, lines, lines + fft->size.line_values);
    if (line->down == NULL || line->along == NULL) {
        return MTIP_ERROR(MTIP_ERR_INTERNAL, "nufft: FFTW made no plan for lines of %lld or %lld",
                          (long long)line->rows, (long long)line->columns);
    }
    return MTIP_OK;
}

/* LINES columns of a vector's matrix, in place. */
static void NAME(column_item)(void *work, int64_t item, int thread)
{
    const struct NAME(long_job) *job = work;
    const struct nufft_cpu_long *line = job->line;
    const struct nufft_cpu_state *state = job->plan->state;
    struct NAME(complex) *in = NAME(buffer)(job->fft, thread, 0);
    struct NAME(complex) *out = NAME(buffer)(job->fft, thread, 1);
    const int64_t first = item % line->column_items * LINES;
    struct NAME(complex) *cells = job->grid + item / line->column_items * job->vector + first;
    struct NAME(block) columns = {.n = LINES, .is_run = 1};
    if (first + LINES > line->columns) {
        columns.n = (int)(line->columns - first);
        columns.is_run = 0;
    }
    for (int l = 0; l < columns.n; l++) {
        columns.column[l] = l;
    }
    if (job->plan->type == 1) {
        NAME(gather)(in, cells, line->columns, 0, line->rows, &columns);
        NAME(transform_lines)(line->down, in, out);
        state->kernels->turn(&line->twiddles, first, columns.n, cells, line->columns, out, LINES);
    } else {
        state->kernels->turn(&line->twiddles, first, columns.n, in, LINES, cells, line->columns);
        NAME(transform_lines)(line->down, in, out);
        NAME(scatter)(cells, line->columns, out, 0, line->rows, &columns);
    }
}

/* Modes to (type 2) or from (type 1) the transforms of rows first .. first+n-1, n <= LINES: mode k = k1 + rows k2 is
 * buffer[k2][k1 - first]. What holds no mode is left alone. */
static void NAME(move_modes)(const struct NAME(long_job) * job, struct NAME(complex) * buffer,
                             int64_t first, int n, struct NAME(complex) * modes)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
    const int64_t rows = job->line->rows;
    for (int r = 0; r < 2; r++) {
        const struct nufft_cpu_run *run = &job->kept[r];
        const int sign = r == 0 ? 1 : -1;
        for (int64_t k2 = run->begin / rows; k2 * rows < run->end; k2++) {
            const int64_t k = k2 * rows + first;
            const int64_t begin = k > run->begin ? k : run->begin;
            const int64_t end = k + n < run->end ? k + n : run->end;
            if (end <= begin) {
                continue;
            }
            const double *correction = axis->correction + (r == 0 ? begin : axis->nf - begin);
            struct NAME(complex) *own = buffer + k2 * LINES + (begin - k);
            struct NAME(complex) *mode = modes + begin + run->shift;
            const int is_forward = job->plan->type == 1;
            struct NAME(complex) *to = is_forward ? mode : own;
            struct NAME(complex) *from = is_forward ? own : mode;
            if (end - begin == LINES) { /* nearly always, with loops unrolled */
                NAME(scale)(to, from, correction, sign, 1.0, LINES);
            } else {
                NAME(scale)(to, from, correction, sign, 1.0, (int)(end - begin));
            }
        }
    }
}

/* Real-data mode: rows first .. first+n-1 and their partners, which hold n - k, n <= PAIRS. Line l of a buffer is row
 * first + l, line PAIRS + l its partner. */
struct NAME(pairs) {
    int64_t first;
    int n;
    REAL re[PAIRS]; /* W^k1 of the rows */
    REAL im[PAIRS];
};

/* sum = a + conj b and turned = i W^k (a - conj b), for the pairs of one column; `column` is W^(rows k2). With a, b = X[k],
 * X[n-k], Z[k] = sum + turned and Z[n-k] = conj(sum - turned); with a, b = Z[k], Z[n-k], X[k] = (sum - turned) / 2 and
 * X[n-k] = conj(sum + turned) / 2. */
static inline void NAME(turn_pairs)(const struct NAME(pairs) * pairs, const double *column,
                                    const struct NAME(complex) *restrict a,
                                    const struct NAME(complex) *restrict b,
                                    struct NAME(complex) *restrict sum,
                                    struct NAME(complex) *restrict turned)
{
    const REAL re = (REAL)column[0];
    const REAL im = (REAL)column[1];
    for (int l = 0; l < PAIRS; l++) {
        const REAL w_re = pairs->re[l] * re - pairs->im[l] * im;
        const REAL w_im = pairs->re[l] * im + pairs->im[l] * re;
        const REAL d_re = a[l].re - b[l].re;
        const REAL d_im = a[l].im + b[l].im;
        sum[l].re = a[l].re + b[l].re;
        sum[l].im = a[l].im - b[l].im;
        turned[l].re = -(w_re * d_im + w_im * d_re);
        turned[l].im = w_re * d_re - w_im * d_im;
    }
}

/* The column of row k1's partner where n - k is for k = k1 + rows k2. */
static int64_t NAME(partner)(const struct nufft_cpu_long *line, int64_t k1, int64_t k2)
{
    return k1 > 0 ? line->columns - 1 - k2 : (line->columns - k2) % line->columns;
}

/* Type 1: the transforms of pairs of rows to the modes. */
static void NAME(pairs_to_modes)(const struct NAME(long_job) * job,
                                 const struct NAME(pairs) * pairs,
                                 const struct NAME(complex) * buffer, struct NAME(complex) * modes)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
    const struct nufft_cpu_long *line = job->line;
    for (int64_t k2 = 0; k2 < line->columns; k2++) {
        struct NAME(complex) b[PAIRS];
        struct NAME(complex) sum[PAIRS];
        struct NAME(complex) turned[PAIRS];
        const int64_t k = pairs->first + line->rows * k2;
        const struct NAME(complex) *partner = buffer + NAME(partner)(line, 1, k2) * LINES + PAIRS;
        memcpy(b, partner, sizeof b);
        if (pairs->first == 0) {
            b[0] = buffer[NAME(partner)(line, 0, k2) * LINES + PAIRS];
        }
        NAME(turn_pairs)
        (pairs, line->half + 2 * (line->rows + k2), buffer + k2 * LINES, b, sum, turned);
        for (int l = 0; l < pairs->n && k + l < axis->n_stored; l++) {
            const REAL factor = (REAL)(0.5 * axis->correction[k + l]);
            modes[k + l].re = factor * (sum[l].re - turned[l].re);
            modes[k + l].im = factor * (sum[l].im - turned[l].im);
        }
        for (int l = pairs->n - 1; l >= 0 && line->n - k - l < axis->n_stored; l--) {
            const REAL factor = (REAL)(0.5 * axis->correction[line->n - k - l]);
            modes[line->n - k - l].re = factor * (sum[l].re + turned[l].re);
            modes[line->n - k - l].im = -factor * (sum[l].im + turned[l].im);
        }
    }
}

/* Mode k of real data, corrected; zero where none is stored, as for k of lines beyond the last pair. The imaginary part of mode 0 counts for nothing. */
static struct NAME(complex)
    NAME(half_mode)(const struct nufft_axis *axis, const struct NAME(complex) * modes, int64_t k)
{
    struct NAME(complex) mode = {0, 0};
    if (k >= 0 && k < axis->n_stored) {
        const double edge = nufft_mode_is_edge(axis, k) ? 0.5 : 1.0;
        const REAL factor = (REAL)(edge * axis->correction[k]);
        mode.re = modes[k].re * factor;
        mode.im = k > 0 ? modes[k].im * factor : 0;
    }
    return mode;
}

/* to[l] = mode k + l direction. */
static inline void NAME(half_modes)(const struct nufft_axis *axis,
                                    const struct NAME(complex) * modes, int64_t k, int direction,
                                    struct NAME(complex) * to)
{
    const int64_t end = k + (PAIRS - 1) * direction;
    const int64_t least = direction > 0 ? k : end;
    const int64_t greatest = direction > 0 ? end : k;
    if (least > 0 && greatest < axis->n_stored - 1) { /* most are: neither 0 nor an edge */
        for (int l = 0; l < PAIRS; l++) {
            const REAL factor = (REAL)axis->correction[k + l * direction];
            to[l].re = modes[k + l * direction].re * factor;
            to[l].im = modes[k + l * direction].im * factor;
        }
        return;
    }
    for (int l = 0; l < PAIRS; l++) {
        to[l] = NAME(half_mode)(axis, modes, k + l * direction);
    }
}

/* Type 2: the modes to pairs of rows. */
static void NAME(modes_to_pairs)(const struct NAME(long_job) * job,
                                 const struct NAME(pairs) * pairs,
                                 const struct NAME(complex) * modes, struct NAME(complex) * buffer)
{
    const struct nufft_axis *axis = &job->plan->axis[0];
    const struct nufft_cpu_long *line = job->line;
    for (int64_t k2 = 0; k2 < line->columns; k2++) {
        struct NAME(complex) a[PAIRS];
        struct NAME(complex) b[PAIRS];
        struct NAME(complex) sum[PAIRS];
        struct NAME(complex) turned[PAIRS];
        const int64_t k = pairs->first + line->rows * k2;
        struct NAME(complex) *to = buffer + k2 * LINES;
        struct NAME(complex) *partner = buffer + NAME(partner)(line, 1, k2) * LINES + PAIRS;
        NAME(half_modes)(axis, modes, k, 1, a);
        NAME(half_modes)(axis, modes, line->n - k, -1, b);
        NAME(turn_pairs)(pairs, line->half + 2 * (line->rows + k2), a, b, sum, turned);
        for (int l = 0; l < PAIRS; l++) {
            to[l].re = sum[l].re + turned[l].re;
            to[l].im = sum[l].im + turned[l].im;
            b[l].re = sum[l].re - turned[l].re;
            b[l].im = turned[l].im - sum[l].im;
        }
        memcpy(partner, b, sizeof b);
    }
    for (int64_t k2 = 0; pairs->first == 0 && k2 < line->columns; k2++) {
        buffer[k2 * LINES + PAIRS] = buffer[k2 * LINES]; /* row 0 is its own partner */
    }
}

/* What an item of rows works on: its vector's cells and modes, and the thread's buffers. */
struct NAME(rows) {
    int64_t block; /* which of the vector's row items */
    struct NAME(complex) * cells;
    struct NAME(complex) * modes;
    struct NAME(complex) * in;
    struct NAME(complex) * out;
};

static struct NAME(rows)
    NAME(find_rows)(const struct NAME(long_job) * job, int64_t item, int thread)
{
    const int64_t v = item / job->line->row_items;
    return (struct NAME(rows)){.block = item % job->line->row_items,
                               .cells = job->grid + v * job->vector,
                               .modes = job->modes + v * job->plan->axis[0].n_stored,
                               .in = NAME(buffer)(job->fft, thread, 0),
                               .out = NAME(buffer)(job->fft, thread, 1)};
}

/* LINES rows of a vector's matrix, between it and the modes; in real-data mode PAIRS pairs of them. */
static void NAME(row_block)(void *work, int64_t item, int thread)
{
    const struct NAME(long_job) *job = work;
    const struct nufft_cpu_long *line = job->line;
    const struct NAME(rows) at = NAME(find_rows)(job, item, thread);
    const int64_t first = at.block * LINES;
    struct NAME(block) lines = {0}; /* rows are "columns" of the memory, read cell by cell */
    while (lines.n < LINES && first + lines.n < line->rows) {
        lines.column[lines.n] = (first + lines.n) * line->columns;
        lines.n++;
    }
    if (job->plan->type == 1) {
        NAME(gather)(at.in, at.cells, 1, 0, line->columns, &lines);
        NAME(transform_lines)(line->along, at.in, at.out);
        NAME(move_modes)(job, at.out, first, lines.n, at.modes);
    } else {
        NAME(clear)(at.in, 0, line->columns * LINES);
        NAME(move_modes)(job, at.in, first, lines.n, at.modes);
        NAME(transform_lines)(line->along, at.in, at.out);
        NAME(scatter)(at.cells, 1, at.out, 0, line->columns, &lines);
    }
}

/* The same in real-data mode: PAIRS pairs of rows. */
static void NAME(pair_block)(void *work, int64_t item, int thread)
{
    const struct NAME(long_job) *job = work;
    const struct nufft_cpu_long *line = job->line;
    const struct NAME(rows) at = NAME(find_rows)(job, item, thread);
    struct NAME(pairs) pairs = {.first = at.block * PAIRS};
    struct NAME(block) lines = {.n = LINES};
    for (int l = 0; l < PAIRS; l++) {
        /* Beyond the last pair the last one again, of which nothing is kept. */
        const int64_t last = line->rows / 2;
        const int64_t row = pairs.first + l < last ? pairs.first + l : last;
        pairs.n += pairs.first + l <= last;
        pairs.re[l] = (REAL)line->half[2 * row];
        pairs.im[l] = (REAL)line->half[2 * row + 1];
        lines.column[l] = row * line->columns;
        lines.column[PAIRS + l] = (line->rows - row) % line->rows * line->columns;
    }
    if (job->plan->type == 1) {
        NAME(gather)(at.in, at.cells, 1, 0, line->columns, &lines);
        NAME(transform_lines)(line->along, at.in, at.out);
        NAME(pairs_to_modes)(job, &pairs, at.out, at.modes);
    } else {
        NAME(modes_to_pairs)(job, &pairs, at.modes, at.in);
        NAME(transform_lines)(line->along, at.in, at.out);
        if (pairs.n < PAIRS) { /* without what lies beyond the last pair */
            lines.n = pairs.n;
            NAME(scatter)(at.cells, 1, at.out, 0, line->columns, &lines);
            memmove(lines.column, lines.column + PAIRS, PAIRS * sizeof lines.column[0]);
            NAME(scatter)(at.cells, 1, at.out + PAIRS, 0, line->columns, &lines);
        } else {
            NAME(scatter)(at.cells, 1, at.out, 0, line->columns, &lines);
        }
    }
}

static void NAME(transform_long)(const struct nufft_plan *plan, void *modes, int64_t count)
{
    const struct nufft_cpu_state *state = plan->state;
    const int real = plan->options.real_data;
    nufft_cpu_item *row_item = real ? NAME(pair_block) : NAME(row_block);
    struct NAME(long_job) job = {.plan = plan, .fft = state->fft, .line = &state->fft->line};
    job.grid = plan->grid;
    job.modes = modes;
    job.vector = plan->grid_vector * state->components / 2;
    kept_cells(&plan->axis[0], plan->options.order, job.kept);
    if (plan->type == 1) {
        nufft_cpu_for(state->n_threads, count * job.line->column_items, NAME(column_item), &job);
        nufft_cpu_for(state->n_threads, count * job.line->row_items, row_item, &job);
    } else {
        nufft_cpu_for(state->n_threads, count * job.line->row_items, row_item, &job);
        nufft_cpu_for(state->n_threads, count * job.line->column_items, NAME(column_item), &job);
    }
}
