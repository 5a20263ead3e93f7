/* match_ops.h - kernels of matching, one table a backend; private to src/mtip. Arrays are backend memory. */
#ifndef MTIP_MTIP_MATCH_OPS_H
#define MTIP_MTIP_MATCH_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "core/backend.h"
#include "core/status.h"
#include "mtip/match_draw.h"
#include "nufft/nufft.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One product of frames with log-slices: scores[n][r] = sum_p frames[n * ld + p] slices[r * n_use + p]. */
struct match_block {
    const float *frames;
    int64_t ld;
    int64_t n_frames;
    const void *slices;
    int64_t n_slices;
    int64_t n_use;
    int64_t first_index;
    struct match_draw draw;
    enum nufft_precision precision;
};

struct match_ops {
    /* Bytes of workspace that `block` needs for these sizes. */
    size_t (*workspace)(const struct backend *backend, int64_t n_frames, int64_t n_pixel,
                        int64_t n_slices, enum nufft_precision precision);
    /* Makes and frees what the backend needs beside memory (a cuBLAS handle); NULL on the CPU. */
    enum mtip_status (*open)(void **handle, const struct backend *backend);
    void (*close)(void **handle);
    /* best_score[n], best_index[n] = the better of themselves and the block's best among the frame's candidates (lower index on
     * ties). */
    enum mtip_status (*block)(const struct backend *backend, void *handle, double *best_score,
                              int64_t *best_index, const struct match_block *block,
                              void *workspace);
    /* scores[n][t] = sum_p frames[n] slices[n][t]: slices [n_frames][n_trials][n_use]. */
    enum mtip_status (*trials)(const struct backend *backend, double *scores,
                               const struct match_block *block, int64_t n_trials);
};

extern const struct match_ops match_ops_cpu;
#ifdef MTIP_HAVE_CUDA
extern const struct match_ops match_ops_cuda;
#endif

#ifdef __cplusplus
}
#endif

#endif
