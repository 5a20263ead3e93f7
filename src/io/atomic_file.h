/* atomic_file.h - output files that appear whole or not at all: written under a temporary name in
 * the same folder, synced to the disk, renamed.
 */
#ifndef MTIP_IO_ATOMIC_FILE_H
#define MTIP_IO_ATOMIC_FILE_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ATOMIC_FILE_PATH_SIZE 4096

/* Plain data; all zero means that nothing is pending. */
struct atomic_file {
    char path[ATOMIC_FILE_PATH_SIZE];
    char temporary[ATOMIC_FILE_PATH_SIZE]; /* write here; "" once committed or aborted */
};

/* Chooses the temporary name (path + ".tmp-" + process id) and creates it empty, so that a missing
 * folder, missing rights or a path that is a folder show before any work is done. Errors
 * MTIP_ERR_FILE. */
enum mtip_status atomic_file_begin(struct atomic_file *file, const char *path) MTIP_NODISCARD;

/* Syncs the temporary file, renames it to the path and syncs the folder. The caller has closed its
 * own handles. On failure the temporary file is removed. Errors MTIP_ERR_FILE. */
enum mtip_status atomic_file_commit(struct atomic_file *file) MTIP_NODISCARD;

/* Removes the temporary file, if one is pending. */
void atomic_file_abort(struct atomic_file *file);

#ifdef __cplusplus
}
#endif

#endif
