/* basics.c - correct kernels give correct results: run in every order, stream mode and sanitizer. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <string.h>

#include "basics.h"
#include "selftest.h"

static void *device_copy(const void *host, size_t bytes)
{
    void *device = NULL;
    MUST(cudaMalloc(&device, bytes));
    MUST(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
    return device;
}

static void test_sum(cudaStream_t stream)
{
    enum { N = 5000 };
    static double x[N];
    double expected = 0, sum = 0;
    for (int i = 0; i < N; i++) {
        x[i] = (double)(i % 17) - 3.5;
        expected += x[i];
    }
    double *d_x = device_copy(x, sizeof x), *d_sum = device_copy(&sum, sizeof sum);
    MUST(basics_sum(d_sum, d_x, N, stream));
    MUST(cudaMemcpyAsync(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost, stream));
    verdict(sum == expected,
            "sum by shuffles, static shared memory and an atomic"); /* exact: halves */
    MUST(cudaFree(d_x));
    MUST(cudaFree(d_sum));
}

static void test_scan(cudaStream_t stream)
{
    enum { N = 1003 };
    static int in[N], out[N + 1];
    for (int i = 0; i < N; i++) {
        in[i] = (i * 7) % 11;
    }
    int *d_in = device_copy(in, sizeof in), *d_out = NULL;
    MUST(cudaMalloc((void **)&d_out, sizeof out));
    MUST(basics_scan(d_out, d_in, N, stream));
    MUST(cudaMemcpyAsync(out, d_out, sizeof out, cudaMemcpyDeviceToHost, stream));
    int good = 1, sum = 0;
    for (int i = 0; i <= N; i++) {
        good = good && out[i] == sum;
        sum += i < N ? in[i] : 0;
    }
    verdict(good, "scan by one block");
    MUST(cudaFree(d_in));
    MUST(cudaFree(d_out));
}

static void test_transpose(cudaStream_t stream)
{
    enum { NX = 45, NY = 70 };
    static float in[NY][NX], out[NX][NY];
    for (int y = 0; y < NY; y++) {
        for (int x = 0; x < NX; x++) {
            in[y][x] = (float)(y * 100 + x);
        }
    }
    float *d_in = device_copy(in, sizeof in), *d_out = NULL;
    MUST(cudaMalloc((void **)&d_out, sizeof out));
    MUST(basics_transpose(d_out, d_in, NX, NY, stream));
    MUST(cudaMemcpyAsync(out, d_out, sizeof out, cudaMemcpyDeviceToHost, stream));
    int good = 1;
    for (int y = 0; y < NY; y++) {
        for (int x = 0; x < NX; x++) {
            good = good && out[x][y] == in[y][x];
        }
    }
    verdict(good, "transpose through dynamic shared memory");
    MUST(cudaFree(d_in));
    MUST(cudaFree(d_out));
}

static void test_histogram(cudaStream_t stream)
{
    enum { N = 3000, BINS = 50 };
    static int values[N], counts[BINS], expected[BINS];
    for (int i = 0; i < N; i++) {
        values[i] = (i * i) % BINS;
        expected[values[i]]++;
    }
    int *d_values = device_copy(values, sizeof values), *d_counts = NULL;
    MUST(cudaMalloc((void **)&d_counts, sizeof counts));
    MUST(cudaMemsetAsync(d_counts, 0, sizeof counts, stream));
    MUST(basics_histogram(d_counts, d_values, N, BINS, stream));
    MUST(cudaMemcpyAsync(counts, d_counts, sizeof counts, cudaMemcpyDeviceToHost, stream));
    verdict(memcmp(counts, expected, sizeof counts) == 0, "histogram by shared and global atomics");
    MUST(cudaFree(d_values));
    MUST(cudaFree(d_counts));
}

static void test_votes(cudaStream_t stream)
{
    int right = 0;
    int *d_right = device_copy(&right, sizeof right);
    MUST(basics_votes(d_right, stream));
    MUST(cudaMemcpyAsync(&right, d_right, sizeof right, cudaMemcpyDeviceToHost, stream));
    verdict(right == 8 * 64, "votes, shuffles and matches of warps and of halves of warps");
    MUST(cudaFree(d_right));
}

static void test_large_shared(cudaStream_t stream)
{
    int limit = 0;
    MUST(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    const int n = limit / 8;
    double *d_out = NULL, *out = malloc((size_t)(3 * n) * sizeof *out);
    MUST(cudaMalloc((void **)&d_out, (size_t)(3 * n) * sizeof *out));
    MUST(basics_large_shared(d_out, 3, (size_t)n * 8, stream));
    MUST(
        cudaMemcpyAsync(out, d_out, (size_t)(3 * n) * sizeof *out, cudaMemcpyDeviceToHost, stream));
    int good = out != NULL;
    for (int i = 0; good && i < 3 * n; i++) {
        good = out[i] == (double)(i / n + i % n);
    }
    verdict(good && limit > 48 << 10, "shared memory beyond 48 KiB");
    free(out);
    MUST(cudaFree(d_out));
}

static void test_constant_and_address(cudaStream_t stream)
{
    enum { N = 300 };
    static float x[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
    }
    float *d_x = device_copy(x, sizeof x);
    MUST(basics_scale_by_constant(d_x, N, 0.5f, stream));
    int n = N;
    float a = 2.0f;
    void *arguments[] = {&n, &d_x, &a};
    MUST(cudaLaunchKernel((const void *)basics_axpi, (dim3){3, 1, 1}, (dim3){128, 1, 1}, arguments,
                          0, stream));
    MUST(cudaMemcpyAsync(x, d_x, sizeof x, cudaMemcpyDeviceToHost, stream));
    int good = 1;
    for (int i = 0; i < N; i++) {
        good = good && x[i] == 2.0f * (float)i;
    }
    verdict(good, "constant memory; launch by address from C");
    MUST(cudaFree(d_x));
}

int main(void)
{
    cudaStream_t stream = NULL;
    MUST(cudaSetDevice(0));
    MUST(cudaStreamCreate(&stream));
    test_sum(stream);
    test_scan(stream);
    test_transpose(stream);
    test_histogram(stream);
    test_votes(stream);
    test_large_shared(stream);
    test_constant_and_address(stream);
    MUST(cudaStreamDestroy(stream));
    return selftest_failures != 0;
}
