/* nufft_cpu_type3.c - CPU backend: the elementwise work of type 3. */
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "nufft/nufft_cpu.h"
#include "nufft/nufft_design.h"

static enum mtip_status alloc_cpu(const struct nufft_plan *plan, void **array, int64_t n,
                                  size_t item_size)
{
    (void)plan;
    return memory_alloc(array, n, item_size, "nufft type 3 arrays");
}

static void free_cpu(const struct nufft_plan *plan, void **array)
{
    (void)plan;
    memory_free(array);
}

static double item(const struct nufft_plan *plan, const void *x, int64_t i)
{
    return plan->precision == NUFFT_FLOAT ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static void set_item(const struct nufft_plan *plan, void *x, int64_t i, double value)
{
    if (plan->precision == NUFFT_FLOAT) {
        ((float *)x)[i] = (float)value;
    } else {
        ((double *)x)[i] = value;
    }
}

static enum mtip_status range_cpu(const struct nufft_plan *plan, double *low, double *high,
                                  int64_t *bad, int64_t n, const void *x)
{
    double least = n > 0 ? item(plan, x, 0) : 0.0;
    double greatest = least;
    int64_t first_bad = n;
#pragma omp parallel for num_threads(nufft_cpu_threads(plan)) reduction(min                        \
                                                                        : least, first_bad)        \
    reduction(max                                                                                  \
              : greatest)
    for (int64_t i = 0; i < n; i++) {
        const double value = item(plan, x, i);
        if (!isfinite(value)) {
            first_bad = i < first_bad ? i : first_bad;
        }
        least = value < least ? value : least;
        greatest = value > greatest ? value : greatest;
    }
    *low = least;
    *high = greatest;
    *bad = first_bad;
    return MTIP_OK;
}

static enum mtip_status rescale_cpu(const struct nufft_plan *plan, void *out, int64_t n,
                                    const void *x, double shift, double scale)
{
#pragma omp parallel for num_threads(nufft_cpu_threads(plan)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        set_item(plan, out, i, (item(plan, x, i) - shift) * scale);
    }
    return MTIP_OK;
}

static enum mtip_status phases_cpu(const struct nufft_plan *plan, void *out, int64_t n,
                                   const void *const *x, const double *shift,
                                   const double *frequency, const double *scale)
{
#pragma omp parallel for num_threads(nufft_cpu_threads(plan)) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        double angle = 0.0;
        double size = 1.0;
        for (int a = 0; a < plan->dimension; a++) {
            const double at = item(plan, x[a], i) - shift[a];
            angle += frequency[a] * at;
            if (scale != NULL) {
                size /=
                    nufft_kernel_transform(plan->axis[a].width, plan->axis[a].beta, scale[a] * at);
            }
        }
        set_item(plan, out, 2 * i, size * cos(angle));
        set_item(plan, out, 2 * i + 1, plan->sign * size * sin(angle));
    }
    return MTIP_OK;
}

static void multiply_float(float *out, const float *in, const float *factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float re = in[2 * i];
        const float im = in[2 * i + 1];
        out[2 * i] = re * factor[2 * i] - im * factor[2 * i + 1];
        out[2 * i + 1] = re * factor[2 * i + 1] + im * factor[2 * i];
    }
}

static void multiply_double(double *out, const double *in, const double *factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double re = in[2 * i];
        const double im = in[2 * i + 1];
        out[2 * i] = re * factor[2 * i] - im * factor[2 * i + 1];
        out[2 * i + 1] = re * factor[2 * i + 1] + im * factor[2 * i];
    }
}

#define MULTIPLY_BLOCK 8192

struct product {
    enum nufft_precision precision;
    void *out;
    const void *in;
    const void *factor;
    int64_t n;
    int64_t blocks; /* of a vector */
};

static void multiply_block(void *work, int64_t i, int thread)
{
    const struct product *p = work;
    const int64_t begin = i % p->blocks * MULTIPLY_BLOCK;
    const int64_t length = p->n - begin < MULTIPLY_BLOCK ? p->n - begin : MULTIPLY_BLOCK;
    const int64_t at = 2 * (i / p->blocks * p->n + begin);
    (void)thread;
    if (p->precision == NUFFT_FLOAT) {
        multiply_float((float *)p->out + at, (const float *)p->in + at,
                       (const float *)p->factor + 2 * begin, length);
    } else {
        multiply_double((double *)p->out + at, (const double *)p->in + at,
                        (const double *)p->factor + 2 * begin, length);
    }
}

static enum mtip_status multiply_cpu(const struct nufft_plan *plan, void *out, const void *in,
                                     const void *factor, int64_t n, int64_t count)
{
    struct product product = {.precision = plan->precision, .out = out, .in = in, .factor = factor};
    product.n = n;
    product.blocks = (n + MULTIPLY_BLOCK - 1) / MULTIPLY_BLOCK;
    nufft_cpu_for(nufft_cpu_threads(plan), product.blocks * count, multiply_block, &product);
    return MTIP_OK;
}

static enum mtip_status clear_cpu(const struct nufft_plan *plan, void *out, size_t bytes)
{
    (void)plan;
    memset(out, 0, bytes);
    return MTIP_OK;
}

const struct nufft_type3_ops nufft_cpu_type3_ops = {
    .alloc = alloc_cpu,
    .free = free_cpu,
    .range = range_cpu,
    .rescale = rescale_cpu,
    .phases = phases_cpu,
    .multiply = multiply_cpu,
    .clear = clear_cpu,
};
