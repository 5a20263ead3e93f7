/* geometry.h - the pixels a reconstruction uses, and the grid it reconstructs on.
 *
 *   M  grid size (odd), voxel a = d_min / 2 in A; NUFFT coordinate x = 2 pi a s (radians), |x| <= pi
 *   P  used pixels, in ascending order of |s|: "up to resolution d" is then a prefix of every array, of
 *      every frame and of every slice, and the march in resolution moves no data
 */
#ifndef MTIP_MTIP_GEOMETRY_H
#define MTIP_MTIP_GEOMETRY_H

#include <stdint.h>

#include "core/comm.h"
#include "core/status.h"
#include "io/config.h"
#include "io/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

struct geometry {
    int64_t grid_size;      /* M */
    double voxel_A;         /* a */
    double limit_A;         /* d_min = 2 a */
    double particle_radius; /* voxels: bounding ball of the particle with a margin of one voxel */
    double support_voxels;  /* volume of the particle from its mass, voxels; 0 = mass unknown */
    int64_t panel_ny, panel_nx; /* pixels of one panel of the detector, rows and columns */
    int64_t n_pixel;            /* P */
    int64_t *pixel;             /* owned [P] index into the detector's pixels */
    double *x;                  /* owned [P][3] detector frame, radians */
    double *radius;             /* owned [P] |x|, ascending */
    double *response;           /* owned [P] polarisation times solid angle */
    double *background;         /* owned [P] photons; zeros where there is none */
};

/* Chooses the grid and the used pixels from the detector and the configuration: limit 0 means the detector's
 * edge (largest |s| that a whole ring reaches), size 0 the smallest odd size of small prime factors with
 * 2 D / a <= M, diameter 0 the largest that fits the grid. Errors name the key to change:
 * MTIP_ERR_CONFIG (particle larger than half the grid, no grid size and no diameter), MTIP_ERR_DATA
 * (no usable pixel inside the limit). Release with geometry_release. */
enum mtip_status geometry_create(struct geometry *geometry, const struct detector *detector,
                                 const struct config *config) MTIP_NODISCARD;

/* Copies rank 0's geometry to all ranks. Collective, and agrees: all ranks fail together. */
enum mtip_status geometry_broadcast(struct geometry *geometry,
                                    const struct comm *comm) MTIP_NODISCARD;

void geometry_release(struct geometry *geometry);

/* Number of leading pixels with |x| <= radius. */
int64_t geometry_pixels_within(const struct geometry *geometry, double radius);

#ifdef __cplusplus
}
#endif

#endif
