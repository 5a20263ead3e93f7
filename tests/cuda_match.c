/* cuda_match.c - slicing and matching kernels on CUDA against their CPU twins and against scores by definition. */
#include "twin_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mtip/match_ops.h"
#include "mtip/slice_ops.h"

/* The same operations in double precision, but for fused multiply-adds: a few units in the last place of the largest. */
#define ROUNDING 4e-15

/* Sums of n normal products in another order differ by some sqrt(n) units in the last place of their terms. */
#define SUM_ROUNDING 1e-12

/* Single precision: values rounded once, a logarithm and sums of a few hundred products. */
#define FLOAT_ROUNDING 1e-6
#define FLOAT_SUM_ROUNDING 1e-5

#define BYTES(n, array) ((size_t)(n) * sizeof *(array))

/* ---- slices -------------------------------------------------------------------------------------- */

static const int64_t slice_sizes[][2] = {{1, 1}, {1, 257}, {3, 5}, {7, 256}, {130, 101}, {5, 4099}};
#define N_SLICE_SIZES (sizeof slice_sizes / sizeof *slice_sizes)

static void rotated_points(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SLICE_SIZES; i++) {
        const int64_t r = slice_sizes[i][0], p = slice_sizes[i][1], n = r * p;
        double *matrices = twin_numbers(9 * r, 1), *pixels = twin_numbers(3 * p, 2);
        double *want = twin_numbers(3 * n, 3);
        struct twin t;
        twin_open(&t);
        const double *d_matrices = twin_device(&t, matrices, BYTES(9 * r, matrices));
        const double *d_pixels = twin_device(&t, pixels, BYTES(3 * p, pixels));
        double *got = twin_device(&t, want, BYTES(3 * n, want));
        assert_ok(slice_ops_cpu.rotate(t.cpu, want, want + n, want + 2 * n, matrices, pixels, r, p,
                                       NUFFT_DOUBLE));
        assert_ok(slice_ops_cuda.rotate(t.cuda, got, got + n, got + 2 * n, d_matrices, d_pixels, r,
                                        p, NUFFT_DOUBLE));
        twin_assert_doubles(&t, got, want, 3 * n, ROUNDING);
        float *wantf = (float *)want, *gotf = (float *)got;
        assert_ok(slice_ops_cpu.rotate(t.cpu, wantf, wantf + n, wantf + 2 * n, matrices, pixels, r,
                                       p, NUFFT_FLOAT));
        assert_ok(slice_ops_cuda.rotate(t.cuda, gotf, gotf + n, gotf + 2 * n, d_matrices, d_pixels,
                                        r, p, NUFFT_FLOAT));
        twin_assert_floats(&t, gotf, wantf, 3 * n, 1e-7);
        assert_ok(slice_ops_cuda.rotate(t.cuda, NULL, NULL, NULL, NULL, NULL, 0, p, NUFFT_FLOAT));
        twin_close(&t);
        free(want);
        free(pixels);
        free(matrices);
    }
}

static void log_slices(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_SLICE_SIZES; i++) {
        const int64_t r = slice_sizes[i][0], p = slice_sizes[i][1], n = r * p;
        double *want = twin_numbers(n, 1), *sums = twin_numbers(r, 2);
        double *response = twin_numbers(p, 3), *log_model = twin_numbers(p, 4);
        float *wantf = twin_floats(n, 1);
        struct twin t;
        twin_open(&t);
        for (int64_t k = 0; k < p; k++) {
            response[k] = 0.5 + fabs(response[k]);
        }
        want[n / 2] = (double)NAN; /* goes to the floor, as what is below it */
        wantf[n / 2] = NAN;
        double *got = twin_device(&t, want, BYTES(n, want));
        float *gotf = twin_device(&t, wantf, BYTES(n, wantf));
        double *got_sums = twin_device(&t, sums, BYTES(r, sums));
        const double *d_response = twin_device(&t, response, BYTES(p, response));
        const double *d_log_model = twin_device(&t, log_model, BYTES(p, log_model));
        assert_ok(slice_ops_cpu.finish(t.cpu, want, sums, response, log_model, 1.25, 0.01, r, p,
                                       NUFFT_DOUBLE));
        assert_ok(slice_ops_cuda.finish(t.cuda, got, got_sums, d_response, d_log_model, 1.25, 0.01,
                                        r, p, NUFFT_DOUBLE));
        twin_assert_doubles(&t, got, want, n, SUM_ROUNDING);
        twin_assert_doubles(&t, got_sums, sums, r, SUM_ROUNDING);
        assert_ok(slice_ops_cpu.finish(t.cpu, wantf, sums, response, log_model, 1.25, 0.01, r, p,
                                       NUFFT_FLOAT));
        assert_ok(slice_ops_cuda.finish(t.cuda, gotf, got_sums, d_response, d_log_model, 1.25, 0.01,
                                        r, p, NUFFT_FLOAT));
        twin_assert_floats(&t, gotf, wantf, n, FLOAT_ROUNDING);
        twin_assert_doubles(&t, got_sums, sums, r, SUM_ROUNDING);
        twin_close(&t);
        free(wantf);
        free(log_model);
        free(response);
        free(sums);
        free(want);
    }
}

/* ---- matching ------------------------------------------------------------------------------------ */

struct match_case {
    int64_t n_frames, n_slices, n_use, ld;
};
/* the last two take several tiles: 4 Mi scores, 8 Mi values of frames in double precision */
static const struct match_case match_cases[] = {
    {1, 1, 1, 1},        {3, 7, 5, 6},       {37, 64, 101, 101},
    {130, 33, 257, 300}, {1500, 4096, 3, 3}, {1000, 3, 9001, 9001},
};
static const struct match_draw all_references = {.most = 0};
static const struct match_draw some_references = {
    .key = UINT64_C(0x123456789abcdef), .first_frame = 1000, .most = UINT32_MAX / 4};
#define N_MATCH_CASES (sizeof match_cases / sizeof *match_cases)

struct match_data {
    float *frames;
    double *slices;
    float *slices_float;
};

static void make_match_data(struct match_data *d, const struct match_case *c)
{
    d->frames = twin_floats(c->n_frames * c->ld, 5);
    d->slices = twin_numbers(c->n_slices * c->n_use, 6);
    d->slices_float = twin_floats(c->n_slices * c->n_use, 6);
    if (c->n_slices > 2) { /* two equal slices, one that is not a number */
        for (int64_t p = 0; p < c->n_use; p++) {
            const int64_t from = (c->n_slices - 1) * c->n_use + p,
                          to = c->n_slices / 2 * c->n_use + p;
            d->slices[to] = d->slices[from];
            d->slices_float[to] = d->slices_float[from];
        }
        d->slices[c->n_use] = (double)NAN;
        d->slices_float[c->n_use] = NAN;
    }
}

static void free_match_data(struct match_data *d)
{
    free(d->slices_float);
    free(d->slices);
    free(d->frames);
}

/* The score of frame n with slice r by its definition, summed in double precision. */
static double reference_score(const struct match_data *d, const struct match_case *c,
                              enum nufft_precision precision, int64_t n, int64_t r)
{
    double sum = 0.0;
    for (int64_t p = 0; p < c->n_use; p++) {
        const int64_t at = r * c->n_use + p;
        sum += (double)d->frames[n * c->ld + p] *
               (precision == NUFFT_FLOAT ? (double)d->slices_float[at] : d->slices[at]);
    }
    return sum;
}

static double reference_best(const struct match_data *d, const struct match_case *c,
                             enum nufft_precision precision, int64_t n, struct match_draw draw)
{
    double best = -INFINITY;
    for (int64_t r = 0; r < c->n_slices; r++) {
        if (!match_is_candidate(draw, n, 100 + r)) {
            continue;
        }
        const double score = reference_score(d, c, precision, n, r);
        best = score > best ? score : best;
    }
    return best;
}

static void match_one(const struct match_case *c, enum nufft_precision precision,
                      struct match_draw draw)
{
    const int64_t n = c->n_frames, n_late = c->n_slices / 2, n_early = c->n_slices - n_late;
    const double tolerance = precision == NUFFT_FLOAT ? FLOAT_SUM_ROUNDING : SUM_ROUNDING;
    const double scale = sqrt((double)c->n_use);
    double *score = malloc(BYTES(n, score));
    int64_t *index = malloc(BYTES(n, index));
    struct match_data d;
    struct twin t;
    void *handle = NULL;

    make_match_data(&d, c);
    for (int64_t i = 0; i < n; i++) {
        score[i] = -INFINITY;
        index[i] = -1;
    }
    twin_open(&t);
    double *d_score = twin_device(&t, score, BYTES(n, score));
    int64_t *d_index = twin_device(&t, index, BYTES(n, index));
    const float *frames = twin_device(&t, d.frames, BYTES(n * c->ld, d.frames));
    const char *slices =
        precision == NUFFT_FLOAT
            ? twin_device(&t, d.slices_float, BYTES(c->n_slices * c->n_use, d.slices_float))
            : twin_device(&t, d.slices, BYTES(c->n_slices * c->n_use, d.slices));
    const size_t item = precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    const size_t bytes = match_ops_cuda.workspace(t.cuda, n, c->ld, n_early, precision);
    void *workspace = NULL;
    assert_ok(backend_alloc(t.cuda, &workspace, (int64_t)bytes, 1, "workspace"));
    assert_ok(match_ops_cuda.open(&handle, t.cuda));
    struct match_block block = {.frames = frames,
                                .ld = c->ld,
                                .n_frames = n,
                                .n_use = c->n_use,
                                .precision = precision,
                                .draw = draw};
    /* the later half first: the order of blocks must not matter */
    if (n_late > 0) {
        block.slices = slices + (size_t)(n_early * c->n_use) * item;
        block.n_slices = n_late;
        block.first_index = 100 + n_early;
        assert_ok(match_ops_cuda.block(t.cuda, handle, d_score, d_index, &block, workspace));
    }
    block.slices = slices;
    block.n_slices = n_early;
    block.first_index = 100;
    assert_ok(match_ops_cuda.block(t.cuda, handle, d_score, d_index, &block, workspace));
    assert_ok(backend_download(t.cuda, score, d_score, BYTES(n, score)));
    assert_ok(backend_download(t.cuda, index, d_index, BYTES(n, index)));
    for (int64_t i = 0; i < n; i++) {
        const double best = reference_best(&d, c, precision, i, draw);
        if (best > (double)-INFINITY) { /* of scores closer than rounding either may have won */
            assert_close(score[i], best, tolerance * scale);
            assert_true(index[i] >= 100 && index[i] < 100 + c->n_slices);
            assert_true(match_is_candidate(draw, i, index[i]));
            assert_close(reference_score(&d, c, precision, i, index[i] - 100), best,
                         tolerance * scale);
        } else { /* nothing drawn, or nothing but NaN */
            assert_true(score[i] == (double)-INFINITY);
            assert_int_equal(index[i], -1);
        }
    }
    match_ops_cuda.close(&handle);
    assert_null(handle);
    backend_free(t.cuda, &workspace);
    twin_close(&t);
    free_match_data(&d);
    free(index);
    free(score);
}

static void best_references_single(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_MATCH_CASES; i++) {
        match_one(&match_cases[i], NUFFT_FLOAT, all_references);
        match_one(&match_cases[i], NUFFT_FLOAT, some_references);
    }
}

static void best_references_double(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_MATCH_CASES; i++) {
        match_one(&match_cases[i], NUFFT_DOUBLE, all_references);
        match_one(&match_cases[i], NUFFT_DOUBLE, some_references);
    }
}

static void equal_scores_go_to_the_lower_index(void **state)
{
    (void)state;
    enum { N = 5, R = 70, P = 3 };
    float frames[N * P], slices[R * P];
    double score[N];
    int64_t index[N];
    struct twin t;
    void *handle = NULL, *workspace = NULL;
    for (int i = 0; i < N * P; i++) {
        frames[i] = 1.0F;
    }
    for (int i = 0; i < R * P; i++) {
        slices[i] = i / P % 7 == 3 ? 2.0F : 1.0F; /* 3, 10, 17 .. are equally good */
    }
    for (int i = 0; i < N; i++) {
        score[i] = i == 0   ? 100.0
                   : i == 1 ? 6.0
                            : -INFINITY; /* frame 0 has a better one, 1 a later one, */
        index[i] = i == 0 ? 7 : i == 1 ? 2000 : i == 2 ? -1 : -1;
    }
    twin_open(&t);
    const struct match_block block = {.frames = twin_device(&t, frames, sizeof frames),
                                      .ld = P,
                                      .n_frames = N,
                                      .slices = twin_device(&t, slices, sizeof slices),
                                      .n_slices = R,
                                      .n_use = P,
                                      .first_index = 1000,
                                      .precision = NUFFT_FLOAT};
    double *d_score = twin_device(&t, score, sizeof score);
    int64_t *d_index = twin_device(&t, index, sizeof index);
    assert_ok(backend_alloc(t.cuda, &workspace,
                            (int64_t)match_ops_cuda.workspace(t.cuda, N, P, R, NUFFT_FLOAT), 1,
                            "workspace"));
    assert_ok(match_ops_cuda.open(&handle, t.cuda));
    assert_ok(match_ops_cuda.block(t.cuda, handle, d_score, d_index, &block, workspace));
    assert_ok(backend_download(t.cuda, index, d_index, sizeof index));
    assert_int_equal(index[0], 7);
    for (int i = 1; i < N; i++) {
        assert_int_equal(index[i], 1003);
    }
    match_ops_cuda.close(&handle);
    backend_free(t.cuda, &workspace);
    twin_close(&t);
}

static void trial_scores(void **state)
{
    (void)state;
    static const int64_t cases[][4] = {{1, 1, 1, 1}, {3, 4, 5, 7}, {20, 17, 300, 301}};
    for (int i = 0; i < 3; i++) {
        const int64_t n = cases[i][0], n_trials = cases[i][1], p = cases[i][2], ld = cases[i][3];
        const struct match_case c = {n, n * n_trials, p, ld};
        struct match_data d;
        struct twin t;
        double *want = twin_numbers(n * n_trials, 1);
        make_match_data(&d, &c);
        d.slices[p < c.n_slices * p ? p : 0] = 0.25; /* no NaN here */
        d.slices_float[p < c.n_slices * p ? p : 0] = 0.25F;
        twin_open(&t);
        double *got = twin_device(&t, want, BYTES(c.n_slices, want));
        struct match_block on_cpu = {
            .frames = d.frames, .ld = ld, .n_frames = n, .n_slices = c.n_slices, .n_use = p};
        struct match_block on_cuda = on_cpu;
        on_cuda.frames = twin_device(&t, d.frames, BYTES(n * ld, d.frames));
        for (int precision = NUFFT_FLOAT; precision <= NUFFT_DOUBLE; precision++) {
            on_cpu.precision = on_cuda.precision = (enum nufft_precision)precision;
            on_cpu.slices = precision == NUFFT_FLOAT ? (void *)d.slices_float : (void *)d.slices;
            on_cuda.slices =
                twin_device(&t, on_cpu.slices,
                            (size_t)(c.n_slices * p) *
                                (precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double)));
            assert_ok(match_ops_cpu.trials(t.cpu, want, &on_cpu, n_trials));
            assert_ok(match_ops_cuda.trials(t.cuda, got, &on_cuda, n_trials));
            twin_assert_doubles(&t, got, want, c.n_slices, SUM_ROUNDING);
        }
        twin_close(&t);
        free(want);
        free_match_data(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotated_points),
        cmocka_unit_test(log_slices),
        cmocka_unit_test(best_references_single),
        cmocka_unit_test(best_references_double),
        cmocka_unit_test(equal_scores_go_to_the_lower_index),
        cmocka_unit_test(trial_scores),
    };
    return cmocka_run_group_tests_name("mtip/slice, match on CUDA", tests, NULL, NULL);
}
