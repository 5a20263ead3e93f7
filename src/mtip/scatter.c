/* scatter.c - form factors and the direct sum over atoms.
 *
 * The sum runs over blocks of points that stay in the first-level cache; atoms are ordered by
 * element and B so that the factor f exp(-B s^2/4) is made once for each run of equal atoms. Sine,
 * cosine and exponential are polynomials in plain C, so that the compiler vectorises the loop over
 * the points of a block.
 */
#include "mtip/scatter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

#define BLOCK 128

/* The two inner loops are compiled for wider vectors as well, chosen when the program starts.
 * Without contraction of a * b + c the result is the same bits. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDE_VECTORS
#endif
#define PI 3.14159265358979323846264338327950288

double scatter_form_factor(int z, double s)
{
    const struct scatter_element *element = &scatter_elements[z - 1];
    double sum = element->c;
    for (int i = 0; i < SCATTER_GAUSSIANS; i++) {
        sum += element->a[i] * exp(-0.25 * element->b[i] * s * s);
    }
    return sum;
}

enum mtip_status scatter_check(const struct atoms *atoms)
{
    if (atoms->n < 1) {
        return MTIP_ERROR(MTIP_ERR_DATA, "the particle has no atoms");
    }
    for (int64_t j = 0; j < atoms->n; j++) {
        const double *r = &atoms->xyz[3 * j];
        if (atoms->element[j] < 1 || atoms->element[j] > SCATTER_MAX_Z) {
            return MTIP_ERROR(MTIP_ERR_DATA,
                              "atom %lld has atomic number %d; form factors are known for 1 to %d",
                              (long long)j + 1, atoms->element[j], SCATTER_MAX_Z);
        }
        if (!isfinite(r[0]) || !isfinite(r[1]) || !isfinite(r[2]) ||
            !isfinite(atoms->occupancy[j]) || !isfinite(atoms->b_factor[j])) {
            return MTIP_ERROR(MTIP_ERR_DATA,
                              "atom %lld has a coordinate, occupancy or B factor "
                              "that is not a finite number",
                              (long long)j + 1);
        }
    }
    return MTIP_OK;
}

/* Atoms ordered by element, then B. */
struct ordered_atom {
    double r[3];
    double occupancy;
    double b;
    int z;
};

static int compare_atoms(const void *left, const void *right)
{
    const struct ordered_atom *a = left, *b = right;
    if (a->z != b->z) {
        return a->z < b->z ? -1 : 1;
    }
    return (a->b > b->b) - (a->b < b->b);
}

/* A block of points, one array a component. */
struct block {
    double x[BLOCK], y[BLOCK], z[BLOCK], quarter_s2[BLOCK];
    double form[BLOCK], factor[BLOCK];
    double re[BLOCK], im[BLOCK];
};

/* Adding and subtracting 1.5 * 2^52 rounds to an integer and leaves it in the low bits. */
#define ROUNDER 0x1.8p52

/* out = form * exp(-b q). 2^n by the exponent bits times a Taylor polynomial on |r| <= ln(2)/2
 * (remainder 4e-16 after r^12/12!); arguments below -700 give 0. */
WIDE_VECTORS static void apply_b_factor(double *restrict out, const double *restrict form,
                                        const double *restrict q, double b)
{
    for (int p = 0; p < BLOCK; p++) {
        double x = -b * q[p];
        const double keep = x > -700.0 ? 1.0 : 0.0;
        x *= keep;
        const double shifted = x * 1.44269504088896340736 + ROUNDER;
        const double n = shifted - ROUNDER;
        const double r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
        double t = 1.0 + r * (1.0 / 12.0);
        t = 1.0 + t * r * (1.0 / 11.0);
        t = 1.0 + t * r * (1.0 / 10.0);
        t = 1.0 + t * r * (1.0 / 9.0);
        t = 1.0 + t * r * (1.0 / 8.0);
        t = 1.0 + t * r * (1.0 / 7.0);
        t = 1.0 + t * r * (1.0 / 6.0);
        t = 1.0 + t * r * (1.0 / 5.0);
        t = 1.0 + t * r * (1.0 / 4.0);
        t = 1.0 + t * r * (1.0 / 3.0);
        t = 1.0 + t * r * (1.0 / 2.0);
        t = 1.0 + t * r;
        uint64_t bits;
        double power;
        memcpy(&bits, &shifted, sizeof bits);
        bits = (bits + 1023u) << 52;
        memcpy(&power, &bits, sizeof power);
        out[p] = form[p] * t * power * keep;
    }
}

/* Adds factor * exp(-2 pi i s.r). With u = s.r rounded to [-1/2, 1/2], sine and cosine of pi u are
 * Taylor polynomials on [-pi/2, pi/2] (remainders below 1e-16), then the double angle. */
WIDE_VECTORS static void add_atom(struct block *restrict block, const double r[3], double occupancy)
{
    const double rx = r[0], ry = r[1], rz = r[2];
    for (int p = 0; p < BLOCK; p++) {
        const double turns = block->x[p] * rx + block->y[p] * ry + block->z[p] * rz;
        const double a = PI * (turns - ((turns + ROUNDER) - ROUNDER));
        const double a2 = a * a;
        double c = 1.0 - a2 * (1.0 / (21.0 * 22.0));
        c = 1.0 - c * a2 * (1.0 / (19.0 * 20.0));
        c = 1.0 - c * a2 * (1.0 / (17.0 * 18.0));
        c = 1.0 - c * a2 * (1.0 / (15.0 * 16.0));
        c = 1.0 - c * a2 * (1.0 / (13.0 * 14.0));
        c = 1.0 - c * a2 * (1.0 / (11.0 * 12.0));
        c = 1.0 - c * a2 * (1.0 / (9.0 * 10.0));
        c = 1.0 - c * a2 * (1.0 / (7.0 * 8.0));
        c = 1.0 - c * a2 * (1.0 / (5.0 * 6.0));
        c = 1.0 - c * a2 * (1.0 / (3.0 * 4.0));
        c = 1.0 - c * a2 * (1.0 / 2.0);
        double s = 1.0 - a2 * (1.0 / (20.0 * 21.0));
        s = 1.0 - s * a2 * (1.0 / (18.0 * 19.0));
        s = 1.0 - s * a2 * (1.0 / (16.0 * 17.0));
        s = 1.0 - s * a2 * (1.0 / (14.0 * 15.0));
        s = 1.0 - s * a2 * (1.0 / (12.0 * 13.0));
        s = 1.0 - s * a2 * (1.0 / (10.0 * 11.0));
        s = 1.0 - s * a2 * (1.0 / (8.0 * 9.0));
        s = 1.0 - s * a2 * (1.0 / (6.0 * 7.0));
        s = 1.0 - s * a2 * (1.0 / (4.0 * 5.0));
        s = 1.0 - s * a2 * (1.0 / (2.0 * 3.0));
        s *= a;
        const double weight = occupancy * block->factor[p];
        block->re[p] += weight * (1.0 - 2.0 * s * s);
        block->im[p] -= weight * (2.0 * s * c);
    }
}

static void block_load(struct block *block, const double *s, int64_t count)
{
    memset(block, 0, sizeof *block);
    for (int64_t p = 0; p < count; p++) {
        block->x[p] = s[3 * p];
        block->y[p] = s[3 * p + 1];
        block->z[p] = s[3 * p + 2];
        block->quarter_s2[p] = 0.25 * (s[3 * p] * s[3 * p] + s[3 * p + 1] * s[3 * p + 1] +
                                       s[3 * p + 2] * s[3 * p + 2]);
    }
}

static void block_sum(struct block *block, const struct ordered_atom *ordered, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        const struct ordered_atom *atom = &ordered[j];
        const int new_element = j == 0 || atom->z != ordered[j - 1].z;
        if (new_element) {
            for (int p = 0; p < BLOCK; p++) {
                block->form[p] = scatter_form_factor(atom->z, 2.0 * sqrt(block->quarter_s2[p]));
            }
        }
        if (new_element || atom->b != ordered[j - 1].b) {
            apply_b_factor(block->factor, block->form, block->quarter_s2, atom->b);
        }
        add_atom(block, atom->r, atom->occupancy);
    }
}

enum mtip_status scatter_amplitudes(double *amplitude, const struct atoms *atoms, const double *s,
                                    int64_t n_points, int n_threads)
{
    enum mtip_status status = MTIP_OK;
    struct ordered_atom *ordered = NULL;

    MTIP_TRY(scatter_check(atoms));
    MTIP_TRY(MEMORY_ALLOC(&ordered, atoms->n, "ordered atoms"));
    for (int64_t j = 0; j < atoms->n; j++) {
        ordered[j] = (struct ordered_atom){
            .r = {atoms->xyz[3 * j], atoms->xyz[3 * j + 1], atoms->xyz[3 * j + 2]},
            .occupancy = atoms->occupancy[j],
            .b = atoms->b_factor[j],
            .z = atoms->element[j],
        };
    }
    qsort(ordered, (size_t)atoms->n, sizeof *ordered, compare_atoms);
    const int64_t n_blocks = (n_points + BLOCK - 1) / BLOCK;
#pragma omp parallel for schedule(dynamic) num_threads(n_threads)
    for (int64_t b = 0; b < n_blocks; b++) {
        struct block block;
        const int64_t first = b * BLOCK;
        const int64_t count = n_points - first < BLOCK ? n_points - first : BLOCK;
        block_load(&block, &s[3 * first], count);
        block_sum(&block, ordered, atoms->n);
        for (int64_t p = 0; p < count; p++) {
            amplitude[2 * (first + p)] = block.re[p];
            amplitude[2 * (first + p) + 1] = block.im[p];
        }
    }

cleanup:
    memory_free(&ordered);
    return status;
}
