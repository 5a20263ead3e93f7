/* search.h - the orientation search of one generation: reference slices shared out over the ranks and passed round
 * the ring, every frame matched against all of them, then refined about its best (DESIGN section 3.1, 3.2).
 *
 *   n frames of this rank, n_use leading pixels in use
 */
#ifndef MTIP_MTIP_SEARCH_H
#define MTIP_MTIP_SEARCH_H

#include <stdint.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/status.h"
#include "io/config.h"
#include "mtip/frames.h"
#include "mtip/geometry.h"
#include "mtip/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

struct search;

/* What one generation's search is asked for. */
struct search_options {
    uint64_t seed;
    int64_t generation;
    int64_t n_references;
    int64_t n_candidates; /* references drawn for each frame, on average; 0 = all */
    int64_t refine_rounds;
    int64_t refine_trials;
    int explore; /* 1: random turns alone, whose jitter lets frames leave a wrong optimum */
    int64_t n_use;
};

/* Makes the buffers for slices, blocks in flight and scores; batches of up to max_rotations slices. All
 * pointers are borrowed. */
enum mtip_status search_create(struct search **search, const struct comm *comm,
                               const struct backend *backend, const struct geometry *geometry,
                               const struct frames *frames, struct slicer *slicer,
                               enum nufft_precision precision,
                               int64_t max_rotations) MTIP_NODISCARD;
void search_destroy(struct search **search);

/* Adds what a search takes to the plan. */
void search_plan_memory(struct memory_plan *plan, const struct backend *backend,
                        const struct geometry *geometry, const struct frames *frames,
                        enum nufft_precision precision, int64_t max_rotations);

/* Best orientation of every frame over the references of this generation. The slicer's model must be set,
 * the same on every rank. quaternions host [n][4] out; seconds[2] adds the time of slicing and of
 * matching. Collective, and agrees. */
enum mtip_status search_references(struct search *search, double *quaternions,
                                   const struct search_options *options, double seconds[2],
                                   struct log *log) MTIP_NODISCARD;

/* What the refinement improves and fills, host arrays of this rank's frames. */
struct search_best {
    double *quaternions; /* [n][4] in and out */
    double *score;       /* [n] out: log-likelihood relative to the isotropic model */
    double *slice_sum;   /* [n] out: sum_p c_p W_p, the frame's photons over its fluence */
};

/* Improves orientations, each frame by itself; not collective. Round 1 tries refine_trials random turns; each
 * further round, random turns half as large (explore), or a stencil of turns and the peak of the parabola through
 * its scores (turns.h). No round makes a score worse. */
enum mtip_status search_refine(struct search *search, const struct search_best *best,
                               const struct search_options *options,
                               struct log *log) MTIP_NODISCARD;

/* Slices a batch must have room for: the most that one frame needs at a time. Pure. */
int64_t search_least_rotations(int64_t refine_trials);

#ifdef __cplusplus
}
#endif

#endif
