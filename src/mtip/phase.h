/* phase.h - phasing: the density whose Fourier magnitudes are the square roots of merged intensities.
 *
 * M = grid points a side. Density and support are [M][M][M] in FFT order: [z][y][x], x fastest, the
 * origin (the particle's centre) at index 0, negative positions last. Intensities and the mask of measured modes are
 * half spectra [M][M][M/2+1] of fft.h. Lengths are in voxels, wave numbers k in grid steps (1/M of a
 * cycle a voxel: |k| = M/2 at the grid's edge).
 *
 * One iteration takes two FFTs. With p = P_data(rho) (the magnitudes of measured modes replaced by
 * the data, all other modes left free) and P_sup (zero outside the support and where negative):
 *     ER    rho' = P_sup(p)                                               Fienup 1982
 *     HIO   rho' = p where p = P_sup(p), else rho - beta p                Fienup 1982
 *     RAAR  rho' = beta/2 (R_sup R_data rho + rho) + (1 - beta) p,        Luke 2005, eq. 12
 *           R = 2 P - 1
 * A loop is `iterations` of the algorithm, `er_iterations` of ER, then shrink-wrap (Marchesini 2003:
 * the support becomes the brightest voxels of the blurred density) and recentring by centre of mass.
 */
#ifndef MTIP_MTIP_PHASE_H
#define MTIP_MTIP_PHASE_H

#include <stdint.h>

#include "core/backend.h"
#include "core/fft.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum phase_algorithm { PHASE_RAAR = 0, PHASE_HIO = 1, PHASE_ER = 2 };

/* What one phasing does. The two functions below give the defaults. Beta near 1 finds the basin, a low beta settles
 * in it where the intensities are noisy and no density satisfies them. */
struct phase_schedule {
    enum phase_algorithm algorithm;
    double beta;       /* of RAAR and HIO in the first loop, 0 < beta <= 1 */
    double beta_end;   /* in the last loop, in between it goes linearly; 0 = beta throughout */
    int loops;         /* each ends with shrink-wrap and recentring */
    int iterations;    /* of the algorithm a loop */
    int er_iterations; /* of ER a loop */
    int final_er_iterations; /* of ER at the very end, support fixed */
    double sigma_start; /* voxels; the blur of shrink-wrap goes from start to end, loop by loop */
    double sigma_end;
    int64_t n_support; /* voxels in the support after shrink-wrap */
    double
        radius; /* voxels, of the particle's bounding ball: shrink-wrap stays inside radius + 2 */
};

struct phase_metrics {
    double r_factor; /* sqrt( sum (|F| - sqrt I)^2 / sum I ) over measured modes, of the result */
    int64_t n_support;
    int64_t iterations;
};

/* Workspace and data of phasing on one backend; serves one thread at a time. */
struct phaser;

/* Schedule while orientations are searched (warm start from the last density, loose support:
 * 0.45 of the ball) and at the end (random start; set n_support from phase_support_from_mass or
 * phase_find_support). `radius` in voxels. Pure. */
struct phase_schedule phase_schedule_search(double radius);
struct phase_schedule phase_schedule_final(double radius, int64_t n_support);

/* MTIP_ERR_ARGUMENT, with the reason, where a schedule cannot be run. Pure. */
enum mtip_status phase_schedule_check(const struct phase_schedule *schedule) MTIP_NODISCARD;

/* Voxels of `voxel_A` Angstrom in the support of a particle of `mass_kDa`: twice the volume that the
 * mass takes at 1.21 A^3 per Dalton; at least 1. Pure. */
int64_t phase_support_from_mass(double mass_kDa, double voxel_A);

/* Voxels in a ball of `radius` voxels, 4/3 pi radius^3, at least 1. Pure. */
int64_t phase_ball_volume(double radius);

/* "raar", "hio", "er" and back; an unknown name is MTIP_ERR_ARGUMENT. */
const char *phase_algorithm_name(enum phase_algorithm algorithm);
enum mtip_status phase_algorithm_parse(enum phase_algorithm *algorithm,
                                       const char *name) MTIP_NODISCARD;

/* Makes a phaser for M^3 grids in the memory of `backend`, which must outlive it. Holds two real
 * grids, two half spectra and an FFT plan. Errors: MTIP_ERR_ARGUMENT (M < 4), MTIP_ERR_MEMORY,
 * MTIP_ERR_DEVICE; *phaser is NULL then. Not collective. */
enum mtip_status phaser_create(struct phaser **phaser, const struct backend *backend,
                               int64_t M) MTIP_NODISCARD;
void phaser_destroy(struct phaser **phaser);

/* Bytes of backend memory that a phaser of this M holds. Pure. */
size_t phaser_bytes(int64_t M);

/* The plan of M^3 transforms that the phaser owns; valid until it is destroyed. */
const struct fft_plan *phaser_fft(const struct phaser *phaser);

/* Gives the data: intensity [M][M][M/2+1] (values below 0 count as 0) and measured (1 where the
 * intensity is known, 0 leaves the mode free), both in backend memory, read during the call. */
enum mtip_status phaser_set_data(struct phaser *phaser, const double *intensity,
                                 const uint8_t *measured) MTIP_NODISCARD;

/* Runs a schedule. density [M][M][M] and support [M][M][M] (0 or 1) in backend memory are the start and receive the
 * result; metrics may be NULL. The result depends on the input alone, bit for bit, for every number
 * of threads. A density that vanishes everywhere is a result (r_factor 1), not an error. Errors:
 * MTIP_ERR_ARGUMENT (schedule out of range, no data set), MTIP_ERR_DATA (the density is not finite). */
enum mtip_status phaser_run(struct phaser *phaser, const struct phase_schedule *schedule,
                            double *density, uint8_t *support,
                            struct phase_metrics *metrics) MTIP_NODISCARD;

/* Random start `start` of a run with `seed`: density uniform in [0, 1) within the ball of `radius`, zero
 * outside, scaled to the data's energy; support = the ball of radius + 1. Voxel v takes the stream
 * (seed, RNG_PHASE_START, start, v): the same on every rank. Backend memory; set the data before. */
enum mtip_status phaser_random_start(struct phaser *phaser, uint64_t seed, uint64_t start,
                                     double radius, double *density,
                                     uint8_t *support) MTIP_NODISCARD;

/* Support = ball of `radius` voxels about the origin (|r| <= radius). Backend memory. */
enum mtip_status phaser_ball(struct phaser *phaser, double radius, uint8_t *support) MTIP_NODISCARD;

/* Autocorrelation A_k = sum_r rho(r) rho(r + k) (cyclic), [M][M][M] in FFT order, so that
 * |F|^2 = sum_k A_k exp(-2 pi i k.n/M). Backend memory; the two arrays may be the same. */
enum mtip_status phaser_autocorrelation(struct phaser *phaser, const double *density,
                                        double *autocorrelation) MTIP_NODISCARD;

/* What a search for the support's size saw, from loose to tight. */
#define PHASE_SCAN_MAX 64
struct phase_scan {
    int n;
    int64_t n_support[PHASE_SCAN_MAX];
    double r_factor[PHASE_SCAN_MAX];
};

/* The number of support voxels of a particle of unknown mass, from the data. Starting from the whole bounding
 * ball the support is tightened in steps of 15 % while phasing goes on. As long as it holds the
 * particle the R factor hardly moves (what it moves is noise fitted less); once it cuts into the particle the
 * lost part of the scattered power shows: -d(R^2)/d(ln N) jumps by an order of magnitude. The
 * result is the tightest N before that, and a fifth more.
 * `density` and `support` (backend memory) are the start, for example the last of the search for orientations or
 * phaser_random_start, and are used up. `radius` in voxels; scan may be NULL. Errors as phaser_run. */
enum mtip_status phase_find_support(struct phaser *phaser, double radius, double *density,
                                    uint8_t *support, int64_t *n_support,
                                    struct phase_scan *scan) MTIP_NODISCARD;

/* Fills a host mask [M][M][M/2+1]: 1 where k_min <= |k| <= k_max (grid steps), else 0. Pure. */
void phase_mask_shells(uint8_t *measured, int64_t M, double k_min, double k_max);

#ifdef __cplusplus
}
#endif

#endif
