/* cmd_simulate.h - `mtip simulate`: photon frames of a particle, the truth beside them. */
#ifndef MTIP_CLI_CMD_SIMULATE_H
#define MTIP_CLI_CMD_SIMULATE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* argv[0] is "simulate". One rank. Writes the file simulate.output, and what a reconstruction has
 * to be told to standard output. Bad usage is MTIP_ERR_USAGE. */
enum mtip_status cmd_simulate(int argc, char **argv) MTIP_NODISCARD;

/* Prints the help of the command to standard output. */
void cmd_simulate_help(void);

#ifdef __cplusplus
}
#endif

#endif
