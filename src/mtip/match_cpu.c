/* match_cpu.c - matching on the host: a GEMM a tile of frames, reduced to the best while it is in cache.
 *
 * Tiles are shared out over threads, each GEMM on one of them. What a GEMM rounds depends on its shape, and with it on how
 * frames and references lie on the ranks; so its products only tell which slices may be the best, and these are scored
 * again in double precision in the order of the pixels. The best reference of a frame is thereby the same for every
 * number of ranks and threads and every BLAS.
 */
#include <cblas.h>
#include <float.h>
#include <math.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "mtip/match_ops.h"

/* Frames of a tile: enough for the GEMM to run near its rate, few enough to share out. */
#define TILE_FRAMES 64

/* Products of n numbers are wrong by about sqrt(n) epsilon |x| |y| at most, in whatever order they are added; twice
 * that between two of them, and as much again to be safe. */
#define ROUNDING 4.0

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

/* The score that counts: a sum in double precision in the order of the pixels. */
static double exact_score(const float *d, const void *slices, int64_t index, int64_t n_use,
                          enum nufft_precision precision)
{
    double sum = 0.0;
    if (precision == NUFFT_FLOAT) {
        const float *slice = (const float *)slices + index * n_use;
        for (int64_t p = 0; p < n_use; p++) {
            sum += (double)d[p] * (double)slice[p];
        }
    } else {
        const double *slice = (const double *)slices + index * n_use;
        for (int64_t p = 0; p < n_use; p++) {
            sum += (double)d[p] * slice[p];
        }
    }
    return sum;
}

/* Item i of an array of single or double precision. */
static double item_at(const void *array, int64_t i, enum nufft_precision precision)
{
    return precision == NUFFT_FLOAT ? (double)((const float *)array)[i]
                                    : ((const double *)array)[i];
}

/* Norm of items first .. first + n - 1. */
static double norm(const void *array, int64_t first, int64_t n, enum nufft_precision precision)
{
    double sum = 0.0;
    for (int64_t i = first; i < first + n; i++) {
        const double x = item_at(array, i, precision);
        sum += x * x;
    }
    return sqrt(sum);
}

/* Largest norm of a slice of the block. */
static double largest_norm(const struct backend *backend, const struct match_block *b)
{
    double largest = 0.0;
#pragma omp parallel for num_threads(backend->n_threads) schedule(static) reduction(max : largest)
    for (int64_t i = 0; i < b->n_slices; i++) {
        largest = fmax(largest, norm(b->slices, i * b->n_use, b->n_use, b->precision));
    }
    return largest;
}

/* Among the products of frame n with the slices that it draws, row first .. of `scores`, those within `margin` of the
 * largest may be the best. */
static void choose(double *best_score, int64_t *best_index, const struct match_block *b, int64_t n,
                   const void *scores, int64_t first, double margin)
{
    double top = -(double)INFINITY;
    for (int64_t r = 0; r < b->n_slices; r++) {
        const double score = item_at(scores, first + r, b->precision);
        if (score > top && match_is_candidate(b->draw, n, b->first_index + r)) {
            top = score;
        }
    }
    for (int64_t r = 0; r < b->n_slices && top > -(double)INFINITY; r++) {
        if (item_at(scores, first + r, b->precision) >= top - margin &&
            match_is_candidate(b->draw, n, b->first_index + r)) {
            keep_best(best_score, best_index,
                      exact_score(b->frames + n * b->ld, b->slices, r, b->n_use, b->precision),
                      b->first_index + r);
        }
    }
}

/* Products of the tile's frames with all slices, in single or double precision: scores [count][n_slices]. */
static void multiply_tile(void *scores, double *frames, const struct match_block *b, int64_t first,
                          int64_t count)
{
    if (b->precision == NUFFT_FLOAT) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)b->n_slices,
                    (int)b->n_use, 1.0f, b->frames + first * b->ld, (int)b->ld, b->slices,
                    (int)b->n_use, 0.0f, scores, (int)b->n_slices);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        for (int64_t p = 0; p < b->n_use; p++) {
            frames[i * b->n_use + p] = (double)b->frames[(first + i) * b->ld + p];
        }
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)count, (int)b->n_slices,
                (int)b->n_use, 1.0, frames, (int)b->n_use, b->slices, (int)b->n_use, 0.0, scores,
                (int)b->n_slices);
}

/* tolerance: rounding of a product of unit frame and largest slice. */
static void match_tile(double *best_score, int64_t *best_index, const struct match_block *b,
                       int64_t first, int64_t count, const void *scores, double tolerance)
{
    for (int64_t i = 0; i < count; i++) {
        const int64_t n = first + i;
        const double margin = tolerance * norm(b->frames, n * b->ld, b->n_use, NUFFT_FLOAT);
        if (margin == 0.0) { /* a blank frame: all score alike */
            keep_best(&best_score[n], &best_index[n], 0.0, b->first_index);
        } else {
            choose(&best_score[n], &best_index[n], b, n, scores, i * b->n_slices, margin);
        }
    }
}

static enum mtip_status block_cpu(const struct backend *backend, void *handle, double *best_score,
                                  int64_t *best_index, const struct match_block *b, void *workspace)
{
    (void)handle;
    const int64_t n_tiles = (b->n_frames + TILE_FRAMES - 1) / TILE_FRAMES;
    const size_t scores_at = score_bytes(b->n_slices, b->precision);
    const size_t stride = scores_at + frame_bytes(b->n_use, b->precision);
    const double epsilon = b->precision == NUFFT_FLOAT ? (double)FLT_EPSILON : DBL_EPSILON;
    const double tolerance = ROUNDING * epsilon * sqrt((double)b->n_use) * largest_norm(backend, b);
    if (openblas_set_num_threads != NULL) {
        openblas_set_num_threads(1);
    }
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t tile = 0; tile < n_tiles; tile++) {
        const int64_t first = tile * TILE_FRAMES;
        const int64_t count = b->n_frames - first < TILE_FRAMES ? b->n_frames - first : TILE_FRAMES;
        char *mine = (char *)workspace + (size_t)thread_index() * stride;
        multiply_tile(mine, (double *)(mine + scores_at), b, first, count);
        match_tile(best_score, best_index, b, first, count, mine, tolerance);
    }
    return MTIP_OK;
}

static enum mtip_status trials_cpu(const struct backend *backend, double *scores,
                                   const struct match_block *b, int64_t n_trials)
{
#pragma omp parallel for num_threads(backend->n_threads) schedule(static)
    for (int64_t i = 0; i < b->n_slices; i++) {
        const float *d = b->frames + i / n_trials * b->ld;
        scores[i] = exact_score(d, b->slices, i, b->n_use, b->precision);
    }
    return MTIP_OK;
}

const struct match_ops match_ops_cpu = {
    .workspace = workspace_cpu, .block = block_cpu, .trials = trials_cpu};
