/* cuda_phase.c - phasing kernels on CUDA against their CPU twins. */
#include "twin_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "mtip/phase_ops.h"

/* The same operations in double precision, but for fused multiply-adds: a few units in the last place of the largest. */
#define ROUNDING 4e-15

/* Sums of n normal products in another order differ by some sqrt(n) units in the last place of their terms. */
#define SUM_ROUNDING 1e-12

#define BYTES(n, array) ((size_t)(n) * sizeof *(array))

/* The last is longer than one launch has threads. */
static const int64_t counts[] = {1, 2, 31, 256, 257, 5003, 1100003};
#define N_COUNTS (sizeof counts / sizeof *counts)

/* ---- phasing ------------------------------------------------------------------------------------- */

/* Bytes of 0 and 1, of a stream of its own. */
static uint8_t *flags(int64_t n, uint64_t which)
{
    struct rng rng = rng_stream(78, RNG_TEST, which, 0);
    uint8_t *x = malloc((size_t)n);
    assert_non_null(x);
    for (int64_t i = 0; i < n; i++) {
        x[i] = rng_bits(&rng) % 3 == 0;
    }
    return x;
}

static void flat_steps_of_phasing(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_COUNTS; k++) {
        const int64_t n = counts[k];
        double *half = twin_numbers(2 * n, 1), *value = twin_numbers(n, 2);
        double *density = twin_numbers(n, 3), *projected = twin_numbers(n, 4);
        uint8_t *mask = flags(n, 1);
        struct twin t;
        twin_open(&t);
        half[0] = half[1] = 0.0; /* no phase */
        double *d_half = twin_device(&t, half, BYTES(2 * n, half));
        double *d_value = twin_device(&t, value, BYTES(n, value));
        double *d_density = twin_device(&t, density, BYTES(n, density));
        double *d_projected = twin_device(&t, projected, BYTES(n, projected));
        uint8_t *d_mask = twin_device(&t, mask, (size_t)n);
        const struct phase_ops *cpu = &phase_ops_cpu, *cuda = &phase_ops_cuda;
        assert_ok(cpu->magnitudes(t.cpu, n, value, projected, mask));
        assert_ok(cuda->magnitudes(t.cuda, n, d_value, d_projected, d_mask));
        twin_assert_doubles(&t, d_value, value, n, ROUNDING);
        assert_ok(cpu->project(t.cpu, n, half, value, 0.37));
        assert_ok(cuda->project(t.cuda, n, d_half, d_value, 0.37));
        twin_assert_doubles(&t, d_half, half, 2 * n, ROUNDING);
        for (int a = PHASE_RAAR; a <= PHASE_ER; a++) {
            assert_ok(
                cpu->update(t.cpu, n, (enum phase_algorithm)a, 0.87, density, projected, mask));
            assert_ok(cuda->update(t.cuda, n, (enum phase_algorithm)a, 0.87, d_density, d_projected,
                                   d_mask));
            twin_assert_doubles(&t, d_density, density, n, ROUNDING);
        }
        assert_ok(cpu->positive(t.cpu, n, value, projected, NULL));
        assert_ok(cuda->positive(t.cuda, n, d_value, d_projected, NULL));
        twin_assert_doubles(&t, d_value, value, n, 0.0);
        assert_ok(cpu->positive(t.cpu, n, value, projected, mask));
        assert_ok(cuda->positive(t.cuda, n, d_value, d_projected, d_mask));
        twin_assert_doubles(&t, d_value, value, n, 0.0);
        assert_ok(cpu->threshold(t.cpu, n, mask, projected, projected[n / 2]));
        assert_ok(cuda->threshold(t.cuda, n, d_mask, d_projected, projected[n / 2]));
        twin_assert_bytes(&t, d_mask, mask, (size_t)n);
        assert_ok(cpu->square(t.cpu, n, half, 0.1));
        assert_ok(cuda->square(t.cuda, n, d_half, 0.1));
        twin_assert_doubles(&t, d_half, half, 2 * n, ROUNDING);
        assert_ok(cpu->scale(t.cpu, n, projected, 1.1));
        assert_ok(cuda->scale(t.cuda, n, d_projected, 1.1));
        twin_assert_doubles(&t, d_projected, projected, n, ROUNDING);
        twin_close(&t);
        free(mask);
        free(projected);
        free(density);
        free(value);
        free(half);
    }
}

static void histograms(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_COUNTS; k++) {
        const int64_t n = counts[k];
        int64_t want[PHASE_DIGITS], got[PHASE_DIGITS];
        double *value = twin_numbers(n, 2);
        struct twin t;
        for (int64_t i = 0; i < n; i++) {
            value[i] = value[i] > 0 ? value[i] : 0.0; /* half of them in one bin */
        }
        twin_open(&t);
        const double *d_value = twin_device(&t, value, BYTES(n, value));
        uint64_t prefix = 0;
        for (int shift = 5 * PHASE_DIGIT_BITS; shift >= 0; shift -= PHASE_DIGIT_BITS) {
            uint64_t bits = 0;
            assert_ok(phase_ops_cpu.histogram(t.cpu, n, value, prefix, shift, want));
            assert_ok(phase_ops_cuda.histogram(t.cuda, n, d_value, prefix, shift, got));
            assert_memory_equal(got, want, sizeof want);
            memcpy(&bits, &value[n / 3], sizeof bits);
            prefix = bits >> shift;
        }
        twin_close(&t);
        free(value);
    }
}

static const int64_t phase_sizes[] = {4, 5, 12, 13, 31, 40};
#define N_PHASE_SIZES (sizeof phase_sizes / sizeof *phase_sizes)

static void grids_of_phasing(void **state)
{
    (void)state;
    for (size_t k = 0; k < N_PHASE_SIZES; k++) {
        const int64_t m = phase_sizes[k], n = m * m * m, n_half = m * m * (m / 2 + 1);
        const int64_t shift[3] = {-3, m + 2, 1};
        double *half = twin_numbers(2 * n_half, 1), *value = twin_numbers(n, 2);
        double *other = twin_numbers(n, 3), *magnitude = twin_numbers(n_half, 4);
        uint8_t *mask = flags(n, 1), *rolled = flags(n, 2);
        double want[5], got[5], pair[2], got_pair[2];
        struct twin t;
        twin_open(&t);
        double *d_half = twin_device(&t, half, BYTES(2 * n_half, half));
        double *d_value = twin_device(&t, value, BYTES(n, value));
        double *d_other = twin_device(&t, other, BYTES(n, other));
        double *d_magnitude = twin_device(&t, magnitude, BYTES(n_half, magnitude));
        uint8_t *d_mask = twin_device(&t, mask, (size_t)n);
        uint8_t *d_rolled = twin_device(&t, rolled, (size_t)n);
        const struct phase_ops *cpu = &phase_ops_cpu, *cuda = &phase_ops_cuda;
        assert_ok(cpu->misfit(t.cpu, m, pair, half, magnitude));
        assert_ok(cuda->misfit(t.cuda, m, got_pair, d_half, d_magnitude));
        for (int i = 0; i < 2; i++) {
            assert_close(got_pair[i], pair[i], SUM_ROUNDING * pair[i]);
        }
        assert_ok(cpu->blur(t.cpu, m, half, 1.3));
        assert_ok(cuda->blur(t.cuda, m, d_half, 1.3));
        twin_assert_doubles(&t, d_half, half, 2 * n_half, ROUNDING);
        assert_ok(cpu->moments(t.cpu, m, want, value, mask));
        assert_ok(cuda->moments(t.cuda, m, got, d_value, d_mask));
        for (int i = 0; i < 5; i++) { /* the moments' terms are as large as mass times M / 2 */
            assert_close(got[i], want[i], SUM_ROUNDING * want[0] * (double)m);
        }
        assert_int_equal((int64_t)got[4], (int64_t)want[4]);
        assert_ok(cpu->roll(t.cpu, m, other, value, shift));
        assert_ok(cuda->roll(t.cuda, m, d_other, d_value, shift));
        twin_assert_doubles(&t, d_other, other, n, 0.0);
        assert_ok(cpu->roll_support(t.cpu, m, rolled, mask, shift));
        assert_ok(cuda->roll_support(t.cuda, m, d_rolled, d_mask, shift));
        twin_assert_bytes(&t, d_rolled, rolled, (size_t)n);
        assert_ok(cpu->confine(t.cpu, m, value, 0.3 * (double)m));
        assert_ok(cuda->confine(t.cuda, m, d_value, 0.3 * (double)m));
        twin_assert_doubles(&t, d_value, value, n, 0.0);
        assert_ok(cpu->ball(t.cpu, m, mask, 0.37 * (double)m));
        assert_ok(cuda->ball(t.cuda, m, d_mask, 0.37 * (double)m));
        twin_assert_bytes(&t, d_mask, mask, (size_t)n);
        twin_close(&t);
        free(rolled);
        free(mask);
        free(magnitude);
        free(other);
        free(value);
        free(half);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flat_steps_of_phasing),
        cmocka_unit_test(histograms),
        cmocka_unit_test(grids_of_phasing),
    };
    return cmocka_run_group_tests_name("mtip/phase on CUDA", tests, NULL, NULL);
}
