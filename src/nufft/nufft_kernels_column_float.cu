/* nufft_kernels_column_float.cu - instances of the COLUMN method in single precision, and their launcher. */
#include "nufft/nufft_kernels_column.cuh"

#define LAUNCH_WIDTH(DIM, W)                                                                       \
    launch_column_layouts<float, DIM, W>(*job, spread, strengths, vectors, stream)

/* Below 3-D the window may be wider than the kernel: few instances do. */
template <int DIM>
static void launch_low(const struct nufft_job *job, int spread, void *strengths, int64_t vectors,
                       cudaStream_t stream)
{
    if (job->width[0] <= 4) {
        LAUNCH_WIDTH(DIM, 4);
    } else if (job->width[0] <= 8) {
        LAUNCH_WIDTH(DIM, 8);
    }
}

static void launch_width(const struct nufft_job *job, int spread, void *strengths, int64_t vectors,
                         cudaStream_t stream)
{
    switch (job->width[0]) {
    case 2:
        LAUNCH_WIDTH(3, 2);
        break;
    case 3:
        LAUNCH_WIDTH(3, 3);
        break;
    case 4:
        LAUNCH_WIDTH(3, 4);
        break;
    case 5:
        LAUNCH_WIDTH(3, 5);
        break;
    case 6:
        LAUNCH_WIDTH(3, 6);
        break;
    case 7:
        LAUNCH_WIDTH(3, 7);
        break;
    case 8:
        LAUNCH_WIDTH(3, 8);
        break;
    default:
        break; /* no such width: nufft_ops.h */
    }
}

extern "C" cudaError_t nufft_launch_column_float(const struct nufft_job *job, int spread,
                                                 void *strengths, int64_t vectors,
                                                 cudaStream_t stream)
{
    if (job->n_subproblems == 0) {
        return cudaSuccess;
    }
    if (job->dimension == 1) {
        launch_low<1>(job, spread, strengths, vectors, stream);
    } else if (job->dimension == 2) {
        launch_low<2>(job, spread, strengths, vectors, stream);
    } else {
        launch_width(job, spread, strengths, vectors, stream);
    }
    return cudaGetLastError();
}
