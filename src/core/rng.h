/* rng.h - counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
 * numbers: as easy as 1, 2, 3", SC11).
 *
 * A stream is named by (seed, purpose, a, b), for example (run.seed, RNG_REFINE, generation, frame): what it
 * yields depends on nothing else, so results are the same for every number of ranks and threads.
 * Streams are small values on the stack; nothing is shared, nothing can fail.
 */
#ifndef MTIP_CORE_RNG_H
#define MTIP_CORE_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a stream is for; keeps streams with equal (a, b) apart. Append only: the values are part of
 * what a seed means. */
enum rng_purpose {
    RNG_TEST = 0,
    RNG_ORIENTATION_TRUE = 1,    /* simulate: (frame, 0) */
    RNG_FLUENCE = 2,             /* simulate: (frame, 0) */
    RNG_PHOTONS = 3,             /* simulate: (frame, pixel) */
    RNG_ORIENTATION_INITIAL = 4, /* reconstruct: (frame, 0) */
    RNG_REFERENCES = 5,          /* reconstruct: (generation, 0) */
    RNG_REFINE = 6,              /* reconstruct: (generation, frame) */
    RNG_PHASE_START = 7,         /* reconstruct: (start, voxel) */
    RNG_PARTICLE = 8,            /* built-in particle: (atom, 0) */
    RNG_BACKGROUND = 9,          /* simulate: (frame, pixel) */
    RNG_CANDIDATES = 10          /* reconstruct: (generation, 0) */
};

struct rng {
    uint32_t key[2];
    uint32_t counter[4];
    uint32_t block[4];
    int used; /* numbers of `block` already given out, 4 = none left */
};

/* The raw generator: block = Philox4x32-10(counter, key). */
void rng_philox(uint32_t block[4], const uint32_t counter[4], const uint32_t key[2]);

/* Starts the stream (seed, purpose, a, b); a and b may use 64 and 40 bits. A stream holds 2^24
 * blocks of four 32-bit numbers before it would run into the next b. */
struct rng rng_stream(uint64_t seed, enum rng_purpose purpose, uint64_t a, uint64_t b);

/* Next 32 random bits. */
uint32_t rng_bits(struct rng *rng);

/* Uniform in [0, 1), 53 random bits. */
double rng_uniform(struct rng *rng);

/* Normal with mean 0 and variance 1 (Box-Muller, one of the pair). */
double rng_normal(struct rng *rng);

/* Poisson variate of mean `mean` (>= 0; NaN and negative give 0, more than 1e15 counts as that): inversion by
 * multiplication below 12, PTRS transformed rejection (Hormann 1993) above. */
int64_t rng_poisson(struct rng *rng, double mean);

/* Uniform random rotation as a unit quaternion (w, x, y, z), w >= 0 (Shoemake, Graphics Gems III). */
void rng_quaternion(struct rng *rng, double q[4]);

#ifdef __cplusplus
}
#endif

#endif
