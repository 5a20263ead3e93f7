// blas_handle.h - handles of the cuBLAS stand-in, shared by cublas.cpp (handles, vectors) and cublas_gemm.cpp (matrix products).
#ifndef HOSTCUDA_BLAS_HANDLE_H
#define HOSTCUDA_BLAS_HANDLE_H

#include <functional>
#include <initializer_list>
#include <utility>

#include <cublas_v2.h>

#include "layer.h"

struct cublasContext {
    int device;
    cudaStream_t stream;
    cublasPointerMode_t pointer_mode;
    cublasMath_t math;
};

namespace hc
{

cublasStatus_t enter_blas(const char *function, cublasHandle_t handle);
#define HC_ENTER_BLAS(handle)                                                                      \
    Lock lock(layer_lock());                                                                       \
    {                                                                                              \
        const cublasStatus_t entered = enter_blas(__func__, (handle));                             \
        if (entered != CUBLAS_STATUS_SUCCESS) {                                                    \
            return entered;                                                                        \
        }                                                                                          \
    }

// Queues work on the handle's stream; it touches these ranges.
cublasStatus_t queue(cublasHandle_t handle, const char *function,
                     std::initializer_list<std::pair<const void *, size_t>> ranges,
                     std::function<void()> work);

inline bool device_scalars(cublasHandle_t handle)
{
    return handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE;
}

// A factor: its value now (host pointer mode) or where to find it when the work runs.
template <class T> struct Scalar {
    T value;
    const T *device;
    Scalar(cublasHandle_t handle, const T *p)
        : value(device_scalars(handle) ? T(0) : *p), device(device_scalars(handle) ? p : nullptr)
    {
    }
    T get() const
    {
        return device ? *device : value;
    }
    std::pair<const void *, size_t> range() const
    {
        return {device, device ? sizeof(T) : 0};
    }
};

inline size_t matrix_elements(int rows, int columns, int ld)
{
    return rows > 0 && columns > 0 ? (size_t)ld * (size_t)(columns - 1) + (size_t)rows : 0;
}

} // namespace hc

#endif
