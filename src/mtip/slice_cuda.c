/* slice_cuda.c - slicing kernels on CUDA. */
#include "core/backend_cuda.h"
#include "core/status_cuda.h"
#include "mtip/slice_kernels.h"
#include "mtip/slice_ops.h"

static enum mtip_status rotate_cuda(const struct backend *backend, void *x, void *y, void *z,
                                    const double *matrices, const double *pixels,
                                    int64_t n_rotations, int64_t n_use,
                                    enum nufft_precision precision)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(slice_rotate_launch(x, y, z, matrices, pixels, n_rotations, n_use, precision,
                                 backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status finish_cuda(const struct backend *backend, void *values, double *sums,
                                    const double *response, const double *log_model,
                                    double log_model_sum, double floor, int64_t n_rotations,
                                    int64_t n_use, enum nufft_precision precision)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(slice_finish_launch(values, sums, response, log_model, log_model_sum, floor,
                                 n_rotations, n_use, precision, backend_cuda_stream(backend)));
cleanup:
    return status;
}

const struct slice_ops slice_ops_cuda = {.rotate = rotate_cuda, .finish = finish_cuda};
