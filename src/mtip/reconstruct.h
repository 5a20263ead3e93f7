/* reconstruct.h - frames to density: the generation loop and its end.
 *
 *   M grid size, N frames of the run, n on this rank, P used pixels, G generations
 */
#ifndef MTIP_MTIP_RECONSTRUCT_H
#define MTIP_MTIP_RECONSTRUCT_H

#include <stdint.h>

#include "core/backend.h"
#include "core/comm.h"
#include "core/log.h"
#include "core/status.h"
#include "io/config.h"
#include "io/result.h"
#include "mtip/frames.h"
#include "mtip/geometry.h"
#include "mtip/merge.h"
#include "mtip/phase.h"
#include "mtip/search.h"
#include "mtip/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* State of a run, shared by the files of the driver (reconstruct.c, generation.c, finish.c). */
struct reconstruction {
    const struct config *config; /* borrowed, as the next two */
    const struct comm *comm;
    struct log *log;
    struct backend *backend;
    struct geometry geometry;
    struct frames frames;
    struct slicer *slicer;
    struct search *search;
    struct merger *merger;
    struct phaser *phaser;
    enum nufft_precision precision;
    int64_t max_rotations; /* slices of one batch */
    int64_t merge_frames;  /* frames of one batch of the merge */
    int64_t window;        /* frames of a window where they are streamed to the device, else 0 */
    struct phase_schedule phase; /* of the phasing inside generations */
    /* this rank's frames, host */
    double *quaternions; /* [n][4] */
    double *previous;    /* [n][4] of the generation before */
    double *fluence;     /* [n], mean 1 over the frames in use; 0 = blank frame */
    double *score;       /* [n] log-likelihood relative to the isotropic model */
    double *slice_sum;   /* [n] */
    double *totals;      /* [n] photons in the pixels in use */
    /* the same on every rank, host */
    double *model; /* [P] */
    double *a; /* [MERGE_SETS][M][M][M]; [MERGE_ALL] is the model's autocorrelation, FFT order */
    int64_t stage;         /* steps of the march in resolution taken so far */
    double log_likelihood; /* of the last generation */
    int quiet;    /* generations in a row, at full resolution, that gained next to nothing */
    double moved; /* part of the frames that the last generation turned by more than the spacing */
    double coverage; /* evenness of the viewing directions of the last generation (io/result.h) */
    int drawing; /* 1: frames are matched with candidates of their own draw, not with all references */
    uint8_t *measured; /* [M][M][M/2+1] modes that the data reach, in this generation */
    /* rank 0, host */
    double *merged;    /* [MERGE_SETS][M][M][M] autocorrelations as merged, before phasing */
    double *intensity; /* [MERGE_SETS][M][M][M/2+1] their Fourier transforms */
    struct generation_metrics *metrics; /* [G] */
    /* backend memory, used on rank 0 */
    double *density;  /* [M][M][M] FFT order */
    uint8_t *support; /* [M][M][M] */
};

/* The whole job: reads config->input.file, runs the generations and the end, writes result.h5 and density.mrc
 * into config->run.output (which must exist). Collective; all ranks return the same status. */
enum mtip_status reconstruct_run(const struct config *config, const struct comm *comm,
                                 struct log *log) MTIP_NODISCARD;

/* Chooses the batches and whether frames are streamed, so that the run fits into memory, and prints the plan; what
 * cannot fit is MTIP_ERR_MEMORY. Collective, and agrees. */
enum mtip_status reconstruct_fit_memory(struct reconstruction *r, int64_t n_frames) MTIP_NODISCARD;

/* Generation g: orientations (random in generation 0), merge, phasing; fills metrics[g] on rank 0.
 * Collective, and agrees. */
enum mtip_status generation_run(struct reconstruction *r, int64_t g) MTIP_NODISCARD;

/* Moved fraction (also kept in r->moved), median turn, coverage and log-likelihood of the orientations just found.
 * Collective, and agrees. */
enum mtip_status generation_measure_orientations(struct reconstruction *r,
                                                 struct generation_metrics *metrics) MTIP_NODISCARD;

/* Rank 0: resolution at which the intensities of the half merges, less their shell means, correlate by 0.5. */
enum mtip_status generation_half_resolution(const struct reconstruction *r,
                                            double *resolution_A) MTIP_NODISCARD;

/* 1 when the run has settled after the last generation: the same on every rank. */
int generation_settled(const struct reconstruction *r);

/* Titles and one row of the table of generations, to the log. */
void generation_log_titles(struct log *log);
void generation_log_row(struct log *log, int64_t g, const struct generation_metrics *metrics);

/* The end: independent phasings of all frames and of the half sets, shared out over the ranks; their averages,
 * FSC and PRTF. Fills the volumes and curves of `result` on rank 0. Collective, and agrees. */
enum mtip_status finish_run(struct reconstruction *r, struct result *result) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
