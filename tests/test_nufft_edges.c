/* test_nufft_edges.c - NUFFT: type 3 against direct sums, adjointness, shift, prepared grids, repeated points, plans side by
 * side, and every argument that must be refused with a message and nothing written. */
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nufft_support.h"

static int check_type3(const struct nufft_case *c)
{
    struct nufft_data data;
    nufft_data_make(&data, c);
    double *exact = calloc((size_t)data.mode_values + 1, sizeof *exact);
    double *got = calloc((size_t)data.mode_values + 1, sizeof *got);
    nufft_direct(exact, c, &data);
    double error = 1e30;
    if (nufft_through_plan(got, c, &data) == MTIP_OK) {
        error = nufft_relative_error(got, exact, data.mode_values);
    } else {
        print_error("%s\n", mtip_status_message());
    }
    free(exact);
    free(got);
    nufft_data_free(&data);
    if (!(error <= nufft_allowed(c))) {
        print_error("type 3, %d-D, tolerance %g, precision %d, points %lld, targets %lld, vectors "
                    "%lld: error %.3e > "
                    "%.3e\n",
                    c->dimension, c->tolerance, (int)c->precision, (long long)c->n_points,
                    (long long)c->n_targets, (long long)c->n_vectors, error, nufft_allowed(c));
        return 1;
    }
    return 0;
}

static void test_type3(void **state)
{
    (void)state;
    static const double tolerances[2][3] = {{1e-2, 1e-4, 1e-6}, {1e-3, 1e-8, 1e-13}};
    int failures = 0;
    for (int i = 0; i < 3 * 2 * 3 * 2; i++) {
        struct nufft_case c = {
            .type = 3, .n_points = 300, .n_targets = 170, .n_modes = {14, 11, 9}};
        c.dimension = 1 + i % 3;
        c.precision = i / 3 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.tolerance = tolerances[i / 3 % 2][i / 6 % 3];
        c.sign = i / 18 ? 1 : -1;
        c.n_vectors = i % 5 == 0 ? 9 : 1;
        failures += check_type3(&c);
    }
    for (int n = 0; n < 3; n++) { /* none and one of each */
        struct nufft_case c = {.type = 3, .dimension = 2, .tolerance = 1e-6, .n_modes = {8, 8, 1}};
        c.precision = NUFFT_DOUBLE;
        c.n_points = n;
        c.n_targets = 2 - n;
        failures += check_type3(&c);
    }
    assert_int_equal(failures, 0);
}

/* <T c, f> = <c, T* f>: type 1 with sign s and type 2 with sign -s are adjoint; in real-data mode with weights h on the
 * modes. Both use the same kernel, so that they agree far below the tolerance: to rounding. */
static void test_adjoint(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * 2 * 2; i++) {
        struct nufft_case one = {.type = 1, .n_points = 500, .tolerance = 1e-5, .sign = 1};
        one.dimension = 1 + i % 3;
        one.precision = i / 3 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        one.real_data = i / 6;
        one.n_modes[0] = 12;
        one.n_modes[1] = 9;
        one.n_modes[2] = 10;
        struct nufft_case two = one;
        two.type = 2;
        two.sign = -1;
        struct nufft_data data;
        nufft_data_make(&data, &one);
        double *modes = calloc((size_t)data.mode_values, sizeof *modes);
        double *values = calloc((size_t)data.values, sizeof *values);
        assert_int_equal(nufft_through_plan(modes, &one, &data), MTIP_OK);
        assert_int_equal(nufft_through_plan(values, &two, &data), MTIP_OK);
        double left = 0.0;
        double right = 0.0;
        double scale = 0.0;
        for (int64_t k = 0; k < data.mode_values; k++) {
            const int64_t k_x = k / 2 % (one.n_modes[0] / 2 + 1);
            const double h = one.real_data && k_x != 0 && 2 * k_x != one.n_modes[0] ? 2.0 : 1.0;
            left += h * modes[k] * data.modes[k];
            scale += h * fabs(modes[k] * data.modes[k]);
        }
        for (int64_t j = 0; j < data.values; j++) {
            right += values[j] * data.strengths[j];
        }
        const double epsilon = one.precision == NUFFT_FLOAT ? FLT_EPSILON : DBL_EPSILON;
        assert_true(fabs(left - right) <= 100.0 * epsilon * scale);
        free(modes);
        free(values);
        nufft_data_free(&data);
    }
}

/* Points moved by whole periods, and by a shift that multiplies modes with a phase. */
static void test_shift(void **state)
{
    (void)state;
    struct nufft_case c = {
        .type = 1, .dimension = 3, .n_points = 300, .tolerance = 1e-9, .sign = 1};
    c.precision = NUFFT_DOUBLE;
    memcpy(c.n_modes, ((int64_t[3]){8, 7, 6}), sizeof c.n_modes);
    struct nufft_data data;
    nufft_data_make(&data, &c);
    const int64_t n = data.mode_values;
    double *first = calloc((size_t)n, sizeof *first);
    double *moved = calloc((size_t)n, sizeof *moved);
    assert_int_equal(nufft_through_plan(first, &c, &data), MTIP_OK);
    const double by[3] = {0.3, -1.1, 2.7};
    for (int a = 0; a < 3; a++) {
        for (int64_t j = 0; j < c.n_points; j++) {
            data.x[a][j] += by[a];
        }
    }
    assert_int_equal(nufft_through_plan(moved, &c, &data), MTIP_OK);
    for (int64_t i = 0; i < data.stored; i++) {
        const double angle = by[0] * (double)(i % 8 - 4) + by[1] * (double)(i / 8 % 7 - 3) +
                             by[2] * (double)(i / 56 - 3);
        const double re = first[2 * i] * cos(angle) - first[2 * i + 1] * sin(angle);
        first[2 * i + 1] = first[2 * i] * sin(angle) + first[2 * i + 1] * cos(angle);
        first[2 * i] = re;
    }
    assert_true(nufft_relative_error(moved, first, n) <= 6e-9);
    free(first);
    free(moved);
    nufft_data_free(&data);
}

/* prepare + interpolate over changing points gives the bits of execute; more vectors than fit the first grid. */
static void test_prepared(void **state)
{
    (void)state;
    for (int vectors = 1; vectors <= 9; vectors += 8) {
        struct nufft_case c = {.type = 2, .dimension = 3, .n_points = 900, .tolerance = 1e-6};
        c.precision = NUFFT_DOUBLE;
        c.real_data = 1;
        c.n_vectors = vectors;
        memcpy(c.n_modes, ((int64_t[3]){9, 8, 11}), sizeof c.n_modes);
        struct nufft_data data;
        nufft_data_make(&data, &c);
        double *whole = calloc((size_t)data.values, sizeof *whole);
        double *part = calloc((size_t)data.values, sizeof *part);
        assert_int_equal(nufft_through_plan(whole, &c, &data), MTIP_OK);
        struct nufft_plan *plan = NULL;
        assert_int_equal(nufft_case_plan(&plan, &c), MTIP_OK);
        assert_int_not_equal(nufft_plan_interpolate(plan, part), MTIP_OK); /* not prepared */
        assert_int_equal(nufft_plan_prepare(plan, data.modes), MTIP_OK);
        assert_int_not_equal(nufft_plan_interpolate(plan, part), MTIP_OK); /* no points */
        for (int64_t first = 0; first < c.n_points; first += 300) {
            assert_int_equal(nufft_plan_set_points(plan, 300, data.x[0] + first, data.x[1] + first,
                                                   data.x[2] + first, 0, NULL, NULL, NULL),
                             MTIP_OK);
            assert_int_equal(nufft_plan_interpolate(plan, part), MTIP_OK);
            for (int v = 0; v < vectors; v++) {
                assert_true(nufft_relative_error(part + v * 300, whole + v * 900 + first, 300) <=
                            1e-13);
            }
        }
        nufft_plan_destroy(&plan);
        free(whole);
        free(part);
        nufft_data_free(&data);
    }
}

/* Repeated set-points with growing and shrinking sets leaves no trace of earlier ones. */
static void test_repeated_points(void **state)
{
    (void)state;
    struct nufft_case c = {.type = 1, .dimension = 2, .tolerance = 1e-8, .n_points = 5000};
    c.precision = NUFFT_DOUBLE;
    memcpy(c.n_modes, ((int64_t[3]){30, 21, 1}), sizeof c.n_modes);
    struct nufft_data data;
    nufft_data_make(&data, &c);
    struct nufft_plan *plan = NULL;
    assert_int_equal(nufft_case_plan(&plan, &c), MTIP_OK);
    double *got = calloc((size_t)data.mode_values, sizeof *got);
    double *exact = calloc((size_t)data.mode_values, sizeof *exact);
    static const int64_t counts[] = {10, 5000, 0, 3, 4999};
    for (int i = 0; i < 5; i++) {
        c.n_points = counts[i];
        assert_int_equal(
            nufft_plan_set_points(plan, counts[i], data.x[0], data.x[1], NULL, 0, NULL, NULL, NULL),
            MTIP_OK);
        assert_int_equal(nufft_plan_execute(plan, data.strengths, got), MTIP_OK);
        nufft_direct(exact, &c, &data);
        assert_true(nufft_relative_error(got, exact, data.mode_values) <= 3e-8);
    }
    nufft_plan_destroy(&plan);
    free(got);
    free(exact);
    nufft_data_free(&data);
}

/* Points that are changed after they were set, against what nufft.h asks for: the values are anything, but nothing outside the
 * plan's arrays is touched (the sanitizers look), and with new points the plan gives the bits of a new one. */
static void test_changed_points(void **state)
{
    (void)state;
    static const double wrong[] = {NAN, 1e30, -INFINITY, 3.0, -3.1};
    for (int i = 0; i < 3 * 2 * 2; i++) {
        struct nufft_case c = {.type = 1 + i % 2, .tolerance = 1e-5, .n_points = 3000};
        c.dimension = 1 + i / 2 % 3;
        c.precision = NUFFT_DOUBLE;
        c.real_data = i / 6;
        memcpy(c.n_modes, ((int64_t[3]){60, 45, 50}), sizeof c.n_modes);
        struct nufft_data data;
        nufft_data_make(&data, &c);
        struct nufft_plan *plan = NULL;
        double *const x[3] = {data.x[0], c.dimension > 1 ? data.x[1] : NULL,
                              c.dimension > 2 ? data.x[2] : NULL};
        double *changed = calloc((size_t)c.n_points, sizeof *changed);
        assert_int_equal(nufft_case_plan(&plan, &c), MTIP_OK);
        memcpy(changed, x[0], (size_t)c.n_points * sizeof *changed);
        assert_int_equal(
            nufft_plan_set_points(plan, c.n_points, changed, x[1], x[2], 0, NULL, NULL, NULL),
            MTIP_OK);
        for (int64_t j = 0; j < c.n_points; j++) {
            changed[j] = wrong[j % 5];
        }
        double *strengths = calloc((size_t)data.values, sizeof *strengths);
        double *modes = calloc((size_t)data.mode_values, sizeof *modes);
        memcpy(strengths, data.strengths, (size_t)data.values * sizeof *strengths);
        memcpy(modes, data.modes, (size_t)data.mode_values * sizeof *modes);
        assert_int_equal(nufft_plan_execute(plan, strengths, modes), MTIP_OK);
        memcpy(strengths, data.strengths, (size_t)data.values * sizeof *strengths);
        memcpy(modes, data.modes, (size_t)data.mode_values * sizeof *modes);
        assert_int_equal(
            nufft_plan_set_points(plan, c.n_points, x[0], x[1], x[2], 0, NULL, NULL, NULL),
            MTIP_OK);
        assert_int_equal(nufft_plan_execute(plan, strengths, modes), MTIP_OK);
        nufft_plan_destroy(&plan);
        const int64_t n = c.type == 1 ? data.mode_values : data.values;
        double *fresh = calloc((size_t)n, sizeof *fresh);
        assert_int_equal(nufft_through_plan(fresh, &c, &data), MTIP_OK);
        assert_memory_equal(c.type == 1 ? modes : strengths, fresh, (size_t)n * sizeof *fresh);
        free(fresh);
        free(modes);
        free(strengths);
        free(changed);
        nufft_data_free(&data);
    }
}

/* Strengths near the end of the range do not overflow on the way. */
static void test_large_strengths(void **state)
{
    (void)state;
    for (int type = 1; type <= 2; type++) {
        struct nufft_case c = {.type = type, .dimension = 3, .n_points = 200, .tolerance = 1e-4};
        memcpy(c.n_modes, ((int64_t[3]){10, 9, 8}), sizeof c.n_modes);
        struct nufft_data data;
        nufft_data_make(&data, &c);
        const int64_t n = type == 2 ? data.values : data.mode_values;
        for (int64_t i = 0; i < data.values; i++) {
            data.strengths[i] *= 1e33;
        }
        for (int64_t i = 0; i < data.mode_values; i++) {
            data.modes[i] *= 1e31;
        }
        double *got = calloc((size_t)n, sizeof *got);
        double *exact = calloc((size_t)n, sizeof *exact);
        nufft_direct(exact, &c, &data);
        assert_int_equal(nufft_through_plan(got, &c, &data), MTIP_OK);
        assert_true(nufft_relative_error(got, exact, n) <= nufft_allowed(&c));
        free(got);
        free(exact);
        nufft_data_free(&data);
    }
}

static void *plan_in_thread(void *argument)
{
    const struct nufft_case *c = argument;
    struct nufft_data data;
    double *error = malloc(sizeof *error);
    nufft_data_make(&data, c);
    const int64_t n = c->type == 2 ? data.values : data.mode_values;
    double *got = calloc((size_t)n, sizeof *got);
    double *exact = calloc((size_t)n, sizeof *exact);
    nufft_direct(exact, c, &data);
    *error = nufft_through_plan(got, c, &data) == MTIP_OK ? nufft_relative_error(got, exact, n) : 1;
    free(got);
    free(exact);
    nufft_data_free(&data);
    return error;
}

/* Plans made and used by several threads at once. */
static void test_side_by_side(void **state)
{
    (void)state;
    enum { PLANS = 6 };
    pthread_t threads[PLANS];
    struct nufft_case cases[PLANS];
    for (int i = 0; i < PLANS; i++) {
        cases[i] = (struct nufft_case){.type = 1 + i % 2, .dimension = 2, .n_points = 400};
        cases[i].tolerance = 1e-7;
        cases[i].precision = NUFFT_DOUBLE;
        cases[i].n_threads = 1;
        memcpy(cases[i].n_modes, ((int64_t[3]){10 + i, 16 - i, 1}), sizeof cases[i].n_modes);
        assert_int_equal(pthread_create(&threads[i], NULL, plan_in_thread, &cases[i]), 0);
    }
    for (int i = 0; i < PLANS; i++) {
        void *error = NULL;
        assert_int_equal(pthread_join(threads[i], &error), 0);
        assert_true(*(double *)error <= 3e-7);
        free(error);
    }
}

static void expect_refused(int type, int dimension, const int64_t *n_modes, int sign,
                           int64_t n_vectors, double tolerance, enum nufft_precision precision,
                           const struct nufft_options *options, const char *word)
{
    struct nufft_plan *plan = (struct nufft_plan *)&plan;
    const enum mtip_status status = nufft_plan_create(&plan, type, dimension, n_modes, sign,
                                                      n_vectors, tolerance, precision, options);
    assert_int_not_equal(status, MTIP_OK);
    assert_null(plan);
    if (strstr(mtip_status_message(), word) == NULL) {
        fail_msg("message \"%s\" lacks \"%s\"", mtip_status_message(), word);
    }
}

static void test_refused_plans(void **state)
{
    (void)state;
    const int64_t good[3] = {8, 8, 8};
    const int64_t zero[3] = {8, 0, 8};
    const int64_t huge[3] = {(int64_t)1 << 40, (int64_t)1 << 40, (int64_t)1 << 40};
    struct nufft_options options = nufft_options_default();
    expect_refused(0, 3, good, 1, 1, 1e-6, NUFFT_DOUBLE, NULL, "type");
    expect_refused(1, 4, good, 1, 1, 1e-6, NUFFT_DOUBLE, NULL, "dimension");
    expect_refused(1, 3, zero, 1, 1, 1e-6, NUFFT_DOUBLE, NULL, "modes");
    expect_refused(1, 3, huge, 1, 1, 1e-6, NUFFT_DOUBLE, NULL, "modes");
    expect_refused(1, 3, NULL, 1, 1, 1e-6, NUFFT_DOUBLE, NULL, "NULL");
    expect_refused(1, 3, good, 0, 1, 1e-6, NUFFT_DOUBLE, NULL, "sign");
    expect_refused(1, 3, good, 1, 0, 1e-6, NUFFT_DOUBLE, NULL, "vectors");
    expect_refused(1, 3, good, 1, 1, 1e-15, NUFFT_DOUBLE, NULL, "tolerance");
    expect_refused(1, 3, good, 1, 1, 1e-7, NUFFT_FLOAT, NULL, "tolerance");
    expect_refused(1, 3, good, 1, 1, (double)NAN, NUFFT_DOUBLE, NULL, "tolerance");
    expect_refused(1, 3, good, 1, 1, 0.5, NUFFT_DOUBLE, NULL, "tolerance");
    options.upsampling = 1.1;
    expect_refused(1, 3, good, 1, 1, 1e-6, NUFFT_DOUBLE, &options, "upsampling");
    options.upsampling = 1.25; /* allowed, but 1e-13 cannot be reached with it */
    expect_refused(1, 3, good, 1, 1, 1e-13, NUFFT_DOUBLE, &options, "out of reach");
    options = nufft_options_default();
    options.real_data = 1;
    expect_refused(3, 3, good, 1, 1, 1e-6, NUFFT_DOUBLE, &options, "real-data");
    options = nufft_options_default();
    options.n_threads = -1;
    expect_refused(1, 3, good, 1, 1, 1e-6, NUFFT_DOUBLE, &options, "threads");
}

/* NaN, infinity, negative counts and missing arrays are refused, nothing is written, and the plan goes on. */
static void test_refused_points(void **state)
{
    (void)state;
    const int64_t n_modes[1] = {16};
    double x[400];
    double strengths[800] = {1.0};
    double modes[32];
    struct nufft_plan *plan = NULL;
    for (int j = 0; j < 400; j++) {
        x[j] = 0.01 * j;
    }
    assert_int_equal(nufft_plan_create(&plan, 1, 1, n_modes, 1, 1, 1e-6, NUFFT_DOUBLE, NULL),
                     MTIP_OK);
    assert_int_equal(nufft_plan_execute(plan, strengths, modes), MTIP_ERR_ARGUMENT);
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 3; i++) {
        x[317] = bad[i];
        assert_int_equal(nufft_plan_set_points(plan, 400, x, NULL, NULL, 0, NULL, NULL, NULL),
                         MTIP_ERR_ARGUMENT);
        assert_non_null(strstr(mtip_status_message(), "317"));
        modes[0] = 42.0;
        assert_int_equal(nufft_plan_execute(plan, strengths, modes), MTIP_ERR_ARGUMENT);
        assert_true(modes[0] == 42.0);
    }
    assert_int_equal(nufft_plan_set_points(plan, -1, x, NULL, NULL, 0, NULL, NULL, NULL),
                     MTIP_ERR_ARGUMENT);
    assert_int_equal(nufft_plan_set_points(plan, 4, NULL, NULL, NULL, 0, NULL, NULL, NULL),
                     MTIP_ERR_ARGUMENT);
    assert_int_equal(nufft_plan_set_points(plan, 4, x, NULL, NULL, 3, x, NULL, NULL),
                     MTIP_ERR_ARGUMENT);
    assert_int_equal(nufft_plan_prepare(plan, modes), MTIP_ERR_ARGUMENT);
    x[317] = 0.0;
    assert_int_equal(nufft_plan_set_points(plan, 400, x, NULL, NULL, 0, NULL, NULL, NULL), MTIP_OK);
    assert_int_equal(nufft_plan_execute(plan, strengths, modes), MTIP_OK);
    double difference = 0.0; /* one strength 1 at x = 0: every mode is 1 */
    for (int k = 0; k < 16; k++) {
        difference +=
            (modes[2 * k] - 1.0) * (modes[2 * k] - 1.0) + modes[2 * k + 1] * modes[2 * k + 1];
    }
    assert_true(sqrt(difference / 16.0) <= 3e-6);
    nufft_plan_destroy(&plan);
    nufft_plan_destroy(&plan); /* NULL is allowed */
    size_t bytes = 0;
    assert_int_equal(
        nufft_plan_memory(&bytes, NULL, 2, 1, n_modes, 1, 1e-6, NUFFT_DOUBLE, NULL, 1000), MTIP_OK);
    assert_true(bytes > 1000 * 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_type3),           cmocka_unit_test(test_adjoint),
        cmocka_unit_test(test_shift),           cmocka_unit_test(test_prepared),
        cmocka_unit_test(test_repeated_points), cmocka_unit_test(test_changed_points),
        cmocka_unit_test(test_large_strengths), cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_refused_plans),   cmocka_unit_test(test_refused_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
