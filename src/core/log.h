/* log.h - what people see while a run goes on: messages, a progress bar, a table row a generation.
 *
 * Everything goes to standard error and, once attached, to a log file; standard output is left for
 * results. A log is silent on all ranks but 0, so that callers need not ask which rank they are. A
 * NULL log is allowed everywhere and silent.
 */
#ifndef MTIP_CORE_LOG_H
#define MTIP_CORE_LOG_H

#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum log_level { LOG_QUIET = 0, LOG_NORMAL = 1, LOG_VERBOSE = 2 };

struct log;

/* Makes a log for this rank; only rank 0 writes. */
enum mtip_status log_create(struct log **log, int rank, enum log_level level) MTIP_NODISCARD;

/* Copies everything from now on into the file at `path` (created, or continued when `append`). */
enum mtip_status log_attach_file(struct log *log, const char *path, int append) MTIP_NODISCARD;

/* A line of information; a warning, with its prefix; a line seen only at LOG_VERBOSE. */
void log_info(struct log *log, const char *format, ...) MTIP_PRINTF(2, 3);
void log_warning(struct log *log, const char *format, ...) MTIP_PRINTF(2, 3);
void log_detail(struct log *log, const char *format, ...) MTIP_PRINTF(2, 3);

/* Progress of a long stage, `done` of `total` steps: a bar redrawn in place when standard error is a
 * terminal, at most 10 times a second, nothing elsewhere. Any other output and done >= total clear it. */
void log_progress(struct log *log, const char *stage, int64_t done, int64_t total);

void log_destroy(struct log **log);

/* Seconds of a monotonic clock, for timings that are shown and never used in results. */
double log_seconds(void);

#ifdef __cplusplus
}
#endif

#endif
