/* slice.h - slices of the model intensity: what a frame of known orientation should look like.
 *
 *   M  grid size, P used pixels, n_use <= P leading pixels (geometry.h), R rotations of one call
 *
 * With A the autocorrelation of the density, slice r has intensity
 *     W_rp = max( sum_k A_k exp(i k . (R_r x_p)), floor )        type-2 NUFFT, real-data mode
 * and what matching needs is its logarithm against the isotropic model m_p, the response c taken in:
 *     L_rp = log(W_rp / m_p) - log( sum_p c_p W_rp / sum_p c_p m_p )
 * so that sum_p d_p L_rp is the Poisson log-likelihood of frame d, fluence profiled out, relative to
 * the isotropic model (DESIGN section 3.2). Taken relative the scores are small and single precision keeps
 * their differences.
 */
#ifndef MTIP_MTIP_SLICE_H
#define MTIP_MTIP_SLICE_H

#include <stdint.h>

#include "core/backend.h"
#include "core/memory.h"
#include "core/status.h"
#include "mtip/geometry.h"
#include "nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

struct slicer;

/* Makes a slicer for up to max_rotations rotations a call. `backend` and `geometry` are borrowed and must
 * outlive it. precision is that of the slices: NUFFT_FLOAT (tolerance 1e-5) or NUFFT_DOUBLE (1e-8). */
enum mtip_status slicer_create(struct slicer **slicer, const struct backend *backend,
                               const struct geometry *geometry, enum nufft_precision precision,
                               int64_t max_rotations) MTIP_NODISCARD;
void slicer_destroy(struct slicer **slicer);

/* Adds what a slicer of these arguments takes to the plan. */
enum mtip_status slicer_plan_memory(struct memory_plan *plan, const struct backend *backend,
                                    const struct geometry *geometry, enum nufft_precision precision,
                                    int64_t max_rotations) MTIP_NODISCARD;

/* Bytes of one value of a slice. */
size_t slicer_item_size(enum nufft_precision precision);

/* Gives the autocorrelation: host [M][M][M], FFT order (origin at index 0), real and even. */
enum mtip_status slicer_set_autocorrelation(struct slicer *slicer,
                                            const double *autocorrelation) MTIP_NODISCARD;

/* Gives the isotropic model, host [P], m_p > 0, and the floor of slices, > 0. */
enum mtip_status slicer_set_isotropic(struct slicer *slicer, const double *model,
                                      double floor) MTIP_NODISCARD;

/* Intensities before the floor: values, backend memory, [R][n_use] of the slicer's precision;
 * quaternions host [R][4]. */
enum mtip_status slicer_intensities(struct slicer *slicer, void *values, const double *quaternions,
                                    int64_t n_rotations, int64_t n_use) MTIP_NODISCARD;

/* L as above, and sums[r] = sum_p c_p W_rp, host [R] (NULL = not wanted). */
enum mtip_status slicer_log_slices(struct slicer *slicer, void *values, double *sums,
                                   const double *quaternions, int64_t n_rotations,
                                   int64_t n_use) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
