/* backend_cuda_staging.c - see backend_cuda_staging.h. */
#include "core/backend_cuda_staging.h"

#include <string.h>

#include "core/status_cuda.h"

/* Bytes of one staging buffer: long enough to hide the start of a transfer, little to pin. */
#define STAGING_BYTES ((size_t)4 << 20)

/* Below this it is not worth asking whether host memory is pinned. */
#define ASK_BYTES ((size_t)4 << 10)

enum mtip_status cuda_staging_create(struct cuda_staging *staging)
{
    enum mtip_status status = MTIP_OK;
    for (int i = 0; i < 2; i++) {
        CUDA_TRY(cudaHostAlloc(&staging->buffer[i], STAGING_BYTES, cudaHostAllocPortable));
        CUDA_TRY(cudaEventCreateWithFlags(&staging->moved[i], cudaEventDisableTiming));
        staging->n_events++;
    }
cleanup:
    return status;
}

void cuda_staging_destroy(struct cuda_staging *staging)
{
    for (int i = 0; i < staging->n_events; i++) {
        (void)cudaEventDestroy(staging->moved[i]);
    }
    for (int i = 0; i < 2; i++) {
        (void)cudaFreeHost(staging->buffer[i]);
    }
}

static enum mtip_status ask_pinned(int *pinned, const void *memory, size_t bytes)
{
    enum mtip_status status = MTIP_OK;
    struct cudaPointerAttributes attributes;
    *pinned = 0;
    if (bytes >= ASK_BYTES) {
        CUDA_TRY(cudaPointerGetAttributes(&attributes, memory));
        *pinned = attributes.type == cudaMemoryTypeHost;
    }
cleanup:
    return status;
}

/* The next staging buffer, waited for. */
static enum mtip_status take_turn(struct cuda_staging *staging, int *turn)
{
    *turn = staging->turn;
    staging->turn = 1 - staging->turn;
    return CUDA_STATUS(cudaEventSynchronize(staging->moved[*turn]));
}

static size_t piece(size_t bytes, size_t done)
{
    return bytes - done < STAGING_BYTES ? bytes - done : STAGING_BYTES;
}

enum mtip_status cuda_staging_upload(struct cuda_staging *staging, cudaStream_t stream, void *to,
                                     const void *from, size_t bytes)
{
    enum mtip_status status = MTIP_OK;
    int pinned = 0;
    MTIP_TRY(ask_pinned(&pinned, from, bytes));
    if (pinned) {
        CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
        goto cleanup;
    }
    for (size_t done = 0; done < bytes; done += STAGING_BYTES) {
        const size_t now = piece(bytes, done);
        int turn = 0;
        MTIP_TRY(take_turn(staging, &turn));
        memcpy(staging->buffer[turn], (const char *)from + done, now);
        CUDA_TRY(cudaMemcpyAsync((char *)to + done, staging->buffer[turn], now,
                                 cudaMemcpyHostToDevice, stream));
        CUDA_TRY(cudaEventRecord(staging->moved[turn], stream));
    }
cleanup:
    return status;
}

/* Piece k is on its way while piece k - 1 is copied out of its buffer. */
static enum mtip_status download_staged(struct cuda_staging *staging, cudaStream_t stream, char *to,
                                        const char *from, size_t bytes)
{
    enum mtip_status status = MTIP_OK;
    size_t arrived = 0;
    int before = -1;
    for (size_t done = 0; done < bytes; done += STAGING_BYTES) {
        int turn = 0;
        MTIP_TRY(take_turn(staging, &turn));
        CUDA_TRY(cudaMemcpyAsync(staging->buffer[turn], from + done, piece(bytes, done),
                                 cudaMemcpyDeviceToHost, stream));
        CUDA_TRY(cudaEventRecord(staging->moved[turn], stream));
        if (before >= 0) {
            CUDA_TRY(cudaEventSynchronize(staging->moved[before]));
            memcpy(to + arrived, staging->buffer[before], piece(bytes, arrived));
            arrived += STAGING_BYTES;
        }
        before = turn;
    }
    CUDA_TRY(cudaEventSynchronize(staging->moved[before]));
    memcpy(to + arrived, staging->buffer[before], piece(bytes, arrived));
cleanup:
    return status;
}

enum mtip_status cuda_staging_download(struct cuda_staging *staging, cudaStream_t stream, void *to,
                                       const void *from, size_t bytes)
{
    enum mtip_status status = MTIP_OK;
    int pinned = 0;
    MTIP_TRY(ask_pinned(&pinned, to, bytes));
    if (pinned) {
        CUDA_TRY(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
        CUDA_TRY(cudaStreamSynchronize(stream));
    } else {
        MTIP_TRY(download_staged(staging, stream, to, from, bytes));
    }
cleanup:
    return status;
}
