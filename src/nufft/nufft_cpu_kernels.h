/* nufft_cpu_kernels.h - makes the kernels of one instruction set, both precisions. Included once by each of
 * nufft_cpu_portable.c, nufft_cpu_avx2.c and nufft_cpu_avx512.c, after defining
 *     NUFFT_ISA_NAME     text          NUFFT_ISA_GETTER   name of the function made here
 *     NUFFT_VECTOR_BYTES 16, 32 or 64
 */
#include <string.h>

#include "nufft/nufft_cpu.h"

#define NUFFT_INLINE static inline __attribute__((always_inline))
/* Widths to compile. Where time to compile matters more than speed there are fewer; a tolerance then takes the next wider
 * kernel. */
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
#define NUFFT_UNROLL
#define NUFFT_UNROLL_ROWS
#define FLOAT_WIDTHS(X) X(3) X(6) X(8)
#define DOUBLE_WIDTHS(X) X(4) X(7) X(13) X(16)
#else
#define NUFFT_UNROLL _Pragma("GCC unroll 16")
#define NUFFT_UNROLL_ROWS _Pragma("GCC unroll 4")
#if NUFFT_VECTOR_BYTES == 16
#define FLOAT_WIDTHS(X) X(2) X(4) X(5) X(6) X(7) X(8)
#define DOUBLE_WIDTHS(X) X(2) X(4) X(6) X(7) X(8) X(10) X(12) X(13) X(14) X(16)
#else
#define FLOAT_WIDTHS(X) X(2) X(3) X(4) X(5) X(6) X(7) X(8)
#define DOUBLE_WIDTHS(X)                                                                           \
    X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#endif
#endif
#define NUFFT_IS_spread 1
#define NUFFT_IS_interpolate 0

#define REAL float
#define LANES (NUFFT_VECTOR_BYTES / 4)
#define NAME(x) x##_float
#define X_TAPS_MAX NUFFT_CPU_FLOAT_WIDTH
#define WIDTHS(X) FLOAT_WIDTHS(X)
#include "nufft/nufft_cpu_kernels_impl.h"
#undef REAL
#undef LANES
#undef NAME
#undef X_TAPS_MAX
#undef WIDTHS

#define REAL double
#define LANES (NUFFT_VECTOR_BYTES / 8)
#define NAME(x) x##_double
#define X_TAPS_MAX NUFFT_MAX_X_WIDTH
#define WIDTHS(X) DOUBLE_WIDTHS(X)
#include "nufft/nufft_cpu_kernels_impl.h"
#undef REAL
#undef LANES
#undef NAME
#undef X_TAPS_MAX
#undef WIDTHS

const struct nufft_cpu_kernels *NUFFT_ISA_GETTER(enum nufft_precision precision)
{
    return precision == NUFFT_FLOAT ? &kernels_float : &kernels_double;
}
