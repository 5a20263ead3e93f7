// sanitizers.h - the hooks of AddressSanitizer and ThreadSanitizer, weak: absent in plain builds.
#ifndef HOSTCUDA_SANITIZERS_H
#define HOSTCUDA_SANITIZERS_H

#include <cstddef>

extern "C" {
#define HC_WEAK __attribute__((weak))
HC_WEAK void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size);
HC_WEAK void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size);
HC_WEAK void __sanitizer_symbolize_pc(void *pc, const char *format, char *out, size_t out_size);
HC_WEAK void __asan_poison_memory_region(void const volatile *p, size_t n);
HC_WEAK void __asan_unpoison_memory_region(void const volatile *p, size_t n);
HC_WEAK void *__tsan_get_current_fiber(void);
HC_WEAK void *__tsan_create_fiber(unsigned flags);
HC_WEAK void __tsan_switch_to_fiber(void *fiber, unsigned flags);
HC_WEAK void __tsan_acquire(void *address);
HC_WEAK void __tsan_release(void *address);
HC_WEAK void __tsan_ignore_thread_begin(void);
HC_WEAK void __tsan_ignore_thread_end(void);
}

namespace hc
{

inline bool with_asan()
{
    return __asan_poison_memory_region != nullptr;
}
inline bool with_tsan()
{
    return __tsan_create_fiber != nullptr;
}
inline void asan_poison(const volatile void *p, size_t n)
{
    if (__asan_poison_memory_region) {
        __asan_poison_memory_region(p, n);
    }
}
inline void asan_unpoison(const volatile void *p, size_t n)
{
    if (__asan_unpoison_memory_region) {
        __asan_unpoison_memory_region(p, n);
    }
}
inline void tsan_acquire(void *token)
{
    if (with_tsan()) {
        __tsan_acquire(token);
    }
}
inline void tsan_release(void *token)
{
    if (with_tsan()) {
        __tsan_release(token);
    }
}
// What the engine itself touches is not the kernel's doing.
class TsanIgnore
{
  public:
    TsanIgnore()
    {
        if (with_tsan()) {
            __tsan_ignore_thread_begin();
        }
    }
    ~TsanIgnore()
    {
        if (with_tsan()) {
            __tsan_ignore_thread_end();
        }
    }
    TsanIgnore(const TsanIgnore &) = delete;
    TsanIgnore &operator=(const TsanIgnore &) = delete;
};

} // namespace hc

#endif
