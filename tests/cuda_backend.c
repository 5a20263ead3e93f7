/* cuda_backend.c - the CUDA backend: choice of the device, memory, transfers, Fourier transforms; failing calls. */
#include "twin_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "core/fft.h"

/* One staging buffer of the backend: sizes about it and its multiples take other paths. */
#define STAGING ((int64_t)4 << 20)

static int device_count(void)
{
    int n = 0;
    return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

/* ---- choice of the device ------------------------------------------------------------------------ */

static void ranks_take_devices_in_turn(void **state)
{
    (void)state;
    const int n = device_count();
    for (int rank = 0; rank < 2 * n + 1; rank++) {
        struct backend *backend = NULL;
        assert_ok(backend_create(&backend, rank % 2 ? "auto" : "cuda", rank, 1));
        assert_int_equal(backend->kind, BACKEND_CUDA);
        assert_int_equal(backend->device, rank % n);
        assert_non_null(backend->stream);
        assert_string_equal(backend->note, "");
        char text[32];
        snprintf(text, sizeof text, ", device %d, ", rank % n);
        assert_non_null(strstr(backend->description, text));
        assert_non_null(strstr(backend->description, "iB"));
        backend_destroy(&backend);
    }
}

/* Each backend works on its own device, whichever was used last. */
static void two_devices_at_a_time(void **state)
{
    (void)state;
    enum { N = 1000 };
    struct backend *backend[2] = {NULL, NULL};
    double *array[2] = {NULL, NULL}, sent[2][N], got[N];
    for (int i = 0; i < 2; i++) {
        assert_ok(backend_create(&backend[i], "cuda", i, 1));
        assert_ok(BACKEND_ALLOC(backend[i], &array[i], N, "array"));
    }
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < N; k++) {
            sent[i][k] = i * N + k;
        }
        assert_ok(backend_upload(backend[i], array[i], sent[i], sizeof sent[i]));
    }
    for (int i = 1; i >= 0; i--) {
        struct cudaPointerAttributes attributes;
        assert_int_equal(cudaPointerGetAttributes(&attributes, array[i]), cudaSuccess);
        assert_int_equal(attributes.device, backend[i]->device);
        assert_ok(backend_download(backend[i], got, array[i], sizeof got));
        assert_memory_equal(got, sent[i], sizeof got);
    }
    for (int i = 0; i < 2; i++) {
        backend_free(backend[i], &array[i]);
        backend_destroy(&backend[i]);
    }
}

static enum mtip_status open_and_close(void *context)
{
    struct backend *backend = (struct backend *)(uintptr_t)8;
    const enum mtip_status status = backend_create(&backend, context, 1, 1);
    if (status != MTIP_OK && backend != NULL) {
        return MTIP_ERR_INTERNAL;
    }
    backend_destroy(&backend);
    return status;
}

static void a_failing_open_says_why(void **state)
{
    (void)state;
    char wanted[] = "cuda";
    twin_fail_every_call(open_and_close, wanted, 1);
}

/* "auto" takes the CPU then, and keeps the reason. */
static enum mtip_status open_auto(void *context)
{
    struct backend *backend = NULL;
    (void)context;
    enum mtip_status status = backend_create(&backend, "auto", 0, 1);
    if (status == MTIP_OK && backend->kind == BACKEND_CPU) {
        status = strlen(backend->note) > 10 && backend->detail == NULL && backend->device == -1
                     ? MTIP_ERR_DEVICE
                     : MTIP_ERR_INTERNAL;
    }
    backend_destroy(&backend);
    return status;
}

static void auto_falls_back_with_a_note(void **state)
{
    (void)state;
    twin_fail_every_call(open_auto, NULL, 1);
}

/* ---- memory and transfers ------------------------------------------------------------------------ */

static void fill(unsigned char *bytes, int64_t n, unsigned seed)
{
    for (int64_t i = 0; i < n; i++) {
        bytes[i] = (unsigned char)((uint64_t)i * 2654435761u >> 13 ^ seed ^ (unsigned)(i / 251));
    }
}

static const int64_t transfer_sizes[] = {0,
                                         1,
                                         7,
                                         4095,
                                         4096,
                                         4097,
                                         100003,
                                         STAGING - 1,
                                         STAGING,
                                         STAGING + 1,
                                         2 * STAGING,
                                         2 * STAGING + 5,
                                         5 * STAGING + 77};
#define N_TRANSFER_SIZES (sizeof transfer_sizes / sizeof *transfer_sizes)

/* Pinned or ordinary memory at either end; the source of an upload from ordinary memory is spoilt at once. */
static void transfer(int from_pinned, int to_pinned)
{
    struct twin t;
    const int64_t most = 5 * STAGING + 100;
    unsigned char *from = NULL, *to = NULL, *want = malloc((size_t)most);
    twin_open(&t);
    assert_non_null(want);
    assert_ok(BACKEND_ALLOC_HOST(from_pinned ? t.cuda : t.cpu, &from, most, "source"));
    assert_ok(BACKEND_ALLOC_HOST(to_pinned ? t.cuda : t.cpu, &to, most, "target"));
    for (size_t i = 0; i < N_TRANSFER_SIZES; i++) {
        const int64_t n = transfer_sizes[i];
        unsigned char *device = NULL, *other = NULL;
        assert_ok(BACKEND_ALLOC(t.cuda, &device, n, "array"));
        assert_ok(BACKEND_ALLOC(t.cuda, &other, n, "array"));
        fill(from, n, (unsigned)i);
        fill(want, n, (unsigned)i);
        memset(to, 0, (size_t)n + 1);
        assert_ok(backend_upload(t.cuda, device, from, (size_t)n));
        if (!from_pinned) {
            memset(from, 0, (size_t)n);
        }
        assert_ok(backend_copy(t.cuda, other, device, (size_t)n));
        assert_ok(backend_download(t.cuda, to, other, (size_t)n));
        assert_memory_equal(to, want, (size_t)n);
        assert_int_equal(to[n], 0);
        assert_ok(backend_zero(t.cuda, device, (size_t)n));
        assert_ok(backend_download(t.cuda, to, device, (size_t)n));
        memset(want, 0, (size_t)n);
        assert_memory_equal(to, want, (size_t)n);
        backend_free(t.cuda, &other);
        backend_free(t.cuda, &device);
        assert_null(device);
        assert_ok(backend_synchronize(t.cuda));
    }
    backend_free_host(to_pinned ? t.cuda : t.cpu, &to);
    backend_free_host(from_pinned ? t.cuda : t.cpu, &from);
    assert_null(to);
    free(want);
    twin_close(&t);
}

static void transfers_from_ordinary_memory(void **state)
{
    (void)state;
    transfer(0, 0);
}

static void transfers_from_pinned_memory(void **state)
{
    (void)state;
    transfer(1, 1);
    transfer(1, 0);
}

static void pinned_memory_is_zeroed(void **state)
{
    (void)state;
    struct twin t;
    double *memory = NULL, *none = (double *)(uintptr_t)8;
    twin_open(&t);
    assert_ok(BACKEND_ALLOC_HOST(t.cuda, &memory, 1001, "numbers"));
    for (int i = 0; i < 1001; i++) {
        assert_true(memory[i] == 0.0);
    }
    assert_ok(BACKEND_ALLOC_HOST(t.cuda, &none, 0, "nothing"));
    assert_null(none);
    backend_free_host(t.cuda, &none);
    backend_free_host(t.cuda, &memory);
    twin_close(&t);
}

static void too_much_memory_is_refused_with_numbers(void **state)
{
    (void)state;
    struct twin t;
    size_t free_bytes = 0, total_bytes = 0;
    char *memory = (char *)(uintptr_t)8, *after = NULL;
    twin_open(&t);
    assert_ok(backend_memory(t.cuda, &free_bytes, &total_bytes));
    assert_true(free_bytes > 0 && free_bytes <= total_bytes);
    assert_status(BACKEND_ALLOC(t.cuda, &memory, (int64_t)total_bytes + 1, "score tiles"),
                  MTIP_ERR_MEMORY);
    assert_null(memory);
    assert_message_has("score tiles");
    assert_message_has("iB free of");
    /* the failure is over: nothing of it shows in the next calls */
    assert_ok(BACKEND_ALLOC(t.cuda, &after, 1000, "small array"));
    assert_ok(backend_zero(t.cuda, after, 1000));
    assert_int_equal(cudaGetLastError(), cudaSuccess);
    backend_free(t.cuda, &after);
    twin_close(&t);
}

static enum mtip_status every_transfer(void *context)
{
    enum mtip_status status = MTIP_OK;
    struct backend *backend = NULL;
    const size_t bytes = (size_t)(2 * STAGING + 100);
    char *device = NULL, *other = NULL, *pinned = NULL, *ordinary = context;
    size_t free_bytes = 0, total_bytes = 0;
    MTIP_TRY(backend_create(&backend, "cuda", 0, 1));
    MTIP_TRY(BACKEND_ALLOC(backend, &device, (int64_t)bytes, "array"));
    MTIP_TRY(BACKEND_ALLOC(backend, &other, (int64_t)bytes, "array"));
    MTIP_TRY(BACKEND_ALLOC_HOST(backend, &pinned, 9000, "buffer"));
    MTIP_TRY(backend_memory(backend, &free_bytes, &total_bytes));
    MTIP_TRY(backend_upload(backend, device, ordinary, bytes));
    MTIP_TRY(backend_upload(backend, device, pinned, 9000));
    MTIP_TRY(backend_copy(backend, other, device, bytes));
    MTIP_TRY(backend_zero(backend, device, bytes));
    MTIP_TRY(backend_download(backend, ordinary, other, bytes));
    MTIP_TRY(backend_download(backend, pinned, other, 9000));
    MTIP_TRY(backend_synchronize(backend));
cleanup:
    if (backend != NULL) {
        backend_free_host(backend, &pinned);
        backend_free(backend, &other);
        backend_free(backend, &device);
    }
    backend_destroy(&backend);
    return status;
}

static void every_failing_transfer_is_an_error(void **state)
{
    (void)state;
    char *memory = calloc(1, (size_t)(2 * STAGING + 100));
    assert_non_null(memory);
    twin_fail_every_call(every_transfer, memory, 1);
    free(memory);
}

/* ---- Fourier transforms -------------------------------------------------------------------------- */

/* Ones, even and odd, primes; rounding of a transform of these sizes stays under 1e-15 of its rms, peaks are some ten
 * times that. */
static const int64_t fft_sizes[][3] = {{1, 1, 1},  {1, 1, 2},    {2, 1, 1},  {1, 5, 1},
                                       {2, 3, 4},  {5, 4, 7},    {8, 10, 9}, {13, 13, 13},
                                       {4, 5, 41}, {24, 24, 24}, {2, 97, 3}};
#define N_FFT_SIZES (sizeof fft_sizes / sizeof *fft_sizes)
#define FFT_TOLERANCE 1e-13

static void transforms_equal_those_of_the_cpu(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_FFT_SIZES; i++) {
        struct twin t;
        struct fft_plan *plan[2] = {NULL, NULL};
        const int64_t *n = fft_sizes[i], n_real = fft_real_count(n), n_half = fft_half_count(n);
        double *real = twin_numbers(n_real, i), *half = twin_numbers(2 * n_half, 100 + i);
        double *spectrum = twin_numbers(2 * n_half, 0), *back = twin_numbers(n_real, 0);
        twin_open(&t);
        assert_ok(fft_plan_create(&plan[0], t.cpu, n));
        assert_ok(fft_plan_create(&plan[1], t.cuda, n));
        double *d_real = twin_device(&t, real, (size_t)n_real * sizeof *real);
        double *d_spectrum = twin_device(&t, spectrum, (size_t)(2 * n_half) * sizeof *real);
        double *d_back = twin_device(&t, back, (size_t)n_real * sizeof *real);
        assert_ok(fft_plan_forward(plan[0], real, spectrum));
        assert_ok(fft_plan_forward(plan[1], d_real, d_spectrum));
        twin_assert_doubles(&t, d_spectrum, spectrum, 2 * n_half, FFT_TOLERANCE);
        twin_assert_doubles(&t, d_real, real, n_real, 0.0); /* the input is kept */
        assert_ok(fft_plan_inverse(plan[0], spectrum, back));
        assert_ok(fft_plan_inverse(plan[1], d_spectrum, d_back));
        twin_assert_doubles(&t, d_back, back, n_real, FFT_TOLERANCE);
        fft_plan_destroy(&plan[1]);
        fft_plan_destroy(&plan[0]);
        twin_close(&t);
        free(back);
        free(spectrum);
        free(half);
        free(real);
    }
}

static enum mtip_status one_transform(void *context)
{
    enum mtip_status status = MTIP_OK;
    struct backend *backend = context;
    const int64_t n[3] = {6, 5, 7};
    struct fft_plan *plan = NULL;
    double *real = NULL, *half = NULL;
    MTIP_TRY(fft_plan_create(&plan, backend, n));
    MTIP_TRY(BACKEND_ALLOC(backend, &real, fft_real_count(n), "grid"));
    MTIP_TRY(BACKEND_ALLOC(backend, &half, 2 * fft_half_count(n), "spectrum"));
    MTIP_TRY(backend_zero(backend, real, (size_t)fft_real_count(n) * sizeof *real));
    MTIP_TRY(fft_plan_forward(plan, real, half));
    MTIP_TRY(fft_plan_inverse(plan, half, real));
    MTIP_TRY(backend_synchronize(backend));
cleanup:
    backend_free(backend, &half);
    backend_free(backend, &real);
    fft_plan_destroy(&plan);
    return status;
}

static void a_failing_transform_is_an_error(void **state)
{
    (void)state;
    struct twin t;
    twin_open(&t);
    twin_fail_every_call(one_transform, t.cuda, 1);
    twin_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_take_devices_in_turn),
        cmocka_unit_test(two_devices_at_a_time),
        cmocka_unit_test(a_failing_open_says_why),
        cmocka_unit_test(auto_falls_back_with_a_note),
        cmocka_unit_test(transfers_from_ordinary_memory),
        cmocka_unit_test(transfers_from_pinned_memory),
        cmocka_unit_test(pinned_memory_is_zeroed),
        cmocka_unit_test(too_much_memory_is_refused_with_numbers),
        cmocka_unit_test(every_failing_transfer_is_an_error),
        cmocka_unit_test(transforms_equal_those_of_the_cpu),
        cmocka_unit_test(a_failing_transform_is_an_error),
    };
    return cmocka_run_group_tests_name("core/backend_cuda", tests, NULL, NULL);
}
