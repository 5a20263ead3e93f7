/* resolution.h - shells of the Fourier grid, Fourier shell correlation, and the resolution read from it.
 *
 * M = grid points a side, k = wave number in grid steps (FFT order), a = voxel (A). There are
 * M/2 (rounded down) shells; shell i holds the modes with |k| in [i + 0.5, i + 1.5), its centre is
 * |k| = i + 1, that is M a / (i + 1) Angstrom. The mean (k = 0) and the corners belong to no shell.
 * Everything is host memory.
 */
#ifndef MTIP_MTIP_RESOLUTION_H
#define MTIP_MTIP_RESOLUTION_H

#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of shells, M/2. Pure. */
int64_t resolution_n_shells(int64_t M);

/* Shell of the mode (z, y, x) of a spectrum in FFT order, each index 0 .. M-1; -1 for none. Pure. */
int64_t resolution_shell(int64_t z, int64_t y, int64_t x, int64_t M);

/* shell_A[i] = M voxel_A / (i + 1): the resolution at the centres of the shells. Pure. */
void resolution_shell_A(double *shell_A, int64_t M, double voxel_A);

/* Fourier shell correlation (Harauz and van Heel 1986), real part:
 *     fsc_i = sum Re(a conj b) / sqrt(sum |a|^2 sum |b|^2)   over the modes of shell i,
 * 0 where either sum vanishes. fsc: [n_shells]; half_a, half_b: half spectra [M][M][M/2+1] complex
 * (fft.h); use: NULL or [M][M][M/2+1], modes with 0 are left out. Pure. */
void resolution_fsc_half(double *fsc, const double *half_a, const double *half_b,
                         const uint8_t *use, int64_t M);

/* The same from two densities [M][M][M] (either order of positions, the same for both).
 * n_threads for the FFTs. Errors: MTIP_ERR_MEMORY, MTIP_ERR_ARGUMENT (M < 2). */
enum mtip_status resolution_fsc(double *fsc, const double *density_a, const double *density_b,
                                int64_t M, int n_threads) MTIP_NODISCARD;

/* Means over shells of real values on a half spectrum: mean[i], 0 for an empty shell; `use` as above. Pure. */
void resolution_shell_mean(double *mean, const double *values, const uint8_t *use, int64_t M);

/* The resolution (A) at which an FSC falls below `threshold` for good: at the first shell below it that is
 * followed by another one below it (or by none; one low shell between good ones does not count),
 * interpolated linearly in |k| between the centres of the last good shell and that one.
 * An FSC that never falls gives the last shell, never better than the grid's edge; one that is low
 * from the first shell on gives the box, M voxel_A, and NaN counts as low. Pure. */
double resolution_from_fsc(const double *fsc, int64_t M, double voxel_A, double threshold);

#ifdef __cplusplus
}
#endif

#endif
