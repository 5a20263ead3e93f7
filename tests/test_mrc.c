/* test_mrc.c - MRC volumes: the header by the standard, round trips, other modes, byte orders and axes,
 * damaged files. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/rng.h"
#include "io/mrc.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define N 5
#define HEADER 1024

struct fixture {
    char directory[SUPPORT_PATH_SIZE];
    char path[SUPPORT_PATH_SIZE + 16];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    support_make_directory(fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/case.mrc", fixture.directory);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *fixture = *state;
    support_remove_directory(fixture->directory);
    return 0;
}

static void fill(double volume[N * N * N])
{
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    for (int i = 0; i < N * N * N; i++) {
        volume[i] = (double)(float)rng_normal(&rng);
    }
}

static size_t read_bytes(uint8_t *bytes, size_t size, const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(bytes, 1, size, file);
    fclose(file);
    return n;
}

static void write_bytes(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static int32_t word(const uint8_t *header, int number)
{
    int32_t value = 0;
    memcpy(&value, header + 4 * (number - 1), 4); /* the tests run on little-endian machines */
    return value;
}

static double real(const uint8_t *header, int number)
{
    float value = 0.0f;
    memcpy(&value, header + 4 * (number - 1), 4);
    return (double)value;
}

static void set_word(uint8_t *header, int number, int32_t value)
{
    memcpy(header + 4 * (number - 1), &value, 4);
}

static void test_header(void **state)
{
    const struct fixture *fixture = *state;
    double volume[N * N * N];
    uint8_t bytes[HEADER + 4 * N * N * N + 1];
    double sum = 0.0, squares = 0.0, low = INFINITY, high = -INFINITY;
    fill(volume);
    for (int i = 0; i < N * N * N; i++) {
        sum += volume[i] / (N * N * N);
        low = fmin(low, volume[i]);
        high = fmax(high, volume[i]);
    }
    for (int i = 0; i < N * N * N; i++) {
        squares += (volume[i] - sum) * (volume[i] - sum) / (N * N * N);
    }
    assert_ok(mrc_write(fixture->path, volume, N, 3.6));
    assert_int_equal(read_bytes(bytes, sizeof bytes, fixture->path), sizeof bytes - 1);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(word(bytes, 1 + k), N);       /* nx ny nz */
        assert_int_equal(word(bytes, 5 + k), 0);       /* nxstart */
        assert_int_equal(word(bytes, 8 + k), N);       /* mx my mz */
        assert_close(real(bytes, 11 + k), 18.0, 1e-5); /* cell: floats hold 7 digits */
        assert_close(real(bytes, 14 + k), 90.0, 0.0);
        assert_int_equal(word(bytes, 17 + k), k + 1);  /* mapc mapr maps */
        assert_close(real(bytes, 50 + k), -7.2, 1e-6); /* origin: minus 2 voxels */
    }
    assert_int_equal(word(bytes, 4), 2);
    assert_close(real(bytes, 20), low, 0.0);
    assert_close(real(bytes, 21), high, 0.0);
    assert_close(real(bytes, 22), sum, 1e-7);
    assert_int_equal(word(bytes, 23), 1);
    assert_int_equal(word(bytes, 24), 0);
    assert_int_equal(word(bytes, 28), 20140);
    assert_memory_equal(bytes + 208, "MAP \x44\x44\0\0", 8);
    assert_close(real(bytes, 55), sqrt(squares), 1e-6);
    assert_int_equal(word(bytes, 56), 1);
    assert_memory_equal(bytes + 224, "mtip ", 5);
    assert_close(real(bytes + HEADER, 1 + 2 * N * N + 3 * N + 4), volume[(2 * N + 3) * N + 4],
                 0.0); /* z slowest, x fastest */
}

static void test_round_trip(void **state)
{
    const struct fixture *fixture = *state;
    double volume[N * N * N];
    double *again = NULL;
    double voxel = 0.0;
    int64_t n = 0;
    fill(volume);
    assert_ok(mrc_write(fixture->path, volume, N, 3.6));
    assert_ok(mrc_write(fixture->path, volume, N, 2.5)); /* replaces */
    assert_ok(mrc_read(&again, &n, &voxel, fixture->path));
    assert_int_equal(n, N);
    assert_close(voxel, 2.5, 1e-6);
    assert_memory_equal(again, volume, sizeof volume);
    memory_free(&again);
    assert_ok(mrc_write(fixture->path, volume, 1, 1.0));
    assert_ok(mrc_read(&again, &n, &voxel, fixture->path));
    assert_int_equal(n, 1);
    memory_free(&again);
}

/* A file of this mode, byte order and axes, holding value(x, y, z) = x + 10 y + 100 z - 111. */
static size_t make_file(uint8_t *bytes, int mode, int swapped, const int axes[3], int extended)
{
    const int size = mode == 0 ? 1 : mode == 2 ? 4 : 2;
    memset(bytes, 0, HEADER);
    for (int k = 0; k < 3; k++) {
        const float cell = 2.0f * N;
        set_word(bytes, 1 + k, N);
        set_word(bytes, 8 + k, N);
        memcpy(bytes + 4 * (10 + k), &cell, 4);
        set_word(bytes, 17 + k, axes[k]);
    }
    set_word(bytes, 4, mode);
    set_word(bytes, 24, extended);
    uint8_t *item = bytes + HEADER + extended;
    for (int i = 0; i < N * N * N; i++, item += size) {
        const int index[3] = {i % N, i / N % N, i / N / N};
        int position[3] = {0, 0, 0};
        for (int k = 0; k < 3; k++) {
            position[(axes[k] == 0 ? k + 1 : axes[k]) - 1] = index[k];
        }
        const int value = position[0] + 10 * position[1] + 100 * position[2] - 111;
        const float real_value = (float)value;
        const int16_t short_value = (int16_t)value;
        const uint16_t unsigned_value = (uint16_t)(value + 111);
        const int8_t byte_value = (int8_t)(position[0] - 2);
        memcpy(item,
               mode == 0   ? (const void *)&byte_value
               : mode == 1 ? (const void *)&short_value
               : mode == 6 ? (const void *)&unsigned_value
                           : (const void *)&real_value,
               (size_t)size);
        for (int b = 0; swapped && b < size / 2; b++) {
            const uint8_t byte = item[b];
            item[b] = item[size - 1 - b];
            item[size - 1 - b] = byte;
        }
    }
    for (int w = 0; swapped && w < 56; w++) {
        for (int b = 0; b < 2 && w != 52; b++) {
            const uint8_t byte = bytes[4 * w + b];
            bytes[4 * w + b] = bytes[4 * w + 3 - b];
            bytes[4 * w + 3 - b] = byte;
        }
    }
    return (size_t)(HEADER + extended + size * N * N * N);
}

static void test_modes_orders_axes(void **state)
{
    const struct fixture *fixture = *state;
    static const int modes[] = {0, 1, 2, 6};
    static const int axes[][3] = {{1, 2, 3}, {3, 2, 1}, {2, 3, 1}, {0, 0, 0}};
    static uint8_t bytes[HEADER + 160 + 4 * N * N * N];
    for (size_t m = 0; m < COUNT_OF(modes); m++) {
        for (size_t a = 0; a < COUNT_OF(axes); a++) {
            for (int swapped = 0; swapped < 2; swapped++) {
                double *volume = NULL;
                double voxel = 0.0;
                int64_t n = 0;
                const size_t size = make_file(bytes, modes[m], swapped, axes[a], a == 1 ? 160 : 0);
                write_bytes(fixture->path, bytes, size);
                assert_ok(mrc_read(&volume, &n, &voxel, fixture->path));
                assert_int_equal(n, N);
                assert_close(voxel, 2.0, 0.0);
                for (int i = 0; i < N * N * N; i++) {
                    const int x = i % N, value = x + 10 * (i / N % N) + 100 * (i / N / N) - 111;
                    const double expected = modes[m] == 0   ? x - 2
                                            : modes[m] == 6 ? value + 111
                                                            : value;
                    assert_close(volume[i], expected, 0.0);
                }
                memory_free(&volume);
            }
        }
    }
}

static void test_bad_files(void **state)
{
    const struct fixture *fixture = *state;
    static const int axes[3] = {1, 2, 3};
    static uint8_t bytes[HEADER + 4 * N * N * N];
    static const struct {
        int number;
        int32_t value;
        enum mtip_status status;
        const char *says;
    } cases[] = {{1, 4, MTIP_ERR_FORMAT, "cube"},
                 {1, 0, MTIP_ERR_FORMAT, "no sense"},
                 {1, -5, MTIP_ERR_FORMAT, "no sense"},
                 {4, 4, MTIP_ERR_UNSUPPORTED, "mode 4"},
                 {4, 12, MTIP_ERR_UNSUPPORTED, "mode 12"},
                 {4, -1, MTIP_ERR_FORMAT, "no sense"},
                 {8, 50, MTIP_ERR_FORMAT, "no cubes"},
                 {17, 2, MTIP_ERR_FORMAT, "permutation"},
                 {17, 7, MTIP_ERR_FORMAT, "permutation"},
                 {24, -1, MTIP_ERR_FORMAT, "extended"},
                 {24, 0x7fffffff, MTIP_ERR_FORMAT, "truncated"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        double *volume = NULL;
        double voxel = 0.0;
        int64_t n = 0;
        const size_t size = make_file(bytes, 2, 0, axes, 0);
        set_word(bytes, cases[i].number, cases[i].value);
        write_bytes(fixture->path, bytes, size);
        assert_status(mrc_read(&volume, &n, &voxel, fixture->path), cases[i].status);
        assert_message_has("case.mrc");
        assert_message_has(cases[i].says);
        assert_null(volume);
    }
    /* 8000^3 voxels by the header: refused by the size of the file before anything is allocated. */
    double *volume = NULL;
    double voxel = 0.0;
    int64_t n = 0;
    const size_t size = make_file(bytes, 2, 0, axes, 0);
    for (int k = 0; k < 3; k++) {
        set_word(bytes, 1 + k, 8000);
    }
    write_bytes(fixture->path, bytes, size);
    assert_status(mrc_read(&volume, &n, &voxel, fixture->path), MTIP_ERR_FORMAT);
    assert_message_has("truncated");
    assert_status(mrc_read(&volume, &n, &voxel, "/nonexistent/x.mrc"), MTIP_ERR_FILE);
    assert_status(mrc_read(&volume, &n, &voxel, fixture->directory), MTIP_ERR_FILE);
}

static void test_truncated(void **state)
{
    const struct fixture *fixture = *state;
    static const int axes[3] = {1, 2, 3};
    static uint8_t bytes[HEADER + 4 * N * N * N];
    const size_t size = make_file(bytes, 2, 0, axes, 0);
    for (size_t length = 0; length < size; length += length < 1000 ? 97 : 13) {
        double *volume = NULL;
        double voxel = 0.0;
        int64_t n = 0;
        write_bytes(fixture->path, bytes, length);
        assert_status(mrc_read(&volume, &n, &voxel, fixture->path), MTIP_ERR_FORMAT);
        assert_message_has("case.mrc");
    }
}

static void test_bad_writes(void **state)
{
    const struct fixture *fixture = *state;
    double volume[1] = {1.0};
    char path[SUPPORT_PATH_SIZE + 64];
    assert_status(mrc_write(fixture->path, volume, 0, 1.0), MTIP_ERR_ARGUMENT);
    assert_status(mrc_write(fixture->path, volume, 1, 0.0), MTIP_ERR_ARGUMENT);
    assert_status(mrc_write(fixture->path, volume, 1, (double)NAN), MTIP_ERR_ARGUMENT);
    assert_int_equal(access(fixture->path, F_OK), -1);
    snprintf(path, sizeof path, "%s/none/x.mrc", fixture->directory);
    assert_status(mrc_write(path, volume, 1, 1.0), MTIP_ERR_FILE);
    assert_message_has("create it first");
    assert_status(mrc_write(fixture->directory, volume, 1, 1.0), MTIP_ERR_FILE);
    assert_message_has("a folder");
    assert_status(mrc_write("", volume, 1, 1.0), MTIP_ERR_FILE);
    assert_status(mrc_write("/proc/x.mrc", volume, 1, 1.0), MTIP_ERR_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_header, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_modes_orders_axes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_writes, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
