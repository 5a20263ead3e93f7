/* fft_lines_real_impl.h - real lines to and from tiles, two a lane (fft_lines.h): included by fft_lines_impl.h, after what it
 * defines of vectors; empty without.
 */
#ifdef KERNEL
#include <string.h>

/* A vector anywhere in memory. */
INLINE vec get_row(const double *from)
{
    vec v;
    memcpy(&v, from, sizeof v);
    return v;
}

INLINE void put_row(double *to, vec v)
{
    memcpy(to, &v, sizeof v);
}

/* Real lines: line 2 l is the real part of lane l, line 2 l + 1 its imaginary part. Full tiles go in blocks of
 * LANES x LANES that are transposed in registers, the rest number by number. */
static void load_real(double *tile, const double *rows, int64_t n, int used)
{
    int64_t done = 0;
    for (; used == 2 * LANES && done + LANES <= n; done += LANES) {
        for (int part = 0; part < 2; part++) {
            vec v[LANES];
            for (int l = 0; l < LANES; l++) {
                v[l] = get_row(rows + (2 * l + part) * n + done);
            }
            transpose(v);
            for (int j = 0; j < LANES; j++) {
                ((vec *)tile)[2 * (done + j) + part] = v[j];
            }
        }
    }
    for (int64_t j = done; j < n; j++) {
        for (int row = 0; row < 2 * LANES; row++) {
            const double value = row < used ? rows[row * n + j] : 0.0;
            tile[2 * LANES * j + (row & 1 ? LANES : 0) + (row >> 1)] = value;
        }
    }
}

static void store_real(double *rows, const double *tile, int64_t n, int used)
{
    int64_t done = 0;
    for (; used == 2 * LANES && done + LANES <= n; done += LANES) {
        for (int part = 0; part < 2; part++) {
            vec v[LANES];
            for (int j = 0; j < LANES; j++) {
                v[j] = ((const vec *)tile)[2 * (done + j) + 1 - part];
            }
            transpose(v);
            for (int l = 0; l < LANES; l++) {
                put_row(rows + (2 * l + part) * n + done, v[l]);
            }
        }
    }
    for (int64_t j = done; j < n; j++) {
        for (int row = 0; row < used; row++) {
            rows[row * n + j] = tile[2 * LANES * j + (row & 1 ? 0 : LANES) + (row >> 1)];
        }
    }
}

/* The spectra of both real lines of every lane at k:
 * A = (Z_k + conj Z_-k)/2, B = (Z_k - conj Z_-k)/(2 i); out = re A, im A, re B, im B. */
INLINE void split_pair(vec out[4], const double *tile, int64_t k, int64_t n)
{
    const vec half = spread(0.5);
    const struct cvec z = get(tile, k), mirror = get(tile, k == 0 ? 0 : n - k);
    out[0] = half * (z.re + mirror.re);
    out[1] = half * (z.im - mirror.im);
    out[2] = half * (z.im + mirror.im);
    out[3] = half * (mirror.re - z.re);
}

static void store_half(double *rows, const double *tile, int64_t n, int used)
{
    const int64_t n_half = n / 2 + 1;
    int64_t done = 0;
    for (; used == 2 * LANES && done + LANES / 2 <= n_half; done += LANES / 2) {
        vec v[2][LANES];
        for (int k = 0; k < LANES / 2; k++) {
            vec out[4];
            split_pair(out, tile, done + k, n);
            for (int part = 0; part < 2; part++) {
                v[part][2 * k] = out[2 * part];
                v[part][2 * k + 1] = out[2 * part + 1];
            }
        }
        for (int part = 0; part < 2; part++) {
            transpose(v[part]);
            for (int l = 0; l < LANES; l++) {
                put_row(rows + 2 * ((2 * l + part) * n_half + done), v[part][l]);
            }
        }
    }
    for (int64_t k = done; k < n_half; k++) {
        vec out[4];
        double values[4 * LANES];
        split_pair(out, tile, k, n);
        memcpy(values, out, sizeof values);
        for (int row = 0; row < used; row++) {
            double *to = rows + 2 * (row * n_half + k);
            to[0] = values[2 * LANES * (row & 1) + (row >> 1)];
            to[1] = values[2 * LANES * (row & 1) + LANES + (row >> 1)];
        }
    }
}

/* Z_k = A_k + i B_k and Z_-k = conj A_k + i conj B_k, re and im exchanged for the inverse; a mode that is its own
 * mirror image is real. in = re A, im A, re B, im B. */
INLINE void join_pair(double *tile, const vec in[4], int64_t k, int64_t n)
{
    if (k == 0 || 2 * k == n) {
        put(tile, k, (struct cvec){in[2], in[0]});
    } else {
        put(tile, k, (struct cvec){in[1] + in[2], in[0] - in[3]});
        put(tile, n - k, (struct cvec){in[2] - in[1], in[0] + in[3]});
    }
}

static void load_half(double *tile, const double *rows, int64_t n, int used)
{
    const int64_t n_half = n / 2 + 1;
    int64_t done = 0;
    for (; used == 2 * LANES && done + LANES / 2 <= n_half; done += LANES / 2) {
        vec v[2][LANES];
        for (int part = 0; part < 2; part++) {
            for (int l = 0; l < LANES; l++) {
                v[part][l] = get_row(rows + 2 * ((2 * l + part) * n_half + done));
            }
            transpose(v[part]);
        }
        for (int k = 0; k < LANES / 2; k++) {
            const vec in[4] = {v[0][2 * k], v[0][2 * k + 1], v[1][2 * k], v[1][2 * k + 1]};
            join_pair(tile, in, done + k, n);
        }
    }
    for (int64_t k = done; k < n_half; k++) {
        vec in[4];
        double values[4 * LANES] = {0};
        for (int row = 0; row < used; row++) {
            const double *from = rows + 2 * (row * n_half + k);
            values[2 * LANES * (row & 1) + (row >> 1)] = from[0];
            values[2 * LANES * (row & 1) + LANES + (row >> 1)] = from[1];
        }
        memcpy(in, values, sizeof in);
        join_pair(tile, in, k, n);
    }
}
#endif
