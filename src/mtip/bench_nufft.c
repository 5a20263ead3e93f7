/* bench_nufft.c - `mtip bench nufft`: times NUFFTs of any kind. */
#define _POSIX_C_SOURCE 200809L
#include "mtip/bench_nufft.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/memory.h"
#include "core/rng.h"
#include "nufft/nufft.h"

#define PI 3.14159265358979323846
#define SIDE 128 /* pixels of a slice's side */

enum layout { UNIFORM, CLUSTERED, SLICES };
static const char *const layout_names[] = {"uniform", "clustered", "slices"};

struct settings {
    int type;
    int dimension;
    int64_t modes;
    int64_t points;
    int64_t vectors;
    double tolerance;
    enum nufft_precision precision;
    int real_data;
    int copy_points;
    int threads;
    enum layout layout;
    int rounds;
    int json;
};

struct timing {
    double create;
    double set_points;
    double execute;
    double error;
};

static const char *const usage =
    "usage: mtip bench nufft [options]       without options: the six cases of M-TIP\n"
    "  --type 1|2|3        --dim 1|2|3        --modes N (an axis)    --points M     --vectors V\n"
    "  --precision float|double               --tolerance EPS        --real         --threads T (0 "
    "= all)\n"
    "  --layout uniform|clustered|slices      --rounds R             --json\n"
    "  --copy-points (the plan keeps sorted copies of the coordinates)\n"
    "Times are the least of R rounds; ns a point and vector. The error is that of 20 values "
    "against direct sums.\n";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void slice_points(double *const *x, int64_t slice, struct rng *rng)
{
    double q[4];
    rng_quaternion(rng, q);
    const double w = q[0];
    const double a = q[1];
    const double b = q[2];
    const double c = q[3];
    const double rotation[3][3] = {
        {1 - 2 * (b * b + c * c), 2 * (a * b - w * c), 2 * (a * c + w * b)},
        {2 * (a * b + w * c), 1 - 2 * (a * a + c * c), 2 * (b * c - w * a)},
        {2 * (a * c - w * b), 2 * (b * c + w * a), 1 - 2 * (a * a + b * b)}};
    /* The corner pixel is at |x| = pi, on a sphere of four times that radius. */
    const double edge = PI / sqrt(2.0);
    const double radius = 4.0 * PI;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double u = ((i % SIDE + 0.5) * 2.0 / SIDE - 1.0) * edge;
        const double v = ((i / SIDE + 0.5) * 2.0 / SIDE - 1.0) * edge;
        const double p[3] = {u, v, radius - sqrt(radius * radius - u * u - v * v)};
        for (int d = 0; d < 3; d++) {
            x[d][slice * SIDE * SIDE + i] =
                rotation[d][0] * p[0] + rotation[d][1] * p[1] + rotation[d][2] * p[2];
        }
    }
}

static void make_points(double *const *x, const struct settings *s)
{
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    if (s->layout == SLICES) {
        for (int64_t slice = 0; slice < s->points / (SIDE * SIDE); slice++) {
            slice_points(x, slice, &rng);
        }
        return;
    }
    for (int64_t j = 0; j < s->points; j++) {
        const int far = s->layout == UNIFORM || rng_uniform(&rng) < 0.1;
        for (int d = 0; d < s->dimension; d++) {
            x[d][j] = far ? PI * (2.0 * rng_uniform(&rng) - 1.0) : 1.0 + 0.05 * rng_normal(&rng);
        }
    }
}

/* Array of the case's precision from doubles; NULL stays NULL. */
static enum mtip_status convert(void **to, const double *from, int64_t n, enum nufft_precision kind)
{
    *to = NULL;
    if (from == NULL) {
        return MTIP_OK;
    }
    const enum mtip_status status =
        memory_alloc(to, n, kind == NUFFT_FLOAT ? sizeof(float) : sizeof(double), "bench data");
    for (int64_t i = 0; status == MTIP_OK && i < n; i++) {
        if (kind == NUFFT_FLOAT) {
            ((float *)*to)[i] = (float)from[i];
        } else {
            ((double *)*to)[i] = from[i];
        }
    }
    return status;
}

static double at(const void *array, int64_t i, enum nufft_precision kind)
{
    return kind == NUFFT_FLOAT ? (double)((const float *)array)[i] : ((const double *)array)[i];
}

/* Data of a case; arrays of the case's precision. */
struct data {
    void *x[3];
    void *target[3];
    void *strengths;
    void *modes;
    int64_t stored; /* modes or targets of a vector */
};

static void free_data(struct data *data)
{
    for (int d = 0; d < 3; d++) {
        memory_free(&data->x[d]);
        memory_free(&data->target[d]);
    }
    memory_free(&data->strengths);
    memory_free(&data->modes);
}

static enum mtip_status random_numbers(void **to, int64_t n, double scale, const struct settings *s)
{
    double *numbers = NULL;
    struct rng rng = rng_stream(2, RNG_TEST, (uint64_t)n, 0);
    enum mtip_status status = MEMORY_ALLOC(&numbers, n, "bench data");
    for (int64_t i = 0; status == MTIP_OK && i < n; i++) {
        numbers[i] = scale * (2.0 * rng_uniform(&rng) - 1.0);
    }
    if (status == MTIP_OK) {
        status = convert(to, numbers, n, s->precision);
    }
    memory_free(&numbers);
    return status;
}

static enum mtip_status make_data(struct data *data, const struct settings *s)
{
    enum mtip_status status = MTIP_OK;
    double *x[3] = {NULL, NULL, NULL};
    for (int d = 0; d < s->dimension; d++) {
        MTIP_TRY(MEMORY_ALLOC(&x[d], s->points, "bench points"));
    }
    make_points(x, s);
    data->stored = s->type == 3 ? s->points : s->real_data ? s->modes / 2 + 1 : s->modes;
    for (int d = 0; d < s->dimension; d++) {
        MTIP_TRY(convert(&data->x[d], x[d], s->points, s->precision));
        if (s->type == 3) {
            MTIP_TRY(random_numbers(&data->target[d], s->points, 0.5 * (double)s->modes, s));
        } else if (d > 0) {
            data->stored *= s->modes;
        }
    }
    MTIP_TRY(
        random_numbers(&data->strengths, s->vectors * s->points * (s->real_data ? 1 : 2), 1.0, s));
    MTIP_TRY(random_numbers(&data->modes, s->vectors * data->stored * 2, 1.0, s));
cleanup:
    for (int d = 0; d < 3; d++) {
        memory_free(&x[d]);
    }
    return status;
}

/* k.x of stored mode i (or target i) and point j. */
static double phase(const struct settings *s, const struct data *data, int64_t i, int64_t j)
{
    double angle = 0.0;
    int64_t rest = i;
    for (int d = 0; d < s->dimension; d++) {
        const double x = at(data->x[d], j, s->precision);
        if (s->type == 3) {
            angle += at(data->target[d], i, s->precision) * x;
            continue;
        }
        const int half = d == 0 && s->real_data;
        const int64_t n = half ? s->modes / 2 + 1 : s->modes;
        angle += (double)(rest % n - (half ? 0 : s->modes / 2)) * x;
        rest /= n;
    }
    return angle;
}

/* Relative error of 20 values of the first vector against their sums, sign +1. */
static double sample_error(const struct settings *s, const struct data *data)
{
    const int64_t outputs = s->type == 2 ? s->points : data->stored;
    const int64_t inputs = s->type == 2 ? data->stored : s->points;
    double difference = 0.0;
    double norm = 0.0;
    for (int64_t sample = 0; sample < 20 && sample < outputs; sample++) {
        const int64_t o = (int64_t)((double)sample / 20.0 * (double)outputs);
        double re = 0.0;
        double im = 0.0;
        for (int64_t in = 0; in < inputs; in++) {
            const double angle = s->type == 2 ? phase(s, data, in, o) : phase(s, data, o, in);
            const void *source = s->type == 2 ? data->modes : data->strengths;
            const int real_source = s->type != 2 && s->real_data;
            const double a = at(source, real_source ? in : 2 * in, s->precision);
            const double b = real_source ? 0.0 : at(source, 2 * in + 1, s->precision);
            const int64_t k_x = in % (s->modes / 2 + 1);
            const int twice = s->type == 2 && s->real_data && k_x != 0 && 2 * k_x != s->modes;
            re += (twice ? 2.0 : 1.0) * (a * cos(angle) - b * sin(angle));
            im += a * sin(angle) + b * cos(angle);
        }
        const int real_result = s->type == 2 && s->real_data;
        const void *result = s->type == 2 ? data->strengths : data->modes;
        const double got_re = at(result, real_result ? o : 2 * o, s->precision);
        const double got_im = real_result ? 0.0 : at(result, 2 * o + 1, s->precision);
        im = real_result ? 0.0 : im;
        difference += (got_re - re) * (got_re - re) + (got_im - im) * (got_im - im);
        norm += re * re + im * im;
    }
    return sqrt(difference / norm);
}

static enum mtip_status time_case(struct timing *timing, const struct settings *s)
{
    enum mtip_status status = MTIP_OK;
    struct data data = {.stored = 0};
    struct nufft_plan *plan = NULL;
    struct nufft_options options = nufft_options_default();
    const int64_t n_modes[3] = {s->modes, s->modes, s->modes};
    options.real_data = s->real_data;
    options.copy_points = s->copy_points;
    options.n_threads = s->threads;
    options.max_points = s->points;
    *timing = (struct timing){.set_points = 1e30, .execute = 1e30};
    MTIP_TRY(make_data(&data, s));
    double start = now();
    MTIP_TRY(nufft_plan_create(&plan, s->type, s->dimension, n_modes, 1, s->vectors, s->tolerance,
                               s->precision, &options));
    timing->create = now() - start;
    for (int round = 0; round < s->rounds; round++) {
        start = now();
        MTIP_TRY(nufft_plan_set_points(plan, s->points, data.x[0], data.x[1], data.x[2],
                                       s->type == 3 ? data.stored : 0, data.target[0],
                                       data.target[1], data.target[2]));
        const double set = now();
        MTIP_TRY(nufft_plan_execute(plan, data.strengths, data.modes));
        const double end = now();
        timing->set_points = set - start < timing->set_points ? set - start : timing->set_points;
        timing->execute = end - set < timing->execute ? end - set : timing->execute;
    }
    timing->error = sample_error(s, &data);
cleanup:
    nufft_plan_destroy(&plan);
    free_data(&data);
    return status;
}

static void show(const struct settings *s, const struct timing *t, int first)
{
    const double scale = 1e9 / (double)(s->points > 0 ? s->points : 1);
    const double execute = t->execute * scale / (double)s->vectors;
    const char *precision = s->precision == NUFFT_FLOAT ? "float" : "double";
    if (s->json) {
        printf("%s\n  {\"type\": %d, \"dim\": %d, \"modes\": %" PRId64 ", \"points\": %" PRId64
               ", \"vectors\": %" PRId64
               ", \"precision\": \"%s\", \"tolerance\": %g, \"real\": %s, \"copy_points\": %s, "
               "\"layout\": \"%s\", \"threads\": %d, \"create_s\": %.6f, \"set_points_ns\": %.3f, "
               "\"execute_ns\": %.3f, \"error\": %.3e}",
               first ? "[" : ",", s->type, s->dimension, s->modes, s->points, s->vectors, precision,
               s->tolerance, s->real_data ? "true" : "false", s->copy_points ? "true" : "false",
               layout_names[s->layout], s->threads, t->create, t->set_points * scale, execute,
               t->error);
        return;
    }
    if (first) {
        printf(
            "type dim  modes    points vectors precision tolerance data    layout     create ms  "
            "set points ns  execute ns  error\n");
    }
    printf("%4d %3d %6" PRId64 " %9" PRId64 " %7" PRId64
           " %-9s %9.0e %-7s %-9s %10.2f %14.1f %11.1f  %.1e\n",
           s->type, s->dimension, s->modes, s->points, s->vectors, precision, s->tolerance,
           s->real_data ? "real" : "complex", layout_names[s->layout], t->create * 1e3,
           t->set_points * scale, execute, t->error);
    fflush(stdout);
}

static enum mtip_status parse_number(double *value, const char *name, const char *text)
{
    char *end = NULL;
    *value = text != NULL ? strtod(text, &end) : 0.0;
    if (text == NULL || end == text || *end != '\0' || !(*value >= 0.0 && *value < 1e15)) {
        return MTIP_ERROR(MTIP_ERR_USAGE, "bench nufft: %s needs a number >= 0, not \"%s\"", name,
                          text != NULL ? text : "");
    }
    return MTIP_OK;
}

static enum mtip_status parse_word(int *index, const char *name, const char *text,
                                   const char *const *words, int n)
{
    for (int i = 0; text != NULL && i < n; i++) {
        if (strcmp(text, words[i]) == 0) {
            *index = i;
            return MTIP_OK;
        }
    }
    return MTIP_ERROR(MTIP_ERR_USAGE, "bench nufft: %s cannot be \"%s\"", name,
                      text != NULL ? text : "");
}

static enum mtip_status parse_value(struct settings *s, const char *name, const char *text)
{
    static const char *const precisions[] = {"float", "double"};
    double value = 0.0;
    int index = 0;
    enum mtip_status status = MTIP_OK;
    if (strcmp(name, "--precision") == 0) {
        status = parse_word(&index, name, text, precisions, 2);
        s->precision = index == 0 ? NUFFT_FLOAT : NUFFT_DOUBLE;
        return status;
    }
    if (strcmp(name, "--layout") == 0) {
        status = parse_word(&index, name, text, layout_names, 3);
        s->layout = (enum layout)index;
        return status;
    }
    status = parse_number(&value, name, text);
    if (strcmp(name, "--tolerance") == 0) {
        s->tolerance = value;
    } else if (strcmp(name, "--type") == 0) {
        s->type = (int)fmin(value, 100.0);
    } else if (strcmp(name, "--dim") == 0) {
        s->dimension = (int)fmin(value, 100.0);
    } else if (strcmp(name, "--threads") == 0) {
        s->threads = (int)fmin(value, 4096.0);
    } else if (strcmp(name, "--rounds") == 0) {
        s->rounds = (int)fmax(1.0, fmin(value, 1e6));
    } else if (strcmp(name, "--modes") == 0) {
        s->modes = (int64_t)value;
    } else if (strcmp(name, "--points") == 0) {
        s->points = (int64_t)value;
    } else if (strcmp(name, "--vectors") == 0) {
        s->vectors = (int64_t)value;
    } else {
        return MTIP_ERROR(MTIP_ERR_USAGE, "bench nufft: unknown option \"%s\"", name);
    }
    return status;
}

/* Reads the options; *own is 1 when they describe a case of their own. */
static enum mtip_status parse(struct settings *s, int *own, int argc, char **argv)
{
    enum mtip_status status = MTIP_OK;
    for (int i = 1; i < argc && status == MTIP_OK; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            s->json = 1;
        } else if (strcmp(argv[i], "--real") == 0) {
            s->real_data = 1;
            *own = 1;
        } else if (strcmp(argv[i], "--copy-points") == 0) {
            s->copy_points = 1;
        } else {
            const char *name = argv[i];
            *own |= strcmp(name, "--threads") != 0 && strcmp(name, "--rounds") != 0;
            status = parse_value(s, name, i + 1 < argc ? argv[i + 1] : NULL);
            i++;
        }
    }
    if (status != MTIP_OK) {
        return status;
    }
    if (s->dimension < 1 || s->dimension > 3 || (s->layout == SLICES && s->dimension != 3)) {
        return MTIP_ERROR(MTIP_ERR_USAGE, "bench nufft: --dim must be 1, 2 or 3, and 3 for slices");
    }
    if (s->layout == SLICES) {
        s->points = s->points / (SIDE * SIDE) * (SIDE * SIDE);
    }
    return MTIP_OK;
}

enum mtip_status bench_nufft(int argc, char **argv)
{
    static const double tolerances[] = {1e-5, 1e-6, 1e-12};
    struct settings s = {.type = 2,
                         .dimension = 3,
                         .modes = 41,
                         .points = 62 * SIDE * SIDE,
                         .vectors = 1,
                         .tolerance = 1e-6,
                         .precision = NUFFT_DOUBLE,
                         .layout = SLICES,
                         .rounds = 5};
    struct timing timing;
    enum mtip_status status = MTIP_OK;
    int own = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "--list") == 0) {
            printf("%s", usage);
            return MTIP_OK;
        }
    }
    MTIP_TRY(parse(&s, &own, argc, argv));
    if (own) {
        MTIP_TRY(time_case(&timing, &s));
        show(&s, &timing, 1);
    } else {
        for (int i = 0; i < 6; i++) {
            s.real_data = 1;
            s.type = i < 3 ? 2 : 1;
            s.modes = i < 3 ? 41 : 81;
            s.points = (i < 3 ? 62 : 1000) * (int64_t)(SIDE * SIDE);
            s.precision = i % 3 == 0 ? NUFFT_FLOAT : NUFFT_DOUBLE;
            s.tolerance = tolerances[i % 3];
            MTIP_TRY(time_case(&timing, &s));
            show(&s, &timing, i == 0);
        }
    }
    if (s.json) {
        printf("\n]\n");
    }
cleanup:
    return status;
}
