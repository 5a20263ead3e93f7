// shared.cpp - shared memory: where the static arrays of the kernels lie, NaN before a block starts,
// dynamic memory between two pages that cannot be touched, fresh memory for ThreadSanitizer.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine.h"
#include "launch.h"

namespace hc
{

// Dynamic shared memory lies between two pages that cannot be touched.
static const size_t dynamic_capacity = 256 << 10;
static const size_t guard = 4096;
static char *dynamic_region = nullptr;

struct Section {
    char *begin;
    size_t bytes;
};
static auto &static_shared = leaky<std::vector<Section>>(); // by address
static auto &static_chunks = leaky<std::vector<Section>>(); // the same in pieces of 4 KiB

// Finds the sections ".hcshared.N" (hostcuda.h) of the program in its file and in memory.
static void find_static_shared()
{
    static bool done = false;
    if (done) {
        return;
    }
    done = true;
    const int file = open("/proc/self/exe", O_RDONLY);
    struct stat info;
    if (file < 0 || fstat(file, &info) != 0) {
        return;
    }
    const char *image =
        (const char *)mmap(nullptr, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (image == MAP_FAILED) {
        return;
    }
    size_t base = 0; // the first object of the list is the program
    dl_iterate_phdr(
        [](dl_phdr_info *object, size_t, void *out) {
            *(size_t *)out = object->dlpi_addr;
            return 1;
        },
        &base);
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(image + header->e_shoff);
    const char *names = image + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++) {
        if (strncmp(names + sections[i].sh_name, ".hcshared.", 10) == 0) {
            static_shared.push_back({(char *)base + sections[i].sh_addr, sections[i].sh_size});
        }
    }
    munmap((void *)image, (size_t)info.st_size);
    std::sort(static_shared.begin(), static_shared.end(),
              [](const Section &a, const Section &b) { return a.begin < b.begin; });
    for (const Section &section : static_shared) {
        for (size_t at = 0; at < section.bytes; at += 4096) {
            static_chunks.push_back(
                {section.begin + at, std::min((size_t)4096, section.bytes - at)});
        }
    }
}

// By hand: memset would be checked by sanitizers, and red zones lie in between.
__attribute__((optimize("no-tree-loop-distribute-patterns"))) static void fill_ff(char *p, size_t n)
{
    volatile uint64_t *words = (volatile uint64_t *)p;
    for (size_t i = 0; i < n / 8; i++) {
        words[i] = ~0ull;
    }
    for (size_t i = n / 8 * 8; i < n; i++) {
        ((volatile unsigned char *)p)[i] = 0xff;
    }
}

// Static shared memory of all kernels together can be megabytes; which of it a kernel uses shows in the
// first block of its first launch (and of every 64th: it may take another path), where all of it is
// filled and looked at again afterwards. Otherwise only that part is filled, for two blocks a launch.
struct SharedUse {
    unsigned launches = 0;
    std::vector<unsigned> chunks; // sorted
};
static auto &shared_uses = leaky<std::map<const void *, SharedUse>>();

static bool is_full_of_ff(const Section &chunk)
{
    const volatile uint32_t *words = (const volatile uint32_t *)chunk.begin;
    for (size_t i = 0; i < chunk.bytes / 4; i++) {
        if (words[i] != ~0u) {
            return false;
        }
    }
    return true;
}

static void fill_static_shared(const Launch &launch)
{
    const SharedUse &use = shared_uses[launch.function];
    if (use.launches % 64 == 0) {
        for (const Section &chunk : static_chunks) {
            fill_ff(chunk.begin, chunk.bytes);
        }
        return;
    }
    for (const unsigned c : use.chunks) {
        fill_ff(static_chunks[c].begin, static_chunks[c].bytes);
    }
}

static void learn_shared_use(const Launch &launch)
{
    SharedUse &use = shared_uses[launch.function];
    if (use.launches++ % 64 != 0 || !options.fill || with_tsan()) {
        return;
    }
    std::vector<unsigned> written;
    for (unsigned c = 0; c < static_chunks.size(); c++) {
        if (!is_full_of_ff(static_chunks[c])) {
            written.push_back(c);
        }
    }
    std::vector<unsigned> both;
    std::set_union(use.chunks.begin(), use.chunks.end(), written.begin(), written.end(),
                   std::back_inserter(both));
    use.chunks.swap(both);
}

static void make_shared_memory_undefined(const Launch &launch, uint64_t nth_block)
{
    if (!options.fill || with_tsan()) {
        return;
    }
    fill_ff((char *)context.dynamic_shared, launch.shape.shared_bytes);
    if (nth_block < 2) {
        fill_static_shared(launch);
    }
}

static void map_dynamic_shared()
{
    if (dynamic_region) {
        return;
    }
    dynamic_region = (char *)mmap(nullptr, dynamic_capacity + 2 * guard, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (dynamic_region == MAP_FAILED) {
        die("cannot map shared memory");
    }
    mprotect(dynamic_region, guard, PROT_NONE);
    mprotect(dynamic_region + guard + dynamic_capacity, guard, PROT_NONE);
    asan_poison(dynamic_region + guard, dynamic_capacity);
}

// Even blocks end at the guard page above, odd ones begin at the one below.
static void place_dynamic_shared(size_t bytes, uint64_t nth_block)
{
    static size_t placed = 0;
    if (context.dynamic_shared) {
        asan_poison(context.dynamic_shared, placed);
    }
    char *begin = dynamic_region + guard;
    if (nth_block % 2 == 0) {
        begin += dynamic_capacity - (bytes + 15) / 16 * 16;
    }
    context.dynamic_shared = begin;
    placed = bytes;
    asan_unpoison(begin, bytes);
}

// Blocks that are not ordered among themselves use the same addresses for shared memory, which are
// other memory on a device: mapping the pages anew makes ThreadSanitizer forget who used them. Costly
// page by page here, so neighbouring sections go together and only pages with neighbours are copied.
static void renew_pages(char *first, char *last)
{
    if (mmap(first, (size_t)(last - first), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
        die("cannot map shared memory anew");
    }
}

static char *page_of(char *p)
{
    return (char *)((size_t)p / 4096 * 4096);
}

// The first and the last page hold other data too. Of the pages in between those that no block has
// touched since they were mapped are not resident, and stay.
static void renew_edge(char *page, char *begin, char *end)
{
    static char other[4096];
    std::copy(page, page + 4096, other);
    renew_pages(page, page + 4096);
    std::copy(other, other + (begin - page), page);
    std::copy(other + (end - page), other + 4096, end);
}

static void renew_static_shared(char *begin, char *end)
{
    char *first = page_of(begin), *last = page_of(end - 1);
    renew_edge(first, begin, std::min(end, first + 4096));
    if (last > first) {
        renew_edge(last, last, end);
    }
    static auto &resident = leaky<std::vector<unsigned char>>();
    const size_t n = last > first ? (size_t)(last - first) / 4096 - 1 : 0;
    resident.resize(n);
    if (n == 0 || mincore(first + 4096, n * 4096, resident.data()) != 0) {
        return;
    }
    for (size_t i = 0; i < n;) {
        size_t to = i;
        while (to < n && (resident[to] & 1)) {
            to++;
        }
        if (to > i) {
            renew_pages(first + 4096 * (1 + i), first + 4096 * (1 + to));
        }
        i = to + 1;
    }
}

static void separate_blocks(const Launch &launch)
{
    if (!with_tsan() || !blocks_unordered() ||
        launch.shape.grid.x * launch.shape.grid.y * launch.shape.grid.z == 1) {
        return;
    }
    TsanIgnore ignore;
    for (size_t i = 0; i < static_shared.size();) { // sorted by address
        char *begin = static_shared[i].begin, *end = begin + static_shared[i].bytes;
        for (i++; i < static_shared.size() && page_of(static_shared[i].begin) <= page_of(end);
             i++) {
            end = static_shared[i].begin + static_shared[i].bytes;
        }
        renew_static_shared(begin, end);
    }
    if (launch.shape.shared_bytes) {
        char *begin = (char *)context.dynamic_shared;
        renew_pages(page_of(begin), page_of(begin + launch.shape.shared_bytes + 4095));
    }
    tsan_release(&token_launch);
}

bool in_dynamic_shared(const void *pointer)
{
    const char *p = (const char *)pointer;
    return dynamic_region && p >= dynamic_region &&
           p < dynamic_region + dynamic_capacity + 2 * guard;
}

void prepare_shared_memory()
{
    find_static_shared();
    map_dynamic_shared();
}

void start_shared_memory(const Launch &launch, uint64_t nth_block)
{
    place_dynamic_shared(launch.shape.shared_bytes, nth_block);
    make_shared_memory_undefined(launch, nth_block);
    separate_blocks(launch);
}

void end_shared_memory(const Launch &launch, uint64_t nth_block)
{
    if (nth_block == 0) {
        learn_shared_use(launch);
    }
}

} // namespace hc
