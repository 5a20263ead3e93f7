// memory_api.cpp - the CUDA interface to device and pinned memory (memory.cpp).
#include <cstdlib>
#include <cstring>

#include "arena.h"

using namespace hc;

extern "C" {

cudaError_t cudaMalloc(void **pointer, size_t size)
{
    HC_ENTER(Kind::alloc);
    return allocate(pointer, size);
}

cudaError_t cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height)
{
    HC_ENTER(Kind::alloc);
    *pitch = round_up(width, granule);
    return allocate(pointer, *pitch * height);
}

cudaError_t cudaFree(void *pointer)
{
    HC_ENTER(Kind::none);
    if (!pointer) {
        return cudaSuccess;
    }
    int device;
    size_t offset;
    if (!find_start(pointer, "cudaFree", &device, &offset)) {
        return set_error(cudaErrorInvalidValue);
    }
    run_device(device); // freeing waits for the device
    release(device, offset);
    return cudaSuccess;
}

// Memory of the pool is there at once; that it may only be used in stream order is not checked.
cudaError_t cudaMallocAsync(void **pointer, size_t size, cudaStream_t stream)
{
    HC_ENTER(Kind::alloc);
    if (!find_stream(stream)) {
        return set_error(cudaErrorInvalidResourceHandle);
    }
    return allocate(pointer, size);
}

cudaError_t cudaFreeAsync(void *pointer, cudaStream_t handle)
{
    HC_ENTER(Kind::none);
    Stream *stream = find_stream(handle);
    if (!stream) {
        return set_error(cudaErrorInvalidResourceHandle);
    }
    if (!pointer) {
        return cudaSuccess;
    }
    int device;
    size_t offset;
    if (!find_start(pointer, "cudaFreeAsync", &device, &offset)) {
        return set_error(cudaErrorInvalidValue);
    }
    devices()[(size_t)device].live[offset].free_pending = true;
    Operation operation;
    operation.run = [=] { release(device, offset); };
    enqueue(stream, std::move(operation));
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **pointer, size_t size, unsigned int)
{
    HC_ENTER(Kind::pinned);
    return allocate_pinned(pointer, size);
}

cudaError_t cudaMallocHost(void **pointer, size_t size)
{
    HC_ENTER(Kind::pinned);
    return allocate_pinned(pointer, size);
}

cudaError_t cudaFreeHost(void *pointer)
{
    HC_ENTER(Kind::none);
    if (!pointer) {
        return cudaSuccess;
    }
    auto it = pinned.find((char *)pointer);
    if (it == pinned.end() || it->second.registered) {
        note("cudaFreeHost: %p was not allocated by cudaHostAlloc; called at %s", pointer,
             describe_call_stack(take_call_stack()).c_str());
        return set_error(cudaErrorInvalidValue);
    }
    run_all(); // waits for the devices
    pinned.erase(it);
    free(pointer);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *pointer, size_t size, unsigned int)
{
    HC_ENTER(Kind::pinned);
    if (!pointer || size == 0) {
        return set_error(cudaErrorInvalidValue);
    }
    if (is_pinned(pointer)) {
        return set_error(cudaErrorHostMemoryAlreadyRegistered);
    }
    pinned[(char *)pointer] = Pinned{size, true, take_call_stack()};
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void *pointer)
{
    HC_ENTER(Kind::none);
    auto it = pinned.find((char *)pointer);
    if (it == pinned.end() || !it->second.registered) {
        return set_error(cudaErrorHostMemoryNotRegistered);
    }
    run_all();
    pinned.erase(it);
    return cudaSuccess;
}

cudaError_t cudaHostGetDevicePointer(void **device_pointer, void *host_pointer, unsigned int)
{
    HC_ENTER(Kind::device);
    if (!is_pinned(host_pointer)) {
        return set_error(cudaErrorInvalidValue);
    }
    *device_pointer = host_pointer;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *pointer)
{
    HC_ENTER(Kind::device);
    memset(attributes, 0, sizeof *attributes);
    const int device = owner(pointer);
    attributes->device = device < 0 ? current_device : device;
    if (device >= 0) {
        attributes->type = cudaMemoryTypeDevice;
        attributes->devicePointer = (void *)pointer;
    } else {
        const bool known = is_pinned(pointer);
        attributes->type = known ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
        attributes->hostPointer = (void *)pointer;
        attributes->devicePointer = known ? (void *)pointer : nullptr;
    }
    return cudaSuccess;
}

} // extern "C"
