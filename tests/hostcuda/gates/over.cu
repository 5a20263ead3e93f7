/* over.cu - kernels that the static gates must refuse: one that spills, one with a local array in
 * memory, one above its budget, one that nobody gave a budget (over_budgets.txt).
 */
#include <cuda_runtime.h>

__global__ void __launch_bounds__(1024, 2) spill_kernel(double *out, const double *in)
{
    double v[40];
#pragma unroll
    for (int i = 0; i < 40; i++) {
        v[i] = in[threadIdx.x + 1024 * i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 40; i++) {
        out[threadIdx.x + 1024 * i] = v[39 - i] * v[(7 * i) % 40];
    }
}

__global__ void local_array_kernel(float *out, const int *index)
{
    float v[64];
    for (int i = 0; i < 64; i++) {
        v[index[i]] = (float)i;
    }
    out[threadIdx.x] = v[index[threadIdx.x]];
}

__global__ void shared_kernel(float *out)
{
    __shared__ float tile[512];
    tile[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

template <int width> __global__ void unnamed_kernel(float *out)
{
    out[threadIdx.x] = (float)width;
}
template __global__ void unnamed_kernel<7>(float *out);
