/* geometry.c - choice of grid and pixels. */
#include "mtip/geometry.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/fft.h"
#include "core/memory.h"

#define PI 3.14159265358979323846264338327950288

/* Volume of a protein per unit of mass, A^3 per Dalton (partial specific volume 0.73 cm^3/g). */
#define PROTEIN_VOLUME_A3_PER_DALTON 1.21

struct pixel_order {
    double length;
    int64_t index;
};

static int by_length(const void *a, const void *b)
{
    const struct pixel_order *p = a, *q = b;
    if (p->length != q->length) {
        return p->length < q->length ? -1 : 1;
    }
    return p->index < q->index ? -1 : p->index > q->index;
}

static double length3(const double *v)
{
    return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

/* d at the nearest edge of the detector: along +x, -x, +y and -y, the used pixels reach out to some s; the
 * smallest of these is seen all around. Sides without a pixel (a detector off to one side) do not count.
 * 0 when there is no usable pixel. */
static double edge_resolution(const struct detector *detector)
{
    double reach[4] = {0.0, 0.0, 0.0, 0.0};
    for (int64_t p = 0; p < detector->n_pixel; p++) {
        const double *s = &detector->s[3 * p];
        if (detector->mask[p]) {
            reach[0] = fmax(reach[0], s[0]);
            reach[1] = fmax(reach[1], -s[0]);
            reach[2] = fmax(reach[2], s[1]);
            reach[3] = fmax(reach[3], -s[1]);
        }
    }
    double edge = INFINITY;
    for (int i = 0; i < 4; i++) {
        if (reach[i] > 0.0) {
            edge = fmin(edge, reach[i]);
        }
    }
    return isfinite(edge) ? 1.0 / edge : 0.0;
}

static enum mtip_status choose_grid(struct geometry *geometry, const struct detector *detector,
                                    const struct config *config)
{
    const double diameter = config->particle.diameter;
    geometry->limit_A =
        config->resolution.limit > 0.0 ? config->resolution.limit : edge_resolution(detector);
    if (!(geometry->limit_A > 0.0)) {
        return MTIP_ERROR(MTIP_ERR_DATA, "%s: no pixel with a scattering vector is marked usable",
                          config->input.file);
    }
    const double a = 0.5 * geometry->limit_A;
    geometry->voxel_A = a;
    geometry->grid_size = config->grid.size;
    if (geometry->grid_size == 0) {
        if (diameter <= 0.0) {
            return MTIP_ERROR(MTIP_ERR_CONFIG,
                              "neither grid.size nor particle.diameter is set; give the longest "
                              "extent of the particle in A, or an odd number of voxels");
        }
        geometry->grid_size = fft_good_size((int64_t)ceil(2.0 * diameter / a), 1);
    }
    const double largest = 0.5 * a * (double)(geometry->grid_size + 1);
    if (diameter > largest) {
        return MTIP_ERROR(
            MTIP_ERR_CONFIG,
            "particle.diameter %.1f A does not fit: grid.size %" PRId64
            " voxels of %.2f A hold at most %.1f A; grid.size must be at least %" PRId64,
            diameter, geometry->grid_size, a, largest, 2 * (int64_t)ceil(diameter / a) + 1);
    }
    const double radius =
        (diameter > 0.0 ? 0.5 * diameter / a : 0.25 * (double)geometry->grid_size);
    geometry->particle_radius = fmin(radius + 1.0, 0.25 * (double)geometry->grid_size + 1.5);
    geometry->support_voxels =
        config->particle.mass * 1000.0 * PROTEIN_VOLUME_A3_PER_DALTON / (a * a * a);
    return MTIP_OK;
}

static enum mtip_status alloc_pixels(struct geometry *geometry, int64_t n)
{
    enum mtip_status status = MTIP_OK;
    geometry->n_pixel = n;
    MTIP_TRY(MEMORY_ALLOC(&geometry->pixel, n, "pixel list"));
    MTIP_TRY(MEMORY_ALLOC(&geometry->x, 3 * n, "pixel positions"));
    MTIP_TRY(MEMORY_ALLOC(&geometry->radius, n, "pixel radii"));
    MTIP_TRY(MEMORY_ALLOC(&geometry->response, n, "pixel response"));
    MTIP_TRY(MEMORY_ALLOC(&geometry->background, n, "pixel background"));
cleanup:
    return status;
}

enum mtip_status geometry_create(struct geometry *geometry, const struct detector *detector,
                                 const struct config *config)
{
    enum mtip_status status = MTIP_OK;
    struct pixel_order *order = NULL;
    int64_t n = 0;

    memset(geometry, 0, sizeof *geometry);
    MTIP_TRY(choose_grid(geometry, detector, config));
    MTIP_TRY(MEMORY_ALLOC(&order, detector->n_pixel, "pixel order"));
    /* A hair over 1/d_min is allowed for, so that a limit equal to the edge keeps the edge; the
     * coordinate is folded back below. */
    const double s_max = (1.0 + 1e-9) / geometry->limit_A;
    for (int64_t p = 0; p < detector->n_pixel; p++) {
        const double s = length3(&detector->s[3 * p]);
        if (detector->mask[p] && detector->response[p] > 0.0 && s <= s_max) {
            order[n++] = (struct pixel_order){.length = s, .index = p};
        }
    }
    if (n == 0) {
        MTIP_FAIL(MTIP_ERR_DATA,
                  "%s: no usable pixel within resolution.limit = %.2f A (the detector's edge is at "
                  "%.2f A)",
                  config->input.file, geometry->limit_A, edge_resolution(detector));
    }
    qsort(order, (size_t)n, sizeof *order, by_length);
    geometry->panel_ny = detector->ny;
    geometry->panel_nx = detector->nx;
    MTIP_TRY(alloc_pixels(geometry, n));
    for (int64_t i = 0; i < n; i++) {
        const int64_t p = order[i].index;
        const double scale = 2.0 * PI * geometry->voxel_A;
        geometry->pixel[i] = p;
        for (int k = 0; k < 3; k++) {
            geometry->x[3 * i + k] = scale * detector->s[3 * p + k];
        }
        geometry->radius[i] = scale * order[i].length;
        geometry->response[i] = detector->response[p];
        geometry->background[i] = detector->background != NULL ? detector->background[p] : 0.0;
    }

cleanup:
    memory_free(&order);
    if (status != MTIP_OK) {
        geometry_release(geometry);
    }
    return status;
}

enum mtip_status geometry_broadcast(struct geometry *geometry, const struct comm *comm)
{
    enum mtip_status status = MTIP_OK;
    struct geometry head = *geometry;
    MTIP_TRY(comm_broadcast(comm, &head, sizeof head, 0));
    if (comm->rank != 0) {
        *geometry = head;
        geometry->pixel = NULL;
        geometry->x = geometry->radius = geometry->response = geometry->background = NULL;
        status = alloc_pixels(geometry, head.n_pixel);
    }
    MTIP_TRY(comm_agree(comm, status));
    const size_t n = (size_t)geometry->n_pixel;
    MTIP_TRY(comm_broadcast(comm, geometry->pixel, n * sizeof *geometry->pixel, 0));
    MTIP_TRY(comm_broadcast(comm, geometry->x, 3 * n * sizeof *geometry->x, 0));
    MTIP_TRY(comm_broadcast(comm, geometry->radius, n * sizeof *geometry->radius, 0));
    MTIP_TRY(comm_broadcast(comm, geometry->response, n * sizeof *geometry->response, 0));
    MTIP_TRY(comm_broadcast(comm, geometry->background, n * sizeof *geometry->background, 0));
cleanup:
    return status;
}

void geometry_release(struct geometry *geometry)
{
    memory_free(&geometry->pixel);
    memory_free(&geometry->x);
    memory_free(&geometry->radius);
    memory_free(&geometry->response);
    memory_free(&geometry->background);
    memset(geometry, 0, sizeof *geometry);
}

int64_t geometry_pixels_within(const struct geometry *geometry, double radius)
{
    int64_t low = 0, high = geometry->n_pixel;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (geometry->radius[middle] <= radius) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}
