/* h5_write.c - writing datasets and attributes. */
#include <string.h>

#include "io/h5.h"

/* Smaller datasets stay contiguous: a chunk and a filter cost more than they save. */
#define COMPRESS_FROM ((int64_t)1 << 15)
#define CHUNK_ELEMENTS ((int64_t)1 << 18)

static enum mtip_status write_failed(const char *kind, const char *name, const char *path)
{
    char text[200];
    h5_reason(text, sizeof text);
    return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot write %s `%s`: %s", path, kind, name, text);
}

/* Creation properties: chunks of whole rows, shuffled and compressed, for large datasets. */
static hid_t creation_of(int rank, const int64_t *dims)
{
    hsize_t chunk[H5_MAX_RANK];
    int64_t count = 1;
    for (int i = 0; i < rank; i++) {
        count *= dims[i];
    }
    if (rank == 0 || count < COMPRESS_FROM) {
        return H5P_DEFAULT;
    }
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    const int64_t row = count / dims[0];
    const int64_t rows = row < CHUNK_ELEMENTS ? CHUNK_ELEMENTS / row : 1;
    for (int i = 0; i < rank; i++) {
        chunk[i] = (hsize_t)dims[i];
    }
    chunk[0] = (hsize_t)(rows < dims[0] ? rows : dims[0]);
    if (creation < 0) {
        return H5P_DEFAULT;
    }
    if (H5Pset_chunk(creation, rank, chunk) < 0 || H5Pset_shuffle(creation) < 0 ||
        H5Pset_deflate(creation, 1) < 0) {
        H5Pclose(creation);
        return H5P_DEFAULT;
    }
    return creation;
}

enum mtip_status h5_write(hid_t location, const char *name, const void *values, hid_t memory_type,
                          hid_t file_type, int rank, const int64_t *dims, const char *units,
                          const char *path)
{
    enum mtip_status status = MTIP_OK;
    hsize_t size[H5_MAX_RANK] = {0};
    int64_t count = 1;
    hid_t space = H5_NONE, creation = H5_NONE, dataset = H5_NONE;
    for (int i = 0; i < rank; i++) {
        size[i] = (hsize_t)dims[i];
        count *= dims[i];
    }
    space = rank > 0 ? H5Screate_simple(rank, size, NULL) : H5Screate(H5S_SCALAR);
    creation = creation_of(rank, dims);
    dataset = H5Dcreate2(location, name, file_type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (dataset < 0 ||
        (count > 0 && H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)) {
        MTIP_TRY(write_failed("dataset", name, path));
    }
    if (units != NULL && units[0] != '\0') {
        MTIP_TRY(h5_attribute_text(dataset, "units", units, path));
    }
cleanup:
    h5_close(dataset);
    h5_close(creation);
    h5_close(space);
    return status;
}

enum mtip_status h5_write_scalar(hid_t location, const char *name, const void *value,
                                 hid_t memory_type, const char *units, const char *path)
{
    return h5_write(location, name, value, memory_type, memory_type, 0, NULL, units, path);
}

/* A type for this text: UTF-8, fixed length (HDF5 knows no empty strings, so "" takes one zero). */
static hid_t text_type(const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0) {
        H5Tset_size(type, strlen(text) + 1);
        H5Tset_cset(type, H5T_CSET_UTF8);
    }
    return type;
}

enum mtip_status h5_write_text(hid_t location, const char *name, const char *text, const char *path)
{
    const hid_t type = text_type(text);
    const enum mtip_status status = h5_write(location, name, text, type, type, 0, NULL, NULL, path);
    h5_close(type);
    return status;
}

static enum mtip_status write_attribute(hid_t object, const char *name, const void *value,
                                        hid_t type, const char *path)
{
    enum mtip_status status = MTIP_OK;
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0 || H5Awrite(attribute, type, value) < 0) {
        status = write_failed("attribute", name, path);
    }
    h5_close(attribute);
    h5_close(space);
    return status;
}

enum mtip_status h5_attribute_text(hid_t object, const char *name, const char *text,
                                   const char *path)
{
    const hid_t type = text_type(text);
    const enum mtip_status status = write_attribute(object, name, text, type, path);
    h5_close(type);
    return status;
}

enum mtip_status h5_attribute_real(hid_t object, const char *name, double value, const char *path)
{
    return write_attribute(object, name, &value, H5T_NATIVE_DOUBLE, path);
}

enum mtip_status h5_attribute_integer(hid_t object, const char *name, int64_t value,
                                      const char *path)
{
    return write_attribute(object, name, &value, H5T_NATIVE_INT64, path);
}

enum mtip_status h5_finish(hid_t *file, const char *path)
{
    enum mtip_status status = MTIP_OK;
    const hid_t id = *file;
    *file = H5_NONE;
    if (H5Fflush(id, H5F_SCOPE_GLOBAL) < 0) {
        status = write_failed("file", path, path);
    }
    if (H5Fclose(id) < 0 && status == MTIP_OK) {
        status = write_failed("file", path, path);
    }
    return status;
}
