/* status_cuda.c - errors of CUDA's runtime and cuFFT as statuses. */
#include "core/status_cuda.h"

#include <string.h>

static int name_length(const char *call)
{
    return (int)strcspn(call, "( ");
}

enum mtip_status status_from_cuda(cudaError_t code, const char *call, const char *file, int line)
{
    if (code == cudaSuccess) {
        return MTIP_OK;
    }
    (void)cudaGetLastError();
    return mtip_status_set(code == cudaErrorMemoryAllocation ? MTIP_ERR_MEMORY : MTIP_ERR_DEVICE,
                           file, line, "CUDA: %.*s failed: %s (%s, %d)", name_length(call), call,
                           cudaGetErrorString(code), cudaGetErrorName(code), (int)code);
}

/* cuFFT has no texts of its own. */
static const char *cufft_text(cufftResult code)
{
    switch (code) {
    case CUFFT_INVALID_PLAN:
        return "invalid plan";
    case CUFFT_ALLOC_FAILED:
        return "out of memory";
    case CUFFT_INVALID_TYPE:
        return "invalid type";
    case CUFFT_INVALID_VALUE:
        return "invalid value";
    case CUFFT_INTERNAL_ERROR:
        return "internal error";
    case CUFFT_EXEC_FAILED:
        return "execution failed";
    case CUFFT_SETUP_FAILED:
        return "set-up failed";
    case CUFFT_INVALID_SIZE:
        return "invalid size";
    case CUFFT_INVALID_DEVICE:
        return "wrong device";
    case CUFFT_NO_WORKSPACE:
        return "no work area";
    case CUFFT_NOT_SUPPORTED:
        return "not supported";
    default:
        return "failed";
    }
}

enum mtip_status status_from_cufft(cufftResult code, const char *call, const char *file, int line)
{
    if (code == CUFFT_SUCCESS) {
        return MTIP_OK;
    }
    (void)cudaGetLastError();
    return mtip_status_set(code == CUFFT_ALLOC_FAILED ? MTIP_ERR_MEMORY : MTIP_ERR_DEVICE, file,
                           line, "cuFFT: %.*s failed: %s (%d)", name_length(call), call,
                           cufft_text(code), (int)code);
}
