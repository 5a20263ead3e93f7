/* test_nufft_memory.c - NUFFT on CPUs: copies of the points, what an execute leaves behind, what a plan takes against what it
 * promised, and who touches the fine grid first.
 */
#define _GNU_SOURCE
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "support.h"

#include "nufft_support.h"

#define HUGE_PAGE ((int64_t)2 << 20)
#ifdef __SANITIZE_ADDRESS__
#define KEEPS_FREED_MEMORY 1 /* pages tell nothing of what a plan holds */
#else
#define KEEPS_FREED_MEMORY 0
#endif

/* Gives the coordinates away: NaN first, for whoever still reads them. */
static void forget_points(struct nufft_run *r)
{
    for (int a = 0; a < r->c->dimension; a++) {
        memset(r->x[a], 0xff, r->real_size * (size_t)r->c->n_points);
        free(r->x[a]);
        r->x[a] = NULL;
        free(r->s[a]);
        r->s[a] = NULL;
    }
}

/* Executes with the points borrowed, then with copies, of which the originals are gone: the same bits. */
static void copies_take_the_place_of_the_points(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * 3 * 2 * 2; i++) {
        struct nufft_case c = {.n_points = 3000, .n_targets = 700, .n_threads = 2};
        c.type = 1 + i % 3;
        c.dimension = 1 + i / 3 % 3;
        c.precision = i / 9 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.real_data = c.type < 3 && i / 18;
        c.tolerance = c.precision == NUFFT_DOUBLE ? 1e-9 : 1e-4;
        c.n_vectors = i % 2 ? 3 : 1;
        memcpy(c.n_modes, ((int64_t[3]){40, 35, 30}), sizeof c.n_modes);
        struct nufft_data data;
        nufft_data_make(&data, &c);
        struct nufft_run borrowed;
        struct nufft_run copied;
        struct nufft_plan *plan = NULL;
        nufft_run_start(&borrowed, &c, &data);
        assert_ok(nufft_case_plan(&plan, &c));
        nufft_run_points(plan, &borrowed);
        assert_ok(nufft_plan_execute(plan, borrowed.strengths, borrowed.modes));
        nufft_plan_destroy(&plan);
        c.copy_points = 1;
        nufft_run_start(&copied, &c, &data);
        assert_ok(nufft_case_plan(&plan, &c));
        nufft_run_points(plan, &copied);
        forget_points(&copied);
        assert_ok(nufft_plan_execute(plan, copied.strengths, copied.modes));
        assert_ok(nufft_plan_execute(plan, copied.strengths, copied.modes)); /* and once more */
        nufft_plan_destroy(&plan);
        const size_t n = c.type == 2 ? (size_t)data.values : (size_t)data.mode_values;
        assert_memory_equal(c.type == 2 ? copied.strengths : copied.modes,
                            c.type == 2 ? borrowed.strengths : borrowed.modes,
                            n * copied.real_size);
        nufft_run_finish(&borrowed);
        nufft_run_finish(&copied);
        nufft_data_free(&data);
    }
}

/* A result on points of the last tile along x, by a plan that before had NaN on all tiles, and by a new one. */
static int check_bad_data(void)
{
    int failures = 0;
    for (int i = 0; i < 2 * 3 * 2 * 2 * 3; i++) {
        static const double tolerances[2][3] = {{1e-1, 1e-3, 1e-5}, {1e-2, 1e-6, 1e-11}};
        struct nufft_case c = {.n_points = 2000, .n_threads = 1, .n_modes = {277, 21, 19}};
        c.type = 1 + i % 2;
        c.dimension = 1 + i / 2 % 3;
        c.precision = i / 6 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.real_data = i / 12 % 2;
        c.tolerance = tolerances[i / 6 % 2][i / 24];
        struct nufft_data data;
        struct nufft_run bad;
        struct nufft_run good[2];
        nufft_data_make(&data, &c);
        nufft_run_start(&bad, &c, &data);
        for (int64_t j = 0; j < c.n_points; j++) {
            data.x[0][j] = -0.02 * (double)(j + 1) / (double)c.n_points;
        }
        for (int g = 0; g < 2; g++) {
            struct nufft_plan *plan = NULL;
            nufft_run_start(&good[g], &c, &data);
            assert_ok(nufft_case_plan(&plan, &c));
            if (g == 1) {
                memset(bad.strengths, 0xff, bad.real_size * (size_t)data.values); /* NaN */
                memset(bad.modes, 0xff, bad.real_size * (size_t)data.mode_values);
                nufft_run_points(plan, &bad);
                assert_ok(nufft_plan_execute(plan, bad.strengths, bad.modes));
            }
            nufft_run_points(plan, &good[g]);
            assert_ok(nufft_plan_execute(plan, good[g].strengths, good[g].modes));
            nufft_plan_destroy(&plan);
        }
        const size_t n = c.type == 2 ? (size_t)data.values : (size_t)data.mode_values;
        failures += memcmp(c.type == 2 ? good[1].strengths : good[1].modes,
                           c.type == 2 ? good[0].strengths : good[0].modes, n * bad.real_size) != 0;
        nufft_run_finish(&bad);
        nufft_run_finish(&good[0]);
        nufft_run_finish(&good[1]);
        nufft_data_free(&data);
    }
    return failures;
}

/* Data that are not finite leave nothing behind in a plan: good data after them give the bits of a new plan. With the
 * kernels of every instruction set here, because it depends on their vectors what they read beyond the taps. */
static void bad_data_leave_no_trace(void **state)
{
    (void)state;
    assert_int_equal(nufft_each_instruction_set(check_bad_data), 0);
}

/* Growing and shrinking sets on one plan, also while its grid holds prepared modes. */
static void copies_follow_new_points(void **state)
{
    (void)state;
    struct nufft_case c = {.type = 2,
                           .dimension = 3,
                           .n_modes = {20, 18, 16},
                           .precision = NUFFT_DOUBLE,
                           .tolerance = 1e-8,
                           .n_points = 200000,
                           .real_data = 1,
                           .copy_points = 1};
    static const int64_t counts[] = {500, 200000, 0, 3, 150000, 1000};
    struct nufft_data data;
    nufft_data_make(&data, &c);
    struct nufft_plan *plan = NULL;
    double *got = calloc((size_t)data.values, sizeof *got);
    double *exact = calloc((size_t)data.values, sizeof *exact);
    assert_ok(nufft_case_plan(&plan, &c));
    assert_ok(nufft_plan_prepare(plan, data.modes));
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        assert_ok(nufft_plan_set_points(plan, counts[i], data.x[0], data.x[1], data.x[2], 0, NULL,
                                        NULL, NULL));
        assert_ok(nufft_plan_interpolate(plan, got));
        c.n_points = counts[i] < 300 ? counts[i] : 300; /* of the direct sums */
        nufft_direct(exact, &c, &data);
        assert_true(nufft_relative_error(got, exact, c.n_points) <= 3e-8);
    }
    nufft_plan_destroy(&plan);
    free(got);
    free(exact);
    nufft_data_free(&data);
}

/* What a plan holds after its use is at most what nufft_plan_memory says, and not a small part of it. */
static void plans_keep_their_promise(void **state)
{
    (void)state;
    if (KEEPS_FREED_MEMORY) {
        skip();
    }
    for (int i = 0; i < 2 * 2 * 2; i++) {
        struct nufft_case c = {.dimension = 3,
                               .n_modes = {96, 96, 96},
                               .tolerance = 1e-5,
                               .n_points = 1000000,
                               .n_threads = 2};
        c.type = 1 + i % 2;
        c.precision = i / 2 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.copy_points = i / 4;
        struct nufft_data data;
        nufft_data_make(&data, &c);
        struct nufft_run r;
        nufft_run_start(&r, &c, &data);
        struct nufft_options options = nufft_options_default();
        options.n_threads = c.n_threads;
        options.copy_points = c.copy_points;
        size_t promised = 0;
        assert_ok(nufft_plan_memory(&promised, NULL, c.type, 3, c.n_modes, 1, c.tolerance,
                                    c.precision, &options, c.n_points));
        const int64_t before = support_resident_bytes();
        struct nufft_plan *plan = NULL;
        assert_ok(nufft_case_plan(&plan, &c));
        nufft_run_points(plan, &r);
        assert_ok(nufft_plan_execute(plan, r.strengths, r.modes));
        const int64_t taken = support_resident_bytes() - before;
        nufft_plan_destroy(&plan);
        assert_in_range(taken, promised / 3, promised);
        nufft_run_finish(&r);
        nufft_data_free(&data);
    }
}

/* Page faults of the second thread of OpenMP's team. */
static long faults_of_second_thread(void)
{
    long faults = 0;
#pragma omp parallel num_threads(2)
    {
        struct rusage usage;
        if (omp_get_thread_num() == 1 && getrusage(RUSAGE_THREAD, &usage) == 0) {
            faults = usage.ru_minflt;
        }
    }
    return faults;
}

/* A long thin grid has work for few threads along one axis, and long lines: buffers for those few. */
static void thin_grids_take_few_buffers(void **state)
{
    (void)state;
    static const int64_t thin[2][2] = {{16, 1000000}, {1000000, 16}};
    for (int i = 0; i < 2; i++) {
        size_t bytes[2];
        for (int many = 0; many < 2; many++) {
            struct nufft_options options = nufft_options_default();
            options.n_threads = many ? 64 : 2;
            assert_ok(nufft_plan_memory(&bytes[many], NULL, 1, 2, thin[i], 1, 1e-6, NUFFT_DOUBLE,
                                        &options, 1000));
        }
        assert_true(bytes[1] < 3 * bytes[0]);
    }
}

/* Of two threads each touches its half of a plan's grid first, by at least as many faults as that has huge pages. */
static void each_thread_touches_its_part_first(void **state)
{
    (void)state;
    int team = 1;
#pragma omp parallel num_threads(2)
#pragma omp single
    team = omp_get_num_threads();
    if (team < 2 || KEEPS_FREED_MEMORY) {
        skip();
    }
    for (int type = 1; type <= 2; type++) {
        struct nufft_case c = {.type = type,
                               .dimension = 3,
                               .n_modes = {100, 100, 100},
                               .precision = NUFFT_DOUBLE,
                               .tolerance = 1e-9,
                               .n_points = 1000,
                               .n_threads = 2,
                               .upsampling = 2.0};
        const int64_t grid = (int64_t)16 * 200 * 200 * 200;
        struct nufft_data data;
        nufft_data_make(&data, &c);
        struct nufft_run r;
        nufft_run_start(&r, &c, &data);
        struct nufft_plan *plan = NULL;
        const int64_t before = support_resident_bytes();
        const long faults = faults_of_second_thread();
        assert_ok(nufft_case_plan(&plan, &c));
        assert_true(faults_of_second_thread() - faults >= grid / 2 / HUGE_PAGE - 1);
        assert_true(support_resident_bytes() - before > grid / 4 * 3);
        nufft_run_points(plan, &r);
        assert_ok(nufft_plan_execute(plan, r.strengths, r.modes));
        nufft_plan_destroy(&plan);
        nufft_run_finish(&r);
        nufft_data_free(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_take_the_place_of_the_points),
        cmocka_unit_test(bad_data_leave_no_trace),
        cmocka_unit_test(copies_follow_new_points),
        cmocka_unit_test(plans_keep_their_promise),
        cmocka_unit_test(thin_grids_take_few_buffers),
        cmocka_unit_test(each_thread_touches_its_part_first),
    };
    return cmocka_run_group_tests_name("nufft/memory", tests, NULL, NULL);
}
