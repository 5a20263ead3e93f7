/* backend_cpu.c - the host as a backend: device memory is host memory, transfers are copies. */
#define _DEFAULT_SOURCE
#include "core/backend.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"

static enum mtip_status cpu_open(struct backend *backend, int node_rank)
{
    (void)node_rank;
    snprintf(backend->description, sizeof backend->description, "CPU, %d thread%s",
             backend->n_threads, backend->n_threads == 1 ? "" : "s");
    return MTIP_OK;
}

static void cpu_close(struct backend *backend)
{
    (void)backend;
}

static enum mtip_status cpu_alloc(const struct backend *backend, void **memory, size_t bytes,
                                  const char *what)
{
    (void)backend;
    return memory_alloc(memory, (int64_t)bytes, 1, what);
}

static void cpu_free(const struct backend *backend, void *memory)
{
    (void)backend;
    memory_free(&memory);
}

static enum mtip_status cpu_copy(const struct backend *backend, void *to, const void *from,
                                 size_t bytes)
{
    (void)backend;
    memcpy(to, from, bytes);
    return MTIP_OK;
}

static enum mtip_status cpu_zero(const struct backend *backend, void *memory, size_t bytes)
{
    (void)backend;
    memset(memory, 0, bytes);
    return MTIP_OK;
}

static enum mtip_status cpu_upload_ahead(const struct backend *backend, int lane, void *to,
                                         const void *from, size_t bytes)
{
    (void)lane;
    return cpu_copy(backend, to, from, bytes);
}

static enum mtip_status cpu_wait_ahead(const struct backend *backend, int lane)
{
    (void)backend;
    (void)lane;
    return MTIP_OK;
}

static enum mtip_status cpu_synchronize(const struct backend *backend)
{
    (void)backend;
    return MTIP_OK;
}

static enum mtip_status cpu_memory(const struct backend *backend, size_t *free_bytes,
                                   size_t *total_bytes)
{
    (void)backend;
    *free_bytes = memory_available();
    *total_bytes = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGE_SIZE);
    return MTIP_OK;
}

const struct backend_ops backend_ops_cpu = {
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .alloc_host = cpu_alloc,
    .free_host = cpu_free,
    .upload = cpu_copy,
    .download = cpu_copy,
    .copy = cpu_copy,
    .zero = cpu_zero,
    .upload_ahead = cpu_upload_ahead,
    .wait_ahead = cpu_wait_ahead,
    .synchronize = cpu_synchronize,
    .memory = cpu_memory,
};
