/* simulate_frames.c - the photons of frames: amplitudes at rotated pixels, fluence, Poisson
 * noise. */
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "core/rng.h"
#include "mtip/orient.h"
#include "mtip/scatter_map.h"
#include "mtip/simulate.h"

#define PI 3.14159265358979323846264338327950288

/* Relative error of amplitudes: far below the noise of any frame that can be recorded. */
#define AMPLITUDE_TOLERANCE 1e-5

/* Points evaluated at a time: bounds the memory. */
#define BATCH_POINTS ((int64_t)1 << 18)

struct simulator {
    const struct detector *detector; /* borrowed */
    struct scatter_map *map;         /* owned */
    double scale;                    /* photons for |F|^2 = 1 at fluence 1 */
    double fluence_spread;
    uint64_t seed;
    int noise;
    int n_threads;
    int64_t n_used;
    int64_t *used;        /* owned [n_used] used pixels */
    int64_t batch_frames; /* frames evaluated at a time */
    double *points;       /* owned [batch_frames][n_used][3] */
    double *amplitudes;   /* owned [batch_frames][n_used][2] */
};

static double length(const double s[3])
{
    return sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
}

/* ---- scale ------------------------------------------------------------------------------------ */

#define RADII_PER_FRINGE 8 /* samples of the mean intensity across 1 / diameter */
#define DIRECTIONS 1500    /* points on each sphere */

/* Mean of |F|^2 over all directions at radii i * step, by Fibonacci spheres. It is what the mean
 * over all orientations leaves of the particle. */
static enum mtip_status mean_intensity(double *mean, struct scatter_map *map, double step,
                                       int64_t n_radii)
{
    enum mtip_status status = MTIP_OK;
    double *points = NULL, *amplitudes = NULL;
    const double limit = scatter_map_limit(map);
    MTIP_TRY(MEMORY_ALLOC(&points, 3 * DIRECTIONS, "points on a sphere"));
    MTIP_TRY(MEMORY_ALLOC(&amplitudes, 2 * DIRECTIONS, "amplitudes on a sphere"));
    for (int64_t i = 0; i < n_radii; i++) {
        const double radius = fmin((double)i * step, limit);
        for (int64_t k = 0; k < DIRECTIONS; k++) {
            const double z = (2.0 * (double)k + 1.0) / DIRECTIONS - 1.0;
            const double rho = sqrt(1.0 - z * z);
            /* golden angle */
            const double phi = fmod((double)k * (PI * (3.0 - sqrt(5.0))), 2.0 * PI);
            points[3 * k] = radius * rho * cos(phi);
            points[3 * k + 1] = radius * rho * sin(phi);
            points[3 * k + 2] = radius * z;
        }
        MTIP_TRY(scatter_map_amplitudes(map, amplitudes, points, DIRECTIONS));
        mean[i] = 0.0;
        for (int64_t k = 0; k < 2 * DIRECTIONS; k++) {
            mean[i] += amplitudes[k] * amplitudes[k] / DIRECTIONS;
        }
    }
cleanup:
    memory_free(&points);
    memory_free(&amplitudes);
    return status;
}

/* scale = photons / sum_p response_p <|F|^2>(|s_p|), the mean interpolated linearly between
 * radii. */
static enum mtip_status choose_scale(struct simulator *simulator, double photons, double diameter)
{
    enum mtip_status status = MTIP_OK;
    double *mean = NULL, sum = 0.0;
    const struct detector *detector = simulator->detector;
    const double limit = scatter_map_limit(simulator->map);
    const double step = 1.0 / (RADII_PER_FRINGE * diameter);
    const int64_t n_radii = (int64_t)ceil(limit / step) + 2;
    MTIP_TRY(MEMORY_ALLOC(&mean, n_radii, "mean intensity"));
    MTIP_TRY(mean_intensity(mean, simulator->map, step, n_radii));
    for (int64_t i = 0; i < simulator->n_used; i++) {
        const int64_t p = simulator->used[i];
        const double position = length(&detector->s[3 * p]) / step;
        const int64_t k = (int64_t)position;
        const double t = position - (double)k;
        sum += detector->response[p] * ((1.0 - t) * mean[k] + t * mean[k + 1]);
    }
    if (!(sum > 0.0) || !isfinite(sum)) {
        MTIP_FAIL(MTIP_ERR_DATA, "the particle scatters nothing onto the used pixels");
    }
    simulator->scale = photons / sum;
cleanup:
    memory_free(&mean);
    return status;
}

/* ---- life cycle ------------------------------------------------------------------------------- */

static double cloud_diameter(const struct atoms *atoms)
{
    double radius = 1.0;
    for (int64_t j = 0; j < atoms->n; j++) {
        radius = fmax(radius, length(&atoms->xyz[3 * j]));
    }
    return 2.0 * radius;
}

enum mtip_status simulator_create(struct simulator **simulator, const struct detector *detector,
                                  const struct atoms *atoms, const struct config_simulate *config,
                                  int n_threads)
{
    enum mtip_status status = MTIP_OK;
    struct simulator *s = NULL;
    double s_max = 0.0;

    *simulator = NULL;
    MTIP_TRY(MEMORY_ALLOC(&s, 1, "simulator"));
    s->detector = detector;
    s->fluence_spread = config->fluence_spread;
    s->seed = (uint64_t)config->seed;
    s->noise = config->photons > 0.0;
    s->n_threads = n_threads;
    MTIP_TRY(MEMORY_ALLOC(&s->used, detector->n_pixel, "used pixels"));
    for (int64_t p = 0; p < detector->n_pixel; p++) {
        if (detector->mask[p]) {
            s->used[s->n_used++] = p;
            s_max = fmax(s_max, length(&detector->s[3 * p]));
        }
    }
    if (s->n_used == 0) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT, "simulator: the detector has no used pixel");
    }
    MTIP_TRY(scatter_map_from_atoms(&s->map, atoms, fmax(1.0000001 * s_max, 1e-9),
                                    AMPLITUDE_TOLERANCE, n_threads));
    MTIP_TRY(choose_scale(s, s->noise ? config->photons : SIMULATE_NOISE_FREE_SUM,
                          cloud_diameter(atoms)));
    s->batch_frames = BATCH_POINTS / s->n_used;
    s->batch_frames = s->batch_frames < 1 ? 1 : s->batch_frames;
    MTIP_TRY(MEMORY_ALLOC(&s->points, 3 * s->batch_frames * s->n_used, "rotated pixels"));
    MTIP_TRY(MEMORY_ALLOC(&s->amplitudes, 2 * s->batch_frames * s->n_used, "amplitudes"));
    *simulator = s;
    s = NULL;

cleanup:
    simulator_destroy(&s);
    return status;
}

void simulator_destroy(struct simulator **simulator)
{
    struct simulator *s = *simulator;
    if (s == NULL) {
        return;
    }
    memory_free(&s->amplitudes);
    memory_free(&s->points);
    memory_free(&s->used);
    scatter_map_destroy(&s->map);
    memory_free(simulator);
}

/* ---- frames ----------------------------------------------------------------------------------- */

/* Orientation of frame n, its fluence (log-normal of mean 1), and its pixels in the particle's
 * frame. */
static void frame_prepare(const struct simulator *simulator, double q[4], double *fluence,
                          double *points, int64_t n)
{
    double rotation[9];
    struct rng turn = rng_stream(simulator->seed, RNG_ORIENTATION_TRUE, (uint64_t)n, 0);
    struct rng shot = rng_stream(simulator->seed, RNG_FLUENCE, (uint64_t)n, 0);
    const double sigma = simulator->fluence_spread;
    rng_quaternion(&turn, q);
    *fluence = sigma > 0.0 ? exp(sigma * rng_normal(&shot) - 0.5 * sigma * sigma) : 1.0;
    quaternion_to_matrix(rotation, q);
    for (int64_t i = 0; i < simulator->n_used; i++) {
        const double *s = &simulator->detector->s[3 * simulator->used[i]];
        for (int row = 0; row < 3; row++) {
            points[3 * i + row] = rotation[3 * row] * s[0] + rotation[3 * row + 1] * s[1] +
                                  rotation[3 * row + 2] * s[2];
        }
    }
}

/* Photons of frame n from its amplitudes. */
static void frame_expose(const struct simulator *simulator, float *frame, const double *amplitudes,
                         double fluence, int64_t n)
{
    const struct detector *detector = simulator->detector;
    memset(frame, 0, (size_t)detector->n_pixel * sizeof *frame);
    for (int64_t i = 0; i < simulator->n_used; i++) {
        const int64_t p = simulator->used[i];
        const double re = amplitudes[2 * i], im = amplitudes[2 * i + 1];
        double mean = fluence * simulator->scale * detector->response[p] * (re * re + im * im);
        mean += detector->background != NULL ? detector->background[p] : 0.0;
        if (simulator->noise) {
            struct rng rng = rng_stream(simulator->seed, RNG_PHOTONS, (uint64_t)n, (uint64_t)p);
            frame[p] = (float)rng_poisson(&rng, mean);
        } else {
            frame[p] = (float)mean;
        }
    }
}

enum mtip_status simulator_frames(struct simulator *simulator, float *frames, double *quaternions,
                                  double *fluence, int64_t first, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n_used = simulator->n_used, n_pixel = simulator->detector->n_pixel;
    for (int64_t done = 0; done < count; done += simulator->batch_frames) {
        const int64_t left = count - done;
        const int64_t batch = left < simulator->batch_frames ? left : simulator->batch_frames;
#pragma omp parallel for schedule(static) num_threads(simulator->n_threads)
        for (int64_t i = 0; i < batch; i++) {
            frame_prepare(simulator, &quaternions[4 * (done + i)], &fluence[done + i],
                          &simulator->points[3 * i * n_used], first + done + i);
        }
        MTIP_TRY(scatter_map_amplitudes(simulator->map, simulator->amplitudes, simulator->points,
                                        batch * n_used));
#pragma omp parallel for schedule(dynamic) num_threads(simulator->n_threads)
        for (int64_t i = 0; i < batch; i++) {
            frame_expose(simulator, &frames[(done + i) * n_pixel],
                         &simulator->amplitudes[2 * i * n_used], fluence[done + i],
                         first + done + i);
        }
    }
cleanup:
    return status;
}
