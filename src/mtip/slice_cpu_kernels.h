/* slice_cpu_kernels.h - bodies of slice_cpu.c, included once a precision with REAL, NAME and LOG set; no guard for that reason.
 * Rotations are shared out over threads; each is computed by one thread in a fixed order, so the
 * number of threads changes no bit. */

static void NAME(rotate)(REAL *x, REAL *y, REAL *z, const double *matrices, const double *pixels,
                         int64_t n_rotations, int64_t n_use, int n_threads)
{
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t r = 0; r < n_rotations; r++) {
        const double *m = matrices + 9 * r;
        REAL *xr = x + r * n_use, *yr = y + r * n_use, *zr = z + r * n_use;
        for (int64_t p = 0; p < n_use; p++) {
            const double *s = pixels + 3 * p;
            xr[p] = (REAL)(m[0] * s[0] + m[1] * s[1] + m[2] * s[2]);
            yr[p] = (REAL)(m[3] * s[0] + m[4] * s[1] + m[5] * s[2]);
            zr[p] = (REAL)(m[6] * s[0] + m[7] * s[1] + m[8] * s[2]);
        }
    }
}

static void NAME(finish)(REAL *values, double *sums, const double *response,
                         const double *log_model, double log_model_sum, double floor,
                         int64_t n_rotations, int64_t n_use, int n_threads)
{
    const REAL low = (REAL)floor;
#pragma omp parallel for num_threads(n_threads) schedule(static)
    for (int64_t r = 0; r < n_rotations; r++) {
        REAL *v = values + r * n_use;
        double sum = 0.0;
        for (int64_t p = 0; p < n_use; p++) {
            v[p] = v[p] > low ? v[p] : low;
            sum += response[p] * (double)v[p];
        }
        const double shift = log_model_sum - log(sum);
        for (int64_t p = 0; p < n_use; p++) {
            v[p] = LOG(v[p]) + (REAL)(shift - log_model[p]);
        }
        sums[r] = sum;
    }
}
