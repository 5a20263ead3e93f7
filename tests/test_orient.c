/* test_orient.c - quaternion algebra, even coverings of SO(3), orientation errors modulo what
 * intensities cannot tell. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/orient.h"

#define PI 3.14159265358979323846
#define DEGREE (PI / 180.0)
/* A few roundings of numbers near 1. */
#define ROUNDING 1e-14

static void multiply_matrices(double out[9], const double a[9], const double b[9])
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
        }
    }
}

static double largest_difference(const double *a, const double *b, int n)
{
    double largest = 0.0;
    for (int i = 0; i < n; i++) {
        largest = fmax(largest, fabs(a[i] - b[i]));
    }
    return largest;
}

/* A rotation by `angle` about a random axis. */
static void random_turn(double q[4], struct rng *rng, double angle)
{
    double v[3], norm = 0.0;
    for (int i = 0; i < 3; i++) {
        v[i] = rng_normal(rng);
        norm += v[i] * v[i];
    }
    for (int i = 0; i < 3; i++) {
        v[i] *= angle / sqrt(norm);
    }
    quaternion_from_vector(q, v);
}

static void products_are_products_of_matrices(void **state)
{
    (void)state;
    struct rng rng = rng_stream(11, RNG_TEST, 0, 0);
    for (int i = 0; i < 200; i++) {
        double a[4], b[4], ab[4], matrix_a[9], matrix_b[9], matrix_ab[9], product[9];
        rng_quaternion(&rng, a);
        rng_quaternion(&rng, b);
        quaternion_multiply(ab, a, b);
        quaternion_to_matrix(matrix_a, a);
        quaternion_to_matrix(matrix_b, b);
        quaternion_to_matrix(matrix_ab, ab);
        multiply_matrices(product, matrix_a, matrix_b);
        assert_at_most(largest_difference(product, matrix_ab, 9), ROUNDING);
        quaternion_multiply(a, a, b); /* in place */
        assert_memory_equal(a, ab, sizeof ab);
    }
}

static void matrices_are_rotations_and_turn_as_they_should(void **state)
{
    (void)state;
    /* a quarter turn about z takes x to y: the sense of rotation is fixed here */
    const double quarter[3] = {0.0, 0.0, PI / 2.0};
    const double expected[9] = {0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0};
    const double unit[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    double q[4], matrix[9], transposed[9], product[9];
    quaternion_from_vector(q, quarter);
    quaternion_to_matrix(matrix, q);
    assert_at_most(largest_difference(matrix, expected, 9), ROUNDING);

    struct rng rng = rng_stream(12, RNG_TEST, 0, 0);
    for (int i = 0; i < 100; i++) {
        rng_quaternion(&rng, q);
        quaternion_to_matrix(matrix, q);
        quaternion_conjugate(q, q);
        quaternion_to_matrix(transposed, q);
        multiply_matrices(product, matrix, transposed);
        assert_at_most(largest_difference(product, unit, 9), ROUNDING);
        assert_close(matrix[1], transposed[3], ROUNDING);
    }
}

static void matrices_give_their_quaternions_back(void **state)
{
    (void)state;
    /* random ones, and half turns, where three of the four branches of Shepperd's method are needed */
    static const double special[][4] = {
        {1.0, 0.0, 0.0, 0.0}, {0.0, 1.0, 0.0, 0.0},   {0.0, 0.0, 1.0, 0.0},
        {0.0, 0.0, 0.0, 1.0}, {0.0, 0.6, 0.8, 0.0},   {0.0, 0.0, 0.6, 0.8},
        {0.5, 0.5, 0.5, 0.5}, {1e-9, 0.8, -0.6, 0.0}, {0.5, -0.5, 0.5, -0.5},
    };
    const int n_special = (int)(sizeof special / sizeof special[0]);
    struct rng rng = rng_stream(13, RNG_TEST, 0, 0);
    for (int i = 0; i < n_special + 500; i++) {
        double q[4], back[4], matrix[9];
        if (i < n_special) {
            memcpy(q, special[i], sizeof q);
            quaternion_canonical(q);
        } else {
            rng_quaternion(&rng, q);
        }
        quaternion_to_matrix(matrix, q);
        quaternion_from_matrix(back, matrix);
        /* at w = 0 both signs are the same rotation, so the angle is compared */
        assert_at_most(quaternion_angle(q, back), 10.0 * ROUNDING);
        assert_true(back[0] >= 0.0);
    }
}

static void canonical_quaternions_are_unit_with_w_not_negative(void **state)
{
    (void)state;
    double q[4] = {-2.0, 0.0, 0.0, 2.0};
    quaternion_canonical(q);
    assert_close(q[0], sqrt(0.5), ROUNDING);
    assert_close(q[3], -sqrt(0.5), ROUNDING);
    double zero[4] = {0.0, 0.0, 0.0, 0.0};
    quaternion_canonical(zero);
    assert_true(zero[0] == 1.0 && zero[1] == 0.0 && zero[2] == 0.0 && zero[3] == 0.0);
    double undefined[4] = {(double)NAN, 0.0, 0.0, 1.0};
    quaternion_canonical(undefined);
    assert_true(undefined[0] == 1.0 && undefined[3] == 0.0);
}

static void angles_are_those_of_the_turn_between(void **state)
{
    (void)state;
    static const double angles[] = {0.0, 1e-12, 1e-7, 1e-4, 2e-4, 0.1, 1.0, 3.0, PI};
    struct rng rng = rng_stream(14, RNG_TEST, 0, 0);
    for (size_t i = 0; i < sizeof angles / sizeof angles[0]; i++) {
        for (int trial = 0; trial < 20; trial++) {
            double a[4], turn[4], b[4], opposite[4];
            rng_quaternion(&rng, a);
            random_turn(turn, &rng, angles[i]);
            quaternion_multiply(b, turn, a);
            assert_close(quaternion_angle(a, b), angles[i], 10.0 * ROUNDING);
            for (int k = 0; k < 4; k++) {
                opposite[k] = -b[k];
            }
            assert_close(quaternion_angle(a, opposite), angles[i], 10.0 * ROUNDING);
        }
    }
}

/* Mean and largest angle from random rotations to the nearest of n samples, over the mean spacing. */
static void coverage(double *mean, double *most, int64_t n, const double turn[4])
{
    enum { PROBES = 1500 };
    double *samples = NULL;
    struct rng rng = rng_stream(15, RNG_TEST, (uint64_t)n, 0);
    assert_ok(MEMORY_ALLOC(&samples, 4 * n, "samples"));
    for (int64_t i = 0; i < n; i++) {
        orient_super_fibonacci(&samples[4 * i], i, n, turn);
        assert_true(samples[4 * i] >= 0.0);
    }
    *mean = *most = 0.0;
    for (int p = 0; p < PROBES; p++) {
        double q[4], largest_cosine = 0.0;
        rng_quaternion(&rng, q);
        for (int64_t i = 0; i < n; i++) {
            const double *s = &samples[4 * i];
            largest_cosine =
                fmax(largest_cosine, fabs(q[0] * s[0] + q[1] * s[1] + q[2] * s[2] + q[3] * s[3]));
        }
        const double angle = 2.0 * acos(fmin(1.0, largest_cosine)) / orient_spacing(n);
        *mean += angle / PROBES;
        *most = fmax(*most, angle);
    }
    memory_free(&samples);
}

static void super_fibonacci_covers_rotations_evenly(void **state)
{
    (void)state;
    static const int64_t sizes[] = {60, 401, 2000, 5003};
    const double turn[4] = {0.5, -0.5, 0.5, 0.5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int turned = 0; turned < 2; turned++) {
            double mean = 0.0, most = 0.0;
            coverage(&mean, &most, sizes[i], turned ? turn : NULL);
            /* In units of the spacing (volume per sample)^(1/3) a cubic lattice has a mean of 0.48 and a most of
             * 0.87; independent random samples have a mean of 0.55 and holes of 1.2. */
            assert_at_most(mean, 0.51);
            assert_at_most(most, 1.0);
        }
    }
}

static void super_fibonacci_has_no_preferred_direction(void **state)
{
    (void)state;
    enum { SAMPLES = 3000 };
    double moment[16] = {0.0};
    for (int64_t i = 0; i < SAMPLES; i++) {
        double q[4];
        orient_super_fibonacci(q, i, SAMPLES, NULL);
        for (int k = 0; k < 16; k++) {
            moment[k] += q[k / 4] * q[k % 4] / SAMPLES;
        }
    }
    for (int k = 0; k < 16; k++) {
        /* uniform: the unit matrix over 4; random samples would scatter by 0.0037 here */
        assert_close(moment[k], k % 5 == 0 ? 0.25 : 0.0, 1e-3);
    }
}

static void a_turned_covering_is_the_covering_turned(void **state)
{
    (void)state;
    struct rng rng = rng_stream(16, RNG_TEST, 0, 0);
    double turn[4];
    rng_quaternion(&rng, turn);
    for (int64_t i = 0; i < 100; i++) {
        double plain[4], turned[4];
        orient_super_fibonacci(plain, i, 100, NULL);
        orient_super_fibonacci(turned, i, 100, turn);
        quaternion_multiply(plain, turn, plain);
        assert_at_most(quaternion_angle(plain, turned), 10.0 * ROUNDING);
    }
}

static void the_spacing_is_that_of_the_volume_per_sample(void **state)
{
    (void)state;
    /* SO(3) has the volume 8 pi^2 = 78.96 in rotation vectors */
    assert_close(pow(orient_spacing(1000), 3.0) * 1000.0, 8.0 * PI * PI, 0.05);
    assert_close(orient_spacing(8000) / orient_spacing(1000), 0.5, ROUNDING);
}

/* estimates = global * noise(angle) * truths, every third frame with the half turn about the beam; frames
 * from n - n_wrong on are random. */
static void make_estimates(double *estimates, double *truths, int64_t n, int64_t n_wrong,
                           const double global[4], double noise)
{
    static const double half_turn[4] = {0.0, 0.0, 0.0, 1.0};
    struct rng rng = rng_stream(17, RNG_TEST, (uint64_t)n, (uint64_t)n_wrong);
    for (int64_t i = 0; i < n; i++) {
        double turn[4], *estimate = &estimates[4 * i];
        rng_quaternion(&rng, &truths[4 * i]);
        if (i >= n - n_wrong) {
            rng_quaternion(&rng, estimate);
            continue;
        }
        random_turn(turn, &rng, noise);
        quaternion_multiply(estimate, turn, &truths[4 * i]);
        quaternion_multiply(estimate, global, estimate);
        if (i % 3 == 0) {
            quaternion_multiply(estimate, estimate, half_turn);
        }
        quaternion_canonical(estimate);
    }
}

static void the_least_eigenvalue_tells_how_even_directions_are(void **state)
{
    (void)state;
    struct rng rng = rng_stream(31, RNG_TEST, 0, 0);
    /* diagonal matrices turned at will: the eigenvalues stay */
    static const double values[][3] = {
        {1.0, 2.0, 3.0}, {0.0, 0.0, 1.0}, {-4.0, 5.0, 5.0}, {2.0, 2.0, 2.0}, {1e-9, 0.4, 0.6}};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        double q[4], r[9], a[3][3] = {{0.0}};
        rng_quaternion(&rng, q);
        quaternion_to_matrix(r, q);
        for (int i = 0; i < 3; i++) {
            for (int j = 0; j < 3; j++) {
                for (int e = 0; e < 3; e++) {
                    a[i][j] += r[3 * i + e] * values[k][e] * r[3 * j + e];
                }
            }
        }
        const double s[6] = {a[0][0], a[1][1], a[2][2], a[0][1], a[0][2], a[1][2]};
        assert_close(orient_least_eigenvalue(s), values[k][0], 1e-7);
    }
}

static void errors_find_the_global_turn_and_the_half_turns(void **state)
{
    (void)state;
    enum { MOST = 1000 };
    static double estimates[4 * MOST], truths[4 * MOST], errors[MOST];
    static const struct {
        int64_t n, n_wrong;
        double noise;     /* of each right frame, rad */
        double tolerance; /* of a frame's error and of the global rotation, rad */
    } cases[] = {
        {1, 0, 0.0, 1e-7},
        {2, 0, 0.0, 1e-7},
        {100, 0, 0.0, 1e-7},
        /* the mean of n turns of 4 degrees in random directions is off by about 4/sqrt(n) degrees */
        {1000, 0, 4.0 * DEGREE, 0.5 * DEGREE},
        /* a third of the frames wrong: the fit leaves them out */
        {1000, 333, 4.0 * DEGREE, 0.6 * DEGREE},
    };
    struct rng rng = rng_stream(18, RNG_TEST, 0, 0);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const int64_t n = cases[c].n, n_right = n - cases[c].n_wrong;
        double global[4], found[4];
        rng_quaternion(&rng, global);
        make_estimates(estimates, truths, n, cases[c].n_wrong, global, cases[c].noise);
        assert_ok(orient_errors(errors, found, estimates, truths, n));
        for (int64_t i = 0; i < n_right; i++) {
            assert_close(errors[i], cases[c].noise, cases[c].tolerance);
        }
        if (n > 2) {
            /* one or two frames fix the rotation only up to their half turns */
            assert_at_most(quaternion_angle(global, found), cases[c].tolerance);
        }
    }
}

/* Random orientations must look random: the fit may not flatter them. */
static void errors_of_random_estimates_are_large(void **state)
{
    (void)state;
    enum { FRAMES = 500 };
    static double estimates[4 * FRAMES], truths[4 * FRAMES], errors[FRAMES];
    double global[4], mean = 0.0;
    const double none[4] = {1.0, 0.0, 0.0, 0.0};
    make_estimates(estimates, truths, FRAMES, FRAMES, none, 0.0);
    assert_ok(orient_errors(errors, global, estimates, truths, FRAMES));
    for (int i = 0; i < FRAMES; i++) {
        mean += errors[i] / FRAMES;
    }
    assert_true(mean > 70.0 * DEGREE);
}

static void no_frames_cannot_be_judged(void **state)
{
    (void)state;
    double global[4];
    assert_status(orient_errors(NULL, global, NULL, NULL, 0), MTIP_ERR_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_products_of_matrices),
        cmocka_unit_test(matrices_are_rotations_and_turn_as_they_should),
        cmocka_unit_test(matrices_give_their_quaternions_back),
        cmocka_unit_test(canonical_quaternions_are_unit_with_w_not_negative),
        cmocka_unit_test(angles_are_those_of_the_turn_between),
        cmocka_unit_test(super_fibonacci_covers_rotations_evenly),
        cmocka_unit_test(super_fibonacci_has_no_preferred_direction),
        cmocka_unit_test(a_turned_covering_is_the_covering_turned),
        cmocka_unit_test(the_spacing_is_that_of_the_volume_per_sample),
        cmocka_unit_test(the_least_eigenvalue_tells_how_even_directions_are),
        cmocka_unit_test(errors_find_the_global_turn_and_the_half_turns),
        cmocka_unit_test(errors_of_random_estimates_are_large),
        cmocka_unit_test(no_frames_cannot_be_judged),
    };
    return cmocka_run_group_tests_name("mtip/orient", tests, NULL, NULL);
}
