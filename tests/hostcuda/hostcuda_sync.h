// hostcuda_sync.h - barriers and warp primitives of the device language. Included by hostcuda.h.
#ifndef HOSTCUDA_SYNC_H
#define HOSTCUDA_SYNC_H

// Macros, because the report of a divergent barrier names the lines where the threads stand.
#define HC_HERE (hc::Site{__FILE__, __LINE__})
#define __syncthreads() ((void)hc::block_barrier(hc::BARRIER_PLAIN, 0, HC_HERE))
#define __syncthreads_count(p) hc::block_barrier(hc::BARRIER_COUNT, (p), HC_HERE)
#define __syncthreads_and(p) hc::block_barrier(hc::BARRIER_AND, (p), HC_HERE)
#define __syncthreads_or(p) hc::block_barrier(hc::BARRIER_OR, (p), HC_HERE)
#define __trap() hc::device_trap(HC_HERE)

// Functions with the call site as hidden last arguments: they must also work as overloads.
#define HC_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncwarp(unsigned mask = 0xffffffffu, HC_SITE)
{
    hc::warp_exchange(mask, hc::WARP_SYNC, 0, {file, line});
}

inline unsigned __ballot_sync(unsigned mask, int predicate, HC_SITE)
{
    const uint64_t *values = hc::warp_exchange(mask, hc::WARP_BALLOT, predicate != 0, {file, line});
    unsigned result = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (((mask >> lane) & 1u) && ((hc::active_lanes() >> lane) & 1u) && values[lane]) {
            result |= 1u << lane;
        }
    }
    return result;
}

inline int __any_sync(unsigned mask, int predicate, HC_SITE)
{
    return __ballot_sync(mask, predicate, file, line) != 0;
}

inline int __all_sync(unsigned mask, int predicate, HC_SITE)
{
    return __ballot_sync(mask, predicate, file, line) == (mask & hc::active_lanes());
}

inline unsigned __activemask()
{
    return hc::active_lanes();
}

namespace hc
{
template <class T>
inline T shuffle(unsigned mask, T value, int source, WarpOp op, const char *file, int line)
{
    const uint64_t *values = warp_exchange(mask, op, to_bits(value), {file, line});
    const bool there =
        source >= 0 && source < 32 && ((mask >> source) & 1u) && ((active_lanes() >> source) & 1u);
    return from_bits<T>(there ? values[source] : ~0ull); // undefined on a device: NaN here
}
} // namespace hc

template <class T> inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, HC_SITE)
{
    const int lane = (int)hc::lane_index();
    return hc::shuffle(mask, value, (lane & ~(width - 1)) | (source & (width - 1)),
                       hc::WARP_SHUFFLE, file, line);
}

template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, HC_SITE)
{
    const int lane = (int)hc::lane_index();
    const int target = (lane & (width - 1)) + (int)delta;
    return hc::shuffle(mask, value, target < width ? lane + (int)delta : lane,
                       hc::WARP_SHUFFLE_DOWN, file, line);
}

template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, HC_SITE)
{
    const int lane = (int)hc::lane_index();
    const int target = (lane & (width - 1)) - (int)delta;
    return hc::shuffle(mask, value, target >= 0 ? lane - (int)delta : lane, hc::WARP_SHUFFLE_UP,
                       file, line);
}

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, HC_SITE)
{
    const int lane = (int)hc::lane_index();
    const int target = lane ^ bits;
    const bool reachable = (target & ~(width - 1)) <= (lane & ~(width - 1));
    return hc::shuffle(mask, value, reachable ? target : lane, hc::WARP_SHUFFLE_XOR, file, line);
}

template <class T> inline unsigned __match_any_sync(unsigned mask, T value, HC_SITE)
{
    const uint64_t *values =
        hc::warp_exchange(mask, hc::WARP_MATCH, hc::to_bits(value), {file, line});
    unsigned result = 0;
    for (int lane = 0; lane < 32; lane++) {
        if (((mask >> lane) & 1u) && ((hc::active_lanes() >> lane) & 1u) &&
            values[lane] == hc::to_bits(value)) {
            result |= 1u << lane;
        }
    }
    return result;
}

namespace hc
{
template <class T, class F>
inline T warp_reduce(unsigned mask, T value, F combine, const char *file, int line)
{
    const uint64_t *values = warp_exchange(mask, WARP_REDUCE, to_bits(value), {file, line});
    bool first = true;
    T result = value;
    for (int lane = 0; lane < 32; lane++) {
        if (((mask >> lane) & 1u) && ((active_lanes() >> lane) & 1u)) {
            const T other = from_bits<T>(values[lane]);
            result = first ? other : combine(result, other);
            first = false;
        }
    }
    return result;
}
} // namespace hc

// Integers only, as on a device.
#define HC_REDUCE(name, type, expression)                                                          \
    inline type name(unsigned mask, type value, HC_SITE)                                           \
    {                                                                                              \
        return hc::warp_reduce(                                                                    \
            mask, value, [](type a, type b) -> type { return expression; }, file, line);           \
    }
HC_REDUCE(__reduce_add_sync, int, a + b)
HC_REDUCE(__reduce_add_sync, unsigned, a + b)
HC_REDUCE(__reduce_min_sync, int, a < b ? a : b)
HC_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
HC_REDUCE(__reduce_max_sync, int, a > b ? a : b)
HC_REDUCE(__reduce_max_sync, unsigned, a > b ? a : b)
HC_REDUCE(__reduce_and_sync, unsigned, a &b)
HC_REDUCE(__reduce_or_sync, unsigned, a | b)
HC_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef HC_REDUCE

// Order memory only for ThreadSanitizer's eyes: all accesses here are in order anyway.
inline void __threadfence()
{
    hc::memory_fence();
}
inline void __threadfence_block()
{
    hc::memory_fence();
}
inline void __threadfence_system()
{
    hc::memory_fence();
}
inline void __nanosleep(unsigned)
{
}

#endif
