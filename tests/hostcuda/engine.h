// engine.h - the fibers that act as CUDA threads, and the block they make up. Private to grid.cpp,
// fiber.cpp and barrier.cpp.
//
// Pitfalls that shaped this code: a barrier needs two ThreadSanitizer tokens in turn, or an early
// arrival at the next barrier counts as one at this; each CUDA thread keeps one stack; nothing is
// allocated on a kernel thread; blocks have tokens of their own, or barriers would order blocks among
// themselves; all of this is compiled without sanitizers.
#ifndef HOSTCUDA_ENGINE_H
#define HOSTCUDA_ENGINE_H

#include "hostcuda.h"
// The device language stops here: this is host code.
#undef assert
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef warpSize

#include "layer.h"
#include "sanitizers.h"

namespace hc
{

struct WarpMeeting;

struct Fiber {
    void *stack_pointer = nullptr;
    char *stack = nullptr; // one guard page, then options.stack bytes
    void *asan_fake_stack = nullptr;
    void *tsan_fiber = nullptr;
    unsigned linear = 0; // the CUDA thread it now is
    int barrier_result = 0;
    WarpMeeting *held = nullptr; // whose values it may still read
};

// Lanes that meet in a warp primitive.
struct WarpMeeting {
    unsigned mask, arrived;
    WarpOp op;
    int readers;
    Site site;
    uint64_t values[32];
    Fiber *waiting[32];
};

static const unsigned ring_size = 2048; // at least twice the threads of a block

struct Block {
    unsigned n_threads, next, live; // in all, not started yet from here on, not finished
    const Body *body;
    std::vector<unsigned> order; // of starting
    std::vector<bool> exited;
    Fiber *ready[ring_size];
    unsigned ready_begin, ready_end;
    std::vector<Fiber *> at_barrier;
    BarrierOp barrier_op;
    int barrier_sum;
    Site barrier_site;
    std::vector<std::vector<WarpMeeting *>> meetings; // by warp
    unsigned number;                                  // in order of running
    unsigned parity;                                  // of the number: tokens in turn
    Races races;                                      // of this launch, never `turns`
};
extern Block &block;
extern Fiber *running_fiber;
inline bool blocks_unordered()
{
    return block.races != Races::within;
}

void make_ready(Fiber *fiber);
void yield_thread();         // runs someone else until this thread is ready again
void run_threads_of_block(); // on the caller's stack: until all threads have finished
void prepare_fibers(unsigned n_threads);
void recycle_fibers();
void thread_left_block(unsigned linear); // fiber.cpp tells barrier.cpp
void drop_held_meeting(Fiber *fiber);
void prepare_meetings(unsigned n_threads);
[[noreturn]] void report_deadlock();
bool in_guard_page_of_a_stack(const void *pointer);
const char *kernel_name();
std::string describe_block();

// ThreadSanitizer tokens of order between the launch, the blocks and the end.
extern char token_launch, token_done, token_block[2];

} // namespace hc

#endif
