/* nufft_kernels.h - private to the CUDA backend: what the kernels read, and their launchers.
 *
 * All pointers are device memory, all launches go to the given stream, nothing waits. A launcher returns
 * cudaGetLastError() after its launches; it launches nothing where there is nothing to do.
 *
 * Bins: the fine grid is cut into columns, size[0] x size[1] cells wide and one cell thick along the "slide"
 * axis, the last one (z in 3-D, y in 2-D; 1-D has none): a bin is one cell of a column. Bins are numbered
 * column by column, cells along the slide axis fastest, and points are sorted by bin. So the points of a
 * column lie together, ordered by their slide cell, and any range of a column's cells is one range of points.
 * A segment is a range of `length` cells of a column, a subproblem at most `most` points of a segment: a block's work.
 */
#ifndef MTIP_NUFFT_NUFFT_KERNELS_H
#define MTIP_NUFFT_NUFFT_KERNELS_H

#include <cuda_runtime.h>
#include <stdint.h>

#include "nufft/nufft_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Points begin .. end-1 of the sorted ones; the cells where the column and the segment start. */
struct nufft_subproblem {
    uint32_t begin;
    uint32_t end;
    int32_t x;
    int32_t y;
    int32_t slide;
};

struct nufft_bins {
    int32_t size[2];   /* cells of a column along x and y (y: 1 below 3-D) */
    int32_t length;    /* cells of a segment along the slide axis */
    int64_t most;      /* points of a subproblem */
    int64_t columns_x; /* columns along x */
    int64_t columns;
    int64_t slide;    /* cells along the slide axis */
    int64_t segments; /* of a column */
    int64_t n_bins;
    int64_t n_segments;
};

/* The COLUMN method: a block's threads cover x * y cells across the slide axis, one each (1 along y below 3-D). A column
 * of points is x - width + 1 (and y - width + 1) cells wide, so that its padded copy fits. */
struct nufft_plane_shape {
    int x;
    int y;
};
static inline struct nufft_plane_shape nufft_column_shape(int dimension, int width)
{
    struct nufft_plane_shape shape;
    shape.x = dimension < 3 ? 32 : width <= 12 ? 16 : 20;
    shape.y = dimension < 3 ? 1
              : width <= 12 ? 16
                            : 19; /* 20 x 19: 12 warps, which may have 168 registers */
    return shape;
}

/* What set_points finds out on the device. */
struct nufft_point_report {
    unsigned long long bad; /* least index of a point that is not finite, ULLONG_MAX = none */
    uint32_t n_subproblems;
    uint32_t most_subproblems; /* of one segment */
};

/* A vector's fine grid in fixed point (nufft_kernels_fixed.cu): cell = value * scale, rounded to a 64-bit integer. */
struct nufft_fixed {
    unsigned long long largest; /* bits of the largest sum of |strengths| of a subproblem */
    double scale;               /* a power of two; 0 where strengths are not finite */
    double inverse;             /* NaN there */
};

/* Everything the kernels need of a plan and its points; passed by value. */
struct nufft_job {
    enum nufft_precision precision;
    int dimension;
    int components; /* values of a strength or grid cell: 1 real, 2 complex */
    int width[3];   /* taps, 1 beyond the dimension */
    int32_t nf[3];
    const void *poly[3]; /* kernel tables as in nufft_ops.h, of the plan's precision */

    int64_t n_points;
    void *s[3];       /* [n_points] 8 f of the sorted points (NUFFT_SUBINTERVALS f) */
    int32_t *cell[3]; /* [n_points] */
    uint32_t *order;  /* [n_points] the user's index; NULL = user order */
    int exact; /* the spread must give the same bits every time: points of a bin in the user's order, fixed point */

    struct nufft_bins bins;
    uint32_t *bin_start;     /* [n_bins + 1] */
    uint32_t *segment_start; /* [n_segments + 1] first subproblem */
    uint32_t *scan_totals;   /* work space of the scans: nufft_scan_space() */
    uint32_t *sort_counts;   /* work space of a stable sort: nufft_sort_space() */
    struct nufft_subproblem *subproblems;
    int64_t n_subproblems; /* 0 until known */
    int64_t max_subproblems;
    int64_t most_subproblems; /* of one segment */
    struct nufft_point_report *report;
    struct nufft_fixed *fixed; /* [vectors of the grid] */

    void *grid;
    int64_t grid_row; /* cells from row to row, plane to plane, vector to vector */
    int64_t grid_plane;
    int64_t grid_vector;

    int64_t shared_limit; /* bytes of shared memory a block may have */
};

/* ---- sorting (nufft_kernels_sort.cu) ---------------------------------------------------------- */
/* Counters that a scan of n values needs, and those that a stable sort of n keys needs. */
int64_t nufft_scan_space(int64_t n);
int64_t nufft_sort_space(int64_t n);
/* values[0..n-1] to their exclusive prefix sums, which stay below 2^32; space: nufft_scan_space(n). */
cudaError_t nufft_launch_scan(uint32_t *values, int64_t n, uint32_t *space, cudaStream_t stream);
/* job->order = the indices 0 .. n-1 sorted by key[i] < n_bins, equal keys in ascending order of their indices.
 * key and the arrays job->s[0] (8 bytes a point: double precision) and, from 2-D on, job->cell[1] are overwritten. */
cudaError_t nufft_launch_stable_sort(const struct nufft_job *job, uint32_t *key,
                                     cudaStream_t stream);

/* ---- points (nufft_kernels_points.cu) ------------------------------------------------------- */
/* Checks, folds, sorts (or keeps the user's order where job->order is NULL) and stores the points; where
 * sorted, makes the subproblems. x: the user's coordinates. Fills job->report. */
cudaError_t nufft_launch_points(const struct nufft_job *job, const void *const x[3],
                                cudaStream_t stream);

/* ---- spreading and interpolation ------------------------------------------------------------- */
/* strengths [vectors][n_points], grid: `vectors` fine grids, zero before a spread. */
cudaError_t nufft_launch_spread_points(const struct nufft_job *job, const void *strengths,
                                       int64_t vectors, cudaStream_t stream);
cudaError_t nufft_launch_interpolate_points(const struct nufft_job *job, void *strengths,
                                            int64_t vectors, cudaStream_t stream);

/* Method SM (nufft_kernels_shared.cu); spread as below. */
cudaError_t nufft_launch_shared(const struct nufft_job *job, int spread, void *strengths,
                                int64_t vectors, cudaStream_t stream);

/* Method COLUMN (nufft_kernels_column.cuh); spread = 1: strengths are read, the grid is added to; 0: the reverse. In double
 * precision a spread leaves the grid in fixed point: it stands between the two launches below. */
cudaError_t nufft_launch_column_float(const struct nufft_job *job, int spread, void *strengths,
                                      int64_t vectors, cudaStream_t stream);
cudaError_t nufft_launch_column_double(const struct nufft_job *job, int spread, void *strengths,
                                       int64_t vectors, cudaStream_t stream);
/* Scales of the vectors' grids (job->fixed, zero before), and the grids back to floating point. Double precision. */
cudaError_t nufft_launch_fixed_scales(const struct nufft_job *job, const void *strengths,
                                      int64_t vectors, cudaStream_t stream);
cudaError_t nufft_launch_fixed_to_float(const struct nufft_job *job, int64_t vectors,
                                        cudaStream_t stream);

/* ---- modes (nufft_kernels_modes.cu) ---------------------------------------------------------- */
struct nufft_modes_job {
    enum nufft_precision precision;
    int half;      /* real-data mode: the grid holds a half spectrum along x */
    int order;     /* enum nufft_order */
    int conjugate; /* real-data mode: the FFT's sign is not the plan's */
    int64_t n_modes[3];
    int64_t n_stored[3];
    int64_t nf[3];
    const void *correction[3]; /* [n_stored], 1 beyond the dimension */
    void *grid;
    int64_t spectrum_row; /* complex numbers from row to row, and from vector to vector */
    int64_t spectrum_vector;
};
cudaError_t nufft_launch_grid_to_modes(const struct nufft_modes_job *job, void *modes,
                                       int64_t vectors, cudaStream_t stream);
cudaError_t nufft_launch_modes_to_grid(const struct nufft_modes_job *job, const void *modes,
                                       int64_t vectors, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
