/* result.c - writes and reads the result file; what is in it stands in the tables below. */
#include "io/result.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/atomic_file.h"
#include "io/config_keys.h"
#include "io/h5.h"

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define FORMAT_NAME "mtip result"

/* ---- what is in the file ---------------------------------------------------------------------- */

enum extent { CUBE, SHELLS, FRAMES, QUATERNIONS, SHOWN, SHOWN_IMAGES };

/* An array of struct result: a pointer to double or int64_t at `offset`. */
struct array_entry {
    const char *name;
    size_t offset;
    int is_integer;
    enum extent extent;
    const char *units;
};

#define REAL_ARRAY(name_, member, extent_, units_)                                                 \
    {                                                                                              \
        .name = (name_), .offset = offsetof(struct result, member), .extent = (extent_),           \
        .units = (units_)                                                                          \
    }
#define INTEGER_ARRAY(name_, member, extent_)                                                      \
    {                                                                                              \
        .name = (name_), .offset = offsetof(struct result, member), .is_integer = 1,               \
        .extent = (extent_), .units = ""                                                           \
    }

static const struct array_entry arrays[] = {
    REAL_ARRAY("density", density, CUBE, "arbitrary"),
    REAL_ARRAY("support", support, CUBE, ""),
    REAL_ARRAY("autocorrelation", autocorrelation, CUBE, "arbitrary"),
    REAL_ARRAY("intensity", intensity, CUBE, "arbitrary"),
    REAL_ARRAY("shell_resolution_A", shell_resolution_A, SHELLS, "A"),
    REAL_ARRAY("prtf", prtf, SHELLS, ""),
    REAL_ARRAY("fsc", fsc, SHELLS, ""),
    REAL_ARRAY("orientations", orientations, QUATERNIONS, "quaternion w x y z"),
    REAL_ARRAY("fluence", fluence, FRAMES, "relative"),
    REAL_ARRAY("score", score, FRAMES, "log-likelihood per photon"),
    INTEGER_ARRAY("half", half, FRAMES),
    INTEGER_ARRAY("shown_frame", shown_frame, SHOWN),
    REAL_ARRAY("shown_data", shown_data, SHOWN_IMAGES, "photons"),
    REAL_ARRAY("shown_model", shown_model, SHOWN_IMAGES, "photons"),
};

/* A member of struct generation_metrics, stored as generations/<name> [G]. */
struct metric_entry {
    const char *name;
    size_t offset;
    int is_integer;
    const char *units;
};

#define METRIC(member, is_integer_, units_)                                                        \
    {                                                                                              \
        .name = #member, .offset = offsetof(struct generation_metrics, member),                    \
        .is_integer = (is_integer_), .units = (units_)                                             \
    }

static const struct metric_entry metrics[] = {
    METRIC(resolution_A, 0, "A"),
    METRIC(n_references, 1, ""),
    METRIC(log_likelihood, 0, "per photon"),
    METRIC(moved_fraction, 0, ""),
    METRIC(median_turn_deg, 0, "degree"),
    METRIC(r_factor, 0, ""),
    METRIC(half_resolution_A, 0, "A"),
    METRIC(seconds_slice, 0, "s"),
    METRIC(seconds_match, 0, "s"),
    METRIC(seconds_refine, 0, "s"),
    METRIC(seconds_merge, 0, "s"),
    METRIC(seconds_phase, 0, "s"),
};

static void **array_of(struct result *result, const struct array_entry *entry)
{
    return (void **)(void *)((char *)result + entry->offset);
}

static const void *array_of_const(const struct result *result, const struct array_entry *entry)
{
    return *(void *const *)(const void *)((const char *)result + entry->offset);
}

/* Shape of an array by the sizes in `result`. */
static struct h5_shape shape_of(const struct result *result, enum extent extent)
{
    const int64_t m = result->grid_size;
    switch (extent) {
    case CUBE:
        return (struct h5_shape){3, {m, m, m}};
    case SHELLS:
        return (struct h5_shape){1, {result->n_shells}};
    case FRAMES:
        return (struct h5_shape){1, {result->n_frames}};
    case QUATERNIONS:
        return (struct h5_shape){2, {result->n_frames, 4}};
    case SHOWN:
        return (struct h5_shape){1, {result->n_shown}};
    case SHOWN_IMAGES:
        break;
    }
    return (struct h5_shape){3, {result->n_shown, result->show_ny, result->show_nx}};
}

void result_release(struct result *result)
{
    for (int i = 0; i < COUNT_OF(arrays); i++) {
        memory_free(array_of(result, &arrays[i]));
    }
    memory_free(&result->generations);
    memset(result, 0, sizeof *result);
}

/* ---- writing ---------------------------------------------------------------------------------- */

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
    for (int i = 0; i < COUNT_OF(arrays); i++) {
        const struct array_entry *entry = &arrays[i];
        const void *values = array_of_const(result, entry);
        const struct h5_shape shape = shape_of(result, entry->extent);
        const int is_shown = entry->extent == SHOWN || entry->extent == SHOWN_IMAGES;
        if (values == NULL || (is_shown && result->n_shown == 0)) {
            continue;
        }
        MTIP_TRY(h5_write(file, entry->name, values,
                          entry->is_integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE,
                          entry->is_integer ? H5T_STD_I64LE : H5T_IEEE_F64LE, shape.rank,
                          shape.dims, entry->units, path));
        if (entry->extent == CUBE) {
            dataset = H5Dopen2(file, entry->name, H5P_DEFAULT);
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
    for (int i = 0; i < COUNT_OF(metrics); i++) {
        for (int64_t g = 0; g < n; g++) {
            memcpy((char *)column + 8 * g,
                   (const char *)&result->generations[g] + metrics[i].offset, 8);
        }
        MTIP_TRY(h5_write(group, metrics[i].name, column,
                          metrics[i].is_integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE,
                          metrics[i].is_integer ? H5T_STD_I64LE : H5T_IEEE_F64LE, 1, &n,
                          metrics[i].units, path));
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

/* ---- reading ---------------------------------------------------------------------------------- */

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
    for (int i = 0; i < COUNT_OF(arrays); i++) {
        const struct array_entry *entry = &arrays[i];
        const struct h5_shape shape = shape_of(result, entry->extent);
        const int64_t count = h5_shape_count(&shape);
        const int is_shown = entry->extent == SHOWN || entry->extent == SHOWN_IMAGES;
        if ((is_shown && result->n_shown == 0) || !h5_has_dataset(file, entry->name)) {
            continue;
        }
        MTIP_TRY(memory_alloc(array_of(result, entry), count, 8, entry->name));
        MTIP_TRY(h5_read(*array_of(result, entry),
                         entry->is_integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, count, file,
                         entry->name, path));
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
    for (int i = 0; i < COUNT_OF(metrics); i++) {
        snprintf(name, sizeof name, "generations/%s", metrics[i].name);
        if (!h5_has_dataset(file, name)) {
            continue;
        }
        MTIP_TRY(h5_read(column, metrics[i].is_integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, n,
                         file, name, path));
        for (int64_t g = 0; g < n; g++) {
            memcpy((char *)&result->generations[g] + metrics[i].offset,
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
