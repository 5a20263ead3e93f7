/* model.c - the isotropic model from frames and from slices. */
#include "mtip/model.h"

#include <math.h>

#include "core/exact_sum.h"
#include "core/memory.h"
#include "mtip/orient.h"

/* Rotations averaged: with the smoothing, some thousand values a pixel. */
#define N_ROTATIONS 64

/* Pixels either side, in order of |s|, over which the mean is smoothed. */
#define SMOOTHING 8

/* model[p] = mean of raw over p - SMOOTHING .. p + SMOOTHING (fewer at the ends, symmetric, so that the steep
 * centre is not biased), then not less than floor times the maximum. 0 when nothing is positive. */
static double smooth_and_floor(double *model, const double *raw, int64_t n, double floor)
{
    double largest = 0.0;
    for (int64_t p = 0; p < n; p++) {
        int64_t reach = SMOOTHING;
        reach = p < reach ? p : reach;
        reach = n - 1 - p < reach ? n - 1 - p : reach;
        double sum = 0.0;
        for (int64_t q = p - reach; q <= p + reach; q++) {
            sum += raw[q];
        }
        model[p] = sum / (double)(2 * reach + 1);
        largest = fmax(largest, model[p]);
    }
    for (int64_t p = 0; p < n; p++) {
        model[p] = fmax(model[p], floor * largest);
    }
    return largest;
}

enum mtip_status model_from_frames(double *model, const struct comm *comm,
                                   const struct frames *frames, const struct geometry *geometry,
                                   const double *fluence, double floor)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n_pixel = geometry->n_pixel;
    const double anchor = exact_anchor(frames->largest * (double)frames->n_total);
    double *sum = NULL; /* [P] of photons */
    double total = 0.0; /* of fluences */

    MTIP_TRY(comm_agree(comm, MEMORY_ALLOC(&sum, n_pixel, "isotropic model")));
    MTIP_TRY(exact_sum(comm, &total, fluence, frames->n));
    for (int64_t f = 0; f < frames->n; f++) {
        if (!(fluence[f] > 0.0)) {
            continue;
        }
        const float *d = frames->host + f * n_pixel;
        for (int64_t p = 0; p < n_pixel; p++) {
            sum[p] += exact_round((double)d[p], anchor);
        }
    }
    MTIP_TRY(comm_allreduce_sum(comm, sum, n_pixel));
    for (int64_t p = 0; p < n_pixel; p++) {
        sum[p] /= geometry->response[p] * fmax(total, 1e-300);
    }
    if (!(smooth_and_floor(model, sum, n_pixel, floor) > 0.0)) {
        MTIP_FAIL(MTIP_ERR_DATA, "no frame has a photon in the used pixels: there is nothing to "
                                 "reconstruct from");
    }
cleanup:
    memory_free(&sum);
    return status;
}

enum mtip_status model_from_slicer(double *model, struct slicer *slicer,
                                   const struct backend *backend, const struct geometry *geometry,
                                   enum nufft_precision precision, int64_t max_rotations,
                                   double floor)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n_pixel = geometry->n_pixel;
    const int64_t batch = max_rotations < N_ROTATIONS ? max_rotations : N_ROTATIONS;
    const size_t item = slicer_item_size(precision);
    void *values = NULL, *host = NULL;
    double *mean = NULL;
    double quaternions[4 * N_ROTATIONS];

    MTIP_TRY(backend_alloc(backend, &values, batch * n_pixel, item, "model slices"));
    MTIP_TRY(memory_alloc(&host, batch * n_pixel, item, "model slices"));
    MTIP_TRY(MEMORY_ALLOC(&mean, n_pixel, "isotropic model"));
    for (int64_t r = 0; r < N_ROTATIONS; r++) {
        orient_super_fibonacci(quaternions + 4 * r, r, N_ROTATIONS, NULL);
    }
    for (int64_t first = 0; first < N_ROTATIONS; first += batch) {
        const int64_t count = N_ROTATIONS - first < batch ? N_ROTATIONS - first : batch;
        MTIP_TRY(slicer_intensities(slicer, values, quaternions + 4 * first, count, n_pixel));
        MTIP_TRY(backend_download(backend, host, values, (size_t)(count * n_pixel) * item));
        for (int64_t r = 0; r < count; r++) {
            for (int64_t p = 0; p < n_pixel; p++) {
                const int64_t at = r * n_pixel + p;
                mean[p] += (precision == NUFFT_FLOAT ? (double)((float *)host)[at]
                                                     : ((double *)host)[at]) /
                           N_ROTATIONS;
            }
        }
    }
    (void)smooth_and_floor(model, mean, n_pixel, floor);
cleanup:
    memory_free(&mean);
    memory_free(&host);
    backend_free(backend, &values);
    return status;
}
