/* nufft_type3.c - type 3: nonuniform points to nonuniform targets (Barnett, Magland, af Klinteberg 2019, section 3.3;
 * Lee, Greengard 2005).
 *
 * On each axis let the points lie in C +- X and the targets in D +- S, x = C + x', t = D + t'. Then
 *     f_l = exp(i s t'_l C) sum_j [c_j exp(i s D x_j)] exp(i s t'_l x'_j).
 * The points x'/gamma are spread, as in type 1, to a fine grid of nf cells of h = 2 pi/nf; the sum over its cells at the
 * frequencies h gamma t'_l is a type 2 transform with nf modes, done by an inner plan; dividing by phihat there undoes
 * the kernel. With gamma = nf / (2 sigma S) the frequencies stay within pi/sigma, as in type 1, and the grid has room for
 * the kernel at its ends when nf >= 2 sigma S X/pi + w.
 */
#include "nufft/nufft_type3.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "core/memory.h"
#include "nufft/nufft_design.h"

#define PI 3.14159265358979323846
/* Upsampling guessed for the inner plan by the cost model. */
#define INNER_CELLS 1.7

struct nufft_type3 {
    struct nufft_plan *inner; /* owned */
    double centre[3];         /* C */
    double extent[3];         /* X */
    double target_centre[3];  /* D */
    double target_extent[3];  /* S */
    double gamma[3];
    double sigma[3];
    /* Kept where set-points borrows: */
    void *points[3];  /* owned, backend memory [n_points]: x'/gamma */
    void *targets[3]; /* owned, backend memory [n_targets]: h gamma t' */
    void *before;     /* owned, backend memory [n_points] complex: exp(i s D x_j) */
    void *after;      /* owned, backend memory [n_targets] complex: exp(i s t'_l C) / phihat */
    void *scaled; /* owned, backend memory [batch][n_points] complex: strengths times `before` */
};

static size_t complex_bytes(const struct nufft_plan *plan)
{
    return 2 * (plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double));
}

enum mtip_status nufft_type3_create(struct nufft_plan *plan)
{
    if (plan->ops->type3 == NULL) {
        return MTIP_ERROR(MTIP_ERR_UNSUPPORTED, "nufft: the %s backend has no type 3",
                          plan->ops->name);
    }
    return MEMORY_ALLOC(&plan->type3, 1, "nufft type 3");
}

/* Whether coordinates must outlive set-points. */
static int borrows(const struct nufft_plan *plan)
{
    return plan->ops->borrows_points && !plan->options.copy_points;
}

static void free_axes(const struct nufft_plan *plan, void **axes)
{
    for (int a = 0; a < 3; a++) {
        plan->ops->type3->free(plan, &axes[a]);
    }
}

/* Everything that depends on the points. */
static void release(struct nufft_plan *plan)
{
    struct nufft_type3 *own = plan->type3;
    plan->ops->type3->free(plan, &own->scaled);
    plan->ops->type3->free(plan, &own->after);
    plan->ops->type3->free(plan, &own->before);
    nufft_plan_destroy(&own->inner);
    free_axes(plan, own->targets);
    plan->ops->destroy(plan);
    free_axes(plan, own->points);
    nufft_design_free(plan);
}

void nufft_type3_destroy(struct nufft_plan *plan)
{
    if (plan->type3 != NULL) {
        release(plan);
        memory_free(&plan->type3);
    }
}

/* Centre and half-width of coordinates; 0 for no points. */
static enum mtip_status measure(const struct nufft_plan *plan, double *centre, double *extent,
                                int64_t n, const void *x, const char *what, int axis)
{
    double low = 0.0;
    double high = 0.0;
    int64_t bad = n;
    const enum mtip_status status = plan->ops->type3->range(plan, &low, &high, &bad, n, x);
    if (status != MTIP_OK) {
        return status;
    }
    if (bad < n) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "nufft: %s %" PRId64 " has a coordinate on axis %d that is not finite",
                          what, bad, axis);
    }
    *extent = 0.5 * high - 0.5 * low;
    *centre = low + *extent;
    return MTIP_OK;
}

/* Half-widths of zero would leave the scale open: any that keeps X S at least 1 will do. */
static void widen(double *extent, double *target_extent)
{
    if (*extent == 0.0 && *target_extent == 0.0) {
        *extent = 1.0;
        *target_extent = 1.0;
    } else if (*extent == 0.0) {
        *extent = 1.0 / *target_extent;
    } else if (*target_extent == 0.0) {
        *target_extent = 1.0 / *extent;
    } else if (*extent * *target_extent < 1.0) {
        *extent = 1.0 / *target_extent;
    }
}

/* Sets the plan's axes for `width` taps. Returns 0 when the width is too small for the target error. */
static int set_axes(struct nufft_plan *plan, int width, double target)
{
    struct nufft_type3 *own = plan->type3;
    for (int a = 0; a < plan->dimension; a++) {
        struct nufft_axis *axis = &plan->axis[a];
        const int x_taps = plan->ops->x_width(plan, width);
        if (x_taps == 0) {
            return 0;
        }
        const int taps = a == 0 ? x_taps : width;
        const double sigma = nufft_smallest_sigma(taps, target);
        if (sigma == 0.0) {
            return 0;
        }
        const double cells =
            ceil(2.0 * sigma * own->extent[a] * own->target_extent[a] / PI) + taps + 1;
        /* Not to overflow below; the total is checked by the caller. */
        const int64_t least = cells < 1e12 ? (int64_t)cells : (int64_t)1 << 40;
        axis->nf = nufft_good_size(least < 2 * taps ? 2 * taps : least);
        while (axis->nf % 8 !=
               0) { /* rows without padding: the inner plan reads the grid as its modes */
            axis->nf = nufft_good_size(axis->nf + 1);
        }
        axis->width = taps;
        axis->beta = nufft_kernel_beta(taps, sigma);
        axis->error = nufft_kernel_error(taps, sigma, axis->beta);
        own->sigma[a] = sigma;
        own->gamma[a] = (double)axis->nf / (2.0 * sigma * own->target_extent[a]);
    }
    return 1;
}

static enum mtip_status design(struct nufft_plan *plan, double points)
{
    const double target = 0.6 * plan->tolerance / sqrt((double)plan->dimension);
    const int widest = plan->precision == NUFFT_FLOAT ? 8 : NUFFT_MAX_WIDTH;
    double least = DBL_MAX;
    int best = 0;
    for (int width = NUFFT_MIN_WIDTH; width <= widest; width++) {
        if (!set_axes(plan, width, target)) {
            continue;
        }
        double cells = 1.0;
        for (int a = 0; a < plan->dimension; a++) {
            cells *= INNER_CELLS * (double)plan->axis[a].nf;
        }
        const double cost =
            points * plan->ops->point_cost(plan) + cells * plan->ops->cell_cost(plan);
        if (cost < least) {
            least = cost;
            best = width;
        }
    }
    /* The tightest tolerances leave no room for the share of the inner plan: the widest kernel is the best there is. */
    if (best == 0) {
        best = widest;
        if (!set_axes(plan, best, 4.0 * target)) {
            return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: tolerance %g is out of reach for type 3",
                              plan->tolerance);
        }
    } else {
        (void)set_axes(plan, best, target);
    }
    double cells = (double)plan->n_vectors;
    for (int a = 0; a < plan->dimension; a++) {
        cells *= (double)plan->axis[a].nf;
    }
    if (cells > 1e13) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "nufft: points and targets span %g fine-grid cells, too many for type 3",
                          cells);
    }
    return MTIP_OK;
}

static enum mtip_status make_inner(struct nufft_plan *plan, int64_t n_targets, const void *const *s)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_type3 *own = plan->type3;
    const double tightest = plan->precision == NUFFT_FLOAT ? 1e-6 : 1e-14;
    const int64_t modes[3] = {plan->axis[0].nf, plan->axis[1].nf, plan->axis[2].nf};
    struct nufft_options options = plan->options;
    options.order = NUFFT_ORDER_FFT;
    options.max_points = n_targets;
    const double tolerance = 0.6 * plan->tolerance;
    MTIP_TRY(nufft_plan_create(&own->inner, 2, plan->dimension, modes, plan->sign, plan->batch,
                               tolerance < tightest ? tightest : tolerance, plan->precision,
                               &options));
    for (int a = 0; a < plan->dimension; a++) {
        const double h = 2.0 * PI / (double)plan->axis[a].nf;
        MTIP_TRY(
            plan->ops->type3->alloc(plan, &own->targets[a], n_targets, complex_bytes(plan) / 2));
        MTIP_TRY(plan->ops->type3->rescale(plan, own->targets[a], n_targets, s[a],
                                           own->target_centre[a], h * own->gamma[a]));
    }
    MTIP_TRY(nufft_plan_set_points(own->inner, n_targets, own->targets[0], own->targets[1],
                                   own->targets[2], 0, NULL, NULL, NULL));
    if (!borrows(plan)) {
        free_axes(plan, own->targets);
    }
cleanup:
    return status;
}

/* The spreader: the plan's own backend state, with rescaled points. */
static enum mtip_status make_spreader(struct nufft_plan *plan, int64_t n, const void *const *x)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_type3 *own = plan->type3;
    plan->batch = nufft_choose_batch(plan);
    MTIP_TRY(nufft_design_tables(plan));
    MTIP_TRY(plan->ops->create(plan));
    if (plan->grid_row != plan->axis[0].nf) {
        MTIP_FAIL(MTIP_ERR_INTERNAL, "nufft: type 3 needs a grid without padding");
    }
    for (int a = 0; a < plan->dimension; a++) {
        MTIP_TRY(plan->ops->type3->alloc(plan, &own->points[a], n, complex_bytes(plan) / 2));
        MTIP_TRY(plan->ops->type3->rescale(plan, own->points[a], n, x[a], own->centre[a],
                                           1.0 / own->gamma[a]));
    }
    MTIP_TRY(plan->ops->set_points(plan, n, own->points[0], own->points[1], own->points[2]));
    if (!borrows(plan)) {
        free_axes(plan, own->points);
    }
cleanup:
    return status;
}

static enum mtip_status make_phases(struct nufft_plan *plan, int64_t n, const void *const *x,
                                    int64_t n_targets, const void *const *s)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_type3 *own = plan->type3;
    const struct nufft_type3_ops *ops = plan->ops->type3;
    double scale[3] = {0.0, 0.0, 0.0};
    for (int a = 0; a < plan->dimension; a++) {
        scale[a] = 2.0 * PI / (double)plan->axis[a].nf * own->gamma[a];
    }
    MTIP_TRY(ops->alloc(plan, &own->before, n, complex_bytes(plan)));
    MTIP_TRY(ops->alloc(plan, &own->after, n_targets, complex_bytes(plan)));
    MTIP_TRY(ops->alloc(plan, &own->scaled, n * plan->batch, complex_bytes(plan)));
    const double zero[3] = {0.0, 0.0, 0.0};
    MTIP_TRY(ops->phases(plan, own->before, n, x, zero, own->target_centre, NULL));
    MTIP_TRY(ops->phases(plan, own->after, n_targets, s, own->target_centre, own->centre, scale));
cleanup:
    return status;
}

enum mtip_status nufft_type3_set_points(struct nufft_plan *plan, int64_t n, const void *const *x,
                                        int64_t n_targets, const void *const *s)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_type3 *own = plan->type3;
    release(plan);
    for (int a = 0; a < plan->dimension; a++) {
        MTIP_TRY(measure(plan, &own->centre[a], &own->extent[a], n, x[a], "point", a));
        MTIP_TRY(measure(plan, &own->target_centre[a], &own->target_extent[a], n_targets, s[a],
                         "target", a));
        widen(&own->extent[a], &own->target_extent[a]);
    }
    if (n == 0 || n_targets == 0) {
        goto cleanup; /* execute needs no transform */
    }
    MTIP_TRY(design(plan, (double)n + (double)n_targets));
    MTIP_TRY(make_spreader(plan, n, x));
    MTIP_TRY(make_inner(plan, n_targets, s));
    MTIP_TRY(make_phases(plan, n, x, n_targets, s));
cleanup:
    if (status != MTIP_OK) {
        release(plan);
    }
    return status;
}

enum mtip_status nufft_type3_execute(struct nufft_plan *plan, const void *strengths, void *values)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_type3 *own = plan->type3;
    const struct nufft_type3_ops *ops = plan->ops->type3;
    const size_t in = complex_bytes(plan) * (size_t)plan->n_points;
    const size_t out = complex_bytes(plan) * (size_t)plan->n_targets;
    if (plan->n_targets == 0) {
        return MTIP_OK;
    }
    if (plan->n_points == 0) {
        return ops->clear(plan, values, out * (size_t)plan->n_vectors);
    }
    for (int64_t first = 0; first < plan->n_vectors; first += plan->batch) {
        const int64_t left = plan->n_vectors - first;
        const int64_t count = left < plan->batch ? left : plan->batch;
        const char *c = (const char *)strengths + (size_t)first * in;
        char *f = (char *)values + (size_t)first * out;
        MTIP_TRY(ops->multiply(plan, own->scaled, c, own->before, plan->n_points, count));
        MTIP_TRY(plan->ops->spread(plan, own->scaled, count));
        MTIP_TRY(own->inner->ops->modes_to_grid(own->inner, plan->grid, count));
        MTIP_TRY(own->inner->ops->interpolate(own->inner, f, count));
        MTIP_TRY(ops->multiply(plan, f, f, own->after, plan->n_targets, count));
    }
cleanup:
    return status;
}
