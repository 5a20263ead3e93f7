/* fft_cpu.c - real 3-D transforms on the host: three passes of line transforms (fft_lines.h), x in pairs
 * of real lines, then y and z across neighbouring x.
 *
 * Own transforms because grids here are as odd as the particle wants them (41, 43, 81 ..), where FFTW's
 * untimed plans are 2 to 5 times slower, and its timed plans change from run to run. Sizes with a large prime
 * factor go to FFTW (ESTIMATE: untimed, one thread), which has convolutions for them.
 */
#include "core/fft.h"

#include <fftw3.h>
#include <stdlib.h>

#include "core/fft_lines.h"
#include "core/fftw_lock.h"
#include "core/memory.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* Neighbouring lines are fetched together, this many complex numbers (256 bytes) from each place. */
#define GROUP 16

struct fft_cpu {
    int n_threads;
    /* Line transforms; kernel is NULL where FFTW does the work. */
    const struct fft_lines_kernel *kernel;
    struct fft_lines lines[3]; /* z, y, x */
    double *scratch; /* owned: [n_threads][scratch_size], GROUP lines twice and one tile */
    int64_t scratch_size;
    /* FFTW, NULL where lines do the work. */
    fftw_plan forward;
    fftw_plan inverse;
};

static void cpu_destroy(struct fft_plan *plan)
{
    struct fft_cpu *cpu = plan->detail;
    if (cpu == NULL) {
        return;
    }
    if (cpu->kernel == NULL) {
        fftw_lock();
        if (cpu->inverse != NULL) {
            fftw_destroy_plan(cpu->inverse);
        }
        if (cpu->forward != NULL) {
            fftw_destroy_plan(cpu->forward);
        }
        fftw_unlock();
    }
    memory_free(&cpu->scratch);
    for (int axis = 0; axis < 3; axis++) {
        fft_lines_destroy(&cpu->lines[axis]);
    }
    free(cpu);
    plan->detail = NULL;
}

static enum mtip_status create_fftw(struct fft_cpu *cpu, const int64_t n[3])
{
    const int nz = (int)n[0], ny = (int)n[1], nx = (int)n[2];
    double *real = fftw_alloc_real((size_t)fft_real_count(n));
    fftw_complex *half = fftw_alloc_complex((size_t)fft_half_count(n));
    const unsigned flags = FFTW_ESTIMATE | FFTW_UNALIGNED;
    if (real != NULL && half != NULL) {
        fftw_lock();
        cpu->forward = fftw_plan_dft_r2c_3d(nz, ny, nx, real, half, flags | FFTW_PRESERVE_INPUT);
        cpu->inverse = fftw_plan_dft_c2r_3d(nz, ny, nx, half, real, flags);
        fftw_unlock();
    }
    fftw_free(half);
    fftw_free(real);
    if (cpu->forward == NULL || cpu->inverse == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "fft: no plan for a grid of %d x %d x %d", nz, ny, nx);
    }
    return MTIP_OK;
}

static enum mtip_status create_lines(struct fft_cpu *cpu, const int64_t n[3])
{
    enum mtip_status status = MTIP_OK;
    int64_t longest = 1;
    cpu->kernel = fft_lines_best_kernel();
    for (int axis = 0; axis < 3; axis++) {
        longest = n[axis] > longest ? n[axis] : longest;
        MTIP_TRY(fft_lines_create(&cpu->lines[axis], n[axis]));
    }
    cpu->scratch_size = 2 * (2 * GROUP + cpu->kernel->lanes) * longest;
    MTIP_TRY(MEMORY_ALLOC(&cpu->scratch, cpu->n_threads * cpu->scratch_size, "FFT scratch"));
cleanup:
    return status;
}

static enum mtip_status cpu_create(struct fft_plan *plan)
{
    enum mtip_status status = MTIP_OK;
    struct fft_cpu *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "fft: cannot allocate %zu bytes", sizeof *cpu);
    }
    plan->detail = cpu;
    cpu->n_threads = plan->backend->n_threads;
    const int64_t *n = plan->n;
    const int own =
        fft_lines_supports(n[0]) && fft_lines_supports(n[1]) && fft_lines_supports(n[2]);
    MTIP_TRY(own ? create_lines(cpu, n) : create_fftw(cpu, n));
cleanup:
    return status;
}

static double *thread_scratch(const struct fft_cpu *cpu)
{
#ifdef _OPENMP
    return cpu->scratch + omp_get_thread_num() * cpu->scratch_size;
#else
    return cpu->scratch;
#endif
}

static int at_most(int64_t n, int64_t limit)
{
    return (int)(n < limit ? n : limit);
}

/* Lines along y or z in place: `blocks` blocks of n x width complex numbers; a line runs over n, its
 * neighbours over width. */
static void transform_across(const struct fft_cpu *cpu, const struct fft_lines *lines, double *half,
                             int64_t blocks, int64_t width, int inverse)
{
    const struct fft_lines_kernel *kernel = cpu->kernel;
    const int64_t n = lines->n, tile = 2 * kernel->lanes * n;
    const int64_t groups = (width + GROUP - 1) / GROUP;
    if (n == 1) {
        return;
    }
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (int64_t item = 0; item < blocks * groups; item++) {
        const int64_t first = item % groups * GROUP;
        const int used = at_most(width - first, GROUP);
        double *at = half + 2 * (item / groups * n * width + first);
        double *x = thread_scratch(cpu), *y = x + 2 * GROUP * n, *spare = y + 2 * GROUP * n;
        double *done = x;
        kernel->load(x, at, n, width, used, inverse);
        for (int t = 0; t * kernel->lanes < used; t++) {
            done = kernel->transform(lines, x + t * tile, y + t * tile, spare) - t * tile;
        }
        kernel->store(at, done, n, width, used, inverse);
    }
}

static void transform_rows(const struct fft_cpu *cpu, const struct fft_lines *lines, double *half,
                           double *real, const double *real_in, int64_t rows)
{
    const struct fft_lines_kernel *kernel = cpu->kernel;
    const int64_t n = lines->n, row_half = 2 * (n / 2 + 1), group = 2 * kernel->lanes;
#pragma omp parallel for num_threads(cpu->n_threads) schedule(static)
    for (int64_t tile = 0; tile < (rows + group - 1) / group; tile++) {
        const int64_t first = tile * group;
        const int used = at_most(rows - first, group);
        double *x = thread_scratch(cpu), *y = x + 2 * GROUP * n, *spare = y + 2 * GROUP * n;
        if (real_in != NULL) {
            kernel->load_real(x, real_in + first * n, n, used);
            kernel->store_half(half + first * row_half, kernel->transform(lines, x, y, spare), n,
                               used);
        } else {
            kernel->load_half(x, half + first * row_half, n, used);
            kernel->store_real(real + first * n, kernel->transform(lines, x, y, spare), n, used);
        }
    }
}

static enum mtip_status cpu_forward(const struct fft_plan *plan, const double *real, double *half)
{
    const struct fft_cpu *cpu = plan->detail;
    const int64_t *n = plan->n, n_half = n[2] / 2 + 1;
    if (cpu->kernel == NULL) {
        /* FFTW takes the input of r2c without const; FFTW_PRESERVE_INPUT keeps it. */
        union {
            const double *kept;
            double *taken;
        } input = {.kept = real};
        fftw_execute_dft_r2c(cpu->forward, input.taken, (fftw_complex *)half);
        return MTIP_OK;
    }
    transform_rows(cpu, &cpu->lines[2], half, NULL, real, n[0] * n[1]);
    transform_across(cpu, &cpu->lines[1], half, n[0], n_half, 0);
    transform_across(cpu, &cpu->lines[0], half, 1, n[1] * n_half, 0);
    return MTIP_OK;
}

static enum mtip_status cpu_inverse(const struct fft_plan *plan, double *half, double *real)
{
    const struct fft_cpu *cpu = plan->detail;
    const int64_t *n = plan->n, n_half = n[2] / 2 + 1;
    if (cpu->kernel == NULL) {
        fftw_execute_dft_c2r(cpu->inverse, (fftw_complex *)half, real);
        return MTIP_OK;
    }
    transform_across(cpu, &cpu->lines[0], half, 1, n[1] * n_half, 1);
    transform_across(cpu, &cpu->lines[1], half, n[0], n_half, 1);
    transform_rows(cpu, &cpu->lines[2], half, real, NULL, n[0] * n[1]);
    return MTIP_OK;
}

const struct fft_ops fft_ops_cpu = {
    .create = cpu_create,
    .forward = cpu_forward,
    .inverse = cpu_inverse,
    .destroy = cpu_destroy,
};
