/* simplex.c - see simplex.h. */
#include "mtip/simplex.h"

#include <math.h>
#include <string.h>

struct simplex {
    simplex_function *function;
    void *work;
    double v[4][3]; /* corners, best first once ordered */
    double value[4];
    int evaluations;
};

static enum mtip_status evaluate(struct simplex *simplex, double *value, const double v[3])
{
    simplex->evaluations++;
    return simplex->function(value, v, simplex->work);
}

static void order(struct simplex *simplex)
{
    for (int i = 1; i < 4; i++) {
        for (int j = i; j > 0 && simplex->value[j] > simplex->value[j - 1]; j--) {
            double v[3];
            const double value = simplex->value[j];
            memcpy(v, simplex->v[j], sizeof v);
            memcpy(simplex->v[j], simplex->v[j - 1], sizeof v);
            memcpy(simplex->v[j - 1], v, sizeof v);
            simplex->value[j] = simplex->value[j - 1];
            simplex->value[j - 1] = value;
        }
    }
}

static void replace_worst(struct simplex *simplex, const double v[3], double value)
{
    memcpy(simplex->v[3], v, sizeof simplex->v[3]);
    simplex->value[3] = value;
}

/* One step: reflect the worst corner, then expand, contract or shrink. */
static enum mtip_status step(struct simplex *simplex)
{
    enum mtip_status status = MTIP_OK;
    double centre[3];
    double reflected[3];
    double other[3];
    double value = 0.0;
    double other_value = 0.0;
    for (int i = 0; i < 3; i++) {
        centre[i] = (simplex->v[0][i] + simplex->v[1][i] + simplex->v[2][i]) / 3.0;
        reflected[i] = 2.0 * centre[i] - simplex->v[3][i];
    }
    MTIP_TRY(evaluate(simplex, &value, reflected));
    if (value > simplex->value[2] && value <= simplex->value[0]) {
        replace_worst(simplex, reflected, value);
        return MTIP_OK;
    }
    const double reach = value > simplex->value[0] ? 2.0 : value > simplex->value[3] ? 0.5 : -0.5;
    for (int i = 0; i < 3; i++) {
        other[i] = centre[i] + reach * (centre[i] - simplex->v[3][i]);
    }
    MTIP_TRY(evaluate(simplex, &other_value, other));
    if (other_value > fmax(value, simplex->value[3])) {
        replace_worst(simplex, other, other_value);
    } else if (value > simplex->value[3]) {
        replace_worst(simplex, reflected, value);
    } else {
        for (int corner = 1; corner < 4; corner++) {
            for (int i = 0; i < 3; i++) {
                simplex->v[corner][i] = 0.5 * (simplex->v[corner][i] + simplex->v[0][i]);
            }
            MTIP_TRY(evaluate(simplex, &simplex->value[corner], simplex->v[corner]));
        }
    }
cleanup:
    return status;
}

enum mtip_status simplex_climb(double v[3], double *value, double size, int evaluations,
                               simplex_function *function, void *work)
{
    enum mtip_status status = MTIP_OK;
    struct simplex simplex = {.function = function, .work = work};
    for (int corner = 0; corner < 4; corner++) {
        memcpy(simplex.v[corner], v, sizeof simplex.v[corner]);
        if (corner > 0) {
            simplex.v[corner][corner - 1] += size;
        }
        MTIP_TRY(evaluate(&simplex, &simplex.value[corner], simplex.v[corner]));
    }
    order(&simplex);
    while (simplex.evaluations < evaluations) {
        MTIP_TRY(step(&simplex));
        order(&simplex);
    }
    memcpy(v, simplex.v[0], sizeof simplex.v[0]);
    *value = simplex.value[0];
cleanup:
    return status;
}
