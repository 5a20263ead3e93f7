/* frames.h - the photon frames of this rank.
 *
 *   N  frames of the run, n of them on this rank (comm_split by index), P used pixels (geometry.h)
 */
#ifndef MTIP_MTIP_FRAMES_H
#define MTIP_MTIP_FRAMES_H

#include <stdint.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/log.h"
#include "core/status.h"
#include "io/dataset.h"
#include "mtip/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

struct frames {
    int64_t n_total; /* N */
    int64_t first;   /* index of this rank's first frame */
    int64_t n;       /* frames of this rank */
    int64_t n_pixel; /* P, also the leading dimension of data */
    float *data;     /* owned, backend memory, [n][P] photons less background, sorted pixels */
    float *host;     /* owned, host memory, the same values (on the CPU: the same memory) */
};

/* Reads frames 0 .. N-1 of `dataset` on rank 0, chunk by chunk, and hands each to its owner, so that no rank
 * ever holds them all; the mean background is taken off. `dataset` is NULL on the other ranks;
 * n_total counts on every rank. Collective and agrees. Release with frames_release. */
enum mtip_status frames_load(struct frames *frames, const struct comm *comm,
                             const struct backend *backend, const struct dataset *dataset,
                             const struct geometry *geometry, int64_t n_total,
                             struct log *log) MTIP_NODISCARD;

void frames_release(struct frames *frames, const struct backend *backend);

/* totals[i] = sum of the first n_use pixels of frame i of this rank. */
void frames_totals(double *totals, const struct frames *frames, int64_t n_use);

/* Half set of a frame by its index in the run: 0 or 1. */
int frames_half(int64_t index);

#ifdef __cplusplus
}
#endif

#endif
