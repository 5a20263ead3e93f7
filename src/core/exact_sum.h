/* exact_sum.h - sums of doubles whose bits do not depend on the order of the terms, nor on who adds which.
 *
 * Every term is rounded to a multiple of one quantum before it is added; sums of such multiples that stay under 2^53
 * quanta are exact in double precision, whatever the order (pre-rounding: Demmel, Nguyen, "Parallel reproducible
 * summation", IEEE Trans. Comput. 64, 2060, 2015). The quantum follows from a bound on the sum of magnitudes that all
 * ranks know to the bit; it is at most 2^-50 of the bound, so that n terms cost an error of n 2^-51 of the bound at most.
 *
 * Phasing amplifies rounding from generation to generation until nothing is left of an agreement to 1e-12; so what
 * goes into it must agree to the bit if the result is not to depend on the number of ranks.
 */
#ifndef MTIP_CORE_EXACT_SUM_H
#define MTIP_CORE_EXACT_SUM_H

#include <stdint.h>

#include "core/comm.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Anchor for terms whose magnitudes add up to at most `bound` >= 0 (finite, at most 1e300). Pure. */
double exact_anchor(double bound);

/* `term` rounded to the anchor's quantum. The compiler must keep both operations (no -ffast-math). */
static inline double exact_round(double term, double anchor)
{
    return (term + anchor) - anchor;
}

/* *sum = the sum of values[0 .. n-1] of all ranks, the same bits for every split of the values over ranks and for
 * every order. Collective. */
enum mtip_status exact_sum(const struct comm *comm, double *sum, const double *values,
                           int64_t n) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
