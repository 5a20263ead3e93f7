/* bench_nufft_data.h - points and numbers for `mtip bench nufft`, and the error of a result. */
#ifndef MTIP_MTIP_BENCH_NUFFT_DATA_H
#define MTIP_MTIP_BENCH_NUFFT_DATA_H

#include <stdint.h>

#include "core/status.h"
#include "nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BENCH_NUFFT_SIDE 128 /* pixels of a slice's side */

enum bench_nufft_layout {
    BENCH_NUFFT_UNIFORM,
    BENCH_NUFFT_CLUSTERED, /* nine points of ten in one place */
    BENCH_NUFFT_SLICES     /* whole Ewald slices in random orientations; 3-D */
};

/* A transform to be timed. */
struct bench_nufft_case {
    int type;
    int dimension;
    int64_t modes;  /* on each axis */
    int64_t points; /* and targets of type 3 */
    int64_t vectors;
    double tolerance;
    enum nufft_precision precision;
    int real_data;
    enum bench_nufft_layout layout;
};

/* Its arrays, of its precision; owned. */
struct bench_nufft_data {
    void *x[3];
    void *target[3];
    void *strengths;
    void *modes;
    int64_t stored; /* modes or targets of a vector */
};

/* Fills *data, which must be zero; the same numbers each time. Free it also after an error (MTIP_ERR_MEMORY). */
enum mtip_status bench_nufft_data_make(struct bench_nufft_data *data,
                                       const struct bench_nufft_case *c) MTIP_NODISCARD;
void bench_nufft_data_free(struct bench_nufft_data *data);

/* Relative l2 error of 20 values of the first vector of a result in *data against their direct sums; sign +1. */
double bench_nufft_data_error(const struct bench_nufft_case *c,
                              const struct bench_nufft_data *data);

#ifdef __cplusplus
}
#endif

#endif
