/* nufft.h - nonuniform fast Fourier transforms: plan, set points, execute, destroy.
 *
 * Dimensions: d = 1, 2, 3; N = (n_modes[0], n_modes[1], n_modes[2]) modes, axis 0 = x is the FASTEST
 * in memory: an array of modes is [n_vectors][kz][ky][kx]. M = n_points nonuniform points x_j;
 * s = the sign (+1 or -1).
 *
 *     type 1   f_k = sum_j c_j exp(i s k.x_j)                 strengths at points -> modes
 *     type 2   c_j = sum_k f_k exp(i s k.x_j)                 modes -> values at points
 *     type 3   f_l = sum_j c_j exp(i s t_l.x_j)               points -> targets t_l
 *
 * k_a runs over -floor(N_a/2) .. ceil(N_a/2)-1 (NUFFT_ORDER_CENTRED, the default) or in FFT order
 * 0 .. , negative last (NUFFT_ORDER_FFT). Coordinates are radians; types 1 and 2 are 2 pi-periodic
 * and fold any finite coordinate. No transform is normalised.
 *
 * Real-data mode (types 1 and 2): the values at the points are real and only modes with k_x >= 0
 * are kept, [n_vectors][N_z][N_y][floor(N_x/2)+1], k_x = 0 .. floor(N_x/2) in ascending order, k_y and k_z
 * as above. Type 1 gives those modes of the formula above; type 2 gives
 *     c_j = sum_{k stored} h_k Re( f_k exp(i s k.x_j) ),  h = 1 where k_x = 0 or k_x = N_x/2, else 2,
 * which is the full transform of a Hermitian array.
 *
 * Memory: a plan on the CPU holds the fine grid (halved by real data), 4 bytes a point, and 1 to 6 MB a thread (more
 * where an axis of a 2-D or 3-D grid has over 10 000 modes); while points are set 2 bytes a point more, in the fine grid where
 * they fit. nufft_plan_memory tells.
 *
 * Accuracy: relative l2 error of a transform at most 3 times `tolerance`, as far as the precision
 * allows. The same points and plan options give the same bits for every number of threads. On CUDA this holds, on the same kind
 * of device, for type 2 by every method and for type 1 in double precision by NUFFT_METHOD_COLUMN (stable sort, sums in fixed
 * point), which NUFFT_METHOD_AUTO chooses there; the other methods, and single precision, add in an order that is open, and
 * may differ by rounding.
 *
 * Tutorial. A plan holds the kernel, the fine grid and the FFT for one kind of transform; set-points sorts points
 * into it; execute may then be called with as many strengths as wanted, and set-points again with other points.
 * Values at 10^6 points of a density given on 41^3 modes, six digits:
 *
 *     struct nufft_plan *plan = NULL;
 *     const int64_t n_modes[3] = {41, 41, 41};
 *     if (nufft_plan_create(&plan, 2, 3, n_modes, +1, 1, 1e-6, NUFFT_DOUBLE, NULL) != MTIP_OK ||
 *         nufft_plan_set_points(plan, 1000000, x, y, z, 0, NULL, NULL, NULL) != MTIP_OK ||
 *         nufft_plan_execute(plan, values, modes) != MTIP_OK) {
 *         fprintf(stderr, "%s\n", mtip_status_message());
 *     }
 *     nufft_plan_destroy(&plan);
 *
 * What to know for speed: real data in real-data mode cost half; ask for no more digits than needed; keep the plan; give
 * the number of points as options.max_points when it is known, for the best grid; many vectors on the same
 * points belong into one plan (n_vectors), whose kernel values are then computed once. The CPU backend uses AVX2 or
 * AVX-512 as the processor has them; the environment variable MTIP_NUFFT_ISA = portable, avx2 or avx512 overrules that.
 * A complete program is examples/nufft_simple.c; with `make install` a C program finds the library by
 * `pkg-config --cflags --libs mtipnufft`.
 */
#ifndef MTIP_NUFFT_NUFFT_H
#define MTIP_NUFFT_NUFFT_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum nufft_precision { NUFFT_FLOAT = 0, NUFFT_DOUBLE = 1 };
enum nufft_order { NUFFT_ORDER_CENTRED = 0, NUFFT_ORDER_FFT = 1 };
enum nufft_backend { NUFFT_BACKEND_CPU = 0, NUFFT_BACKEND_CUDA = 1 };

/* How the CUDA backend spreads (type 1) and interpolates (type 2). Results agree to the tolerance. */
enum nufft_method {
    NUFFT_METHOD_AUTO = 0,    /* the cheapest by the cost model of nufft_cuda_method.c */
    NUFFT_METHOD_GM = 1,      /* points in the user's order, straight to and from global memory */
    NUFFT_METHOD_GM_SORT = 2, /* the same, points sorted by bins */
    NUFFT_METHOD_SM = 3,      /* sorted, a tile of the grid in shared memory */
    NUFFT_METHOD_COLUMN = 4   /* sorted, a column of the grid slides through registers */
};

/* Options beyond the arguments of nufft_plan_create; start from nufft_options_default(). */
struct nufft_options {
    enum nufft_backend backend;
    enum nufft_order order;
    int real_data;      /* 1: real-data mode */
    int n_threads;      /* CPU: 0 = as many as OpenMP would use */
    double upsampling;  /* 0 = chosen by cost; else 1.25 .. 2.75 */
    int method;         /* CUDA: enum nufft_method; set-points chooses where it is AUTO */
    void *stream;       /* CUDA: the caller's cudaStream_t, NULL = the default stream */
    int64_t max_points; /* 0 = unknown; a hint for the cost model when known before set-points */
    int copy_points; /* CPU: 1 = set-points copies the coordinates in the order of its sort; see there */
};

/* Opaque; one plan serves one thread at a time, different plans may be made and used at the same time. A program that makes
 * FFTW plans of its own in another thread meanwhile calls fftw_make_planner_thread_safe and fftwf_.. first. */
struct nufft_plan;

struct nufft_options nufft_options_default(void);

/* Makes a plan.
 *   type        1, 2 or 3
 *   dimension   1, 2 or 3
 *   n_modes     [dimension], each >= 1, x first (ignored by type 3, may be NULL there)
 *   sign        +1 or -1
 *   n_vectors   >= 1 transforms executed together on the same points
 *   tolerance   requested relative l2 error, 1e-1 down to 1e-14 (double) or 1e-6 (float)
 *   options     NULL = defaults; copied
 * All workspace that does not depend on the points is taken here. Errors: MTIP_ERR_ARGUMENT (also where the fine grid, 1.25
 * to 2.75 times n_modes, would exceed 2^31 - 1 cells an axis, on the CUDA backend half of that),
 * MTIP_ERR_MEMORY, MTIP_ERR_UNSUPPORTED (backend not built in), MTIP_ERR_DEVICE; *plan is NULL then. */
enum mtip_status nufft_plan_create(struct nufft_plan **plan, int type, int dimension,
                                   const int64_t *n_modes, int sign, int64_t n_vectors,
                                   double tolerance, enum nufft_precision precision,
                                   const struct nufft_options *options) MTIP_NODISCARD;

/* Gives the plan its points, replacing earlier ones. x, y, z: [n_points] of the plan's precision (y, z NULL
 * below dimension 2, 3); on the CUDA backend device pointers. They are not copied: leave them where and as they are until
 * the points are replaced or the plan is destroyed (every execute and interpolate may read them, but for type 3; values
 * are undefined if they are changed). With the option copy_points they are read during the call only, at the price of
 * one more value a point and axis; execute is then faster (bench/results/nufft_cpu.md), set-points slower. Type 3 also
 * takes targets s, t, u [n_targets] (NULL and 0 otherwise), read during the call only, as its points are. n_points = 0 is
 * allowed. Errors:
 * MTIP_ERR_ARGUMENT (NaN or infinite coordinate: its index is named; negative count; on the CUDA backend more than
 * 2^32 - 2 points),
 * MTIP_ERR_MEMORY; the plan then has no points. */
enum mtip_status nufft_plan_set_points(struct nufft_plan *plan, int64_t n_points, const void *x,
                                       const void *y, const void *z, int64_t n_targets,
                                       const void *s, const void *t, const void *u) MTIP_NODISCARD;

/* Runs the transform. strengths: [n_vectors][n_points], complex (interleaved) or real in real-data mode;
 * modes: as above, complex. Type 1 and 3 read strengths and overwrite modes ([n_vectors][n_targets]
 * for type 3), type 2 reads modes and overwrites strengths. Input and output must not overlap.
 * Allocates nothing: all work space is in the plan. (On the CPU OpenMP may, when it starts threads or their number changes,
 * and FFTW where a line of a 2-D or 3-D fine grid has over 285 000 cells.) On the CUDA backend nothing is waited for, either:
 * asynchronous on the plan's stream. */
enum mtip_status nufft_plan_execute(struct nufft_plan *plan, void *strengths,
                                    void *modes) MTIP_NODISCARD;

/* Type 2 in two halves: prepare transforms the modes to the plan's fine grid once, interpolate then evaluates
 * it at the current points; points may be replaced in between as often as wanted. execute ==
 * prepare + interpolate. */
enum mtip_status nufft_plan_prepare(struct nufft_plan *plan, const void *modes) MTIP_NODISCARD;
enum mtip_status nufft_plan_interpolate(struct nufft_plan *plan, void *strengths) MTIP_NODISCARD;

/* Bytes a plan of these arguments will hold with n_points points set: host memory, and device memory
 * on the CUDA backend (either pointer may be NULL). For memory plans; an upper bound. */
enum mtip_status nufft_plan_memory(size_t *host_bytes, size_t *device_bytes, int type,
                                   int dimension, const int64_t *n_modes, int64_t n_vectors,
                                   double tolerance, enum nufft_precision precision,
                                   const struct nufft_options *options,
                                   int64_t n_points) MTIP_NODISCARD;

/* Frees the plan and sets *plan to NULL; NULL plans are allowed. */
void nufft_plan_destroy(struct nufft_plan **plan);

#ifdef __cplusplus
}
#endif

#endif
