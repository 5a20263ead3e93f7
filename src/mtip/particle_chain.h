/* particle_chain.h - private to particle.c: the chain of a built-in particle, before its atoms. */
#ifndef MTIP_MTIP_PARTICLE_CHAIN_H
#define MTIP_MTIP_PARTICLE_CHAIN_H

#include <stdint.h>

#include "core/rng.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A body: whether a helix axis may pass at r, a box that holds it, and how many residues it gets. */
struct particle_body {
    const char *name;
    int (*holds)(const double r[3]);
    double half_box[3];
    int n_residues;
    uint64_t seed;
};

/* A residue before its side chain: alpha carbon, the axis of its piece of chain, outward
 * direction. */
struct residue {
    double alpha[3], axis[3], outward[3];
    int in_helix;
};

struct chain {
    const struct particle_body *body;
    struct rng rng;
    struct residue *residues; /* owned [capacity] */
    double *axis_points;      /* owned [capacity][3], of helices laid so far */
    int64_t n_residues, n_axis_points, capacity;
};

/* Residues that the last loop and helix may pass the end by, before they are cut. */
#define PARTICLE_CHAIN_SPARE 64

/* Lays helices and loops until the chain has the residues of its body, or no more fit. The arrays are given, with room for
 * PARTICLE_CHAIN_SPARE residues more than that. */
void particle_chain_grow(struct chain *chain);

/* A unit vector, all directions alike. */
void particle_random_direction(double out[3], struct rng *rng);

#ifdef __cplusplus
}
#endif

#endif
