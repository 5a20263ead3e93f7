// barrier.cpp - __syncthreads and the warp primitives: who waits for whom, divergence, deadlock.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine.h"

namespace hc
{

// By block, so that one block's barrier does not order another's accesses.
static uint64_t token_barrier[1024][2], token_warp[256][64];
static unsigned barrier_generation = 0;
static auto &spare_meetings = leaky<std::vector<WarpMeeting *>>();

static bool same_site(const Site &a, const Site &b)
{
    return a.line == b.line && (a.file == b.file || strcmp(a.file, b.file) == 0);
}

static std::string text_of(const Site &site)
{
    const char *slash = strrchr(site.file, '/');
    return std::string(slash ? slash + 1 : site.file) + ":" + std::to_string(site.line);
}

// ---- block barrier -----------------------------------------------------------------------------
static void release_barrier()
{
    TsanIgnore ignore;
    barrier_generation ^= 1;
    const unsigned arrived = (unsigned)block.at_barrier.size();
    int result = block.barrier_sum;
    if (block.barrier_op == BARRIER_AND) {
        result = block.barrier_sum == (int)arrived;
    } else if (block.barrier_op == BARRIER_OR) {
        result = block.barrier_sum != 0;
    }
    const auto by_index = [](const Fiber *a, const Fiber *b) { return a->linear < b->linear; };
    if (options.order == Order::sequential) {
        std::sort(block.at_barrier.begin(), block.at_barrier.end(), by_index);
    } else if (options.order == Order::reversed) {
        std::sort(block.at_barrier.rbegin(), block.at_barrier.rend(), by_index);
    }
    for (Fiber *fiber : block.at_barrier) {
        fiber->barrier_result = result;
        make_ready(fiber);
    }
    block.at_barrier.clear();
    block.barrier_sum = 0;
}

int block_barrier(BarrierOp op, int predicate, Site site)
{
    if (!kernel_running()) {
        die("__syncthreads outside a kernel, %s", text_of(site).c_str());
    }
    Fiber *me = running_fiber;
    if (block.at_barrier.empty()) {
        block.barrier_op = op;
        block.barrier_site = site;
    } else if (options.strict && (block.barrier_op != op || !same_site(block.barrier_site, site))) {
        die("%s: divergent barrier: thread %u is at %s, others at %s", describe_block().c_str(),
            me->linear, text_of(site).c_str(), text_of(block.barrier_site).c_str());
    }
    block.barrier_sum += predicate != 0;
    block.at_barrier.push_back(me);
    const unsigned generation = barrier_generation;
    uint64_t *token = &token_barrier[block.number % 1024][generation];
    tsan_release(token);
    if (block.at_barrier.size() == block.live) {
        release_barrier();
    }
    yield_thread();
    tsan_acquire(token);
    return me->barrier_result;
}

// A fence orders what came before it against what follows a later fence of any thread.
void memory_fence()
{
    static uint64_t token_fence;
    tsan_release(&token_fence);
    tsan_acquire(&token_fence);
}

// ---- warp primitives ---------------------------------------------------------------------------
unsigned lane_index()
{
    return context.linear & 31u;
}

unsigned active_lanes() // the last warp of a block may be partial
{
    const unsigned lanes = std::min(32u, block.n_threads - context.linear / 32 * 32);
    return lanes == 32 ? ~0u : (1u << lanes) - 1;
}

void prepare_meetings(unsigned n_threads)
{
    block.meetings.resize((n_threads + 31) / 32);
    for (auto &warp : block.meetings) {
        warp.clear();
        warp.reserve(64);
    }
    if (spare_meetings.capacity() < 4096) {
        spare_meetings.reserve(4096);
        for (int i = 0; i < 64; i++) {
            spare_meetings.push_back(new WarpMeeting);
        }
    }
}

void drop_held_meeting(Fiber *fiber)
{
    if (fiber->held && --fiber->held->readers == 0) {
        spare_meetings.push_back(fiber->held);
    }
    fiber->held = nullptr;
}

static WarpMeeting *open_meeting(unsigned mask, WarpOp op, Site site)
{
    if (spare_meetings.empty()) {
        TsanIgnore ignore;
        spare_meetings.push_back(new WarpMeeting);
    }
    WarpMeeting *meeting = spare_meetings.back();
    spare_meetings.pop_back();
    meeting->mask = mask;
    meeting->arrived = 0;
    meeting->op = op;
    meeting->readers = 0;
    meeting->site = site;
    memset(meeting->values, 0xff, sizeof meeting->values);
    return meeting;
}

static void close_meeting(unsigned warp, WarpMeeting *meeting)
{
    auto &open = block.meetings[warp];
    open.erase(std::find(open.begin(), open.end(), meeting));
    for (int i = 0; i < 32; i++) {
        const int lane = options.order == Order::reversed ? 31 - i : i;
        if ((meeting->arrived >> lane) & 1u) {
            make_ready(meeting->waiting[lane]);
        }
    }
}

const uint64_t *warp_exchange(unsigned mask, WarpOp op, uint64_t mine, Site site)
{
    if (!kernel_running()) {
        die("warp primitive outside a kernel, %s", text_of(site).c_str());
    }
    Fiber *me = running_fiber;
    const unsigned warp = me->linear / 32, lane = me->linear & 31u;
    drop_held_meeting(me);
    mask &= active_lanes();
    if (!((mask >> lane) & 1u)) {
        die("%s: lane %u of warp %u calls a warp primitive with a mask (%08x) that lacks it, at %s",
            describe_block().c_str(), lane, warp, mask, text_of(site).c_str());
    }
    WarpMeeting *meeting = nullptr;
    for (WarpMeeting *open : block.meetings[warp]) {
        if (open->mask == mask && !((open->arrived >> lane) & 1u)) {
            meeting = open;
            break;
        }
    }
    if (!meeting) {
        meeting = open_meeting(mask, op, site);
        block.meetings[warp].push_back(meeting);
    } else if (meeting->op != op) {
        die("%s warp %u: lanes meet in different warp primitives: %s and %s",
            describe_block().c_str(), warp, text_of(meeting->site).c_str(), text_of(site).c_str());
    }
    meeting->values[lane] = mine;
    meeting->arrived |= 1u << lane;
    meeting->waiting[lane] = me;
    meeting->readers++;
    me->held = meeting;
    if (op == WARP_SYNC) { // the only one that orders memory
        tsan_release(&token_warp[block.number % 256][warp]);
    }
    if (meeting->arrived == mask) {
        close_meeting(warp, meeting);
    }
    yield_thread();
    if (op == WARP_SYNC) {
        tsan_acquire(&token_warp[block.number % 256][warp]);
    }
    return meeting->values;
}

// ---- threads that end, and those that wait for ever ---------------------------------------------
static bool lanes_all_exited(unsigned warp, unsigned lanes)
{
    for (unsigned lane = 0; lane < 32; lane++) {
        if (((lanes >> lane) & 1u) && !block.exited[warp * 32 + lane]) {
            return false;
        }
    }
    return true;
}

// Devices since sm_70 wait only for threads that have not exited, so this is legal, but it is rarely
// meant: an error when strict.
void thread_left_block(unsigned linear)
{
    block.exited[linear] = true;
    if (!block.at_barrier.empty() && block.at_barrier.size() == block.live) {
        if (options.strict) {
            die("%s: thread %u exited while the others wait at the barrier %s",
                describe_block().c_str(), linear, text_of(block.barrier_site).c_str());
        }
        release_barrier();
    }
    const unsigned warp = linear / 32;
    for (size_t i = 0; !options.strict && i < block.meetings[warp].size();) {
        WarpMeeting *meeting = block.meetings[warp][i];
        if (lanes_all_exited(warp, meeting->mask & ~meeting->arrived)) {
            close_meeting(warp, meeting);
        } else {
            i++;
        }
    }
}

void report_deadlock()
{
    char text[256];
    snprintf(text, sizeof text, ": deadlock: %u of %u threads have not finished", block.live,
             block.n_threads);
    std::string all = describe_block() + text;
    if (!block.at_barrier.empty()) {
        all += "; " + std::to_string(block.at_barrier.size()) + " wait at the barrier " +
               text_of(block.barrier_site);
    }
    for (size_t warp = 0; warp < block.meetings.size(); warp++) {
        for (const WarpMeeting *meeting : block.meetings[warp]) {
            snprintf(text, sizeof text, "; warp %zu: mask %08x, but only lanes %08x came to %s",
                     warp, meeting->mask, meeting->arrived, text_of(meeting->site).c_str());
            all += text;
        }
    }
    die("%s", all.c_str());
}

void device_assert_failed(const char *expression, Site site)
{
    die("device assert(%s) failed at %s: %s", expression, text_of(site).c_str(),
        describe_running_thread().c_str());
}

void device_trap(Site site)
{
    die("__trap() at %s: %s", text_of(site).c_str(), describe_running_thread().c_str());
}

} // namespace hc
