/* turns.h - small turns about an orientation: random ones, and a stencil of ten whose scores give the maximum of the
 * parabola through them.
 *
 * Turns are rotation vectors v (radians) in the detector frame: q turned by v is q * exp(v). T trials are
 * quaternions [T][4].
 */
#ifndef MTIP_MTIP_TURNS_H
#define MTIP_MTIP_TURNS_H

#include <stdint.h>

#include "core/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Trials of a stencil: the centre, +-step along each axis, and +step along each pair of axes. */
#define TURNS_STENCIL 10

/* trials[0] = q, the others q turned by normal vectors of standard deviation `step` a component. */
void turns_random(double *trials, const double q[4], struct rng *rng, int64_t n_trials,
                  double step);

/* The stencil about q. */
void turns_stencil(double *trials, const double q[4], double step);

/* The orientation where the parabola through the stencil's scores [TURNS_STENCIL] is highest, not further than
 * 2 steps from q; the best trial itself where the parabola has no maximum. */
void turns_peak(double out[4], const double q[4], const double *scores, double step);

#ifdef __cplusplus
}
#endif

#endif
