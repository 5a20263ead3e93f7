/* result_layout.h - what is in a result file, for the two files that write and read it. Private. */
#ifndef MTIP_IO_RESULT_LAYOUT_H
#define MTIP_IO_RESULT_LAYOUT_H

#include <stddef.h>

#include "io/h5.h"
#include "io/result.h"

#ifdef __cplusplus
extern "C" {
#endif

enum result_extent { CUBE, SHELLS, FRAMES, QUATERNIONS, SHOWN, SHOWN_IMAGES };

/* An array of struct result: a pointer to double or int64_t at `offset`. */
struct result_array {
    const char *name;
    size_t offset;
    int is_integer;
    enum result_extent extent;
    const char *units;
};

/* A member of struct generation_metrics, double or int64_t, stored as generations/<name> [G]. */
struct result_metric {
    const char *name;
    size_t offset;
    int is_integer;
    const char *units;
};

extern const struct result_array result_arrays[];
extern const int result_n_arrays;
extern const struct result_metric result_metrics[];
extern const int result_n_metrics;

/* Where the pointer of an array lies, and its value. */
void **result_array_pointer(struct result *result, const struct result_array *array);
const void *result_array_values(const struct result *result, const struct result_array *array);

/* Shape of an array by the sizes in `result`. */
struct h5_shape result_shape(const struct result *result, enum result_extent extent);

/* The few frames shown beside their slices may be none. */
int result_is_left_out(const struct result *result, const struct result_array *array);

#ifdef __cplusplus
}
#endif

#endif
