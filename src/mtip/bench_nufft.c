/* bench_nufft.c - `mtip bench nufft`: times NUFFTs of any kind. */
#define _POSIX_C_SOURCE 200809L
#include "mtip/bench_nufft.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mtip/bench_nufft_data.h"

#define SLICE (BENCH_NUFFT_SIDE * BENCH_NUFFT_SIDE) /* points of a slice */

static const char *const layout_names[] = {"uniform", "clustered", "slices"};

struct settings {
    struct bench_nufft_case c;
    int has_layout; /* one was named */
    int copy_points;
    int threads;
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
    "  --layout uniform|clustered|slices (default: slices in 3-D, else uniform)\n"
    "  --rounds R          --json\n"
    "  --copy-points (the plan keeps sorted copies of the coordinates)\n"
    "Times are the least of R rounds; ns a point and vector. The error is that of 20 values "
    "against direct sums.\n";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static enum mtip_status time_case(struct timing *timing, const struct settings *s)
{
    enum mtip_status status = MTIP_OK;
    struct bench_nufft_data data = {.stored = 0};
    struct nufft_plan *plan = NULL;
    struct nufft_options options = nufft_options_default();
    const int64_t n_modes[3] = {s->c.modes, s->c.modes, s->c.modes};
    options.real_data = s->c.real_data;
    options.copy_points = s->copy_points;
    options.n_threads = s->threads;
    options.max_points = s->c.points;
    *timing = (struct timing){.set_points = 1e30, .execute = 1e30};
    MTIP_TRY(bench_nufft_data_make(&data, &s->c));
    double start = now();
    MTIP_TRY(nufft_plan_create(&plan, s->c.type, s->c.dimension, n_modes, 1, s->c.vectors,
                               s->c.tolerance, s->c.precision, &options));
    timing->create = now() - start;
    for (int round = 0; round < s->rounds; round++) {
        start = now();
        MTIP_TRY(nufft_plan_set_points(plan, s->c.points, data.x[0], data.x[1], data.x[2],
                                       s->c.type == 3 ? data.stored : 0, data.target[0],
                                       data.target[1], data.target[2]));
        const double set = now();
        MTIP_TRY(nufft_plan_execute(plan, data.strengths, data.modes));
        const double end = now();
        timing->set_points = set - start < timing->set_points ? set - start : timing->set_points;
        timing->execute = end - set < timing->execute ? end - set : timing->execute;
    }
    timing->error = bench_nufft_data_error(&s->c, &data);
cleanup:
    nufft_plan_destroy(&plan);
    bench_nufft_data_free(&data);
    return status;
}

static void show(const struct settings *s, const struct timing *t, int first)
{
    const double scale = 1e9 / (double)(s->c.points > 0 ? s->c.points : 1);
    const double execute = t->execute * scale / (double)s->c.vectors;
    const char *precision = s->c.precision == NUFFT_FLOAT ? "float" : "double";
    if (s->json) {
        printf("%s\n  {\"type\": %d, \"dim\": %d, \"modes\": %" PRId64 ", \"points\": %" PRId64
               ", \"vectors\": %" PRId64
               ", \"precision\": \"%s\", \"tolerance\": %g, \"real\": %s, \"copy_points\": %s, "
               "\"layout\": \"%s\", \"threads\": %d, \"create_s\": %.6f, \"set_points_ns\": %.3f, "
               "\"execute_ns\": %.3f, \"error\": %.3e}",
               first ? "[" : ",", s->c.type, s->c.dimension, s->c.modes, s->c.points, s->c.vectors,
               precision, s->c.tolerance, s->c.real_data ? "true" : "false",
               s->copy_points ? "true" : "false", layout_names[s->c.layout], s->threads, t->create,
               t->set_points * scale, execute, t->error);
        return;
    }
    if (first) {
        printf(
            "type dim  modes    points vectors precision tolerance data    layout     create ms  "
            "set points ns  execute ns  error\n");
    }
    printf("%4d %3d %6" PRId64 " %9" PRId64 " %7" PRId64
           " %-9s %9.0e %-7s %-9s %10.2f %14.1f %11.1f  %.1e\n",
           s->c.type, s->c.dimension, s->c.modes, s->c.points, s->c.vectors, precision,
           s->c.tolerance, s->c.real_data ? "real" : "complex", layout_names[s->c.layout],
           t->create * 1e3, t->set_points * scale, execute, t->error);
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
        s->c.precision = index == 0 ? NUFFT_FLOAT : NUFFT_DOUBLE;
        return status;
    }
    if (strcmp(name, "--layout") == 0) {
        status = parse_word(&index, name, text, layout_names, 3);
        s->c.layout = (enum bench_nufft_layout)index;
        s->has_layout = 1;
        return status;
    }
    status = parse_number(&value, name, text);
    if (strcmp(name, "--tolerance") == 0) {
        s->c.tolerance = value;
    } else if (strcmp(name, "--type") == 0) {
        s->c.type = (int)fmin(value, 100.0);
    } else if (strcmp(name, "--dim") == 0) {
        s->c.dimension = (int)fmin(value, 100.0);
    } else if (strcmp(name, "--threads") == 0) {
        s->threads = (int)fmin(value, 4096.0);
    } else if (strcmp(name, "--rounds") == 0) {
        s->rounds = (int)fmax(1.0, fmin(value, 1e6));
    } else if (strcmp(name, "--modes") == 0) {
        s->c.modes = (int64_t)value;
    } else if (strcmp(name, "--points") == 0) {
        s->c.points = (int64_t)value;
    } else if (strcmp(name, "--vectors") == 0) {
        s->c.vectors = (int64_t)value;
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
            s->c.real_data = 1;
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
    if (!s->has_layout && s->c.dimension < 3) {
        s->c.layout = BENCH_NUFFT_UNIFORM;
    }
    if (s->c.dimension < 1 || s->c.dimension > 3) {
        return MTIP_ERROR(MTIP_ERR_USAGE, "bench nufft: --dim must be 1, 2 or 3");
    }
    if (s->c.layout == BENCH_NUFFT_SLICES && s->c.dimension != 3) {
        return MTIP_ERROR(MTIP_ERR_USAGE,
                          "bench nufft: --layout slices is for --dim 3; use uniform or clustered");
    }
    if (s->c.layout == BENCH_NUFFT_SLICES) {
        s->c.points = s->c.points / SLICE * SLICE;
    }
    return MTIP_OK;
}

enum mtip_status bench_nufft(int argc, char **argv)
{
    static const double tolerances[] = {1e-5, 1e-6, 1e-12};
    struct settings s = {.c = {.type = 2,
                               .dimension = 3,
                               .modes = 41,
                               .points = 62 * SLICE,
                               .vectors = 1,
                               .tolerance = 1e-6,
                               .precision = NUFFT_DOUBLE,
                               .layout = BENCH_NUFFT_SLICES},
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
            s.c.real_data = 1;
            s.c.type = i < 3 ? 2 : 1;
            s.c.modes = i < 3 ? 41 : 81;
            s.c.points = (i < 3 ? 62 : 1000) * (int64_t)SLICE;
            s.c.precision = i % 3 == 0 ? NUFFT_FLOAT : NUFFT_DOUBLE;
            s.c.tolerance = tolerances[i % 3];
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
