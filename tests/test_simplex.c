/* test_simplex.c - the climb finds a known maximum, keeps to its evaluations, and passes errors on. */
#include <math.h>

#include "support.h"

#include "mtip/simplex.h"

struct hill {
    double top[3];
    int calls;
    int fails_at; /* call that fails, 0 = none */
};

/* An oblong, tilted hill of height 5. */
static enum mtip_status height(double *value, const double v[3], void *work)
{
    struct hill *hill = work;
    const double a = v[0] - hill->top[0] + 0.5 * (v[1] - hill->top[1]);
    const double b = v[1] - hill->top[1];
    const double c = v[2] - hill->top[2];
    hill->calls++;
    if (hill->calls == hill->fails_at) {
        return MTIP_ERROR(MTIP_ERR_DATA, "no ground here");
    }
    *value = 5.0 - a * a - 9.0 * b * b - 0.3 * c * c;
    return MTIP_OK;
}

static void finds_the_top(void **state)
{
    (void)state;
    struct hill hill = {.top = {1.0, -2.0, 0.5}};
    double v[3] = {0.0, 0.0, 0.0};
    double value = 0.0;
    assert_ok(simplex_climb(v, &value, 0.3, 300, height, &hill));
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(v[i] - hill.top[i]) < 1e-6);
    }
    assert_true(fabs(value - 5.0) < 1e-12);
    /* The last step may take its reflection, one more point and three corners. */
    assert_in_range(hill.calls, 300, 304);
}

/* The start is a corner: never worse than that. */
static void never_goes_down(void **state)
{
    (void)state;
    for (int evaluations = 4; evaluations < 60; evaluations++) {
        struct hill hill = {.top = {0.0, 0.0, 0.0}};
        double v[3] = {0.01, 0.0, 0.0};
        double value = 0.0;
        assert_ok(simplex_climb(v, &value, 0.5, evaluations, height, &hill));
        assert_true(value >= 5.0 - 0.0001);
    }
}

static void passes_errors_on(void **state)
{
    (void)state;
    for (int call = 1; call < 40; call++) {
        struct hill hill = {.top = {1.0, 1.0, 1.0}, .fails_at = call};
        double v[3] = {0.0, 0.0, 0.0};
        double value = 0.0;
        assert_int_equal(simplex_climb(v, &value, 0.3, 60, height, &hill), MTIP_ERR_DATA);
        assert_int_equal(hill.calls, call);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_top),
        cmocka_unit_test(never_goes_down),
        cmocka_unit_test(passes_errors_on),
    };
    return cmocka_run_group_tests_name("mtip/simplex", tests, NULL, NULL);
}
