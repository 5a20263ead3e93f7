/* test_core_backend.c - the choice of a backend and the CPU's memory and transfers. */
#include "support.h"

#include <string.h>

#include "core/backend.h"

static void names_are_checked(void **state)
{
    (void)state;
    struct backend *backend = (struct backend *)(uintptr_t)8;
    assert_status(backend_create(&backend, "gpu", 0, 1), MTIP_ERR_CONFIG);
    assert_null(backend);
    assert_message_has("gpu");
    assert_message_has("auto, cpu or cuda");
}

static void the_cpu_is_always_there(void **state)
{
    (void)state;
    struct backend *backend = NULL;
    assert_ok(backend_create(&backend, "cpu", 3, 2));
    assert_int_equal(backend->kind, BACKEND_CPU);
    assert_int_equal(backend->n_threads, 2);
    assert_int_equal(backend->device, -1);
    assert_string_equal(backend_kind_name(backend->kind), "cpu");
    assert_non_null(strstr(backend->description, "2 threads"));
    backend_destroy(&backend);
    assert_null(backend);
    backend_destroy(&backend);
}

static void threads_default_to_at_least_one(void **state)
{
    (void)state;
    struct backend *backend = NULL;
    assert_ok(backend_create(&backend, "cpu", 0, 0));
    assert_true(backend->n_threads >= 1);
    backend_destroy(&backend);
}

/* Holds with and without a device: "auto" gives what there is, "cuda" a device or the reason why not. */
static void auto_gives_a_backend_and_cuda_a_device_or_a_reason(void **state)
{
    (void)state;
    struct backend *backend = NULL;
    assert_ok(backend_create(&backend, "auto", 0, 1));
    const enum backend_kind found = backend->kind;
    backend_destroy(&backend);
    const enum mtip_status status = backend_create(&backend, "cuda", 0, 1);
    if (found == BACKEND_CUDA) {
        assert_ok(status);
        assert_true(backend->device >= 0);
        backend_destroy(&backend);
    } else {
        assert_status(status, MTIP_ERR_DEVICE);
        assert_null(backend);
        assert_true(strlen(mtip_status_message()) > 0);
    }
}

static void data_goes_out_and_comes_back(void **state)
{
    (void)state;
    enum { N = 1009 };
    struct backend *backend = NULL;
    double *a = NULL, *b = NULL, sent[N], received[N];
    assert_ok(backend_create(&backend, "auto", 0, 1));
    assert_ok(BACKEND_ALLOC(backend, &a, N, "a"));
    assert_ok(BACKEND_ALLOC(backend, &b, N, "b"));
    for (int i = 0; i < N; i++) {
        sent[i] = 1.0 / (i + 1.0);
        received[i] = -1.0;
    }
    assert_ok(backend_upload(backend, a, sent, sizeof sent));
    assert_ok(backend_copy(backend, b, a, sizeof sent));
    assert_ok(backend_zero(backend, a, sizeof sent));
    assert_ok(backend_synchronize(backend));
    assert_ok(backend_download(backend, received, b, sizeof received));
    assert_memory_equal(received, sent, sizeof sent);
    assert_ok(backend_download(backend, received, a, sizeof received));
    for (int i = 0; i < N; i++) {
        assert_true(received[i] == 0.0);
    }
    assert_ok(backend_upload(backend, NULL, NULL, 0));
    assert_ok(backend_copy(backend, NULL, NULL, 0));
    assert_ok(backend_zero(backend, NULL, 0));
    backend_free(backend, &a);
    backend_free(backend, &b);
    assert_null(a);
    backend_free(backend, &a);
    backend_destroy(&backend);
}

static void too_much_memory_is_refused_by_name(void **state)
{
    (void)state;
    struct backend *backend = NULL;
    float *memory = (float *)(uintptr_t)8;
    assert_ok(backend_create(&backend, "auto", 0, 1));
    assert_ok(BACKEND_ALLOC(backend, &memory, 0, "none"));
    assert_null(memory);
    memory = (float *)(uintptr_t)8;
    assert_status(BACKEND_ALLOC(backend, &memory, INT64_MAX, "slices"), MTIP_ERR_MEMORY);
    assert_null(memory);
    assert_message_has("slices");
    backend_destroy(&backend);
}

static void memory_in_use_is_reported(void **state)
{
    (void)state;
    struct backend *backend = NULL;
    size_t free_bytes = 0, total_bytes = 0;
    assert_ok(backend_create(&backend, "auto", 0, 1));
    assert_ok(backend_memory(backend, &free_bytes, &total_bytes));
    assert_true(free_bytes > (size_t)1 << 20);
    assert_true(total_bytes >= free_bytes);
    backend_destroy(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(the_cpu_is_always_there),
        cmocka_unit_test(threads_default_to_at_least_one),
        cmocka_unit_test(auto_gives_a_backend_and_cuda_a_device_or_a_reason),
        cmocka_unit_test(data_goes_out_and_comes_back),
        cmocka_unit_test(too_much_memory_is_refused_by_name),
        cmocka_unit_test(memory_in_use_is_reported),
    };
    return cmocka_run_group_tests_name("core/backend", tests, NULL, NULL);
}
