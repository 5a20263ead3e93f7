/* merge_cpu.c - kernels of merging on the host. Work is shared out by planes or fixed blocks, so that the
 * number of threads changes no bit. */
#include <string.h>

#include "core/exact_sum.h"
#include "mtip/merge_ops.h"

/* Numbers of one partial sum of a dot product. */
#define DOT_BLOCK 4096

/* Frequency of index i of an axis of n in FFT order, and back. */
static int64_t frequency(int64_t i, int64_t n)
{
    return i <= (n - 1) / 2 ? i : i - n;
}

static int64_t position(int64_t k, int64_t n)
{
    return k < 0 ? k + n : k;
}

static enum mtip_status strengths_cpu(const struct backend *backend, double *out,
                                      const float *frames, int64_t ld, const int64_t *index,
                                      int64_t count, const double *fluence, const double *response,
                                      const double *scale, int64_t n_use)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        const float *d = frames + index[i] * ld;
        double *weight = out + i * n_use;
        double *data = out + (count + i) * n_use;
        const double phi = fluence[index[i]];
        const double on = phi > 0.0 ? 1.0 : 0.0;
        for (int64_t p = 0; p < n_use; p++) {
            weight[p] = on * phi * response[p] * scale[p];
            data[p] = on * (double)d[p] * scale[p];
        }
    }
    return MTIP_OK;
}

static enum mtip_status accumulate_cpu(const struct backend *backend, double *kernel, double *rhs,
                                       const double *modes, int64_t m, const double anchors[2])
{
    const int64_t l = 2 * m - 1, half = (m + 1) / 2;
    const double *second = modes + 2 * l * l * m;
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < l * l * m; i++) {
        kernel[i] += exact_round(modes[2 * i], anchors[0]);
    }
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t z = 0; z < m; z++) {
        for (int64_t y = 0; y < m; y++) {
            const int64_t row = position(frequency(z, m), l) * l + position(frequency(y, m), l);
            for (int64_t x = 0; x < half; x++) {
                rhs[(z * m + y) * half + x] += exact_round(second[2 * (row * m + x)], anchors[1]);
            }
        }
    }
    return MTIP_OK;
}

static enum mtip_status expand_cpu(const struct backend *backend, double *circulant,
                                   const double *kernel, int64_t m, int64_t n)
{
    const int64_t l = 2 * m - 1;
    memset(circulant, 0, (size_t)(n * n * n) * sizeof *circulant);
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t z = 0; z < l; z++) {
        const int64_t kz = frequency(z, l);
        for (int64_t y = 0; y < l; y++) {
            const int64_t ky = frequency(y, l);
            double *row = circulant + (position(kz, n) * n + position(ky, n)) * n;
            const double *plus = kernel + (z * l + y) * m;
            const double *minus = kernel + (position(-kz, l) * l + position(-ky, l)) * m;
            for (int64_t kx = 0; kx < m; kx++) {
                row[kx] = plus[kx];
            }
            for (int64_t kx = 1; kx < m; kx++) {
                row[n - kx] = minus[kx];
            }
        }
    }
    return MTIP_OK;
}

static enum mtip_status unfold_cpu(const struct backend *backend, double *full, const double *half,
                                   int64_t m)
{
    const int64_t h = (m + 1) / 2;
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t z = 0; z < m; z++) {
        for (int64_t y = 0; y < m; y++) {
            double *row = full + (z * m + y) * m;
            const double *plus = half + (z * m + y) * h;
            const double *minus = half + ((m - z) % m * m + (m - y) % m) * h;
            for (int64_t x = 0; x < h; x++) {
                row[x] = plus[x];
            }
            for (int64_t x = 1; x < h; x++) {
                row[m - x] = minus[x];
            }
        }
    }
    return MTIP_OK;
}

static enum mtip_status real_part_cpu(const struct backend *backend, double *real,
                                      const double *half, int64_t count, double scale)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        real[i] = scale * half[2 * i];
    }
    return MTIP_OK;
}

/* Squared distance that x may have from the origin inside the ball on the row (kz, ky); negative = none. */
static double row_reach(double radius, int64_t kz, int64_t ky)
{
    return radius * radius - (double)(kz * kz + ky * ky);
}

static enum mtip_status pad_cpu(const struct backend *backend, double *padded, const double *v,
                                int64_t m, int64_t n, double radius)
{
    memset(padded, 0, (size_t)(n * n * n) * sizeof *padded);
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t z = 0; z < m; z++) {
        const int64_t kz = frequency(z, m);
        for (int64_t y = 0; y < m; y++) {
            const int64_t ky = frequency(y, m);
            const double reach = row_reach(radius, kz, ky);
            const double *from = v + (z * m + y) * m;
            double *to = padded + (position(kz, n) * n + position(ky, n)) * n;
            for (int64_t x = 0; x < m; x++) {
                const int64_t kx = frequency(x, m);
                to[position(kx, n)] = (double)(kx * kx) <= reach ? from[x] : 0.0;
            }
        }
    }
    return MTIP_OK;
}

static enum mtip_status multiply_cpu(const struct backend *backend, double *half,
                                     const double *spectrum, int64_t count)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        half[2 * i] *= spectrum[i];
        half[2 * i + 1] *= spectrum[i];
    }
    return MTIP_OK;
}

static enum mtip_status crop_cpu(const struct backend *backend, double *out, const double *padded,
                                 const double *v, double lambda, int64_t m, int64_t n,
                                 double radius)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t z = 0; z < m; z++) {
        const int64_t kz = frequency(z, m);
        for (int64_t y = 0; y < m; y++) {
            const int64_t ky = frequency(y, m);
            const double reach = row_reach(radius, kz, ky);
            const double *from = padded + (position(kz, n) * n + position(ky, n)) * n;
            const int64_t row = (z * m + y) * m;
            for (int64_t x = 0; x < m; x++) {
                const int64_t kx = frequency(x, m);
                const double inside = (double)(kx * kx) <= reach ? from[position(kx, n)] : 0.0;
                out[row + x] = inside + lambda * v[row + x];
            }
        }
    }
    return MTIP_OK;
}

static enum mtip_status combine_cpu(const struct backend *backend, double *y, double a,
                                    const double *x, double b, int64_t count)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        y[i] = a * x[i] + b * y[i];
    }
    return MTIP_OK;
}

static double dot_block(const double *x, const double *y, int64_t count)
{
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int k = 0; k < 4; k++) {
            sum[k] += x[i + k] * y[i + k];
        }
    }
    for (; i < count; i++) {
        sum[0] += x[i] * y[i];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static enum mtip_status dot_cpu(const struct backend *backend, double *result, const double *x,
                                const double *y, int64_t count)
{
    /* Blocks of a fixed size, their sums added up in order by groups of GROUP, so that the partial sums fit
     * on the stack and threads do not matter. */
    enum { GROUP = 256 };
    double partial[GROUP], total = 0.0;
    const int64_t n_blocks = (count + DOT_BLOCK - 1) / DOT_BLOCK;
    for (int64_t group = 0; group < n_blocks; group += GROUP) {
        const int64_t here = n_blocks - group < GROUP ? n_blocks - group : GROUP;
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
        for (int64_t i = 0; i < here; i++) {
            const int64_t at = (group + i) * DOT_BLOCK;
            partial[i] = dot_block(x + at, y + at, count - at < DOT_BLOCK ? count - at : DOT_BLOCK);
        }
        for (int64_t i = 0; i < here; i++) {
            total += partial[i];
        }
    }
    *result = total;
    return MTIP_OK;
}

static enum mtip_status advance_cpu(const struct backend *backend, double *norm, double *a,
                                    double *r, const double *d, const double *q, double step,
                                    int64_t count)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < count; i++) {
        a[i] += step * d[i];
        r[i] -= step * q[i];
    }
    return dot_cpu(backend, norm, r, r, count);
}

const struct merge_ops merge_ops_cpu = {
    .strengths = strengths_cpu,
    .accumulate = accumulate_cpu,
    .expand = expand_cpu,
    .unfold = unfold_cpu,
    .real_part = real_part_cpu,
    .pad = pad_cpu,
    .multiply = multiply_cpu,
    .crop = crop_cpu,
    .combine = combine_cpu,
    .advance = advance_cpu,
    .dot = dot_cpu,
};
