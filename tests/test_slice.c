/* test_slice.c - slices against direct sums of the autocorrelation, scores against direct sums over pixels. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/backend.h"
#include "core/memory.h"
#include "core/rng.h"
#include "mtip/frames.h"
#include "mtip/geometry.h"
#include "mtip/match.h"
#include "mtip/match_draw.h"
#include "mtip/orient.h"
#include "mtip/slice.h"

#define M 9
#define VOLUME (M * M * M)
#define P 37
#define R 11
#define N 5

static int64_t frequency(int64_t i)
{
    return i <= (M - 1) / 2 ? i : i - M;
}

struct scene {
    struct backend *backend;
    struct geometry geometry;
    double a[VOLUME]; /* even, FFT order */
    double quaternions[4 * R];
    double model[P];
};

/* Pixels in random directions, ascending radius; an even autocorrelation with a strong centre, so that most
 * intensities are positive and some are not. */
static struct scene *make_scene(int threads)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct rng rng = rng_stream(21, RNG_TEST, 0, 0);
    struct geometry *g = &scene->geometry;
    assert_non_null(scene);
    assert_ok(backend_create(&scene->backend, "cpu", 0, threads));
    g->grid_size = M;
    g->voxel_A = 3.0;
    g->n_pixel = P;
    assert_ok(MEMORY_ALLOC(&g->x, 3 * P, "x"));
    assert_ok(MEMORY_ALLOC(&g->radius, P, "radius"));
    assert_ok(MEMORY_ALLOC(&g->response, P, "response"));
    for (int p = 0; p < P; p++) {
        double v[3], norm = 0.0;
        for (int k = 0; k < 3; k++) {
            v[k] = rng_normal(&rng);
            norm += v[k] * v[k];
        }
        g->radius[p] = 3.1 * (p + 1) / P;
        for (int k = 0; k < 3; k++) {
            g->x[3 * p + k] = g->radius[p] * v[k] / sqrt(norm);
        }
        g->response[p] = 0.5 + rng_uniform(&rng);
        scene->model[p] = 1.0 + rng_uniform(&rng);
    }
    for (int64_t i = 0; i < VOLUME; i++) {
        const int64_t z = i / (M * M), y = i / M % M, x = i % M;
        const int64_t mate = ((M - z) % M * M + (M - y) % M) * M + (M - x) % M;
        if (mate >= i) {
            scene->a[i] = scene->a[mate] = rng_normal(&rng) * exp(-0.1 * (double)(z * y + x));
        }
    }
    scene->a[0] = 30.0;
    for (int r = 0; r < R; r++) {
        rng_quaternion(&rng, scene->quaternions + 4 * r);
    }
    return scene;
}

static void free_scene(struct scene *scene)
{
    memory_free(&scene->geometry.x);
    memory_free(&scene->geometry.radius);
    memory_free(&scene->geometry.response);
    backend_destroy(&scene->backend);
    free(scene);
}

/* sum_k A_k cos(k . R x_p) */
static double direct_intensity(const struct scene *scene, int r, int p)
{
    double matrix[9], x[3], sum = 0.0;
    quaternion_to_matrix(matrix, scene->quaternions + 4 * r);
    for (int i = 0; i < 3; i++) {
        x[i] = 0.0;
        for (int j = 0; j < 3; j++) {
            x[i] += matrix[3 * i + j] * scene->geometry.x[3 * p + j];
        }
    }
    for (int64_t i = 0; i < VOLUME; i++) {
        sum += scene->a[i] *
               cos((double)frequency(i / (M * M)) * x[2] + (double)frequency(i / M % M) * x[1] +
                   (double)frequency(i % M) * x[0]);
    }
    return sum;
}

static double value_at(const void *values, int64_t i, enum nufft_precision precision)
{
    return precision == NUFFT_FLOAT ? (double)((const float *)values)[i]
                                    : ((const double *)values)[i];
}

static void slices_match_direct_sums(void **state)
{
    (void)state;
    for (int precision = NUFFT_FLOAT; precision <= NUFFT_DOUBLE; precision++) {
        for (int n_use = P; n_use >= 7; n_use -= 30) {
            struct scene *scene = make_scene(2);
            struct slicer *slicer = NULL;
            void *values = NULL;
            double sums[R], misfit = 0.0, norm = 0.0, model_sum = 0.0;
            const double floor = 2.0;
            /* three times the requested error of the slices (nufft.h) */
            const double tolerance = precision == NUFFT_FLOAT ? 3e-5 : 3e-8;
            assert_ok(slicer_create(&slicer, scene->backend, &scene->geometry,
                                    (enum nufft_precision)precision, R));
            assert_ok(memory_alloc(&values, R * P, sizeof(double), "values"));
            assert_ok(slicer_set_autocorrelation(slicer, scene->a));
            assert_ok(slicer_set_isotropic(slicer, scene->model, floor));
            assert_ok(slicer_intensities(slicer, values, scene->quaternions, R, n_use));
            for (int i = 0; i < R * n_use; i++) {
                const double want = direct_intensity(scene, i / n_use, i % n_use);
                const double got = value_at(values, i, (enum nufft_precision)precision);
                misfit += (got - want) * (got - want);
                norm += want * want;
            }
            assert_at_most(sqrt(misfit / norm), tolerance);

            assert_ok(slicer_log_slices(slicer, values, sums, scene->quaternions, R, n_use));
            for (int p = 0; p < n_use; p++) {
                model_sum += scene->geometry.response[p] * scene->model[p];
            }
            for (int r = 0; r < R; r++) {
                double sum = 0.0;
                for (int p = 0; p < n_use; p++) {
                    sum += scene->geometry.response[p] * fmax(direct_intensity(scene, r, p), floor);
                }
                assert_close(sums[r] / sum, 1.0, 10.0 * tolerance);
                for (int p = 0; p < n_use; p++) {
                    const double w = fmax(direct_intensity(scene, r, p), floor);
                    const double want = log(w / scene->model[p]) - log(sum / model_sum);
                    /* the floor bounds the relative error of w: intensities reach 60, the floor is 2 */
                    assert_close(value_at(values, r * n_use + p, (enum nufft_precision)precision),
                                 want, 100.0 * tolerance);
                }
            }
            memory_free(&values);
            slicer_destroy(&slicer);
            free_scene(scene);
        }
    }
}

/* Frames, slices and scores of one matching problem. */
static void matching_finds_the_best(void **state)
{
    (void)state;
    enum { SLICES = 23, USE = 31 };
    for (int precision = NUFFT_FLOAT; precision <= NUFFT_DOUBLE; precision++) {
        struct backend *backend = NULL;
        struct matcher *matcher = NULL;
        float data[N * P], slices_float[SLICES * USE];
        double slices[SLICES * USE], score[N], trial_scores[N * 4];
        int64_t index[N];
        struct rng rng = rng_stream(5, RNG_TEST, 0, 0);
        struct frames frames = {.n_total = N, .n = N, .n_pixel = P, .data = data, .host = data};
        assert_ok(backend_create(&backend, "cpu", 0, 2));
        for (int i = 0; i < N * P; i++) {
            data[i] = (float)rng_poisson(&rng, 3.0);
        }
        for (int i = 0; i < SLICES * USE; i++) {
            slices_float[i] = (float)rng_normal(&rng);
            slices[i] = (double)slices_float[i];
        }
        /* two equal slices: the lower index wins, in whatever order the blocks come */
        memcpy(slices + 17 * USE, slices + 3 * USE, USE * sizeof *slices);
        memcpy(slices_float + 17 * USE, slices_float + 3 * USE, USE * sizeof *slices_float);
        assert_ok(
            matcher_create(&matcher, backend, &frames, (enum nufft_precision)precision, SLICES));
        assert_ok(matcher_reset(matcher));
        const void *all =
            precision == NUFFT_FLOAT ? (const void *)slices_float : (const void *)slices;
        const size_t item = slicer_item_size((enum nufft_precision)precision);
        assert_ok(
            matcher_block(matcher, (const char *)all + 12 * USE * item, SLICES - 12, USE, 12));
        assert_ok(matcher_block(matcher, all, 12, USE, 0));
        assert_ok(matcher_best(matcher, score, index));
        assert_ok(matcher_trials(matcher, trial_scores, all, 0, N, 4, USE));
        for (int f = 0; f < N; f++) {
            double best = -INFINITY;
            int64_t want = -1;
            for (int r = 0; r < SLICES; r++) {
                double sum = 0.0;
                for (int p = 0; p < USE; p++) {
                    sum += (double)data[f * P + p] * slices[r * USE + p];
                }
                if (sum > best) {
                    best = sum;
                    want = r;
                }
                if (r / 4 == f) {
                    /* sums of 31 terms of size 10, in single precision for the block's GEMM only */
                    assert_close(trial_scores[r], sum, 1e-4);
                }
            }
            assert_int_equal(index[f], want);
            assert_close(score[f], best, precision == NUFFT_FLOAT ? 1e-4 : 1e-10);
        }
        matcher_destroy(&matcher);
        backend_destroy(&backend);
    }
}

/* A share of the references: the best of those that each frame draws, whichever frames lie together. */
static void a_frame_is_matched_with_its_share(void **state)
{
    (void)state;
    enum { FRAMES = 40, SLICES = 300, USE = 21 };
    static float data[FRAMES * USE], slices[SLICES * USE];
    struct rng rng = rng_stream(6, RNG_TEST, 0, 0);
    struct backend *backend = NULL;
    int64_t n_candidates = 0, n_agree = 0;
    const struct match_draw draw = {.key = 99, .first_frame = 0, .most = UINT32_MAX / 10};
    assert_ok(backend_create(&backend, "cpu", 0, 2));
    for (int i = 0; i < FRAMES * USE; i++) {
        data[i] = (float)rng_poisson(&rng, 3.0);
    }
    for (int i = 0; i < SLICES * USE; i++) {
        slices[i] = (float)rng_normal(&rng);
    }
    for (int first = 0; first < FRAMES; first += 10) { /* four ranks' frames */
        struct frames frames = {.n_total = FRAMES, .first = first, .n = 10, .n_pixel = USE};
        struct matcher *matcher = NULL;
        double score[10];
        int64_t index[10];
        frames.data = frames.host = data + first * USE;
        assert_ok(matcher_create(&matcher, backend, &frames, NUFFT_FLOAT, SLICES));
        assert_ok(matcher_reset(matcher));
        matcher_draw(matcher, 0.1, draw.key);
        assert_ok(matcher_block(matcher, slices, SLICES, USE, 0));
        assert_ok(matcher_best(matcher, score, index));
        for (int f = 0; f < 10; f++) {
            double best = -INFINITY, best_of_all = -INFINITY;
            for (int r = 0; r < SLICES; r++) {
                double sum = 0.0;
                for (int p = 0; p < USE; p++) {
                    sum += (double)data[(first + f) * USE + p] * (double)slices[r * USE + p];
                }
                best_of_all = fmax(best_of_all, sum);
                if (match_is_candidate(draw, first + f, r)) {
                    best = fmax(best, sum);
                    n_candidates++;
                }
            }
            assert_close(score[f], best, 1e-10);
            assert_true(match_is_candidate(draw, first + f, index[f]));
            n_agree += best == best_of_all;
        }
        matcher_destroy(&matcher);
    }
    /* 12000 draws of one in ten: 1200, standard deviation 33; the best of all is among them for a tenth of the frames */
    assert_close((double)n_candidates, 1200.0, 5.0 * 33.0);
    assert_true(n_agree < FRAMES / 2);
    backend_destroy(&backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slices_match_direct_sums),
        cmocka_unit_test(matching_finds_the_best),
        cmocka_unit_test(a_frame_is_matched_with_its_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
