/* mpi_exact_sum.c - sums that are the same bits in every order and for every split over ranks. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "core/exact_sum.h"
#include "core/rng.h"

enum { N = 1009 };

/* Numbers of both signs over ten decades. */
static void make_values(double values[N], uint64_t seed)
{
    struct rng rng = rng_stream(seed, RNG_TEST, 0, 0);
    for (int i = 0; i < N; i++) {
        values[i] = (rng_uniform(&rng) - 0.5) * pow(10.0, 10.0 * rng_uniform(&rng) - 5.0);
    }
}

static void reverse(double values[N])
{
    for (int i = 0; i < N / 2; i++) {
        const double v = values[i];
        values[i] = values[N - 1 - i];
        values[N - 1 - i] = v;
    }
}

static int same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* What one process makes of all the values, at hand on every rank. */
static double sum_alone(const double values[N])
{
    double largest = 0.0, sum = 0.0;
    for (int i = 0; i < N; i++) {
        largest = fmax(largest, fabs(values[i]));
    }
    const double anchor = exact_anchor(largest * N);
    for (int i = 0; i < N; i++) {
        sum += exact_round(values[i], anchor);
    }
    return sum;
}

static void the_split_changes_no_bit(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    int ok = 1, plain_differs = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        double values[N], plain[2] = {0.0, 0.0};
        int64_t begin = 0, count = 0;
        make_values(values, seed);
        const double want = sum_alone(values);
        for (int turned = 0; turned < 2; turned++) {
            double sum = 0.0;
            comm_split(N, comm->size, comm->rank, &begin, &count);
            ok &= exact_sum(comm, &sum, values + begin, count) == MTIP_OK;
            ok &= same_bits(sum, want);
            for (int i = 0; i < N; i++) {
                plain[turned] += values[i];
            }
            reverse(values);
        }
        plain_differs |= !same_bits(plain[0], plain[1]);
    }
    ok &= plain_differs; /* else the values prove nothing */
    assert_true(support_all_ranks(comm, ok));
}

static void the_sum_is_right(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    double values[N], sum = 0.0;
    long double want = 0.0L, largest = 0.0L;
    int64_t begin = 0, count = 0;
    make_values(values, 7);
    for (int i = 0; i < N; i++) {
        want += (long double)values[i];
        largest = fmaxl(largest, fabsl((long double)values[i]));
    }
    comm_split(N, comm->size, comm->rank, &begin, &count);
    int ok = exact_sum(comm, &sum, values + begin, count) == MTIP_OK;
    /* N roundings of 2^-51 of the bound N largest */
    ok &= fabs(sum - (double)want) <= ldexp((double)largest * N, -51) * N;
    assert_true(support_all_ranks(comm, ok));
}

static void nothing_and_zeros_add_up_to_zero(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    const double zeros[3] = {0.0, 0.0, -0.0};
    double sum = 1.0;
    int ok = exact_sum(comm, &sum, NULL, 0) == MTIP_OK && sum == 0.0;
    ok &= exact_sum(comm, &sum, zeros, comm->rank % 4) == MTIP_OK && sum == 0.0;
    assert_true(support_all_ranks(comm, ok));
}

/* As many terms as the bound allows, all of the largest size, stay exact. */
static void the_bound_itself_is_allowed(void **state)
{
    (void)state;
    const double bounds[] = {1.0, 1.5, 1.9999999, 2.0, 3e-5, 7e200, 0.0};
    int ok = 1;
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        const double anchor = exact_anchor(bounds[b]);
        const double whole = exact_round(bounds[b], anchor);
        const double part = exact_round(bounds[b] / 3.0, anchor);
        ok &= fabs(whole - bounds[b]) <= ldexp(bounds[b], -50);
        ok &= same_bits((part + part) + part, part + (part + part));
        ok &= same_bits((whole + part) - whole, part);
        ok &= same_bits(exact_round(-bounds[b], anchor) + whole, 0.0);
    }
    assert_true(support_all_ranks(support_comm(), ok));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_split_changes_no_bit),
        cmocka_unit_test(the_sum_is_right),
        cmocka_unit_test(nothing_and_zeros_add_up_to_zero),
        cmocka_unit_test(the_bound_itself_is_allowed),
    };
    support_mpi_begin(&argc, &argv);
    return support_mpi_end(cmocka_run_group_tests(tests, NULL, NULL));
}
