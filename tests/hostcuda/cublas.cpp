// cublas.cpp - the part of cuBLAS that is used, over the CPU's BLAS: handles, matrix products of
// float and double (plain, Ex, strided batches) and level-1 vectors. Column-major, 32-bit counts.
// TF32, where asked for, is modelled by rounding the factors to its 10 bits of mantissa.
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include <cblas.h>
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

static auto &handles = leaky<std::set<cublasHandle_t>>();

static cublasStatus_t enter_blas(const char *function, cublasHandle_t handle)
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
#define HC_ENTER_BLAS(handle)                                                                      \
    Lock lock(layer_lock());                                                                       \
    {                                                                                              \
        const cublasStatus_t entered = enter_blas(__func__, (handle));                             \
        if (entered != CUBLAS_STATUS_SUCCESS) {                                                    \
            return entered;                                                                        \
        }                                                                                          \
    }

static cublasStatus_t queue(cublasHandle_t handle, const char *function,
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

static bool device_scalars(cublasHandle_t handle)
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

// ---- matrix products ---------------------------------------------------------------------------
struct Gemm {
    cublasOperation_t op_a, op_b;
    int m, n, k;
    int lda, ldb, ldc;
    long long stride_a, stride_b, stride_c;
    int batch;
    bool tf32;
};

static CBLAS_TRANSPOSE transpose(cublasOperation_t op)
{
    return op == CUBLAS_OP_N ? CblasNoTrans : CblasTrans;
}

static void gemm(const Gemm &g, float alpha, const float *a, const float *b, float beta, float *c)
{
    cblas_sgemm(CblasColMajor, transpose(g.op_a), transpose(g.op_b), g.m, g.n, g.k, alpha, a, g.lda,
                b, g.ldb, beta, c, g.ldc);
}

static void gemm(const Gemm &g, double alpha, const double *a, const double *b, double beta,
                 double *c)
{
    cblas_dgemm(CblasColMajor, transpose(g.op_a), transpose(g.op_b), g.m, g.n, g.k, alpha, a, g.lda,
                b, g.ldb, beta, c, g.ldc);
}

static float round_to_tf32(float x) // nearest, ties away
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u) {
        bits = (bits + 0x1000u) & ~0x1fffu;
    }
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static std::vector<float> rounded(const float *p, size_t n)
{
    std::vector<float> copy(n);
    for (size_t i = 0; i < n; i++) {
        copy[i] = round_to_tf32(p[i]);
    }
    return copy;
}

static size_t matrix_elements(int rows, int columns, int ld)
{
    return rows > 0 && columns > 0 ? (size_t)ld * (size_t)(columns - 1) + (size_t)rows : 0;
}
static size_t elements_a(const Gemm &g)
{
    return g.op_a == CUBLAS_OP_N ? matrix_elements(g.m, g.k, g.lda)
                                 : matrix_elements(g.k, g.m, g.lda);
}
static size_t elements_b(const Gemm &g)
{
    return g.op_b == CUBLAS_OP_N ? matrix_elements(g.k, g.n, g.ldb)
                                 : matrix_elements(g.n, g.k, g.ldb);
}

static bool valid(const Gemm &g)
{
    const int rows_a = g.op_a == CUBLAS_OP_N ? g.m : g.k;
    const int rows_b = g.op_b == CUBLAS_OP_N ? g.k : g.n;
    return g.m >= 0 && g.n >= 0 && g.k >= 0 && g.batch >= 0 && g.lda >= std::max(1, rows_a) &&
           g.ldb >= std::max(1, rows_b) && g.ldc >= std::max(1, g.m);
}

static void run_one(const Gemm &g, float alpha, const float *a, const float *b, float beta,
                    float *c)
{
    if (g.tf32) {
        gemm(g, alpha, rounded(a, elements_a(g)).data(), rounded(b, elements_b(g)).data(), beta, c);
    } else {
        gemm(g, alpha, a, b, beta, c);
    }
}

static void run_one(const Gemm &g, double alpha, const double *a, const double *b, double beta,
                    double *c)
{
    gemm(g, alpha, a, b, beta, c);
}

template <class T>
static cublasStatus_t queue_gemm(cublasHandle_t handle, const char *function, const Gemm &g,
                                 const T *alpha_pointer, const T *a, const T *b,
                                 const T *beta_pointer, T *c)
{
    if (!valid(g)) {
        note("%s: invalid sizes: m %d n %d k %d lda %d ldb %d ldc %d", function, g.m, g.n, g.k,
             g.lda, g.ldb, g.ldc);
        return CUBLAS_STATUS_INVALID_VALUE;
    }
    if (g.m == 0 || g.n == 0 || g.batch == 0) {
        return CUBLAS_STATUS_SUCCESS;
    }
    const Scalar<T> alpha(handle, alpha_pointer), beta(handle, beta_pointer);
    const auto bytes = [&](size_t one, long long stride) {
        return one ? (one + (size_t)stride * (size_t)(g.batch - 1)) * sizeof(T) : 0;
    };
    return queue(handle, function,
                 {{a, bytes(elements_a(g), g.stride_a)},
                  {b, bytes(elements_b(g), g.stride_b)},
                  {c, bytes(matrix_elements(g.m, g.n, g.ldc), g.stride_c)},
                  alpha.range(),
                  beta.range()},
                 [=] {
                     for (int i = 0; i < g.batch; i++) {
                         run_one(g, alpha.get(), a + i * g.stride_a, b + i * g.stride_b, beta.get(),
                                 c + i * g.stride_c);
                     }
                 });
}

static bool wants_tf32(cublasHandle_t handle)
{
    return handle->math == CUBLAS_TF32_TENSOR_OP_MATH || handle->math == CUBLAS_TENSOR_OP_MATH;
}

// GemmEx of whole float or double problems; mixed and smaller types are not modelled.
static cublasStatus_t gemm_ex(cublasHandle_t handle, const char *function, Gemm g,
                              const void *alpha, const void *a, cudaDataType a_type, const void *b,
                              cudaDataType b_type, const void *beta, void *c, cudaDataType c_type,
                              cublasComputeType_t compute)
{
    if (a_type == CUDA_R_64F && b_type == CUDA_R_64F && c_type == CUDA_R_64F &&
        (compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC)) {
        return queue_gemm(handle, function, g, (const double *)alpha, (const double *)a,
                          (const double *)b, (const double *)beta, (double *)c);
    }
    const bool fast = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    if (a_type == CUDA_R_32F && b_type == CUDA_R_32F && c_type == CUDA_R_32F &&
        (fast || compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC)) {
        g.tf32 = fast || (wants_tf32(handle) && compute == CUBLAS_COMPUTE_32F);
        return queue_gemm(handle, function, g, (const float *)alpha, (const float *)a,
                          (const float *)b, (const float *)beta, (float *)c);
    }
    note("%s: types %d %d %d with compute type %d are not modelled", function, (int)a_type,
         (int)b_type, (int)c_type, (int)compute);
    return CUBLAS_STATUS_NOT_SUPPORTED;
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

#define HC_GEMM(name, T, use_tf32)                                                                 \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,     \
                        int m, int n, int k, const T *alpha, const T *a, int lda, const T *b,      \
                        int ldb, const T *beta, T *c, int ldc)                                     \
    {                                                                                              \
        HC_ENTER_BLAS(handle);                                                                     \
        const Gemm g = {op_a, op_b, m, n, k, lda, ldb, ldc, 0, 0, 0, 1, (use_tf32)};               \
        return queue_gemm(handle, __func__, g, alpha, a, b, beta, c);                              \
    }
HC_GEMM(cublasSgemm_v2, float, wants_tf32(handle))
HC_GEMM(cublasDgemm_v2, double, false)

#define HC_GEMM_BATCHED(name, T, use_tf32)                                                         \
    cublasStatus_t name(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,     \
                        int m, int n, int k, const T *alpha, const T *a, int lda,                  \
                        long long int stride_a, const T *b, int ldb, long long int stride_b,       \
                        const T *beta, T *c, int ldc, long long int stride_c, int batch)           \
    {                                                                                              \
        HC_ENTER_BLAS(handle);                                                                     \
        const Gemm g = {op_a, op_b,     m,        n,        k,     lda,       ldb,                 \
                        ldc,  stride_a, stride_b, stride_c, batch, (use_tf32)};                    \
        return queue_gemm(handle, __func__, g, alpha, a, b, beta, c);                              \
    }
HC_GEMM_BATCHED(cublasSgemmStridedBatched, float, wants_tf32(handle))
HC_GEMM_BATCHED(cublasDgemmStridedBatched, double, false)

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                            int m, int n, int k, const void *alpha, const void *a,
                            cudaDataType a_type, int lda, const void *b, cudaDataType b_type,
                            int ldb, const void *beta, void *c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t)
{
    HC_ENTER_BLAS(handle);
    const Gemm g = {op_a, op_b, m, n, k, lda, ldb, ldc, 0, 0, 0, 1, false};
    return gemm_ex(handle, __func__, g, alpha, a, a_type, b, b_type, beta, c, c_type, compute);
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k,
                                          const void *alpha, const void *a, cudaDataType a_type,
                                          int lda, long long int stride_a, const void *b,
                                          cudaDataType b_type, int ldb, long long int stride_b,
                                          const void *beta, void *c, cudaDataType c_type, int ldc,
                                          long long int stride_c, int batch,
                                          cublasComputeType_t compute, cublasGemmAlgo_t)
{
    HC_ENTER_BLAS(handle);
    const Gemm g = {op_a, op_b, m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch, false};
    return gemm_ex(handle, __func__, g, alpha, a, a_type, b, b_type, beta, c, c_type, compute);
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
