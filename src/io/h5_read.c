/* h5_read.c - reading datasets and attributes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/h5.h"

/* ---- datasets --------------------------------------------------------------------------------- */

/* Chunks that hold several frames must stay decoded while their frames are read in turn. */
static hid_t access_with_cache(hid_t location, const char *name)
{
    hsize_t dims[H5_MAX_RANK];
    size_t bytes = 0;
    hid_t dataset = H5Dopen2(location, name, H5P_DEFAULT);
    hid_t creation = dataset >= 0 ? H5Dget_create_plist(dataset) : H5_NONE;
    hid_t type = dataset >= 0 ? H5Dget_type(dataset) : H5_NONE;
    if (creation >= 0 && type >= 0 && H5Pget_layout(creation) == H5D_CHUNKED) {
        const int rank = H5Pget_chunk(creation, H5_MAX_RANK, dims);
        bytes = H5Tget_size(type);
        for (int i = 0; i < rank && i < H5_MAX_RANK; i++) {
            bytes = bytes < ((size_t)1 << 40) ? bytes * (size_t)dims[i] : bytes;
        }
    }
    h5_close(type);
    h5_close(creation);
    h5_close(dataset);
    const size_t default_bytes = (size_t)1 << 20;
    const size_t most_bytes = (size_t)256 << 20;
    if (bytes <= default_bytes || bytes > most_bytes) {
        return H5P_DEFAULT;
    }
    hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
    if (access < 0) {
        return H5P_DEFAULT;
    }
    H5Pset_chunk_cache(access, 521, bytes + (bytes < most_bytes / 2 ? bytes : 0), 1.0);
    return access;
}

/* Compression that this HDF5 lacks shows when the dataset is opened, not in the middle of a run. */
static enum mtip_status check_filters(hid_t dataset, const char *name, const char *path)
{
    enum mtip_status status = MTIP_OK;
    const hid_t creation = H5Dget_create_plist(dataset);
    const int n = creation >= 0 ? H5Pget_nfilters(creation) : 0;
    for (int i = 0; i < n; i++) {
        unsigned flags = 0, config = 0;
        size_t n_values = 0;
        char filter[80] = "";
        const H5Z_filter_t id = H5Pget_filter2(creation, (unsigned)i, &flags, &n_values, NULL,
                                               sizeof filter, filter, &config);
        if (id >= 0 && H5Zfilter_avail(id) <= 0) {
            MTIP_FAIL(MTIP_ERR_UNSUPPORTED,
                      "%s: dataset `%s` is compressed with the filter \"%.60s\" (%d), which this "
                      "HDF5 lacks: name its plugin's folder in HDF5_PLUGIN_PATH, or write the file "
                      "with gzip",
                      path, name, filter, (int)id);
        }
    }
cleanup:
    h5_close(creation);
    return status;
}

enum mtip_status h5_dataset_open(hid_t *dataset, struct h5_shape *shape, hid_t location,
                                 const char *name, const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t space = H5_NONE, type = H5_NONE, access = H5_NONE;
    hsize_t dims[H5_MAX_RANK] = {0};
    char text[200];
    *dataset = H5_NONE;
    memset(shape, 0, sizeof *shape);
    h5_silence();
    if (!h5_has_dataset(location, name)) {
        h5_list_names(text, sizeof text, location);
        MTIP_FAIL(MTIP_ERR_FORMAT, "%s: has no dataset `%s` (it has: %s)", path, name,
                  text[0] != '\0' ? text : "nothing");
    }
    access = access_with_cache(location, name);
    *dataset = H5Dopen2(location, name, access);
    space = *dataset >= 0 ? H5Dget_space(*dataset) : H5_NONE;
    type = *dataset >= 0 ? H5Dget_type(*dataset) : H5_NONE;
    if (space < 0 || type < 0) {
        h5_reason(text, sizeof text);
        MTIP_FAIL(MTIP_ERR_FORMAT, "%s: dataset `%s` cannot be opened: %s", path, name, text);
    }
    MTIP_TRY(check_filters(*dataset, name, path));
    const H5T_class_t kind = H5Tget_class(type);
    if (kind != H5T_INTEGER && kind != H5T_FLOAT && kind != H5T_ENUM) {
        MTIP_FAIL(MTIP_ERR_FORMAT, "%s: dataset `%s` does not hold integers or floats", path, name);
    }
    shape->rank = H5Sget_simple_extent_ndims(space);
    if (H5Sget_simple_extent_type(space) == H5S_NULL || shape->rank < 0 ||
        shape->rank > H5_MAX_RANK) {
        MTIP_FAIL(MTIP_ERR_FORMAT, "%s: dataset `%s` has %d axes; at most %d are expected", path,
                  name, shape->rank, H5_MAX_RANK);
    }
    H5Sget_simple_extent_dims(space, dims, NULL);
    for (int i = 0; i < shape->rank; i++) {
        shape->dims[i] = (int64_t)dims[i];
    }
    if (h5_shape_count(shape) < 0) {
        MTIP_FAIL(MTIP_ERR_FORMAT, "%s: dataset `%s` has an impossible size", path, name);
    }
cleanup:
    h5_close(access);
    h5_close(type);
    h5_close(space);
    if (status != MTIP_OK) {
        h5_close(*dataset);
        *dataset = H5_NONE;
    }
    return status;
}

enum mtip_status h5_check_storage(hid_t dataset, const struct h5_shape *shape, const char *name,
                                  const char *path)
{
    /* Deflate packs at most 1032 bytes into one; 64 MiB may be taken without asking. */
    const double unpacked = 8.0 * (double)h5_shape_count(shape);
    const double stored = (double)H5Dget_storage_size(dataset);
    if (unpacked > (double)((int64_t)64 << 20) && unpacked > 8.0 * 1100.0 * stored) {
        char text[160];
        h5_shape_text(text, sizeof text, shape);
        return MTIP_ERROR(MTIP_ERR_FORMAT,
                          "%s: dataset `%s` claims the shape %s but has %.0f bytes in the file; it "
                          "may be damaged",
                          path, name, text, stored);
    }
    return MTIP_OK;
}

static enum mtip_status read_failed(const char *name, const char *path)
{
    char text[200];
    h5_reason(text, sizeof text);
    return MTIP_ERROR(MTIP_ERR_FORMAT,
                      "%s: dataset `%s` cannot be read; the file may be damaged (HDF5: %s)", path,
                      name, text);
}

enum mtip_status h5_read(void *values, hid_t memory_type, int64_t count, hid_t location,
                         const char *name, const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t dataset = H5_NONE;
    struct h5_shape shape;
    char text[160];
    MTIP_TRY(h5_dataset_open(&dataset, &shape, location, name, path));
    if (h5_shape_count(&shape) != count) {
        h5_shape_text(text, sizeof text, &shape);
        MTIP_FAIL(MTIP_ERR_FORMAT,
                  "%s: dataset `%s` has the shape %s; %" PRId64 " elements are expected", path,
                  name, text, count);
    }
    if (count > 0 && H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
        MTIP_TRY(read_failed(name, path));
    }
cleanup:
    h5_close(dataset);
    return status;
}

enum mtip_status h5_read_rows(void *values, hid_t memory_type, hid_t dataset,
                              const struct h5_shape *shape, int64_t first, int64_t count,
                              const char *name, const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t file_space = H5_NONE, memory_space = H5_NONE;
    hsize_t start[H5_MAX_RANK] = {0};
    hsize_t size[H5_MAX_RANK] = {0};
    if (shape->rank < 1 || first < 0 || count < 0 || first > shape->dims[0] - count) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "%s: dataset `%s`: rows %" PRId64 " + %" PRId64 " are outside of the file", path,
                  name, first, count);
    }
    if (count == 0) {
        goto cleanup;
    }
    h5_silence();
    for (int i = 0; i < shape->rank; i++) {
        size[i] = (hsize_t)shape->dims[i];
    }
    start[0] = (hsize_t)first;
    size[0] = (hsize_t)count;
    file_space = H5Dget_space(dataset);
    memory_space = H5Screate_simple(shape->rank, size, NULL);
    if (file_space < 0 || memory_space < 0 ||
        H5Sselect_hyperslab(file_space, H5S_SELECT_SET, start, NULL, size, NULL) < 0 ||
        H5Dread(dataset, memory_type, memory_space, file_space, H5P_DEFAULT, values) < 0) {
        MTIP_TRY(read_failed(name, path));
    }
cleanup:
    h5_close(memory_space);
    h5_close(file_space);
    return status;
}

/* ---- optional pieces -------------------------------------------------------------------------- */

/* Reads a text through `read`-like calls of an attribute or a dataset with one string. */
static int get_text(char *text, size_t size, hid_t object, int is_attribute)
{
    int found = 0;
    char *variable = NULL;
    void *buffer = NULL;
    hid_t type = is_attribute ? H5Aget_type(object) : H5Dget_type(object);
    hid_t space = is_attribute ? H5Aget_space(object) : H5Dget_space(object);
    hid_t memory = H5_NONE;
    text[0] = '\0';
    if (type < 0 || space < 0 || H5Tget_class(type) != H5T_STRING ||
        H5Sget_simple_extent_npoints(space) != 1) {
        goto cleanup;
    }
    memory = H5Tcopy(H5T_C_S1);
    H5Tset_cset(memory, H5Tget_cset(type));
    if (H5Tis_variable_str(type) > 0) {
        H5Tset_size(memory, H5T_VARIABLE);
        const herr_t rc = is_attribute
                              ? H5Aread(object, memory, &variable)
                              : H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, &variable);
        found = rc >= 0;
        if (found && variable != NULL) {
            snprintf(text, size, "%s", variable);
        }
        if (variable != NULL) {
            H5free_memory(variable);
        }
    } else {
        const size_t length = H5Tget_size(type);
        if (length > ((size_t)1 << 24) ||
            memory_alloc(&buffer, (int64_t)length + 1, 1, "text") != MTIP_OK) {
            goto cleanup;
        }
        H5Tset_size(memory, length + 1);
        const herr_t rc = is_attribute
                              ? H5Aread(object, memory, buffer)
                              : H5Dread(object, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer);
        found = rc >= 0;
        if (found) {
            snprintf(text, size, "%s", (const char *)buffer);
        }
    }
cleanup:
    memory_free(&buffer);
    h5_close(memory);
    h5_close(space);
    h5_close(type);
    return found;
}

static hid_t open_attribute(hid_t object, const char *name)
{
    h5_silence();
    return H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5_NONE;
}

int h5_get_attribute_text(char *text, size_t size, hid_t object, const char *name)
{
    const hid_t attribute = open_attribute(object, name);
    text[0] = '\0';
    const int found = attribute >= 0 && get_text(text, size, attribute, 1);
    h5_close(attribute);
    return found;
}

static int get_attribute_number(void *value, hid_t memory_type, hid_t object, const char *name)
{
    const hid_t attribute = open_attribute(object, name);
    const hid_t space = attribute >= 0 ? H5Aget_space(attribute) : H5_NONE;
    const int found = space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
                      H5Aread(attribute, memory_type, value) >= 0;
    h5_close(space);
    h5_close(attribute);
    return found;
}

int h5_get_attribute_real(double *value, hid_t object, const char *name)
{
    return get_attribute_number(value, H5T_NATIVE_DOUBLE, object, name);
}

int h5_get_attribute_integer(int64_t *value, hid_t object, const char *name)
{
    return get_attribute_number(value, H5T_NATIVE_INT64, object, name);
}

int h5_get_scalar(void *value, hid_t memory_type, hid_t location, const char *name)
{
    hid_t dataset = H5_NONE;
    struct h5_shape shape;
    if (!h5_has_dataset(location, name) ||
        h5_dataset_open(&dataset, &shape, location, name, "") != MTIP_OK) {
        return 0;
    }
    const int found = h5_shape_count(&shape) == 1 &&
                      H5Dread(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value) >= 0;
    h5_close(dataset);
    return found;
}

int h5_get_text(char *text, size_t size, hid_t location, const char *name)
{
    text[0] = '\0';
    if (!h5_has_dataset(location, name)) {
        return 0;
    }
    const hid_t dataset = H5Dopen2(location, name, H5P_DEFAULT);
    const int found = dataset >= 0 && get_text(text, size, dataset, 0);
    h5_close(dataset);
    return found;
}
