/* generation_metrics.c - what a generation reports: turns, fit, coverage, agreement of the half sets, the table. */
#include <math.h>
#include <stdlib.h>

#include "core/exact_sum.h"
#include "core/memory.h"
#include "mtip/orient.h"
#include "mtip/reconstruct.h"
#include "mtip/resolution.h"

#define PI 3.14159265358979323846264338327950288

/* Evenness of the frames' viewing directions: three times the least eigenvalue of the mean of v v^T. beam [n][3] and
 * work [n] are scratch. */
static enum mtip_status measure_coverage(const struct reconstruction *r, double *beam, double *work,
                                         double *coverage)
{
    enum mtip_status status = MTIP_OK;
    static const int rows[6] = {0, 1, 2, 0, 0, 1}, columns[6] = {0, 1, 2, 1, 2, 2};
    const int64_t n = r->frames.n;
    double scatter[6];
    for (int64_t f = 0; f < n; f++) {
        double matrix[9];
        quaternion_to_matrix(matrix, r->quaternions + 4 * f);
        for (int i = 0; i < 3; i++) {
            beam[3 * f + i] = matrix[3 * i + 2]; /* in the particle's frame: column z */
        }
    }
    for (int k = 0; k < 6; k++) {
        for (int64_t f = 0; f < n; f++) {
            work[f] = beam[3 * f + rows[k]] * beam[3 * f + columns[k]];
        }
        MTIP_TRY(exact_sum(r->comm, &scatter[k], work, n));
        scatter[k] /= (double)r->frames.n_total;
    }
    *coverage = 3.0 * orient_least_eigenvalue(scatter);
cleanup:
    return status;
}

enum mtip_status generation_measure_orientations(struct reconstruction *r,
                                                 struct generation_metrics *metrics)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n = r->frames.n, n_total = r->frames.n_total;
    const double spacing = orient_spacing(metrics->n_references);
    double *turn = NULL, *beam = NULL, *all = NULL;
    double moved = 0.0, score = 0.0, photons = 0.0;

    status = MEMORY_ALLOC(&turn, n, "turns");
    if (status == MTIP_OK) {
        status = MEMORY_ALLOC(&beam, 3 * n, "viewing directions");
    }
    if (status == MTIP_OK && r->comm->rank == 0) {
        status = MEMORY_ALLOC(&all, n_total, "turns");
    }
    MTIP_TRY(comm_agree(r->comm, status));
    for (int64_t f = 0; f < n; f++) {
        turn[f] = orient_turn(r->previous + 4 * f, r->quaternions + 4 * f);
        moved += turn[f] > spacing ? 1.0 : 0.0;
    }
    MTIP_TRY(comm_gather_rows(r->comm, all, turn, n_total, r->frames.n_chunks, sizeof *turn, 0));
    MTIP_TRY(comm_allreduce_sum(r->comm, &moved, 1));
    MTIP_TRY(measure_coverage(r, beam, turn, &metrics->coverage));
    r->coverage = metrics->coverage;
    metrics->moved_fraction = moved / (double)n_total;
    r->moved = metrics->moved_fraction;
    MTIP_TRY(exact_sum(r->comm, &score, r->score, n));
    MTIP_TRY(exact_sum(r->comm, &photons, r->totals, n));
    metrics->log_likelihood = photons > 0.0 ? score / photons : 0.0;
    if (r->comm->rank == 0) {
        metrics->median_turn_deg = orient_median(all, n_total) * 180.0 / PI;
    }
cleanup:
    memory_free(&all);
    memory_free(&beam);
    memory_free(&turn);
    return status;
}

/* Resolution at which the intensities of the half merges, less their shell means, correlate by 0.5. */
enum mtip_status generation_half_resolution(const struct reconstruction *r, double *resolution_A)
{
    enum mtip_status status = MTIP_OK;
    const int64_t m = r->geometry.grid_size, cube[3] = {m, m, m};
    const int64_t n_half = fft_half_count(cube), n_shells = resolution_n_shells(m);
    double *spectra = NULL, *mean = NULL, *fsc = NULL;
    MTIP_TRY(MEMORY_ALLOC(&spectra, 4 * n_half, "half-set intensities"));
    MTIP_TRY(MEMORY_ALLOC(&mean, n_shells, "shell means"));
    MTIP_TRY(MEMORY_ALLOC(&fsc, n_shells, "shell correlation"));
    for (int half = 0; half < 2; half++) {
        const double *intensity = r->intensity + (MERGE_EVEN + half) * n_half;
        double *spectrum = spectra + 2 * half * n_half;
        resolution_shell_mean(mean, intensity, r->measured, m);
        for (int64_t i = 0; i < n_half; i++) {
            const int64_t row = i / (m / 2 + 1);
            const int64_t shell = resolution_shell(row / m, row % m, i % (m / 2 + 1), m);
            spectrum[2 * i] = intensity[i] - (shell >= 0 ? mean[shell] : intensity[i]);
        }
    }
    resolution_fsc_half(fsc, spectra, spectra + 2 * n_half, r->measured, m);
    /* what lies inside the beamstop, or outside the march, says nothing: shells without a mode in use are
     * taken as good below the first used one so that the curve starts there */
    for (int64_t i = 0; i < n_shells && mean[i] == 0.0; i++) {
        fsc[i] = 1.0;
    }
    *resolution_A = resolution_from_fsc(fsc, m, r->geometry.voxel_A, 0.5);
cleanup:
    memory_free(&fsc);
    memory_free(&mean);
    memory_free(&spectra);
    return status;
}

void generation_log_titles(struct log *log)
{
    log_info(log, "%3s %7s %6s %9s %6s %7s %5s %6s %7s | %6s %6s %6s %6s %6s", "gen", "d (A)",
             "refs", "logL/ph", "moved", "turn", "even", "R", "half(A)", "slice", "match", "refine",
             "merge", "phase");
}

void generation_log_row(struct log *log, int64_t g, const struct generation_metrics *t)
{
    if (t->n_references == 0) {
        log_info(log, "%3d %7.2f %6s %9s %6s %7s %5s %6.3f %7.2f | %6s %6s %6s %6.2f %6.2f", (int)g,
                 t->resolution_A, "-", "-", "-", "-", "-", t->r_factor, t->half_resolution_A, "-",
                 "-", "-", t->seconds_merge, t->seconds_phase);
        return;
    }
    log_info(log,
             "%3d %7.2f %6d %9.4f %5.1f%% %6.2f\xc2\xb0 %5.2f %6.3f %7.2f | %6.2f %6.2f %6.2f "
             "%6.2f %6.2f",
             (int)g, t->resolution_A, (int)t->n_references, t->log_likelihood,
             100.0 * t->moved_fraction, t->median_turn_deg, t->coverage, t->r_factor,
             t->half_resolution_A, t->seconds_slice, t->seconds_match, t->seconds_refine,
             t->seconds_merge, t->seconds_phase);
}
