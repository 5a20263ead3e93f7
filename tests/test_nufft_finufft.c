/* test_nufft_finufft.c - FINUFFT as a second judge, where it is installed: transforms too large for direct sums.
 *
 * The library is FINUFFT_LIBRARY, libfinufft.so on the linker's path, or that of Python's package finufft. Without it
 * the tests are skipped.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nufft_support.h"

/* FINUFFT's guru interface in double precision; x is fastest in memory and modes are centred, as with us. */
struct finufft {
    void *library;
    int (*makeplan)(int type, int dimension, const int64_t *n_modes, int sign, int n_vectors,
                    double tolerance, void **plan, void *options);
    int (*setpts)(void *plan, int64_t n_points, const double *x, const double *y, const double *z,
                  int64_t n_targets, const double *s, const double *t, const double *u);
    int (*execute)(void *plan, double *strengths, double *modes);
    int (*destroy)(void *plan);
};

/* Path of the library in Python's package, in `path`; 0 when there is none. */
static int python_library(char *path, int size)
{
    FILE *python =
        popen("python3 -c 'import finufft, glob, os; d = os.path.dirname(finufft.__file__); "
              "print(glob.glob(d + \"/libfinufft*.so*\")[0])' 2>/dev/null",
              "r");
    if (python == NULL) {
        return 0;
    }
    const int found = fgets(path, size, python) != NULL;
    path[found ? strcspn(path, "\n") : 0] = '\0';
    return pclose(python) == 0 && found;
}

static void look_up(void *function, void *library, const char *name)
{
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
}

static int setup(void **state)
{
    static struct finufft finufft;
    char path[4096] = "";
    const char *named = getenv("FINUFFT_LIBRARY");
    *state = NULL;
    finufft.library = dlopen(named != NULL ? named : "libfinufft.so", RTLD_NOW);
    if (finufft.library == NULL && python_library(path, sizeof path)) {
        finufft.library = dlopen(path, RTLD_NOW);
    }
    if (finufft.library == NULL) {
        return 0;
    }
    look_up(&finufft.makeplan, finufft.library, "finufft_makeplan");
    look_up(&finufft.setpts, finufft.library, "finufft_setpts");
    look_up(&finufft.execute, finufft.library, "finufft_execute");
    look_up(&finufft.destroy, finufft.library, "finufft_destroy");
    if (finufft.makeplan != NULL && finufft.setpts != NULL && finufft.execute != NULL &&
        finufft.destroy != NULL) {
        *state = &finufft;
    }
    return 0;
}

/* The transform by FINUFFT, to a hundredth of the case's tolerance. */
static void judge(double *out, const struct finufft *finufft, const struct nufft_case *c,
                  const struct nufft_data *data)
{
    void *plan = NULL;
    double *strengths = c->type == 2 ? out : data->strengths;
    double *modes = c->type == 2 ? data->modes : out;
    const double tolerance = fmax(1e-14, 0.01 * c->tolerance);
    assert_int_equal(
        finufft->makeplan(c->type, c->dimension, c->n_modes, c->sign, 1, tolerance, &plan, NULL),
        0);
    assert_int_equal(finufft->setpts(plan, c->n_points, data->x[0], data->x[1], data->x[2],
                                     c->n_targets, data->s[0], data->s[1], data->s[2]),
                     0);
    assert_int_equal(finufft->execute(plan, strengths, modes), 0);
    finufft->destroy(plan);
}

/* All types and dimensions, both precisions, uniform and clustered points. */
static void test_second_judge(void **state)
{
    static const int64_t sizes[3][3] = {{30011, 1, 1}, {301, 128, 1}, {45, 32, 50}};
    const struct finufft *finufft = *state;
    int failures = 0;
    if (finufft == NULL) {
        skip();
    }
    for (int i = 0; i < 3 * 3 * 2 * 2; i++) {
        struct nufft_case c = {.n_points = 60000, .sign = i % 2 ? 1 : -1};
        c.type = 1 + i % 3;
        c.dimension = 1 + i / 3 % 3;
        c.precision = i / 9 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.layout = i / 18 ? LAYOUT_CLUSTERED : LAYOUT_UNIFORM;
        c.tolerance = c.precision == NUFFT_DOUBLE ? 1e-9 : 1e-4;
        c.n_targets = c.type == 3 ? 20000 : 0;
        memcpy(c.n_modes, sizes[c.dimension - 1], sizeof c.n_modes);
        struct nufft_data data;
        nufft_data_make(&data, &c);
        const int64_t n = c.type == 2 ? data.values : data.mode_values;
        double *theirs = calloc((size_t)n, sizeof *theirs);
        double *ours = calloc((size_t)n, sizeof *ours);
        judge(theirs, finufft, &c, &data);
        assert_int_equal(nufft_through_plan(ours, &c, &data), MTIP_OK);
        const double error = nufft_relative_error(ours, theirs, n);
        if (!(error <= nufft_allowed(&c))) {
            print_error("type %d, %d-D, %s, layout %d: %.3e apart, allowed %.3e\n", c.type,
                        c.dimension, c.precision == NUFFT_FLOAT ? "float" : "double", (int)c.layout,
                        error, nufft_allowed(&c));
            failures++;
        }
        free(theirs);
        free(ours);
        nufft_data_free(&data);
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_second_judge)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
