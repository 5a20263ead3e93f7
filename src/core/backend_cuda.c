/* backend_cuda.c - one CUDA device as a backend: memory, one stream, transfers. */
#include "core/backend_cuda.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend_cuda_staging.h"
#include "core/memory.h"
#include "core/status_cuda.h"

#define MAX_PARTIALS ((int)(BACKEND_CUDA_SCRATCH / sizeof(double)))

struct backend_cuda {
    cudaStream_t stream;
    cudaStream_t ahead; /* of uploads beside the stream */
    int n_streams;
    struct cuda_staging staging;
    void *scratch;                      /* device */
    double *partials;                   /* host, [MAX_PARTIALS] */
    cudaEvent_t queued[BACKEND_LANES];  /* the stream has done what came before the lane's copy */
    cudaEvent_t arrived[BACKEND_LANES]; /* the lane's copy has been done */
    int n_lane_events;
};

static struct backend_cuda *detail(const struct backend *backend)
{
    return backend->detail;
}

enum mtip_status backend_cuda_enter(const struct backend *backend)
{
    return CUDA_STATUS(cudaSetDevice(backend->device));
}

cudaStream_t backend_cuda_stream(const struct backend *backend)
{
    return detail(backend)->stream;
}

void *backend_cuda_scratch(const struct backend *backend)
{
    return detail(backend)->scratch;
}

/* ---- open and close --------------------------------------------------------------------------- */

static enum mtip_status count_devices(int *count)
{
    *count = 0; /* without a driver the call leaves it alone */
    const cudaError_t code = cudaGetDeviceCount(count);
    if (code == cudaErrorInsufficientDriver) {
        (void)cudaGetLastError();
        return MTIP_ERROR(MTIP_ERR_DEVICE,
                          "no CUDA device: this machine has no NVIDIA driver, or one too old for "
                          "CUDA %d.%d (nvidia-smi shows it)",
                          CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    }
    if (code == cudaErrorNoDevice || (code == cudaSuccess && *count == 0)) {
        (void)cudaGetLastError();
        return MTIP_ERROR(MTIP_ERR_DEVICE, "no CUDA device is visible to this process (see "
                                           "nvidia-smi and CUDA_VISIBLE_DEVICES)");
    }
    return CUDA_STATUS(code);
}

static void cuda_close(struct backend *backend)
{
    struct backend_cuda *cuda = backend->detail;
    if (cuda == NULL) {
        return;
    }
    memory_free(&cuda->partials);
    (void)cudaFree(cuda->scratch);
    for (int i = 0; i < cuda->n_lane_events; i++) {
        (void)cudaEventDestroy(i % 2 == 0 ? cuda->queued[i / 2] : cuda->arrived[i / 2]);
    }
    cuda_staging_destroy(&cuda->staging);
    if (cuda->n_streams > 1) {
        (void)cudaStreamDestroy(cuda->ahead);
    }
    if (cuda->n_streams > 0) {
        (void)cudaStreamDestroy(cuda->stream);
    }
    (void)cudaGetLastError();
    free(cuda);
    backend->detail = NULL;
    backend->stream = NULL;
}

static enum mtip_status take_device(struct backend *backend)
{
    enum mtip_status status = MTIP_OK;
    struct cudaDeviceProp properties;
    char text[32];
    CUDA_TRY(cudaSetDevice(backend->device));
    CUDA_TRY(cudaGetDeviceProperties(&properties, backend->device));
    snprintf(backend->description, sizeof backend->description, "%.80s, device %d, %s",
             properties.name, backend->device,
             memory_format_bytes(text, sizeof text, properties.totalGlobalMem));
cleanup:
    return status;
}

static enum mtip_status take_resources(struct backend_cuda *cuda)
{
    enum mtip_status status = MTIP_OK;
    CUDA_TRY(cudaStreamCreateWithFlags(&cuda->stream, cudaStreamNonBlocking));
    cuda->n_streams++;
    CUDA_TRY(cudaStreamCreateWithFlags(&cuda->ahead, cudaStreamNonBlocking));
    cuda->n_streams++;
    MTIP_TRY(cuda_staging_create(&cuda->staging));
    for (int i = 0; i < 2 * BACKEND_LANES; i++) {
        cudaEvent_t *event = i % 2 == 0 ? &cuda->queued[i / 2] : &cuda->arrived[i / 2];
        CUDA_TRY(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
        cuda->n_lane_events++;
    }
    CUDA_TRY(cudaMalloc(&cuda->scratch, BACKEND_CUDA_SCRATCH));
    MTIP_TRY(MEMORY_ALLOC(&cuda->partials, MAX_PARTIALS, "partial sums"));
cleanup:
    return status;
}

static enum mtip_status cuda_open(struct backend *backend, int node_rank)
{
    enum mtip_status status = MTIP_OK;
    int n_devices = 0;
    MTIP_TRY(count_devices(&n_devices));
    backend->device = node_rank % n_devices;
    MTIP_TRY(take_device(backend));
    backend->detail = calloc(1, sizeof(struct backend_cuda));
    if (backend->detail == NULL) {
        MTIP_FAIL(MTIP_ERR_MEMORY, "backend: cannot allocate %zu bytes",
                  sizeof(struct backend_cuda));
    }
    MTIP_TRY(take_resources(backend->detail));
    backend->stream = detail(backend)->stream;
cleanup:
    if (status != MTIP_OK) {
        cuda_close(backend);
    }
    return status;
}

/* ---- memory ----------------------------------------------------------------------------------- */

static enum mtip_status cuda_memory(const struct backend *backend, size_t *free_bytes,
                                    size_t *total_bytes)
{
    enum mtip_status status = MTIP_OK;
    *free_bytes = 0;
    *total_bytes = 0;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(cudaMemGetInfo(free_bytes, total_bytes));
cleanup:
    return status;
}

static enum mtip_status cuda_alloc(const struct backend *backend, void **memory, size_t bytes,
                                   const char *what)
{
    enum mtip_status status = MTIP_OK;
    char text[3][32];
    MTIP_TRY(backend_cuda_enter(backend));
    const cudaError_t code = cudaMalloc(memory, bytes);
    if (code == cudaErrorMemoryAllocation) {
        size_t free_bytes = 0, total_bytes = 0;
        (void)cudaGetLastError();
        (void)cudaMemGetInfo(&free_bytes, &total_bytes);
        MTIP_FAIL(MTIP_ERR_MEMORY, "%s: %s wanted on device %d, which has %s free of %s", what,
                  memory_format_bytes(text[0], sizeof text[0], bytes), backend->device,
                  memory_format_bytes(text[1], sizeof text[1], free_bytes),
                  memory_format_bytes(text[2], sizeof text[2], total_bytes));
    }
    MTIP_TRY(status_from_cuda(code, "cudaMalloc", __FILE__, __LINE__));
cleanup:
    if (status != MTIP_OK) {
        *memory = NULL;
    }
    return status;
}

/* Freeing needs no current device, and waits for what is queued. */
static void cuda_free(const struct backend *backend, void *memory)
{
    (void)backend;
    if (cudaFree(memory) != cudaSuccess) {
        (void)cudaGetLastError();
    }
}

static enum mtip_status cuda_alloc_host(const struct backend *backend, void **memory, size_t bytes,
                                        const char *what)
{
    enum mtip_status status = MTIP_OK;
    char text[32];
    MTIP_TRY(backend_cuda_enter(backend));
    const cudaError_t code = cudaHostAlloc(memory, bytes, cudaHostAllocPortable);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        MTIP_FAIL(MTIP_ERR_MEMORY, "%s: cannot allocate %s of pinned host memory", what,
                  memory_format_bytes(text, sizeof text, bytes));
    }
    MTIP_TRY(status_from_cuda(code, "cudaHostAlloc", __FILE__, __LINE__));
    memset(*memory, 0, bytes);
cleanup:
    if (status != MTIP_OK) {
        *memory = NULL;
    }
    return status;
}

static void cuda_free_host(const struct backend *backend, void *memory)
{
    (void)backend;
    if (cudaFreeHost(memory) != cudaSuccess) {
        (void)cudaGetLastError();
    }
}

/* ---- transfers -------------------------------------------------------------------------------- */

static enum mtip_status cuda_upload(const struct backend *backend, void *to, const void *from,
                                    size_t bytes)
{
    const enum mtip_status status = backend_cuda_enter(backend);
    struct backend_cuda *cuda = detail(backend);
    return status != MTIP_OK ? status
                             : cuda_staging_upload(&cuda->staging, cuda->stream, to, from, bytes);
}

static enum mtip_status cuda_download(const struct backend *backend, void *to, const void *from,
                                      size_t bytes)
{
    const enum mtip_status status = backend_cuda_enter(backend);
    struct backend_cuda *cuda = detail(backend);
    return status != MTIP_OK ? status
                             : cuda_staging_download(&cuda->staging, cuda->stream, to, from, bytes);
}

static enum mtip_status cuda_copy(const struct backend *backend, void *to, const void *from,
                                  size_t bytes)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status cuda_zero(const struct backend *backend, void *memory, size_t bytes)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(cudaMemsetAsync(memory, 0, bytes, backend_cuda_stream(backend)));
cleanup:
    return status;
}

static enum mtip_status cuda_upload_ahead(const struct backend *backend, int lane, void *to,
                                          const void *from, size_t bytes)
{
    enum mtip_status status = MTIP_OK;
    struct backend_cuda *cuda = detail(backend);
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(cudaEventRecord(cuda->queued[lane], cuda->stream));
    CUDA_TRY(cudaStreamWaitEvent(cuda->ahead, cuda->queued[lane], 0));
    CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cuda->ahead));
    CUDA_TRY(cudaEventRecord(cuda->arrived[lane], cuda->ahead));
cleanup:
    return status;
}

static enum mtip_status cuda_wait_ahead(const struct backend *backend, int lane)
{
    enum mtip_status status = MTIP_OK;
    struct backend_cuda *cuda = detail(backend);
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(cudaStreamWaitEvent(cuda->stream, cuda->arrived[lane], 0));
cleanup:
    return status;
}

static enum mtip_status cuda_synchronize(const struct backend *backend)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(backend_cuda_enter(backend));
    CUDA_TRY(cudaStreamSynchronize(backend_cuda_stream(backend)));
cleanup:
    return status;
}

enum mtip_status backend_cuda_add_partials(const struct backend *backend, double *sums, int count,
                                           int width)
{
    enum mtip_status status = MTIP_OK;
    struct backend_cuda *cuda = detail(backend);
    if (count * width > MAX_PARTIALS) {
        return MTIP_ERROR(MTIP_ERR_INTERNAL, "%d x %d partial sums, room for %d", count, width,
                          MAX_PARTIALS);
    }
    memset(sums, 0, (size_t)width * sizeof *sums);
    if (count > 0) {
        MTIP_TRY(cuda_download(backend, cuda->partials, cuda->scratch,
                               (size_t)(count * width) * sizeof *cuda->partials));
    }
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < width; j++) {
            sums[j] += cuda->partials[i * width + j];
        }
    }
cleanup:
    return status;
}

const struct backend_ops backend_ops_cuda = {
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .alloc_host = cuda_alloc_host,
    .free_host = cuda_free_host,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .zero = cuda_zero,
    .upload_ahead = cuda_upload_ahead,
    .wait_ahead = cuda_wait_ahead,
    .synchronize = cuda_synchronize,
    .memory = cuda_memory,
};
