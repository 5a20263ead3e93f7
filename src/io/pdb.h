/* pdb.h - atoms of a molecule: the reader for PDB files, and the struct that simulate and compare use. */
#ifndef MTIP_IO_PDB_H
#define MTIP_IO_PDB_H

#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct atoms {
    int64_t n;
    double *xyz;       /* owned [n][3], A */
    int *element;      /* owned [n], atomic number Z */
    double *occupancy; /* owned [n] */
    double *b_factor;  /* owned [n], A^2 */
};

/* Reads ATOM and HETATM records of the first MODEL of a PDB file (wwPDB format 3.3), alternate
 * locations blank and A, elements from columns 77-78 or the atom name; waters (HOH, WAT, DOD) only
 * when keep_water. Short lines are allowed from column 55 on: occupancy 1, B factor 0. Errors name file and
 * line: MTIP_ERR_FILE, MTIP_ERR_FORMAT (no atoms, a bad coordinate, an unknown element). */
enum mtip_status pdb_read(struct atoms *atoms, const char *path, int keep_water) MTIP_NODISCARD;

/* Zeroed arrays for n atoms; release with atoms_release, which also takes a zeroed struct. */
enum mtip_status atoms_alloc(struct atoms *atoms, int64_t n) MTIP_NODISCARD;
void atoms_release(struct atoms *atoms);

#ifdef __cplusplus
}
#endif

#endif
