/* status_cuda_blas.c - errors of cuBLAS as statuses: apart, because the NUFFT alone does without that library. */
#include "core/status_cuda.h"

#include <string.h>

enum mtip_status status_from_cublas(cublasStatus_t code, const char *call, const char *file,
                                    int line)
{
    if (code == CUBLAS_STATUS_SUCCESS) {
        return MTIP_OK;
    }
    (void)cudaGetLastError();
    return mtip_status_set(code == CUBLAS_STATUS_ALLOC_FAILED ? MTIP_ERR_MEMORY : MTIP_ERR_DEVICE,
                           file, line, "cuBLAS: %.*s failed: %s (%d)", (int)strcspn(call, "( "),
                           call, cublasGetStatusString(code), (int)code);
}
