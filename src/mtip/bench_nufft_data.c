/* bench_nufft_data.c - points and numbers for `mtip bench nufft`, and the error of a result. */
#include "mtip/bench_nufft_data.h"

#include <math.h>

#include "core/memory.h"
#include "core/rng.h"

#define PI 3.14159265358979323846
#define SIDE BENCH_NUFFT_SIDE

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

static void make_points(double *const *x, const struct bench_nufft_case *c)
{
    struct rng rng = rng_stream(1, RNG_TEST, 0, 0);
    if (c->layout == BENCH_NUFFT_SLICES) {
        for (int64_t slice = 0; slice < c->points / (SIDE * SIDE); slice++) {
            slice_points(x, slice, &rng);
        }
        return;
    }
    for (int64_t j = 0; j < c->points; j++) {
        const int far = c->layout == BENCH_NUFFT_UNIFORM || rng_uniform(&rng) < 0.1;
        for (int d = 0; d < c->dimension; d++) {
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

void bench_nufft_data_free(struct bench_nufft_data *data)
{
    for (int d = 0; d < 3; d++) {
        memory_free(&data->x[d]);
        memory_free(&data->target[d]);
    }
    memory_free(&data->strengths);
    memory_free(&data->modes);
}

static enum mtip_status random_numbers(void **to, int64_t n, double scale,
                                       const struct bench_nufft_case *c)
{
    double *numbers = NULL;
    struct rng rng = rng_stream(2, RNG_TEST, (uint64_t)n, 0);
    enum mtip_status status = MEMORY_ALLOC(&numbers, n, "bench data");
    for (int64_t i = 0; status == MTIP_OK && i < n; i++) {
        numbers[i] = scale * (2.0 * rng_uniform(&rng) - 1.0);
    }
    if (status == MTIP_OK) {
        status = convert(to, numbers, n, c->precision);
    }
    memory_free(&numbers);
    return status;
}

enum mtip_status bench_nufft_data_make(struct bench_nufft_data *data,
                                       const struct bench_nufft_case *c)
{
    enum mtip_status status = MTIP_OK;
    double *x[3] = {NULL, NULL, NULL};
    for (int d = 0; d < c->dimension; d++) {
        MTIP_TRY(MEMORY_ALLOC(&x[d], c->points, "bench points"));
    }
    make_points(x, c);
    data->stored = c->type == 3 ? c->points : c->real_data ? c->modes / 2 + 1 : c->modes;
    for (int d = 0; d < c->dimension; d++) {
        MTIP_TRY(convert(&data->x[d], x[d], c->points, c->precision));
        if (c->type == 3) {
            MTIP_TRY(random_numbers(&data->target[d], c->points, 0.5 * (double)c->modes, c));
        } else if (d > 0) {
            data->stored *= c->modes;
        }
    }
    MTIP_TRY(
        random_numbers(&data->strengths, c->vectors * c->points * (c->real_data ? 1 : 2), 1.0, c));
    MTIP_TRY(random_numbers(&data->modes, c->vectors * data->stored * 2, 1.0, c));
cleanup:
    for (int d = 0; d < 3; d++) {
        memory_free(&x[d]);
    }
    return status;
}

/* k.x of stored mode i (or target i) and point j. */
static double phase(const struct bench_nufft_case *c, const struct bench_nufft_data *data,
                    int64_t i, int64_t j)
{
    double angle = 0.0;
    int64_t rest = i;
    for (int d = 0; d < c->dimension; d++) {
        const double x = at(data->x[d], j, c->precision);
        if (c->type == 3) {
            angle += at(data->target[d], i, c->precision) * x;
            continue;
        }
        const int half = d == 0 && c->real_data;
        const int64_t n = half ? c->modes / 2 + 1 : c->modes;
        angle += (double)(rest % n - (half ? 0 : c->modes / 2)) * x;
        rest /= n;
    }
    return angle;
}

double bench_nufft_data_error(const struct bench_nufft_case *c, const struct bench_nufft_data *data)
{
    const int64_t outputs = c->type == 2 ? c->points : data->stored;
    const int64_t inputs = c->type == 2 ? data->stored : c->points;
    double difference = 0.0;
    double norm = 0.0;
    for (int64_t sample = 0; sample < 20 && sample < outputs; sample++) {
        const int64_t o = (int64_t)((double)sample / 20.0 * (double)outputs);
        double re = 0.0;
        double im = 0.0;
        for (int64_t in = 0; in < inputs; in++) {
            const double angle = c->type == 2 ? phase(c, data, in, o) : phase(c, data, o, in);
            const void *source = c->type == 2 ? data->modes : data->strengths;
            const int real_source = c->type != 2 && c->real_data;
            const double a = at(source, real_source ? in : 2 * in, c->precision);
            const double b = real_source ? 0.0 : at(source, 2 * in + 1, c->precision);
            const int64_t k_x = in % (c->modes / 2 + 1);
            const int twice = c->type == 2 && c->real_data && k_x != 0 && 2 * k_x != c->modes;
            re += (twice ? 2.0 : 1.0) * (a * cos(angle) - b * sin(angle));
            im += a * sin(angle) + b * cos(angle);
        }
        const int real_result = c->type == 2 && c->real_data;
        const void *result = c->type == 2 ? data->strengths : data->modes;
        const double got_re = at(result, real_result ? o : 2 * o, c->precision);
        const double got_im = real_result ? 0.0 : at(result, 2 * o + 1, c->precision);
        im = real_result ? 0.0 : im;
        difference += (got_re - re) * (got_re - re) + (got_im - im) * (got_im - im);
        norm += re * re + im * im;
    }
    return sqrt(difference / norm);
}
