/* fft_lines.c - factors and twiddles of the line transforms, and the choice of instruction set. */
#include "core/fft_lines.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"

#define TWO_PI 6.283185307179586476925286766559

/* Smallest factor to take out next: 4 before 2 (fewer passes over the tile), then primes. */
static int64_t next_factor(int64_t n)
{
    if (n % 4 == 0) {
        return 4;
    }
    for (int64_t r = 2; r * r <= n; r++) {
        if (n % r == 0) {
            return r;
        }
    }
    return n;
}

int fft_lines_supports(int64_t n)
{
    while (n > 1) {
        const int64_t r = next_factor(n);
        if (r > FFT_LINES_MAX_FACTOR) {
            return 0;
        }
        n /= r;
    }
    return n == 1;
}

static int64_t cos_sin_count(int64_t radix)
{
    const int64_t h = (radix - 1) / 2;
    return radix % 2 == 1 ? 2 * h * h : 0;
}

static void fill_twiddles(double *twiddle, int64_t radix, int64_t m)
{
    for (int64_t p = 0; p < m; p++) {
        for (int64_t i = 1; i < radix; i++) {
            const double angle = TWO_PI * (double)(p * i) / (double)(radix * m);
            *twiddle++ = cos(angle);
            *twiddle++ = -sin(angle);
        }
    }
}

static void fill_cos_sin(double *table, int64_t radix)
{
    const int64_t h = (radix - 1) / 2;
    for (int64_t k = 0; k < h; k++) {
        for (int64_t j = 0; j < h; j++) {
            const double angle = TWO_PI * (double)((k + 1) * (j + 1) % radix) / (double)radix;
            table[2 * k * h + j] = cos(angle);
            table[(2 * k + 1) * h + j] = sin(angle);
        }
    }
}

enum mtip_status fft_lines_create(struct fft_lines *lines, int64_t n)
{
    enum mtip_status status = MTIP_OK;
    int64_t count = 1;
    memset(lines, 0, sizeof *lines);
    lines->n = n;
    for (int64_t left = n, s = 1; left > 1;) {
        const int64_t r = next_factor(left);
        struct fft_stage *stage = &lines->stages[lines->n_stages++];
        left /= r;
        stage->radix = (int)r;
        stage->m = left;
        stage->s = s;
        s *= r;
        count += 2 * left * (r - 1) + cos_sin_count(r);
    }
    MTIP_TRY(MEMORY_ALLOC(&lines->table, count, "FFT twiddles"));
    double *at = lines->table;
    for (int i = 0; i < lines->n_stages; i++) {
        struct fft_stage *stage = &lines->stages[i];
        stage->twiddle = at;
        fill_twiddles(at, stage->radix, stage->m);
        at += 2 * stage->m * (stage->radix - 1);
        if (stage->radix % 2 == 1) {
            stage->cos_sin = at;
            fill_cos_sin(at, stage->radix);
            at += cos_sin_count(stage->radix);
        }
    }
cleanup:
    return status;
}

void fft_lines_destroy(struct fft_lines *lines)
{
    memory_free(&lines->table);
}

const struct fft_lines_kernel *fft_lines_best_kernel(void)
{
#ifdef FFT_LINES_X86
    if (__builtin_cpu_supports("avx512f")) {
        return &fft_lines_kernel_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return &fft_lines_kernel_avx2;
    }
#endif
    return &fft_lines_kernel_base;
}
