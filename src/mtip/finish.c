/* finish.c - the end of a run: independent phasings over the ranks, averages, FSC and PRTF. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "mtip/align.h"
#include "mtip/reconstruct.h"
#include "mtip/resolution.h"

/* One independent phasing. */
struct job {
    enum merge_set set;
    int64_t start; /* its random start: different for every job */
};

/* What the phasings of one set come to on rank 0. */
struct set_outcome {
    int64_t n;         /* phasings */
    double *densities; /* [n][M][M][M] centred */
    double *r_factor;  /* [n] */
    double *mean;      /* [M][M][M] centred */
    double *prtf;      /* [M/2] */
};

static int64_t starts_of(const struct config_phasing *phasing, enum merge_set set)
{
    return set == MERGE_ALL ? phasing->starts : (phasing->starts + 1) / 2;
}

static int64_t job_count(const struct config_phasing *phasing)
{
    return starts_of(phasing, MERGE_ALL) + 2 * starts_of(phasing, MERGE_EVEN);
}

/* Jobs in order: all starts of all frames, then of the even, then of the odd half set. */
static struct job job_at(const struct config_phasing *phasing, int64_t i)
{
    const int64_t n_all = starts_of(phasing, MERGE_ALL), n_half = starts_of(phasing, MERGE_EVEN);
    struct job job = {.set = MERGE_ALL, .start = 1 + i};
    if (i >= n_all) {
        job.set = i < n_all + n_half ? MERGE_EVEN : MERGE_ODD;
    }
    return job;
}

static struct phase_schedule final_schedule(const struct config *config, double radius,
                                            int64_t n_support)
{
    struct phase_schedule schedule = phase_schedule_final(radius, n_support);
    schedule.algorithm = PHASE_RAAR;
    schedule.loops = (int)config->phasing.final_loops;
    schedule.iterations = (int)config->phasing.final_iterations;
    schedule.er_iterations = (int)config->phasing.final_er_iterations;
    return schedule;
}

/* Runs the phasing of one job; density host [M][M][M] centred. */
static enum mtip_status run_job(struct reconstruction *r, const struct job *job,
                                const struct phase_schedule *schedule, const double *intensity,
                                const uint8_t *measured, double *centred, double *host,
                                double *r_factor)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size;
    struct phase_metrics metrics = {0};
    MTIP_TRY(phaser_set_data(r->phaser, intensity, measured));
    MTIP_TRY(phaser_random_start(r->phaser, (uint64_t)r->config->run.seed, (uint64_t)job->start,
                                 schedule->radius, r->density, r->support));
    MTIP_TRY(phaser_run(r->phaser, schedule, r->density, r->support, &metrics));
    MTIP_TRY(backend_download(r->backend, host, r->density, (size_t)(m * m * m) * sizeof *host));
    align_centre(centred, host, m);
    *r_factor = metrics.r_factor;
cleanup:
    return status;
}

/* This rank's jobs (every size-th), densities [jobs of this rank][M^3]. */
static enum mtip_status run_jobs(struct reconstruction *r, const struct phase_schedule *schedule,
                                 double *densities, double *r_factors)
{
    enum mtip_status status = MTIP_OK;
    const struct config_phasing *phasing = &r->config->phasing;
    const int64_t m = r->geometry.grid_size, cube[3] = {m, m, m};
    const int64_t n_half = fft_half_count(cube), volume = m * m * m;
    const int64_t n_jobs = job_count(phasing);
    double *intensity = NULL, *host = NULL;
    uint8_t *measured = NULL;

    MTIP_TRY(BACKEND_ALLOC(r->backend, &intensity, n_half, "phasing data"));
    MTIP_TRY(BACKEND_ALLOC(r->backend, &measured, n_half, "phasing mask"));
    MTIP_TRY(MEMORY_ALLOC(&host, volume, "density"));
    MTIP_TRY(backend_upload(r->backend, measured, r->measured, (size_t)n_half));
    for (int64_t i = r->comm->rank, mine = 0; i < n_jobs; i += r->comm->size, mine++) {
        const struct job job = job_at(phasing, i);
        log_progress(r->log, "phasing", i, n_jobs);
        MTIP_TRY(backend_upload(r->backend, intensity, r->intensity + job.set * n_half,
                                (size_t)n_half * sizeof *intensity));
        MTIP_TRY(run_job(r, &job, schedule, intensity, measured, densities + mine * volume, host,
                         &r_factors[mine]));
    }
cleanup:
    log_progress(r->log, "phasing", 1, 1);
    memory_free(&host);
    backend_free(r->backend, &measured);
    backend_free(r->backend, &intensity);
    return status;
}

/* Brings all densities and R factors to rank 0 in the order of jobs. */
static enum mtip_status collect_jobs(struct reconstruction *r, double *all, double *all_r,
                                     const double *mine, const double *mine_r)
{
    enum mtip_status status = MTIP_OK;
    const struct comm *comm = r->comm;
    const int64_t m = r->geometry.grid_size, volume = m * m * m;
    const int64_t n_jobs = job_count(&r->config->phasing);
    const size_t bytes = (size_t)volume * sizeof *all;
    for (int64_t i = 0; i < n_jobs; i++) {
        const int owner = (int)(i % comm->size);
        const int64_t at = i / comm->size;
        if (owner == 0 && comm->rank == 0) {
            memcpy(all + i * volume, mine + at * volume, bytes);
            all_r[i] = mine_r[at];
        } else if (comm->rank == owner) {
            MTIP_TRY(comm_send(comm, mine + at * volume, bytes, 0, COMM_TAG_GRID));
            MTIP_TRY(comm_send(comm, mine_r + at, sizeof *mine_r, 0, COMM_TAG_GRID));
        } else if (comm->rank == 0) {
            MTIP_TRY(comm_receive(comm, all + i * volume, bytes, owner, COMM_TAG_GRID));
            MTIP_TRY(comm_receive(comm, all_r + i, sizeof *all_r, owner, COMM_TAG_GRID));
        }
    }
cleanup:
    return status;
}

static enum mtip_status average_set(struct reconstruction *r, struct aligner *aligner,
                                    struct set_outcome *outcome, double *densities,
                                    double *r_factor, int64_t n)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size;
    int64_t keep = (int64_t)floor(r->config->phasing.keep * (double)n + 1e-9);
    keep = keep < 1 ? 1 : keep;
    outcome->n = n;
    outcome->densities = densities;
    outcome->r_factor = r_factor;
    MTIP_TRY(MEMORY_ALLOC(&outcome->mean, m * m * m, "mean density"));
    MTIP_TRY(MEMORY_ALLOC(&outcome->prtf, resolution_n_shells(m), "PRTF"));
    MTIP_TRY(aligner_average(aligner, outcome->mean, outcome->prtf, NULL, densities, r_factor,
                             r->measured, n, keep));
cleanup:
    return status;
}

static int descending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* support = 1 at the n_support largest values of the density. */
static enum mtip_status brightest(double *support, const double *density, int64_t n,
                                  int64_t n_support)
{
    enum mtip_status status = MTIP_OK;
    double *sorted = NULL;
    MTIP_TRY(MEMORY_ALLOC(&sorted, n, "support"));
    memcpy(sorted, density, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, descending);
    const double threshold = sorted[(n_support < n ? n_support : n) - 1];
    for (int64_t i = 0; i < n; i++) {
        support[i] = density[i] >= threshold ? 1.0 : 0.0;
    }
cleanup:
    memory_free(&sorted);
    return status;
}

/* Half spectrum of real even values to the centred full grid of a result. */
static void centred_intensity(double *full, const double *half, int64_t m)
{
    const int64_t width = m / 2 + 1;
    for (int64_t z = 0; z < m; z++) {
        for (int64_t y = 0; y < m; y++) {
            for (int64_t x = 0; x < m; x++) {
                const int64_t kz = z - m / 2, ky = y - m / 2, kx = x - m / 2;
                const int64_t sign = kx < 0 ? -1 : 1;
                const int64_t hz = (sign * kz + m) % m, hy = (sign * ky + m) % m;
                full[(z * m + y) * m + x] = half[(hz * m + hy) * width + sign * kx];
            }
        }
    }
}

/* The volumes and curves of a result. */
static enum mtip_status fill_result(struct reconstruction *r, struct aligner *aligner,
                                    const struct set_outcome outcomes[MERGE_SETS],
                                    int64_t n_support, struct result *result)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size, volume = m * m * m;
    const int64_t n_shells = resolution_n_shells(m);
    result->grid_size = m;
    result->voxel_A = r->geometry.voxel_A;
    result->n_shells = n_shells;
    MTIP_TRY(MEMORY_ALLOC(&result->density, volume, "density"));
    MTIP_TRY(MEMORY_ALLOC(&result->support, volume, "support"));
    MTIP_TRY(MEMORY_ALLOC(&result->autocorrelation, volume, "autocorrelation"));
    MTIP_TRY(MEMORY_ALLOC(&result->intensity, volume, "intensity"));
    MTIP_TRY(MEMORY_ALLOC(&result->shell_resolution_A, n_shells, "shells"));
    MTIP_TRY(MEMORY_ALLOC(&result->prtf, n_shells, "PRTF"));
    MTIP_TRY(MEMORY_ALLOC(&result->fsc, n_shells, "FSC"));
    memcpy(result->density, outcomes[MERGE_ALL].mean, (size_t)volume * sizeof *result->density);
    memcpy(result->prtf, outcomes[MERGE_ALL].prtf, (size_t)n_shells * sizeof *result->prtf);
    MTIP_TRY(brightest(result->support, result->density, volume, n_support));
    align_centre(result->autocorrelation, r->merged, m);
    centred_intensity(result->intensity, r->intensity, m);
    resolution_shell_A(result->shell_resolution_A, m, r->geometry.voxel_A);
    MTIP_TRY(aligner_align(aligner, outcomes[MERGE_ODD].mean, outcomes[MERGE_EVEN].mean,
                           r->measured, NULL));
    MTIP_TRY(resolution_fsc(result->fsc, outcomes[MERGE_EVEN].mean, outcomes[MERGE_ODD].mean, m,
                            r->backend->n_threads));
    result->resolution_half_A = resolution_from_fsc(result->fsc, m, r->geometry.voxel_A, 0.5);
    result->resolution_seventh_A =
        resolution_from_fsc(result->fsc, m, r->geometry.voxel_A, 1.0 / 7.0);
cleanup:
    return status;
}

static void log_outcome(struct reconstruction *r, const struct set_outcome *all)
{
    double low = INFINITY, high = 0.0;
    for (int64_t i = 0; i < all->n; i++) {
        low = fmin(low, all->r_factor[i]);
        high = fmax(high, all->r_factor[i]);
    }
    log_info(r->log, "%d independent phasings, R factor %.3f to %.3f", (int)all->n, low, high);
}

/* Rank 0: averages of the three sets, and the result made of them. */
static enum mtip_status conclude(struct reconstruction *r, double *densities, double *r_factors,
                                 int64_t n_support, struct result *result)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size, volume = m * m * m;
    struct set_outcome outcomes[MERGE_SETS] = {{0}};
    struct aligner *aligner = NULL;
    int64_t first = 0;
    MTIP_TRY(aligner_create(&aligner, m, r->backend->n_threads));
    for (int set = 0; set < MERGE_SETS; set++) {
        const int64_t n = starts_of(&r->config->phasing, (enum merge_set)set);
        MTIP_TRY(average_set(r, aligner, &outcomes[set], densities + first * volume,
                             r_factors + first, n));
        first += n;
    }
    log_outcome(r, &outcomes[MERGE_ALL]);
    MTIP_TRY(fill_result(r, aligner, outcomes, n_support, result));
cleanup:
    for (int set = 0; set < MERGE_SETS; set++) {
        memory_free(&outcomes[set].prtf);
        memory_free(&outcomes[set].mean);
    }
    aligner_destroy(&aligner);
    return status;
}

/* Rank 0: the size of the support from the merged intensities, beginning with the density of the last
 * generation, which is used up. */
static enum mtip_status search_support(struct reconstruction *r, int64_t *n_support)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size, cube[3] = {m, m, m};
    const int64_t n_half = fft_half_count(cube);
    double *intensity = NULL;
    uint8_t *measured = NULL;
    struct phase_scan scan;
    MTIP_TRY(BACKEND_ALLOC(r->backend, &intensity, n_half, "phasing data"));
    MTIP_TRY(BACKEND_ALLOC(r->backend, &measured, n_half, "phasing mask"));
    MTIP_TRY(backend_upload(r->backend, intensity, r->intensity + MERGE_ALL * n_half,
                            (size_t)n_half * sizeof *intensity));
    MTIP_TRY(backend_upload(r->backend, measured, r->measured, (size_t)n_half));
    MTIP_TRY(phaser_set_data(r->phaser, intensity, measured));
    MTIP_TRY(phase_find_support(r->phaser, r->geometry.particle_radius, r->density, r->support,
                                n_support, &scan));
    log_info(r->log, "support: %lld voxels, found in %d steps from %lld down",
             (long long)*n_support, scan.n, (long long)scan.n_support[0]);
cleanup:
    backend_free(r->backend, &measured);
    backend_free(r->backend, &intensity);
    return status;
}

/* Voxels of the support at the end: from the mass where it is known, else from the data, on rank 0. */
static enum mtip_status choose_support(struct reconstruction *r, int64_t *n_support)
{
    const double volumes = r->config->phasing.support_volume;
    *n_support = (int64_t)(volumes * r->geometry.support_voxels);
    return *n_support > 0 ? MTIP_OK : search_support(r, n_support);
}

enum mtip_status finish_run(struct reconstruction *r, struct result *result)
{
    enum mtip_status status = MTIP_OK;
    const struct comm *comm = r->comm;
    const int64_t m = r->geometry.grid_size, cube[3] = {m, m, m};
    const int64_t n_half = fft_half_count(cube), volume = m * m * m;
    const int64_t n_jobs = job_count(&r->config->phasing);
    const int64_t n_mine = (n_jobs - comm->rank + comm->size - 1) / comm->size;
    double *mine = NULL, *mine_r = NULL, *all = NULL, *all_r = NULL;
    int64_t n_support = 0;

    status = MEMORY_ALLOC(&mine, n_mine * volume, "phased densities");
    if (status == MTIP_OK) {
        status = MEMORY_ALLOC(&mine_r, n_mine, "R factors");
    }
    if (status == MTIP_OK && comm->rank == 0) {
        status = MEMORY_ALLOC(&all, n_jobs * volume, "phased densities");
    }
    if (status == MTIP_OK && comm->rank == 0) {
        status = MEMORY_ALLOC(&all_r, n_jobs, "R factors");
    }
    if (status == MTIP_OK && comm->rank == 0) {
        status = choose_support(r, &n_support);
    }
    MTIP_TRY(comm_agree(comm, status));
    MTIP_TRY(comm_broadcast(comm, &n_support, sizeof n_support, 0));
    MTIP_TRY(comm_broadcast(comm, r->intensity,
                            (size_t)(MERGE_SETS * n_half) * sizeof *r->intensity, 0));
    const struct phase_schedule schedule =
        final_schedule(r->config, r->geometry.particle_radius, n_support);
    MTIP_TRY(comm_agree(comm, run_jobs(r, &schedule, mine, mine_r)));
    MTIP_TRY(collect_jobs(r, all, all_r, mine, mine_r));
    if (comm->rank == 0) {
        status = conclude(r, all, all_r, n_support, result);
    }
    MTIP_TRY(comm_agree(comm, status));
cleanup:
    memory_free(&all_r);
    memory_free(&all);
    memory_free(&mine_r);
    memory_free(&mine);
    return status;
}
