// grid.cpp - runs a kernel, block after block.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <unordered_map>

#include "engine.h"
#include "launch.h"

namespace hc
{

char token_launch, token_done, token_block[2];

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
    if (in_dynamic_shared(pointer)) {
        return "dynamic shared memory accessed out of bounds";
    }
    if (in_guard_page_of_a_stack(pointer)) {
        return "stack of a kernel thread overflowed (HC_STACK gives it more)";
    }
    return nullptr;
}

// ---- the grid ----------------------------------------------------------------------------------
// ThreadSanitizer (clang 14) tells about 250 threads apart: two blocks of small ones in one go, the threads of a block
// and the blocks in turn where they are larger. The turns are scattered, so that launches of a kernel which are
// themselves of two kinds in turn meet both.
static Races races_of(const Launch &launch, unsigned n_threads)
{
    if (options.races != Races::turns) {
        return options.races;
    }
    if (n_threads <= 64) {
        return Races::grid;
    }
    static auto &launches = leaky<std::unordered_map<const void *, uint64_t>>();
    const uint64_t turn = launches[launch.function]++;
    return turn * 0x9E3779B97F4A7C15ull >> 63 ? Races::between : Races::within;
}

static void prepare_block(const Launch &launch)
{
    const dim3 size = launch.shape.block;
    context.block_dim = size;
    context.grid_dim = launch.shape.grid;
    block.n_threads = size.x * size.y * size.z;
    block.body = &launch.body;
    block.races = races_of(launch, block.n_threads);
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
    if (!blocks_unordered()) {
        tsan_acquire(&token_block[block.parity]);
    }
    start_shared_memory(launch, nth);
    block.next = 0;
    block.live = block.n_threads;
    block.exited.assign(block.n_threads, false);
    block.at_barrier.clear();
    block.barrier_sum = 0;
    block.ready_begin = block.ready_end = 0;
    if (!blocks_unordered()) {
        tsan_release(&token_block[block.parity]);
    }
    run_threads_of_block();
    recycle_fibers();
    end_shared_memory(launch, nth);
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
    prepare_shared_memory();
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
