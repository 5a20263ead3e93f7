/* phase_cuda.c - kernels of phasing on CUDA. */
#include "core/backend_cuda.h"
#include "core/status_cuda.h"
#include "mtip/phase_kernels.h"
#include "mtip/phase_ops.h"

static enum mtip_status magnitudes_cuda(const struct backend *backend, int64_t n, double *magnitude,
                                        const double *intensity, const uint8_t *measured)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(
        phase_magnitudes_launch(n, magnitude, intensity, measured, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status project_cuda(const struct backend *backend, int64_t n, double *half,
                                     const double *magnitude, double scale)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_project_launch(n, half, magnitude, scale, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status update_cuda(const struct backend *backend, int64_t n,
                                    enum phase_algorithm algorithm, double beta, double *density,
                                    const double *projected, const uint8_t *support)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_update_launch(n, algorithm, beta, density, projected, support,
                                 backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status positive_cuda(const struct backend *backend, int64_t n, double *to,
                                      const double *from, const uint8_t *support)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_positive_launch(n, to, from, support, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status blur_cuda(const struct backend *backend, int64_t M, double *half,
                                  double sigma)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_blur_launch(M, half, sigma, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status confine_cuda(const struct backend *backend, int64_t M, double *values,
                                     double radius)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_confine_launch(M, values, radius, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status ball_cuda(const struct backend *backend, int64_t M, uint8_t *support,
                                  double radius)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_ball_launch(M, support, radius, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status threshold_cuda(const struct backend *backend, int64_t n, uint8_t *support,
                                       const double *values, double threshold)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_threshold_launch(n, support, values, threshold, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status roll_cuda(const struct backend *backend, int64_t M, double *to,
                                  const double *from, const int64_t shift[3])
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_roll_launch(M, to, from, shift, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status roll_support_cuda(const struct backend *backend, int64_t M, uint8_t *to,
                                          const uint8_t *from, const int64_t shift[3])
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_roll_support_launch(M, to, from, shift, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status square_cuda(const struct backend *backend, int64_t n, double *half,
                                    double scale)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_square_launch(n, half, scale, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status scale_cuda(const struct backend *backend, int64_t n, double *values,
                                   double factor)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_scale_launch(n, values, factor, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status histogram_cuda(const struct backend *backend, int64_t n,
                                       const double *values, uint64_t prefix, int shift,
                                       int64_t counts[PHASE_DIGITS])
{
    enum mtip_status status = MTIP_OK;
    const size_t bytes = PHASE_DIGITS * sizeof *counts;
    int64_t *bins = backend_cuda_scratch(backend);
    MTIP_TRY(backend_zero(backend, bins, bytes));
    CUDA_TRY(phase_histogram_launch(n, bins, values, prefix, shift, backend_cuda_stream(backend)));
    MTIP_TRY(backend_download(backend, counts, bins, bytes));
cleanup:
    return status;
}

static enum mtip_status moments_cuda(const struct backend *backend, int64_t M, double sums[5],
                                     const double *density, const uint8_t *support)
{
    enum mtip_status status = MTIP_OK;
    int n_partials = 0;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_moments_launch(M, backend_cuda_scratch(backend), &n_partials, density, support,
                                  backend_cuda_stream(backend)));
    MTIP_TRY(backend_cuda_add_partials(backend, sums, n_partials, 5));
cleanup:
    return status;
}

static enum mtip_status misfit_cuda(const struct backend *backend, int64_t M, double sums[2],
                                    const double *half, const double *magnitude)
{
    enum mtip_status status = MTIP_OK;
    int n_partials = 0;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(phase_misfit_launch(M, backend_cuda_scratch(backend), &n_partials, half, magnitude,
                                 backend_cuda_stream(backend)));
    MTIP_TRY(backend_cuda_add_partials(backend, sums, n_partials, 2));
cleanup:
    return status;
}

const struct phase_ops phase_ops_cuda = {
    .magnitudes = magnitudes_cuda,
    .project = project_cuda,
    .update = update_cuda,
    .positive = positive_cuda,
    .blur = blur_cuda,
    .confine = confine_cuda,
    .ball = ball_cuda,
    .histogram = histogram_cuda,
    .threshold = threshold_cuda,
    .moments = moments_cuda,
    .roll = roll_cuda,
    .roll_support = roll_support_cuda,
    .misfit = misfit_cuda,
    .square = square_cuda,
    .scale = scale_cuda,
};
