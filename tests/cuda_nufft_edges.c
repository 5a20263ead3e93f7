/* cuda_nufft_edges.c - the CUDA backend of the NUFFT: what must hold besides accuracy. Bad points, adjointness, agreement
 * with the CPU backend, prepare and interpolate, two plans at once, streams, memory, failing calls.
 */
#include <complex.h>
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

static struct nufft_case base_case(int type, int method)
{
    return (struct nufft_case){.type = type,
                               .dimension = 3,
                               .n_modes = {9, 10, 11},
                               .n_points = 120,
                               .tolerance = 1e-7,
                               .precision = NUFFT_DOUBLE,
                               .backend = NUFFT_BACKEND_CUDA,
                               .method = method,
                               .memory = &device_memory};
}

/* A plan with its data on the device. */
struct running {
    struct nufft_case c;
    struct nufft_data data;
    struct nufft_plan *plan;
    void *x[3], *strengths, *modes;
};

static void start(struct running *r, struct nufft_case c)
{
    memset(r, 0, sizeof *r);
    r->c = c;
    nufft_data_make(&r->data, &c);
    for (int a = 0; a < c.dimension; a++) {
        r->x[a] = device_upload(r->data.x[a], sizeof(double) * (size_t)c.n_points);
    }
    r->strengths = device_upload(r->data.strengths, sizeof(double) * (size_t)r->data.values);
    r->modes = device_upload(r->data.modes, sizeof(double) * (size_t)r->data.mode_values);
    assert_ok(nufft_case_plan(&r->plan, &c));
}

static enum mtip_status set_points(struct running *r)
{
    return nufft_plan_set_points(r->plan, r->c.n_points, r->x[0], r->x[1], r->x[2], 0, NULL, NULL,
                                 NULL);
}

static void finish(struct running *r)
{
    nufft_plan_destroy(&r->plan);
    for (int a = 0; a < 3; a++) {
        device_release(r->x[a]);
    }
    device_release(r->strengths);
    device_release(r->modes);
    nufft_data_free(&r->data);
}

/* NaN and infinities are refused with the least index, and the plan works again afterwards. */
static void test_bad_points(void **state)
{
    (void)state;
    for (int method = NUFFT_METHOD_GM; method <= NUFFT_METHOD_COLUMN; method++) {
        struct running r;
        start(&r, base_case(1, method));
        const double bad[2] = {NAN, -INFINITY};
        const double good[2] = {r.data.x[1][17], r.data.x[1][90]};
        double *y = r.x[1];
        assert_int_equal(cudaMemcpy(y + 17, &bad[method % 2], 8, cudaMemcpyHostToDevice),
                         cudaSuccess);
        assert_int_equal(cudaMemcpy(y + 90, &bad[0], 8, cudaMemcpyHostToDevice), cudaSuccess);
        assert_status(set_points(&r), MTIP_ERR_ARGUMENT);
        assert_message_has("point 17 ");
        assert_status(nufft_plan_execute(r.plan, r.strengths, r.modes), MTIP_ERR_ARGUMENT);
        assert_int_equal(cudaMemcpy(y + 17, &good[0], 8, cudaMemcpyHostToDevice), cudaSuccess);
        assert_int_equal(cudaMemcpy(y + 90, &good[1], 8, cudaMemcpyHostToDevice), cudaSuccess);
        assert_ok(set_points(&r));
        assert_ok(nufft_plan_execute(r.plan, r.strengths, r.modes));
        finish(&r);
    }
}

/* <T1 c, f> = <c, T2 f> for the same points, signs opposed: both are sums over the same kernel values, so that they agree
 * far better than the tolerance. */
static void test_adjoint(void **state)
{
    (void)state;
    for (int method = NUFFT_METHOD_GM_SORT; method <= NUFFT_METHOD_COLUMN; method++) {
        struct nufft_case c = base_case(1, method);
        c.tolerance = 1e-3;
        c.sign = 1;
        struct nufft_data data;
        nufft_data_make(&data, &c);
        double *forward = calloc((size_t)data.mode_values, sizeof *forward);
        double *backward = calloc((size_t)data.values, sizeof *backward);
        assert_ok(nufft_through_plan(forward, &c, &data));
        c.type = 2;
        c.sign = -1;
        assert_ok(nufft_through_plan(backward, &c, &data));
        double complex left = 0.0, right = 0.0;
        for (int64_t i = 0; i < data.mode_values; i += 2) {
            left += (forward[i] + I * forward[i + 1]) * (data.modes[i] - I * data.modes[i + 1]);
        }
        for (int64_t i = 0; i < data.values; i += 2) {
            right += (data.strengths[i] + I * data.strengths[i + 1]) *
                     (backward[i] - I * backward[i + 1]);
        }
        assert_at_most(cabs(left - right) / cabs(left), 1e-11); /* rounding of 1e3 terms */
        free(forward);
        free(backward);
        nufft_data_free(&data);
    }
}

/* Points a hair before the place where a kernel's first tap leaves the period, for fine grids of many sizes: rounding puts
 * them at its end, where no cell is. */
static void test_end_of_period(void **state)
{
    (void)state;
    enum { SIZES = 50, HALVES = 16, STEPS = 4 }; /* fine grids, halves of a width, last bits */
    for (int type = 1; type <= 2; type++) {
        struct nufft_case c = base_case(type, NUFFT_METHOD_COLUMN);
        c.dimension = 1;
        c.n_modes[0] = 12;
        c.n_points = SIZES * HALVES * STEPS;
        struct nufft_data data;
        nufft_data_make(&data, &c);
        for (int j = 0; j < SIZES * HALVES * STEPS; j++) {
            const double nf = 10 + j / (HALVES * STEPS);
            double x = acos(-1.0) * (1 + j / STEPS % HALVES) / nf;
            for (int k = 0; k < j % STEPS; k++) {
                x = nextafter(x, 0.0);
            }
            data.x[0][j] = x;
        }
        const int64_t n = type == 2 ? data.values : data.mode_values;
        double *exact = calloc((size_t)n, sizeof *exact), *got = calloc((size_t)n, sizeof *got);
        nufft_direct(exact, &c, &data);
        assert_ok(nufft_through_plan(got, &c, &data));
        assert_at_most(nufft_relative_error(got, exact, n), 3.0 * nufft_allowed(&c));
        free(exact);
        free(got);
        nufft_data_free(&data);
    }
}

/* The two backends choose widths and grids apart, so that they agree to the tolerance only. */
static void test_against_cpu(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * 2 * 2; i++) {
        struct nufft_case c = base_case(1 + i % 2, NUFFT_METHOD_AUTO);
        c.real_data = i / 2 % 2;
        c.precision = i / 4 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.tolerance = c.precision == NUFFT_DOUBLE ? 1e-10 : 1e-5;
        c.n_vectors = 3;
        struct nufft_data data;
        nufft_data_make(&data, &c);
        const int64_t n = c.type == 2 ? data.values : data.mode_values;
        double *device = calloc((size_t)n, sizeof *device);
        double *host = calloc((size_t)n, sizeof *host);
        assert_ok(nufft_through_plan(device, &c, &data));
        c.backend = NUFFT_BACKEND_CPU;
        c.memory = NULL;
        assert_ok(nufft_through_plan(host, &c, &data));
        assert_at_most(nufft_relative_error(device, host, n), 2.0 * nufft_allowed(&c));
        free(device);
        free(host);
        nufft_data_free(&data);
    }
}

/* prepare once, interpolate at two sets of points: the same bits as two executes; more vectors than a batch. */
static void test_prepare(void **state)
{
    (void)state;
    for (int method = NUFFT_METHOD_GM; method <= NUFFT_METHOD_COLUMN; method++) {
        struct nufft_case c = base_case(2, method);
        c.n_vectors = 11;
        c.real_data = method % 2;
        struct running r;
        start(&r, c);
        const size_t bytes = sizeof(double) * (size_t)r.data.values;
        double *first = malloc(bytes), *second = malloc(bytes);
        assert_status(nufft_plan_interpolate(r.plan, r.strengths), MTIP_ERR_ARGUMENT);
        assert_ok(set_points(&r));
        assert_ok(nufft_plan_execute(r.plan, r.strengths, r.modes));
        device_download(first, r.strengths, bytes);
        assert_ok(nufft_plan_prepare(r.plan, r.modes));
        /* Points replaced in between: x and y change places, and back. */
        assert_ok(
            nufft_plan_set_points(r.plan, c.n_points, r.x[1], r.x[0], r.x[2], 0, NULL, NULL, NULL));
        assert_ok(nufft_plan_interpolate(r.plan, r.strengths));
        device_download(second, r.strengths, bytes);
        assert_memory_not_equal(first, second, bytes);
        assert_ok(set_points(&r));
        assert_ok(nufft_plan_interpolate(r.plan, r.strengths));
        device_download(second, r.strengths, bytes);
        assert_memory_equal(first, second, bytes);
        free(first);
        free(second);
        finish(&r);
    }
}

/* Work goes to the caller's stream, a plan keeps to its device, and plans do not disturb each other. */
static void test_stream_and_device(void **state)
{
    (void)state;
    int devices = 0;
    assert_int_equal(cudaGetDeviceCount(&devices), cudaSuccess);
    const struct nufft_case c = base_case(2, NUFFT_METHOD_AUTO);
    const int64_t n_modes[3] = {9, 10, 11};
    cudaStream_t stream = NULL;
    assert_int_equal(cudaSetDevice(devices - 1), cudaSuccess);
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    struct running r;
    start(&r, c);
    nufft_plan_destroy(&r.plan);
    struct nufft_options options = nufft_options_default();
    options.backend = NUFFT_BACKEND_CUDA;
    options.stream = stream;
    struct nufft_plan *other = NULL;
    assert_ok(nufft_plan_create(&r.plan, 2, 3, n_modes, 1, 1, c.tolerance, c.precision, &options));
    assert_ok(nufft_plan_create(&other, 2, 3, n_modes, -1, 1, 1e-3, c.precision, &options));
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
    assert_ok(set_points(&r));
    assert_ok(nufft_plan_set_points(other, 3, r.x[0], r.x[1], r.x[2], 0, NULL, NULL, NULL));
    assert_ok(nufft_plan_execute(r.plan, r.strengths, r.modes));
    int device = -1;
    assert_int_equal(cudaGetDevice(&device), cudaSuccess);
    assert_int_equal(device, 0);
    assert_int_equal(cudaSetDevice(devices - 1), cudaSuccess);
    assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
    double *exact = calloc((size_t)r.data.values, sizeof *exact);
    double *got = calloc((size_t)r.data.values, sizeof *got);
    device_download(got, r.strengths, sizeof *got * (size_t)r.data.values);
    nufft_direct(exact, &c, &r.data);
    assert_at_most(nufft_relative_error(got, exact, r.data.values), nufft_allowed(&c));
    free(exact);
    free(got);
    nufft_plan_destroy(&other);
    finish(&r);
    assert_int_equal(cudaStreamDestroy(stream), cudaSuccess);
    assert_int_equal(cudaSetDevice(0), cudaSuccess);
}

static void test_arguments(void **state)
{
    (void)state;
    const int64_t n_modes[3] = {9, 10, 11}, huge[3] = {1 << 14, 1 << 14, 1 << 14};
    struct nufft_options options = nufft_options_default();
    struct nufft_plan *plan = NULL;
    options.backend = NUFFT_BACKEND_CUDA;
    options.method = 5;
    assert_status(nufft_plan_create(&plan, 1, 3, n_modes, 1, 1, 1e-3, NUFFT_FLOAT, &options),
                  MTIP_ERR_ARGUMENT);
    options.method = NUFFT_METHOD_AUTO;
    assert_status(nufft_plan_create(&plan, 1, 3, huge, 1, 1, 1e-3, NUFFT_FLOAT, &options),
                  MTIP_ERR_MEMORY);
    assert_message_has("iB of device memory");
    assert_null(plan);
}

#ifdef MTIP_HOSTCUDA
/* What a plan holds is at most what nufft_plan_memory said, repeated use does not grow it, and destroy gives it back. */
static void test_memory(void **state)
{
    (void)state;
    for (int method = NUFFT_METHOD_AUTO; method <= NUFFT_METHOD_COLUMN; method++) {
        struct nufft_case c = base_case(2, method);
        c.n_vectors = 9;
        struct nufft_options options = nufft_options_default();
        options.backend = NUFFT_BACKEND_CUDA;
        options.method = method;
        size_t promised = 0;
        struct running r;
        const size_t none = hostcuda_memory_in_use();
        start(&r, c);
        nufft_plan_destroy(&r.plan);
        const size_t before = hostcuda_memory_in_use();
        assert_ok(nufft_plan_memory(NULL, &promised, 2, 3, c.n_modes, 9, c.tolerance, c.precision,
                                    &options, c.n_points));
        assert_ok(nufft_case_plan(&r.plan, &c));
        assert_ok(set_points(&r));
        assert_ok(nufft_plan_prepare(r.plan, r.modes));
        const size_t held = hostcuda_memory_in_use() - before;
        assert_true(held <= promised);
        for (int k = 0; k < 3; k++) {
            assert_ok(set_points(&r));
            assert_ok(nufft_plan_execute(r.plan, r.strengths, r.modes));
        }
        assert_int_equal(hostcuda_memory_in_use() - before, held);
        finish(&r);
        assert_int_equal(hostcuda_memory_in_use(), none);
    }
}

/* Execute takes no memory and waits for nothing, by any method, in both directions and precisions. */
static void test_execute_only_launches(void **state)
{
    (void)state;
    static const int kinds[] = {HOSTCUDA_ALLOC, HOSTCUDA_PINNED, HOSTCUDA_SYNC};
    for (int i = 0; i < 2 * 2 * (NUFFT_METHOD_COLUMN + 1); i++) {
        struct nufft_case c = base_case(1 + i % 2, i / 4);
        c.precision = i / 2 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.tolerance = 1e-4;
        struct running r;
        start(&r, c);
        assert_ok(set_points(&r));
        long before[3];
        for (int k = 0; k < 3; k++) {
            before[k] = hostcuda_calls(kinds[k]);
        }
        const long launches = hostcuda_calls(HOSTCUDA_LAUNCH);
        assert_ok(nufft_plan_execute(r.plan, r.strengths, r.modes));
        for (int k = 0; k < 3; k++) {
            assert_int_equal(hostcuda_calls(kinds[k]), before[k]);
        }
        assert_true(hostcuda_calls(HOSTCUDA_LAUNCH) > launches);
        finish(&r);
    }
}

/* One use of a plan; what it returns where a call in it fails. */
static enum mtip_status use_plan(const struct running *r)
{
    struct nufft_plan *plan = NULL;
    enum mtip_status status = nufft_case_plan(&plan, &r->c);
    if (status == MTIP_OK) {
        status = nufft_plan_set_points(plan, r->c.n_points, r->x[0], r->x[1], r->x[2], 0, NULL,
                                       NULL, NULL);
    }
    if (status == MTIP_OK) {
        status = nufft_plan_execute(plan, r->strengths, r->modes);
    }
    nufft_plan_destroy(&plan);
    return status;
}

/* The n-th call fails, for every n: an error with a message, nothing leaks, and the next use works. */
static void test_failing_calls(void **state)
{
    (void)state;
    for (int method = NUFFT_METHOD_GM; method <= NUFFT_METHOD_COLUMN; method++) {
        struct running r;
        start(&r, base_case(1 + method % 2, method));
        nufft_plan_destroy(&r.plan);
        const size_t before = hostcuda_memory_in_use();
        for (long n = 1;; n++) {
            hostcuda_fail(HOSTCUDA_CALL, n);
            const enum mtip_status status = use_plan(&r);
            const int failed = hostcuda_failed();
            hostcuda_fail(HOSTCUDA_CALL, 0);
            (void)cudaGetLastError();
            assert_int_equal(hostcuda_memory_in_use(), before);
            if (!failed) {
                assert_int_equal(status, MTIP_OK);
                assert_true(n > 20);
                break;
            }
            /* Calls that only free may fail without harm. */
            assert_true(status == MTIP_ERR_DEVICE || status == MTIP_ERR_MEMORY ||
                        status == MTIP_OK);
            assert_true(status == MTIP_OK || strlen(mtip_status_message()) > 10);
        }
        assert_ok(use_plan(&r));
        finish(&r);
    }
}
#endif

int main(void)
{
    if (cuda_support_no_device()) {
        return CUDA_SUPPORT_SKIP;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_points),
        cmocka_unit_test(test_adjoint),
        cmocka_unit_test(test_end_of_period),
        cmocka_unit_test(test_against_cpu),
        cmocka_unit_test(test_prepare),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_stream_and_device),
#ifdef MTIP_HOSTCUDA
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_execute_only_launches),
        cmocka_unit_test(test_failing_calls),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
