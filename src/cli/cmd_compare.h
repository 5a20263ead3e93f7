/* cmd_compare.h - `mtip compare`: a result judged against a truth. */
#ifndef MTIP_CLI_CMD_COMPARE_H
#define MTIP_CLI_CMD_COMPARE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* argv[0] is "compare". One rank. Writes to standard output. Bad usage is MTIP_ERR_USAGE; files
 * that have nothing in common to compare are MTIP_ERR_DATA. */
enum mtip_status cmd_compare(int argc, char **argv) MTIP_NODISCARD;

/* Prints the help of the command to standard output. */
void cmd_compare_help(void);

#ifdef __cplusplus
}
#endif

#endif
