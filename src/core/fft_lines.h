/* fft_lines.h - complex transforms of many lines at once, one line a SIMD lane; private to fft_cpu.
 *
 * n = length of a line, L = lanes. A tile is [n][2][L] doubles: re and im of point j of L lines. The
 * transform is Stockham's (self-sorting, decimation in frequency, x -> y -> x ..): for length n' = r m
 * and stride s,
 *     y[q + s (r p + i)] = exp(-2 pi i p i/n') sum_j exp(-2 pi i ij/r) x[q + s (p + m j)],
 * p < m, q < s, i < r. Each lane is treated the same way, so a line's result does not depend on its
 * neighbours, nor on who computes it. An odd prime r costs r^2/2 complex operations, done as two real
 * matrices (even and odd part of the points), and that beats convolutions up to r of about 100.
 */
#ifndef MTIP_CORE_FFT_LINES_H
#define MTIP_CORE_FFT_LINES_H

#include <stdint.h>

#include "core/status.h"

#define FFT_LINES_MAX_FACTOR 101
#define FFT_LINES_MAX_STAGES 24
#define FFT_LINES_MAX_LANES 8

/* One factor of n. */
struct fft_stage {
    int radix;
    int64_t m, s; /* n' / radix, stride */
    const double
        *twiddle; /* into the plan's table: [m][radix - 1] complex, exp(-2 pi i p i / n') */
    const double
        *cos_sin; /* [h][2][h], h = (radix - 1)/2: cos, sin(2 pi (k+1)(j+1)/radix); odd radix */
};

struct fft_lines {
    int64_t n;
    int n_stages;
    struct fft_stage stages[FFT_LINES_MAX_STAGES];
    double *table; /* owned */
};

/* An implementation for one instruction set. */
struct fft_lines_kernel {
    int lanes;
    const char *name;
    /* Transforms the tile x; y and spare are two more tiles. Returns where the result is, x or y. */
    double *(*transform)(const struct fft_lines *lines, double *x, double *y, double *spare);
    /* tiles <- `used` lines of interleaved complex numbers that lie side by side, L a tile, one tile after the
     * other: point j of line l at from[2 (j stride + l)]; swap exchanges re and im, which turns the
     * transform into its inverse. And back. */
    void (*load)(double *tiles, const double *from, int64_t n, int64_t stride, int used, int swap);
    void (*store)(double *to, const double *tiles, int64_t n, int64_t stride, int used, int swap);
    /* Real lines travel in pairs, z = a + i b, `used` <= 2 L of them in rows of n numbers. Forward: load_real,
     * transform, store_half (rows of n/2+1 complex numbers, the spectra of a and b). Inverse:
     * load_half, transform, store_real. */
    void (*load_real)(double *tile, const double *rows, int64_t n, int used);
    void (*store_half)(double *rows, const double *tile, int64_t n, int used);
    void (*load_half)(double *tile, const double *rows, int64_t n, int used);
    void (*store_real)(double *rows, const double *tile, int64_t n, int used);
};

/* 1 where every prime factor of n is small enough for these transforms. Pure. */
int fft_lines_supports(int64_t n);

/* Twiddles for lines of n points; free with fft_lines_destroy. */
enum mtip_status fft_lines_create(struct fft_lines *lines, int64_t n) MTIP_NODISCARD;
void fft_lines_destroy(struct fft_lines *lines);

/* The widest kernel that this processor runs. */
const struct fft_lines_kernel *fft_lines_best_kernel(void);

extern const struct fft_lines_kernel fft_lines_kernel_base;
#if defined(__x86_64__) && defined(__GNUC__)
#define FFT_LINES_X86 1
extern const struct fft_lines_kernel fft_lines_kernel_avx2;
extern const struct fft_lines_kernel fft_lines_kernel_avx512;
#endif

#endif
