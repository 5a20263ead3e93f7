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
 * Widths are compile-time constants, so that the taps along x stay in registers.
 */
typedef REAL NAME(vec) __attribute__((vector_size(LANES * sizeof(REAL))));
typedef REAL NAME(vec_any)
    __attribute__((vector_size(LANES * sizeof(REAL)), aligned(sizeof(REAL)), may_alias));

#define VEC NAME(vec)
#define LOAD(p) ((VEC) * (const NAME(vec_any) *)(p))
#define STORE(p, v) (*(NAME(vec_any) *)(p) = (NAME(vec_any))(v))

/* Taps of one axis at s = 8 f: `nv` vectors of taps. */
NUFFT_INLINE void NAME(taps)(VEC *k, const REAL *table, REAL s, const int nv, const int degree)
{
    int b = (int)s;
    b = b < NUFFT_SUBINTERVALS ? b : NUFFT_SUBINTERVALS - 1;
    const REAL t = s - (REAL)b - (REAL)0.5;
    const REAL *p = table + b * (degree + 1) * nv * LANES;
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
NUFFT_INLINE void NAME(taps_store)(REAL *out, const void *table, REAL s, const int w)
{
    const int nv = (w + LANES - 1) / LANES;
    VEC k[NUFFT_MAX_WIDTH];
    NAME(taps)(k, table, s, nv, w / 2 + 1);
    NUFFT_UNROLL
    for (int i = 0; i < nv; i++) {
        STORE(out + i * LANES, k[i]);
    }
}

/* x taps times the strength. */
NUFFT_INLINE void NAME(weigh)(VEC *out, const VEC *kx, const REAL *strength, const int nv,
                              const int components)
{
    VEC c = (VEC){0} + strength[0];
    if (components == 2) {
        NUFFT_UNROLL
        for (int l = 1; l < LANES; l += 2) {
            c[l] = strength[1];
        }
    }
    NUFFT_UNROLL
    for (int i = 0; i < nv; i++) {
        out[i] = kx[i] * c;
    }
}

NUFFT_INLINE void NAME(spread_body)(const struct nufft_cpu_job *job, const int dim, const int w,
                                    const int components)
{
    const int nv = (w * components + LANES - 1) / LANES;
    const int wx = nv * LANES / components < X_TAPS_MAX ? nv * LANES / components : X_TAPS_MAX;
    const int wy = dim > 1 ? w : 1;
    const int wz = dim > 2 ? w : 1;
    REAL ky[NUFFT_MAX_WIDTH + LANES] __attribute__((aligned(64))) = {1};
    REAL kz[NUFFT_MAX_WIDTH + LANES] __attribute__((aligned(64))) = {1};
    const int64_t row_step = job->tile_row;
    for (int64_t j = job->begin; j < job->end; j++) {
        VEC kx[NUFFT_MAX_WIDTH];
        NAME(taps)(kx, job->table[0], ((const REAL *)job->s[0])[j], nv, wx / 2 + 1);
        if (dim > 1) {
            NAME(taps_store)(ky, job->table[1], ((const REAL *)job->s[1])[j], w);
        }
        if (dim > 2) {
            NAME(taps_store)(kz, job->table[2], ((const REAL *)job->s[2])[j], w);
        }
        const REAL *strength = (const REAL *)job->strengths + (int64_t)job->order[j] * components;
        REAL *corner = (REAL *)job->tile + job->offset[j];
        for (int64_t v = 0; v < job->count; v++) {
            VEC xs[NUFFT_MAX_WIDTH];
            NAME(weigh)(xs, kx, strength, nv, components);
            for (int z = 0; z < wz; z++) {
                VEC xz[NUFFT_MAX_WIDTH];
                NUFFT_UNROLL
                for (int i = 0; i < nv; i++) {
                    xz[i] = xs[i] * kz[z];
                }
                REAL *row = corner + z * job->tile_plane;
                NUFFT_UNROLL
                for (int y = 0; y < wy; y++) {
                    NUFFT_UNROLL
                    for (int i = 0; i < nv; i++) {
                        STORE(row + i * LANES, LOAD(row + i * LANES) + xz[i] * ky[y]);
                    }
                    row += row_step;
                }
            }
            strength += job->strengths_vector;
            corner += job->tile_vector;
        }
    }
}

NUFFT_INLINE void NAME(interpolate_body)(const struct nufft_cpu_job *job, const int dim,
                                         const int w, const int components)
{
    const int nv = (w * components + LANES - 1) / LANES;
    const int wx = nv * LANES / components < X_TAPS_MAX ? nv * LANES / components : X_TAPS_MAX;
    const int wy = dim > 1 ? w : 1;
    const int wz = dim > 2 ? w : 1;
    /* Planes summed together: as many as leave registers for the rest. */
    const int group = nv >= 6 ? 1 : nv >= 4 ? 2 : nv == 3 ? 3 : nv == 2 ? 4 : 8;
    REAL ky[NUFFT_MAX_WIDTH + LANES] __attribute__((aligned(64))) = {1};
    REAL kz[NUFFT_MAX_WIDTH + LANES] __attribute__((aligned(64))) = {1};
    const int64_t row_step = job->tile_row;
    for (int64_t j = job->begin; j < job->end; j++) {
        VEC kx[NUFFT_MAX_WIDTH];
        NAME(taps)(kx, job->table[0], ((const REAL *)job->s[0])[j], nv, wx / 2 + 1);
        if (dim > 1) {
            NAME(taps_store)(ky, job->table[1], ((const REAL *)job->s[1])[j], w);
        }
        if (dim > 2) {
            NAME(taps_store)(kz, job->table[2], ((const REAL *)job->s[2])[j], w);
        }
        REAL *value = (REAL *)job->values + (int64_t)job->order[j] * components;
        const REAL *corner = (const REAL *)job->tile + job->offset[j];
        for (int64_t v = 0; v < job->count; v++) {
            VEC sum[NUFFT_MAX_WIDTH];
            NUFFT_UNROLL
            for (int i = 0; i < nv; i++) {
                sum[i] = (VEC){0};
            }
            NUFFT_UNROLL
            for (int z = 0; z < wz; z += group) {
                const int planes = wz - z < group ? wz - z : group;
                const REAL *row = corner + z * job->tile_plane;
                VEC part[8][NUFFT_MAX_WIDTH];
                NUFFT_UNROLL
                for (int g = 0; g < planes; g++) {
                    NUFFT_UNROLL
                    for (int i = 0; i < nv; i++) {
                        part[g][i] = (VEC){0};
                    }
                }
                for (int y = 0; y < wy; y++) {
                    NUFFT_UNROLL
                    for (int g = 0; g < planes; g++) {
                        NUFFT_UNROLL
                        for (int i = 0; i < nv; i++) {
                            part[g][i] += LOAD(row + g * job->tile_plane + i * LANES) * ky[y];
                        }
                    }
                    row += row_step;
                }
                NUFFT_UNROLL
                for (int g = 0; g < planes; g++) {
                    NUFFT_UNROLL
                    for (int i = 0; i < nv; i++) {
                        sum[i] += part[g][i] * kz[z + g];
                    }
                }
            }
            VEC total = sum[0] * kx[0];
            NUFFT_UNROLL
            for (int i = 1; i < nv; i++) {
                total += sum[i] * kx[i];
            }
            NUFFT_UNROLL
            for (int c = 0; c < components; c++) {
                REAL lane_sum = 0;
                NUFFT_UNROLL
                for (int l = c; l < LANES; l += components) {
                    lane_sum += total[l];
                }
                value[c] = lane_sum;
            }
            value += job->strengths_vector;
            corner += job->tile_vector;
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
        NAME(kind##_body)(job, dim, w, components);                                                \
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
};

#undef VEC
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
