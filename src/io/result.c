/* result.c - what is in a result, in memory and in its file. */
#include <string.h>

#include "core/memory.h"
#include "io/result_layout.h"

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

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

const struct result_array result_arrays[] = {
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

const int result_n_arrays = COUNT_OF(result_arrays);

#define METRIC(member, is_integer_, units_)                                                        \
    {                                                                                              \
        .name = #member, .offset = offsetof(struct generation_metrics, member),                    \
        .is_integer = (is_integer_), .units = (units_)                                             \
    }

const struct result_metric result_metrics[] = {
    METRIC(resolution_A, 0, "A"),
    METRIC(n_references, 1, ""),
    METRIC(log_likelihood, 0, "per photon"),
    METRIC(moved_fraction, 0, ""),
    METRIC(median_turn_deg, 0, "degree"),
    METRIC(coverage, 0, ""),
    METRIC(r_factor, 0, ""),
    METRIC(half_resolution_A, 0, "A"),
    METRIC(seconds_slice, 0, "s"),
    METRIC(seconds_match, 0, "s"),
    METRIC(seconds_refine, 0, "s"),
    METRIC(seconds_merge, 0, "s"),
    METRIC(seconds_phase, 0, "s"),
};

const int result_n_metrics = COUNT_OF(result_metrics);

void **result_array_pointer(struct result *result, const struct result_array *array)
{
    return (void **)(void *)((char *)result + array->offset);
}

const void *result_array_values(const struct result *result, const struct result_array *array)
{
    return *(void *const *)(const void *)((const char *)result + array->offset);
}

struct h5_shape result_shape(const struct result *result, enum result_extent extent)
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

int result_is_left_out(const struct result *result, const struct result_array *array)
{
    return (array->extent == SHOWN || array->extent == SHOWN_IMAGES) && result->n_shown == 0;
}

void result_release(struct result *result)
{
    for (int i = 0; i < result_n_arrays; i++) {
        memory_free(result_array_pointer(result, &result_arrays[i]));
    }
    memory_free(&result->generations);
    memset(result, 0, sizeof *result);
}
