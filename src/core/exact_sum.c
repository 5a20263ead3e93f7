/* exact_sum.c - sums whose bits do not depend on the order. */
#include "core/exact_sum.h"

#include <math.h>

double exact_anchor(double bound)
{
    /* 2^(e-1) <= bound < 2^e. At an anchor of 1.5 2^(e+1) terms up to 2^e are rounded to 2^(e+1-52), of which
     * 2^53 make 2^(e+2): twice the bound and more, which leaves room for the terms' rounding. */
    int e = 0;
    (void)frexp(bound > 1e-290 ? bound : 1e-290, &e);
    return ldexp(1.5, e + 1);
}

enum mtip_status exact_sum(const struct comm *comm, double *sum, const double *values, int64_t n)
{
    enum mtip_status status = MTIP_OK;
    double largest = 0.0, count = (double)n;
    *sum = 0.0;
    for (int64_t i = 0; i < n; i++) {
        largest = fmax(largest, fabs(values[i]));
    }
    MTIP_TRY(comm_allreduce_max(comm, &largest, 1));
    MTIP_TRY(comm_allreduce_sum(comm, &count, 1));
    const double anchor = exact_anchor(largest * count);
    double total = 0.0;
    for (int64_t i = 0; i < n; i++) {
        total += exact_round(values[i], anchor);
    }
    MTIP_TRY(comm_allreduce_sum(comm, &total, 1));
    *sum = total;
cleanup:
    return status;
}
