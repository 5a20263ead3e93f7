/* result_write.c - writes the result file. */
#include <string.h>

#include "core/memory.h"
#include "io/atomic_file.h"
#include "io/config_keys.h"
#include "io/result_layout.h"

#define FORMAT_NAME "mtip result"

static enum mtip_status make_group(hid_t *group, hid_t location, const char *name, const char *path)
{
    *group = H5Gcreate2(location, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (*group < 0) {
        *group = H5_NONE;
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot create the group `%s`", path, name);
    }
    return MTIP_OK;
}

static enum mtip_status write_arrays(hid_t file, const struct result *result, const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t dataset = H5_NONE;
    for (int i = 0; i < result_n_arrays; i++) {
        const struct result_array *array = &result_arrays[i];
        const void *values = result_array_values(result, array);
        const struct h5_shape shape = result_shape(result, array->extent);
        if (values == NULL || result_is_left_out(result, array)) {
            continue;
        }
        MTIP_TRY(h5_write(file, array->name, values,
                          array->is_integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE,
                          array->is_integer ? H5T_STD_I64LE : H5T_IEEE_F64LE, shape.rank,
                          shape.dims, array->units, path));
        if (array->extent == CUBE) {
            dataset = H5Dopen2(file, array->name, H5P_DEFAULT);
            MTIP_TRY(h5_attribute_real(dataset, "voxel_size_A", result->voxel_A, path));
            h5_close(dataset);
            dataset = H5_NONE;
        }
    }
cleanup:
    h5_close(dataset);
    return status;
}

static enum mtip_status write_generations(hid_t file, const struct result *result, const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t group = H5_NONE;
    void *column = NULL; /* int64_t or double, both 8 bytes */
    const int64_t n = result->generations != NULL ? result->n_generations : 0;
    MTIP_TRY(make_group(&group, file, "generations", path));
    MTIP_TRY(memory_alloc(&column, n, 8, "generation metrics"));
    for (int i = 0; i < result_n_metrics; i++) {
        for (int64_t g = 0; g < n; g++) {
            memcpy((char *)column + 8 * g,
                   (const char *)&result->generations[g] + result_metrics[i].offset, 8);
        }
        MTIP_TRY(h5_write(group, result_metrics[i].name, column,
                          result_metrics[i].is_integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE,
                          result_metrics[i].is_integer ? H5T_STD_I64LE : H5T_IEEE_F64LE, 1, &n,
                          result_metrics[i].units, path));
    }
cleanup:
    memory_free(&column);
    h5_close(group);
    return status;
}

static enum mtip_status write_key(hid_t group, const struct config *config,
                                  const struct config_key *key, const char *path)
{
    const void *value = config_key_value_const(config, key);
    switch (key->type) {
    case CONFIG_INTEGER:
        return h5_write_scalar(group, key->name, value, H5T_NATIVE_INT64, key->unit, path);
    case CONFIG_REAL:
        return h5_write_scalar(group, key->name, value, H5T_NATIVE_DOUBLE, key->unit, path);
    case CONFIG_BOOLEAN:
        return h5_write_scalar(group, key->name, value, H5T_NATIVE_INT, key->unit, path);
    case CONFIG_TEXT:
    case CONFIG_PATH:
    case CONFIG_WORD:
        break;
    }
    return h5_write_text(group, key->name, value, path);
}

/* configuration/text, and configuration/<group>/<key>. */
static enum mtip_status write_configuration(hid_t file, const struct config *config,
                                            const char *path)
{
    enum mtip_status status = MTIP_OK;
    hid_t all = H5_NONE, group = H5_NONE;
    char *text = NULL;
    MTIP_TRY(make_group(&all, file, "configuration", path));
    MTIP_TRY(config_to_text(&text, config));
    MTIP_TRY(h5_write_text(all, "text", text, path));
    for (int i = 0; i < config_n_keys; i++) {
        if (i == 0 || strcmp(config_keys[i].group, config_keys[i - 1].group) != 0) {
            h5_close(group);
            group = H5_NONE;
            MTIP_TRY(make_group(&group, all, config_keys[i].group, path));
        }
        MTIP_TRY(write_key(group, config, &config_keys[i], path));
    }
cleanup:
    memory_free(&text);
    h5_close(group);
    h5_close(all);
    return status;
}

static enum mtip_status write_attributes(hid_t file, const struct result *result, const char *path)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(h5_attribute_text(file, "format", FORMAT_NAME, path));
    MTIP_TRY(h5_attribute_integer(file, "format_version", 1, path));
    MTIP_TRY(h5_attribute_text(file, "version", result->version, path));
    MTIP_TRY(h5_attribute_text(file, "input_path", result->input_path, path));
    MTIP_TRY(h5_attribute_text(file, "input_checksum", result->input_checksum, path));
    MTIP_TRY(h5_attribute_text(file, "backend", result->backend, path));
    MTIP_TRY(h5_attribute_integer(file, "n_ranks", result->n_ranks, path));
    MTIP_TRY(h5_attribute_integer(file, "n_threads", result->n_threads, path));
    MTIP_TRY(h5_attribute_integer(file, "seed", result->config.run.seed, path));
    MTIP_TRY(h5_attribute_integer(file, "grid_size", result->grid_size, path));
    MTIP_TRY(h5_attribute_real(file, "voxel_size_A", result->voxel_A, path));
    MTIP_TRY(h5_attribute_real(file, "resolution_half_A", result->resolution_half_A, path));
    MTIP_TRY(h5_attribute_real(file, "resolution_seventh_A", result->resolution_seventh_A, path));
cleanup:
    return status;
}

enum mtip_status result_write(const char *path, const struct result *result)
{
    enum mtip_status status = MTIP_OK;
    struct atomic_file target = {{0}, {0}};
    hid_t file = H5_NONE;
    if (result->density == NULL || result->grid_size < 1) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT, "%s: a result needs a density", path);
    }
    MTIP_TRY(atomic_file_begin(&target, path));
    MTIP_TRY(h5_create(&file, target.temporary));
    MTIP_TRY(write_attributes(file, result, path));
    MTIP_TRY(write_arrays(file, result, path));
    MTIP_TRY(write_generations(file, result, path));
    MTIP_TRY(write_configuration(file, &result->config, path));
    MTIP_TRY(h5_finish(&file, path));
    MTIP_TRY(atomic_file_commit(&target));
cleanup:
    h5_close(file);
    atomic_file_abort(&target);
    return status;
}
