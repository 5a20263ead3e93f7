/* dataset.h - frames files: one structure in memory whatever the format on disk.
 *
 * P = n_pixel = panel * ny * nx pixels of one frame after binning, N frames. Formats are readers behind a
 * table (dataset_format in dataset.c); the native HDF5 layout is DESIGN's section "Files".
 */
#ifndef MTIP_IO_DATASET_H
#define MTIP_IO_DATASET_H

#include <stdint.h>

#include "core/status.h"
#include "io/pdb.h"

#ifdef __cplusplus
extern "C" {
#endif

struct detector {
    int64_t n_panel, ny, nx; /* after binning */
    int64_t n_pixel;
    /* owned [P][3], scattering vector / 2 pi, 1/A, detector frame (beam along z) */
    double *s;
    /* owned [P], 1 = use */
    uint8_t *mask;
    /* owned [P], polarisation times solid angle: mean 1 over used pixels, above 0 there */
    double *response;
    /* owned [P], what of the response is polarisation, NULL = not known apart. For the writer alone:
     * readers leave it NULL. */
    double *polarization;
    /* owned [P], mean photons a pixel, NULL = none */
    double *background;
    double wavelength_A; /* 0 = not known */
};

struct dataset_options {
    const char *detector_file; /* NULL or "" = none */
    double wavelength_A;       /* 0 = from the file */
    int64_t bin; /* 0 or 1 = no binning; bin x bin pixels of a panel are summed, positions and
                    responses averaged, backgrounds summed; a binned pixel is used when all of its
                    pixels are; rows and columns left over at the far edges are dropped */
};

struct dataset;

/* Opens a frames file and reads its geometry. Pixels whose position is not finite or whose response is
 * zero are taken out of the mask. Not collective: rank 0 alone opens it. options NULL = defaults.
 * Errors name the file and the dataset: MTIP_ERR_FILE (missing, unreadable), MTIP_ERR_FORMAT (not
 * HDF5, truncated, dataset missing or of the wrong shape), MTIP_ERR_DATA (zero frames, no usable pixel),
 * MTIP_ERR_UNSUPPORTED (compressed with a filter that this HDF5 lacks), MTIP_ERR_CONFIG (an empty
 * path, a bin larger than a panel). */
enum mtip_status dataset_open(struct dataset **dataset, const char *path,
                              const struct dataset_options *options) MTIP_NODISCARD;
void dataset_close(struct dataset **dataset);

const char *dataset_path(const struct dataset *dataset);
const char *dataset_format_name(const struct dataset *dataset);
int64_t dataset_n_frames(const struct dataset *dataset);
const struct detector *dataset_detector(const struct dataset *dataset); /* borrowed */

/* Reads frames first .. first + count - 1 into [count][P], photons, binned; masked pixels are 0. Values that
 * are negative or not finite in used pixels are MTIP_ERR_DATA, naming frame and pixel. */
enum mtip_status dataset_read(const struct dataset *dataset, int64_t first, int64_t count,
                              float *frames) MTIP_NODISCARD;

/* True orientations [N][4] (w, x, y, z; w >= 0) and fluences [N], where the file has them; used only
 * to judge. MTIP_ERR_DATA where it has none. */
int dataset_has_truth(const struct dataset *dataset);
enum mtip_status dataset_read_orientations(const struct dataset *dataset,
                                           double *quaternions) MTIP_NODISCARD;
enum mtip_status dataset_read_fluence(const struct dataset *dataset,
                                      double *fluence) MTIP_NODISCARD;

/* Checksum that names the input in a result, as 64 hexadecimal digits: SHA-256 of the whole file up to
 * 64 MiB (what sha256sum prints); of a larger one, SHA-256 of its size (8 bytes, little-endian), then its first, middle and last
 * 16 MiB (from offsets 0, (size - 16 MiB) / 2 and size - 16 MiB). */
enum mtip_status dataset_checksum(char text[65], const char *path) MTIP_NODISCARD;

/* Frees the arrays of a detector and zeroes it. */
void detector_release(struct detector *detector);

/* ---- writing the native format: used by simulate and convert ---------------------------------- */

struct dataset_writer;

/* Creates path under a temporary name; dataset_writer_finish renames it, destroying the writer
 * before that removes it. Geometry is written from `detector` (borrowed during the call).
 *
 * The file gets `intensities`, `pixel_position_reciprocal` (1/m), `pixel_index_map`, `mask`,
 * `solid_angle` and `polarization` (their product is the response; where the polarisation is not known
 * apart, `solid_angle` holds both), `background`, and, once any was put, `orientations` and `fluence`
 * (NaN for frames without). */
enum mtip_status dataset_writer_create(struct dataset_writer **writer, const char *path,
                                       const struct detector *detector, int64_t n_frames,
                                       int integer_photons) MTIP_NODISCARD;

/* Frames first .. first + count - 1: frames [count][P]; quaternions [count][4] and fluence [count]
 * may be NULL. integer_photons writers store uint32 (shuffled and compressed: small
 * counts cost no more than in a smaller type) and refuse values that are not whole numbers from 0 to 2^32 - 1; others
 * store float32. */
enum mtip_status dataset_writer_put(struct dataset_writer *writer, int64_t first, int64_t count,
                                    const float *frames, const double *quaternions,
                                    const double *fluence) MTIP_NODISCARD;

/* A text attribute on the file (provenance: configuration, version). */
enum mtip_status dataset_writer_note(struct dataset_writer *writer, const char *name,
                                     const char *text) MTIP_NODISCARD;

/* The particle the frames were made of, stored as the truth beside the frames in the group `particle`: `atoms` [n][3]
 * (A), `element`, `occupancy`, `b_factor` (A^2) [n]. dataset_atoms.h reads it back. */
enum mtip_status dataset_writer_atoms(struct dataset_writer *writer,
                                      const struct atoms *atoms) MTIP_NODISCARD;

enum mtip_status dataset_writer_finish(struct dataset_writer **writer) MTIP_NODISCARD;
void dataset_writer_destroy(struct dataset_writer **writer);

#ifdef __cplusplus
}
#endif

#endif
