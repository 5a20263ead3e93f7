/* cuda_support.h - for tests that run on a device or on the host-CUDA layer. */
#ifndef MTIP_TESTS_CUDA_SUPPORT_H
#define MTIP_TESTS_CUDA_SUPPORT_H

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

/* What the test runner takes as skipped. */
#define CUDA_SUPPORT_SKIP 77

/* 1, having said so, where there is no device to test. */
static inline int cuda_support_no_device(void)
{
    int devices = 0;
    if (cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0) {
        return 0;
    }
    printf("no CUDA device\n");
    return 1;
}

/* 1 where fewer cases are to do: under sanitizers in `make check`, for the sake of its time. */
static inline int cuda_support_short(void)
{
    const char *text = getenv("MTIP_TEST_SHORT");
    return text != NULL && *text != '\0';
}

#endif
