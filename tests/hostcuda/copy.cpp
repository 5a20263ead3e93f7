// copy.cpp - copies and memset. Copies from and to pinned memory are deferred like kernels; copies
// from pageable memory take their data at the call, copies to pageable memory complete in it.
#include <cstring>
#include <memory>

#include "layer.h"

namespace hc
{

struct Copy {
    char *to;
    size_t to_pitch;
    const char *from;
    size_t from_pitch;
    size_t width, height;
    int to_device, from_device; // -1: host

    bool flat() const
    {
        return height == 1 || (to_pitch == width && from_pitch == width);
    }
    size_t to_bytes() const
    {
        return height ? to_pitch * (height - 1) + width : 0;
    }
    size_t from_bytes() const
    {
        return height ? from_pitch * (height - 1) + width : 0;
    }
    void run() const
    {
        DeviceOpen a(to_device), b(from_device);
        if (flat()) {
            memmove(to, from, width * height);
            return;
        }
        for (size_t i = 0; i < height; i++) {
            memmove(to + i * to_pitch, from + i * from_pitch, width);
        }
    }
};

static bool kind_matches(cudaMemcpyKind kind, int to_device, int from_device)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
        return to_device < 0 && from_device < 0;
    case cudaMemcpyHostToDevice:
        return to_device >= 0 && from_device < 0;
    case cudaMemcpyDeviceToHost:
        return to_device < 0 && from_device >= 0;
    case cudaMemcpyDeviceToDevice:
        return to_device >= 0 && from_device >= 0;
    default:
        return true;
    }
}

// A host buffer that a queued copy will write holds nothing a program may look at: NaN. Not where
// an operation that is queued before still has to read it.
static void poison_destination(const Copy &copy)
{
    if (!options.fill || options.streams == Mode::eager ||
        host_read_pending(copy.to, copy.to_bytes())) {
        return;
    }
    for (size_t i = 0; i < copy.height; i++) {
        memset(copy.to + i * copy.to_pitch, 0xff, copy.width);
    }
}

static cudaError_t enqueue_copy(Copy copy, cudaMemcpyKind kind, cudaStream_t handle, bool wait)
{
    Stream *stream = find_stream(handle);
    if (!stream) {
        return set_error(cudaErrorInvalidResourceHandle);
    }
    if (copy.width == 0 || copy.height == 0) {
        return cudaSuccess;
    }
    if (copy.width > copy.to_pitch || copy.width > copy.from_pitch) {
        return set_error(cudaErrorInvalidPitchValue);
    }
    if (!copy.to || !copy.from ||
        !check_range(copy.to, copy.to_bytes(), "copy destination", &copy.to_device) ||
        !check_range(copy.from, copy.from_bytes(), "copy source", &copy.from_device)) {
        return set_error(cudaErrorInvalidValue);
    }
    if (!kind_matches(kind, copy.to_device, copy.from_device)) {
        note("copy: kind %d does not fit: destination %s, source %s; called at %s", (int)kind,
             copy.to_device < 0 ? "host" : "device", copy.from_device < 0 ? "host" : "device",
             describe_call_stack(take_call_stack()).c_str());
        return set_error(cudaErrorInvalidMemcpyDirection);
    }
    const bool to_host = copy.to_device < 0, from_host = copy.from_device < 0;
    wait = wait || (to_host && !is_pinned(copy.to));
    Operation operation;
    if (from_host && is_pinned(copy.from)) {
        operation.reads = {copy.from, copy.from_bytes()};
    } else if (from_host && !wait) { // the caller may reuse pageable memory at once
        std::shared_ptr<std::vector<char>> staging(new std::vector<char>(copy.width * copy.height));
        Copy stage = copy;
        stage.to = staging->data();
        stage.to_pitch = copy.width;
        stage.to_device = -1;
        stage.run();
        copy.from = staging->data();
        copy.from_pitch = copy.width;
        operation.run = [copy, staging] { copy.run(); };
    }
    if (!operation.run) {
        operation.run = [copy] { copy.run(); };
    }
    if (to_host && !wait) {
        poison_destination(copy);
    }
    enqueue(stream, std::move(operation));
    if (wait) {
        run_until(stream, stream->enqueued);
    }
    return cudaSuccess;
}

static cudaError_t copy_1d(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                           cudaStream_t stream, bool wait)
{
    const Copy copy = {(char *)to, bytes, (const char *)from, bytes, bytes, 1, -1, -1};
    return enqueue_copy(copy, kind, stream, wait);
}

static cudaError_t set_bytes(void *pointer, size_t pitch, int value, size_t width, size_t height,
                             cudaStream_t handle)
{
    Stream *stream = find_stream(handle);
    if (!stream) {
        return set_error(cudaErrorInvalidResourceHandle);
    }
    if (width == 0 || height == 0) {
        return cudaSuccess;
    }
    int device;
    if (!pointer || !check_range(pointer, pitch * (height - 1) + width, "memset", &device)) {
        return set_error(cudaErrorInvalidValue);
    }
    if (device < 0) {
        note("memset: %p is not device memory; called at %s", pointer,
             describe_call_stack(take_call_stack()).c_str());
        return set_error(cudaErrorInvalidValue);
    }
    Operation operation;
    operation.run = [=] {
        DeviceOpen open(device);
        for (size_t i = 0; i < height; i++) {
            memset((char *)pointer + i * pitch, value, width);
        }
    };
    enqueue(stream, std::move(operation));
    return cudaSuccess;
}

} // namespace hc

using namespace hc;

extern "C" {

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    HC_ENTER(Kind::copy);
    return copy_1d(to, from, bytes, kind, nullptr, true);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    HC_ENTER(Kind::copy);
    return copy_1d(to, from, bytes, kind, stream, false);
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind)
{
    HC_ENTER(Kind::copy);
    return enqueue_copy(
        {(char *)to, to_pitch, (const char *)from, from_pitch, width, height, -1, -1}, kind,
        nullptr, true);
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream)
{
    HC_ENTER(Kind::copy);
    return enqueue_copy(
        {(char *)to, to_pitch, (const char *)from, from_pitch, width, height, -1, -1}, kind, stream,
        false);
}

cudaError_t cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes)
{
    HC_ENTER(Kind::copy);
    return copy_1d(to, from, bytes, cudaMemcpyDeviceToDevice, nullptr, true);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes,
                                cudaStream_t stream)
{
    HC_ENTER(Kind::copy);
    return copy_1d(to, from, bytes, cudaMemcpyDeviceToDevice, stream, false);
}

// Variables of the device are ordinary variables here.
cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                               cudaMemcpyKind)
{
    HC_ENTER(Kind::copy);
    return copy_1d((char *)symbol + offset, from, bytes, cudaMemcpyDefault, nullptr, true);
}

cudaError_t cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                                    size_t offset, cudaMemcpyKind, cudaStream_t stream)
{
    HC_ENTER(Kind::copy);
    return copy_1d((char *)symbol + offset, from, bytes, cudaMemcpyDefault, stream, false);
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind)
{
    HC_ENTER(Kind::copy);
    return copy_1d(to, (const char *)symbol + offset, bytes, cudaMemcpyDefault, nullptr, true);
}

// Also cudaMemset returns before the work is done.
cudaError_t cudaMemset(void *pointer, int value, size_t bytes)
{
    HC_ENTER(Kind::copy);
    return set_bytes(pointer, bytes, value, bytes, 1, nullptr);
}

cudaError_t cudaMemsetAsync(void *pointer, int value, size_t bytes, cudaStream_t stream)
{
    HC_ENTER(Kind::copy);
    return set_bytes(pointer, bytes, value, bytes, 1, stream);
}

cudaError_t cudaMemset2DAsync(void *pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream)
{
    HC_ENTER(Kind::copy);
    return set_bytes(pointer, pitch, value, width, height, stream);
}

} // extern "C"
