/* backend_cuda_staging.h - transfers between a device and any host memory; private to the CUDA backend.
 *
 * Transfers from and to ordinary host memory go through two pinned buffers in turn, so that the copy
 * of one piece into (out of) them overlaps the transfer of the other; memory that is pinned already (from
 * backend_alloc_host) is transferred directly.
 */
#ifndef MTIP_CORE_BACKEND_CUDA_STAGING_H
#define MTIP_CORE_BACKEND_CUDA_STAGING_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_staging {
    void *buffer[2];      /* owned, pinned, of equal length */
    cudaEvent_t moved[2]; /* owned: the last transfer from or to the buffer has been done */
    int n_events;
    int turn; /* buffer that the next piece takes */
};

/* Buffers and events of the current device; *staging must be zero. Destroy it also after an error. Errors: MTIP_ERR_DEVICE,
 * MTIP_ERR_MEMORY. */
enum mtip_status cuda_staging_create(struct cuda_staging *staging) MTIP_NODISCARD;
void cuda_staging_destroy(struct cuda_staging *staging);

/* bytes from the host at `from` to the device at `to`, queued on the stream; ordinary host memory may be changed on return,
 * pinned memory when the stream has done the transfer. The staging's device must be current. */
enum mtip_status cuda_staging_upload(struct cuda_staging *staging, cudaStream_t stream, void *to,
                                     const void *from, size_t bytes) MTIP_NODISCARD;
/* bytes from the device at `from` to the host at `to`, which are there on return. */
enum mtip_status cuda_staging_download(struct cuda_staging *staging, cudaStream_t stream, void *to,
                                       const void *from, size_t bytes) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
