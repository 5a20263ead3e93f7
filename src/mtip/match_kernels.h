/* match_kernels.h - launchers of the matching kernels; asynchronous on `stream`. The products themselves are cuBLAS's. */
#ifndef MTIP_MTIP_MATCH_KERNELS_H
#define MTIP_MTIP_MATCH_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "mtip/match_draw.h"
#include "nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the best of each row of scores [n_frames][n_slices] into best_score, best_index [n_frames]; score r of a row
 * has index first_index + r, equal scores go to the lower index, NaN and references that a frame has not drawn (match_draw.h; row n
 * is frame draw.first_frame + n) never win. */
cudaError_t match_best_launch(double *best_score, int64_t *best_index, const void *scores,
                              int64_t n_frames, int64_t n_slices, int64_t first_index,
                              struct match_draw draw, enum nufft_precision precision,
                              cudaStream_t stream);

/* wide[n][p] = frames[n * ld + p], [n_frames][n_use]. */
cudaError_t match_widen_launch(double *wide, const float *frames, int64_t ld, int64_t n_frames,
                               int64_t n_use, cudaStream_t stream);

/* scores[i] = sum_p frames[i / n_trials * ld + p] slices[i * n_use + p], i < n_slices. */
cudaError_t match_trials_launch(double *scores, const float *frames, int64_t ld, const void *slices,
                                int64_t n_slices, int64_t n_trials, int64_t n_use,
                                enum nufft_precision precision, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
