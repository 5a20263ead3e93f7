// device.cpp - simulated devices: count, choice, properties, errors, the common entry of all calls.
#include <cstdio>
#include <cstring>

#include "layer.h"

namespace hc
{

thread_local int current_device = 0;
static thread_local cudaError_t last_error = cudaSuccess;

cudaError_t set_error(cudaError_t error)
{
    if (error != cudaSuccess) {
        last_error = error;
    }
    return error;
}

cudaError_t enter(Kind kind, const char *function)
{
    initialise();
    if (options.no_driver) {
        return set_error(cudaErrorInsufficientDriver);
    }
    if (devices().empty()) {
        return set_error(cudaErrorNoDevice);
    }
    install_fault_handler();
    if (kernel_running()) {
        die("%s called from %s", function, describe_running_thread().c_str());
    }
    return call_fails(kind, function) ? set_error(injected_error(kind)) : cudaSuccess;
}

static bool exists(int device)
{
    return device >= 0 && device < (int)devices().size();
}

struct AttributeValue {
    cudaDeviceAttr attribute;
    int value;
};

static std::vector<AttributeValue> attribute_values(int device)
{
    return {
        {cudaDevAttrMaxThreadsPerBlock, 1024},
        {cudaDevAttrMaxBlockDimX, 1024},
        {cudaDevAttrMaxBlockDimY, 1024},
        {cudaDevAttrMaxBlockDimZ, 64},
        {cudaDevAttrMaxGridDimX, 2147483647},
        {cudaDevAttrMaxGridDimY, 65535},
        {cudaDevAttrMaxGridDimZ, 65535},
        {cudaDevAttrMaxSharedMemoryPerBlock, (int)options.shared_default},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)options.shared_optin},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (int)options.shared_multiprocessor},
        {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
        {cudaDevAttrTotalConstantMemory, 65536},
        {cudaDevAttrWarpSize, 32},
        {cudaDevAttrMaxRegistersPerBlock, 65536},
        {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
        {cudaDevAttrMultiProcessorCount, options.multiprocessors},
        {cudaDevAttrMaxThreadsPerMultiProcessor, 2048},
        {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
        {cudaDevAttrL2CacheSize, 50 << 20},
        {cudaDevAttrMemoryClockRate, 1593000},
        {cudaDevAttrClockRate, 1755000},
        {cudaDevAttrGlobalMemoryBusWidth, 5120},
        {cudaDevAttrComputeCapabilityMajor, options.arch_major},
        {cudaDevAttrComputeCapabilityMinor, options.arch_minor},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrAsyncEngineCount, 3},
        {cudaDevAttrCanMapHostMemory, 1},
        {cudaDevAttrMemoryPoolsSupported, 1},
        {cudaDevAttrManagedMemory, 0},
        {cudaDevAttrConcurrentManagedAccess, 0},
        {cudaDevAttrPageableMemoryAccess, 0},
        {cudaDevAttrCooperativeLaunch, 0},
        {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
        {cudaDevAttrEccEnabled, 1},
        {cudaDevAttrIntegrated, 0},
        {cudaDevAttrPciBusId, device + 1},
        {cudaDevAttrPciDeviceId, 0},
        {cudaDevAttrPciDomainId, 0},
        {cudaDevAttrComputeMode, 0},
        {cudaDevAttrTextureAlignment, 512},
    };
}

} // namespace hc

using namespace hc;

extern "C" {

// Without a driver the count is left untouched, as the real library does.
cudaError_t cudaGetDeviceCount(int *count)
{
    Lock lock(layer_lock());
    const cudaError_t entered = enter(Kind::device, __func__);
    if (entered == cudaErrorNoDevice) {
        *count = 0;
    }
    if (entered != cudaSuccess) {
        return entered;
    }
    *count = (int)devices().size();
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    HC_ENTER(Kind::device);
    if (!exists(device)) {
        return set_error(cudaErrorInvalidDevice);
    }
    current_device = device;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *device)
{
    HC_ENTER(Kind::device);
    *device = current_device;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device)
{
    HC_ENTER(Kind::device);
    if (!exists(device)) {
        return set_error(cudaErrorInvalidDevice);
    }
    cudaDeviceProp p;
    memset(&p, 0, sizeof p);
    snprintf(p.name, sizeof p.name, "simulated device %d (host-CUDA layer)", device);
    p.totalGlobalMem = options.memory;
    p.sharedMemPerBlock = options.shared_default;
    p.sharedMemPerBlockOptin = options.shared_optin;
    p.sharedMemPerMultiprocessor = options.shared_multiprocessor;
    p.reservedSharedMemPerBlock = 1024;
    p.regsPerBlock = p.regsPerMultiprocessor = 65536;
    p.warpSize = 32;
    p.maxThreadsPerBlock = p.maxThreadsDim[0] = p.maxThreadsDim[1] = 1024;
    p.maxThreadsDim[2] = 64;
    p.maxGridSize[0] = 2147483647;
    p.maxGridSize[1] = p.maxGridSize[2] = 65535;
    p.maxThreadsPerMultiProcessor = 2048;
    p.maxBlocksPerMultiProcessor = 32;
    p.multiProcessorCount = options.multiprocessors;
    p.totalConstMem = 65536;
    p.major = options.arch_major;
    p.minor = options.arch_minor;
    p.l2CacheSize = 50 << 20;
    p.memoryBusWidth = 5120;
    p.memPitch = 2147483647;
    p.textureAlignment = 512;
    p.concurrentKernels = p.unifiedAddressing = p.canMapHostMemory = 1;
    p.memoryPoolsSupported = p.ECCEnabled = p.hostRegisterSupported = 1;
    p.asyncEngineCount = 3;
    p.pciBusID = device + 1;
    memcpy(p.uuid.bytes, "hostcuda-device", 15);
    p.uuid.bytes[15] = (char)device;
    *properties = p;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device)
{
    HC_ENTER(Kind::device);
    if (!exists(device)) {
        return set_error(cudaErrorInvalidDevice);
    }
    for (const AttributeValue &known : attribute_values(device)) {
        if (known.attribute == attribute) {
            *value = known.value;
            return cudaSuccess;
        }
    }
    note("cudaDeviceGetAttribute: attribute %d is not modelled", (int)attribute);
    return set_error(cudaErrorInvalidValue);
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device)
{
    HC_ENTER(Kind::device);
    if (!exists(device)) {
        return set_error(cudaErrorInvalidDevice);
    }
    snprintf(id, (size_t)length, "0000:%02x:00.0", (unsigned)(device + 1));
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes)
{
    HC_ENTER(Kind::device);
    *total_bytes = options.memory;
    *free_bytes = options.memory - devices()[(size_t)current_device].used;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int other)
{
    HC_ENTER(Kind::device);
    if (!exists(device) || !exists(other)) {
        return set_error(cudaErrorInvalidDevice);
    }
    *can = device != other;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int other, unsigned int flags)
{
    HC_ENTER(Kind::device);
    if (!exists(other) || other == current_device) {
        return set_error(cudaErrorInvalidDevice);
    }
    if (flags != 0) {
        return set_error(cudaErrorInvalidValue);
    }
    std::vector<bool> &peer = devices()[(size_t)current_device].peer;
    if (peer[(size_t)other]) {
        return set_error(cudaErrorPeerAccessAlreadyEnabled);
    }
    peer[(size_t)other] = true;
    return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int other)
{
    HC_ENTER(Kind::none);
    if (!exists(other)) {
        return set_error(cudaErrorInvalidDevice);
    }
    std::vector<bool> &peer = devices()[(size_t)current_device].peer;
    if (!peer[(size_t)other]) {
        return set_error(cudaErrorPeerAccessNotEnabled);
    }
    run_device(current_device);
    peer[(size_t)other] = false;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int)
{
    HC_ENTER(Kind::device);
    return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit, size_t)
{
    HC_ENTER(Kind::device);
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    HC_ENTER(Kind::sync);
    run_device(current_device);
    return cudaSuccess;
}

cudaError_t cudaDeviceReset(void)
{
    HC_ENTER(Kind::none);
    run_device(current_device);
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    *version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version)
{
    Lock lock(layer_lock());
    initialise();
    *version = options.no_driver ? 0 : CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error;
}

#define HC_ERRORS(X)                                                                               \
    X(cudaSuccess, "no error")                                                                     \
    X(cudaErrorInvalidValue, "invalid argument")                                                   \
    X(cudaErrorMemoryAllocation, "out of memory")                                                  \
    X(cudaErrorInitializationError, "initialization error")                                        \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")                             \
    X(cudaErrorInvalidPitchValue, "invalid pitch argument")                                        \
    X(cudaErrorInvalidSymbol, "invalid device symbol")                                             \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                        \
    X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version") \
    X(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable")            \
    X(cudaErrorInvalidDeviceFunction, "invalid device function")                                   \
    X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                     \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                            \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")                                   \
    X(cudaErrorNotReady, "device not ready")                                                       \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                         \
    X(cudaErrorLaunchOutOfResources, "too many resources requested for launch")                    \
    X(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled")                         \
    X(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled")                           \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                                        \
    X(cudaErrorHostMemoryAlreadyRegistered,                                                        \
      "part or all of the requested memory range is already mapped")                               \
    X(cudaErrorHostMemoryNotRegistered,                                                            \
      "pointer does not correspond to a registered memory region")                                 \
    X(cudaErrorNotPermitted, "operation not permitted")                                            \
    X(cudaErrorNotSupported, "operation not supported")                                            \
    X(cudaErrorUnknown, "unknown error")

const char *cudaGetErrorName(cudaError_t error)
{
    switch (error) {
#define HC_NAME(code, text)                                                                        \
    case code:                                                                                     \
        return #code;
        HC_ERRORS(HC_NAME)
    default:
        return "unrecognized error code";
    }
}

const char *cudaGetErrorString(cudaError_t error)
{
    switch (error) {
#define HC_STRING(code, text)                                                                      \
    case code:                                                                                     \
        return text;
        HC_ERRORS(HC_STRING)
    default:
        return "unrecognized error code";
    }
}

} // extern "C"
