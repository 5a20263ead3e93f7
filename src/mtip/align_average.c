/* align_average.c - the average of the better phasings, and the PRTF that tells how well they agree. */
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "mtip/align.h"
#include "mtip/resolution.h"

/* Rounds of "align to the mean, average"; the first mean is the best density. */
#define AVERAGE_ROUNDS 2

/* order[0 .. keep-1] = indices of the lowest R factors, ascending, by selection. */
static void best_first(int64_t *order, const double *r_factor, int64_t n, int64_t keep)
{
    for (int64_t i = 0; i < n; i++) {
        order[i] = i;
    }
    for (int64_t i = 0; i < keep; i++) {
        int64_t best = i;
        for (int64_t j = i + 1; j < n; j++) {
            const double r = r_factor[order[j]], r_best = r_factor[order[best]];
            if (r < r_best || (isnan(r_best) && !isnan(r)) ||
                (r == r_best && order[j] < order[best])) {
                best = j;
            }
        }
        const int64_t swap = order[i];
        order[i] = order[best];
        order[best] = swap;
    }
}

static void average(double *mean, const double *densities, const int64_t *order, int64_t keep,
                    int64_t n)
{
    memset(mean, 0, (size_t)n * sizeof *mean);
    for (int64_t j = 0; j < keep; j++) {
        const double *density = densities + order[j] * n;
        for (int64_t i = 0; i < n; i++) {
            mean[i] += density[i] / (double)keep;
        }
    }
}

/* Adds |F| / count of a density to size [n_half]. */
static enum mtip_status add_magnitudes(const struct aligner *aligner, double *size,
                                       double *spectrum, const double *density, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    const struct fft_plan *fft = aligner_fft(aligner);
    MTIP_TRY(fft_plan_forward(fft, density, spectrum));
    for (int64_t i = 0; i < fft_half_count(fft->n); i++) {
        size[i] += hypot(spectrum[2 * i], spectrum[2 * i + 1]) / (double)count;
    }
cleanup:
    return status;
}

/* sum |mean F| / sum mean |F| by shell. */
static enum mtip_status transfer_function(const struct aligner *aligner, double *prtf,
                                          const double *mean, const double *densities,
                                          const int64_t *order, int64_t keep, const uint8_t *use)
{
    enum mtip_status status = MTIP_OK;
    const int64_t M = aligner_grid_size(aligner), n_shells = resolution_n_shells(M);
    const int64_t n_half = fft_half_count(aligner_fft(aligner)->n);
    double *spectrum = NULL, *of_each = NULL, *of_mean = NULL, *shells = NULL;
    MTIP_TRY(MEMORY_ALLOC(&spectrum, 2 * n_half, "PRTF spectrum"));
    MTIP_TRY(MEMORY_ALLOC(&of_each, n_half, "PRTF magnitudes"));
    MTIP_TRY(MEMORY_ALLOC(&of_mean, n_half, "PRTF magnitudes"));
    MTIP_TRY(MEMORY_ALLOC(&shells, n_shells, "PRTF"));
    for (int64_t j = 0; j < keep; j++) {
        MTIP_TRY(
            add_magnitudes(aligner, of_each, spectrum, densities + order[j] * M * M * M, keep));
    }
    MTIP_TRY(add_magnitudes(aligner, of_mean, spectrum, mean, 1));
    resolution_shell_mean(shells, of_each, use, M);
    resolution_shell_mean(prtf, of_mean, use, M);
    for (int64_t i = 0; i < n_shells; i++) {
        prtf[i] = shells[i] > 0 ? prtf[i] / shells[i] : 0.0;
    }
cleanup:
    memory_free(&shells);
    memory_free(&of_mean);
    memory_free(&of_each);
    memory_free(&spectrum);
    return status;
}

enum mtip_status aligner_average(struct aligner *aligner, double *mean, double *prtf,
                                 double *correlation, double *densities, const double *r_factor,
                                 const uint8_t *use, int64_t n, int64_t keep)
{
    enum mtip_status status = MTIP_OK;
    const int64_t M = aligner_grid_size(aligner), volume = M * M * M;
    int64_t *order = NULL;
    if (n < 1 || keep < 1 || keep > n) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "average of %lld of %lld densities; it takes 1 up to all of them",
                          (long long)keep, (long long)n);
    }
    MTIP_TRY(MEMORY_ALLOC(&order, n, "order of densities"));
    best_first(order, r_factor, n, keep);
    memcpy(mean, densities + order[0] * volume, (size_t)volume * sizeof *mean);
    for (int64_t j = 0; correlation != NULL && j < n; j++) {
        correlation[j] = 0;
    }
    for (int round = 0; round < AVERAGE_ROUNDS; round++) {
        for (int64_t j = 0; j < keep; j++) {
            struct align_result result;
            double *density = densities + order[j] * volume;
            MTIP_TRY(aligner_align(aligner, density, mean, use, &result));
            if (correlation != NULL) {
                correlation[order[j]] = result.correlation;
            }
        }
        average(mean, densities, order, keep, volume);
    }
    if (prtf != NULL) {
        MTIP_TRY(transfer_function(aligner, prtf, mean, densities, order, keep, use));
    }
cleanup:
    memory_free(&order);
    return status;
}
