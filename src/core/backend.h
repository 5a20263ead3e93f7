/* backend.h - where the heavy stages run: this host's cores, or one CUDA device.
 *
 * A backend owns a stream of work and the memory that work reads ("device memory": on the CPU plain
 * host memory). Stages allocate through it and hand its kind to their own small tables of kernels,
 * so that each algorithm is written once. All transfers are ordered on the stream; on the CPU they
 * are done when the call returns.
 */
#ifndef MTIP_CORE_BACKEND_H
#define MTIP_CORE_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum backend_kind { BACKEND_CPU = 0, BACKEND_CUDA = 1, BACKEND_COUNT = 2 };

struct backend;

/* One table a backend; private to core. */
struct backend_ops {
    enum mtip_status (*open)(struct backend *backend, int node_rank);
    void (*close)(struct backend *backend);
    enum mtip_status (*alloc)(const struct backend *backend, void **memory, size_t bytes,
                              const char *what);
    void (*free)(const struct backend *backend, void *memory);
    enum mtip_status (*alloc_host)(const struct backend *backend, void **memory, size_t bytes,
                                   const char *what);
    void (*free_host)(const struct backend *backend, void *memory);
    enum mtip_status (*upload)(const struct backend *backend, void *to, const void *from,
                               size_t bytes);
    enum mtip_status (*download)(const struct backend *backend, void *to, const void *from,
                                 size_t bytes);
    enum mtip_status (*copy)(const struct backend *backend, void *to, const void *from,
                             size_t bytes);
    enum mtip_status (*zero)(const struct backend *backend, void *memory, size_t bytes);
    enum mtip_status (*upload_ahead)(const struct backend *backend, int lane, void *to,
                                     const void *from, size_t bytes);
    enum mtip_status (*wait_ahead)(const struct backend *backend, int lane);
    enum mtip_status (*synchronize)(const struct backend *backend);
    enum mtip_status (*memory)(const struct backend *backend, size_t *free_bytes,
                               size_t *total_bytes);
};

struct backend {
    const struct backend_ops *ops;
    enum backend_kind kind;
    int n_threads; /* OpenMP threads of this rank's host work, >= 1 */
    int device;    /* CUDA device of this rank, -1 on the CPU */
    void *stream;  /* cudaStream_t, NULL on the CPU */
    void *detail;  /* owned by the table */
    char description[128];
    char note
        [512]; /* why "auto" found no CUDA device to use; else "", also in programs built without CUDA */
};

/* Opens a backend for this rank.
 *   wanted      "cpu", "cuda" or "auto" (CUDA where a device can be used, else the CPU)
 *   node_rank   rank among those of this host: device = node_rank modulo visible devices
 *   n_threads   0 = every core this process may use
 * "cuda" without a usable device is MTIP_ERR_DEVICE, with the reason; where "auto" falls back to the CPU the reason
 * is in backend->note. Release with backend_destroy. */
enum mtip_status backend_create(struct backend **backend, const char *wanted, int node_rank,
                                int n_threads) MTIP_NODISCARD;
void backend_destroy(struct backend **backend);

/* Name of a kind: "cpu", "cuda". */
const char *backend_kind_name(enum backend_kind kind);

/* Device memory of `count` items, NOT zeroed on CUDA; NULL for count 0. `what` names it in messages. */
enum mtip_status backend_alloc(const struct backend *backend, void **memory, int64_t count,
                               size_t item_size, const char *what) MTIP_NODISCARD;
#define BACKEND_ALLOC(backend, memory, count, what)                                                \
    backend_alloc((backend), (void **)(memory), (count), sizeof **(memory), (what))
/* Frees *memory (NULL allowed) and sets it to NULL; `memory` is the address of any pointer. */
void backend_free(const struct backend *backend, void *memory);

/* Zeroed host memory from which transfers are fastest (pinned, on CUDA); NULL for count 0. */
enum mtip_status backend_alloc_host(const struct backend *backend, void **memory, int64_t count,
                                    size_t item_size, const char *what) MTIP_NODISCARD;
#define BACKEND_ALLOC_HOST(backend, memory, count, what)                                           \
    backend_alloc_host((backend), (void **)(memory), (count), sizeof **(memory), (what))
void backend_free_host(const struct backend *backend, void *memory);

/* Host to device, device to host (returns when the data has arrived), device to device, zeros. The source of an
 * upload may change as soon as the call returns, but memory of backend_alloc_host only after
 * backend_synchronize. */
enum mtip_status backend_upload(const struct backend *backend, void *to, const void *from,
                                size_t bytes) MTIP_NODISCARD;
enum mtip_status backend_download(const struct backend *backend, void *to, const void *from,
                                  size_t bytes) MTIP_NODISCARD;
enum mtip_status backend_copy(const struct backend *backend, void *to, const void *from,
                              size_t bytes) MTIP_NODISCARD;
enum mtip_status backend_zero(const struct backend *backend, void *memory,
                              size_t bytes) MTIP_NODISCARD;

/* Uploads beside the stream, so that data for later come while the work queued after this call runs: `from` is
 * memory of backend_alloc_host and must not change before it has been waited for; what was queued before this call may
 * still read `to` and is waited for, on the device. wait_ahead lets the stream's further work begin after the
 * lane's copy (the host does not wait). A lane is one copy at a time, 0 <= lane < BACKEND_LANES. */
#define BACKEND_LANES 2
enum mtip_status backend_upload_ahead(const struct backend *backend, int lane, void *to,
                                      const void *from, size_t bytes) MTIP_NODISCARD;
enum mtip_status backend_wait_ahead(const struct backend *backend, int lane) MTIP_NODISCARD;

/* Waits for all work of the backend's stream. */
enum mtip_status backend_synchronize(const struct backend *backend) MTIP_NODISCARD;

/* Memory of the device (of the host on the CPU) that is free now, and in all. */
enum mtip_status backend_memory(const struct backend *backend, size_t *free_bytes,
                                size_t *total_bytes) MTIP_NODISCARD;

extern const struct backend_ops backend_ops_cpu;
#ifdef MTIP_HAVE_CUDA
extern const struct backend_ops backend_ops_cuda;
#endif

#ifdef __cplusplus
}
#endif

#endif
