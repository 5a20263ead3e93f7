/* frames.h - the photon frames of this rank.
 *
 *   N  frames of the run, n of them on this rank, P used pixels (geometry.h)
 *
 * The frames lie in chunks of consecutive frames that depend on the data alone, and every rank owns whole chunks
 * (comm_split_blocks). What is summed over frames is summed chunk by chunk, and the chunks' sums are added exactly
 * (core/exact_sum.h): so no sum depends on the number of ranks.
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

/* Where not all frames fit into backend memory: two windows of them there, filled from host memory in turn. */
struct frames_stream {
    int64_t size;               /* frames of a window */
    float *window[2];           /* owned, backend memory, [size][P] */
    int64_t first[2], count[2]; /* what each holds */
    int last;                   /* the one asked for last */
};

struct frames {
    int64_t n_total;                 /* N */
    int64_t first;                   /* index of this rank's first frame */
    int64_t n;                       /* frames of this rank */
    int64_t n_chunks;                /* of all frames */
    int64_t first_chunk, own_chunks; /* this rank's */
    int64_t n_pixel;                 /* P, also the leading dimension of data */
    float *data; /* owned, backend memory, [n][P] photons less background, sorted pixels; NULL
                        where they are streamed */
    float *host; /* owned, host memory, the same values (on the CPU: the same memory) */
    struct frames_stream *stream; /* owned, NULL where all frames are in backend memory */
    double largest;               /* greatest magnitude of a value, of all ranks' */
    double *magnitude;            /* owned [P]: sum of a pixel's magnitudes over all N frames */
};

/* Chunks into which N frames of P pixels are cut for a run of `ranks`: a million points each, at least
 * FRAMES_LEAST_CHUNKS of them. Where there are more ranks than that, as many as ranks. */
#define FRAMES_LEAST_CHUNKS 12
int64_t frames_chunk_count(int64_t n_total, int64_t n_pixel, int ranks);

/* Sets n_total, n_pixel, the chunks, first and n, of a rank of `ranks`. */
void frames_split(struct frames *frames, int64_t n_total, int64_t n_pixel, int ranks, int rank);

/* Most frames of one half set in a chunk. */
int64_t frames_half_chunk(const struct frames *frames);

/* Reads frames 0 .. N-1 of `dataset` on rank 0, chunk by chunk, and hands each to its owner, so that no rank
 * ever holds them all; the mean background is taken off. `dataset` is NULL on the other ranks;
 * n_total counts on every rank. On a device `window` > 0 keeps them in (pinned) host memory and streams windows of so
 * many frames; 0, or window >= n, keeps all of them there. Collective and agrees. Release with frames_release. */
enum mtip_status frames_load(struct frames *frames, const struct comm *comm,
                             const struct backend *backend, const struct dataset *dataset,
                             const struct geometry *geometry, int64_t n_total, int64_t window,
                             struct log *log) MTIP_NODISCARD;

/* Frames of this rank that can be asked for at a time: n, or the size of a window. */
int64_t frames_window(const struct frames *frames);

/* *data = frames first .. first + count - 1 of this rank in backend memory, [count][P], for work queued on the backend's
 * stream; valid until the second frames_fetch or frames_prefetch of other frames after this one. count <=
 * frames_window. */
enum mtip_status frames_fetch(const float **data, const struct frames *frames,
                              const struct backend *backend, int64_t first,
                              int64_t count) MTIP_NODISCARD;

/* Lets the window from frame `first` on come while the work queued from now on runs. To be called after
 * frames_fetch and before the work on what it gave. */
enum mtip_status frames_prefetch(const struct frames *frames, const struct backend *backend,
                                 int64_t first) MTIP_NODISCARD;

void frames_release(struct frames *frames, const struct backend *backend);

/* totals[i] = sum of the first n_use pixels of frame i of this rank. */
void frames_totals(double *totals, const struct frames *frames, int64_t n_use);

/* Half set of a frame by its index in the run: 0 or 1. */
int frames_half(int64_t index);

#ifdef __cplusplus
}
#endif

#endif
