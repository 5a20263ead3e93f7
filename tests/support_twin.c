/* support_twin.c - both backends side by side, and the failure of every call in turn. */
#include "twin_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"

#ifdef MTIP_HOSTCUDA
#include "control.h"
#endif

void twin_open(struct twin *twin)
{
    memset(twin, 0, sizeof *twin);
    assert_ok(backend_create(&twin->cpu, "cpu", 0, 1));
    assert_ok(backend_create(&twin->cuda, "cuda", 0, 1));
}

void twin_close(struct twin *twin)
{
    while (twin->n_arrays > 0) {
        backend_free(twin->cuda, &twin->arrays[--twin->n_arrays]);
    }
    backend_destroy(&twin->cuda);
    backend_destroy(&twin->cpu);
}

void *twin_device(struct twin *twin, const void *host, size_t bytes)
{
    assert_true(twin->n_arrays < TWIN_MAX_ARRAYS);
    void **array = &twin->arrays[twin->n_arrays++];
    assert_ok(backend_alloc(twin->cuda, array, (int64_t)bytes, 1, "test array"));
    assert_ok(backend_upload(twin->cuda, *array, host, bytes));
    return *array;
}

void twin_assert_doubles(const struct twin *twin, const double *device, const double *host,
                         int64_t n, double tolerance)
{
    double *got = malloc((size_t)(n + 1) * sizeof *got);
    double largest = 0, worst = 0;
    assert_non_null(got);
    assert_ok(backend_download(twin->cuda, got, device, (size_t)n * sizeof *got));
    for (int64_t i = 0; i < n; i++) {
        const double off = fabs(got[i] - host[i]);
        largest = fmax(largest, fabs(host[i]));
        worst = off <= worst ? worst : off; /* NaN stays */
    }
    free(got);
    assert_at_most(worst, tolerance * largest);
}

void twin_assert_floats(const struct twin *twin, const float *device, const float *host, int64_t n,
                        double tolerance)
{
    float *got = malloc((size_t)(n + 1) * sizeof *got);
    double largest = 0, worst = 0;
    assert_non_null(got);
    assert_ok(backend_download(twin->cuda, got, device, (size_t)n * sizeof *got));
    for (int64_t i = 0; i < n; i++) {
        const double off = fabs((double)got[i] - (double)host[i]);
        largest = fmax(largest, fabs((double)host[i]));
        worst = off <= worst ? worst : off;
    }
    free(got);
    assert_at_most(worst, tolerance * largest);
}

void twin_assert_bytes(const struct twin *twin, const void *device, const void *host, size_t bytes)
{
    unsigned char *got = malloc(bytes + 1);
    assert_non_null(got);
    assert_ok(backend_download(twin->cuda, got, device, bytes));
    const int same = memcmp(got, host, bytes) == 0;
    free(got);
    assert_true(same);
}

double *twin_numbers(int64_t n, uint64_t which)
{
    struct rng rng = rng_stream(77, RNG_TEST, which, 0);
    double *x = malloc((size_t)(n + 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) {
        x[i] = rng_normal(&rng);
    }
    return x;
}

float *twin_floats(int64_t n, uint64_t which)
{
    double *wide = twin_numbers(n, which);
    float *x = malloc((size_t)(n + 1) * sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)wide[i];
    }
    free(wide);
    return x;
}

void twin_fail_every_call(twin_work work, void *context, long stride)
{
#ifdef MTIP_HOSTCUDA
    const size_t before = hostcuda_memory_in_use();
    for (long n = 1;; n += stride) {
        hostcuda_fail(HOSTCUDA_CALL, n);
        const enum mtip_status status = work(context);
        const int failed = hostcuda_failed();
        hostcuda_fail(HOSTCUDA_CALL, 0);
        assert_int_equal(hostcuda_memory_in_use(), before);
        if (!failed) {
            assert_int_equal(status, MTIP_OK);
            assert_true(n > 1);
            return;
        }
        if (status != MTIP_ERR_DEVICE && status != MTIP_ERR_MEMORY) {
            fail_msg("call %ld failed, and the status is \"%s\"", n, mtip_status_text(status));
        }
        assert_true(strlen(mtip_status_message()) > 10);
    }
#else
    (void)stride;
    assert_ok(work(context));
#endif
}
