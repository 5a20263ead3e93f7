/* cmd_bench.h - `mtip bench`: timings of single stages. */
#ifndef MTIP_CLI_CMD_BENCH_H
#define MTIP_CLI_CMD_BENCH_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* argv[0] is "bench", argv[1] the stage. One rank. Bad usage is MTIP_ERR_USAGE. */
enum mtip_status cmd_bench(int argc, char **argv) MTIP_NODISCARD;
void cmd_bench_help(void);

#ifdef __cplusplus
}
#endif

#endif
