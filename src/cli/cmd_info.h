/* cmd_info.h - `mtip info`: what is in a file. */
#ifndef MTIP_CLI_CMD_INFO_H
#define MTIP_CLI_CMD_INFO_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* argv[0] is "info". One rank. Writes to standard output; a frames file is read through in pieces.
 * Bad usage is MTIP_ERR_USAGE, a file of no known kind MTIP_ERR_FORMAT. */
enum mtip_status cmd_info(int argc, char **argv) MTIP_NODISCARD;

/* Prints the help of the command to standard output. */
void cmd_info_help(void);

#ifdef __cplusplus
}
#endif

#endif
