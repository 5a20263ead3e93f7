/* slice.c - slicing: the algorithm, over the NUFFT plan and the table of kernels. */
#include "mtip/slice.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "mtip/orient.h"
#include "mtip/slice_ops.h"

/* Requested errors of the slices: well under the counting noise, and small against the outermost
 * intensities, which are some 1e-4 of the innermost. */
#define TOLERANCE_SINGLE 1e-5
#define TOLERANCE_DOUBLE 1e-8

struct slicer {
    const struct backend *backend;   /* borrowed */
    const struct geometry *geometry; /* borrowed */
    const struct slice_ops *ops;
    enum nufft_precision precision;
    int64_t max_rotations;
    double floor;
    struct nufft_plan *plan;
    void *x, *y, *z;       /* backend, [max_rotations][P] */
    void *modes;           /* backend, half spectrum of A, complex [M][M][(M+1)/2] */
    double *pixels;        /* backend, [P][3] */
    double *response;      /* backend, [P] */
    double *log_model;     /* backend, [P] */
    double *model;         /* host, [P] */
    double *matrices;      /* backend, [max_rotations][9] */
    double *matrices_host; /* [max_rotations][9] */
    double *sums;          /* backend, [max_rotations] */
};

static const struct slice_ops *const all_ops[BACKEND_COUNT] = {
    [BACKEND_CPU] = &slice_ops_cpu,
#ifdef MTIP_HAVE_CUDA
    [BACKEND_CUDA] = &slice_ops_cuda,
#endif
};

const struct slice_ops *slice_ops_of(enum backend_kind kind)
{
    return all_ops[kind];
}

size_t slicer_item_size(enum nufft_precision precision)
{
    return precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
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

static double tolerance_of(enum nufft_precision precision)
{
    return precision == NUFFT_FLOAT ? TOLERANCE_SINGLE : TOLERANCE_DOUBLE;
}

enum mtip_status slicer_plan_memory(struct memory_plan *plan, const struct backend *backend,
                                    const struct geometry *geometry, enum nufft_precision precision,
                                    int64_t max_rotations)
{
    const int64_t n_points = max_rotations * geometry->n_pixel;
    const int64_t n_modes[3] = {geometry->grid_size, geometry->grid_size, geometry->grid_size};
    const struct nufft_options options = plan_options(backend, n_points);
    const int on_device = backend->kind == BACKEND_CUDA;
    size_t host = 0, device = 0;
    const enum mtip_status status = nufft_plan_memory(
        &host, &device, 2, 3, n_modes, 1, tolerance_of(precision), precision, &options, n_points);
    if (status == MTIP_OK) {
        memory_plan_add(plan, "slicing transform", host, 0);
        if (on_device) {
            memory_plan_add(plan, "slicing transform", device, 1);
        }
        memory_plan_add(plan, "slice points", 3 * (size_t)n_points * slicer_item_size(precision),
                        on_device);
    }
    return status;
}

enum mtip_status slicer_create(struct slicer **slicer, const struct backend *backend,
                               const struct geometry *geometry, enum nufft_precision precision,
                               int64_t max_rotations)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = geometry->grid_size, n_pixel = geometry->n_pixel;
    const int64_t n_modes[3] = {m, m, m};
    const int64_t n_points = max_rotations * n_pixel;
    const size_t item = slicer_item_size(precision);
    const struct nufft_options options = plan_options(backend, n_points);

    *slicer = NULL;
    struct slicer *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "slicer: cannot allocate %zu bytes", sizeof *s);
    }
    s->backend = backend;
    s->geometry = geometry;
    s->precision = precision;
    s->max_rotations = max_rotations;
    s->ops = slice_ops_of(backend->kind);
    MTIP_TRY(nufft_plan_create(&s->plan, 2, 3, n_modes, +1, 1, tolerance_of(precision), precision,
                               &options));
    MTIP_TRY(backend_alloc(backend, &s->x, n_points, item, "slice points"));
    MTIP_TRY(backend_alloc(backend, &s->y, n_points, item, "slice points"));
    MTIP_TRY(backend_alloc(backend, &s->z, n_points, item, "slice points"));
    MTIP_TRY(backend_alloc(backend, &s->modes, m * m * ((m + 1) / 2), 2 * item, "slice modes"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->pixels, 3 * n_pixel, "pixel positions"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->response, n_pixel, "pixel response"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->log_model, n_pixel, "pixel model"));
    MTIP_TRY(MEMORY_ALLOC(&s->model, n_pixel, "pixel model"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->matrices, 9 * max_rotations, "rotations"));
    MTIP_TRY(MEMORY_ALLOC(&s->matrices_host, 9 * max_rotations, "rotations"));
    MTIP_TRY(BACKEND_ALLOC(backend, &s->sums, max_rotations, "slice sums"));
    MTIP_TRY(
        backend_upload(backend, s->pixels, geometry->x, 3 * (size_t)n_pixel * sizeof *s->pixels));
    MTIP_TRY(backend_upload(backend, s->response, geometry->response,
                            (size_t)n_pixel * sizeof *s->response));
    *slicer = s;
    s = NULL;

cleanup:
    slicer_destroy(&s);
    return status;
}

void slicer_destroy(struct slicer **slicer)
{
    struct slicer *s = *slicer;
    if (s == NULL) {
        return;
    }
    backend_free(s->backend, &s->sums);
    memory_free(&s->matrices_host);
    backend_free(s->backend, &s->matrices);
    memory_free(&s->model);
    backend_free(s->backend, &s->log_model);
    backend_free(s->backend, &s->response);
    backend_free(s->backend, &s->pixels);
    backend_free(s->backend, &s->modes);
    backend_free(s->backend, &s->z);
    backend_free(s->backend, &s->y);
    backend_free(s->backend, &s->x);
    nufft_plan_destroy(&s->plan);
    free(s);
    *slicer = NULL;
}

/* Real even A in FFT order to the stored half of its modes: k_x = 0 .. (M-1)/2, imaginary part zero. */
static void half_modes(void *modes, const double *a, int64_t m, enum nufft_precision precision)
{
    const int64_t half = (m + 1) / 2;
    for (int64_t row = 0; row < m * m; row++) {
        for (int64_t x = 0; x < half; x++) {
            const double value = a[row * m + x];
            const int64_t at = 2 * (row * half + x);
            if (precision == NUFFT_FLOAT) {
                ((float *)modes)[at] = (float)value;
                ((float *)modes)[at + 1] = 0.0f;
            } else {
                ((double *)modes)[at] = value;
                ((double *)modes)[at + 1] = 0.0;
            }
        }
    }
}

enum mtip_status slicer_set_autocorrelation(struct slicer *slicer, const double *autocorrelation)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = slicer->geometry->grid_size;
    const int64_t n_modes = m * m * ((m + 1) / 2);
    const size_t mode_size = 2 * slicer_item_size(slicer->precision);
    void *modes = NULL;

    MTIP_TRY(memory_alloc(&modes, n_modes, mode_size, "slice modes"));
    half_modes(modes, autocorrelation, m, slicer->precision);
    MTIP_TRY(backend_upload(slicer->backend, slicer->modes, modes, (size_t)n_modes * mode_size));
    MTIP_TRY(nufft_plan_prepare(slicer->plan, slicer->modes));
    /* the upload reads a host array that goes away here */
    MTIP_TRY(backend_synchronize(slicer->backend));

cleanup:
    memory_free(&modes);
    return status;
}

enum mtip_status slicer_set_isotropic(struct slicer *slicer, const double *model, double floor)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n_pixel = slicer->geometry->n_pixel;
    double *log_model = NULL;

    if (!(floor > 0.0)) {
        MTIP_FAIL(MTIP_ERR_DATA,
                  "the model intensity is zero everywhere: there is nothing to match");
    }
    MTIP_TRY(MEMORY_ALLOC(&log_model, n_pixel, "pixel model"));
    for (int64_t p = 0; p < n_pixel; p++) {
        slicer->model[p] = model[p];
        log_model[p] = log(model[p]);
    }
    slicer->floor = floor;
    MTIP_TRY(backend_upload(slicer->backend, slicer->log_model, log_model,
                            (size_t)n_pixel * sizeof *log_model));
    MTIP_TRY(backend_synchronize(slicer->backend));

cleanup:
    memory_free(&log_model);
    return status;
}

enum mtip_status slicer_intensities(struct slicer *slicer, void *values, const double *quaternions,
                                    int64_t n_rotations, int64_t n_use)
{
    enum mtip_status status = MTIP_OK;
    const struct backend *backend = slicer->backend;
    if (n_rotations > slicer->max_rotations) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "%" PRId64 " rotations for a slicer of %" PRId64,
                          n_rotations, slicer->max_rotations);
    }
    if (n_rotations == 0 || n_use == 0) {
        return MTIP_OK;
    }
    for (int64_t r = 0; r < n_rotations; r++) {
        quaternion_to_matrix(slicer->matrices_host + 9 * r, quaternions + 4 * r);
    }
    MTIP_TRY(backend_upload(backend, slicer->matrices, slicer->matrices_host,
                            9 * (size_t)n_rotations * sizeof *slicer->matrices));
    MTIP_TRY(slicer->ops->rotate(backend, slicer->x, slicer->y, slicer->z, slicer->matrices,
                                 slicer->pixels, n_rotations, n_use, slicer->precision));
    MTIP_TRY(nufft_plan_set_points(slicer->plan, n_rotations * n_use, slicer->x, slicer->y,
                                   slicer->z, 0, NULL, NULL, NULL));
    MTIP_TRY(nufft_plan_interpolate(slicer->plan, values));
cleanup:
    return status;
}

enum mtip_status slicer_log_slices(struct slicer *slicer, void *values, double *sums,
                                   const double *quaternions, int64_t n_rotations, int64_t n_use)
{
    enum mtip_status status = MTIP_OK;
    double model_sum = 0.0;
    for (int64_t p = 0; p < n_use; p++) {
        model_sum += slicer->geometry->response[p] * slicer->model[p];
    }
    MTIP_TRY(slicer_intensities(slicer, values, quaternions, n_rotations, n_use));
    MTIP_TRY(slicer->ops->finish(slicer->backend, values, slicer->sums, slicer->response,
                                 slicer->log_model, log(model_sum), slicer->floor, n_rotations,
                                 n_use, slicer->precision));
    if (sums != NULL) {
        MTIP_TRY(backend_download(slicer->backend, sums, slicer->sums,
                                  (size_t)n_rotations * sizeof *sums));
    }
cleanup:
    return status;
}
