/* nufft_cuda.h - private to the CUDA backend: its state, and what its C files share. */
#ifndef MTIP_NUFFT_NUFFT_CUDA_H
#define MTIP_NUFFT_NUFFT_CUDA_H

#include <cuda_runtime_api.h>
#include <cufft.h>

#include "nufft/nufft_kernels.h"
#include "nufft/nufft_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the choices below need to know of a device. */
struct nufft_cuda_device {
    int multiprocessors;
    int64_t shared_limit; /* opt-in bytes of shared memory a block */
};

struct nufft_cuda_state {
    int device; /* ordinal: the current device when the plan was made */
    cudaStream_t stream;
    struct nufft_cuda_device properties;
    size_t real_size;
    void *tables; /* owned: kernel tables and correction factors of all axes */

    int method; /* of the present points: enum nufft_method, never AUTO */
    struct nufft_job job;
    int64_t point_capacity; /* job.s, job.cell, job.order */
    int64_t bin_capacity;   /* job.bin_start */
    int64_t segment_capacity;
    int64_t scan_capacity;
    int64_t subproblem_capacity;
    int64_t sort_capacity; /* job.sort_counts */

    struct nufft_modes_job modes;
    cufftHandle fft[2]; /* of plan->batch vectors, and of one */
    int n_fft;
    void *work; /* owned: cuFFT's work area, shared by both */
    size_t work_bytes;
};

/* Device memory; an error says how much was asked for, what is free and what the plan needs in all. `what` names
 * the array. *memory is NULL for 0 bytes and on failure. */
enum mtip_status nufft_cuda_alloc(void *memory, int64_t count, size_t item_size,
                                  const char *what) MTIP_NODISCARD;
/* Frees *memory (NULL allowed) and sets it to NULL. */
void nufft_cuda_free(void *memory);

/* ---- nufft_cuda_method.c: pure functions ------------------------------------------------------ */
/* The spreading (type 1) or interpolation (type 2) method for n points: the plan's option, or the cheapest by the
 * cost model. */
int nufft_cuda_choose_method(const struct nufft_plan *plan, const struct nufft_cuda_device *device,
                             int64_t n_points);
/* Whether spreading by a method gives the same bits every time, which takes a stable sort and a grid in fixed point: COLUMN
 * in double precision. (Interpolation does by every method.) */
int nufft_cuda_is_exact(const struct nufft_plan *plan, int method);
/* Bins, segments and subproblems of a method. */
void nufft_cuda_design_bins(struct nufft_bins *bins, const struct nufft_plan *plan,
                            const struct nufft_cuda_device *device, int method, int64_t n_points);
/* Most subproblems that n points can make. */
int64_t nufft_cuda_max_subproblems(const struct nufft_bins *bins, int64_t n_points);
/* Estimated ns of one point, and of one fine-grid cell outside the FFT, on an H200. */
double nufft_cuda_point_ns(const struct nufft_plan *plan, int method);
double nufft_cuda_cell_ns(const struct nufft_plan *plan, int method);

/* ---- nufft_cuda_points.c ---------------------------------------------------------------------- */
enum mtip_status nufft_cuda_set_points(struct nufft_plan *plan, int64_t n, const void *x,
                                       const void *y, const void *z) MTIP_NODISCARD;
void nufft_cuda_free_points(struct nufft_cuda_state *state);
size_t nufft_cuda_points_memory(const struct nufft_plan *plan,
                                const struct nufft_cuda_device *device, int64_t n_points);

/* ---- nufft_cuda_fft.c ------------------------------------------------------------------------- */
/* Makes the FFT plans and work area for plan->batch vectors, in place of earlier ones. */
enum mtip_status nufft_cuda_fft_create(struct nufft_plan *plan) MTIP_NODISCARD;
void nufft_cuda_fft_destroy(struct nufft_cuda_state *state);
enum mtip_status nufft_cuda_grid_to_modes(struct nufft_plan *plan, void *modes,
                                          int64_t count) MTIP_NODISCARD;
enum mtip_status nufft_cuda_modes_to_grid(struct nufft_plan *plan, const void *modes,
                                          int64_t count) MTIP_NODISCARD;

/* ---- nufft_cuda.c ----------------------------------------------------------------------------- */
/* Makes the plan's device current; *previous goes back with nufft_cuda_leave(). */
enum mtip_status nufft_cuda_enter(const struct nufft_cuda_state *state,
                                  int *previous) MTIP_NODISCARD;
void nufft_cuda_leave(const struct nufft_cuda_state *state, int previous);
/* An error where a failed reserve has left the plan without a fine grid. */
enum mtip_status nufft_cuda_has_grid(const struct nufft_plan *plan) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
