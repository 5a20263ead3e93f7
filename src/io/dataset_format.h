/* dataset_format.h - what a reader of one file format gives; private to src/io.
 *
 * N frames of raw (not binned) pixels [n_panel][ny][nx]; binning, masks and checks are dataset.c's,
 * the same for all formats.
 */
#ifndef MTIP_IO_DATASET_FORMAT_H
#define MTIP_IO_DATASET_FORMAT_H

#include "io/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Geometry as the file has it. Arrays are owned by whoever holds the struct: dataset.c, also when open
 * fails. */
struct dataset_raw {
    int64_t n_frames;
    int64_t n_panel, ny, nx;
    double *s;           /* [n_panel][ny][nx][3], 1/A */
    uint8_t *mask;       /* [n_panel][ny][nx], NULL = all used */
    double *response;    /* [n_panel][ny][nx], any scale, NULL = 1 */
    double *background;  /* [n_panel][ny][nx], NULL = none */
    double wavelength_A; /* 0 = not known */
    int has_orientations;
    int has_fluence;
};

struct dataset_format {
    const char *name;

    /* 1 when the file looks like this format; no error is made. */
    int (*probe)(const char *path);

    /* Opens the file and fills `raw`; n_frames may be 0 (dataset.c refuses it). */
    enum mtip_status (*open)(void **state, struct dataset_raw *raw, const char *path,
                             const struct dataset_options *options);

    /* Frames first .. first + count - 1 (inside the file) into [count][n_panel][ny][nx]. */
    enum mtip_status (*read)(void *state, int64_t first, int64_t count, float *frames);

    /* [N][4] as in the file; [N]. Called only when `raw` says that there are some. */
    enum mtip_status (*read_orientations)(void *state, double *quaternions);
    enum mtip_status (*read_fluence)(void *state, double *fluence);

    void (*close)(void **state);
};

extern const struct dataset_format dataset_format_native;

#ifdef __cplusplus
}
#endif

#endif
