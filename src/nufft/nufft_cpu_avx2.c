/* nufft_cpu_avx2.c - kernels for x86-64 with AVX2; compiled with flags of its own, empty elsewhere. */
#ifdef __AVX2__
#define NUFFT_ISA_NAME "avx2"
#define NUFFT_ISA_GETTER nufft_cpu_kernels_avx2
#define NUFFT_VECTOR_BYTES 32
#include "nufft/nufft_cpu_kernels.h"
#else
#include <stddef.h>

#include "nufft/nufft_cpu.h"

const struct nufft_cpu_kernels *nufft_cpu_kernels_avx2(enum nufft_precision precision)
{
    (void)precision;
    return NULL;
}
#endif
