/* mpi_frames.c - frames reach their owners whole and in order, for even and odd splits. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/backend.h"
#include "core/memory.h"
#include "io/dataset.h"
#include "mtip/frames.h"
#include "mtip/geometry.h"

#define SIDE 6
#define N_PIXEL (SIDE * SIDE)

/* Value of pixel p of frame f: tells both apart. */
static float value_of(int64_t f, int64_t p)
{
    return (float)(f * 100 + p);
}

/* A flat detector to 5 A at its edge; pixel 7 masked; background 0.5 in pixel 3. */
static void make_detector(struct detector *detector)
{
    memset(detector, 0, sizeof *detector);
    detector->n_panel = 1;
    detector->ny = detector->nx = SIDE;
    detector->n_pixel = N_PIXEL;
    detector->s = calloc(3 * N_PIXEL, sizeof *detector->s);
    detector->mask = calloc(N_PIXEL, 1);
    detector->response = calloc(N_PIXEL, sizeof *detector->response);
    detector->background = calloc(N_PIXEL, sizeof *detector->background);
    for (int p = 0; p < N_PIXEL; p++) {
        detector->s[3 * p] = 0.2 * (p % SIDE - 2.5) / 2.5;
        detector->s[3 * p + 1] = 0.2 * (p / SIDE - 2.5) / 2.5;
        detector->mask[p] = p != 7;
        detector->response[p] = 1.0;
    }
    detector->background[3] = 0.5;
}

static void release_detector(struct detector *detector)
{
    free(detector->s);
    free(detector->mask);
    free(detector->response);
    free(detector->background);
}

/* Rank 0 writes n frames. Returns 1 when it worked. */
static int write_file(const char *path, const struct detector *detector, int64_t n)
{
    struct dataset_writer *writer = NULL;
    float frame[N_PIXEL];
    int ok = dataset_writer_create(&writer, path, detector, n, 0) == MTIP_OK;
    for (int64_t f = 0; ok && f < n; f++) {
        for (int p = 0; p < N_PIXEL; p++) {
            frame[p] = value_of(f, p);
        }
        ok = dataset_writer_put(writer, f, 1, frame, NULL, NULL) == MTIP_OK;
    }
    ok = ok && dataset_writer_finish(&writer) == MTIP_OK;
    dataset_writer_destroy(&writer);
    return ok;
}

/* 1 when this rank's frames are those it owns. */
static int frames_are_right(const struct frames *frames, const struct geometry *geometry)
{
    for (int64_t f = 0; f < frames->n; f++) {
        for (int64_t i = 0; i < geometry->n_pixel; i++) {
            const int64_t p = geometry->pixel[i];
            const float want = value_of(frames->first + f, p) - (p == 3 ? 0.5f : 0.0f);
            if (p == 7 || frames->host[f * geometry->n_pixel + i] != want) {
                return 0;
            }
        }
    }
    return 1;
}

/* Splits that divide, that do not, and one frame a rank. */
static void frames_reach_their_owners(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    const int64_t counts[] = {comm->size, comm->size + 1, 7, 23};
    struct backend *backend = NULL;
    struct detector detector;
    int ok = backend_create(&backend, "cpu", 0, 1) == MTIP_OK;
    make_detector(&detector);
    for (int i = 0; i < 4; i++) {
        char path[64];
        struct dataset *dataset = NULL;
        struct geometry geometry;
        struct frames frames;
        struct config *config = calloc(1, sizeof *config);
        int64_t total = 0;
        memset(&geometry, 0, sizeof geometry);
        memset(&frames, 0, sizeof frames);
        config->resolution.limit = 4.0;
        config->grid.size = 21;
        snprintf(path, sizeof path, "mpi_frames_%d.h5", (int)getpid());
        enum mtip_status status = MTIP_OK;
        if (comm->rank == 0) {
            ok = ok && write_file(path, &detector, counts[i]);
            status = dataset_open(&dataset, path, NULL);
            if (status == MTIP_OK) {
                status = geometry_create(&geometry, dataset_detector(dataset), config);
            }
        }
        status = comm_agree(comm, status);
        if (status == MTIP_OK) {
            status = geometry_broadcast(&geometry, comm);
        }
        if (status == MTIP_OK) {
            status = frames_load(&frames, comm, backend, dataset, &geometry, counts[i], 0, NULL);
        }
        ok = ok && status == MTIP_OK && frames_are_right(&frames, &geometry);
        double sum = (double)frames.n;
        ok = comm_allreduce_sum(comm, &sum, 1) == MTIP_OK && ok;
        total = (int64_t)sum;
        ok = ok && total == counts[i];
        frames_release(&frames, backend);
        geometry_release(&geometry);
        dataset_close(&dataset);
        free(config);
        if (comm->rank == 0) {
            unlink(path);
        }
    }
    release_detector(&detector);
    backend_destroy(&backend);
    assert_true(support_all_ranks(comm, ok));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_reach_their_owners),
    };
    support_mpi_begin(&argc, &argv);
    return support_mpi_end(cmocka_run_group_tests(tests, NULL, NULL));
}
