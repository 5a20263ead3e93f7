/* generation.c - one generation: orient, merge, phase. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/exact_sum.h"
#include "core/memory.h"
#include "core/rng.h"
#include "mtip/merge_ops.h"
#include "mtip/model.h"
#include "mtip/orient.h"
#include "mtip/reconstruct.h"
#include "mtip/resolution.h"

#define PI 3.14159265358979323846264338327950288

/* Slices are never lower than this part of the largest isotropic intensity: what a pixel that should be
 * dark may still hold. */
#define SLICE_FLOOR 1e-6

/* While more than this part of the frames turn by more than the reference spacing in a generation, frames are refined by
 * random turns: the jitter keeps them from settling in a wrong optimum. The last generations settle in any case. */
#define EXPLORE_MOVED 0.3
#define SETTLE_GENERATIONS 3

/* Once fewer than this part of the frames turn, the march takes longer steps: there is nothing to wait for. */
#define STRIDE_MOVED 0.1
#define STRIDE 3

/* As long as views are less even than this, frames go on drawing their candidates and the march waits, but not beyond
 * this part of the generations. */
#define EVEN_COVERAGE 0.4
#define DRAWING_END 0.5

/* Part of the resolution limit that the march has reached at `stage`: a straight way from march_start to 1 over
 * the first march_end of the generations. */
static double march(const struct config_run *run, int64_t stage)
{
    const double steps = run->march_end * (double)run->generations;
    const double part = steps > 0.0 ? (double)stage / steps : 1.0;
    return fmin(1.0, run->march_start + (1.0 - run->march_start) * part);
}

static int64_t references_at(const struct config_orientation *orientation, double part)
{
    const int64_t n = (int64_t)((double)orientation->references * part * part * part);
    return n > orientation->references_min ? n : orientation->references_min;
}

/* Makes the mean fluence of the frames in use 1 and takes the factor into A, so that the two stay consistent. */
static enum mtip_status normalise_fluence(struct reconstruction *r)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size;
    double sum = 0.0, count = 0.0;
    for (int64_t f = 0; f < r->frames.n; f++) {
        count += r->fluence[f] > 0.0 ? 1.0 : 0.0;
    }
    MTIP_TRY(exact_sum(r->comm, &sum, r->fluence, r->frames.n));
    MTIP_TRY(comm_allreduce_sum(r->comm, &count, 1));
    if (!(sum > 0.0)) {
        MTIP_FAIL(MTIP_ERR_DATA, "%s: every frame is blank in the used pixels",
                  r->config->input.file);
    }
    const double mean = sum / count;
    for (int64_t f = 0; f < r->frames.n; f++) {
        r->fluence[f] /= mean;
    }
    for (int64_t i = 0; i < m * m * m; i++) {
        r->a[i] *= mean;
    }
cleanup:
    return status;
}

/* Generation 0 knows nothing: random orientations, fluence from the photons, the isotropic model of the data. */
static enum mtip_status start_orientations(struct reconstruction *r)
{
    enum mtip_status status = MTIP_OK;
    for (int64_t f = 0; f < r->frames.n; f++) {
        struct rng rng = rng_stream((uint64_t)r->config->run.seed, RNG_ORIENTATION_INITIAL,
                                    (uint64_t)(r->frames.first + f), 0);
        rng_quaternion(&rng, r->quaternions + 4 * f);
        r->fluence[f] = fmax(r->totals[f], 0.0);
        r->score[f] = 0.0;
    }
    MTIP_TRY(normalise_fluence(r));
    MTIP_TRY(model_from_frames(r->model, r->comm, &r->frames, &r->geometry, r->fluence,
                               r->config->merge.weight_floor));
cleanup:
    return status;
}

/* What every rank prepares from A before it slices. */
static enum mtip_status load_model(struct reconstruction *r)
{
    enum mtip_status status = MTIP_OK;
    double largest = 0.0;
    MTIP_TRY(slicer_set_autocorrelation(r->slicer, r->a));
    MTIP_TRY(model_from_slicer(r->model, r->slicer, r->backend, &r->geometry, r->precision,
                               r->max_rotations, r->config->merge.weight_floor));
    for (int64_t p = 0; p < r->geometry.n_pixel; p++) {
        largest = fmax(largest, r->model[p]);
    }
    MTIP_TRY(slicer_set_isotropic(r->slicer, r->model, SLICE_FLOOR * largest));
cleanup:
    return status;
}

static int explores(const struct reconstruction *r, int64_t g)
{
    return r->moved > EXPLORE_MOVED && g + SETTLE_GENERATIONS < r->config->run.generations;
}

static enum mtip_status search_orientations(struct reconstruction *r, int64_t g, double part,
                                            int64_t n_use, struct generation_metrics *metrics)
{
    enum mtip_status status = MTIP_OK;
    const struct config_orientation *orientation = &r->config->orientation;
    const int explore = explores(r, g);
    double seconds[2] = {0.0, 0.0};
    const struct search_options options = {
        .seed = (uint64_t)r->config->run.seed,
        .generation = g,
        .n_references = references_at(orientation, part),
        .n_candidates = r->drawing ? orientation->candidates : 0,
        .refine_rounds = explore && orientation->refine_rounds > 2 ? 2 : orientation->refine_rounds,
        .explore = explore,
        .refine_trials = orientation->refine_trials,
        .n_use = n_use};

    metrics->n_references = options.n_references;
    double clock = log_seconds();
    MTIP_TRY(comm_agree(r->comm, load_model(r)));
    seconds[0] = log_seconds() - clock;
    MTIP_TRY(search_references(r->search, r->quaternions, &options, seconds, r->log));
    metrics->seconds_slice = seconds[0];
    metrics->seconds_match = seconds[1];
    clock = log_seconds();
    const struct search_best best = {
        .quaternions = r->quaternions, .score = r->score, .slice_sum = r->slice_sum};
    MTIP_TRY(comm_agree(r->comm, search_refine(r->search, &best, &options, r->log)));
    metrics->seconds_refine = log_seconds() - clock;
    for (int64_t f = 0; f < r->frames.n; f++) {
        r->fluence[f] = r->totals[f] > 0.0 ? r->totals[f] / r->slice_sum[f] : 0.0;
    }
    MTIP_TRY(normalise_fluence(r));
cleanup:
    return status;
}

/* Counts quiet generations: all of the resolution in use, frames refined by parabolas, and the log-likelihood grown
 * by less than run.settle of itself. */
static void watch_gain(struct reconstruction *r, double part, int explored, double log_likelihood)
{
    const double gain = log_likelihood - r->log_likelihood;
    const int quiet =
        part >= 1.0 && !explored && gain < r->config->run.settle * fabs(r->log_likelihood);
    r->quiet = quiet ? r->quiet + 1 : 0;
    r->log_likelihood = log_likelihood;
}

int generation_settled(const struct reconstruction *r)
{
    return r->config->run.settle > 0.0 && r->quiet >= 2;
}

static enum mtip_status merge_frames(struct reconstruction *r, int64_t n_use)
{
    const int64_t m = r->geometry.grid_size;
    const struct config_merge *merge = &r->config->merge;
    const struct toeplitz_options options = {
        .radius = fmin(2.0 * r->geometry.particle_radius, 0.5 * (double)m),
        .regularization = merge->regularization,
        .iterations = merge->iterations,
        .tolerance = merge->tolerance};
    struct toeplitz_metrics solved = {0, 0.0};
    const enum mtip_status status = merger_run(r->merger, r->comm, r->a, r->quaternions, r->fluence,
                                               r->model, n_use, &options, &solved);
    if (status == MTIP_OK) {
        log_detail(r->log, "  merge: %d iterations, residual %.1e", (int)solved.iterations,
                   solved.residual);
    }
    return status;
}

/* intensity[M][M][M/2+1] = Fourier transform of the real even autocorrelation; both host, density and the
 * half spectrum `work` backend memory. */
static enum mtip_status transform_merged(struct reconstruction *r, double *intensity,
                                         const double *autocorrelation, double *work_real,
                                         double *work_half)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size, cube[3] = {m, m, m};
    const int64_t n_half = fft_half_count(cube);
    const struct merge_ops *ops = merge_ops_of(r->backend->kind);
    MTIP_TRY(backend_upload(r->backend, work_real, autocorrelation,
                            (size_t)(m * m * m) * sizeof *work_real));
    MTIP_TRY(fft_plan_forward(phaser_fft(r->phaser), work_real, work_half));
    MTIP_TRY(ops->real_part(r->backend, work_real, work_half, n_half, 1.0));
    MTIP_TRY(
        backend_download(r->backend, intensity, work_real, (size_t)n_half * sizeof *intensity));
cleanup:
    return status;
}

/* Rank 0: keeps the merged autocorrelations and their intensities. */
static enum mtip_status keep_merged(struct reconstruction *r)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size, cube[3] = {m, m, m};
    const int64_t volume = m * m * m, n_half = fft_half_count(cube);
    double *work_real = NULL, *work_half = NULL;
    memcpy(r->merged, r->a, (size_t)(MERGE_SETS * volume) * sizeof *r->a);
    MTIP_TRY(BACKEND_ALLOC(r->backend, &work_real, volume, "merged intensity"));
    MTIP_TRY(BACKEND_ALLOC(r->backend, &work_half, 2 * n_half, "merged intensity"));
    for (int set = 0; set < MERGE_SETS; set++) {
        MTIP_TRY(transform_merged(r, r->intensity + set * n_half, r->merged + set * volume,
                                  work_real, work_half));
    }
cleanup:
    backend_free(r->backend, &work_half);
    backend_free(r->backend, &work_real);
    return status;
}

/* Rank 0: phases the merged intensities, warm from the last density, and replaces A by its autocorrelation. */
static enum mtip_status phase_merged(struct reconstruction *r, int64_t g, double part,
                                     struct phase_metrics *metrics)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size, cube[3] = {m, m, m};
    const int64_t n_half = fft_half_count(cube), volume = m * m * m;
    const double radius = r->geometry.particle_radius;
    double *intensity = NULL, *work = NULL;
    uint8_t *measured = NULL;

    MTIP_TRY(BACKEND_ALLOC(r->backend, &intensity, n_half, "phasing data"));
    MTIP_TRY(BACKEND_ALLOC(r->backend, &measured, n_half, "phasing mask"));
    MTIP_TRY(BACKEND_ALLOC(r->backend, &work, volume, "autocorrelation"));
    MTIP_TRY(
        backend_upload(r->backend, intensity, r->intensity, (size_t)n_half * sizeof *intensity));
    MTIP_TRY(backend_upload(r->backend, measured, r->measured, (size_t)n_half));
    MTIP_TRY(phaser_set_data(r->phaser, intensity, measured));
    if (g == 0) {
        MTIP_TRY(phaser_random_start(r->phaser, (uint64_t)r->config->run.seed, 0, radius,
                                     r->density, r->support));
    } else if (part < 1.0) {
        /* the support is found anew while the resolution grows */
        MTIP_TRY(phaser_ball(r->phaser, radius + 1.0, r->support));
    }
    MTIP_TRY(phaser_run(r->phaser, &r->phase, r->density, r->support, metrics));
    MTIP_TRY(phaser_autocorrelation(r->phaser, r->density, work));
    MTIP_TRY(backend_download(r->backend, r->a, work, (size_t)volume * sizeof *r->a));
cleanup:
    backend_free(r->backend, &work);
    backend_free(r->backend, &measured);
    backend_free(r->backend, &intensity);
    return status;
}

static enum mtip_status phase_density(struct reconstruction *r, int64_t g, double part,
                                      struct generation_metrics *metrics)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size;
    struct phase_metrics phased = {0};
    if (r->comm->rank == 0) {
        status = keep_merged(r);
        if (status == MTIP_OK) {
            status = generation_half_resolution(r, &metrics->half_resolution_A);
        }
        if (status == MTIP_OK) {
            status = phase_merged(r, g, part, &phased);
        }
        metrics->r_factor = phased.r_factor;
    }
    MTIP_TRY(comm_agree(r->comm, status));
    MTIP_TRY(comm_broadcast(r->comm, r->a, (size_t)(m * m * m) * sizeof *r->a, 0));
cleanup:
    return status;
}

/* Modes that the pixels in use reach: from the innermost pixel (half a grid step inside it) to `radius`; the mean
 * itself is never measured. */
static void set_measured(struct reconstruction *r, double radius)
{
    const int64_t m = r->geometry.grid_size;
    const double step = (double)m / (2.0 * PI);
    const double inner = r->geometry.radius[0] * step - 0.5;
    phase_mask_shells(r->measured, m, fmax(0.5, inner), radius * step);
}

/* The next step of the march, and whether frames still draw their candidates. */
static void advance(struct reconstruction *r, int64_t g)
{
    const struct config_run *run = &r->config->run;
    const int64_t next = r->stage + (r->moved < STRIDE_MOVED ? STRIDE : 1);
    if (r->drawing && march(run, next) >= r->config->orientation.candidates_end) {
        const int patient = (double)g < DRAWING_END * (double)run->generations;
        r->drawing = r->coverage < EVEN_COVERAGE && patient;
        r->stage = r->drawing ? r->stage : next;
    } else {
        r->stage = next;
    }
}

enum mtip_status generation_run(struct reconstruction *r, int64_t g)
{
    enum mtip_status status = MTIP_OK;
    struct generation_metrics metrics = {0};
    if (g == 0) {
        r->moved = 1.0;
        r->drawing = r->config->orientation.candidates > 0;
    } else {
        advance(r, g);
    }
    const double part = march(&r->config->run, r->stage);
    const double radius = fmax(part * PI, r->geometry.radius[0]) * (1.0 + 1e-9);
    const int64_t n_use = geometry_pixels_within(&r->geometry, radius);

    metrics.resolution_A = r->geometry.limit_A * PI / radius;
    frames_totals(r->totals, &r->frames, n_use);
    memcpy(r->previous, r->quaternions, (size_t)(4 * r->frames.n) * sizeof *r->quaternions);
    if (g == 0) {
        MTIP_TRY(start_orientations(r));
    } else {
        const int explored = explores(r, g);
        MTIP_TRY(search_orientations(r, g, part, n_use, &metrics));
        MTIP_TRY(generation_measure_orientations(r, &metrics));
        watch_gain(r, part, explored, metrics.log_likelihood);
    }
    set_measured(r, radius);
    double clock = log_seconds();
    MTIP_TRY(merge_frames(r, n_use));
    metrics.seconds_merge = log_seconds() - clock;
    clock = log_seconds();
    MTIP_TRY(phase_density(r, g, part, &metrics));
    metrics.seconds_phase = log_seconds() - clock;
    if (r->comm->rank == 0) {
        r->metrics[g] = metrics;
    }
cleanup:
    return status;
}
