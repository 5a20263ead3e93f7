/* nufft_kernels_device.cuh - what the kernels of the CUDA backend share: kernel values, and access to strengths and
 * grid cells in their three layouts. Included by .cu files only.
 *
 *   T       float or double
 *   LAYOUT  REAL1    one real vector
 *           COMPLEX  one complex vector, interleaved
 *           REAL2    two real vectors side by side, which share all kernel values
 */
#ifndef MTIP_NUFFT_NUFFT_KERNELS_DEVICE_CUH
#define MTIP_NUFFT_NUFFT_KERNELS_DEVICE_CUH

#include <cuda_runtime.h>

#include "core/cuda_launch.h"
#include "nufft/nufft_kernels.h"

/* A launch was refused: nothing that builds on its results may run, as indices would be what memory held before. */
static inline bool refused()
{
    return cudaPeekAtLastError() != cudaSuccess;
}

enum { REAL1 = 0, COMPLEX = 1, REAL2 = 2 };

template <int LAYOUT> struct components_of {
    static const int n = LAYOUT == REAL1 ? 1 : 2;
};

/* Value of tap i at s = NUFFT_SUBINTERVALS f (nufft_ops.h): `degree` multiply-adds, coefficients through the read-only
 * cache. Neighbouring lanes read neighbouring taps. */
template <class T>
__device__ __forceinline__ T kernel_tap(const T *__restrict__ poly, int width, int degree, T s,
                                        int i)
{
    int b = (int)s;
    b = b < NUFFT_SUBINTERVALS - 1 ? b : NUFFT_SUBINTERVALS - 1;
    const T t = s - (T)b - (T)0.5;
    const T *c = poly + (b * (degree + 1) + degree) * width + i;
    T value = __ldg(c);
    for (int p = 0; p < degree; p++) {
        c -= width;
        value = value * t + __ldg(c);
    }
    return value;
}

/* Two values side by side, read in one access. */
template <class T> struct pair_of;
template <> struct pair_of<float> {
    typedef float2 type;
};
template <> struct pair_of<double> {
    typedef double2 type;
};

/* The vectors of one group (one or two) in an array of `vector` items each. */
template <class T, int LAYOUT> struct field {
    static const int n = components_of<LAYOUT>::n;
    T *base;
    int64_t vector;
    __device__ field(const void *array, int64_t vector_, int64_t group)
        : base((T *)array + n * group * vector_), vector(vector_)
    {
    }
    __device__ T *at(int64_t i, int c) const
    {
        return base + (LAYOUT == COMPLEX ? 2 * i + c : i + c * vector);
    }
    /* All values of item i; complex ones must lie at multiples of their size. */
    __device__ __forceinline__ void read(T *value, int64_t i) const
    {
        if (LAYOUT == COMPLEX) {
            const typename pair_of<T>::type both = ((const typename pair_of<T>::type *)base)[i];
            value[0] = both.x;
            value[n - 1] = both.y;
        } else {
            for (int c = 0; c < n; c++) {
                value[c] = *at(i, c);
            }
        }
    }
};

/* Reduces a position below 2 nf to the grid. */
__device__ __forceinline__ int32_t wrapped(int32_t position, int32_t nf)
{
    return position >= nf ? position - nf : position;
}

/* Position of a point's first tap on an axis: one after its cell; 0 beyond the dimension. */
__device__ __forceinline__ int32_t first_tap(const struct nufft_job &job, int a, int64_t j)
{
    return a < job.dimension ? wrapped(job.cell[a][j] + 1, job.nf[a]) : 0;
}

/* Calls f<T, LAYOUT>(first vector, groups) for all vectors: complex ones singly, real ones in pairs, a last odd one
 * alone. `f` is a macro's name: f(T, LAYOUT, first, groups). */
#define FOR_LAYOUTS(job, vectors, call)                                                            \
    do {                                                                                           \
        if ((job)->precision == NUFFT_FLOAT) {                                                     \
            FOR_LAYOUTS_OF(float, job, vectors, call);                                             \
        } else {                                                                                   \
            FOR_LAYOUTS_OF(double, job, vectors, call);                                            \
        }                                                                                          \
    } while (0)
#define FOR_LAYOUTS_OF(T, job, vectors, call)                                                      \
    do {                                                                                           \
        if ((job)->components == 2) {                                                              \
            call(T, COMPLEX, 0, (vectors));                                                        \
        } else {                                                                                   \
            if ((vectors) >= 2) {                                                                  \
                call(T, REAL2, 0, (vectors) / 2);                                                  \
            }                                                                                      \
            if ((vectors) % 2 != 0) {                                                              \
                call(T, REAL1, (vectors)-1, 1);                                                    \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* Largest number of blocks along y of a launch; groups beyond are taken in a loop. */
static inline unsigned group_blocks(int64_t groups)
{
    return (unsigned)(groups < 65535 ? groups : 65535);
}

#endif
