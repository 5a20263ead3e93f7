// hostcuda.h - the CUDA device language as C++17, for running kernels on the CPU in tests.
//
// Force-included (-include hostcuda.h) when a .cu file is compiled by a host compiler. Types, enums
// and prototypes are NVIDIA's own (cuda_runtime.h); only the device language and the kernel launch
// are modelled here. One operating-system thread runs one block at a time, the threads of a block
// are fibers, so __shared__ is simply static. See README.md for what is modelled and what is not.
#ifndef HOSTCUDA_H
#define HOSTCUDA_H

#ifndef MTIP_HOSTCUDA
#define MTIP_HOSTCUDA 1
#endif

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

// ---- qualifiers -------------------------------------------------------------------------------
// Each shared array gets a section of its own, which the engine finds by name to fill it with NaN
// before a block starts (and whose name no other declaration of the file has: templates and plain
// functions may not share one).
#define HC_TEXT2(x) #x
#define HC_TEXT(x) HC_TEXT2(x)
#undef __shared__
#define __shared__ static __attribute__((section(".hcshared." HC_TEXT(__COUNTER__))))
#undef __grid_constant__
#define __grid_constant__
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __constant__
#define __constant__
#define __builtin_assume(condition) ((void)0)

namespace hc
{

// ---- what the engine offers (engine.h, launch.cpp) ---------------------------------------------
struct ThreadContext {
    uint3 thread, block;
    dim3 block_dim, grid_dim;
    unsigned linear; // index of the thread in its block, x fastest
    void *dynamic_shared;
};
extern ThreadContext context; // of the CUDA thread now running

struct LaunchShape {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
};
typedef std::function<void()> Body; // one CUDA thread's work

struct Site {
    const char *file;
    int line;
};

enum BarrierOp { BARRIER_PLAIN, BARRIER_COUNT, BARRIER_AND, BARRIER_OR };
enum WarpOp {
    WARP_SYNC = 1,
    WARP_BALLOT,
    WARP_SHUFFLE,
    WARP_SHUFFLE_DOWN,
    WARP_SHUFFLE_UP,
    WARP_SHUFFLE_XOR,
    WARP_MATCH,
    WARP_REDUCE
};

int block_barrier(BarrierOp op, int predicate, Site site);
// All lanes of `mask` deposit 64 bits; returns the 32 values deposited (of the lanes in `mask`).
const uint64_t *warp_exchange(unsigned mask, WarpOp op, uint64_t mine, Site site);
void memory_fence();
unsigned lane_index();
unsigned active_lanes();
[[noreturn]] void device_assert_failed(const char *expression, Site site);
[[noreturn]] void device_trap(Site site);

cudaError_t launch_body(const void *function, const char *name, Site site, const LaunchShape &shape,
                        Body body);
void check_pointer_argument(const char *kernel, Site site, int index, const void *pointer);
typedef Body (*BodyFromArguments)(void **arguments);
void register_kernel(const void *function, const char *name, Site site, BodyFromArguments make);

// ---- launch ------------------------------------------------------------------------------------
template <class T> inline void check_argument(const char *kernel, Site site, int index, const T &v)
{
    if constexpr (std::is_pointer<T>::value &&
                  !std::is_function<typename std::remove_pointer<T>::type>::value) {
        check_pointer_argument(kernel, site, index, (const void *)v);
    }
}

template <class... P, class... A>
cudaError_t launch(const char *name, const char *file, int line, void (*kernel)(P...),
                   const LaunchShape &shape, A &&...values)
{
    static_assert(sizeof...(P) == sizeof...(A), "number of kernel arguments");
    const Site site = {file, line};
    std::tuple<typename std::decay<P>::type...> arguments(static_cast<P>(values)...);
    int index = 0;
    std::apply([&](auto &...v) { (check_argument(name, site, index++, v), ...); }, arguments);
    (void)index;
    return launch_body((const void *)kernel, name, site, shape,
                       [kernel, arguments] { std::apply(kernel, arguments); });
}

// Makes a kernel known to cudaLaunchKernel(), which passes addresses of arguments without types.
template <auto kernel> struct Registration;
template <class... P, void (*kernel)(P...)> struct Registration<kernel> {
    template <size_t... I> static Body make_body(void **arguments, std::index_sequence<I...>)
    {
        std::tuple<typename std::decay<P>::type...> values(
            *(typename std::decay<P>::type *)arguments[I]...);
        return [values] { std::apply(kernel, values); };
    }
    static Body from_arguments(void **arguments)
    {
        return make_body(arguments, std::index_sequence_for<P...>());
    }
    Registration(const char *name, Site site)
    {
        register_kernel((const void *)kernel, name, site, from_arguments);
    }
};

template <class T> inline T *dynamic_shared()
{
    return (T *)context.dynamic_shared;
}

template <class T> inline uint64_t to_bits(T value)
{
    static_assert(sizeof(T) <= 8, "warp primitives move at most 8 bytes");
    uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T> inline T from_bits(uint64_t bits)
{
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

} // namespace hc

#define HC_JOIN2(a, b) a##b
#define HC_JOIN(a, b) HC_JOIN2(a, b)
#define HC_REGISTER_KERNEL(kernel)                                                                 \
    static hc::Registration<&kernel> HC_JOIN(hc_registration_,                                     \
                                             __COUNTER__)(#kernel, hc::Site{__FILE__, __LINE__});

// ---- built-in variables ------------------------------------------------------------------------
#define threadIdx (hc::context.thread)
#define blockIdx (hc::context.block)
#define blockDim (hc::context.block_dim)
#define gridDim (hc::context.grid_dim)
#define warpSize 32

#include "hostcuda_sync.h"

#include "hostcuda_atomics.h"

#include "hostcuda_math.h"

#undef assert
#define assert(e) ((e) ? (void)0 : hc::device_assert_failed(#e, hc::Site{__FILE__, __LINE__}))

#endif
