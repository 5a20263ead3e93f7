/* nufft_cpu.h - private to the CPU backend: its state, and the tables of vectorised kernels.
 *
 * Tiles: the fine grid is cut into tiles of tile_size cells; the points of a tile are contiguous after the sort, in runs
 * of many thousands in the order of their cells. Their coordinates stay where the user has them and are read there each
 * time, unless the plan is to have sorted copies. A tile's points touch only its padded copy (tile_size + width - 1 cells
 * an axis), which stays in the L2 cache: it is zeroed, spread to, and added to the grid, or filled from the grid and
 * interpolated from. Element 0 of the copy is the grid cell tile_start + 1, because a point of cell c has the taps c+1,
 * c+2, ... Tiles with many points are cut into parts (tasks), each with its own copy.
 *
 * No write conflicts, the same bits for every number of threads: tiles of one colour do not overlap, colours run one
 * after the other, and the parts of a tile are added in their order.
 */
#ifndef MTIP_NUFFT_NUFFT_CPU_H
#define MTIP_NUFFT_NUFFT_CPU_H

#include <stdatomic.h>

#include "nufft/nufft_ops.h"

/* Points spread or interpolated in one call of a kernel; see nufft_cpu_kernels_impl.h. Sizes of arrays are in values of
 * the plan's precision (a complex number is two). */
struct nufft_cpu_job {
    const void *x[3];                        /* [n_points] the user's coordinates, or */
    int sorted;                              /* 1: copies of them in the sorted order */
    const uint32_t *order;                   /* [n_points] the user's index of a sorted point */
    const struct nufft_cpu_folding *folding; /* [dimension] */
    int32_t start[3];                        /* the tile's first cell */
    const void *table[3]; /* kernel tables of the axes, lanes as the kernels want them */
    int64_t begin;        /* points begin .. end-1 of the sorted order */
    int64_t end;
    void *tile;            /* [count][tile_vector] */
    int64_t tile_row;      /* from one row (y) to the next */
    int64_t tile_plane;    /* from one plane (z) to the next */
    int64_t tile_vector;   /* from one vector to the next */
    const void *strengths; /* spread: [count][strengths_vector] */
    void *values;          /* interpolate: the same */
    int64_t strengths_vector;
    int64_t count; /* vectors */
};

/* How a coordinate becomes a cell of an axis, a tile and a place in it; see nufft_ops.h for the cell. */
struct nufft_cpu_folding {
    double nf;
    double scale;      /* cells a radian, nf / 2 pi, in the plan's precision, */
    double scale_rest; /* and what rounding left out of it */
    double shift;      /* width / 2 */
    double limit;      /* greatest |x| that may be folded */
    int far;           /* 1: for any finite coordinate and nf, slower */
    int32_t size;      /* cells of a tile */
    double per_tile;   /* 1 / size */
    int32_t tiles;     /* on this axis */
    int32_t step;      /* values from cell to cell in a tile's padded copy */
    int32_t grain; /* cells between two places where a row of taps may begin; see nufft_cpu_grain */
};

/* Order of the cells of a tile: blocks of OUTER planes and INNER rows, in them grains along x, then rows, then planes
 * fastest. Points of one column of grains follow each other, so that they can be spread in pairs, and the cells that a block
 * touches at one x stay in the L1 cache. In 2-D the planes are rows, in 1-D only x is left. Powers of two. */
#define NUFFT_CPU_OUTER_BLOCK 4
#define NUFFT_CPU_INNER_BLOCK 2

/* Points located or ranked in one call, at most. */
#define NUFFT_CPU_POINT_BLOCK 128

/* Tiles have numbers of 16 bits. */
#define NUFFT_CPU_MAX_TILES 65536

/* Lines of an FFT transformed together: a cache line (two in double precision) of the grid. */
#define NUFFT_CPU_LINES 8

/* Powers of w = exp(i s 2 pi / n), s the plan's sign, as the FFT of a 1-D grid wants them; complex numbers of doubles are re,
 * im, re, im ... See nufft_cpu_long_impl.h and nufft_cpu_turn_impl.h. */
struct nufft_cpu_twiddles {
    int64_t rows;
    int shift;
    double *fine;   /* owned [2^shift]: w^i, */
    double *coarse; /* owned: w^(i 2^shift), up to n; the product is any power */
    void *step;     /* owned [rows][2: re, im][NUFFT_CPU_LINES] of the precision: w^(row l) */
};

typedef void nufft_cpu_kernel(const struct nufft_cpu_job *job);

/* Kernels of one instruction set and precision. */
struct nufft_cpu_kernels {
    const char *name;
    int lanes; /* values in a vector */
    /* [0 = real data, 1 = complex][dimension-1][width]; NULL where there is none */
    nufft_cpu_kernel *spread[2][3][NUFFT_MAX_WIDTH + 1];
    nufft_cpu_kernel *interpolate[2][3][NUFFT_MAX_WIDTH + 1];
    void (*add)(void *to, const void *from, int64_t n); /* to[i] += from[i] */
    /* to[k][l] = from[k][l] w^(k (first + l)), complex, for all rows k and l < n <= NUFFT_CPU_LINES; rows lie to_step and
     * from_step complex numbers apart. */
    void (*turn)(const struct nufft_cpu_twiddles *twiddles, int64_t first, int n, void *to,
                 int64_t to_step, const void *from, int64_t from_step);
    /* Tiles of points begin .. begin+n-1 of the user's. Returns 1 when one is beyond the limit of an axis, or NaN. */
    int (*locate)(uint16_t *tile, const void *const *x, int64_t begin, int n, int dimension,
                  const struct nufft_cpu_folding *folding);
    /* Places of the cells of points order[0 .. n-1] in the order of their tile, whose first cell is `start`; asks for the
     * coordinates of the `ahead` points after them. */
    void (*rank_cells)(uint32_t *key, const void *const *x, const uint32_t *order, int n, int ahead,
                       int dimension, const struct nufft_cpu_folding *folding,
                       const int32_t *start);
};

/* NULL where the compiler does not target the instruction set. */
const struct nufft_cpu_kernels *nufft_cpu_kernels_portable(enum nufft_precision precision);
const struct nufft_cpu_kernels *nufft_cpu_kernels_avx2(enum nufft_precision precision);
const struct nufft_cpu_kernels *nufft_cpu_kernels_avx512(enum nufft_precision precision);

/* The fastest that this processor runs for `width` taps of `components` values on an axis; those of the instruction set that
 * the environment variable MTIP_NUFFT_ISA names (portable, avx2, avx512), if it is set; NULL where there are none. */
const struct nufft_cpu_kernels *nufft_cpu_kernels_choose(enum nufft_precision precision, int width,
                                                         int components);

/* Vectors along x. `components` is 1 real, 2 complex. */
static inline int nufft_cpu_x_vectors(int width, int components, int lanes)
{
    return (width * components + lanes - 1) / lanes;
}
/* Cells along x that the first vector of a row is rounded down to: a power of two, as many as the last vector has lanes
 * to spare, so that vectors cross fewer cache lines, or none, and points of one grain share their rows. 1, for no
 * rounding, where it would be less than half a vector, and where a point has few rows: there more taps, and with them a
 * smaller grid, are the better use of the lanes. */
static inline int nufft_cpu_grain(int width, int components, int lanes, int dimension)
{
    const int spare = nufft_cpu_x_vectors(width, components, lanes) * lanes / components - width;
    int grain = 1;
    while (2 * grain <= spare + 1 && 2 * grain * components <= lanes) {
        grain *= 2;
    }
    return dimension == 3 && width > 8 && 2 * grain * components >= lanes ? grain : 1;
}
/* Taps along x: as many as fill the vectors wherever in its grain a point is. */
static inline int nufft_cpu_x_width(int width, int components, int lanes, int dimension, int most)
{
    const int taps = nufft_cpu_x_vectors(width, components, lanes) * lanes / components -
                     (nufft_cpu_grain(width, components, lanes, dimension) - 1);
    return taps < most ? taps : most;
}
/* Most taps in single precision: more would not lower the error. */
#define NUFFT_CPU_FLOAT_WIDTH 8

/* Points whose taps are computed together, and the largest shift along the outer axis (z; y in 2-D) of two points that
 * are spread together. */
#define NUFFT_CPU_CHUNK 16
/* Points whose coordinates are read and folded together. */
#define NUFFT_CPU_PLACES 64
#define NUFFT_CPU_PAIR_SHIFT 4

#define NUFFT_CPU_MAX_COLOURS 27

/* Places in the order are numbers of 32 bits: more points than these can count are sorted in segments of equal length. */
struct nufft_cpu_segment {
    int64_t first; /* point and place in the order; order[] counts points from here */
    int64_t n;
    int64_t *tile_begin; /* [n_tiles + 1] places in the order */
};
/* Most points of a segment: a variable for tests' sake. */
extern int64_t nufft_cpu_segment_points;

/* Part of a tile's points, of one segment; `part` counts within the tile. */
struct nufft_cpu_task {
    int64_t begin;
    int64_t end;
    int64_t first; /* of the segment */
    int64_t tile;
    int64_t part;
};

struct nufft_cpu_fft;

struct nufft_cpu_state {
    const struct nufft_cpu_kernels *kernels; /* static */
    int n_threads;
    int components;   /* values of a strength or grid cell: 1 real, 2 complex */
    size_t real_size; /* bytes of a value */
    void *table[3];   /* owned or equal to an earlier one, see nufft_cpu.c */

    int64_t tile_size[3];
    int64_t tile_count[3];
    int64_t n_tiles;
    int grain;           /* along x; see nufft_cpu_grain */
    int64_t tile_cells;  /* largest number of places in the order of a tile */
    int64_t tile_row;    /* padded copy, in values */
    int64_t tile_beyond; /* values that vectors of a row take beyond its last tap */
    int64_t tile_plane;
    int64_t tile_vector;
    void *tile; /* owned [n_threads][batch][tile_vector] */

    const void *x[3]; /* the user's coordinates, borrowed until the next set-points, or sorted[] */
    void *sorted[3]; /* owned [capacity], option copy_points: coordinates in the order of order[] */
    struct nufft_cpu_folding folding[3];
    int64_t capacity;       /* points that sorted[] and order have room for */
    uint32_t *order;        /* owned: the user's indices in a segment, sorted by tile and cell */
    char *scratch;          /* during set-points: work space of the sort, a part of each thread, */
    int64_t scratch_stride; /* so many bytes apart: in the fine grid, */
    char *own_scratch;      /* or owned where that holds modes or is too small */
    uint32_t *histogram;    /* owned: counters of the sort */
    int64_t *tile_begin;    /* owned, of all segments */
    struct nufft_cpu_segment *segments; /* owned [n_segments] */
    int64_t n_segments;
    struct nufft_cpu_task *tasks; /* owned [task_capacity] */
    int64_t task_capacity;
    int64_t n_tasks;
    int64_t colour_begin[NUFFT_CPU_MAX_COLOURS + 1]; /* tasks of a colour */
    int n_colours;
    atomic_llong *turn; /* owned [n_tiles]: the part whose turn it is to be added */

    struct nufft_cpu_fft *fft; /* owned */
};

/* Coordinates on axis a from point `first` on, NULL where there are none. */
static inline const void *nufft_cpu_x_from(const struct nufft_cpu_state *state, int a,
                                           int64_t first)
{
    const char *x = state->x[a];
    return x != NULL ? x + (size_t)first * state->real_size : NULL;
}

/* nufft_cpu_threads.c: threads a plan uses. */
int nufft_cpu_threads(const struct nufft_plan *plan);
/* Items 0 .. n-1 by n_threads threads, each a run of neighbours, thread 0 the first and thread n - 1 at most; or (uneven) each
 * the next when it is done with one. One thread takes them in their order and without OpenMP, whose runtime takes memory
 * even for a team of one. Not to be called from an item. */
typedef void nufft_cpu_item(void *work, int64_t i, int thread);
void nufft_cpu_for(int n_threads, int64_t n, nufft_cpu_item *item, void *work);
void nufft_cpu_for_uneven(int n_threads, int64_t n, nufft_cpu_item *item, void *work);

/* nufft_cpu_tiles.c: how the fine grid is cut. */
void nufft_cpu_tiles_design(const struct nufft_plan *plan, struct nufft_cpu_state *state);
void nufft_cpu_tile_start(const struct nufft_cpu_state *state, int64_t tile, int32_t *start);
enum mtip_status nufft_cpu_make_tasks(struct nufft_cpu_state *state) MTIP_NODISCARD;
int nufft_cpu_colours(const struct nufft_cpu_state *state);

/* nufft_cpu_sort.c: bytes of work space of each thread for n points; the sort of a segment, which returns 1 when a coordinate
 * is beyond the limit of its axis. */
int64_t nufft_cpu_sort_scratch(const struct nufft_cpu_state *state, int64_t n);
int nufft_cpu_sort(const struct nufft_plan *plan, const struct nufft_cpu_segment *segment);

/* nufft_cpu_points.c: the order of the points. */
enum mtip_status nufft_cpu_points_create(struct nufft_plan *plan) MTIP_NODISCARD;
void nufft_cpu_points_destroy(struct nufft_cpu_state *state);
size_t nufft_cpu_points_memory(const struct nufft_plan *plan, const struct nufft_cpu_state *state,
                               int64_t n);
enum mtip_status nufft_cpu_set_points(struct nufft_plan *plan, int64_t n, const void *x,
                                      const void *y, const void *z) MTIP_NODISCARD;

/* nufft_cpu_spread.c: the tile loops; zeros in the grids of `count` vectors, each thread's in the part that it works on. */
void nufft_cpu_clear_grid(const struct nufft_plan *plan, int64_t count);
enum mtip_status nufft_cpu_spread(struct nufft_plan *plan, const void *strengths,
                                  int64_t count) MTIP_NODISCARD;
enum mtip_status nufft_cpu_interpolate(struct nufft_plan *plan, void *strengths,
                                       int64_t count) MTIP_NODISCARD;

/* nufft_cpu_type3.c: what type 3 needs besides. */
extern const struct nufft_type3_ops nufft_cpu_type3_ops;

/* nufft_cpu_fft.c: pruned FFTs with correction. */
enum mtip_status nufft_cpu_fft_create(struct nufft_plan *plan) MTIP_NODISCARD;
void nufft_cpu_fft_destroy(struct nufft_plan *plan);
size_t nufft_cpu_fft_memory(const struct nufft_plan *plan, int n_threads);
enum mtip_status nufft_cpu_grid_to_modes(struct nufft_plan *plan, void *modes,
                                         int64_t count) MTIP_NODISCARD;
enum mtip_status nufft_cpu_modes_to_grid(struct nufft_plan *plan, const void *modes,
                                         int64_t count) MTIP_NODISCARD;

#endif
