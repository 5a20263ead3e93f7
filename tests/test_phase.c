/* test_phase.c - the kernels of phasing one by one, the properties of the iterations, and a density found
 * again from its intensities alone. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/align.h"
#include "mtip/phase.h"
#include "mtip/phase_ops.h"
#include "mtip/resolution.h"

#define M 24
#define N (M * M * M)
#define N_HALF (M * M * (M / 2 + 1))
#define RADIUS 5.0
#define N_BRIGHT 520 /* voxels of the test object, and a few more */

struct fixture {
    struct backend *backend;
    struct phaser *phaser;
    const struct phase_ops *ops;
    double *truth, *intensity, *density, *other; /* FFT order */
    uint8_t *measured, *support;
};

static int64_t wrapped(int64_t i)
{
    return (i % M + M) % M;
}

/* Gaussian blobs of many sizes in a lopsided body inside the ball of RADIUS. */
static void fill_truth(double *truth)
{
    struct rng rng = rng_stream(31, RNG_TEST, 0, 0);
    for (int blob = 0; blob < 14; blob++) {
        const double at[3] = {6.5 * (rng_uniform(&rng) - 0.5), 5 * (rng_uniform(&rng) - 0.5),
                              4 * (rng_uniform(&rng) - 0.5)};
        const double weight = 0.5 + rng_uniform(&rng), sigma = 0.7 + 0.4 * rng_uniform(&rng);
        for (int64_t i = 0; i < N; i++) {
            const int64_t r[3] = {i / M / M, i / M % M, i % M};
            double square = 0;
            for (int axis = 0; axis < 3; axis++) {
                const double d = (double)(r[axis] < M / 2 ? r[axis] : r[axis] - M) - at[axis];
                square += d * d;
            }
            truth[i] += weight * exp(-square / (2 * sigma * sigma));
        }
    }
    for (int64_t i = 0; i < N; i++) {
        truth[i] = truth[i] > 0.01 ? truth[i] : 0; /* a support to be found */
    }
}

static int64_t count(const uint8_t *support)
{
    int64_t voxels = 0;
    for (int64_t i = 0; i < N; i++) {
        voxels += support[i];
    }
    return voxels;
}

static void open_fixture(struct fixture *f, int n_threads)
{
    double *half = NULL;
    memset(f, 0, sizeof *f);
    assert_ok(backend_create(&f->backend, "cpu", 0, n_threads));
    assert_ok(phaser_create(&f->phaser, f->backend, M));
    f->ops = &phase_ops_cpu;
    assert_ok(BACKEND_ALLOC(f->backend, &f->truth, N, "truth"));
    assert_ok(BACKEND_ALLOC(f->backend, &f->density, N, "density"));
    assert_ok(BACKEND_ALLOC(f->backend, &f->other, N, "other"));
    assert_ok(BACKEND_ALLOC(f->backend, &f->intensity, N_HALF, "intensity"));
    assert_ok(BACKEND_ALLOC(f->backend, &f->measured, N_HALF, "measured"));
    assert_ok(BACKEND_ALLOC(f->backend, &f->support, N, "support"));
    assert_ok(MEMORY_ALLOC(&half, 2 * N_HALF, "half"));
    fill_truth(f->truth);
    assert_ok(fft_plan_forward(phaser_fft(f->phaser), f->truth, half));
    for (int64_t i = 0; i < N_HALF; i++) {
        f->intensity[i] = half[2 * i] * half[2 * i] + half[2 * i + 1] * half[2 * i + 1];
    }
    phase_mask_shells(f->measured, M, 0, M);
    assert_ok(phaser_set_data(f->phaser, f->intensity, f->measured));
    memory_free(&half);
}

static void close_fixture(struct fixture *f)
{
    backend_free(f->backend, &f->support);
    backend_free(f->backend, &f->measured);
    backend_free(f->backend, &f->intensity);
    backend_free(f->backend, &f->other);
    backend_free(f->backend, &f->density);
    backend_free(f->backend, &f->truth);
    phaser_destroy(&f->phaser);
    assert_null(f->phaser);
    backend_destroy(&f->backend);
}

/* A schedule that only shrink-wraps and recentres once. */
static struct phase_schedule only_shrink_wrap(double sigma, int64_t n_support)
{
    struct phase_schedule schedule = phase_schedule_final(RADIUS, n_support);
    schedule.loops = 1;
    schedule.iterations = 0;
    schedule.er_iterations = 0;
    schedule.final_er_iterations = 0;
    schedule.sigma_start = sigma;
    return schedule;
}

static void magnitude_projection_is_idempotent_and_leaves_free_modes(void **state)
{
    (void)state;
    enum { MODES = 1000 };
    static double half[2 * MODES], twice[2 * MODES], before[2 * MODES], magnitude[MODES];
    static double intensity[MODES];
    static uint8_t measured[MODES];
    struct fixture f;
    open_fixture(&f, 1);
    struct rng rng = rng_stream(32, RNG_TEST, 0, 0);
    for (int i = 0; i < MODES; i++) {
        half[2 * i] = i == 7 ? 0 : rng_normal(&rng);
        half[2 * i + 1] = i == 7 ? 0 : rng_normal(&rng);
        intensity[i] = rng_normal(&rng) + 0.5; /* some are negative and count as 0 */
        measured[i] = i % 5 != 0;
    }
    memcpy(before, half, sizeof half);
    assert_ok(f.ops->magnitudes(f.backend, MODES, magnitude, intensity, measured));
    assert_ok(f.ops->project(f.backend, MODES, half, magnitude, 1));
    memcpy(twice, half, sizeof half);
    assert_ok(f.ops->project(f.backend, MODES, twice, magnitude, 1));
    for (int i = 0; i < MODES; i++) {
        assert_close(twice[2 * i], half[2 * i], 1e-14); /* rounding */
        assert_close(twice[2 * i + 1], half[2 * i + 1], 1e-14);
        if (!measured[i]) {
            assert_true(half[2 * i] == before[2 * i] && half[2 * i + 1] == before[2 * i + 1]);
            continue;
        }
        const double want = intensity[i] > 0 ? sqrt(intensity[i]) : 0;
        assert_close(hypot(half[2 * i], half[2 * i + 1]), want, 1e-14);
        /* The phase stays: a positive multiple of what it was. */
        assert_close(half[2 * i] * before[2 * i + 1] - half[2 * i + 1] * before[2 * i], 0, 1e-14);
        assert_true(half[2 * i] * before[2 * i] >= 0);
    }
    close_fixture(&f);
}

static void support_projection_is_idempotent(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    struct rng rng = rng_stream(33, RNG_TEST, 0, 0);
    for (int64_t i = 0; i < N; i++) {
        f.other[i] = rng_normal(&rng);
    }
    assert_ok(phaser_ball(f.phaser, RADIUS, f.support));
    assert_ok(f.ops->update(f.backend, N, PHASE_ER, 1, f.density, f.other, f.support));
    for (int64_t i = 0; i < N; i++) {
        assert_true(f.density[i] == (f.support[i] && f.other[i] > 0 ? f.other[i] : 0));
    }
    memcpy(f.other, f.density, N * sizeof *f.other);
    assert_ok(f.ops->update(f.backend, N, PHASE_ER, 1, f.density, f.other, f.support));
    assert_memory_equal(f.density, f.other, N * sizeof *f.other);
    close_fixture(&f);
}

/* The formulas of phase.h for each of the four cases: in or out of the support, above or below 0. */
static void updates_are_their_formulas(void **state)
{
    (void)state;
    static const double projected[4] = {2, -1, 3, -0.5}, start[4] = {1, 0.5, -1, 2};
    static const uint8_t support[4] = {1, 1, 0, 0};
    const double beta = 0.8;
    struct fixture f;
    open_fixture(&f, 1);
    double raar[4], hio[4];
    memcpy(raar, start, sizeof raar);
    memcpy(hio, start, sizeof hio);
    assert_ok(f.ops->update(f.backend, 4, PHASE_RAAR, beta, raar, projected, support));
    assert_ok(f.ops->update(f.backend, 4, PHASE_HIO, beta, hio, projected, support));
    for (int i = 0; i < 4; i++) {
        const double y = 2 * projected[i] - start[i], s = support[i] && y > 0 ? y : 0;
        assert_close(raar[i], beta / 2 * (2 * s - y + start[i]) + (1 - beta) * projected[i], 1e-15);
        assert_close(hio[i], i == 0 ? projected[i] : start[i] - beta * projected[i], 1e-15);
    }
    close_fixture(&f);
}

static void the_truth_is_a_fixed_point(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    for (int64_t i = 0; i < N; i++) {
        f.support[i] = f.truth[i] > 0;
    }
    struct phase_schedule schedule = phase_schedule_final(RADIUS, count(f.support));
    schedule.loops = 1;
    schedule.sigma_start = 0; /* the brightest voxels are the truth's own */
    struct phase_metrics metrics;
    memcpy(f.density, f.truth, N * sizeof *f.density);
    assert_ok(phaser_run(f.phaser, &schedule, f.density, f.support, &metrics));
    assert_at_most(metrics.r_factor, 1e-12); /* rounding of 105 iterations */
    assert_int_equal(metrics.iterations, 105);
    struct aligner *aligner = NULL;
    assert_ok(aligner_create(&aligner, M, 1)); /* recentring may have moved it */
    assert_ok(aligner_align(aligner, f.density, f.truth, NULL, NULL));
    assert_at_most(support_relative_l2(f.density, f.truth, N), 1e-7); /* of the refined shift */
    aligner_destroy(&aligner);
    close_fixture(&f);
}

static void error_reduction_never_increases_the_error(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    struct phase_schedule schedule = phase_schedule_final(RADIUS, 1);
    schedule.loops = 0;
    schedule.final_er_iterations = 1;
    assert_ok(phaser_random_start(f.phaser, 3, 0, RADIUS, f.density, f.support));
    double previous = INFINITY, first = 0;
    for (int i = 0; i < 60; i++) {
        struct phase_metrics metrics;
        assert_ok(phaser_run(f.phaser, &schedule, f.density, f.support, &metrics));
        assert_at_most(metrics.r_factor, previous * (1 + 1e-12));
        previous = metrics.r_factor;
        first = i == 0 ? previous : first;
    }
    assert_at_most(previous, 0.7 * first);
    close_fixture(&f);
}

static void shrink_wrap_takes_the_brightest_voxels(void **state)
{
    (void)state;
    static const int64_t wanted[] = {1, 2, 50, 333, 600};
    struct fixture f;
    open_fixture(&f, 2);
    for (int i = 0; i < 5; i++) {
        struct rng rng = rng_stream(34, RNG_TEST, 0, 0);
        for (int64_t v = 0; v < N; v++) {
            f.density[v] =
                exp(9 * rng_normal(&rng)); /* many binades: every digit of the selection */
        }
        memcpy(f.other, f.density, N * sizeof *f.other);
        const struct phase_schedule schedule = only_shrink_wrap(0, wanted[i]);
        struct phase_metrics metrics;
        memset(f.support, 1, N);
        assert_ok(phaser_run(f.phaser, &schedule, f.density, f.support, &metrics));
        assert_int_equal(metrics.n_support, wanted[i]);
        assert_int_equal(count(f.support), wanted[i]);
    }
    close_fixture(&f);
}

/* Everything in the support is brighter than everything left out of the ball. */
static void the_support_is_brighter_than_the_rest_of_the_ball(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    const struct phase_schedule schedule = only_shrink_wrap(0, 100);
    memset(f.support, 1, N);
    /* Symmetric about the origin, so that recentring does not move it. */
    uint8_t *ball = (uint8_t *)f.other;
    assert_ok(phaser_ball(f.phaser, RADIUS + 2, ball));
    for (int64_t i = 0; i < N; i++) {
        const int64_t r[3] = {i / M / M, i / M % M, i % M};
        const int64_t mirror = (wrapped(-r[0]) * M + wrapped(-r[1])) * M + wrapped(-r[2]);
        struct rng rng = rng_stream(35, RNG_TEST, 0, (uint64_t)(mirror < i ? mirror : i));
        f.density[i] = rng_normal(&rng);
    }
    assert_ok(phaser_run(f.phaser, &schedule, f.density, f.support, NULL));
    double dimmest = INFINITY, brightest = 0;
    for (int64_t i = 0; i < N; i++) {
        assert_true(!f.support[i] || ball[i]);
        if (f.support[i]) {
            dimmest = fmin(dimmest, f.density[i]);
        } else if (ball[i]) {
            brightest = fmax(brightest, f.density[i]);
        }
    }
    /* A mirror pair has one value: 100 voxels are 50 pairs. */
    assert_true(labs((long)(count(f.support) - 100)) <= 1);
    assert_true(dimmest >= brightest * (1 - 1e-12));
    close_fixture(&f);
}

static void too_few_bright_voxels_give_a_smaller_support(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    memset(f.density, 0, N * sizeof *f.density);
    f.density[0] = 2;
    f.density[1] = 1;
    struct phase_schedule schedule = only_shrink_wrap(0, 50);
    struct phase_metrics metrics;
    memset(f.support, 1, N);
    assert_ok(phaser_run(f.phaser, &schedule, f.density, f.support, &metrics));
    assert_true(metrics.n_support >= 2); /* rounding of the transforms may add some */
    memset(f.density, 0, N * sizeof *f.density);
    schedule.final_er_iterations = 3;
    assert_ok(phaser_run(f.phaser, &schedule, f.density, f.support, &metrics));
    assert_close(metrics.r_factor, 1, 1e-12);
    assert_int_equal(metrics.n_support, 0);
    close_fixture(&f);
}

static void recentring_brings_the_centre_of_mass_home(void **state)
{
    (void)state;
    static const int64_t shift[3] = {2, -1, 1};
    struct fixture f;
    open_fixture(&f, 1);
    const struct phase_schedule schedule = only_shrink_wrap(1, 200);
    memset(f.support, 1, N);
    memcpy(f.density, f.truth, N * sizeof *f.density);
    assert_ok(phaser_run(f.phaser, &schedule, f.density, f.support, NULL));
    memcpy(f.truth, f.density, N * sizeof *f.density); /* the truth at home */
    assert_ok(f.ops->roll(f.backend, M, f.density, f.truth, shift));
    assert_true(f.density[(2 * M + M - 1) * M + 1] == f.truth[0]);
    memset(f.support, 1, N);
    assert_ok(phaser_run(f.phaser, &schedule, f.density, f.support, NULL));
    assert_memory_equal(f.density, f.truth, N * sizeof *f.density);
    close_fixture(&f);
}

static void autocorrelation_is_its_sum(void **state)
{
    (void)state;
    static const int64_t lags[][3] = {{0, 0, 0}, {1, 0, -2}, {-3, 4, 1}, {11, 2, 5}};
    struct fixture f;
    open_fixture(&f, 1);
    assert_ok(phaser_autocorrelation(f.phaser, f.truth, f.other));
    for (int i = 0; i < 4; i++) {
        double want = 0;
        for (int64_t v = 0; v < N; v++) {
            const int64_t z = wrapped(v / M / M + lags[i][0]), y = wrapped(v / M % M + lags[i][1]);
            want += f.truth[v] * f.truth[(z * M + y) * M + wrapped(v % M + lags[i][2])];
        }
        const int64_t at =
            (wrapped(lags[i][0]) * M + wrapped(lags[i][1])) * M + wrapped(lags[i][2]);
        assert_close(f.other[at], want, 1e-11); /* rounding of sums of order 100 */
    }
    close_fixture(&f);
}

/* The density from its intensities: lowest FSC with the truth over the shells that hold the blobs' signal
 * (1e-3 of its power is left at the eighth), modulo place and hand. */
static double recovered_fsc(struct fixture *f, uint64_t start, double *r_factor)
{
    struct aligner *aligner = NULL;
    struct phase_metrics metrics;
    double fsc[M / 2], least = 1;
    struct phase_schedule schedule = phase_schedule_final(RADIUS, N_BRIGHT);
    schedule.sigma_start = 1.5;
    schedule.sigma_end = 0.6;
    assert_ok(phaser_random_start(f->phaser, 5, start, RADIUS, f->density, f->support));
    assert_ok(phaser_run(f->phaser, &schedule, f->density, f->support, &metrics));
    assert_ok(aligner_create(&aligner, M, 1));
    align_centre(f->other, f->truth, M);
    double *centred = NULL;
    assert_ok(MEMORY_ALLOC(&centred, N, "centred"));
    align_centre(centred, f->density, M);
    assert_ok(aligner_align(aligner, centred, f->other, NULL, NULL));
    assert_ok(resolution_fsc(fsc, centred, f->other, M, 1));
    for (int i = 0; i < 8; i++) {
        least = fmin(least, fsc[i]);
    }
    memory_free(&centred);
    aligner_destroy(&aligner);
    *r_factor = metrics.r_factor;
    return least;
}

static void raar_finds_an_object_from_its_intensities(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    for (uint64_t start = 0; start < 3; start++) {
        double r_factor = 0;
        const double least = recovered_fsc(&f, start, &r_factor);
        assert_at_most(r_factor, 0.05);
        assert_true(least >= 0.95);
    }
    close_fixture(&f);
}

/* The same with the mean, the innermost shell and the corners unmeasured. */
static void unmeasured_modes_are_found_too(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    phase_mask_shells(f.measured, M, 1.5, M / 2);
    assert_int_equal(f.measured[0], 0);
    assert_int_equal(f.measured[1], 0);
    assert_int_equal(f.measured[2], 1);
    assert_ok(phaser_set_data(f.phaser, f.intensity, f.measured));
    double best_r = INFINITY, best_fsc = 0;
    for (uint64_t start = 0; start < 3;
         start++) { /* one may stop in a wrong place: the best counts */
        double r_factor = 0;
        const double least = recovered_fsc(&f, start, &r_factor);
        best_fsc = r_factor < best_r ? least : best_fsc;
        best_r = fmin(best_r, r_factor);
    }
    assert_at_most(best_r, 0.05);
    assert_true(best_fsc >= 0.95);
    close_fixture(&f);
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    struct fixture one, many;
    struct phase_metrics metrics[2];
    struct phase_schedule schedule = phase_schedule_search(RADIUS);
    schedule.loops = 2;
    open_fixture(&one, 1);
    assert_ok(phaser_random_start(one.phaser, 9, 1, RADIUS, one.density, one.support));
    assert_ok(phaser_run(one.phaser, &schedule, one.density, one.support, &metrics[0]));
    for (int threads = 2; threads <= 4; threads++) {
        open_fixture(&many, threads);
        assert_ok(phaser_random_start(many.phaser, 9, 1, RADIUS, many.density, many.support));
        assert_ok(phaser_run(many.phaser, &schedule, many.density, many.support, &metrics[1]));
        assert_memory_equal(one.density, many.density, N * sizeof(double));
        assert_memory_equal(one.support, many.support, N);
        assert_true(metrics[0].r_factor == metrics[1].r_factor);
        close_fixture(&many);
    }
    close_fixture(&one);
}

static void random_starts_differ_by_start_and_seed_alone(void **state)
{
    (void)state;
    struct fixture f;
    open_fixture(&f, 1);
    assert_ok(phaser_random_start(f.phaser, 1, 0, RADIUS, f.density, f.support));
    assert_ok(phaser_random_start(f.phaser, 1, 0, RADIUS, f.other, f.support));
    assert_memory_equal(f.density, f.other, N * sizeof(double));
    double energy = 0, outside = 0;
    for (int64_t i = 0; i < N; i++) {
        energy += f.density[i] * f.density[i] - f.truth[i] * f.truth[i];
        outside += f.support[i] ? 0 : fabs(f.density[i]);
    }
    assert_close(energy, 0, 1e-10); /* Parseval, rounding of a sum of order 100 */
    assert_close(outside, 0, 0);
    assert_ok(phaser_random_start(f.phaser, 1, 1, RADIUS, f.other, f.support));
    assert_true(support_relative_l2(f.density, f.other, N) > 0.1);
    assert_ok(phaser_random_start(f.phaser, 2, 0, RADIUS, f.other, f.support));
    assert_true(support_relative_l2(f.density, f.other, N) > 0.1);
    close_fixture(&f);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    struct fixture f;
    struct phaser *none = (struct phaser *)(uintptr_t)8;
    open_fixture(&f, 1);
    assert_status(phaser_create(&none, f.backend, 3), MTIP_ERR_ARGUMENT);
    assert_null(none);
    assert_ok(phaser_create(&none, f.backend, M));
    struct phase_schedule schedule = phase_schedule_final(RADIUS, 100);
    assert_status(phaser_run(none, &schedule, f.density, f.support, NULL), MTIP_ERR_ARGUMENT);
    assert_message_has("no intensities");
    phaser_destroy(&none);
    schedule.beta = 0;
    assert_status(phaser_run(f.phaser, &schedule, f.density, f.support, NULL), MTIP_ERR_ARGUMENT);
    assert_message_has("beta");
    schedule = phase_schedule_final(RADIUS, 0);
    assert_status(phaser_run(f.phaser, &schedule, f.density, f.support, NULL), MTIP_ERR_ARGUMENT);
    schedule = phase_schedule_final(NAN, 5);
    assert_status(phaser_run(f.phaser, &schedule, f.density, f.support, NULL), MTIP_ERR_ARGUMENT);
    schedule = phase_schedule_final(RADIUS, 100);
    schedule.loops = -1;
    assert_status(phaser_run(f.phaser, &schedule, f.density, f.support, NULL), MTIP_ERR_ARGUMENT);
    f.density[5] = NAN;
    schedule = phase_schedule_search(RADIUS);
    memset(f.support, 1, N);
    assert_status(phaser_run(f.phaser, &schedule, f.density, f.support, NULL), MTIP_ERR_DATA);
    enum phase_algorithm algorithm;
    assert_ok(phase_algorithm_parse(&algorithm, "hio"));
    assert_int_equal(algorithm, PHASE_HIO);
    assert_status(phase_algorithm_parse(&algorithm, "dm"), MTIP_ERR_ARGUMENT);
    assert_message_has("raar, hio or er");
    close_fixture(&f);
}

static void support_sizes_follow_mass_and_radius(void **state)
{
    (void)state;
    assert_int_equal(phase_support_from_mass(33.28, 3.6), 1726);
    assert_int_equal(phase_support_from_mass(0, 3.6), 1);
    assert_int_equal(phase_ball_volume(10), 4189);
    assert_int_equal(phase_schedule_search(10).n_support, 1885);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(magnitude_projection_is_idempotent_and_leaves_free_modes),
        cmocka_unit_test(support_projection_is_idempotent),
        cmocka_unit_test(updates_are_their_formulas),
        cmocka_unit_test(the_truth_is_a_fixed_point),
        cmocka_unit_test(error_reduction_never_increases_the_error),
        cmocka_unit_test(shrink_wrap_takes_the_brightest_voxels),
        cmocka_unit_test(the_support_is_brighter_than_the_rest_of_the_ball),
        cmocka_unit_test(too_few_bright_voxels_give_a_smaller_support),
        cmocka_unit_test(recentring_brings_the_centre_of_mass_home),
        cmocka_unit_test(autocorrelation_is_its_sum),
        cmocka_unit_test(raar_finds_an_object_from_its_intensities),
        cmocka_unit_test(unmeasured_modes_are_found_too),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(random_starts_differ_by_start_and_seed_alone),
        cmocka_unit_test(bad_input_is_refused),
        cmocka_unit_test(support_sizes_follow_mass_and_radius),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
