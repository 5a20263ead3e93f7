/* selftest.h - verdict lines and checked calls of the layer's own test programs. */
#ifndef HOSTCUDA_KERNELS_SELFTEST_H
#define HOSTCUDA_KERNELS_SELFTEST_H

#include <stdio.h>
#include <stdlib.h>

static int selftest_failures = 0;

static inline void verdict(int passed, const char *name)
{
    printf("%s - %s\n", passed ? "ok" : "not ok", name);
    selftest_failures += !passed;
}

#define MUST(call)                                                                                 \
    do {                                                                                           \
        const int must_code = (int)(call);                                                         \
        if (must_code != 0) {                                                                      \
            printf("not ok - %s:%d: %s gave %d\n", __FILE__, __LINE__, #call, must_code);          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#endif
