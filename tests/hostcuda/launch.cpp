// launch.cpp - what a launch must satisfy before it is queued; function attributes, occupancy, and
// the entry through which cuFFT and cuBLAS queue their work.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "engine.h"
#include "launch.h"

namespace hc
{

struct Registered {
    const char *name;
    Site site;
    BodyFromArguments make;
};
struct Statistic {
    long launches = 0;
    double threads = 0, seconds = 0;
};

static std::unordered_map<const void *, Registered> &registered() // used before main()
{
    static auto &map = leaky<std::unordered_map<const void *, Registered>>();
    return map;
}
static auto &dynamic_limit = leaky<std::unordered_map<const void *, size_t>>();
static auto &statistics = leaky<std::map<std::string, Statistic>>();

std::string text_of_site(const Site &site)
{
    const char *slash = strrchr(site.file, '/');
    return std::string(slash ? slash + 1 : site.file) + ":" + std::to_string(site.line);
}

void register_kernel(const void *function, const char *name, Site site, BodyFromArguments make)
{
    registered()[function] = {name, site, make};
}

// ---- checks ------------------------------------------------------------------------------------
// Pointers inside structures are not seen here; a wrong device among them faults in the kernel.
void check_pointer_argument(const char *kernel, Site site, int index, const void *pointer)
{
    Lock lock(layer_lock());
    initialise();
    if (!pointer || options.no_driver || devices().empty()) {
        return;
    }
    const std::string where = text_of_site(site);
    const int device = owner(pointer);
    if (device < 0) {
        if (!is_pinned(pointer)) {
            die("kernel %s launched at %s: argument %d (%p) points to host memory", kernel,
                where.c_str(), index, pointer);
        }
        return;
    }
    const std::vector<bool> &peer = devices()[(size_t)current_device].peer;
    if (device != current_device && !peer[(size_t)device]) {
        die("kernel %s launched at %s: argument %d points to device %d, the launch is on device %d",
            kernel, where.c_str(), index, device, current_device);
    }
    const auto *found = find_allocation(device, pointer);
    // One past the end is a legal pointer; one into the red zone is not looked at more closely.
    const auto *before = found ? found : find_allocation(device, (const char *)pointer - 1);
    if (!before || before->second.free_pending) {
        die("kernel %s launched at %s: argument %d (%p) is not in live device memory: %s%s", kernel,
            where.c_str(), index, pointer, before ? "given to cudaFreeAsync before, " : "",
            describe_device_address(device, pointer).c_str());
    }
}

static cudaError_t refuse(const char *name, Site site, cudaError_t error, const std::string &why)
{
    note("kernel %s launched at %s refused: %s", name, text_of_site(site).c_str(), why.c_str());
    return set_error(error);
}

static cudaError_t check_shape(const void *function, const char *name, Site site,
                               const LaunchShape &shape)
{
    const dim3 b = shape.block, g = shape.grid;
    char text[200];
    if (!b.x || !b.y || !b.z || b.x > 1024 || b.y > 1024 || b.z > 64 ||
        (uint64_t)b.x * b.y * b.z > 1024) {
        snprintf(text, sizeof text, "block (%u,%u,%u); at most 1024 threads, z at most 64", b.x,
                 b.y, b.z);
        return refuse(name, site, cudaErrorInvalidConfiguration, text);
    }
    if (!g.x || !g.y || !g.z || g.x > 2147483647u || g.y > 65535 || g.z > 65535) {
        snprintf(text, sizeof text, "grid (%u,%u,%u); limits are (2^31-1, 65535, 65535), none 0",
                 g.x, g.y, g.z);
        return refuse(name, site, cudaErrorInvalidConfiguration, text);
    }
    const auto found = dynamic_limit.find(function);
    const size_t limit = found == dynamic_limit.end() ? options.shared_default : found->second;
    if (shape.shared_bytes > limit) {
        snprintf(text, sizeof text,
                 "%zu bytes of dynamic shared memory, the limit is %zu (beyond %zu after "
                 "cudaFuncSetAttribute, up to %zu)",
                 shape.shared_bytes, limit, options.shared_default, options.shared_optin);
        return refuse(name, site, cudaErrorInvalidValue, text);
    }
    return cudaSuccess;
}

static cudaError_t queue_launch(const void *function, const char *name, Site site,
                                const LaunchShape &shape, Body body)
{
    Stream *stream = find_stream(shape.stream);
    if (!stream) {
        return set_error(cudaErrorInvalidResourceHandle);
    }
    if (stream->device != current_device) {
        return refuse(name, site, cudaErrorInvalidResourceHandle,
                      "the stream belongs to device " + std::to_string(stream->device) +
                          ", the current device is " + std::to_string(current_device));
    }
    const cudaError_t error = check_shape(function, name, site, shape);
    if (error != cudaSuccess) {
        return error;
    }
    std::shared_ptr<Launch> launch(
        new Launch{function, name, site, shape, std::move(body), stream->device});
    Operation operation;
    operation.any_host = false;
    operation.run = [launch] {
        const double start = wall_seconds();
        run_grid(*launch);
        const dim3 b = launch->shape.block, g = launch->shape.grid;
        Statistic &s = statistics[launch->name];
        s.launches++;
        s.threads += (double)g.x * g.y * g.z * b.x * b.y * b.z;
        s.seconds += wall_seconds() - start;
    };
    enqueue(stream, std::move(operation));
    return cudaSuccess;
}

cudaError_t launch_body(const void *function, const char *name, Site site, const LaunchShape &shape,
                        Body body)
{
    Lock lock(layer_lock());
    const cudaError_t entered = enter(Kind::launch, name);
    if (entered != cudaSuccess) {
        return entered;
    }
    return queue_launch(function, name, site, shape, std::move(body));
}

void report_statistics()
{
    for (const auto &s : statistics) {
        note("%-40s launches %6ld  threads %12.0f  %.3f s", s.first.c_str(), s.second.launches,
             s.second.threads, s.second.seconds);
    }
}

// ---- library calls -----------------------------------------------------------------------------
cudaError_t enqueue_library_call(cudaStream_t handle, const char *what,
                                 std::initializer_list<std::pair<const void *, size_t>> ranges,
                                 std::function<void()> work)
{
    Stream *stream = find_stream(handle);
    if (!stream) {
        return set_error(cudaErrorInvalidResourceHandle);
    }
    std::vector<int> used;
    for (const auto &range : ranges) {
        if (range.second == 0) {
            continue;
        }
        int device;
        if (!check_range(range.first, range.second, what, &device)) {
            return set_error(cudaErrorInvalidValue);
        }
        if (device != stream->device) {
            note("%s: %p is %s, the stream belongs to device %d; called at %s", what, range.first,
                 device < 0 ? "host memory"
                            : ("memory of device " + std::to_string(device)).c_str(),
                 stream->device, describe_call_stack(take_call_stack()).c_str());
            return set_error(cudaErrorInvalidValue);
        }
        used.push_back(device);
    }
    Operation operation;
    operation.run = [used, work] {
        std::vector<std::unique_ptr<DeviceOpen>> open;
        for (const int device : used) {
            open.emplace_back(new DeviceOpen(device));
        }
        work();
    };
    enqueue(stream, std::move(operation));
    return cudaSuccess;
}

} // namespace hc

using namespace hc;

extern "C" {

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block_shape, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    HC_ENTER(Kind::launch);
    const auto found = registered().find(function);
    if (found == registered().end()) {
        note(
            "cudaLaunchKernel: the kernel at %p is not known: LAUNCH_BY_ADDRESS(kernel) is missing",
            function);
        return set_error(cudaErrorInvalidDeviceFunction);
    }
    const Registered &kernel = found->second;
    return queue_launch(function, kernel.name, kernel.site, {grid, block_shape, shared, stream},
                        kernel.make(arguments));
}

cudaError_t cudaFuncSetAttribute(const void *function, cudaFuncAttribute attribute, int value)
{
    HC_ENTER(Kind::device);
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || (size_t)value > options.shared_optin) {
            note("cudaFuncSetAttribute: %d bytes of dynamic shared memory, the device has %zu; "
                 "called at %s",
                 value, options.shared_optin, describe_call_stack(take_call_stack()).c_str());
            return set_error(cudaErrorInvalidValue);
        }
        dynamic_limit[function] = (size_t)value;
    }
    return cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void *, cudaFuncCache)
{
    HC_ENTER(Kind::device);
    return cudaSuccess;
}

// What the compiler for devices would tell (registers, static shared memory) is not known here.
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *function)
{
    HC_ENTER(Kind::device);
    memset(attributes, 0, sizeof *attributes);
    const auto found = dynamic_limit.find(function);
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->maxDynamicSharedSizeBytes =
        (int)(found == dynamic_limit.end() ? options.shared_default : found->second);
    attributes->ptxVersion = attributes->binaryVersion =
        options.arch_major * 10 + options.arch_minor;
    return cudaSuccess;
}

// By threads and shared memory; registers are not known.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int threads, size_t shared)
{
    HC_ENTER(Kind::device);
    if (threads < 1 || threads > 1024) {
        return set_error(cudaErrorInvalidValue);
    }
    const auto found = dynamic_limit.find(function);
    const size_t limit = found == dynamic_limit.end() ? options.shared_default : found->second;
    const int by_threads = 2048 / ((threads + 31) / 32 * 32);
    const int by_shared = (int)(options.shared_multiprocessor / (shared + 1024));
    *blocks = shared > limit ? 0 : std::min({32, by_threads, by_shared});
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks,
                                                                   const void *function,
                                                                   int threads, size_t shared,
                                                                   unsigned int)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *shared, const void *, int blocks, int)
{
    HC_ENTER(Kind::device);
    if (blocks < 1) {
        return set_error(cudaErrorInvalidValue);
    }
    const size_t share = options.shared_multiprocessor / (size_t)blocks;
    *shared = std::min(options.shared_optin, share > 1024 ? share - 1024 : 0);
    return cudaSuccess;
}

} // extern "C"
