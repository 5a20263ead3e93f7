/* test_dataset_damaged.c - frames files that cannot be used: each gives one message that names the file,
 * the dataset and what would be right; cut and flipped files never crash the reader.
 */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/rng.h"
#include "io/dataset.h"
#include "io/h5.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define N 4
#define NY 5
#define NX 6
#define P (NY * NX)

/* HDF5 1.10 loses some memory when it gives up on a damaged file. Handles that this project leaves
 * open are counted instead. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5\n";
}

static void assert_no_open_handles(void)
{
    assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

struct fixture {
    char directory[SUPPORT_PATH_SIZE];
    char path[SUPPORT_PATH_SIZE + 16];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    support_make_directory(fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/case.h5", fixture.directory);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *fixture = *state;
    support_remove_directory(fixture->directory);
    return 0;
}

/* ---- files with one thing wrong --------------------------------------------------------------- */

/* A dataset of the given shape, every value `value`, but `odd` at the index `odd_at`. */
struct piece {
    const char *name; /* NULL = none */
    int rank;
    int64_t dims[5];
    double value, odd;
    int64_t odd_at;
};

#define FRAMES                                                                                     \
    {                                                                                              \
        "intensities", 4, {N, 1, NY, NX}, 1, 1, 0                                                  \
    }
#define POSITIONS                                                                                  \
    {                                                                                              \
        "pixel_position_reciprocal", 4, {1, NY, NX, 3}, 1e9, 1e9, 0                                \
    }

static void add_piece(hid_t file, const struct piece *piece)
{
    double *values = NULL;
    int64_t count = 1;
    for (int i = 0; i < piece->rank; i++) {
        count *= piece->dims[i];
    }
    assert_ok(MEMORY_ALLOC(&values, count, "piece"));
    for (int64_t i = 0; i < count; i++) {
        values[i] = i == piece->odd_at ? piece->odd : piece->value;
    }
    assert_ok(h5_write(file, piece->name, values, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, piece->rank,
                       piece->dims, NULL, "made"));
    memory_free(&values);
}

static const struct {
    struct piece pieces[4];
    enum mtip_status status;
    const char *says[3];
} cases[] = {
    {{{.name = NULL}}, MTIP_ERR_FORMAT, {"no dataset `intensities`", "nothing"}},
    {{POSITIONS}, MTIP_ERR_FORMAT, {"no dataset `intensities`", "it has: pixel_position"}},
    {{FRAMES}, MTIP_ERR_FORMAT, {"no dataset `pixel_position_reciprocal`", "it has: intensities"}},
    {{{"intensities", 4, {0, 1, NY, NX}, 1, 1, 0}, POSITIONS},
     MTIP_ERR_DATA,
     {"`intensities`", "zero frames"}},
    {{{"intensities", 4, {N, 1, 0, NX}, 1, 1, 0}, POSITIONS},
     MTIP_ERR_FORMAT,
     {"`intensities`", "no pixels", "[4][1][0][6]"}},
    {{{"intensities", 2, {N, P}, 1, 1, 0}, POSITIONS},
     MTIP_ERR_FORMAT,
     {"`intensities`", "[4][30]", "[frames][panel][ny][nx]"}},
    {{{"intensities", 5, {N, 1, 1, NY, NX}, 1, 1, 0}, POSITIONS},
     MTIP_ERR_FORMAT,
     {"`intensities`", "[4][1][1][5][6]"}},
    {{{"intensities", 0, {0}, 1, 1, 0}, POSITIONS}, MTIP_ERR_FORMAT, {"`intensities`", "scalar"}},
    {{FRAMES, {"pixel_position_reciprocal", 4, {1, NX, NY, 3}, 1e9, 1e9, 0}},
     MTIP_ERR_FORMAT,
     {"`pixel_position_reciprocal`", "[1][6][5][3]", "[1][5][6][3]"}},
    {{FRAMES, {"pixel_position_reciprocal", 4, {1, NY, NX, 2}, 1e9, 1e9, 0}},
     MTIP_ERR_FORMAT,
     {"`pixel_position_reciprocal`", "[1][5][6][2]"}},
    {{FRAMES, {"pixel_position_reciprocal", 1, {3}, 1e9, 1e9, 0}},
     MTIP_ERR_FORMAT,
     {"`pixel_position_reciprocal`", "[3]"}},
    {{FRAMES, {"pixel_position_reciprocal", 4, {1, NY, NX, 3}, 0.1, 0.1, 0}}, /* in 1/A */
     MTIP_ERR_DATA,
     {"pixel_position_reciprocal", "1/m"}},
    {{FRAMES, {"pixel_position_reciprocal", 4, {1, NY, NX, 3}, 0, 0, 0}},
     MTIP_ERR_DATA,
     {"|s| = 0"}},
    {{FRAMES, {"pixel_position_reciprocal", 4, {1, NY, NX, 3}, (double)NAN, 0, -1}},
     MTIP_ERR_DATA,
     {"no usable pixel"}},
    {{FRAMES, POSITIONS, {"mask", 3, {1, NY, NX}, 0, 0, 0}}, MTIP_ERR_DATA, {"no usable pixel"}},
    {{FRAMES, POSITIONS, {"mask", 3, {1, NY, NX}, 1, 2, 7}}, MTIP_ERR_DATA, {"`mask`", "pixel 7"}},
    {{FRAMES, POSITIONS, {"mask", 3, {1, NY, NX}, 1, (double)NAN, 7}},
     MTIP_ERR_DATA,
     {"`mask`", "pixel 7"}},
    {{FRAMES, POSITIONS, {"mask", 2, {NX, NY}, 1, 1, 0}},
     MTIP_ERR_FORMAT,
     {"`mask`", "[6][5]", "[panel][ny][nx] = [1][5][6]"}},
    {{FRAMES, POSITIONS, {"solid_angle", 2, {NY, NX}, 1, -1, 7}},
     MTIP_ERR_DATA,
     {"response", "pixel 7", "-1"}},
    {{FRAMES, POSITIONS, {"polarization", 2, {NY, NX}, 1, (double)NAN, 7}},
     MTIP_ERR_DATA,
     {"response", "pixel 7"}},
    {{FRAMES, POSITIONS, {"polarization", 2, {NY, NX}, 0, 0, 7}},
     MTIP_ERR_DATA,
     {"no usable pixel"}},
    {{FRAMES, POSITIONS, {"background", 2, {NY, NX}, 1, -0.5, 7}},
     MTIP_ERR_DATA,
     {"`background`", "pixel 7"}},
    {{FRAMES, POSITIONS, {"background", 4, {N, 1, NY, NX}, 1, 1, 7}},
     MTIP_ERR_FORMAT,
     {"`background`", "[4][1][5][6]"}},
    {{FRAMES, POSITIONS, {"orientations", 2, {N + 1, 4}, 0.5, 0.5, 0}},
     MTIP_ERR_FORMAT,
     {"`orientations`", "[5][4]", "[4][4]"}},
    {{FRAMES, POSITIONS, {"orientations", 3, {N, 1, 3}, 0.5, 0.5, 0}},
     MTIP_ERR_FORMAT,
     {"`orientations`", "[4][1][3]"}},
    {{FRAMES, POSITIONS, {"fluence", 1, {N - 1}, 1, 1, 0}}, MTIP_ERR_FORMAT, {"`fluence`", "[3]"}},
};

static void test_one_thing_wrong(void **state)
{
    const struct fixture *fixture = *state;
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct dataset *dataset = NULL;
        hid_t file = H5_NONE;
        assert_ok(h5_create(&file, fixture->path));
        for (size_t i = 0; i < COUNT_OF(cases[c].pieces) && cases[c].pieces[i].name != NULL; i++) {
            add_piece(file, &cases[c].pieces[i]);
        }
        assert_ok(h5_finish(&file, fixture->path));
        print_message("%s\n", cases[c].says[0]);
        assert_no_open_handles();
        assert_status(dataset_open(&dataset, fixture->path, NULL), cases[c].status);
        assert_null(dataset);
        assert_no_open_handles();
        assert_message_has("case.h5");
        for (size_t i = 0; i < COUNT_OF(cases[c].says) && cases[c].says[i] != NULL; i++) {
            assert_message_has(cases[c].says[i]);
        }
    }
}

/* Values of frames are checked when they are read. */
static void test_bad_values(void **state)
{
    const struct fixture *fixture = *state;
    static const double bad[] = {-1.0, (double)NAN, (double)INFINITY, 1e300};
    for (size_t b = 0; b < COUNT_OF(bad); b++) {
        for (int masked = 0; masked < 2; masked++) {
            struct dataset *dataset = NULL;
            float frames[N * P];
            hid_t file = H5_NONE;
            const struct piece frames_piece = {"intensities", 4, {N, 1, NY, NX}, 1, bad[b],
                                               2 * P + NX + 3};
            const struct piece positions = POSITIONS;
            const struct piece mask = {"mask", 2, {NY, NX}, 1, 0, NX + 3};
            assert_ok(h5_create(&file, fixture->path));
            add_piece(file, &frames_piece);
            add_piece(file, &positions);
            if (masked) {
                add_piece(file, &mask);
            }
            assert_ok(h5_finish(&file, fixture->path));
            assert_ok(dataset_open(&dataset, fixture->path, NULL));
            if (masked) {
                assert_ok(dataset_read(dataset, 0, N, frames));
                assert_close((double)frames[2 * P + NX + 3], 0.0, 0.0);
            } else {
                assert_ok(dataset_read(dataset, 0, 2, frames));
                assert_status(dataset_read(dataset, 0, N, frames), MTIP_ERR_DATA);
                assert_message_has("case.h5");
                assert_message_has("frame 2");
                assert_message_has("[0][1][3]");
            }
            dataset_close(&dataset);
        }
    }
}

static void test_other_types(void **state)
{
    const struct fixture *fixture = *state;
    struct dataset *dataset = NULL;
    hid_t file = H5_NONE;
    assert_ok(h5_create(&file, fixture->path));
    assert_ok(h5_write_text(file, "intensities", "photons", "made"));
    assert_ok(h5_finish(&file, fixture->path));
    assert_status(dataset_open(&dataset, fixture->path, NULL), MTIP_ERR_FORMAT);
    assert_message_has("integers or floats");
    /* A group where a dataset should be. */
    assert_ok(h5_create(&file, fixture->path));
    h5_close(H5Gcreate2(file, "intensities", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    assert_ok(h5_finish(&file, fixture->path));
    assert_status(dataset_open(&dataset, fixture->path, NULL), MTIP_ERR_FORMAT);
    assert_message_has("no dataset `intensities`");
    /* Units that are not known. */
    const struct piece frames = FRAMES;
    const int64_t dims[] = {1, NY, NX, 3};
    double s[3 * P] = {1.0};
    assert_ok(h5_create(&file, fixture->path));
    add_piece(file, &frames);
    assert_ok(h5_write(file, "pixel_position_reciprocal", s, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 4,
                       dims, "1/cm", "made"));
    assert_ok(h5_finish(&file, fixture->path));
    assert_status(dataset_open(&dataset, fixture->path, NULL), MTIP_ERR_FORMAT);
    assert_message_has("1/cm");
    assert_null(dataset);
}

/* A filter that no HDF5 has. */
static void test_unknown_filter(void **state)
{
    const struct fixture *fixture = *state;
    struct dataset *dataset = NULL;
    hid_t file = H5_NONE;
    const hsize_t dims[4] = {N, 1, NY, NX};
    assert_ok(h5_create(&file, fixture->path));
    const hid_t space = H5Screate_simple(4, dims, NULL);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_chunk(creation, 4, dims) >= 0);
    assert_true(H5Pset_filter(creation, 65000, H5Z_FLAG_OPTIONAL, 0, NULL) >= 0);
    h5_close(
        H5Dcreate2(file, "intensities", H5T_STD_U8LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    h5_close(creation);
    h5_close(space);
    assert_ok(h5_finish(&file, fixture->path));
    assert_status(dataset_open(&dataset, fixture->path, NULL), MTIP_ERR_UNSUPPORTED);
    assert_message_has("65000");
    assert_no_open_handles();
}

/* ---- files that are no HDF5 ------------------------------------------------------------------- */

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void test_no_hdf5(void **state)
{
    const struct fixture *fixture = *state;
    struct dataset *dataset = NULL;
    char path[SUPPORT_PATH_SIZE + 64];
    assert_status(dataset_open(&dataset, "", NULL), MTIP_ERR_CONFIG);
    assert_message_has("input.file");
    assert_status(dataset_open(&dataset, fixture->path, NULL), MTIP_ERR_FILE);
    assert_message_has("case.h5: cannot open: No such file");
    assert_status(dataset_open(&dataset, fixture->directory, NULL), MTIP_ERR_FILE);
    assert_message_has("is a folder");
    write_bytes(fixture->path, "", 0);
    assert_status(dataset_open(&dataset, fixture->path, NULL), MTIP_ERR_FORMAT);
    assert_message_has("case.h5: the file is empty");
    write_bytes(fixture->path, "this is text", 12);
    assert_status(dataset_open(&dataset, fixture->path, NULL), MTIP_ERR_FORMAT);
    assert_message_has("case.h5: is not an HDF5 file");
    /* A pipe must not be waited for. */
    snprintf(path, sizeof path, "%s/pipe", fixture->directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_status(dataset_open(&dataset, path, NULL), MTIP_ERR_FILE);
    assert_message_has("regular");
    assert_null(dataset);
}

/* ---- damage ----------------------------------------------------------------------------------- */

/* A file with everything in it, compressed frames included; its bytes, owned by the caller. */
static char *sample_bytes(size_t *size, const struct fixture *fixture)
{
    static float frames[N * P];
    static double s[3 * P], q[4 * N], fluence[N], ones[P];
    static uint8_t mask[P];
    struct dataset_writer *writer = NULL;
    const struct detector detector = {.n_panel = 1,
                                      .ny = NY,
                                      .nx = NX,
                                      .n_pixel = P,
                                      .s = s,
                                      .mask = mask,
                                      .response = ones,
                                      .background = ones,
                                      .wavelength_A = 1.0};
    for (int i = 0; i < N * P; i++) {
        frames[i] = (float)(i * 7 % 11);
    }
    for (int p = 0; p < P; p++) {
        s[3 * p] = 0.01 * p;
        mask[p] = 1;
        ones[p] = 1.0;
    }
    for (int n = 0; n < N; n++) {
        q[4 * n] = fluence[n] = 1.0;
    }
    assert_ok(dataset_writer_create(&writer, fixture->path, &detector, N, 1));
    assert_ok(dataset_writer_put(writer, 0, N, frames, q, fluence));
    assert_ok(dataset_writer_finish(&writer));
    FILE *file = fopen(fixture->path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

/* Opens and reads everything; MTIP_OK or a message that names the file. */
static enum mtip_status read_everything(const char *path)
{
    struct dataset *dataset = NULL;
    enum mtip_status status = MTIP_OK;
    float *frames = NULL;
    double *q = NULL;
    MTIP_TRY(dataset_open(&dataset, path, NULL));
    const int64_t n = dataset_n_frames(dataset);
    const int64_t n_pixel = dataset_detector(dataset)->n_pixel;
    assert_true(n > 0 && n < 1000000 && n_pixel > 0 && n_pixel < 1000000);
    MTIP_TRY(MEMORY_ALLOC(&frames, n_pixel, "frame"));
    MTIP_TRY(MEMORY_ALLOC(&q, 4 * n, "orientations"));
    for (int64_t i = 0; i < n && i < 8; i++) {
        MTIP_TRY(dataset_read(dataset, i, 1, frames));
    }
    if (dataset_has_truth(dataset)) {
        MTIP_TRY(dataset_read_orientations(dataset, q));
    }
cleanup:
    memory_free(&frames);
    memory_free(&q);
    dataset_close(&dataset);
    assert_no_open_handles();
    if (status != MTIP_OK) {
        assert_message_has("case.h5");
    }
    return status;
}

/* What the file's end holds may be no more than padding, so only most of the lengths must fail. */
static void test_truncated(void **state)
{
    const struct fixture *fixture = *state;
    size_t size = 0;
    char *bytes = sample_bytes(&size, fixture);
    assert_ok(read_everything(fixture->path));
    for (size_t length = 1; length < size; length += 61) {
        write_bytes(fixture->path, bytes, length);
        assert_true(read_everything(fixture->path) != MTIP_OK);
    }
    write_bytes(fixture->path, bytes, size - 1);
    assert_status(read_everything(fixture->path), MTIP_ERR_FORMAT);
    assert_message_has("truncated");
    free(bytes);
}

/* Flipped bits: any status, no crash, no leak (the sanitizer build looks for those). */
static void test_flipped(void **state)
{
    const struct fixture *fixture = *state;
    size_t size = 0;
    char *bytes = sample_bytes(&size, fixture);
    const char *more = getenv("MTIP_FUZZ_ROUNDS");
    const int rounds = more != NULL ? atoi(more) : 500;
    struct rng rng = rng_stream(3, RNG_TEST, 0, 0);
    int n_refused = 0;
    for (int i = 0; i < rounds; i++) {
        /* The headers are at the front, where most flips should go. */
        const size_t range = i % 2 ? size : size / 4;
        const size_t at = (size_t)(rng_uniform(&rng) * (double)range);
        const char byte = bytes[at];
        bytes[at] = (char)(i % 3 ? byte ^ (1 << (rng_bits(&rng) % 8)) : (int)rng_bits(&rng));
        write_bytes(fixture->path, bytes, size);
        n_refused += read_everything(fixture->path) != MTIP_OK;
        bytes[at] = byte;
    }
    print_message("%d of %d refused\n", n_refused, rounds);
    assert_true(n_refused > 0);
    free(bytes);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(test_one_thing_wrong), CASE(test_bad_values),
                                       CASE(test_other_types),     CASE(test_unknown_filter),
                                       CASE(test_no_hdf5),         CASE(test_truncated),
                                       CASE(test_flipped)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
