/* result.h - the result file of a reconstruction (HDF5), written whole and renamed into place.
 *
 * M = grid size, N frames, G generations, S shells.
 *
 * In the file: the arrays of struct result as datasets of the same names, the volumes with the attribute
 * voxel_size_A; the group `generations` with a dataset [G] for each member of struct
 * generation_metrics; the group `configuration` with `text` (the resolved configuration as a file) and <group>/<key>
 * as scalars; and as attributes of the file format, format_version, version, input_path, input_checksum,
 * backend, n_ranks, n_threads, seed, grid_size, voxel_size_A, resolution_half_A, resolution_seventh_A. Datasets
 * with a unit name it in their attribute `units`.
 */
#ifndef MTIP_IO_RESULT_H
#define MTIP_IO_RESULT_H

#include <stdint.h>

#include "core/status.h"
#include "io/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What one generation reports: a table row and an entry of the group `generations`. */
struct generation_metrics {
    double resolution_A; /* d of the largest |s| used */
    int64_t n_references;
    double log_likelihood;  /* mean over frames of the best score per photon */
    double moved_fraction;  /* frames that turned by more than the reference spacing */
    double median_turn_deg; /* median turn of a frame since the last generation */
    double coverage;        /* evenness of the viewing directions: 1 = even, 0 = all in one plane */
    double r_factor;        /* of the phasing */
    double half_resolution_A; /* between half merges (intensity correlation 0.5) */
    double seconds_slice, seconds_match, seconds_refine, seconds_merge, seconds_phase;
};

struct result {
    int64_t grid_size;
    double voxel_A;
    double *density;         /* [M][M][M] z slowest, centred */
    double *support;         /* [M][M][M] 0 or 1 */
    double *autocorrelation; /* [M][M][M] centred */
    double *intensity;       /* [M][M][M] centred, s = 0 in the middle */
    int64_t n_shells;
    double *shell_resolution_A;  /* [S] d of each shell, shell i holds |s| near (i + 1) / (M a) */
    double *prtf;                /* [S] */
    double *fsc;                 /* [S] between half sets */
    double resolution_half_A;    /* where fsc falls below 0.5 */
    double resolution_seventh_A; /* where fsc falls below 1/7 */
    int64_t n_frames;
    double *orientations; /* [N][4] w x y z */
    double *fluence;      /* [N] */
    double *score;        /* [N] log-likelihood per photon */
    int64_t *half;        /* [N] 0 or 1 */
    int64_t n_generations;
    struct generation_metrics *generations; /* [G] */
    /* A few frames beside their matched slices, for the report: [n_shown][n_show_y][n_show_x], NaN where unused. */
    int64_t n_shown, show_ny, show_nx;
    int64_t *shown_frame;
    double *shown_data;
    double *shown_model;
    struct config config; /* fully resolved */
    char version[64];
    char input_path[CONFIG_TEXT_SIZE];
    char input_checksum[65];
    char backend[128];
    int64_t n_ranks, n_threads;
};

/* Frees all arrays and zeroes the struct. */
void result_release(struct result *result);

/* Writes the file under a temporary name in the same directory, syncs and renames it. NULL arrays are left
 * out, but for the density, which a result must have. */
enum mtip_status result_write(const char *path, const struct result *result) MTIP_NODISCARD;

/* Reads everything that is there; arrays the file lacks stay NULL, configuration keys it lacks have
 * their defaults. Release with result_release. Errors name file and dataset: MTIP_ERR_FILE, MTIP_ERR_FORMAT (no
 * `density`, no voxel size, wrong shapes, damaged). */
enum mtip_status result_read(struct result *result, const char *path) MTIP_NODISCARD;

/* 1 when the file is an HDF5 file with a `density`, 0 otherwise (also when it cannot be opened). */
int result_probe(const char *path);

#ifdef __cplusplus
}
#endif

#endif
