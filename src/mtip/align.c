/* align.c - translation and inversion between densities. */
#include "mtip/align.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/memory.h"

#define TWO_PI 6.283185307179586476925286766559

/* Newton steps on the translation end when one is below SHIFT_TOLERANCE voxels. */
#define MAX_STEPS 30
#define SHIFT_TOLERANCE 1e-9

struct aligner {
    struct backend *host; /* owned */
    struct fft_plan *fft; /* owned */
    int64_t M, n, n_half;
    double *reference; /* owned: [n_half] complex */
    double *spectrum;  /* owned: [n_half] complex */
    double *product;   /* owned: [n_half] complex */
    double *grid;      /* owned: [n] */
    double *inverse;   /* owned: [n] */
    double *ramp;      /* owned: [3][M] complex */
};

enum mtip_status aligner_create(struct aligner **aligner, int64_t M, int n_threads)
{
    enum mtip_status status = MTIP_OK;
    struct aligner *made = NULL;
    const int64_t size[3] = {M, M, M};
    *aligner = NULL;
    if (M < 2) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "alignment: a grid of %lld points a side; it needs 2",
                          (long long)M);
    }
    made = calloc(1, sizeof *made);
    if (made == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "alignment: cannot allocate %zu bytes", sizeof *made);
    }
    made->M = M;
    MTIP_TRY(backend_create(&made->host, "cpu", 0, n_threads));
    MTIP_TRY(fft_plan_create(&made->fft, made->host, size));
    made->n = fft_real_count(size);
    made->n_half = fft_half_count(size);
    MTIP_TRY(MEMORY_ALLOC(&made->reference, 2 * made->n_half, "alignment spectrum"));
    MTIP_TRY(MEMORY_ALLOC(&made->spectrum, 2 * made->n_half, "alignment spectrum"));
    MTIP_TRY(MEMORY_ALLOC(&made->product, 2 * made->n_half, "alignment spectrum"));
    MTIP_TRY(MEMORY_ALLOC(&made->grid, made->n, "alignment grid"));
    MTIP_TRY(MEMORY_ALLOC(&made->inverse, made->n, "alignment grid"));
    MTIP_TRY(MEMORY_ALLOC(&made->ramp, 6 * M, "phase ramps"));
    *aligner = made;
    made = NULL;
cleanup:
    aligner_destroy(&made);
    return status;
}

void aligner_destroy(struct aligner **aligner)
{
    struct aligner *a = *aligner;
    if (a == NULL) {
        return;
    }
    memory_free(&a->ramp);
    memory_free(&a->inverse);
    memory_free(&a->grid);
    memory_free(&a->product);
    memory_free(&a->spectrum);
    memory_free(&a->reference);
    fft_plan_destroy(&a->fft);
    backend_destroy(&a->host);
    free(a);
    *aligner = NULL;
}

/* to[r + by] = from[r] on every axis, cyclic. */
static void roll(double *to, const double *from, int64_t M, int64_t by)
{
    for (int64_t zy = 0; zy < M * M; zy++) {
        const int64_t z = (zy / M + by) % M, y = (zy % M + by) % M;
        double *row = to + (z * M + y) * M;
        memcpy(row + by, from + zy * M, (size_t)(M - by) * sizeof *row);
        memcpy(row, from + zy * M + (M - by), (size_t)by * sizeof *row);
    }
}

void align_centre(double *centred, const double *fft_order, int64_t M)
{
    roll(centred, fft_order, M, M / 2);
}

void align_uncentre(double *fft_order, const double *centred, int64_t M)
{
    roll(fft_order, centred, M, (M + 1) / 2);
}

/* to(r) = from(-r) about the centred origin. */
static void invert(double *to, const double *from, int64_t M)
{
    const int64_t twice = 2 * (M / 2);
    for (int64_t z = 0; z < M; z++) {
        for (int64_t y = 0; y < M; y++) {
            const double *row = from + ((twice - z) % M * M + (twice - y) % M) * M;
            for (int64_t x = 0; x < M; x++) {
                *to++ = row[(twice - x) % M];
            }
        }
    }
}

static int64_t signed_index(int64_t i, int64_t M)
{
    return i < (M + 1) / 2 ? i : i - M;
}

static double multiplicity(int64_t x, int64_t M)
{
    return x == 0 || 2 * x == M ? 1.0 : 2.0;
}

/* ramp[axis][k] = exp(2 pi i k shift / M). The mode M/2 of an even M is its own mirror image and takes the
 * mean over +-M/2, a cosine. */
static void make_ramps(struct aligner *a, const double shift[3])
{
    for (int axis = 0; axis < 3; axis++) {
        for (int64_t i = 0; i < a->M; i++) {
            const double angle =
                TWO_PI * (double)signed_index(i, a->M) * shift[axis] / (double)a->M;
            double *ramp = a->ramp + 2 * (axis * a->M + i);
            ramp[0] = cos(angle);
            ramp[1] = 2 * i == a->M ? 0.0 : sin(angle);
        }
    }
}

/* ramp of the row (z, y), that is the product of two axes. */
static void row_ramp(double out[2], const struct aligner *a, int64_t z, int64_t y)
{
    const double *u = a->ramp + 2 * z, *v = a->ramp + 2 * (a->M + y);
    out[0] = u[0] * v[0] - u[1] * v[1];
    out[1] = u[0] * v[1] + u[1] * v[0];
}

/* product = reference conj(spectrum) where used; energy[0..1] = sums of |reference|^2, |spectrum|^2. */
static void cross_spectrum(struct aligner *a, const uint8_t *use, double energy[2])
{
    const int64_t n_x = a->M / 2 + 1;
    energy[0] = 0;
    energy[1] = 0;
    for (int64_t i = 0; i < a->n_half; i++) {
        const double *r = a->reference + 2 * i, *f = a->spectrum + 2 * i;
        const double weight = use != NULL && !use[i] ? 0.0 : multiplicity(i % n_x, a->M);
        energy[0] += weight * (r[0] * r[0] + r[1] * r[1]);
        energy[1] += weight * (f[0] * f[0] + f[1] * f[1]);
        a->product[2 * i] = weight > 0 ? r[0] * f[0] + r[1] * f[1] : 0.0;
        a->product[2 * i + 1] = weight > 0 ? r[1] * f[0] - r[0] * f[1] : 0.0;
    }
}

/* Value, gradient and Hessian (zz, zy, zx, yy, yx, xx) of the overlap at a translation. */
struct overlap {
    double value, gradient[3], hessian[6];
};

static struct overlap overlap_at(struct aligner *a, const double shift[3])
{
    struct overlap sum = {0};
    const int64_t n_x = a->M / 2 + 1;
    const double unit = TWO_PI / (double)a->M;
    make_ramps(a, shift);
    for (int64_t zy = 0; zy < a->M * a->M; zy++) {
        double row[2];
        row_ramp(row, a, zy / a->M, zy % a->M);
        const double k_z = unit * (double)signed_index(zy / a->M, a->M);
        const double k_y = unit * (double)signed_index(zy % a->M, a->M);
        double s = 0, d = 0, s_x = 0, d_x = 0, s_xx = 0;
        for (int64_t x = 0; x < n_x; x++) {
            const double *p = a->product + 2 * (zy * n_x + x);
            const double *u = a->ramp + 2 * (2 * a->M + x);
            const double e_re = row[0] * u[0] - row[1] * u[1];
            const double e_im = row[0] * u[1] + row[1] * u[0];
            const double weight = multiplicity(x, a->M), k_x = unit * (double)x;
            const double re = weight * (p[0] * e_re - p[1] * e_im);
            const double im = weight * (p[0] * e_im + p[1] * e_re);
            s += re;
            d -= im;
            s_x += k_x * re;
            d_x -= k_x * im;
            s_xx += k_x * k_x * re;
        }
        sum.value += s;
        sum.gradient[0] += k_z * d;
        sum.gradient[1] += k_y * d;
        sum.gradient[2] += d_x;
        sum.hessian[0] -= k_z * k_z * s;
        sum.hessian[1] -= k_z * k_y * s;
        sum.hessian[2] -= k_z * s_x;
        sum.hessian[3] -= k_y * k_y * s;
        sum.hessian[4] -= k_y * s_x;
        sum.hessian[5] -= s_xx;
    }
    return sum;
}

/* Newton step -H^-1 g where H is negative definite, else a short step uphill; at most half a voxel. */
static void newton_step(double step[3], const struct overlap *o)
{
    const double *h = o->hessian, *g = o->gradient;
    const double c0 = h[3] * h[5] - h[4] * h[4];
    const double c1 = h[2] * h[4] - h[1] * h[5];
    const double c2 = h[1] * h[4] - h[2] * h[3];
    const double det = h[0] * c0 + h[1] * c1 + h[2] * c2;
    const int concave = h[0] < 0 && h[0] * h[3] - h[1] * h[1] > 0 && det < 0;
    if (concave) {
        const double c3 = h[0] * h[5] - h[2] * h[2];
        const double c4 = h[1] * h[2] - h[0] * h[4];
        const double c5 = h[0] * h[3] - h[1] * h[1];
        step[0] = -(c0 * g[0] + c1 * g[1] + c2 * g[2]) / det;
        step[1] = -(c1 * g[0] + c3 * g[1] + c4 * g[2]) / det;
        step[2] = -(c2 * g[0] + c4 * g[1] + c5 * g[2]) / det;
    }
    const double *from = concave ? step : g;
    const double length = sqrt(from[0] * from[0] + from[1] * from[1] + from[2] * from[2]);
    const double limit =
        concave ? (length > 0.5 ? 0.5 / length : 1.0) : (length > 0 ? 0.1 / length : 0.0);
    for (int axis = 0; axis < 3; axis++) {
        step[axis] = limit * from[axis];
    }
}

/* Moves `shift` to the nearest maximum of the overlap; returns the value there. */
static double refine_shift(struct aligner *a, double shift[3])
{
    struct overlap here = overlap_at(a, shift);
    double damping = 1;
    for (int i = 0; i < MAX_STEPS; i++) {
        double step[3], trial[3], length = 0;
        newton_step(step, &here);
        for (int axis = 0; axis < 3; axis++) {
            step[axis] *= damping;
            trial[axis] = shift[axis] + step[axis];
            length += fabs(step[axis]);
        }
        if (!(length > SHIFT_TOLERANCE)) {
            break;
        }
        const struct overlap there = overlap_at(a, trial);
        if (there.value < here.value) {
            damping *= 0.5;
            continue;
        }
        memcpy(shift, trial, sizeof trial);
        here = there;
        damping = 1;
    }
    return here.value;
}

/* Best translation of `density` onto a->reference; returns the correlation there, and leaves the
 * spectrum of the density in a->spectrum. */
static enum mtip_status best_shift(struct aligner *a, double shift[3], double *correlation,
                                   const double *density, const uint8_t *use)
{
    enum mtip_status status = MTIP_OK;
    double energy[2];
    int64_t peak = 0;
    MTIP_TRY(fft_plan_forward(a->fft, density, a->spectrum));
    cross_spectrum(a, use, energy);
    double *scratch = a->spectrum;
    memcpy(scratch, a->product, (size_t)(2 * a->n_half) * sizeof *scratch);
    MTIP_TRY(fft_plan_inverse(a->fft, scratch, a->grid));
    for (int64_t i = 1; i < a->n; i++) {
        peak = a->grid[i] > a->grid[peak] ? i : peak;
    }
    shift[0] = (double)signed_index(peak / (a->M * a->M), a->M);
    shift[1] = (double)signed_index(peak / a->M % a->M, a->M);
    shift[2] = (double)signed_index(peak % a->M, a->M);
    const double value = refine_shift(a, shift);
    const double norm = sqrt(energy[0]) * sqrt(energy[1]);
    *correlation = norm > 0 ? value / norm : 0.0;
cleanup:
    return status;
}

/* density(r) = from(r - shift), by the phase ramp exp(-2 pi i k.shift/M). */
static enum mtip_status apply_shift(struct aligner *a, double *density, const double *from,
                                    const double shift[3])
{
    enum mtip_status status = MTIP_OK;
    const int64_t n_x = a->M / 2 + 1;
    const double back[3] = {-shift[0], -shift[1], -shift[2]};
    MTIP_TRY(fft_plan_forward(a->fft, from, a->spectrum));
    make_ramps(a, back);
    for (int64_t zy = 0; zy < a->M * a->M; zy++) {
        double row[2];
        row_ramp(row, a, zy / a->M, zy % a->M);
        for (int64_t x = 0; x < n_x; x++) {
            double *f = a->spectrum + 2 * (zy * n_x + x);
            const double *u = a->ramp + 2 * (2 * a->M + x);
            const double e_re = (row[0] * u[0] - row[1] * u[1]) / (double)a->n;
            const double e_im = (row[0] * u[1] + row[1] * u[0]) / (double)a->n;
            const double re = f[0] * e_re - f[1] * e_im;
            f[1] = f[0] * e_im + f[1] * e_re;
            f[0] = re;
        }
    }
    MTIP_TRY(fft_plan_inverse(a->fft, a->spectrum, density));
cleanup:
    return status;
}

enum mtip_status aligner_align(struct aligner *aligner, double *density, const double *reference,
                               const uint8_t *use, struct align_result *result)
{
    enum mtip_status status = MTIP_OK;
    struct aligner *a = aligner;
    struct align_result as_is = {0}, inverted = {.inverted = 1};
    MTIP_TRY(fft_plan_forward(a->fft, reference, a->reference));
    MTIP_TRY(best_shift(a, as_is.shift, &as_is.correlation, density, use));
    invert(a->inverse, density, a->M);
    MTIP_TRY(best_shift(a, inverted.shift, &inverted.correlation, a->inverse, use));
    const struct align_result *best = inverted.correlation > as_is.correlation ? &inverted : &as_is;
    MTIP_TRY(apply_shift(a, density, best->inverted ? a->inverse : density, best->shift));
    if (result != NULL) {
        *result = *best;
    }
cleanup:
    return status;
}

int64_t aligner_grid_size(const struct aligner *aligner)
{
    return aligner->M;
}

const struct fft_plan *aligner_fft(const struct aligner *aligner)
{
    return aligner->fft;
}
