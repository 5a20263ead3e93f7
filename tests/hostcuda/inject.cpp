// inject.cpp - makes the n-th call fail, of all calls (HC_FAIL_CALL=n) or of one kind
// (HC_FAIL_ALLOC=n, HC_FAIL_LAUNCH=n, ...), and counts calls. Programs may also ask through
// control.h. Calls that only give something back (free, destroy) are never made to fail.
#include <cstdlib>

#include "control.h"
#include "layer.h"

namespace hc
{

static const int n_kinds = 11;
static const char *const kind_names[n_kinds] = {"none",   "DEVICE", "ALLOC", "PINNED",
                                                "COPY",   "STREAM", "EVENT", "SYNC",
                                                "LAUNCH", "FFT",    "BLAS"};

struct Injection {
    bool read = false;
    long calls[n_kinds] = {}; // [0] counts all kinds
    long fail_at[n_kinds] = {};
    bool failed = false;
};
static Injection state;

static void read_environment()
{
    if (state.read) {
        return;
    }
    state.read = true;
    for (int k = 0; k < n_kinds; k++) {
        const std::string name = std::string("HC_FAIL_") + (k ? kind_names[k] : "CALL");
        if (const char *text = getenv(name.c_str())) {
            state.fail_at[k] = atol(text);
        }
    }
}

bool call_fails(Kind kind, const char *function)
{
    read_environment();
    if (kind == Kind::none) {
        return false;
    }
    const int k = (int)kind;
    state.calls[0]++;
    state.calls[k]++;
    if (options.trace) {
        note("call %ld: %s (%s %ld)", state.calls[0], function, kind_names[k], state.calls[k]);
    }
    const bool fails = state.calls[0] == state.fail_at[0] || state.calls[k] == state.fail_at[k];
    if (fails) {
        state.failed = true;
        note("injected failure: call %ld, %s (%s %ld)", state.calls[0], function, kind_names[k],
             state.calls[k]);
    }
    return fails;
}

cudaError_t injected_error(Kind kind)
{
    switch (kind) {
    case Kind::alloc:
    case Kind::pinned:
        return cudaErrorMemoryAllocation;
    case Kind::launch:
        return cudaErrorLaunchOutOfResources;
    case Kind::sync:
    case Kind::copy:
        return cudaErrorLaunchFailure; // an earlier asynchronous failure shows here
    case Kind::device:
        return cudaErrorDevicesUnavailable;
    default:
        return cudaErrorUnknown;
    }
}

} // namespace hc

extern "C" {

void hostcuda_fail(int kind, long n)
{
    hc::Lock lock(hc::layer_lock());
    hc::read_environment();
    if (kind >= 0 && kind < hc::n_kinds) {
        hc::state.fail_at[kind] = n > 0 ? hc::state.calls[kind] + n : 0;
        hc::state.failed = false;
    }
}

int hostcuda_failed(void)
{
    hc::Lock lock(hc::layer_lock());
    return hc::state.failed;
}

long hostcuda_calls(int kind)
{
    hc::Lock lock(hc::layer_lock());
    return kind >= 0 && kind < hc::n_kinds ? hc::state.calls[kind] : 0;
}

size_t hostcuda_memory_in_use(void)
{
    hc::Lock lock(hc::layer_lock());
    size_t bytes = 0;
    for (const hc::Device &device : hc::devices()) {
        for (const auto &allocation : device.live) {
            bytes += allocation.second.size;
        }
    }
    return bytes;
}

} // extern "C"
