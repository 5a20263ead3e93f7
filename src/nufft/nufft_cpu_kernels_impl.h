/* nufft_cpu_kernels_impl.h - the spreading and interpolation kernels, for one precision and vector length.
 *
 * Included by nufft_cpu_kernels.h for each precision, with
 *     REAL   float or double          LANES  values in a vector
 *     NAME(x)  x with a suffix of its own              X_TAPS_MAX  most taps along x
 * and compiled with the flags of each instruction set. Written with the compiler's vector extension, so the same
 * text serves every processor.
 *
 * A row of the tile along x is a run of vectors; complex values are interleaved, and the x kernel table holds each
 * tap twice, so that real and complex data differ only in how a strength multiplies the x taps:
 *     spread       tile[z][y][x] += (c kx[x]) kz[z] ky[y]          4 flops a row element
 *     interpolate  c = sum_x kx[x] sum_z kz[z] sum_y ky[y] tile[z][y][x]
 * Widths are compile-time constants, so that the taps along x stay in registers. Wide kernels in 3-D begin their rows at
 * multiples of nufft_cpu_grain cells, with zeros before the first tap and after the last.
 */
typedef REAL NAME(vec) __attribute__((vector_size(LANES * sizeof(REAL))));
typedef REAL NAME(vec_any)
    __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

#define VEC NAME(vec)
#define LOAD(p) ((VEC) * (const NAME(vec_any) *)(p))
#define STORE(p, v) (*(NAME(vec_any) *)(p) = (NAME(vec_any))(v))

/* All lanes x; x + (VEC){0} would cost an addition, because of -0. */
#define ALL(x) ((x) - (VEC){0})

#include "nufft/nufft_cpu_fold_impl.h"

/* A chunk's points on one axis: where their polynomials are in the kernel table, and the argument. */
struct NAME(pieces) {
    int32_t at[NUFFT_CPU_CHUNK];
    REAL t[NUFFT_CPU_CHUNK];
};

/* s = 8 f of a chunk's points; `piece` values of the table a subinterval. */
NUFFT_INLINE void NAME(find_pieces)(struct NAME(pieces) * out, const REAL *s, int n,
                                    const int piece)
{
    for (int p = 0; p < n; p++) {
        int32_t b = (int32_t)s[p];
        b = b < NUFFT_SUBINTERVALS ? b : NUFFT_SUBINTERVALS - 1;
        b = b > 0 ? b : 0; /* NaN */
        out->t[p] = s[p] - (REAL)b - (REAL)0.5;
        out->at[p] = b * piece;
    }
}

/* Taps of one axis, `nv` vectors, from the polynomials at `p`. */
NUFFT_INLINE void NAME(taps)(VEC *k, const REAL *p, REAL argument, const int nv, const int degree)
{
    const VEC t = ALL(argument);
    NUFFT_UNROLL
    for (int i = 0; i < nv; i++) {
        k[i] = LOAD(p + (degree * nv + i) * LANES);
    }
    NUFFT_UNROLL
    for (int q = degree - 1; q >= 0; q--) {
        NUFFT_UNROLL
        for (int i = 0; i < nv; i++) {
            k[i] = k[i] * t + LOAD(p + (q * nv + i) * LANES);
        }
    }
}

/* The same into memory, for taps that are used one at a time. */
NUFFT_INLINE void NAME(taps_store)(REAL *out, const void *table, const struct NAME(pieces) * pieces,
                                   int p, const int nv, const int degree)
{
    VEC k[NUFFT_MAX_WIDTH];
    NAME(taps)(k, (const REAL *)table + pieces->at[p], pieces->t[p], nv, degree);
    NUFFT_UNROLL
    for (int i = 0; i < nv; i++) {
        STORE(out + i * LANES, k[i]);
    }
}

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

/* Adds one point (pair = 0) or two (pair = 1) to the tile; their taps' corners agree but for a shift that `z` of the second
 * makes up for. Two points share the loads and, what limits spreading, the stores of a row. `nb` vectors of a row at
 * a time, so that those of both points stay in registers. */
NUFFT_INLINE void NAME(spread_points)(REAL *corner, const VEC *xa, const VEC *xb,
                                      const struct NAME(point) * a, const struct NAME(point) * b,
                                      int planes, int64_t plane_step, int64_t row_step,
                                      const int wy, const int nv, const int pair)
{
    const int nb = pair && nv > 6 ? (nv + 1) / 2 : nv;
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
    const int nb = pair && nv > 6 ? (nv + 1) / 2 : nv;
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

/* Both kernels. Points are taken NUFFT_CPU_CHUNK at a time: first the taps of all, whose chains of multiply-adds
 * overlap, then the sums, two points at a time where the sorted order put two of the same column next to each other. */
NUFFT_INLINE void NAME(kernel_body)(const struct nufft_cpu_job *job, const int spread,
                                    const int dim, const int w, const int components)
{
    const int nv = (w * components + LANES - 1) / LANES;
    const int grain = nufft_cpu_grain(w, components, LANES, dim);
    const int wx = nufft_cpu_x_width(w, components, LANES, dim, X_TAPS_MAX);
    const int nw = (w + LANES - 1) / LANES;
    const int wy = dim == 3 ? w : 1;
    const int wz = dim > 1 ? w : 1;
    const int shift = NUFFT_CPU_PAIR_SHIFT;
    const int narrow = !spread && dim == 3 && ((nv == 1 && w <= 8) || (nv == 2 && w <= 6));
    const int flat = spread && dim == 3 && nv == 1 && w <= 6;
    const int64_t row_step = job->tile_row;
    const int64_t plane_step = dim == 3 ? job->tile_plane : job->tile_row;
    /* Taps of a point are x_taps, y_taps, z_taps apart; the arrays are for the widest kernel. */
    const int x_taps = nv * LANES + (grain > 1 ? LANES : 0);
    const int y_taps = nw * LANES;
    const int z_taps = nw * LANES + 2 * shift;
    struct NAME(pieces) piece[3];
    REAL kx[NUFFT_CPU_CHUNK * (2 * NUFFT_MAX_WIDTH + LANES)] __attribute__((aligned(64)));
    REAL ky[NUFFT_CPU_CHUNK * 2 * NUFFT_MAX_WIDTH] __attribute__((aligned(64)));
    REAL kz[NUFFT_CPU_CHUNK * (2 * NUFFT_MAX_WIDTH + 2 * NUFFT_CPU_PAIR_SHIFT)]
        __attribute__((aligned(64)));
    for (int i = 0; i < NUFFT_CPU_CHUNK * z_taps; i++) {
        kz[i] = dim == 1 && i % z_taps == shift ? 1 : 0;
    }
    struct NAME(places) placed;
    int64_t block = job->begin; /* the points in `placed` */
    int64_t block_end = job->begin;
    int64_t next = job->begin;
    while (next < job->end) {
        if (next + NUFFT_CPU_CHUNK > block_end && block_end < job->end) {
            block = next;
            block_end = job->end - next < NUFFT_CPU_PLACES ? job->end : next + NUFFT_CPU_PLACES;
            NAME(place)(&placed, job, block, (int)(block_end - block), dim);
        }
        const int64_t first = next;
        const int at = (int)(first - block);
        const int n =
            block_end - first < NUFFT_CPU_CHUNK ? (int)(block_end - first) : NUFFT_CPU_CHUNK;
        /* Strengths lie where the user put them: far apart. Those of the chunk after the next are asked for now. */
        const int64_t ahead =
            job->end - first < 3 * NUFFT_CPU_CHUNK ? job->end - first : 3 * NUFFT_CPU_CHUNK;
        for (int64_t p = 2 * NUFFT_CPU_CHUNK; p < ahead; p++) {
            const int64_t far = (int64_t)job->order[first + p] * components;
            if (spread) {
                __builtin_prefetch((const REAL *)job->strengths + far, 0);
            } else {
                __builtin_prefetch((REAL *)job->values + far, 1);
            }
        }
        NAME(find_pieces)(&piece[0], placed.s[0] + at, n, (wx / 2 + 2) * nv * LANES);
        for (int d = 1; d < dim; d++) {
            NAME(find_pieces)(&piece[d], placed.s[d] + at, n, (w / 2 + 2) * nw * LANES);
        }
        const int32_t *offset = placed.offset + at;
        for (int p = 0; p < n; p++) {
            REAL *x = kx + p * x_taps;
            if (grain > 1) { /* zeros before the first tap; those after the last are in the table */
                STORE(x, (VEC){0});
                x += placed.lead[at + p];
            }
            NAME(taps_store)(x, job->table[0], &piece[0], p, nv, wx / 2 + 1);
            if (dim == 3) {
                NAME(taps_store)(ky + p * y_taps, job->table[1], &piece[1], p, nw, w / 2 + 1);
            }
            if (dim > 1) {
                NAME(taps_store)
                (kz + p * z_taps + shift, job->table[dim - 1], &piece[dim - 1], p, nw, w / 2 + 1);
            }
        }
        for (int p = 0; p < n;) {
            const int64_t j = first + p;
            const int64_t apart = p + 1 < n ? (int64_t)offset[p + 1] - offset[p] : -1;
            int dz = 0;
            while (dz <= shift && apart != dz * plane_step) {
                dz++;
            }
            const int pair = dim > 1 && !narrow && dz <= shift;
            if (dim > 1 && !narrow && !pair && p + 1 == n && p > 0 && job->end > first + n) {
                break; /* its partner may be the first of the next chunk */
            }
            const int q = pair ? p + 1 : p;
            const struct NAME(point)
                a = {.x = kx + p * x_taps, .y = ky + p * y_taps, .z = kz + p * z_taps + shift};
            const struct NAME(point)
                b = {.x = kx + q * x_taps, .y = ky + q * y_taps, .z = kz + q * z_taps + shift - dz};
            const int64_t ja = (int64_t)job->order[j] * components;
            const int64_t jb = (int64_t)job->order[first + q] * components;
            REAL *corner = (REAL *)job->tile + offset[p];
            for (int64_t v = 0; v < job->count; v++) {
                VEC va[NUFFT_MAX_WIDTH];
                VEC vb[NUFFT_MAX_WIDTH];
                if (spread) {
                    const REAL *c = (const REAL *)job->strengths + v * job->strengths_vector;
                    NAME(weigh)(va, a.x, c + ja, nv, components);
                    if (pair) {
                        NAME(weigh)(vb, b.x, c + jb, nv, components);
                    }
                    if (flat && pair) {
                        NAME(spread_narrow)
                        (corner, va[0], vb[0], &a, &b, wz + dz, plane_step, row_step, wy, 1);
                    } else if (flat) {
                        NAME(spread_narrow)
                        (corner, va[0], va[0], &a, &a, wz, plane_step, row_step, wy, 0);
                    } else if (pair) {
                        NAME(spread_points)
                        (corner, va, vb, &a, &b, wz + dz, plane_step, row_step, wy, nv, 1);
                    } else {
                        NAME(spread_points)
                        (corner, va, va, &a, &a, wz, plane_step, row_step, wy, nv, 0);
                    }
                } else {
                    REAL *c = (REAL *)job->values + v * job->strengths_vector;
                    if (narrow) {
                        NAME(gather_narrow)(corner, va, &a, plane_step, row_step, w, nv);
                    } else if (pair) {
                        NAME(gather_points)
                        (corner, va, vb, &a, &b, wz + dz, plane_step, row_step, wy, nv, 1);
                        NAME(reduce)(c + jb, vb, b.x, nv, components);
                    } else {
                        NAME(gather_points)
                        (corner, va, vb, &a, &a, wz, plane_step, row_step, wy, nv, 0);
                    }
                    NAME(reduce)(c + ja, va, a.x, nv, components);
                }
                corner += job->tile_vector;
            }
            p += pair ? 2 : 1;
            next = first + p;
        }
    }
}

static void NAME(add)(void *to, const void *from, int64_t n)
{
    REAL *a = to;
    const REAL *b = from;
    for (int64_t i = 0; i < n; i++) {
        a[i] += b[i];
    }
}

#define KERNEL(kind, dim, w, components)                                                           \
    static void NAME(kind##_##components##_##dim##_##w)(const struct nufft_cpu_job *job)           \
    {                                                                                              \
        NAME(kernel_body)(job, NUFFT_IS_##kind, dim, w, components);                               \
    }
#define KERNELS(w)                                                                                 \
    KERNEL(spread, 1, w, 1)                                                                        \
    KERNEL(spread, 2, w, 1)                                                                        \
    KERNEL(spread, 3, w, 1)                                                                        \
    KERNEL(spread, 1, w, 2)                                                                        \
    KERNEL(spread, 2, w, 2)                                                                        \
    KERNEL(spread, 3, w, 2)                                                                        \
    KERNEL(interpolate, 1, w, 1)                                                                   \
    KERNEL(interpolate, 2, w, 1)                                                                   \
    KERNEL(interpolate, 3, w, 1)                                                                   \
    KERNEL(interpolate, 1, w, 2)                                                                   \
    KERNEL(interpolate, 2, w, 2)                                                                   \
    KERNEL(interpolate, 3, w, 2)
WIDTHS(KERNELS)

#define ENTRY_SPREAD_1_1(w) [w] = NAME(spread_1_1_##w),
#define ENTRY_SPREAD_1_2(w) [w] = NAME(spread_1_2_##w),
#define ENTRY_SPREAD_1_3(w) [w] = NAME(spread_1_3_##w),
#define ENTRY_SPREAD_2_1(w) [w] = NAME(spread_2_1_##w),
#define ENTRY_SPREAD_2_2(w) [w] = NAME(spread_2_2_##w),
#define ENTRY_SPREAD_2_3(w) [w] = NAME(spread_2_3_##w),
#define ENTRY_INTERPOLATE_1_1(w) [w] = NAME(interpolate_1_1_##w),
#define ENTRY_INTERPOLATE_1_2(w) [w] = NAME(interpolate_1_2_##w),
#define ENTRY_INTERPOLATE_1_3(w) [w] = NAME(interpolate_1_3_##w),
#define ENTRY_INTERPOLATE_2_1(w) [w] = NAME(interpolate_2_1_##w),
#define ENTRY_INTERPOLATE_2_2(w) [w] = NAME(interpolate_2_2_##w),
#define ENTRY_INTERPOLATE_2_3(w) [w] = NAME(interpolate_2_3_##w),
static const struct nufft_cpu_kernels NAME(kernels) = {
    .name = NUFFT_ISA_NAME,
    .lanes = LANES,
    .spread = {{{WIDTHS(ENTRY_SPREAD_1_1)}, {WIDTHS(ENTRY_SPREAD_1_2)}, {WIDTHS(ENTRY_SPREAD_1_3)}},
               {{WIDTHS(ENTRY_SPREAD_2_1)},
                {WIDTHS(ENTRY_SPREAD_2_2)},
                {WIDTHS(ENTRY_SPREAD_2_3)}}},
    .interpolate = {{{WIDTHS(ENTRY_INTERPOLATE_1_1)},
                     {WIDTHS(ENTRY_INTERPOLATE_1_2)},
                     {WIDTHS(ENTRY_INTERPOLATE_1_3)}},
                    {{WIDTHS(ENTRY_INTERPOLATE_2_1)},
                     {WIDTHS(ENTRY_INTERPOLATE_2_2)},
                     {WIDTHS(ENTRY_INTERPOLATE_2_3)}}},
    .add = NAME(add),
    .locate = NAME(locate),
    .rank_cells = NAME(rank_cells),
};

#undef VEC
#undef ALL
#undef LOAD
#undef STORE
#undef KERNEL
#undef KERNELS
#undef ENTRY_SPREAD_1_1
#undef ENTRY_SPREAD_1_2
#undef ENTRY_SPREAD_1_3
#undef ENTRY_SPREAD_2_1
#undef ENTRY_SPREAD_2_2
#undef ENTRY_SPREAD_2_3
#undef ENTRY_INTERPOLATE_1_1
#undef ENTRY_INTERPOLATE_1_2
#undef ENTRY_INTERPOLATE_1_3
#undef ENTRY_INTERPOLATE_2_1
#undef ENTRY_INTERPOLATE_2_2
#undef ENTRY_INTERPOLATE_2_3
