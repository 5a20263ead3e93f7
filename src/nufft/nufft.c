/* nufft.c - the public functions: checks, and the algorithm over a backend's stages. */
#include "nufft/nufft.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "nufft/nufft_design.h"
#include "nufft/nufft_ops.h"
#include "nufft/nufft_type3.h"

/* Vectors on the grid at once: enough to share the kernel values, within this much memory. */
#define BATCH_MAX 8
#define BATCH_BYTES ((double)(256 << 20))

static const char *const coordinate_names = "xyz";

struct nufft_options nufft_options_default(void)
{
    return (struct nufft_options){.backend = NUFFT_BACKEND_CPU, .order = NUFFT_ORDER_CENTRED};
}

static enum mtip_status choose_backend(const struct nufft_ops **ops, enum nufft_backend backend)
{
    switch (backend) {
    case NUFFT_BACKEND_CPU:
        *ops = &nufft_ops_cpu;
        return nufft_ops_cpu.check();
    case NUFFT_BACKEND_CUDA:
#ifdef MTIP_HAVE_CUDA
        *ops = &nufft_ops_cuda;
        return MTIP_OK;
#else
        return MTIP_ERROR(MTIP_ERR_UNSUPPORTED,
                          "nufft: this build has no CUDA backend (make CUDA=1)");
#endif
    }
    return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: backend %d is not known", (int)backend);
}

static enum mtip_status check_arguments(int type, int dimension, const int64_t *n_modes, int sign,
                                        int64_t n_vectors, double tolerance,
                                        enum nufft_precision precision,
                                        const struct nufft_options *options)
{
    if (type < 1 || type > 3) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: type %d must be 1, 2 or 3", type);
    }
    if (dimension < 1 || dimension > 3) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: dimension %d must be 1, 2 or 3", dimension);
    }
    if (precision != NUFFT_FLOAT && precision != NUFFT_DOUBLE) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: precision %d is not known", (int)precision);
    }
    if (sign != 1 && sign != -1) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: sign %d must be +1 or -1", sign);
    }
    if (n_vectors < 1) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: number of vectors %" PRId64 " must be >= 1",
                          n_vectors);
    }
    const double tightest = precision == NUFFT_FLOAT ? 1e-6 : 1e-14;
    /* The bounds themselves are allowed, whatever way they were rounded. */
    if (!(tolerance >= tightest * (1.0 - 1e-6) && tolerance <= 0.1 * (1.0 + 1e-6))) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "nufft: tolerance %g must be between %g and 0.1 in %s precision",
                          tolerance, tightest, precision == NUFFT_FLOAT ? "single" : "double");
    }
    if (options->upsampling != 0.0 &&
        !(options->upsampling >= 1.25 && options->upsampling <= 2.75)) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "nufft: upsampling %g must be 0 (automatic) or 1.25 to 2.75",
                          options->upsampling);
    }
    if (options->order != NUFFT_ORDER_CENTRED && options->order != NUFFT_ORDER_FFT) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: mode order %d is not known",
                          (int)options->order);
    }
    if (options->method < NUFFT_METHOD_AUTO || options->method > NUFFT_METHOD_COLUMN) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: method %d is not known (0 to %d)",
                          options->method, (int)NUFFT_METHOD_COLUMN);
    }
    if (options->n_threads < 0 || options->max_points < 0) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                          "nufft: threads (%d) and expected points (%" PRId64
                          ") must not be negative",
                          options->n_threads, options->max_points);
    }
    if (type == 3) {
        if (options->real_data) {
            return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: real-data mode is for types 1 and 2");
        }
        return MTIP_OK;
    }
    if (n_modes == NULL) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: the numbers of modes are missing (NULL)");
    }
    double total = (double)n_vectors;
    for (int a = 0; a < dimension; a++) {
        if (n_modes[a] < 1) {
            return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                              "nufft: number of modes along %c, %" PRId64 ", must be >= 1",
                              coordinate_names[a], n_modes[a]);
        }
        total *= (double)n_modes[a];
    }
    if (total > 1e14) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: %g modes in all are too many", total);
    }
    return MTIP_OK;
}

/* Fills in everything of a plan but the backend's state. */
static void describe(struct nufft_plan *plan, int type, int dimension, const int64_t *n_modes,
                     int sign, int64_t n_vectors, double tolerance, enum nufft_precision precision,
                     const struct nufft_options *options)
{
    *plan = (struct nufft_plan){.type = type,
                                .dimension = dimension,
                                .sign = sign,
                                .n_vectors = n_vectors,
                                .tolerance = tolerance,
                                .precision = precision,
                                .options = *options};
    for (int a = 0; a < 3; a++) {
        struct nufft_axis *axis = &plan->axis[a];
        const int used = a < dimension && type != 3;
        axis->half = used && a == 0 && options->real_data;
        axis->n_modes = used ? n_modes[a] : 1;
        axis->n_stored = axis->half ? n_modes[a] / 2 + 1 : axis->n_modes;
        axis->nf = 1;
        axis->width = 1;
    }
}

int64_t nufft_choose_batch(const struct nufft_plan *plan)
{
    double bytes = (plan->options.real_data ? 1.0 : 2.0) *
                   (plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double));
    for (int a = 0; a < 3; a++) {
        bytes *= (double)plan->axis[a].nf;
    }
    int64_t batch = plan->n_vectors < BATCH_MAX ? plan->n_vectors : BATCH_MAX;
    while (batch > 1 && (double)batch * bytes > BATCH_BYTES) {
        batch--;
    }
    return batch;
}

enum mtip_status nufft_plan_create(struct nufft_plan **plan, int type, int dimension,
                                   const int64_t *n_modes, int sign, int64_t n_vectors,
                                   double tolerance, enum nufft_precision precision,
                                   const struct nufft_options *options)
{
    enum mtip_status status = MTIP_OK;
    const struct nufft_options defaults = nufft_options_default();
    const struct nufft_options *used = options != NULL ? options : &defaults;
    const struct nufft_ops *ops = NULL;
    struct nufft_plan *made = NULL;
    *plan = NULL;
    MTIP_TRY(
        check_arguments(type, dimension, n_modes, sign, n_vectors, tolerance, precision, used));
    MTIP_TRY(choose_backend(&ops, used->backend));
    MTIP_TRY(MEMORY_ALLOC(&made, 1, "nufft plan"));
    describe(made, type, dimension, n_modes, sign, n_vectors, tolerance, precision, used);
    made->ops = ops;
    if (type == 3) {
        MTIP_TRY(nufft_type3_create(made));
    } else {
        MTIP_TRY(nufft_design_axes(made, used->max_points));
        MTIP_TRY(nufft_design_tables(made));
        made->batch = nufft_choose_batch(made);
        MTIP_TRY(ops->create(made));
    }
    *plan = made;
    made = NULL;
cleanup:
    nufft_plan_destroy(&made);
    return status;
}

void nufft_plan_destroy(struct nufft_plan **plan)
{
    if (*plan == NULL) {
        return;
    }
    nufft_type3_destroy(*plan);
    (*plan)->ops->destroy(*plan);
    nufft_design_free(*plan);
    memory_free(plan);
}

static enum mtip_status check_targets(const struct nufft_plan *plan, int64_t n_targets,
                                      const void *const *targets)
{
    if (n_targets < 0) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: number of targets %" PRId64 " must be >= 0",
                          n_targets);
    }
    for (int a = 0; a < plan->dimension && n_targets > 0; a++) {
        if (targets[a] == NULL) {
            return MTIP_ERROR(MTIP_ERR_ARGUMENT,
                              "nufft: the %c coordinates of the targets are missing "
                              "(NULL)",
                              "stu"[a]);
        }
    }
    return MTIP_OK;
}

enum mtip_status nufft_plan_set_points(struct nufft_plan *plan, int64_t n_points, const void *x,
                                       const void *y, const void *z, int64_t n_targets,
                                       const void *s, const void *t, const void *u)
{
    enum mtip_status status = MTIP_OK;
    const void *const coordinates[3] = {x, y, z};
    const void *const targets[3] = {s, t, u};
    plan->has_points = 0;
    plan->n_points = 0;
    if (n_points < 0) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: number of points %" PRId64 " must be >= 0",
                          n_points);
    }
    for (int a = 0; a < plan->dimension && n_points > 0; a++) {
        if (coordinates[a] == NULL) {
            return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: the %c coordinates are missing (NULL)",
                              coordinate_names[a]);
        }
    }
    if (plan->type != 3 && (n_targets != 0 || s != NULL || t != NULL || u != NULL)) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: targets are for type 3 only");
    }
    if (plan->type == 3) {
        MTIP_TRY(check_targets(plan, n_targets, targets));
        MTIP_TRY(nufft_type3_set_points(plan, n_points, coordinates, n_targets, targets));
    } else {
        MTIP_TRY(plan->ops->set_points(plan, n_points, x, y, z));
    }
cleanup:
    if (status == MTIP_OK) {
        plan->n_points = n_points;
        plan->n_targets = n_targets;
        plan->has_points = 1;
    }
    return status;
}

static enum mtip_status check_ready(const struct nufft_plan *plan, const void *strengths,
                                    const void *modes)
{
    if (!plan->has_points) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: the plan has no points, set them first");
    }
    const int no_modes = plan->type == 3 && plan->n_targets == 0;
    if ((strengths == NULL && plan->n_points > 0) || (modes == NULL && !no_modes)) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: the %s are missing (NULL)",
                          modes == NULL ? "modes" : "strengths");
    }
    return MTIP_OK;
}

/* Bytes of one vector of strengths and of one vector of modes. */
static size_t strengths_bytes(const struct nufft_plan *plan)
{
    const size_t real = plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double);
    return (size_t)plan->n_points * (plan->options.real_data ? real : 2 * real);
}

static size_t modes_bytes(const struct nufft_plan *plan)
{
    size_t bytes = 2 * (plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double));
    for (int a = 0; a < 3; a++) {
        bytes *= (size_t)plan->axis[a].n_stored;
    }
    return bytes;
}

static enum mtip_status execute_type1(struct nufft_plan *plan, const char *strengths, char *modes,
                                      int64_t count)
{
    const enum mtip_status status = plan->ops->spread(plan, strengths, count);
    return status != MTIP_OK ? status : plan->ops->grid_to_modes(plan, modes, count);
}

static enum mtip_status execute_type2(struct nufft_plan *plan, char *strengths, const char *modes,
                                      int64_t count)
{
    const enum mtip_status status = plan->ops->modes_to_grid(plan, modes, count);
    return status != MTIP_OK ? status : plan->ops->interpolate(plan, strengths, count);
}

enum mtip_status nufft_plan_execute(struct nufft_plan *plan, void *strengths, void *modes)
{
    enum mtip_status status = check_ready(plan, strengths, modes);
    plan->prepared = 0;
    if (status == MTIP_OK && plan->type == 3) {
        return nufft_type3_execute(plan, strengths, modes);
    }
    for (int64_t first = 0; first < plan->n_vectors && status == MTIP_OK; first += plan->batch) {
        const int64_t left = plan->n_vectors - first;
        const int64_t count = left < plan->batch ? left : plan->batch;
        char *c = (char *)strengths + (size_t)first * strengths_bytes(plan);
        char *f = (char *)modes + (size_t)first * modes_bytes(plan);
        status =
            plan->type == 1 ? execute_type1(plan, c, f, count) : execute_type2(plan, c, f, count);
    }
    return status;
}

enum mtip_status nufft_plan_prepare(struct nufft_plan *plan, const void *modes)
{
    if (plan->type != 2) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: prepare is for type 2, this plan has type %d",
                          plan->type);
    }
    if (modes == NULL) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: the modes are missing (NULL)");
    }
    enum mtip_status status = MTIP_OK;
    plan->prepared = 0;
    if (plan->batch < plan->n_vectors) {
        status = plan->ops->reserve(plan, plan->n_vectors);
    }
    if (status == MTIP_OK) {
        status = plan->ops->modes_to_grid(plan, modes, plan->n_vectors);
        plan->prepared = status == MTIP_OK;
    }
    return status;
}

enum mtip_status nufft_plan_interpolate(struct nufft_plan *plan, void *strengths)
{
    if (!plan->prepared) {
        return MTIP_ERROR(MTIP_ERR_ARGUMENT, "nufft: the plan is not prepared with modes");
    }
    const enum mtip_status status = check_ready(plan, strengths, plan);
    return status != MTIP_OK ? status : plan->ops->interpolate(plan, strengths, plan->n_vectors);
}

enum mtip_status nufft_plan_memory(size_t *host_bytes, size_t *device_bytes, int type,
                                   int dimension, const int64_t *n_modes, int64_t n_vectors,
                                   double tolerance, enum nufft_precision precision,
                                   const struct nufft_options *options, int64_t n_points)
{
    enum mtip_status status = MTIP_OK;
    const struct nufft_options defaults = nufft_options_default();
    const struct nufft_options *used = options != NULL ? options : &defaults;
    struct nufft_plan plan;
    size_t host = sizeof plan;
    size_t device = 0;
    MTIP_TRY(check_arguments(type, dimension, n_modes, 1, n_vectors, tolerance, precision, used));
    if (type == 3) {
        MTIP_FAIL(MTIP_ERR_UNSUPPORTED, "nufft: the memory of type 3 depends on its points");
    }
    if (n_points < 0) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT, "nufft: number of points %" PRId64 " must be >= 0", n_points);
    }
    describe(&plan, type, dimension, n_modes, 1, n_vectors, tolerance, precision, used);
    MTIP_TRY(choose_backend(&plan.ops, used->backend));
    MTIP_TRY(nufft_design_axes(&plan, used->max_points));
    /* What prepare would reserve. */
    plan.batch = type == 2 ? n_vectors : nufft_choose_batch(&plan);
    for (int a = 0; a < dimension; a++) {
        const size_t taps = (size_t)plan.axis[a].width;
        host += sizeof(double) * ((size_t)plan.axis[a].n_modes / 2 + 1 +
                                  NUFFT_SUBINTERVALS * NUFFT_MAX_WIDTH * taps);
    }
    plan.ops->memory(&plan, n_points, &host, &device);
cleanup:
    if (host_bytes != NULL) {
        *host_bytes = status == MTIP_OK ? host : 0;
    }
    if (device_bytes != NULL) {
        *device_bytes = status == MTIP_OK ? device : 0;
    }
    return status;
}
