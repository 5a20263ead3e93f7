/* test_result.c - the result file: round trip of everything, units, what may be missing, damage; and what
 * `mtip info` tells of it.
 */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd_info.h"
#include "core/memory.h"
#include "core/rng.h"
#include "io/h5.h"
#include "io/mrc.h"
#include "io/result.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define M 7
#define SHELLS 3
#define FRAMES 11
#define GENERATIONS 2
#define SHOWN 2

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
    struct result result; /* owned */
};

static double *numbers(int64_t n, uint64_t stream)
{
    double *values = NULL;
    struct rng rng = rng_stream(11, RNG_TEST, stream, 0);
    assert_ok(MEMORY_ALLOC(&values, n, "numbers"));
    for (int64_t i = 0; i < n; i++) {
        values[i] = rng_normal(&rng);
    }
    return values;
}

static void make_result(struct result *r, int64_t m)
{
    const char *const sets[] = {"run.seed=77", "phasing.beta=0.9", "input.file=/data/x.h5"};
    memset(r, 0, sizeof *r);
    assert_ok(config_load(&r->config, NULL, (int)COUNT_OF(sets), sets));
    r->grid_size = m;
    r->voxel_A = 3.6;
    r->density = numbers(m * m * m, 1);
    r->support = numbers(m * m * m, 2);
    r->autocorrelation = numbers(m * m * m, 3);
    r->intensity = numbers(m * m * m, 4);
    r->n_shells = SHELLS;
    r->shell_resolution_A = numbers(SHELLS, 5);
    r->prtf = numbers(SHELLS, 6);
    r->fsc = numbers(SHELLS, 7);
    r->fsc[1] = (double)NAN;
    r->resolution_half_A = 8.5;
    r->resolution_seventh_A = 7.25;
    r->n_frames = FRAMES;
    r->orientations = numbers(4 * FRAMES, 8);
    r->fluence = numbers(FRAMES, 9);
    r->score = numbers(FRAMES, 10);
    assert_ok(MEMORY_ALLOC(&r->half, FRAMES, "half"));
    for (int i = 0; i < FRAMES; i++) {
        r->half[i] = i % 2;
    }
    r->n_generations = GENERATIONS;
    assert_ok(MEMORY_ALLOC(&r->generations, GENERATIONS, "generations"));
    for (int g = 0; g < GENERATIONS; g++) {
        r->generations[g] =
            (struct generation_metrics){20.0 - g, 400 + g, -5.5 + g, 0.5, 80.0 - g, 0.75,   0.25,
                                        15.0,     1.0,     2.0,      3.0, 4.0,      5.0 + g};
    }
    r->n_shown = SHOWN;
    r->show_ny = 4;
    r->show_nx = 5;
    assert_ok(MEMORY_ALLOC(&r->shown_frame, SHOWN, "shown"));
    r->shown_frame[1] = 9;
    r->shown_data = numbers(SHOWN * 4 * 5, 11);
    r->shown_model = numbers(SHOWN * 4 * 5, 12);
    snprintf(r->version, sizeof r->version, "0.1.0");
    snprintf(r->input_path, sizeof r->input_path, "/data/x.h5");
    snprintf(r->input_checksum, sizeof r->input_checksum, "%064d", 5);
    snprintf(r->backend, sizeof r->backend, "cpu, 2 threads");
    r->n_ranks = 2;
    r->n_threads = 3;
}

static int set_up(void **state)
{
    static struct fixture fixture;
    support_make_directory(fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/result.h5", fixture.directory);
    make_result(&fixture.result, M);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    result_release(&fixture->result);
    support_remove_directory(fixture->directory);
    return 0;
}

static void assert_same(const void *a, const void *b, int64_t n)
{
    assert_non_null(a);
    assert_memory_equal(a, b, (size_t)n * 8);
}

static void test_round_trip(void **state)
{
    const struct fixture *fixture = *state;
    const struct result *r = &fixture->result;
    struct result again;
    assert_ok(result_write(fixture->path, r));
    assert_ok(result_write(fixture->path, r)); /* replaces */
    assert_true(result_probe(fixture->path));
    assert_ok(result_read(&again, fixture->path));
    assert_int_equal(again.grid_size, M);
    assert_close(again.voxel_A, 3.6, 0.0);
    assert_same(again.density, r->density, M * M * M);
    assert_same(again.support, r->support, M * M * M);
    assert_same(again.autocorrelation, r->autocorrelation, M * M * M);
    assert_same(again.intensity, r->intensity, M * M * M);
    assert_int_equal(again.n_shells, SHELLS);
    assert_same(again.shell_resolution_A, r->shell_resolution_A, SHELLS);
    assert_same(again.prtf, r->prtf, SHELLS);
    assert_same(again.fsc, r->fsc, SHELLS);
    assert_close(again.resolution_half_A, 8.5, 0.0);
    assert_close(again.resolution_seventh_A, 7.25, 0.0);
    assert_int_equal(again.n_frames, FRAMES);
    assert_same(again.orientations, r->orientations, 4 * FRAMES);
    assert_same(again.fluence, r->fluence, FRAMES);
    assert_same(again.score, r->score, FRAMES);
    assert_same(again.half, r->half, FRAMES);
    assert_int_equal(again.n_generations, GENERATIONS);
    assert_memory_equal(again.generations, r->generations, GENERATIONS * sizeof *again.generations);
    assert_int_equal(again.n_shown, SHOWN);
    assert_int_equal(again.show_ny, 4);
    assert_int_equal(again.show_nx, 5);
    assert_same(again.shown_frame, r->shown_frame, SHOWN);
    assert_same(again.shown_data, r->shown_data, SHOWN * 4 * 5);
    assert_same(again.shown_model, r->shown_model, SHOWN * 4 * 5);
    assert_memory_equal(&again.config, &r->config, sizeof again.config);
    assert_string_equal(again.version, r->version);
    assert_string_equal(again.input_path, r->input_path);
    assert_string_equal(again.input_checksum, r->input_checksum);
    assert_string_equal(again.backend, r->backend);
    assert_int_equal(again.n_ranks, 2);
    assert_int_equal(again.n_threads, 3);
    result_release(&again);
    assert_null(again.density);
    assert_no_open_handles();
}

/* A cube large enough to be chunked and compressed. */
static void test_large_cube(void **state)
{
    const struct fixture *fixture = *state;
    struct result r, again;
    make_result(&r, 75);
    assert_ok(result_write(fixture->path, &r));
    assert_ok(result_read(&again, fixture->path));
    assert_same(again.density, r.density, 75 * 75 * 75);
    result_release(&again);
    result_release(&r);
}

/* Units and provenance as other programs find them. */
static void test_layout(void **state)
{
    const struct fixture *fixture = *state;
    hid_t file = H5_NONE, dataset = H5_NONE;
    struct h5_shape shape;
    char text[8192];
    double value = 0.0;
    int64_t number = 0;
    assert_ok(result_write(fixture->path, &fixture->result));
    assert_ok(h5_open(&file, fixture->path));
    assert_ok(h5_dataset_open(&dataset, &shape, file, "intensity", fixture->path));
    assert_int_equal(shape.rank, 3);
    assert_true(h5_get_attribute_real(&value, dataset, "voxel_size_A"));
    assert_close(value, 3.6, 0.0);
    h5_close(dataset);
    assert_ok(h5_dataset_open(&dataset, &shape, file, "shell_resolution_A", fixture->path));
    assert_true(h5_get_attribute_text(text, sizeof text, dataset, "units"));
    assert_string_equal(text, "A");
    h5_close(dataset);
    assert_ok(h5_dataset_open(&dataset, &shape, file, "generations/seconds_merge", fixture->path));
    assert_true(h5_get_attribute_text(text, sizeof text, dataset, "units"));
    assert_string_equal(text, "s");
    h5_close(dataset);
    assert_true(h5_get_text(text, sizeof text, file, "configuration/text"));
    assert_non_null(strstr(text, "seed = 77;"));
    assert_true(h5_get_scalar(&number, H5T_NATIVE_INT64, file, "configuration/run/seed"));
    assert_int_equal(number, 77);
    assert_true(h5_get_text(text, sizeof text, file, "configuration/phasing/algorithm"));
    assert_string_equal(text, "raar");
    assert_true(h5_get_attribute_integer(&number, file, "seed"));
    assert_int_equal(number, 77);
    assert_true(h5_get_attribute_text(text, sizeof text, file, "format"));
    assert_string_equal(text, "mtip result");
    h5_close(file);
}

/* A density alone is a result. */
static void test_bare(void **state)
{
    const struct fixture *fixture = *state;
    struct result bare, again;
    memset(&bare, 0, sizeof bare);
    assert_status(result_write(fixture->path, &bare), MTIP_ERR_ARGUMENT);
    assert_int_equal(access(fixture->path, F_OK), -1);
    bare.grid_size = M;
    bare.voxel_A = 2.0;
    bare.density = fixture->result.density;
    assert_ok(result_write(fixture->path, &bare));
    assert_ok(result_read(&again, fixture->path));
    assert_null(again.fsc);
    assert_null(again.generations);
    assert_int_equal(again.n_frames, 0);
    result_release(&again);
    /* One that another program wrote: no configuration, no attributes but the voxel size. */
    hid_t file = H5_NONE, dataset = H5_NONE;
    const int64_t dims[] = {M, M, M};
    assert_ok(h5_create(&file, fixture->path));
    assert_ok(h5_write(file, "density", bare.density, H5T_NATIVE_DOUBLE, H5T_IEEE_F32LE, 3, dims,
                       NULL, "made"));
    assert_ok(h5_finish(&file, fixture->path));
    assert_status(result_read(&again, fixture->path), MTIP_ERR_FORMAT);
    assert_message_has("voxel_size_A");
    assert_ok(h5_create(&file, fixture->path));
    assert_ok(h5_write(file, "density", bare.density, H5T_NATIVE_DOUBLE, H5T_IEEE_F32LE, 3, dims,
                       NULL, "made"));
    dataset = H5Dopen2(file, "density", H5P_DEFAULT);
    assert_ok(h5_attribute_real(dataset, "voxel_size_A", 2.0, "made"));
    h5_close(dataset);
    assert_ok(h5_finish(&file, fixture->path));
    assert_ok(result_read(&again, fixture->path));
    assert_int_equal(again.config.run.generations, 26);
    result_release(&again);
}

static void test_wrong_shapes(void **state)
{
    const struct fixture *fixture = *state;
    static const struct {
        const char *name;
        int rank;
        int64_t dims[3];
        const char *says;
    } cases[] = {{"density", 3, {M, M, M + 1}, "[7][7][8]"},
                 {"density", 2, {M, M}, "[7][7]"},
                 {"density", 0, {0}, "scalar"},
                 {"support", 2, {M, M}, "`support`"},
                 {"orientations", 1, {8}, "`orientations`"},
                 {"fluence", 1, {3}, "`fluence`"}};
    static double zeros[M * M * (M + 1)];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct result result;
        hid_t file = H5_NONE, dataset = H5_NONE;
        const int64_t cube[] = {M, M, M};
        const int is_density = strcmp(cases[c].name, "density") == 0;
        assert_ok(h5_create(&file, fixture->path));
        if (!is_density) {
            assert_ok(h5_write(file, "density", zeros, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE, 3, cube,
                               NULL, "made"));
        }
        assert_ok(h5_write(file, cases[c].name, zeros, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE,
                           cases[c].rank, cases[c].dims, NULL, "made"));
        dataset = H5Dopen2(file, "density", H5P_DEFAULT);
        assert_ok(h5_attribute_real(dataset, "voxel_size_A", 2.0, "made"));
        h5_close(dataset);
        assert_ok(h5_finish(&file, fixture->path));
        assert_status(result_read(&result, fixture->path), MTIP_ERR_FORMAT);
        assert_message_has("result.h5");
        assert_message_has(cases[c].says);
        assert_null(result.density);
        assert_no_open_handles();
    }
}

/* A size that the file cannot hold is refused before memory is taken. */
static void test_impossible_size(void **state)
{
    const struct fixture *fixture = *state;
    struct result result;
    hid_t file = H5_NONE;
    const hsize_t dims[2] = {(hsize_t)1 << 40, 4}, chunk[2] = {1024, 4};
    assert_ok(h5_create(&file, fixture->path));
    const int64_t cube[] = {M, M, M};
    assert_ok(h5_write(file, "density", fixture->result.density, H5T_NATIVE_DOUBLE, H5T_IEEE_F64LE,
                       3, cube, NULL, "made"));
    const hid_t density = H5Dopen2(file, "density", H5P_DEFAULT);
    assert_ok(h5_attribute_real(density, "voxel_size_A", 2.0, "made"));
    h5_close(density);
    const hid_t space = H5Screate_simple(2, dims, NULL);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_chunk(creation, 2, chunk) >= 0);
    h5_close(H5Dcreate2(file, "orientations", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation,
                        H5P_DEFAULT));
    h5_close(creation);
    h5_close(space);
    assert_ok(h5_finish(&file, fixture->path));
    assert_status(result_read(&result, fixture->path), MTIP_ERR_FORMAT);
    assert_message_has("`orientations` claims");
    assert_no_open_handles();
}

static void test_unusable(void **state)
{
    const struct fixture *fixture = *state;
    struct result result;
    char path[SUPPORT_PATH_SIZE + 64];
    assert_status(result_read(&result, fixture->path), MTIP_ERR_FILE);
    assert_false(result_probe(fixture->path));
    assert_false(result_probe(fixture->directory));
    snprintf(path, sizeof path, "%s/none/result.h5", fixture->directory);
    assert_status(result_write(path, &fixture->result), MTIP_ERR_FILE);
    assert_message_has("create it first");
    assert_status(result_write(fixture->directory, &fixture->result), MTIP_ERR_FILE);
    assert_message_has("a folder");
    FILE *file = fopen(fixture->path, "w");
    assert_non_null(file);
    fclose(file);
    assert_status(result_read(&result, fixture->path), MTIP_ERR_FORMAT);
    assert_message_has("empty");
}

/* ---- damage ----------------------------------------------------------------------------------- */

static char *file_bytes(size_t *size, const char *path)
{
    FILE *file = fopen(path, "rb");
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

static void write_bytes(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static void test_damaged(void **state)
{
    const struct fixture *fixture = *state;
    struct result result;
    size_t size = 0;
    const char *more = getenv("MTIP_FUZZ_ROUNDS");
    const int rounds = more != NULL ? atoi(more) : 250;
    struct rng rng = rng_stream(5, RNG_TEST, 0, 0);
    assert_ok(result_write(fixture->path, &fixture->result));
    char *bytes = file_bytes(&size, fixture->path);
    for (size_t length = 1; length < size; length += 997) {
        write_bytes(fixture->path, bytes, length);
        assert_status(result_read(&result, fixture->path), MTIP_ERR_FORMAT);
        assert_message_has("result.h5");
    }
    for (int i = 0; i < rounds; i++) {
        const size_t at = (size_t)(rng_uniform(&rng) * (double)(i % 2 ? size : size / 8));
        const char byte = bytes[at];
        bytes[at] = (char)(byte ^ (1 << (rng_bits(&rng) % 8)));
        write_bytes(fixture->path, bytes, size);
        if (result_read(&result, fixture->path) == MTIP_OK) {
            result_release(&result);
        } else {
            assert_message_has("result.h5");
        }
        assert_no_open_handles();
        bytes[at] = byte;
    }
    free(bytes);
}

/* ---- mtip info -------------------------------------------------------------------------------- */

/* Runs the command with standard output going to a file; its text, to be freed. */
static char *run_info(enum mtip_status *status, const struct fixture *fixture, int argc,
                      const char *first, const char *second)
{
    char out[SUPPORT_PATH_SIZE + 16];
    char command[] = "info", a[SUPPORT_PATH_SIZE + 16], b[64];
    char *argv[] = {command, a, b, NULL};
    snprintf(out, sizeof out, "%s/out.txt", fixture->directory);
    snprintf(a, sizeof a, "%s", first);
    snprintf(b, sizeof b, "%s", second);
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    assert_true(saved >= 0);
    assert_non_null(freopen(out, "w", stdout));
    *status = cmd_info(argc, argv);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    size_t size = 0;
    char *bytes = file_bytes(&size, out);
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    memcpy(text, bytes, size);
    free(bytes);
    return text;
}

static void assert_has(char *text, const char *wanted)
{
    if (strstr(text, wanted) == NULL) {
        print_error("\"%s\" is not in:\n%s\n", wanted, text);
        fail();
    }
    free(text);
}

static void test_info(void **state)
{
    const struct fixture *fixture = *state;
    enum mtip_status status = MTIP_OK;
    char mrc_path[SUPPORT_PATH_SIZE + 16];
    assert_ok(result_write(fixture->path, &fixture->result));
    assert_has(run_info(&status, fixture, 3, fixture->path, "--json"), "\"kind\": \"result\"");
    assert_ok(status);
    assert_has(run_info(&status, fixture, 3, fixture->path, "--json"), "\"resolution_0.5_A\": 8.5");
    assert_has(run_info(&status, fixture, 3, fixture->path, "--json"), ", null, "); /* fsc[1] */
    assert_has(run_info(&status, fixture, 2, fixture->path, ""), "seed                      77\n");
    snprintf(mrc_path, sizeof mrc_path, "%s/x.mrc", fixture->directory);
    assert_ok(mrc_write(mrc_path, fixture->result.density, M, 3.6));
    assert_has(run_info(&status, fixture, 3, mrc_path, "--json"), "\"grid_size\": 7");
    assert_ok(status);
    assert_has(run_info(&status, fixture, 2, "--keys", ""), "    generations = 26;\n");
    assert_ok(status);
    free(run_info(&status, fixture, 1, "", ""));
    assert_status(status, MTIP_ERR_USAGE);
    free(run_info(&status, fixture, 3, fixture->path, "--yaml"));
    assert_status(status, MTIP_ERR_USAGE);
    free(run_info(&status, fixture, 3, fixture->path, "two"));
    assert_status(status, MTIP_ERR_USAGE);
    free(run_info(&status, fixture, 2, "/nonexistent/x.h5", ""));
    assert_status(status, MTIP_ERR_FILE);
    write_bytes(mrc_path, "text", 4);
    free(run_info(&status, fixture, 2, mrc_path, ""));
    assert_status(status, MTIP_ERR_FORMAT);
    assert_message_has("x.mrc");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_round_trip),
        CASE(test_large_cube),
        CASE(test_layout),
        CASE(test_bare),
        CASE(test_wrong_shapes),
        CASE(test_unusable),
        CASE(test_impossible_size),
        CASE(test_damaged),
        CASE(test_info),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
