/* nufft_cpu_rows_impl.h - the innermost loops of spreading and interpolation, for one precision and vector length: rows of the
 * tile, at one point or at two that share them. Included by nufft_cpu_kernels_impl.h, which defines REAL, LANES, NAME(x), VEC,
 * LOAD, STORE and ALL.
 */
/* x taps times the strength. */
NUFFT_INLINE void NAME(weigh)(VEC *out, const REAL *kx, const REAL *strength, const int nv,
                              const int components)
{
    VEC c = ALL(strength[0]);
    if (components == 2) {
        NUFFT_UNROLL
        for (int l = 1; l < LANES; l += 2) {
            c[l] = strength[1];
        }
    }
    NUFFT_UNROLL
    for (int i = 0; i < nv; i++) {
        out[i] = LOAD(kx + i * LANES) * c;
    }
}

/* Taps of one point: `x` vectors, `y` the inner axis (3-D only), `z` the outer axis (y in 2-D), surrounded by
 * NUFFT_CPU_PAIR_SHIFT zeros so that it may be shifted against another point's. */
struct NAME(point) {
    const REAL *x;
    const REAL *y;
    const REAL *z;
};

/* Vectors of a row taken together, so that those of both points of a pair stay in registers. */
NUFFT_INLINE int NAME(vectors_at_once)(const int nv, const int pair)
{
    return pair && nv > 6 ? (nv + 1) / 2 : nv;
}

/* Adds one point (pair = 0) or two (pair = 1) to the tile; their taps' corners agree but for a shift that `z` of the second
 * makes up for. Two points share the loads and, what limits spreading, the stores of a row. */
NUFFT_INLINE void NAME(spread_points)(REAL *corner, const VEC *xa, const VEC *xb,
                                      const struct NAME(point) * a, const struct NAME(point) * b,
                                      int planes, int64_t plane_step, int64_t row_step,
                                      const int wy, const int nv, const int pair)
{
    const int nb = NAME(vectors_at_once)(nv, pair);
    for (int z = 0; z < planes; z++) {
        NUFFT_UNROLL
        for (int first = 0; first < nv; first += nb) {
            const int n = nv - first < nb ? nv - first : nb;
            VEC za[NUFFT_MAX_WIDTH];
            VEC zb[NUFFT_MAX_WIDTH];
            REAL *row = corner + first * LANES;
            NUFFT_UNROLL
            for (int i = 0; i < n; i++) {
                za[i] = xa[first + i] * a->z[z];
                if (pair) {
                    zb[i] = xb[first + i] * b->z[z];
                }
            }
            NUFFT_UNROLL_ROWS
            for (int y = 0; y < wy; y++) {
                NUFFT_UNROLL
                for (int i = 0; i < n; i++) {
                    VEC sum = LOAD(row + i * LANES) + (wy > 1 ? za[i] * a->y[y] : za[i]);
                    if (pair) {
                        sum += wy > 1 ? zb[i] * b->y[y] : zb[i];
                    }
                    STORE(row + i * LANES, sum);
                }
                row += row_step;
            }
        }
        corner += plane_step;
    }
}

/* The same where a row is one vector and few: the products of x and y taps stay in registers, so that a row takes one load and
 * one store, and a plane two taps. */
NUFFT_INLINE void NAME(spread_narrow)(REAL *corner, VEC xa, VEC xb, const struct NAME(point) * a,
                                      const struct NAME(point) * b, int planes, int64_t plane_step,
                                      int64_t row_step, const int wy, const int pair)
{
    VEC va[NUFFT_MAX_WIDTH];
    VEC vb[NUFFT_MAX_WIDTH];
    NUFFT_UNROLL
    for (int y = 0; y < wy; y++) {
        va[y] = xa * a->y[y];
        if (pair) {
            vb[y] = xb * b->y[y];
        }
    }
    for (int z = 0; z < planes; z++) {
        NUFFT_UNROLL
        for (int y = 0; y < wy; y++) {
            REAL *row = corner + y * row_step;
            VEC sum = LOAD(row) + va[y] * a->z[z];
            if (pair) {
                sum += vb[y] * b->z[z];
            }
            STORE(row, sum);
        }
        corner += plane_step;
    }
}

/* Sums over y and z at one point or two, before the dot product with the x taps: sa, sb receive `nv` vectors. */
NUFFT_INLINE void NAME(gather_points)(const REAL *corner, VEC *sa, VEC *sb,
                                      const struct NAME(point) * a, const struct NAME(point) * b,
                                      int planes, int64_t plane_step, int64_t row_step,
                                      const int wy, const int nv, const int pair)
{
    const int nb = NAME(vectors_at_once)(nv, pair);
    NUFFT_UNROLL
    for (int i = 0; i < nv; i++) {
        sa[i] = (VEC){0};
        sb[i] = (VEC){0};
    }
    for (int z = 0; z < planes; z++) {
        NUFFT_UNROLL
        for (int first = 0; first < nv; first += nb) {
            const int n = nv - first < nb ? nv - first : nb;
            VEC za[NUFFT_MAX_WIDTH];
            VEC zb[NUFFT_MAX_WIDTH];
            const REAL *row = corner + first * LANES;
            NUFFT_UNROLL
            for (int i = 0; i < n; i++) {
                za[i] = LOAD(row + i * LANES);
                if (wy > 1) {
                    zb[i] = za[i] * b->y[0];
                    za[i] = za[i] * a->y[0];
                } else {
                    zb[i] = za[i];
                }
            }
            NUFFT_UNROLL_ROWS
            for (int y = 1; y < wy; y++) {
                row += row_step;
                NUFFT_UNROLL
                for (int i = 0; i < n; i++) {
                    const VEC value = LOAD(row + i * LANES);
                    za[i] += value * a->y[y];
                    if (pair) {
                        zb[i] += value * b->y[y];
                    }
                }
            }
            NUFFT_UNROLL
            for (int i = 0; i < n; i++) {
                sa[first + i] += za[i] * a->z[z];
                if (pair) {
                    sb[first + i] += zb[i] * b->z[z];
                }
            }
        }
        corner += plane_step;
    }
}

/* The same for one point whose y taps all fit in registers (one or two vectors a row): a row then takes one fused load and
 * multiply-add a vector, and sharing loads with another point would only cost registers. */
NUFFT_INLINE void NAME(gather_narrow)(const REAL *corner, VEC *s, const struct NAME(point) * a,
                                      int64_t plane_step, int64_t row_step, const int w,
                                      const int nv)
{
    VEC ky[NUFFT_MAX_WIDTH];
    NUFFT_UNROLL
    for (int y = 0; y < w; y++) {
        ky[y] = ALL(a->y[y]);
    }
    NUFFT_UNROLL
    for (int i = 0; i < nv; i++) {
        s[i] = (VEC){0};
    }
    NUFFT_UNROLL_ROWS
    for (int z = 0; z < w; z++) {
        NUFFT_UNROLL
        for (int i = 0; i < nv; i++) {
            VEC sum = LOAD(corner + i * LANES) * ky[0];
            NUFFT_UNROLL
            for (int y = 1; y < w; y++) {
                sum += LOAD(corner + y * row_step + i * LANES) * ky[y];
            }
            s[i] += sum * a->z[z];
        }
        corner += plane_step;
    }
}

/* value = sum over the lanes of s . kx, the real and imaginary lanes apart. */
NUFFT_INLINE void NAME(reduce)(REAL *value, const VEC *s, const REAL *kx, const int nv,
                               const int components)
{
    VEC total = s[0] * LOAD(kx);
    NUFFT_UNROLL
    for (int i = 1; i < nv; i++) {
        total += s[i] * LOAD(kx + i * LANES);
    }
    REAL lane[LANES] __attribute__((aligned(64)));
    STORE(lane, total);
    NUFFT_UNROLL
    for (int half = LANES / 2; half >= components; half /= 2) {
        NUFFT_UNROLL
        for (int l = 0; l < half; l++) {
            lane[l] += lane[l + half];
        }
    }
    NUFFT_UNROLL
    for (int c = 0; c < components; c++) {
        value[c] = lane[c];
    }
}
