/* test_core_rng.c - Philox against its published vectors, streams that never meet, and the
 * distributions against their moments and probabilities.
 *
 * All seeds are fixed, so a test passes always or never. Statistical tolerances are 5 standard
 * deviations of the estimate: a right generator with other numbers would fail one in 2e6.
 */
#include "support.h"

#include <math.h>
#include <string.h>

#include "core/rng.h"

#define N 200000

static void philox_gives_the_published_vectors(void **state)
{
    (void)state;
    /* Random123 1.09, kat_vectors, "philox4x32 10". */
    static const struct {
        uint32_t counter[4], key[2], block[4];
    } vectors[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        uint32_t block[4];
        rng_philox(block, vectors[i].counter, vectors[i].key);
        assert_memory_equal(block, vectors[i].block, sizeof block);
    }
}

static void a_stream_repeats_and_differs_from_its_neighbours(void **state)
{
    (void)state;
    struct rng again = rng_stream(5, RNG_TEST, 3, 9), first = rng_stream(5, RNG_TEST, 3, 9);
    struct rng others[] = {
        rng_stream(6, RNG_TEST, 3, 9), rng_stream(5, RNG_REFINE, 3, 9),
        rng_stream(5, RNG_TEST, 4, 9), rng_stream(5, RNG_TEST, 3, 10),
        rng_stream(5, RNG_TEST, 9, 3), rng_stream(5 + (UINT64_C(1) << 32), RNG_TEST, 3, 9),
    };
    for (int i = 0; i < 100; i++) {
        const uint32_t bits = rng_bits(&first);
        assert_int_equal(rng_bits(&again), bits);
        int same = 0;
        for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
            same += rng_bits(&others[k]) == bits;
        }
        /* 600 comparisons of 32 bits: one meeting has probability 1.4e-7. */
        assert_int_equal(same, 0);
    }
}

/* No block of four numbers of one stream comes in another one, wherever it stands in it. */
static void streams_do_not_overlap(void **state)
{
    (void)state;
    enum { BLOCKS = 200, STREAMS = 4 };
    static uint32_t blocks[STREAMS][BLOCKS][4];
    static const uint64_t a[STREAMS] = {7, 7, 8, 7}, b[STREAMS] = {0, 1, 0, 2};
    for (int s = 0; s < STREAMS; s++) {
        struct rng rng = rng_stream(1, RNG_TEST, a[s], b[s]);
        for (int i = 0; i < 4 * BLOCKS; i++) {
            blocks[s][i / 4][i % 4] = rng_bits(&rng);
        }
    }
    for (int i = 0; i < STREAMS * BLOCKS; i++) {
        for (int j = 0; j < i; j++) {
            assert_memory_not_equal(blocks[i / BLOCKS][i % BLOCKS], blocks[j / BLOCKS][j % BLOCKS],
                                    sizeof blocks[0][0]);
        }
    }
}

static void neighbouring_streams_are_not_correlated(void **state)
{
    (void)state;
    double sum = 0.0;
    for (uint64_t frame = 0; frame < N; frame++) {
        struct rng a = rng_stream(1, RNG_TEST, 0, frame), b = rng_stream(1, RNG_TEST, 0, frame + 1);
        sum += (rng_uniform(&a) - 0.5) * (rng_uniform(&b) - 0.5);
    }
    assert_close(sum / N * 12.0, 0.0, 5.0 / sqrt(N));
}

static void uniforms_fill_the_unit_interval_evenly(void **state)
{
    (void)state;
    enum { BINS = 64 };
    int count[BINS] = {0};
    double sum = 0.0, squares = 0.0, chi2 = 0.0;
    struct rng rng = rng_stream(2, RNG_TEST, 0, 0);
    for (int i = 0; i < N; i++) {
        const double u = rng_uniform(&rng);
        assert_true(u >= 0.0 && u < 1.0);
        count[(int)(u * BINS)]++;
        sum += u;
        squares += u * u;
    }
    for (int i = 0; i < BINS; i++) {
        const double expected = (double)N / BINS;
        chi2 += (count[i] - expected) * (count[i] - expected) / expected;
    }
    assert_close(sum / N, 0.5, 5.0 * sqrt(1.0 / 12.0 / N));
    assert_close(squares / N, 1.0 / 3.0, 5.0 * sqrt(4.0 / 45.0 / N));
    assert_close(chi2, BINS - 1, 5.0 * sqrt(2.0 * (BINS - 1)));
}

static void normals_have_the_moments_of_a_normal(void **state)
{
    (void)state;
    double moment[5] = {0.0};
    int beyond_3 = 0;
    struct rng rng = rng_stream(3, RNG_TEST, 0, 0);
    for (int i = 0; i < N; i++) {
        const double x = rng_normal(&rng);
        for (int k = 1; k < 5; k++) {
            moment[k] += pow(x, k) / N;
        }
        beyond_3 += fabs(x) > 3.0;
    }
    /* variances of x^k: E x^2k - (E x^k)^2 = 1, 2, 15, 96 */
    assert_close(moment[1], 0.0, 5.0 * sqrt(1.0 / N));
    assert_close(moment[2], 1.0, 5.0 * sqrt(2.0 / N));
    assert_close(moment[3], 0.0, 5.0 * sqrt(15.0 / N));
    assert_close(moment[4], 3.0, 5.0 * sqrt(96.0 / N));
    assert_close(beyond_3, 0.0026998 * N, 5.0 * sqrt(0.0026998 * N));
}

/* Counts against the probabilities exp(-m) m^k / k!, bins of at least 10 expected counts. */
static void check_poisson(double mean)
{
    enum { MOST = 4096 };
    static int count[MOST];
    double sum = 0.0, squares = 0.0, chi2 = 0.0, bin_expected = 0.0;
    int bin_count = 0, n_bins = 0, below = 0;
    struct rng rng = rng_stream(4, RNG_TEST, (uint64_t)(mean * 1000.0), 0);
    memset(count, 0, sizeof count);
    for (int i = 0; i < N; i++) {
        const int64_t k = rng_poisson(&rng, mean);
        assert_true(k >= 0 && k < MOST);
        count[k]++;
        sum += (double)k - mean;
        squares += ((double)k - mean) * ((double)k - mean);
    }
    for (int k = 0; k < MOST; k++) {
        bin_expected += N * exp(k * log(mean) - mean - lgamma(k + 1.0));
        bin_count += count[k];
        if (bin_expected >= 10.0) {
            chi2 += (bin_count - bin_expected) * (bin_count - bin_expected) / bin_expected;
            below += bin_count;
            bin_expected = 0.0;
            bin_count = 0;
            n_bins++;
        }
    }
    /* what is left of the upper tail has expectation under 10 */
    assert_at_most(N - below, 10.0 + 5.0 * sqrt(10.0));
    assert_close(sum / N, 0.0, 5.0 * sqrt(mean / N));
    assert_close(squares / N, mean, 5.0 * sqrt((mean + 2.0 * mean * mean) / N));
    assert_close(chi2, n_bins, 5.0 * sqrt(2.0 * n_bins));
}

static void poisson_counts_follow_their_probabilities(void **state)
{
    (void)state;
    /* on both sides of the change of method at 12, and where photons of a frame lie */
    static const double means[] = {0.01, 0.3, 2.0, 11.9, 12.0, 12.5, 40.0, 1000.0};
    for (size_t i = 0; i < sizeof means / sizeof means[0]; i++) {
        check_poisson(means[i]);
    }
}

static void poisson_of_no_mean_is_zero(void **state)
{
    (void)state;
    struct rng rng = rng_stream(4, RNG_TEST, 1, 1);
    assert_int_equal(rng_poisson(&rng, 0.0), 0);
    assert_int_equal(rng_poisson(&rng, -3.0), 0);
    assert_int_equal(rng_poisson(&rng, (double)NAN), 0);
    assert_close((double)rng_poisson(&rng, (double)INFINITY), 1e15, 1e9);
}

static void quaternions_are_uniform_rotations(void **state)
{
    (void)state;
    double mean_direction[3] = {0.0}, cosine = 0.0, quadrupole = 0.0, angle_moment = 0.0;
    struct rng rng = rng_stream(5, RNG_TEST, 0, 0);
    for (int i = 0; i < N; i++) {
        double q[4];
        rng_quaternion(&rng, q);
        assert_true(q[0] >= 0.0);
        assert_close(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1.0, 1e-12);
        /* the beam axis turned: uniform on the sphere */
        const double z[3] = {2.0 * (q[1] * q[3] + q[0] * q[2]), 2.0 * (q[2] * q[3] - q[0] * q[1]),
                             1.0 - 2.0 * (q[1] * q[1] + q[2] * q[2])};
        for (int k = 0; k < 3; k++) {
            mean_direction[k] += z[k] / N;
        }
        quadrupole += z[2] * z[2] / N;
        /* angle w of a uniform rotation has density (1 - cos w)/pi: E cos w = -1/2, E w = pi/2 + 2/pi */
        const double w = 2.0 * acos(fmin(1.0, q[0]));
        cosine += cos(w) / N;
        angle_moment += w / N;
    }
    for (int k = 0; k < 3; k++) {
        assert_close(mean_direction[k], 0.0, 5.0 * sqrt(1.0 / 3.0 / N));
    }
    assert_close(quadrupole, 1.0 / 3.0, 5.0 * sqrt(4.0 / 45.0 / N));
    assert_close(cosine, -0.5, 5.0 * sqrt(0.25 / N));
    /* the angle's variance is pi^2/3 + 2 - (pi/2 + 2/pi)^2 = 0.417 */
    assert_close(angle_moment, 1.57079632679 + 0.63661977237, 5.0 * sqrt(0.417 / N));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_vectors),
        cmocka_unit_test(a_stream_repeats_and_differs_from_its_neighbours),
        cmocka_unit_test(streams_do_not_overlap),
        cmocka_unit_test(neighbouring_streams_are_not_correlated),
        cmocka_unit_test(uniforms_fill_the_unit_interval_evenly),
        cmocka_unit_test(normals_have_the_moments_of_a_normal),
        cmocka_unit_test(poisson_counts_follow_their_probabilities),
        cmocka_unit_test(poisson_of_no_mean_is_zero),
        cmocka_unit_test(quaternions_are_uniform_rotations),
    };
    return cmocka_run_group_tests_name("core/rng", tests, NULL, NULL);
}
