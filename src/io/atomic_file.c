/* atomic_file.c - temporary name, sync, rename. */
#define _POSIX_C_SOURCE 200809L
#include "io/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folder part of a path, "." when there is none. */
static void folder_of(char folder[ATOMIC_FILE_PATH_SIZE], const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) {
        strcpy(folder, ".");
    } else if (slash == path) {
        strcpy(folder, "/");
    } else {
        memcpy(folder, path, (size_t)(slash - path));
        folder[slash - path] = '\0';
    }
}

enum mtip_status atomic_file_begin(struct atomic_file *file, const char *path)
{
    char folder[ATOMIC_FILE_PATH_SIZE];
    struct stat info;
    memset(file, 0, sizeof *file);
    if (path[0] == '\0') {
        return MTIP_ERROR(MTIP_ERR_FILE, "cannot write: the file name is empty");
    }
    if (strlen(path) + 32 > sizeof file->path) {
        return MTIP_ERROR(MTIP_ERR_FILE, "cannot write: a path of %zu bytes is too long",
                          strlen(path));
    }
    folder_of(folder, path);
    if (stat(folder, &info) != 0) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot write: folder %s: %s", path, folder,
                          errno == ENOENT ? "does not exist; create it first" : strerror(errno));
    }
    if (!S_ISDIR(info.st_mode)) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot write: %s is not a folder", path, folder);
    }
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot write: it exists and is %s", path,
                          S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
    }
    char temporary[ATOMIC_FILE_PATH_SIZE];
    snprintf(temporary, sizeof temporary, "%s.tmp-%ld", path, (long)getpid());
    const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot write: %s", temporary, strerror(errno));
    }
    close(fd);
    strcpy(file->path, path);
    strcpy(file->temporary, temporary);
    return MTIP_OK;
}

static int sync_path(const char *path)
{
    const int fd = open(path, O_RDONLY);
    if (fd < 0) {
        return -1;
    }
    const int rc = fsync(fd);
    const int error = errno;
    close(fd);
    errno = error;
    return rc;
}

enum mtip_status atomic_file_commit(struct atomic_file *file)
{
    if (sync_path(file->temporary) != 0) {
        const int error = errno;
        atomic_file_abort(file);
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot write it to the disk: %s", file->path,
                          strerror(error));
    }
    if (rename(file->temporary, file->path) != 0) {
        const int error = errno;
        atomic_file_abort(file);
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot rename the finished file into place: %s",
                          file->path, strerror(error));
    }
    file->temporary[0] = '\0';
    char folder[ATOMIC_FILE_PATH_SIZE];
    folder_of(folder, file->path);
    /* Some file systems refuse to sync a folder; the file itself is safe by now. */
    (void)sync_path(folder);
    return MTIP_OK;
}

void atomic_file_abort(struct atomic_file *file)
{
    if (file->temporary[0] != '\0') {
        unlink(file->temporary);
        file->temporary[0] = '\0';
    }
}
