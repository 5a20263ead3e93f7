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
#include "nufft/nufft_cpu_rows_impl.h"
#include "nufft/nufft_cpu_turn_impl.h"

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

/* Taps of a chunk's points, on each axis a fixed number of values apart; room for the widest kernel. */
struct NAME(chunk) {
    struct NAME(pieces) piece[3];
    REAL x[NUFFT_CPU_CHUNK * (2 * NUFFT_MAX_WIDTH + LANES)] __attribute__((aligned(64)));
    REAL y[NUFFT_CPU_CHUNK * 2 * NUFFT_MAX_WIDTH] __attribute__((aligned(64)));
    REAL z[NUFFT_CPU_CHUNK * (2 * NUFFT_MAX_WIDTH + 2 * NUFFT_CPU_PAIR_SHIFT)]
        __attribute__((aligned(64)));
};

/* Values from a point's taps to the next point's. */
#define X_STEP(w, components, dim)                                                                 \
    ((nufft_cpu_x_vectors(w, components, LANES) +                                                  \
      (nufft_cpu_grain(w, components, LANES, dim) > 1 ? 1 : 0)) *                                  \
     LANES)
#define Y_STEP(w) (((w) + LANES - 1) / LANES * LANES)
#define Z_STEP(w) (Y_STEP(w) + 2 * NUFFT_CPU_PAIR_SHIFT)

/* Zeros around the z taps; in 1-D they are one tap of 1. */
NUFFT_INLINE void NAME(clear_chunk)(struct NAME(chunk) * chunk, const int dim, const int w)
{
    for (int i = 0; i < NUFFT_CPU_CHUNK * Z_STEP(w); i++) {
        chunk->z[i] = dim == 1 && i % Z_STEP(w) == NUFFT_CPU_PAIR_SHIFT ? 1 : 0;
    }
}

/* Taps of `n` points from point `at` of `placed`. */
NUFFT_INLINE void NAME(fill_chunk)(struct NAME(chunk) * chunk, const struct nufft_cpu_job *job,
                                   const struct NAME(places) * placed, int at, int n, const int dim,
                                   const int w, const int components)
{
    const int nv = nufft_cpu_x_vectors(w, components, LANES);
    const int wx = nufft_cpu_x_width(w, components, LANES, dim, X_TAPS_MAX);
    const int nw = Y_STEP(w) / LANES;
    const int outer = dim - 1;
    NAME(find_pieces)(&chunk->piece[0], placed->s[0] + at, n, (wx / 2 + 2) * nv * LANES);
    for (int d = 1; d < dim; d++) {
        NAME(find_pieces)(&chunk->piece[d], placed->s[d] + at, n, (w / 2 + 2) * nw * LANES);
    }
    for (int p = 0; p < n; p++) {
        REAL *x = chunk->x + p * X_STEP(w, components, dim);
        REAL *y = chunk->y + p * Y_STEP(w);
        REAL *z = chunk->z + p * Z_STEP(w) + NUFFT_CPU_PAIR_SHIFT;
        if (nufft_cpu_grain(w, components, LANES, dim) > 1) {
            /* Zeros before the first tap; those after the last are in the table. */
            STORE(x, (VEC){0});
            x += placed->lead[at + p];
        }
        NAME(taps_store)(x, job->table[0], &chunk->piece[0], p, nv, wx / 2 + 1);
        if (dim == 3) {
            NAME(taps_store)(y, job->table[1], &chunk->piece[1], p, nw, w / 2 + 1);
        }
        if (dim > 1) {
            NAME(taps_store)(z, job->table[outer], &chunk->piece[outer], p, nw, w / 2 + 1);
        }
    }
}

/* Strengths lie where the user put them: far apart. Those of the chunk after the next are asked for. */
NUFFT_INLINE void NAME(ask_ahead)(const struct nufft_cpu_job *job, int64_t first, const int spread,
                                  const int components)
{
    const int64_t left = job->end - first;
    const int64_t ahead = left < 3 * NUFFT_CPU_CHUNK ? left : 3 * NUFFT_CPU_CHUNK;
    for (int64_t p = 2 * NUFFT_CPU_CHUNK; p < ahead; p++) {
        const int64_t far = (int64_t)job->order[first + p] * components;
        if (spread) {
            __builtin_prefetch((const REAL *)job->strengths + far, 0);
        } else {
            __builtin_prefetch((REAL *)job->values + far, 1);
        }
    }
}

/* Whether a point is interpolated alone, its y taps in registers; whether spread with the products of x and y taps there. */
NUFFT_INLINE int NAME(is_narrow)(const int spread, const int dim, const int w, const int nv)
{
    return !spread && dim == 3 && ((nv == 1 && w <= 8) || (nv == 2 && w <= 6));
}
NUFFT_INLINE int NAME(is_flat)(const int spread, const int dim, const int w, const int nv)
{
    return spread && dim == 3 && nv == 1 && w <= 6;
}

/* Spreads or interpolates, for all vectors, point a, and b if `pair`; `planes` rows or planes from the corner on. Their strengths
 * are ja and jb values after the first. */
NUFFT_INLINE void NAME(take_points)(const struct nufft_cpu_job *job, REAL *corner,
                                    const struct NAME(point) * a, const struct NAME(point) * b,
                                    int64_t ja, int64_t jb, int planes, const int pair,
                                    const int spread, const int dim, const int w,
                                    const int components)
{
    const int nv = nufft_cpu_x_vectors(w, components, LANES);
    const int wy = dim == 3 ? w : 1;
    const int64_t row = job->tile_row;
    const int64_t plane = dim == 3 ? job->tile_plane : job->tile_row;
    for (int64_t v = 0; v < job->count; v++) {
        VEC va[NUFFT_MAX_WIDTH];
        VEC vb[NUFFT_MAX_WIDTH];
        if (spread) {
            const REAL *c = (const REAL *)job->strengths + v * job->strengths_vector;
            NAME(weigh)(va, a->x, c + ja, nv, components);
            if (pair) {
                NAME(weigh)(vb, b->x, c + jb, nv, components);
            }
            if (NAME(is_flat)(spread, dim, w, nv)) {
                NAME(spread_narrow)
                (corner, va[0], pair ? vb[0] : va[0], a, b, planes, plane, row, wy, pair);
            } else {
                NAME(spread_points)
                (corner, va, pair ? vb : va, a, b, planes, plane, row, wy, nv, pair);
            }
        } else {
            REAL *c = (REAL *)job->values + v * job->strengths_vector;
            if (NAME(is_narrow)(spread, dim, w, nv)) {
                NAME(gather_narrow)(corner, va, a, plane, row, w, nv);
            } else {
                NAME(gather_points)(corner, va, vb, a, b, planes, plane, row, wy, nv, pair);
            }
            if (pair) {
                NAME(reduce)(c + jb, vb, b->x, nv, components);
            }
            NAME(reduce)(c + ja, va, a->x, nv, components);
        }
        corner += job->tile_vector;
    }
}

/* Both kernels. Points are taken NUFFT_CPU_CHUNK at a time: first the taps of all, whose chains of multiply-adds
 * overlap, then the sums, two points at a time where the sorted order put two of the same column next to each other. */
NUFFT_INLINE void NAME(kernel_body)(const struct nufft_cpu_job *job, const int spread,
                                    const int dim, const int w, const int components)
{
    const int nv = nufft_cpu_x_vectors(w, components, LANES);
    const int wz = dim > 1 ? w : 1;
    const int shift = NUFFT_CPU_PAIR_SHIFT;
    const int pairs = dim > 1 && !NAME(is_narrow)(spread, dim, w, nv);
    const int64_t plane_step = dim == 3 ? job->tile_plane : job->tile_row;
    struct NAME(chunk) chunk;
    struct NAME(places) placed;
    int64_t block = job->begin; /* the points in `placed` */
    int64_t block_end = job->begin;
    int64_t next = job->begin;
    NAME(clear_chunk)(&chunk, dim, w);
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
        const int32_t *offset = placed.offset + at;
        NAME(ask_ahead)(job, first, spread, components);
        NAME(fill_chunk)(&chunk, job, &placed, at, n, dim, w, components);
        for (int p = 0; p < n;) {
            const int64_t apart = p + 1 < n ? (int64_t)offset[p + 1] - offset[p] : -1;
            int dz = 0;
            while (dz <= shift && apart != dz * plane_step) {
                dz++;
            }
            const int pair = pairs && dz <= shift;
            if (pairs && !pair && p + 1 == n && p > 0 && job->end > first + n) {
                break; /* its partner may be the first of the next chunk */
            }
            const int q = pair ? p + 1 : p;
            const struct NAME(point) a = {.x = chunk.x + p * X_STEP(w, components, dim),
                                          .y = chunk.y + p * Y_STEP(w),
                                          .z = chunk.z + p * Z_STEP(w) + shift};
            const struct NAME(point) b = {.x = chunk.x + q * X_STEP(w, components, dim),
                                          .y = chunk.y + q * Y_STEP(w),
                                          .z = chunk.z + q * Z_STEP(w) + shift - dz};
            const int64_t ja = (int64_t)job->order[first + p] * components;
            const int64_t jb = (int64_t)job->order[first + q] * components;
            REAL *corner = (REAL *)job->tile + offset[p];
            if (pair) {
                NAME(take_points)
                (job, corner, &a, &b, ja, jb, wz + dz, 1, spread, dim, w, components);
            } else {
                NAME(take_points)(job, corner, &a, &a, ja, ja, wz, 0, spread, dim, w, components);
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
    .turn = NAME(turn),
    .locate = NAME(locate),
    .rank_cells = NAME(rank_cells),
};

#undef VEC
#undef ALL
#undef LOAD
#undef STORE
#undef X_STEP
#undef Y_STEP
#undef Z_STEP
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
