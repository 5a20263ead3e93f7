/* nufft_cpu_fold_impl.h - from coordinates to cells of the fine grid, for one precision and vector length. Included by
 * nufft_cpu_kernels_impl.h, which defines REAL, LANES, NAME(x), VEC, LOAD, STORE and ALL.
 *
 * The library reads coordinates, the user's or its copies, whenever it sorts, spreads or interpolates. What a point's cell is
 * must then come out the same each time, hence one function, never inlined, that looks at one coordinate at a time.
 */
typedef int32_t NAME(cells) __attribute__((vector_size(LANES * sizeof(int32_t))));

/* Coordinates of any size, fine grids of any size: in double precision, floor by the rounding of a large sum. */
static __attribute__((noinline)) void NAME(fold_far)(int32_t *cell, REAL *s, const REAL *x, int n,
                                                     const struct nufft_cpu_folding *f)
{
    const double magic = 0x1.8p52;
    const double per_radian = 0.15915494309189533577;
    const double nf = f->nf;
    const double shift = f->shift;
    for (int i = 0; i < n; i++) {
        double turns = (double)x[i] * per_radian;
        double whole = (turns + magic) - magic;
        turns -= whole; /* -1/2 .. 1/2 */
        double q = turns * nf - shift;
        q = q < 0.0 ? q + nf : q;
        q = q < 0.0 ? q + nf : q;
        q = q >= 0.0 && q < nf ? q : 0.0; /* rounding at the end of the period */
        whole = (q + magic) - magic;
        whole = whole > q ? whole - 1.0 : whole;
        cell[i] = (int32_t)whole;
        s[i] = (REAL)((q - whole) * NUFFT_SUBINTERVALS);
    }
}

/* Cells and fractions times NUFFT_SUBINTERVALS of n coordinates of an axis; n is a multiple of LANES. The cell is rounded
 * first, the fraction is what an exact product leaves of it (with fused multiply-adds; without them a rounding error of
 * the product more), so that it has all the digits of the precision whatever the size of the grid. */
static __attribute__((noinline)) void NAME(fold)(int32_t *cell, REAL *s, const REAL *x, int n,
                                                 const struct nufft_cpu_folding *f)
{
    if (f->far) {
        NAME(fold_far)(cell, s, x, n, f);
        return;
    }
    const REAL magic = sizeof(REAL) == sizeof(float) ? (REAL)0x1.8p23 : (REAL)0x1.8p52;
    const REAL scale = (REAL)f->scale;
    const REAL scale_rest = (REAL)f->scale_rest;
    const REAL shift = (REAL)f->shift;
    const REAL nf = (REAL)f->nf;
    const REAL per_period = (REAL)1 / nf;
    const REAL half = (REAL)0.5;
    const VEC one = ALL((REAL)1);
    for (int i = 0; i < n; i += LANES) {
        const VEC at = LOAD(x + i);
        VEC whole = (at * scale - shift + magic) - magic; /* nearest */
        VEC rest = (at * scale - (whole + shift)) + at * scale_rest;
        const __typeof__(rest < rest) below = rest < (VEC){0};
        const VEC step = (VEC)(below & (__typeof__(below))one);
        whole -= step;
        rest += step;
        whole -= (((whole + half) * per_period - half + magic) - magic) * nf;
        const NAME(cells) c = __builtin_convertvector(whole, NAME(cells));
        memcpy(cell + i, &c, sizeof c);
        STORE(s + i, rest * (REAL)NUFFT_SUBINTERVALS);
    }
}

/* Coordinates of points order[0 .. n-1], or (order NULL) of points 0 .. n-1, followed by copies of the last up to `room`. Two
 * loops: made one, by masked loads through NULL, they take processors of AMD 20 cycles a point. */
NUFFT_INLINE void NAME(collect)(REAL *out, const REAL *x, const uint32_t *order, int n, int room)
{
    if (order == NULL) {
        memcpy(out, x, (size_t)n * sizeof *out);
    } else {
        for (int i = 0; i < n; i++) {
            out[i] = x[order[i]];
        }
    }
    for (int i = n; i < room; i++) {
        out[i] = out[n - 1];
    }
}

static int NAME(locate)(uint16_t *tile, const void *const *x, int64_t begin, int n, int dimension,
                        const struct nufft_cpu_folding *folding)
{
    int32_t where[NUFFT_CPU_POINT_BLOCK] = {0};
    int32_t cell[NUFFT_CPU_POINT_BLOCK];
    REAL s[NUFFT_CPU_POINT_BLOCK];
    REAL at[NUFFT_CPU_POINT_BLOCK];
    for (int a = dimension - 1; a >= 0; a--) {
        const struct nufft_cpu_folding *f = &folding[a];
        const REAL limit = (REAL)f->limit;
        const double per_tile = f->per_tile;
        const int32_t tiles = f->tiles;
        int within = 1;
        NAME(collect)(at, (const REAL *)x[a] + begin, NULL, n, NUFFT_CPU_POINT_BLOCK);
        for (int i = 0; i < NUFFT_CPU_POINT_BLOCK; i++) {
            within &= at[i] <= limit && at[i] >= -limit; /* not where NaN */
        }
        if (!within) {
            return 1;
        }
        NAME(fold)(cell, s, at, NUFFT_CPU_POINT_BLOCK, f);
        for (int i = 0; i < NUFFT_CPU_POINT_BLOCK; i++) {
            where[i] = where[i] * tiles + (int32_t)((cell[i] + 0.5) * per_tile);
        }
    }
    for (int i = 0; i < n; i++) {
        tile[i] = (uint16_t)where[i];
    }
    return 0;
}

static void NAME(rank_cells)(uint32_t *key, const void *const *x, const uint32_t *order, int n,
                             int ahead, int dimension, const struct nufft_cpu_folding *folding,
                             const int32_t *start)
{
    int32_t local[3][NUFFT_CPU_POINT_BLOCK];
    REAL s[NUFFT_CPU_POINT_BLOCK];
    REAL at[NUFFT_CPU_POINT_BLOCK];
    for (int a = 0; a < dimension; a++) {
        const REAL *from = x[a];
        for (int i = n; i < n + ahead; i++) {
            __builtin_prefetch(from + order[i], 0, 2);
        }
        NAME(collect)(at, from, order, n, NUFFT_CPU_POINT_BLOCK);
        NAME(fold)(local[a], s, at, NUFFT_CPU_POINT_BLOCK, &folding[a]);
        for (int i = 0; i < NUFFT_CPU_POINT_BLOCK; i++) {
            local[a][i] -= start[a];
        }
    }
    const int grain_bits = __builtin_ctz((unsigned)folding[0].grain);
    const uint32_t width = (uint32_t)(folding[0].size - 1 + folding[0].grain) >> grain_bits;
    if (dimension == 1) {
        memcpy(key, local[0], (size_t)n * sizeof *key);
    } else if (dimension == 2) {
        for (int i = 0; i < n; i++) {
            const uint32_t outer = (uint32_t)local[1][i];
            key[i] = (outer / NUFFT_CPU_OUTER_BLOCK * width + (uint32_t)local[0][i]) *
                         NUFFT_CPU_OUTER_BLOCK +
                     outer % NUFFT_CPU_OUTER_BLOCK;
        }
    } else {
        const uint32_t rows = (uint32_t)folding[1].size;
        const uint32_t blocks = (rows + NUFFT_CPU_INNER_BLOCK - 1) / NUFFT_CPU_INNER_BLOCK;
        for (int i = 0; i < n; i++) {
            const uint32_t outer = (uint32_t)local[2][i];
            const uint32_t inner = (uint32_t)local[1][i];
            const uint32_t block =
                outer / NUFFT_CPU_OUTER_BLOCK * blocks + inner / NUFFT_CPU_INNER_BLOCK;
            key[i] =
                ((block * width + ((uint32_t)local[0][i] >> grain_bits)) * NUFFT_CPU_INNER_BLOCK +
                 inner % NUFFT_CPU_INNER_BLOCK) *
                    NUFFT_CPU_OUTER_BLOCK +
                outer % NUFFT_CPU_OUTER_BLOCK;
        }
    }
}

/* A block of sorted points: fractions times NUFFT_SUBINTERVALS, where in the tile their first vectors are, and how many lanes
 * of these the first tap comes later. */
struct NAME(places) {
    REAL s[3][NUFFT_CPU_PLACES] __attribute__((aligned(64)));
    int32_t offset[NUFFT_CPU_PLACES] __attribute__((aligned(64)));
    int32_t lead[NUFFT_CPU_PLACES] __attribute__((aligned(64)));
};

/* Places of points first .. first+n-1 of the sorted order; asks for the coordinates of the next ones. */
static __attribute__((noinline)) void NAME(place)(struct NAME(places) * out,
                                                  const struct nufft_cpu_job *job, int64_t first,
                                                  int n, int dimension)
{
    REAL x[3][NUFFT_CPU_PLACES] __attribute__((aligned(64)));
    int32_t cell[NUFFT_CPU_PLACES] __attribute__((aligned(64)));
    const uint32_t *order = job->sorted ? NULL : job->order + first;
    const int64_t left = job->sorted ? 0 : job->end - first - n;
    const int ahead = n + (left < NUFFT_CPU_PLACES ? (int)left : NUFFT_CPU_PLACES);
    for (int a = 0; a < dimension; a++) {
        const REAL *from = (const REAL *)job->x[a] + (job->sorted ? first : 0);
        for (int p = n; p < ahead; p++) {
            __builtin_prefetch(from + order[p], 0, 2);
        }
        NAME(collect)(x[a], from, order, n, NUFFT_CPU_PLACES);
    }
    for (int a = 0; a < dimension; a++) {
        const int32_t start = job->start[a];
        const int32_t step = job->folding[a].step;
        const int32_t later = job->folding[a].grain - 1;
        const uint32_t size = (uint32_t)job->folding[a].size;
        NAME(fold)(cell, out->s[a], x[a], NUFFT_CPU_PLACES, &job->folding[a]);
        for (int p = 0; p < NUFFT_CPU_PLACES; p++) {
            /* Never outside the tile, not even where the user has changed the points since they were sorted. */
            const uint32_t local = (uint32_t)cell[p] - (uint32_t)start;
            const int32_t within = local < size ? (int32_t)local : 0;
            if (a == 0) {
                out->lead[p] = (within & later) * step;
                out->offset[p] = within * step - out->lead[p];
            } else {
                out->offset[p] += within * step;
            }
        }
    }
}
