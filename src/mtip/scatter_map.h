/* scatter_map.h - amplitudes of one particle at very many points, by nonuniform FFT.
 *
 * The particle is put once on a real-space grid of spacing h; amplitudes are then
 *     F(s) = exp(+T |s|^2 / 4) sum_k rho_k exp(-2 pi i h k.s)         (NUFFT type 2)
 * Atoms become sums of Gaussians (scatter.h) blurred by a temperature factor T that makes the
 * sampled density band-limited and that the first factor takes out again (Ten Eyck, Acta Cryst.
 * A33 (1977) 486). A volume is taken as it is: rho_k its voxels, T = 0.
 */
#ifndef MTIP_MTIP_SCATTER_MAP_H
#define MTIP_MTIP_SCATTER_MAP_H

#include <stdint.h>

#include "core/status.h"
#include "io/pdb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque; serves one thread at a time (each call uses the map's own threads). */
struct scatter_map;

/* Map of atoms, for points |s| <= s_max. Amplitudes are within `tolerance` (1e-3 .. 1e-9) of
 * those of scatter_amplitudes, relative in every range of |s|. The atoms are read during the call
 * only and should be centred: the grid is a cube about the origin. n_threads >= 1; results do not
 * depend on it. Errors: those of scatter_check, MTIP_ERR_ARGUMENT, MTIP_ERR_MEMORY. Release with
 * scatter_map_destroy. */
enum mtip_status scatter_map_from_atoms(struct scatter_map **map, const struct atoms *atoms,
                                        double s_max, double tolerance,
                                        int n_threads) MTIP_NODISCARD;

/* Map of a cubic volume [n][n][n], z slowest, origin at voxel n/2 (the centre for odd n), for
 * points whose components are within 1 / (2 voxel_A). Read during the call only. */
enum mtip_status scatter_map_from_volume(struct scatter_map **map, const double *volume, int64_t n,
                                         double voxel_A, double tolerance,
                                         int n_threads) MTIP_NODISCARD;

/* amplitude [n_points][2] at s [n_points][3] (1/A). MTIP_ERR_ARGUMENT when a point is outside what
 * the map was made for. */
enum mtip_status scatter_map_amplitudes(struct scatter_map *map, double *amplitude, const double *s,
                                        int64_t n_points) MTIP_NODISCARD;

/* Largest |s| (atoms) or component of s (volume) that the map serves, 1/A. */
double scatter_map_limit(const struct scatter_map *map);

void scatter_map_destroy(struct scatter_map **map);

#ifdef __cplusplus
}
#endif

#endif
