/* nufft_cpu_portable.c - kernels for any processor: 16-byte vectors (SSE2, NEON). */
#define NUFFT_ISA_NAME "portable"
#define NUFFT_ISA_GETTER nufft_cpu_kernels_portable
#define NUFFT_VECTOR_BYTES 16
#include "nufft/nufft_cpu_kernels.h"
