/* test_pdb.c - the PDB reader: columns, models, alternate locations, elements, bad lines. */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "io/pdb.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct fixture {
    char directory[SUPPORT_PATH_SIZE];
    char path[SUPPORT_PATH_SIZE + 16];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    support_make_directory(fixture.directory);
    snprintf(fixture.path, sizeof fixture.path, "%s/case.pdb", fixture.directory);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *fixture = *state;
    support_remove_directory(fixture->directory);
    return 0;
}

static enum mtip_status read_text(struct atoms *atoms, const struct fixture *fixture,
                                  const char *text, int keep_water)
{
    FILE *file = fopen(fixture->path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return pdb_read(atoms, fixture->path, keep_water);
}

static const char sample[] =
    "HEADER    TRANSPORT                               10-FEB-06   XXXX\n"
    "MODEL        1\n"
    "ATOM      1  N   ALA A   1       1.500  -2.250   3.125  0.50 20.50           N  \n"
    "ATOM      2  CA AALA A   1      11.000  12.000  13.000  0.60 10.00           C  \n"
    "ATOM      3  CA BALA A   1      21.000  12.000  13.000  0.40 10.00           C  \n"
    "ANISOU    3  CA BALA A   1     2406   1892   1614    198    519   -328       C  \n"
    "HETATM    4 CA    CA A 301    -999.999-999.9999999.999  1.00 30.00          CA  \r\n"
    "HETATM    5  O   HOH A 401       4.000   5.000   6.000  1.00 40.00           O  \n"
    "ATOM      6  SE  MSE A   2       7.0     8.0     9.0\n"
    "ENDMDL\n"
    "MODEL        2\n"
    "ATOM      1  N   ALA A   1       9.500  -2.250   3.125  0.50 20.50           N  \n"
    "ENDMDL\n";

static void test_sample(void **state)
{
    const struct fixture *fixture = *state;
    struct atoms atoms;
    assert_ok(read_text(&atoms, fixture, sample, 0));
    assert_int_equal(atoms.n, 4);
    assert_close(atoms.xyz[0], 1.5, 0.0);
    assert_close(atoms.xyz[1], -2.25, 0.0);
    assert_close(atoms.xyz[2], 3.125, 0.0);
    assert_close(atoms.occupancy[0], 0.5, 0.0);
    assert_close(atoms.b_factor[0], 20.5, 0.0);
    assert_int_equal(atoms.element[0], 7);
    assert_close(atoms.xyz[3], 11.0, 0.0);  /* alternate location A, not B */
    assert_int_equal(atoms.element[2], 20); /* calcium; its numbers touch each other */
    assert_close(atoms.xyz[7], -999.999, 0.0);
    assert_close(atoms.xyz[8], 9999.999, 0.0);
    /* A line that ends behind z: occupancy 1, B 0; the name " SE " in 13-16 is a sulphur by its column. */
    assert_int_equal(atoms.element[3], 16);
    assert_close(atoms.occupancy[3], 1.0, 0.0);
    assert_close(atoms.b_factor[3], 0.0, 0.0);
    atoms_release(&atoms);
    assert_null(atoms.xyz);
    assert_ok(read_text(&atoms, fixture, sample, 1));
    assert_int_equal(atoms.n, 5);
    assert_int_equal(atoms.element[3], 8);
    atoms_release(&atoms);
    atoms_release(&atoms);
}

/* Elements by columns 77-78, or from the name in columns 13-16. */
static void test_elements(void **state)
{
    const struct fixture *fixture = *state;
    static const struct {
        const char *name, *column;
        int z;
    } cases[] = {{" CA ", " C", 6},  {"CA  ", "CA", 20}, {" CA ", "  ", 6},  {"CA  ", "  ", 20},
                 {"1HB ", "  ", 1},  {"HG11", "  ", 1},  {"HG  ", "  ", 80}, {" HG1", "  ", 1},
                 {"ZN  ", "ZN", 30}, {"SE  ", "Se", 34}, {" D  ", " D", 1},  {" N  ", " n", 7},
                 {"FE  ", "  ", 26}, {" O5'", "  ", 8},  {"CG1 ", "  ", 6},  {" U  ", " U", 92},
                 {" P  ", "P ", 15}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char line[160];
        struct atoms atoms;
        snprintf(line, sizeof line,
                 "HETATM    1 %4s LIG A   1       1.000   2.000   3.000  1.00 10.00          %2s\n",
                 cases[i].name, cases[i].column);
        assert_ok(read_text(&atoms, fixture, line, 0));
        if (atoms.element[0] != cases[i].z) {
            print_error("\"%s\" \"%s\": element %d, expected %d\n", cases[i].name, cases[i].column,
                        atoms.element[0], cases[i].z);
            fail();
        }
        atoms_release(&atoms);
    }
}

static void test_errors(void **state)
{
    const struct fixture *fixture = *state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "no atoms"},
        {"HEADER\nEND\n", "no atoms"},
        {"data_2CEX\nATOM 1 N N . ALA A 1\n", "case.pdb"}, /* mmCIF */
        {"HETATM    5  O   HOH A 401       4.000   5.000   6.000  1.00 40.00           O\n",
         "besides water"},
        {"REMARK\nATOM      1  N   ALA A   1       1.5x0   2.250   3.125  0.50 20.50           N\n",
         ":2: \"   1.5x0\" in columns 31-38"},
        {"ATOM      1  N   ALA A   1       1.500   2.250     nan  0.50 20.50           N\n",
         "z coordinate"},
        {"ATOM      1  N   ALA A   1       1.500\n", "y coordinate"},
        {"ATOM      1  N   ALA A   1\n", "x coordinate"},
        {"ATOM  \n", "x coordinate"},
        {"ATOM      1  N   ALA A   1       1.500   2.250   3.125  a.50 20.50           N\n",
         "no occupancy"},
        {"ATOM      1  N   ALA A   1       1.500   2.250   3.125  0.50 2 .50           N\n",
         "no B factor"},
        {"ATOM      1  Q   ALA A   1       1.500   2.250   3.125  0.50 20.50           Q\n",
         "unknown element"},
        {"ATOM      1  N   ALA A   1      1e9999   2.250   3.125  0.50 20.50           N\n",
         "x coordinate"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct atoms atoms;
        print_message("%s", cases[i].text);
        assert_status(read_text(&atoms, fixture, cases[i].text, 0), MTIP_ERR_FORMAT);
        assert_message_has("case.pdb");
        assert_message_has(cases[i].says);
        assert_null(atoms.xyz);
        assert_int_equal(atoms.n, 0);
    }
    struct atoms atoms;
    assert_status(pdb_read(&atoms, "/nonexistent/x.pdb", 0), MTIP_ERR_FILE);
    assert_message_has("/nonexistent/x.pdb");
    assert_true(pdb_read(&atoms, fixture->directory, 0) != MTIP_OK);
}

/* Cut anywhere: read or refused, never a crash. */
static void test_cut(void **state)
{
    const struct fixture *fixture = *state;
    char text[sizeof sample];
    for (size_t n = 0; n < sizeof sample; n++) {
        struct atoms atoms;
        memcpy(text, sample, sizeof sample);
        text[n] = '\0';
        if (read_text(&atoms, fixture, text, 1) == MTIP_OK) {
            assert_true(atoms.n >= 1 && atoms.n <= 5);
            atoms_release(&atoms);
        } else {
            assert_message_has("case.pdb");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_sample, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_elements, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
