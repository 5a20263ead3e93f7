/* result_read.c - reads the result file. */
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/config_keys.h"
#include "io/result_layout.h"

/* Length of one axis of a dataset, 0 when the file has none of that name. */
static enum mtip_status read_axis(int64_t *size, int axis, int rank, hid_t file, const char *name,
                                  const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t dataset = H5_NONE;
    struct h5_shape shape;
    *size = 0;
    if (!h5_has_dataset(file, name)) {
        return MTIP_OK;
    }
    MTIP_TRY(h5_dataset_open(&dataset, &shape, file, name, path));
    if (shape.rank != rank) {
        MTIP_FAIL(MTIP_ERR_FORMAT, "%s: dataset `%s` has %d axes; %d are expected", path, name,
                  shape.rank, rank);
    }
    MTIP_TRY(h5_check_storage(dataset, &shape, name, path));
    *size = shape.dims[axis];
cleanup:
    h5_close(dataset);
    return status;
}

static enum mtip_status read_sizes(hid_t file, struct result *result, const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t density = H5_NONE;
    struct h5_shape shape;
    char text[160];
    MTIP_TRY(h5_dataset_open(&density, &shape, file, "density", path));
    MTIP_TRY(h5_check_storage(density, &shape, "density", path));
    const int64_t m = shape.dims[0];
    if (shape.rank != 3 || shape.dims[1] != m || shape.dims[2] != m || m < 1) {
        h5_shape_text(text, sizeof text, &shape);
        MTIP_FAIL(MTIP_ERR_FORMAT, "%s: dataset `density` has the shape %s; a cube is expected",
                  path, text);
    }
    result->grid_size = m;
    if (!h5_get_attribute_real(&result->voxel_A, density, "voxel_size_A") ||
        !(result->voxel_A > 0.0 && result->voxel_A < 1e9)) {
        MTIP_FAIL(MTIP_ERR_FORMAT,
                  "%s: dataset `density` has no attribute `voxel_size_A` with a length in A", path);
    }
    MTIP_TRY(read_axis(&result->n_shells, 0, 1, file, "shell_resolution_A", path));
    MTIP_TRY(read_axis(&result->n_frames, 0, 2, file, "orientations", path));
    MTIP_TRY(read_axis(&result->n_generations, 0, 1, file, "generations/resolution_A", path));
    MTIP_TRY(read_axis(&result->n_shown, 0, 3, file, "shown_data", path));
    MTIP_TRY(read_axis(&result->show_ny, 1, 3, file, "shown_data", path));
    MTIP_TRY(read_axis(&result->show_nx, 2, 3, file, "shown_data", path));
cleanup:
    h5_close(density);
    return status;
}

static enum mtip_status read_arrays(hid_t file, struct result *result, const char *path)
{
    enum mtip_status status = MTIP_OK;
    for (int i = 0; i < result_n_arrays; i++) {
        const struct result_array *array = &result_arrays[i];
        const struct h5_shape shape = result_shape(result, array->extent);
        const int64_t count = h5_shape_count(&shape);
        if (result_is_left_out(result, array) || !h5_has_dataset(file, array->name)) {
            continue;
        }
        MTIP_TRY(memory_alloc(result_array_pointer(result, array), count, 8, array->name));
        MTIP_TRY(h5_read(*result_array_pointer(result, array),
                         array->is_integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, count, file,
                         array->name, path));
    }
cleanup:
    return status;
}

static enum mtip_status read_generations(hid_t file, struct result *result, const char *path)
{
    enum mtip_status status = MTIP_OK;
    void *column = NULL;
    char name[96];
    const int64_t n = result->n_generations;
    if (n == 0) {
        return MTIP_OK;
    }
    MTIP_TRY(MEMORY_ALLOC(&result->generations, n, "generation metrics"));
    MTIP_TRY(memory_alloc(&column, n, 8, "generation metrics"));
    for (int i = 0; i < result_n_metrics; i++) {
        snprintf(name, sizeof name, "generations/%s", result_metrics[i].name);
        if (!h5_has_dataset(file, name)) {
            continue;
        }
        MTIP_TRY(h5_read(column,
                         result_metrics[i].is_integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, n,
                         file, name, path));
        for (int64_t g = 0; g < n; g++) {
            memcpy((char *)&result->generations[g] + result_metrics[i].offset,
                   (const char *)column + 8 * g, 8);
        }
    }
cleanup:
    memory_free(&column);
    return status;
}

/* Keys that the file lacks keep their defaults: it may come from another version. */
static void read_configuration(hid_t file, struct config *config)
{
    hid_t all = H5_NONE;
    char name[128];
    if (config_load(config, NULL, 0, NULL) != MTIP_OK || !h5_has_group(file, "configuration")) {
        return;
    }
    all = H5Gopen2(file, "configuration", H5P_DEFAULT);
    for (int i = 0; i < config_n_keys; i++) {
        const struct config_key *key = &config_keys[i];
        void *value = config_key_value(config, key);
        if (!h5_has_group(all, key->group)) {
            continue;
        }
        snprintf(name, sizeof name, "%s/%s", key->group, key->name);
        switch (key->type) {
        case CONFIG_INTEGER:
            h5_get_scalar(value, H5T_NATIVE_INT64, all, name);
            break;
        case CONFIG_REAL:
            h5_get_scalar(value, H5T_NATIVE_DOUBLE, all, name);
            break;
        case CONFIG_BOOLEAN:
            h5_get_scalar(value, H5T_NATIVE_INT, all, name);
            break;
        case CONFIG_TEXT:
        case CONFIG_PATH:
        case CONFIG_WORD:
            if (h5_has_dataset(all, name)) {
                h5_get_text(value, key->size, all, name);
            }
            break;
        }
    }
    h5_close(all);
}

static void read_attributes(hid_t file, struct result *result)
{
    h5_get_attribute_text(result->version, sizeof result->version, file, "version");
    h5_get_attribute_text(result->input_path, sizeof result->input_path, file, "input_path");
    h5_get_attribute_text(result->input_checksum, sizeof result->input_checksum, file,
                          "input_checksum");
    h5_get_attribute_text(result->backend, sizeof result->backend, file, "backend");
    h5_get_attribute_integer(&result->n_ranks, file, "n_ranks");
    h5_get_attribute_integer(&result->n_threads, file, "n_threads");
    h5_get_attribute_real(&result->resolution_half_A, file, "resolution_half_A");
    h5_get_attribute_real(&result->resolution_seventh_A, file, "resolution_seventh_A");
}

enum mtip_status result_read(struct result *result, const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t file = H5_NONE;
    memset(result, 0, sizeof *result);
    MTIP_TRY(h5_open(&file, path));
    MTIP_TRY(read_sizes(file, result, path));
    MTIP_TRY(read_arrays(file, result, path));
    MTIP_TRY(read_generations(file, result, path));
    read_configuration(file, &result->config);
    read_attributes(file, result);
cleanup:
    h5_close(file);
    if (status != MTIP_OK) {
        result_release(result);
    }
    return status;
}

int result_probe(const char *path)
{
    hid_t file = H5_NONE;
    if (!h5_is_hdf5(path) || h5_open(&file, path) != MTIP_OK) {
        return 0;
    }
    const int found = h5_has_dataset(file, "density");
    h5_close(file);
    return found;
}
