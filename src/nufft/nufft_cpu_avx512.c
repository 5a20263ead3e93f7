/* nufft_cpu_avx512.c - kernels for x86-64 with AVX-512; compiled with flags of its own, empty elsewhere. */
#ifdef __AVX512F__
#define NUFFT_ISA_NAME "avx512"
#define NUFFT_ISA_GETTER nufft_cpu_kernels_avx512
#define NUFFT_VECTOR_BYTES 64
#include "nufft/nufft_cpu_kernels.h"
#else
#include <stddef.h>

#include "nufft/nufft_cpu.h"

const struct nufft_cpu_kernels *nufft_cpu_kernels_avx512(enum nufft_precision precision)
{
    (void)precision;
    return NULL;
}
#endif
