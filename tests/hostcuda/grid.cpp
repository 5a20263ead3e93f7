// grid.cpp - runs a kernel: block after block, shared memory fresh for each.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

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

char token_launch, token_done, token_block[2];

// Dynamic shared memory lies between two pages that cannot be touched.
static const size_t dynamic_capacity = 256 << 10;
static const size_t guard = 4096;
static char *dynamic_region = nullptr;

struct Running {
    const Launch *launch = nullptr;
};
static Running running;

bool kernel_running()
{
    return running.launch != nullptr;
}

const char *kernel_name()
{
    return running.launch ? running.launch->name : "(none)";
}

std::string describe_block()
{
    char text[256];
    const uint3 b = context.block;
    snprintf(text, sizeof text, "kernel %s block (%u,%u,%u)", kernel_name(), b.x, b.y, b.z);
    return text;
}

std::string describe_running_thread()
{
    if (!running.launch) {
        return "";
    }
    char text[512];
    const uint3 t = context.thread;
    snprintf(text, sizeof text, " thread (%u,%u,%u) on device %d, launched at ", t.x, t.y, t.z,
             running.launch->device);
    return describe_block() + text + text_of_site(running.launch->site);
}

const char *describe_kernel_address(const void *pointer)
{
    const char *p = (const char *)pointer;
    if (dynamic_region && p >= dynamic_region &&
        p < dynamic_region + dynamic_capacity + 2 * guard) {
        return "dynamic shared memory accessed out of bounds";
    }
    if (in_guard_page_of_a_stack(pointer)) {
        return "stack of a kernel thread overflowed (HC_STACK gives it more)";
    }
    return nullptr;
}

// ---- shared memory -----------------------------------------------------------------------------
struct Section {
    char *begin;
    size_t bytes;
};
static auto &static_shared = leaky<std::vector<Section>>();

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

// Static shared memory of all kernels is filled, which of it this one uses is not known: in the
// first two blocks of a launch only.
static void make_shared_memory_undefined(const Launch &launch, uint64_t nth_block)
{
    if (!options.fill || with_tsan()) {
        return;
    }
    fill_ff((char *)context.dynamic_shared, launch.shape.shared_bytes);
    if (nth_block < 2) {
        for (const Section &section : static_shared) {
            fill_ff(section.begin, section.bytes);
        }
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
// other memory on a device: mapping the pages anew makes ThreadSanitizer forget who used them.
static void renew_pages(char *begin, size_t bytes)
{
    char *first = (char *)((size_t)begin / 4096 * 4096);
    const size_t size = ((size_t)(begin + bytes - first) + 4095) / 4096 * 4096;
    static auto &saved = leaky<std::vector<char>>(); // neighbours lie on the same pages
    saved.assign(first, first + size);
    if (bytes && mmap(first, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                      -1, 0) == MAP_FAILED) {
        die("cannot map shared memory anew");
    }
    std::copy(saved.begin(), saved.end(), first);
}

static void separate_blocks(const Launch &launch)
{
    if (!with_tsan() || !options.race_grid) {
        return;
    }
    TsanIgnore ignore;
    for (const Section &section : static_shared) {
        renew_pages(section.begin, section.bytes);
    }
    renew_pages((char *)context.dynamic_shared, launch.shape.shared_bytes);
    tsan_release(&token_launch);
}

// ---- the grid ----------------------------------------------------------------------------------
static void prepare_block(const Launch &launch)
{
    const dim3 size = launch.shape.block;
    context.block_dim = size;
    context.grid_dim = launch.shape.grid;
    block.n_threads = size.x * size.y * size.z;
    block.body = &launch.body;
    block.order.resize(block.n_threads);
    for (unsigned i = 0; i < block.n_threads; i++) {
        block.order[i] = options.order == Order::reversed ? block.n_threads - 1 - i : i;
    }
    block.at_barrier.reserve(1024);
    prepare_meetings(block.n_threads);
    prepare_fibers(block.n_threads);
}

template <class T> static void shuffle(std::vector<T> &items)
{
    for (size_t i = items.size(); i > 1; i--) {
        std::swap(items[i - 1], items[random_below((uint32_t)i)]);
    }
}

static void run_block(const Launch &launch, uint64_t index, uint64_t nth)
{
    const dim3 grid = launch.shape.grid;
    context.block.x = (unsigned)(index % grid.x);
    context.block.y = (unsigned)(index / grid.x % grid.y);
    context.block.z = (unsigned)(index / grid.x / grid.y);
    if (options.order == Order::random) {
        shuffle(block.order);
    }
    block.number = (unsigned)nth;
    block.parity = (unsigned)(nth & 1);
    if (!options.race_grid) {
        tsan_acquire(&token_block[block.parity]);
    }
    place_dynamic_shared(launch.shape.shared_bytes, nth);
    make_shared_memory_undefined(launch, nth);
    separate_blocks(launch);
    block.next = 0;
    block.live = block.n_threads;
    block.exited.assign(block.n_threads, false);
    block.at_barrier.clear();
    block.barrier_sum = 0;
    block.ready_begin = block.ready_end = 0;
    if (!options.race_grid) {
        tsan_release(&token_block[block.parity]);
    }
    run_threads_of_block();
    recycle_fibers();
}

static std::vector<uint32_t> block_order(uint64_t n_blocks)
{
    std::vector<uint32_t> order;
    if (options.order == Order::random) {
        order.resize(n_blocks);
        for (uint32_t i = 0; i < n_blocks; i++) {
            order[i] = i;
        }
        shuffle(order);
    }
    return order;
}

void run_grid(const Launch &launch)
{
    if (kernel_running()) {
        die("kernel %s started while %s runs", launch.name, kernel_name());
    }
    install_fault_handler();
    find_static_shared();
    const int saved_device = current_device;
    current_device = launch.device;
    DeviceOpen open(launch.device);
    std::vector<std::unique_ptr<DeviceOpen>> peers;
    for (size_t p = 0; p < devices().size(); p++) {
        if (devices()[(size_t)launch.device].peer[p]) {
            peers.emplace_back(new DeviceOpen((int)p));
        }
    }
    prepare_block(launch);
    map_dynamic_shared();
    running.launch = &launch;
    tsan_release(&token_launch);
    const dim3 grid = launch.shape.grid;
    const uint64_t n_blocks = (uint64_t)grid.x * grid.y * grid.z;
    const std::vector<uint32_t> order = block_order(n_blocks);
    for (uint64_t i = 0; i < n_blocks; i++) {
        const uint64_t reversed = n_blocks - 1 - i;
        run_block(launch,
                  !order.empty()                     ? order[i]
                  : options.order == Order::reversed ? reversed
                                                     : i,
                  i);
    }
    tsan_acquire(&token_done);
    running.launch = nullptr;
    current_device = saved_device;
    check_red_zones(launch.device, (std::string("kernel ") + launch.name + " launched at " +
                                    text_of_site(launch.site))
                                       .c_str());
}

} // namespace hc
