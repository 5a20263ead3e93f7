/* test_turns.c - random turns, and the peak of the parabola over a stencil. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "core/rng.h"
#include "mtip/orient.h"
#include "mtip/turns.h"

/* -x.h.x/2 about `peak`, x the rotation vector from the peak (small angles: 2 sin(angle/2) axis). */
static double parabola(const double q[4], const double peak[4], double h[3][3])
{
    double inverse[4], turn[4], value = 0.0;
    quaternion_conjugate(inverse, peak);
    quaternion_multiply(turn, inverse, q);
    const double sign = turn[0] < 0.0 ? -2.0 : 2.0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            value -= 0.5 * h[i][j] * sign * turn[i + 1] * sign * turn[j + 1];
        }
    }
    return value;
}

static void peak_of_a_parabola_is_found(void **state)
{
    (void)state;
    double h[3][3] = {{900.0, 200.0, -100.0}, {200.0, 400.0, 50.0}, {-100.0, 50.0, 600.0}};
    struct rng rng = rng_stream(11, RNG_TEST, 0, 0);
    for (int trial = 0; trial < 50; trial++) {
        const double step = 0.02;
        double q[4], peak[4], turn[4], found[4], trials[4 * TURNS_STENCIL], scores[TURNS_STENCIL];
        double vector[3];
        rng_quaternion(&rng, peak);
        for (int i = 0; i < 3; i++) {
            vector[i] = step * (2.0 * rng_uniform(&rng) - 1.0);
        }
        quaternion_from_vector(turn, vector);
        quaternion_multiply(q, peak, turn);
        turns_stencil(trials, q, step);
        for (int t = 0; t < TURNS_STENCIL; t++) {
            scores[t] = 17.0 + parabola(trials + 4 * t, peak, h);
        }
        turns_peak(found, q, scores, step);
        /* rotations commute to first order: what is left is of second order in angles up to 0.035 */
        assert_at_most(quaternion_angle(found, peak), 2e-3);
    }
}

static void peak_stays_near_where_there_is_none(void **state)
{
    (void)state;
    const double q[4] = {1.0, 0.0, 0.0, 0.0}, step = 0.05;
    double found[4], trials[4 * TURNS_STENCIL];
    double saddle[TURNS_STENCIL] = {0, 1, 1, -1, -1, 0, 0, 0, 0, 0};
    double slope[TURNS_STENCIL];
    turns_stencil(trials, q, step);
    /* a saddle: the best trial itself */
    turns_peak(found, q, saddle, step);
    assert_at_most(quaternion_angle(found, trials + 4 * 1), 1e-12);
    /* nearly flat with a slope: the parabola's peak is far away and is not followed there */
    for (int t = 0; t < TURNS_STENCIL; t++) {
        slope[t] = 100.0 * trials[4 * t + 1] - 1e-3 * (double)(t > 0);
    }
    turns_peak(found, q, slope, step);
    assert_at_most(quaternion_angle(found, q), 2.0 * step * (1.0 + 1e-9));
    assert_true(found[1] > 0.0);
}

static void random_turns_keep_the_first_and_spread_by_step(void **state)
{
    (void)state;
    enum { N = 4000 };
    static double trials[4 * N];
    const double q[4] = {0.5, 0.5, 0.5, 0.5};
    struct rng rng = rng_stream(12, RNG_TEST, 0, 0);
    double square = 0.0;
    turns_random(trials, q, &rng, N, 0.05);
    assert_memory_equal(trials, q, sizeof q);
    for (int t = 1; t < N; t++) {
        const double angle = quaternion_angle(q, trials + 4 * t);
        square += angle * angle / (N - 1);
    }
    /* mean of |v|^2 is 3 step^2; its standard error is step^2 sqrt(6/N) = 0.04 step^2 */
    assert_close(square / (0.05 * 0.05), 3.0, 0.2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peak_of_a_parabola_is_found),
        cmocka_unit_test(peak_stays_near_where_there_is_none),
        cmocka_unit_test(random_turns_keep_the_first_and_spread_by_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
