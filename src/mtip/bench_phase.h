/* bench_phase.h - `mtip bench phase`: what an iteration of phasing costs. */
#ifndef MTIP_MTIP_BENCH_PHASE_H
#define MTIP_MTIP_BENCH_PHASE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Times RAAR iterations by grid size and prints a table, or JSON, to standard output: seconds an
 * iteration and the share of the two FFTs in it, the fastest of several repeats. argv[0] is the
 * stage's name; options: --grid N[,N..], --iterations N, --repeats N, --backend NAME, --threads N,
 * --json, --list (explains them). Not collective. Errors: MTIP_ERR_USAGE, and those of the phasing. */
enum mtip_status bench_phase(int argc, char **argv) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
