/* match_cpu.c - matching on the host: a GEMM a tile of frames, reduced to the best while it is in cache.
 *
 * Tiles are shared out over threads and each GEMM runs on one thread, so the sums, and with them the
 * bits of every score, do not depend on the number of threads.
 */
#include <cblas.h>
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "mtip/match_ops.h"

/* Frames of a tile: enough for the GEMM to run near its rate, few enough to share out. */
#define TILE_FRAMES 64

/* OpenBLAS's own threads would multiply with ours; other libraries lack the function. */
extern void openblas_set_num_threads(int n) __attribute__((weak));

static int thread_index(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static size_t align64(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* Bytes of one thread's score tile, and of its tile of frames in double precision. */
static size_t score_bytes(int64_t n_slices, enum nufft_precision precision)
{
    return align64((size_t)(TILE_FRAMES * n_slices) *
                   (precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double)));
}

static size_t frame_bytes(int64_t n_pixel, enum nufft_precision precision)
{
    return precision == NUFFT_FLOAT ? 0 : align64((size_t)(TILE_FRAMES * n_pixel) * sizeof(double));
}

static size_t workspace_cpu(const struct backend *backend, int64_t n_frames, int64_t n_pixel,
                            int64_t n_slices, enum nufft_precision precision)
{
    (void)n_frames;
    return (size_t)backend->n_threads *
           (score_bytes(n_slices, precision) + frame_bytes(n_pixel, precision));
}

static void keep_best(double *best_score, int64_t *best_index, double score, int64_t index)
{
    if (score > *best_score || (score == *best_score && index < *best_index)) {
        *best_score = score;
        *best_index = index;
    }
}

static void tile_float(double *best_score, int64_t *best_index, const struct match_block *b,
                       int64_t first, int64_t count, float *scores)
{
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)b->n_slices,
                (int)b->n_use, 1.0f, b->frames + first * b->ld, (int)b->ld, b->slices,
                (int)b->n_use, 0.0f, scores, (int)b->n_slices);
    for (int64_t i = 0; i < count; i++) {
        const float *row = scores + i * b->n_slices;
        int64_t top = 0;
        for (int64_t r = 1; r < b->n_slices; r++) {
            top = row[r] > row[top] ? r : top;
        }
        keep_best(&best_score[first + i], &best_index[first + i], (double)row[top],
                  b->first_index + top);
    }
}

static void tile_double(double *best_score, int64_t *best_index, const struct match_block *b,
                        int64_t first, int64_t count, double *scores, double *frames)
{
    for (int64_t i = 0; i < count; i++) {
        for (int64_t p = 0; p < b->n_use; p++) {
            frames[i * b->n_use + p] = (double)b->frames[(first + i) * b->ld + p];
        }
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)b->n_slices,
                (int)b->n_use, 1.0, frames, (int)b->n_use, b->slices, (int)b->n_use, 0.0, scores,
                (int)b->n_slices);
    for (int64_t i = 0; i < count; i++) {
        const double *row = scores + i * b->n_slices;
        int64_t top = 0;
        for (int64_t r = 1; r < b->n_slices; r++) {
            top = row[r] > row[top] ? r : top;
        }
        keep_best(&best_score[first + i], &best_index[first + i], row[top], b->first_index + top);
    }
}

static enum mtip_status block_cpu(const struct backend *backend, void *handle, double *best_score,
                                  int64_t *best_index, const struct match_block *b, void *workspace)
{
    (void)handle;
    const int64_t n_tiles = (b->n_frames + TILE_FRAMES - 1) / TILE_FRAMES;
    const size_t scores_at = score_bytes(b->n_slices, b->precision);
    const size_t stride = scores_at + frame_bytes(b->n_use, b->precision);
    if (openblas_set_num_threads != NULL) {
        openblas_set_num_threads(1);
    }
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t tile = 0; tile < n_tiles; tile++) {
        const int64_t first = tile * TILE_FRAMES;
        const int64_t count = b->n_frames - first < TILE_FRAMES ? b->n_frames - first : TILE_FRAMES;
        char *mine = (char *)workspace + (size_t)thread_index() * stride;
        if (b->precision == NUFFT_FLOAT) {
            tile_float(best_score, best_index, b, first, count, (float *)mine);
        } else {
            tile_double(best_score, best_index, b, first, count, (double *)mine,
                        (double *)(mine + scores_at));
        }
    }
    return MTIP_OK;
}

static enum mtip_status trials_cpu(const struct backend *backend, double *scores,
                                   const struct match_block *b, int64_t n_trials)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < b->n_slices; i++) {
        const float *d = b->frames + i / n_trials * b->ld;
        double sum = 0.0;
        if (b->precision == NUFFT_FLOAT) {
            const float *slice = (const float *)b->slices + i * b->n_use;
            for (int64_t p = 0; p < b->n_use; p++) {
                sum += (double)d[p] * (double)slice[p];
            }
        } else {
            const double *slice = (const double *)b->slices + i * b->n_use;
            for (int64_t p = 0; p < b->n_use; p++) {
                sum += (double)d[p] * slice[p];
            }
        }
        scores[i] = sum;
    }
    return MTIP_OK;
}

const struct match_ops match_ops_cpu = {
    .workspace = workspace_cpu, .block = block_cpu, .trials = trials_cpu};
