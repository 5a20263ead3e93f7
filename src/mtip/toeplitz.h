/* toeplitz.h - weighted least squares for the autocorrelation by conjugate gradients on Toeplitz normal equations.
 *
 * With T the map from A on the M^3 grid to intensities at all measured points, W the weights and P the
 * confinement to the ball |k| <= radius, A minimises
 *     || W^(1/2) (T P A - y) ||^2 + lambda || A - A0 ||^2 .
 * T^H W T is a convolution with kernel_l = sum_x w exp(-i l.x), done by FFTs of a circulant of size
 * n >= 2 M - 1 (Fessler et al., IEEE Trans. Signal Process. 53, 2005).
 * Grids are real, even and in FFT order (origin at index 0).
 */
#ifndef MTIP_MTIP_TOEPLITZ_H
#define MTIP_MTIP_TOEPLITZ_H

#include <stddef.h>
#include <stdint.h>

#include "core/backend.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct toeplitz_options {
    double radius;         /* of the ball A lives in, voxels */
    double regularization; /* lambda as a part of the sum of the weights, kernel_0 */
    int64_t iterations;    /* at most */
    double tolerance;      /* of the residual, relative to the right-hand side */
};

struct toeplitz_metrics {
    int64_t iterations;
    double residual; /* relative, at the end; not reaching the tolerance is no error */
};

struct toeplitz_solver;

/* Makes a solver for grids of m^3, m odd, with all its workspace. `backend` is borrowed. */
enum mtip_status toeplitz_create(struct toeplitz_solver **solver, const struct backend *backend,
                                 int64_t m) MTIP_NODISCARD;
void toeplitz_destroy(struct toeplitz_solver **solver);

/* Bytes of backend memory a solver takes. */
size_t toeplitz_bytes(int64_t m);

/* Solves for A. All arrays backend memory:
 *   a       [M][M][M] in: A0, also the start; out: the solution, even up to rounding
 *   kernel  [2M-1][2M-1][M] half grid
 *   rhs     [M][M][(M+1)/2] half grid of T^H W y
 * metrics may be NULL. Error MTIP_ERR_DATA when the weights add up to nothing. */
enum mtip_status toeplitz_solve(struct toeplitz_solver *solver, double *a, const double *kernel,
                                const double *rhs, const struct toeplitz_options *options,
                                struct toeplitz_metrics *metrics) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
