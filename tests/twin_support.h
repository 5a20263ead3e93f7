/* twin_support.h - for the tests of CUDA code: a CPU and a CUDA backend side by side, arrays on both, and the
 * failure of every call in turn.
 */
#ifndef MTIP_TESTS_TWIN_SUPPORT_H
#define MTIP_TESTS_TWIN_SUPPORT_H

#include "support.h"

#include "core/backend.h"

/* Both backends of a test, opened and closed by these two; twin_close frees the arrays of twin_device. */
#define TWIN_MAX_ARRAYS 64
struct twin {
    struct backend *cpu, *cuda;
    void *arrays[TWIN_MAX_ARRAYS];
    int n_arrays;
};
void twin_open(struct twin *twin);
void twin_close(struct twin *twin);

/* A copy of host bytes in device memory. */
void *twin_device(struct twin *twin, const void *host, size_t bytes);

/* Asserts that n doubles (floats, bytes) in device memory equal those on the host to `tolerance` times the largest of
 * the host's; bytes exactly. */
void twin_assert_doubles(const struct twin *twin, const double *device, const double *host,
                         int64_t n, double tolerance);
void twin_assert_floats(const struct twin *twin, const float *device, const float *host, int64_t n,
                        double tolerance);
void twin_assert_bytes(const struct twin *twin, const void *device, const void *host, size_t bytes);

/* n normal numbers, of a stream of its own for each `which`; free() them. */
double *twin_numbers(int64_t n, uint64_t which);
float *twin_floats(int64_t n, uint64_t which);

/* Calls work(context) with the first, then the (1 + stride)th ... CUDA call in it failing, until it has no such
 * call. Each time it must return an error with a message, and device memory in use must be what it was before;
 * the last time, without a failure, it must succeed. Nothing but that last call on a real device. */
typedef enum mtip_status (*twin_work)(void *context);
void twin_fail_every_call(twin_work work, void *context, long stride);

#endif
