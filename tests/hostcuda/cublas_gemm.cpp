// cublas_gemm.cpp - matrix products of the cuBLAS stand-in, by the CPU's BLAS: plain, Ex and strided batches of float and
// double. TF32, where asked for, is modelled by rounding the factors to its 10 bits of mantissa.
#include <algorithm>
#include <cstring>
#include <vector>

#include <cblas.h>

#include "blas_handle.h"

namespace hc
{

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

} // namespace hc

using namespace hc;

extern "C" {

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

} // extern "C"
