/* cmd_reconstruct.h - `mtip reconstruct`: command line, configuration and output directory of a reconstruction. */
#ifndef MTIP_CLI_CMD_RECONSTRUCT_H
#define MTIP_CLI_CMD_RECONSTRUCT_H

#include "core/comm.h"
#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* argv[0] is "reconstruct". Collective: every rank calls it with the same arguments. Bad usage is
 * MTIP_ERR_USAGE, a bad configuration MTIP_ERR_CONFIG. */
enum mtip_status cmd_reconstruct(const struct comm *comm, int argc, char **argv) MTIP_NODISCARD;

/* Prints the help of the command to standard output. */
void cmd_reconstruct_help(void);

#ifdef __cplusplus
}
#endif

#endif
