/* nufft_support.h - cases of the NUFFT tests, and the direct sums that judge them. */
#ifndef MTIP_TESTS_NUFFT_SUPPORT_H
#define MTIP_TESTS_NUFFT_SUPPORT_H

#include <stdint.h>

#include "nufft/nufft.h"

enum nufft_layout { LAYOUT_UNIFORM, LAYOUT_CLUSTERED, LAYOUT_GRID_LINES, LAYOUT_FAR };

/* One transform; fields left zero mean the default. */
struct nufft_case {
    int type;
    int dimension;
    int64_t n_modes[3];
    int64_t n_points;
    double tolerance;
    enum nufft_precision precision;
    int real_data;
    enum nufft_order order;
    int sign;
    int64_t n_vectors;
    int n_threads;
    double upsampling;
    int copy_points;
    enum nufft_layout layout;
    int64_t n_targets; /* type 3 */
    enum nufft_backend backend;
    int method;                             /* CUDA */
    const struct nufft_test_memory *memory; /* where a plan's arrays live; NULL = the host */
};

/* Copies between the host and the memory of a backend; upload allocates. */
struct nufft_test_memory {
    void *(*upload)(const void *from, size_t bytes);
    void (*download)(void *to, const void *from, size_t bytes);
    void (*release)(void *memory);
};

/* Data of a case in double precision (rounded to the case's precision), complex numbers interleaved. */
struct nufft_data {
    double *x[3];      /* [n_points] */
    double *s[3];      /* [n_targets], type 3 */
    double *strengths; /* [n_vectors][n_points], complex or real */
    double *modes;     /* [n_vectors][stored modes] complex; type 3: [n_vectors][n_targets] */
    int64_t stored;    /* modes (or targets) of a vector */
    int64_t values;    /* doubles of all strengths */
    int64_t mode_values;
};

void nufft_data_make(struct nufft_data *data, const struct nufft_case *c);
void nufft_data_free(struct nufft_data *data);

/* The exact transform by summation: `out` is [n_vectors][stored] complex for types 1 and 3, strengths for type 2. */
void nufft_direct(double *out, const struct nufft_case *c, const struct nufft_data *data);

/* The same through a plan, converted from and to the case's precision. `out` as above. */
enum mtip_status nufft_through_plan(double *out, const struct nufft_case *c,
                                    const struct nufft_data *data);

/* Creates the plan of a case. */
enum mtip_status nufft_case_plan(struct nufft_plan **plan, const struct nufft_case *c);

/* A case's data on the host in its precision, to run plans on one step at a time. The arrays are owned, and may be freed and
 * set to NULL before finish. */
struct nufft_run {
    const struct nufft_case *c;
    const struct nufft_data *data;
    size_t real_size;
    void *strengths;
    void *modes;
    void *x[3];
    void *s[3];
};
void nufft_run_start(struct nufft_run *r, const struct nufft_case *c,
                     const struct nufft_data *data);
void nufft_run_points(struct nufft_plan *plan, const struct nufft_run *r);
void nufft_run_finish(struct nufft_run *r);

/* Sum of what `check`, which counts failures, returns with the kernels of each instruction set that this processor has.
 * MTIP_NUFFT_ISA chooses them and is unset afterwards. Prints which they are. */
int nufft_each_instruction_set(int (*check)(void));

/* |a - b| / |b| in the l2 norm; |a| when b is zero. */
double nufft_relative_error(const double *a, const double *b, int64_t n);

/* Copies to and from the precision of a case; the result is owned by the caller (free). */
void *nufft_to_precision(const double *from, int64_t n, enum nufft_precision precision);
void nufft_from_precision(double *to, const void *from, int64_t n, enum nufft_precision precision);

/* What an error may be: three times the tolerance as nufft.h promises, plus what rounding of coordinates alone does to
 * exp(i k.x): about machine epsilon times pi N/2 an axis. */
double nufft_allowed(const struct nufft_case *c);

#endif
