/* fft_lines_avx512.c - line transforms with 512-bit vectors and fused multiply-add. */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC target("avx512f")
#endif

#include <immintrin.h>

typedef double vec __attribute__((vector_size(64)));

static inline __attribute__((always_inline)) vec madd(vec a, vec b, vec c)
{
    return _mm512_fmadd_pd(a, b, c);
}

/* Pairs of numbers, then pairs of 128-bit quarters twice. */
static inline __attribute__((always_inline)) void transpose(vec v[8])
{
    vec a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = _mm512_unpacklo_pd(v[i], v[i + 1]);
        a[i + 1] = _mm512_unpackhi_pd(v[i], v[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        for (int j = 0; j < 2; j++) {
            b[i + j] = _mm512_shuffle_f64x2(a[i + j], a[i + j + 2], 0x88);
            b[i + j + 2] = _mm512_shuffle_f64x2(a[i + j], a[i + j + 2], 0xdd);
        }
    }
    for (int j = 0; j < 4; j++) {
        v[j] = _mm512_shuffle_f64x2(b[j], b[j + 4], 0x88);
        v[j + 4] = _mm512_shuffle_f64x2(b[j], b[j + 4], 0xdd);
    }
}

#define LANES 8
#define KERNEL fft_lines_kernel_avx512
#define KERNEL_NAME "512-bit vectors"
#include "core/fft_lines_impl.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
/* Nothing for other processors. */
typedef int fft_lines_avx512_unused;
#endif
