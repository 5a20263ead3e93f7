/* match.h - which reference slice, and which small turn about it, explains a frame best.
 *
 *   n  frames of this rank, P used pixels (leading dimension of frames), n_use <= P pixels in use,
 *   R  slices of a block, T trials a frame; L log-slices (slice.h), score = sum_p d_np L_rp
 */
#ifndef MTIP_MTIP_MATCH_H
#define MTIP_MTIP_MATCH_H

#include <stdint.h>

#include "core/backend.h"
#include "core/status.h"
#include "mtip/frames.h"
#include "nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

struct matcher;

/* Makes a matcher for the frames of this rank (borrowed, as is `backend`) and blocks of up to max_slices slices.
 * precision is that of the log-slices and of the products. */
enum mtip_status matcher_create(struct matcher **matcher, const struct backend *backend,
                                const struct frames *frames, enum nufft_precision precision,
                                int64_t max_slices) MTIP_NODISCARD;
void matcher_destroy(struct matcher **matcher);

/* Bytes of backend memory a matcher takes. */
size_t matcher_bytes(const struct backend *backend, const struct frames *frames,
                     enum nufft_precision precision, int64_t max_slices);

/* Forgets the best references found so far; each frame is matched with all that come. */
enum mtip_status matcher_reset(struct matcher *matcher) MTIP_NODISCARD;

/* Until the next reset each frame is matched with a share of the references, 0 < share <= 1, drawn by `key`, the frame's
 * index in the run and the reference's: the same for every number of ranks. */
void matcher_draw(struct matcher *matcher, double share, uint64_t key);

/* Scores all frames against a block of log-slices [R][n_use] (backend memory) whose first reference has index
 * first_index, and keeps each frame's best. Equal scores go to the lower index, so that the order of
 * blocks does not matter. */
enum mtip_status matcher_block(struct matcher *matcher, const void *log_slices, int64_t n_slices,
                               int64_t n_use, int64_t first_index) MTIP_NODISCARD;

/* Best score and reference index of every frame so far, host [n]; index -1 where no candidate was seen. */
enum mtip_status matcher_best(struct matcher *matcher, double *score,
                              int64_t *index) MTIP_NODISCARD;

/* Scores frames first .. first + count - 1 of this rank against trials of their own: log_slices [count][T][n_use],
 * scores host [count][T]; count * T <= max_slices. */
enum mtip_status matcher_trials(struct matcher *matcher, double *scores, const void *log_slices,
                                int64_t first, int64_t count, int64_t n_trials,
                                int64_t n_use) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
