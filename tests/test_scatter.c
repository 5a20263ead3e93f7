/* test_scatter.c - form factors, amplitudes as direct sums and by maps, built-in particles. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/particle.h"
#include "mtip/scatter.h"
#include "mtip/scatter_map.h"

#define PI 3.14159265358979323846264338327950288

static void one_atom(struct atoms *atoms, int64_t j, int z, const double r[3], double occupancy,
                     double b)
{
    memcpy(&atoms->xyz[3 * j], r, 3 * sizeof *r);
    atoms->element[j] = z;
    atoms->occupancy[j] = occupancy;
    atoms->b_factor[j] = b;
}

/* Random atoms of many elements in a ball-like box of half width `half`. */
static void random_atoms(struct atoms *atoms, int64_t n, double half)
{
    static const int elements[] = {6, 6, 6, 7, 8, 16, 1, 26, 79, 19};
    struct rng rng = rng_stream(5, RNG_TEST, 1, 0);
    assert_ok(atoms_alloc(atoms, n));
    for (int64_t j = 0; j < n; j++) {
        const double r[3] = {half * (2 * rng_uniform(&rng) - 1), half * (2 * rng_uniform(&rng) - 1),
                             half * (2 * rng_uniform(&rng) - 1)};
        one_atom(atoms, j, elements[rng_bits(&rng) % 10], r, 0.3 + 0.7 * rng_uniform(&rng),
                 80.0 * rng_uniform(&rng));
    }
}

/* Random points with |s| in [low, high]. */
static double *random_points(int64_t n, double low, double high)
{
    double *s = NULL;
    struct rng rng = rng_stream(6, RNG_TEST, 2, 0);
    assert_ok(MEMORY_ALLOC(&s, 3 * n, "points"));
    for (int64_t p = 0; p < n; p++) {
        double norm = 0.0;
        for (int i = 0; i < 3; i++) {
            s[3 * p + i] = rng_normal(&rng);
            norm += s[3 * p + i] * s[3 * p + i];
        }
        const double scale = (low + (high - low) * rng_uniform(&rng)) / sqrt(norm);
        for (int i = 0; i < 3; i++) {
            s[3 * p + i] *= scale;
        }
    }
    return s;
}

/* The fit reproduces f(0) = Z to 1e-3 Z for every element, and to 1e-2 electrons for those of
 * biology. */
static void form_factors_start_at_z(void **state)
{
    static const int biology[] = {1,  6,  7,  8,  11, 12, 15, 16, 17,
                                  19, 20, 25, 26, 27, 28, 29, 30, 34};
    (void)state;
    for (int z = 1; z <= SCATTER_MAX_Z; z++) {
        assert_close(scatter_form_factor(z, 0.0), z, 1e-3 * z);
        assert_true(scatter_elements[z - 1].mass_Da > 0.9 * z);
    }
    for (size_t i = 0; i < sizeof biology / sizeof biology[0]; i++) {
        assert_close(scatter_form_factor(biology[i], 0.0), biology[i], 1e-2);
    }
}

/* Hydrogen to oxygen: International Tables C, table 6.1.1.1; heavier: the independent
 * four-Gaussian fit of the same tables (6.1.1.4). At k = sin(theta)/lambda = |s|/2; fits differ
 * by 1e-3 f or 0.01 electrons. */
static void form_factors_match_tables(void **state)
{
    static const struct {
        int z;
        double k, f;
    } cases[] = {
        {1, 0.2, 0.481},   {6, 0.1, 5.107},   {6, 0.2, 3.560},   {6, 0.5, 1.685},
        {7, 0.2, 4.563},   {8, 0.2, 5.623},   {8, 0.5, 2.339},   {15, 0.2, 10.328},
        {16, 0.1, 14.177}, {16, 0.5, 7.021},  {26, 0.2, 20.045}, {26, 0.5, 11.506},
        {30, 0.2, 24.271}, {34, 0.2, 26.950}, {79, 0.2, 67.261}, {79, 0.5, 46.907},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_close(scatter_form_factor(cases[i].z, 2.0 * cases[i].k), cases[i].f,
                     0.01 + 1e-3 * cases[i].f);
    }
}

static void atoms_scatter_analytically(void **state)
{
    const double r[2][3] = {{1.25, -30.5, 7.0}, {-14.0, 3.0, 22.5}};
    const int z[2] = {8, 26};
    const double occupancy[2] = {0.7, 1.0}, b[2] = {31.0, 5.5};
    struct atoms atoms;
    double *s = random_points(300, 0.0, 0.8), *f = NULL;
    (void)state;
    assert_ok(MEMORY_ALLOC(&f, 600, "amplitudes"));
    for (int64_t n = 1; n <= 2; n++) {
        assert_ok(atoms_alloc(&atoms, n));
        for (int64_t j = 0; j < n; j++) {
            one_atom(&atoms, j, z[j], r[j], occupancy[j], b[j]);
        }
        assert_ok(scatter_amplitudes(f, &atoms, s, 300, 1));
        for (int p = 0; p < 300; p++) {
            const double *q = &s[3 * p];
            const double s2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
            double re = 0.0, im = 0.0;
            for (int64_t j = 0; j < n; j++) {
                const double phase = -2.0 * PI * (q[0] * r[j][0] + q[1] * r[j][1] + q[2] * r[j][2]);
                const double weight =
                    occupancy[j] * scatter_form_factor(z[j], sqrt(s2)) * exp(-0.25 * b[j] * s2);
                re += weight * cos(phase);
                im += weight * sin(phase);
            }
            /* rounding of 2 pi s.r, here up to 160 radians, times 30 electrons */
            assert_close(f[2 * p], re, 1e-12);
            assert_close(f[2 * p + 1], im, 1e-12);
        }
        atoms_release(&atoms);
    }
    memory_free(&f);
    memory_free(&s);
}

/* F(0) = sum occ f(0), whatever the threads; large B gives 0, not NaN. */
static void amplitudes_have_right_limits(void **state)
{
    struct atoms atoms;
    double s[3] = {0.0, 0.0, 0.0}, f[2], sum = 0.0;
    (void)state;
    random_atoms(&atoms, 500, 30.0);
    for (int64_t j = 0; j < atoms.n; j++) {
        sum += atoms.occupancy[j] * scatter_form_factor(atoms.element[j], 0.0);
    }
    assert_ok(scatter_amplitudes(f, &atoms, s, 1, 1));
    assert_close(f[0], sum, 1e-12 * sum);
    assert_close(f[1], 0.0, 1e-12 * sum);
    for (int64_t j = 0; j < atoms.n; j++) {
        atoms.b_factor[j] = 1e8;
    }
    s[0] = 0.5;
    assert_ok(scatter_amplitudes(f, &atoms, s, 1, 1));
    assert_close(f[0], 0.0, 0.0);
    double *points = random_points(1000, 0.0, 0.3), *one = NULL, *two = NULL;
    assert_ok(MEMORY_ALLOC(&one, 2000, "amplitudes"));
    assert_ok(MEMORY_ALLOC(&two, 2000, "amplitudes"));
    assert_ok(scatter_amplitudes(one, &atoms, points, 1000, 1));
    assert_ok(scatter_amplitudes(two, &atoms, points, 1000, 3));
    assert_memory_equal(one, two, 2000 * sizeof *one);
    assert_ok(scatter_amplitudes(one, &atoms, points, 0, 1));
    memory_free(&one);
    memory_free(&two);
    memory_free(&points);
    atoms_release(&atoms);
}

static void bad_atoms_are_named(void **state)
{
    struct atoms atoms;
    double s[3] = {0.0, 0.0, 0.1}, f[2];
    (void)state;
    random_atoms(&atoms, 10, 5.0);
    atoms.element[6] = 120;
    assert_status(scatter_amplitudes(f, &atoms, s, 1, 1), MTIP_ERR_DATA);
    assert_message_has("atom 7");
    atoms.element[6] = 6;
    atoms.xyz[11] = NAN;
    assert_status(scatter_amplitudes(f, &atoms, s, 1, 1), MTIP_ERR_DATA);
    assert_message_has("atom 4");
    atoms.xyz[11] = 0.0;
    const int64_t n = atoms.n;
    atoms.n = 0;
    assert_status(scatter_amplitudes(f, &atoms, s, 1, 1), MTIP_ERR_DATA);
    atoms.n = n;
    struct scatter_map *map = NULL;
    assert_ok(scatter_map_from_atoms(&map, &atoms, 0.2, 1e-5, 1));
    s[0] = 0.25;
    assert_status(scatter_map_amplitudes(map, f, s, 1), MTIP_ERR_ARGUMENT);
    scatter_map_destroy(&map);
    assert_status(scatter_map_from_atoms(&map, &atoms, 1e6, 1e-5, 1), MTIP_ERR_ARGUMENT);
    assert_null(map);
    atoms_release(&atoms);
}

/* The map meets its tolerance against the direct sum in each range of |s|, the weak outer one
 * too. */
static void map_matches_direct_sum(void **state)
{
    static const double tolerances[] = {1e-3, 1e-5, 1e-8};
    static const double limits[] = {0.14, 0.35};
    const int64_t n = 2000;
    struct atoms atoms;
    double *direct = NULL, *fast = NULL;
    (void)state;
    random_atoms(&atoms, 60, 17.0);
    assert_ok(MEMORY_ALLOC(&direct, 2 * n, "amplitudes"));
    assert_ok(MEMORY_ALLOC(&fast, 2 * n, "amplitudes"));
    for (int l = 0; l < 2; l++) {
        for (int t = 0; t < 3; t++) {
            struct scatter_map *map = NULL;
            assert_ok(scatter_map_from_atoms(&map, &atoms, limits[l], tolerances[t], 1 + t));
            for (int shell = 0; shell < 3; shell++) {
                double *s =
                    random_points(n, limits[l] * shell / 3.0, limits[l] * (shell + 1) / 3.0);
                assert_ok(scatter_amplitudes(direct, &atoms, s, n, 2));
                assert_ok(scatter_map_amplitudes(map, fast, s, n));
                assert_at_most(support_relative_l2(fast, direct, 2 * n), tolerances[t]);
                memory_free(&s);
            }
            scatter_map_destroy(&map);
        }
    }
    memory_free(&direct);
    memory_free(&fast);
    atoms_release(&atoms);
}

/* A volume's map is the plain sum over its voxels, for odd and even sizes. */
static void map_of_volume_is_its_transform(void **state)
{
    (void)state;
    for (int64_t n = 6; n <= 7; n++) {
        double *volume = NULL, f[2 * 40];
        struct rng rng = rng_stream(9, RNG_TEST, 3, 0);
        struct scatter_map *map = NULL;
        double *s = random_points(40, 0.0, 0.16);
        assert_ok(MEMORY_ALLOC(&volume, n * n * n, "volume"));
        for (int64_t k = 0; k < n * n * n; k++) {
            volume[k] = rng_normal(&rng);
        }
        assert_ok(scatter_map_from_volume(&map, volume, n, 3.0, 1e-9, 1));
        assert_ok(scatter_map_amplitudes(map, f, s, 40));
        for (int p = 0; p < 40; p++) {
            double re = 0.0, im = 0.0;
            for (int64_t k = 0; k < n * n * n; k++) {
                const double x = (double)(k % n - n / 2), y = (double)(k / n % n - n / 2),
                             z = (double)(k / (n * n) - n / 2);
                const double phase =
                    -2.0 * PI * 3.0 * (s[3 * p] * x + s[3 * p + 1] * y + s[3 * p + 2] * z);
                re += volume[k] * cos(phase);
                im += volume[k] * sin(phase);
            }
            /* 3 tolerances of an l2 norm of about sqrt(343) */
            assert_close(f[2 * p], re, 3e-7);
            assert_close(f[2 * p + 1], im, 3e-7);
        }
        scatter_map_destroy(&map);
        memory_free(&volume);
        memory_free(&s);
    }
}

/* Size, composition, centre and asymmetry of a built-in particle, and that it is the same twice. */
static void check_particle(const char *name, int64_t atoms_low, int64_t atoms_high,
                           double diameter_low, double diameter_high)
{
    struct atoms atoms, again;
    double centre[3] = {0.0, 0.0, 0.0}, third = 0.0, closest = 1e9;
    int64_t count[17] = {0};
    assert_ok(particle_create(&atoms, name));
    assert_ok(particle_create(&again, name));
    assert_int_equal(atoms.n, again.n);
    assert_memory_equal(atoms.xyz, again.xyz, 3 * (size_t)atoms.n * sizeof *atoms.xyz);
    assert_true(atoms.n >= atoms_low && atoms.n <= atoms_high);
    for (int64_t j = 0; j < atoms.n; j++) {
        const double *r = &atoms.xyz[3 * j];
        assert_true(atoms.element[j] >= 6 && atoms.element[j] <= 16);
        count[atoms.element[j]]++;
        for (int i = 0; i < 3; i++) {
            centre[i] += atoms.element[j] * r[i];
        }
        third += r[0] * r[1] * r[2] + r[2] * r[2] * r[2];
        for (int64_t k = 0; k < j && j < 600; k++) {
            const double *q = &atoms.xyz[3 * k];
            closest = fmin(closest, hypot(hypot(r[0] - q[0], r[1] - q[1]), r[2] - q[2]));
        }
    }
    for (int i = 0; i < 3; i++) {
        assert_close(centre[i] / (double)atoms.n, 0.0, 1e-9);
    }
    /* No atom on another, the composition of a protein, and no centre of inversion (odd moments
     * would vanish). */
    assert_true(closest > 1.1);
    assert_close((double)count[6] / (double)atoms.n, 0.63, 0.02);
    assert_close((double)count[7] / (double)atoms.n, 0.17, 0.02);
    assert_close((double)count[8] / (double)atoms.n, 0.19, 0.02);
    assert_true(count[16] > 3);
    assert_true(fabs(third) / (double)atoms.n > 100.0);
    const double diameter = particle_diameter_A(&atoms), mass = particle_mass_kDa(&atoms);
    assert_true(diameter >= diameter_low && diameter <= diameter_high);
    /* one hydrogen for each heavy atom: 14.2 Da an atom */
    assert_close(mass, 14.2e-3 * (double)atoms.n, 0.3e-3 * (double)atoms.n);
    atoms_release(&atoms);
    atoms_release(&again);
}

static void built_in_particles_are_as_said(void **state)
{
    struct atoms atoms;
    (void)state;
    check_particle("protein", 2000, 2600, 62.0, 74.0);
    check_particle("rod", 4500, 6500, 100.0, 104.0);
    assert_status(particle_create(&atoms, "banana"), MTIP_ERR_ARGUMENT);
    assert_message_has("banana");
}

static void mass_and_diameter_of_known_atoms(void **state)
{
    const double r[2][3] = {{0.0, 0.0, 0.0}, {3.0, 4.0, 12.0}};
    struct atoms atoms;
    (void)state;
    assert_ok(atoms_alloc(&atoms, 2));
    one_atom(&atoms, 0, 6, r[0], 1.0, 0.0);
    one_atom(&atoms, 1, 18, r[1], 0.5, 0.0);
    assert_close(particle_diameter_A(&atoms), 16.0, 1e-12);
    assert_close(particle_mass_kDa(&atoms), 1e-3 * (12.011 + 1.0078 + 0.5 * 39.948), 1e-6);
    particle_centre(&atoms);
    /* weights 6 and 9 */
    assert_close(atoms.xyz[3], 3.0 * 6.0 / 15.0, 1e-12);
    atoms.element[0] = 1;
    assert_close(particle_mass_kDa(&atoms), 1e-3 * (1.0078 + 0.5 * 39.948), 1e-6);
    atoms_release(&atoms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(form_factors_start_at_z),
        cmocka_unit_test(form_factors_match_tables),
        cmocka_unit_test(atoms_scatter_analytically),
        cmocka_unit_test(amplitudes_have_right_limits),
        cmocka_unit_test(bad_atoms_are_named),
        cmocka_unit_test(map_matches_direct_sum),
        cmocka_unit_test(map_of_volume_is_its_transform),
        cmocka_unit_test(built_in_particles_are_as_said),
        cmocka_unit_test(mass_and_diameter_of_known_atoms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
