/* fft_cpu.c - real 3-D transforms on the host, by FFTW.
 *
 * FFTW_ESTIMATE, one thread: plans must not depend on timings or on the number of threads, or results would.
 */
#include "core/fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>

struct fft_cpu {
    fftw_plan forward;
    fftw_plan inverse;
};

/* FFTW's planner is not thread-safe; executing plans is. */
static pthread_mutex_t planner_lock = PTHREAD_MUTEX_INITIALIZER;

static void cpu_destroy(struct fft_plan *plan)
{
    struct fft_cpu *cpu = plan->detail;
    if (cpu == NULL) {
        return;
    }
    pthread_mutex_lock(&planner_lock);
    if (cpu->inverse != NULL) {
        fftw_destroy_plan(cpu->inverse);
    }
    if (cpu->forward != NULL) {
        fftw_destroy_plan(cpu->forward);
    }
    pthread_mutex_unlock(&planner_lock);
    free(cpu);
    plan->detail = NULL;
}

static enum mtip_status cpu_create(struct fft_plan *plan)
{
    struct fft_cpu *cpu = calloc(1, sizeof *cpu);
    if (cpu == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "fft: cannot allocate %zu bytes", sizeof *cpu);
    }
    plan->detail = cpu;
    const int nz = (int)plan->n[0], ny = (int)plan->n[1], nx = (int)plan->n[2];
    double *real = fftw_alloc_real((size_t)fft_real_count(plan->n));
    fftw_complex *half = fftw_alloc_complex((size_t)fft_half_count(plan->n));
    const unsigned flags = FFTW_ESTIMATE | FFTW_UNALIGNED;
    if (real != NULL && half != NULL) {
        pthread_mutex_lock(&planner_lock);
        cpu->forward = fftw_plan_dft_r2c_3d(nz, ny, nx, real, half, flags | FFTW_PRESERVE_INPUT);
        cpu->inverse = fftw_plan_dft_c2r_3d(nz, ny, nx, half, real, flags);
        pthread_mutex_unlock(&planner_lock);
    }
    fftw_free(half);
    fftw_free(real);
    if (cpu->forward == NULL || cpu->inverse == NULL) {
        cpu_destroy(plan);
        return MTIP_ERROR(MTIP_ERR_MEMORY, "fft: no plan for a grid of %d x %d x %d", nz, ny, nx);
    }
    return MTIP_OK;
}

static enum mtip_status cpu_forward(const struct fft_plan *plan, const double *real, double *half)
{
    const struct fft_cpu *cpu = plan->detail;
    /* FFTW takes the input of r2c without const; FFTW_PRESERVE_INPUT keeps it. */
    union {
        const double *kept;
        double *taken;
    } input = {.kept = real};
    fftw_execute_dft_r2c(cpu->forward, input.taken, (fftw_complex *)half);
    return MTIP_OK;
}

static enum mtip_status cpu_inverse(const struct fft_plan *plan, double *half, double *real)
{
    const struct fft_cpu *cpu = plan->detail;
    fftw_execute_dft_c2r(cpu->inverse, (fftw_complex *)half, real);
    return MTIP_OK;
}

const struct fft_ops fft_ops_cpu = {
    .create = cpu_create,
    .forward = cpu_forward,
    .inverse = cpu_inverse,
    .destroy = cpu_destroy,
};
