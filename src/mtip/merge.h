/* merge.h - one autocorrelation from all frames of all ranks.
 *
 *   M  grid size, P used pixels, n frames of this rank, n_use <= P leading pixels
 *
 * Weighted least squares (DESIGN section 3.3): frame n, pixel p measures I(R_n x_p) as d_np / (phi_n c_p) with
 * weight w_np = phi_n c_p / m_p, m the isotropic model: the inverse Poisson variance up to a constant, taken
 * from the mean, since weights from the single datum would bias low counts. Kernel and right-hand side are
 * one type-1 NUFFT of two real vectors in double precision (tolerance 1e-6; 1e-12 in runs of double precision) a chunk of
 * frames (frames.h), and the chunks are summed exactly (core/exact_sum.h), so that the sums are the same bits for every
 * number of ranks. Frames of even and odd index are summed apart, which gives the half sets for nothing.
 */
#ifndef MTIP_MTIP_MERGE_H
#define MTIP_MTIP_MERGE_H

#include <stdint.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/memory.h"
#include "core/status.h"
#include "mtip/frames.h"
#include "mtip/geometry.h"
#include "mtip/toeplitz.h"
#include "nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The systems that are solved: all frames, and each half set. */
enum merge_set { MERGE_ALL = 0, MERGE_EVEN = 1, MERGE_ODD = 2, MERGE_SETS = 3 };

struct merger;

/* Makes a merger for batches of up to max_frames frames; with fewer than frames_half_chunk(frames) a chunk takes several
 * transforms, and the sums depend on max_frames, as rounding does. precision: that of the run, which sets the tolerance. All
 * pointers are borrowed. */
enum mtip_status merger_create(struct merger **merger, const struct backend *backend,
                               const struct geometry *geometry, const struct frames *frames,
                               enum nufft_precision precision, int64_t max_frames) MTIP_NODISCARD;
void merger_destroy(struct merger **merger);

/* Adds what a merger of these arguments takes to the plan. */
enum mtip_status merger_plan_memory(struct memory_plan *plan, const struct backend *backend,
                                    const struct geometry *geometry, enum nufft_precision precision,
                                    int64_t max_frames) MTIP_NODISCARD;

/* Sums and solves. Collective, and agrees: all ranks fail together.
 *   a            host [MERGE_SETS][M][M][M], FFT order. In, on every rank: a[MERGE_ALL] is the previous A, toward
 *                which the system of all frames is pulled (the half sets toward zero). Out, on rank 0: the three solutions (the others'
 *                arrays are workspace)
 *   quaternions  host [n][4], fluence host [n], mean 1 over the frames of all ranks that have
 *                any; frames of fluence <= 0 are left out
 *   model        host [P], m_p > 0
 * Set s is solved by rank s modulo the number of ranks. metrics (of MERGE_ALL, on rank 0) may be NULL. */
enum mtip_status merger_run(struct merger *merger, const struct comm *comm, double *a,
                            const double *quaternions, const double *fluence, const double *model,
                            int64_t n_use, const struct toeplitz_options *options,
                            struct toeplitz_metrics *metrics) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
