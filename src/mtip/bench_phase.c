/* bench_phase.c - times the iterations of phasing and the transforms in them. */
#include "mtip/bench_phase.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/rng.h"
#include "mtip/phase.h"

#define MAX_GRIDS 16
#define LARGEST_GRID 2048

struct options {
    int n_grids;
    int64_t grid[MAX_GRIDS];
    int iterations;
    int repeats;
    int threads;
    const char *backend;
    int json;
    int list;
};

struct timing {
    double iteration; /* seconds of one RAAR iteration */
    double fft;       /* seconds of its two transforms */
};

static const char usage[] = "usage: mtip bench phase [options]\n"
                            "  --grid N[,N..]    grid points a side (41,63,81)\n"
                            "  --iterations N    iterations timed together (20)\n"
                            "  --repeats N       repeats, of which the fastest counts (5)\n"
                            "  --backend NAME    auto, cpu or cuda (auto)\n"
                            "  --threads N       threads of the CPU backend, 0 = all (1)\n"
                            "  --json            JSON instead of a table\n"
                            "  --list            this text\n";

static enum mtip_status parse_count(int64_t *value, const char *text, const char **end,
                                    const char *option, int64_t least, int64_t most)
{
    char *stop = NULL;
    *value = strtoll(text, &stop, 10);
    if (stop == text || *value < least || *value > most) {
        return MTIP_ERROR(MTIP_ERR_USAGE,
                          "bench phase: %s %s; it takes a number from %" PRId64 " to %" PRId64,
                          option, text, least, most);
    }
    *end = stop;
    return MTIP_OK;
}

static enum mtip_status parse_grids(struct options *options, const char *text)
{
    enum mtip_status status = MTIP_OK;
    const char *at = text;
    options->n_grids = 0;
    for (;;) {
        if (options->n_grids == MAX_GRIDS) {
            MTIP_FAIL(MTIP_ERR_USAGE, "bench phase: --grid takes at most %d sizes", MAX_GRIDS);
        }
        MTIP_TRY(
            parse_count(&options->grid[options->n_grids++], at, &at, "--grid", 4, LARGEST_GRID));
        if (*at == '\0') {
            break;
        }
        if (*at++ != ',') {
            MTIP_FAIL(MTIP_ERR_USAGE, "bench phase: --grid %s; sizes are separated by commas",
                      text);
        }
    }
cleanup:
    return status;
}

/* A whole number and nothing after it. */
static enum mtip_status parse_number(int *value, const char *option, const char *text,
                                     int64_t least)
{
    enum mtip_status status = MTIP_OK;
    const char *end = NULL;
    int64_t number = 0;
    MTIP_TRY(parse_count(&number, text, &end, option, least, 1000000));
    if (*end != '\0') {
        MTIP_FAIL(MTIP_ERR_USAGE, "bench phase: %s %s is not a number", option, text);
    }
    *value = (int)number;
cleanup:
    return status;
}

static enum mtip_status parse_options(struct options *options, int argc, char **argv)
{
    enum mtip_status status = MTIP_OK;
    for (int i = 1; i < argc; i++) {
        const char *option = argv[i];
        if (strcmp(option, "--json") == 0) {
            options->json = 1;
            continue;
        }
        if (strcmp(option, "--list") == 0 || strcmp(option, "--help") == 0) {
            options->list = 1;
            continue;
        }
        if (i + 1 == argc) {
            MTIP_FAIL(MTIP_ERR_USAGE, "bench phase: %s is not an option or lacks its value",
                      option);
        }
        const char *value = argv[++i];
        if (strcmp(option, "--grid") == 0) {
            MTIP_TRY(parse_grids(options, value));
        } else if (strcmp(option, "--iterations") == 0) {
            MTIP_TRY(parse_number(&options->iterations, option, value, 1));
        } else if (strcmp(option, "--repeats") == 0) {
            MTIP_TRY(parse_number(&options->repeats, option, value, 1));
        } else if (strcmp(option, "--threads") == 0) {
            MTIP_TRY(parse_number(&options->threads, option, value, 0));
        } else if (strcmp(option, "--backend") == 0) {
            options->backend = value;
        } else {
            MTIP_FAIL(MTIP_ERR_USAGE, "bench phase: unknown option %s; --list names them", option);
        }
    }
cleanup:
    return status;
}

/* Random magnitudes out to the grid's edge: the work does not depend on what they are. */
static enum mtip_status set_random_data(struct phaser *phaser, const struct backend *backend,
                                        int64_t M)
{
    enum mtip_status status = MTIP_OK;
    const int64_t size[3] = {M, M, M}, n_half = fft_half_count(size);
    double *intensity = NULL, *d_intensity = NULL;
    uint8_t *measured = NULL, *d_measured = NULL;
    MTIP_TRY(MEMORY_ALLOC(&intensity, n_half, "intensities"));
    MTIP_TRY(MEMORY_ALLOC(&measured, n_half, "mask"));
    MTIP_TRY(BACKEND_ALLOC(backend, &d_intensity, n_half, "intensities"));
    MTIP_TRY(BACKEND_ALLOC(backend, &d_measured, n_half, "mask"));
    struct rng rng = rng_stream(1, RNG_TEST, (uint64_t)M, 0);
    for (int64_t i = 0; i < n_half; i++) {
        intensity[i] = rng_uniform(&rng);
    }
    phase_mask_shells(measured, M, 0, (double)M / 2);
    MTIP_TRY(backend_upload(backend, d_intensity, intensity, (size_t)n_half * sizeof *intensity));
    MTIP_TRY(backend_upload(backend, d_measured, measured, (size_t)n_half));
    MTIP_TRY(phaser_set_data(phaser, d_intensity, d_measured));
    MTIP_TRY(backend_synchronize(backend));
cleanup:
    backend_free(backend, &d_measured);
    backend_free(backend, &d_intensity);
    memory_free(&measured);
    memory_free(&intensity);
    return status;
}

/* Seconds of a schedule of `iterations` RAAR iterations. */
static enum mtip_status time_run(double *seconds, struct phaser *phaser,
                                 const struct backend *backend, int iterations, double radius,
                                 double *density, uint8_t *support)
{
    enum mtip_status status = MTIP_OK;
    struct phase_schedule schedule = phase_schedule_search(radius);
    schedule.loops = 1;
    schedule.iterations = iterations;
    schedule.er_iterations = 0;
    schedule.final_er_iterations = 0;
    const double begin = log_seconds();
    MTIP_TRY(phaser_run(phaser, &schedule, density, support, NULL));
    MTIP_TRY(backend_synchronize(backend));
    *seconds = log_seconds() - begin;
cleanup:
    return status;
}

static enum mtip_status time_fft(double *seconds, const struct phaser *phaser,
                                 const struct backend *backend, int pairs, double *density,
                                 double *half)
{
    enum mtip_status status = MTIP_OK;
    const double begin = log_seconds();
    for (int i = 0; i < pairs; i++) {
        MTIP_TRY(fft_plan_forward(phaser_fft(phaser), density, half));
        MTIP_TRY(fft_plan_inverse(phaser_fft(phaser), half, density));
    }
    MTIP_TRY(backend_synchronize(backend));
    *seconds = log_seconds() - begin;
cleanup:
    return status;
}

/* A run has a start check, shrink-wrap and recentring beside its iterations: the difference of two lengths is the
 * iterations alone. */
static enum mtip_status time_grid(struct timing *best, const struct options *options,
                                  const struct backend *backend, int64_t M)
{
    enum mtip_status status = MTIP_OK;
    const int64_t size[3] = {M, M, M}, n = fft_real_count(size), n_half = fft_half_count(size);
    const double radius = (double)M / 4;
    const int count = options->iterations;
    struct phaser *phaser = NULL;
    double *density = NULL, *half = NULL;
    uint8_t *support = NULL;
    *best = (struct timing){INFINITY, INFINITY};
    MTIP_TRY(phaser_create(&phaser, backend, M));
    MTIP_TRY(BACKEND_ALLOC(backend, &density, n, "density"));
    MTIP_TRY(BACKEND_ALLOC(backend, &half, 2 * n_half, "spectrum"));
    MTIP_TRY(BACKEND_ALLOC(backend, &support, n, "support"));
    MTIP_TRY(set_random_data(phaser, backend, M));
    double shortest = INFINITY, longest = INFINITY;
    for (int repeat = 0; repeat < options->repeats; repeat++) {
        double seconds = 0;
        MTIP_TRY(phaser_random_start(phaser, 1, 0, radius, density, support));
        MTIP_TRY(time_fft(&seconds, phaser, backend, count, density, half));
        best->fft = fmin(best->fft, seconds / count);
        MTIP_TRY(phaser_random_start(phaser, 1, 0, radius, density, support));
        MTIP_TRY(time_run(&seconds, phaser, backend, 1, radius, density, support));
        shortest = fmin(shortest, seconds);
        MTIP_TRY(phaser_random_start(phaser, 1, 0, radius, density, support));
        MTIP_TRY(time_run(&seconds, phaser, backend, 1 + count, radius, density, support));
        longest = fmin(longest, seconds);
    }
    best->iteration = (longest - shortest) / count;
cleanup:
    backend_free(backend, &support);
    backend_free(backend, &half);
    backend_free(backend, &density);
    phaser_destroy(&phaser);
    return status;
}

static void print_row(const struct options *options, int64_t M, const struct timing *t, int first)
{
    const double voxels = (double)(M * M * M), share = t->fft / t->iteration;
    if (options->json) {
        printf("%s\n    {\"grid\": %" PRId64 ", \"seconds_per_iteration\": %.4g, "
               "\"fft_seconds\": %.4g, \"fft_share\": %.3f, \"ns_per_voxel\": %.3f}",
               first ? "" : ",", M, t->iteration, t->fft, share, 1e9 * t->iteration / voxels);
    } else {
        printf("%6" PRId64 " %14.3f %10.3f %9.0f %% %10.2f\n", M, 1e3 * t->iteration, 1e3 * t->fft,
               100 * share, 1e9 * t->iteration / voxels);
    }
    fflush(stdout);
}

enum mtip_status bench_phase(int argc, char **argv)
{
    enum mtip_status status = MTIP_OK;
    struct options options = {.n_grids = 3,
                              .grid = {41, 63, 81},
                              .iterations = 20,
                              .repeats = 5,
                              .threads = 1,
                              .backend = "auto"};
    struct backend *backend = NULL;
    MTIP_TRY(parse_options(&options, argc, argv));
    if (options.list) {
        fputs(usage, stdout);
        return MTIP_OK;
    }
    MTIP_TRY(backend_create(&backend, options.backend, 0, options.threads));
    if (options.json) {
        printf("{\"stage\": \"phase\", \"backend\": \"%s\", \"threads\": %d, \"cases\": [",
               backend->description, backend->n_threads);
    } else {
        printf("phasing on %s\n%6s %14s %10s %11s %10s\n", backend->description, "grid",
               "ms/iteration", "ms FFTs", "FFT share", "ns/voxel");
    }
    for (int i = 0; i < options.n_grids; i++) {
        struct timing timing;
        MTIP_TRY(time_grid(&timing, &options, backend, options.grid[i]));
        print_row(&options, options.grid[i], &timing, i == 0);
    }
    if (options.json) {
        printf("\n]}\n");
    }
cleanup:
    backend_destroy(&backend);
    return status;
}
