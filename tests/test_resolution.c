/* test_resolution.c - shells, FSC of volumes whose correlation is known, resolutions read from it. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/resolution.h"

#define M 24
#define N (M * M * M)
#define N_HALF (M * M * (M / 2 + 1))
#define N_SHELLS (M / 2)

static double *random_volume(uint64_t stream)
{
    double *volume = NULL;
    assert_ok(MEMORY_ALLOC(&volume, N, "volume"));
    struct rng rng = rng_stream(11, RNG_TEST, stream, 0);
    for (int64_t i = 0; i < N; i++) {
        volume[i] = rng_normal(&rng);
    }
    return volume;
}

/* Independent modes of a shell: half of those of the full spectrum. */
static double independent_modes(int64_t shell)
{
    int64_t count = 0;
    for (int64_t i = 0; i < N; i++) {
        count += resolution_shell(i / M / M, i / M % M, i % M, M) == shell;
    }
    return (double)count / 2;
}

static void shells_hold_their_modes(void **state)
{
    (void)state;
    assert_int_equal(resolution_n_shells(24), 12);
    assert_int_equal(resolution_n_shells(41), 20);
    assert_int_equal(resolution_shell(0, 0, 0, 41), -1);
    assert_int_equal(resolution_shell(0, 0, 1, 41), 0);
    assert_int_equal(resolution_shell(40, 1, 0, 41), 0);  /* |k| = 1.41 */
    assert_int_equal(resolution_shell(40, 1, 40, 41), 1); /* |k| = 1.73 */
    assert_int_equal(resolution_shell(0, 20, 0, 41), 19);
    assert_int_equal(resolution_shell(21, 0, 0, 41), 19); /* k = -20 */
    assert_int_equal(resolution_shell(20, 20, 20, 41), -1);
    double shell_A[20];
    resolution_shell_A(shell_A, 41, 3.6);
    assert_close(shell_A[0], 147.6, 1e-12); /* rounding */
    assert_close(shell_A[19], 7.38, 1e-12);
}

static void equal_volumes_correlate_fully(void **state)
{
    (void)state;
    double fsc[N_SHELLS], *a = random_volume(0), *b = random_volume(0);
    assert_ok(resolution_fsc(fsc, a, b, M, 1));
    for (int i = 0; i < N_SHELLS; i++) {
        assert_close(fsc[i], 1, 1e-12); /* rounding */
    }
    for (int64_t i = 0; i < N; i++) {
        b[i] *= -3;
    }
    assert_ok(resolution_fsc(fsc, a, b, M, 2));
    for (int i = 0; i < N_SHELLS; i++) {
        assert_close(fsc[i], -1, 1e-12);
    }
    memset(b, 0, N * sizeof *b);
    assert_ok(resolution_fsc(fsc, a, b, M, 1));
    for (int i = 0; i < N_SHELLS; i++) {
        assert_close(fsc[i], 0, 0);
    }
    memory_free(&b);
    memory_free(&a);
}

/* The FSC of independent noise has standard deviation 1/sqrt(2 n) for n independent complex modes; 4.5 of
 * them are passed with a chance of 1e-5 a shell. */
static void independent_noise_does_not_correlate(void **state)
{
    (void)state;
    double fsc[N_SHELLS], *a = random_volume(1), *b = random_volume(2);
    assert_ok(resolution_fsc(fsc, a, b, M, 1));
    double square = 0;
    for (int i = 0; i < N_SHELLS; i++) {
        const double deviation = fsc[i] * sqrt(2 * independent_modes(i));
        assert_close(deviation, 0, 4.5);
        square += deviation * deviation / N_SHELLS;
    }
    assert_true(square > 0.2 && square < 3); /* chi-square of 12: outside with a chance of 1e-3 */
    memory_free(&b);
    memory_free(&a);
}

/* Signal plus independent noise of variance v in both: FSC = 1/(1 + v). */
static void a_known_signal_to_noise_ratio_is_found(void **state)
{
    (void)state;
    const double variance = 0.5;
    double fsc[N_SHELLS], *signal = random_volume(3), *a = random_volume(4), *b = random_volume(5);
    for (int64_t i = 0; i < N; i++) {
        a[i] = signal[i] + sqrt(variance) * a[i];
        b[i] = signal[i] + sqrt(variance) * b[i];
    }
    assert_ok(resolution_fsc(fsc, a, b, M, 1));
    for (int i = 0; i < N_SHELLS; i++) {
        assert_close(fsc[i], 1 / (1 + variance), 4.5 / sqrt(2 * independent_modes(i)));
    }
    memory_free(&b);
    memory_free(&a);
    memory_free(&signal);
}

static void masked_modes_are_left_out_and_means_are_of_modes(void **state)
{
    (void)state;
    static double a[2 * N_HALF], b[2 * N_HALF], values[N_HALF];
    static uint8_t use[N_HALF];
    double fsc[N_SHELLS], mean[N_SHELLS];
    for (int64_t i = 0; i < N_HALF; i++) {
        use[i] = i % 3 != 0;
        a[2 * i] = 1;
        a[2 * i + 1] = 0.5;
        b[2 * i] = use[i] ? 2 : -7;
        b[2 * i + 1] = use[i] ? 1 : 3;
        values[i] = use[i] ? 4 : -9;
    }
    resolution_fsc_half(fsc, a, b, use, M);
    resolution_shell_mean(mean, values, use, M);
    for (int i = 0; i < N_SHELLS; i++) {
        assert_close(fsc[i], 1, 1e-12);
        assert_close(mean[i], 4, 1e-12);
    }
    memset(use, 0, sizeof use);
    resolution_shell_mean(mean, values, use, M);
    assert_close(mean[3], 0, 0);
}

static void resolutions_are_read_from_the_curve(void **state)
{
    (void)state;
    /* M = 12, voxel 2 A: box 24 A, shells at 24, 12, 8, 6, 4.8, 4 A. */
    static const struct {
        double fsc[6], threshold, expected;
    } cases[] = {
        {{1, 1, 1, 1, 1, 1}, 0.5, 4},                           /* never falls: the last shell */
        {{1, 1, 1, 0.5, 0.25, 0}, 0.5, 6},                      /* exactly at a shell */
        {{1, 1, 0.75, 0.25, 0.1, 0}, 0.5, 24 / 3.5},            /* half way */
        {{1, 1, 1, 1, 1, 0.25}, 0.5, 24 / (5 + 2. / 3)},        /* in the last interval */
        {{1, 0.4, 0.9, 0.9, 0.2, 0.1}, 0.5, 24 / (4 + 4. / 7)}, /* one low shell is no end */
        {{1, 0.4, 0.3, 0.9, 0.9, 0.9}, 0.5, 24 / (1 + 5. / 6)}, /* two are */
        {{0.1, 0.1, 0.9, 0.9, 0.9, 0.9}, 0.5, 24},              /* nothing: the box */
        {{1, NAN, NAN, NAN, NAN, NAN}, 0.5, 24},                /* NaN is no agreement */
        {{1, 0.9, 0.6, 0.4, 0.2, 0.0}, 1. / 7, 24 / (5 + 2. / 7)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_close(resolution_from_fsc(cases[i].fsc, 12, 2, cases[i].threshold),
                     cases[i].expected, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shells_hold_their_modes),
        cmocka_unit_test(equal_volumes_correlate_fully),
        cmocka_unit_test(independent_noise_does_not_correlate),
        cmocka_unit_test(a_known_signal_to_noise_ratio_is_found),
        cmocka_unit_test(masked_modes_are_left_out_and_means_are_of_modes),
        cmocka_unit_test(resolutions_are_read_from_the_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
