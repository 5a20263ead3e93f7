/* dataset_writer.c - writes the native HDF5 frames file. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/atomic_file.h"
#include "io/dataset.h"
#include "io/h5.h"

/* A chunk holds whole frames, about this many bytes of them: small enough to read a few frames, large
 * enough to compress. */
#define CHUNK_BYTES ((int64_t)1 << 20)

struct dataset_writer {
    struct atomic_file target;
    hid_t file;         /* owned */
    hid_t frames;       /* owned */
    hid_t orientations; /* owned, H5_NONE until the first were given */
    hid_t fluence;      /* owned, H5_NONE until the first was given */
    int64_t n_frames, n_pixel;
    int64_t dims[4]; /* [N][panel][ny][nx] */
    int64_t n_written;
    int integer_photons;
};

/* ---- geometry --------------------------------------------------------------------------------- */

static enum mtip_status write_positions(struct dataset_writer *writer,
                                        const struct detector *detector)
{
    enum mtip_status status = MTIP_OK;
    double *values = NULL;
    int32_t *index = NULL;
    const int64_t n = detector->n_pixel;
    const int64_t dims[4] = {detector->n_panel, detector->ny, detector->nx, 3};
    const int64_t index_dims[4] = {detector->n_panel, detector->ny, detector->nx, 2};
    MTIP_TRY(MEMORY_ALLOC(&values, 3 * n, "pixel positions"));
    for (int64_t i = 0; i < 3 * n; i++) {
        values[i] = 1e10 * detector->s[i];
    }
    MTIP_TRY(h5_write(writer->file, "pixel_position_reciprocal", values, H5T_NATIVE_DOUBLE,
                      H5T_IEEE_F64LE, 4, dims, "1/m", writer->target.path));
    /* Row and column in one image with the panels below each other. */
    MTIP_TRY(MEMORY_ALLOC(&index, 2 * n, "pixel index"));
    for (int64_t p = 0; p < n; p++) {
        index[2 * p] = (int32_t)(p / detector->nx);
        index[2 * p + 1] = (int32_t)(p % detector->nx);
    }
    MTIP_TRY(h5_write(writer->file, "pixel_index_map", index, H5T_NATIVE_INT32, H5T_STD_I32LE, 4,
                      index_dims, NULL, writer->target.path));
cleanup:
    memory_free(&index);
    memory_free(&values);
    return status;
}

static enum mtip_status write_response(struct dataset_writer *writer,
                                       const struct detector *detector)
{
    enum mtip_status status = MTIP_OK;
    double *solid_angle = NULL;
    hid_t dataset = H5_NONE;
    const char *path = writer->target.path;
    const double *polarization = detector->polarization;
    if (detector->response == NULL) {
        goto cleanup;
    }
    MTIP_TRY(MEMORY_ALLOC(&solid_angle, detector->n_pixel, "solid angle"));
    for (int64_t p = 0; p < detector->n_pixel; p++) {
        const double divisor = polarization != NULL ? polarization[p] : 1.0;
        solid_angle[p] = divisor > 0.0 ? detector->response[p] / divisor : 0.0;
    }
    MTIP_TRY(h5_write(writer->file, "solid_angle", solid_angle, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE,
                      3, writer->dims + 1, "relative", path));
    if (polarization != NULL) {
        MTIP_TRY(h5_write(writer->file, "polarization", polarization, H5T_NATIVE_DOUBLE,
                          H5T_IEEE_F64LE, 3, writer->dims + 1, NULL, path));
    } else {
        dataset = H5Dopen2(writer->file, "solid_angle", H5P_DEFAULT);
        MTIP_TRY(h5_attribute_text(dataset, "comment", "times polarization", path));
    }
cleanup:
    h5_close(dataset);
    memory_free(&solid_angle);
    return status;
}

static enum mtip_status write_geometry(struct dataset_writer *writer,
                                       const struct detector *detector)
{
    enum mtip_status status = MTIP_OK;
    const char *path = writer->target.path;
    const hid_t file = writer->file;
    const int64_t *dims = writer->dims + 1;
    MTIP_TRY(write_positions(writer, detector));
    if (detector->mask != NULL) {
        MTIP_TRY(h5_write(file, "mask", detector->mask, H5T_NATIVE_UINT8, H5T_STD_U8LE, 3, dims,
                          NULL, path));
    }
    MTIP_TRY(write_response(writer, detector));
    if (detector->background != NULL) {
        MTIP_TRY(h5_write(file, "background", detector->background, H5T_NATIVE_DOUBLE,
                          H5T_IEEE_F64LE, 3, dims, "photons", path));
    }
    if (detector->wavelength_A > 0.0) {
        MTIP_TRY(h5_attribute_real(file, "wavelength_A", detector->wavelength_A, path));
    }
cleanup:
    return status;
}

/* ---- create ----------------------------------------------------------------------------------- */

/* A dataset of one row a frame, in chunks of whole rows, filled with `fill` (NULL = zero). */
static enum mtip_status create_rows(hid_t *dataset, struct dataset_writer *writer, const char *name,
                                    hid_t type, int rank, const int64_t *dims, const char *units,
                                    const double *fill)
{
    enum mtip_status status = MTIP_OK;
    hsize_t size[H5_MAX_RANK], chunk[H5_MAX_RANK];
    char text[200];
    int64_t row_bytes = (int64_t)H5Tget_size(type);
    hid_t space = H5_NONE, creation = H5_NONE;
    for (int i = 0; i < rank; i++) {
        size[i] = (hsize_t)dims[i];
        chunk[i] = size[i];
        row_bytes *= i > 0 ? dims[i] : 1;
    }
    int64_t rows = CHUNK_BYTES / row_bytes;
    rows = rows < 1 ? 1 : rows > dims[0] ? dims[0] : rows;
    chunk[0] = (hsize_t)rows;
    space = H5Screate_simple(rank, size, NULL);
    creation = H5Pcreate(H5P_DATASET_CREATE);
    if (space < 0 || creation < 0 || H5Pset_chunk(creation, rank, chunk) < 0 ||
        H5Pset_shuffle(creation) < 0 || H5Pset_deflate(creation, 1) < 0 ||
        (fill != NULL && H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, fill) < 0) ||
        (*dataset =
             H5Dcreate2(writer->file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT)) < 0) {
        h5_reason(text, sizeof text);
        *dataset = H5_NONE;
        MTIP_FAIL(MTIP_ERR_FILE, "%s: cannot create dataset `%s`: %s", writer->target.path, name,
                  text);
    }
    if (units != NULL) {
        MTIP_TRY(h5_attribute_text(*dataset, "units", units, writer->target.path));
    }
cleanup:
    h5_close(creation);
    h5_close(space);
    return status;
}

enum mtip_status dataset_writer_create(struct dataset_writer **writer, const char *path,
                                       const struct detector *detector, int64_t n_frames,
                                       int integer_photons)
{
    enum mtip_status status = MTIP_OK;
    struct dataset_writer *w = NULL;
    *writer = NULL;
    if (n_frames < 1 || detector->n_panel < 1 || detector->ny < 1 || detector->nx < 1 ||
        detector->n_pixel != detector->n_panel * detector->ny * detector->nx) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "%s: cannot write %" PRId64 " frames of %" PRId64 " x %" PRId64 " x %" PRId64
                  " pixels",
                  path, n_frames, detector->n_panel, detector->ny, detector->nx);
    }
    MTIP_TRY(MEMORY_ALLOC(&w, 1, "frames writer"));
    w->file = w->frames = w->orientations = w->fluence = H5_NONE;
    w->n_frames = n_frames;
    w->n_pixel = detector->n_pixel;
    w->integer_photons = integer_photons != 0;
    memcpy(w->dims, (int64_t[4]){n_frames, detector->n_panel, detector->ny, detector->nx},
           sizeof w->dims);
    MTIP_TRY(atomic_file_begin(&w->target, path));
    MTIP_TRY(h5_create(&w->file, w->target.temporary));
    MTIP_TRY(h5_attribute_text(w->file, "format", "mtip frames", path));
    MTIP_TRY(h5_attribute_integer(w->file, "format_version", 1, path));
    MTIP_TRY(h5_attribute_text(w->file, "creator", "mtip " MTIP_VERSION, path));
    MTIP_TRY(create_rows(&w->frames, w, "intensities",
                         integer_photons ? H5T_STD_U32LE : H5T_IEEE_F32LE, 4, w->dims, "photons",
                         NULL));
    MTIP_TRY(write_geometry(w, detector));
    *writer = w;
cleanup:
    if (status != MTIP_OK) {
        dataset_writer_destroy(&w);
    }
    return status;
}

/* ---- frames ----------------------------------------------------------------------------------- */

static enum mtip_status write_rows(struct dataset_writer *writer, hid_t dataset, const char *name,
                                   int rank, const int64_t *dims, int64_t first, int64_t count,
                                   const void *values, hid_t memory_type)
{
    enum mtip_status status = MTIP_OK;
    hsize_t start[H5_MAX_RANK] = {0}, size[H5_MAX_RANK];
    char text[200];
    for (int i = 0; i < rank; i++) {
        size[i] = (hsize_t)dims[i];
    }
    start[0] = (hsize_t)first;
    size[0] = (hsize_t)count;
    const hid_t memory = H5Screate_simple(rank, size, NULL);
    const hid_t space = H5Dget_space(dataset);
    if (memory < 0 || space < 0 ||
        H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
        H5Dwrite(dataset, memory_type, memory, space, H5P_DEFAULT, values) < 0) {
        h5_reason(text, sizeof text);
        status =
            MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot write `%s`: %s", writer->target.path, name, text);
    }
    h5_close(space);
    h5_close(memory);
    return status;
}

/* HDF5 would clip what does not fit; a count that is not one is an error here. */
static enum mtip_status check_photons(const struct dataset_writer *writer, int64_t first,
                                      int64_t count, const float *frames)
{
    for (int64_t i = 0; i < count * writer->n_pixel; i++) {
        const float value = frames[i];
        /* 4294967040 is the largest float below 2^32. */
        if (!(value >= 0.0f && value <= 4294967040.0f && !(value > floorf(value)))) {
            return MTIP_ERROR(MTIP_ERR_DATA,
                              "%s: frame %" PRId64 ", pixel %" PRId64
                              " holds %g; a whole number of photons below 2^32 is expected",
                              writer->target.path, first + i / writer->n_pixel, i % writer->n_pixel,
                              (double)value);
        }
    }
    return MTIP_OK;
}

enum mtip_status dataset_writer_put(struct dataset_writer *writer, int64_t first, int64_t count,
                                    const float *frames, const double *quaternions,
                                    const double *fluence)
{
    enum mtip_status status = MTIP_OK;
    const double unknown = NAN;
    const int64_t q_dims[3] = {writer->n_frames, 1, 4};
    if (first < 0 || count < 0 || first > writer->n_frames - count) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "%s: frames %" PRId64 " + %" PRId64 " are not among its %" PRId64 " frames",
                  writer->target.path, first, count, writer->n_frames);
    }
    if (count == 0) {
        goto cleanup;
    }
    if (writer->integer_photons) {
        MTIP_TRY(check_photons(writer, first, count, frames));
    }
    MTIP_TRY(write_rows(writer, writer->frames, "intensities", 4, writer->dims, first, count,
                        frames, H5T_NATIVE_FLOAT));
    if (quaternions != NULL) {
        if (writer->orientations < 0) {
            MTIP_TRY(create_rows(&writer->orientations, writer, "orientations", H5T_IEEE_F64LE, 3,
                                 q_dims, "quaternion w x y z", &unknown));
        }
        MTIP_TRY(write_rows(writer, writer->orientations, "orientations", 3, q_dims, first, count,
                            quaternions, H5T_NATIVE_DOUBLE));
    }
    if (fluence != NULL) {
        if (writer->fluence < 0) {
            MTIP_TRY(create_rows(&writer->fluence, writer, "fluence", H5T_IEEE_F64LE, 1,
                                 &writer->n_frames, NULL, &unknown));
        }
        MTIP_TRY(write_rows(writer, writer->fluence, "fluence", 1, &writer->n_frames, first, count,
                            fluence, H5T_NATIVE_DOUBLE));
    }
    writer->n_written += count;
cleanup:
    return status;
}

/* ---- notes, end ------------------------------------------------------------------------------- */

enum mtip_status dataset_writer_note(struct dataset_writer *writer, const char *name,
                                     const char *text)
{
    return h5_attribute_text(writer->file, name, text, writer->target.path);
}

enum mtip_status dataset_writer_atoms(struct dataset_writer *writer, const struct atoms *atoms)
{
    enum mtip_status status = MTIP_OK;
    const char *path = writer->target.path;
    const int64_t dims[2] = {atoms->n, 3};
    const hid_t group = H5Gcreate2(writer->file, "particle", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: cannot create the group `particle`", path);
    }
    MTIP_TRY(h5_write(group, "atoms", atoms->xyz, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 2, dims, "A",
                      path));
    MTIP_TRY(h5_write(group, "element", atoms->element, H5T_NATIVE_INT, H5T_STD_I32LE, 1, dims,
                      "atomic number", path));
    MTIP_TRY(h5_write(group, "occupancy", atoms->occupancy, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 1,
                      dims, NULL, path));
    MTIP_TRY(h5_write(group, "b_factor", atoms->b_factor, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 1,
                      dims, "A^2", path));
cleanup:
    h5_close(group);
    return status;
}

enum mtip_status dataset_writer_finish(struct dataset_writer **writer)
{
    enum mtip_status status = MTIP_OK;
    struct dataset_writer *w = *writer;
    if (w->n_written != w->n_frames) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "%s: %" PRId64 " frames were written where %" PRId64 " are expected",
                  w->target.path, w->n_written, w->n_frames);
    }
    h5_close(w->fluence);
    h5_close(w->orientations);
    h5_close(w->frames);
    w->fluence = w->orientations = w->frames = H5_NONE;
    MTIP_TRY(h5_finish(&w->file, w->target.path));
    MTIP_TRY(atomic_file_commit(&w->target));
cleanup:
    dataset_writer_destroy(writer);
    return status;
}

void dataset_writer_destroy(struct dataset_writer **writer)
{
    struct dataset_writer *w = *writer;
    if (w != NULL) {
        h5_close(w->fluence);
        h5_close(w->orientations);
        h5_close(w->frames);
        h5_close(w->file);
        atomic_file_abort(&w->target);
        memory_free(writer);
    }
}
