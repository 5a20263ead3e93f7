/* test_dataset.c - frames files: what the writer writes, what the reader accepts, refuses and makes
 * of it (masks, response, binning). Damaged files are in test_dataset_damaged.c.
 */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/rng.h"
#include "io/dataset.h"
#include "io/h5.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Sizes of the sample: all different, so that mixed-up axes show. */
#define N 5
#define PANELS 2
#define NY 3
#define NX 4
#define P (PANELS * NY * NX)

struct fixture {
    char directory[SUPPORT_PATH_SIZE];
    char path[SUPPORT_PATH_SIZE + 16];
    float frames[N * P];
    double s[3 * P];
    uint8_t mask[P];
    double response[P];
    double polarization[P];
    double background[P];
    double quaternions[4 * N];
    double fluence[N];
    struct detector detector; /* borrows the arrays above */
};

static int set_up(void **state)
{
    static struct fixture f;
    struct rng rng = rng_stream(7, RNG_TEST, 0, 0);
    memset(&f, 0, sizeof f);
    support_make_directory(f.directory);
    snprintf(f.path, sizeof f.path, "%s/case.h5", f.directory);
    for (int i = 0; i < N * P; i++) {
        f.frames[i] = (float)rng_poisson(&rng, 3.0);
    }
    f.frames[P] = 70000.0f; /* more than 16 bits */
    for (int p = 0; p < P; p++) {
        for (int k = 0; k < 3; k++) {
            f.s[3 * p + k] = 0.1 * rng_normal(&rng);
        }
        f.mask[p] = p % 7 != 3;
        f.response[p] = 0.5 + rng_uniform(&rng);
        f.polarization[p] = 0.2 + 0.8 * rng_uniform(&rng);
        f.background[p] = 0.1 * rng_uniform(&rng);
    }
    for (int i = 0; i < N; i++) {
        rng_quaternion(&rng, &f.quaternions[4 * i]);
        f.fluence[i] = 0.5 + rng_uniform(&rng);
    }
    f.detector = (struct detector){.n_panel = PANELS,
                                   .ny = NY,
                                   .nx = NX,
                                   .n_pixel = P,
                                   .s = f.s,
                                   .mask = f.mask,
                                   .response = f.response,
                                   .background = f.background,
                                   .wavelength_A = 1.5};
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *f = *state;
    support_remove_directory(f->directory);
    return 0;
}

static enum mtip_status write_sample(const struct fixture *f, int integer_photons)
{
    enum mtip_status status = MTIP_OK;
    struct dataset_writer *writer = NULL;
    double xyz[6] = {1, 2, 3, 4, 5, 6}, occupancy[2] = {1, 0.5}, b_factor[2] = {11, 12};
    int element[2] = {6, 8};
    const struct atoms atoms = {2, xyz, element, occupancy, b_factor};
    MTIP_TRY(dataset_writer_create(&writer, f->path, &f->detector, N, integer_photons));
    /* Out of order, in two parts. */
    MTIP_TRY(
        dataset_writer_put(writer, 2, 3, f->frames + 2 * P, f->quaternions + 8, f->fluence + 2));
    MTIP_TRY(dataset_writer_put(writer, 0, 0, f->frames, NULL, NULL));
    MTIP_TRY(dataset_writer_put(writer, 0, 2, f->frames, f->quaternions, f->fluence));
    MTIP_TRY(dataset_writer_note(writer, "configuration", "run = { seed = 1; };"));
    MTIP_TRY(dataset_writer_note(writer, "empty", ""));
    MTIP_TRY(dataset_writer_atoms(writer, &atoms));
    MTIP_TRY(dataset_writer_finish(&writer));
cleanup:
    dataset_writer_destroy(&writer);
    return status;
}

/* ---- round trip ------------------------------------------------------------------------------- */

/* Response with mean 1 over used pixels. */
static void expected_response(double expected[P], const struct fixture *f)
{
    double sum = 0.0;
    int used = 0;
    for (int p = 0; p < P; p++) {
        used += f->mask[p];
        sum += f->mask[p] ? f->response[p] : 0.0;
    }
    for (int p = 0; p < P; p++) {
        expected[p] = f->response[p] * used / sum;
    }
}

static void check_sample(const struct fixture *f)
{
    struct dataset *dataset = NULL;
    float frames[N * P], expected_frames[N * P];
    double quaternions[4 * N], fluence[N], response[P];
    assert_ok(dataset_open(&dataset, f->path, NULL));
    assert_string_equal(dataset_path(dataset), f->path);
    assert_string_equal(dataset_format_name(dataset), "native HDF5");
    assert_int_equal(dataset_n_frames(dataset), N);
    const struct detector *detector = dataset_detector(dataset);
    assert_int_equal(detector->n_panel, PANELS);
    assert_int_equal(detector->ny, NY);
    assert_int_equal(detector->nx, NX);
    assert_int_equal(detector->n_pixel, P);
    assert_close(detector->wavelength_A, 1.5, 0.0);
    /* 1/m and back: one rounding each way. */
    assert_at_most(support_relative_l2(detector->s, f->s, 3 * P), 1e-15);
    assert_memory_equal(detector->mask, f->mask, P);
    expected_response(response, f);
    assert_at_most(support_relative_l2(detector->response, response, P), 1e-14);
    assert_non_null(detector->background);
    assert_memory_equal(detector->background, f->background, sizeof f->background);
    for (int i = 0; i < N * P; i++) {
        expected_frames[i] = f->mask[i % P] ? f->frames[i] : 0.0f;
    }
    assert_ok(dataset_read(dataset, 0, N, frames));
    assert_memory_equal(frames, expected_frames, sizeof frames);
    for (int i = 0; i < N; i++) {
        assert_ok(dataset_read(dataset, i, 1, frames));
        assert_memory_equal(frames, expected_frames + i * P, P * sizeof frames[0]);
    }
    assert_ok(dataset_read(dataset, N, 0, frames));
    assert_status(dataset_read(dataset, N - 1, 2, frames), MTIP_ERR_ARGUMENT);
    assert_status(dataset_read(dataset, -1, 1, frames), MTIP_ERR_ARGUMENT);
    assert_status(dataset_read(dataset, INT64_MAX, INT64_MAX, frames), MTIP_ERR_ARGUMENT);
    assert_true(dataset_has_truth(dataset));
    assert_ok(dataset_read_orientations(dataset, quaternions));
    assert_at_most(support_relative_l2(quaternions, f->quaternions, 4 * N), 1e-15);
    assert_ok(dataset_read_fluence(dataset, fluence));
    assert_memory_equal(fluence, f->fluence, sizeof fluence);
    dataset_close(&dataset);
    assert_null(dataset);
    dataset_close(&dataset);
}

static void test_round_trip_integer(void **state)
{
    assert_ok(write_sample(*state, 1));
    check_sample(*state);
}

static void test_round_trip_real(void **state)
{
    struct fixture *f = *state;
    f->frames[3 + P] = 0.125f;
    f->detector.polarization = f->polarization;
    assert_ok(write_sample(f, 0));
    check_sample(f);
}

/* What other programs look for in the file. */
static void test_layout(void **state)
{
    const struct fixture *f = *state;
    hid_t file = H5_NONE, dataset = H5_NONE;
    struct h5_shape shape;
    char text[64];
    double xyz[6];
    int32_t index[2 * P];
    assert_ok(write_sample(f, 1));
    assert_ok(h5_open(&file, f->path));
    assert_ok(h5_dataset_open(&dataset, &shape, file, "intensities", f->path));
    assert_int_equal(shape.rank, 4);
    assert_int_equal(shape.dims[0], N);
    assert_int_equal(shape.dims[1], PANELS);
    assert_int_equal(shape.dims[3], NX);
    assert_true(h5_get_attribute_text(text, sizeof text, dataset, "units"));
    assert_string_equal(text, "photons");
    h5_close(dataset);
    assert_ok(h5_dataset_open(&dataset, &shape, file, "pixel_position_reciprocal", f->path));
    assert_int_equal(shape.rank, 4);
    assert_int_equal(shape.dims[3], 3);
    assert_true(h5_get_attribute_text(text, sizeof text, dataset, "units"));
    assert_string_equal(text, "1/m");
    h5_close(dataset);
    assert_ok(h5_dataset_open(&dataset, &shape, file, "orientations", f->path));
    assert_int_equal(shape.rank, 3);
    assert_int_equal(shape.dims[1], 1);
    h5_close(dataset);
    assert_ok(h5_read(index, H5T_NATIVE_INT32, 2 * P, file, "pixel_index_map", f->path));
    assert_int_equal(index[2 * (NX + 1)], 1);
    assert_int_equal(index[2 * (NX + 1) + 1], 1);
    assert_ok(h5_read(xyz, H5T_NATIVE_DOUBLE, 6, file, "particle/atoms", f->path));
    assert_close(xyz[4], 5.0, 0.0);
    assert_true(h5_get_attribute_text(text, sizeof text, file, "configuration"));
    assert_string_equal(text, "run = { seed = 1; };");
    assert_true(h5_get_attribute_text(text, sizeof text, file, "format"));
    assert_string_equal(text, "mtip frames");
    h5_close(file);
}

/* ---- writing ---------------------------------------------------------------------------------- */

static int count_files(const char *directory)
{
    char command[SUPPORT_PATH_SIZE + 32];
    int n = -1;
    snprintf(command, sizeof command, "ls -A '%s' | wc -l", directory);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_int_equal(fscanf(pipe, "%d", &n), 1);
    pclose(pipe);
    return n;
}

static void test_writer_leaves_nothing(void **state)
{
    const struct fixture *f = *state;
    struct dataset_writer *writer = NULL;
    assert_ok(dataset_writer_create(&writer, f->path, &f->detector, N, 1));
    assert_ok(dataset_writer_put(writer, 0, 1, f->frames, NULL, NULL));
    assert_int_equal(access(f->path, F_OK), -1);
    dataset_writer_destroy(&writer);
    assert_null(writer);
    assert_int_equal(count_files(f->directory), 0);
    /* Nor does an end that comes too early. */
    assert_ok(dataset_writer_create(&writer, f->path, &f->detector, N, 1));
    assert_ok(dataset_writer_put(writer, 0, 1, f->frames, NULL, NULL));
    assert_status(dataset_writer_finish(&writer), MTIP_ERR_ARGUMENT);
    assert_null(writer);
    assert_int_equal(count_files(f->directory), 0);
    /* An old file stays until the new one is whole. */
    assert_ok(write_sample(f, 1));
    assert_ok(dataset_writer_create(&writer, f->path, &f->detector, N, 1));
    dataset_writer_destroy(&writer);
    check_sample(f);
    assert_int_equal(count_files(f->directory), 1);
}

static void test_writer_errors(void **state)
{
    struct fixture *f = *state;
    struct dataset_writer *writer = NULL;
    static const float bad[] = {-1.0f, 0.5f, NAN, INFINITY, 4.3e9f};
    char path[SUPPORT_PATH_SIZE + 64];
    snprintf(path, sizeof path, "%s/none/x.h5", f->directory);
    assert_status(dataset_writer_create(&writer, path, &f->detector, N, 1), MTIP_ERR_FILE);
    assert_message_has("/none");
    assert_message_has("create it first");
    assert_null(writer);
    assert_status(dataset_writer_create(&writer, f->path, &f->detector, 0, 1), MTIP_ERR_ARGUMENT);
    assert_ok(dataset_writer_create(&writer, f->path, &f->detector, N, 1));
    assert_status(dataset_writer_put(writer, N, 1, f->frames, NULL, NULL), MTIP_ERR_ARGUMENT);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        f->frames[P + 2] = bad[i];
        assert_status(dataset_writer_put(writer, 1, 2, f->frames, NULL, NULL), MTIP_ERR_DATA);
        assert_message_has("frame 2, pixel 2");
    }
    dataset_writer_destroy(&writer);
}

/* Chunks of several frames, and more than one chunk. */
static void test_many_frames(void **state)
{
    const struct fixture *f = *state;
    enum { SIDE = 64, MANY = 150 };
    static float frame[SIDE * SIDE];
    static double s[3 * SIDE * SIDE];
    struct dataset_writer *writer = NULL;
    struct dataset *dataset = NULL;
    const struct detector detector = {
        .n_panel = 1, .ny = SIDE, .nx = SIDE, .n_pixel = SIDE * SIDE, .s = s};
    for (int i = 0; i < 3 * SIDE * SIDE; i++) {
        s[i] = 1e-5 * (i + 1);
    }
    assert_ok(dataset_writer_create(&writer, f->path, &detector, MANY, 1));
    for (int i = 0; i < MANY; i++) {
        for (int p = 0; p < SIDE * SIDE; p++) {
            frame[p] = (float)((i + p) % 7);
        }
        assert_ok(dataset_writer_put(writer, i, 1, frame, NULL, NULL));
    }
    assert_ok(dataset_writer_finish(&writer));
    assert_ok(dataset_open(&dataset, f->path, NULL));
    assert_false(dataset_has_truth(dataset));
    assert_status(dataset_read_orientations(dataset, NULL), MTIP_ERR_DATA);
    assert_status(dataset_read_fluence(dataset, NULL), MTIP_ERR_DATA);
    for (int i = MANY - 1; i >= 0; i -= 13) {
        assert_ok(dataset_read(dataset, i, 1, frame));
        for (int p = 0; p < SIDE * SIDE; p += 11) {
            assert_close((double)frame[p], (i + p) % 7, 0.0);
        }
    }
    dataset_close(&dataset);
}

/* ---- what the reader accepts ------------------------------------------------------------------ */

/* A file made by hand: datasets are added one by one. */
static hid_t begin_file(const struct fixture *f)
{
    hid_t file = H5_NONE;
    assert_ok(h5_create(&file, f->path));
    return file;
}

static void end_file(hid_t file, const struct fixture *f)
{
    assert_ok(h5_finish(&file, f->path));
}

static void add(hid_t file, const char *name, const double *values, hid_t type, int rank,
                const int64_t *dims)
{
    assert_ok(h5_write(file, name, values, H5T_NATIVE_DOUBLE, type, rank, dims, NULL, "made"));
}

/* The sample's frames, cut to 8 bits, and positions. */
static void add_frames(hid_t file, const struct fixture *f, hid_t type, int rank,
                       const int64_t *dims)
{
    double values[N * P];
    for (int i = 0; i < N * P; i++) {
        values[i] = fmin((double)f->frames[i], 100.0);
    }
    add(file, "intensities", values, type, rank, dims);
}

static void add_positions(hid_t file, const struct fixture *f, int components_first, int rank,
                          const int64_t *dims)
{
    double values[3 * P];
    for (int p = 0; p < P; p++) {
        for (int k = 0; k < 3; k++) {
            values[components_first ? k * P + p : 3 * p + k] = 1e10 * f->s[3 * p + k];
        }
    }
    add(file, "pixel_position_reciprocal", values, H5T_IEEE_F64LE, rank, dims);
}

static const int64_t frames_dims[] = {N, PANELS, NY, NX};
static const int64_t position_dims[] = {PANELS, NY, NX, 3};
static const int64_t map_dims[] = {PANELS, NY, NX};

static void test_types(void **state)
{
    const struct fixture *f = *state;
    const hid_t types[] = {H5T_STD_U8LE,   H5T_STD_I16BE,  H5T_STD_U32LE, H5T_STD_I64BE,
                           H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_STD_U64LE};
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        struct dataset *dataset = NULL;
        float frames[N * P];
        hid_t file = begin_file(f);
        add_frames(file, f, types[t], 4, frames_dims);
        add_positions(file, f, 0, 4, position_dims);
        end_file(file, f);
        assert_ok(dataset_open(&dataset, f->path, NULL));
        assert_ok(dataset_read(dataset, 0, N, frames));
        for (int i = 0; i < N * P; i++) {
            assert_close((double)frames[i], fmin((double)f->frames[i], 100.0), 0.0);
        }
        /* Nothing but frames and positions: all pixels used, response 1. */
        const struct detector *detector = dataset_detector(dataset);
        for (int p = 0; p < P; p++) {
            assert_int_equal(detector->mask[p], 1);
            assert_close(detector->response[p], 1.0, 1e-14);
        }
        assert_null(detector->background);
        assert_close(detector->wavelength_A, 0.0, 0.0);
        assert_false(dataset_has_truth(dataset));
        dataset_close(&dataset);
    }
}

static void test_shapes(void **state)
{
    const struct fixture *f = *state;
    static const int64_t flat_frames[] = {N, PANELS * NY, NX};
    static const struct {
        int frames_rank;
        const int64_t *frames_dims;
        int components_first, rank;
        int64_t dims[4];
    } cases[] = {
        {4, frames_dims, 0, 4, {PANELS, NY, NX, 3}},
        {4, frames_dims, 1, 4, {3, PANELS, NY, NX}},
        {3, flat_frames, 0, 3, {PANELS * NY, NX, 3}},
        {3, flat_frames, 1, 3, {3, PANELS * NY, NX}},
        {3, flat_frames, 0, 4, {1, PANELS * NY, NX, 3}},
        {3, flat_frames, 1, 4, {3, 1, PANELS * NY, NX}},
    };
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct dataset *dataset = NULL;
        hid_t file = begin_file(f);
        add_frames(file, f, H5T_STD_U8LE, cases[c].frames_rank, cases[c].frames_dims);
        add_positions(file, f, cases[c].components_first, cases[c].rank, cases[c].dims);
        end_file(file, f);
        assert_ok(dataset_open(&dataset, f->path, NULL));
        assert_at_most(support_relative_l2(dataset_detector(dataset)->s, f->s, 3 * P), 1e-15);
        assert_int_equal(dataset_detector(dataset)->n_panel,
                         cases[c].frames_rank == 4 ? PANELS : 1);
        dataset_close(&dataset);
    }
}

/* polarization and solid_angle multiply; pixels without response or position are not used. */
static void test_response_and_mask(void **state)
{
    struct fixture *f = *state;
    struct dataset *dataset = NULL;
    double ones[P], mask[P], expected[P];
    float frames[P];
    for (int p = 0; p < P; p++) {
        ones[p] = 2.0;
        mask[p] = f->mask[p];
    }
    f->response[5] = 0.0;
    f->s[3 * 6 + 1] = (double)NAN;
    hid_t file = begin_file(f);
    add_frames(file, f, H5T_STD_U8LE, 4, frames_dims);
    add_positions(file, f, 0, 4, position_dims);
    add(file, "mask", mask, H5T_STD_I8LE, 3, map_dims);
    add(file, "polarization", f->response, H5T_IEEE_F64LE, 3, map_dims);
    add(file, "solid_angle", ones, H5T_IEEE_F32LE, 3, map_dims);
    end_file(file, f);
    f->mask[5] = f->mask[6] = 0;
    expected_response(expected, f);
    assert_ok(dataset_open(&dataset, f->path, NULL));
    const struct detector *detector = dataset_detector(dataset);
    assert_memory_equal(detector->mask, f->mask, P);
    for (int p = 0; p < P; p++) {
        assert_close(detector->response[p], expected[p], 1e-14);
        assert_true(isfinite(detector->s[3 * p + 1]));
    }
    assert_ok(dataset_read(dataset, 0, 1, frames));
    assert_close((double)frames[6], 0.0, 0.0);
    dataset_close(&dataset);
}

/* h5py stores booleans as an enumeration. */
static void test_boolean_mask(void **state)
{
    const struct fixture *f = *state;
    struct dataset *dataset = NULL;
    const hsize_t dims[3] = {PANELS, NY, NX};
    const int8_t no = 0, yes = 1;
    hid_t file = begin_file(f);
    add_frames(file, f, H5T_STD_U8LE, 4, frames_dims);
    add_positions(file, f, 0, 4, position_dims);
    const hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
    H5Tenum_insert(type, "FALSE", &no);
    H5Tenum_insert(type, "TRUE", &yes);
    const hid_t space = H5Screate_simple(3, dims, NULL);
    const hid_t mask = H5Dcreate2(file, "mask", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(mask, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, f->mask) >= 0);
    h5_close(mask);
    h5_close(space);
    h5_close(type);
    end_file(file, f);
    assert_ok(dataset_open(&dataset, f->path, NULL));
    assert_memory_equal(dataset_detector(dataset)->mask, f->mask, P);
    dataset_close(&dataset);
}

static void test_wavelength_and_units(void **state)
{
    const struct fixture *f = *state;
    static const struct {
        const char *name;
        double value, expected;
    } cases[] = {{"wavelength", 1.5, 1.5},
                 {"wavelength", 1.5e-10, 1.5},
                 {"wavelength_A", 6.2, 6.2},
                 {"wavelength", -1.0, 0.0},
                 {"wavelength", (double)NAN, 0.0}};
    struct dataset *dataset = NULL;
    for (size_t c = 0; c < 2 * COUNT_OF(cases); c++) {
        const size_t i = c / 2;
        hid_t file = begin_file(f);
        add_frames(file, f, H5T_STD_U8LE, 4, frames_dims);
        assert_ok(h5_write(file, "pixel_position_reciprocal", f->s, H5T_NATIVE_DOUBLE,
                           H5T_IEEE_F64LE, 4, position_dims, "1/A", "made"));
        if (c % 2 == 0) {
            assert_ok(h5_attribute_real(file, cases[i].name, cases[i].value, "made"));
        } else {
            add(file, cases[i].name, &cases[i].value, H5T_IEEE_F64LE, 0, NULL);
        }
        end_file(file, f);
        assert_ok(dataset_open(&dataset, f->path, NULL));
        assert_close(dataset_detector(dataset)->wavelength_A, cases[i].expected, 1e-12);
        assert_at_most(support_relative_l2(dataset_detector(dataset)->s, f->s, 3 * P), 0.0);
        dataset_close(&dataset);
    }
    const struct dataset_options options = {.wavelength_A = 2.5};
    assert_ok(dataset_open(&dataset, f->path, &options));
    assert_close(dataset_detector(dataset)->wavelength_A, 2.5, 0.0);
    dataset_close(&dataset);
}

/* Unit length, w >= 0; a quaternion that is none is an error. */
static void test_orientations(void **state)
{
    const struct fixture *f = *state;
    struct dataset *dataset = NULL;
    double q[4 * N] = {-1, 0, 0, 0, 0.6, 0, -0.8, 0, -0.6f, 0.8f, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0};
    double again[4 * N];
    static const int64_t dims[] = {N, 4};
    for (int bad = 0; bad < 2; bad++) {
        q[19] = bad ? (double)NAN : 0.0;
        hid_t file = begin_file(f);
        add_frames(file, f, H5T_STD_U8LE, 4, frames_dims);
        add_positions(file, f, 0, 4, position_dims);
        add(file, "orientations", q, H5T_IEEE_F32LE, 2, dims);
        end_file(file, f);
        assert_ok(dataset_open(&dataset, f->path, NULL));
        if (bad) {
            assert_status(dataset_read_orientations(dataset, again), MTIP_ERR_DATA);
            assert_message_has("frame 4");
        } else {
            assert_ok(dataset_read_orientations(dataset, again));
            assert_close(again[0], 1.0, 0.0);
            assert_close(again[8], 0.6, 1e-7); /* stored as float */
            assert_close(again[9], -0.8, 1e-7);
        }
        dataset_close(&dataset);
    }
}

/* ---- binning ---------------------------------------------------------------------------------- */

static void test_binning(void **state)
{
    const struct fixture *f = *state;
    struct dataset *dataset = NULL;
    const struct dataset_options options = {.bin = 2};
    enum { Q = PANELS * (NY / 2) * (NX / 2) };
    float frames[N * Q];
    assert_ok(write_sample(f, 1));
    assert_ok(dataset_open(&dataset, f->path, &options));
    const struct detector *detector = dataset_detector(dataset);
    assert_int_equal(detector->n_panel, PANELS);
    assert_int_equal(detector->ny, NY / 2); /* the third row is dropped */
    assert_int_equal(detector->nx, NX / 2);
    assert_int_equal(detector->n_pixel, Q);
    assert_ok(dataset_read(dataset, 0, N, frames));
    double sum = 0.0, scale = 0.0;
    int n_used = 0;
    for (int q = 0; q < Q; q++) {
        const int first = (q / 2) * NY * NX + (q % 2) * 2;
        const int corner[4] = {first, first + 1, first + NX, first + NX + 1};
        double s = 0.0, background = 0.0, response = 0.0;
        int used = 1;
        for (int i = 0; i < 4; i++) {
            s += f->s[3 * corner[i] + 1] / 4;
            background += f->background[corner[i]];
            response += f->response[corner[i]] / 4;
            used &= f->mask[corner[i]];
        }
        assert_close(detector->s[3 * q + 1], s, 1e-15);
        assert_close(detector->background[q], background, 1e-15);
        assert_int_equal(detector->mask[q], used);
        scale = scale > 0.0 ? scale : detector->response[q] / response;
        assert_close(detector->response[q], scale * response, 1e-14);
        n_used += used;
        sum += used ? detector->response[q] : 0.0;
        for (int n = 0; n < N; n++) {
            float expected = 0.0f;
            for (int i = 0; i < 4 && used; i++) {
                expected += f->frames[n * P + corner[i]];
            }
            assert_close((double)frames[n * Q + q], (double)expected, 0.0);
        }
    }
    assert_true(n_used > 0 && n_used < Q);
    assert_close(sum / n_used, 1.0, 1e-14);
    dataset_close(&dataset);
    const struct dataset_options large = {.bin = 4};
    assert_status(dataset_open(&dataset, f->path, &large), MTIP_ERR_CONFIG);
    assert_message_has("input.bin");
    assert_null(dataset);
}

/* ---- checksum --------------------------------------------------------------------------------- */

static void test_checksum(void **state)
{
    const struct fixture *f = *state;
    char text[65];
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    fclose(file);
    assert_ok(dataset_checksum(text, f->path));
    /* FIPS 180-4 examples: "", "abc", and a million times "a". */
    assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    file = fopen(f->path, "wb");
    assert_non_null(file);
    fputs("abc", file);
    fclose(file);
    assert_ok(dataset_checksum(text, f->path));
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    file = fopen(f->path, "wb");
    assert_non_null(file);
    for (int i = 0; i < 1000000; i++) {
        fputc('a', file);
    }
    fclose(file);
    assert_ok(dataset_checksum(text, f->path));
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    assert_status(dataset_checksum(text, "/nonexistent/x"), MTIP_ERR_FILE);
    assert_status(dataset_checksum(text, f->directory), MTIP_ERR_FILE);
}

/* A large file: head, middle, tail and size count. */
static void test_checksum_large(void **state)
{
    const struct fixture *f = *state;
    char first[65], text[65];
    const long size = 65L << 20;
    const long places[] = {0, size / 2, size - 1};
    FILE *file = fopen(f->path, "wb");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), size), 0);
    fclose(file);
    assert_ok(dataset_checksum(first, f->path));
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        file = fopen(f->path, "r+b");
        assert_non_null(file);
        fseek(file, places[i], SEEK_SET);
        fputc(1, file);
        fclose(file);
        assert_ok(dataset_checksum(text, f->path));
        assert_string_not_equal(text, first);
        memcpy(first, text, sizeof first);
    }
    assert_int_equal(truncate(f->path, size + 1), 0);
    assert_ok(dataset_checksum(text, f->path));
    assert_string_not_equal(text, first);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_round_trip_integer),
        CASE(test_round_trip_real),
        CASE(test_layout),
        CASE(test_writer_leaves_nothing),
        CASE(test_writer_errors),
        CASE(test_many_frames),
        CASE(test_types),
        CASE(test_shapes),
        CASE(test_response_and_mask),
        CASE(test_boolean_mask),
        CASE(test_wavelength_and_units),
        CASE(test_orientations),
        CASE(test_binning),
        CASE(test_checksum),
        CASE(test_checksum_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
