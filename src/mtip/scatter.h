/* scatter.h - how atoms scatter: form factors, and the structure amplitude as a direct sum.
 *
 * s = scattering vector / 2 pi in 1/A, |s| = 1/d = 2 sin(theta) / wavelength. A atoms, P points.
 * An amplitude is two doubles (re, im), in electrons.
 */
#ifndef MTIP_MTIP_SCATTER_H
#define MTIP_MTIP_SCATTER_H

#include <stdint.h>

#include "core/status.h"
#include "io/pdb.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SCATTER_MAX_Z 98
#define SCATTER_GAUSSIANS 5

/* One element: f0 = c + sum a_i exp(-b_i |s|^2 / 4). */
struct scatter_element {
    const char *symbol;
    double mass_Da;
    double a[SCATTER_GAUSSIANS];
    double b[SCATTER_GAUSSIANS]; /* A^2 */
    double c;
};

/* scatter_elements[Z - 1] for Z = 1 .. SCATTER_MAX_Z. */
extern const struct scatter_element scatter_elements[SCATTER_MAX_Z];

/* Form factor of element z (1 .. SCATTER_MAX_Z) at |s| = s, electrons. */
double scatter_form_factor(int z, double s);

/* Checks that every atom has a known element and finite numbers, and that there is at least one.
 * MTIP_ERR_DATA names the first bad atom. */
enum mtip_status scatter_check(const struct atoms *atoms) MTIP_NODISCARD;

/* Amplitudes by direct summation over atoms,
 *     F(s) = sum_j occ_j f_{Z_j}(|s|) exp(-B_j |s|^2 / 4) exp(-2 pi i s.r_j),
 * accurate to about 1e-13 of sum occ_j Z_j. The judge of the fast path (scatter_map.h).
 *   amplitude  [P][2] output
 *   s          [P][3], 1/A
 *   n_threads  >= 1; the result does not depend on it
 * Errors: those of scatter_check, MTIP_ERR_MEMORY. */
enum mtip_status scatter_amplitudes(double *amplitude, const struct atoms *atoms, const double *s,
                                    int64_t n_points, int n_threads) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
