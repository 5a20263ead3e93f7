/* dataset_atoms.h - the particle that the frames of a native file were made of, read back to
 * judge a result.
 */
#ifndef MTIP_IO_DATASET_ATOMS_H
#define MTIP_IO_DATASET_ATOMS_H

#include "core/status.h"
#include "io/pdb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* 1 when the file is HDF5 and holds particle/atoms, 0 otherwise (also when it cannot be opened). */
int dataset_has_atoms(const char *path);

/* Reads particle/atoms [n][3] (A) and particle/element [n], and particle/occupancy and
 * particle/b_factor [n] where they are there (1 and 20 A^2 where not). Release with
 * atoms_release. Errors name file and dataset. */
enum mtip_status dataset_read_atoms(struct atoms *atoms, const char *path) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
