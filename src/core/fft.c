/* fft.c - the checked front of the Fourier transforms, and sizes that transform well. */
#include "core/fft.h"

#include <stdlib.h>

static const struct fft_ops *const all_ops[BACKEND_COUNT] = {
    [BACKEND_CPU] = &fft_ops_cpu,
#ifdef MTIP_HAVE_CUDA
    [BACKEND_CUDA] = &fft_ops_cuda,
#endif
};

/* Longest axis and largest grid: index products stay far inside 64 bits and lines inside an int. */
#define MAX_AXIS ((int64_t)1 << 20)
#define MAX_GRID ((int64_t)1 << 40)

static enum mtip_status check_sizes(const int64_t n[3])
{
    for (int axis = 0; axis < 3; axis++) {
        if (n[axis] < 1 || n[axis] > MAX_AXIS) {
            return MTIP_ERROR(
                MTIP_ERR_ARGUMENT, "fft: grid of %lld x %lld x %lld; sizes must be 1 .. %lld",
                (long long)n[0], (long long)n[1], (long long)n[2], (long long)MAX_AXIS);
        }
    }
    if (n[0] * n[1] > MAX_GRID / n[2]) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "fft: grid of %lld x %lld x %lld is too large",
                          (long long)n[0], (long long)n[1], (long long)n[2]);
    }
    return MTIP_OK;
}

enum mtip_status fft_plan_create(struct fft_plan **plan, const struct backend *backend,
                                 const int64_t n[3])
{
    enum mtip_status status = MTIP_OK;
    struct fft_plan *made = NULL;
    *plan = NULL;
    MTIP_TRY(check_sizes(n));
    if (all_ops[backend->kind] == NULL) {
        MTIP_FAIL(MTIP_ERR_UNSUPPORTED, "fft: no transform for the %s backend",
                  backend_kind_name(backend->kind));
    }
    made = calloc(1, sizeof *made);
    if (made == NULL) {
        MTIP_FAIL(MTIP_ERR_MEMORY, "fft: cannot allocate a plan of %zu bytes", sizeof *made);
    }
    made->ops = all_ops[backend->kind];
    made->backend = backend;
    for (int axis = 0; axis < 3; axis++) {
        made->n[axis] = n[axis];
    }
    MTIP_TRY(made->ops->create(made));
    *plan = made;
    made = NULL;
cleanup:
    fft_plan_destroy(&made);
    return status;
}

enum mtip_status fft_plan_forward(const struct fft_plan *plan, const double *real, double *half)
{
    return plan->ops->forward(plan, real, half);
}

enum mtip_status fft_plan_inverse(const struct fft_plan *plan, double *half, double *real)
{
    return plan->ops->inverse(plan, half, real);
}

void fft_plan_destroy(struct fft_plan **plan)
{
    if (*plan != NULL) {
        (*plan)->ops->destroy(*plan);
        free(*plan);
        *plan = NULL;
    }
}

static int is_smooth(int64_t n)
{
    static const int primes[] = {2, 3, 5, 7};
    for (int i = 0; i < 4; i++) {
        while (n % primes[i] == 0) {
            n /= primes[i];
        }
    }
    return n == 1;
}

int64_t fft_good_size(int64_t at_least, int odd)
{
    int64_t n = at_least < 1 ? 1 : at_least;
    while ((odd && n % 2 == 0) || !is_smooth(n)) {
        n++;
    }
    return n;
}

int64_t fft_real_count(const int64_t n[3])
{
    return n[0] * n[1] * n[2];
}

int64_t fft_half_count(const int64_t n[3])
{
    return n[0] * n[1] * (n[2] / 2 + 1);
}
