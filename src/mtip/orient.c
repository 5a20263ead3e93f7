/* orient.c - quaternions, super-Fibonacci spirals and orientation errors modulo the ambiguities. */
#include "mtip/orient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"

#define PI 3.14159265358979323846264338327950288

void quaternion_canonical(double q[4])
{
    const double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    if (!(norm > 0.0)) {
        q[0] = 1.0;
        q[1] = q[2] = q[3] = 0.0;
        return;
    }
    const double scale = (q[0] < 0.0 ? -1.0 : 1.0) / norm;
    for (int i = 0; i < 4; i++) {
        q[i] *= scale;
    }
}

void quaternion_multiply(double out[4], const double a[4], const double b[4])
{
    const double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    const double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    const double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    const double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    out[0] = w;
    out[1] = x;
    out[2] = y;
    out[3] = z;
}

void quaternion_conjugate(double out[4], const double q[4])
{
    out[0] = q[0];
    for (int i = 1; i < 4; i++) {
        out[i] = -q[i];
    }
}

void quaternion_to_matrix(double matrix[9], const double q[4])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    matrix[0] = 1.0 - 2.0 * (y * y + z * z);
    matrix[1] = 2.0 * (x * y - w * z);
    matrix[2] = 2.0 * (x * z + w * y);
    matrix[3] = 2.0 * (x * y + w * z);
    matrix[4] = 1.0 - 2.0 * (x * x + z * z);
    matrix[5] = 2.0 * (y * z - w * x);
    matrix[6] = 2.0 * (x * z - w * y);
    matrix[7] = 2.0 * (y * z + w * x);
    matrix[8] = 1.0 - 2.0 * (x * x + y * y);
}

void quaternion_from_matrix(double q[4], const double m[9])
{
    const double trace = m[0] + m[4] + m[8];
    if (trace > m[0] && trace > m[4] && trace > m[8]) {
        q[0] = 1.0 + trace;
        q[1] = m[7] - m[5];
        q[2] = m[2] - m[6];
        q[3] = m[3] - m[1];
    } else if (m[0] >= m[4] && m[0] >= m[8]) {
        q[0] = m[7] - m[5];
        q[1] = 1.0 + m[0] - m[4] - m[8];
        q[2] = m[1] + m[3];
        q[3] = m[2] + m[6];
    } else if (m[4] >= m[8]) {
        q[0] = m[2] - m[6];
        q[1] = m[1] + m[3];
        q[2] = 1.0 + m[4] - m[0] - m[8];
        q[3] = m[5] + m[7];
    } else {
        q[0] = m[3] - m[1];
        q[1] = m[2] + m[6];
        q[2] = m[5] + m[7];
        q[3] = 1.0 + m[8] - m[0] - m[4];
    }
    quaternion_canonical(q);
}

void quaternion_from_vector(double q[4], const double v[3])
{
    const double angle = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    /* sin(angle/2)/angle, by its series where the quotient would lose digits */
    const double scale =
        angle > 1e-4 ? sin(0.5 * angle) / angle : 0.5 - angle * angle * (1.0 / 48.0);
    q[0] = cos(0.5 * angle);
    for (int i = 0; i < 3; i++) {
        q[i + 1] = scale * v[i];
    }
}

double quaternion_angle(const double a[4], const double b[4])
{
    double inverse[4], turn[4];
    quaternion_conjugate(inverse, a);
    quaternion_multiply(turn, b, inverse);
    const double sine = sqrt(turn[1] * turn[1] + turn[2] * turn[2] + turn[3] * turn[3]);
    return 2.0 * atan2(sine, fabs(turn[0]));
}

/* Half turn about the beam, the detector frame's z axis. */
static const double half_turn[4] = {0.0, 0.0, 0.0, 1.0};

double orient_turn(const double a[4], const double b[4])
{
    double turned[4];
    quaternion_multiply(turned, b, half_turn);
    return fmin(quaternion_angle(a, b), quaternion_angle(a, turned));
}

void orient_super_fibonacci(double q[4], int64_t i, int64_t n, const double turn[4])
{
    /* phi and psi of algorithm 1: phi = sqrt(2), psi the real root of psi^4 = psi + 4. */
    const double phi = 1.41421356237309504880, psi = 1.53375116875520428812;
    const double s = (double)i + 0.5;
    const double t = s / (double)n;
    const double d = 2.0 * PI * s;
    const double r = sqrt(t), big_r = sqrt(1.0 - t);
    const double alpha = fmod(d / phi, 2.0 * PI), beta = fmod(d / psi, 2.0 * PI);
    q[1] = r * sin(alpha);
    q[2] = r * cos(alpha);
    q[3] = big_r * sin(beta);
    q[0] = big_r * cos(beta);
    if (turn != NULL) {
        quaternion_multiply(q, turn, q);
    }
    quaternion_canonical(q);
}

double orient_spacing(int64_t n)
{
    return cbrt(8.0 * PI * PI / (double)n);
}

double orient_least_eigenvalue(const double s[6])
{
    const double mean = (s[0] + s[1] + s[2]) / 3.0;
    const double x = s[0] - mean, y = s[1] - mean, z = s[2] - mean;
    const double off = s[3] * s[3] + s[4] * s[4] + s[5] * s[5];
    const double scale = sqrt((x * x + y * y + z * z + 2.0 * off) / 6.0);
    if (!(scale > 0.0)) {
        return mean;
    }
    const double det = x * (y * z - s[5] * s[5]) - s[3] * (s[3] * z - s[5] * s[4]) +
                       s[4] * (s[3] * s[5] - y * s[4]);
    const double cosine = fmax(-1.0, fmin(1.0, det / (2.0 * scale * scale * scale)));
    return mean + 2.0 * scale * cos((acos(cosine) + 2.0 * PI) / 3.0);
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double orient_median(double *values, int64_t n)
{
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

/* turns[n][2][4]: the global rotation that frame n alone would ask for, plainly and with the half turn. */
static void global_candidates(double *turns, const double *estimates, const double *truths,
                              int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double inverse[4], flipped[4];
        quaternion_conjugate(inverse, &truths[4 * i]);
        quaternion_multiply(&turns[8 * i], &estimates[4 * i], inverse);
        quaternion_multiply(flipped, &estimates[4 * i], half_turn);
        quaternion_multiply(&turns[8 * i + 4], flipped, inverse);
    }
}

/* error[n] under `global`; choice[n] = which of the two candidates is nearer. */
static void errors_under(double *error, int *choice, const double *turns, const double global[4],
                         int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double plain = quaternion_angle(&turns[8 * i], global);
        const double flipped = quaternion_angle(&turns[8 * i + 4], global);
        choice[i] = flipped < plain;
        error[i] = choice[i] ? flipped : plain;
    }
}

static double median_of(double *scratch, const double *values, int64_t n)
{
    memcpy(scratch, values, (size_t)n * sizeof *scratch);
    return orient_median(scratch, n);
}

/* Mean of the chosen candidates within 1.5 medians of `global`: the sign-aligned quaternion sum,
 * which for a tight cluster is the largest eigenvector of sum q q^T (Markley 2007) to second order. */
static void refit(double global[4], const double *turns, const double *error, const int *choice,
                  double median, int64_t n)
{
    double sum[4] = {0.0, 0.0, 0.0, 0.0};
    for (int64_t i = 0; i < n; i++) {
        if (error[i] > 1.5 * median + 1e-9) {
            continue;
        }
        const double *q = &turns[8 * i + 4 * choice[i]];
        double dot = 0.0;
        for (int k = 0; k < 4; k++) {
            dot += q[k] * global[k];
        }
        for (int k = 0; k < 4; k++) {
            sum[k] += dot < 0.0 ? -q[k] : q[k];
        }
    }
    memcpy(global, sum, sizeof sum);
    quaternion_canonical(global);
}

#define N_CANDIDATES 400 /* global rotations tried; each right frame offers one near the truth */
#define N_JUDGES 400     /* frames that judge a candidate */
#define N_REFITS 10

enum mtip_status orient_errors(double *error_rad, double global[4], const double *estimates,
                               const double *truths, int64_t n)
{
    enum mtip_status status = MTIP_OK;
    double *turns = NULL, *error = NULL, *scratch = NULL, *judges = NULL;
    int *choice = NULL;
    double best[4] = {1.0, 0.0, 0.0, 0.0}, best_median = INFINITY;
    struct rng rng = rng_stream(0, RNG_TEST, 0, 0);

    if (n < 1) {
        return MTIP_ERROR(MTIP_ERR_DATA, "orientation errors: there are no frames to judge");
    }
    MTIP_TRY(MEMORY_ALLOC(&turns, 8 * n, "orientation errors"));
    MTIP_TRY(MEMORY_ALLOC(&error, n, "orientation errors"));
    MTIP_TRY(MEMORY_ALLOC(&scratch, n, "orientation errors"));
    MTIP_TRY(MEMORY_ALLOC(&choice, n, "orientation errors"));
    const int64_t n_judges = n < N_JUDGES ? n : N_JUDGES;
    MTIP_TRY(MEMORY_ALLOC(&judges, 8 * n_judges, "orientation errors"));
    global_candidates(turns, estimates, truths, n);
    for (int64_t j = 0; j < n_judges; j++) {
        memcpy(&judges[8 * j], &turns[8 * (j * n / n_judges)], 8 * sizeof *judges);
    }
    for (int c = 0; c < N_CANDIDATES; c++) {
        const int64_t pick = (int64_t)(rng_uniform(&rng) * (double)(2 * n));
        errors_under(error, choice, judges, &turns[4 * pick], n_judges);
        const double median = median_of(scratch, error, n_judges);
        if (median < best_median) {
            best_median = median;
            memcpy(best, &turns[4 * pick], sizeof best);
        }
    }
    for (int i = 0; i < N_REFITS; i++) {
        errors_under(error, choice, turns, best, n);
        refit(best, turns, error, choice, median_of(scratch, error, n), n);
    }
    errors_under(error_rad, choice, turns, best, n);
    quaternion_canonical(best);
    memcpy(global, best, sizeof best);

cleanup:
    memory_free(&turns);
    memory_free(&error);
    memory_free(&scratch);
    memory_free(&choice);
    memory_free(&judges);
    return status;
}
