/* vec3.h - vectors of three components. */
#ifndef MTIP_MTIP_VEC3_H
#define MTIP_MTIP_VEC3_H

#include <math.h>

static inline double vec_dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double vec_distance(const double a[3], const double b[3])
{
    const double d[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return sqrt(vec_dot(d, d));
}

/* To length 1; a vector of zeros stays one. */
static inline void vec_normalise(double a[3])
{
    const double scale = 1.0 / (sqrt(vec_dot(a, a)) + 1e-30);
    for (int i = 0; i < 3; i++) {
        a[i] *= scale;
    }
}

/* out = a + t b. */
static inline void vec_along(double out[3], const double a[3], double t, const double b[3])
{
    for (int i = 0; i < 3; i++) {
        out[i] = a[i] + t * b[i];
    }
}

#endif
