/* test_nufft.c - types 1 and 2 against direct sums: one table of cases, and the properties that must hold exactly. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nufft/nufft_cpu.h"
#include "nufft_support.h"

/* Error of a case; 1e30 when the plan fails. */
static double case_error(const struct nufft_case *c)
{
    struct nufft_data data;
    nufft_data_make(&data, c);
    const int64_t n = c->type == 2 ? data.values : data.mode_values;
    double *exact = calloc((size_t)n + 1, sizeof *exact);
    double *got = calloc((size_t)n + 1, sizeof *got);
    nufft_direct(exact, c, &data);
    double error = 1e30;
    if (nufft_through_plan(got, c, &data) == MTIP_OK) {
        error = nufft_relative_error(got, exact, n);
    } else {
        print_error("%s\n", mtip_status_message());
    }
    free(exact);
    free(got);
    nufft_data_free(&data);
    return error;
}

static int check_case(const struct nufft_case *c)
{
    const double error = case_error(c);
    const double allowed = nufft_allowed(c);
    if (!(error <= allowed)) {
        print_error(
            "type %d, %d-D, %lld x %lld x %lld modes, %lld points, tolerance %g, %s, real %d, "
            "order %d, "
            "sign %d, vectors %lld, threads %d, upsampling %g, layout %d: error %.3e > %.3e\n",
            c->type, c->dimension, (long long)c->n_modes[0], (long long)c->n_modes[1],
            (long long)c->n_modes[2], (long long)c->n_points, c->tolerance,
            c->precision == NUFFT_FLOAT ? "float" : "double", c->real_data, (int)c->order, c->sign,
            (long long)c->n_vectors, c->n_threads, c->upsampling, (int)c->layout, error, allowed);
        return 1;
    }
    return 0;
}

/* Sizes by dimension: odd, even and prime. */
static const int64_t sizes[3][3][3] = {{{101, 1, 1}, {64, 1, 1}, {30, 1, 1}},
                                       {{18, 23, 1}, {7, 16, 1}, {31, 5, 1}},
                                       {{9, 11, 8}, {12, 5, 7}, {6, 13, 10}}};

/* All types, dimensions, precisions, data modes, orders and signs, at three sizes. */
static void test_table(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; i < 2 * 3 * 2 * 2 * 2 * 2 * 3; i++) {
        int rest = i;
        struct nufft_case c = {.n_points = 400};
        c.type = 1 + rest % 2;
        rest /= 2;
        c.dimension = 1 + rest % 3;
        rest /= 3;
        c.precision = rest % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        rest /= 2;
        c.real_data = rest % 2;
        rest /= 2;
        c.order = rest % 2 ? NUFFT_ORDER_FFT : NUFFT_ORDER_CENTRED;
        rest /= 2;
        c.sign = rest % 2 ? 1 : -1;
        rest /= 2;
        memcpy(c.n_modes, sizes[c.dimension - 1][rest], sizeof c.n_modes);
        c.tolerance = c.precision == NUFFT_DOUBLE ? 1e-9 : 1e-4;
        failures += check_case(&c);
    }
    assert_int_equal(failures, 0);
}

/* Every tolerance, hence every width, in both precisions, with the first `choices` of the upsamplings. */
static int check_tolerances(int choices)
{
    static const double upsampling[] = {0.0, 1.25, 2.0, 2.5};
    int failures = 0;
    for (int digits = 1; digits <= 14; digits++) {
        for (int i = 0; i < 2 * 2 * 3 * 2 * choices; i++) {
            struct nufft_case c = {.n_points = 300, .tolerance = 1.0};
            for (int d = 0; d < digits; d++) {
                c.tolerance /= 10.0;
            }
            c.type = 1 + i % 2;
            c.real_data = i / 2 % 2;
            c.dimension = 1 + i / 4 % 3;
            c.precision = i / 12 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
            c.upsampling = upsampling[i / 24];
            if (c.precision == NUFFT_FLOAT && digits > 6) {
                continue;
            }
            /* Small upsampling reaches a limited accuracy; that it says so is another test. */
            if (c.upsampling == 1.25 && digits > (c.precision == NUFFT_FLOAT ? 4 : 8)) {
                continue;
            }
            memcpy(c.n_modes, sizes[c.dimension - 1][i % 3], sizeof c.n_modes);
            failures += check_case(&c);
        }
    }
    return failures;
}

static void test_tolerances(void **state)
{
    (void)state;
    assert_int_equal(check_tolerances(4), 0);
}

/* Wide kernels, and points so close that most are taken in pairs, also of different cells of a grain. */
static int check_crowds(void)
{
    int failures = 0;
    for (int i = 0; i < 2 * 2 * 6; i++) {
        struct nufft_case c = {.dimension = 3, .n_points = 1000, .layout = LAYOUT_CLUSTERED};
        c.type = 1 + i % 2;
        c.real_data = i / 2 % 2;
        c.precision = NUFFT_DOUBLE;
        c.tolerance = pow(10.0, -9.0 - i / 4);
        memcpy(c.n_modes, sizes[2][1], sizeof c.n_modes);
        failures += check_case(&c);
    }
    return failures;
}

static int check_kernels(void)
{
    return check_tolerances(1) + check_crowds();
}

/* The kernels of every instruction set that this processor has, whatever would be chosen for it. */
static void test_instruction_sets(void **state)
{
    (void)state;
    const struct nufft_case c = {
        .type = 1, .dimension = 1, .n_modes = {8, 1, 1}, .n_points = 10, .tolerance = 1e-3};
    struct nufft_plan *plan = NULL;
    assert_int_equal(nufft_each_instruction_set(check_kernels), 0);
    assert_int_equal(setenv("MTIP_NUFFT_ISA", "mmx", 1), 0);
    assert_int_equal(nufft_case_plan(&plan, &c), MTIP_ERR_UNSUPPORTED);
    assert_null(plan);
    assert_non_null(strstr(mtip_status_message(), "portable"));
    assert_int_equal(unsetenv("MTIP_NUFFT_ISA"), 0);
}

/* Points on grid lines, at the ends of the period, many periods out, and crowded together; several tiles an axis; enough
 * points for several parts of a tile. */
static void test_layouts(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; i < 4 * 2 * 2 * 2 * 3; i++) {
        static const int64_t large[3][3] = {{20000, 1, 1}, {150, 203, 1}, {40, 37, 43}};
        struct nufft_case c = {.n_points = 60, .layout = (enum nufft_layout)(i % 4)};
        c.type = 1 + i / 4 % 2;
        c.real_data = i / 8 % 2;
        c.precision = i / 16 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.dimension = 1 + i / 32;
        c.tolerance = c.precision == NUFFT_DOUBLE ? 1e-11 : 1e-5;
        memcpy(c.n_modes, large[c.dimension - 1], sizeof c.n_modes);
        failures += check_case(&c);
        memcpy(c.n_modes, sizes[c.dimension - 1][i % 3], sizeof c.n_modes);
        c.n_points = 4000;
        failures += check_case(&c);
    }
    assert_int_equal(failures, 0);
}

/* One mode, two modes, no points, one point. */
static void test_smallest(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; i < 2 * 3 * 2 * 2 * 3 * 3; i++) {
        struct nufft_case c = {.tolerance = 1e-5};
        c.type = 1 + i % 2;
        c.dimension = 1 + i / 2 % 3;
        c.precision = i / 6 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.real_data = i / 12 % 2;
        for (int a = 0; a < c.dimension; a++) {
            c.n_modes[a] = 1 + (i / 24 + a) % 3;
        }
        c.n_points = i / 72;
        failures += check_case(&c);
    }
    assert_int_equal(failures, 0);
}

/* All small sizes in 1-D and 2-D: how lines are cut and grouped depends on what divides them. */
static void test_all_sizes(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; i < 2 * 2 * 300 * 2; i++) {
        struct nufft_case c = {.n_points = 30, .tolerance = 1e-10, .n_vectors = 2};
        c.precision = NUFFT_DOUBLE;
        c.type = 1 + i % 2;
        c.real_data = i / 2 % 2;
        c.n_modes[0] = 1 + i / 4 % 300;
        c.dimension = 1 + i / 1200;
        c.n_modes[1] = c.dimension == 2 ? 1 + c.n_modes[0] % 29 : 1;
        c.n_modes[2] = 1;
        c.n_threads = 1 + i % 3;
        failures += check_case(&c);
    }
    assert_int_equal(failures, 0);
}

/* More vectors than are on the grid at once. */
static void test_vectors(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; i < 2 * 3 * 2 * 2; i++) {
        struct nufft_case c = {.n_points = 500, .tolerance = 1e-5, .n_vectors = 11};
        c.type = 1 + i % 2;
        c.dimension = 1 + i / 2 % 3;
        c.precision = i / 6 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.real_data = i / 12;
        memcpy(c.n_modes, sizes[c.dimension - 1][1], sizeof c.n_modes);
        failures += check_case(&c);
    }
    assert_int_equal(failures, 0);
}

/* More points than places in the order can count: sorted in segments. Of 700 points here, since 2^32 would take hours. */
static void test_segments(void **state)
{
    (void)state;
    const int64_t before = nufft_cpu_segment_points;
    int failures = 0;
    for (int i = 0; i < 2 * 3 * 2 * 2 * 2; i++) {
        struct nufft_case c = {.n_points = 3000, .tolerance = 1e-5, .layout = LAYOUT_CLUSTERED};
        c.type = 1 + i % 2;
        c.dimension = 1 + i / 2 % 3;
        c.precision = i / 6 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.real_data = i / 12 % 2;
        c.copy_points = i / 24;
        c.n_threads = 1 + i % 3;
        c.n_vectors = 1 + i % 2;
        memcpy(c.n_modes, sizes[c.dimension - 1][0], sizeof c.n_modes);
        nufft_cpu_segment_points = 700;
        failures += check_case(&c);
        nufft_cpu_segment_points = before;
    }
    assert_int_equal(failures, 0);
}

/* The same bits for 1, 2, 3 and 7 threads, with parts of tiles that several threads share. */
static void test_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * 3 * 2 * 2; i++) {
        static const int64_t large[3][3] = {{20000, 1, 1}, {150, 203, 1}, {24, 47, 43}};
        struct nufft_case c = {.n_points = 70000, .tolerance = 1e-4, .layout = LAYOUT_CLUSTERED};
        c.type = 1 + i % 2;
        c.dimension = 1 + i / 2 % 3;
        c.precision = i / 6 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.real_data = i / 12;
        c.n_threads = 1;
        memcpy(c.n_modes, large[c.dimension - 1], sizeof c.n_modes);
        struct nufft_data data;
        nufft_data_make(&data, &c);
        const int64_t n = c.type == 2 ? data.values : data.mode_values;
        double *first = calloc((size_t)n, sizeof *first);
        double *other = calloc((size_t)n, sizeof *other);
        assert_int_equal(nufft_through_plan(first, &c, &data), MTIP_OK);
        static const int threads[] = {2, 3, 7};
        for (int t = 0; t < 3; t++) {
            c.n_threads = threads[t];
            assert_int_equal(nufft_through_plan(other, &c, &data), MTIP_OK);
            assert_memory_equal(first, other, (size_t)n * sizeof *first);
        }
        free(first);
        free(other);
        nufft_data_free(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_tolerances),
        cmocka_unit_test(test_instruction_sets),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_smallest),
        cmocka_unit_test(test_all_sizes),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
