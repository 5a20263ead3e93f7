/* backend.c - choice of the backend and the checked front of its table. */
#include "core/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

#ifdef _OPENMP
#include <omp.h>
#endif

static const struct backend_ops *const all_ops[BACKEND_COUNT] = {
    [BACKEND_CPU] = &backend_ops_cpu,
#ifdef MTIP_HAVE_CUDA
    [BACKEND_CUDA] = &backend_ops_cuda,
#endif
};

const char *backend_kind_name(enum backend_kind kind)
{
    return kind == BACKEND_CUDA ? "cuda" : "cpu";
}

static int default_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

static enum mtip_status open_kind(struct backend *backend, enum backend_kind kind, int node_rank)
{
    if (all_ops[kind] == NULL) {
        return MTIP_ERROR(MTIP_ERR_DEVICE, "this program was built without CUDA (make CUDA=1)");
    }
    backend->ops = all_ops[kind];
    backend->kind = kind;
    backend->device = -1;
    return backend->ops->open(backend, node_rank);
}

/* A CUDA device where the program has CUDA and one can be used; else the CPU, with a note why. */
static enum mtip_status open_auto(struct backend *backend, int node_rank)
{
    if (all_ops[BACKEND_CUDA] != NULL) {
        if (open_kind(backend, BACKEND_CUDA, node_rank) == MTIP_OK) {
            return MTIP_OK;
        }
        snprintf(backend->note, sizeof backend->note, "%.*s", (int)sizeof backend->note - 1,
                 mtip_status_message());
    }
    return open_kind(backend, BACKEND_CPU, node_rank);
}

enum mtip_status backend_create(struct backend **backend, const char *wanted, int node_rank,
                                int n_threads)
{
    enum mtip_status status = MTIP_OK;
    *backend = NULL;
    struct backend *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "backend: cannot allocate %zu bytes", sizeof *made);
    }
    made->n_threads = n_threads > 0 ? n_threads : default_threads();
    if (strcmp(wanted, "cpu") == 0) {
        status = open_kind(made, BACKEND_CPU, node_rank);
    } else if (strcmp(wanted, "cuda") == 0) {
        status = open_kind(made, BACKEND_CUDA, node_rank);
    } else if (strcmp(wanted, "auto") == 0) {
        status = open_auto(made, node_rank);
    } else {
        status = MTIP_ERROR(MTIP_ERR_CONFIG, "run.backend is \"%s\"; it must be auto, cpu or cuda",
                            wanted);
    }
    if (status != MTIP_OK) {
        free(made);
        return status;
    }
    *backend = made;
    return MTIP_OK;
}

void backend_destroy(struct backend **backend)
{
    if (*backend != NULL) {
        (*backend)->ops->close(*backend);
        free(*backend);
        *backend = NULL;
    }
}

typedef enum mtip_status (*alloc_function)(const struct backend *backend, void **memory,
                                           size_t bytes, const char *what);
typedef void (*free_function)(const struct backend *backend, void *memory);

static enum mtip_status alloc_by(alloc_function alloc, const struct backend *backend, void **memory,
                                 int64_t count, size_t item_size, const char *what)
{
    size_t bytes = 0;
    *memory = NULL;
    const enum mtip_status status = memory_bytes(&bytes, count, item_size, what);
    if (status != MTIP_OK || bytes == 0) {
        return status;
    }
    return alloc(backend, memory, bytes, what);
}

/* `memory` is the address of a pointer of any type. */
static void free_by(free_function release, const struct backend *backend, void *memory)
{
    void *held = NULL;
    void *const none = NULL;
    memcpy(&held, memory, sizeof held);
    if (held != NULL) {
        release(backend, held);
    }
    memcpy(memory, &none, sizeof none);
}

enum mtip_status backend_alloc(const struct backend *backend, void **memory, int64_t count,
                               size_t item_size, const char *what)
{
    return alloc_by(backend->ops->alloc, backend, memory, count, item_size, what);
}

void backend_free(const struct backend *backend, void *memory)
{
    free_by(backend->ops->free, backend, memory);
}

enum mtip_status backend_alloc_host(const struct backend *backend, void **memory, int64_t count,
                                    size_t item_size, const char *what)
{
    return alloc_by(backend->ops->alloc_host, backend, memory, count, item_size, what);
}

void backend_free_host(const struct backend *backend, void *memory)
{
    free_by(backend->ops->free_host, backend, memory);
}

enum mtip_status backend_upload(const struct backend *backend, void *to, const void *from,
                                size_t bytes)
{
    return bytes == 0 ? MTIP_OK : backend->ops->upload(backend, to, from, bytes);
}

enum mtip_status backend_download(const struct backend *backend, void *to, const void *from,
                                  size_t bytes)
{
    return bytes == 0 ? MTIP_OK : backend->ops->download(backend, to, from, bytes);
}

enum mtip_status backend_copy(const struct backend *backend, void *to, const void *from,
                              size_t bytes)
{
    return bytes == 0 ? MTIP_OK : backend->ops->copy(backend, to, from, bytes);
}

enum mtip_status backend_zero(const struct backend *backend, void *memory, size_t bytes)
{
    return bytes == 0 ? MTIP_OK : backend->ops->zero(backend, memory, bytes);
}

enum mtip_status backend_upload_ahead(const struct backend *backend, int lane, void *to,
                                      const void *from, size_t bytes)
{
    return bytes == 0 ? MTIP_OK : backend->ops->upload_ahead(backend, lane, to, from, bytes);
}

enum mtip_status backend_wait_ahead(const struct backend *backend, int lane)
{
    return backend->ops->wait_ahead(backend, lane);
}

enum mtip_status backend_synchronize(const struct backend *backend)
{
    return backend->ops->synchronize(backend);
}

enum mtip_status backend_memory(const struct backend *backend, size_t *free_bytes,
                                size_t *total_bytes)
{
    return backend->ops->memory(backend, free_bytes, total_bytes);
}
