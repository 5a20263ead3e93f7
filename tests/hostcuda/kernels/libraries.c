/* libraries.c - the stand-ins for cuFFT and cuBLAS against direct sums, and their refusals. */
#include <complex.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cufft.h>
#include <math.h>
#include <string.h>

#include "selftest.h"

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

static double random_number(void)
{
    return rand() / (RAND_MAX + 1.0) - 0.5;
}

static void *device_copy(const void *host, size_t bytes)
{
    void *device = NULL;
    MUST(cudaMalloc(&device, bytes));
    MUST(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    return device;
}

/* ---- cuFFT ------------------------------------------------------------------------------------ */
static void test_strided_batch(cudaStream_t stream)
{
    enum { NY = 6, NX = 10, ROW = 11, OUT_ROW = 12, STEP = 2, BATCH = 3, IN = 150, OUT = 80 };
    int n[2] = {NY, NX}, in_embed[2] = {NY, ROW}, out_embed[2] = {NY, OUT_ROW};
    static double complex in[BATCH * IN], out[BATCH * IN];
    for (int i = 0; i < BATCH * IN; i++) {
        in[i] = random_number() + I * random_number();
    }
    cufftHandle plan;
    MUST(cufftPlanMany(&plan, 2, n, in_embed, STEP, IN, out_embed, 1, OUT, CUFFT_Z2Z, BATCH));
    MUST(cufftSetStream(plan, stream));
    cufftDoubleComplex *d_in = device_copy(in, sizeof in), *d_out = device_copy(out, sizeof out);
    MUST(cufftExecZ2Z(plan, d_in, d_out, CUFFT_FORWARD));
    MUST(cudaMemcpyAsync(out, d_out, sizeof out, cudaMemcpyDeviceToHost, stream));
    double worst = 0;
    for (int b = 0; b < BATCH; b++) {
        for (int ky = 0; ky < NY; ky++) {
            for (int kx = 0; kx < NX; kx++) {
                double complex sum = 0;
                for (int y = 0; y < NY; y++) {
                    for (int x = 0; x < NX; x++) {
                        sum += in[b * IN + (y * ROW + x) * STEP] *
                               cexp(-2 * M_PI * I * ((double)ky * y / NY + (double)kx * x / NX));
                    }
                }
                worst = fmax(worst, cabs(sum - out[b * OUT + ky * OUT_ROW + kx]));
            }
        }
    }
    verdict(worst < 1e-12, "Z2Z batch with strides and embedding, against the direct sum");
    MUST(cufftDestroy(plan));
    MUST(cudaFree(d_in));
    MUST(cudaFree(d_out));
}

static void test_real_3d(cudaStream_t stream)
{
    enum { NZ = 4, NY = 6, NX = 10, REAL = NZ * NY * NX, HALF = NZ * NY * (NX / 2 + 1) };
    static double in[REAL], back[REAL];
    static double complex spectrum[HALF];
    for (int i = 0; i < REAL; i++) {
        in[i] = random_number();
    }
    double *d_real = device_copy(in, sizeof in);
    cufftDoubleComplex *d_half = NULL;
    MUST(cudaMalloc((void **)&d_half, sizeof spectrum));
    cufftHandle forward, inverse;
    size_t work_bytes = 0, estimate = 0;
    int n[3] = {NZ, NY, NX};
    MUST(cufftPlan3d(&forward, NZ, NY, NX, CUFFT_D2Z));
    MUST(cufftEstimate3d(NZ, NY, NX, CUFFT_Z2D, &estimate));
    MUST(cufftCreate(&inverse));
    MUST(cufftSetAutoAllocation(inverse, 0));
    MUST(cufftMakePlanMany(inverse, 3, n, NULL, 1, 0, NULL, 1, 0, CUFFT_Z2D, 1, &work_bytes));
    MUST(cufftSetStream(forward, stream));
    MUST(cufftSetStream(inverse, stream));
    MUST(cufftExecD2Z(forward, d_real, d_half));
    MUST(cudaMemcpyAsync(spectrum, d_half, sizeof spectrum, cudaMemcpyDeviceToHost, stream));
    double complex sum = 0;
    for (int z = 0; z < NZ; z++) {
        for (int y = 0; y < NY; y++) {
            for (int x = 0; x < NX; x++) {
                sum += in[(z * NY + y) * NX + x] *
                       cexp(-2 * M_PI * I * (1.0 * z / NZ + 2.0 * y / NY + 3.0 * x / NX));
            }
        }
    }
    const double error = cabs(sum - spectrum[(1 * NY + 2) * (NX / 2 + 1) + 3]);
    verdict(error < 1e-13, "D2Z 3-D, one mode against the direct sum");
    verdict(cufftExecZ2D(inverse, d_half, d_real) == CUFFT_NO_WORKSPACE && work_bytes <= estimate,
            "a plan without a work area is refused");
    void *work = NULL;
    MUST(cudaMalloc(&work, work_bytes));
    MUST(cufftSetWorkArea(inverse, work));
    MUST(cufftExecZ2D(inverse, d_half, d_real));
    MUST(cudaMemcpyAsync(back, d_real, sizeof back, cudaMemcpyDeviceToHost, stream));
    MUST(cudaMemcpyAsync(spectrum, d_half, sizeof spectrum, cudaMemcpyDeviceToHost, stream));
    double worst = 0;
    for (int i = 0; i < REAL; i++) {
        worst = fmax(worst, fabs(back[i] / REAL - in[i]));
    }
    verdict(worst < 1e-13, "Z2D gives back what D2Z took, with the caller's work area");
    verdict(isnan(creal(spectrum[0])), "the input of Z2D is spoiled, as cuFFT may do");
    MUST(cufftDestroy(forward));
    MUST(cufftDestroy(inverse));
    MUST(cudaFree(work));
    MUST(cudaFree(d_real));
    MUST(cudaFree(d_half));
}

static void test_in_place(cudaStream_t stream)
{
    enum { N = 16, ROW = N + 2, BATCH = 2 };
    static float in[BATCH * ROW], out[BATCH * ROW];
    int n[1] = {N};
    for (int i = 0; i < BATCH * ROW; i++) {
        in[i] = (float)random_number();
    }
    float *d = device_copy(in, sizeof in);
    cufftHandle forward, inverse;
    MUST(cufftPlanMany(&forward, 1, n, NULL, 1, 0, NULL, 1, 0, CUFFT_R2C, BATCH));
    MUST(cufftPlan1d(&inverse, N, CUFFT_C2R, BATCH));
    MUST(cufftSetStream(forward, stream));
    MUST(cufftSetStream(inverse, stream));
    MUST(cufftExecR2C(forward, d, (cufftComplex *)d));
    MUST(cufftExecC2R(inverse, (cufftComplex *)d, d));
    MUST(cudaMemcpyAsync(out, d, sizeof out, cudaMemcpyDeviceToHost, stream));
    float worst = 0;
    for (int b = 0; b < BATCH; b++) {
        for (int i = 0; i < N; i++) {
            worst = fmaxf(worst, fabsf(out[b * ROW + i] / N - in[b * ROW + i]));
        }
    }
    verdict(worst < 1e-6f, "R2C and C2R in place, padded rows, batch");
    verdict(cufftExecC2C(forward, (cufftComplex *)d, (cufftComplex *)d, CUFFT_FORWARD) ==
                CUFFT_INVALID_TYPE,
            "a plan of another type is refused");
    MUST(cufftDestroy(forward));
    MUST(cufftDestroy(inverse));
    verdict(cufftExecR2C(forward, d, (cufftComplex *)d) == CUFFT_INVALID_PLAN,
            "a destroyed plan is refused");
    MUST(cufftPlan1d(&forward, 64, CUFFT_C2C, 1));
    verdict(cufftExecC2C(forward, (cufftComplex *)d, (cufftComplex *)d, CUFFT_FORWARD) ==
                CUFFT_EXEC_FAILED,
            "an array that is too small is refused");
    MUST(cufftDestroy(forward));
    MUST(cudaFree(d));
}

/* ---- cuBLAS ----------------------------------------------------------------------------------- */
enum { M = 5, N = 7, K = 4, BATCH = 2 };

/* C = alpha op(A) B + beta C, op the transpose: A is K x M, B is K x N, C is M x N, column-major. */
static double expected(const double *a, const double *b, double c, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < K; k++) {
        sum += a[k + K * i] * b[k + K * j];
    }
    return 1.5 * sum + 0.5 * c;
}

static void test_gemm(cublasHandle_t handle, cudaStream_t stream)
{
    static double a[BATCH * K * M], b[BATCH * K * N], c[BATCH * M * N], out[BATCH * M * N];
    static float fa[K * M], fb[K * N], fc[M * N], fout[M * N];
    for (int i = 0; i < BATCH * K * M; i++) {
        a[i] = random_number();
        fa[i % (K * M)] = (float)(a[i % (K * M)]);
    }
    for (int i = 0; i < BATCH * K * N; i++) {
        b[i] = random_number();
        fb[i % (K * N)] = (float)(b[i % (K * N)]);
    }
    for (int i = 0; i < BATCH * M * N; i++) {
        c[i] = random_number();
        fc[i % (M * N)] = (float)(c[i % (M * N)]);
    }
    double *d_a = device_copy(a, sizeof a), *d_b = device_copy(b, sizeof b);
    double *d_c = device_copy(c, sizeof c);
    float *d_fa = device_copy(fa, sizeof fa), *d_fb = device_copy(fb, sizeof fb);
    float *d_fc = device_copy(fc, sizeof fc);
    const double alpha = 1.5, beta = 0.5;
    const float falpha = 1.5f, fbeta = 0.5f;
    MUST(cublasDgemmStridedBatched(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &alpha, d_a, K, K * M,
                                   d_b, K, K * N, &beta, d_c, M, M * N, BATCH));
    MUST(cudaMemcpyAsync(out, d_c, sizeof out, cudaMemcpyDeviceToHost, stream));
    double worst = 0;
    for (int i = 0; i < BATCH * M * N; i++) {
        const int q = i / (M * N), row = i % M, column = i % (M * N) / M;
        worst =
            fmax(worst, fabs(out[i] - expected(a + q * K * M, b + q * K * N, c[i], row, column)));
    }
    verdict(worst < 1e-14, "Dgemm in strided batches, against the direct sum");
    MUST(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &falpha, d_fa, CUDA_R_32F, K, d_fb,
                      CUDA_R_32F, K, &fbeta, d_fc, CUDA_R_32F, M, CUBLAS_COMPUTE_32F,
                      CUBLAS_GEMM_DEFAULT));
    MUST(cudaMemcpyAsync(fout, d_fc, sizeof fout, cudaMemcpyDeviceToHost, stream));
    double exact = 0, rounded = 0;
    for (int i = 0; i < M * N; i++) {
        exact = fmax(exact, fabs(fout[i] - expected(a, b, c[i], i % M, i / M)));
    }
    MUST(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
    MUST(cudaMemcpy(d_fc, fc, sizeof fc, cudaMemcpyHostToDevice));
    MUST(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, M, N, K, &falpha, d_fa, K, d_fb, K, &fbeta,
                     d_fc, M));
    MUST(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
    MUST(cudaMemcpyAsync(fout, d_fc, sizeof fout, cudaMemcpyDeviceToHost, stream));
    for (int i = 0; i < M * N; i++) {
        rounded = fmax(rounded, fabs(fout[i] - expected(a, b, c[i], i % M, i / M)));
    }
    verdict(exact < 1e-6, "GemmEx of float, against the direct sum");
    verdict(rounded > 1e-5 && rounded < 1e-2, "TF32, once asked for, is visible");
    verdict(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &falpha, d_fa, M - 1, d_fb, K,
                        &fbeta, d_fc, M) == CUBLAS_STATUS_INVALID_VALUE,
            "a leading dimension that is too small is refused");
    verdict(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 50, N, K, &falpha, d_fa, 50, d_fb, K,
                        &fbeta, d_fc, 50) == CUBLAS_STATUS_EXECUTION_FAILED,
            "a matrix that does not fit its memory is refused");
    void *all[] = {d_a, d_b, d_c, d_fa, d_fb, d_fc};
    for (int i = 0; i < 6; i++) {
        MUST(cudaFree(all[i]));
    }
}

static void test_vectors(cublasHandle_t handle, cudaStream_t stream)
{
    double x[4] = {1, 2, 3, 4}, y[4] = {1, -1, 1, -1}, dot = 0, norm = 0, result[4];
    double two = 2;
    double *d_x = device_copy(x, sizeof x), *d_y = device_copy(y, sizeof y), *d_dot = NULL;
    MUST(cudaMalloc((void **)&d_dot, sizeof dot));
    MUST(cublasDdot(handle, 4, d_x, 1, d_y, 1, &dot)); /* waits */
    MUST(cublasDnrm2(handle, 4, d_x, 1, &norm));
    verdict(dot == -2 && fabs(norm - sqrt(30.0)) < 1e-15, "dot and nrm2 with results on the host");
    MUST(cublasDaxpy(handle, 4, &two, d_x, 1, d_y, 1));
    MUST(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    MUST(cublasDdot(handle, 2, d_x, 2, d_y, 2, d_dot)); /* 1*3 + 3*7 */
    MUST(cublasDscal(handle, 4, d_dot, d_y, 1));
    MUST(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    MUST(cudaMemcpyAsync(result, d_y, sizeof result, cudaMemcpyDeviceToHost, stream));
    verdict(result[0] == 3 * 24 && result[1] == 3 * 24 && result[2] == 7 * 24 &&
                result[3] == 7 * 24,
            "axpy, and dot and scal with factors on the device");
    MUST(cudaFree(d_x));
    MUST(cudaFree(d_y));
    MUST(cudaFree(d_dot));
}

int main(void)
{
    cudaStream_t stream = NULL;
    cublasHandle_t handle = NULL;
    MUST(cudaStreamCreate(&stream));
    test_strided_batch(stream);
    test_real_3d(stream);
    test_in_place(stream);
    MUST(cublasCreate(&handle));
    MUST(cublasSetStream(handle, stream));
    test_gemm(handle, stream);
    test_vectors(handle, stream);
    MUST(cublasDestroy(handle));
    MUST(cudaStreamDestroy(stream));
    return selftest_failures != 0;
}
