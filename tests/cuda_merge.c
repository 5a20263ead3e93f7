/* cuda_merge.c - merging kernels on CUDA against their CPU twins. */
#include "twin_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/exact_sum.h"
#include "mtip/merge_ops.h"

/* The same operations in double precision, but for fused multiply-adds: a few units in the last place of the largest. */
#define ROUNDING 4e-15

/* Sums of n normal products in another order differ by some sqrt(n) units in the last place of their terms. */
#define SUM_ROUNDING 1e-12

#define BYTES(n, array) ((size_t)(n) * sizeof *(array))

/* ---- merging ------------------------------------------------------------------------------------- */

static void strengths_of_frames(void **state)
{
    (void)state;
    static const int64_t cases[][3] = {{1, 1, 1}, {5, 3, 300}, {40, 40, 257}, {3, 2, 1000}};
    for (int k = 0; k < 4; k++) {
        const int64_t n = cases[k][0], count = cases[k][1], p = cases[k][2], ld = p + 3;
        float *frames = twin_floats(n * ld, 1);
        double *fluence = twin_numbers(n, 2), *response = twin_numbers(p, 3);
        double *scale = twin_numbers(p, 4), *want = twin_numbers(2 * count * p, 5);
        int64_t *index = malloc(BYTES(count, index));
        struct twin t;
        for (int64_t i = 0; i < count; i++) {
            index[i] = n - 1 - i;
        }
        fluence[0] = 0.0; /* left out, as the negative ones */
        twin_open(&t);
        double *got = twin_device(&t, want, BYTES(2 * count * p, want));
        assert_ok(merge_ops_cpu.strengths(t.cpu, want, frames, ld, index, count, fluence, response,
                                          scale, p));
        assert_ok(merge_ops_cuda.strengths(t.cuda, got,
                                           twin_device(&t, frames, BYTES(n * ld, frames)), ld,
                                           twin_device(&t, index, BYTES(count, index)), count,
                                           twin_device(&t, fluence, BYTES(n, fluence)),
                                           twin_device(&t, response, BYTES(p, response)),
                                           twin_device(&t, scale, BYTES(p, scale)), p));
        twin_assert_doubles(&t, got, want, 2 * count * p, ROUNDING);
        twin_close(&t);
        free(index);
        free(want);
        free(scale);
        free(response);
        free(fluence);
        free(frames);
    }
}

static const int64_t merge_sizes[] = {1, 3, 5, 13, 31};
#define N_MERGE_SIZES (sizeof merge_sizes / sizeof *merge_sizes)

static void grids_of_the_merge(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_MERGE_SIZES; k++) {
        const int64_t m = merge_sizes[k], l = 2 * m - 1, half = (m + 1) / 2;
        const int64_t n_kernel = l * l * m, n_rhs = m * m * half, volume = m * m * m;
        double *modes = twin_numbers(4 * n_kernel, 1), *kernel = twin_numbers(n_kernel, 2);
        double *rhs = twin_numbers(n_rhs, 3), *full = twin_numbers(volume, 4);
        struct twin t;
        twin_open(&t);
        const double *d_modes = twin_device(&t, modes, BYTES(4 * n_kernel, modes));
        double *d_kernel = twin_device(&t, kernel, BYTES(n_kernel, kernel));
        double *d_rhs = twin_device(&t, rhs, BYTES(n_rhs, rhs));
        double *d_full = twin_device(&t, full, BYTES(volume, full));
        const double anchors[2] = {exact_anchor(1e3), exact_anchor(8.0)};
        assert_ok(merge_ops_cpu.accumulate(t.cpu, kernel, rhs, modes, m, anchors));
        assert_ok(merge_ops_cuda.accumulate(t.cuda, d_kernel, d_rhs, d_modes, m, anchors));
        twin_assert_doubles(&t, d_kernel, kernel, n_kernel, 0.0);
        twin_assert_doubles(&t, d_rhs, rhs, n_rhs, 0.0);
        assert_ok(merge_ops_cpu.unfold(t.cpu, full, rhs, m));
        assert_ok(merge_ops_cuda.unfold(t.cuda, d_full, d_rhs, m));
        twin_assert_doubles(&t, d_full, full, volume, 0.0);
        for (int64_t n = l; n <= l + 2; n++) { /* even and odd circulants */
            double *circulant = twin_numbers(n * n * n, 5);
            double *d_circulant = twin_device(&t, circulant, BYTES(n * n * n, circulant));
            assert_ok(merge_ops_cpu.expand(t.cpu, circulant, kernel, m, n));
            assert_ok(merge_ops_cuda.expand(t.cuda, d_circulant, d_kernel, m, n));
            twin_assert_doubles(&t, d_circulant, circulant, n * n * n, 0.0);
            free(circulant);
        }
        twin_close(&t);
        free(full);
        free(rhs);
        free(kernel);
        free(modes);
    }
}

static void pads_and_crops(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_MERGE_SIZES; k++) {
        const int64_t m = merge_sizes[k], n = 2 * m + (k % 2 == 0), volume = m * m * m;
        const double radius = 0.4 * (double)m;
        double *v = twin_numbers(volume, 1), *out = twin_numbers(volume, 2);
        double *padded = twin_numbers(n * n * n, 3);
        struct twin t;
        twin_open(&t);
        double *d_v = twin_device(&t, v, BYTES(volume, v));
        double *d_out = twin_device(&t, out, BYTES(volume, out));
        double *d_padded = twin_device(&t, padded, BYTES(n * n * n, padded));
        assert_ok(merge_ops_cpu.crop(t.cpu, out, padded, v, 0.3, m, n, radius));
        assert_ok(merge_ops_cuda.crop(t.cuda, d_out, d_padded, d_v, 0.3, m, n, radius));
        twin_assert_doubles(&t, d_out, out, volume, ROUNDING);
        assert_ok(merge_ops_cpu.pad(t.cpu, padded, v, m, n, radius));
        assert_ok(merge_ops_cuda.pad(t.cuda, d_padded, d_v, m, n, radius));
        twin_assert_doubles(&t, d_padded, padded, n * n * n, 0.0);
        /* in place, as the solver confines a vector */
        assert_ok(merge_ops_cpu.crop(t.cpu, v, padded, v, 0.0, m, n, radius));
        assert_ok(merge_ops_cuda.crop(t.cuda, d_v, d_padded, d_v, 0.0, m, n, radius));
        twin_assert_doubles(&t, d_v, v, volume, 0.0);
        twin_close(&t);
        free(padded);
        free(out);
        free(v);
    }
}

/* More rows than one launch has warps. */
static void a_grid_larger_than_a_launch(void **state)
{
    (void)state;
    const int64_t m = 3, n = 183;
    double *v = twin_numbers(m * m * m, 1), *padded = twin_numbers(n * n * n, 2);
    struct twin t;
    twin_open(&t);
    const double *d_v = twin_device(&t, v, BYTES(m * m * m, v));
    double *d_padded = twin_device(&t, padded, BYTES(n * n * n, padded));
    assert_ok(merge_ops_cpu.pad(t.cpu, padded, v, m, n, 1.5));
    assert_ok(merge_ops_cuda.pad(t.cuda, d_padded, d_v, m, n, 1.5));
    twin_assert_doubles(&t, d_padded, padded, n * n * n, 0.0);
    twin_close(&t);
    free(padded);
    free(v);
}

/* The last is longer than one launch has threads. */
static const int64_t counts[] = {1, 2, 31, 256, 257, 5003, 1100003};
#define N_COUNTS (sizeof counts / sizeof *counts)

static void vectors_of_the_solver(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_COUNTS; k++) {
        const int64_t n = counts[k];
        double *x = twin_numbers(2 * n, 1), *y = twin_numbers(n, 2), want = 0, got = 0, size = 0;
        struct twin t;
        twin_open(&t);
        double *d_x = twin_device(&t, x, BYTES(2 * n, x)), *d_y = twin_device(&t, y, BYTES(n, y));
        assert_ok(merge_ops_cpu.dot(t.cpu, &want, x, y, n));
        assert_ok(merge_ops_cpu.dot(t.cpu, &size, x, x, n));
        assert_ok(merge_ops_cuda.dot(t.cuda, &got, d_x, d_y, n));
        assert_close(got, want, SUM_ROUNDING * size);
        double again = 0;
        assert_ok(merge_ops_cuda.dot(t.cuda, &again, d_x, d_y, n));
        assert_true(again == got);
        assert_ok(merge_ops_cpu.combine(t.cpu, y, 0.7, x, -1.3, n));
        assert_ok(merge_ops_cuda.combine(t.cuda, d_y, 0.7, d_x, -1.3, n));
        twin_assert_doubles(&t, d_y, y, n, ROUNDING);
        double *q = twin_numbers(n, 3), *a = twin_numbers(n, 4);
        double *d_q = twin_device(&t, q, BYTES(n, q)), *d_a = twin_device(&t, a, BYTES(n, a));
        assert_ok(merge_ops_cpu.advance(t.cpu, &want, a, q, x, y, 0.3, n));
        assert_ok(merge_ops_cuda.advance(t.cuda, &got, d_a, d_q, d_x, d_y, 0.3, n));
        assert_close(got, want, SUM_ROUNDING * want);
        twin_assert_doubles(&t, d_a, a, n, ROUNDING);
        twin_assert_doubles(&t, d_q, q, n, ROUNDING);
        free(a);
        free(q);
        assert_ok(merge_ops_cpu.multiply(t.cpu, x, y, n));
        assert_ok(merge_ops_cuda.multiply(t.cuda, d_x, d_y, n));
        twin_assert_doubles(&t, d_x, x, 2 * n, ROUNDING);
        assert_ok(merge_ops_cpu.real_part(t.cpu, y, x, n, 1.7));
        assert_ok(merge_ops_cuda.real_part(t.cuda, d_y, d_x, n, 1.7));
        twin_assert_doubles(&t, d_y, y, n, ROUNDING);
        twin_close(&t);
        free(y);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strengths_of_frames),   cmocka_unit_test(grids_of_the_merge),
        cmocka_unit_test(pads_and_crops),        cmocka_unit_test(a_grid_larger_than_a_launch),
        cmocka_unit_test(vectors_of_the_solver),
    };
    return cmocka_run_group_tests_name("mtip/merge on CUDA", tests, NULL, NULL);
}
