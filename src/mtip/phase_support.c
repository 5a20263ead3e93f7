/* phase_support.c - the size of the support when the particle's mass is not known. */
#include <math.h>

#include "mtip/phase.h"

/* Each step of the scan keeps this part of the voxels. */
#define KEEP 0.85

/* A step that costs less than this in R^2, by ln N, does not cut into the particle. Seen with a globular protein and
 * a rod, noise-free and noisy (R 0.02 to 0.3): 0.002 to 0.009 before the knee, 0.014 to 0.03 at
 * it, 0.07 and more beyond. */
#define FLAT 0.012

/* The scan ends this far in R^2 above the lowest, well beyond the knee, or at MIN_VOXELS. */
#define RISE 0.1
#define MIN_VOXELS 8.0

/* Room above the tightest good support. */
#define MARGIN 1.2

/* First the start settles in a loose support. */
static struct phase_schedule settle_schedule(double radius)
{
    struct phase_schedule schedule = phase_schedule_search(radius);
    schedule.beta = 0.95;
    schedule.beta_end = 0.7;
    return schedule;
}

static struct phase_schedule step_schedule(double radius)
{
    struct phase_schedule schedule = phase_schedule_search(radius);
    schedule.beta = 0.7;
    schedule.beta_end = 0.7;
    schedule.loops = 1;
    schedule.iterations = 20;
    schedule.er_iterations = 5;
    schedule.final_er_iterations = 20;
    schedule.sigma_start = 1;
    schedule.sigma_end = 1;
    return schedule;
}

/* -d(R^2)/d(ln N) between entry i and the next tighter one. */
static double slope(const struct phase_scan *scan, int i)
{
    const double loose = scan->r_factor[i], tight = scan->r_factor[i + 1];
    const double ratio = (double)scan->n_support[i] / (double)scan->n_support[i + 1];
    return (tight * tight - loose * loose) / log(ratio);
}

/* From the tight end, where every step costs, to the first that does not; where noise leaves none, the
 * cheapest. */
static int tightest_good(const struct phase_scan *scan)
{
    int cheapest = 0;
    for (int i = scan->n - 2; i >= 0; i--) {
        if (slope(scan, i) <= FLAT) {
            return i + 1;
        }
        if (slope(scan, i) < slope(scan, cheapest)) {
            cheapest = i;
        }
    }
    return scan->n > 1 ? cheapest + 1 : 0;
}

enum mtip_status phase_find_support(struct phaser *phaser, double radius, double *density,
                                    uint8_t *support, int64_t *n_support, struct phase_scan *scan)
{
    enum mtip_status status = MTIP_OK;
    struct phase_scan seen = {.n = 0};
    const struct phase_schedule settle = settle_schedule(radius);
    struct phase_schedule step = step_schedule(radius);
    double lowest = INFINITY;
    MTIP_TRY(phaser_run(phaser, &settle, density, support, NULL));
    for (double voxels = (double)phase_ball_volume(radius);
         voxels >= MIN_VOXELS && seen.n < PHASE_SCAN_MAX; voxels *= KEEP) {
        struct phase_metrics metrics;
        step.n_support = (int64_t)voxels;
        MTIP_TRY(phaser_run(phaser, &step, density, support, &metrics));
        seen.n_support[seen.n] = step.n_support;
        seen.r_factor[seen.n++] = metrics.r_factor;
        lowest = fmin(lowest, metrics.r_factor);
        if (metrics.r_factor * metrics.r_factor > lowest * lowest + RISE) {
            break;
        }
    }
    *n_support = phase_ball_volume(radius);
    if (seen.n > 0) {
        const double found = MARGIN * (double)seen.n_support[tightest_good(&seen)];
        *n_support = found < (double)*n_support ? (int64_t)found : *n_support;
    }
    if (scan != NULL) {
        *scan = seen;
    }
cleanup:
    return status;
}
