/* status_cuda.h - codes of the CUDA runtime, cuFFT and cuBLAS as statuses with a message. For *_cuda.c.
 *
 * Out of memory becomes MTIP_ERR_MEMORY, everything else MTIP_ERR_DEVICE; the message names the call and
 * gives the library's own text. The runtime's last error is cleared, so that a failure which was dealt with
 * does not show up again at the next launch.
 */
#ifndef MTIP_CORE_STATUS_CUDA_H
#define MTIP_CORE_STATUS_CUDA_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cufft.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `call` is the source text of the call; what stands before its "(" names it in the message. */
enum mtip_status status_from_cuda(cudaError_t code, const char *call, const char *file,
                                  int line) MTIP_NODISCARD;
enum mtip_status status_from_cufft(cufftResult code, const char *call, const char *file,
                                   int line) MTIP_NODISCARD;
enum mtip_status status_from_cublas(cublasStatus_t code, const char *call, const char *file,
                                    int line) MTIP_NODISCARD;

/* The status of one call (of a launcher, too: they return cudaError_t). */
#define CUDA_STATUS(call) status_from_cuda((call), #call, __FILE__, __LINE__)
#define CUFFT_STATUS(call) status_from_cufft((call), #call, __FILE__, __LINE__)
#define CUBLAS_STATUS(call) status_from_cublas((call), #call, __FILE__, __LINE__)

/* MTIP_TRY for such a call. */
#define CUDA_TRY(call) MTIP_TRY(CUDA_STATUS(call))
#define CUFFT_TRY(call) MTIP_TRY(CUFFT_STATUS(call))
#define CUBLAS_TRY(call) MTIP_TRY(CUBLAS_STATUS(call))

#ifdef __cplusplus
}
#endif

#endif
