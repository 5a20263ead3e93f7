/* orient.h - rotations: quaternions, matrices, even coverings of SO(3), errors of orientation.
 *
 * A quaternion is q = (w, x, y, z), unit length, w >= 0 once canonical; its rotation matrix R (row-major [9])
 * turns detector-frame vectors into particle-frame vectors: s_particle = R s_detector. Angles are
 * radians unless the name says degrees.
 */
#ifndef MTIP_MTIP_ORIENT_H
#define MTIP_MTIP_ORIENT_H

#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Unit length and w >= 0 (the identity for a zero quaternion). */
void quaternion_canonical(double q[4]);

/* out = a b: first b, then a. out may alias a or b. */
void quaternion_multiply(double out[4], const double a[4], const double b[4]);

/* out = the inverse rotation. */
void quaternion_conjugate(double out[4], const double q[4]);

/* Rotation matrix of a unit quaternion. */
void quaternion_to_matrix(double matrix[9], const double q[4]);

/* Canonical quaternion of a rotation matrix (Shepperd 1978: divides by the largest component). */
void quaternion_from_matrix(double q[4], const double matrix[9]);

/* Rotation by |v| radians about v. */
void quaternion_from_vector(double q[4], const double v[3]);

/* Angle in [0, pi] of the rotation that takes a to b. */
double quaternion_angle(const double a[4], const double b[4]);

/* Angle of the turn from a to b modulo the half turn about the beam, after which a frame on a nearly flat
 * detector looks the same (DESIGN section 2). */
double orient_turn(const double a[4], const double b[4]);

/* Sample i of the super-Fibonacci spiral of n samples on SO(3) (Alexa, CVPR 2022, algorithm 1), turned from the
 * left by `turn` (NULL = not turned): an even covering for any n. */
void orient_super_fibonacci(double q[4], int64_t i, int64_t n, const double turn[4]);

/* Mean spacing of n even samples: (8 pi^2 / n)^(1/3) rad, the edge of a cube of an n-th of SO(3), whose volume is 8 pi^2
 * where a small rotation by the vector w takes d^3 w. */
double orient_spacing(int64_t n);

/* Median of n >= 1 values, which are sorted in place. */
double orient_median(double *values, int64_t n);

/* Least eigenvalue of the symmetric matrix s = {xx, yy, zz, xy, xz, yz} (Smith, Commun. ACM 4, 168, 1961). Of the mean of
 * v v^T over unit vectors v it is 1/3 where they point everywhere alike and 0 where all lie in one plane. */
double orient_least_eigenvalue(const double s[6]);

/* Orientation errors of estimates against the truth, both [n][4], modulo what intensities cannot
 * tell (DESIGN section 2): one global rotation for all frames, fitted here, and for each frame the half turn about
 * the beam (its Friedel mate on a flat detector).
 *   error_rad  [n] output
 *   global     fitted rotation: estimate_n ~ global * truth_n (* half turn) */
enum mtip_status orient_errors(double *error_rad, double global[4], const double *estimates,
                               const double *truths, int64_t n) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
