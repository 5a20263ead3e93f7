/* compare.c - a density fitted to a reference, and their Fourier shell correlation. */
#include "mtip/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/fft.h"
#include "core/memory.h"
#include "mtip/align.h"
#include "mtip/compare_search.h"
#include "mtip/orient.h"
#include "mtip/particle.h"
#include "mtip/resolution.h"

#define PI 3.14159265358979323846264338327950288

/* Relative error of the reference's amplitudes: in the final FSC, and while rotations are tried. */
#define REFERENCE_TOLERANCE 1e-5
#define SEARCH_TOLERANCE 1e-3

/* Shells that decide translation and hand: the inner part, where a reconstruction is best. */
#define ALIGN_PART 0.7

/* Everything one comparison holds. */
struct comparison {
    int64_t M, n_half, n_shells;
    double voxel_A;
    struct backend *host;           /* owned */
    struct fft_plan *fft;           /* owned */
    struct scatter_map *map;        /* owned */
    struct scatter_map *search_map; /* owned, quicker */
    struct aligner *aligner;        /* owned */
    double *half_v, *half_g;        /* owned [n_half][2] spectra of density and reference */
    double *grid_v, *grid_g;        /* owned [M^3] */
    double *uncentred;              /* owned [M^3] */
    double *weighted;               /* owned [n_half][2] */
    uint8_t *use;                   /* owned [n_half] modes that decide the alignment */
};

static void comparison_release(struct comparison *c)
{
    memory_free(&c->use);
    memory_free(&c->weighted);
    memory_free(&c->uncentred);
    memory_free(&c->grid_g);
    memory_free(&c->grid_v);
    memory_free(&c->half_g);
    memory_free(&c->half_v);
    aligner_destroy(&c->aligner);
    scatter_map_destroy(&c->search_map);
    scatter_map_destroy(&c->map);
    fft_plan_destroy(&c->fft);
    backend_destroy(&c->host);
}

/* About the longest extent: of atoms exactly; of a volume from its second moments about its
 * centre, as that of an even ball (2.58 radii of gyration) and a half more for other shapes. */
static double reference_diameter(const struct compare_reference *reference)
{
    double sum = 0.0, first[3] = {0.0, 0.0, 0.0}, second = 0.0;
    const int64_t n = reference->n;
    if (reference->atoms != NULL) {
        return particle_diameter_A(reference->atoms);
    }
    for (int64_t i = 0; i < n * n * n; i++) {
        const double weight = fmax(reference->volume[i], 0.0);
        const double r[3] = {(double)(i % n - n / 2), (double)(i / n % n - n / 2),
                             (double)(i / (n * n) - n / 2)};
        sum += weight;
        for (int k = 0; k < 3; k++) {
            first[k] += weight * r[k];
            second += weight * r[k] * r[k];
        }
    }
    for (int k = 0; k < 3; k++) {
        second -= sum > 0.0 ? first[k] * first[k] / sum : 0.0;
    }
    const double gyration = sum > 0.0 ? sqrt(fmax(second / sum, 1.0)) : 1.0;
    return 3.0 * gyration * reference->voxel_A;
}

static enum mtip_status check_density(const double *volume, int64_t n, const char *what)
{
    double low = INFINITY, high = -INFINITY;
    for (int64_t i = 0; i < n * n * n; i++) {
        if (!isfinite(volume[i])) {
            return MTIP_ERROR(MTIP_ERR_DATA, "compare: voxel %lld of the %s is not a finite number",
                              (long long)i, what);
        }
        low = fmin(low, volume[i]);
        high = fmax(high, volume[i]);
    }
    if (!(high > low)) {
        return MTIP_ERROR(MTIP_ERR_DATA, "compare: the %s is %g everywhere", what, low);
    }
    return MTIP_OK;
}

static enum mtip_status reference_map(struct scatter_map **map, const struct comparison *c,
                                      const struct compare_reference *reference, double tolerance)
{
    const int n_threads = c->host->n_threads;
    if (reference->atoms == NULL) {
        return scatter_map_from_volume(map, reference->volume, reference->n, reference->voxel_A,
                                       tolerance, n_threads);
    }
    const double s_max = ((double)c->n_shells + 0.51) / ((double)c->M * c->voxel_A);
    return scatter_map_from_atoms(map, reference->atoms, s_max, tolerance, n_threads);
}

/* Plans, arrays, the density's spectrum, the reference's map, and the shells both can serve. */
static enum mtip_status comparison_create(struct comparison *c, const double *volume, int64_t M,
                                          double voxel_A, const struct compare_reference *reference,
                                          const struct compare_options *options)
{
    enum mtip_status status = MTIP_OK;
    const int64_t size[3] = {M, M, M};
    const double box = (double)M * voxel_A;
    double s_max = 0.5 / voxel_A;

    *c = (struct comparison){.M = M, .voxel_A = voxel_A};
    if (options->limit_A > 0.0) {
        s_max = fmin(s_max, 1.0 / options->limit_A);
    }
    if (reference->atoms == NULL) {
        s_max = fmin(s_max, 0.5 / reference->voxel_A);
    }
    /* shell i holds |k| below i + 1.5; the last one may reach half a step past s_max */
    c->n_shells = (int64_t)floor(s_max * box * (1.0 + 1e-9));
    c->n_shells = c->n_shells < resolution_n_shells(M) ? c->n_shells : resolution_n_shells(M);
    if (c->n_shells < 3) {
        MTIP_FAIL(MTIP_ERR_DATA,
                  "compare: only %lld shells lie inside the resolution limits; 3 are needed",
                  (long long)c->n_shells);
    }
    MTIP_TRY(backend_create(&c->host, "cpu", 0, options->n_threads));
    MTIP_TRY(fft_plan_create(&c->fft, c->host, size));
    MTIP_TRY(aligner_create(&c->aligner, M, options->n_threads));
    c->n_half = fft_half_count(size);
    MTIP_TRY(MEMORY_ALLOC(&c->half_v, 2 * c->n_half, "spectrum of the density"));
    MTIP_TRY(MEMORY_ALLOC(&c->half_g, 2 * c->n_half, "spectrum of the reference"));
    MTIP_TRY(MEMORY_ALLOC(&c->grid_v, M * M * M, "density"));
    MTIP_TRY(MEMORY_ALLOC(&c->grid_g, M * M * M, "reference"));
    MTIP_TRY(MEMORY_ALLOC(&c->uncentred, M * M * M, "density"));
    MTIP_TRY(MEMORY_ALLOC(&c->weighted, 2 * c->n_half, "spectrum"));
    MTIP_TRY(MEMORY_ALLOC(&c->use, c->n_half, "modes that align"));
    MTIP_TRY(fft_plan_forward(c->fft, volume, c->half_v));
    MTIP_TRY(reference_map(&c->map, c, reference, REFERENCE_TOLERANCE));
    MTIP_TRY(reference_map(&c->search_map, c, reference, SEARCH_TOLERANCE));
cleanup:
    return status;
}

/* F_G(R s) at the modes of the used shells, 0 elsewhere. Points past a volume's own limit by less
 * than half a shell stay 0 too. */
static enum mtip_status reference_spectrum(struct comparison *c, const double rotation[9])
{
    enum mtip_status status = MTIP_OK;
    double *points = NULL, *values = NULL;
    int64_t *mode = NULL;
    const int64_t M = c->M, n_x = M / 2 + 1;
    const double step = 1.0 / ((double)M * c->voxel_A), limit = scatter_map_limit(c->map);
    int64_t n = 0;

    MTIP_TRY(MEMORY_ALLOC(&points, 3 * c->n_half, "rotated modes"));
    MTIP_TRY(MEMORY_ALLOC(&values, 2 * c->n_half, "amplitudes"));
    MTIP_TRY(MEMORY_ALLOC(&mode, c->n_half, "rotated modes"));
    for (int64_t i = 0; i < c->n_half; i++) {
        const int64_t x = i % n_x, y = i / n_x % M, z = i / n_x / M;
        const int64_t shell = resolution_shell(z, y, x, M);
        if (shell < 0 || shell >= c->n_shells) {
            continue;
        }
        const double s[3] = {step * (double)x, step * (double)(y <= M / 2 ? y : y - M),
                             step * (double)(z <= M / 2 ? z : z - M)};
        double *out = &points[3 * n];
        double largest = 0.0;
        for (int row = 0; row < 3; row++) {
            out[row] = rotation[3 * row] * s[0] + rotation[3 * row + 1] * s[1] +
                       rotation[3 * row + 2] * s[2];
            largest = fmax(largest, fabs(out[row]));
        }
        if (largest <= limit) {
            mode[n++] = i;
        }
    }
    MTIP_TRY(scatter_map_amplitudes(c->map, values, points, n));
    memset(c->half_g, 0, 2 * (size_t)c->n_half * sizeof *c->half_g);
    for (int64_t i = 0; i < n; i++) {
        memcpy(&c->half_g[2 * mode[i]], &values[2 * i], 2 * sizeof *values);
    }
cleanup:
    memory_free(&mode);
    memory_free(&values);
    memory_free(&points);
    return status;
}

/* How much a shell counts in the search for hand and translation. Which is best depends on how
 * far out the two agree, so all are tried: by its power (the inner shells decide), every shell
 * alike, and by the number of its modes (the outer ones decide). The FSC, a ratio within each
 * shell, is the same in all. */
enum weighting { WEIGHT_POWER, WEIGHT_SHELL, WEIGHT_MODES, WEIGHT_COUNT };

/* weighted = half times a factor for each shell, 0 for what belongs to no used shell. */
static enum mtip_status weigh_shells(double *weighted, const struct comparison *c,
                                     const double *half, enum weighting weighting)
{
    enum mtip_status status = MTIP_OK;
    const int64_t M = c->M, n_x = M / 2 + 1;
    double *power = NULL, *mean = NULL;
    MTIP_TRY(MEMORY_ALLOC(&power, c->n_half, "power of modes"));
    MTIP_TRY(MEMORY_ALLOC(&mean, resolution_n_shells(M), "power of shells"));
    for (int64_t i = 0; i < c->n_half; i++) {
        power[i] = half[2 * i] * half[2 * i] + half[2 * i + 1] * half[2 * i + 1];
    }
    resolution_shell_mean(mean, power, NULL, M);
    for (int64_t i = 0; i < c->n_half; i++) {
        const int64_t shell = resolution_shell(i / n_x / M, i / n_x % M, i % n_x, M);
        double scale = 0.0;
        if (shell >= 0 && shell < c->n_shells && mean[shell] > 0.0) {
            scale = weighting == WEIGHT_POWER ? 1.0 : 1.0 / sqrt(mean[shell]);
            /* the number of modes grows with the square of the radius */
            scale /= weighting == WEIGHT_SHELL ? (double)(shell + 1) : 1.0;
        }
        weighted[2 * i] = scale * half[2 * i];
        weighted[2 * i + 1] = scale * half[2 * i + 1];
    }
cleanup:
    memory_free(&mean);
    memory_free(&power);
    return status;
}

/* Hand and translation by one weighting, then the FSC [M/2]. Spectra carry the place of the
 * origin in their phases: the density's is its centre voxel already, the reference's is moved
 * there. */
static enum mtip_status align_and_correlate(double *fsc, struct align_result *result,
                                            struct comparison *c, enum weighting weighting)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(weigh_shells(c->weighted, c, c->half_v, weighting));
    MTIP_TRY(fft_plan_inverse(c->fft, c->weighted, c->grid_v));
    MTIP_TRY(weigh_shells(c->weighted, c, c->half_g, weighting));
    MTIP_TRY(fft_plan_inverse(c->fft, c->weighted, c->uncentred));
    align_centre(c->grid_g, c->uncentred, c->M);
    MTIP_TRY(aligner_align(c->aligner, c->grid_v, c->grid_g, c->use, result));
    MTIP_TRY(resolution_fsc(fsc, c->grid_v, c->grid_g, c->M, c->host->n_threads));
cleanup:
    return status;
}

/* The alignment whose FSC has the largest sum over shells. */
static enum mtip_status judge(struct compare_fit *fit, struct comparison *c)
{
    enum mtip_status status = MTIP_OK;
    const int64_t M = c->M, n_x = M / 2 + 1;
    const double align_shells = ALIGN_PART * (double)c->n_shells;
    double *fsc = NULL, best = -INFINITY;

    MTIP_TRY(MEMORY_ALLOC(&fsc, resolution_n_shells(M), "FSC"));
    for (int64_t i = 0; i < c->n_half; i++) {
        const int64_t shell = resolution_shell(i / n_x / M, i / n_x % M, i % n_x, M);
        c->use[i] = shell >= 0 && ((double)shell < align_shells || shell < 3);
    }
    for (int w = 0; w < WEIGHT_COUNT; w++) {
        struct align_result result;
        double sum = 0.0;
        MTIP_TRY(align_and_correlate(fsc, &result, c, (enum weighting)w));
        for (int64_t k = 0; k < c->n_shells; k++) {
            sum += fsc[k];
        }
        if (!(sum > best)) {
            continue;
        }
        best = sum;
        memcpy(fit->fsc, fsc, (size_t)resolution_n_shells(M) * sizeof *fsc);
        fit->inverted = result.inverted;
        for (int k = 0; k < 3; k++) {
            double shift = result.shift[2 - k]; /* z, y, x there */
            shift -= (double)M * round(shift / (double)M);
            fit->shift_A[k] = shift * c->voxel_A;
        }
    }
cleanup:
    memory_free(&fsc);
    return status;
}

enum mtip_status compare_volume(struct compare_fit *fit, const double *volume, int64_t M,
                                double voxel_A, const struct compare_reference *reference,
                                const struct compare_options *options)
{
    enum mtip_status status = MTIP_OK;
    struct comparison c = {.M = 0};
    double rotation[9];

    memset(fit, 0, sizeof *fit);
    if (M < 6 || !(voxel_A > 0.0) || !isfinite(voxel_A)) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "compare: a density of %lld voxels a side, each %g A; 6 and more of a known size "
                  "are right",
                  (long long)M, voxel_A);
    }
    MTIP_TRY(check_density(volume, M, "density"));
    if (reference->atoms == NULL) {
        if (!(reference->voxel_A > 0.0)) {
            MTIP_FAIL(MTIP_ERR_DATA, "compare: the voxel size of the reference is not known");
        }
        MTIP_TRY(check_density(reference->volume, reference->n, "reference"));
    }
    fit->n_shells = resolution_n_shells(M);
    MTIP_TRY(MEMORY_ALLOC(&fit->fsc, fit->n_shells, "FSC"));
    MTIP_TRY(MEMORY_ALLOC(&fit->shell_A, fit->n_shells, "shells"));
    resolution_shell_A(fit->shell_A, M, voxel_A);
    MTIP_TRY(comparison_create(&c, volume, M, voxel_A, reference, options));
    const struct compare_search search = {
        .map = c.map,
        .half_spectrum = c.half_v,
        .M = M,
        .voxel_A = voxel_A,
        .diameter_A = reference_diameter(reference),
        /* whole shells inside the map's limit in every direction */
        .n_shells = reference->atoms != NULL ? c.n_shells : c.n_shells - 1,
        .hints = options->hints,
        .n_hints = options->n_hints,
        .log = options->log};
    MTIP_TRY(compare_search_rotation(fit->rotation, &fit->amplitude_correlation, &search));
    quaternion_to_matrix(rotation, fit->rotation);
    MTIP_TRY(reference_spectrum(&c, rotation));
    MTIP_TRY(judge(fit, &c));
    fit->n_shells = c.n_shells;
    const double finest = fit->shell_A[c.n_shells - 1]; /* shells past the limit hold 0 */
    fit->resolution_half_A = fmax(finest, resolution_from_fsc(fit->fsc, M, voxel_A, 0.5));
    fit->resolution_seventh_A = fmax(finest, resolution_from_fsc(fit->fsc, M, voxel_A, 1.0 / 7.0));

cleanup:
    comparison_release(&c);
    if (status != MTIP_OK) {
        compare_fit_release(fit);
    }
    return status;
}

void compare_fit_release(struct compare_fit *fit)
{
    memory_free(&fit->fsc);
    memory_free(&fit->shell_A);
    memset(fit, 0, sizeof *fit);
}

/* ---- orientations ----------------------------------------------------------------------------- */

enum mtip_status compare_orientations(struct compare_orientations *summary, const double *estimates,
                                      const double *truths, int64_t n)
{
    enum mtip_status status = MTIP_OK;
    double *error = NULL;
    int64_t within = 0;
    memset(summary, 0, sizeof *summary);
    MTIP_TRY(MEMORY_ALLOC(&error, n, "orientation errors"));
    MTIP_TRY(orient_errors(error, summary->global, estimates, truths, n));
    for (int64_t i = 0; i < n; i++) {
        within += error[i] < 10.0 * PI / 180.0;
    }
    summary->median_deg = 180.0 / PI * orient_median(error, n);
    summary->within_10_deg = (double)within / (double)n;
cleanup:
    memory_free(&error);
    return status;
}
