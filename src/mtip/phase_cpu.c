/* phase_cpu.c - the kernels of phasing on the host, OpenMP over voxels, modes or z planes.
 *
 * Sums go into PARTS partial sums over fixed ranges of planes, added in order: the same bits for
 * every number of threads.
 */
#include <math.h>
#include <string.h>

#include "mtip/phase_ops.h"

#define PARTS 64
#define PI 3.14159265358979323846

/* Signed position of index i on an axis of M points in FFT order: -floor(M/2) .. */
static int64_t signed_index(int64_t i, int64_t M)
{
    return i < (M + 1) / 2 ? i : i - M;
}

static int64_t part_begin(int64_t M, int part)
{
    return M * part / PARTS;
}

static enum mtip_status cpu_magnitudes(const struct backend *backend, int64_t n, double *magnitude,
                                       const double *intensity, const uint8_t *measured)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        /* A NaN stays one, for the caller to find. */
        magnitude[i] = !measured[i] ? -1.0 : intensity[i] <= 0 ? 0.0 : sqrt(intensity[i]);
    }
    return MTIP_OK;
}

static enum mtip_status cpu_project(const struct backend *backend, int64_t n, double *half,
                                    const double *magnitude, double scale)
{
#pragma omp parallel for simd num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const double re = half[2 * i], im = half[2 * i + 1], m = magnitude[i];
        const double q = re * re + im * im;
        const double wanted = m < 0 ? 1.0 : m / sqrt(q);
        const int no_phase = q == 0 && m >= 0;
        half[2 * i] = scale * (no_phase ? m : re * wanted);
        half[2 * i + 1] = scale * (no_phase ? 0.0 : im * wanted);
    }
    return MTIP_OK;
}

static enum mtip_status cpu_update(const struct backend *backend, int64_t n,
                                   enum phase_algorithm algorithm, double beta, double *density,
                                   const double *projected, const uint8_t *support)
{
    const int threads = backend->n_threads;
    if (algorithm == PHASE_RAAR) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
        for (int64_t i = 0; i < n; i++) {
            const double p = projected[i], rho = density[i], y = 2 * p - rho;
            const double s = support[i] && y > 0 ? y : 0.0;
            density[i] = 0.5 * beta * ((2 * s - y) + rho) + (1 - beta) * p;
        }
    } else if (algorithm == PHASE_HIO) {
#pragma omp parallel for simd num_threads(threads) schedule(static)
        for (int64_t i = 0; i < n; i++) {
            const double p = projected[i];
            density[i] = support[i] && p > 0 ? p : density[i] - beta * p;
        }
    } else {
#pragma omp parallel for simd num_threads(threads) schedule(static)
        for (int64_t i = 0; i < n; i++) {
            const double p = projected[i];
            density[i] = support[i] && p > 0 ? p : 0.0;
        }
    }
    return MTIP_OK;
}

static enum mtip_status cpu_positive(const struct backend *backend, int64_t n, double *to,
                                     const double *from, const uint8_t *support)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        to[i] = from[i] > 0 && (support == NULL || support[i]) ? from[i] : 0.0;
    }
    return MTIP_OK;
}

/* Squared distance from the origin of the voxel or mode (z, y, x) in FFT order. */
static double squared_radius(int64_t z, int64_t y, int64_t x, int64_t M)
{
    const double dz = (double)signed_index(z, M);
    const double dy = (double)signed_index(y, M);
    const double dx = (double)signed_index(x, M);
    return dz * dz + dy * dy + dx * dx;
}

static enum mtip_status cpu_blur(const struct backend *backend, int64_t M, double *half,
                                 double sigma)
{
    const int64_t n_x = M / 2 + 1;
    const double t = PI * sigma / (double)M;
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t zy = 0; zy < M * M; zy++) {
        double *row = half + 2 * zy * n_x;
        for (int64_t x = 0; x < n_x; x++) {
            const double b = exp(-2 * t * t * squared_radius(zy / M, zy % M, x, M));
            row[2 * x] *= b;
            row[2 * x + 1] *= b;
        }
    }
    return MTIP_OK;
}

static enum mtip_status cpu_confine(const struct backend *backend, int64_t M, double *values,
                                    double radius)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t zy = 0; zy < M * M; zy++) {
        double *row = values + zy * M;
        for (int64_t x = 0; x < M; x++) {
            const int inside = squared_radius(zy / M, zy % M, x, M) <= radius * radius;
            row[x] = inside && row[x] > 0 ? row[x] : 0.0;
        }
    }
    return MTIP_OK;
}

static enum mtip_status cpu_ball(const struct backend *backend, int64_t M, uint8_t *support,
                                 double radius)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t zy = 0; zy < M * M; zy++) {
        for (int64_t x = 0; x < M; x++) {
            support[zy * M + x] = squared_radius(zy / M, zy % M, x, M) <= radius * radius;
        }
    }
    return MTIP_OK;
}

static enum mtip_status cpu_histogram(const struct backend *backend, int64_t n,
                                      const double *values, uint64_t prefix, int shift,
                                      int64_t counts[PHASE_DIGITS])
{
    const int prefix_shift = shift + PHASE_DIGIT_BITS;
    memset(counts, 0, PHASE_DIGITS * sizeof *counts);
#pragma omp parallel num_threads(backend->n_threads)
    {
        int64_t mine[PHASE_DIGITS] = {0};
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n; i++) {
            uint64_t bits = 0;
            memcpy(&bits, &values[i], sizeof bits);
            if (prefix_shift >= 64 || bits >> prefix_shift == prefix) {
                mine[bits >> shift & (PHASE_DIGITS - 1)]++;
            }
        }
#pragma omp critical(phase_histogram)
        for (int digit = 0; digit < PHASE_DIGITS; digit++) {
            counts[digit] += mine[digit];
        }
    }
    return MTIP_OK;
}

static enum mtip_status cpu_threshold(const struct backend *backend, int64_t n, uint8_t *support,
                                      const double *values, double threshold)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        support[i] = values[i] >= threshold;
    }
    return MTIP_OK;
}

/* Adds the moments of the plane z to sums. */
static void plane_moments(double sums[5], int64_t M, int64_t z, const double *density,
                          const uint8_t *support)
{
    for (int64_t y = 0; y < M; y++) {
        const int64_t row = (z * M + y) * M;
        double mass = 0, along = 0, voxels = 0;
        for (int64_t x = 0; x < M; x++) {
            const double rho = density[row + x] > 0 && support[row + x] ? density[row + x] : 0.0;
            mass += rho;
            along += rho * (double)signed_index(x, M);
            voxels += support[row + x] != 0;
        }
        sums[0] += mass;
        sums[1] += mass * (double)signed_index(z, M);
        sums[2] += mass * (double)signed_index(y, M);
        sums[3] += along;
        sums[4] += voxels;
    }
}

static enum mtip_status cpu_moments(const struct backend *backend, int64_t M, double sums[5],
                                    const double *density, const uint8_t *support)
{
    double parts[PARTS][5] = {{0}};
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int part = 0; part < PARTS; part++) {
        for (int64_t z = part_begin(M, part); z < part_begin(M, part + 1); z++) {
            plane_moments(parts[part], M, z, density, support);
        }
    }
    memset(sums, 0, 5 * sizeof *sums);
    for (int part = 0; part < PARTS; part++) {
        for (int i = 0; i < 5; i++) {
            sums[i] += parts[part][i];
        }
    }
    return MTIP_OK;
}

/* Both rolls: rows of M items of `item` bytes move as two pieces each. */
static void roll_bytes(const struct backend *backend, int64_t M, unsigned char *to,
                       const unsigned char *from, const int64_t shift[3], size_t item)
{
    const int64_t by_x = ((shift[2] % M) + M) % M;
    const size_t head = (size_t)(M - by_x) * item, tail = (size_t)by_x * item;
    const size_t row = (size_t)M * item;
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t zy = 0; zy < M * M; zy++) {
        const int64_t z = ((zy / M + shift[0]) % M + M) % M;
        const int64_t y = ((zy % M + shift[1]) % M + M) % M;
        const unsigned char *source = from + (size_t)zy * row;
        unsigned char *target = to + (size_t)(z * M + y) * row;
        memcpy(target + tail, source, head);
        memcpy(target, source + head, tail);
    }
}

static enum mtip_status cpu_roll(const struct backend *backend, int64_t M, double *to,
                                 const double *from, const int64_t shift[3])
{
    roll_bytes(backend, M, (unsigned char *)to, (const unsigned char *)from, shift, sizeof *to);
    return MTIP_OK;
}

static enum mtip_status cpu_roll_support(const struct backend *backend, int64_t M, uint8_t *to,
                                         const uint8_t *from, const int64_t shift[3])
{
    roll_bytes(backend, M, to, from, shift, sizeof *to);
    return MTIP_OK;
}

/* Adds the misfit of the plane z to sums; modes with 0 < x < M/2 stand for two. */
static void plane_misfit(double sums[2], int64_t M, int64_t z, const double *half,
                         const double *magnitude)
{
    const int64_t n_x = M / 2 + 1;
    for (int64_t y = 0; y < M; y++) {
        const int64_t row = (z * M + y) * n_x;
        for (int64_t x = 0; x < n_x; x++) {
            const double m = magnitude[row + x];
            if (m < 0) {
                continue;
            }
            const double re = half[2 * (row + x)], im = half[2 * (row + x) + 1];
            const double weight = x == 0 || 2 * x == M ? 1.0 : 2.0;
            const double d = sqrt(re * re + im * im) - m;
            sums[0] += weight * d * d;
            sums[1] += weight * m * m;
        }
    }
}

static enum mtip_status cpu_misfit(const struct backend *backend, int64_t M, double sums[2],
                                   const double *half, const double *magnitude)
{
    double parts[PARTS][2] = {{0}};
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int part = 0; part < PARTS; part++) {
        for (int64_t z = part_begin(M, part); z < part_begin(M, part + 1); z++) {
            plane_misfit(parts[part], M, z, half, magnitude);
        }
    }
    sums[0] = 0;
    sums[1] = 0;
    for (int part = 0; part < PARTS; part++) {
        sums[0] += parts[part][0];
        sums[1] += parts[part][1];
    }
    return MTIP_OK;
}

static enum mtip_status cpu_square(const struct backend *backend, int64_t n, double *half,
                                   double scale)
{
#pragma omp parallel for simd num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        const double re = half[2 * i], im = half[2 * i + 1];
        half[2 * i] = scale * (re * re + im * im);
        half[2 * i + 1] = 0.0;
    }
    return MTIP_OK;
}

static enum mtip_status cpu_scale(const struct backend *backend, int64_t n, double *values,
                                  double factor)
{
#pragma omp parallel for simd num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < n; i++) {
        values[i] *= factor;
    }
    return MTIP_OK;
}

const struct phase_ops phase_ops_cpu = {
    .magnitudes = cpu_magnitudes,
    .project = cpu_project,
    .update = cpu_update,
    .positive = cpu_positive,
    .blur = cpu_blur,
    .confine = cpu_confine,
    .ball = cpu_ball,
    .histogram = cpu_histogram,
    .threshold = cpu_threshold,
    .moments = cpu_moments,
    .roll = cpu_roll,
    .roll_support = cpu_roll_support,
    .misfit = cpu_misfit,
    .square = cpu_square,
    .scale = cpu_scale,
};
