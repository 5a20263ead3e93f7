/* backend_cuda.h - what the CUDA twins of the stages ask of the backend beyond backend.h. */
#ifndef MTIP_CORE_BACKEND_CUDA_H
#define MTIP_CORE_BACKEND_CUDA_H

#include <cuda_runtime_api.h>
#include <stddef.h>

#include "core/backend.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the backend's device current in this thread: the first thing every stage does. */
enum mtip_status backend_cuda_enter(const struct backend *backend) MTIP_NODISCARD;

cudaStream_t backend_cuda_stream(const struct backend *backend);

/* Device memory for the partial results of one reduction, BACKEND_CUDA_SCRATCH bytes; it belongs to the
 * backend and is overwritten by the next reduction on its stream. */
#define BACKEND_CUDA_SCRATCH ((size_t)64 << 10)
void *backend_cuda_scratch(const struct backend *backend);

/* sums[j] (host, j < width <= 8) = sum over i < count of the scratch memory's doubles [count][width], added
 * in the order of i: the second half of a reduction, whose kernel left `count` partial results there. */
enum mtip_status backend_cuda_add_partials(const struct backend *backend, double *sums, int count,
                                           int width) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
