/* compare.h - a density judged against a reference in unknown relative pose: rotation, hand and
 * translation found, then the Fourier shell correlation.
 *
 * M = grid points a side of the density, a = its voxel (A), shells as in resolution.h. With V the
 * density, G the reference, R the rotation found:  F_V(s) ~ F_G(R s) (or its complex conjugate:
 * the other hand), up to a translation. F_G is evaluated exactly at the rotated points: by a
 * scatter map of atoms or of voxels.
 */
#ifndef MTIP_MTIP_COMPARE_H
#define MTIP_MTIP_COMPARE_H

#include <stdint.h>

#include "core/log.h"
#include "core/status.h"
#include "io/pdb.h"
#include "mtip/scatter_map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to judge against: atoms, centred, or a cubic volume [n][n][n] (atoms NULL). Everything
 * borrowed. */
struct compare_reference {
    const struct atoms *atoms;
    const double *volume;
    int64_t n;
    double voxel_A;
};

struct compare_options {
    double limit_A; /* finest resolution used, 0 = the density's grid */
    /* borrowed [n_hints][4]: rotations to try besides the search over all; may be NULL */
    const double *hints;
    int64_t n_hints;
    int n_threads;   /* >= 1 */
    struct log *log; /* borrowed, may be NULL */
};

struct compare_fit {
    double rotation[4];           /* R, canonical */
    double amplitude_correlation; /* mean over shells of the correlation of |F|, -1 .. 1 */
    int inverted;                 /* 1: V(-r) matches the reference */
    double shift_A[3];            /* x, y, z: V was moved by this, after the inversion */
    int64_t n_shells;
    double *shell_A;                                /* owned [n_shells] */
    double *fsc;                                    /* owned [n_shells] */
    double resolution_half_A, resolution_seventh_A; /* resolution_from_fsc at 0.5 and 1/7 */
};

/* Fits `volume` ([M][M][M], z slowest, centred) to the reference. The rotation is searched over
 * all of SO(3) on amplitudes alone (so that hand and place do not matter), refined, and the best
 * few judged at finer shells. Deterministic, and the same for any number of threads up to
 * rounding. Errors: MTIP_ERR_DATA (a density that is constant or not finite; too few shells
 * inside the limits), MTIP_ERR_ARGUMENT, MTIP_ERR_MEMORY. Release with compare_fit_release. */
enum mtip_status compare_volume(struct compare_fit *fit, const double *volume, int64_t M,
                                double voxel_A, const struct compare_reference *reference,
                                const struct compare_options *options) MTIP_NODISCARD;

void compare_fit_release(struct compare_fit *fit);

/* Orientation errors of estimates against truths, both [n][4] (orient_errors), summed up. */
struct compare_orientations {
    double median_deg;
    double within_10_deg; /* part of the frames, 0 .. 1 */
    double global[4];     /* estimate ~ global * truth */
};
enum mtip_status compare_orientations(struct compare_orientations *summary, const double *estimates,
                                      const double *truths, int64_t n) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
