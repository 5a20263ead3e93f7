/* log.c - messages and progress on standard error and in the log file. */
#define _POSIX_C_SOURCE 200809L
#include "core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 32

struct log {
    int active;
    int terminal;
    enum log_level level;
    FILE *file; /* owned, NULL until attached */
    int bar_shown;
    double bar_time;
};

double log_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum mtip_status log_create(struct log **log, int rank, enum log_level level)
{
    *log = calloc(1, sizeof **log);
    if (*log == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "log: cannot allocate %zu bytes", sizeof **log);
    }
    (*log)->active = rank == 0;
    (*log)->level = level;
    (*log)->terminal = isatty(STDERR_FILENO);
    return MTIP_OK;
}

enum mtip_status log_attach_file(struct log *log, const char *path, int append)
{
    if (log == NULL || !log->active) {
        return MTIP_OK;
    }
    FILE *file = fopen(path, append ? "a" : "w");
    if (file == NULL) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot write the log: %s", path, strerror(errno));
    }
    setvbuf(file, NULL, _IOLBF, 0);
    if (log->file != NULL) {
        fclose(log->file);
    }
    log->file = file;
    return MTIP_OK;
}

static void clear_bar(struct log *log)
{
    if (log->bar_shown) {
        fputs("\r\033[K", stderr);
        log->bar_shown = 0;
    }
}

static void write_line(struct log *log, int to_terminal, const char *prefix, const char *format,
                       va_list args)
{
    if (to_terminal) {
        va_list copy;
        va_copy(copy, args);
        clear_bar(log);
        fputs(prefix, stderr);
        vfprintf(stderr, format, copy);
        fputc('\n', stderr);
        va_end(copy);
    }
    if (log->file != NULL) {
        fputs(prefix, log->file);
        vfprintf(log->file, format, args);
        fputc('\n', log->file);
    }
}

void log_info(struct log *log, const char *format, ...)
{
    if (log == NULL || !log->active) {
        return;
    }
    va_list args;
    va_start(args, format);
    write_line(log, log->level >= LOG_NORMAL, "", format, args);
    va_end(args);
}

void log_warning(struct log *log, const char *format, ...)
{
    if (log == NULL || !log->active) {
        return;
    }
    va_list args;
    va_start(args, format);
    write_line(log, 1, "warning: ", format, args);
    va_end(args);
}

void log_detail(struct log *log, const char *format, ...)
{
    if (log == NULL || !log->active) {
        return;
    }
    va_list args;
    va_start(args, format);
    write_line(log, log->level >= LOG_VERBOSE, "", format, args);
    va_end(args);
}

void log_progress(struct log *log, const char *stage, int64_t done, int64_t total)
{
    if (log == NULL || !log->active || !log->terminal || log->level < LOG_NORMAL) {
        return;
    }
    if (done >= total) {
        clear_bar(log);
        return;
    }
    const double now = log_seconds();
    if (log->bar_shown && now - log->bar_time < 0.1) {
        return;
    }
    const double part = (double)done / (double)total;
    const int filled = (int)(part * BAR_WIDTH);
    fprintf(stderr, "\r\033[K%-10s [", stage);
    for (int i = 0; i < BAR_WIDTH; i++) {
        fputc(i < filled ? '#' : '.', stderr);
    }
    fprintf(stderr, "] %3d%%", (int)(100.0 * part));
    fflush(stderr);
    log->bar_shown = 1;
    log->bar_time = now;
}

void log_destroy(struct log **log)
{
    if (*log != NULL) {
        clear_bar(*log);
        if ((*log)->file != NULL) {
            fclose((*log)->file);
        }
        free(*log);
        *log = NULL;
    }
}
