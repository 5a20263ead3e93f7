/* resolution.c - shells, Fourier shell correlation and the resolution read from it. */
#include "mtip/resolution.h"

#include <math.h>
#include <string.h>

#include "core/backend.h"
#include "core/fft.h"
#include "core/memory.h"

int64_t resolution_n_shells(int64_t M)
{
    return M / 2;
}

int64_t resolution_shell(int64_t z, int64_t y, int64_t x, int64_t M)
{
    const int64_t k_z = z <= M / 2 ? z : M - z;
    const int64_t k_y = y <= M / 2 ? y : M - y;
    const int64_t k_x = x <= M / 2 ? x : M - x;
    const double k = sqrt((double)(k_z * k_z + k_y * k_y + k_x * k_x));
    const int64_t shell = (int64_t)floor(k - 0.5);
    return shell < resolution_n_shells(M) ? shell : -1;
}

void resolution_shell_A(double *shell_A, int64_t M, double voxel_A)
{
    for (int64_t i = 0; i < resolution_n_shells(M); i++) {
        shell_A[i] = (double)M * voxel_A / (double)(i + 1);
    }
}

/* How many modes of the full spectrum a mode of the half spectrum stands for. */
static double multiplicity(int64_t x, int64_t M)
{
    return x == 0 || 2 * x == M ? 1.0 : 2.0;
}

/* Sums of one shell; fsc itself has no room for three. */
struct shell_sums {
    double ab, aa, bb;
};

/* Adds every mode of one shell: scanning the grid once a shell would be slow, so the sums of all shells are
 * kept in blocks of this many. */
#define SHELL_BLOCK 64

static void block_sums(struct shell_sums sums[SHELL_BLOCK], int64_t first, const double *half_a,
                       const double *half_b, const uint8_t *use, int64_t M)
{
    const int64_t n_x = M / 2 + 1;
    memset(sums, 0, SHELL_BLOCK * sizeof *sums);
    for (int64_t zy = 0; zy < M * M; zy++) {
        for (int64_t x = 0; x < n_x; x++) {
            const int64_t i = zy * n_x + x;
            const int64_t shell = resolution_shell(zy / M, zy % M, x, M) - first;
            if (shell < 0 || shell >= SHELL_BLOCK || (use != NULL && !use[i])) {
                continue;
            }
            const double weight = multiplicity(x, M);
            const double *a = half_a + 2 * i, *b = half_b + 2 * i;
            sums[shell].ab += weight * (a[0] * b[0] + a[1] * b[1]);
            sums[shell].aa += weight * (a[0] * a[0] + a[1] * a[1]);
            sums[shell].bb += weight * (b[0] * b[0] + b[1] * b[1]);
        }
    }
}

void resolution_fsc_half(double *fsc, const double *half_a, const double *half_b,
                         const uint8_t *use, int64_t M)
{
    const int64_t n_shells = resolution_n_shells(M);
    struct shell_sums sums[SHELL_BLOCK];
    for (int64_t first = 0; first < n_shells; first += SHELL_BLOCK) {
        block_sums(sums, first, half_a, half_b, use, M);
        for (int64_t i = first; i < n_shells && i < first + SHELL_BLOCK; i++) {
            const struct shell_sums *s = &sums[i - first];
            fsc[i] = s->aa > 0 && s->bb > 0 ? s->ab / (sqrt(s->aa) * sqrt(s->bb)) : 0.0;
        }
    }
}

void resolution_shell_mean(double *mean, const double *values, const uint8_t *use, int64_t M)
{
    const int64_t n_shells = resolution_n_shells(M), n_x = M / 2 + 1;
    for (int64_t first = 0; first < n_shells; first += SHELL_BLOCK) {
        double sums[SHELL_BLOCK][2] = {{0}};
        for (int64_t zy = 0; zy < M * M; zy++) {
            for (int64_t x = 0; x < n_x; x++) {
                const int64_t i = zy * n_x + x;
                const int64_t shell = resolution_shell(zy / M, zy % M, x, M) - first;
                if (shell >= 0 && shell < SHELL_BLOCK && (use == NULL || use[i])) {
                    sums[shell][0] += multiplicity(x, M) * values[i];
                    sums[shell][1] += multiplicity(x, M);
                }
            }
        }
        for (int64_t i = first; i < n_shells && i < first + SHELL_BLOCK; i++) {
            mean[i] = sums[i - first][1] > 0 ? sums[i - first][0] / sums[i - first][1] : 0.0;
        }
    }
}

enum mtip_status resolution_fsc(double *fsc, const double *density_a, const double *density_b,
                                int64_t M, int n_threads)
{
    enum mtip_status status = MTIP_OK;
    const int64_t size[3] = {M, M, M};
    struct backend *host = NULL;
    struct fft_plan *fft = NULL;
    double *half_a = NULL, *half_b = NULL;
    if (M < 2) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "fsc: a grid of %lld points a side has no shell",
                          (long long)M);
    }
    MTIP_TRY(backend_create(&host, "cpu", 0, n_threads));
    MTIP_TRY(fft_plan_create(&fft, host, size));
    MTIP_TRY(MEMORY_ALLOC(&half_a, 2 * fft_half_count(size), "fsc spectrum"));
    MTIP_TRY(MEMORY_ALLOC(&half_b, 2 * fft_half_count(size), "fsc spectrum"));
    MTIP_TRY(fft_plan_forward(fft, density_a, half_a));
    MTIP_TRY(fft_plan_forward(fft, density_b, half_b));
    resolution_fsc_half(fsc, half_a, half_b, NULL, M);
cleanup:
    memory_free(&half_b);
    memory_free(&half_a);
    fft_plan_destroy(&fft);
    backend_destroy(&host);
    return status;
}

double resolution_from_fsc(const double *fsc, int64_t M, double voxel_A, double threshold)
{
    const int64_t n_shells = resolution_n_shells(M);
    const double box_A = (double)M * voxel_A;
    int64_t i = 0;
    while (i < n_shells && (fsc[i] >= threshold || (i + 1 < n_shells && fsc[i + 1] >= threshold))) {
        i++;
    }
    if (i == 0) {
        return box_A;
    }
    if (i == n_shells) {
        return box_A / (double)n_shells;
    }
    /* The loop left fsc[i - 1] good; a NaN at i gives no credit. */
    const double drop = fsc[i - 1] - fsc[i];
    const double part = drop > 0 ? (fsc[i - 1] - threshold) / drop : 0.0;
    return box_A / ((double)i + part);
}
