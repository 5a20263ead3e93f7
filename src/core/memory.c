/* memory.c - aligned host memory on huge pages, and the memory plan. */
#define _GNU_SOURCE
#include "core/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SMALL_ALIGNMENT ((size_t)64)
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_FROM ((size_t)4 << 20)

enum mtip_status memory_bytes(size_t *bytes, int64_t count, size_t item_size, const char *what)
{
    *bytes = 0;
    if (count < 0) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "%s: negative count %" PRId64, what, count);
    }
    if (item_size != 0 && (uint64_t)count > (SIZE_MAX - HUGE_PAGE) / item_size) {
        return MTIP_ERROR(MTIP_ERR_MEMORY,
                          "%s: %" PRId64 " items of %zu bytes exceed the address space", what,
                          count, item_size);
    }
    *bytes = (size_t)count * item_size;
    return MTIP_OK;
}

/* Memory for the items, and what it was rounded up to. */
static enum mtip_status allocate(void **pointer, size_t *padded, int64_t count, size_t item_size,
                                 const char *what)
{
    size_t bytes = 0;
    *pointer = NULL;
    *padded = 0;
    enum mtip_status status = memory_bytes(&bytes, count, item_size, what);
    if (status != MTIP_OK || bytes == 0) {
        return status;
    }
    const size_t alignment = bytes >= HUGE_FROM ? HUGE_PAGE : SMALL_ALIGNMENT;
    *padded = (bytes + SMALL_ALIGNMENT - 1) / SMALL_ALIGNMENT * SMALL_ALIGNMENT;
    if (posix_memalign(pointer, alignment, *padded) != 0) {
        *pointer = NULL;
        char text[32];
        return MTIP_ERROR(MTIP_ERR_MEMORY, "%s: cannot allocate %s", what,
                          memory_format_bytes(text, sizeof text, *padded));
    }
#ifdef MADV_HUGEPAGE
    if (alignment == HUGE_PAGE) {
        /* Advice only: where huge pages are off the memory is still right. The last pages stay small. */
        (void)madvise(*pointer, *padded, MADV_HUGEPAGE);
    }
#endif
    return MTIP_OK;
}

enum mtip_status memory_alloc(void **pointer, int64_t count, size_t item_size, const char *what)
{
    size_t padded = 0;
    const enum mtip_status status = allocate(pointer, &padded, count, item_size, what);
    if (*pointer != NULL) {
        memset(*pointer, 0, padded);
    }
    return status;
}

enum mtip_status memory_alloc_untouched(void **pointer, int64_t count, size_t item_size,
                                        const char *what)
{
    size_t padded = 0;
    return allocate(pointer, &padded, count, item_size, what);
}

void memory_free(void *pointer)
{
    void *memory = NULL;
    void *const none = NULL;
    /* memcpy, because `pointer` is the address of a pointer of any type. */
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
    memcpy(pointer, &none, sizeof none);
}

void memory_plan_add(struct memory_plan *plan, const char *name, size_t bytes, int on_device)
{
    if (plan->n_items == MEMORY_PLAN_MAX_ITEMS) {
        plan->items[MEMORY_PLAN_MAX_ITEMS - 1].bytes += bytes;
        return;
    }
    plan->items[plan->n_items++] =
        (struct memory_plan_item){.name = name, .bytes = bytes, .on_device = on_device};
}

size_t memory_plan_total(const struct memory_plan *plan, int on_device)
{
    size_t total = 0;
    for (int i = 0; i < plan->n_items; i++) {
        if (plan->items[i].on_device == on_device) {
            total += plan->items[i].bytes;
        }
    }
    return total;
}

/* First unsigned number in `path`, or 0 when the file is absent or holds a word such as "max". */
static size_t read_number(const char *path)
{
    unsigned long long value = 0;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    if (fscanf(file, "%llu", &value) != 1) {
        value = 0;
    }
    fclose(file);
    return (size_t)value;
}

size_t memory_available(void)
{
    size_t available = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    if (file != NULL) {
        char line[128];
        unsigned long long kib = 0;
        while (fgets(line, sizeof line, file) != NULL) {
            if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1) {
                available = (size_t)kib * 1024;
                break;
            }
        }
        fclose(file);
    }
    const size_t limit = read_number("/sys/fs/cgroup/memory.max");
    const size_t used = read_number("/sys/fs/cgroup/memory.current");
    if (limit > used && (available == 0 || limit - used < available)) {
        available = limit - used;
    }
    return available;
}

char *memory_format_bytes(char *text, size_t text_size, size_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    int unit = 0;
    while (value >= 1024.0 && unit < 5) {
        value /= 1024.0;
        unit++;
    }
    snprintf(text, text_size, unit == 0 || value >= 100.0 ? "%.0f %s" : "%.1f %s", value,
             units[unit]);
    return text;
}
