/* test_fft.c - real 3-D transforms against the sum that defines them. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/fft.h"
#include "core/fft_lines.h"
#include "core/memory.h"
#include "core/rng.h"

#define TWO_PI 6.283185307179586476925286766559

/* Rounding of a transform grows like log n for short factors, like sqrt(r) for a dense prime factor r: under 1e-15
 * here; the slack allows for the naive sum's own rounding. */
#define TOLERANCE 1e-13

/* nz, ny, nx: ones, even and odd, every radix with code of its own, dense primes, mixed, and 103 for FFTW. */
static const int64_t sizes[][3] = {
    {1, 1, 1},  {1, 1, 2},  {2, 1, 1},   {1, 2, 1},   {2, 3, 4},   {4, 5, 7},  {3, 1, 11},
    {13, 2, 6}, {8, 9, 10}, {7, 7, 7},   {5, 4, 41},  {17, 3, 2},  {4, 22, 9}, {12, 15, 21},
    {1, 1, 81}, {2, 97, 3}, {101, 1, 3}, {103, 2, 3}, {2, 3, 103},
};
#define N_SIZES (sizeof sizes / sizeof *sizes)

struct fixture {
    struct backend *backend;
    struct fft_plan *plan;
    int64_t n[3], n_real, n_half;
    double *real, *half, *back;
};

static void open_fixture(struct fixture *f, const int64_t n[3], int n_threads)
{
    memset(f, 0, sizeof *f);
    memcpy(f->n, n, sizeof f->n);
    f->n_real = fft_real_count(n);
    f->n_half = fft_half_count(n);
    assert_ok(backend_create(&f->backend, "cpu", 0, n_threads));
    assert_ok(fft_plan_create(&f->plan, f->backend, n));
    assert_ok(BACKEND_ALLOC(f->backend, &f->real, f->n_real, "real"));
    assert_ok(BACKEND_ALLOC(f->backend, &f->half, 2 * f->n_half, "half"));
    assert_ok(BACKEND_ALLOC(f->backend, &f->back, f->n_real, "back"));
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    for (int64_t i = 0; i < f->n_real; i++) {
        f->real[i] = rng_normal(&rng);
    }
}

static void close_fixture(struct fixture *f)
{
    backend_free(f->backend, &f->back);
    backend_free(f->backend, &f->half);
    backend_free(f->backend, &f->real);
    fft_plan_destroy(&f->plan);
    assert_null(f->plan);
    backend_destroy(&f->backend);
}

/* One mode by its definition. */
static void naive_mode(double out[2], const struct fixture *f, const int64_t k[3])
{
    out[0] = 0;
    out[1] = 0;
    for (int64_t i = 0; i < f->n_real; i++) {
        const int64_t r[3] = {i / f->n[2] / f->n[1], i / f->n[2] % f->n[1], i % f->n[2]};
        double turns = 0;
        for (int axis = 0; axis < 3; axis++) {
            turns += (double)(k[axis] * r[axis] % f->n[axis]) / (double)f->n[axis];
        }
        out[0] += f->real[i] * cos(TWO_PI * turns);
        out[1] -= f->real[i] * sin(TWO_PI * turns);
    }
}

static void forward_is_the_defining_sum_and_keeps_its_input(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_SIZES; s++) {
        struct fixture f;
        open_fixture(&f, sizes[s], 1);
        double *want = NULL;
        assert_ok(MEMORY_ALLOC(&want, 2 * f.n_half, "want"));
        const int64_t n_x = f.n[2] / 2 + 1;
        for (int64_t i = 0; i < f.n_half; i++) {
            const int64_t k[3] = {i / n_x / f.n[1], i / n_x % f.n[1], i % n_x};
            naive_mode(want + 2 * i, &f, k);
        }
        memcpy(f.back, f.real, (size_t)f.n_real * sizeof *f.real);
        assert_ok(fft_plan_forward(f.plan, f.real, f.half));
        assert_at_most(support_relative_l2(f.half, want, 2 * f.n_half), TOLERANCE);
        assert_memory_equal(f.back, f.real, (size_t)f.n_real * sizeof *f.real);
        memory_free(&want);
        close_fixture(&f);
    }
}

static void inverse_undoes_forward(void **state)
{
    (void)state;
    static const int64_t larger[][3] = {{41, 41, 41}, {30, 31, 33}, {16, 25, 84}, {64, 1, 49}};
    for (size_t s = 0; s < N_SIZES + 4; s++) {
        struct fixture f;
        open_fixture(&f, s < N_SIZES ? sizes[s] : larger[s - N_SIZES], 1);
        assert_ok(fft_plan_forward(f.plan, f.real, f.half));
        assert_ok(fft_plan_inverse(f.plan, f.half, f.back));
        for (int64_t i = 0; i < f.n_real; i++) {
            f.back[i] /= (double)f.n_real;
        }
        assert_at_most(support_relative_l2(f.back, f.real, f.n_real), TOLERANCE);
        close_fixture(&f);
    }
}

/* Im F(0, 0, 0) and Im F(.., nx/2) of a real array vanish: what a caller leaves there must not show. */
static void inverse_ignores_imaginary_parts_of_self_mirrored_modes(void **state)
{
    (void)state;
    static const int64_t n[3] = {1, 1, 8};
    struct fixture f;
    open_fixture(&f, n, 1);
    assert_ok(fft_plan_forward(f.plan, f.real, f.half));
    f.half[1] = 3;
    f.half[2 * 4 + 1] = -2;
    assert_ok(fft_plan_inverse(f.plan, f.half, f.back));
    for (int i = 0; i < 8; i++) {
        assert_close(f.back[i] / 8, f.real[i], 1e-14); /* rounding of eight terms */
    }
    close_fixture(&f);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    static const int64_t n[][3] = {{41, 41, 41}, {12, 33, 20}, {3, 2, 103}};
    for (int s = 0; s < 3; s++) {
        struct fixture one, many;
        open_fixture(&one, n[s], 1);
        assert_ok(fft_plan_forward(one.plan, one.real, one.half));
        for (int threads = 2; threads <= 5; threads++) {
            open_fixture(&many, n[s], threads);
            assert_ok(fft_plan_forward(many.plan, many.real, many.half));
            assert_memory_equal(one.half, many.half, (size_t)(2 * one.n_half) * sizeof(double));
            assert_ok(fft_plan_inverse(many.plan, many.half, many.back));
            memcpy(many.half, one.half, (size_t)(2 * one.n_half) * sizeof(double));
            assert_ok(fft_plan_inverse(one.plan, many.half, one.back));
            assert_memory_equal(one.back, many.back, (size_t)one.n_real * sizeof(double));
            close_fixture(&many);
        }
        close_fixture(&one);
    }
}

/* Every instruction set of this machine, one lane at a time against the sum. */
static void check_kernel(const struct fft_lines_kernel *kernel, int64_t n)
{
    struct fft_lines lines;
    double *tile[3] = {NULL}, *points = NULL, *want = NULL, *got = NULL;
    const int L = kernel->lanes;
    assert_true(L <= FFT_LINES_MAX_LANES);
    assert_ok(fft_lines_create(&lines, n));
    for (int i = 0; i < 3; i++) {
        assert_ok(MEMORY_ALLOC(&tile[i], 2 * L * n, "tile"));
    }
    assert_ok(MEMORY_ALLOC(&points, 2 * L * n, "points"));
    assert_ok(MEMORY_ALLOC(&want, 2 * L * n, "want"));
    assert_ok(MEMORY_ALLOC(&got, 2 * L * n, "got"));
    struct rng rng = rng_stream(2, RNG_TEST, 0, 0);
    for (int64_t i = 0; i < 2 * L * n; i++) {
        points[i] = rng_normal(&rng);
    }
    for (int inverse = 0; inverse < 2; inverse++) {
        memset(want, 0, (size_t)(2 * L * n) * sizeof *want);
        for (int64_t k = 0; k < n; k++) {
            for (int64_t j = 0; j < n; j++) {
                const double angle = TWO_PI * (double)(j * k % n) / (double)n;
                const double c = cos(angle), s = inverse ? sin(angle) : -sin(angle);
                for (int l = 0; l < L; l++) {
                    const double *p = points + 2 * (j * L + l);
                    want[2 * (k * L + l)] += p[0] * c - p[1] * s;
                    want[2 * (k * L + l) + 1] += p[0] * s + p[1] * c;
                }
            }
        }
        kernel->load(tile[0], points, n, L, L, inverse);
        kernel->store(got, kernel->transform(&lines, tile[0], tile[1], tile[2]), n, L, L, inverse);
        assert_at_most(support_relative_l2(got, want, 2 * L * n), TOLERANCE);
    }
    memory_free(&got);
    memory_free(&want);
    memory_free(&points);
    for (int i = 0; i < 3; i++) {
        memory_free(&tile[i]);
    }
    fft_lines_destroy(&lines);
}

/* Pairs of real lines through one kernel: the spectrum against the sum, and back. */
static void check_real_lines(const struct fft_lines_kernel *kernel, int64_t n, int rows)
{
    struct fft_lines lines;
    double *tile[3] = {NULL}, *real = NULL, *half = NULL, *want = NULL, *back = NULL;
    const int64_t n_half = n / 2 + 1;
    assert_ok(fft_lines_create(&lines, n));
    for (int i = 0; i < 3; i++) {
        assert_ok(MEMORY_ALLOC(&tile[i], 2 * kernel->lanes * n, "tile"));
    }
    assert_ok(MEMORY_ALLOC(&real, rows * n, "real"));
    assert_ok(MEMORY_ALLOC(&back, rows * n, "back"));
    assert_ok(MEMORY_ALLOC(&half, rows * 2 * n_half, "half"));
    assert_ok(MEMORY_ALLOC(&want, rows * 2 * n_half, "want"));
    struct rng rng = rng_stream(3, RNG_TEST, 0, 0);
    for (int64_t i = 0; i < rows * n; i++) {
        real[i] = rng_normal(&rng);
        const int64_t row = i / n, j = i % n;
        for (int64_t k = 0; k < n_half; k++) {
            const double angle = TWO_PI * (double)(j * k % n) / (double)n;
            want[2 * (row * n_half + k)] += real[i] * cos(angle);
            want[2 * (row * n_half + k) + 1] -= real[i] * sin(angle);
        }
    }
    kernel->load_real(tile[0], real, n, rows);
    kernel->store_half(half, kernel->transform(&lines, tile[0], tile[1], tile[2]), n, rows);
    assert_at_most(support_relative_l2(half, want, rows * 2 * n_half), TOLERANCE);
    kernel->load_half(tile[0], half, n, rows);
    kernel->store_real(back, kernel->transform(&lines, tile[0], tile[1], tile[2]), n, rows);
    for (int64_t i = 0; i < rows * n; i++) {
        back[i] /= (double)n;
    }
    assert_at_most(support_relative_l2(back, real, rows * n), TOLERANCE);
    memory_free(&want);
    memory_free(&half);
    memory_free(&back);
    memory_free(&real);
    for (int i = 0; i < 3; i++) {
        memory_free(&tile[i]);
    }
    fft_lines_destroy(&lines);
}

static void every_instruction_set_transforms_lines(void **state)
{
    (void)state;
    const struct fft_lines_kernel *kernels[3] = {&fft_lines_kernel_base, NULL, NULL};
#ifdef FFT_LINES_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        kernels[1] = &fft_lines_kernel_avx2;
    }
    if (__builtin_cpu_supports("avx512f")) {
        kernels[2] = &fft_lines_kernel_avx512;
    }
#endif
    for (int i = 0; i < 3; i++) {
        for (int64_t n = 1; kernels[i] != NULL && n <= 130; n++) {
            if (fft_lines_supports(n)) {
                check_kernel(kernels[i], n);
                check_real_lines(kernels[i], n, 2 * kernels[i]->lanes);
                check_real_lines(kernels[i], n, 1 + (int)(n % (2 * kernels[i]->lanes)));
            }
        }
    }
    assert_false(fft_lines_supports(103));
    assert_false(fft_lines_supports(2 * 107));
    assert_true(fft_lines_supports(4 * 97));
}

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    static const int64_t bad[][3] = {
        {0, 4, 4}, {4, -1, 4}, {4, 4, INT64_MAX}, {1 << 20, 1 << 20, 1 << 20}};
    struct backend *backend = NULL;
    assert_ok(backend_create(&backend, "cpu", 0, 1));
    for (int i = 0; i < 4; i++) {
        struct fft_plan *plan = (struct fft_plan *)(uintptr_t)8;
        assert_status(fft_plan_create(&plan, backend, bad[i]), MTIP_ERR_ARGUMENT);
        assert_null(plan);
        assert_message_has("fft: grid of");
    }
    backend_destroy(&backend);
}

static void good_sizes_have_small_factors(void **state)
{
    (void)state;
    static const int64_t expected[][3] = {{-3, 0, 1},  {0, 1, 1},   {1, 0, 1},    {11, 0, 12},
                                          {11, 1, 15}, {82, 0, 84}, {82, 1, 105}, {81, 1, 81},
                                          {64, 0, 64}, {64, 1, 75}, {161, 0, 162}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(fft_good_size(expected[i][0], (int)expected[i][1]), expected[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_is_the_defining_sum_and_keeps_its_input),
        cmocka_unit_test(inverse_undoes_forward),
        cmocka_unit_test(inverse_ignores_imaginary_parts_of_self_mirrored_modes),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(every_instruction_set_transforms_lines),
        cmocka_unit_test(bad_sizes_are_refused),
        cmocka_unit_test(good_sizes_have_small_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
