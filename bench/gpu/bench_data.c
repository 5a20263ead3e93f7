/* bench_data.c - data of a case, exact outputs, timers. */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"

#define PI 3.14159265358979323846

void bench_must(cudaError_t code, const char *what)
{
    if (code != cudaSuccess) {
        fprintf(stderr, "bench_gpu: %s: %s\n", what, cudaGetErrorString(code));
        exit(1);
    }
}

void *bench_must_have(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "bench_gpu: out of memory\n");
        exit(1);
    }
    return memory;
}

/* ---- data -------------------------------------------------------------------------------------- */
static double *random_numbers(struct rng *rng, int64_t n)
{
    double *x = bench_must_have(malloc(sizeof *x * (size_t)n));
    for (int64_t i = 0; i < n; i++) {
        x[i] = 2.0 * rng_uniform(rng) - 1.0;
    }
    return x;
}

static void *on_device(size_t bytes)
{
    void *device = NULL;
    bench_must(cudaMalloc(&device, bytes), "cudaMalloc");
    return device;
}

static void *to_device(const double *from, int64_t n, size_t real_size)
{
    void *host = bench_must_have(malloc(real_size * (size_t)n));
    void *device = on_device(real_size * (size_t)n);
    for (int64_t i = 0; i < n; i++) {
        if (real_size == sizeof(float)) {
            ((float *)host)[i] = (float)from[i];
        } else {
            ((double *)host)[i] = from[i];
        }
    }
    bench_must(cudaMemcpy(device, host, real_size * (size_t)n, cudaMemcpyHostToDevice),
               "cudaMemcpy");
    free(host);
    return device;
}

void bench_data_make(struct bench_data *data, const struct bench_case *c, double scale)
{
    struct rng rng = rng_stream(7, RNG_TEST, (uint64_t)c->modes, (uint64_t)c->points);
    const int64_t side = (int64_t)((double)c->modes / cbrt(scale));
    data->n_modes = side > 4 ? side : 4;
    data->n_points = (int64_t)((double)c->points / scale) + SAMPLES;
    data->real_size = c->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    for (int a = 0; a < 3; a++) {
        data->x[a] = random_numbers(&rng, data->n_points);
        for (int64_t j = 0; j < data->n_points; j++) {
            const double x = data->x[a][j] * PI * (c->clustered ? 0.03 : 1.0);
            data->x[a][j] = c->precision == NUFFT_FLOAT ? (double)(float)x : x;
        }
        data->d_x[a] = to_device(data->x[a], data->n_points, data->real_size);
    }
    const int64_t stored = data->n_modes * data->n_modes * data->n_modes;
    data->strengths = random_numbers(&rng, 2 * data->n_points);
    data->modes = random_numbers(&rng, 2 * stored);
    data->d_strengths = to_device(data->strengths, 2 * data->n_points, data->real_size);
    data->d_modes = to_device(data->modes, 2 * stored, data->real_size);
    data->d_values = on_device(2 * (size_t)data->n_points * data->real_size);
    data->d_spectrum = on_device(2 * (size_t)stored * data->real_size);
}

void bench_data_free(struct bench_data *data)
{
    void *const device[7] = {data->d_x[0],  data->d_x[1],   data->d_x[2],    data->d_strengths,
                             data->d_modes, data->d_values, data->d_spectrum};
    for (int i = 0; i < 7; i++) {
        bench_must(cudaFree(device[i]), "cudaFree");
    }
    for (int a = 0; a < 3; a++) {
        free(data->x[a]);
    }
    free(data->strengths);
    free(data->modes);
}

/* ---- exact outputs ------------------------------------------------------------------------------ */
/* Type 1: mode k of the strengths. */
static void exact_mode(double value[2], const struct bench_data *data, const int64_t k[3],
                       int real_data)
{
    double re = 0.0, im = 0.0;
#pragma omp parallel for reduction(+ : re, im)
    for (int64_t j = 0; j < data->n_points; j++) {
        const double phase = (double)k[0] * data->x[0][j] + (double)k[1] * data->x[1][j] +
                             (double)k[2] * data->x[2][j];
        const double a = real_data ? data->strengths[j] : data->strengths[2 * j];
        const double b = real_data ? 0.0 : data->strengths[2 * j + 1];
        re += a * cos(phase) - b * sin(phase);
        im += a * sin(phase) + b * cos(phase);
    }
    value[0] = re;
    value[1] = im;
}

/* Type 2: the value at point j; in real-data mode kx runs over 0 .. n/2, and modes with a partner count twice. */
static void exact_value(double value[2], const struct bench_data *data, int64_t j, int real_data)
{
    const int64_t n = data->n_modes, half = n / 2, row = real_data ? half + 1 : n;
    double re = 0.0, im = 0.0;
#pragma omp parallel for reduction(+ : re, im)
    for (int64_t zy = 0; zy < n * n; zy++) {
        const int64_t z = zy / n, y = zy % n;
        const double *f = data->modes + 2 * zy * row;
        const double plane =
            (double)(y - half) * data->x[1][j] + (double)(z - half) * data->x[2][j];
        for (int64_t x = 0; x < row; x++) {
            const int64_t k = real_data ? x : x - half;
            const double phase = plane + (double)k * data->x[0][j];
            const double count = real_data && k > 0 && 2 * k != n ? 2.0 : 1.0;
            re += count * (f[2 * x] * cos(phase) - f[2 * x + 1] * sin(phase));
            im += count * (f[2 * x] * sin(phase) + f[2 * x + 1] * cos(phase));
        }
    }
    value[0] = re;
    value[1] = real_data ? 0.0 : im;
}

void bench_exact_make(struct bench_exact *exact, const struct bench_data *data, int type,
                      int real_data)
{
    const int64_t n = data->n_modes, half = n / 2, row = real_data ? half + 1 : n;
    exact->parts = type == 2 && real_data ? 1 : 2;
    for (int i = 0; i < SAMPLES; i++) {
        if (type == 1) {
            const int64_t k[3] = {real_data ? i % (half + 1) : i % n - half, n / 3 - i % 3,
                                  i % 2 - half + n / 4};
            exact->at[i] = ((k[2] + half) * n + k[1] + half) * row + k[0] + (real_data ? 0 : half);
            exact_mode(exact->value[i], data, k, real_data);
        } else {
            exact->at[i] = (data->n_points - 1) * i / SAMPLES;
            exact_value(exact->value[i], data, exact->at[i], real_data);
        }
    }
}

double bench_error(const struct bench_exact *exact, const struct bench_data *data, int type)
{
    const void *output = type == 1 ? data->d_spectrum : data->d_values;
    double difference = 0.0, norm = 0.0;
    for (int i = 0; i < SAMPLES; i++) {
        unsigned char raw[16];
        const size_t item = data->real_size * (size_t)exact->parts;
        bench_must(cudaMemcpy(raw, (const char *)output + item * (size_t)exact->at[i], item,
                              cudaMemcpyDeviceToHost),
                   "cudaMemcpy");
        for (int m = 0; m < exact->parts; m++) {
            double got = 0.0;
            float single = 0.0F;
            if (data->real_size == sizeof single) {
                memcpy(&single, raw + (size_t)m * sizeof single, sizeof single);
                got = (double)single;
            } else {
                memcpy(&got, raw + (size_t)m * sizeof got, sizeof got);
            }
            difference += (got - exact->value[i][m]) * (got - exact->value[i][m]);
            norm += exact->value[i][m] * exact->value[i][m];
        }
    }
    return sqrt(difference / norm);
}

/* ---- timers -------------------------------------------------------------------------------------- */
void bench_timer_make(struct bench_timer *timer)
{
    bench_must(cudaEventCreate(&timer->begin), "cudaEventCreate");
    bench_must(cudaEventCreate(&timer->end), "cudaEventCreate");
}

void bench_timer_free(struct bench_timer *timer)
{
    bench_must(cudaEventDestroy(timer->begin), "cudaEventDestroy");
    bench_must(cudaEventDestroy(timer->end), "cudaEventDestroy");
}

void bench_timer_start(struct bench_timer *timer)
{
    bench_must(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    bench_must(cudaEventRecord(timer->begin, NULL), "cudaEventRecord");
}

void bench_timer_stop(struct bench_timer *timer, double *least)
{
    float ms = 0.0F;
    bench_must(cudaEventRecord(timer->end, NULL), "cudaEventRecord");
    bench_must(cudaEventSynchronize(timer->end), "cudaEventSynchronize");
    bench_must(cudaEventElapsedTime(&ms, timer->begin, timer->end), "cudaEventElapsedTime");
    *least = (double)ms < *least ? (double)ms : *least;
}
