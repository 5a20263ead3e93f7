/* turns.c - random turns and the parabola over a stencil of turns. */
#include "mtip/turns.h"

#include <math.h>
#include <string.h>

#include "mtip/orient.h"

/* Furthest the peak may lie from the centre, in steps: beyond, the parabola is extrapolated too far. */
#define FURTHEST 2.0

/* Offsets of the stencil in steps. */
static const double stencil[TURNS_STENCIL][3] = {
    {0, 0, 0}, {1, 0, 0},  {-1, 0, 0}, {0, 1, 0}, {0, -1, 0},
    {0, 0, 1}, {0, 0, -1}, {1, 1, 0},  {1, 0, 1}, {0, 1, 1},
};

static void turn_by(double out[4], const double q[4], const double vector[3])
{
    double turn[4];
    quaternion_from_vector(turn, vector);
    quaternion_multiply(out, q, turn);
    quaternion_canonical(out);
}

void turns_random(double *trials, const double q[4], struct rng *rng, int64_t n_trials, double step)
{
    memcpy(trials, q, 4 * sizeof *trials);
    for (int64_t t = 1; t < n_trials; t++) {
        double vector[3];
        for (int i = 0; i < 3; i++) {
            vector[i] = step * rng_normal(rng);
        }
        turn_by(trials + 4 * t, q, vector);
    }
}

void turns_stencil(double *trials, const double q[4], double step)
{
    for (int t = 0; t < TURNS_STENCIL; t++) {
        const double vector[3] = {step * stencil[t][0], step * stencil[t][1], step * stencil[t][2]};
        turn_by(trials + 4 * t, q, vector);
    }
}

/* Solves h x = g for positive definite h by Cholesky factors; 0 when h is not. */
static int solve3(double x[3], double h[3][3], const double g[3])
{
    for (int j = 0; j < 3; j++) {
        for (int k = 0; k < j; k++) {
            h[j][j] -= h[j][k] * h[j][k];
        }
        if (!(h[j][j] > 0.0)) {
            return 0;
        }
        h[j][j] = sqrt(h[j][j]);
        for (int i = j + 1; i < 3; i++) {
            for (int k = 0; k < j; k++) {
                h[i][j] -= h[i][k] * h[j][k];
            }
            h[i][j] /= h[j][j];
        }
    }
    for (int i = 0; i < 3; i++) {
        x[i] = g[i];
        for (int k = 0; k < i; k++) {
            x[i] -= h[i][k] * x[k];
        }
        x[i] /= h[i][i];
    }
    for (int i = 2; i >= 0; i--) {
        for (int k = i + 1; k < 3; k++) {
            x[i] -= h[k][i] * x[k];
        }
        x[i] /= h[i][i];
    }
    return 1;
}

void turns_peak(double out[4], const double q[4], const double *scores, double step)
{
    /* score(x) = f0 + g.x - x.h.x / 2 in units of the step */
    const double f0 = scores[0];
    const double plus[3] = {scores[1], scores[3], scores[5]};
    const double minus[3] = {scores[2], scores[4], scores[6]};
    double g[3], h[3][3], x[3];
    for (int i = 0; i < 3; i++) {
        g[i] = 0.5 * (plus[i] - minus[i]);
        h[i][i] = 2.0 * f0 - plus[i] - minus[i];
    }
    h[0][1] = h[1][0] = plus[0] + plus[1] - f0 - scores[7];
    h[0][2] = h[2][0] = plus[0] + plus[2] - f0 - scores[8];
    h[1][2] = h[2][1] = plus[1] + plus[2] - f0 - scores[9];
    if (!solve3(x, h, g)) {
        int top = 0;
        for (int t = 1; t < TURNS_STENCIL; t++) {
            top = scores[t] > scores[top] ? t : top;
        }
        memcpy(x, stencil[top], sizeof x);
    }
    const double length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    const double scale = step * (length > FURTHEST ? FURTHEST / length : 1.0);
    for (int i = 0; i < 3; i++) {
        x[i] *= scale;
    }
    turn_by(out, q, x);
}
