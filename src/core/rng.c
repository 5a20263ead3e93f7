/* rng.c - Philox4x32-10 and the distributions drawn from it. */
#define _GNU_SOURCE /* lgamma_r: lgamma writes a global */
#include "core/rng.h"

#include <math.h>

#define TWO_PI 6.283185307179586476925286766559

/* Multipliers and Weyl constants of Philox4x32 (SC11 paper, table 2 and section 5.2). */
#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

void rng_philox(uint32_t block[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)PHILOX_M0 * c0;
        const uint64_t p1 = (uint64_t)PHILOX_M1 * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    block[0] = c0;
    block[1] = c1;
    block[2] = c2;
    block[3] = c3;
}

struct rng rng_stream(uint64_t seed, enum rng_purpose purpose, uint64_t a, uint64_t b)
{
    /* The key holds seed and purpose, the counter holds position (24 bits), b (40) and a (64):
     * streams with different (a, b) can never meet. */
    struct rng rng = {.used = 4};
    const uint64_t mixed = seed + (uint64_t)purpose * 0x9E3779B97F4A7C15u;
    rng.key[0] = (uint32_t)mixed;
    rng.key[1] = (uint32_t)(mixed >> 32);
    const uint64_t low = b << 24;
    rng.counter[0] = (uint32_t)low;
    rng.counter[1] = (uint32_t)(low >> 32);
    rng.counter[2] = (uint32_t)a;
    rng.counter[3] = (uint32_t)(a >> 32);
    return rng;
}

uint32_t rng_bits(struct rng *rng)
{
    if (rng->used == 4) {
        rng_philox(rng->block, rng->counter, rng->key);
        rng->used = 0;
        if (++rng->counter[0] == 0) {
            rng->counter[1]++;
        }
    }
    return rng->block[rng->used++];
}

double rng_uniform(struct rng *rng)
{
    const uint64_t high = rng_bits(rng) >> 5;
    const uint64_t low = rng_bits(rng) >> 6;
    return (double)((high << 26) | low) * 0x1p-53;
}

double rng_normal(struct rng *rng)
{
    const double u = 1.0 - rng_uniform(rng); /* (0, 1]: the logarithm stays finite */
    const double v = rng_uniform(rng);
    return sqrt(-2.0 * log(u)) * cos(TWO_PI * v);
}

static int64_t poisson_small(struct rng *rng, double mean)
{
    const double limit = exp(-mean);
    double product = rng_uniform(rng);
    int64_t k = 0;
    while (product > limit) {
        product *= rng_uniform(rng);
        k++;
    }
    return k;
}

/* Hormann, "The transformed rejection method for generating Poisson random variables", Insurance:
 * Mathematics and Economics 12 (1993), algorithm PTRS. */
static int64_t poisson_large(struct rng *rng, double mean)
{
    const double b = 0.931 + 2.53 * sqrt(mean);
    const double a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    const double v_r = 0.9277 - 3.6224 / (b - 2.0);
    const double log_mean = log(mean);
    int sign = 0;
    for (;;) {
        const double u = rng_uniform(rng) - 0.5;
        const double v = rng_uniform(rng);
        const double us = 0.5 - fabs(u);
        const double k = floor((2.0 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= v_r) {
            return (int64_t)k;
        }
        if (k < 0.0 || (us < 0.013 && v > us)) {
            continue;
        }
        if (log(v) + log(inverse_alpha) - log(a / (us * us) + b) <=
            k * log_mean - mean - lgamma_r(k + 1.0, &sign)) {
            return (int64_t)k;
        }
    }
}

int64_t rng_poisson(struct rng *rng, double mean)
{
    if (!(mean > 0.0)) {
        return 0;
    }
    return mean < 12.0 ? poisson_small(rng, mean) : poisson_large(rng, fmin(mean, 1e15));
}

void rng_quaternion(struct rng *rng, double q[4])
{
    const double u = rng_uniform(rng);
    const double a = TWO_PI * rng_uniform(rng);
    const double b = TWO_PI * rng_uniform(rng);
    q[0] = sqrt(u) * cos(b);
    q[1] = sqrt(1.0 - u) * sin(a);
    q[2] = sqrt(1.0 - u) * cos(a);
    q[3] = sqrt(u) * sin(b);
    if (q[0] < 0.0) {
        for (int i = 0; i < 4; i++) {
            q[i] = -q[i];
        }
    }
}
