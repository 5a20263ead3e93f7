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

static double norm_float(const float *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    return sqrt(sum);
}

static double norm_double(const double *x, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        sum += x[i] * x[i];
    }
    return sqrt(sum);
}

/* Largest norm of a slice of the block. */
static double largest_norm(const struct backend *backend, const struct match_block *b)
{
    double largest = 0.0;
#pragma omp parallel for num_threads(backend->n_threads) schedule(static) reduction(max : largest)
    for (int64_t i = 0; i < b->n_slices; i++) {
        const double norm = b->precision == NUFFT_FLOAT
                                ? norm_float((const float *)b->slices + i * b->n_use, b->n_use)
                                : norm_double((const double *)b->slices + i * b->n_use, b->n_use);
        largest = fmax(largest, norm);
    }
    return largest;
}

/* Takes the products of slices that frame n does not draw out of the row. */
static void draw_float(float *row, const struct match_block *b, int64_t n)
{
    for (int64_t r = 0; r < b->n_slices && b->draw.most != 0; r++) {
        row[r] = match_is_candidate(b->draw, n, b->first_index + r) ? row[r] : -INFINITY;
    }
}

static void draw_double(double *row, const struct match_block *b, int64_t n)
{
    for (int64_t r = 0; r < b->n_slices && b->draw.most != 0; r++) {
        row[r] = match_is_candidate(b->draw, n, b->first_index + r) ? row[r] : -(double)INFINITY;
    }
}

/* Among the products of frame `d` with all slices, those within `margin` of the largest may be the best. */
static void choose_float(double *best_score, int64_t *best_index, const struct match_block *b,
                         const float *d, const float *row, double margin)
{
    float top = -INFINITY;
    for (int64_t r = 0; r < b->n_slices; r++) {
        top = row[r] > top ? row[r] : top;
    }
    const float least = (float)((double)top - margin);
    for (int64_t r = 0; r < b->n_slices && top > -INFINITY; r++) {
        if (row[r] >= least) {
            keep_best(best_score, best_index, exact_score(d, b->slices, r, b->n_use, NUFFT_FLOAT),
                      b->first_index + r);
        }
    }
}

static void choose_double(double *best_score, int64_t *best_index, const struct match_block *b,
                          const float *d, const double *row, double margin)
{
    double top = -(double)INFINITY;
    for (int64_t r = 0; r < b->n_slices; r++) {
        top = row[r] > top ? row[r] : top;
    }
    for (int64_t r = 0; r < b->n_slices && top > -(double)INFINITY; r++) {
        if (row[r] >= top - margin) {
            keep_best(best_score, best_index, exact_score(d, b->slices, r, b->n_use, NUFFT_DOUBLE),
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
                       int64_t first, int64_t count, void *scores, double tolerance)
{
    for (int64_t i = 0; i < count; i++) {
        const float *d = b->frames + (first + i) * b->ld;
        const double margin = tolerance * norm_float(d, b->n_use);
        double *score = &best_score[first + i];
        int64_t *index = &best_index[first + i];
        if (margin == 0.0) { /* a blank frame: all score alike */
            keep_best(score, index, 0.0, b->first_index);
        } else if (b->precision == NUFFT_FLOAT) {
            float *row = (float *)scores + i * b->n_slices;
            draw_float(row, b, first + i);
            choose_float(score, index, b, d, row, margin);
        } else {
            double *row = (double *)scores + i * b->n_slices;
            draw_double(row, b, first + i);
            choose_double(score, index, b, d, row, margin);
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
