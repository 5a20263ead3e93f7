/* nufft_simple.c - the whole use of the library: 100 000 random points in 2-D, type 1 and type 2, one mode and one value
 * checked against their sums.
 *
 *     cc nufft_simple.c $(pkg-config --cflags --libs mtipnufft) -lm -o nufft_simple && ./nufft_simple
 */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <nufft/nufft.h>

#define POINTS 100000
#define NX 128
#define NY 100

static int failed(enum mtip_status status)
{
    if (status != MTIP_OK) {
        fprintf(stderr, "nufft_simple: %s\n", mtip_status_message());
    }
    return status != MTIP_OK;
}

int main(void)
{
    const double pi = acos(-1.0);
    const int64_t n_modes[2] = {NX, NY}; /* x first; in memory x is fastest: f[NY][NX] */
    double *x = malloc(POINTS * sizeof *x);
    double *y = malloc(POINTS * sizeof *y);
    double complex *c = malloc(POINTS * sizeof *c);
    double complex *f = malloc(NX * NY * sizeof *f);
    struct nufft_plan *plan = NULL;
    int status = 1;
    if (x == NULL || y == NULL || c == NULL || f == NULL) {
        goto cleanup;
    }
    for (int j = 0; j < POINTS; j++) {
        x[j] = pi * (2.0 * rand() / RAND_MAX - 1.0);
        y[j] = pi * (2.0 * rand() / RAND_MAX - 1.0);
        c[j] = 2.0 * rand() / RAND_MAX - 1.0 + I * (2.0 * rand() / RAND_MAX - 1.0);
    }

    /* Type 1: f_k = sum_j c_j exp(+i k.x_j), to nine digits. A plan may be given new points and executed again and again; x and y
     * must stay until then. */
    if (failed(nufft_plan_create(&plan, 1, 2, n_modes, +1, 1, 1e-9, NUFFT_DOUBLE, NULL)) ||
        failed(nufft_plan_set_points(plan, POINTS, x, y, NULL, 0, NULL, NULL, NULL)) ||
        failed(nufft_plan_execute(plan, c, f))) {
        goto cleanup;
    }
    nufft_plan_destroy(&plan);
    const int kx = 10;
    const int ky = -7;
    double complex sum = 0.0;
    for (int j = 0; j < POINTS; j++) {
        sum += c[j] * cexp(I * (kx * x[j] + ky * y[j]));
    }
    const double complex mode = f[(ky + NY / 2) * NX + kx + NX / 2];
    printf("mode (%d, %d): relative difference %.1e\n", kx, ky, cabs(mode - sum) / cabs(sum));

    /* Type 2: c_j = sum_k f_k exp(-i k.x_j). */
    if (failed(nufft_plan_create(&plan, 2, 2, n_modes, -1, 1, 1e-9, NUFFT_DOUBLE, NULL)) ||
        failed(nufft_plan_set_points(plan, POINTS, x, y, NULL, 0, NULL, NULL, NULL)) ||
        failed(nufft_plan_execute(plan, c, f))) {
        goto cleanup;
    }
    sum = 0.0;
    for (int iy = 0; iy < NY; iy++) {
        for (int ix = 0; ix < NX; ix++) {
            sum += f[iy * NX + ix] * cexp(-I * ((ix - NX / 2) * x[0] + (iy - NY / 2) * y[0]));
        }
    }
    printf("value at point 0: relative difference %.1e\n", cabs(c[0] - sum) / cabs(sum));
    status = 0;
cleanup:
    nufft_plan_destroy(&plan);
    free(x);
    free(y);
    free(c);
    free(f);
    return status;
}
