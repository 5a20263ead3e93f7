/* phase_schedule.c - what a phasing does: names, default schedules, support sizes, masks. */
#include <math.h>
#include <string.h>

#include "mtip/phase.h"

#define PI 3.14159265358979323846

static const char *const algorithm_names[] = {
    [PHASE_RAAR] = "raar",
    [PHASE_HIO] = "hio",
    [PHASE_ER] = "er",
};
#define N_ALGORITHMS ((int)(sizeof algorithm_names / sizeof *algorithm_names))

const char *phase_algorithm_name(enum phase_algorithm algorithm)
{
    return algorithm_names[algorithm];
}

enum mtip_status phase_algorithm_parse(enum phase_algorithm *algorithm, const char *name)
{
    for (int i = 0; i < N_ALGORITHMS; i++) {
        if (strcmp(name, algorithm_names[i]) == 0) {
            *algorithm = (enum phase_algorithm)i;
            return MTIP_OK;
        }
    }
    return MTIP_ERROR(MTIP_ERR_ARGUMENT, "phasing algorithm \"%s\"; it must be raar, hio or er",
                      name);
}

int64_t phase_ball_volume(double radius)
{
    const double volume = 4.0 / 3.0 * PI * radius * radius * radius;
    return volume < 1 ? 1 : (int64_t)(volume + 0.5);
}

int64_t phase_support_from_mass(double mass_kDa, double voxel_A)
{
    const double voxels = 2 * 1.21 * 1000 * mass_kDa / (voxel_A * voxel_A * voxel_A);
    return voxels < 1 ? 1 : (int64_t)(voxels + 0.5);
}

struct phase_schedule phase_schedule_search(double radius)
{
    const double support = 0.45 * (double)phase_ball_volume(radius);
    const struct phase_schedule schedule = {
        .algorithm = PHASE_RAAR,
        .beta = 0.87,
        .beta_end = 0,
        .loops = 4,
        .iterations = 25,
        .er_iterations = 10,
        .final_er_iterations = 20,
        .sigma_start = 2.5,
        .sigma_end = 1.2,
        .n_support = support < 1 ? 1 : (int64_t)support,
        .radius = radius,
    };
    return schedule;
}

struct phase_schedule phase_schedule_final(double radius, int64_t n_support)
{
    const struct phase_schedule schedule = {
        .algorithm = PHASE_RAAR,
        .beta = 0.95,
        .beta_end = 0.7,
        .loops = 10,
        .iterations = 40,
        .er_iterations = 15,
        .final_er_iterations = 50,
        .sigma_start = 2.5,
        .sigma_end = 1.0,
        .n_support = n_support,
        .radius = radius,
    };
    return schedule;
}

void phase_mask_shells(uint8_t *measured, int64_t M, double k_min, double k_max)
{
    int64_t i = 0;
    for (int64_t z = 0; z < M; z++) {
        const double k_z = (double)(z <= M / 2 ? z : M - z);
        for (int64_t y = 0; y < M; y++) {
            const double k_y = (double)(y <= M / 2 ? y : M - y);
            for (int64_t x = 0; x < M / 2 + 1; x++) {
                const double k = sqrt(k_z * k_z + k_y * k_y + (double)(x * x));
                measured[i++] = k >= k_min && k <= k_max;
            }
        }
    }
}

enum mtip_status phase_schedule_check(const struct phase_schedule *s)
{
    if (s->algorithm < 0 || (int)s->algorithm >= N_ALGORITHMS) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "phasing: algorithm %d does not exist",
                          (int)s->algorithm);
    }
    if (!(s->beta > 0 && s->beta <= 1 && s->beta_end >= 0 && s->beta_end <= 1)) {
        return MTIP_ERROR(
            MTIP_ERR_ARGUMENT,
            "phasing: beta goes from %g to %g; both must be in (0, 1], or the end 0 for "
            "no change",
            s->beta, s->beta_end);
    }
    if (s->loops < 0 || s->iterations < 0 || s->er_iterations < 0 || s->final_er_iterations < 0) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "phasing: %d loops of %d + %d iterations and %d at the end; none may be "
                          "negative",
                          s->loops, s->iterations, s->er_iterations, s->final_er_iterations);
    }
    if (!(s->sigma_start >= 0 && s->sigma_end >= 0 && s->radius > 0) || s->n_support < 1) {
        return MTIP_ERROR(
            MTIP_ERR_ARGUMENT,
            "phasing: blur %g to %g voxels, radius %g voxels, support of %lld voxels; "
            "blurs must be >= 0, the others positive",
            s->sigma_start, s->sigma_end, s->radius, (long long)s->n_support);
    }
    return MTIP_OK;
}
