/* nufft_cuda_method.c - CUDA backend: the cost model that chooses the method, and the bins of each.
 *
 * The model counts, for an H200 (132 multiprocessors at 1.98 GHz, 4.8 TB/s), what the comments above the kernels count;
 * nothing in it was measured:
 *   GM, GM-sort  spread: w^d atomic additions of every value at L2_ATOMIC bytes a ns; interpolate: w^(d-1) rows
 *                through L1, 128 bytes a cycle and at least half a cycle each, and an exchange of kernel values between
 *                lanes, in the same unit
 *   SM           spread: w^d additions in shared memory, 32 a cycle (single precision) or 2 (double, which the hardware
 *                does by compare and swap); interpolate: as GM-sort; and the tiles' traffic
 *   COLUMN       multiply-adds of the warps that a point touches, overhead instructions, kernel values; interpolate: or
 *                the exchanges between lanes with the accesses of shared memory and L1, where they take longer; the planes'
 *                traffic; and the passes that a spread in fixed point takes more (nufft_kernels_fixed.cu)
 */
#include <math.h>

#include "nufft/nufft_cuda.h"

#define NS_PER_CYCLE (1.0 / (132.0 * 1.98)) /* of all multiprocessors together */
#define L2_ATOMIC 2400.0                    /* bytes a ns */
#define L2_READ 5000.0
#define MEMORY 4800.0
#define SUBPROBLEM_POINTS 1024
#define SUBPROBLEM_POINTS_LEAST 256

static int width_of(const struct nufft_plan *plan)
{
    return plan->axis[plan->dimension - 1].width;
}

static double value_bytes(const struct nufft_plan *plan)
{
    return plan->precision == NUFFT_FLOAT ? 4.0 : 8.0;
}

static double components_of(const struct nufft_plan *plan)
{
    return plan->options.real_data ? 1.0 : 2.0;
}

/* Cycles that the rows of a point take, read through L1 or shared memory. */
static double row_cycles(const struct nufft_plan *plan)
{
    const double w = width_of(plan);
    const double bytes = w * components_of(plan) * value_bytes(plan);
    const double reads = ceil(bytes / 128.0) * (bytes > 64.0 ? 1.0 : 0.5);
    const double lanes = w <= 4.0 ? 4.0 : w <= 8.0 ? 8.0 : 16.0;
    const double exchange = value_bytes(plan) / 4.0 * lanes / 32.0;
    return pow(w, plan->dimension - 1) * (reads + exchange);
}

static double column_cycles(const struct nufft_plan *plan)
{
    const int d = plan->dimension, w = width_of(plan);
    const struct nufft_plane_shape shape = nufft_column_shape(d, w);
    const double rows = 32.0 / shape.x > 1.0 ? 32.0 / shape.x : 1.0; /* of a warp */
    const double warps = d == 3 ? (w + rows - 1.0) * shape.x / 32.0 : 1.0;
    const double fused = components_of(plan) * (d == 1 ? 1.0 : w) + 4.0;
    const double main = plan->precision == NUFFT_DOUBLE ? 0.5 * fused + 3.0 : 0.25 * (fused + 14.0);
    const double taps = (d == 3 ? 2.0 * shape.x : shape.x) + w;
    const double issue = warps * main + taps * (nufft_kernel_degree(w) + 12.0) / 128.0;
    if (plan->type == 1) {
        return issue;
    }
    /* Points whose sums a butterfly joins before plain sums, as LEVELS in nufft_kernels_column.cuh. */
    const double words = value_bytes(plan) / 4.0;
    const int levels = words < 2.0 ? 3 : d == 3 && w == 12 && components_of(plan) > 1.0 ? 1 : 2;
    const double joined = (double)(1 << levels);
    const double exchanges = (joined + 4.0 - levels) / joined * components_of(plan) * words;
    const double accesses = 4.0 + (d == 1 ? 0.0 : w * words / 4.0);
    const double loads = taps * (nufft_kernel_degree(w) + 1.0) / 32.0 * words;
    const double all_warps = ceil(shape.x * shape.y / 32.0);
    const double unit = warps * accesses + loads + all_warps * exchanges;
    return unit > issue ? unit : issue;
}

/* A spread by columns goes through fixed point. */
static int is_fixed_point(const struct nufft_plan *plan)
{
    return plan->type == 1 && plan->precision == NUFFT_DOUBLE;
}

double nufft_cuda_point_ns(const struct nufft_plan *plan, int method)
{
    const double w = width_of(plan);
    const double values = pow(w, plan->dimension) * components_of(plan);
    const double strength = components_of(plan) * value_bytes(plan);
    const int spread = plan->type == 1;
    switch (method) {
    case NUFFT_METHOD_GM:
    case NUFFT_METHOD_GM_SORT:
        return spread ? values * value_bytes(plan) / L2_ATOMIC : row_cycles(plan) * NS_PER_CYCLE;
    case NUFFT_METHOD_SM:
        return spread ? values / (plan->precision == NUFFT_FLOAT ? 32.0 : 2.0) * NS_PER_CYCLE
                      : row_cycles(plan) * NS_PER_CYCLE;
    default: /* fixed point: a point's index and strength are read for the scale */
        return column_cycles(plan) * NS_PER_CYCLE +
               (is_fixed_point(plan) ? (4.0 + strength) / MEMORY : 0.0);
    }
}

/* Traffic of tiles and planes a grid cell, all of them in use; and of the way back from fixed point. */
double nufft_cuda_cell_ns(const struct nufft_plan *plan, int method)
{
    const double bytes = components_of(plan) * value_bytes(plan);
    const double rate = plan->type == 1 ? L2_ATOMIC : L2_READ;
    const double w = width_of(plan);
    const struct nufft_plane_shape shape = nufft_column_shape(plan->dimension, (int)w);
    switch (method) {
    case NUFFT_METHOD_GM:
    case NUFFT_METHOD_GM_SORT:
        return 0.0;
    case NUFFT_METHOD_SM:
        return bytes / rate * pow(2.0, plan->dimension);
    default:
        return bytes / rate * shape.x / (shape.x - w + 1.0) *
                   (plan->dimension == 3 ? shape.y / (shape.y - w + 1.0) : 1.0) * 1.5 +
               (is_fixed_point(plan) ? 2.0 * bytes / MEMORY : 0.0);
    }
}

/* Cells that tiles or planes move: all of the grid, or what n scattered points need. */
static double moved_cells(const struct nufft_plan *plan, double n)
{
    double cells = 1.0;
    for (int a = 0; a < plan->dimension; a++) {
        cells *= (double)plan->axis[a].nf;
    }
    const double most = n * pow(width_of(plan), plan->dimension);
    return most < cells ? most : cells;
}

int nufft_cuda_is_exact(const struct nufft_plan *plan, int method)
{
    return method == NUFFT_METHOD_COLUMN && is_fixed_point(plan);
}

int nufft_cuda_choose_method(const struct nufft_plan *plan, const struct nufft_cuda_device *device,
                             int64_t n_points)
{
    (void)device;
    if (plan->options.method != NUFFT_METHOD_AUTO) {
        return plan->options.method;
    }
    /* Where one method gives the same bits every time, it is taken: the others win for few points only. */
    if (nufft_cuda_is_exact(plan, NUFFT_METHOD_COLUMN)) {
        return NUFFT_METHOD_COLUMN;
    }
    int best = NUFFT_METHOD_GM_SORT;
    double least = 0.0;
    for (int method = NUFFT_METHOD_GM_SORT; method <= NUFFT_METHOD_COLUMN; method++) {
        const double n = (double)n_points;
        const double ns = n * nufft_cuda_point_ns(plan, method) +
                          moved_cells(plan, n) * nufft_cuda_cell_ns(plan, method);
        if (method == NUFFT_METHOD_GM_SORT || ns < least) {
            least = ns;
            best = method;
        }
    }
    return best;
}

/* ---- bins -------------------------------------------------------------------------------------- */
/* Sides of the SM method's tiles: of the tiles whose padded copy fits, the one that wastes least. Two blocks should
 * share a multiprocessor where they can. */
static void design_tile(struct nufft_bins *bins, const struct nufft_plan *plan,
                        const struct nufft_cuda_device *device)
{
    const int d = plan->dimension, w = width_of(plan);
    const int64_t cell = 2 * (int64_t)value_bytes(plan); /* complex, or a pair of real vectors */
    const int most = d == 1 ? 2048 : d == 2 ? 64 : 32;
    double best = -1.0;
    for (int pass = 0; pass < 2 && best < 0.0; pass++) {
        const int64_t limit = pass == 0 ? device->shared_limit * 7 / 16 : device->shared_limit;
        for (int side = 1; side <= most; side++) {
            for (int length = 1; length <= (d == 1 ? 1 : most); length++) {
                const int64_t x = side + w - 1, y = d == 3 ? x : 1, z = d == 1 ? 1 : length + w - 1;
                if (x * y * z * cell > limit) {
                    break;
                }
                const double useful = (double)side * (d == 3 ? side : 1) * length;
                const double share = useful / (double)(x * y * z);
                if (share > best) {
                    best = share;
                    bins->size[0] = side;
                    bins->length = length;
                }
            }
        }
    }
    bins->size[1] = d == 3 ? bins->size[0] : 1;
}

static int64_t subproblem_points(const struct nufft_cuda_device *device, int64_t n_points)
{
    const int64_t share = n_points / (8 * device->multiprocessors);
    return share < SUBPROBLEM_POINTS_LEAST ? SUBPROBLEM_POINTS_LEAST
           : share > SUBPROBLEM_POINTS     ? SUBPROBLEM_POINTS
                                           : share;
}

void nufft_cuda_design_bins(struct nufft_bins *bins, const struct nufft_plan *plan,
                            const struct nufft_cuda_device *device, int method, int64_t n_points)
{
    const int d = plan->dimension;
    const struct nufft_plane_shape shape = nufft_column_shape(d, width_of(plan));
    bins->slide = d == 1 ? 1 : plan->axis[d - 1].nf;
    bins->length = (int32_t)bins->slide;
    bins->most = 0;
    switch (method) {
    case NUFFT_METHOD_SM:
        design_tile(bins, plan, device);
        bins->most = SUBPROBLEM_POINTS;
        break;
    case NUFFT_METHOD_COLUMN:
        bins->size[0] = shape.x - width_of(plan) + 1;
        bins->size[1] = d == 3 ? shape.y - width_of(plan) + 1 : 1;
        bins->most = subproblem_points(device, n_points);
        break;
    default:
        bins->size[0] = d == 1 ? 64 : d == 2 ? 32 : 16;
        bins->size[1] = d == 3 ? 16 : 1;
        break;
    }
    bins->columns_x = (plan->axis[0].nf + bins->size[0] - 1) / bins->size[0];
    bins->columns = bins->columns_x;
    if (d == 3) {
        bins->columns *= (plan->axis[1].nf + bins->size[1] - 1) / bins->size[1];
    }
    bins->segments = (bins->slide + bins->length - 1) / bins->length;
    bins->n_bins = bins->columns * bins->slide;
    bins->n_segments = bins->most > 0 ? bins->columns * bins->segments : 0;
}

int64_t nufft_cuda_max_subproblems(const struct nufft_bins *bins, int64_t n_points)
{
    if (bins->most == 0) {
        return 0;
    }
    const int64_t nonempty = bins->n_segments < n_points ? bins->n_segments : n_points;
    return nonempty + n_points / bins->most;
}
