/* nufft_cpu_lines_impl.h - FFTs of LINES lines side by side, for one precision; included by nufft_cpu_fft.c with REAL,
 * NAME(x), FFTW(x).
 *
 * LINES neighbouring columns of a grid are gathered into a buffer [cells][LINES], transformed from there to a second
 * buffer, and go from it to where they belong.
 */
struct NAME(complex) {
    REAL re;
    REAL im;
};

/* Up to LINES columns and where they are in a row. */
struct NAME(block) {
    int n;
    int is_run; /* LINES columns, one beside the other */
    int64_t column[LINES];
};

static FFTW(plan) NAME(plan_lines)(int64_t cells, int sign, void *in, void *out)
{
    const int n = (int)cells;
    return FFTW(plan_many_dft)(1, &n, LINES, in, NULL, LINES, 1, out, NULL, LINES, 1,
                               sign > 0 ? FFTW_BACKWARD : FFTW_FORWARD, PLAN_FLAGS);
}

static void NAME(transform_lines)(void *fftw_plan, struct NAME(complex) * in,
                                  struct NAME(complex) * out)
{
    FFTW(execute_dft)(fftw_plan, (FFTW(complex) *)in, (FFTW(complex) *)out);
}

static void NAME(clear)(struct NAME(complex) * cells, int64_t begin, int64_t end)
{
    memset(cells + begin, 0, (size_t)(end - begin) * sizeof *cells);
}

/* buffer[i][l] = from[i][column l] for i = begin .. end-1, rows of `from` `step` apart; zeros in lines that are not there. */
static void NAME(gather)(struct NAME(complex) *restrict buffer,
                         const struct NAME(complex) *restrict from, int64_t step, int64_t begin,
                         int64_t end, const struct NAME(block) * block)
{
    for (int64_t i = begin; block->is_run && i < end; i++) {
        memcpy(buffer + i * LINES, from + i * step + block->column[0], LINES * sizeof *from);
    }
    for (int64_t i = begin; !block->is_run && block->n == LINES && i < end; i++) {
        for (int l = 0; l < LINES; l++) {
            buffer[i * LINES + l] = from[i * step + block->column[l]];
        }
    }
    for (int64_t i = begin; block->n < LINES && i < end; i++) {
        for (int l = 0; l < block->n; l++) {
            buffer[i * LINES + l] = from[i * step + block->column[l]];
        }
        NAME(clear)(buffer + i * LINES, block->n, LINES);
    }
}

/* The other way round. */
static void NAME(scatter)(struct NAME(complex) *restrict to, int64_t step,
                          const struct NAME(complex) *restrict buffer, int64_t begin, int64_t end,
                          const struct NAME(block) * block)
{
    for (int64_t i = begin; block->is_run && i < end; i++) {
        memcpy(to + i * step + block->column[0], buffer + i * LINES, LINES * sizeof *buffer);
    }
    for (int64_t i = begin; !block->is_run && block->n == LINES && i < end; i++) {
        for (int l = 0; l < LINES; l++) {
            to[i * step + block->column[l]] = buffer[i * LINES + l];
        }
    }
    for (int64_t i = begin; block->n < LINES && i < end; i++) {
        for (int l = 0; l < block->n; l++) {
            to[i * step + block->column[l]] = buffer[i * LINES + l];
        }
    }
}

/* to[i] = from[i] correction[i step] other, i < n: between modes and cells. */
static inline void NAME(scale)(struct NAME(complex) *restrict to,
                               const struct NAME(complex) *restrict from, const double *correction,
                               int step, double other, int n)
{
    for (int i = 0; i < n; i++) {
        const REAL factor = (REAL)(correction[i * step] * other);
        to[i].re = from[i].re * factor;
        to[i].im = from[i].im * factor;
    }
}

static void NAME(free_plan)(void *plan)
{
    if (plan != NULL) {
        FFTW(destroy_plan)(plan);
    }
}

/* A thread's buffers of LINES lines, 0: what goes into a transform, and 1: what comes out. */
static struct NAME(complex) * NAME(buffer)(const struct nufft_cpu_fft *fft, int thread, int which)
{
    REAL *lines = fft->lines;
    return (struct NAME(complex) *)(lines + (2 * thread + which) * fft->size.line_values);
}
