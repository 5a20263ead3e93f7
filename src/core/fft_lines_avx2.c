/* fft_lines_avx2.c - line transforms with 256-bit vectors and fused multiply-add. */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif

#include <immintrin.h>

typedef double vec __attribute__((vector_size(32)));

static inline __attribute__((always_inline)) vec madd(vec a, vec b, vec c)
{
    return _mm256_fmadd_pd(a, b, c);
}

static inline __attribute__((always_inline)) void transpose(vec v[4])
{
    const vec a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
    const vec c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
    v[0] = _mm256_permute2f128_pd(a, c, 0x20);
    v[1] = _mm256_permute2f128_pd(b, d, 0x20);
    v[2] = _mm256_permute2f128_pd(a, c, 0x31);
    v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

#define LANES 4
#define KERNEL fft_lines_kernel_avx2
#define KERNEL_NAME "256-bit vectors"
#include "core/fft_lines_impl.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
/* Nothing for other processors. */
typedef int fft_lines_avx2_unused;
#endif
