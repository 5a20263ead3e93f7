/* no_cpu_backend.c - stands in for the CPU backend of the NUFFT where FFTW is missing: plans on it are refused. For
 * scripts/gpu_check.sh only. */
#include "nufft/nufft_ops.h"

static int x_width_none(const struct nufft_plan *plan, int width)
{
    (void)plan;
    return width;
}

static double cost_none(const struct nufft_plan *plan)
{
    (void)plan;
    return 1.0;
}

static enum mtip_status create_none(struct nufft_plan *plan)
{
    (void)plan;
    return MTIP_ERROR(MTIP_ERR_UNSUPPORTED, "nufft: built without the CPU backend (no FFTW)");
}

static void destroy_none(struct nufft_plan *plan)
{
    (void)plan;
}

static void memory_none(const struct nufft_plan *plan, int64_t n_points, size_t *host_bytes,
                        size_t *device_bytes)
{
    (void)plan;
    (void)n_points;
    (void)host_bytes;
    (void)device_bytes;
}

const struct nufft_ops nufft_ops_cpu = {.name = "none",
                                        .x_width = x_width_none,
                                        .point_cost = cost_none,
                                        .cell_cost = cost_none,
                                        .create = create_none,
                                        .destroy = destroy_none,
                                        .memory = memory_none};
