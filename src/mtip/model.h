/* model.h - the isotropic model: mean intensity by |s| at the used pixels, which sets the weights of the merge
 * and the zero point of the scores.
 *
 *   P used pixels in ascending |s| (geometry.h), n_use <= P leading pixels in use
 */
#ifndef MTIP_MTIP_MODEL_H
#define MTIP_MTIP_MODEL_H

#include <stdint.h>

#include "core/comm.h"
#include "core/status.h"
#include "mtip/frames.h"
#include "mtip/geometry.h"
#include "mtip/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From the frames: mean over all frames of d / (phi c), smoothed over neighbours in |s|, not less than `floor`
 * times its maximum. model host [P]; fluence host [n]. Collective. Error MTIP_ERR_DATA where no frame has a
 * photon. */
enum mtip_status model_from_frames(double *model, const struct comm *comm,
                                   const struct frames *frames, const struct geometry *geometry,
                                   const double *fluence, double floor) MTIP_NODISCARD;

/* From the autocorrelation the slicer holds: mean over a fixed even set of rotations, smoothed and floored
 * likewise; the same on every rank. Not collective. */
enum mtip_status model_from_slicer(double *model, struct slicer *slicer,
                                   const struct backend *backend, const struct geometry *geometry,
                                   enum nufft_precision precision, int64_t max_rotations,
                                   double floor) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
