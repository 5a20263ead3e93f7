/* nufft_kernels_fixed.cu - the fine grid in fixed point, so that its sums are the same bits in whatever order blocks add to it.
 *
 * The COLUMN method in double precision adds planes of cells to the grid by atomic additions of 64-bit integers, cell =
 * value * scale rounded: integers add exactly. scale is the largest power of two with which no cell can overflow: a cell is
 * reached by the points of a few columns, and so by at most as many subproblems as these have; a bound on its sum is
 *     reach * most_subproblems * max over subproblems of sum |c_j|        (kernel values are at most about 1)
 * Two bits are held back for kernel values over 1 and the rounding of the sums, so that a value is rounded by at most
 * 2^-61 of the bound. With 1.6e7 uniform points of random sign on 200^3 cells, w = 12, the bound is some 4e5 mean strengths and a
 * cell's value some 7: 1e-14 of it a plane; less where strengths have one sign.
 *
 * Bytes: the strengths once, by the points' order (12 a point, complex 20), 16 a value of the grid to go back to floating
 * point: 1.64e7 points, real, 210^3 cells (81^3 modes at 1e-12): 0.35 GB, 0.07 ms on an H200 (4.8 TB/s).
 */
#include "nufft/nufft_kernels_device.cuh"

#include <float.h>

#define BLOCK 128

/* Grid x = subproblems, y = vectors: fixed[v].largest = max of the sums of |c_j| (complex: |re| + |im|) over a subproblem's
 * points, as bits, which order as their doubles do, NaN last. A fixed order of additions; 1 KiB of shared memory.
 * 12 (complex 20) bytes and 1 (2) additions a point, memory: 1.64e7 points in 41 (68) us; 36 bytes, 0.12 ms, where each
 * strength takes a sector of its own, in random order. */
__global__ void largest_sum_kernel(struct nufft_job job, const double *__restrict__ strengths,
                                   int64_t vectors)
{
    __shared__ double sums[BLOCK];
    const struct nufft_subproblem sub = job.subproblems[blockIdx.x];
    const int t = (int)threadIdx.x, parts = job.components;
    for (int64_t v = blockIdx.y; v < vectors; v += gridDim.y) {
        const double *const from = strengths + v * job.n_points * parts;
        double sum = 0.0;
        for (int64_t j = (int64_t)sub.begin + t; j < sub.end; j += BLOCK) {
            const int64_t user = job.order[j];
            for (int m = 0; m < parts; m++) {
                sum += fabs(from[user * parts + m]);
            }
        }
        sums[t] = sum;
        __syncthreads();
        for (int half = BLOCK / 2; half > 0; half /= 2) {
            if (t < half) {
                sums[t] += sums[t + half];
            }
            __syncthreads();
        }
        if (t == 0) {
            atomicMax(&job.fixed[v].largest,
                      (unsigned long long)__double_as_longlong(fabs(sums[0])));
        }
        __syncthreads();
    }
}

/* A power of two. */
__device__ static double power_of_two(int e)
{
    return __longlong_as_double((long long)(1023 + e) << 52);
}

/* A thread a vector: its scale. 24 bytes and some 10 operations a vector: a launch, 2 to 3 us. */
__global__ void scale_kernel(struct nufft_fixed *fixed, double factor, int64_t vectors)
{
    const int64_t v = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    if (v >= vectors) {
        return;
    }
    const double bound = __longlong_as_double((long long)fixed[v].largest) * factor;
    fixed[v].scale = 0.0;
    fixed[v].inverse = __longlong_as_double(0x7ff8000000000000LL); /* the vector becomes NaN */
    if (bound <= DBL_MAX) {
        int e = (int)(__double_as_longlong(bound) >> 52) - 1022; /* bound < 2^e */
        e = e > -900 ? e : -900;
        fixed[v].scale = power_of_two(61 - e);
        fixed[v].inverse = power_of_two(e - 61);
    }
}

/* A thread a value of one vector's grid; grid y = vectors. In place, no atomics. 16 bytes, a conversion and a product a value,
 * memory: 210^3 cells, real (complex), 0.15 (0.30) GB in 31 (62) us. */
__global__ void fixed_to_float_kernel(struct nufft_job job, int64_t vectors)
{
    const int64_t count = job.grid_vector * job.components;
    const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    for (int64_t v = blockIdx.y; v < vectors && i < count; v += gridDim.y) {
        double *const value = (double *)job.grid + v * count + i;
        *value = (double)__double_as_longlong(*value) * job.fixed[v].inverse;
    }
}

extern "C" cudaError_t nufft_launch_fixed_scales(const struct nufft_job *job, const void *strengths,
                                                 int64_t vectors, cudaStream_t stream)
{
    const struct nufft_plane_shape shape = nufft_column_shape(job->dimension, job->width[0]);
    /* Columns along an axis whose points reach a cell: those that w neighbouring cells lie in, and one more where the
     * period ends (the plane is w - 1 cells wider than the column). */
    double factor = (double)(shape.x / job->bins.size[0] + 2);
    factor *= job->dimension == 3 ? (double)(shape.y / job->bins.size[1] + 2) : 1.0;
    factor *= (double)job->most_subproblems;
    if (job->n_subproblems == 0) {
        return cudaSuccess;
    }
    LAUNCH(largest_sum_kernel, dim3((unsigned)job->n_subproblems, group_blocks(vectors)), BLOCK, 0,
           stream, *job, (const double *)strengths, vectors);
    LAUNCH(scale_kernel, (unsigned)((vectors + BLOCK - 1) / BLOCK), BLOCK, 0, stream, job->fixed,
           factor, vectors);
    return cudaGetLastError();
}

extern "C" cudaError_t nufft_launch_fixed_to_float(const struct nufft_job *job, int64_t vectors,
                                                   cudaStream_t stream)
{
    const int64_t count = job->grid_vector * job->components;
    if (job->n_subproblems == 0) {
        return cudaSuccess;
    }
    LAUNCH(fixed_to_float_kernel,
           dim3((unsigned)((count + BLOCK - 1) / BLOCK), group_blocks(vectors)), BLOCK, 0, stream,
           *job, vectors);
    return cudaGetLastError();
}
