/* control.h - what a test program may ask of the host-CUDA layer beyond the CUDA interface: failure
 * of the n-th call from now, the order of threads, and counts. Only where MTIP_HOSTCUDA is defined; plain C.
 */
#ifndef HOSTCUDA_CONTROL_H
#define HOSTCUDA_CONTROL_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum hostcuda_kind {
    HOSTCUDA_CALL = 0, /* any call that can fail */
    HOSTCUDA_DEVICE,   /* device count, choice, properties, function attributes */
    HOSTCUDA_ALLOC,    /* device memory */
    HOSTCUDA_PINNED,   /* pinned host memory */
    HOSTCUDA_COPY,     /* copies and memset */
    HOSTCUDA_STREAM,
    HOSTCUDA_EVENT,
    HOSTCUDA_SYNC, /* stream, event and device synchronisation */
    HOSTCUDA_LAUNCH,
    HOSTCUDA_FFT,
    HOSTCUDA_BLAS
};

/* The n-th call of the kind from now fails (once); n = 0 takes it back. */
void hostcuda_fail(int kind, long n);

/* Whether an injected failure has happened since the last hostcuda_fail(). */
int hostcuda_failed(void);

/* Calls of the kind so far. */
long hostcuda_calls(int kind);

enum hostcuda_order { HOSTCUDA_FORWARD = 0, HOSTCUDA_REVERSE, HOSTCUDA_RANDOM };

/* Order of blocks and threads of later launches, as HC_ORDER and HC_SEED set it. */
void hostcuda_order(int order, unsigned long seed);

/* Bytes of device memory now allocated, all devices together, library work areas included. */
size_t hostcuda_memory_in_use(void);

#ifdef __cplusplus
}
#endif

#endif
