// memory.cpp - device memory (arenas that only kernels and copies can touch, red zones, freed memory
// recognised), pinned host memory, and questions about addresses. The CUDA interface to it is in
// memory_api.cpp.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include "arena.h"
#include "sanitizers.h"

namespace hc
{

static const size_t red_zone = 512;
static const size_t huge_page = 2u << 20;
static const size_t remembered_frees = 512;

struct Freed {
    int device;
    size_t offset, size;
    CallStack made, freed;
};
static auto &all_devices = leaky<std::vector<Device>>();
std::map<char *, Pinned> &pinned = leaky<std::map<char *, Pinned>>();
static auto &freed = leaky<std::deque<Freed>>();

std::vector<Device> &devices()
{
    return all_devices;
}

static size_t arena_size() // red zones come on top of what a program may allocate
{
    return round_up(options.memory + options.memory / 8 + (64u << 20), huge_page);
}

void reserve_device_memory()
{
    devices().resize((size_t)options.devices);
    for (Device &device : devices()) {
        device.peer.assign(devices().size(), false);
        const int access = options.protect ? PROT_NONE : PROT_READ | PROT_WRITE;
        char *p = (char *)mmap(nullptr, arena_size() + huge_page, access,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) {
            die("cannot reserve %zu bytes of address space for a device", options.memory);
        }
        device.base = (char *)round_up((size_t)p, huge_page);
        madvise(device.base, arena_size(), MADV_HUGEPAGE); // first touch costs more than the work
        device.holes[red_zone] = arena_size() - red_zone;
    }
}

int owner(const void *pointer)
{
    for (size_t d = 0; d < devices().size(); d++) {
        const char *base = devices()[d].base;
        if (base && (const char *)pointer >= base && (const char *)pointer < base + arena_size()) {
            return (int)d;
        }
    }
    return -1;
}

const std::pair<const size_t, Allocation> *find_allocation(int device, const void *pointer)
{
    Device &d = devices()[(size_t)device];
    const size_t offset = (size_t)((const char *)pointer - d.base);
    auto it = d.live.upper_bound(offset);
    if (it == d.live.begin()) {
        return nullptr;
    }
    --it;
    return offset < it->first + it->second.size ? &*it : nullptr;
}

std::string describe_device_address(int device, const void *pointer)
{
    char text[160];
    Device &d = devices()[(size_t)device];
    const size_t offset = (size_t)((const char *)pointer - d.base);
    if (const auto *found = find_allocation(device, pointer)) {
        snprintf(text, sizeof text, "offset %zu of %zu bytes allocated at ", offset - found->first,
                 found->second.size);
        return text + describe_call_stack(found->second.made);
    }
    for (const Freed &f : freed) { // latest first
        if (f.device == device && offset >= f.offset && offset < f.offset + f.size) {
            snprintf(text, sizeof text, "offset %zu of %zu bytes FREED at ", offset - f.offset,
                     f.size);
            return text + describe_call_stack(f.freed) + ", allocated at " +
                   describe_call_stack(f.made);
        }
    }
    auto it = d.live.upper_bound(offset);
    if (it != d.live.begin()) {
        --it;
        snprintf(text, sizeof text, "%zu bytes past the end of %zu bytes allocated at ",
                 offset - it->first - it->second.size, it->second.size);
        return text + describe_call_stack(it->second.made);
    }
    return "not in any allocation";
}

bool is_pinned(const void *pointer)
{
    auto it = pinned.upper_bound((char *)pointer);
    if (it == pinned.begin()) {
        return false;
    }
    --it;
    return (const char *)pointer < it->first + it->second.size;
}

bool check_range(const void *pointer, size_t bytes, const char *what, int *device)
{
    *device = owner(pointer);
    if (*device < 0 || bytes == 0) {
        return true;
    }
    const auto *found = find_allocation(*device, pointer);
    const size_t offset = (size_t)((const char *)pointer - devices()[(size_t)*device].base);
    if (!found || offset + bytes > found->first + found->second.size) {
        note("%s: %zu bytes at device address %p (%s) are not inside one live allocation of device "
             "%d; called at %s",
             what, bytes, pointer, describe_device_address(*device, pointer).c_str(), *device,
             describe_call_stack(take_call_stack()).c_str());
        return false;
    }
    if (found->second.free_pending) {
        note("%s: device memory at %p was given to cudaFreeAsync before; called at %s", what,
             pointer, describe_call_stack(take_call_stack()).c_str());
        return false;
    }
    return true;
}

static void set_protection(int device, bool accessible)
{
    Device &d = devices()[(size_t)device];
    if (options.protect && d.high_water) {
        mprotect(d.base, round_up(d.high_water, huge_page),
                 accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
    }
}

DeviceOpen::DeviceOpen(int device) : device_(device)
{
    if (device_ >= 0 && devices()[(size_t)device_].open++ == 0) {
        set_protection(device_, true);
    }
}

DeviceOpen::~DeviceOpen()
{
    if (device_ >= 0 && --devices()[(size_t)device_].open == 0) {
        set_protection(device_, false);
    }
}

// Red zones hold 0xff: a read past the end gives NaN or -1, a write shows. Compared by hand, since
// memcmp is checked by sanitizers.
static bool red_zone_intact(const char *begin, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (((const volatile unsigned char *)begin)[i] != 0xff) {
            return false;
        }
    }
    return true;
}

void check_red_zones(int device, const char *culprit)
{
    if (with_asan()) {
        return; // it has named the line already
    }
    Device &d = devices()[(size_t)device];
    for (const auto &a : d.live) {
        const char *end = d.base + a.first + a.second.size;
        if (!red_zone_intact(end, a.second.span - a.second.size)) {
            die("%s wrote past the end of %zu bytes of device memory allocated at %s", culprit,
                a.second.size, describe_call_stack(a.second.made).c_str());
        }
    }
}

cudaError_t allocate(void **result, size_t size)
{
    *result = nullptr;
    if (size == 0) {
        return cudaSuccess;
    }
    Device &d = devices()[(size_t)current_device];
    if (size > options.memory || d.used + round_up(size, granule) > options.memory) {
        return set_error(cudaErrorMemoryAllocation);
    }
    const size_t span = round_up(size, granule) + red_zone;
    auto hole = std::find_if(d.holes.begin(), d.holes.end(),
                             [=](const auto &h) { return h.second >= span; });
    if (hole == d.holes.end()) {
        return set_error(cudaErrorMemoryAllocation);
    }
    const size_t offset = hole->first;
    const size_t rest = hole->second - span;
    d.holes.erase(hole);
    if (rest) {
        d.holes[offset + span] = rest;
    }
    d.live[offset] = Allocation{size, span, false, take_call_stack()};
    d.used += round_up(size, granule);
    d.high_water = std::max(d.high_water, offset + span);
    char *p = d.base + offset;
    DeviceOpen open(current_device);
    set_protection(current_device, true); // the high water may have risen
    asan_unpoison(p, span);
    if (options.fill) {
        memset(p, 0xff, size);
    }
    memset(p + size, 0xff, span - size);
    asan_poison(p + size, span - size);
    *result = p;
    return cudaSuccess;
}

static void add_hole(Device &d, size_t offset, size_t size)
{
    auto next = d.holes.lower_bound(offset);
    if (next != d.holes.end() && offset + size == next->first) {
        size += next->second;
        next = d.holes.erase(next);
    }
    if (next != d.holes.begin()) {
        auto before = std::prev(next);
        if (before->first + before->second == offset) {
            before->second += size;
            return;
        }
    }
    d.holes[offset] = size;
}

void release(int device, size_t offset)
{
    Device &d = devices()[(size_t)device];
    const Allocation a = d.live[offset];
    char *p = d.base + offset;
    {
        DeviceOpen open(device);
        asan_unpoison(p, a.span);
        if (options.fill) {
            memset(p, 0xff, a.size);
        }
        asan_poison(p, a.span);
    }
    freed.push_front(Freed{device, offset, a.size, a.made, take_call_stack()});
    if (freed.size() > remembered_frees) {
        freed.pop_back();
    }
    d.live.erase(offset);
    d.used -= round_up(a.size, granule);
    add_hole(d, offset, a.span);
}

bool find_start(const void *pointer, const char *function, int *device, size_t *offset)
{
    *device = owner(pointer);
    if (*device >= 0) {
        Device &d = devices()[(size_t)*device];
        *offset = (size_t)((const char *)pointer - d.base);
        auto it = d.live.find(*offset);
        if (it != d.live.end() && !it->second.free_pending) {
            return true;
        }
        note("%s: %p is not the start of a live allocation (%s); called at %s", function, pointer,
             describe_device_address(*device, pointer).c_str(),
             describe_call_stack(take_call_stack()).c_str());
    } else {
        note("%s: %p is not device memory; called at %s", function, pointer,
             describe_call_stack(take_call_stack()).c_str());
    }
    if (options.strict) {
        die("%s of an address that is not allocated", function);
    }
    return false;
}

cudaError_t allocate_pinned(void **pointer, size_t size)
{
    *pointer = nullptr;
    void *p = aligned_alloc(4096, round_up(size ? size : 1, 4096));
    if (!p) {
        return set_error(cudaErrorMemoryAllocation);
    }
    if (options.fill) {
        memset(p, 0xff, size);
    }
    pinned[(char *)p] = Pinned{size, false, take_call_stack()};
    *pointer = p;
    return cudaSuccess;
}

void report_leaks()
{
    size_t count = 0, bytes = 0;
    for (size_t d = 0; d < devices().size(); d++) {
        for (const auto &a : devices()[d].live) {
            note("leak: %zu bytes of device %zu allocated at %s", a.second.size, d,
                 describe_call_stack(a.second.made).c_str());
            count++;
            bytes += a.second.size;
        }
    }
    for (const auto &p : pinned) {
        note("leak: %zu bytes of pinned memory allocated at %s", p.second.size,
             describe_call_stack(p.second.made).c_str());
        count++;
        bytes += p.second.size;
    }
    note("leaks: %zu allocations, %zu bytes; %zu operations were never waited for", count, bytes,
         pending_operations());
}

} // namespace hc
