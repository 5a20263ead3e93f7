/* merge.c - sums over frames and ranks, and the three systems solved. */
#include "mtip/merge.h"

#include <stdlib.h>
#include <string.h>

#include "core/exact_sum.h"
#include "mtip/merge_ops.h"
#include "mtip/orient.h"
#include "mtip/slice_ops.h"
#include "nufft/nufft.h"

/* Requested errors of kernel and right-hand side. Weakly determined modes amplify them by up to the inverse of the
 * regularisation, 1e4: well under the noise in the first case, nothing to see in the second. */
#define TOLERANCE_SINGLE 1e-6
#define TOLERANCE_DOUBLE 1e-12

static double tolerance_of(enum nufft_precision precision)
{
    return precision == NUFFT_FLOAT ? TOLERANCE_SINGLE : TOLERANCE_DOUBLE;
}

struct merger {
    const struct backend *backend;   /* borrowed */
    const struct geometry *geometry; /* borrowed */
    const struct frames *frames;     /* borrowed */
    const struct merge_ops *ops;
    const struct slice_ops *slice_ops;
    int64_t max_frames;
    struct nufft_plan *plan;
    struct toeplitz_solver *solver;
    double *x, *y, *z;     /* backend, [max_frames][P] */
    double *strengths;     /* backend, [2][max_frames][P] */
    double *modes;         /* backend, complex [2][L][L][M] */
    double *sums;          /* backend, kernel and right-hand side of one half set */
    double *sums_host;     /* [2 half sets][kernel and right-hand side] */
    double *a;             /* backend, [M][M][M] */
    double *pixels;        /* backend, [P][3] */
    double *response;      /* backend, [P] */
    double *scale;         /* backend, [P] */
    double *scale_host;    /* [P] */
    double anchors[2];     /* of the kernel's and of the right-hand side's terms */
    double *fluence;       /* backend, [n] */
    double *matrices;      /* backend, [max_frames][9] */
    double *matrices_host; /* [max_frames][9] */
    int64_t *index;        /* backend, [max_frames] */
    int64_t *index_host;   /* [max_frames] */
};

static const struct merge_ops *const all_ops[BACKEND_COUNT] = {
    [BACKEND_CPU] = &merge_ops_cpu,
#ifdef MTIP_HAVE_CUDA
    [BACKEND_CUDA] = &merge_ops_cuda,
#endif
};

const struct merge_ops *merge_ops_of(enum backend_kind kind)
{
    return all_ops[kind];
}

static int64_t kernel_count(int64_t m)
{
    return (2 * m - 1) * (2 * m - 1) * m;
}

static int64_t rhs_count(int64_t m)
{
    return m * m * ((m + 1) / 2);
}

static struct nufft_options plan_options(const struct backend *backend, int64_t max_points)
{
    struct nufft_options options = nufft_options_default();
    options.backend = backend->kind == BACKEND_CUDA ? NUFFT_BACKEND_CUDA : NUFFT_BACKEND_CPU;
    options.order = NUFFT_ORDER_FFT;
    options.real_data = 1;
    options.n_threads = backend->n_threads;
    options.stream = backend->stream;
    options.max_points = max_points;
    return options;
}

enum mtip_status merger_plan_memory(struct memory_plan *plan, const struct backend *backend,
                                    const struct geometry *geometry, enum nufft_precision precision,
                                    int64_t max_frames)
{
    const int64_t m = geometry->grid_size, n_points = max_frames * geometry->n_pixel;
    const int64_t n_modes[3] = {2 * m - 1, 2 * m - 1, 2 * m - 1};
    const struct nufft_options options = plan_options(backend, n_points);
    const int on_device = backend->kind == BACKEND_CUDA;
    size_t host = 0, device = 0;
    const enum mtip_status status =
        nufft_plan_memory(&host, &device, 1, 3, n_modes, 2, tolerance_of(precision), NUFFT_DOUBLE,
                          &options, n_points);
    if (status == MTIP_OK) {
        memory_plan_add(plan, "merging transform", host, 0);
        if (on_device) {
            memory_plan_add(plan, "merging transform", device, 1);
        }
        memory_plan_add(plan, "merging points", 5 * (size_t)n_points * sizeof(double), on_device);
        memory_plan_add(plan, "merging sums",
                        (size_t)(4 * kernel_count(m) + kernel_count(m) + rhs_count(m)) *
                            sizeof(double),
                        on_device);
        memory_plan_add(plan, "merging sums",
                        (size_t)(2 * (kernel_count(m) + rhs_count(m))) * sizeof(double), 0);
        memory_plan_add(plan, "merging solver", toeplitz_bytes(m), on_device);
    }
    return status;
}

enum mtip_status merger_create(struct merger **merger, const struct backend *backend,
                               const struct geometry *geometry, const struct frames *frames,
                               enum nufft_precision precision, int64_t max_frames)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = geometry->grid_size, n_pixel = geometry->n_pixel;
    const int64_t n_modes[3] = {2 * m - 1, 2 * m - 1, 2 * m - 1};
    const int64_t n_points = max_frames * n_pixel;
    const int64_t n_sums = kernel_count(m) + rhs_count(m);
    const struct nufft_options options = plan_options(backend, n_points);

    *merger = NULL;
    struct merger *g = calloc(1, sizeof *g);
    if (g == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "merger: cannot allocate %zu bytes", sizeof *g);
    }
    g->backend = backend;
    g->geometry = geometry;
    g->frames = frames;
    g->ops = merge_ops_of(backend->kind);
    g->slice_ops = slice_ops_of(backend->kind);
    g->max_frames = max_frames;
    MTIP_TRY(nufft_plan_create(&g->plan, 1, 3, n_modes, -1, 2, tolerance_of(precision),
                               NUFFT_DOUBLE, &options));
    MTIP_TRY(toeplitz_create(&g->solver, backend, m));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->x, n_points, "merging points"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->y, n_points, "merging points"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->z, n_points, "merging points"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->strengths, 2 * n_points, "merging weights"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->modes, 4 * kernel_count(m), "merging modes"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->sums, n_sums, "merging sums"));
    MTIP_TRY(BACKEND_ALLOC_HOST(backend, &g->sums_host, 2 * n_sums, "merging sums"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->a, m * m * m, "autocorrelation"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->pixels, 3 * n_pixel, "pixel positions"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->response, n_pixel, "pixel response"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->scale, n_pixel, "pixel model"));
    MTIP_TRY(MEMORY_ALLOC(&g->scale_host, n_pixel, "pixel model"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->fluence, frames->n, "fluence"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->matrices, 9 * max_frames, "rotations"));
    MTIP_TRY(MEMORY_ALLOC(&g->matrices_host, 9 * max_frames, "rotations"));
    MTIP_TRY(BACKEND_ALLOC(backend, &g->index, max_frames, "frame list"));
    MTIP_TRY(MEMORY_ALLOC(&g->index_host, max_frames, "frame list"));
    MTIP_TRY(
        backend_upload(backend, g->pixels, geometry->x, 3 * (size_t)n_pixel * sizeof *g->pixels));
    MTIP_TRY(backend_upload(backend, g->response, geometry->response,
                            (size_t)n_pixel * sizeof *g->response));
    *merger = g;
    g = NULL;
cleanup:
    merger_destroy(&g);
    return status;
}

void merger_destroy(struct merger **merger)
{
    struct merger *g = *merger;
    if (g == NULL) {
        return;
    }
    memory_free(&g->index_host);
    backend_free(g->backend, &g->index);
    memory_free(&g->matrices_host);
    backend_free(g->backend, &g->matrices);
    backend_free(g->backend, &g->fluence);
    memory_free(&g->scale_host);
    backend_free(g->backend, &g->scale);
    backend_free(g->backend, &g->response);
    backend_free(g->backend, &g->pixels);
    backend_free(g->backend, &g->a);
    backend_free_host(g->backend, &g->sums_host);
    backend_free(g->backend, &g->sums);
    backend_free(g->backend, &g->modes);
    backend_free(g->backend, &g->strengths);
    backend_free(g->backend, &g->z);
    backend_free(g->backend, &g->y);
    backend_free(g->backend, &g->x);
    toeplitz_destroy(&g->solver);
    nufft_plan_destroy(&g->plan);
    free(g);
    *merger = NULL;
}

/* Adds the `count` frames listed in index_host to g->sums. */
static enum mtip_status add_batch(struct merger *g, const double *quaternions, int64_t count,
                                  int64_t n_use)
{
    enum mtip_status status = MTIP_OK;
    const struct backend *backend = g->backend;
    const int64_t m = g->geometry->grid_size;
    /* the frames of a batch lie between its first and its last */
    const int64_t first = g->index_host[0], n_spanned = g->index_host[count - 1] + 1 - first;
    const float *frames = NULL;
    for (int64_t i = 0; i < count; i++) {
        quaternion_to_matrix(g->matrices_host + 9 * i, quaternions + 4 * g->index_host[i]);
        g->index_host[i] -= first;
    }
    MTIP_TRY(frames_fetch(&frames, g->frames, backend, first, n_spanned));
    MTIP_TRY(backend_upload(backend, g->matrices, g->matrices_host,
                            9 * (size_t)count * sizeof *g->matrices));
    MTIP_TRY(backend_upload(backend, g->index, g->index_host, (size_t)count * sizeof *g->index));
    MTIP_TRY(g->slice_ops->rotate(backend, g->x, g->y, g->z, g->matrices, g->pixels, count, n_use,
                                  NUFFT_DOUBLE));
    MTIP_TRY(g->ops->strengths(backend, g->strengths, frames, g->frames->n_pixel, g->index, count,
                               g->fluence + first, g->response, g->scale, n_use));
    MTIP_TRY(nufft_plan_set_points(g->plan, count * n_use, g->x, g->y, g->z, 0, NULL, NULL, NULL));
    MTIP_TRY(nufft_plan_execute(g->plan, g->strengths, g->modes));
    MTIP_TRY(
        g->ops->accumulate(backend, g->sums, g->sums + kernel_count(m), g->modes, m, g->anchors));
    /* the lists on the host are filled again for the next batch */
    MTIP_TRY(backend_synchronize(backend));
cleanup:
    return status;
}

/* Sums of this rank's frames of one half set, to host memory. */
static enum mtip_status sum_half(struct merger *g, double *sums_host, int half,
                                 const double *quaternions, int64_t n_use)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = g->geometry->grid_size;
    const size_t bytes = (size_t)(kernel_count(m) + rhs_count(m)) * sizeof *g->sums;
    const struct frames *frames = g->frames;
    MTIP_TRY(backend_zero(g->backend, g->sums, bytes));
    for (int64_t chunk = 0; chunk < frames->own_chunks; chunk++) {
        int64_t begin = 0, n = 0, count = 0;
        comm_split(frames->n_total, frames->n_chunks, frames->first_chunk + chunk, &begin, &n);
        for (int64_t i = begin; i < begin + n; i++) {
            if (frames_half(i) == half) {
                g->index_host[count++] = i - frames->first;
            }
            if (count == g->max_frames || (count > 0 && i == begin + n - 1)) {
                MTIP_TRY(add_batch(g, quaternions, count, n_use));
                count = 0;
            }
        }
    }
    MTIP_TRY(backend_download(g->backend, sums_host, g->sums, bytes));
cleanup:
    return status;
}

static enum mtip_status sum_frames(struct merger *g, const double *quaternions,
                                   const double *fluence, const double *model, int64_t n_use)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n_pixel = g->geometry->n_pixel, m = g->geometry->grid_size;
    const int64_t n_sums = kernel_count(m) + rhs_count(m);
    double weights = 0.0, data = 0.0;
    for (int64_t p = 0; p < n_pixel; p++) {
        g->scale_host[p] = 1.0 / model[p];
    }
    for (int64_t p = 0; p < n_use; p++) {
        weights += g->geometry->response[p] * g->scale_host[p];
        data += g->frames->magnitude[p] * g->scale_host[p];
    }
    /* No mode exceeds the sum of its strengths' magnitudes by more than the transform's error; the mean fluence of the
     * frames in use is 1. */
    g->anchors[0] = exact_anchor(2.0 * weights * (double)g->frames->n_total);
    g->anchors[1] = exact_anchor(2.0 * data);
    MTIP_TRY(
        backend_upload(g->backend, g->scale, g->scale_host, (size_t)n_pixel * sizeof *g->scale));
    MTIP_TRY(
        backend_upload(g->backend, g->fluence, fluence, (size_t)g->frames->n * sizeof *g->fluence));
    for (int half = 0; half < 2; half++) {
        MTIP_TRY(sum_half(g, g->sums_host + half * n_sums, half, quaternions, n_use));
    }
cleanup:
    return status;
}

/* Solves one system from the summed half sets; a [M][M][M] host, in: A0. */
static enum mtip_status solve_set(struct merger *g, double *a, enum merge_set set,
                                  const struct toeplitz_options *options,
                                  struct toeplitz_metrics *metrics)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = g->geometry->grid_size;
    const int64_t n_sums = kernel_count(m) + rhs_count(m);
    const size_t bytes = (size_t)(m * m * m) * sizeof *a;
    const double *even = g->sums_host, *odd = g->sums_host + n_sums;
    double *both = NULL;
    const double *chosen = set == MERGE_ODD ? odd : even;
    if (set != MERGE_ALL && !(chosen[0] > 0.0)) {
        return MTIP_OK; /* a half set without a frame: its A stays zero */
    }
    if (set == MERGE_ALL) {
        MTIP_TRY(MEMORY_ALLOC(&both, n_sums, "merging sums"));
        for (int64_t i = 0; i < n_sums; i++) {
            both[i] = even[i] + odd[i];
        }
        chosen = both;
    }
    MTIP_TRY(backend_upload(g->backend, g->sums, chosen, (size_t)n_sums * sizeof *chosen));
    MTIP_TRY(backend_upload(g->backend, g->a, a, bytes));
    MTIP_TRY(toeplitz_solve(g->solver, g->a, g->sums, g->sums + kernel_count(m), options, metrics));
    MTIP_TRY(backend_download(g->backend, a, g->a, bytes));
cleanup:
    memory_free(&both);
    return status;
}

enum mtip_status merger_run(struct merger *g, const struct comm *comm, double *a,
                            const double *quaternions, const double *fluence, const double *model,
                            int64_t n_use, const struct toeplitz_options *options,
                            struct toeplitz_metrics *metrics)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = g->geometry->grid_size, volume = m * m * m;
    const int64_t n_sums = kernel_count(m) + rhs_count(m);
    /* The half sets are pulled toward nothing: a common A0 would make them agree where neither has data. */
    memset(a + volume, 0, (size_t)((MERGE_SETS - 1) * volume) * sizeof *a);
    MTIP_TRY(comm_agree(comm, sum_frames(g, quaternions, fluence, model, n_use)));
    MTIP_TRY(comm_allreduce_sum(comm, g->sums_host, 2 * n_sums));
    for (int set = 0; set < MERGE_SETS && status == MTIP_OK; set++) {
        if (set % comm->size == comm->rank) {
            status = solve_set(g, a + set * volume, (enum merge_set)set, options,
                               set == MERGE_ALL ? metrics : NULL);
        }
    }
    MTIP_TRY(comm_agree(comm, status));
    for (int set = 1; set < MERGE_SETS; set++) {
        const int owner = set % comm->size;
        if (owner != 0 && comm->rank == owner) {
            MTIP_TRY(
                comm_send(comm, a + set * volume, (size_t)volume * sizeof *a, 0, COMM_TAG_GRID));
        } else if (owner != 0 && comm->rank == 0) {
            MTIP_TRY(comm_receive(comm, a + set * volume, (size_t)volume * sizeof *a, owner,
                                  COMM_TAG_GRID));
        }
    }
cleanup:
    return status;
}
