// cublas.cpp - the part of cuBLAS that is used, over the CPU's BLAS: handles and level-1 vectors;
// matrix products are in cublas_gemm.cpp. Column-major, 32-bit counts.
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include <cblas.h>

#include "blas_handle.h"

namespace hc
{

static auto &handles = leaky<std::set<cublasHandle_t>>();

cublasStatus_t enter_blas(const char *function, cublasHandle_t handle)
{
    switch (enter(Kind::blas, function)) {
    case cudaSuccess:
        break;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
        return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
        return CUBLAS_STATUS_EXECUTION_FAILED; // injected
    }
    if (!handles.count(handle)) {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t queue(cublasHandle_t handle, const char *function,
                     std::initializer_list<std::pair<const void *, size_t>> ranges,
                     std::function<void()> work)
{
    if (handle->device != current_device) {
        note("%s: the handle was made on device %d, the current device is %d", function,
             handle->device, current_device);
        return CUBLAS_STATUS_EXECUTION_FAILED;
    }
    return enqueue_library_call(handle->stream, function, ranges, std::move(work)) == cudaSuccess
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_EXECUTION_FAILED;
}

// ---- vectors -----------------------------------------------------------------------------------
static double dot(int n, const double *x, int ix, const double *y, int iy)
{
    return cblas_ddot(n, x, ix, y, iy);
}
static float dot(int n, const float *x, int ix, const float *y, int iy)
{
    return cblas_sdot(n, x, ix, y, iy);
}
static double norm(int n, const double *x, int ix)
{
    return cblas_dnrm2(n, x, ix);
}
static float norm(int n, const float *x, int ix)
{
    return cblas_snrm2(n, x, ix);
}
static double sum_abs(int n, const double *x, int ix)
{
    return cblas_dasum(n, x, ix);
}
static float sum_abs(int n, const float *x, int ix)
{
    return cblas_sasum(n, x, ix);
}
static void add_multiple(int n, double a, const double *x, int ix, double *y, int iy)
{
    cblas_daxpy(n, a, x, ix, y, iy);
}
static void add_multiple(int n, float a, const float *x, int ix, float *y, int iy)
{
    cblas_saxpy(n, a, x, ix, y, iy);
}

template <class T> static size_t vector_bytes(int n, int increment)
{
    return n > 0 ? ((size_t)(n - 1) * (size_t)std::abs(increment) + 1) * sizeof(T) : 0;
}

// A result on the host makes the call wait; one on the device does not.
template <class T>
static cublasStatus_t queue_reduction(cublasHandle_t handle, const char *function,
                                      std::initializer_list<std::pair<const void *, size_t>> ranges,
                                      T *result, std::function<T()> compute)
{
    cublasStatus_t status;
    if (device_scalars(handle)) {
        int device;
        if (!check_range(result, sizeof(T), function, &device) || device != handle->device) {
            return CUBLAS_STATUS_EXECUTION_FAILED;
        }
        return queue(handle, function, ranges, [=] {
            DeviceOpen open(device);
            *result = compute();
        });
    }
    if (owner(result) >= 0) {
        note("%s: the result is device memory, the pointer mode says host", function);
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    status = queue(handle, function, ranges, [=] { *result = compute(); });
    Stream *stream = find_stream(handle->stream);
    if (status == CUBLAS_STATUS_SUCCESS) {
        run_until(stream, stream->enqueued);
    }
    return status;
}

template <class T>
static cublasStatus_t queue_dot(cublasHandle_t handle, const char *function, int n, const T *x,
                                int ix, const T *y, int iy, T *result)
{
    return queue_reduction<T>(handle, function,
                              {{x, vector_bytes<T>(n, ix)}, {y, vector_bytes<T>(n, iy)}}, result,
                              [=] { return n > 0 ? dot(n, x, ix, y, iy) : T(0); });
}

template <class T>
static cublasStatus_t queue_axpy(cublasHandle_t handle, const char *function, int n, const T *alpha,
                                 const T *x, int ix, T *y, int iy)
{
    const Scalar<T> a(handle, alpha);
    return queue(handle, function,
                 {{x, vector_bytes<T>(n, ix)}, {y, vector_bytes<T>(n, iy)}, a.range()},
                 [=] { add_multiple(n, a.get(), x, ix, y, iy); });
}

template <class T>
static cublasStatus_t queue_scal(cublasHandle_t handle, const char *function, int n, const T *alpha,
                                 T *x, int ix)
{
    const Scalar<T> a(handle, alpha);
    return queue(handle, function, {{x, vector_bytes<T>(n, ix)}, a.range()}, [=] {
        for (long long i = 0; i < n; i++) {
            x[i * ix] *= a.get();
        }
    });
}

template <class T>
static cublasStatus_t queue_copy(cublasHandle_t handle, const char *function, int n, const T *x,
                                 int ix, T *y, int iy)
{
    return queue(handle, function, {{x, vector_bytes<T>(n, ix)}, {y, vector_bytes<T>(n, iy)}}, [=] {
        for (long long i = 0; i < n; i++) {
            y[i * iy] = x[i * ix];
        }
    });
}

template <class T>
static cublasStatus_t queue_gemv(cublasHandle_t handle, const char *function, cublasOperation_t op,
                                 int m, int n, const T *alpha, const T *a, int lda, const T *x,
                                 int ix, const T *beta, T *y, int iy)
{
    if (m < 0 || n < 0 || lda < std::max(1, m) || ix < 1 || iy < 1) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    const Scalar<T> al(handle, alpha), be(handle, beta);
    const int out = op == CUBLAS_OP_N ? m : n, in = op == CUBLAS_OP_N ? n : m;
    return queue(handle, function,
                 {{a, matrix_elements(m, n, lda) * sizeof(T)},
                  {x, vector_bytes<T>(in, ix)},
                  {y, vector_bytes<T>(out, iy)},
                  al.range(),
                  be.range()},
                 [=] {
                     for (long long i = 0; i < out; i++) {
                         T sum = 0;
                         for (long long j = 0; j < in; j++) {
                             sum +=
                                 (op == CUBLAS_OP_N ? a[i + j * lda] : a[j + i * lda]) * x[j * ix];
                         }
                         const T old = be.get() == T(0) ? T(0) : be.get() * y[i * iy];
                         y[i * iy] = al.get() * sum + old;
                     }
                 });
}

} // namespace hc

using namespace hc;

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
    Lock lock(layer_lock());
    *handle = nullptr;
    switch (enter(Kind::blas, __func__)) {
    case cudaSuccess:
        break;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
        return CUBLAS_STATUS_NOT_INITIALIZED;
    default:
        return CUBLAS_STATUS_ALLOC_FAILED; // injected
    }
    *handle =
        new cublasContext{current_device, nullptr, CUBLAS_POINTER_MODE_HOST, CUBLAS_DEFAULT_MATH};
    handles.insert(*handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
    Lock lock(layer_lock());
    if (!handles.erase(handle)) {
        return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    run_device(handle->device);
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int *version)
{
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
    HC_ENTER_BLAS(handle);
    handle->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t *stream)
{
    HC_ENTER_BLAS(handle);
    *stream = handle->stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
    HC_ENTER_BLAS(handle);
    handle->pointer_mode = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
    HC_ENTER_BLAS(handle);
    *mode = handle->pointer_mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode)
{
    HC_ENTER_BLAS(handle);
    handle->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t *mode)
{
    HC_ENTER_BLAS(handle);
    *mode = handle->math;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t)
{
    HC_ENTER_BLAS(handle);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
    HC_ENTER_BLAS(handle);
    int device;
    if (bytes && (!check_range(workspace, bytes, "cublasSetWorkspace", &device) || device < 0)) {
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusString(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "the GPU program failed to execute";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "the functionality requested is not supported";
    default:
        return "an internal operation failed";
    }
}

const char *cublasGetStatusName(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    }
}

#define HC_VECTORS(S, T)                                                                           \
    cublasStatus_t cublas##S##dot_v2(cublasHandle_t handle, int n, const T *x, int ix, const T *y, \
                                     int iy, T *result)                                            \
    {                                                                                              \
        HC_ENTER_BLAS(handle);                                                                     \
        return queue_dot<T>(handle, __func__, n, x, ix, y, iy, result);                            \
    }                                                                                              \
    cublasStatus_t cublas##S##nrm2_v2(cublasHandle_t handle, int n, const T *x, int ix, T *result) \
    {                                                                                              \
        HC_ENTER_BLAS(handle);                                                                     \
        return queue_reduction<T>(handle, __func__, {{x, vector_bytes<T>(n, ix)}}, result,         \
                                  [=] { return n > 0 ? norm(n, x, ix) : T(0); });                  \
    }                                                                                              \
    cublasStatus_t cublas##S##asum_v2(cublasHandle_t handle, int n, const T *x, int ix, T *result) \
    {                                                                                              \
        HC_ENTER_BLAS(handle);                                                                     \
        return queue_reduction<T>(handle, __func__, {{x, vector_bytes<T>(n, ix)}}, result,         \
                                  [=] { return n > 0 ? sum_abs(n, x, ix) : T(0); });               \
    }                                                                                              \
    cublasStatus_t cublas##S##axpy_v2(cublasHandle_t handle, int n, const T *alpha, const T *x,    \
                                      int ix, T *y, int iy)                                        \
    {                                                                                              \
        HC_ENTER_BLAS(handle);                                                                     \
        return queue_axpy<T>(handle, __func__, n, alpha, x, ix, y, iy);                            \
    }                                                                                              \
    cublasStatus_t cublas##S##scal_v2(cublasHandle_t handle, int n, const T *alpha, T *x, int ix)  \
    {                                                                                              \
        HC_ENTER_BLAS(handle);                                                                     \
        return queue_scal<T>(handle, __func__, n, alpha, x, ix);                                   \
    }                                                                                              \
    cublasStatus_t cublas##S##copy_v2(cublasHandle_t handle, int n, const T *x, int ix, T *y,      \
                                      int iy)                                                      \
    {                                                                                              \
        HC_ENTER_BLAS(handle);                                                                     \
        return queue_copy<T>(handle, __func__, n, x, ix, y, iy);                                   \
    }                                                                                              \
    cublasStatus_t cublas##S##gemv_v2(cublasHandle_t handle, cublasOperation_t op, int m, int n,   \
                                      const T *alpha, const T *a, int lda, const T *x, int ix,     \
                                      const T *beta, T *y, int iy)                                 \
    {                                                                                              \
        HC_ENTER_BLAS(handle);                                                                     \
        return queue_gemv<T>(handle, __func__, op, m, n, alpha, a, lda, x, ix, beta, y, iy);       \
    }
HC_VECTORS(S, float)
HC_VECTORS(D, double)

} // extern "C"
