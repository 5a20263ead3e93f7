/* nufft_cuda_points.c - CUDA backend: room for the points, and set_points. */
#include <inttypes.h>
#include <limits.h>

#include "core/memory.h"
#include "core/status_cuda.h"
#include "nufft/nufft_cuda.h"

void nufft_cuda_free_points(struct nufft_cuda_state *state)
{
    struct nufft_job *job = &state->job;
    for (int a = 0; a < 3; a++) {
        nufft_cuda_free(&job->s[a]);
        nufft_cuda_free(&job->cell[a]);
    }
    nufft_cuda_free(&job->order);
    nufft_cuda_free(&job->bin_start);
    nufft_cuda_free(&job->segment_start);
    nufft_cuda_free(&job->scan_totals);
    nufft_cuda_free(&job->subproblems);
    nufft_cuda_free(&job->sort_counts);
    state->point_capacity = 0;
    state->bin_capacity = 0;
    state->segment_capacity = 0;
    state->scan_capacity = 0;
    state->subproblem_capacity = 0;
    state->sort_capacity = 0;
}

/* Whether room for `capacity` will do for n: also given back when much smaller sets follow. */
static int is_enough(int64_t capacity, int64_t n)
{
    return n <= capacity && (n > capacity / 4 || capacity < 100000);
}

static enum mtip_status reserve_points(const struct nufft_plan *plan,
                                       struct nufft_cuda_state *state, int64_t n, int sorted)
{
    struct nufft_job *job = &state->job;
    enum mtip_status status = MTIP_OK;
    if (is_enough(state->point_capacity, n) && (!sorted || job->order != NULL)) {
        return MTIP_OK;
    }
    nufft_cuda_free_points(state);
    for (int a = 0; a < plan->dimension; a++) {
        MTIP_TRY(nufft_cuda_alloc(&job->s[a], n, state->real_size, "the points"));
        MTIP_TRY(nufft_cuda_alloc(&job->cell[a], n, sizeof *job->cell[a], "the points"));
    }
    if (sorted) {
        MTIP_TRY(nufft_cuda_alloc(&job->order, n, sizeof *job->order, "the points' order"));
    }
    state->point_capacity = n;
cleanup:
    return status;
}

/* Room for `count` items in *array, *capacity of which it has. */
static enum mtip_status reserve_array(void *array, int64_t *capacity, int64_t count, size_t size)
{
    if (is_enough(*capacity, count)) {
        return MTIP_OK;
    }
    nufft_cuda_free(array);
    *capacity = 0;
    const enum mtip_status status = nufft_cuda_alloc(array, count, size, "sorting the points");
    if (status == MTIP_OK) {
        *capacity = count;
    }
    return status;
}

/* Counters of the scans over bins, over segments, and over the counts of a stable sort. */
static int64_t scan_space(const struct nufft_bins *bins, int64_t sort_counts)
{
    const int64_t of_bins = nufft_scan_space(bins->n_bins + 1);
    const int64_t of_segments = nufft_scan_space(bins->n_segments + 1);
    const int64_t of_sort = nufft_scan_space(sort_counts);
    const int64_t most = of_bins > of_segments ? of_bins : of_segments;
    return most > of_sort ? most : of_sort;
}

static enum mtip_status reserve_bins(struct nufft_cuda_state *state, int64_t n)
{
    const int64_t sort_counts = state->job.exact ? nufft_sort_space(n) : 0;
    struct nufft_job *job = &state->job;
    const struct nufft_bins *bins = &job->bins;
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(reserve_array(&job->bin_start, &state->bin_capacity, bins->n_bins + 1,
                           sizeof *job->bin_start));
    MTIP_TRY(reserve_array(&job->segment_start, &state->segment_capacity, bins->n_segments + 1,
                           sizeof *job->segment_start));
    MTIP_TRY(reserve_array(&job->scan_totals, &state->scan_capacity, scan_space(bins, sort_counts),
                           sizeof *job->scan_totals));
    MTIP_TRY(reserve_array(&job->sort_counts, &state->sort_capacity, sort_counts,
                           sizeof *job->sort_counts));
    MTIP_TRY(reserve_array(&job->subproblems, &state->subproblem_capacity, job->max_subproblems,
                           sizeof *job->subproblems));
cleanup:
    return status;
}

size_t nufft_cuda_points_memory(const struct nufft_plan *plan,
                                const struct nufft_cuda_device *device, int64_t n_points)
{
    const size_t real = plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    const size_t a_point = (size_t)plan->dimension * (real + sizeof(int32_t)) + sizeof(uint32_t);
    size_t most = 0;
    /* The choice may differ on another device: the largest of all. */
    for (int method = NUFFT_METHOD_GM_SORT; method <= NUFFT_METHOD_COLUMN; method++) {
        struct nufft_bins bins;
        nufft_cuda_design_bins(&bins, plan, device, method, n_points);
        const int64_t sort_counts =
            nufft_cuda_is_exact(plan, method) ? nufft_sort_space(n_points) : 0;
        const size_t bytes =
            sizeof(uint32_t) * (size_t)(bins.n_bins + 1 + bins.n_segments + 1 + sort_counts +
                                        scan_space(&bins, sort_counts)) +
            sizeof(struct nufft_subproblem) * (size_t)nufft_cuda_max_subproblems(&bins, n_points);
        most = bytes > most ? bytes : most;
    }
    return (size_t)n_points * a_point + most;
}

/* Sorts on the device and waits for its report. */
static enum mtip_status sort_points(struct nufft_cuda_state *state, const void *const x[3],
                                    int sorted)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_job *job = &state->job;
    struct nufft_point_report report = {.bad = ULLONG_MAX};
    struct nufft_job used = *job;
    if (sorted) {
        CUDA_TRY(cudaMemsetAsync(job->bin_start, 0,
                                 (size_t)(job->bins.n_bins + 1) * sizeof *job->bin_start,
                                 state->stream));
    } else {
        used.order = NULL;
    }
    CUDA_TRY(cudaMemsetAsync(job->report, 0, sizeof *job->report, state->stream));
    CUDA_TRY(cudaMemsetAsync(&job->report->bad, 0xff, sizeof job->report->bad, state->stream));
    CUDA_TRY(nufft_launch_points(&used, x, state->stream));
    CUDA_TRY(cudaMemcpyAsync(&report, job->report, sizeof report, cudaMemcpyDeviceToHost,
                             state->stream));
    CUDA_TRY(cudaStreamSynchronize(state->stream));
    if (report.bad != ULLONG_MAX) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT, "nufft: point %llu has a coordinate that is not finite",
                  report.bad);
    }
    job->n_subproblems = sorted ? (int64_t)report.n_subproblems : 0;
    job->most_subproblems = (int64_t)report.most_subproblems;
cleanup:
    return status;
}

static enum mtip_status set_points_here(struct nufft_plan *plan, int64_t n, const void *const x[3])
{
    struct nufft_cuda_state *state = plan->state;
    struct nufft_job *job = &state->job;
    enum mtip_status status = MTIP_OK;
    state->method = nufft_cuda_choose_method(plan, &state->properties, n);
    const int sorted = state->method != NUFFT_METHOD_GM;
    job->exact = nufft_cuda_is_exact(plan, state->method);
    job->n_points = 0;
    job->n_subproblems = 0;
    nufft_cuda_design_bins(&job->bins, plan, &state->properties, state->method, n);
    job->max_subproblems = nufft_cuda_max_subproblems(&job->bins, n);
    if (n == 0) {
        return MTIP_OK;
    }
    MTIP_TRY(reserve_points(plan, state, n, sorted));
    if (sorted) {
        MTIP_TRY(reserve_bins(state, n));
    }
    job->n_points = n;
    MTIP_TRY(sort_points(state, x, sorted));
cleanup:
    if (status != MTIP_OK) {
        job->n_points = 0;
        job->n_subproblems = 0;
    }
    return status;
}

enum mtip_status nufft_cuda_set_points(struct nufft_plan *plan, int64_t n, const void *x,
                                       const void *y, const void *z)
{
    enum mtip_status status = MTIP_OK;
    const void *const coordinates[3] = {x, y, z};
    int previous = -1;
    if (n >= (int64_t)UINT32_MAX) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "nufft: %" PRId64 " points exceed the %" PRIu32 " of one plan; use several plans",
                  n, UINT32_MAX - 1);
    }
    MTIP_TRY(nufft_cuda_enter(plan->state, &previous));
    status = set_points_here(plan, n, coordinates);
    nufft_cuda_leave(plan->state, previous);
cleanup:
    return status;
}
