/* nufft_design.c - choice of kernel, widths and fine grid for a tolerance; kernel tables.
 *
 * Kaiser-Bessel kernel: its transform is known in closed form, so aliasing, correction factors and the
 * best shape parameter need no quadrature, and it is within a few per cent of the optimal (prolate) window.
 * An axis may have any width; all axes together must meet the tolerance: errors add in squares.
 */
#include "nufft/nufft_design.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>

#include "core/memory.h"

#define PI 3.14159265358979323846
#define SIGMA_MIN 1.25
#define SIGMA_MAX 2.75
#define SMALL_GRID_BYTES 4e6
/* Sizes from here on are multiples of 32, 3 % more at most: they can be cut into two multiples of 4, also where real data
 * make a line half as long, and FFTs of those take about 3/4 of the time. */
#define LONG_SIZE 131072
#define LONG_STEP 32

double nufft_kernel_beta(int width, double sigma)
{
    const double w = width;
    const double shrink = 0.31 * pow(2.0 / sigma, 1.2) / pow(w, 1.5);
    return PI * w * (1.0 - 0.5 / sigma) * (1.0 - shrink);
}

/* sinh(s)/s at s^2 = a, with s imaginary where a < 0; divided by exp(beta) to stay in range. */
static double scaled_sinhc(double a, double beta)
{
    if (fabs(a) < 1e-12) {
        return exp(-beta);
    }
    const double s = sqrt(fabs(a));
    if (a > 0.0) {
        return 0.5 * (exp(s - beta) - exp(-s - beta)) / s;
    }
    return sin(s) / s * exp(-beta);
}

double nufft_kernel_transform(int width, double beta, double xi)
{
    const double half = 0.5 * width * xi;
    return scaled_sinhc(beta * beta - half * half, beta) / scaled_sinhc(beta * beta, beta);
}

double nufft_kernel_error(int width, double sigma, double beta)
{
    enum { MODES = 17, ALIASES = 6 };
    double mean = 0.0;
    for (int i = 0; i < MODES; i++) {
        const double xi = PI / sigma * i / (MODES - 1);
        double aliases = 0.0;
        for (int m = 1; m <= ALIASES; m++) {
            const double above = nufft_kernel_transform(width, beta, xi + 2.0 * PI * m);
            const double below = nufft_kernel_transform(width, beta, xi - 2.0 * PI * m);
            aliases += above * above + below * below;
        }
        const double own = nufft_kernel_transform(width, beta, xi);
        /* Trapezoidal rule over the band. */
        const double weight = (i == 0 || i == MODES - 1) ? 0.5 : 1.0;
        mean += weight * aliases / (own * own);
    }
    return sqrt(mean / (MODES - 1));
}

/* I0 by its power series, all terms positive; 80 terms suffice for x <= 60. */
static long double bessel_i0(long double x)
{
    const long double q = 0.25L * x * x;
    long double term = 1.0L;
    long double sum = 1.0L;
    for (int n = 1; n < 400; n++) {
        term *= q / ((long double)n * (long double)n);
        sum += term;
        if (term < sum * 1e-20L) {
            break;
        }
    }
    return sum;
}

double nufft_kernel_value(int width, double beta, double x)
{
    const double z = 2.0 * x / width;
    const double under = 1.0 - z * z;
    if (under < 0.0) {
        return 0.0;
    }
    const long double b = (long double)beta;
    const long double scale = b / ((long double)width * sinhl(b));
    return (double)(scale * bessel_i0(b * sqrtl((long double)under)));
}

int64_t nufft_good_size(int64_t n)
{
    const int64_t step = n > LONG_SIZE ? LONG_STEP : 2;
    int64_t size = n < 2 ? 2 : (n + step - 1) / step * step;
    for (;; size += step) {
        int64_t rest = size;
        static const int primes[] = {2, 3, 5, 7};
        for (int i = 0; i < 4; i++) {
            while (rest % primes[i] == 0) {
                rest /= primes[i];
            }
        }
        if (rest == 1) {
            return size;
        }
    }
}

double nufft_smallest_sigma(int width, double target)
{
    double low = SIGMA_MIN;
    double high = SIGMA_MAX;
    if (nufft_kernel_error(width, low, nufft_kernel_beta(width, low)) <= target) {
        return low;
    }
    if (nufft_kernel_error(width, high, nufft_kernel_beta(width, high)) > target) {
        return 0.0;
    }
    while (high - low > 0.005) {
        const double middle = 0.5 * (low + high);
        if (nufft_kernel_error(width, middle, nufft_kernel_beta(width, middle)) <= target) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

/* Sets one axis from its width and least sigma: the grid is rounded up, which only lowers the error. */
static void set_axis(struct nufft_axis *axis, int width, double sigma)
{
    int64_t nf = (int64_t)ceil(sigma * (double)axis->n_modes);
    if (nf < 2 * width) {
        nf = 2 * width; /* taps of one point stay distinct */
    }
    axis->width = width;
    axis->nf = nufft_good_size(nf);
    double actual = (double)axis->nf / (double)axis->n_modes;
    if (actual > SIGMA_MAX) {
        actual = SIGMA_MAX;
    }
    axis->beta = nufft_kernel_beta(width, actual);
    axis->error = nufft_kernel_error(width, actual, axis->beta);
}

/* Sets all axes for `width` taps (more along x where the backend has free lanes). Returns 0 when the width
 * cannot meet `target` on each axis. */
static int set_axes(struct nufft_plan *plan, int width, double target)
{
    const double given = plan->options.upsampling;
    for (int a = 0; a < plan->dimension; a++) {
        const int x_taps = plan->ops->x_width(plan, width);
        if (x_taps == 0) {
            return 0;
        }
        const int taps = a == 0 ? x_taps : width;
        double sigma = nufft_smallest_sigma(taps, target);
        if (given > 0.0) {
            if (sigma == 0.0 || sigma > given) {
                return 0;
            }
            sigma = given;
        }
        if (sigma == 0.0) {
            return 0;
        }
        set_axis(&plan->axis[a], taps, sigma);
    }
    return 1;
}

static double total_cost(const struct nufft_plan *plan, double points)
{
    double cells = 1.0;
    for (int a = 0; a < plan->dimension; a++) {
        cells *= (double)plan->axis[a].nf;
    }
    return points * plan->ops->point_cost(plan) + cells * plan->ops->cell_cost(plan);
}

/* Whether the fine grid takes more memory than a complex one of upsampling 2, 3 bytes a point and a little do. A wider kernel
 * on a smaller one then took 7 to 42 % more time where it was measured (double precision, 1e-12, complex), for about half
 * the grid. */
static int is_large(const struct nufft_plan *plan, double points)
{
    const double value = plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    double cells = plan->options.real_data ? 0.5 : 1.0;
    double allowed = 1.0;
    for (int a = 0; a < plan->dimension; a++) {
        cells *= (double)plan->axis[a].nf;
        allowed *= 2.0 * (double)nufft_good_size(plan->axis[a].n_modes);
    }
    const double most = 2.0 * value * allowed + 3.0 * points + SMALL_GRID_BYTES;
    return plan->ops->spares_memory && 2.0 * value * cells > most;
}

enum mtip_status nufft_design_axes(struct nufft_plan *plan, int64_t n_points)
{
    double points = (double)n_points;
    if (n_points <= 0) {
        points = plan->dimension == 3 ? 8.0 : 2.0;
        for (int a = 0; a < plan->dimension; a++) {
            points *= (double)plan->axis[a].n_modes;
        }
    }
    const double target = plan->tolerance / sqrt((double)plan->dimension);
    const int widest = plan->precision == NUFFT_FLOAT ? 8 : NUFFT_MAX_WIDTH;
    struct nufft_axis best[3];
    double least = DBL_MAX;
    int best_is_large = 1;
    for (int width = NUFFT_MIN_WIDTH; width <= widest; width++) {
        if (!set_axes(plan, width, target)) {
            continue;
        }
        const double cost = total_cost(plan, points);
        const int large = is_large(plan, points);
        if (large < best_is_large || (large == best_is_large && cost < least)) {
            least = cost;
            best_is_large = large;
            for (int a = 0; a < 3; a++) {
                best[a] = plan->axis[a];
            }
        }
    }
    if (least == DBL_MAX) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "nufft: tolerance %g is out of reach in %s precision with upsampling %g",
                          plan->tolerance, plan->precision == NUFFT_FLOAT ? "single" : "double",
                          plan->options.upsampling);
    }
    double cells = (double)plan->n_vectors;
    for (int a = 0; a < 3; a++) {
        plan->axis[a] = best[a];
        cells *= (double)best[a].nf;
    }
    if (cells > 1e15) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: a fine grid of %g cells is too large", cells);
    }
    return MTIP_OK;
}

/* Polynomials of tap `tap` on subinterval `b`: interpolation at Chebyshev nodes, turned into powers of t. */
static void fit_tap(double *power, const struct nufft_axis *axis, int b, int tap)
{
    const int n = nufft_kernel_degree(axis->width) + 1;
    long double node[NUFFT_MAX_WIDTH];
    long double newton[NUFFT_MAX_WIDTH];
    for (int i = 0; i < n; i++) {
        node[i] = 0.5L * cosl((long double)PI * ((long double)i + 0.5L) / (long double)n);
        const double f = ((double)b + 0.5 + (double)node[i]) / NUFFT_SUBINTERVALS;
        newton[i] = (long double)nufft_kernel_value(axis->width, axis->beta,
                                                    tap + 1.0 - f - 0.5 * axis->width);
    }
    for (int order = 1; order < n; order++) { /* divided differences */
        for (int i = n - 1; i >= order; i--) {
            newton[i] = (newton[i] - newton[i - 1]) / (node[i] - node[i - order]);
        }
    }
    long double coefficient[NUFFT_MAX_WIDTH] = {0};
    for (int i = n - 1; i >= 0; i--) { /* Horner over the Newton form */
        for (int p = n - 1; p >= 1; p--) {
            coefficient[p] = coefficient[p - 1] - node[i] * coefficient[p];
        }
        coefficient[0] = newton[i] - node[i] * coefficient[0];
    }
    for (int p = 0; p < n; p++) {
        power[p * axis->width] = (double)coefficient[p];
    }
}

static void fill_axis(struct nufft_axis *axis)
{
    const int64_t block = (int64_t)(nufft_kernel_degree(axis->width) + 1) * axis->width;
    for (int b = 0; b < NUFFT_SUBINTERVALS; b++) {
        for (int tap = 0; tap < axis->width; tap++) {
            fit_tap(axis->poly + b * block + tap, axis, b, tap);
        }
    }
    for (int64_t k = 0; k <= axis->n_modes / 2; k++) {
        const double xi = 2.0 * PI * (double)k / (double)axis->nf;
        axis->correction[k] = 1.0 / nufft_kernel_transform(axis->width, axis->beta, xi);
    }
}

enum mtip_status nufft_design_tables(struct nufft_plan *plan)
{
    enum mtip_status status = MTIP_OK;
    for (int a = 0; a < plan->dimension; a++) {
        struct nufft_axis *axis = &plan->axis[a];
        const int64_t block = (int64_t)(nufft_kernel_degree(axis->width) + 1) * axis->width;
        MTIP_TRY(MEMORY_ALLOC(&axis->poly, NUFFT_SUBINTERVALS * block, "nufft kernel table"));
        MTIP_TRY(
            MEMORY_ALLOC(&axis->correction, axis->n_modes / 2 + 1, "nufft correction factors"));
        fill_axis(axis);
    }
cleanup:
    return status;
}

void nufft_design_free(struct nufft_plan *plan)
{
    for (int a = 0; a < 3; a++) {
        memory_free(&plan->axis[a].poly);
        memory_free(&plan->axis[a].correction);
    }
}
