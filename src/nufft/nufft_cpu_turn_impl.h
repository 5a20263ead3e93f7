/* nufft_cpu_turn_impl.h - the twiddle factors of a 1-D grid's FFT, for one precision; included by nufft_cpu_kernels_impl.h.
 *
 * Factor (k, c) = w^(k c), of row k and column c, is the product of w^(k first), from two tables that make any power of w,
 * and of w^(k l), tabled for the NUFFT_CPU_LINES columns first + l that are taken together.
 */

/* to[l] = from[l] base w^(k l), l < n; re and im the tabled powers of row k. */
NUFFT_INLINE void NAME(turn_row)(REAL *restrict to, const REAL *restrict from, REAL base_re,
                                 REAL base_im, const REAL *restrict re, const REAL *restrict im,
                                 const int n)
{
    for (int l = 0; l < n; l++) {
        const REAL factor_re = base_re * re[l] - base_im * im[l];
        const REAL factor_im = base_re * im[l] + base_im * re[l];
        const REAL from_re = from[2 * l];
        const REAL from_im = from[2 * l + 1];
        to[2 * l] = from_re * factor_re - from_im * factor_im;
        to[2 * l + 1] = from_re * factor_im + from_im * factor_re;
    }
}

static void NAME(turn)(const struct nufft_cpu_twiddles *twiddles, int64_t first, int n, void *to,
                       int64_t to_step, const void *from, int64_t from_step)
{
    const int64_t mask = ((int64_t)1 << twiddles->shift) - 1;
    const REAL *re = twiddles->step;
    REAL *row = to;
    const REAL *from_row = from;
    for (int64_t k = 0; k < twiddles->rows; k++) {
        const int64_t power = k * first;
        const double *fine = twiddles->fine + 2 * (power & mask);
        const double *coarse = twiddles->coarse + 2 * (power >> twiddles->shift);
        const REAL base_re = (REAL)(coarse[0] * fine[0] - coarse[1] * fine[1]);
        const REAL base_im = (REAL)(coarse[0] * fine[1] + coarse[1] * fine[0]);
        const REAL *im = re + NUFFT_CPU_LINES;
        if (n == NUFFT_CPU_LINES) {
            NAME(turn_row)(row, from_row, base_re, base_im, re, im, NUFFT_CPU_LINES);
        } else {
            NAME(turn_row)(row, from_row, base_re, base_im, re, im, n);
        }
        re = im + NUFFT_CPU_LINES;
        row += 2 * to_step;
        from_row += 2 * from_step;
    }
}
