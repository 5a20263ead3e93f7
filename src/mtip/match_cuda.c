/* match_cuda.c - matching on CUDA: cuBLAS products a tile of frames, each reduced to the best while it is in L2.
 *
 * Products are true single (double) precision: the handle's math mode is the default one, in which
 * cuBLAS uses TF32 only where it is asked for. 2 P flops a score: at P = 1000 and 60 TFLOP/s (single) a frame
 * against 1000 slices takes 33 ns; writing and reading its scores adds 2 to 3 %.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "core/backend_cuda.h"
#include "core/status_cuda.h"
#include "mtip/match_kernels.h"
#include "mtip/match_ops.h"

/* Scores of a tile: 16 MiB in single precision stay in L2 until they are reduced, and some thousand frames are
 * enough for the product to run at its rate. */
#define TILE_SCORES ((int64_t)4 << 20)

/* Values of a tile of frames widened to double precision. */
#define TILE_VALUES ((int64_t)8 << 20)

struct match_cuda {
    cublasHandle_t blas;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Values that tiles of `row` values a frame take at most. */
static int64_t tile_values(int64_t n_frames, int64_t row, int64_t tile)
{
    return smaller(larger(tile, row), n_frames * row);
}

static size_t score_bytes(int64_t n_frames, int64_t n_slices, enum nufft_precision precision)
{
    const size_t item = precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    const size_t bytes = (size_t)tile_values(n_frames, n_slices, TILE_SCORES) * item;
    return (bytes + 255) / 256 * 256;
}

static size_t workspace_cuda(const struct backend *backend, int64_t n_frames, int64_t n_pixel,
                             int64_t n_slices, enum nufft_precision precision)
{
    (void)backend;
    size_t bytes = score_bytes(n_frames, n_slices, precision);
    if (precision == NUFFT_DOUBLE) {
        bytes += (size_t)tile_values(n_frames, n_pixel, TILE_VALUES) * sizeof(double);
    }
    return bytes;
}

static void close_cuda(void **handle)
{
    struct match_cuda *cuda = *handle;
    if (cuda != NULL && cuda->blas != NULL) {
        (void)cublasDestroy(cuda->blas);
    }
    free(cuda);
    *handle = NULL;
}

static enum mtip_status open_cuda(void **handle, const struct backend *backend)
{
    enum mtip_status status = MTIP_OK;
    struct match_cuda *cuda = calloc(1, sizeof *cuda);
    *handle = cuda;
    if (cuda == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "matcher: cannot allocate %zu bytes", sizeof *cuda);
    }
    MTIP_TRY(backend_cuda_enter(backend));
    CUBLAS_TRY(cublasCreate(&cuda->blas));
    CUBLAS_TRY(cublasSetStream(cuda->blas, backend_cuda_stream(backend)));
    CUBLAS_TRY(cublasSetMathMode(cuda->blas, CUBLAS_DEFAULT_MATH));
cleanup:
    if (status != MTIP_OK) {
        close_cuda(handle);
    }
    return status;
}

/* scores[n][r] for `count` frames from `first` on. cuBLAS counts columns first: slices are P x R, frames P x N, and
 * scores R x N = slices^T frames. */
static enum mtip_status multiply(const struct match_cuda *cuda, const struct match_block *b,
                                 int64_t first, int64_t count, void *scores, double *wide,
                                 cudaStream_t stream)
{
    enum mtip_status status = MTIP_OK;
    const int n_slices = (int)b->n_slices, n_frames = (int)count, n_use = (int)b->n_use;
    const float *frames = b->frames + first * b->ld;
    if (b->precision == NUFFT_FLOAT) {
        const float one = 1.0F, zero = 0.0F;
        CUBLAS_TRY(cublasSgemm(cuda->blas, CUBLAS_OP_T, CUBLAS_OP_N, n_slices, n_frames, n_use,
                               &one, b->slices, n_use, frames, (int)b->ld, &zero, scores,
                               n_slices));
    } else {
        const double one = 1.0, zero = 0.0;
        CUDA_TRY(match_widen_launch(wide, frames, b->ld, count, b->n_use, stream));
        CUBLAS_TRY(cublasDgemm(cuda->blas, CUBLAS_OP_T, CUBLAS_OP_N, n_slices, n_frames, n_use,
                               &one, b->slices, n_use, wide, n_use, &zero, scores, n_slices));
    }
cleanup:
    return status;
}

static enum mtip_status block_cuda(const struct backend *backend, void *handle, double *best_score,
                                   int64_t *best_index, const struct match_block *b,
                                   void *workspace)
{
    enum mtip_status status = MTIP_OK;
    cudaStream_t stream = backend_cuda_stream(backend);
    double *wide =
        (double *)((char *)workspace + score_bytes(b->n_frames, b->n_slices, b->precision));
    int64_t tile = TILE_SCORES / b->n_slices;
    if (b->precision == NUFFT_DOUBLE) {
        tile = smaller(tile, TILE_VALUES / larger(1, b->n_use));
    }
    tile = larger(1, smaller(tile, b->n_frames));
    if (larger(b->n_slices, larger(b->n_use, b->ld)) > INT_MAX) {
        MTIP_FAIL(MTIP_ERR_UNSUPPORTED,
                  "matching: %" PRId64 " slices of %" PRId64 " pixels; cuBLAS takes up to 2^31 - 1",
                  b->n_slices, b->ld);
    }
    MTIP_TRY(backend_cuda_enter(backend));
    for (int64_t first = 0; first < b->n_frames; first += tile) {
        const int64_t count = smaller(tile, b->n_frames - first);
        struct match_draw draw = b->draw;
        draw.first_frame += first;
        MTIP_TRY(multiply(handle, b, first, count, workspace, wide, stream));
        CUDA_TRY(match_best_launch(best_score + first, best_index + first, workspace, count,
                                   b->n_slices, b->first_index, draw, b->precision, stream));
    }
cleanup:
    return status;
}

static enum mtip_status trials_cuda(const struct backend *backend, double *scores,
                                    const struct match_block *b, int64_t n_trials)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(match_trials_launch(scores, b->frames, b->ld, b->slices, b->n_slices, n_trials,
                                 b->n_use, b->precision, backend_cuda_stream(backend)));
cleanup:
    return status;
}

const struct match_ops match_ops_cuda = {.workspace = workspace_cuda,
                                         .open = open_cuda,
                                         .close = close_cuda,
                                         .block = block_cuda,
                                         .trials = trials_cuda};
