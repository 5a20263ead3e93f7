// fiber.cpp - CUDA threads as fibers: the switch, stacks, and who runs next.
#include <algorithm>
#include <array>

#include <sys/mman.h>

#include "engine.h"

extern "C" void hc_switch(void **save_stack_pointer, void *stack_pointer);

#if defined(__x86_64__)
// Saves what a call must preserve and changes stacks: 12-17 ns, where swapcontext takes 1.8 us.
asm(R"(
.text
.globl hc_switch
.type hc_switch,@function
hc_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp,(%rdi)
    movq %rsi,%rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size hc_switch,.-hc_switch
)");
static const int saved_words = 6;
#elif defined(__aarch64__)
asm(R"(
.text
.globl hc_switch
.type hc_switch,%function
hc_switch:
    sub sp, sp, #176
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #176
    ret
.size hc_switch,.-hc_switch
)");
#else
#error "hc_switch must be written for this processor"
#endif

namespace hc
{

static const size_t guard = 4096;
ThreadContext context;
Block &block = leaky<Block>();
Fiber *running_fiber = nullptr;
static Fiber host; // the thread that launched
static const void *host_stack;
static size_t host_stack_size;
static auto &all_fibers = leaky<std::vector<Fiber *>>();
// Fibers without a thread. Unordered blocks that follow one another take theirs from several sets: a fiber that served in
// two would carry the first block's past into the second's barriers, and its stack would be one that two threads share.
// A prime number of them, so that neighbours in a grid seldom meet in one.
static const unsigned n_sets = 7;
static auto &idle_sets = leaky<std::array<std::vector<Fiber *>, n_sets>>();
static auto &finished = leaky<std::vector<Fiber *>>(); // ThreadSanitizer: idle after the block only
static void *block_identity[n_sets]; // what ThreadSanitizer takes a set's threads for where a block counts as one

static unsigned sets_in_use()
{
    static const unsigned sets[] = {0, 2, 1, n_sets};
    return with_tsan() ? sets[(int)block.races] : 1;
}

static void *tsan_identity(const Fiber *fiber)
{
    return fiber != &host && block.races == Races::between ? block_identity[block.number % n_sets]
                                                           : fiber->tsan_fiber;
}

static void become(unsigned linear)
{
    const dim3 size = context.block_dim;
    context.linear = linear;
    context.thread.x = linear % size.x;
    context.thread.y = linear / size.x % size.y;
    context.thread.z = linear / size.x / size.y;
}

static void switch_fiber(Fiber *from, Fiber *to)
{
    running_fiber = to;
    if (to != &host) {
        become(to->linear);
    }
    if (__sanitizer_start_switch_fiber) {
        __sanitizer_start_switch_fiber(&from->asan_fake_stack,
                                       to == &host ? host_stack : to->stack + guard,
                                       to == &host ? host_stack_size : options.stack);
    }
    if (with_tsan() && tsan_identity(to) != tsan_identity(from)) {
        __tsan_switch_to_fiber(tsan_identity(to), 1); // 1: no order implied
    }
    hc_switch(&from->stack_pointer, to->stack_pointer);
    if (__sanitizer_finish_switch_fiber) {
        __sanitizer_finish_switch_fiber(from->asan_fake_stack, nullptr, nullptr);
    }
}

static void thread_main();

static void lay_out_stack(Fiber *fiber)
{
    // Stacks that start at the same offset of a page would fight for the same cache sets.
    char *top = fiber->stack + guard + options.stack - 64 * (all_fibers.size() % 16);
    void **p = (void **)top;
#if defined(__x86_64__)
    *--p = nullptr; // where a return address would be: keeps the stack aligned as after a call
    *--p = (void *)thread_main;
    for (int i = 0; i < saved_words; i++) {
        *--p = nullptr;
    }
#else
    p -= 22;
    std::fill(p, p + 22, nullptr);
    p[11] = (void *)thread_main; // x30
#endif
    fiber->stack_pointer = p;
}

static std::vector<Fiber *> &idle_fibers()
{
    return idle_sets[block.number % sets_in_use()];
}

static void need_identity(Fiber *fiber)
{
    if (with_tsan() && block.races != Races::between && !fiber->tsan_fiber) {
        fiber->tsan_fiber = __tsan_create_fiber(0);
    }
}

static Fiber *take_fiber()
{
    std::vector<Fiber *> &idle = idle_fibers();
    if (!idle.empty()) {
        Fiber *fiber = idle.back();
        idle.pop_back();
        need_identity(fiber);
        return fiber;
    }
    TsanIgnore ignore;
    Fiber *fiber = new Fiber;
    need_identity(fiber);
    fiber->stack = (char *)mmap(nullptr, options.stack + guard, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber->stack == MAP_FAILED) {
        die("cannot map the stack of a kernel thread");
    }
    mprotect(fiber->stack, guard, PROT_NONE);
    all_fibers.push_back(fiber);
    lay_out_stack(fiber);
    return fiber;
}

bool in_guard_page_of_a_stack(const void *pointer)
{
    for (const Fiber *fiber : all_fibers) {
        if ((const char *)pointer >= fiber->stack && (const char *)pointer < fiber->stack + guard) {
            return true;
        }
    }
    return false;
}

void make_ready(Fiber *fiber)
{
    block.ready[block.ready_end++ % ring_size] = fiber;
}

// Threads not started yet come first, so that all reach a barrier soon.
static Fiber *pick_next()
{
    bool fresh = block.next < block.n_threads;
    bool ready = block.ready_begin != block.ready_end;
    if (fresh && ready && options.order == Order::random) {
        (random_below(2) ? fresh : ready) = false;
    }
    if (fresh) {
        Fiber *fiber = take_fiber();
        fiber->linear = block.order[block.next++];
        return fiber;
    }
    if (ready) {
        Fiber *&first = block.ready[block.ready_begin % ring_size];
        if (options.order == Order::random) {
            const unsigned n = block.ready_end - block.ready_begin;
            std::swap(first, block.ready[(block.ready_begin + random_below(n)) % ring_size]);
        }
        block.ready_begin++;
        return first;
    }
    if (block.live) {
        report_deadlock();
    }
    return &host;
}

void yield_thread()
{
    Fiber *me = running_fiber;
    Fiber *next = pick_next();
    if (next != me) {
        switch_fiber(me, next);
    }
}

static void run_body()
{
    tsan_acquire(&token_launch);
    if (!blocks_unordered()) {
        tsan_acquire(&token_block[block.parity]);
    }
    (*block.body)();
    tsan_release(&token_done);
    if (!blocks_unordered()) {
        tsan_release(&token_block[block.parity ^ 1]);
    }
}

static void thread_main()
{
    Fiber *me = running_fiber;
    if (__sanitizer_finish_switch_fiber) {
        const void *bottom;
        size_t size;
        __sanitizer_finish_switch_fiber(nullptr, &bottom, &size);
        if (!host_stack) {
            host_stack = bottom;
            host_stack_size = size;
        }
    }
    for (;;) {
        run_body();
        drop_held_meeting(me);
        block.live--;
        thread_left_block(me->linear);
        // The usual case without a switch: this fiber becomes the next thread.
        const bool none_ready = block.ready_begin == block.ready_end;
        if (!with_tsan() && block.next < block.n_threads &&
            (options.order != Order::random || none_ready)) {
            me->linear = block.order[block.next++];
            become(me->linear);
            continue;
        }
        (with_tsan() ? finished : idle_fibers()).push_back(me);
        Fiber *next = pick_next();
        if (next != me) {
            switch_fiber(me, next);
        } else {
            become(me->linear);
        }
    }
}

void run_threads_of_block()
{
    if (with_tsan()) {
        host.tsan_fiber = __tsan_get_current_fiber();
        for (unsigned i = 0; i < n_sets && !block_identity[i]; i++) {
            block_identity[i] = __tsan_create_fiber(0);
        }
    }
    host_stack = nullptr; // learned anew: launches may come from several host threads
    switch_fiber(&host, pick_next());
}

void prepare_fibers(unsigned n_threads)
{
    finished.reserve(ring_size);
    all_fibers.reserve(2 * ring_size);
    for (block.number = 0; block.number < sets_in_use(); block.number++) {
        idle_fibers().reserve(ring_size);
        std::vector<Fiber *> taken; // none is to be made on a kernel thread
        for (unsigned i = 0; with_tsan() && i < n_threads; i++) {
            taken.push_back(take_fiber());
        }
        idle_fibers().insert(idle_fibers().end(), taken.begin(), taken.end());
    }
}

// Under ThreadSanitizer: the next block gets the fibers in another order, so that a race between the
// threads i of two blocks does not hide in one fiber.
void recycle_fibers()
{
    std::vector<Fiber *> &idle = idle_fibers();
    idle.insert(idle.begin(), finished.begin(), finished.end());
    finished.clear();
    if (with_tsan() && idle.size() > 3) {
        std::rotate(idle.begin(), idle.begin() + 3, idle.end());
    }
}

} // namespace hc
