/* phase_ops.h - the kernels of phasing, one table a backend; private to the phasing.
 *
 * All arrays are in backend memory, M, layouts and units as in phase.h; n = number of voxels or of
 * half-spectrum modes. Sums are taken in an order that does not depend on the number of threads.
 */
#ifndef MTIP_MTIP_PHASE_OPS_H
#define MTIP_MTIP_PHASE_OPS_H

#include <stdint.h>

#include "core/backend.h"
#include "mtip/phase.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Selection works on the 64 bits of non-negative doubles, PHASE_DIGIT_BITS at a time. */
#define PHASE_DIGIT_BITS 11
#define PHASE_DIGITS (1 << PHASE_DIGIT_BITS)

struct phase_ops {
    /* magnitude = sqrt(max(intensity, 0)) where measured, -1 where free */
    enum mtip_status (*magnitudes)(const struct backend *backend, int64_t n, double *magnitude,
                                   const double *intensity, const uint8_t *measured);
    /* half = scale * half * (magnitude / |half| where magnitude >= 0, else 1); where |half| = 0 the
     * magnitude is taken with phase 0 */
    enum mtip_status (*project)(const struct backend *backend, int64_t n, double *half,
                                const double *magnitude, double scale);
    /* density = update of phase.h from density and its projection */
    enum mtip_status (*update)(const struct backend *backend, int64_t n,
                               enum phase_algorithm algorithm, double beta, double *density,
                               const double *projected, const uint8_t *support);
    /* to = max(from, 0), of voxels in the support alone when support is not NULL */
    enum mtip_status (*positive)(const struct backend *backend, int64_t n, double *to,
                                 const double *from, const uint8_t *support);
    /* half *= exp(-2 (pi sigma |k| / M)^2) */
    enum mtip_status (*blur)(const struct backend *backend, int64_t M, double *half, double sigma);
    /* values = max(values, 0) inside the ball of `radius` about the origin, 0 outside */
    enum mtip_status (*confine)(const struct backend *backend, int64_t M, double *values,
                                double radius);
    /* support = 1 inside the ball, else 0 */
    enum mtip_status (*ball)(const struct backend *backend, int64_t M, uint8_t *support,
                             double radius);
    /* counts[d] (host) = number of values whose bits above shift + PHASE_DIGIT_BITS equal those of
     * `prefix` and whose digit at `shift` is d */
    enum mtip_status (*histogram)(const struct backend *backend, int64_t n, const double *values,
                                  uint64_t prefix, int shift, int64_t counts[PHASE_DIGITS]);
    /* support = values >= threshold */
    enum mtip_status (*threshold)(const struct backend *backend, int64_t n, uint8_t *support,
                                  const double *values, double threshold);
    /* sums (host) = sum of max(density, 0) in the support, its first moments in z, y, x (positions
     * from -floor(M/2)), and the number of voxels in the support */
    enum mtip_status (*moments)(const struct backend *backend, int64_t M, double sums[5],
                                const double *density, const uint8_t *support);
    /* to[(r + shift) mod M] = from[r] */
    enum mtip_status (*roll)(const struct backend *backend, int64_t M, double *to,
                             const double *from, const int64_t shift[3]);
    enum mtip_status (*roll_support)(const struct backend *backend, int64_t M, uint8_t *to,
                                     const uint8_t *from, const int64_t shift[3]);
    /* sums (host) over the full spectrum's measured modes: (|half| - magnitude)^2, magnitude^2 */
    enum mtip_status (*misfit)(const struct backend *backend, int64_t M, double sums[2],
                               const double *half, const double *magnitude);
    /* half = (scale |half|^2, 0) */
    enum mtip_status (*square)(const struct backend *backend, int64_t n, double *half,
                               double scale);
    /* values *= factor */
    enum mtip_status (*scale)(const struct backend *backend, int64_t n, double *values,
                              double factor);
};

extern const struct phase_ops phase_ops_cpu;
#ifdef MTIP_HAVE_CUDA
extern const struct phase_ops phase_ops_cuda;
#endif

#ifdef __cplusplus
}
#endif

#endif
