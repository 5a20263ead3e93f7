/* bench.h - what the files of bench_gpu share: a case, its data on host and device, and exact outputs to judge by. */
#ifndef MTIP_BENCH_GPU_BENCH_H
#define MTIP_BENCH_GPU_BENCH_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "nufft/nufft.h"

/* Outputs that are compared with the defining sum. */
#define SAMPLES 6

struct bench_case {
    const char *name;
    int64_t modes; /* a side, 3-D */
    int64_t points;
    double tolerance;
    enum nufft_precision precision;
    int clustered;
};

/* Data of a case: on the host in double precision, on the device in the case's. Inputs are not overwritten; results go to
 * arrays of their own. Real data: the first half of the strengths, and the half spectrum in the first modes. */
struct bench_data {
    int64_t n_modes, n_points;
    double *x[3], *strengths, *modes;
    void *d_x[3], *d_strengths, *d_modes;
    void *d_values, *d_spectrum; /* results of type 2 and type 1 */
    size_t real_size;
};

void bench_data_make(struct bench_data *data, const struct bench_case *c, double scale);
void bench_data_free(struct bench_data *data);

/* Some outputs by direct sums: complex numbers at positions `at` of the output array; real type 2 has no imaginary part. */
struct bench_exact {
    int64_t at[SAMPLES];
    double value[SAMPLES][2];
    int parts;
};
void bench_exact_make(struct bench_exact *exact, const struct bench_data *data, int type,
                      int real_data);
/* Relative l2 error of the outputs now on the device. */
double bench_error(const struct bench_exact *exact, const struct bench_data *data, int type);

/* Ends the program with a message where a call has failed or memory is missing. */
void bench_must(cudaError_t code, const char *what);
void *bench_must_have(void *memory);

/* ---- time between two events, the least of several ---------------------------------------------- */
struct bench_timer {
    cudaEvent_t begin, end;
};
void bench_timer_make(struct bench_timer *timer);
void bench_timer_free(struct bench_timer *timer);
void bench_timer_start(struct bench_timer *timer);
/* Milliseconds since the start, if they are fewer than *least. */
void bench_timer_stop(struct bench_timer *timer, double *least);

/* ---- cuFINUFFT, through its C interface (bench_peer.c) ------------------------------------------ */
struct bench_peer;
/* NULL, and a line that says why, where the library cannot be used. */
struct bench_peer *bench_peer_open(const char *library);
/* Best times of a case; returns its error code. */
int bench_peer_time(double *set_ms, double *run_ms, const struct bench_peer *peer,
                    const struct bench_case *c, struct bench_data *data, int type, int repeat);

#endif
