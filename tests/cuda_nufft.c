/* cuda_nufft.c - the CUDA backend of the NUFFT against direct sums and against the CPU backend: one table of cases for
 * every method, and the properties that must hold. Runs on a device or on the host-CUDA layer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "cuda_support.h"
#include "nufft_support.h"

static void *device_upload(const void *from, size_t bytes)
{
    void *to = NULL;
    assert_int_equal(cudaMalloc(&to, bytes > 0 ? bytes : 1), cudaSuccess);
    assert_int_equal(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), cudaSuccess);
    return to;
}

static void device_download(void *to, const void *from, size_t bytes)
{
    assert_int_equal(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
}

static void device_release(void *memory)
{
    assert_int_equal(cudaFree(memory), cudaSuccess);
}

static const struct nufft_test_memory device_memory = {
    .upload = device_upload, .download = device_download, .release = device_release};

static const int methods[] = {NUFFT_METHOD_AUTO, NUFFT_METHOD_GM, NUFFT_METHOD_GM_SORT,
                              NUFFT_METHOD_SM, NUFFT_METHOD_COLUMN};
#define N_METHODS ((int)(sizeof methods / sizeof methods[0]))

static void describe_case(const struct nufft_case *c, double error, double allowed)
{
    print_error(
        "type %d, %d-D, %lld x %lld x %lld modes, %lld points, tolerance %g, %s, real %d, "
        "order %d, sign %d, vectors %lld, upsampling %g, layout %d, method %d: error %.3e > "
        "%.3e\n",
        c->type, c->dimension, (long long)c->n_modes[0], (long long)c->n_modes[1],
        (long long)c->n_modes[2], (long long)c->n_points, c->tolerance,
        c->precision == NUFFT_FLOAT ? "float" : "double", c->real_data, (int)c->order, c->sign,
        (long long)c->n_vectors, c->upsampling, (int)c->layout, c->method, error, allowed);
}

/* 1 when the case fails. `exact` holds the direct sums of the data. */
static int check_method(const struct nufft_case *c, const struct nufft_data *data,
                        const double *exact)
{
    const int64_t n = c->type == 2 ? data->values : data->mode_values;
    double *got = calloc((size_t)n + 1, sizeof *got);
    double error = 1e30;
    if (nufft_through_plan(got, c, data) == MTIP_OK) {
        error = nufft_relative_error(got, exact, n);
    } else {
        print_error("%s\n", mtip_status_message());
    }
    free(got);
    /* The tolerance is about the root mean square over the period. Crowded points see one place of it, where the error may
     * be larger and the sum of the modes smaller than on the mean. */
    const double allowed = nufft_allowed(c) * (c->layout == LAYOUT_CLUSTERED ? 3.0 : 1.0);
    if (!(error <= allowed)) {
        describe_case(c, error, allowed);
        return 1;
    }
    return 0;
}

/* The case by every method from `first` on, against one direct sum. */
static int check_methods(struct nufft_case c, int first)
{
    int failures = 0;
    struct nufft_data data;
    c.backend = NUFFT_BACKEND_CUDA;
    c.memory = &device_memory;
    nufft_data_make(&data, &c);
    const int64_t n = c.type == 2 ? data.values : data.mode_values;
    double *exact = calloc((size_t)n + 1, sizeof *exact);
    nufft_direct(exact, &c, &data);
    for (int m = first; m < N_METHODS; m++) {
        c.method = methods[m];
        failures += check_method(&c, &data, exact);
    }
    free(exact);
    nufft_data_free(&data);
    return failures;
}

/* Sizes by dimension: odd, even and prime. */
static const int64_t sizes[3][3][3] = {{{101, 1, 1}, {64, 1, 1}, {30, 1, 1}},
                                       {{18, 23, 1}, {7, 16, 1}, {31, 5, 1}},
                                       {{9, 11, 8}, {12, 5, 7}, {6, 13, 10}}};

/* All types, dimensions, precisions, data modes, orders and signs, by every method. */
static void test_table(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; i < 2 * 3 * 2 * 2 * 2 * 2; i++) {
        int rest = i;
        struct nufft_case c = {.n_points = 80};
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
        memcpy(c.n_modes, sizes[c.dimension - 1][i % 3], sizeof c.n_modes);
        c.tolerance = c.precision == NUFFT_DOUBLE ? 1e-9 : 1e-4;
        failures += check_methods(c, 1);
    }
    assert_int_equal(failures, 0);
}

/* Every tolerance, hence every width, in both precisions; also where more upsampling makes kernels narrow. */
static void test_tolerances(void **state)
{
    (void)state;
    int failures = 0;
    for (int digits = 1; digits <= 14; digits++) {
        for (int i = 0; i < 2 * 2 * 2 * 3; i++) {
            struct nufft_case c = {.n_points = 40, .tolerance = 1.0};
            for (int d = 0; d < digits; d++) {
                c.tolerance /= 10.0;
            }
            c.type = 1 + i % 2;
            c.real_data = i / 2 % 2;
            c.precision = i / 4 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
            c.dimension = 1 + i / 8;
            if ((c.precision == NUFFT_FLOAT && digits > 6) ||
                (c.dimension < 3 && digits % 3 != 2)) { /* widths share kernels below 3-D */
                continue;
            }
            if (cuda_support_short() && (digits + i + i / 2 + i / 4) % 2) {
                continue; /* half of them */
            }
            memcpy(c.n_modes, sizes[c.dimension - 1][i % 3], sizeof c.n_modes);
            for (int wide = 0; wide <= (c.dimension == 3 && c.type == 1); wide++) {
                c.upsampling = wide ? 1.75 : 0.0;
                failures += digits > 13 && wide ? 0 : check_methods(c, 3);
            }
        }
    }
    assert_int_equal(failures, 0);
}

/* Points on grid lines, at the ends of the period, many periods out, and crowded together; grids of several tiles an axis;
 * enough points for several subproblems of a tile. */
static void test_layouts(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; i < 4 * 2 * 2 * 2 * 3; i++) {
        static const int64_t large[3][3] = {{3000, 1, 1}, {60, 71, 1}, {20, 17, 23}};
        if (cuda_support_short() && (i + i / 2 + i / 4 + i / 8 + i / 16) % 2) {
            continue; /* half of them: all combinations of four of the five choices */
        }
        struct nufft_case c = {.n_points = 40, .layout = (enum nufft_layout)(i % 4)};
        c.type = 1 + i / 4 % 2;
        c.real_data = i / 8 % 2;
        c.precision = i / 16 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.dimension = 1 + i / 32;
        c.tolerance = c.precision == NUFFT_DOUBLE ? 1e-11 : 1e-5;
        memcpy(c.n_modes, large[c.dimension - 1], sizeof c.n_modes);
        failures += check_methods(c, 1);
        if (c.layout == LAYOUT_CLUSTERED) {
            memcpy(c.n_modes, sizes[c.dimension - 1][i % 3], sizeof c.n_modes);
            c.n_points = 1200;
            c.tolerance = 1e-4;
            failures += check_methods(c, 3);
        }
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
        failures += check_methods(c, 2);
    }
    assert_int_equal(failures, 0);
}

/* More vectors than are on the grid at once, an odd number of them. */
static void test_vectors(void **state)
{
    (void)state;
    int failures = 0;
    for (int i = 0; i < 2 * 3 * 2 * 2; i++) {
        struct nufft_case c = {.n_points = 50, .tolerance = 1e-5, .n_vectors = 11};
        c.type = 1 + i % 2;
        c.dimension = 1 + i / 2 % 3;
        c.precision = i / 6 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.real_data = i / 12;
        memcpy(c.n_modes, sizes[c.dimension - 1][1], sizeof c.n_modes);
        failures += check_methods(c, 0);
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    if (cuda_support_no_device()) {
        return CUDA_SUPPORT_SKIP;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),   cmocka_unit_test(test_tolerances),
        cmocka_unit_test(test_layouts), cmocka_unit_test(test_smallest),
        cmocka_unit_test(test_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
