/* nufft_cpu_points_impl.h - folding and sorting for one precision; included by nufft_cpu_points.c with REAL, NAME(x). */

/* Tile of point i; *key receives its cell within the tile. Axis by axis, x fastest. */
static inline int64_t NAME(locate)(const struct folding *folding, int dimension,
                                   const struct nufft_cpu_state *state, const REAL *const *x,
                                   int64_t i, uint32_t *key)
{
    int64_t tile = 0;
    int64_t cell_in_tile = 0;
    for (int a = dimension - 1; a >= 0; a--) {
        double fraction;
        const int64_t cell = fold(&folding[a], (double)x[a][i], &fraction);
        const int64_t t = tile_of(&folding[a], cell);
        tile = tile * state->tile_count[a] + t;
        cell_in_tile = cell_in_tile * folding[a].tile_size + (cell - t * folding[a].tile_size);
    }
    *key = (uint32_t)cell_in_tile;
    return tile;
}

/* Index of the first point that is NaN or infinite, n if none. */
static int64_t NAME(first_bad)(const struct nufft_plan *plan, int64_t n, const REAL *const *x)
{
    const struct nufft_cpu_state *state = plan->state;
    int64_t bad = n;
#pragma omp parallel for num_threads(state->n_threads) reduction(min : bad)
    for (int64_t block = 0; block < (n + 4095) / 4096; block++) {
        const int64_t end = (block + 1) * 4096 < n ? (block + 1) * 4096 : n;
        for (int a = 0; a < plan->dimension; a++) {
            /* 0 for finite numbers, NaN else: one test for the whole block. */
            REAL sum = 0;
            for (int64_t i = block * 4096; i < end; i++) {
                sum += x[a][i] * 0;
            }
            for (int64_t i = block * 4096; i < end && sum != 0; i++) {
                if (!isfinite(x[a][i])) {
                    bad = i < bad ? i : bad;
                    break;
                }
            }
        }
    }
    return bad;
}

/* Sorts by tile: writes the user's indices and cells in tile order to `index` and `key`, and tile_begin. */
static void NAME(sort_by_tile)(const struct nufft_plan *plan, int64_t n, const REAL *const *x,
                               const struct folding *folding, uint32_t *index, uint32_t *key)
{
    struct nufft_cpu_state *state = plan->state;
    const int blocks = state->n_threads;
    const int64_t tiles = state->n_tiles;
    const int dimension = plan->dimension;
    memset(state->histogram, 0, (size_t)(blocks * tiles) * sizeof(uint32_t));
#pragma omp parallel for num_threads(blocks) schedule(static, 1)
    for (int b = 0; b < blocks; b++) {
        uint32_t *count = state->histogram + b * tiles;
        uint32_t unused;
        for (int64_t i = n * b / blocks; i < n * (b + 1) / blocks; i++) {
            count[NAME(locate)(folding, dimension, state, x, i, &unused)]++;
        }
    }
    int64_t total = 0;
    for (int64_t t = 0; t < tiles; t++) {
        state->tile_begin[t] = total;
        for (int b = 0; b < blocks; b++) {
            uint32_t *count = &state->histogram[b * tiles + t];
            const uint32_t own = *count;
            *count = (uint32_t)total;
            total += own;
        }
    }
    state->tile_begin[tiles] = total;
#pragma omp parallel for num_threads(blocks) schedule(static, 1)
    for (int b = 0; b < blocks; b++) {
        uint32_t *next = state->histogram + b * tiles;
        for (int64_t i = n * b / blocks; i < n * (b + 1) / blocks; i++) {
            uint32_t cell;
            const uint32_t to = next[NAME(locate)(folding, dimension, state, x, i, &cell)]++;
            index[to] = (uint32_t)i;
            key[to] = cell;
        }
    }
}

/* Sorts each tile by cell: index and key to state->order. */
static void NAME(sort_by_cell)(struct nufft_cpu_state *state, const uint32_t *index,
                               const uint32_t *key)
{
    const int64_t cells = state->tile_cells;
#pragma omp parallel for num_threads(state->n_threads) schedule(dynamic, 1)
    for (int64_t t = 0; t < state->n_tiles; t++) {
        const int64_t begin = state->tile_begin[t];
        const int64_t end = state->tile_begin[t + 1];
        uint32_t *count = state->histogram + omp_get_thread_num() * (cells + 1);
        if (begin == end) {
            continue;
        }
        memset(count, 0, (size_t)(cells + 1) * sizeof *count);
        for (int64_t i = begin; i < end; i++) {
            count[key[i] + 1]++;
        }
        for (int64_t c = 0; c < cells; c++) {
            count[c + 1] += count[c];
        }
        for (int64_t i = begin; i < end; i++) {
            state->order[begin + count[key[i]]++] = index[i];
        }
    }
}

/* The sorted points' fractions and offsets. */
static void NAME(place_points)(const struct nufft_plan *plan, int64_t n, const REAL *const *x,
                               const struct folding *folding)
{
    struct nufft_cpu_state *state = plan->state;
    const int64_t step[3] = {state->components, state->tile_row, state->tile_plane};
    const int dimension = plan->dimension;
#pragma omp parallel for num_threads(state->n_threads) schedule(static)
    for (int64_t j = 0; j < n; j++) {
        const int64_t i = state->order[j];
        int64_t offset = 0;
        for (int a = 0; a < dimension; a++) {
            double fraction;
            const int64_t cell = fold(&folding[a], (double)x[a][i], &fraction);
            const int64_t tile = tile_of(&folding[a], cell);
            offset += (cell - tile * folding[a].tile_size) * step[a];
            ((REAL *)state->s[a])[j] = (REAL)(fraction * NUFFT_SUBINTERVALS);
        }
        state->offset[j] = (uint32_t)offset;
    }
}

static enum mtip_status NAME(sort_points)(struct nufft_plan *plan, int64_t n,
                                          const void *const *coordinates)
{
    struct nufft_cpu_state *state = plan->state;
    const REAL *const x[3] = {coordinates[0], coordinates[1], coordinates[2]};
    const int64_t bad = NAME(first_bad)(plan, n, x);
    if (bad < n) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "nufft: point %" PRId64 " has a coordinate that is not finite", bad);
    }
    struct folding folding[3];
    for (int a = 0; a < 3; a++) {
        folding[a] = make_folding(plan, a);
    }
    /* Work space: arrays that are written only at the end. */
    uint32_t *key = state->offset;
    uint32_t *index = state->s[0];
    NAME(sort_by_tile)(plan, n, x, folding, index, key);
    NAME(sort_by_cell)(state, index, key);
    NAME(place_points)(plan, n, x, folding);
    return MTIP_OK;
}
