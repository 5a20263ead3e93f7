/* dataset_native.c - reader of the native HDF5 frames file (also what spinifel and skopi write). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/dataset_format.h"
#include "io/h5.h"

#define FRAMES "intensities"
#define POSITIONS "pixel_position_reciprocal"

struct native {
    char *path;   /* owned */
    hid_t file;   /* owned */
    hid_t frames; /* owned */
    struct h5_shape frames_shape;
};

static void native_close(void **state)
{
    struct native *native = *state;
    if (native != NULL) {
        h5_close(native->frames);
        h5_close(native->file);
        memory_free(&native->path);
        memory_free(state);
    }
}

static int native_probe(const char *path)
{
    hid_t file = H5_NONE;
    if (!h5_is_hdf5(path) || h5_open(&file, path) != MTIP_OK) {
        return 0;
    }
    const int found = h5_has_dataset(file, FRAMES);
    h5_close(file);
    return found;
}

/* ---- shapes ----------------------------------------------------------------------------------- */

/* Equal but for axes of length 1: the same order in memory. */
static int same_shape(const struct h5_shape *a, const struct h5_shape *b)
{
    int i = 0, j = 0;
    for (;;) {
        while (i < a->rank && a->dims[i] == 1) {
            i++;
        }
        while (j < b->rank && b->dims[j] == 1) {
            j++;
        }
        if (i == a->rank || j == b->rank) {
            return i == a->rank && j == b->rank;
        }
        if (a->dims[i++] != b->dims[j++]) {
            return 0;
        }
    }
}

static enum mtip_status wrong_shape(const struct native *native, const char *name,
                                    const struct h5_shape *found, const struct h5_shape *expected,
                                    const char *meaning)
{
    char found_text[160], expected_text[160], frames_text[160];
    h5_shape_text(found_text, sizeof found_text, found);
    h5_shape_text(expected_text, sizeof expected_text, expected);
    h5_shape_text(frames_text, sizeof frames_text, &native->frames_shape);
    return MTIP_ERROR(MTIP_ERR_FORMAT,
                      "%s: dataset `%s` has the shape %s; %s = %s is expected, as `" FRAMES
                      "` has the shape %s",
                      native->path, name, found_text, meaning, expected_text, frames_text);
}

static enum mtip_status open_frames(struct native *native, struct dataset_raw *raw)
{
    enum mtip_status status = MTIP_OK;
    struct h5_shape *shape = &native->frames_shape;
    char text[160];
    MTIP_TRY(h5_dataset_open(&native->frames, shape, native->file, FRAMES, native->path));
    const int has_panels = shape->rank == 4;
    if (shape->rank != 3 && shape->rank != 4) {
        h5_shape_text(text, sizeof text, shape);
        MTIP_FAIL(MTIP_ERR_FORMAT,
                  "%s: dataset `" FRAMES "` has the shape %s; [frames][panel][ny][nx] or "
                  "[frames][ny][nx] is expected",
                  native->path, text);
    }
    raw->n_frames = shape->dims[0];
    raw->n_panel = has_panels ? shape->dims[1] : 1;
    raw->ny = shape->dims[shape->rank - 2];
    raw->nx = shape->dims[shape->rank - 1];
    if (raw->n_panel < 1 || raw->ny < 1 || raw->nx < 1) {
        h5_shape_text(text, sizeof text, shape);
        MTIP_FAIL(MTIP_ERR_FORMAT, "%s: dataset `" FRAMES "` has no pixels: its shape is %s",
                  native->path, text);
    }
cleanup:
    return status;
}

/* ---- geometry --------------------------------------------------------------------------------- */

/* Factor that turns the file's unit of positions into 1/A. */
static enum mtip_status position_scale(double *scale, const struct native *native, hid_t dataset)
{
    static const struct {
        const char *unit;
        double scale;
    } units[] = {{"1/m", 1e-10}, {"m^-1", 1e-10}, {"m-1", 1e-10},      {"1/nm", 0.1},
                 {"nm^-1", 0.1}, {"1/A", 1.0},    {"1/Angstrom", 1.0}, {"A^-1", 1.0}};
    char text[64];
    *scale = 1e-10;
    if (!h5_get_attribute_text(text, sizeof text, dataset, "units")) {
        return MTIP_OK;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(text, units[i].unit) == 0) {
            *scale = units[i].scale;
            return MTIP_OK;
        }
    }
    return MTIP_ERROR(MTIP_ERR_FORMAT,
                      "%s: dataset `" POSITIONS "` has the units \"%s\"; \"1/m\", \"1/nm\" or "
                      "\"1/A\" is expected",
                      native->path, text);
}

static enum mtip_status read_positions(struct native *native, struct dataset_raw *raw)
{
    enum mtip_status status = MTIP_OK;
    hid_t dataset = H5_NONE;
    struct h5_shape shape;
    double *values = NULL;
    double scale = 0.0;
    const int64_t n = raw->n_panel * raw->ny * raw->nx;
    const struct h5_shape last = {4, {raw->n_panel, raw->ny, raw->nx, 3}};
    const struct h5_shape first = {4, {3, raw->n_panel, raw->ny, raw->nx}};
    MTIP_TRY(h5_dataset_open(&dataset, &shape, native->file, POSITIONS, native->path));
    MTIP_TRY(position_scale(&scale, native, dataset));
    const int components_last = same_shape(&shape, &last);
    if (!components_last && !same_shape(&shape, &first)) {
        MTIP_TRY(wrong_shape(native, POSITIONS, &shape, &last,
                             "[panel][ny][nx][3] (or [3][panel][ny][nx])"));
    }
    MTIP_TRY(MEMORY_ALLOC(&values, 3 * n, "pixel positions"));
    MTIP_TRY(MEMORY_ALLOC(&raw->s, 3 * n, "pixel positions"));
    MTIP_TRY(h5_read(values, H5T_NATIVE_DOUBLE, 3 * n, native->file, POSITIONS, native->path));
    for (int64_t p = 0; p < n; p++) {
        for (int64_t k = 0; k < 3; k++) {
            raw->s[3 * p + k] = scale * values[components_last ? 3 * p + k : k * n + p];
        }
    }
cleanup:
    memory_free(&values);
    h5_close(dataset);
    return status;
}

/* *map: a dataset of one value a pixel, NULL when the file has none of that name. */
static enum mtip_status read_map(double **map, struct native *native, const struct dataset_raw *raw,
                                 const char *name)
{
    enum mtip_status status = MTIP_OK;
    hid_t dataset = H5_NONE;
    struct h5_shape shape;
    const struct h5_shape expected = {3, {raw->n_panel, raw->ny, raw->nx}};
    *map = NULL;
    if (!h5_has_dataset(native->file, name)) {
        return MTIP_OK;
    }
    MTIP_TRY(h5_dataset_open(&dataset, &shape, native->file, name, native->path));
    if (!same_shape(&shape, &expected)) {
        MTIP_TRY(wrong_shape(native, name, &shape, &expected, "[panel][ny][nx]"));
    }
    MTIP_TRY(MEMORY_ALLOC(map, h5_shape_count(&expected), name));
    MTIP_TRY(h5_read(*map, H5T_NATIVE_DOUBLE, h5_shape_count(&expected), native->file, name,
                     native->path));
cleanup:
    h5_close(dataset);
    if (status != MTIP_OK) {
        memory_free(map);
    }
    return status;
}

static enum mtip_status read_mask(struct native *native, struct dataset_raw *raw)
{
    enum mtip_status status = MTIP_OK;
    double *map = NULL;
    const int64_t n = raw->n_panel * raw->ny * raw->nx;
    MTIP_TRY(read_map(&map, native, raw, "mask"));
    if (map == NULL) {
        goto cleanup;
    }
    MTIP_TRY(MEMORY_ALLOC(&raw->mask, n, "mask"));
    for (int64_t p = 0; p < n; p++) {
        const int used = map[p] > 0.5;
        if (!(map[p] >= 0.0 && map[p] <= 0.0) && !(map[p] >= 1.0 && map[p] <= 1.0)) {
            MTIP_FAIL(MTIP_ERR_DATA,
                      "%s: dataset `mask` holds %g at pixel %" PRId64
                      "; 1 (use) or 0 (do not use) is expected",
                      native->path, map[p], p);
        }
        raw->mask[p] = (uint8_t)used;
    }
cleanup:
    memory_free(&map);
    return status;
}

/* The product of `polarization` and `solid_angle`, each 1 where it is missing. */
static enum mtip_status read_response(struct native *native, struct dataset_raw *raw)
{
    enum mtip_status status = MTIP_OK;
    double *factor = NULL;
    const int64_t n = raw->n_panel * raw->ny * raw->nx;
    MTIP_TRY(read_map(&raw->response, native, raw, "polarization"));
    MTIP_TRY(read_map(&factor, native, raw, "solid_angle"));
    if (raw->response == NULL) {
        raw->response = factor;
        factor = NULL;
    }
    for (int64_t p = 0; factor != NULL && p < n; p++) {
        raw->response[p] *= factor[p];
    }
cleanup:
    memory_free(&factor);
    return status;
}

/* Attribute or dataset `wavelength_A`, or `wavelength`, which people store in A or in m: X-rays have
 * 1e-2 .. 1e3 A, 1e-12 .. 1e-7 m, so the two cannot be mixed up. */
static double read_wavelength(hid_t file)
{
    double value = 0.0;
    if (!h5_get_attribute_real(&value, file, "wavelength_A") &&
        !h5_get_scalar(&value, H5T_NATIVE_DOUBLE, file, "wavelength_A") &&
        !h5_get_attribute_real(&value, file, "wavelength") &&
        !h5_get_scalar(&value, H5T_NATIVE_DOUBLE, file, "wavelength")) {
        return 0.0;
    }
    if (!(value > 0.0 && value < 1e6)) {
        return 0.0;
    }
    return value < 1e-6 ? 1e10 * value : value;
}

/* 1 when `name` is there; its shape must be `expected`. */
static enum mtip_status check_per_frame(int *found, struct native *native, const char *name,
                                        const struct h5_shape *expected, const char *meaning)
{
    enum mtip_status status = MTIP_OK;
    hid_t dataset = H5_NONE;
    struct h5_shape shape;
    *found = h5_has_dataset(native->file, name);
    if (!*found) {
        return MTIP_OK;
    }
    MTIP_TRY(h5_dataset_open(&dataset, &shape, native->file, name, native->path));
    if (!same_shape(&shape, expected)) {
        MTIP_TRY(wrong_shape(native, name, &shape, expected, meaning));
    }
cleanup:
    h5_close(dataset);
    return status;
}

/* ---- the table's functions -------------------------------------------------------------------- */

static enum mtip_status native_open(void **state, struct dataset_raw *raw, const char *path,
                                    const struct dataset_options *options)
{
    enum mtip_status status = MTIP_OK;
    struct native *native = NULL;
    *state = NULL;
    (void)options; /* one file holds all: no detector file is needed */
    MTIP_TRY(MEMORY_ALLOC(&native, 1, "frames file"));
    *state = native;
    native->file = H5_NONE;
    native->frames = H5_NONE;
    MTIP_TRY(MEMORY_ALLOC(&native->path, (int64_t)strlen(path) + 1, "path"));
    strcpy(native->path, path);
    MTIP_TRY(h5_open(&native->file, path));
    MTIP_TRY(open_frames(native, raw));
    const struct h5_shape per_frame = {1, {raw->n_frames}};
    const struct h5_shape per_frame4 = {2, {raw->n_frames, 4}};
    MTIP_TRY(check_per_frame(&raw->has_orientations, native, "orientations", &per_frame4,
                             "[frames][4] (or [frames][1][4])"));
    MTIP_TRY(check_per_frame(&raw->has_fluence, native, "fluence", &per_frame, "[frames]"));
    MTIP_TRY(read_positions(native, raw));
    MTIP_TRY(read_mask(native, raw));
    MTIP_TRY(read_response(native, raw));
    MTIP_TRY(read_map(&raw->background, native, raw, "background"));
    raw->wavelength_A = read_wavelength(native->file);
cleanup:
    if (status != MTIP_OK) {
        native_close(state);
    }
    return status;
}

static enum mtip_status native_read(void *state, int64_t first, int64_t count, float *frames)
{
    const struct native *native = state;
    return h5_read_rows(frames, H5T_NATIVE_FLOAT, native->frames, &native->frames_shape, first,
                        count, FRAMES, native->path);
}

static enum mtip_status native_read_orientations(void *state, double *quaternions)
{
    const struct native *native = state;
    return h5_read(quaternions, H5T_NATIVE_DOUBLE, 4 * native->frames_shape.dims[0], native->file,
                   "orientations", native->path);
}

static enum mtip_status native_read_fluence(void *state, double *fluence)
{
    const struct native *native = state;
    return h5_read(fluence, H5T_NATIVE_DOUBLE, native->frames_shape.dims[0], native->file,
                   "fluence", native->path);
}

const struct dataset_format dataset_format_native = {
    .name = "native HDF5",
    .probe = native_probe,
    .open = native_open,
    .read = native_read,
    .read_orientations = native_read_orientations,
    .read_fluence = native_read_fluence,
    .close = native_close,
};
