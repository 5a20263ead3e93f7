/* slice_cpu.c - slicing kernels on the host, in both precisions (slice_cpu_kernels.h). */
#include <math.h>

#include "mtip/slice_ops.h"

#define REAL float
#define NAME(stem) stem##_float
#define LOG logf
#include "mtip/slice_cpu_kernels.h"
#undef REAL
#undef NAME
#undef LOG

#define REAL double
#define NAME(stem) stem##_double
#define LOG log
#include "mtip/slice_cpu_kernels.h"
#undef REAL
#undef NAME
#undef LOG

static enum mtip_status rotate_cpu(const struct backend *backend, void *x, void *y, void *z,
                                   const double *matrices, const double *pixels,
                                   int64_t n_rotations, int64_t n_use,
                                   enum nufft_precision precision)
{
    if (precision == NUFFT_FLOAT) {
        rotate_float(x, y, z, matrices, pixels, n_rotations, n_use, backend->n_threads);
    } else {
        rotate_double(x, y, z, matrices, pixels, n_rotations, n_use, backend->n_threads);
    }
    return MTIP_OK;
}

static enum mtip_status finish_cpu(const struct backend *backend, void *values, double *sums,
                                   const double *response, const double *log_model,
                                   double log_model_sum, double floor, int64_t n_rotations,
                                   int64_t n_use, enum nufft_precision precision)
{
    if (precision == NUFFT_FLOAT) {
        finish_float(values, sums, response, log_model, log_model_sum, floor, n_rotations, n_use,
                     backend->n_threads);
    } else {
        finish_double(values, sums, response, log_model, log_model_sum, floor, n_rotations, n_use,
                      backend->n_threads);
    }
    return MTIP_OK;
}

const struct slice_ops slice_ops_cpu = {.rotate = rotate_cpu, .finish = finish_cpu};
