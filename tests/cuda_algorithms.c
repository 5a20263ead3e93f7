/* cuda_algorithms.c - slicing, matching, the merge's solver and phasing as wholes: CUDA against the CPU, frames
 * streamed against frames on the device, and every CUDA call in them failing once.
 */
#include "twin_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"
#include "core/rng.h"
#include "mtip/match.h"
#include "mtip/orient.h"
#include "mtip/phase.h"
#include "mtip/slice.h"
#include "mtip/toeplitz.h"

#define BYTES(n, array) ((size_t)(n) * sizeof *(array))

/* ---- phasing ------------------------------------------------------------------------------------- */

/* Intensities of a few blobs near the origin of an M^3 grid, and which of them count as measured. */
static double *blob_intensity(int64_t m, uint8_t *measured)
{
    const int64_t size[3] = {m, m, m}, n = m * m * m, n_half = fft_half_count(size);
    double *density = calloc((size_t)n, sizeof *density),
           *half = calloc((size_t)(2 * n_half), sizeof *half);
    struct rng rng = rng_stream(5, RNG_TEST, 0, 0);
    struct backend *cpu = NULL;
    struct fft_plan *plan = NULL;
    assert_true(density != NULL && half != NULL);
    for (int blob = 0; blob < 12; blob++) {
        int64_t at[3];
        for (int axis = 0; axis < 3; axis++) {
            at[axis] = ((int64_t)(rng_bits(&rng) % 5) - 2 + m) % m;
        }
        density[(at[0] * m + at[1]) * m + at[2]] += 0.5 + rng_uniform(&rng);
    }
    assert_ok(backend_create(&cpu, "cpu", 0, 1));
    assert_ok(fft_plan_create(&plan, cpu, size));
    assert_ok(fft_plan_forward(plan, density, half));
    for (int64_t i = 0; i < n_half; i++) {
        half[i] = half[2 * i] * half[2 * i] + half[2 * i + 1] * half[2 * i + 1];
    }
    fft_plan_destroy(&plan);
    backend_destroy(&cpu);
    phase_mask_shells(measured, m, 1.0, 0.5 * (double)m);
    free(density);
    return half;
}

struct phasing {
    const struct backend *backend;
    int64_t m;
    const double *intensity; /* host */
    const uint8_t *measured; /* host */
    double *density;         /* host, out */
    uint8_t *support;        /* host, out */
    struct phase_metrics metrics;
};

static enum mtip_status phase_once(void *context)
{
    enum mtip_status status = MTIP_OK;
    struct phasing *p = context;
    const int64_t m = p->m, size[3] = {m, m, m}, n = m * m * m, n_half = fft_half_count(size);
    struct phase_schedule schedule = phase_schedule_search(4.0);
    struct phaser *phaser = NULL;
    double *intensity = NULL, *density = NULL;
    uint8_t *measured = NULL, *support = NULL;
    schedule.loops = 2;
    schedule.iterations = 6;
    schedule.er_iterations = 2;
    schedule.final_er_iterations = 3;
    MTIP_TRY(phaser_create(&phaser, p->backend, m));
    MTIP_TRY(BACKEND_ALLOC(p->backend, &intensity, n_half, "intensity"));
    MTIP_TRY(BACKEND_ALLOC(p->backend, &measured, n_half, "measured"));
    MTIP_TRY(BACKEND_ALLOC(p->backend, &density, n, "density"));
    MTIP_TRY(BACKEND_ALLOC(p->backend, &support, n, "support"));
    MTIP_TRY(backend_upload(p->backend, intensity, p->intensity, BYTES(n_half, intensity)));
    MTIP_TRY(backend_upload(p->backend, measured, p->measured, BYTES(n_half, measured)));
    MTIP_TRY(phaser_set_data(phaser, intensity, measured));
    MTIP_TRY(phaser_random_start(phaser, 3, 1, 4.0, density, support));
    MTIP_TRY(phaser_run(phaser, &schedule, density, support, &p->metrics));
    MTIP_TRY(backend_download(p->backend, p->support, support, BYTES(n, support)));
    MTIP_TRY(phaser_autocorrelation(phaser, density, density));
    MTIP_TRY(backend_download(p->backend, p->density, density, BYTES(n, density)));
cleanup:
    backend_free(p->backend, &support);
    backend_free(p->backend, &density);
    backend_free(p->backend, &measured);
    backend_free(p->backend, &intensity);
    phaser_destroy(&phaser);
    return status;
}

/* 19 iterations amplify rounding little: 1e-9 is 1e6 units in the last place, and an error of any step is far above. */
#define PHASE_AGREEMENT 1e-9

static void phasing_agrees(void **state)
{
    (void)state;
    static const int64_t sizes[] = {12, 13};
    for (int i = 0; i < 2; i++) {
        const int64_t m = sizes[i], n = m * m * m;
        struct twin t;
        uint8_t *measured = malloc((size_t)(m * m * (m / 2 + 1)));
        double *intensity = blob_intensity(m, measured);
        struct phasing p[2];
        twin_open(&t);
        for (int k = 0; k < 2; k++) {
            p[k] = (struct phasing){.backend = k == 0 ? t.cpu : t.cuda,
                                    .m = m,
                                    .intensity = intensity,
                                    .measured = measured,
                                    .density = malloc(BYTES(n, p[k].density)),
                                    .support = malloc((size_t)n)};
            assert_ok(phase_once(&p[k]));
        }
        assert_at_most(support_relative_l2(p[1].density, p[0].density, n), PHASE_AGREEMENT);
        assert_memory_equal(p[1].support, p[0].support, (size_t)n);
        assert_close(p[1].metrics.r_factor, p[0].metrics.r_factor, PHASE_AGREEMENT);
        assert_int_equal(p[1].metrics.n_support, p[0].metrics.n_support);
        assert_true(p[0].metrics.r_factor > 0.0 && p[0].metrics.n_support > 0);
        for (int k = 0; k < 2; k++) {
            free(p[k].density);
            free(p[k].support);
        }
        twin_close(&t);
        free(intensity);
        free(measured);
    }
}

static void a_phasing_fails_cleanly(void **state)
{
    (void)state;
    enum { M = 8, N = M * M * M };
    static double density[N];
    static uint8_t support[N], measured[N];
    struct twin t;
    double *intensity = blob_intensity(M, measured);
    twin_open(&t);
    struct phasing p = {.backend = t.cuda,
                        .m = M,
                        .intensity = intensity,
                        .measured = measured,
                        .density = density,
                        .support = support};
    twin_fail_every_call(phase_once, &p, 7);
    twin_close(&t);
    free(intensity);
}

/* ---- the merge's solver -------------------------------------------------------------------------- */

struct solving {
    const struct backend *backend;
    int64_t m;
    const double *kernel, *rhs; /* host */
    double *a;                  /* host, in and out */
    struct toeplitz_metrics metrics;
};

/* Kernel and right-hand side of n_points weighted measurements at random points: a real even system. */
static void make_system(double *kernel, double *rhs, int64_t m)
{
    enum { N_POINTS = 150 };
    const int64_t l = 2 * m - 1, h = (m + 1) / 2;
    struct rng rng = rng_stream(9, RNG_TEST, 0, 0);
    for (int point = 0; point < N_POINTS; point++) {
        double x[3];
        for (int axis = 0; axis < 3; axis++) {
            x[axis] = 6.283185307179586 * (rng_uniform(&rng) - 0.5);
        }
        const double weight = 0.5 + rng_uniform(&rng), data = weight * rng_normal(&rng);
        for (int64_t i = 0; i < l * l * m; i++) {
            const int64_t z = i / m / l, y = i / m % l;
            const double k[3] = {(double)(i % m), (double)(y < m ? y : y - l),
                                 (double)(z < m ? z : z - l)};
            kernel[i] += weight * cos(k[0] * x[0] + k[1] * x[1] + k[2] * x[2]);
        }
        for (int64_t i = 0; i < m * m * h; i++) {
            const int64_t z = i / h / m, y = i / h % m;
            const double k[3] = {(double)(i % h), (double)(y < h ? y : y - m),
                                 (double)(z < h ? z : z - m)};
            rhs[i] += data * cos(k[0] * x[0] + k[1] * x[1] + k[2] * x[2]);
        }
    }
}

static enum mtip_status solve_once(void *context)
{
    enum mtip_status status = MTIP_OK;
    struct solving *s = context;
    const int64_t m = s->m, l = 2 * m - 1, n_kernel = l * l * m, n_rhs = m * m * ((m + 1) / 2);
    const struct toeplitz_options options = {
        .radius = 0.5 * (double)m, .regularization = 1e-3, .iterations = 12, .tolerance = 1e-10};
    struct toeplitz_solver *solver = NULL;
    double *a = NULL, *kernel = NULL, *rhs = NULL;
    MTIP_TRY(toeplitz_create(&solver, s->backend, m));
    MTIP_TRY(BACKEND_ALLOC(s->backend, &a, m * m * m, "solution"));
    MTIP_TRY(BACKEND_ALLOC(s->backend, &kernel, n_kernel, "kernel"));
    MTIP_TRY(BACKEND_ALLOC(s->backend, &rhs, n_rhs, "right-hand side"));
    MTIP_TRY(backend_upload(s->backend, a, s->a, BYTES(m * m * m, a)));
    MTIP_TRY(backend_upload(s->backend, kernel, s->kernel, BYTES(n_kernel, kernel)));
    MTIP_TRY(backend_upload(s->backend, rhs, s->rhs, BYTES(n_rhs, rhs)));
    MTIP_TRY(toeplitz_solve(solver, a, kernel, rhs, &options, &s->metrics));
    MTIP_TRY(backend_download(s->backend, s->a, a, BYTES(m * m * m, a)));
cleanup:
    backend_free(s->backend, &rhs);
    backend_free(s->backend, &kernel);
    backend_free(s->backend, &a);
    toeplitz_destroy(&solver);
    return status;
}

static void solver_agrees(void **state)
{
    (void)state;
    static const int64_t sizes[] = {5, 9};
    for (int i = 0; i < 2; i++) {
        const int64_t m = sizes[i], volume = m * m * m;
        double *kernel = calloc((size_t)((2 * m - 1) * (2 * m - 1) * m), sizeof *kernel);
        double *rhs = calloc((size_t)volume, sizeof *rhs), *a[2];
        struct solving s[2];
        struct twin t;
        make_system(kernel, rhs, m);
        twin_open(&t);
        for (int k = 0; k < 2; k++) {
            a[k] = calloc((size_t)volume, sizeof *a[k]);
            a[k][0] = 1.0; /* a start that is even */
            s[k] = (struct solving){.backend = k == 0 ? t.cpu : t.cuda,
                                    .m = m,
                                    .kernel = kernel,
                                    .rhs = rhs,
                                    .a = a[k]};
            assert_ok(solve_once(&s[k]));
        }
        assert_int_equal(s[1].metrics.iterations, s[0].metrics.iterations);
        assert_true(s[0].metrics.iterations > 3);
        /* conjugate gradients lose digits to rounding, some a step */
        assert_at_most(support_relative_l2(a[1], a[0], volume), 1e-8);
        for (int k = 0; k < 2; k++) {
            free(a[k]);
        }
        twin_close(&t);
        free(rhs);
        free(kernel);
    }
}

static void a_solve_fails_cleanly(void **state)
{
    (void)state;
    enum { M = 3, N = 5 * 5 * 3 };
    static double kernel[N], rhs[M * M * M], a[M * M * M];
    struct twin t;
    make_system(kernel, rhs, M);
    twin_open(&t);
    struct solving s = {.backend = t.cuda, .m = M, .kernel = kernel, .rhs = rhs, .a = a};
    twin_fail_every_call(solve_once, &s, 3);
    twin_close(&t);
}

/* ---- matching, frames on the device and streamed ------------------------------------------------- */

enum { N_FRAMES = 53, N_PIXEL = 37, N_USE = 31, N_SLICES = 40, N_BLOCKS = 3, N_TRIALS = 6 };

/* Frames as frames_load leaves them: all on the device, or windows of them. */
static void hold_frames(struct frames *f, const struct backend *backend, const float *values,
                        int64_t window)
{
    memset(f, 0, sizeof *f);
    f->n_total = f->n = N_FRAMES;
    f->n_pixel = N_PIXEL;
    assert_ok(BACKEND_ALLOC_HOST(backend, &f->host, N_FRAMES * N_PIXEL, "frames"));
    memcpy(f->host, values, BYTES(N_FRAMES * N_PIXEL, values));
    if (window == 0) {
        assert_ok(BACKEND_ALLOC(backend, &f->data, N_FRAMES * N_PIXEL, "frames"));
        assert_ok(backend_upload(backend, f->data, values, BYTES(N_FRAMES * N_PIXEL, values)));
        assert_ok(backend_synchronize(backend));
        return;
    }
    f->stream = calloc(1, sizeof *f->stream);
    f->stream->size = window;
    for (int i = 0; i < 2; i++) {
        assert_ok(BACKEND_ALLOC(backend, &f->stream->window[i], window * N_PIXEL, "windows"));
    }
}

static void drop_frames(struct frames *f, const struct backend *backend)
{
    if (f->stream != NULL) {
        backend_free(backend, &f->stream->window[1]);
        backend_free(backend, &f->stream->window[0]);
    }
    free(f->stream);
    backend_free(backend, &f->data);
    backend_free_host(backend, &f->host);
}

struct matching {
    const struct backend *backend;
    const struct frames *frames;
    const void *slices[N_BLOCKS]; /* device, [N_SLICES][N_USE] */
    enum nufft_precision precision;
    double score[N_FRAMES], trials[N_FRAMES * N_TRIALS];
    int64_t index[N_FRAMES];
};

static enum mtip_status match_once(void *context)
{
    enum mtip_status status = MTIP_OK;
    struct matching *m = context;
    struct matcher *matcher = NULL;
    MTIP_TRY(matcher_create(&matcher, m->backend, m->frames, m->precision, N_SLICES));
    MTIP_TRY(matcher_reset(matcher));
    for (int block = 0; block < N_BLOCKS; block++) {
        MTIP_TRY(matcher_block(matcher, m->slices[block], N_SLICES, N_USE, block * N_SLICES));
    }
    MTIP_TRY(matcher_best(matcher, m->score, m->index));
    for (int64_t first = 0; first < N_FRAMES; first += N_SLICES / N_TRIALS) {
        const int64_t left = N_FRAMES - first;
        const int64_t count = left < N_SLICES / N_TRIALS ? left : N_SLICES / N_TRIALS;
        MTIP_TRY(matcher_trials(matcher, m->trials + first * N_TRIALS, m->slices[first % N_BLOCKS],
                                first, count, N_TRIALS, N_USE));
    }
cleanup:
    matcher_destroy(&matcher);
    return status;
}

static void matching_agrees_and_streams(void **state)
{
    (void)state;
    static const int64_t windows[] = {0, 7, 20, 27, 52};
    for (int precision = NUFFT_FLOAT; precision <= NUFFT_DOUBLE; precision++) {
        const size_t item = precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
        float *values = twin_floats(N_FRAMES * N_PIXEL, 1);
        void *host[N_BLOCKS];
        struct matching *want = calloc(1, sizeof *want), *got = calloc(1, sizeof *got);
        struct frames frames;
        struct twin t;
        twin_open(&t);
        want->backend = t.cpu;
        got->backend = t.cuda;
        want->precision = got->precision = (enum nufft_precision)precision;
        for (uint64_t block = 0; block < N_BLOCKS; block++) {
            host[block] = precision == NUFFT_FLOAT
                              ? (void *)twin_floats(N_SLICES * N_USE, 10 + block)
                              : (void *)twin_numbers(N_SLICES * N_USE, 10 + block);
            want->slices[block] = host[block];
            got->slices[block] = twin_device(&t, host[block], N_SLICES * N_USE * item);
        }
        hold_frames(&frames, t.cpu, values, 0);
        want->frames = &frames;
        assert_ok(match_once(want));
        drop_frames(&frames, t.cpu);
        for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
            const double tolerance = precision == NUFFT_FLOAT ? 1e-5 : 1e-12;
            hold_frames(&frames, t.cuda, values, windows[i]);
            got->frames = &frames;
            assert_ok(match_once(got));
            for (int f = 0; f < N_FRAMES; f++) {
                assert_close(got->score[f], want->score[f], tolerance * 10);
            }
            assert_memory_equal(got->index, want->index, sizeof want->index);
            assert_at_most(support_relative_l2(got->trials, want->trials, N_FRAMES * N_TRIALS),
                           1e-12);
            drop_frames(&frames, t.cuda);
        }
        for (int block = 0; block < N_BLOCKS; block++) {
            free(host[block]);
        }
        twin_close(&t);
        free(got);
        free(want);
        free(values);
    }
}

static void matching_fails_cleanly(void **state)
{
    (void)state;
    float *values = twin_floats(N_FRAMES * N_PIXEL, 1);
    double *slices = twin_numbers(N_SLICES * N_USE, 2);
    struct matching *m = calloc(1, sizeof *m);
    struct frames frames;
    struct twin t;
    twin_open(&t);
    hold_frames(&frames, t.cuda, values, 20);
    m->backend = t.cuda;
    m->frames = &frames;
    m->precision = NUFFT_DOUBLE;
    for (int block = 0; block < N_BLOCKS; block++) {
        m->slices[block] = twin_device(&t, slices, BYTES(N_SLICES * N_USE, slices));
    }
    twin_fail_every_call(match_once, m, 1);
    drop_frames(&frames, t.cuda);
    twin_close(&t);
    free(m);
    free(slices);
    free(values);
}

/* ---- slices -------------------------------------------------------------------------------------- */

enum { GRID = 9, N_ROTATIONS = 11, N_POINTS = 60 };

struct slicing {
    const struct backend *backend;
    const struct geometry *geometry;
    enum nufft_precision precision;
    const double *autocorrelation, *model, *quaternions; /* host */
    double values[N_ROTATIONS * N_POINTS], sums[N_ROTATIONS];
};

static enum mtip_status slice_once(void *context)
{
    enum mtip_status status = MTIP_OK;
    struct slicing *s = context;
    struct slicer *slicer = NULL;
    const size_t item = slicer_item_size(s->precision);
    float narrow[N_ROTATIONS * N_POINTS];
    void *values = NULL;
    MTIP_TRY(slicer_create(&slicer, s->backend, s->geometry, s->precision, N_ROTATIONS));
    MTIP_TRY(backend_alloc(s->backend, &values, N_ROTATIONS * N_POINTS, item, "slices"));
    MTIP_TRY(slicer_set_autocorrelation(slicer, s->autocorrelation));
    MTIP_TRY(slicer_set_isotropic(slicer, s->model, 0.5));
    /* other points in between: the prepared grid must outlast them */
    MTIP_TRY(slicer_intensities(slicer, values, s->quaternions, 3, N_POINTS - 7));
    MTIP_TRY(slicer_log_slices(slicer, values, s->sums, s->quaternions, N_ROTATIONS, N_POINTS));
    MTIP_TRY(backend_download(s->backend, s->precision == NUFFT_FLOAT ? (void *)narrow : s->values,
                              values, N_ROTATIONS * N_POINTS * item));
    for (int i = 0; i < N_ROTATIONS * N_POINTS && s->precision == NUFFT_FLOAT; i++) {
        s->values[i] = (double)narrow[i];
    }
cleanup:
    backend_free(s->backend, &values);
    slicer_destroy(&slicer);
    return status;
}

struct slice_data {
    struct geometry geometry;
    double x[3 * N_POINTS], radius[N_POINTS], response[N_POINTS], background[N_POINTS];
    double model[N_POINTS], quaternions[4 * N_ROTATIONS], a[GRID * GRID * GRID];
    int64_t pixel[N_POINTS];
};

/* A particle of one blob: intensities of about 1 at all angles, so that the floor is not in play everywhere. */
static struct slice_data *make_slice_data(void)
{
    struct slice_data *d = calloc(1, sizeof *d);
    struct rng rng = rng_stream(4, RNG_TEST, 0, 0);
    assert_non_null(d);
    d->geometry = (struct geometry){.grid_size = GRID,
                                    .voxel_A = 1.0,
                                    .limit_A = 2.0,
                                    .particle_radius = 2.0,
                                    .n_pixel = N_POINTS,
                                    .pixel = d->pixel,
                                    .x = d->x,
                                    .radius = d->radius,
                                    .response = d->response,
                                    .background = d->background};
    for (int p = 0; p < N_POINTS; p++) {
        for (int axis = 0; axis < 3; axis++) {
            d->x[3 * p + axis] = 1.8 * (2.0 * rng_uniform(&rng) - 1.0);
        }
        d->response[p] = 0.5 + rng_uniform(&rng);
        d->model[p] = 0.5 + rng_uniform(&rng);
    }
    for (int r = 0; r < N_ROTATIONS; r++) {
        rng_quaternion(&rng, d->quaternions + 4 * r);
    }
    d->a[0] = 3.0;
    for (int axis = 0, step = 1; axis < 3; axis++, step *= GRID) {
        d->a[step] = d->a[step * (GRID - 1)] = 0.5;
    }
    return d;
}

static void slices_agree(void **state)
{
    (void)state;
    for (int precision = NUFFT_FLOAT; precision <= NUFFT_DOUBLE; precision++) {
        struct slice_data *d = make_slice_data();
        struct slicing *s[2];
        struct twin t;
        twin_open(&t);
        for (int k = 0; k < 2; k++) {
            s[k] = calloc(1, sizeof *s[k]);
            s[k]->backend = k == 0 ? t.cpu : t.cuda;
            s[k]->geometry = &d->geometry;
            s[k]->precision = (enum nufft_precision)precision;
            s[k]->autocorrelation = d->a;
            s[k]->model = d->model;
            s[k]->quaternions = d->quaternions;
            assert_ok(slice_once(s[k]));
        }
        /* both transforms are good to three times their tolerance of 1e-5 or 1e-8 */
        const double tolerance = precision == NUFFT_FLOAT ? 6e-5 : 6e-8;
        assert_at_most(support_relative_l2(s[1]->values, s[0]->values, N_ROTATIONS * N_POINTS),
                       tolerance);
        assert_at_most(support_relative_l2(s[1]->sums, s[0]->sums, N_ROTATIONS), tolerance);
        twin_close(&t);
        free(s[0]);
        free(s[1]);
        free(d);
    }
}

static void slicing_fails_cleanly(void **state)
{
    (void)state;
    struct slice_data *d = make_slice_data();
    struct slicing *s = calloc(1, sizeof *s);
    struct twin t;
    twin_open(&t);
    s->backend = t.cuda;
    s->geometry = &d->geometry;
    s->precision = NUFFT_FLOAT;
    s->autocorrelation = d->a;
    s->model = d->model;
    s->quaternions = d->quaternions;
    twin_fail_every_call(slice_once, s, 1);
    twin_close(&t);
    free(s);
    free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phasing_agrees),
        cmocka_unit_test(a_phasing_fails_cleanly),
        cmocka_unit_test(solver_agrees),
        cmocka_unit_test(a_solve_fails_cleanly),
        cmocka_unit_test(matching_agrees_and_streams),
        cmocka_unit_test(matching_fails_cleanly),
        cmocka_unit_test(slices_agree),
        cmocka_unit_test(slicing_fails_cleanly),
    };
    return cmocka_run_group_tests_name("mtip on CUDA", tests, NULL, NULL);
}
