/* test_config.c - the configuration: defaults, files, options, messages, and that what is written
 * loads to the same values. */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "io/config.h"
#include "io/config_keys.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct fixture {
    char directory[SUPPORT_PATH_SIZE];
    char path[SUPPORT_PATH_SIZE + 32];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    support_make_directory(fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/case.cfg", fixture.directory);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *fixture = *state;
    support_remove_directory(fixture->directory);
    return 0;
}

static void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

static enum mtip_status load_text(struct config *config, const struct fixture *fixture,
                                  const char *text)
{
    write_bytes(fixture->path, text, strlen(text));
    return config_load(config, fixture->path, 0, NULL);
}

/* ---- defaults --------------------------------------------------------------------------------- */

static void test_defaults(void **state)
{
    (void)state;
    struct config c;
    assert_ok(config_load(&c, NULL, 0, NULL));
    assert_string_equal(c.input.file, "");
    assert_int_equal(c.input.bin, 1);
    assert_int_equal(c.orientation.references, 8000);
    assert_int_equal(c.orientation.references_min, 400);
    assert_int_equal(c.orientation.refine_rounds, 3);
    assert_int_equal(c.orientation.refine_trials, 8);
    assert_close(c.merge.regularization, 1e-4, 0.0);
    assert_int_equal(c.merge.iterations, 30);
    assert_string_equal(c.phasing.algorithm, "raar");
    assert_close(c.phasing.beta, 0.87, 0.0);
    assert_close(c.phasing.support_sigma_end, 1.2, 0.0);
    assert_close(c.phasing.keep, 0.67, 0.0);
    assert_int_equal(c.run.generations, 26);
    assert_string_equal(c.run.backend, "auto");
    assert_string_equal(c.run.precision, "single");
    assert_string_equal(c.run.output, "mtip-out");
    assert_string_equal(c.simulate.output, "frames.h5");
    assert_int_equal(c.simulate.frames, 1000);
    assert_close(c.simulate.edge_resolution, 7.2, 0.0);
    assert_int_equal(c.simulate.water, 0);
}

/* The table covers the struct: no byte of a member is outside of a key, no two keys overlap. */
static void test_table_covers_struct(void **state)
{
    (void)state;
    static unsigned char owner[sizeof(struct config)];
    size_t covered = 0;
    memset(owner, 0, sizeof owner);
    for (int i = 0; i < config_n_keys; i++) {
        const struct config_key *key = &config_keys[i];
        for (size_t b = 0; b < key->size; b++) {
            assert_int_equal(owner[key->offset + b], 0);
            owner[key->offset + b] = 1;
        }
        covered += key->size;
        assert_ptr_equal(config_key_find(key->group, key->name), key);
        assert_true(strlen(key->help) > 5);
    }
    /* What is left is padding: less than 8 bytes behind each of the few odd members. */
    assert_true(sizeof(struct config) - covered < 64);
}

/* ---- round trip ------------------------------------------------------------------------------- */

/* Another valid value for each key. */
static void change_value(struct config *config, const struct config_key *key, int i)
{
    void *value = config_key_value(config, key);
    switch (key->type) {
    case CONFIG_INTEGER: {
        int64_t number = key->max > 1e18 ? ((int64_t)1 << 40) + i : *(int64_t *)value + 1;
        if (key->odd) {
            number = 41;
        }
        *(int64_t *)value = number;
        break;
    }
    case CONFIG_REAL:
        /* Within every range, and no short decimal. */
        *(double *)value = key->max <= 1.0 ? 1.0 / (3.0 + i) : 10.0 / (3.0 + 0.01 * i);
        break;
    case CONFIG_BOOLEAN:
        *(int *)value = !*(int *)value;
        break;
    case CONFIG_TEXT:
    case CONFIG_PATH:
        memset(value, 0, key->size);
        snprintf(value, key->size, "/a \"quoted\\\" #name %d; // x \t\n\x01 \xc3\xa9", i);
        break;
    case CONFIG_WORD: {
        const char *last = strrchr(key->words, '|') + 1;
        memset(value, 0, key->size);
        snprintf(value, key->size, "%s", last);
        break;
    }
    }
}

static void test_round_trip(void **state)
{
    const struct fixture *fixture = *state;
    struct config first, again;
    for (int comments = 0; comments < 2; comments++) {
        assert_ok(config_load(&first, NULL, 0, NULL));
        for (int i = 0; i < config_n_keys; i++) {
            change_value(&first, &config_keys[i], i);
        }
        first.orientation.references_min = 7;
        FILE *file = fopen(fixture->path, "w");
        assert_non_null(file);
        config_print(file, &first, comments);
        fclose(file);
        assert_ok(config_load(&again, fixture->path, 0, NULL));
        for (int i = 0; i < config_n_keys; i++) {
            const struct config_key *key = &config_keys[i];
            if (memcmp(config_key_value(&first, key), config_key_value(&again, key), key->size)) {
                print_error("%s.%s did not survive\n", key->group, key->name);
                fail();
            }
        }
    }
}

static void test_to_text(void **state)
{
    const struct fixture *fixture = *state;
    struct config defaults, again;
    char *text = NULL;
    assert_ok(config_load(&defaults, NULL, 0, NULL));
    assert_ok(config_to_text(&text, &defaults));
    assert_non_null(strstr(text, "generations = 26;"));
    assert_null(strchr(text, '#'));
    /* Loaded from a file, relative paths start at its folder; nothing else may change. */
    assert_ok(load_text(&again, fixture, text));
    assert_non_null(strstr(again.run.output, fixture->directory));
    assert_memory_equal(&again.phasing, &defaults.phasing, sizeof again.phasing);
    memory_free(&text);
}

/* ---- files ------------------------------------------------------------------------------------ */

static void test_file(void **state)
{
    const struct fixture *fixture = *state;
    struct config c;
    char expected[SUPPORT_PATH_SIZE + 64];
    assert_ok(load_text(&c, fixture,
                        "// a comment, @include \"x\"\n"
                        "input : { file = \"data/frames.h5\"; wavelength = 2; };\n"
                        "run = { seed = 3000000000; output = \"/abs/out\"; backend = \"cpu\"; };\n"
                        "simulate = { seed = 0xFFFFFFFFFF; water = true; pdb = \"\";\n"
                        "  frames = 5000000000L; };\n"));
    snprintf(expected, sizeof expected, "%s/data/frames.h5", fixture->directory);
    assert_string_equal(c.input.file, expected);
    assert_close(c.input.wavelength, 2.0, 0.0);
    /* libconfig 1.5 alone would wrap these. */
    assert_int_equal(c.run.seed, 3000000000);
    assert_int_equal(c.simulate.seed, 0xFFFFFFFFFF);
    assert_int_equal(c.simulate.frames, 5000000000);
    assert_string_equal(c.run.output, "/abs/out");
    assert_string_equal(c.simulate.pdb, "");
    assert_int_equal(c.simulate.water, 1);
    /* Defaults of paths start at the working directory. */
    assert_string_equal(c.simulate.output, "frames.h5");
    assert_ok(load_text(&c, fixture, ""));
}

static void test_file_errors(void **state)
{
    const struct fixture *fixture = *state;
    static const struct {
        const char *text;
        const char *says[3];
    } cases[] = {
        {"run = {\n  sed = 3;\n};", {"case.cfg:2", "run.sed", "run.seed"}},
        {"run = {\n  regularisation = 3;\n};", {"case.cfg:2", "merge.regularization"}},
        {"\n\nphsing = { beta = 0.9; };", {"case.cfg:3", "phsing", "group is phasing"}},
        {"beta = 0.9;", {"case.cfg:1", "unknown key beta", "phasing.beta"}},
        {"run = 3;", {"case.cfg:1", "run", "group"}},
        {"run = { seed = 1.5; };", {"case.cfg:1", "1.5", "an integer, at least 0"}},
        {"run = { seed = \"1\"; };", {"\"1\"", "an integer"}},
        {"run = { seed = { a = 1; }; };", {"run.seed", "group", "an integer"}},
        {"run = { seed = [1, 2]; };", {"run.seed", "list"}},
        {"run = { seed = -1; };", {"run.seed", "-1", "at least 0"}},
        {"run = { seed = 99999999999999999999; };", {"case.cfg:1", "64 bits"}},
        {"phasing = { beta = true; };", {"phasing.beta", "true", "a number"}},
        {"phasing = { beta = 1e999; };", {"phasing.beta", "inf", "at most 1"}},
        {"phasing = { keep = 0; };", {"phasing.keep", "0", "above 0"}},
        {"phasing = { algorithm = \"rar\"; };", {"phasing.algorithm", "rar", "raar, hio, er"}},
        {"phasing = { algorithm = \"\"; };", {"phasing.algorithm", "raar, hio, er"}},
        {"phasing = { algorithm = \"raar|hio\"; };", {"phasing.algorithm", "raar, hio, er"}},
        {"simulate = { water = 1; };", {"simulate.water", "true or false"}},
        {"simulate = { water = \"yes\"; };", {"simulate.water", "true or false"}},
        {"grid = { size = 40; };", {"case.cfg:1", "grid.size", "odd"}},
        {"grid = { size = 3; };", {"grid.size", "5 to 4095"}},
        {"input = { file = 3; };", {"input.file", "a text"}},
        {"run = { seed = 1; seed = 2; };", {"case.cfg:1", "duplicate"}},
        {"run = {\n seed = ;\n};", {"case.cfg:2", "syntax"}},
        {"run = {\n", {"case.cfg:", "syntax"}},
        {"run = { output = \"x", {"case.cfg:1"}},
        {"\n@include \"other.cfg\"\n", {"case.cfg:2", "@include"}},
        {"  @include \"other.cfg\"\n", {"case.cfg:1", "@include"}},
        {"orientation = { references = 100; references_min = 200; };", {"references_min", "100"}},
        {"phasing = { iterations = 0; er_iterations = 0; };", {"phasing.iterations"}},
        {"phasing = { final_iterations = 0; final_er_iterations = 0; };", {"phasing.final_"}},
        {"simulate = { distance = 100.0; };", {"simulate.pixel_size"}},
        {"simulate = { edge_resolution = 1.0; };", {"simulate.edge_resolution", "1.061"}},
    };
    struct config c;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        print_message("%s\n", cases[i].text);
        assert_status(load_text(&c, fixture, cases[i].text), MTIP_ERR_CONFIG);
        assert_message_has("case.cfg");
        for (size_t j = 0; j < COUNT_OF(cases[i].says) && cases[i].says[j] != NULL; j++) {
            assert_message_has(cases[i].says[j]);
        }
    }
}

static void test_unreadable_files(void **state)
{
    const struct fixture *fixture = *state;
    struct config c;
    char path[SUPPORT_PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s/none.cfg", fixture->directory);
    assert_status(config_load(&c, path, 0, NULL), MTIP_ERR_CONFIG);
    assert_message_has("none.cfg");
    assert_status(config_load(&c, fixture->directory, 0, NULL), MTIP_ERR_CONFIG);
    assert_message_has("folder");
    write_bytes(fixture->path, "run = {\0 };", 11);
    assert_status(config_load(&c, fixture->path, 0, NULL), MTIP_ERR_CONFIG);
    assert_message_has("binary");
    char *large = malloc(2u << 20);
    assert_non_null(large);
    memset(large, ' ', 2u << 20);
    write_bytes(fixture->path, large, 2u << 20);
    free(large);
    assert_status(config_load(&c, fixture->path, 0, NULL), MTIP_ERR_CONFIG);
    assert_message_has("1 MiB");
}

static void test_long_path(void **state)
{
    const struct fixture *fixture = *state;
    struct config c;
    char text[2 * CONFIG_TEXT_SIZE];
    char name[CONFIG_TEXT_SIZE];
    memset(name, 'a', sizeof name);
    name[CONFIG_TEXT_SIZE - 1] = '\0';
    snprintf(text, sizeof text, "input = { file = \"%s\"; };", name);
    assert_status(load_text(&c, fixture, text), MTIP_ERR_CONFIG);
    assert_message_has("too long");
    /* From the command line no folder is put before it, so the same text just fits. */
    snprintf(text, sizeof text, "input.file=%s", name);
    const char *const option = text;
    assert_ok(config_load(&c, NULL, 1, &option));
    assert_string_equal(c.input.file, name);
}

/* Cut anywhere, a file loads or is refused: it never crashes, and a refusal names the file. */
static void test_cut_files(void **state)
{
    const struct fixture *fixture = *state;
    struct config c;
    char *text = NULL;
    assert_ok(config_load(&c, NULL, 0, NULL));
    assert_ok(config_to_text(&text, &c));
    const size_t length = strlen(text);
    for (size_t n = 0; n < length; n += 3) {
        write_bytes(fixture->path, text, n);
        if (config_load(&c, fixture->path, 0, NULL) != MTIP_OK) {
            assert_message_has("case.cfg");
        }
    }
    for (size_t n = 0; n < length; n += 3) {
        const char byte = text[n];
        text[n] = (char)(byte ^ (1 << (n % 7)));
        write_bytes(fixture->path, text, length);
        if (config_load(&c, fixture->path, 0, NULL) != MTIP_OK) {
            assert_message_has("case.cfg");
        }
        text[n] = byte;
    }
    memory_free(&text);
}

/* ---- options ---------------------------------------------------------------------------------- */

static void test_options(void **state)
{
    const struct fixture *fixture = *state;
    struct config c;
    const char *const sets[] = {
        "run.seed=3000000000", "run.backend=cpu",          "run.precision=\"double\"",
        "input.file=a b.h5",   "run.output=2024",          "simulate.water=true",
        "simulate.pdb=",       "phasing.beta=9e-1",        "resolution.limit=7",
        "input.bin=0x2",       "simulate.seed=12L",        "simulate.output=\"x\\\"y.h5\"",
        "run.seed=5",          "orientation.references=50"};
    write_bytes(fixture->path, "run = { seed = 1; generations = 4; };", 37);
    assert_ok(config_load(&c, fixture->path, (int)COUNT_OF(sets), sets));
    assert_int_equal(c.run.seed, 5); /* the last one counts */
    assert_int_equal(c.run.generations, 4);
    assert_string_equal(c.run.backend, "cpu");
    assert_string_equal(c.run.precision, "double");
    assert_string_equal(c.input.file, "a b.h5"); /* from the working directory */
    assert_string_equal(c.run.output, "2024");
    assert_string_equal(c.simulate.pdb, "");
    assert_string_equal(c.simulate.output, "x\"y.h5");
    assert_int_equal(c.simulate.water, 1);
    assert_close(c.phasing.beta, 0.9, 0.0);
    assert_close(c.resolution.limit, 7.0, 0.0);
    assert_int_equal(c.input.bin, 2);
    assert_int_equal(c.simulate.seed, 12);
    assert_int_equal(c.orientation.references_min, 50); /* lowered along */
}

static void test_option_errors(void **state)
{
    (void)state;
    static const struct {
        const char *option;
        const char *says;
    } cases[] = {
        {"run.sed=1", "run.seed"},
        {"runn.seed=1", "nearest known group is run"},
        {"seed=1", "group.key=value"},
        {"run.seed", "group.key=value"},
        {"", "group.key=value"},
        {"=", "group.key=value"},
        {".=1", "unknown key"},
        {"run.=1", "unknown key run."},
        {"run.seed=", "an integer"},
        {"run.seed=1 2", "an integer"},
        {"run.seed=1e3", "an integer"},
        {"run.seed=99999999999999999999", "64 bits"},
        {"phasing.beta=nan", "a number"},
        {"phasing.beta=inf", "a number"},
        {"phasing.beta=0x1p-1", "a number"},
        {"phasing.beta=1e400", "at most 1"},
        {"phasing.beta=--1", "a number"},
        {"phasing.beta=\"0.5\"", "a number"},
        {"grid.size=-41", "5 to 4095"},
        {"run.output=\"x", "quote"},
        {"run.output=\"x\"y", "quote"},
        {"run.output=\"x\\q\"", "escapes"},
    };
    struct config c;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        print_message("%s\n", cases[i].option);
        assert_status(config_load(&c, NULL, 1, &cases[i].option), MTIP_ERR_CONFIG);
        assert_message_has("--set");
        assert_message_has(cases[i].says);
    }
}

static void test_nearest(void **state)
{
    (void)state;
    static const struct {
        const char *group, *name, *full;
    } cases[] = {
        {"particle", "diametre", "particle.diameter"}, {"run", "generation", "run.generations"},
        {"merge", "diameter", "particle.diameter"},    {"simulate", "sead", "simulate.seed"},
        {"input", "wave_length", "input.wavelength"},  {"", "", NULL}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char full[64];
        const struct config_key *key = config_key_nearest(cases[i].group, cases[i].name);
        assert_non_null(key);
        snprintf(full, sizeof full, "%s.%s", key->group, key->name);
        if (cases[i].full != NULL) {
            assert_string_equal(full, cases[i].full);
        }
    }
    assert_int_equal(config_edit_distance("kitten", "sitting"), 3);
    assert_int_equal(config_edit_distance("", "abc"), 3);
}

/* ---- help ------------------------------------------------------------------------------------- */

static char *help_text(const char *const *groups)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    config_print_help(stream, groups);
    fclose(stream);
    return text;
}

static void test_help(void **state)
{
    (void)state;
    char *text = help_text(NULL);
    for (int i = 0; i < config_n_keys; i++) {
        char name[80];
        snprintf(name, sizeof name, "  %s.%s ", config_keys[i].group, config_keys[i].name);
        assert_non_null(strstr(text, name));
    }
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_true(strcspn(line, "\n") <= 100);
    }
    free(text);
    const char *const groups[] = {"grid", "run", NULL};
    text = help_text(groups);
    assert_non_null(strstr(text, "grid.size"));
    assert_non_null(strstr(text, "run.seed"));
    assert_null(strstr(text, "phasing."));
    free(text);
}

/* configs/reference.cfg in the repository is what the table gives (`make configs` writes it). */
static void test_reference_file(void **state)
{
    (void)state;
    struct config defaults;
    char *text = NULL;
    size_t size = 0;
    FILE *file = fopen("configs/reference.cfg", "r");
    if (file == NULL) {
        print_error("configs/reference.cfg is missing: run the tests from the top folder, and "
                    "`make configs` to write it\n");
        fail();
        return;
    }
    assert_ok(config_load(&defaults, NULL, 0, NULL));
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    config_print(stream, &defaults, 1);
    fclose(stream);
    char *found = calloc(1, size + 2);
    assert_non_null(found);
    const size_t length = fread(found, 1, size + 1, file);
    fclose(file);
    const int same = length == size && memcmp(found, text, size) == 0;
    free(found);
    free(text);
    if (!same) {
        print_error("configs/reference.cfg is not what the key table gives: run `make configs`\n");
        fail();
    }
}

/* Every file in configs/ loads. */
static void test_shipped_files(void **state)
{
    (void)state;
    static const char *const files[] = {"configs/reference.cfg", "configs/demo_simulate.cfg",
                                        "configs/demo_reconstruct.cfg", "configs/2cex_simulate.cfg",
                                        "configs/2cex_reconstruct.cfg"};
    struct config c;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        assert_ok(config_load(&c, files[i], 0, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_table_covers_struct),
        cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_to_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_file_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unreadable_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options, set_up, tear_down),
        cmocka_unit_test(test_option_errors),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_reference_file),
        cmocka_unit_test(test_shipped_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
