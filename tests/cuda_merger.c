/* cuda_merger.c - the merge as a whole on CUDA, with frames on the device and streamed, against the CPU; failing calls.
 * One MPI rank. Under ThreadSanitizer the failing calls, which are the same kernels again, are left out. */
#include "twin_support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "mtip/merge.h"

enum { M = 7, N_PIXEL = 30, N_USE = 25, N_FRAMES = 23, BATCH = 4, VOLUME = M * M * M };

struct merging {
    const struct backend *backend;
    int64_t window; /* 0: all frames on the device */
    enum nufft_precision precision;
    struct geometry geometry;
    double x[3 * N_PIXEL], response[N_PIXEL], model[N_PIXEL];
    double quaternions[4 * N_FRAMES], fluence[N_FRAMES];
    float values[N_FRAMES * N_PIXEL];
    double magnitude[N_PIXEL]; /* sums of the values over frames */
    double a[MERGE_SETS * VOLUME];
    struct toeplitz_metrics metrics;
};

static struct merging *make_merging(const struct backend *backend, int64_t window)
{
    struct merging *g = calloc(1, sizeof *g);
    struct rng rng = rng_stream(2, RNG_TEST, 0, 0);
    assert_non_null(g);
    g->backend = backend;
    g->window = window;
    g->precision = NUFFT_DOUBLE;
    g->geometry =
        (struct geometry){.grid_size = M, .n_pixel = N_PIXEL, .x = g->x, .response = g->response};
    for (int p = 0; p < N_PIXEL; p++) {
        for (int axis = 0; axis < 3; axis++) {
            g->x[3 * p + axis] = 1.8 * (2.0 * rng_uniform(&rng) - 1.0);
        }
        g->response[p] = 0.5 + rng_uniform(&rng);
        g->model[p] = 0.2 + rng_uniform(&rng);
    }
    for (int f = 0; f < N_FRAMES; f++) {
        rng_quaternion(&rng, g->quaternions + 4 * f);
        g->fluence[f] = f == 5 ? 0.0 : 0.5 + rng_uniform(&rng); /* one blank frame */
    }
    for (int i = 0; i < N_FRAMES * N_PIXEL; i++) {
        g->values[i] = (float)rng_poisson(&rng, 3.0);
        g->magnitude[i % N_PIXEL] += (double)g->values[i];
    }
    return g;
}

static enum mtip_status hold_frames(struct frames *f, struct merging *g)
{
    enum mtip_status status = MTIP_OK;
    const struct backend *backend = g->backend;
    f->n_total = f->n = N_FRAMES;
    f->n_pixel = N_PIXEL;
    f->n_chunks = f->own_chunks = 2;
    f->magnitude = g->magnitude;
    MTIP_TRY(BACKEND_ALLOC_HOST(backend, &f->host, N_FRAMES * N_PIXEL, "frames"));
    memcpy(f->host, g->values, sizeof g->values);
    if (g->window == 0) {
        MTIP_TRY(BACKEND_ALLOC(backend, &f->data, N_FRAMES * N_PIXEL, "frames"));
        MTIP_TRY(backend_upload(backend, f->data, f->host, sizeof g->values));
        MTIP_TRY(backend_synchronize(backend));
        return MTIP_OK;
    }
    f->stream = calloc(1, sizeof *f->stream);
    f->stream->size = g->window;
    for (int i = 0; i < 2; i++) {
        MTIP_TRY(BACKEND_ALLOC(backend, &f->stream->window[i], g->window * N_PIXEL, "windows"));
    }
cleanup:
    return status;
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

static enum mtip_status merge_once(void *context)
{
    enum mtip_status status = MTIP_OK;
    struct merging *g = context;
    /* few steps: what conjugate gradients make of rounding is not the subject */
    const struct toeplitz_options options = {
        .radius = 0.5 * M, .regularization = 1e-2, .iterations = 6, .tolerance = 1e-12};
    struct frames frames = {.n = 0};
    struct merger *merger = NULL;
    memset(g->a, 0, sizeof g->a);
    g->a[0] = 1.0;
    MTIP_TRY(hold_frames(&frames, g));
    MTIP_TRY(merger_create(&merger, g->backend, &g->geometry, &frames, g->precision, BATCH));
    MTIP_TRY(merger_run(merger, support_comm(), g->a, g->quaternions, g->fluence, g->model, N_USE,
                        &options, &g->metrics));
cleanup:
    merger_destroy(&merger);
    drop_frames(&frames, g->backend);
    return status;
}

static void merges_agree_and_stream(void **state)
{
    (void)state;
    static const int64_t windows[] = {0, 2 * BATCH - 1, 2 * BATCH + 3, N_FRAMES - 1};
    struct twin t;
    twin_open(&t);
    struct merging *cpu = make_merging(t.cpu, 0), *resident = NULL;
    assert_ok(merge_once(cpu));
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct merging *cuda = make_merging(t.cuda, windows[i]);
        assert_ok(merge_once(cuda));
        for (int set = 0; set < MERGE_SETS; set++) {
            /* 1e-12 of the transforms, times the condition of 1e2, with room */
            assert_at_most(
                support_relative_l2(cuda->a + set * VOLUME, cpu->a + set * VOLUME, VOLUME), 1e-9);
        }
        assert_int_equal(cuda->metrics.iterations, cpu->metrics.iterations);
        if (resident == NULL) {
            resident = cuda;
        } else {
            assert_at_most(support_relative_l2(cuda->a, resident->a, MERGE_SETS * VOLUME), 1e-9);
            free(cuda);
        }
    }
    free(resident);
    free(cpu);
    twin_close(&t);
}

extern void __tsan_init(void) __attribute__((weak));

static void a_merge_fails_cleanly(void **state)
{
    (void)state;
    struct twin t;
    if (__tsan_init != NULL) {
        skip();
    }
    twin_open(&t);
    struct merging *g = make_merging(t.cuda, 2 * BATCH);
    g->precision = NUFFT_FLOAT; /* quicker */
    twin_fail_every_call(merge_once, g, 13);
    free(g);
    twin_close(&t);
}

/* The MPI library is not compiled for ThreadSanitizer, which does not see what orders its threads. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:libmpi\nrace:libopen-pal\nrace:libopen-rte\nrace:mca_\n";
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_agree_and_stream),
        cmocka_unit_test(a_merge_fails_cleanly),
    };
    support_mpi_begin(&argc, &argv);
    return support_mpi_end(cmocka_run_group_tests_name("mtip/merge on CUDA", tests, NULL, NULL));
}
