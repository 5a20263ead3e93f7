// hostcuda_atomics.h - atomic functions of the device language. Included by hostcuda.h.
//
// One operating-system thread runs the whole grid, so plain code would be right; under
// ThreadSanitizer real atomic instructions are used, so that it knows these accesses are atomic.
#ifndef HOSTCUDA_ATOMICS_H
#define HOSTCUDA_ATOMICS_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HC_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HC_THREAD_SANITIZER 1
#endif

namespace hc
{
template <class T, class F> inline T read_modify_write(T *p, F next)
{
#ifdef HC_THREAD_SANITIZER
    typedef typename std::conditional<sizeof(T) == 8, uint64_t, uint32_t>::type Word;
    Word old = __atomic_load_n((Word *)p, __ATOMIC_RELAXED);
    Word wanted;
    do {
        wanted = (Word)to_bits(next(from_bits<T>(old)));
    } while (!__atomic_compare_exchange_n((Word *)p, &old, wanted, false, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    return from_bits<T>(old);
#else
    const T old = *p;
    *p = next(old);
    return old;
#endif
}
template <class T> struct Identity {
    typedef T type;
};
} // namespace hc

// The names with _block and _system differ in scope only, which one thread cannot tell apart.
#define HC_ATOMIC1(name, type, expression)                                                         \
    inline type name(type *p, type value)                                                          \
    {                                                                                              \
        return hc::read_modify_write(p, [=](type old) -> type { return expression; });             \
    }
#define HC_ATOMIC(name, type, expression)                                                          \
    HC_ATOMIC1(name, type, expression)                                                             \
    HC_ATOMIC1(name##_block, type, expression)                                                     \
    HC_ATOMIC1(name##_system, type, expression)
#define HC_ATOMIC_INTEGERS(name, expression)                                                       \
    HC_ATOMIC(name, int, expression)                                                               \
    HC_ATOMIC(name, unsigned, expression)                                                          \
    HC_ATOMIC(name, unsigned long long, expression)

HC_ATOMIC_INTEGERS(atomicAdd, old + value)
HC_ATOMIC(atomicAdd, float, old + value)
HC_ATOMIC(atomicAdd, double, old + value)
HC_ATOMIC(atomicSub, int, old - value)
HC_ATOMIC(atomicSub, unsigned, old - value)
HC_ATOMIC_INTEGERS(atomicMin, old < value ? old : value)
HC_ATOMIC_INTEGERS(atomicMax, old > value ? old : value)
HC_ATOMIC(atomicMin, long long, old < value ? old : value)
HC_ATOMIC(atomicMax, long long, old > value ? old : value)
HC_ATOMIC_INTEGERS(atomicAnd, old &value)
HC_ATOMIC_INTEGERS(atomicOr, old | value)
HC_ATOMIC_INTEGERS(atomicXor, old ^ value)
HC_ATOMIC_INTEGERS(atomicExch, ((void)old, value))
HC_ATOMIC(atomicExch, float, ((void)old, value))
HC_ATOMIC(atomicInc, unsigned, old >= value ? 0u : old + 1u)
HC_ATOMIC(atomicDec, unsigned, (old == 0 || old > value) ? value : old - 1u)
#undef HC_ATOMIC_INTEGERS
#undef HC_ATOMIC
#undef HC_ATOMIC1

template <class T>
inline T atomicCAS(T *p, typename hc::Identity<T>::type expected,
                   typename hc::Identity<T>::type value)
{
    return hc::read_modify_write(p, [=](T old) { return old == expected ? value : old; });
}

#endif
