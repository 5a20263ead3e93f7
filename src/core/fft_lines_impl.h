/* fft_lines_impl.h - body of the line transforms, compiled once an instruction set.
 *
 * The including file defines LANES, madd(a, b, c) = a b + c on vectors, transpose(v) of LANES vectors, and KERNEL, the name of the table
 * it makes; without them this header is empty. Layout and algorithm: fft_lines.h.
 */
#ifdef KERNEL
#include "core/fft_lines.h"

#define INLINE static inline __attribute__((always_inline))

struct cvec {
    vec re, im;
};

/* A scalar in every lane: vector + scalar spreads the scalar. */
INLINE vec spread(double value)
{
    return (vec){0} + value;
}

INLINE struct cvec get(const double *tile, int64_t i)
{
    const vec *v = (const vec *)tile + 2 * i;
    return (struct cvec){v[0], v[1]};
}

INLINE void put(double *tile, int64_t i, struct cvec a)
{
    vec *v = (vec *)tile + 2 * i;
    v[0] = a.re;
    v[1] = a.im;
}

INLINE struct cvec add(struct cvec a, struct cvec b)
{
    return (struct cvec){a.re + b.re, a.im + b.im};
}

INLINE struct cvec sub(struct cvec a, struct cvec b)
{
    return (struct cvec){a.re - b.re, a.im - b.im};
}

/* a times the complex scalar w. */
INLINE struct cvec turn(struct cvec a, const double *w)
{
    const vec w_re = spread(w[0]), w_im = spread(w[1]);
    return (struct cvec){madd(a.re, w_re, -(a.im * w_im)), madd(a.re, w_im, a.im * w_re)};
}

INLINE void butterfly_2(struct cvec b[2], const struct cvec a[2])
{
    b[0] = add(a[0], a[1]);
    b[1] = sub(a[0], a[1]);
}

INLINE void butterfly_4(struct cvec b[4], const struct cvec a[4])
{
    const struct cvec s = add(a[0], a[2]), d = sub(a[0], a[2]);
    const struct cvec t = add(a[1], a[3]), u = sub(a[1], a[3]);
    b[0] = add(s, t);
    b[1] = (struct cvec){d.re + u.im, d.im - u.re};
    b[2] = sub(s, t);
    b[3] = (struct cvec){d.re - u.im, d.im + u.re};
}

/* Odd radix r, known when compiled: everything in registers. */
INLINE void butterfly_odd(struct cvec *b, const struct cvec *a, const int r, const double *cos_sin)
{
    const int h = (r - 1) / 2;
    struct cvec even[6], odd[6];
    b[0] = a[0];
    for (int j = 0; j < h; j++) {
        even[j] = add(a[j + 1], a[r - 1 - j]);
        odd[j] = sub(a[j + 1], a[r - 1 - j]);
        b[0] = add(b[0], even[j]);
    }
    for (int k = 0; k < h; k++) {
        const double *c = cos_sin + 2 * k * h, *s = c + h;
        struct cvec u = a[0];
        struct cvec v = {odd[0].re * spread(s[0]), odd[0].im * spread(s[0])};
        for (int j = 0; j < h; j++) {
            u.re = madd(even[j].re, spread(c[j]), u.re);
            u.im = madd(even[j].im, spread(c[j]), u.im);
        }
        for (int j = 1; j < h; j++) {
            v.re = madd(odd[j].re, spread(s[j]), v.re);
            v.im = madd(odd[j].im, spread(s[j]), v.im);
        }
        b[k + 1] = (struct cvec){u.re + v.im, u.im - v.re};
        b[r - 1 - k] = (struct cvec){u.re - v.im, u.im + v.re};
    }
}

/* One pass of a radix known when compiled. */
INLINE void pass(const struct fft_stage *stage, const double *x, double *y, const int r)
{
    const int64_t m = stage->m, s = stage->s;
    for (int64_t p = 0; p < m; p++) {
        const double *w = stage->twiddle + 2 * p * (r - 1);
        for (int64_t q = 0; q < s; q++) {
            struct cvec a[13], b[13];
            for (int j = 0; j < r; j++) {
                a[j] = get(x, q + s * (p + m * j));
            }
            if (r == 2) {
                butterfly_2(b, a);
            } else if (r == 4) {
                butterfly_4(b, a);
            } else {
                butterfly_odd(b, a, r, stage->cos_sin);
            }
            put(y, q + s * (r * p), b[0]);
            for (int i = 1; i < r; i++) {
                put(y, q + s * (r * p + i), p == 0 ? b[i] : turn(b[i], w + 2 * (i - 1)));
            }
        }
    }
}

/* Rows k and k + 1 of both matrices at once, so that each load of a point serves two outputs. */
INLINE void dense_rows(struct cvec *u, struct cvec *v, const double *even, const double *odd,
                       const double *cos_sin, int64_t h, const int rows)
{
    for (int64_t j = 0; j < h; j++) {
        const struct cvec e = get(even, j), o = get(odd, j);
        for (int row = 0; row < rows; row++) {
            const vec c = spread(cos_sin[2 * row * h + j]);
            const vec s = spread(cos_sin[(2 * row + 1) * h + j]);
            u[row].re = madd(e.re, c, u[row].re);
            u[row].im = madd(e.im, c, u[row].im);
            v[row].re = madd(o.re, s, v[row].re);
            v[row].im = madd(o.im, s, v[row].im);
        }
    }
}

/* One pass of any odd radix; spare holds the even and odd parts of the points. */
static void pass_dense(const struct fft_stage *stage, const double *x, double *y, double *spare)
{
    const int64_t m = stage->m, s = stage->s, r = stage->radix, h = (r - 1) / 2;
    double *even = spare, *odd = spare + 2 * LANES * h;
    for (int64_t pq = 0; pq < m * s; pq++) {
        const int64_t p = pq / s, q = pq % s;
        const double *w = stage->twiddle + 2 * p * (r - 1);
        const struct cvec first = get(x, q + s * p);
        struct cvec total = first;
        for (int64_t j = 0; j < h; j++) {
            const struct cvec a = get(x, q + s * (p + m * (j + 1)));
            const struct cvec b = get(x, q + s * (p + m * (r - 1 - j)));
            put(even, j, add(a, b));
            put(odd, j, sub(a, b));
            total = add(total, add(a, b));
        }
        put(y, q + s * r * p, total);
        for (int64_t k = 0; k < h; k += 2) {
            struct cvec u[2] = {first, first}, v[2] = {{(vec){0}, (vec){0}}, {(vec){0}, (vec){0}}};
            const int rows = k + 1 < h ? 2 : 1;
            if (rows == 2) {
                dense_rows(u, v, even, odd, stage->cos_sin + 2 * k * h, h, 2);
            } else {
                dense_rows(u, v, even, odd, stage->cos_sin + 2 * k * h, h, 1);
            }
            for (int row = 0; row < rows; row++) {
                const int64_t i = k + row + 1;
                const struct cvec plus = {u[row].re + v[row].im, u[row].im - v[row].re};
                const struct cvec minus = {u[row].re - v[row].im, u[row].im + v[row].re};
                put(y, q + s * (r * p + i), turn(plus, w + 2 * (i - 1)));
                put(y, q + s * (r * p + r - i), turn(minus, w + 2 * (r - i - 1)));
            }
        }
    }
}

static double *transform(const struct fft_lines *lines, double *x, double *y, double *spare)
{
    for (int i = 0; i < lines->n_stages; i++) {
        const struct fft_stage *stage = &lines->stages[i];
        switch (stage->radix) {
        case 2:
            pass(stage, x, y, 2);
            break;
        case 3:
            pass(stage, x, y, 3);
            break;
        case 4:
            pass(stage, x, y, 4);
            break;
        case 5:
            pass(stage, x, y, 5);
            break;
        case 7:
            pass(stage, x, y, 7);
            break;
        default:
            pass_dense(stage, x, y, spare);
            break;
        }
        double *swap = x;
        x = y;
        y = swap;
    }
    return x;
}

/* Points j of the `lanes` lines of one tile, side by side in memory. */
INLINE void load_lanes(double *re, double *im, const double *line, const int lanes)
{
    for (int l = 0; l < lanes; l++) {
        re[l] = line[2 * l];
        im[l] = line[2 * l + 1];
    }
}

INLINE void store_lanes(double *line, const double *re, const double *im, const int lanes)
{
    for (int l = 0; l < lanes; l++) {
        line[2 * l] = re[l];
        line[2 * l + 1] = im[l];
    }
}

/* Point by point over all tiles, so that memory is read in pieces of several cache lines. */
static void load(double *tiles, const double *from, int64_t n, int64_t stride, int used, int swap)
{
    const int whole = used / LANES, rest = used % LANES;
    for (int64_t j = 0; j < n; j++) {
        double *re = tiles + 2 * LANES * j + (swap ? LANES : 0);
        double *im = tiles + 2 * LANES * j + (swap ? 0 : LANES);
        const double *line = from + 2 * j * stride;
        for (int t = 0; t < whole; t++) {
            load_lanes(re, im, line, LANES);
            re += 2 * LANES * n;
            im += 2 * LANES * n;
            line += 2 * LANES;
        }
        for (int l = 0; rest > 0 && l < LANES; l++) {
            re[l] = l < rest ? line[2 * l] : 0.0;
            im[l] = l < rest ? line[2 * l + 1] : 0.0;
        }
    }
}

static void store(double *to, const double *tiles, int64_t n, int64_t stride, int used, int swap)
{
    const int whole = used / LANES, rest = used % LANES;
    for (int64_t j = 0; j < n; j++) {
        const double *re = tiles + 2 * LANES * j + (swap ? LANES : 0);
        const double *im = tiles + 2 * LANES * j + (swap ? 0 : LANES);
        double *line = to + 2 * j * stride;
        for (int t = 0; t < whole; t++) {
            store_lanes(line, re, im, LANES);
            re += 2 * LANES * n;
            im += 2 * LANES * n;
            line += 2 * LANES;
        }
        store_lanes(line, re, im, rest);
    }
}

#include "core/fft_lines_real_impl.h"

const struct fft_lines_kernel KERNEL = {
    .lanes = LANES,
    .name = KERNEL_NAME,
    .transform = transform,
    .load = load,
    .store = store,
    .load_real = load_real,
    .store_half = store_half,
    .load_half = load_half,
    .store_real = store_real,
};
#endif
