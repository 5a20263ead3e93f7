/* test_align.c - known translations and inversions are found, averages keep the better part, and the PRTF
 * tells agreement from disagreement. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/align.h"

#define N_BLOBS 9

/* An asymmetric sum of Gaussians about the centred origin, moved by shift (z, y, x), inverted first when
 * asked. Sigma of 1.3 voxels and more: the grid samples it, and its shifts, to about 1e-6. */
static double *blobs(int64_t M, const double shift[3], int inverted)
{
    double *density = NULL;
    assert_ok(MEMORY_ALLOC(&density, M * M * M, "density"));
    struct rng rng = rng_stream(21, RNG_TEST, 0, 0);
    for (int blob = 0; blob < N_BLOBS; blob++) {
        double at[3];
        for (int axis = 0; axis < 3; axis++) {
            at[axis] = (rng_uniform(&rng) - 0.5) * 9 * (inverted ? -1 : 1) + shift[axis];
        }
        const double weight = 0.5 + rng_uniform(&rng), sigma = 1.3 + 0.5 * rng_uniform(&rng);
        for (int64_t i = 0; i < M * M * M; i++) {
            const int64_t r[3] = {i / M / M, i / M % M, i % M};
            double square = 0;
            for (int axis = 0; axis < 3; axis++) {
                double d = (double)(r[axis] - M / 2) - at[axis];
                d -= (double)M * round(d / (double)M);
                square += d * d;
            }
            density[i] += weight * exp(-square / (2 * sigma * sigma));
        }
    }
    return density;
}

static const double none[3] = {0, 0, 0};

static void centring_moves_the_origin_and_back(void **state)
{
    (void)state;
    for (int64_t M = 4; M <= 5; M++) {
        double *a = blobs(M, none, 0), *b = blobs(M, none, 1), *c = blobs(M, none, 1);
        const int64_t origin = (M / 2 * M + M / 2) * M + M / 2;
        align_uncentre(b, a, M);
        assert_true(b[0] == a[origin]);
        assert_true(b[1] == a[origin + 1]);
        assert_true(b[M * M] == a[origin + M * M]);
        align_centre(c, b, M);
        assert_memory_equal(a, c, (size_t)(M * M * M) * sizeof *a);
        memory_free(&c);
        memory_free(&b);
        memory_free(&a);
    }
}

static void shifts_and_inversions_are_recovered(void **state)
{
    (void)state;
    static const double shifts[][3] = {
        {0, 0, 0}, {3, -2, 1}, {0.5, 0.5, -0.5}, {-4.3, 2.71, 0.05}, {9.9, -9.2, 7.5}};
    for (int64_t M = 24; M <= 25; M++) {
        struct aligner *aligner = NULL;
        assert_ok(aligner_create(&aligner, M, 1));
        double *reference = blobs(M, none, 0);
        for (size_t i = 0; i < 2 * sizeof shifts / sizeof *shifts; i++) {
            const double *shift = shifts[i / 2];
            const int inverted = (int)(i % 2);
            double *density = blobs(M, shift, inverted);
            struct align_result result;
            assert_ok(aligner_align(aligner, density, reference, NULL, &result));
            assert_int_equal(result.inverted, inverted);
            for (int axis = 0; axis < 3; axis++) {
                /* Inversion comes first: it turns the known shift round. */
                const double want = inverted ? shift[axis] : -shift[axis];
                assert_close(result.shift[axis], want, 1e-4); /* sampling of the blobs */
            }
            assert_close(result.correlation, 1, 1e-6);
            assert_at_most(support_relative_l2(density, reference, M * M * M), 1e-4);
            memory_free(&density);
        }
        memory_free(&reference);
        aligner_destroy(&aligner);
        assert_null(aligner);
    }
}

/* Noise as strong as the signal at each voxel: the shift stays known to a fraction of a voxel. */
static void noise_moves_the_shift_little(void **state)
{
    (void)state;
    const int64_t M = 25, n = M * M * M;
    const double shift[3] = {2.4, -1.7, 0.3};
    struct aligner *aligner = NULL;
    struct align_result result;
    assert_ok(aligner_create(&aligner, M, 2));
    double *reference = blobs(M, none, 0), *density = blobs(M, shift, 1);
    struct rng rng = rng_stream(22, RNG_TEST, 0, 0);
    for (int64_t i = 0; i < n; i++) {
        density[i] += 0.2 * rng_normal(&rng);
    }
    assert_ok(aligner_align(aligner, density, reference, NULL, &result));
    assert_int_equal(result.inverted, 1);
    for (int axis = 0; axis < 3; axis++) {
        assert_close(result.shift[axis], shift[axis], 0.1);
    }
    memory_free(&density);
    memory_free(&reference);
    aligner_destroy(&aligner);
}

/* Three good densities in different places and hands, one of noise with the worst R factor. */
static void averages_keep_the_better_part(void **state)
{
    (void)state;
    const int64_t M = 25, n = M * M * M;
    static const double r_factor[4] = {0.2, NAN, 0.1, 0.2};
    static const double shifts[4][3] = {{1.5, 0, 2}, {0, 0, 0}, {0, 0, 0}, {-3, 2.25, 0.1}};
    double *all = NULL, *mean = NULL, correlation[4], prtf[12];
    struct aligner *aligner = NULL;
    assert_ok(aligner_create(&aligner, M, 1));
    assert_ok(MEMORY_ALLOC(&all, 4 * n, "densities"));
    assert_ok(MEMORY_ALLOC(&mean, n, "mean"));
    struct rng rng = rng_stream(23, RNG_TEST, 0, 0);
    for (int i = 0; i < 4; i++) {
        double *one = blobs(M, shifts[i], i % 2);
        for (int64_t j = 0; j < n; j++) {
            all[i * n + j] = i == 1 ? rng_normal(&rng) : one[j];
        }
        memory_free(&one);
    }
    assert_ok(aligner_average(aligner, mean, prtf, correlation, all, r_factor, NULL, 4, 3));
    double *best = blobs(M, none, 0);
    assert_at_most(support_relative_l2(mean, best, n), 1e-4); /* sampling of the blobs */
    for (int i = 0; i < 4; i++) {
        assert_close(correlation[i], i == 1 ? 0 : 1, 1e-6);
    }
    /* Outer shells hold nothing but the error of sampling; the inner half is the object. */
    for (int i = 0; i < 6; i++) {
        assert_close(prtf[i], 1, 1e-3);
    }
    assert_status(aligner_average(aligner, mean, NULL, NULL, all, r_factor, NULL, 4, 5),
                  MTIP_ERR_ARGUMENT);
    assert_status(aligner_average(aligner, mean, NULL, NULL, all, r_factor, NULL, 4, 0),
                  MTIP_ERR_ARGUMENT);
    memory_free(&best);
    memory_free(&mean);
    memory_free(&all);
    aligner_destroy(&aligner);
}

/* The mean of n independent densities keeps 1/sqrt(n) of its magnitude; aligning noise to its own mean finds
 * a little more, so the bound is from above and below. */
static void prtf_of_noise_is_low(void **state)
{
    (void)state;
    enum { COPIES = 16 };
    const int64_t M = 16, n = M * M * M;
    double *all = NULL, *mean = NULL, r_factor[COPIES], prtf[8];
    struct aligner *aligner = NULL;
    assert_ok(aligner_create(&aligner, M, 1));
    assert_ok(MEMORY_ALLOC(&all, COPIES * n, "densities"));
    assert_ok(MEMORY_ALLOC(&mean, n, "mean"));
    struct rng rng = rng_stream(24, RNG_TEST, 0, 0);
    for (int64_t i = 0; i < COPIES * n; i++) {
        all[i] = rng_normal(&rng);
    }
    for (int i = 0; i < COPIES; i++) {
        r_factor[i] = i;
    }
    assert_ok(aligner_average(aligner, mean, prtf, NULL, all, r_factor, NULL, COPIES, COPIES));
    for (int i = 3; i < 8; i++) {
        assert_true(prtf[i] > 0.15 && prtf[i] < 0.45);
    }
    memory_free(&mean);
    memory_free(&all);
    aligner_destroy(&aligner);
}

static void an_empty_grid_is_refused(void **state)
{
    (void)state;
    struct aligner *aligner = (struct aligner *)(uintptr_t)8;
    assert_status(aligner_create(&aligner, 1, 1), MTIP_ERR_ARGUMENT);
    assert_null(aligner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(centring_moves_the_origin_and_back),
        cmocka_unit_test(shifts_and_inversions_are_recovered),
        cmocka_unit_test(noise_moves_the_shift_little),
        cmocka_unit_test(averages_keep_the_better_part),
        cmocka_unit_test(prtf_of_noise_is_low),
        cmocka_unit_test(an_empty_grid_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
