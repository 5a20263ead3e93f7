/* mrc.h - volumes in MRC2014 files (mode 2), as ChimeraX, Coot and RELION read them. */
#ifndef MTIP_IO_MRC_H
#define MTIP_IO_MRC_H

#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes a cube [n][n][n], z slowest, of voxel size voxel_A with the coordinate origin at the centre voxel
 * ((n-1)/2 for odd n): header words 50-52; stored as float, appears by rename. */
enum mtip_status mrc_write(const char *path, const double *volume, int64_t n,
                           double voxel_A) MTIP_NODISCARD;

/* Reads a cubic volume of mode 0, 1, 2 or 6, either byte order and any order of axes; *volume [n][n][n] (z slowest)
 * is owned by the caller (memory_free); *voxel_A is 0 when the header has no cell. Errors MTIP_ERR_FILE,
 * MTIP_ERR_FORMAT (no MRC file, truncated, not a cube), MTIP_ERR_UNSUPPORTED (another mode). */
enum mtip_status mrc_read(double **volume, int64_t *n, double *voxel_A,
                          const char *path) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
