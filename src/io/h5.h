/* h5.h - HDF5 with this project's errors: one message that names file and dataset. For the files of
 * src/io that read or write HDF5; HDF5's own error stack is never printed.
 *
 * Identifiers are closed with H5*close by whoever opened them; H5_NONE marks "not open".
 */
#ifndef MTIP_IO_H5_H
#define MTIP_IO_H5_H

#include <hdf5.h>
#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define H5_NONE ((hid_t)-1)
#define H5_MAX_RANK 8

/* Shape of a dataset. */
struct h5_shape {
    int rank;
    int64_t dims[H5_MAX_RANK];
};

/* Keeps HDF5 from printing its error stack in this thread; whatever here calls HDF5 first does it. */
void h5_silence(void);

/* Closes an object of any kind; H5_NONE is allowed. */
void h5_close(hid_t id);

/* Opens a file for reading, without file locks (shared file systems often lack them, and finished
 * files are never changed in place). Errors MTIP_ERR_FILE (missing, not readable, a folder),
 * MTIP_ERR_FORMAT (empty, not HDF5, truncated). */
enum mtip_status h5_open(hid_t *file, const char *path) MTIP_NODISCARD;

/* Creates (truncates) a file for writing. */
enum mtip_status h5_create(hid_t *file, const char *path) MTIP_NODISCARD;

/* 1 when `path` exists and starts as an HDF5 file does. */
int h5_is_hdf5(const char *path);

/* 1 when `name` is a dataset (or a group) below `location`. */
int h5_has_dataset(hid_t location, const char *name);
int h5_has_group(hid_t location, const char *name);

/* Names below a group, "a, b, c, ..." in at most `size` bytes. */
void h5_list_names(char *text, size_t size, hid_t location);

/* What HDF5 says went wrong last (its innermost reason), for a message. */
void h5_reason(char *text, size_t size);

/* Opens a dataset of integers or floats and tells its shape. `path` names the file in messages. Errors
 * MTIP_ERR_FORMAT, and MTIP_ERR_UNSUPPORTED for compression that this HDF5 lacks. */
enum mtip_status h5_dataset_open(hid_t *dataset, struct h5_shape *shape, hid_t location,
                                 const char *name, const char *path) MTIP_NODISCARD;

/* Refuses a dataset that claims far more elements than the bytes it has in the file can hold (a damaged
 * size, before memory is taken for it). For datasets that were written whole, with gzip or without. */
enum mtip_status h5_check_storage(hid_t dataset, const struct h5_shape *shape, const char *name,
                                  const char *path) MTIP_NODISCARD;

/* "[10][1][32][32]" */
void h5_shape_text(char *text, size_t size, const struct h5_shape *shape);

/* Number of elements; -1 when it does not fit 64 bits. */
int64_t h5_shape_count(const struct h5_shape *shape);

/* Reads a whole dataset, converted to `memory_type`, into `values` (count elements expected: another
 * count is MTIP_ERR_FORMAT). */
enum mtip_status h5_read(void *values, hid_t memory_type, int64_t count, hid_t location,
                         const char *name, const char *path) MTIP_NODISCARD;

/* Reads rows first .. first + count - 1 (along the first axis) of an open dataset. */
enum mtip_status h5_read_rows(void *values, hid_t memory_type, hid_t dataset,
                              const struct h5_shape *shape, int64_t first, int64_t count,
                              const char *name, const char *path) MTIP_NODISCARD;

/* Writes a whole dataset [dims[0]]...[dims[rank - 1]]; compressed when it is large. `units` NULL or
 * "" = no attribute. */
enum mtip_status h5_write(hid_t location, const char *name, const void *values, hid_t memory_type,
                          hid_t file_type, int rank, const int64_t *dims, const char *units,
                          const char *path) MTIP_NODISCARD;

/* Scalar datasets and text. A text attribute or dataset is UTF-8 of fixed length. */
enum mtip_status h5_write_scalar(hid_t location, const char *name, const void *value,
                                 hid_t memory_type, const char *units,
                                 const char *path) MTIP_NODISCARD;
enum mtip_status h5_write_text(hid_t location, const char *name, const char *text,
                               const char *path) MTIP_NODISCARD;
enum mtip_status h5_attribute_text(hid_t object, const char *name, const char *text,
                                   const char *path) MTIP_NODISCARD;
enum mtip_status h5_attribute_real(hid_t object, const char *name, double value,
                                   const char *path) MTIP_NODISCARD;
enum mtip_status h5_attribute_integer(hid_t object, const char *name, int64_t value,
                                      const char *path) MTIP_NODISCARD;

/* Attributes and small datasets that may be absent: 1 when read, 0 when absent or of another kind. Text of
 * fixed or variable length is cut to `size`. */
int h5_get_attribute_text(char *text, size_t size, hid_t object, const char *name);
int h5_get_attribute_real(double *value, hid_t object, const char *name);
int h5_get_attribute_integer(int64_t *value, hid_t object, const char *name);
int h5_get_scalar(void *value, hid_t memory_type, hid_t location, const char *name);
int h5_get_text(char *text, size_t size, hid_t location, const char *name);

/* Syncs HDF5's buffers to the file and closes it; the error that a full disk gives comes here. */
enum mtip_status h5_finish(hid_t *file, const char *path) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
