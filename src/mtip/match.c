/* match.c - matching: buffers and order of work over the table of kernels. */
#include "mtip/match.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "mtip/match_ops.h"

struct matcher {
    const struct backend *backend; /* borrowed */
    const struct frames *frames;   /* borrowed */
    const struct match_ops *ops;
    void *handle;
    enum nufft_precision precision;
    int64_t max_slices;
    double *best_score;  /* backend, [n] */
    int64_t *best_index; /* backend, [n] */
    double *scores;      /* backend, [max_slices] */
    void *workspace;     /* backend */
    struct match_draw draw;
};

static const struct match_ops *const all_ops[BACKEND_COUNT] = {
    [BACKEND_CPU] = &match_ops_cpu,
#ifdef MTIP_HAVE_CUDA
    [BACKEND_CUDA] = &match_ops_cuda,
#endif
};

size_t matcher_bytes(const struct backend *backend, const struct frames *frames,
                     enum nufft_precision precision, int64_t max_slices)
{
    return all_ops[backend->kind]->workspace(backend, frames->n, frames->n_pixel, max_slices,
                                             precision) +
           (size_t)frames->n * (sizeof(double) + sizeof(int64_t)) +
           (size_t)max_slices * sizeof(double);
}

enum mtip_status matcher_create(struct matcher **matcher, const struct backend *backend,
                                const struct frames *frames, enum nufft_precision precision,
                                int64_t max_slices)
{
    enum mtip_status status = MTIP_OK;
    *matcher = NULL;
    struct matcher *m = calloc(1, sizeof *m);
    if (m == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "matcher: cannot allocate %zu bytes", sizeof *m);
    }
    m->backend = backend;
    m->frames = frames;
    m->ops = all_ops[backend->kind];
    m->precision = precision;
    m->max_slices = max_slices;
    if (m->ops->open != NULL) {
        MTIP_TRY(m->ops->open(&m->handle, backend));
    }
    MTIP_TRY(BACKEND_ALLOC(backend, &m->best_score, frames->n, "best scores"));
    MTIP_TRY(BACKEND_ALLOC(backend, &m->best_index, frames->n, "best references"));
    MTIP_TRY(BACKEND_ALLOC(backend, &m->scores, max_slices, "trial scores"));
    const size_t bytes =
        m->ops->workspace(backend, frames->n, frames->n_pixel, max_slices, precision);
    MTIP_TRY(backend_alloc(backend, &m->workspace, (int64_t)bytes, 1, "score tiles"));
    *matcher = m;
    m = NULL;
cleanup:
    matcher_destroy(&m);
    return status;
}

void matcher_destroy(struct matcher **matcher)
{
    struct matcher *m = *matcher;
    if (m == NULL) {
        return;
    }
    backend_free(m->backend, &m->workspace);
    backend_free(m->backend, &m->scores);
    backend_free(m->backend, &m->best_index);
    backend_free(m->backend, &m->best_score);
    if (m->ops->close != NULL) {
        m->ops->close(&m->handle);
    }
    free(m);
    *matcher = NULL;
}

enum mtip_status matcher_reset(struct matcher *matcher)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n = matcher->frames->n;
    matcher->draw = (struct match_draw){.most = 0};
    double *score = NULL;
    int64_t *index = NULL;
    MTIP_TRY(MEMORY_ALLOC(&score, n, "best scores"));
    MTIP_TRY(MEMORY_ALLOC(&index, n, "best references"));
    for (int64_t i = 0; i < n; i++) {
        score[i] = -INFINITY;
        index[i] = -1;
    }
    MTIP_TRY(
        backend_upload(matcher->backend, matcher->best_score, score, (size_t)n * sizeof *score));
    MTIP_TRY(
        backend_upload(matcher->backend, matcher->best_index, index, (size_t)n * sizeof *index));
    MTIP_TRY(backend_synchronize(matcher->backend));
cleanup:
    memory_free(&index);
    memory_free(&score);
    return status;
}

void matcher_draw(struct matcher *matcher, double share, uint64_t key)
{
    matcher->draw.key = key;
    matcher->draw.most = share < 1.0 ? (uint32_t)fmax(1.0, share * (double)UINT32_MAX) : 0;
}

enum mtip_status matcher_block(struct matcher *matcher, const void *log_slices, int64_t n_slices,
                               int64_t n_use, int64_t first_index)
{
    enum mtip_status status = MTIP_OK;
    const struct frames *frames = matcher->frames;
    const int64_t window = frames_window(frames);
    struct match_block block = {.ld = frames->n_pixel,
                                .slices = log_slices,
                                .n_slices = n_slices,
                                .n_use = n_use,
                                .first_index = first_index,
                                .draw = matcher->draw,
                                .precision = matcher->precision};
    if (n_slices > matcher->max_slices) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "%" PRId64 " slices for a matcher of %" PRId64,
                          n_slices, matcher->max_slices);
    }
    for (int64_t first = 0; first < frames->n && n_slices > 0; first += window) {
        /* the next window is copied meanwhile; after the last, the first, for the next block */
        const int64_t next = first + window < frames->n ? first + window : 0;
        block.draw.first_frame = frames->first + first;
        block.n_frames = frames->n - first < window ? frames->n - first : window;
        MTIP_TRY(frames_fetch(&block.frames, frames, matcher->backend, first, block.n_frames));
        MTIP_TRY(frames_prefetch(frames, matcher->backend, next));
        MTIP_TRY(matcher->ops->block(matcher->backend, matcher->handle, matcher->best_score + first,
                                     matcher->best_index + first, &block, matcher->workspace));
    }
cleanup:
    return status;
}

enum mtip_status matcher_best(struct matcher *matcher, double *score, int64_t *index)
{
    enum mtip_status status = MTIP_OK;
    const size_t n = (size_t)matcher->frames->n;
    MTIP_TRY(backend_download(matcher->backend, score, matcher->best_score, n * sizeof *score));
    MTIP_TRY(backend_download(matcher->backend, index, matcher->best_index, n * sizeof *index));
cleanup:
    return status;
}

enum mtip_status matcher_trials(struct matcher *matcher, double *scores, const void *log_slices,
                                int64_t first, int64_t count, int64_t n_trials, int64_t n_use)
{
    enum mtip_status status = MTIP_OK;
    struct match_block block = {.ld = matcher->frames->n_pixel,
                                .n_frames = count,
                                .slices = log_slices,
                                .n_slices = count * n_trials,
                                .n_use = n_use,
                                .precision = matcher->precision};
    if (block.n_slices > matcher->max_slices) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "%" PRId64 " trials for a matcher of %" PRId64,
                          block.n_slices, matcher->max_slices);
    }
    if (block.n_slices == 0) {
        return MTIP_OK;
    }
    MTIP_TRY(frames_fetch(&block.frames, matcher->frames, matcher->backend, first, count));
    MTIP_TRY(matcher->ops->trials(matcher->backend, matcher->scores, &block, n_trials));
    MTIP_TRY(backend_download(matcher->backend, scores, matcher->scores,
                              (size_t)block.n_slices * sizeof *scores));
cleanup:
    return status;
}
