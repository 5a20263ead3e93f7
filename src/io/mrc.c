/* mrc.c - MRC2014 volumes (Cheng et al., "MRC2014: extensions to the MRC format header", J. Struct.
 * Biol. 192, 2015).
 *
 * Header words are numbered from 1, as in the paper, 4 bytes each, 256 of them.
 */
#define _POSIX_C_SOURCE 200809L
#include "io/mrc.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/memory.h"
#include "io/atomic_file.h"

#define HEADER_SIZE 1024
#define MAX_SIDE 8192

enum word {
    WORD_NX = 1,
    WORD_MODE = 4,
    WORD_MX = 8,
    WORD_CELL_A = 11,
    WORD_CELL_ALPHA = 14,
    WORD_MAPC = 17,
    WORD_DMIN = 20,
    WORD_DMAX = 21,
    WORD_DMEAN = 22,
    WORD_ISPG = 23,
    WORD_NSYMBT = 24,
    WORD_NVERSION = 28,
    WORD_ORIGIN = 50,
    WORD_MAP = 53,
    WORD_MACHINE = 54,
    WORD_RMS = 55,
    WORD_NLABL = 56,
    WORD_LABEL = 57
};

/* ---- bytes: the file is little-endian when written, either when read ---------------------------- */

static void put_bits(uint8_t *bytes, uint32_t bits)
{
    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(bits >> (8 * i));
    }
}

static void put_integer(uint8_t *header, int word, int32_t value)
{
    put_bits(header + 4 * (word - 1), (uint32_t)value);
}

static void put_real(uint8_t *header, int word, double value)
{
    const float number = (float)value;
    uint32_t bits = 0;
    memcpy(&bits, &number, sizeof bits);
    put_bits(header + 4 * (word - 1), bits);
}

static uint32_t get_bits(const uint8_t *bytes, int size, int big_endian)
{
    uint32_t bits = 0;
    for (int i = 0; i < size; i++) {
        bits |= (uint32_t)bytes[big_endian ? size - 1 - i : i] << (8 * i);
    }
    return bits;
}

static int32_t get_integer(const uint8_t *header, int word, int big_endian)
{
    return (int32_t)get_bits(header + 4 * (word - 1), 4, big_endian);
}

static double get_real(const uint8_t *header, int word, int big_endian)
{
    const uint32_t bits = get_bits(header + 4 * (word - 1), 4, big_endian);
    float number = 0.0f;
    memcpy(&number, &bits, sizeof number);
    return (double)number;
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void make_header(uint8_t header[HEADER_SIZE], const double *volume, int64_t n,
                        double voxel_A)
{
    const int64_t count = n * n * n;
    double low = volume[0], high = volume[0], sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < count; i++) {
        low = fmin(low, volume[i]);
        high = fmax(high, volume[i]);
        sum += volume[i];
    }
    const double mean = sum / (double)count;
    for (int64_t i = 0; i < count; i++) {
        squares += (volume[i] - mean) * (volume[i] - mean);
    }
    memset(header, 0, HEADER_SIZE);
    for (int k = 0; k < 3; k++) {
        put_integer(header, WORD_NX + k, (int32_t)n);
        put_integer(header, WORD_MX + k, (int32_t)n);
        put_real(header, WORD_CELL_A + k, (double)n * voxel_A);
        put_real(header, WORD_CELL_ALPHA + k, 90.0);
        put_integer(header, WORD_MAPC + k, k + 1);
        put_real(header, WORD_ORIGIN + k, -(double)((n - 1) / 2) * voxel_A);
    }
    put_integer(header, WORD_MODE, 2);
    put_real(header, WORD_DMIN, low);
    put_real(header, WORD_DMAX, high);
    put_real(header, WORD_DMEAN, mean);
    put_real(header, WORD_RMS, sqrt(squares / (double)count));
    put_integer(header, WORD_ISPG, 1);
    put_integer(header, WORD_NVERSION, 20140);
    memcpy(header + 4 * (WORD_MAP - 1), "MAP ", 4);
    memcpy(header + 4 * (WORD_MACHINE - 1), "\x44\x44\0\0", 4); /* little-endian */
    put_integer(header, WORD_NLABL, 1);
    char *label = (char *)header + 4 * (WORD_LABEL - 1);
    memset(label, ' ', 80);
    memcpy(label, "mtip " MTIP_VERSION, strlen("mtip " MTIP_VERSION));
}

enum mtip_status mrc_write(const char *path, const double *volume, int64_t n, double voxel_A)
{
    enum mtip_status status = MTIP_OK;
    struct atomic_file target = {{0}, {0}};
    uint8_t header[HEADER_SIZE];
    uint8_t *row = NULL;
    FILE *file = NULL;
    if (n < 1 || n > MAX_SIDE || !(voxel_A > 0.0)) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "%s: a volume of %" PRId64 " voxels a side of %g A cannot be written", path, n,
                  voxel_A);
    }
    MTIP_TRY(atomic_file_begin(&target, path));
    file = fopen(target.temporary, "wb");
    if (file == NULL) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: cannot write: %s", path, strerror(errno));
    }
    MTIP_TRY(MEMORY_ALLOC(&row, 4 * n, "volume row"));
    make_header(header, volume, n, voxel_A);
    int failed = fwrite(header, 1, HEADER_SIZE, file) != HEADER_SIZE;
    for (int64_t i = 0; i < n * n && !failed; i++) {
        for (int64_t x = 0; x < n; x++) {
            put_real(row, (int)x + 1, volume[i * n + x]);
        }
        failed = fwrite(row, 4, (size_t)n, file) != (size_t)n;
    }
    failed |= fflush(file) != 0;
    if (failed) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: cannot write: %s", path, strerror(errno));
    }
    fclose(file);
    file = NULL;
    MTIP_TRY(atomic_file_commit(&target));
cleanup:
    if (file != NULL) {
        fclose(file);
    }
    atomic_file_abort(&target);
    memory_free(&row);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------- */

struct layout {
    int big_endian;
    int mode;
    int item_size;
    int64_t n;
    int64_t data_offset;
    int axis[3]; /* axis[k]: 0 = x, 1 = y, 2 = z, of the k-th index of the file, fastest first */
    double voxel_A;
};

/* Machine stamps are often wrong; a mode that is one of the known few tells the byte order surely. */
static int find_byte_order(int *big_endian, const uint8_t *header)
{
    for (*big_endian = 0; *big_endian < 2; ++*big_endian) {
        const int32_t mode = get_integer(header, WORD_MODE, *big_endian);
        const int32_t nx = get_integer(header, WORD_NX, *big_endian);
        if (mode >= 0 && mode <= 101 && nx > 0 && nx <= 1 << 20) {
            return 1;
        }
    }
    return 0;
}

static enum mtip_status read_axes(struct layout *layout, const uint8_t *header, const char *path)
{
    int seen = 0, all_zero = 1;
    for (int k = 0; k < 3; k++) {
        const int32_t axis = get_integer(header, WORD_MAPC + k, layout->big_endian);
        all_zero &= axis == 0;
        seen |= axis >= 1 && axis <= 3 ? 1 << axis : 0;
        layout->axis[k] = axis - 1;
    }
    if (all_zero) { /* old files leave them out */
        for (int k = 0; k < 3; k++) {
            layout->axis[k] = k;
        }
    } else if (seen != (2 | 4 | 8)) {
        return MTIP_ERROR(MTIP_ERR_FORMAT,
                          "%s: the axes (header words 17-19) are no permutation of 1, 2, 3", path);
    }
    return MTIP_OK;
}

static enum mtip_status read_layout(struct layout *layout, const uint8_t *header, const char *path)
{
    static const struct {
        int mode, size;
    } modes[] = {{0, 1}, {1, 2}, {2, 4}, {6, 2}};
    if (!find_byte_order(&layout->big_endian, header)) {
        return MTIP_ERROR(MTIP_ERR_FORMAT, "%s: is not an MRC file (its header makes no sense)",
                          path);
    }
    const int big_endian = layout->big_endian;
    const int32_t nx = get_integer(header, WORD_NX, big_endian);
    const int32_t ny = get_integer(header, WORD_NX + 1, big_endian);
    const int32_t nz = get_integer(header, WORD_NX + 2, big_endian);
    layout->mode = get_integer(header, WORD_MODE, big_endian);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (modes[i].mode == layout->mode) {
            layout->item_size = modes[i].size;
        }
    }
    if (layout->item_size == 0) {
        return MTIP_ERROR(MTIP_ERR_UNSUPPORTED, "%s: MRC mode %d; 0, 1, 2 or 6 is expected", path,
                          layout->mode);
    }
    if (nx != ny || nx != nz || nx < 1 || nx > MAX_SIDE) {
        return MTIP_ERROR(MTIP_ERR_FORMAT,
                          "%s: the volume has %d x %d x %d voxels; a cube of at most %d a side is "
                          "expected",
                          path, nx, ny, nz, MAX_SIDE);
    }
    layout->n = nx;
    const int32_t extended = get_integer(header, WORD_NSYMBT, big_endian);
    if (extended < 0) {
        return MTIP_ERROR(MTIP_ERR_FORMAT, "%s: negative size of the extended header", path);
    }
    layout->data_offset = HEADER_SIZE + (int64_t)extended;
    double voxel[3];
    for (int k = 0; k < 3; k++) {
        const int32_t intervals = get_integer(header, WORD_MX + k, big_endian);
        const double cell = get_real(header, WORD_CELL_A + k, big_endian);
        voxel[k] = cell > 0.0 && isfinite(cell) && intervals > 0 ? cell / intervals : 0.0;
    }
    /* Cell lengths are floats: 1e-4 is well above their rounding, and below any real stretch. */
    if (!(fabs(voxel[1] - voxel[0]) <= 1e-4 * voxel[0]) ||
        !(fabs(voxel[2] - voxel[0]) <= 1e-4 * voxel[0])) {
        return MTIP_ERROR(MTIP_ERR_FORMAT, "%s: voxels of %g x %g x %g A are no cubes", path,
                          voxel[0], voxel[1], voxel[2]);
    }
    layout->voxel_A = voxel[0];
    return read_axes(layout, header, path);
}

static double item_value(const uint8_t *item, const struct layout *layout)
{
    const uint32_t bits = get_bits(item, layout->item_size, layout->big_endian);
    switch (layout->mode) {
    case 0:
        return (double)(int8_t)bits;
    case 1:
        return (double)(int16_t)bits;
    case 6:
        return (double)(uint16_t)bits;
    default: {
        float number = 0.0f;
        memcpy(&number, &bits, sizeof number);
        return (double)number;
    }
    }
}

static enum mtip_status read_voxels(double *volume, FILE *file, const struct layout *layout,
                                    const char *path)
{
    enum mtip_status status = MTIP_OK;
    uint8_t *row = NULL;
    const int64_t n = layout->n;
    const int64_t axis_strides[3] = {1, n, n * n};
    const int64_t column = axis_strides[layout->axis[0]];
    const int64_t line = axis_strides[layout->axis[1]];
    const int64_t section = axis_strides[layout->axis[2]];
    MTIP_TRY(MEMORY_ALLOC(&row, n * layout->item_size, "volume row"));
    if (fseeko(file, (off_t)layout->data_offset, SEEK_SET) != 0) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: cannot read: %s", path, strerror(errno));
    }
    for (int64_t i = 0; i < n * n; i++) {
        if (fread(row, (size_t)layout->item_size, (size_t)n, file) != (size_t)n) {
            MTIP_FAIL(MTIP_ERR_FORMAT, "%s: cannot read voxels: %s", path,
                      ferror(file) ? strerror(errno) : "the file is truncated");
        }
        for (int64_t x = 0; x < n; x++) {
            volume[i / n * section + i % n * line + x * column] =
                item_value(row + x * layout->item_size, layout);
        }
    }
cleanup:
    memory_free(&row);
    return status;
}

enum mtip_status mrc_read(double **volume, int64_t *n, double *voxel_A, const char *path)
{
    enum mtip_status status = MTIP_OK;
    struct layout layout = {.item_size = 0};
    struct stat info;
    uint8_t header[HEADER_SIZE];
    *volume = NULL;
    *n = 0;
    *voxel_A = 0.0;
    FILE *file = fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &info) != 0) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: cannot open: %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: is not a regular file", path);
    }
    if (fread(header, 1, HEADER_SIZE, file) != HEADER_SIZE) {
        MTIP_FAIL(MTIP_ERR_FORMAT,
                  "%s: is not an MRC file: %" PRId64 " bytes are less than a header", path,
                  (int64_t)info.st_size);
    }
    MTIP_TRY(read_layout(&layout, header, path));
    const int64_t count = layout.n * layout.n * layout.n;
    const int64_t expected = layout.data_offset + count * layout.item_size;
    if ((int64_t)info.st_size < expected) {
        MTIP_FAIL(MTIP_ERR_FORMAT,
                  "%s: the file is truncated: %" PRId64 " bytes, %" PRId64 " are expected", path,
                  (int64_t)info.st_size, expected);
    }
    MTIP_TRY(MEMORY_ALLOC(volume, count, "volume"));
    MTIP_TRY(read_voxels(*volume, file, &layout, path));
    *n = layout.n;
    *voxel_A = layout.voxel_A;
cleanup:
    if (file != NULL) {
        fclose(file);
    }
    if (status != MTIP_OK) {
        memory_free(volume);
    }
    return status;
}
