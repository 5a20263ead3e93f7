// arena.h - what memory.cpp (arenas) and memory_api.cpp (the CUDA interface) share.
#ifndef HOSTCUDA_ARENA_H
#define HOSTCUDA_ARENA_H

#include <map>

#include "layer.h"

namespace hc
{

const size_t granule = 512; // alignment of allocations, as on a device 256 at least

struct Pinned {
    size_t size;
    bool registered;
    CallStack made;
};
extern std::map<char *, Pinned> &pinned; // by address

inline size_t round_up(size_t x, size_t unit)
{
    return (x + unit - 1) / unit * unit;
}

// On the current device; *result is null for 0 bytes and on failure.
cudaError_t allocate(void **result, size_t size);
void release(int device, size_t offset);
cudaError_t allocate_pinned(void **pointer, size_t size);
// The offset of the allocation that starts at the pointer; notes what is wrong if there is none.
bool find_start(const void *pointer, const char *function, int *device, size_t *offset);

} // namespace hc

#endif
