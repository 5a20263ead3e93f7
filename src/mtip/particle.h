/* particle.h - particles to simulate: built in, so that nothing need be downloaded, and what a
 * reconstruction has to be told about a particle.
 */
#ifndef MTIP_MTIP_PARTICLE_H
#define MTIP_MTIP_PARTICLE_H

#include <stdint.h>

#include "core/status.h"
#include "io/pdb.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a built-in particle, the same atoms on every call:
 *   "protein"  a chain of about 300 residues in two unequal domains of packed helices joined by
 *              loops, with side chains of natural composition (C, N, O, S): no symmetry, radius
 *              about 36 A
 *   "rod"      the same kind of chain, longer, filling a body 100 A long and 45 A wide whose ends
 *              differ (one round, one tapered), diameter 102 A
 * Hydrogens are left out, as in most PDB files; B = 20 A^2. Centred (particle_centre). The caller
 * owns `atoms` (atoms_release). Errors: MTIP_ERR_ARGUMENT for another name, MTIP_ERR_MEMORY. */
enum mtip_status particle_create(struct atoms *atoms, const char *name) MTIP_NODISCARD;

/* Moves the centre of the electrons, sum occ Z r / sum occ Z, to the origin. */
void particle_centre(struct atoms *atoms);

/* Mass in kDa. Where no atom is hydrogen, one is counted for each C, N and O: the proportion of the
 * average residue, C 4.94 H 7.76 N 1.36 O 1.48 S 0.04 (Senko et al., J. Am. Soc. Mass Spectrom. 6
 * (1995) 229). */
double particle_mass_kDa(const struct atoms *atoms);

/* Largest distance between two atom centres, plus 3 A for their electron clouds, A. */
double particle_diameter_A(const struct atoms *atoms);

#ifdef __cplusplus
}
#endif

#endif
