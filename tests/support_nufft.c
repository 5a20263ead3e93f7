/* support_nufft.c - direct sums and data for the NUFFT tests. */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include "nufft_support.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"

#define PI 3.14159265358979323846

static double rounded(double x, enum nufft_precision precision)
{
    return precision == NUFFT_FLOAT ? (double)(float)x : x;
}

static double coordinate(struct rng *rng, const struct nufft_case *c, int axis)
{
    const double uniform = PI * (2.0 * rng_uniform(rng) - 1.0);
    switch (c->layout) {
    case LAYOUT_UNIFORM:
        return uniform;
    case LAYOUT_CLUSTERED:
        return rng_bits(rng) % 8 == 0 ? uniform : 2.0 + 0.002 * uniform;
    case LAYOUT_GRID_LINES: {
        /* Multiples of the coarse grid's spacing, the ends of the period, and their neighbours. */
        const int64_t n = c->n_modes[axis] > 0 ? c->n_modes[axis] : 8;
        double x = 2.0 * PI * (double)(rng_bits(rng) % (2 * n + 1)) / (double)(2 * n) - PI;
        x = rng_bits(rng) % 8 == 0 ? PI : x;
        const uint32_t which = rng_bits(rng) % 3;
        if (c->precision == NUFFT_FLOAT) {
            return which == 0 ? x : (double)nextafterf((float)x, which == 1 ? 9.0F : -9.0F);
        }
        return which == 0 ? x : nextafter(x, which == 1 ? 9.0 : -9.0);
    }
    case LAYOUT_FAR:
        return uniform + 2.0 * PI * ((double)(rng_bits(rng) % 41) - 20.0);
    }
    return 0.0;
}

static double *numbers(struct rng *rng, int64_t n, enum nufft_precision precision)
{
    double *x = malloc(sizeof *x * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) {
        x[i] = rounded(rng_normal(rng), precision);
    }
    return x;
}

static int64_t vectors_of(const struct nufft_case *c)
{
    return c->n_vectors > 0 ? c->n_vectors : 1;
}

void nufft_data_make(struct nufft_data *data, const struct nufft_case *c)
{
    struct rng rng = rng_stream(1, RNG_TEST, (uint64_t)c->n_points, (uint64_t)c->dimension);
    memset(data, 0, sizeof *data);
    data->stored = c->type == 3 ? c->n_targets : 1;
    for (int a = 0; a < c->dimension; a++) {
        data->x[a] = malloc(sizeof(double) * (size_t)(c->n_points + 1));
        for (int64_t j = 0; j < c->n_points; j++) {
            data->x[a][j] = rounded(coordinate(&rng, c, a), c->precision);
        }
        if (c->type == 3) {
            data->s[a] = malloc(sizeof(double) * (size_t)(c->n_targets + 1));
            for (int64_t l = 0; l < c->n_targets; l++) {
                const double half = 0.5 * (double)c->n_modes[a];
                data->s[a][l] = rounded(half * (2.0 * rng_uniform(&rng) - 1.0) + 3.0, c->precision);
            }
        } else {
            data->stored *= a == 0 && c->real_data ? c->n_modes[0] / 2 + 1 : c->n_modes[a];
        }
    }
    data->values = vectors_of(c) * c->n_points * (c->real_data ? 1 : 2);
    data->mode_values = vectors_of(c) * data->stored * 2;
    data->strengths = numbers(&rng, data->values, c->precision);
    data->modes = numbers(&rng, data->mode_values, c->precision);
}

void nufft_data_free(struct nufft_data *data)
{
    for (int a = 0; a < 3; a++) {
        free(data->x[a]);
        free(data->s[a]);
    }
    free(data->strengths);
    free(data->modes);
    memset(data, 0, sizeof *data);
}

static int64_t mode_number(const struct nufft_case *c, int axis, int64_t i)
{
    const int64_t n = c->n_modes[axis];
    if (axis == 0 && c->real_data) {
        return i;
    }
    if (c->order == NUFFT_ORDER_FFT) {
        return i < (n + 1) / 2 ? i : i - n;
    }
    return i - n / 2;
}

/* exp(i sign k x) of every stored mode number of every axis at point j: [axis][mode] complex. */
static void fill_waves(double *waves[3], const int64_t n[3], const struct nufft_case *c,
                       const struct nufft_data *data, int64_t j)
{
    for (int a = 0; a < 3; a++) {
        for (int64_t i = 0; i < n[a]; i++) {
            const double angle = a < c->dimension ? (c->sign < 0 ? -1.0 : 1.0) *
                                                        (double)mode_number(c, a, i) * data->x[a][j]
                                                  : 0.0;
            waves[a][2 * i] = cos(angle);
            waves[a][2 * i + 1] = sin(angle);
        }
    }
}

/* One term of the sums: mode (or target) i, point j, wave = exp(i s k.x). */
static void add_term(double *out, const struct nufft_case *c, const struct nufft_data *data,
                     int64_t i, int64_t j, double cosine, double sine)
{
    const int64_t k_x = i % (c->n_modes[0] / 2 + 1);
    const double weight = k_x == 0 || 2 * k_x == c->n_modes[0] ? 1.0 : 2.0;
    for (int64_t v = 0; v < vectors_of(c); v++) {
        const double *f = data->modes + 2 * (v * data->stored + i);
        const double *s = data->strengths + (v * c->n_points + j) * (c->real_data ? 1 : 2);
        if (c->type == 2 && c->real_data) {
            out[v * c->n_points + j] += weight * (f[0] * cosine - f[1] * sine);
        } else if (c->type == 2) {
            out[2 * (v * c->n_points + j)] += f[0] * cosine - f[1] * sine;
            out[2 * (v * c->n_points + j) + 1] += f[0] * sine + f[1] * cosine;
        } else {
            const double imaginary = c->real_data ? 0.0 : s[1];
            out[2 * (v * data->stored + i)] += s[0] * cosine - imaginary * sine;
            out[2 * (v * data->stored + i) + 1] += s[0] * sine + imaginary * cosine;
        }
    }
}

static void direct_targets(double *out, const struct nufft_case *c, const struct nufft_data *data)
{
    for (int64_t i = 0; i < data->stored; i++) {
        for (int64_t j = 0; j < c->n_points; j++) {
            double angle = 0.0;
            for (int a = 0; a < c->dimension; a++) {
                angle += data->s[a][i] * data->x[a][j];
            }
            angle = c->sign < 0 ? -angle : angle;
            add_term(out, c, data, i, j, cos(angle), sin(angle));
        }
    }
}

void nufft_direct(double *out, const struct nufft_case *c, const struct nufft_data *data)
{
    const int64_t count = c->type == 2 ? data->values : data->mode_values;
    int64_t n[3] = {1, 1, 1};
    double *waves[3];
    memset(out, 0, sizeof *out * (size_t)count);
    if (c->type == 3) {
        direct_targets(out, c, data);
        return;
    }
    for (int a = 0; a < 3; a++) {
        if (a < c->dimension) {
            n[a] = a == 0 && c->real_data ? c->n_modes[0] / 2 + 1 : c->n_modes[a];
        }
        waves[a] = malloc(2 * sizeof(double) * (size_t)n[a]);
    }
    for (int64_t j = 0; j < c->n_points; j++) {
        fill_waves(waves, n, c, data, j);
        for (int64_t i = 0; i < data->stored; i++) {
            const double *x = waves[0] + 2 * (i % n[0]);
            const double *y = waves[1] + 2 * (i / n[0] % n[1]);
            const double *z = waves[2] + 2 * (i / n[0] / n[1]);
            const double re = x[0] * y[0] - x[1] * y[1];
            const double im = x[0] * y[1] + x[1] * y[0];
            add_term(out, c, data, i, j, re * z[0] - im * z[1], re * z[1] + im * z[0]);
        }
    }
    for (int a = 0; a < 3; a++) {
        free(waves[a]);
    }
}

void *nufft_to_precision(const double *from, int64_t n, enum nufft_precision precision)
{
    if (from == NULL) {
        return NULL;
    }
    if (precision == NUFFT_DOUBLE) {
        double *to = malloc(sizeof *to * (size_t)(n + 1));
        memcpy(to, from, sizeof *to * (size_t)n);
        return to;
    }
    float *to = malloc(sizeof *to * (size_t)(n + 1));
    for (int64_t i = 0; i < n; i++) {
        to[i] = (float)from[i];
    }
    return to;
}

void nufft_from_precision(double *to, const void *from, int64_t n, enum nufft_precision precision)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = precision == NUFFT_DOUBLE ? ((const double *)from)[i]
                                          : (double)((const float *)from)[i];
    }
}

enum mtip_status nufft_case_plan(struct nufft_plan **plan, const struct nufft_case *c)
{
    struct nufft_options options = nufft_options_default();
    options.backend = c->backend;
    options.order = c->order;
    options.real_data = c->real_data;
    options.n_threads = c->n_threads;
    options.upsampling = c->upsampling;
    options.method = c->method;
    options.copy_points = c->copy_points;
    return nufft_plan_create(plan, c->type, c->dimension, c->n_modes, c->sign < 0 ? -1 : 1,
                             vectors_of(c), c->tolerance, c->precision, &options);
}

void nufft_run_start(struct nufft_run *r, const struct nufft_case *c, const struct nufft_data *data)
{
    *r = (struct nufft_run){.c = c, .data = data};
    r->real_size = c->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    r->strengths = nufft_to_precision(data->strengths, data->values, c->precision);
    r->modes = nufft_to_precision(data->modes, data->mode_values, c->precision);
    for (int a = 0; a < c->dimension; a++) {
        r->x[a] = nufft_to_precision(data->x[a], c->n_points, c->precision);
        r->s[a] = c->type == 3 ? nufft_to_precision(data->s[a], c->n_targets, c->precision) : NULL;
    }
}

void nufft_run_points(struct nufft_plan *plan, const struct nufft_run *r)
{
    assert_int_equal(nufft_plan_set_points(plan, r->c->n_points, r->x[0], r->x[1], r->x[2],
                                           r->c->type == 3 ? r->c->n_targets : 0, r->s[0], r->s[1],
                                           r->s[2]),
                     MTIP_OK);
}

void nufft_run_finish(struct nufft_run *r)
{
    for (int a = 0; a < 3; a++) {
        free(r->x[a]);
        free(r->s[a]);
    }
    free(r->strengths);
    free(r->modes);
}

int nufft_each_instruction_set(int (*check)(void))
{
    static const char *const names[] = {"portable", "avx2", "avx512"};
    const struct nufft_case c = {
        .type = 1, .dimension = 1, .n_modes = {8, 1, 1}, .n_points = 10, .tolerance = 1e-3};
    int failures = 0;
    for (int i = 0; i < 3; i++) {
        struct nufft_plan *plan = NULL;
        assert_int_equal(setenv("MTIP_NUFFT_ISA", names[i], 1), 0);
        const enum mtip_status status = nufft_case_plan(&plan, &c);
        nufft_plan_destroy(&plan);
        if (status == MTIP_ERR_UNSUPPORTED) {
            print_message("not here: %s\n", mtip_status_message());
            continue;
        }
        assert_int_equal(status, MTIP_OK);
        print_message("%s\n", names[i]);
        failures += check();
    }
    assert_int_equal(unsetenv("MTIP_NUFFT_ISA"), 0);
    return failures;
}

static size_t bytes_of(const struct nufft_case *c, int64_t n)
{
    return (size_t)n * (c->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double));
}

/* n numbers in the case's precision, in the memory that its plan works on. */
static void *plan_array(const struct nufft_case *c, const double *from, int64_t n)
{
    void *host = nufft_to_precision(from, n, c->precision);
    if (c->memory == NULL || host == NULL) {
        return host;
    }
    void *there = c->memory->upload(host, bytes_of(c, n));
    free(host);
    return there;
}

static void read_plan_array(const struct nufft_case *c, double *to, const void *from, int64_t n)
{
    if (c->memory == NULL) {
        nufft_from_precision(to, from, n, c->precision);
        return;
    }
    void *host = malloc(bytes_of(c, n + 1));
    c->memory->download(host, from, bytes_of(c, n));
    nufft_from_precision(to, host, n, c->precision);
    free(host);
}

static void free_plan_array(const struct nufft_case *c, void *array)
{
    if (c->memory == NULL) {
        free(array);
    } else {
        c->memory->release(array);
    }
}

enum mtip_status nufft_through_plan(double *out, const struct nufft_case *c,
                                    const struct nufft_data *data)
{
    struct nufft_plan *plan = NULL;
    void *x[3] = {NULL};
    void *s[3] = {NULL};
    void *strengths = plan_array(c, data->strengths, data->values);
    void *modes = plan_array(c, data->modes, data->mode_values);
    for (int a = 0; a < c->dimension; a++) {
        x[a] = plan_array(c, data->x[a], c->n_points);
        s[a] = plan_array(c, data->s[a], c->n_targets);
    }
    enum mtip_status status = nufft_case_plan(&plan, c);
    if (status == MTIP_OK) {
        status = nufft_plan_set_points(plan, c->n_points, x[0], x[1], x[2],
                                       c->type == 3 ? c->n_targets : 0, s[0], s[1], s[2]);
    }
    if (status == MTIP_OK) {
        status = nufft_plan_execute(plan, strengths, modes);
    }
    if (status == MTIP_OK) {
        const int64_t n = c->type == 2 ? data->values : data->mode_values;
        read_plan_array(c, out, c->type == 2 ? strengths : modes, n);
    }
    nufft_plan_destroy(&plan);
    for (int a = 0; a < 3; a++) {
        free_plan_array(c, x[a]);
        free_plan_array(c, s[a]);
    }
    free_plan_array(c, strengths);
    free_plan_array(c, modes);
    return status;
}

double nufft_relative_error(const double *a, const double *b, int64_t n)
{
    double difference = 0.0;
    double norm = 0.0;
    for (int64_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return sqrt(norm > 0.0 ? difference / norm : difference);
}

double nufft_allowed(const struct nufft_case *c)
{
    const double epsilon = c->precision == NUFFT_FLOAT ? FLT_EPSILON : DBL_EPSILON;
    double waves = 8.0;
    for (int a = 0; a < c->dimension; a++) {
        waves += 0.5 * PI * (double)c->n_modes[a] * (c->layout == LAYOUT_FAR ? 20.0 : 1.0);
    }
    return 3.0 * c->tolerance + epsilon * waves;
}
