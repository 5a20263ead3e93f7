/* scatter_map.c - atoms or a volume on a grid, amplitudes by NUFFT type 2. */
#include "mtip/scatter_map.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "mtip/scatter.h"
#include "nufft/nufft.h"

#define PI 3.14159265358979323846264338327950288
#define TERMS (SCATTER_GAUSSIANS + 1) /* the constant c is a Gaussian of b = 0 */

/* Points given to the NUFFT at a time: bounds the scratch memory. */
#define CHUNK_POINTS ((int64_t)1 << 18)

struct scatter_map {
    struct nufft_plan *plan; /* owned, prepared */
    double spacing_A;        /* h */
    double blur;             /* T, A^2 */
    double limit;            /* of |s|, or of its components when by_component */
    int by_component;
    double *x, *y, *z; /* owned [CHUNK_POINTS] coordinates in radians */
};

/* ---- atoms on the grid ------------------------------------------------------------------------ */

/* One atom on one axis: values[term][cell] from cell `first` on. */
struct profile {
    int64_t first;
    double *values; /* borrowed [TERMS][width] */
};

struct spreader {
    int64_t n;      /* cells a side, odd */
    int64_t width;  /* cells an atom reaches on each axis */
    double spacing; /* h */
    double blur;    /* T */
    double *grid;   /* borrowed [n][n][n][2], imaginary parts stay 0 */
};

/* exp(-4 pi^2 (k h - r)^2 / beta) for the cells about r, of each Gaussian of the atom's form
 * factor. */
static void profile_make(struct profile *profile, const struct spreader *spreader,
                         const double beta[TERMS], double r)
{
    const int64_t half = spreader->n / 2, width = spreader->width;
    profile->first = (int64_t)floor(r / spreader->spacing) - width / 2 + 1 + half;
    for (int t = 0; t < TERMS; t++) {
        const double factor = -4.0 * PI * PI / beta[t];
        for (int64_t i = 0; i < width; i++) {
            const double d = (double)(profile->first + i - half) * spreader->spacing - r;
            profile->values[t * width + i] = exp(factor * d * d);
        }
    }
}

/* Adds atom j to the planes z0 <= z < z1. scratch [3][TERMS][width] and [width]. */
static void spread_atom(const struct spreader *spreader, const struct atoms *atoms, int64_t j,
                        int64_t z0, int64_t z1, double *scratch)
{
    const int64_t n = spreader->n, width = spreader->width, half = n / 2;
    const struct scatter_element *element = &scatter_elements[atoms->element[j] - 1];
    double beta[TERMS], height[TERMS];
    struct profile profile[3];
    double *row = scratch + 3 * TERMS * width;

    const int64_t first_z =
        (int64_t)floor(atoms->xyz[3 * j + 2] / spreader->spacing) - width / 2 + 1 + half;
    if (first_z >= z1 || first_z + width <= z0) {
        return;
    }
    for (int t = 0; t < TERMS; t++) {
        const double b = t < SCATTER_GAUSSIANS ? element->b[t] : 0.0;
        const double a = t < SCATTER_GAUSSIANS ? element->a[t] : element->c;
        beta[t] = b + atoms->b_factor[j] + spreader->blur;
        const double side = spreader->spacing * sqrt(4.0 * PI / beta[t]);
        height[t] = atoms->occupancy[j] * a * side * side * side;
    }
    for (int axis = 0; axis < 3; axis++) {
        profile[axis].values = scratch + axis * TERMS * width;
        profile_make(&profile[axis], spreader, beta, atoms->xyz[3 * j + axis]);
    }
    const int64_t begin = first_z > z0 ? first_z : z0;
    const int64_t end = first_z + width < z1 ? first_z + width : z1;
    for (int64_t z = begin; z < end; z++) {
        for (int64_t iy = 0; iy < width; iy++) {
            double *out =
                spreader->grid + 2 * ((z * n + profile[1].first + iy) * n + profile[0].first);
            memset(row, 0, (size_t)width * sizeof *row);
            for (int t = 0; t < TERMS; t++) {
                const double weight = height[t] * profile[2].values[t * width + z - first_z] *
                                      profile[1].values[t * width + iy];
                const double *values = &profile[0].values[t * width];
                for (int64_t ix = 0; ix < width; ix++) {
                    row[ix] += weight * values[ix];
                }
            }
            for (int64_t ix = 0; ix < width; ix++) {
                out[2 * ix] += row[ix];
            }
        }
    }
}

/* Each thread owns slabs of planes and adds every atom's part in them, in the order of the atoms:
 * no two threads write the same cell, and sums do not depend on the number of threads. */
static enum mtip_status spread_atoms(const struct spreader *spreader, const struct atoms *atoms,
                                     int n_threads)
{
    enum mtip_status status = MTIP_OK;
    double *scratch = NULL;
    const int64_t per_thread = (3 * TERMS + 1) * spreader->width;
    MTIP_TRY(MEMORY_ALLOC(&scratch, n_threads * per_thread, "atom profiles"));
#pragma omp parallel for schedule(static) num_threads(n_threads)
    for (int part = 0; part < n_threads; part++) {
        const int64_t z0 = spreader->n * part / n_threads;
        const int64_t z1 = spreader->n * (part + 1) / n_threads;
        for (int64_t j = 0; j < atoms->n; j++) {
            spread_atom(spreader, atoms, j, z0, z1, scratch + part * per_thread);
        }
    }
cleanup:
    memory_free(&scratch);
    return status;
}

/* ---- maps ------------------------------------------------------------------------------------- */

/* The plan for `modes` [n][n][n][2], with scratch. */
static enum mtip_status map_prepare(struct scatter_map *map, const double *modes, int64_t n,
                                    double tolerance, int n_threads)
{
    enum mtip_status status = MTIP_OK;
    struct nufft_options options = nufft_options_default();
    const int64_t n_modes[3] = {n, n, n};
    options.n_threads = n_threads;
    MTIP_TRY(
        nufft_plan_create(&map->plan, 2, 3, n_modes, -1, 1, tolerance, NUFFT_DOUBLE, &options));
    MTIP_TRY(nufft_plan_prepare(map->plan, modes));
    MTIP_TRY(MEMORY_ALLOC(&map->x, CHUNK_POINTS, "points of a map"));
    MTIP_TRY(MEMORY_ALLOC(&map->y, CHUNK_POINTS, "points of a map"));
    MTIP_TRY(MEMORY_ALLOC(&map->z, CHUNK_POINTS, "points of a map"));
cleanup:
    return status;
}

/* Chooses grid and blur. With h = 1/(4 s_max) the first alias of a point at s_max lies at 3
 * s_max, so that blurring by T leaves exp(-T (9 - 1) s_max^2 / 4) of it: T makes that a hundredth
 * of the tolerance. */
static enum mtip_status spreader_choose(struct spreader *spreader, const struct atoms *atoms,
                                        double s_max, double tolerance)
{
    const double digits = log(100.0 / tolerance);
    double radius = 0.0, beta_max = 0.0;
    spreader->spacing = 0.25 / s_max;
    spreader->blur = 0.5 * digits / (s_max * s_max);
    for (int64_t j = 0; j < atoms->n; j++) {
        const struct scatter_element *element = &scatter_elements[atoms->element[j] - 1];
        if (atoms->b_factor[j] < -0.1 * spreader->blur) {
            return MTIP_ERROR(MTIP_ERR_DATA,
                              "atom %lld has a B factor of %g A^2; at least 0 is right",
                              (long long)j + 1, atoms->b_factor[j]);
        }
        for (int i = 0; i < 3; i++) {
            radius = fmax(radius, fabs(atoms->xyz[3 * j + i]));
        }
        for (int t = 0; t < SCATTER_GAUSSIANS; t++) {
            beta_max = fmax(beta_max, element->b[t] + atoms->b_factor[j]);
        }
    }
    beta_max += spreader->blur;
    const double reach = sqrt((digits + 3.0) * beta_max) / (2.0 * PI);
    const double half_width = ceil(reach / spreader->spacing) + 1.0;
    const double half_size = ceil(radius / spreader->spacing) + half_width + 1.0;
    if (!(half_size < 2000.0)) {
        return MTIP_ERROR(
            MTIP_ERR_ARGUMENT,
            "a particle of radius %.4g A to a resolution of %.3g A needs a grid of %.0f "
            "cells a side; at most 4000 are allowed",
            radius, 1.0 / s_max, 2.0 * half_size + 1.0);
    }
    spreader->width = 2 * (int64_t)half_width;
    spreader->n = 2 * (int64_t)half_size + 1;
    return MTIP_OK;
}

enum mtip_status scatter_map_from_atoms(struct scatter_map **map, const struct atoms *atoms,
                                        double s_max, double tolerance, int n_threads)
{
    enum mtip_status status = MTIP_OK;
    struct scatter_map *m = NULL;
    struct spreader spreader = {.grid = NULL};

    *map = NULL;
    if (!(s_max > 0.0) || !(tolerance >= 1e-9) || !(tolerance <= 1e-3)) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "scatter map: |s| up to %g 1/A with tolerance %g; a positive limit and "
                          "1e-9 to 1e-3 are right",
                          s_max, tolerance);
    }
    MTIP_TRY(scatter_check(atoms));
    MTIP_TRY(spreader_choose(&spreader, atoms, s_max, tolerance));
    const int64_t n = spreader.n;
    MTIP_TRY(MEMORY_ALLOC(&spreader.grid, 2 * n * n * n, "density of the atoms"));
    MTIP_TRY(spread_atoms(&spreader, atoms, n_threads));
    MTIP_TRY(MEMORY_ALLOC(&m, 1, "scatter map"));
    m->spacing_A = spreader.spacing;
    m->blur = spreader.blur;
    m->limit = s_max;
    /* Strong points at low |s| must not drown the weak ones at high |s|, which the blur weakens
     * further. */
    MTIP_TRY(map_prepare(m, spreader.grid, n, 0.1 * tolerance, n_threads));
    *map = m;
    m = NULL;

cleanup:
    memory_free(&spreader.grid);
    scatter_map_destroy(&m);
    return status;
}

enum mtip_status scatter_map_from_volume(struct scatter_map **map, const double *volume, int64_t n,
                                         double voxel_A, double tolerance, int n_threads)
{
    enum mtip_status status = MTIP_OK;
    struct scatter_map *m = NULL;
    double *modes = NULL;

    *map = NULL;
    if (n < 1 || !(voxel_A > 0.0) || !isfinite(voxel_A)) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "scatter map: a volume of %lld voxels of %g A a side",
                          (long long)n, voxel_A);
    }
    MTIP_TRY(MEMORY_ALLOC(&modes, 2 * n * n * n, "modes of a volume"));
    for (int64_t k = 0; k < n * n * n; k++) {
        modes[2 * k] = volume[k];
    }
    MTIP_TRY(MEMORY_ALLOC(&m, 1, "scatter map"));
    m->spacing_A = voxel_A;
    m->limit = 0.5 / voxel_A;
    m->by_component = 1;
    MTIP_TRY(map_prepare(m, modes, n, tolerance, n_threads));
    *map = m;
    m = NULL;

cleanup:
    memory_free(&modes);
    scatter_map_destroy(&m);
    return status;
}

double scatter_map_limit(const struct scatter_map *map)
{
    return map->limit;
}

void scatter_map_destroy(struct scatter_map **map)
{
    if (*map == NULL) {
        return;
    }
    memory_free(&(*map)->z);
    memory_free(&(*map)->y);
    memory_free(&(*map)->x);
    nufft_plan_destroy(&(*map)->plan);
    memory_free(map);
}

/* ---- amplitudes ------------------------------------------------------------------------------- */

static int point_is_inside(const struct scatter_map *map, const double s[3])
{
    const double limit = map->limit * (1.0 + 1e-9);
    if (map->by_component) {
        return fabs(s[0]) <= limit && fabs(s[1]) <= limit && fabs(s[2]) <= limit;
    }
    return s[0] * s[0] + s[1] * s[1] + s[2] * s[2] <= limit * limit;
}

enum mtip_status scatter_map_amplitudes(struct scatter_map *map, double *amplitude, const double *s,
                                        int64_t n_points)
{
    enum mtip_status status = MTIP_OK;
    const double to_radians = 2.0 * PI * map->spacing_A;
    for (int64_t first = 0; first < n_points; first += CHUNK_POINTS) {
        const int64_t count = n_points - first < CHUNK_POINTS ? n_points - first : CHUNK_POINTS;
        const double *points = &s[3 * first];
        double *values = &amplitude[2 * first];
        for (int64_t p = 0; p < count; p++) {
            if (!point_is_inside(map, &points[3 * p])) {
                MTIP_FAIL(MTIP_ERR_ARGUMENT,
                          "scatter map: point %lld at (%g, %g, %g) 1/A is outside its limit of %g",
                          (long long)(first + p), points[3 * p], points[3 * p + 1],
                          points[3 * p + 2], map->limit);
            }
            map->x[p] = to_radians * points[3 * p];
            map->y[p] = to_radians * points[3 * p + 1];
            map->z[p] = to_radians * points[3 * p + 2];
        }
        MTIP_TRY(
            nufft_plan_set_points(map->plan, count, map->x, map->y, map->z, 0, NULL, NULL, NULL));
        MTIP_TRY(nufft_plan_interpolate(map->plan, values));
        for (int64_t p = 0; p < count && map->blur > 0.0; p++) {
            const double *q = &points[3 * p];
            const double s2 = q[0] * q[0] + q[1] * q[1] + q[2] * q[2];
            const double sharpen = exp(0.25 * map->blur * s2);
            values[2 * p] *= sharpen;
            values[2 * p + 1] *= sharpen;
        }
    }
cleanup:
    return status;
}
