/* simulate.h - photon frames of one particle in uniformly random orientations, the truth beside
 * them.
 *
 * N frames, P = pixels^2 pixels of a square flat detector, pixel [iy][ix] at x = (ix - (n-1)/2)
 * p, y = (iy - (n-1)/2) p, distance L behind the particle, beam along +z, polarised along x:
 *     s = (u - z) / wavelength,  u = (x, y, L) / sqrt(x^2 + y^2 + L^2)      (on the Ewald sphere)
 *     response = (1 - u_x^2) u_z^3, scaled to mean 1 over used pixels  (polarisation, solid angle)
 *     expected photons = fluence_n scale response_p |F(R_n s_p)|^2 + background
 * with F of scatter.h. `scale` gives the asked mean number of photons a frame over used pixels
 * and all orientations (background not counted), so that a frame does not depend on how many
 * follow.
 */
#ifndef MTIP_MTIP_SIMULATE_H
#define MTIP_MTIP_SIMULATE_H

#include <stdint.h>

#include "core/log.h"
#include "core/status.h"
#include "io/config.h"
#include "io/dataset.h"
#include "io/pdb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Mean sum of a noise-free frame (simulate.photons = 0). */
#define SIMULATE_NOISE_FREE_SUM 1e6

/* What was made, and what a reconstruction has to be told. */
struct simulate_summary {
    int64_t n_frames, n_pixel, n_used;
    double mean_photons; /* a frame, over used pixels, with background */
    double brightest;    /* largest value of a pixel */
    int64_t n_atoms;
    double diameter_A, mass_kDa;
    double edge_resolution_A;   /* at the middle of a detector edge */
    double corner_resolution_A; /* finest |s| of a used pixel */
    double wavelength_A;
    /* pixels across 1 / diameter at the centre of the detector: 2 and more resolve the speckles */
    double pixels_per_fringe;
};

/* The detector of a configuration: mask (beamstop: centres nearer to the axis than beamstop *
 * half width), response, background (NULL when 0). Errors: MTIP_ERR_CONFIG (distance without
 * pixel size; resolution that the wavelength cannot reach; no pixel left). Release with
 * detector_release. */
enum mtip_status simulate_detector(struct detector *detector,
                                   const struct config_simulate *config) MTIP_NODISCARD;

/* The particle of a configuration: PDB file, or built in; centred. Release with atoms_release. */
enum mtip_status simulate_particle(struct atoms *atoms,
                                   const struct config_simulate *config) MTIP_NODISCARD;

struct simulator;

/* Prepares the simulation; copies what it needs of `atoms`, borrows `detector` for its life.
 * Errors: those of scatter.h, MTIP_ERR_MEMORY. */
enum mtip_status simulator_create(struct simulator **simulator, const struct detector *detector,
                                  const struct atoms *atoms, const struct config_simulate *config,
                                  int n_threads) MTIP_NODISCARD;

/* Frames first .. first + count - 1: frames [count][P] (0 where masked), quaternions [count][4]
 * (w, x, y, z; detector to particle frame), fluence [count] (mean 1). Every frame depends on the
 * seed and its own number alone, not on first, count or threads. */
enum mtip_status simulator_frames(struct simulator *simulator, float *frames, double *quaternions,
                                  double *fluence, int64_t first, int64_t count) MTIP_NODISCARD;

void simulator_destroy(struct simulator **simulator);

/* All of it: particle, detector, frames in pieces, file with truth and configuration. One rank. */
enum mtip_status simulate_run(struct simulate_summary *summary, const struct config *config,
                              int n_threads, struct log *log) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
