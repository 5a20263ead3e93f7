/* nufft_kernels_column.cuh - method COLUMN: the fine grid's cells live in registers and slide along the last axis. For both
 * directions; no atomics per point, no conflicts in shared memory, kernel values worked out once a point and block.
 *
 * In double precision a spread adds to the grid in fixed point (nufft_kernels_fixed.cu) and takes the points of a bin in the
 * user's order, so that it gives the same bits every time; in single precision the order of additions to a cell is open.
 *
 * A block takes a subproblem: at most a thousand points of one column of cells, in the order of their slide cell (z in
 * 3-D, y in 2-D). Its X * Y threads each own one line of cells along the slide axis: thread (x, y) the cells (column
 * start + 1 + x, + y, any). The column is X - w + 1 by Y - w + 1 cells wide, so that all taps of its points fall on
 * owned lines. Of its line a thread holds the window of w cells that the current slide cell needs, in registers; when
 * the points move on to the next slide cell, the window moves with them: spreading adds the cell that leaves to the
 * grid, interpolation reads the one that enters. Every warp moves its window by itself.
 *
 * Points are taken BATCH = 32 at a time. Their kernel values go to shared memory, as rows over all X (and Y) lines,
 * with zeros where a line is out of the point's reach, so that the inner loop has no conditions: per point and thread
 *     spread        v = c kx[x] ky[y];  window[i] += v kz[i], i < w
 *     interpolate   c = kx[x] ky[y] sum_i window[i] kz[i], summed over the threads
 * kz[i] is the same address for all lanes (one 16-byte access gives two or four of them), kx runs over lanes: no bank
 * conflicts. A warp spans two rows of y (X = 16); points whose taps miss its rows are skipped by a ballot over the batch.
 *
 * Cost a point on an H200 (132 SMs, 1.98 GHz; 64 double or 128 single multiply-adds and 128 bytes of shared memory a cycle
 * and SM), 3-D, complex: (w + 1) / 2 of the 8 warps take part; each issues 2 w + 3 multiply-adds and
 * 3 + w sizeof(T) / 16 accesses of shared memory, 4 + w sizeof(T)/16 cycles:
 *     w = 12, double: 6.5 warps x 27 / 2 cycles = 88 cycles, 0.34 ns (shared memory: 6.5 x 10 = 65 cycles)
 *     w = 7,  double: 4 x 17 / 2 = 34 cycles, 0.13 ns (shared memory: 30 cycles)
 *     w = 6,  single: 3.5 x (15 + 14 others) / 4 = 25 cycles, 0.10 ns
 * plus the kernel values, (X + Y + w)(degree + 1) multiply-adds and loads a point and block (w = 12: 11 loads of a warp, some
 * 20 cycles of L1, which is in the unit of shared memory, and 5 of arithmetic). Interpolation adds a butterfly over each warp,
 * whether it takes part or not: 9 exchanges for 8 points in single, 6 for 4 in double precision (5 for 2 at w = 12,
 * complex), each of one or two words a value and a cycle a word, in the unit of shared memory, too: w = 12, double, complex: 8
 * warps x 2.5 x 4 = 80 cycles; w = 7, double: 8 x 1.5 x 4 = 48; w = 6, single: 8 x 9 / 8 x 2 = 18. Bytes: a sorted point is read
 * once (28 or 40 bytes, and the strength); a plane of X Y cells is added to the grid, or read, a slide cell:
 * X Y / ((X-w+1)(Y-w+1)) times the grid, 10 at w = 12, 2.6 at w = 7, and w - 1 planes more a subproblem: 81^3 modes at 1e-12
 * (210^3 cells), complex, 1.64e7 points: 1.5 + 0.8 GB of additions, 1.0 ms at 2.4 TB/s.
 * Real data: half the multiply-adds a vector; two real vectors run as one complex one.
 *
 * Shared memory: the batch, 4 to 24 KiB, static. Registers: the window, 2 w values (w <= 12: two blocks of 256 threads a SM).
 */
#ifndef MTIP_NUFFT_NUFFT_KERNELS_COLUMN_CUH
#define MTIP_NUFFT_NUFFT_KERNELS_COLUMN_CUH

#include "nufft/nufft_kernels_device.cuh"

#define BATCH 32
/* Loads from shared memory are not moved ahead across this: without it the compiler fetches all taps of a point first
 * and runs out of registers. */
#define KEEP_ORDER() asm volatile("" ::: "memory")
#define TAPS_AT_ONCE 4

/* Sizes of an instance. W taps are provided for: the width itself in 3-D; below, the width is at most W. */
template <class T, int DIM, int W, int LAYOUT> struct column {
    static const int N = components_of<LAYOUT>::n;
    static const int X = DIM < 3 ? 32 : W <= 12 ? 16 : 20; /* as nufft_column_shape() */
    static const int Y = DIM < 3 ? 1 : W <= 12 ? 16 : 19;
    static const int S = DIM == 1 ? 1 : W; /* cells of the window */
    static const int PER_LINE = 16 / (int)sizeof(T);
    static const int S_ROW = (S + PER_LINE - 1) / PER_LINE * PER_LINE; /* rows of whole 16 bytes */
    static const int THREADS = (X * Y + 31) / 32 * 32;
    static const int WARPS = THREADS / 32;
    /* Interpolation fetches one cell of the window ahead where registers allow. */
    static const int AHEAD = DIM > 1 && S *N *(int)sizeof(T) <= 192 ? 1 : 0;
    /* Levels of interpolation's butterfly: fewer leave more to plain sums, but wait in fewer registers. */
    static const int LEVELS = sizeof(T) == 4 ? 3 : S == 12 && N == 2 ? 1 : 2;
    /* Blocks a SM that the registers must allow. */
    static const int BLOCKS = DIM < 3 ? 8 : W > 12 ? 1 : sizeof(T) == 8 ? 2 : 3;
};

/* Points as they were stored, and their strengths; two buffers: the next batch arrives while one is worked on. */
template <class T, int N> struct column_points {
    T fraction[3][BATCH];
    T strength[N][BATCH];
    int32_t at[3][BATCH]; /* x and y relative to the column; the slide cell */
};

/* The batch in shared memory. x rows of a spread hold the NX = N strengths already;
 * interpolation has NX = 0. */
template <class T, int DIM, int W, int LAYOUT, int NX> struct column_batch {
    typedef column<T, DIM, W, LAYOUT> shape;
    T slide[BATCH][shape::S_ROW];
    static const int ROW = NX > 0 ? NX : 1;
    T x[BATCH][shape::X * ROW];
    T y[BATCH][shape::Y];
    column_points<T, shape::N> points[2];
};

/* What a thread knows of its place. */
template <class T, int DIM, int W, int LAYOUT> struct column_thread {
    typedef column<T, DIM, W, LAYOUT> shape;
    int64_t line; /* grid cell of its line at slide cell 0 */
    int64_t step; /* grid cells from one slide cell to the next */
    int32_t nf;   /* slide cells */

    __device__ column_thread(const struct nufft_job &job, const struct nufft_subproblem &sub)
    {
        line = (sub.x + 1 + x()) % job.nf[0];
        step = 0;
        nf = 1;
        if (DIM == 2) {
            step = job.grid_row;
            nf = job.nf[1];
        } else if (DIM == 3) {
            line += ((sub.y + 1 + y()) % job.nf[1]) * job.grid_row;
            step = job.grid_plane;
            nf = job.nf[2];
        }
    }
    /* Its line, worked out again where needed; y is clamped for threads without one. */
    __device__ __forceinline__ bool owns() const
    {
        return shape::X * shape::Y == shape::THREADS || threadIdx.x < shape::X * shape::Y;
    }
    __device__ __forceinline__ int x() const
    {
        return (int)threadIdx.x % shape::X;
    }
    __device__ __forceinline__ int y() const
    {
        return owns() ? (int)threadIdx.x / shape::X : shape::Y - 1;
    }
    /* Grid cell of its line at slide position p < 3 nf. */
    __device__ __forceinline__ int64_t cell(int32_t p) const
    {
        return DIM == 1 ? line : line + wrapped(wrapped(p, nf), nf) * step;
    }
    /* Whether taps y .. y + width - 1 meet the warp's rows. */
    __device__ __forceinline__ bool meets(int y_tap, int width) const
    {
        const int t = (int)threadIdx.x, last = shape::X * shape::Y - 1;
        const int y_first = (t & ~31) / shape::X;
        const int y_last = ((t | 31) < last ? (t | 31) : last) / shape::X;
        return DIM < 3 || (y_tap <= y_last && y_tap + width > y_first);
    }
};

/* The subproblem's points from `first` on, at most BATCH, by the first warp: from global to shared memory. */
template <class T, int DIM, int LAYOUT, int NX>
__device__ __forceinline__ void
fetch_points(column_points<T, components_of<LAYOUT>::n> &points, const struct nufft_job &job,
             const struct nufft_subproblem *sub, const field<T, LAYOUT> &strengths, int first)
{
    const int t = (int)threadIdx.x;
    const int32_t start[3] = {sub->x, DIM == 3 ? sub->y : 0, 0};
    if (t >= BATCH || first + t >= (int)(sub->end - sub->begin)) {
        return;
    }
    const int64_t j = (int64_t)sub->begin + first + t;
#pragma unroll
    for (int a = 0; a < DIM; a++) {
        points.fraction[a][t] = __ldg((const T *)job.s[a] + j);
        points.at[a][t] = __ldg(job.cell[a] + j) - start[a];
    }
    if (NX > 0) {
        const int64_t user = __ldg(job.order + j);
#pragma unroll
        for (int m = 0; m < NX; m++) {
            points.strength[m][t] = __ldg(strengths.at(user, m));
        }
    }
}

/* Kernel values of the batch's n points, by all threads. */
template <class T, int DIM, int W, int LAYOUT, int NX>
__device__ __forceinline__ void fill_batch(column_batch<T, DIM, W, LAYOUT, NX> &batch,
                                           const column_points<T, components_of<LAYOUT>::n> &points,
                                           const struct nufft_job &job, int n)
{
    typedef column<T, DIM, W, LAYOUT> shape;
    const int width = DIM == 3 ? W : job.width[0];
    const int degree = NUFFT_KERNEL_DEGREE(width);
    const int last = DIM - 1;
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < n * shape::X; k += shape::THREADS) {
        const int p = k / shape::X, u = k % shape::X, i = u - points.at[0][p];
        const T value = i >= 0 && i < width ? kernel_tap<T>((const T *)job.poly[0], width, degree,
                                                            points.fraction[0][p], i)
                                            : (T)0;
        if (NX == 0) {
            batch.x[p][u] = value;
        }
#pragma unroll
        for (int m = 0; m < NX; m++) {
            batch.x[p][u * NX + m] = value * points.strength[m][p];
        }
    }
#pragma unroll 1
    for (int k = (int)threadIdx.x; DIM == 3 && k < n * shape::Y; k += shape::THREADS) {
        const int p = k / shape::Y, u = k % shape::Y, i = u - points.at[1][p];
        batch.y[p][u] = i >= 0 && i < width ? kernel_tap<T>((const T *)job.poly[1], width, degree,
                                                            points.fraction[1][p], i)
                                            : (T)0;
    }
#pragma unroll 1
    for (int k = (int)threadIdx.x; DIM > 1 && k < n * shape::S; k += shape::THREADS) {
        const int p = k / shape::S, i = k % shape::S;
        batch.slide[p][i] = i < width ? kernel_tap<T>((const T *)job.poly[last], width, degree,
                                                      points.fraction[last][p], i)
                                      : (T)0;
    }
}

/* Adds to a cell of a vector's grid: fixed point in double precision. */
__device__ __forceinline__ void add_to_cell(float *cell, float value, const struct nufft_fixed *)
{
    atomicAdd(cell, value);
}
__device__ __forceinline__ void add_to_cell(double *cell, double value,
                                            const struct nufft_fixed *fixed)
{
    const double scale = __ldg(&fixed->scale);
    if (scale > 0.0) {
        atomicAdd((unsigned long long *)cell, (unsigned long long)__double2ll_rn(value * scale));
    }
}

/* Type 1: b_l = sum_j c_j phi(l - g_j), added to the grid. Block = subproblem, grid y = groups of vectors. Global atomic
 * additions: one a cell of a plane that leaves the window, coalesced over x (neighbouring columns overlap).
 * w = 12, double, complex: 6.5 warps of 2 w + 2 multiply-adds, 85 cycles, about as many of shared memory and L1, and 56 bytes a
 * point: 0.32 ns, arithmetic, 5.3 ms for 1.64e7 points on 210^3 cells; with 0.9 GB of points and 2.3 GB of additions, 1.2 ms. */
template <class T, int DIM, int W, int LAYOUT>
__global__ void __launch_bounds__(column<T, DIM, W, LAYOUT>::THREADS,
                                  column<T, DIM, W, LAYOUT>::BLOCKS)
    spread_column_kernel(const struct nufft_job job, const void *strengths, int64_t groups)
{
    typedef column<T, DIM, W, LAYOUT> shape;
    const int N = shape::N;
    __shared__ __align__(16) column_batch<T, DIM, W, LAYOUT, shape::N> batch;
    /* Read again where needed: registers are short. */
    const struct nufft_subproblem *sub = job.subproblems + blockIdx.x;
    const column_thread<T, DIM, W, LAYOUT> me(job, *sub);
    const int t = (int)threadIdx.x, lane = t % 32;
    const int width = DIM == 3 ? W : job.width[0];
    const int last = DIM - 1;
    const int count = (int)(sub->end - sub->begin);
    for (int64_t g = blockIdx.y; g < groups; g += gridDim.y) {
        const field<T, LAYOUT> from(strengths, job.n_points, g), to(job.grid, job.grid_vector, g);
        T window[shape::S][shape::N];
#pragma unroll
        for (int i = 0; i < shape::S; i++) {
#pragma unroll
            for (int m = 0; m < N; m++) {
                window[i][m] = (T)0;
            }
        }
        int32_t at = DIM == 1 ? 0 : job.cell[last][sub->begin];
        /* The first cell leaves `steps` times, at most all of them. */
        auto advance = [&](int steps) {
            for (int k = 0; k < steps; k++) {
                const int64_t cell = me.cell(at + 1 + k);
#pragma unroll
                for (int m = 0; m < N; m++) {
                    if (window[0][m] != (T)0 && me.owns()) {
                        add_to_cell(to.at(cell, m), window[0][m],
                                    job.fixed + (LAYOUT == COMPLEX ? g : N * g + m));
                    }
#pragma unroll
                    for (int i = 0; i + 1 < shape::S; i++) {
                        window[i][m] = window[i + 1][m];
                    }
                    window[shape::S - 1][m] = (T)0;
                }
            }
        };
        fetch_points<T, DIM, LAYOUT, shape::N>(batch.points[0], job, sub, from, 0);
        for (int done = 0; done < count; done += BATCH) {
            const int n = count - done < BATCH ? count - done : BATCH;
            const column_points<T, shape::N> &points = batch.points[done / BATCH % 2];
            __syncthreads(); /* the points have come, the batch before is done with */
            fill_batch<T, DIM, W, LAYOUT, shape::N>(batch, points, job, n);
            __syncthreads();
            /* The first warp, at the column's rim, has the fewest points to work on. */
            fetch_points<T, DIM, LAYOUT, shape::N>(batch.points[1 - done / BATCH % 2], job, sub,
                                                   from, done + BATCH);
            const bool touches = lane < n && (DIM < 3 || me.meets(points.at[1][lane], width));
            unsigned active = __ballot_sync(0xffffffffu, touches);
            while (active != 0) {
                const int p = __ffs((int)active) - 1;
                active &= active - 1;
                if (DIM > 1) {
                    const int32_t next = points.at[last][p];
                    if (next != at) {
                        advance(next - at < shape::S ? next - at : shape::S);
                        at = next;
                    }
                }
                T v[shape::N];
#pragma unroll
                for (int m = 0; m < N; m++) {
                    v[m] = batch.x[p][me.x() * N + m] * (DIM == 3 ? batch.y[p][me.y()] : (T)1);
                }
#pragma unroll
                for (int i = 0; i < shape::S; i++) {
                    if (i % TAPS_AT_ONCE == 0) {
                        KEEP_ORDER();
                    }
                    const T k = DIM == 1 ? (T)1 : batch.slide[p][i];
#pragma unroll
                    for (int m = 0; m < N; m++) {
                        window[i][m] += v[m] * k;
                    }
                }
            }
        }
        advance(shape::S);
        __syncthreads(); /* before the next group's points come */
    }
}

/* One step of the butterfly that sums 2^LEVELS points over the lanes of a warp; called for p = 0, 1, .. in turn. On level
 * L a point whose bits 0 .. L are set meets its partner with bit L clear, which waited in held[L]: each lane keeps the
 * point of the two that agrees with its own bit L, and gives the other away. After 2^LEVELS points lane l has a part of
 * the sum of point l modulo 2^LEVELS. */
template <class T, int N, int LEVELS, int L>
__device__ __forceinline__ void join_levels(T (&held)[LEVELS][N], T (&v)[N], int p, int lane)
{
    if ((p >> L & 1) == 0) {
#pragma unroll
        for (int m = 0; m < N; m++) {
            held[L][m] = v[m];
        }
        return;
    }
    const bool upper = lane >> L & 1;
#pragma unroll
    for (int m = 0; m < N; m++) {
        const T mine = upper ? v[m] : held[L][m];
        const T other = upper ? held[L][m] : v[m];
        v[m] = mine + __shfl_xor_sync(0xffffffffu, other, 1 << L);
    }
    if constexpr (L + 1 < LEVELS) {
        join_levels<T, N, LEVELS, L + 1>(held, v, p, lane);
    }
}

/* Type 2: c_j = sum_l b_l phi(l - g_j). Block = subproblem, grid y = groups of vectors. No atomics; sums over lanes by a
 * butterfly that halves the number of points a lane holds at each step, over warps in their order: the same bits every
 * time. w = 12, double, complex: 6.5 warps of 2 w + 3 multiply-adds, 88 cycles, but 65 of shared memory, 80 of exchanges and 20
 * of L1 in one unit, which governs, and 56 bytes a point: 0.63 ns, 10 ms for 1.64e7 points; planes read: 2.3 GB, 0.5 ms. */
template <class T, int DIM, int W, int LAYOUT>
__global__ void __launch_bounds__(column<T, DIM, W, LAYOUT>::THREADS,
                                  column<T, DIM, W, LAYOUT>::BLOCKS)
    interpolate_column_kernel(const struct nufft_job job, void *strengths, int64_t groups)
{
    typedef column<T, DIM, W, LAYOUT> shape;
    const int N = shape::N;
    __shared__ __align__(16) column_batch<T, DIM, W, LAYOUT, 0> batch;
    __shared__ T sums[shape::WARPS][shape::N][BATCH];
    /* Read again where needed: registers are short. */
    const struct nufft_subproblem *sub = job.subproblems + blockIdx.x;
    const column_thread<T, DIM, W, LAYOUT> me(job, *sub);
    const int t = (int)threadIdx.x, lane = t % 32;
    const int width = DIM == 3 ? W : job.width[0];
    const int last = DIM - 1;
    const int count = (int)(sub->end - sub->begin);
    for (int64_t g = blockIdx.y; g < groups; g += gridDim.y) {
        const field<T, LAYOUT> from(job.grid, job.grid_vector, g);
        T window[shape::S + shape::AHEAD][shape::N];
        int32_t at = DIM == 1 ? 0 : job.cell[last][sub->begin];
        auto read = [&](T *value, int64_t cell) {
#pragma unroll
            for (int m = 0; m < N; m++) {
                value[m] = __ldg(from.at(cell, m));
            }
        };
        auto reload = [&]() {
            int32_t position = wrapped(at + 1, me.nf);
            int64_t cell = me.cell(position);
#pragma unroll
            for (int i = 0; i < shape::S + shape::AHEAD; i++) {
                read(window[i], cell);
                /* One after the other: addresses worked out side by side would take registers. */
                position++;
                cell = position == me.nf ? me.line : cell + me.step;
                position = position == me.nf ? 0 : position;
            }
        };
        reload();
        fetch_points<T, DIM, LAYOUT, 0>(batch.points[0], job, sub, from, 0);
        for (int done = 0; done < count; done += BATCH) {
            const int n = count - done < BATCH ? count - done : BATCH;
            const column_points<T, shape::N> &points = batch.points[done / BATCH % 2];
            __syncthreads(); /* the points have come, the batch before is done with */
            fill_batch<T, DIM, W, LAYOUT, 0>(batch, points, job, n);
            __syncthreads();
            /* The first warp, at the column's rim, has the fewest points to work on. */
            fetch_points<T, DIM, LAYOUT, 0>(batch.points[1 - done / BATCH % 2], job, sub, from,
                                            done + BATCH);
            const bool touches = lane < n && (DIM < 3 || me.meets(points.at[1][lane], width));
            const unsigned active = __ballot_sync(0xffffffffu, touches);
            T held[shape::LEVELS][shape::N]; /* sums that wait for their partner, by level */
#pragma unroll
            for (int l = 0; l < shape::LEVELS * N; l++) {
                held[l / N][l % N] = (T)0;
            }
#pragma unroll 1
            for (int p = 0; p < BATCH; p++) {
                T v[shape::N];
#pragma unroll
                for (int m = 0; m < N; m++) {
                    v[m] = (T)0;
                }
                if (active >> p & 1u) {
                    if (DIM > 1) {
                        const int32_t next = points.at[last][p];
                        if (next - at >= shape::S) {
                            at = next;
                            reload();
                        }
                        for (; at < next; at++) {
#pragma unroll
                            for (int i = 0; i + 1 < shape::S + shape::AHEAD; i++) {
#pragma unroll
                                for (int m = 0; m < N; m++) {
                                    window[i][m] = window[i + 1][m];
                                }
                            }
                            read(window[shape::S + shape::AHEAD - 1],
                                 me.cell(at + 1 + shape::S + shape::AHEAD));
                        }
                    }
                    const T f = batch.x[p][me.x()] * (DIM == 3 ? batch.y[p][me.y()] : (T)1);
#pragma unroll
                    for (int i = 0; i < shape::S; i++) {
                        if (i % TAPS_AT_ONCE == 0) {
                            KEEP_ORDER();
                        }
                        const T k = DIM == 1 ? (T)1 : batch.slide[p][i];
#pragma unroll
                        for (int m = 0; m < N; m++) {
                            v[m] += window[i][m] * k;
                        }
                    }
#pragma unroll
                    for (int m = 0; m < N; m++) {
                        v[m] = me.owns() ? v[m] * f : (T)0;
                    }
                }
                join_levels<T, shape::N, shape::LEVELS, 0>(held, v, p, lane);
                if ((p + 1) % (1 << shape::LEVELS) == 0) {
#pragma unroll
                    for (int m = 0; m < N; m++) {
#pragma unroll
                        for (int l = shape::LEVELS; l < 5; l++) {
                            v[m] += __shfl_xor_sync(0xffffffffu, v[m], 1 << l);
                        }
                        if (lane < 1 << shape::LEVELS) {
                            sums[t / 32][m][p + 1 - (1 << shape::LEVELS) + lane] = v[m];
                        }
                    }
                }
            }
            __syncthreads();
            if (t < BATCH && done + t < count) {
                const field<T, LAYOUT> to(strengths, job.n_points, g);
                const int64_t user = job.order[(int64_t)sub->begin + done + t];
#pragma unroll
                for (int m = 0; m < N; m++) {
                    T sum = (T)0;
                    for (int w = 0; w < shape::WARPS; w++) {
                        sum += sums[w][m][t];
                    }
                    *to.at(user, m) = sum;
                }
            }
        }
    }
}

/* ---- launchers --------------------------------------------------------------------------------- */
/* Either direction, for one layout: `spread` != 0 reads the strengths. */
template <class T, int DIM, int W, int LAYOUT>
static void launch_column(const struct nufft_job *job, int spread, void *strengths, int64_t groups,
                          cudaStream_t stream)
{
    typedef column<T, DIM, W, LAYOUT> shape;
    const dim3 blocks((unsigned)job->n_subproblems, group_blocks(groups));
    if (spread) {
        LAUNCH((spread_column_kernel<T, DIM, W, LAYOUT>), blocks, shape::THREADS, 0, stream, *job,
               (const void *)strengths, groups);
    } else {
        LAUNCH((interpolate_column_kernel<T, DIM, W, LAYOUT>), blocks, shape::THREADS, 0, stream,
               *job, strengths, groups);
    }
}

/* Vectors of a layout: pairs of real vectors only in 3-D, to keep the number of instances down. */
template <class T, int DIM, int W>
static void launch_column_layouts(struct nufft_job job, int spread, void *strengths,
                                  int64_t vectors, cudaStream_t stream)
{
    if (job.components == 2) {
        launch_column<T, DIM, W, COMPLEX>(&job, spread, strengths, vectors, stream);
        return;
    }
    int64_t paired = 0;
    if (DIM == 3 && vectors >= 2) {
        paired = vectors / 2 * 2;
        launch_column<T, 3, W, REAL2>(&job, spread, strengths, vectors / 2, stream);
    }
    if (vectors > paired) {
        job.grid = (T *)job.grid + paired * job.grid_vector;
        job.fixed += paired;
        launch_column<T, DIM, W, REAL1>(&job, spread, (T *)strengths + paired * job.n_points,
                                        vectors - paired, stream);
    }
}

#endif
