/* bench_nufft.h - `mtip bench nufft`: times NUFFTs of any kind. */
#ifndef MTIP_MTIP_BENCH_NUFFT_H
#define MTIP_MTIP_BENCH_NUFFT_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Runs the benchmark; argv[0] is the stage's name, then options (--list explains them). Prints a table, or JSON, to standard
 * output: the one function of the library that prints, because that is all it does. Errors: MTIP_ERR_USAGE (unknown
 * option or value), and those of the transforms. Not collective: rank 0 runs it. */
enum mtip_status bench_nufft(int argc, char **argv) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
