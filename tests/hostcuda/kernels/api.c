/* api.c - what the stand-in of the runtime answers: devices, limits, attributes, memory, events,
 * injected failures. `api` tests the usual machine; `api SITUATION` one that selftest.py sets up by
 * variables (no-driver, no-device, devices COUNT, memory, old).
 */
#include <cuda_runtime_api.h>
#include <cufft.h>
#include <stdint.h>
#include <string.h>

#include "control.h"
#include "faults.h"
#include "selftest.h"

static void test_no_driver(void)
{
    int count = 42;
    verdict(cudaGetDeviceCount(&count) == cudaErrorInsufficientDriver && count == 42,
            "without a driver: error 35, the count untouched");
    verdict(cudaGetLastError() == cudaErrorInsufficientDriver, "the error stays until it is read");
    verdict(cudaGetLastError() == cudaSuccess, "and is gone then");
    void *p = NULL;
    cufftHandle plan;
    verdict(cudaMalloc(&p, 16) == cudaErrorInsufficientDriver, "no allocation without a driver");
    verdict(cufftCreate(&plan) == CUFFT_SETUP_FAILED, "no FFT plan without a driver");
}

static void test_no_device(void)
{
    int count = 42;
    verdict(cudaGetDeviceCount(&count) == cudaErrorNoDevice && count == 0,
            "without a device: error 100");
    verdict(cudaSetDevice(0) == cudaErrorNoDevice, "no device to choose");
}

static void test_devices(int expected)
{
    int count = 0, current = -1;
    struct cudaDeviceProp properties;
    MUST(cudaGetDeviceCount(&count));
    verdict(count == expected, "number of devices");
    MUST(cudaSetDevice(expected - 1));
    MUST(cudaGetDevice(&current));
    verdict(current == expected - 1, "the last device can be chosen");
    verdict(cudaSetDevice(expected) == cudaErrorInvalidDevice, "one past it cannot");
    MUST(cudaGetDeviceProperties(&properties, 0));
    verdict(properties.major * 10 + properties.minor >= 80 && properties.warpSize == 32,
            "properties");
}

static void test_memory_limit(void) /* HC_MEM=1M */
{
    size_t free_bytes = 0, total = 0;
    void *a = NULL, *b = NULL;
    MUST(cudaMemGetInfo(&free_bytes, &total));
    verdict(free_bytes == 1 << 20 && total == 1 << 20, "free memory at the start");
    MUST(cudaMalloc(&a, 600000));
    verdict(cudaMalloc(&b, 600000) == cudaErrorMemoryAllocation && b == NULL,
            "an allocation beyond the device's memory fails");
    verdict(cudaGetLastError() == cudaErrorMemoryAllocation, "and leaves its error");
    MUST(cudaFree(a));
    MUST(cudaMalloc(&b, 1 << 20));
    MUST(cudaMemGetInfo(&free_bytes, &total));
    verdict(free_bytes == 0, "all of it can be had once the rest is freed");
    MUST(cudaFree(b));
    cufftHandle plan;
    verdict(cufftPlan3d(&plan, 64, 64, 64, CUFFT_Z2Z) == CUFFT_ALLOC_FAILED,
            "an FFT plan whose work area does not fit fails");
    verdict(cufftPlan1d(&plan, SIZE_MAX > 0 ? 0 : 1, CUFFT_Z2Z, 1) == CUFFT_INVALID_SIZE,
            "an FFT of no points is refused");
}

static void test_old_device(void) /* HC_ARCH=80 */
{
    int shared = 0, major = 0;
    MUST(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    MUST(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    verdict(shared == 163 << 10 && major == 8, "limits of sm_80");
}

static void test_attributes(void)
{
    int shared = 0, blocks = 0, other = 0;
    MUST(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    verdict(shared == 227 << 10, "opt-in shared memory of sm_90");
    verdict(cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlock, 7) ==
                cudaErrorInvalidDevice,
            "attribute of a device that is not there");
    MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, (const void *)faults_set, 256, 0));
    MUST(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&other, (const void *)faults_set, 256,
                                                       40000));
    verdict(blocks == 8 && other == 5, "occupancy by threads, and by shared memory");
    verdict(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") &&
                !strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"),
            "names of errors");
}

static void test_pointers(void)
{
    struct cudaPointerAttributes a;
    void *device = NULL, *pinned = NULL;
    int plain = 0;
    MUST(cudaMalloc(&device, 100));
    MUST(cudaMallocHost(&pinned, 100));
    MUST(cudaPointerGetAttributes(&a, (char *)device + 50));
    int good = a.type == cudaMemoryTypeDevice && a.device == 0;
    MUST(cudaPointerGetAttributes(&a, (char *)pinned + 50));
    good = good && a.type == cudaMemoryTypeHost;
    MUST(cudaPointerGetAttributes(&a, &plain));
    verdict(good && a.type == cudaMemoryTypeUnregistered, "where a pointer points");
    verdict((uintptr_t)device % 256 == 0, "alignment of device memory");
    verdict(cudaMemset(&plain, 0, 4) == cudaErrorInvalidValue, "memset of host memory is refused");
    cudaGetLastError(); /* or the next launch would seem to have failed */
    MUST(cudaFree(device));
    MUST(cudaFreeHost(pinned));
    MUST(cudaFree(NULL));
}

static void test_copies_2d(void)
{
    int host[4][5], back[4][3], *device = NULL, good = 1;
    size_t pitch = 0;
    for (int i = 0; i < 20; i++) {
        host[i / 5][i % 5] = i;
    }
    MUST(cudaMallocPitch((void **)&device, &pitch, 3 * sizeof(int), 4));
    MUST(cudaMemcpy2D(device, pitch, &host[0][1], sizeof host[0], 3 * sizeof(int), 4,
                      cudaMemcpyHostToDevice));
    MUST(cudaMemcpy2D(back, sizeof back[0], device, pitch, 3 * sizeof(int), 4,
                      cudaMemcpyDeviceToHost));
    for (int i = 0; i < 12; i++) {
        good = good && back[i / 3][i % 3] == i / 3 * 5 + i % 3 + 1;
    }
    verdict(good, "copies with a pitch");
    MUST(cudaFree(device));
}

static void test_peers(void)
{
    float *there = NULL, value = 0;
    int can = 0;
    MUST(cudaSetDevice(1));
    MUST(cudaMalloc((void **)&there, 64 * sizeof(float)));
    MUST(cudaSetDevice(0));
    MUST(cudaDeviceCanAccessPeer(&can, 0, 1));
    MUST(cudaDeviceEnablePeerAccess(1, 0));
    MUST(faults_set_in_struct(there, 64, 3.0f, NULL));
    MUST(cudaMemcpy(&value, there, sizeof value, cudaMemcpyDeviceToHost));
    verdict(can && value == 3.0f, "a peer's memory, once access is enabled");
    verdict(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled,
            "access enabled twice");
    cudaGetLastError();
    MUST(cudaDeviceDisablePeerAccess(1));
    MUST(cudaFree(there));
}

static void count_call(void *data)
{
    ++*(int *)data;
}

static void test_streams_and_events(void)
{
    cudaStream_t stream;
    cudaEvent_t start, end;
    float *x = NULL, ms = -1;
    int called = 0;
    MUST(cudaMalloc((void **)&x, 1000 * sizeof(float)));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaEventCreate(&start));
    MUST(cudaEventCreate(&end));
    MUST(cudaEventRecord(start, stream));
    MUST(faults_set(x, 1000, 1.0f, stream));
    MUST(cudaEventRecord(end, stream));
    MUST(cudaLaunchHostFunc(stream, count_call, &called));
    int asked = 0;
    while (cudaStreamQuery(stream) == cudaErrorNotReady && asked < 100) {
        asked++;
    }
    verdict(called == 1 && asked < 100, "polling comes to an end, the host function was called");
    MUST(cudaEventElapsedTime(&ms, start, end));
    verdict(ms >= 0 && cudaEventQuery(end) == cudaSuccess, "time between two events");
    MUST(cudaEventDestroy(start));
    verdict(cudaEventRecord(start, stream) == cudaErrorInvalidResourceHandle,
            "an event that was destroyed is refused");
    MUST(cudaEventDestroy(end));
    MUST(cudaStreamDestroy(stream));
    verdict(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle,
            "a stream that was destroyed is refused");
    cudaGetLastError();
    MUST(cudaFree(x));
}

static void test_injection(void)
{
    void *p = NULL;
    float *x = NULL;
    cufftHandle plan;
    MUST(cudaMalloc((void **)&x, 4096));
    hostcuda_fail(HOSTCUDA_ALLOC, 2);
    MUST(cudaMalloc(&p, 16));
    MUST(cudaFree(p));
    verdict(cudaMalloc(&p, 16) == cudaErrorMemoryAllocation && hostcuda_failed(),
            "the second allocation from now fails");
    MUST(cudaMalloc(&p, 16));
    verdict(1, "and only that one");
    cudaGetLastError();
    hostcuda_fail(HOSTCUDA_LAUNCH, 1);
    verdict(faults_set(x, 10, 0.0f, NULL) == cudaErrorLaunchOutOfResources, "a launch fails");
    hostcuda_fail(HOSTCUDA_FFT, 1);
    verdict(cufftPlan1d(&plan, 16, CUFFT_C2C, 1) == CUFFT_INTERNAL_ERROR, "an FFT plan fails");
    hostcuda_fail(HOSTCUDA_ALLOC, 1);
    verdict(cufftPlan1d(&plan, 16, CUFFT_C2C, 1) == CUFFT_ALLOC_FAILED,
            "an FFT plan fails for lack of a work area");
    hostcuda_fail(HOSTCUDA_SYNC, 1);
    verdict(cudaDeviceSynchronize() == cudaErrorLaunchFailure, "a synchronisation fails");
    hostcuda_fail(HOSTCUDA_CALL, 3);
    const int first = cudaMemset(x, 0, 4), second = cudaMemset(x, 0, 4);
    verdict(first == 0 && second == 0 && cudaMemset(x, 0, 4) != cudaSuccess,
            "the third call fails");
    verdict(hostcuda_memory_in_use() == 4096 + 16, "memory in use");
    MUST(cudaFree(p));
    MUST(cudaFree(x));
}

int main(int argc, char **argv)
{
    const char *situation = argc > 1 ? argv[1] : "";
    if (!strcmp(situation, "no-driver")) {
        test_no_driver();
    } else if (!strcmp(situation, "no-device")) {
        test_no_device();
    } else if (!strcmp(situation, "devices")) {
        test_devices(atoi(argv[2]));
    } else if (!strcmp(situation, "memory")) {
        test_memory_limit();
    } else if (!strcmp(situation, "old")) {
        test_old_device();
    } else {
        test_attributes();
        test_pointers();
        test_copies_2d();
        test_peers();
        test_streams_and_events();
        test_injection();
    }
    return selftest_failures != 0;
}
