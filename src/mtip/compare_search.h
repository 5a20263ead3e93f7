/* compare_search.h - the rotation between a density and a reference, from their amplitudes. Used by
 * compare.c alone.
 *
 * P = points: modes of the density's grid, one of each Friedel pair.
 */
#ifndef MTIP_MTIP_COMPARE_SEARCH_H
#define MTIP_MTIP_COMPARE_SEARCH_H

#include <stdint.h>

#include "core/log.h"
#include "core/status.h"
#include "mtip/scatter_map.h"

#ifdef __cplusplus
extern "C" {
#endif

struct compare_search {
    struct scatter_map *map;     /* borrowed: the reference */
    const double *half_spectrum; /* borrowed [M][M][M/2+1][2], FFT order (fft.h): the density */
    int64_t M;
    double voxel_A;
    double diameter_A;   /* of the particle, about: sets how finely rotations are sampled */
    int64_t n_shells;    /* shells that may be used */
    const double *hints; /* borrowed [n_hints][4] */
    int64_t n_hints;
    struct log *log; /* borrowed, may be NULL */
};

/* Finds q that makes |F_G(R_q s)| most like |F_V(s)|: Pearson correlation of amplitudes shell by
 * shell, averaged with the number of modes as weight; `score` is its value over all shells.
 * Errors: MTIP_ERR_DATA, MTIP_ERR_MEMORY. */
enum mtip_status compare_search_rotation(double q[4], double *score,
                                         const struct compare_search *search) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
