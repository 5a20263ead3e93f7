/* bench_gpu.c - times the CUDA NUFFT on a device, each method, against cuFINUFFT in the same run.
 *
 *   bench_gpu [--cufinufft LIBRARY] [--json FILE] [--scale S] [--repeat R] [--dry]
 *
 * --scale S divides every number of points and modes (1: the sizes of interest). --dry is for the host-CUDA layer, where the
 * program itself is tested: no time is printed or written. Prints one row a case and method: milliseconds of set-points
 * and of execute (the least of R), points a second, relative l2 error against a direct sum at some outputs. Two ceilings come
 * first: a copy from device to device, and cuFFT alone. Exit status 1 when a transform fails or its error is too large.
 */
#include <cufft.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

struct settings {
    const char *library;
    FILE *json;
    double scale;
    int repeat;
    int dry;
    int rows;
    int failures;
};

static const struct bench_case cases[] = {
    {"slice 41^3", 41, 1020000, 1e-12, NUFFT_DOUBLE, 0},
    {"slice 41^3", 41, 1020000, 1e-6, NUFFT_DOUBLE, 0},
    {"slice 41^3", 41, 1020000, 1e-5, NUFFT_FLOAT, 0},
    {"merge 81^3", 81, 16400000, 1e-12, NUFFT_DOUBLE, 0},
    {"merge 81^3", 81, 16400000, 1e-6, NUFFT_DOUBLE, 0},
    {"merge 81^3", 81, 16400000, 1e-5, NUFFT_FLOAT, 0},
    {"uniform 256^3", 256, 17000000, 1e-6, NUFFT_DOUBLE, 0},
    {"clustered 256^3", 256, 17000000, 1e-6, NUFFT_DOUBLE, 1},
    {"uniform 256^3", 256, 17000000, 1e-5, NUFFT_FLOAT, 0},
};

static const char *const method_names[] = {"auto", "GM", "GM-sort", "SM", "COLUMN"};

/* What an error may be: the promise (3 tolerances), rounding of coordinates (nufft.h: as far as the precision allows), and
 * a factor as only some outputs are looked at. */
static double allowed(const struct bench_case *c, const struct bench_data *data)
{
    const double epsilon = c->precision == NUFFT_FLOAT ? 6e-8 : 1.1e-16;
    return 5.0 * (3.0 * c->tolerance + epsilon * 3.2 * (double)data->n_modes);
}

static void report(struct settings *settings, const struct bench_case *c,
                   const struct bench_data *data, int type, const char *method, double set_ms,
                   double run_ms, double error)
{
    const char *precision = c->precision == NUFFT_FLOAT ? "float" : "double";
    const int wrong = !(error <= allowed(c, data));
    char times[64] = "   (dry run: not timed)         ";
    if (!settings->dry) {
        snprintf(times, sizeof times, "%9.3f %9.3f %10.3f", set_ms, run_ms,
                 (double)data->n_points / run_ms / 1e6);
    }
    printf("%-16s %7.0e %-6s type %d %-14s %s %10.2e%s\n", c->name, c->tolerance, precision, type,
           method, times, error, wrong ? " WRONG" : "");
    fflush(stdout);
    settings->failures += wrong;
    if (settings->json != NULL) {
        fprintf(settings->json,
                "%s\n  {\"case\": \"%s\", \"modes\": %" PRId64 ", \"points\": %" PRId64
                ", \"tolerance\": %g, \"precision\": \"%s\", \"type\": %d, \"method\": \"%s\"",
                settings->rows++ > 0 ? "," : "", c->name, data->n_modes, data->n_points,
                c->tolerance, precision, type, method);
        if (!settings->dry) {
            fprintf(settings->json, ", \"set_points_ms\": %.6g, \"execute_ms\": %.6g", set_ms,
                    run_ms);
        }
        fprintf(settings->json, ", \"error\": %.4g}", isfinite(error) ? error : 1e30);
    }
}

static void report_failure(struct settings *settings, const struct bench_case *c, int type,
                           const char *method, const char *message)
{
    printf("%-16s %7.0e        type %d %-14s failed: %s\n", c->name, c->tolerance, type, method,
           message);
    settings->failures++;
}

/* ---- one row ------------------------------------------------------------------------------------- */
static void time_ours(struct settings *settings, const struct bench_case *c,
                      struct bench_data *data, const struct bench_exact *exact, int type,
                      int method, int real_data)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_options options = nufft_options_default();
    struct nufft_plan *plan = NULL;
    struct bench_timer timer;
    const int64_t n_modes[3] = {data->n_modes, data->n_modes, data->n_modes};
    void *const strengths = type == 1 ? data->d_strengths : data->d_values;
    void *const modes = type == 1 ? data->d_spectrum : data->d_modes;
    double set_ms = INFINITY, run_ms = INFINITY;
    char name[32];
    snprintf(name, sizeof name, "%s%s", method_names[method], real_data ? ", real" : "");
    bench_timer_make(&timer);
    options.backend = NUFFT_BACKEND_CUDA;
    options.method = method;
    options.real_data = real_data;
    options.max_points = data->n_points;
    MTIP_TRY(
        nufft_plan_create(&plan, type, 3, n_modes, 1, 1, c->tolerance, c->precision, &options));
    for (int r = 0; r < settings->repeat; r++) {
        bench_timer_start(&timer);
        MTIP_TRY(nufft_plan_set_points(plan, data->n_points, data->d_x[0], data->d_x[1],
                                       data->d_x[2], 0, NULL, NULL, NULL));
        bench_timer_stop(&timer, &set_ms);
        bench_timer_start(&timer);
        MTIP_TRY(nufft_plan_execute(plan, strengths, modes));
        bench_timer_stop(&timer, &run_ms);
    }
    report(settings, c, data, type, name, set_ms, run_ms, bench_error(exact, data, type));
cleanup:
    if (status != MTIP_OK) {
        report_failure(settings, c, type, name, mtip_status_message());
    }
    nufft_plan_destroy(&plan);
    bench_timer_free(&timer);
}

static void time_peer(struct settings *settings, const struct bench_peer *peer,
                      const struct bench_case *c, struct bench_data *data,
                      const struct bench_exact *exact, int type)
{
    double set_ms = INFINITY, run_ms = INFINITY;
    const int failed = bench_peer_time(&set_ms, &run_ms, peer, c, data, type, settings->repeat);
    if (failed != 0) { /* not ours to mend */
        printf("%-16s %7.0e        type %d cuFINUFFT      error %d\n", c->name, c->tolerance, type,
               failed);
        return;
    }
    report(settings, c, data, type, "cuFINUFFT", set_ms, run_ms, bench_error(exact, data, type));
}

static void time_case(struct settings *settings, const struct bench_peer *peer,
                      const struct bench_case *c)
{
    struct bench_data data;
    bench_data_make(&data, c, settings->scale);
    for (int type = 1; type <= 2; type++) {
        struct bench_exact exact;
        bench_exact_make(&exact, &data, type, 0);
        if (peer != NULL) {
            time_peer(settings, peer, c, &data, &exact, type);
        }
        for (int method = NUFFT_METHOD_AUTO; method <= NUFFT_METHOD_COLUMN; method++) {
            time_ours(settings, c, &data, &exact, type, method, 0);
        }
        bench_exact_make(&exact, &data, type, 1);
        time_ours(settings, c, &data, &exact, type, NUFFT_METHOD_AUTO, 1);
    }
    bench_data_free(&data);
}

/* ---- ceilings ---------------------------------------------------------------------------------- */
static void time_ceilings(const struct settings *settings)
{
    const size_t bytes = (size_t)(1e9 / settings->scale);
    const int side = (int)(512.0 / cbrt(settings->scale)) / 2 * 2;
    const size_t grid = 16 * (size_t)side * (size_t)side * (size_t)side;
    void *a = NULL, *b = NULL;
    struct bench_timer timer;
    double copy_ms = INFINITY, fft_ms = INFINITY;
    cufftHandle fft;
    bench_timer_make(&timer);
    bench_must(cudaMalloc(&a, bytes > grid ? bytes : grid), "cudaMalloc");
    bench_must(cudaMalloc(&b, bytes), "cudaMalloc");
    bench_must(cudaMemset(a, 0, bytes > grid ? bytes : grid), "cudaMemset");
    for (int r = 0; r < settings->repeat; r++) {
        bench_timer_start(&timer);
        bench_must(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, NULL), "cudaMemcpyAsync");
        bench_timer_stop(&timer, &copy_ms);
    }
    if (cufftPlan3d(&fft, side, side, side, CUFFT_Z2Z) == CUFFT_SUCCESS) {
        for (int r = 0; r < settings->repeat; r++) {
            bench_timer_start(&timer);
            if (cufftExecZ2Z(fft, a, a, CUFFT_FORWARD) != CUFFT_SUCCESS) {
                break;
            }
            bench_timer_stop(&timer, &fft_ms);
        }
        (void)cufftDestroy(fft);
    }
    bench_must(cudaFree(a), "cudaFree");
    bench_must(cudaFree(b), "cudaFree");
    bench_timer_free(&timer);
    if (!settings->dry) {
        printf("copy, device to device: %.0f GB/s read and written\n",
               2.0 * (double)bytes / copy_ms / 1e6);
        printf("cuFFT, %d^3 double complex: %.3f ms\n\n", side, fft_ms);
    }
    if (settings->json != NULL && !settings->dry) {
        fprintf(settings->json, "\"copy_GB_s\": %.6g, \"cufft_side\": %d, \"cufft_ms\": %.6g,\n",
                2.0 * (double)bytes / copy_ms / 1e6, side, fft_ms);
    }
}

/* ---- program ------------------------------------------------------------------------------------- */
static int read_settings(struct settings *settings, int argc, char **argv)
{
    *settings = (struct settings){.scale = 1.0, .repeat = 5};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--dry") == 0) {
            settings->dry = 1;
            continue;
        }
        if (value != NULL && strcmp(argv[i], "--cufinufft") == 0) {
            settings->library = value;
        } else if (value != NULL && strcmp(argv[i], "--json") == 0) {
            settings->json = fopen(value, "w");
        } else if (value != NULL && strcmp(argv[i], "--scale") == 0) {
            settings->scale = strtod(value, NULL);
        } else if (value != NULL && strcmp(argv[i], "--repeat") == 0) {
            settings->repeat = (int)strtol(value, NULL, 10);
        } else {
            fprintf(stderr, "usage: bench_gpu [--cufinufft LIBRARY] [--json FILE] [--scale S] "
                            "[--repeat R] [--dry]\n");
            return 0;
        }
        i++;
    }
    return settings->scale >= 1.0 && settings->repeat >= 1;
}

int main(int argc, char **argv)
{
    struct settings settings;
    if (!read_settings(&settings, argc, argv)) {
        return 2;
    }
    const struct bench_peer *peer = bench_peer_open(settings.library);
    if (settings.json != NULL) {
        fputs("{", settings.json);
    }
    time_ceilings(&settings);
    if (settings.json != NULL) {
        fputs("\"nufft\": [", settings.json);
    }
    printf("%-16s %7s %-6s        %-14s %9s %9s %10s %10s\n", "case", "eps", "", "method", "set ms",
           "run ms", "Gpoint/s", "error");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        time_case(&settings, peer, &cases[i]);
    }
    if (settings.json != NULL) {
        fputs("\n]}\n", settings.json);
        fclose(settings.json);
    }
    printf("%d failed\n", settings.failures);
    return settings.failures > 0;
}
