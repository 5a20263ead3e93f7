/* nufft_design.h - private: choice of kernel, widths and fine grid for a tolerance; kernel tables. */
#ifndef MTIP_NUFFT_NUFFT_DESIGN_H
#define MTIP_NUFFT_NUFFT_DESIGN_H

#include "nufft/nufft_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shape parameter for a kernel of `width` taps at upsampling `sigma`: a fit of the optimum of
 * nufft_kernel_error to 1 % in beta over widths 2-16, sigma 1.25-2.6. */
double nufft_kernel_beta(int width, double sigma);

/* Estimated relative l2 error of one axis, for data that fill the band evenly: root mean square over the
 * modes of the aliases' size, sqrt( mean_k sum_{m != 0} phihat(k + m nf)^2 / phihat(k)^2 ). */
double nufft_kernel_error(int width, double sigma, double beta);

/* phihat(xi) / phihat(0) of the Kaiser-Bessel kernel, xi in radians a cell. */
double nufft_kernel_transform(int width, double beta, double xi);

/* phi(x), x in cells, |x| <= width/2 (0 outside); its integral is 1. */
double nufft_kernel_value(int width, double beta, double x);

/* Smallest upsampling, 1.25 to 2.75, at which `width` taps reach the error `target` on one axis; 0 when none does. */
double nufft_smallest_sigma(int width, double target);

/* Smallest number >= n whose prime factors are 2, 3, 5, 7, and that is even, above 131072 a multiple of 32. */
int64_t nufft_good_size(int64_t n);

/* Sets width, nf, beta, error of every axis of the plan (n_modes, n_stored, half and the plan's arguments
 * are set before) so that the tolerance is met at least cost for `n_points` points (0 = a guess from the
 * number of modes). Errors: MTIP_ERR_ARGUMENT (tolerance out of reach with the given upsampling;
 * fine grid too large). */
enum mtip_status nufft_design_axes(struct nufft_plan *plan, int64_t n_points) MTIP_NODISCARD;

/* Allocates and fills poly and correction of every axis. Error MTIP_ERR_MEMORY. */
enum mtip_status nufft_design_tables(struct nufft_plan *plan) MTIP_NODISCARD;

/* Frees them. */
void nufft_design_free(struct nufft_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
