/* reconstruct.c - the driver: set-up, the generation loop, the end, the result. */
#define _GNU_SOURCE
#include "mtip/reconstruct.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "io/mrc.h"

/* Frames kept beside their matched slices for the report. */
#define N_SHOWN 6

/* ---- set-up -------------------------------------------------------------------------------------- */

/* Rank 0 opens the file; every rank learns the geometry and the number of frames. */
static enum mtip_status open_input(struct reconstruction *r, struct dataset **dataset,
                                   int64_t *n_frames)
{
    enum mtip_status status = MTIP_OK;
    const struct config_input *input = &r->config->input;
    const struct dataset_options options = {
        .detector_file = input->detector, .wavelength_A = input->wavelength, .bin = input->bin};
    *n_frames = 0;
    if (r->comm->rank == 0) {
        status = dataset_open(dataset, input->file, &options);
        if (status == MTIP_OK) {
            *n_frames = dataset_n_frames(*dataset);
            if (input->max_frames > 0 && input->max_frames < *n_frames) {
                *n_frames = input->max_frames;
            }
            if (*n_frames < r->comm->size) {
                status = MTIP_ERROR(MTIP_ERR_CONFIG,
                                    "%s: %" PRId64 " frames for %d ranks; start at most %" PRId64
                                    " ranks",
                                    input->file, *n_frames, r->comm->size, *n_frames);
            }
        }
        if (status == MTIP_OK) {
            status = geometry_create(&r->geometry, dataset_detector(*dataset), r->config);
        }
    }
    MTIP_TRY(comm_agree(r->comm, status));
    MTIP_TRY(comm_broadcast(r->comm, n_frames, sizeof *n_frames, 0));
    MTIP_TRY(geometry_broadcast(&r->geometry, r->comm));
cleanup:
    return status;
}

static enum mtip_status choose_phase(struct reconstruction *r)
{
    enum mtip_status status = MTIP_OK;
    const struct config_phasing *phasing = &r->config->phasing;
    const double radius = r->geometry.particle_radius;
    r->phase = phase_schedule_search(radius);
    MTIP_TRY(phase_algorithm_parse(&r->phase.algorithm, phasing->algorithm));
    r->phase.beta = phasing->beta;
    r->phase.loops = (int)phasing->loops;
    r->phase.iterations = (int)phasing->iterations;
    r->phase.er_iterations = (int)phasing->er_iterations;
    r->phase.sigma_start = phasing->support_sigma;
    r->phase.sigma_end = phasing->support_sigma_end;
    r->phase.n_support = (int64_t)(phasing->support_fraction * (double)phase_ball_volume(radius));
    r->phase.n_support = r->phase.n_support < 1 ? 1 : r->phase.n_support;
cleanup:
    return status;
}

static enum mtip_status create_arrays(struct reconstruction *r)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n = r->frames.n, m = r->geometry.grid_size, cube[3] = {m, m, m};
    const int64_t volume = m * m * m, n_half = fft_half_count(cube);
    MTIP_TRY(MEMORY_ALLOC(&r->quaternions, 4 * n, "orientations"));
    MTIP_TRY(MEMORY_ALLOC(&r->previous, 4 * n, "orientations"));
    MTIP_TRY(MEMORY_ALLOC(&r->fluence, n, "fluence"));
    MTIP_TRY(MEMORY_ALLOC(&r->score, n, "scores"));
    MTIP_TRY(MEMORY_ALLOC(&r->slice_sum, n, "slice sums"));
    MTIP_TRY(MEMORY_ALLOC(&r->totals, n, "frame totals"));
    MTIP_TRY(MEMORY_ALLOC(&r->model, r->geometry.n_pixel, "isotropic model"));
    MTIP_TRY(MEMORY_ALLOC(&r->a, MERGE_SETS * volume, "autocorrelation"));
    MTIP_TRY(MEMORY_ALLOC(&r->measured, n_half, "phasing mask"));
    MTIP_TRY(MEMORY_ALLOC(&r->intensity, MERGE_SETS * n_half, "merged intensity"));
    if (r->comm->rank == 0) {
        MTIP_TRY(MEMORY_ALLOC(&r->merged, MERGE_SETS * volume, "merged autocorrelation"));
        MTIP_TRY(MEMORY_ALLOC(&r->metrics, r->config->run.generations, "metrics"));
    }
    MTIP_TRY(BACKEND_ALLOC(r->backend, &r->density, volume, "density"));
    MTIP_TRY(BACKEND_ALLOC(r->backend, &r->support, volume, "support"));
cleanup:
    return status;
}

static enum mtip_status create_stages(struct reconstruction *r)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(slicer_create(&r->slicer, r->backend, &r->geometry, r->precision, r->max_rotations));
    MTIP_TRY(search_create(&r->search, r->comm, r->backend, &r->geometry, &r->frames, r->slicer,
                           r->precision, r->max_rotations));
    MTIP_TRY(merger_create(&r->merger, r->backend, &r->geometry, &r->frames, r->precision,
                           r->merge_frames));
    MTIP_TRY(phaser_create(&r->phaser, r->backend, r->geometry.grid_size));
    MTIP_TRY(create_arrays(r));
cleanup:
    return status;
}

static void log_setup(struct reconstruction *r, int64_t n_frames)
{
    const struct geometry *g = &r->geometry;
    log_info(r->log, "input       %s: %" PRId64 " frames, %" PRId64 " pixels in use",
             r->config->input.file, n_frames, g->n_pixel);
    log_info(r->log, "grid        %" PRId64 "^3 voxels of %.3f A, resolution limit %.2f A",
             g->grid_size, g->voxel_A, g->limit_A);
    log_info(r->log, "particle    radius at most %.1f A%s", (g->particle_radius - 1.0) * g->voxel_A,
             r->config->particle.diameter > 0.0 ? "" : " (particle.diameter is not set)");
    log_info(r->log, "running on  %d rank%s, %s, slices in %s precision", r->comm->size,
             r->comm->size == 1 ? "" : "s", r->backend->description,
             r->precision == NUFFT_FLOAT ? "single" : "double");
    if (r->backend->note[0] != '\0') {
        log_info(r->log, "            on the CPU, since %s", r->backend->note);
    }
}

/* Threads of this rank: as configured; else OMP_NUM_THREADS; else this process's cores, shared out where
 * the launcher has not bound ranks to cores of their own. */
static int choose_threads(const struct reconstruction *r)
{
    if (r->config->run.threads > 0) {
        return (int)r->config->run.threads;
    }
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (getenv("OMP_NUM_THREADS") != NULL || sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return 0; /* OpenMP's own choice */
    }
    const int cores = CPU_COUNT(&allowed);
    const int bound = cores < sysconf(_SC_NPROCESSORS_ONLN);
    const int share = bound ? cores : cores / r->comm->node_size;
    return share < 1 ? 1 : share;
}

static enum mtip_status set_up(struct reconstruction *r)
{
    enum mtip_status status = MTIP_OK;
    struct dataset *dataset = NULL;
    int64_t n_frames = 0;

    r->precision = strcmp(r->config->run.precision, "double") == 0 ? NUFFT_DOUBLE : NUFFT_FLOAT;
    MTIP_TRY(comm_agree(r->comm, backend_create(&r->backend, r->config->run.backend,
                                                r->comm->node_rank, choose_threads(r))));
    MTIP_TRY(open_input(r, &dataset, &n_frames));
    MTIP_TRY(comm_agree(r->comm, choose_phase(r)));
    log_setup(r, n_frames);
    MTIP_TRY(reconstruct_fit_memory(r, n_frames));
    MTIP_TRY(frames_load(&r->frames, r->comm, r->backend, dataset, &r->geometry, n_frames,
                         r->window, r->log));
    MTIP_TRY(comm_agree(r->comm, create_stages(r)));
cleanup:
    dataset_close(&dataset);
    return status;
}

static void tear_down(struct reconstruction *r)
{
    if (r->backend != NULL) {
        backend_free(r->backend, &r->support);
        backend_free(r->backend, &r->density);
    }
    memory_free(&r->metrics);
    memory_free(&r->merged);
    memory_free(&r->intensity);
    memory_free(&r->measured);
    memory_free(&r->a);
    memory_free(&r->model);
    memory_free(&r->totals);
    memory_free(&r->slice_sum);
    memory_free(&r->score);
    memory_free(&r->fluence);
    memory_free(&r->previous);
    memory_free(&r->quaternions);
    phaser_destroy(&r->phaser);
    merger_destroy(&r->merger);
    search_destroy(&r->search);
    slicer_destroy(&r->slicer);
    if (r->backend != NULL) {
        frames_release(&r->frames, r->backend);
    }
    geometry_release(&r->geometry);
    backend_destroy(&r->backend);
}

/* ---- result -------------------------------------------------------------------------------------- */

/* Per-frame results of all ranks, on rank 0. */
static enum mtip_status gather_frames(struct reconstruction *r, struct result *result)
{
    enum mtip_status status = MTIP_OK;
    const struct comm *comm = r->comm;
    const int64_t n = r->frames.n_total;
    if (comm->rank == 0) {
        result->n_frames = n;
        status = MEMORY_ALLOC(&result->orientations, 4 * n, "orientations");
        if (status == MTIP_OK) {
            status = MEMORY_ALLOC(&result->fluence, n, "fluence");
        }
        if (status == MTIP_OK) {
            status = MEMORY_ALLOC(&result->score, n, "scores");
        }
        if (status == MTIP_OK) {
            status = MEMORY_ALLOC(&result->half, n, "half sets");
        }
    }
    MTIP_TRY(comm_agree(comm, status));
    for (int64_t f = 0; f < r->frames.n; f++) {
        r->score[f] /= fmax(r->totals[f], 1.0);
    }
    const int64_t chunks = r->frames.n_chunks;
    MTIP_TRY(comm_gather_rows(comm, result->orientations, r->quaternions, n, chunks,
                              4 * sizeof *r->quaternions, 0));
    MTIP_TRY(comm_gather_rows(comm, result->fluence, r->fluence, n, chunks, sizeof *r->fluence, 0));
    MTIP_TRY(comm_gather_rows(comm, result->score, r->score, n, chunks, sizeof *r->score, 0));
    for (int64_t f = 0; f < result->n_frames; f++) {
        result->half[f] = frames_half(f);
    }
cleanup:
    return status;
}

/* Pixel values [P] of frame data or of a slice to a picture [ny][nx] of the first panel, NaN elsewhere. */
static void paint(double *picture, const struct reconstruction *r, int64_t n_picture,
                  const float *data, const double *slice)
{
    for (int64_t i = 0; i < n_picture; i++) {
        picture[i] = (double)NAN;
    }
    for (int64_t p = 0; p < r->geometry.n_pixel; p++) {
        if (r->geometry.pixel[p] < n_picture) {
            picture[r->geometry.pixel[p]] = data != NULL ? (double)data[p] : slice[p];
        }
    }
}

/* Rank 0: some of its frames beside their slices of the last model, scaled by fluence and response to photons. */
static enum mtip_status show_frames(struct reconstruction *r, struct result *result)
{
    enum mtip_status status = MTIP_OK;
    const int64_t ny = r->geometry.panel_ny, nx = r->geometry.panel_nx;
    const int64_t n_pixel = r->geometry.n_pixel, n_picture = ny * nx;
    int64_t begin = 0, n_chunk = 0; /* the first chunk is rank 0's, whatever the number of ranks */
    comm_split(r->frames.n_total, r->frames.n_chunks, 0, &begin, &n_chunk);
    const int64_t n = n_chunk < N_SHOWN ? n_chunk : N_SHOWN;
    void *device = NULL, *host = NULL;
    double *slice = NULL;
    const size_t item = slicer_item_size(r->precision);

    MTIP_TRY(MEMORY_ALLOC(&result->shown_frame, n, "shown frames"));
    MTIP_TRY(MEMORY_ALLOC(&result->shown_data, n * n_picture, "shown frames"));
    MTIP_TRY(MEMORY_ALLOC(&result->shown_model, n * n_picture, "shown frames"));
    MTIP_TRY(backend_alloc(r->backend, &device, n_pixel, item, "slice"));
    MTIP_TRY(memory_alloc(&host, n_pixel, item, "slice"));
    MTIP_TRY(MEMORY_ALLOC(&slice, n_pixel, "slice"));
    MTIP_TRY(slicer_set_autocorrelation(r->slicer, r->a));
    for (int64_t i = 0; i < n; i++) {
        const int64_t f = i * n_chunk / n;
        MTIP_TRY(slicer_intensities(r->slicer, device, r->quaternions + 4 * f, 1, n_pixel));
        MTIP_TRY(backend_download(r->backend, host, device, (size_t)n_pixel * item));
        for (int64_t p = 0; p < n_pixel; p++) {
            const double w =
                r->precision == NUFFT_FLOAT ? (double)((float *)host)[p] : ((double *)host)[p];
            slice[p] = fmax(w, 0.0) * r->fluence[f] * r->geometry.response[p];
        }
        result->shown_frame[i] = r->frames.first + f;
        paint(result->shown_data + i * n_picture, r, n_picture, r->frames.host + f * n_pixel, NULL);
        paint(result->shown_model + i * n_picture, r, n_picture, NULL, slice);
    }
    result->n_shown = n;
    result->show_ny = ny;
    result->show_nx = nx;
cleanup:
    memory_free(&slice);
    memory_free(&host);
    backend_free(r->backend, &device);
    return status;
}

/* Rank 0: provenance, and the files. */
static enum mtip_status write_result(struct reconstruction *r, struct result *result,
                                     int64_t n_generations)
{
    enum mtip_status status = MTIP_OK;
    char *result_path = NULL, *mrc_path = NULL;
    result->n_generations = n_generations;
    result->generations = r->metrics;
    r->metrics = NULL; /* now the result's */
    result->config = *r->config;
    snprintf(result->version, sizeof result->version, "%s", MTIP_VERSION);
    snprintf(result->input_path, sizeof result->input_path, "%s", r->config->input.file);
    snprintf(result->backend, sizeof result->backend, "%s", r->backend->description);
    result->n_ranks = r->comm->size;
    result->n_threads = r->backend->n_threads;
    MTIP_TRY(dataset_checksum(result->input_checksum, r->config->input.file));
    if (asprintf(&result_path, "%s/result.h5", r->config->run.output) < 0 ||
        asprintf(&mrc_path, "%s/density.mrc", r->config->run.output) < 0) {
        MTIP_FAIL(MTIP_ERR_MEMORY, "output paths: out of memory");
    }
    MTIP_TRY(mrc_write(mrc_path, result->density, result->grid_size, result->voxel_A));
    MTIP_TRY(result_write(result_path, result));
    log_info(r->log, "resolution  %.2f A (FSC 0.5) and %.2f A (FSC 1/7) between half sets",
             result->resolution_half_A, result->resolution_seventh_A);
    log_info(r->log, "written     %s and %s", result_path, mrc_path);
cleanup:
    free(mrc_path);
    free(result_path);
    return status;
}

enum mtip_status reconstruct_run(const struct config *config, const struct comm *comm,
                                 struct log *log)
{
    enum mtip_status status = MTIP_OK;
    struct reconstruction r = {.config = config, .comm = comm, .log = log};
    struct result result;
    const double start = log_seconds();
    int64_t n_done = 0;

    memset(&result, 0, sizeof result);
    MTIP_TRY(set_up(&r));
    generation_log_titles(log);
    for (; n_done < config->run.generations && !generation_settled(&r); n_done++) {
        MTIP_TRY(generation_run(&r, n_done));
        if (comm->rank == 0) {
            generation_log_row(log, n_done, &r.metrics[n_done]);
        }
    }
    if (n_done < config->run.generations) {
        log_info(log, "settled after %" PRId64 " generations", n_done);
    }
    MTIP_TRY(finish_run(&r, &result));
    MTIP_TRY(gather_frames(&r, &result));
    if (comm->rank == 0) {
        status = show_frames(&r, &result);
        if (status == MTIP_OK) {
            status = write_result(&r, &result, n_done);
        }
    }
    MTIP_TRY(comm_agree(comm, status));
    log_info(log, "done in %.1f s", log_seconds() - start);
cleanup:
    result_release(&result);
    tear_down(&r);
    return status;
}
