/* fft_lines_base.c - line transforms with the vectors that every machine has. */
typedef double vec __attribute__((vector_size(16)));

static inline __attribute__((always_inline)) vec madd(vec a, vec b, vec c)
{
    return a * b + c;
}

static inline __attribute__((always_inline)) void transpose(vec v[2])
{
    const vec a = {v[0][0], v[1][0]}, b = {v[0][1], v[1][1]};
    v[0] = a;
    v[1] = b;
}

#define LANES 2
#define KERNEL fft_lines_kernel_base
#define KERNEL_NAME "128-bit vectors"
#include "core/fft_lines_impl.h"
