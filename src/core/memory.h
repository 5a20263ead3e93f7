/* memory.h - host memory: aligned, zeroed or untouched, on huge pages where they help; and the memory plan that
 * is printed before anything large is taken. No MPI, no CUDA: the NUFFT library uses this too.
 */
#ifndef MTIP_CORE_MEMORY_H
#define MTIP_CORE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of `count` items of `item_size` bytes. Error MTIP_ERR_MEMORY when count is negative or the
 * product does not fit a size_t (`what` names the array in the message). */
enum mtip_status memory_bytes(size_t *bytes, int64_t count, size_t item_size,
                              const char *what) MTIP_NODISCARD;

/* Allocates `count` zeroed items, 64-byte aligned (2 MiB aligned and advised for huge pages from
 * 4 MiB on: first touch of page-sized memory costs more than the copy itself). *pointer is NULL on
 * failure and for count == 0. Free with memory_free. `what` names the array in messages. */
enum mtip_status memory_alloc(void **pointer, int64_t count, size_t item_size,
                              const char *what) MTIP_NODISCARD;

/* The same, but nothing is written: what the items hold is undefined, and no page is taken before somebody writes to it.
 * For arrays that several threads fill, each its own part: Linux places a page near the processor that touches it first.
 */
enum mtip_status memory_alloc_untouched(void **pointer, int64_t count, size_t item_size,
                                        const char *what) MTIP_NODISCARD;

/* Typed form: MEMORY_ALLOC(&array, count, "frames") takes the item size from the pointer. */
#define MEMORY_ALLOC(pointer, count, what)                                                         \
    memory_alloc((void **)(pointer), (count), sizeof **(pointer), (what))
#define MEMORY_ALLOC_UNTOUCHED(pointer, count, what)                                               \
    memory_alloc_untouched((void **)(pointer), (count), sizeof **(pointer), (what))

/* Frees *pointer (NULL allowed) and sets it to NULL. `pointer` is the address of any pointer. */
void memory_free(void *pointer);

/* A plan of the memory a run will take on one rank: named items, in bytes, host or device. */
#define MEMORY_PLAN_MAX_ITEMS 32
struct memory_plan_item {
    const char *name; /* borrowed, static storage */
    size_t bytes;
    int on_device;
};
struct memory_plan {
    int n_items;
    struct memory_plan_item items[MEMORY_PLAN_MAX_ITEMS];
};

/* Adds an item; items past MEMORY_PLAN_MAX_ITEMS are added to the last one. */
void memory_plan_add(struct memory_plan *plan, const char *name, size_t bytes, int on_device);

/* Sum of the items on the host (on_device = 0) or on the device (1). */
size_t memory_plan_total(const struct memory_plan *plan, int on_device);

/* Bytes of physical memory now available on this host (MemAvailable, bounded by the cgroup's limit
 * where there is one), 0 when unknown. */
size_t memory_available(void);

/* Writes "1.5 GiB", "12 MiB", ... to text and returns text. */
char *memory_format_bytes(char *text, size_t text_size, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
