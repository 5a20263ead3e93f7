/* test_compare.c - known rotation, hand and shift are found again, from nothing; a wrong
 * structure is told apart. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "core/backend.h"
#include "core/fft.h"
#include "core/memory.h"
#include "core/rng.h"
#include "mtip/align.h"
#include "mtip/compare.h"
#include "mtip/orient.h"
#include "mtip/particle.h"
#include "mtip/scatter_map.h"

#define PI 3.14159265358979323846264338327950288

/* A density of the atoms, turned, shifted by t (A) and, when asked, inverted first: F_V(s) = F(R
 * s) exp(-2 pi i s.t). `noise` is the size of random errors of its amplitudes, relative to the
 * mean square of each. */
static double *make_density(const struct atoms *atoms, int64_t M, double voxel_A, const double q[4],
                            int inverted, const double t[3], double noise)
{
    struct backend *host = NULL;
    struct fft_plan *fft = NULL;
    struct scatter_map *map = NULL;
    double *half = NULL, *points = NULL, *grid = NULL, *centred = NULL, rotation[9];
    const int64_t size[3] = {M, M, M}, n_x = M / 2 + 1, n = fft_half_count(size);
    const double step = 1.0 / ((double)M * voxel_A);
    struct rng rng = rng_stream(17, RNG_TEST, 8, 0);
    assert_ok(backend_create(&host, "cpu", 0, 1));
    assert_ok(fft_plan_create(&fft, host, size));
    assert_ok(scatter_map_from_atoms(&map, atoms, 0.9 / voxel_A, 1e-6, 1));
    assert_ok(MEMORY_ALLOC(&half, 2 * n, "spectrum"));
    assert_ok(MEMORY_ALLOC(&points, 3 * n, "points"));
    assert_ok(MEMORY_ALLOC(&grid, M * M * M, "density"));
    assert_ok(MEMORY_ALLOC(&centred, M * M * M, "density"));
    quaternion_to_matrix(rotation, q);
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = i % n_x, y = i / n_x % M, z = i / n_x / M;
        const double s[3] = {step * (double)x, step * (double)(y <= M / 2 ? y : y - M),
                             step * (double)(z <= M / 2 ? z : z - M)};
        for (int row = 0; row < 3; row++) {
            points[3 * i + row] = rotation[3 * row] * s[0] + rotation[3 * row + 1] * s[1] +
                                  rotation[3 * row + 2] * s[2];
        }
    }
    assert_ok(scatter_map_amplitudes(map, half, points, n));
    for (int64_t i = 0; i < n; i++) {
        const int64_t x = i % n_x, y = i / n_x % M, z = i / n_x / M;
        const double phase = -2.0 * PI * step *
                             (t[0] * (double)x + t[1] * (double)(y <= M / 2 ? y : y - M) +
                              t[2] * (double)(z <= M / 2 ? z : z - M));
        const double error = noise * hypot(half[2 * i], half[2 * i + 1]);
        const double re = half[2 * i] + error * rng_normal(&rng);
        const double im = (inverted ? -1.0 : 1.0) * (half[2 * i + 1] + error * rng_normal(&rng));
        half[2 * i] = re * cos(phase) - im * sin(phase);
        half[2 * i + 1] = re * sin(phase) + im * cos(phase);
    }
    assert_ok(fft_plan_inverse(fft, half, grid));
    align_centre(centred, grid, M);
    memory_free(&grid);
    memory_free(&points);
    memory_free(&half);
    scatter_map_destroy(&map);
    fft_plan_destroy(&fft);
    backend_destroy(&host);
    return centred;
}

/* The built-in protein with every eighth atom kept, heavier: as hard to turn, quicker to compute. */
static void thin_protein(struct atoms *atoms, const char *name)
{
    struct atoms full;
    assert_ok(particle_create(&full, name));
    const int64_t n = full.n / 8;
    assert_ok(atoms_alloc(atoms, n));
    for (int64_t j = 0; j < n; j++) {
        memcpy(&atoms->xyz[3 * j], &full.xyz[24 * j], 3 * sizeof *full.xyz);
        atoms->element[j] = 16;
        atoms->occupancy[j] = 1.0;
        atoms->b_factor[j] = 30.0;
    }
    particle_centre(atoms);
    atoms_release(&full);
}

static struct compare_options options_of(int n_threads)
{
    return (struct compare_options){.n_threads = n_threads};
}

/* Even and odd grids, inverted and not; under sanitizers, which make a search ten times as long, each once. */
#ifdef __SANITIZE_ADDRESS__
enum { N_POSES = 2 };
#else
enum { N_POSES = 4 };
#endif

static void known_poses_are_found(void **state)
{
    struct atoms atoms;
    struct rng rng = rng_stream(4, RNG_TEST, 0, 0);
    (void)state;
    thin_protein(&atoms, "protein");
    const struct compare_reference reference = {.atoms = &atoms};
    for (int i = 0; i < N_POSES; i++) {
        const int64_t M = 25 - i % 2;
        const double voxel = 5.0, t[3] = {7.3 - 3.0 * i, -4.1, 1.7 * i};
        double q[4];
        struct compare_fit fit;
        rng_quaternion(&rng, q);
        double *volume = make_density(&atoms, M, voxel, q, i % 3 == 1, t, 0.0);
        const struct compare_options options = options_of(1 + i % 2);
        assert_ok(compare_volume(&fit, volume, M, voxel, &reference, &options));
        /* The search ends within a tenth of the turn that matters, 1/(64 A 0.1 / A). */
        assert_at_most(quaternion_angle(fit.rotation, q) * 180.0 / PI, 0.5);
        assert_int_equal(fit.inverted, i % 3 == 1);
        assert_int_equal(fit.n_shells, M / 2);
        for (int64_t k = 0; k < fit.n_shells; k++) {
            /* modes at the very edge of an even grid have lost half of their phase */
            assert_true(fit.fsc[k] > (2 * (k + 1) == M ? 0.97 : 0.99));
            assert_close(fit.shell_A[k], (double)M * voxel / (double)(k + 1), 1e-9);
        }
        assert_close(fit.resolution_half_A, fit.shell_A[fit.n_shells - 1], 1e-9);
        assert_true(fit.amplitude_correlation > 0.99);
        for (int k = 0; k < 3; k++) {
            assert_close(fit.shift_A[k], fit.inverted ? t[k] : -t[k], 0.1);
        }
        compare_fit_release(&fit);
        memory_free(&volume);
    }
    atoms_release(&atoms);
}

/* Errors as large as the amplitudes: the pose is found still, and the FSC says 1/sqrt(1 + 2) in
 * every shell. */
static void noisy_density_has_the_right_fsc(void **state)
{
    const double q[4] = {0.5, -0.5, 0.5, 0.5}, t[3] = {0.0, 0.0, 0.0};
    struct atoms atoms;
    struct compare_fit fit;
    const struct compare_options options = options_of(1);
    (void)state;
    thin_protein(&atoms, "protein");
    const struct compare_reference reference = {.atoms = &atoms};
    double *volume = make_density(&atoms, 25, 5.0, q, 0, t, 1.0);
    assert_ok(compare_volume(&fit, volume, 25, 5.0, &reference, &options));
    assert_at_most(quaternion_angle(fit.rotation, q) * 180.0 / PI, 3.0);
    /* 500 modes and more in the outer shells: a spread of 0.04 */
    for (int64_t k = 5; k < fit.n_shells; k++) {
        assert_close(fit.fsc[k], 0.577, 0.1);
    }
    compare_fit_release(&fit);
    memory_free(&volume);
    atoms_release(&atoms);
}

/* Two volumes of different grids. */
static void volumes_are_compared(void **state)
{
    const double turn[2][4] = {{0.8, 0.36, -0.48, 0.0}, {0.1, -0.7, 0.1, 0.7}};
    const double t[2][3] = {{0.0, 4.0, -2.5}, {3.0, 0.0, 1.0}};
    struct atoms atoms;
    struct compare_fit fit;
    struct compare_options options = options_of(1);
    double q[2][4], inverse[4], between[4];
    (void)state;
    thin_protein(&atoms, "protein");
    for (int i = 0; i < 2; i++) {
        memcpy(q[i], turn[i], sizeof q[i]);
        quaternion_canonical(q[i]);
    }
    double *volume = make_density(&atoms, 25, 5.0, q[0], 0, t[0], 0.0);
    double *other = make_density(&atoms, 31, 4.5, q[1], 1, t[1], 0.0);
    const struct compare_reference reference = {.volume = other, .n = 31, .voxel_A = 4.5};
    assert_ok(compare_volume(&fit, volume, 25, 5.0, &reference, &options));
    /* F_V(s) = F(R0 s), F_G(s) = F(R1 s): F_V(s) = F_G(R1^-1 R0 s) */
    quaternion_conjugate(inverse, q[1]);
    quaternion_multiply(between, inverse, q[0]);
    assert_at_most(quaternion_angle(fit.rotation, between) * 180.0 / PI, 0.5);
    assert_int_equal(fit.inverted, 1);
    for (int64_t k = 0; k < fit.n_shells; k++) {
        /* the reference's box cuts ringing of its sharp edge of resolution */
        assert_true(fit.fsc[k] > 0.98);
    }
    compare_fit_release(&fit);

    /* A limit keeps the inner shells only; a right hint changes nothing. */
    options.limit_A = 20.0;
    options.hints = between;
    options.n_hints = 1;
    assert_ok(compare_volume(&fit, volume, 25, 5.0, &reference, &options));
    assert_int_equal(fit.n_shells, 6);
    assert_at_most(quaternion_angle(fit.rotation, between) * 180.0 / PI, 2.0);
    assert_close(fit.resolution_half_A, 125.0 / 6.0, 1e-9);
    compare_fit_release(&fit);
    memory_free(&volume);
    memory_free(&other);
    atoms_release(&atoms);
}

static void wrong_structure_has_low_fsc(void **state)
{
    const double q[4] = {1.0, 0.0, 0.0, 0.0}, t[3] = {0.0, 0.0, 0.0};
    struct atoms atoms, other;
    struct compare_fit fit;
    const struct compare_options options = options_of(2);
    (void)state;
    thin_protein(&atoms, "protein");
    thin_protein(&other, "protein");
    /* the same shape, other places inside */
    struct rng rng = rng_stream(2, RNG_TEST, 5, 0);
    for (int64_t j = 0; j < other.n; j++) {
        for (int i = 0; i < 3; i++) {
            other.xyz[3 * j + i] += 8.0 * rng_normal(&rng);
        }
    }
    const struct compare_reference reference = {.atoms = &other};
    double *volume = make_density(&atoms, 25, 5.0, q, 0, t, 0.0);
    assert_ok(compare_volume(&fit, volume, 25, 5.0, &reference, &options));
    for (int64_t k = 6; k < fit.n_shells; k++) {
        assert_at_most(fit.fsc[k], 0.4);
    }
    assert_true(fit.resolution_half_A > 17.0);
    compare_fit_release(&fit);
    memory_free(&volume);
    atoms_release(&atoms);
    atoms_release(&other);
}

static void bad_densities_are_refused(void **state)
{
    double volume[512] = {0.0};
    struct atoms atoms;
    struct compare_fit fit;
    struct compare_options options = options_of(1);
    (void)state;
    thin_protein(&atoms, "protein");
    const struct compare_reference reference = {.atoms = &atoms};
    assert_status(compare_volume(&fit, volume, 8, 5.0, &reference, &options), MTIP_ERR_DATA);
    assert_message_has("everywhere");
    volume[100] = NAN;
    assert_status(compare_volume(&fit, volume, 8, 5.0, &reference, &options), MTIP_ERR_DATA);
    assert_message_has("voxel 100");
    volume[100] = 1.0;
    assert_status(compare_volume(&fit, volume, 8, 0.0, &reference, &options), MTIP_ERR_ARGUMENT);
    options.limit_A = 39.0;
    assert_status(compare_volume(&fit, volume, 8, 5.0, &reference, &options), MTIP_ERR_DATA);
    assert_message_has("shells");
    assert_null(fit.fsc);
    atoms_release(&atoms);
}

static void orientations_are_judged(void **state)
{
    enum { N = 41 };
    double truths[4 * N], estimates[4 * N];
    const double global[4] = {0.6, 0.0, 0.8, 0.0};
    struct compare_orientations summary;
    struct rng rng = rng_stream(8, RNG_TEST, 1, 1);
    (void)state;
    for (int n = 0; n < N; n++) {
        /* 30 frames off by 4 degrees, 11 by 60 */
        const double angle = (n < 30 ? 4.0 : 60.0) * PI / 180.0;
        double axis[3], turn[4], norm = 0.0;
        rng_quaternion(&rng, &truths[4 * n]);
        for (int i = 0; i < 3; i++) {
            axis[i] = rng_normal(&rng);
            norm += axis[i] * axis[i];
        }
        for (int i = 0; i < 3; i++) {
            axis[i] *= angle / sqrt(norm);
        }
        quaternion_from_vector(turn, axis);
        quaternion_multiply(&estimates[4 * n], global, &truths[4 * n]);
        quaternion_multiply(&estimates[4 * n], turn, &estimates[4 * n]);
    }
    assert_ok(compare_orientations(&summary, estimates, truths, N));
    /* the fitted global rotation is off by about 4 degrees / sqrt(30) */
    assert_close(summary.median_deg, 4.0, 1.0);
    assert_close(summary.within_10_deg, 30.0 / 41.0, 2.5 / 41.0);
    assert_at_most(quaternion_angle(summary.global, global) * 180.0 / PI, 2.5);
    assert_status(compare_orientations(&summary, estimates, truths, 0), MTIP_ERR_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_poses_are_found),
        cmocka_unit_test(noisy_density_has_the_right_fsc),
        cmocka_unit_test(volumes_are_compared),
        cmocka_unit_test(wrong_structure_has_low_fsc),
        cmocka_unit_test(bad_densities_are_refused),
        cmocka_unit_test(orientations_are_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
