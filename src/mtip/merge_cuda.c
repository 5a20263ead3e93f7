/* merge_cuda.c - kernels of merging on CUDA. */
#include "core/backend_cuda.h"
#include "core/status_cuda.h"
#include "mtip/merge_kernels.h"
#include "mtip/merge_ops.h"

static enum mtip_status strengths_cuda(const struct backend *backend, double *out,
                                       const float *frames, int64_t ld, const int64_t *index,
                                       int64_t count, const double *fluence, const double *response,
                                       const double *scale, int64_t n_use)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_strengths_launch(out, frames, ld, index, count, fluence, response, scale, n_use,
                                    backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status accumulate_cuda(const struct backend *backend, double *kernel, double *rhs,
                                        const double *modes, int64_t m, const double anchors[2])
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_accumulate_launch(kernel, rhs, modes, m, anchors[0], anchors[1],
                                     backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status expand_cuda(const struct backend *backend, double *circulant,
                                    const double *kernel, int64_t m, int64_t n)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_expand_launch(circulant, kernel, m, n, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status unfold_cuda(const struct backend *backend, double *full, const double *half,
                                    int64_t m)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_unfold_launch(full, half, m, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status real_part_cuda(const struct backend *backend, double *real,
                                       const double *half, int64_t count, double scale)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_real_part_launch(real, half, count, scale, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status pad_cuda(const struct backend *backend, double *padded, const double *v,
                                 int64_t m, int64_t n, double radius)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_pad_launch(padded, v, m, n, radius, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status multiply_cuda(const struct backend *backend, double *half,
                                      const double *spectrum, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_multiply_launch(half, spectrum, count, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status crop_cuda(const struct backend *backend, double *out, const double *padded,
                                  const double *v, double lambda, int64_t m, int64_t n,
                                  double radius)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_crop_launch(out, padded, v, lambda, m, n, radius, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status combine_cuda(const struct backend *backend, double *y, double a,
                                     const double *x, double b, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_combine_launch(y, a, x, b, count, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status dot_cuda(const struct backend *backend, double *result, const double *x,
                                 const double *y, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    int n_partials = 0;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_dot_launch(backend_cuda_scratch(backend), &n_partials, x, y, count,
                              backend_cuda_stream(backend)));
    MTIP_TRY(backend_cuda_add_partials(backend, result, n_partials, 1));
cleanup:
    return status;
}

static enum mtip_status advance_cuda(const struct backend *backend, double *norm, double *a,
                                     double *r, const double *d, const double *q, double step,
                                     int64_t count)
{
    enum mtip_status status = MTIP_OK;
    int n_partials = 0;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(merge_advance_launch(backend_cuda_scratch(backend), &n_partials, a, r, d, q, step,
                                  count, backend_cuda_stream(backend)));
    MTIP_TRY(backend_cuda_add_partials(backend, norm, n_partials, 1));
cleanup:
    return status;
}

const struct merge_ops merge_ops_cuda = {
    .strengths = strengths_cuda,
    .accumulate = accumulate_cuda,
    .expand = expand_cuda,
    .unfold = unfold_cuda,
    .real_part = real_part_cuda,
    .pad = pad_cuda,
    .multiply = multiply_cuda,
    .crop = crop_cuda,
    .combine = combine_cuda,
    .advance = advance_cuda,
    .dot = dot_cuda,
};
