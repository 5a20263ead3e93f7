// stream.cpp - streams and events. An operation waits in its stream's queue until something asks for
// it: at once (eager), at a synchronisation (lazy: a missing one shows as stale data), or at some
// random later call (random).
#include <cstdlib>
#include <memory>

#include "layer.h"

namespace hc
{

static auto &streams = leaky<std::vector<Stream *>>();         // default streams first
static auto &default_streams = leaky<std::vector<Stream *>>(); // by device

struct Event {
    Stream *stream = nullptr; // null: not recorded yet
    uint64_t position = 0;
    double time = 0;
    bool timing = true;
};
static auto &events = leaky<std::vector<Event *>>();

static bool is_legacy(const Stream *stream)
{
    return stream == default_streams[(size_t)stream->device];
}

Stream *find_stream(cudaStream_t handle)
{
    while (default_streams.size() < devices().size()) {
        Stream *stream = new Stream((int)default_streams.size(), false);
        default_streams.push_back(stream);
        streams.push_back(stream);
    }
    if (!handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread) {
        return default_streams[(size_t)current_device];
    }
    for (Stream *stream : streams) {
        if (stream == (Stream *)handle && !stream->destroyed) {
            return stream;
        }
    }
    note("stream %p does not exist or was destroyed; called at %s", (void *)handle,
         describe_call_stack(take_call_stack()).c_str());
    return nullptr;
}

void run_until(Stream *stream, uint64_t count)
{
    while (stream->done < count && !stream->queue.empty()) {
        Operation operation = std::move(stream->queue.front());
        stream->queue.pop_front();
        for (auto &wait : operation.waits) {
            run_until(wait.first, wait.second);
        }
        operation.run();
        stream->done++;
    }
}

void run_device(int device)
{
    for (size_t i = 0; i < streams.size(); i++) {
        if (streams[i]->device == device) {
            run_until(streams[i], streams[i]->enqueued);
        }
    }
}

void run_all()
{
    for (size_t i = 0; i < streams.size(); i++) {
        run_until(streams[i], streams[i]->enqueued);
    }
}

size_t pending_operations()
{
    size_t n = 0;
    for (const Stream *stream : streams) {
        n += stream->queue.size();
    }
    return n;
}

bool host_read_pending(const void *pointer, size_t bytes)
{
    const char *begin = (const char *)pointer;
    for (const Stream *stream : streams) {
        for (const Operation &operation : stream->queue) {
            const HostRange &r = operation.reads;
            if (operation.any_host ||
                (r.bytes && r.begin < begin + bytes && begin < r.begin + r.bytes)) {
                return true;
            }
        }
    }
    return false;
}

// The default stream waits for all blocking streams of its device, and they for it.
static void add_default_stream_rule(Stream *stream, Operation &operation)
{
    if (stream->nonblocking) {
        return;
    }
    for (Stream *other : streams) {
        if (other != stream && other->device == stream->device && !other->nonblocking &&
            (is_legacy(stream) || is_legacy(other)) && other->done < other->enqueued) {
            operation.waits.push_back({other, other->enqueued});
        }
    }
}

void enqueue(Stream *stream, Operation operation)
{
    add_default_stream_rule(stream, operation);
    stream->queue.push_back(std::move(operation));
    stream->enqueued++;
    if (options.streams == Mode::eager) {
        run_until(stream, stream->enqueued);
    } else if (options.streams == Mode::random) {
        for (size_t i = 0; i < streams.size(); i++) {
            Stream *s = streams[i];
            if (s->enqueued > s->done) {
                run_until(s, s->done + random_below((uint32_t)(s->enqueued - s->done + 1)));
            }
        }
    }
}

int stream_device(cudaStream_t handle)
{
    const Stream *stream = find_stream(handle);
    return stream ? stream->device : -1;
}

static Event *find_event(cudaEvent_t handle)
{
    for (Event *event : events) {
        if (event == (Event *)handle) {
            return event;
        }
    }
    note("event %p does not exist or was destroyed; called at %s", (void *)handle,
         describe_call_stack(take_call_stack()).c_str());
    return nullptr;
}

} // namespace hc

using namespace hc;

#define HC_STREAM(name, handle)                                                                    \
    Stream *name = find_stream(handle);                                                            \
    if (!name) {                                                                                   \
        return set_error(cudaErrorInvalidResourceHandle);                                          \
    }
#define HC_EVENT(name, handle)                                                                     \
    Event *name = find_event(handle);                                                              \
    if (!name) {                                                                                   \
        return set_error(cudaErrorInvalidResourceHandle);                                          \
    }

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int)
{
    HC_ENTER(Kind::stream);
    find_stream(nullptr); // default streams come first
    Stream *s = new Stream(current_device, (flags & cudaStreamNonBlocking) != 0);
    streams.push_back(s);
    *stream = (cudaStream_t)s;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    return cudaStreamCreateWithPriority(stream, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithPriority(stream, 0, 0);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    HC_ENTER(Kind::device);
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}

// Does not wait: what is queued runs later. The object stays, events may refer to it.
cudaError_t cudaStreamDestroy(cudaStream_t handle)
{
    HC_ENTER(Kind::none);
    HC_STREAM(stream, handle);
    if (is_legacy(stream)) {
        return set_error(cudaErrorInvalidResourceHandle);
    }
    stream->destroyed = true;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle)
{
    HC_ENTER(Kind::sync);
    HC_STREAM(stream, handle);
    if (is_legacy(stream)) {
        for (size_t i = 0; i < streams.size(); i++) {
            if (streams[i]->device == stream->device && !streams[i]->nonblocking) {
                run_until(streams[i], streams[i]->enqueued);
            }
        }
    }
    run_until(stream, stream->enqueued);
    return cudaSuccess;
}

// Each question lets one more operation run, so that polling comes to an end.
cudaError_t cudaStreamQuery(cudaStream_t handle)
{
    HC_ENTER(Kind::sync);
    HC_STREAM(stream, handle);
    if (stream->done == stream->enqueued) {
        return cudaSuccess;
    }
    run_until(stream, stream->done + 1);
    return cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned int)
{
    HC_ENTER(Kind::event);
    HC_STREAM(stream, handle);
    HC_EVENT(event, event_handle);
    if (!event->stream) {
        return cudaSuccess; // never recorded: nothing to wait for
    }
    Operation operation;
    operation.waits.push_back({event->stream, event->position});
    operation.run = [] {};
    enqueue(stream, std::move(operation));
    return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int *device)
{
    HC_ENTER(Kind::device);
    HC_STREAM(stream, handle);
    *device = stream->device;
    return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned int *flags)
{
    HC_ENTER(Kind::device);
    HC_STREAM(stream, handle);
    *flags = stream->nonblocking ? cudaStreamNonBlocking : cudaStreamDefault;
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void *data)
{
    HC_ENTER(Kind::launch);
    HC_STREAM(stream, handle);
    Operation operation;
    operation.any_host = true;
    operation.run = [=] { function(data); };
    enqueue(stream, std::move(operation));
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    HC_ENTER(Kind::event);
    Event *e = new Event;
    e->timing = !(flags & cudaEventDisableTiming);
    events.push_back(e);
    *event = (cudaEvent_t)e;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, 0);
}

// The object stays: a record of it may still be queued.
cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
    HC_ENTER(Kind::none);
    HC_EVENT(event, handle);
    for (size_t i = 0; i < events.size(); i++) {
        if (events[i] == event) {
            events.erase(events.begin() + (long)i);
            break;
        }
    }
    static auto &graveyard = leaky<std::vector<Event *>>();
    graveyard.push_back(event);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle)
{
    HC_ENTER(Kind::event);
    HC_STREAM(stream, stream_handle);
    HC_EVENT(event, handle);
    event->stream = stream;
    event->position = stream->enqueued + 1;
    Operation operation;
    operation.run = [=] { event->time = wall_seconds(); };
    enqueue(stream, std::move(operation));
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle)
{
    HC_ENTER(Kind::sync);
    HC_EVENT(event, handle);
    if (event->stream) {
        run_until(event->stream, event->position);
    }
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t handle)
{
    HC_ENTER(Kind::sync);
    HC_EVENT(event, handle);
    if (!event->stream || event->stream->done >= event->position) {
        return cudaSuccess;
    }
    run_until(event->stream, event->stream->done + 1);
    return cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end)
{
    HC_ENTER(Kind::event);
    HC_EVENT(a, start);
    HC_EVENT(b, end);
    if (!a->timing || !b->timing || !a->stream || !b->stream) {
        return set_error(cudaErrorInvalidResourceHandle);
    }
    if (a->stream->done < a->position || b->stream->done < b->position) {
        return set_error(cudaErrorNotReady);
    }
    *milliseconds = (float)((b->time - a->time) * 1e3);
    return cudaSuccess;
}

} // extern "C"
