/* match_draw.h - which references a frame is matched with when it is matched with a share of them only; private to the
 * matching kernels, host and device.
 *
 * Reference r is a candidate of frame n where a hash of (key, n, r) is at most `most`: the same on every backend and for
 * every split over ranks. The hash is the finaliser of MurmurHash3 (A. Appleby, public domain), whose output bits each
 * depend on all input bits.
 */
#ifndef MTIP_MTIP_MATCH_DRAW_H
#define MTIP_MTIP_MATCH_DRAW_H

#include <stdint.h>

#ifdef __CUDACC__
#define MATCH_DRAW_INLINE static __host__ __device__ inline
#else
#define MATCH_DRAW_INLINE static inline
#endif

struct match_draw {
    uint64_t key;        /* of this generation */
    int64_t first_frame; /* index in the run of frame 0 of the block */
    uint32_t most;       /* share of candidates, in 2^-32; 0 = all */
};

MATCH_DRAW_INLINE int match_is_candidate(struct match_draw draw, int64_t frame, int64_t reference)
{
    uint64_t h = draw.key ^ ((uint64_t)(draw.first_frame + frame) << 32 ^ (uint64_t)reference);
    h = (h ^ h >> 33) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ h >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return draw.most == 0 || (uint32_t)(h >> 32) <= draw.most;
}

#endif
