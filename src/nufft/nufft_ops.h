/* nufft_ops.h - private: what a plan holds, and the table of stages a backend supplies. The algorithm
 * (nufft.c, nufft_type3.c) is written once over this table.
 *
 * The method (Barnett, Magland, af Klinteberg, SIAM J. Sci. Comput. 41, C479, 2019). With the kernel phi of
 * `width` cells, g = nf x / 2 pi and the fine grid of nf cells an axis:
 *     type 1   b_l = sum_j c_j phi(l - g_j),  f_k = corr_k sum_l b_l exp(i s 2 pi k l / nf)
 *     type 2   the transpose, in the reverse order
 * where phi and corr are products over the axes. Types 1 and 2 need four stages: spread,
 * grid_to_modes, modes_to_grid, interpolate.
 *
 * Position of a point on an axis: q = g - width/2 folded to [0, nf), cell = floor(q), f = q - cell. The
 * kernel's taps are the fine-grid cells (cell + 1 + i) mod nf, i = 0 .. width-1, and tap i has the value
 * phi(i + 1 - f - width/2). Note that x, y and z may have different widths.
 *
 * Real-data mode: strengths and fine grid are real, axis x keeps n_stored = floor(N/2)+1 modes.
 */
#ifndef MTIP_NUFFT_NUFFT_OPS_H
#define MTIP_NUFFT_NUFFT_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

#define NUFFT_MIN_WIDTH 2
#define NUFFT_MAX_WIDTH 16
/* Most taps a backend may ask for along x, where lanes of a vector are free. */
#define NUFFT_MAX_X_WIDTH 16

/* The kernel on an axis is a piecewise polynomial: each tap's unit interval of f is cut into
 * NUFFT_SUBINTERVALS, each with a polynomial of degree nufft_kernel_degree(width). */
#define NUFFT_SUBINTERVALS 8
#define NUFFT_KERNEL_DEGREE(width) ((width) / 2 + 1) /* for device code, too */
static inline int nufft_kernel_degree(int width)
{
    return NUFFT_KERNEL_DEGREE(width);
}

struct nufft_axis {
    int64_t n_modes;  /* N; 1 on axes beyond the dimension */
    int64_t n_stored; /* modes kept: N, or floor(N/2)+1 along x in real-data mode */
    int64_t nf;       /* fine grid cells; 1 on axes beyond the dimension */
    int half;         /* 1: only k >= 0 is stored (x in real-data mode) */
    int width;        /* taps w; 1 on axes beyond the dimension */
    double beta;  /* Kaiser-Bessel: phi(x) = C I0(beta sqrt(1 - (2x/w)^2)), integral of phi = 1 */
    double error; /* estimated relative l2 error from aliasing on this axis */
    double *poly; /* owned [NUFFT_SUBINTERVALS][nufft_kernel_degree(w)+1][w], see below */
    double *correction; /* owned [N/2 + 1]: 1/phihat(2 pi k/nf), which is that of -k, too */
};
/* Tap i at f: with s = f * NUFFT_SUBINTERVALS, b = min(floor(s), NUFFT_SUBINTERVALS - 1), t = s - b - 1/2,
 * phi = sum_{p=0..degree} poly[b][p][i] t^p (p = power). `poly` is NULL where width is 1 because the axis
 * is beyond the dimension. */

struct nufft_ops;
struct nufft_type3;

struct nufft_plan {
    const struct nufft_ops *ops; /* static */
    void *state;                 /* the backend's, made by ops->create, freed by ops->destroy */
    int type;
    int dimension;
    int sign;
    int64_t n_vectors;
    double tolerance;
    enum nufft_precision precision;
    struct nufft_options options;
    struct nufft_axis axis[3];
    int64_t batch;     /* vectors on the fine grid at once, 1 .. n_vectors */
    int64_t n_points;  /* of the last successful set-points */
    int64_t n_targets; /* type 3 */
    int has_points;
    int prepared; /* type 2: the grid holds the modes of the last prepare */
    /* Fine grid, memory of the backend, owned by the backend:
     * [batch][nf_z][nf_y][grid_row], grid_row >= nf_x values of the precision, complex or (real-data mode) real;
     * grid_vector values from one vector of the batch to the next. */
    void *grid;
    int64_t grid_row;
    int64_t grid_vector;
    struct nufft_type3 *type3; /* owned by the algorithm, NULL for types 1 and 2 */
};

/* What type 3 needs besides the stages (nufft_type3.c); all arrays are of the backend's memory. */
struct nufft_type3_ops {
    /* Array of n items, NULL for n = 0; free takes the address of a pointer that may be NULL, and nulls it. */
    enum mtip_status (*alloc)(const struct nufft_plan *plan, void **array, int64_t n,
                              size_t item_size) MTIP_NODISCARD;
    void (*free)(const struct nufft_plan *plan, void **array);

    /* Least and greatest of n coordinates (0, 0 for none); *bad is the first that is not finite, n if none. Synchronous. */
    enum mtip_status (*range)(const struct nufft_plan *plan, double *low, double *high,
                              int64_t *bad, int64_t n, const void *x) MTIP_NODISCARD;

    /* out = (x - shift) scale */
    enum mtip_status (*rescale)(const struct nufft_plan *plan, void *out, int64_t n, const void *x,
                                double shift, double scale) MTIP_NODISCARD;

    /* out_j = exp(i s sum_a frequency_a (x_a,j - shift_a)), s the plan's sign; where scale is not NULL divided by
     * prod_a phihat_a(scale_a (x_a,j - shift_a)), phihat of nufft_kernel_transform for the plan's axes. */
    enum mtip_status (*phases)(const struct nufft_plan *plan, void *out, int64_t n,
                               const void *const *x, const double *shift, const double *frequency,
                               const double *scale) MTIP_NODISCARD;

    /* out[v][j] = in[v][j] factor[j], complex, v < count, j < n; out may be in. */
    enum mtip_status (*multiply)(const struct nufft_plan *plan, void *out, const void *in,
                                 const void *factor, int64_t n, int64_t count) MTIP_NODISCARD;

    /* Zero bytes. */
    enum mtip_status (*clear)(const struct nufft_plan *plan, void *out,
                              size_t bytes) MTIP_NODISCARD;
};

/* The stages. All pointers to strengths, modes and coordinates are of the backend's memory and the plan's
 * precision. `count` vectors, 1 <= count <= plan->batch, use grids 0 .. count-1. Nothing but create, reserve
 * and set_points may allocate. On an asynchronous backend all run on the plan's stream. */
struct nufft_ops {
    const char *name;

    /* Whether the backend runs here at all, with a message if not. NULL on CUDA, where create finds out. */
    enum mtip_status (*check)(void) MTIP_NODISCARD;

    /* Taps to use along x where the other axes have `width`: at least `width`, at most
     * NUFFT_MAX_X_WIDTH; more where a vector of the machine has free lanes; 0 where the backend has no kernel of
     * `width`. Called before create. */
    int (*x_width)(const struct nufft_plan *plan, int width);

    /* Estimated time in ns of a point (spread or interpolation) and of one fine-grid cell (FFT, correction,
     * tile traffic) with the plan's axes as they are: the cost model's two numbers. Called before create. */
    double (*point_cost)(const struct nufft_plan *plan);
    double (*cell_cost)(const struct nufft_plan *plan);

    /* Everything that does not depend on the points: state, grid for plan->batch vectors, FFT plans, kernel
     * tables. On failure destroy is called by the algorithm. */
    enum mtip_status (*create)(struct nufft_plan *plan) MTIP_NODISCARD;
    void (*destroy)(struct nufft_plan *plan); /* state may be NULL */

    /* Makes the grid hold `batch` vectors and sets plan->batch; the contents are lost. */
    enum mtip_status (*reserve)(struct nufft_plan *plan, int64_t batch) MTIP_NODISCARD;

    /* 1: large fine grids are not chosen, even where they would be somewhat faster. */
    int spares_memory;

    /* 1: the stages read the coordinates given to set_points where they are, so that they must stay. */
    int borrows_points;

    /* Checks (finite), folds and sorts the points. x, y, z as in nufft_plan_set_points, n >= 0. */
    enum mtip_status (*set_points)(struct nufft_plan *plan, int64_t n, const void *x, const void *y,
                                   const void *z) MTIP_NODISCARD;

    /* strengths [count][n_points] -> grids (overwritten), and back (strengths overwritten). */
    enum mtip_status (*spread)(struct nufft_plan *plan, const void *strengths,
                               int64_t count) MTIP_NODISCARD;
    enum mtip_status (*interpolate)(struct nufft_plan *plan, void *strengths,
                                    int64_t count) MTIP_NODISCARD;

    /* grids -> modes [count][N_z][N_y][n_stored of x]: FFT, truncation, correction, and back: correction, zero
     * padding, FFT. grid_to_modes may destroy the grid, modes_to_grid must leave the modes. */
    enum mtip_status (*grid_to_modes)(struct nufft_plan *plan, void *modes,
                                      int64_t count) MTIP_NODISCARD;
    enum mtip_status (*modes_to_grid)(struct nufft_plan *plan, const void *modes,
                                      int64_t count) MTIP_NODISCARD;

    /* Adds to *host_bytes and *device_bytes what create (for plan->batch) and set_points (n_points) take. */
    void (*memory)(const struct nufft_plan *plan, int64_t n_points, size_t *host_bytes,
                   size_t *device_bytes);

    /* NULL where the backend has no type 3. Create and spread are then also called for plans of type 3: complex data, axes
     * with n_modes = 1, fine grids of a multiple of 8 cells along x, which must have no padding (grid_row == nf). */
    const struct nufft_type3_ops *type3;
};

/* Vectors on the grid at once: enough to share the kernel values, within a bounded memory. In nufft.c. */
int64_t nufft_choose_batch(const struct nufft_plan *plan);

extern const struct nufft_ops nufft_ops_cpu;
#ifdef MTIP_HAVE_CUDA
extern const struct nufft_ops nufft_ops_cuda;
#endif

/* Mode number k of element i of an axis, in the plan's order. */
static inline int64_t nufft_mode(const struct nufft_axis *axis, enum nufft_order order, int64_t i)
{
    if (axis->half) {
        return i;
    }
    if (order == NUFFT_ORDER_CENTRED) {
        return i - axis->n_modes / 2;
    }
    return i < (axis->n_modes + 1) / 2 ? i : i - axis->n_modes;
}

/* Correction factor of element i. */
static inline double nufft_correction(const struct nufft_axis *axis, enum nufft_order order,
                                      int64_t i)
{
    const int64_t k = nufft_mode(axis, order, i);
    return axis->correction[k < 0 ? -k : k];
}

/* Fine-grid frequency index of element i: k modulo nf. */
static inline int64_t nufft_mode_cell(const struct nufft_axis *axis, enum nufft_order order,
                                      int64_t i)
{
    const int64_t k = nufft_mode(axis, order, i);
    return k < 0 ? k + axis->nf : k;
}

/* 1 where mode i of the half axis is its own mirror image (k = N/2, N even) apart from k = 0: type 2 counts it
 * once (weight h = 1 in nufft.h), although on the finer grid a c2r FFT would count it twice. */
static inline int nufft_mode_is_edge(const struct nufft_axis *axis, int64_t i)
{
    return axis->half && i > 0 && 2 * i == axis->n_modes;
}

#ifdef __cplusplus
}
#endif

#endif
