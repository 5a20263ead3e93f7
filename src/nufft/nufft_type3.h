/* nufft_type3.h - private: type 3 in terms of a spreader and an inner type-2 plan. See nufft_type3.c. */
#ifndef MTIP_NUFFT_NUFFT_TYPE3_H
#define MTIP_NUFFT_NUFFT_TYPE3_H

#include "nufft/nufft_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As the public functions of nufft.h; the arguments are checked there. */
enum mtip_status nufft_type3_create(struct nufft_plan *plan) MTIP_NODISCARD;
void nufft_type3_destroy(struct nufft_plan *plan);
enum mtip_status nufft_type3_set_points(struct nufft_plan *plan, int64_t n, const void *const *x,
                                        int64_t n_targets, const void *const *s) MTIP_NODISCARD;
enum mtip_status nufft_type3_execute(struct nufft_plan *plan, const void *strengths,
                                     void *values) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
