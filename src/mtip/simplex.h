/* simplex.h - climbs to a maximum of a function of three variables, without derivatives: the downhill simplex method (Nelder
 * and Mead, Comput. J. 7, 308, 1965) upside down.
 */
#ifndef MTIP_MTIP_SIMPLEX_H
#define MTIP_MTIP_SIMPLEX_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *value = the function at v. An error ends the climb. */
typedef enum mtip_status simplex_function(double *value, const double v[3], void *work);

/* Climbs from v, first by steps of `size` along each axis, until at least `evaluations` values were taken (the last step is
 * finished). v and *value are then the best corner and the function there. Errors: those of the function; v and *value are
 * undefined then. */
enum mtip_status simplex_climb(double v[3], double *value, double size, int evaluations,
                               simplex_function *function, void *work) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
