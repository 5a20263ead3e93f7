/* test_simulate.c - detector geometry, photon statistics, independence of threads, the file
 * written. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/config.h"
#include "io/dataset.h"
#include "io/dataset_atoms.h"
#include "mtip/orient.h"
#include "mtip/particle.h"
#include "mtip/scatter.h"
#include "mtip/simulate.h"

/* A small simulation: 60 atoms, 16 x 16 pixels. */
static struct config_simulate small_config(void)
{
    return (struct config_simulate){.particle = "protein",
                                    .frames = 40,
                                    .pixels = 16,
                                    .photons = 500.0,
                                    .edge_resolution = 8.0,
                                    .wavelength = 1.5,
                                    .seed = 3};
}

static void small_particle(struct atoms *atoms)
{
    struct atoms protein;
    assert_ok(particle_create(&protein, "protein"));
    assert_ok(atoms_alloc(atoms, 60));
    for (int64_t j = 0; j < 60; j++) {
        for (int i = 0; i < 3; i++) {
            atoms->xyz[3 * j + i] = 0.5 * protein.xyz[3 * (30 * j) + i];
        }
        atoms->element[j] = protein.element[30 * j];
        atoms->occupancy[j] = 1.0;
        atoms->b_factor[j] = 20.0;
    }
    particle_centre(atoms);
    atoms_release(&protein);
}

static double length(const double s[3])
{
    return sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
}

static void detector_lies_on_the_ewald_sphere(void **state)
{
    struct config_simulate config = small_config();
    struct detector detector;
    (void)state;
    config.pixels = 33; /* odd: the middle of an edge is halfway between pixel centres of row 16 */
    config.wavelength = 2.5;
    assert_ok(simulate_detector(&detector, &config));
    assert_int_equal(detector.n_pixel, 33 * 33);
    double sum = 0.0;
    for (int64_t p = 0; p < detector.n_pixel; p++) {
        const double *s = &detector.s[3 * p];
        const double out[3] = {s[0], s[1], s[2] + 1.0 / config.wavelength};
        assert_close(length(out), 1.0 / config.wavelength, 1e-14);
        sum += detector.response[p];
        assert_int_equal(detector.mask[p], 1);
    }
    assert_close(sum / (double)detector.n_pixel, 1.0, 1e-12);
    assert_null(detector.background);
    /* polarisation is given apart as well */
    assert_close(detector.polarization[16 * 33 + 32],
                 1.0 - pow(detector.s[3 * (16 * 33 + 32)] * config.wavelength, 2.0), 1e-14);
    /* the centre pixel sees the direct beam */
    assert_close(length(&detector.s[3 * (16 * 33 + 16)]), 0.0, 0.0);
    /* Angles grow with the tangent: pixel 32 of row 16 is at 32/33 of the edge's, whose |s| is
     * 1/8. */
    const double *right = &detector.s[3 * (16 * 33 + 32)];
    const double tangent = 33.0 / 32.0 * right[0] / (right[2] + 1.0 / config.wavelength);
    assert_close(2.0 * sin(0.5 * atan(tangent)) / config.wavelength, 1.0 / 8.0, 1e-13);
    assert_close(right[1], 0.0, 1e-17);
    /* Row index is y, column index is x, both ascending. */
    assert_true(right[0] > 0.0 && detector.s[3 * (32 * 33 + 16) + 1] > 0.0);
    /* Along x polarisation costs cos^2(2 theta), along y nothing; the solid angle falls with
     * cos^3. */
    const double cosine = 1.0 + right[2] * config.wavelength;
    const double along_x = detector.response[16 * 33 + 32],
                 along_y = detector.response[32 * 33 + 16];
    const double centre = detector.response[16 * 33 + 16];
    assert_close(along_x / along_y, cosine * cosine, 1e-12);
    assert_close(along_y / centre, cosine * cosine * cosine, 1e-12);
    detector_release(&detector);
}

static void distance_and_pixel_size_place_the_detector(void **state)
{
    struct config_simulate config = small_config();
    struct detector detector;
    (void)state;
    config.distance = 100.0;
    config.pixel_size = 2.0;
    config.pixels = 10;
    assert_ok(simulate_detector(&detector, &config));
    const double *corner = &detector.s[0]; /* centre at (-9, -9) mm */
    const double norm = sqrt(81.0 + 81.0 + 1e4);
    assert_close(corner[0], -9.0 / norm / 1.5, 1e-15);
    assert_close(corner[1], -9.0 / norm / 1.5, 1e-15);
    assert_close(corner[2], (100.0 / norm - 1.0) / 1.5, 1e-15);
    detector_release(&detector);
    config.pixel_size = 0.0;
    assert_status(simulate_detector(&detector, &config), MTIP_ERR_CONFIG);
    assert_message_has("simulate.pixel_size");
    config.distance = 0.0;
    config.edge_resolution = 1.0;
    assert_status(simulate_detector(&detector, &config), MTIP_ERR_CONFIG);
    assert_message_has("simulate.edge_resolution");
    assert_null(detector.s);
}

static void beamstop_takes_out_the_middle(void **state)
{
    struct config_simulate config = small_config();
    struct detector detector;
    struct simulator *simulator = NULL;
    struct atoms atoms;
    float frames[2 * 256];
    double quaternions[8], fluence[2];
    (void)state;
    config.beamstop = 0.25; /* 2 pixels of 8 */
    config.background = 3.0;
    assert_ok(simulate_detector(&detector, &config));
    int64_t masked = 0;
    for (int64_t p = 0; p < 256; p++) {
        const double x = (double)(p % 16) - 7.5, y = (double)(p / 16) - 7.5;
        assert_int_equal(detector.mask[p], x * x + y * y >= 4.0);
        masked += !detector.mask[p];
        assert_close(detector.background[p], 3.0, 0.0);
    }
    assert_int_equal(masked, 12);
    small_particle(&atoms);
    assert_ok(simulator_create(&simulator, &detector, &atoms, &config, 1));
    assert_ok(simulator_frames(simulator, frames, quaternions, fluence, 0, 2));
    for (int64_t p = 0; p < 2 * 256; p++) {
        assert_true(detector.mask[p % 256] || frames[p] == 0.0f);
    }
    simulator_destroy(&simulator);
    atoms_release(&atoms);
    detector_release(&detector);
    config.beamstop = 2.0;
    assert_status(simulate_detector(&detector, &config), MTIP_ERR_CONFIG);
}

/* Noise-free frames against the direct sum at rotated pixels; the mean sum is what was promised. */
static void noise_free_frames_are_intensities(void **state)
{
    struct config_simulate config = small_config();
    struct detector detector;
    struct simulator *simulator = NULL;
    struct atoms atoms;
    enum { N = 400 };
    float *frames = NULL;
    double *quaternions = NULL, *fluence = NULL, *f = NULL, mean = 0.0;
    (void)state;
    config.photons = 0.0;
    small_particle(&atoms);
    assert_ok(simulate_detector(&detector, &config));
    assert_ok(simulator_create(&simulator, &detector, &atoms, &config, 2));
    assert_ok(MEMORY_ALLOC(&frames, N * 256, "frames"));
    assert_ok(MEMORY_ALLOC(&quaternions, N * 4, "orientations"));
    assert_ok(MEMORY_ALLOC(&fluence, N, "fluence"));
    assert_ok(MEMORY_ALLOC(&f, 512, "amplitudes"));
    assert_ok(simulator_frames(simulator, frames, quaternions, fluence, 0, N));
    double scale = 0.0;
    for (int n = 0; n < N; n++) {
        double rotation[9], s[256 * 3];
        quaternion_to_matrix(rotation, &quaternions[4 * n]);
        for (int p = 0; p < 256; p++) {
            for (int row = 0; row < 3; row++) {
                s[3 * p + row] = 0.0;
                for (int k = 0; k < 3; k++) {
                    s[3 * p + row] += rotation[3 * row + k] * detector.s[3 * p + k];
                }
            }
        }
        for (int p = 0; p < 256; p++) {
            mean += (double)frames[n * 256 + p] / N;
        }
        if (n >= 5) {
            continue;
        }
        assert_ok(scatter_amplitudes(f, &atoms, s, 256, 1));
        double worst = 0.0, largest = 0.0;
        for (int p = 0; p < 256; p++) {
            const double intensity =
                detector.response[p] * (f[2 * p] * f[2 * p] + f[2 * p + 1] * f[2 * p + 1]);
            if (scale == 0.0) {
                scale = (double)frames[0] / intensity;
            }
            worst = fmax(worst, fabs(scale * intensity - (double)frames[n * 256 + p]));
            largest = fmax(largest, (double)frames[n * 256 + p]);
        }
        /* amplitudes to 1e-5, twice, once more in `scale` */
        assert_at_most(worst, 5e-5 * largest);
        assert_close(fluence[n], 1.0, 0.0);
    }
    /* 400 orientations leave about 1 percent of spread */
    assert_close(mean / SIMULATE_NOISE_FREE_SUM, 1.0, 0.03);
    simulator_destroy(&simulator);
    memory_free(&f);
    memory_free(&frames);
    memory_free(&quaternions);
    memory_free(&fluence);
    atoms_release(&atoms);
    detector_release(&detector);
}

/* Photons about their noise-free means: chi^2 of a Poisson variable, whole numbers, the background
 * included; fluence log-normal of mean 1. */
static void photons_follow_poisson(void **state)
{
    struct config_simulate config = small_config();
    struct detector detector;
    struct simulator *noisy = NULL, *clean = NULL;
    struct atoms atoms;
    enum { N = 600 };
    float *photons = NULL, *means = NULL;
    double *quaternions = NULL, *fluence = NULL;
    (void)state;
    config.fluence_spread = 0.5;
    config.background = 0.7;
    small_particle(&atoms);
    assert_ok(simulate_detector(&detector, &config));
    assert_ok(simulator_create(&noisy, &detector, &atoms, &config, 2));
    config.photons = 0.0;
    config.background = 0.0;
    const double background = detector.background[0];
    assert_ok(simulator_create(&clean, &detector, &atoms, &config, 2));
    assert_ok(MEMORY_ALLOC(&photons, N * 256, "frames"));
    assert_ok(MEMORY_ALLOC(&means, N * 256, "frames"));
    assert_ok(MEMORY_ALLOC(&quaternions, N * 4, "orientations"));
    assert_ok(MEMORY_ALLOC(&fluence, N, "fluence"));
    assert_ok(simulator_frames(noisy, photons, quaternions, fluence, 0, N));
    assert_ok(simulator_frames(clean, means, quaternions, fluence, 0, N));
    double chi2 = 0.0, sum = 0.0, sum_log = 0.0, sum_log2 = 0.0;
    for (int64_t i = 0; i < N * 256; i++) {
        const double signal = ((double)means[i] - background) * 500.0 / SIMULATE_NOISE_FREE_SUM;
        const double mean = signal + background, count = (double)photons[i];
        assert_true(count >= 0.0 && count == floor(count));
        chi2 += (count - mean) * (count - mean) / mean;
        sum += count - mean;
    }
    for (int n = 0; n < N; n++) {
        sum_log += log(fluence[n]) / N;
        sum_log2 += log(fluence[n]) * log(fluence[n]) / N;
    }
    /* mean of chi^2/n is 1 with a spread of sqrt((2 + 1/mean)/n) < 0.005; total photons about 4e5 */
    assert_close(chi2 / (N * 256), 1.0, 0.02);
    assert_close(sum, 0.0, 5.0 * sqrt(N * (500.0 + 180.0)));
    assert_close(sum_log, -0.125, 5.0 * 0.5 / sqrt(N));
    assert_close(sqrt(sum_log2 - sum_log * sum_log), 0.5, 0.08);
    simulator_destroy(&noisy);
    simulator_destroy(&clean);
    memory_free(&photons);
    memory_free(&means);
    memory_free(&quaternions);
    memory_free(&fluence);
    atoms_release(&atoms);
    detector_release(&detector);
}

/* A frame is the same whatever the threads and whichever frames are asked for together. */
static void frames_do_not_depend_on_threads(void **state)
{
    struct config_simulate config = small_config();
    struct detector detector;
    struct simulator *one = NULL, *three = NULL;
    struct atoms atoms;
    float a[20 * 256], b[7 * 256];
    double qa[80], qb[28], fa[20], fb[7];
    (void)state;
    config.fluence_spread = 0.3;
    small_particle(&atoms);
    assert_ok(simulate_detector(&detector, &config));
    assert_ok(simulator_create(&one, &detector, &atoms, &config, 1));
    assert_ok(simulator_create(&three, &detector, &atoms, &config, 3));
    assert_ok(simulator_frames(one, a, qa, fa, 0, 20));
    assert_ok(simulator_frames(three, b, qb, fb, 9, 7));
    assert_memory_equal(&a[9 * 256], b, sizeof b);
    assert_memory_equal(&qa[4 * 9], qb, sizeof qb);
    assert_memory_equal(&fa[9], fb, sizeof fb);
    assert_memory_not_equal(a, b, sizeof b);
    simulator_destroy(&one);
    simulator_destroy(&three);
    atoms_release(&atoms);
    detector_release(&detector);
}

static void file_holds_frames_and_truth(void **state)
{
    char directory[SUPPORT_PATH_SIZE];
    struct config config;
    struct simulate_summary summary;
    struct dataset *dataset = NULL;
    float frames[3 * 256];
    double *quaternions = NULL, *fluence = NULL;
    (void)state;
    support_make_directory(directory);
    assert_ok(config_load(&config, NULL, 0, NULL));
    config.simulate = small_config();
    config.simulate.beamstop = 0.2;
    config.simulate.fluence_spread = 0.2;
    snprintf(config.simulate.output, sizeof config.simulate.output, "%s/frames.h5", directory);
    assert_ok(simulate_run(&summary, &config, 1, NULL));
    assert_int_equal(summary.n_frames, 40);
    assert_close(summary.edge_resolution_A, 8.0, 1e-9);
    /* 40 frames: fluence spread 0.2 and orientations leave 4 percent */
    assert_close(summary.mean_photons, 500.0, 100.0);
    assert_ok(dataset_open(&dataset, config.simulate.output, NULL));
    assert_int_equal(dataset_n_frames(dataset), 40);
    assert_true(dataset_has_truth(dataset));
    const struct detector *detector = dataset_detector(dataset);
    assert_close(detector->wavelength_A, 1.5, 1e-12);
    assert_int_equal(detector->mask[8 * 16 + 8], 0);
    assert_int_equal(detector->mask[0], 1);
    assert_ok(dataset_read(dataset, 37, 3, frames));
    assert_ok(MEMORY_ALLOC(&quaternions, 160, "orientations"));
    assert_ok(MEMORY_ALLOC(&fluence, 40, "fluence"));
    assert_ok(dataset_read_orientations(dataset, quaternions));
    assert_ok(dataset_read_fluence(dataset, fluence));

    /* The same frames made directly. */
    struct atoms atoms;
    struct detector made;
    struct simulator *simulator = NULL;
    float again[3 * 256];
    double q[12], phi[3];
    struct atoms stored;
    assert_ok(simulate_particle(&atoms, &config.simulate));
    assert_true(dataset_has_atoms(config.simulate.output));
    assert_ok(dataset_read_atoms(&stored, config.simulate.output));
    assert_int_equal(stored.n, atoms.n);
    assert_memory_equal(stored.xyz, atoms.xyz, 3 * (size_t)atoms.n * sizeof *atoms.xyz);
    assert_memory_equal(stored.element, atoms.element, (size_t)atoms.n * sizeof *atoms.element);
    assert_memory_equal(stored.b_factor, atoms.b_factor, (size_t)atoms.n * sizeof *atoms.b_factor);
    assert_memory_equal(stored.occupancy, atoms.occupancy,
                        (size_t)atoms.n * sizeof *atoms.occupancy);
    atoms_release(&stored);
    assert_ok(simulate_detector(&made, &config.simulate));
    assert_ok(simulator_create(&simulator, &made, &atoms, &config.simulate, 2));
    assert_ok(simulator_frames(simulator, again, q, phi, 37, 3));
    assert_memory_equal(frames, again, sizeof frames);
    assert_at_most(support_relative_l2(&quaternions[4 * 37], q, 12), 1e-14);
    assert_at_most(support_relative_l2(&fluence[37], phi, 3), 1e-14);
    /* positions pass through 1/m in the file */
    assert_at_most(support_relative_l2(detector->s, made.s, 768), 1e-12);
    simulator_destroy(&simulator);
    detector_release(&made);
    atoms_release(&atoms);
    memory_free(&quaternions);
    memory_free(&fluence);
    dataset_close(&dataset);
    support_remove_directory(directory);
}

static void failures_leave_no_file(void **state)
{
    char directory[SUPPORT_PATH_SIZE];
    struct config config;
    struct simulate_summary summary;
    (void)state;
    support_make_directory(directory);
    assert_ok(config_load(&config, NULL, 0, NULL));
    config.simulate = small_config();
    snprintf(config.simulate.output, sizeof config.simulate.output, "%s/frames.h5", directory);
    snprintf(config.simulate.pdb, sizeof config.simulate.pdb, "%s/none.pdb", directory);
    assert_status(simulate_run(&summary, &config, 1, NULL), MTIP_ERR_FILE);
    assert_message_has("none.pdb");
    config.simulate.pdb[0] = '\0';
    config.simulate.photons = 1e11; /* more than a pixel can hold */
    assert_status(simulate_run(&summary, &config, 1, NULL), MTIP_ERR_CONFIG);
    FILE *file = fopen(config.simulate.output, "rb");
    assert_null(file);
    support_remove_directory(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detector_lies_on_the_ewald_sphere),
        cmocka_unit_test(distance_and_pixel_size_place_the_detector),
        cmocka_unit_test(beamstop_takes_out_the_middle),
        cmocka_unit_test(noise_free_frames_are_intensities),
        cmocka_unit_test(photons_follow_poisson),
        cmocka_unit_test(frames_do_not_depend_on_threads),
        cmocka_unit_test(file_holds_frames_and_truth),
        cmocka_unit_test(failures_leave_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
