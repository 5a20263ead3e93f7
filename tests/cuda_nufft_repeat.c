/* cuda_nufft_repeat.c - type 1 by the COLUMN method in double precision gives the same bits every time, whatever the order of
 * blocks and threads (on the host-CUDA layer: forward, reverse and random).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include <cuda_runtime_api.h>

#include "cuda_support.h"
#include "nufft_support.h"
#ifdef MTIP_HOSTCUDA
#include "control.h"
#endif

#define RUNS 4

static void *upload(const void *from, size_t bytes)
{
    void *to = NULL;
    assert_int_equal(cudaMalloc(&to, bytes > 0 ? bytes : 1), cudaSuccess);
    assert_int_equal(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), cudaSuccess);
    return to;
}

/* The order of blocks and threads from here on: a device has its own. */
static void set_order(int run)
{
#ifdef MTIP_HOSTCUDA
    static const int orders[RUNS] = {HOSTCUDA_FORWARD, HOSTCUDA_REVERSE, HOSTCUDA_RANDOM,
                                     HOSTCUDA_RANDOM};
    hostcuda_order(orders[run], (unsigned long)run);
#else
    (void)run;
#endif
}

/* A case on the device. */
struct running {
    struct nufft_case c;
    struct nufft_data data;
    void *x[3], *strengths, *modes;
    size_t real_size, mode_bytes;
};

static void start(struct running *r, const struct nufft_case *c)
{
    memset(r, 0, sizeof *r);
    r->c = *c;
    r->real_size = c->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    nufft_data_make(&r->data, c);
    for (int a = 0; a < c->dimension; a++) {
        void *x = nufft_to_precision(r->data.x[a], c->n_points, c->precision);
        r->x[a] = upload(x, r->real_size * (size_t)c->n_points);
        free(x);
    }
    void *strengths = nufft_to_precision(r->data.strengths, r->data.values, c->precision);
    r->strengths = upload(strengths, r->real_size * (size_t)r->data.values);
    free(strengths);
    r->mode_bytes = r->real_size * (size_t)r->data.mode_values;
    r->modes = upload(r->data.modes, r->mode_bytes); /* overwritten */
}

static void finish(struct running *r)
{
    for (int a = 0; a < 3; a++) {
        assert_int_equal(cudaFree(r->x[a]), cudaSuccess);
    }
    assert_int_equal(cudaFree(r->strengths), cudaSuccess);
    assert_int_equal(cudaFree(r->modes), cudaSuccess);
    nufft_data_free(&r->data);
}

/* One plan's use; modes to the host, in the case's precision. */
static void transform(void *modes, struct running *r, int method)
{
    struct nufft_plan *plan = NULL;
    r->c.method = method;
    assert_ok(nufft_case_plan(&plan, &r->c));
    assert_ok(
        nufft_plan_set_points(plan, r->c.n_points, r->x[0], r->x[1], r->x[2], 0, NULL, NULL, NULL));
    assert_ok(nufft_plan_execute(plan, r->strengths, r->modes));
    assert_int_equal(cudaMemcpy(modes, r->modes, r->mode_bytes, cudaMemcpyDeviceToHost),
                     cudaSuccess);
    nufft_plan_destroy(&plan);
}

/* Runs of a method whose bits differ from those of the first. */
static int different_runs(struct running *r, int method, void *first)
{
    int different = 0;
    void *again = malloc(r->mode_bytes);
    for (int run = 0; run < RUNS; run += cuda_support_short() ? RUNS - 1 : 1) {
        set_order(run);
        transform(run == 0 ? first : again, r, method);
        different += run > 0 && memcmp(first, again, r->mode_bytes) != 0;
    }
    set_order(0);
    free(again);
    return different;
}

/* Uniform points and crowded ones, of which several subproblems share a column and many points a bin. */
static void test_same_bits(void **state)
{
    (void)state;
    static const int64_t sizes[3][3] = {{300, 1, 1}, {25, 31, 1}, {11, 9, 13}};
    for (int i = 0; i < 3 * 2 * 2 * 2; i++) {
        struct nufft_case c = {.type = 1,
                               .precision = NUFFT_DOUBLE,
                               .backend = NUFFT_BACKEND_CUDA,
                               .n_points = 900,
                               .n_vectors = 3};
        struct running r;
        c.dimension = 1 + i % 3;
        c.real_data = i / 3 % 2;
        c.layout = i / 6 % 2 ? LAYOUT_CLUSTERED : LAYOUT_UNIFORM;
        c.tolerance = i / 12 ? 1e-11 : 1e-5;
        memcpy(c.n_modes, sizes[c.dimension - 1], sizeof c.n_modes);
        start(&r, &c);
        double *modes = malloc(r.mode_bytes), *automatic = malloc(r.mode_bytes);
        assert_int_equal(different_runs(&r, NUFFT_METHOD_COLUMN, modes), 0);
        transform(automatic, &r, NUFFT_METHOD_AUTO); /* which must choose it */
        assert_memory_equal(modes, automatic, r.mode_bytes);
        free(modes);
        free(automatic);
        finish(&r);
    }
}

/* So many bins that the sort takes three passes, four in 1-D. */
static void test_many_bins(void **state)
{
    (void)state;
    if (cuda_support_short()) {
        return; /* the same kernels on large grids: without sanitizers is enough */
    }
    static const int64_t sizes[2][3] = {{900000, 1, 1}, {55, 55, 55}};
    for (int i = 0; i < 2; i++) {
        struct nufft_case c = {.type = 1,
                               .dimension = i == 0 ? 1 : 3,
                               .precision = NUFFT_DOUBLE,
                               .real_data = 1,
                               .backend = NUFFT_BACKEND_CUDA,
                               .layout = LAYOUT_CLUSTERED,
                               .n_points = i == 0 ? 20 : 100,
                               .tolerance = i == 0 ? 1e-6 : 1e-13,
                               .n_vectors = 1};
        struct running r;
        memcpy(c.n_modes, sizes[i], sizeof c.n_modes);
        start(&r, &c);
        double *modes = malloc(r.mode_bytes), *exact = malloc(r.mode_bytes);
        assert_int_equal(different_runs(&r, NUFFT_METHOD_COLUMN, modes), 0);
        nufft_direct(exact, &c, &r.data);
        assert_at_most(nufft_relative_error(modes, exact, r.data.mode_values),
                       3.0 * nufft_allowed(&c)); /* crowded: tests/cuda_nufft.c */
        free(modes);
        free(exact);
        finish(&r);
    }
}

#ifdef MTIP_HOSTCUDA
/* The orders above do change the bits of the other methods: the tests could fail. */
static void test_others_differ(void **state)
{
    (void)state;
    static const struct {
        int method;
        enum nufft_precision precision;
    } others[] = {{NUFFT_METHOD_GM_SORT, NUFFT_DOUBLE},
                  {NUFFT_METHOD_SM, NUFFT_DOUBLE},
                  {NUFFT_METHOD_COLUMN, NUFFT_FLOAT}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct nufft_case c = {.type = 1,
                               .dimension = 3,
                               .n_modes = {11, 9, 13},
                               .precision = others[i].precision,
                               .backend = NUFFT_BACKEND_CUDA,
                               .n_points = 900,
                               .tolerance = 1e-5,
                               .n_vectors = 1};
        struct running r;
        start(&r, &c);
        void *modes = malloc(r.mode_bytes);
        assert_true(different_runs(&r, others[i].method, modes) > 0);
        free(modes);
        finish(&r);
    }
}
#endif

/* Strengths of very different size, none at all, and not finite: the scale of a vector is its own. */
static void test_scales(void **state)
{
    (void)state;
    enum { N = 200, VECTORS = 6 };
    static const double size[VECTORS] = {1.0, 1e200, 1e-250, 0.0, 1.0, 1.0};
    struct nufft_case c = {.type = 1,
                           .dimension = 3,
                           .n_modes = {7, 8, 9},
                           .precision = NUFFT_DOUBLE,
                           .real_data = 1,
                           .backend = NUFFT_BACKEND_CUDA,
                           .n_points = N,
                           .tolerance = 1e-9,
                           .n_vectors = VECTORS};
    struct running r;
    start(&r, &c);
    for (int v = 0; v < VECTORS; v++) {
        for (int j = 0; j < N; j++) {
            r.data.strengths[v * N + j] = size[v] * r.data.strengths[j];
        }
    }
    r.data.strengths[4 * N + 17] = (double)NAN;
    r.data.strengths[5 * N + 18] = (double)INFINITY;
    assert_int_equal(cudaMemcpy(r.strengths, r.data.strengths, sizeof(double) * VECTORS * N,
                                cudaMemcpyHostToDevice),
                     cudaSuccess);
    double *modes = malloc(r.mode_bytes);
    transform(modes, &r, NUFFT_METHOD_COLUMN);
    const int64_t stored = r.data.mode_values / VECTORS;
    for (int64_t k = 0; k < stored; k++) {
        for (int v = 1; v < 4; v++) {
            assert_close(modes[v * stored + k], size[v] * modes[k],
                         1e-12 * size[v] * sqrt((double)N));
        }
        if (k % 2 == 0) { /* the imaginary part of k = 0 is zero whatever the data */
            assert_true(isnan(modes[4 * stored + k]));
            assert_true(isnan(modes[5 * stored + k]));
        }
    }
    free(modes);
    finish(&r);
}

int main(void)
{
    if (cuda_support_no_device()) {
        return CUDA_SUPPORT_SKIP;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_many_bins),
#ifdef MTIP_HOSTCUDA
        cmocka_unit_test(test_others_differ),
#endif
        cmocka_unit_test(test_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
