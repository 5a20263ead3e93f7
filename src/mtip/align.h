/* align.h - independent phasings of one set of intensities brought to one place and hand, their average
 * and the phase retrieval transfer function (PRTF).
 *
 * Everything is host memory. M = grid points a side. Densities are [M][M][M], z, y, x (x fastest),
 * CENTRED: the origin at index M/2 (rounded down) of each axis. Masks are half spectra [M][M][M/2+1]
 * (fft.h), 1 = use. Intensities do not know the place of the density, nor rho(r) from rho(-r).
 */
#ifndef MTIP_MTIP_ALIGN_H
#define MTIP_MTIP_ALIGN_H

#include <stdint.h>

#include "core/fft.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Workspace; serves one thread at a time. */
struct aligner;

/* What was done to a density to bring it onto the reference. */
struct align_result {
    int inverted;       /* 1: rho(r) became rho(-r), before the shift */
    double shift[3];    /* voxels, z, y, x: rho(r) became rho(r - shift) */
    double correlation; /* of the result with the reference, over the modes used, -1 .. 1 */
};

/* Makes an aligner; n_threads as backend_create. Errors: MTIP_ERR_ARGUMENT (M < 2), MTIP_ERR_MEMORY. */
enum mtip_status aligner_create(struct aligner **aligner, int64_t M, int n_threads) MTIP_NODISCARD;
void aligner_destroy(struct aligner **aligner);

/* M, and the plan of M^3 transforms that the aligner owns. */
int64_t aligner_grid_size(const struct aligner *aligner);
const struct fft_plan *aligner_fft(const struct aligner *aligner);

/* Swaps the halves of each axis: FFT order (origin at index 0) to centred, and back. to, from:
 * [M][M][M], not the same array. Pure. */
void align_centre(double *centred, const double *fft_order, int64_t M);
void align_uncentre(double *fft_order, const double *centred, int64_t M);

/* Brings `density` onto `reference` (changed in place) by the inversion and the cyclic translation
 * t that maximise sum_k Re( R_k conj(F_k) exp(2 pi i k.t/M) ) over the modes of `use` (NULL = all):
 * the highest voxel of the cross-correlation, then Newton steps on t. The translation is applied as
 * a phase ramp, so the density may become slightly negative. result may be NULL. */
enum mtip_status aligner_align(struct aligner *aligner, double *density, const double *reference,
                               const uint8_t *use, struct align_result *result) MTIP_NODISCARD;

/* Aligns the `keep` densities of lowest R factor with one another and averages them.
 *   mean         [M][M][M] out, in the place and hand of the best density
 *   prtf         [M/2] out or NULL: sum |mean F| / sum mean |F| over the used modes of each shell
 *                (resolution.h) (Chapman et al. 2006), 0 for an empty shell
 *   correlation  [n] out or NULL: of each kept density with the mean, 0 for those left out
 *   densities    [n][M][M][M] in, the kept ones aligned on return
 *   r_factor     [n]; ties go to the lower index, NaN comes last
 *   n, keep      1 <= keep <= n
 * Errors: MTIP_ERR_ARGUMENT, MTIP_ERR_MEMORY. */
enum mtip_status aligner_average(struct aligner *aligner, double *mean, double *prtf,
                                 double *correlation, double *densities, const double *r_factor,
                                 const uint8_t *use, int64_t n, int64_t keep) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
