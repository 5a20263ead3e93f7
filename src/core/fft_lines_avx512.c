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
