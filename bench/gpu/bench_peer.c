/* bench_peer.c - cuFINUFFT 2.4 and later through its C interface, with default options. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

typedef int set_points(void *plan, int64_t n, void *x, void *y, void *z, int n_targets, void *s,
                       void *t, void *u);
typedef int execute(void *plan, void *strengths, void *modes);
typedef int destroy(void *plan);

struct bench_peer {
    int (*make)(int type, int dimension, const int64_t *n_modes, int sign, int n_vectors,
                double tolerance, void **plan, void *options);
    int (*make_float)(int type, int dimension, const int64_t *n_modes, int sign, int n_vectors,
                      float tolerance, void **plan, void *options);
    set_points *set[2];
    execute *run[2];
    destroy *end[2];
};

/* dlsym gives an object pointer; POSIX has it copied like this. */
static int find(void *library, void *function, const char *name)
{
    void *const symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

struct bench_peer *bench_peer_open(const char *library)
{
    static struct bench_peer peer;
    if (library == NULL) {
        return NULL;
    }
    void *const handle = dlopen(library, RTLD_NOW);
    if (handle == NULL) {
        printf("cuFINUFFT left out: %s\n", dlerror());
        return NULL;
    }
    const int found = find(handle, &peer.make, "cufinufft_makeplan") &&
                      find(handle, &peer.make_float, "cufinufftf_makeplan") &&
                      find(handle, &peer.set[0], "cufinufftf_setpts") &&
                      find(handle, &peer.set[1], "cufinufft_setpts") &&
                      find(handle, &peer.run[0], "cufinufftf_execute") &&
                      find(handle, &peer.run[1], "cufinufft_execute") &&
                      find(handle, &peer.end[0], "cufinufftf_destroy") &&
                      find(handle, &peer.end[1], "cufinufft_destroy");
    if (!found) {
        printf("cuFINUFFT left out: %s lacks a function\n", library);
        return NULL;
    }
    return &peer;
}

int bench_peer_time(double *set_ms, double *run_ms, const struct bench_peer *peer,
                    const struct bench_case *c, struct bench_data *data, int type, int repeat)
{
    const int which = c->precision == NUFFT_FLOAT ? 0 : 1;
    const int64_t n_modes[3] = {data->n_modes, data->n_modes, data->n_modes};
    void *const strengths = type == 1 ? data->d_strengths : data->d_values;
    void *const modes = type == 1 ? data->d_spectrum : data->d_modes;
    struct bench_timer timer;
    void *plan = NULL;
    int failed = which == 0
                     ? peer->make_float(type, 3, n_modes, 1, 1, (float)c->tolerance, &plan, NULL)
                     : peer->make(type, 3, n_modes, 1, 1, c->tolerance, &plan, NULL);
    bench_timer_make(&timer);
    for (int r = 0; r < repeat && failed == 0; r++) {
        bench_timer_start(&timer);
        failed = peer->set[which](plan, data->n_points, data->d_x[0], data->d_x[1], data->d_x[2], 0,
                                  NULL, NULL, NULL);
        bench_timer_stop(&timer, set_ms);
        bench_timer_start(&timer);
        failed += peer->run[which](plan, strengths, modes);
        bench_timer_stop(&timer, run_ms);
    }
    if (plan != NULL) {
        (void)peer->end[which](plan);
    }
    bench_timer_free(&timer);
    return failed;
}
