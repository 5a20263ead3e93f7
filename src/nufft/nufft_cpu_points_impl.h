/* nufft_cpu_points_impl.h - folding and sorting for one precision; included by nufft_cpu_points.c with REAL, NAME(x). */

/* Index of the first point that is NaN or infinite, n if none. Slow: only where locate found one. */
static int64_t NAME(first_bad)(int dimension, int64_t n, const REAL *const *x)
{
    for (int64_t i = 0; i < n; i++) {
        for (int a = 0; a < dimension; a++) {
            if (!isfinite(x[a][i])) {
                return i;
            }
        }
    }
    return n;
}

/* One thread's share: tiles and keys of points begin .. end-1, kept for the second pass and counted. Returns 1 when a
 * coordinate is not finite. */
static int NAME(count_share)(const struct nufft_plan *plan, int64_t begin, int64_t end,
                             const REAL *const *x, const struct nufft_cpu_folding *folding,
                             uint32_t *counter, uint32_t *tile, uint32_t *key)
{
    const struct nufft_cpu_state *state = plan->state;
    for (int64_t i = begin; i < end; i += NUFFT_CPU_POINT_BLOCK) {
        const int n = end - i < NUFFT_CPU_POINT_BLOCK ? (int)(end - i) : NUFFT_CPU_POINT_BLOCK;
        const void *block[3] = {NULL, NULL, NULL};
        for (int a = 0; a < plan->dimension; a++) {
            block[a] = x[a] + i;
        }
        if (state->kernels->locate(tile + i, key + i, block, n, plan->dimension, folding)) {
            return 1;
        }
        for (int p = 0; p < n; p++) {
            counter[tile[i + p]]++;
        }
    }
    return 0;
}

/* Sorts by tile: writes the user's indices and keys in tile order to `index` and `key`, and tile_begin; `tile` and
 * `own_key` are work space. Returns 1 when a coordinate is not finite. */
static int NAME(sort_by_tile)(const struct nufft_plan *plan, int64_t n, const REAL *const *x,
                              const struct nufft_cpu_folding *folding, uint32_t *index,
                              uint32_t *key, uint32_t *tile, uint32_t *own_key)
{
    struct nufft_cpu_state *state = plan->state;
    const int shares = state->n_threads;
    const int64_t tiles = state->n_tiles;
    int bad = 0;
    memset(state->histogram, 0, (size_t)(shares * tiles) * sizeof(uint32_t));
#pragma omp parallel for num_threads(shares) schedule(static, 1) reduction(| : bad)
    for (int b = 0; b < shares; b++) {
        bad |= NAME(count_share)(plan, n * b / shares, n * (b + 1) / shares, x, folding,
                                 state->histogram + b * tiles, tile, own_key);
    }
    if (bad) {
        return 1;
    }
    int64_t total = 0;
    for (int64_t t = 0; t < tiles; t++) {
        state->tile_begin[t] = total;
        for (int b = 0; b < shares; b++) {
            uint32_t *count = &state->histogram[b * tiles + t];
            const uint32_t own = *count;
            *count = (uint32_t)total;
            total += own;
        }
    }
    state->tile_begin[tiles] = total;
#pragma omp parallel for num_threads(shares) schedule(static, 1)
    for (int b = 0; b < shares; b++) {
        uint32_t *next = state->histogram + b * tiles;
        for (int64_t i = n * b / shares; i < n * (b + 1) / shares; i++) {
            const uint32_t to = next[tile[i]]++;
            index[to] = (uint32_t)i;
            key[to] = own_key[i];
        }
    }
    return 0;
}

/* The sorted points' fractions and offsets. */
static void NAME(place_points)(const struct nufft_plan *plan, int64_t n, const REAL *const *x,
                               const struct nufft_cpu_folding *folding)
{
    struct nufft_cpu_state *state = plan->state;
    const uint32_t *order = state->order;
    const int dimension = plan->dimension;
    const int64_t blocks = (n + NUFFT_CPU_POINT_BLOCK - 1) / NUFFT_CPU_POINT_BLOCK;
#pragma omp parallel for num_threads(state->n_threads) schedule(static)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t begin = b * NUFFT_CPU_POINT_BLOCK;
        const int64_t left = n - begin;
        const int count = left < NUFFT_CPU_POINT_BLOCK ? (int)left : NUFFT_CPU_POINT_BLOCK;
        const int64_t ahead = left < 2 * NUFFT_CPU_POINT_BLOCK ? left : 2 * NUFFT_CPU_POINT_BLOCK;
        REAL gathered[3][NUFFT_CPU_POINT_BLOCK];
        const void *from[3];
        void *to[3] = {NULL, NULL, NULL};
        for (int a = 0; a < dimension; a++) {
            for (int64_t p = count; p < ahead; p++) {
                __builtin_prefetch(&x[a][order[begin + p]]);
            }
            for (int p = 0; p < count; p++) {
                gathered[a][p] = x[a][order[begin + p]];
            }
            from[a] = gathered[a];
            to[a] = (REAL *)state->s[a] + begin;
        }
        state->kernels->place(to, state->offset + begin, from, count, dimension, folding);
    }
}

static enum mtip_status NAME(sort_points)(struct nufft_plan *plan, int64_t n,
                                          const void *const *coordinates)
{
    struct nufft_cpu_state *state = plan->state;
    const REAL *const x[3] = {coordinates[0], coordinates[1], coordinates[2]};
    struct nufft_cpu_folding folding[3];
    for (int a = 0; a < 3; a++) {
        folding[a] = make_folding(plan, a);
    }
    /* Work space: arrays that are written only at the end, and `scratch`. */
    uint32_t *key = state->offset;
    uint32_t *index = state->s[0];
    uint32_t *own_key = plan->dimension > 1 ? state->s[1] : state->scratch;
    if (NAME(sort_by_tile)(plan, n, x, folding, index, key, state->order, own_key)) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "nufft: point %" PRId64 " has a coordinate that is not finite",
                          NAME(first_bad)(plan->dimension, n, x));
    }
    sort_by_cell(state, index, key);
    NAME(place_points)(plan, n, x, folding);
    return MTIP_OK;
}
