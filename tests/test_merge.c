/* test_merge.c - the Toeplitz solver against a dense solve, and its operator's properties. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/memory.h"
#include "core/rng.h"
#include "mtip/merge_ops.h"
#include "mtip/toeplitz.h"

#define M 5 /* grid, small enough for a dense matrix of M^3 */
#define L (2 * M - 1)
#define VOLUME (M * M * M)
#define HALF ((M + 1) / 2)
#define N_POINTS 900

static int64_t frequency(int64_t i, int64_t n)
{
    return i <= (n - 1) / 2 ? i : i - n;
}

struct points {
    double x[N_POINTS][3], weight[N_POINTS], value[N_POINTS];
};

/* Random points in the ball of radius pi with random weights and values. */
static struct points *make_points(uint64_t seed)
{
    struct points *points = calloc(1, sizeof *points);
    struct rng rng = rng_stream(seed, RNG_TEST, 1, 0);
    assert_non_null(points);
    for (int j = 0; j < N_POINTS; j++) {
        double norm = 10.0;
        while (norm > 3.14159) {
            norm = 0.0;
            for (int k = 0; k < 3; k++) {
                points->x[j][k] = 3.14159 * (2.0 * rng_uniform(&rng) - 1.0);
                norm += points->x[j][k] * points->x[j][k];
            }
            norm = sqrt(norm);
        }
        points->weight[j] = 0.1 + rng_uniform(&rng);
        points->value[j] = rng_normal(&rng);
    }
    return points;
}

static double cosine(const double x[3], int64_t kz, int64_t ky, int64_t kx)
{
    return cos((double)kx * x[0] + (double)ky * x[1] + (double)kz * x[2]);
}

/* kernel[L][L][M] and rhs[M][M][HALF] by direct sums. */
static void direct_sums(double *kernel, double *rhs, const struct points *points)
{
    memset(kernel, 0, sizeof(double) * L * L * M);
    memset(rhs, 0, sizeof(double) * M * M * HALF);
    for (int j = 0; j < N_POINTS; j++) {
        for (int64_t z = 0; z < L; z++) {
            for (int64_t y = 0; y < L; y++) {
                for (int64_t x = 0; x < M; x++) {
                    kernel[(z * L + y) * M + x] +=
                        points->weight[j] *
                        cosine(points->x[j], frequency(z, L), frequency(y, L), x);
                }
            }
        }
        for (int64_t z = 0; z < M; z++) {
            for (int64_t y = 0; y < M; y++) {
                for (int64_t x = 0; x < HALF; x++) {
                    rhs[(z * M + y) * HALF + x] +=
                        points->weight[j] * points->value[j] *
                        cosine(points->x[j], frequency(z, M), frequency(y, M), x);
                }
            }
        }
    }
}

static int inside(int64_t i, double radius)
{
    const int64_t z = frequency(i / (M * M), M), y = frequency(i / M % M, M),
                  x = frequency(i % M, M);
    return (double)(z * z + y * y + x * x) <= radius * radius;
}

/* Gaussian elimination with partial pivoting, in place; b becomes the solution. */
static void dense_solve(double *matrix, double *b, int n)
{
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++) {
            pivot = fabs(matrix[i * n + k]) > fabs(matrix[pivot * n + k]) ? i : pivot;
        }
        for (int j = 0; j < n; j++) {
            const double swap = matrix[k * n + j];
            matrix[k * n + j] = matrix[pivot * n + j];
            matrix[pivot * n + j] = swap;
        }
        const double swap = b[k];
        b[k] = b[pivot];
        b[pivot] = swap;
        for (int i = k + 1; i < n; i++) {
            const double factor = matrix[i * n + k] / matrix[k * n + k];
            for (int j = k; j < n; j++) {
                matrix[i * n + j] -= factor * matrix[k * n + j];
            }
            b[i] -= factor * b[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        for (int j = k + 1; j < n; j++) {
            b[k] -= matrix[k * n + j] * b[j];
        }
        b[k] /= matrix[k * n + k];
    }
}

/* P T^H W T P + lambda I and P T^H W y + lambda P A0, by direct sums over the points. */
static void dense_system(double *matrix, double *b, const struct points *points, const double *a0,
                         double lambda, double radius)
{
    for (int64_t i = 0; i < VOLUME; i++) {
        const int64_t iz = frequency(i / (M * M), M), iy = frequency(i / M % M, M),
                      ix = frequency(i % M, M);
        b[i] = inside(i, radius) ? lambda * a0[i] : 0.0;
        for (int64_t j = 0; j < VOLUME; j++) {
            const int64_t jz = frequency(j / (M * M), M), jy = frequency(j / M % M, M),
                          jx = frequency(j % M, M);
            double sum = i == j ? lambda : 0.0;
            if (inside(i, radius) && inside(j, radius)) {
                for (int p = 0; p < N_POINTS; p++) {
                    sum += points->weight[p] * cosine(points->x[p], iz - jz, iy - jy, ix - jx);
                }
            }
            matrix[i * VOLUME + j] = sum;
        }
        if (inside(i, radius)) {
            for (int p = 0; p < N_POINTS; p++) {
                b[i] += points->weight[p] * points->value[p] * cosine(points->x[p], iz, iy, ix);
            }
        }
    }
}

/* An even start inside and outside the ball. */
static void even_start(double *a)
{
    for (int64_t i = 0; i < VOLUME; i++) {
        const int64_t z = frequency(i / (M * M), M), y = frequency(i / M % M, M),
                      x = frequency(i % M, M);
        a[i] = 0.3 * cos(0.7 * (double)(z * z) + 0.4 * (double)(y * x)) + 0.1 * (double)(x * z);
    }
}

static void solver_matches_a_dense_solve(void **state)
{
    (void)state;
    const double radii[] = {2.0, 2.5, 100.0};
    struct backend *backend = NULL;
    struct toeplitz_solver *solver = NULL;
    struct points *points = make_points(7);
    double *kernel = NULL, *rhs = NULL, *matrix = NULL;
    double a[VOLUME], a0[VOLUME], want[VOLUME];

    assert_ok(backend_create(&backend, "cpu", 0, 1));
    assert_ok(toeplitz_create(&solver, backend, M));
    assert_ok(MEMORY_ALLOC(&kernel, L * L * M, "kernel"));
    assert_ok(MEMORY_ALLOC(&rhs, M * M * HALF, "rhs"));
    assert_ok(MEMORY_ALLOC(&matrix, VOLUME * VOLUME, "matrix"));
    direct_sums(kernel, rhs, points);
    for (int i = 0; i < 3; i++) {
        const struct toeplitz_options options = {
            .radius = radii[i], .regularization = 1e-3, .iterations = 400, .tolerance = 1e-13};
        struct toeplitz_metrics metrics;
        even_start(a0);
        memcpy(a, a0, sizeof a);
        dense_system(matrix, want, points, a0, 1e-3 * kernel[0], radii[i]);
        dense_solve(matrix, want, VOLUME);
        assert_ok(toeplitz_solve(solver, a, kernel, rhs, &options, &metrics));
        /* the residual is below 1e-13; the condition number, at most 1e3 by lambda, amplifies it */
        assert_at_most(metrics.residual, 1e-13);
        assert_at_most(support_relative_l2(a, want, VOLUME), 1e-9);
        for (int64_t k = 0; k < VOLUME; k++) {
            if (!inside(k, radii[i])) {
                assert_true(a[k] == 0.0);
            }
        }
    }
    memory_free(&matrix);
    memory_free(&rhs);
    memory_free(&kernel);
    free(points);
    toeplitz_destroy(&solver);
    backend_destroy(&backend);
}

static void no_weight_is_an_error(void **state)
{
    (void)state;
    struct backend *backend = NULL;
    struct toeplitz_solver *solver = NULL;
    const struct toeplitz_options options = {
        .radius = 2.0, .regularization = 1e-4, .iterations = 5, .tolerance = 1e-4};
    double kernel[L * L * M] = {0.0}, rhs[M * M * HALF] = {0.0}, a[VOLUME] = {0.0};
    assert_ok(backend_create(&backend, "cpu", 0, 1));
    assert_ok(toeplitz_create(&solver, backend, M));
    assert_status(toeplitz_solve(solver, a, kernel, rhs, &options, NULL), MTIP_ERR_DATA);
    assert_message_has("weight");
    kernel[0] = (double)NAN;
    assert_status(toeplitz_solve(solver, a, kernel, rhs, &options, NULL), MTIP_ERR_DATA);
    toeplitz_destroy(&solver);
    backend_destroy(&backend);
}

/* The sums of a dot product are taken in blocks: the same bits for every number of threads, and right. */
static void dot_does_not_depend_on_threads(void **state)
{
    (void)state;
    enum { N = 20011 };
    double *x = NULL, *y = NULL, first = 0.0, direct = 0.0;
    struct rng rng = rng_stream(3, RNG_TEST, 2, 0);
    assert_ok(MEMORY_ALLOC(&x, N, "x"));
    assert_ok(MEMORY_ALLOC(&y, N, "y"));
    for (int i = 0; i < N; i++) {
        x[i] = rng_normal(&rng);
        y[i] = rng_normal(&rng);
        direct += x[i] * y[i];
    }
    for (int threads = 1; threads <= 4; threads++) {
        struct backend *backend = NULL;
        double sum = 0.0;
        assert_ok(backend_create(&backend, "cpu", 0, threads));
        assert_ok(merge_ops_cpu.dot(backend, &sum, x, y, N));
        first = threads == 1 ? sum : first;
        assert_true(sum == first);
        assert_close(sum, direct, 1e-9); /* rounding of 2e4 terms of size 1 */
        backend_destroy(&backend);
    }
    memory_free(&x);
    memory_free(&y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solver_matches_a_dense_solve),
        cmocka_unit_test(no_weight_is_an_error),
        cmocka_unit_test(dot_does_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
