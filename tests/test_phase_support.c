/* test_phase_support.c - the size of the support is found from the intensities of bodies of known volume. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/phase.h"

#define M 27
#define N (M * M * M)
#define N_HALF (M * M * (M / 2 + 1))
#define RADIUS 7.0

/* An ellipsoid of these half axes with one end cut off, its density between 0.5 and 1.5; returns its voxels. */
static int64_t fill_body(double *density, const double half_axis[3])
{
    int64_t voxels = 0;
    for (int64_t i = 0; i < N; i++) {
        const int64_t r[3] = {i / M / M, i / M % M, i % M};
        struct rng rng = rng_stream(41, RNG_TEST, 0, (uint64_t)i);
        double d[3], square = 0;
        for (int axis = 0; axis < 3; axis++) {
            d[axis] = (double)(r[axis] <= M / 2 ? r[axis] : r[axis] - M);
            square += d[axis] * d[axis] / (half_axis[axis] * half_axis[axis]);
        }
        const int inside = square <= 1 && d[0] + 0.5 * d[1] <= 0.6 * half_axis[0];
        density[i] = inside ? 0.5 + rng_uniform(&rng) : 0;
        voxels += inside;
    }
    return voxels;
}

/* Searches the support of a body; intensities with a relative standard deviation of `noise` a mode. */
static void check_body(const double half_axis[3], double noise)
{
    struct backend *backend = NULL;
    struct phaser *phaser = NULL;
    double *density = NULL, *half = NULL, *intensity = NULL;
    uint8_t *support = NULL, *measured = NULL;
    struct phase_scan scan;
    int64_t found = 0;
    assert_ok(backend_create(&backend, "cpu", 0, 1));
    assert_ok(phaser_create(&phaser, backend, M));
    assert_ok(BACKEND_ALLOC(backend, &density, N, "density"));
    assert_ok(BACKEND_ALLOC(backend, &half, 2 * N_HALF, "half"));
    assert_ok(BACKEND_ALLOC(backend, &intensity, N_HALF, "intensity"));
    assert_ok(BACKEND_ALLOC(backend, &support, N, "support"));
    assert_ok(BACKEND_ALLOC(backend, &measured, N_HALF, "measured"));
    const int64_t voxels = fill_body(density, half_axis);
    assert_ok(fft_plan_forward(phaser_fft(phaser), density, half));
    struct rng rng = rng_stream(42, RNG_TEST, 0, 0);
    for (int64_t i = 0; i < N_HALF; i++) {
        const double exact = half[2 * i] * half[2 * i] + half[2 * i + 1] * half[2 * i + 1];
        intensity[i] = exact * (1 + noise * rng_normal(&rng));
    }
    phase_mask_shells(measured, M, 0, M / 2.0);
    assert_ok(phaser_set_data(phaser, intensity, measured));
    assert_ok(phaser_random_start(phaser, 1, 0, RADIUS, density, support));
    assert_ok(phase_find_support(phaser, RADIUS, density, support, &found, &scan));
    assert_true(scan.n >= 3 && scan.n <= PHASE_SCAN_MAX);
    assert_int_equal(scan.n_support[0], phase_ball_volume(RADIUS));
    /* Not cutting into the body, nor twice its size: the steps are 15 %, the margin 20 %, and shrink-wrap blurs
     * the edge by a voxel. */
    assert_true((double)found >= 0.95 * (double)voxels);
    assert_true((double)found <= 1.8 * (double)voxels);
    backend_free(backend, &measured);
    backend_free(backend, &support);
    backend_free(backend, &intensity);
    backend_free(backend, &half);
    backend_free(backend, &density);
    phaser_destroy(&phaser);
    backend_destroy(&backend);
}

static void a_rod_is_measured_in_its_ball(void **state)
{
    (void)state;
    static const double half_axis[3] = {6.8, 3.2, 2.8};
    check_body(half_axis, 0);
    check_body(half_axis, 0.3);
}

static void a_globule_is_measured_in_its_ball(void **state)
{
    (void)state;
    static const double half_axis[3] = {6.6, 5.5, 5.0};
    check_body(half_axis, 0);
    check_body(half_axis, 0.3);
}

static void bad_input_is_refused(void **state)
{
    (void)state;
    struct backend *backend = NULL;
    struct phaser *phaser = NULL;
    static double density[4 * 4 * 4];
    static uint8_t support[4 * 4 * 4];
    int64_t found = 0;
    assert_ok(backend_create(&backend, "cpu", 0, 1));
    assert_ok(phaser_create(&phaser, backend, 4));
    assert_status(phase_find_support(phaser, 1, density, support, &found, NULL), MTIP_ERR_ARGUMENT);
    assert_message_has("no intensities");
    assert_status(phase_find_support(phaser, -1, density, support, &found, NULL),
                  MTIP_ERR_ARGUMENT);
    phaser_destroy(&phaser);
    backend_destroy(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rod_is_measured_in_its_ball),
        cmocka_unit_test(a_globule_is_measured_in_its_ball),
        cmocka_unit_test(bad_input_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
