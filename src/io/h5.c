/* h5.c - opening and closing files, reasons of errors, questions about what is there. */
#define _POSIX_C_SOURCE 200809L
#include "io/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void h5_silence(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void h5_close(hid_t id)
{
    if (id <= 0) { /* H5_NONE, or H5P_DEFAULT, which is nobody's */
        return;
    }
    switch (H5Iget_type(id)) {
    case H5I_FILE:
        H5Fclose(id);
        break;
    case H5I_GROUP:
        H5Gclose(id);
        break;
    case H5I_DATATYPE:
        H5Tclose(id);
        break;
    case H5I_DATASPACE:
        H5Sclose(id);
        break;
    case H5I_DATASET:
        H5Dclose(id);
        break;
    case H5I_ATTR:
        H5Aclose(id);
        break;
    case H5I_GENPROP_LST:
        H5Pclose(id);
        break;
    default:
        break;
    }
}

/* ---- reasons ---------------------------------------------------------------------------------- */

struct reason {
    char *text;
    size_t size;
    int truncated;
};

/* Called from the innermost error outward. */
static herr_t take_reason(unsigned n, const H5E_error2_t *error, void *data)
{
    struct reason *reason = data;
    if (n == 0 && error->desc != NULL) {
        snprintf(reason->text, reason->size, "%s", error->desc);
    }
    reason->truncated |= error->min_num == H5E_TRUNCATED;
    return 0;
}

static int find_reason(char *text, size_t size)
{
    struct reason reason = {.text = text, .size = size};
    snprintf(text, size, "unknown reason");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, &reason);
    return reason.truncated;
}

void h5_reason(char *text, size_t size)
{
    (void)find_reason(text, size);
}

/* ---- files ------------------------------------------------------------------------------------ */

/* Access to files without locks, where this HDF5 can be told so. */
static hid_t access_without_locks(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#if (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0)) || H5_VERSION_GE(1, 12, 1)
    if (access >= 0) {
        H5Pset_file_locking(access, 0, 1);
    }
#endif
    return access >= 0 ? access : H5P_DEFAULT;
}

static enum mtip_status check_readable(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot open: %s", path, strerror(errno));
    }
    if (S_ISDIR(info.st_mode)) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: is a folder; an HDF5 file is expected", path);
    }
    const int fd = open(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot open: %s", path, strerror(errno));
    }
    close(fd);
    if (!S_ISREG(info.st_mode)) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: is not a regular file", path);
    }
    if (info.st_size == 0) {
        return MTIP_ERROR(MTIP_ERR_FORMAT, "%s: the file is empty (0 bytes)", path);
    }
    return MTIP_OK;
}

int h5_is_hdf5(const char *path)
{
    struct stat info;
    h5_silence();
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && H5Fis_hdf5(path) > 0;
}

enum mtip_status h5_open(hid_t *file, const char *path)
{
    *file = H5_NONE;
    enum mtip_status status = check_readable(path);
    if (status != MTIP_OK) {
        return status;
    }
    h5_silence();
    if (H5Fis_hdf5(path) <= 0) {
        return MTIP_ERROR(MTIP_ERR_FORMAT, "%s: is not an HDF5 file", path);
    }
    const hid_t access = access_without_locks();
    *file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (*file < 0) {
        char text[200];
        const int truncated = find_reason(text, sizeof text);
        status = MTIP_ERROR(MTIP_ERR_FORMAT, "%s: %s (HDF5: %s)", path,
                            truncated ? "the file is truncated; copy or write it again"
                                      : "cannot be read as an HDF5 file; it may be damaged",
                            text);
        *file = H5_NONE;
    }
    h5_close(access);
    return status;
}

enum mtip_status h5_create(hid_t *file, const char *path)
{
    h5_silence();
    const hid_t access = access_without_locks();
#if H5_VERSION_GE(1, 10, 2)
    /* The format of HDF5 1.10 has checksums in all metadata: damage is noticed, where the older format
     * makes HDF5 read past its buffers. */
    if (access != H5P_DEFAULT) {
        H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    }
#endif
    *file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    h5_close(access);
    if (*file < 0) {
        char text[200];
        *file = H5_NONE;
        h5_reason(text, sizeof text);
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot create: %s", path, text);
    }
    return MTIP_OK;
}

/* ---- questions -------------------------------------------------------------------------------- */

static int has_object(hid_t location, const char *name, H5I_type_t type)
{
    h5_silence();
    if (H5Lexists(location, name, H5P_DEFAULT) <= 0) {
        return 0;
    }
    const hid_t object = H5Oopen(location, name, H5P_DEFAULT);
    const int found = object >= 0 && H5Iget_type(object) == type;
    if (object >= 0) {
        H5Oclose(object);
    }
    return found;
}

int h5_has_dataset(hid_t location, const char *name)
{
    return has_object(location, name, H5I_DATASET);
}

int h5_has_group(hid_t location, const char *name)
{
    return has_object(location, name, H5I_GROUP);
}

struct name_list {
    char *text;
    size_t size, length;
};

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *info, void *data)
{
    struct name_list *list = data;
    (void)group;
    (void)info;
    if (list->length + strlen(name) + 8 > list->size) {
        snprintf(list->text + list->length, list->size - list->length, ", ...");
        return 1; /* enough */
    }
    list->length += (size_t)snprintf(list->text + list->length, list->size - list->length, "%s%s",
                                     list->length > 0 ? ", " : "", name);
    return 0;
}

void h5_list_names(char *text, size_t size, hid_t location)
{
    struct name_list list = {.text = text, .size = size};
    text[0] = '\0';
    /* In the file's own order: sorting makes HDF5 1.10 free what it never made when the group is damaged. */
    H5Literate(location, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, add_name, &list);
}

void h5_shape_text(char *text, size_t size, const struct h5_shape *shape)
{
    size_t length = 0;
    snprintf(text, size, "scalar");
    for (int i = 0; i < shape->rank && length < size; i++) {
        length += (size_t)snprintf(text + length, size - length, "[%" PRId64 "]", shape->dims[i]);
    }
}

int64_t h5_shape_count(const struct h5_shape *shape)
{
    /* Empty axes count as one at first: the others must fit by themselves, as callers multiply them. */
    int64_t count = 1;
    int empty = 0;
    for (int i = 0; i < shape->rank; i++) {
        const int64_t dim = shape->dims[i];
        if (dim < 0 || (dim > 0 && count > INT64_MAX / dim)) {
            return -1;
        }
        count *= dim > 0 ? dim : 1;
        empty |= dim == 0;
    }
    return empty ? 0 : count;
}
