/* status.c - texts of the status codes and the thread-local last message. */
#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_message[MTIP_MESSAGE_SIZE];
static _Thread_local char last_origin[160];

const char *mtip_status_text(enum mtip_status status)
{
    switch (status) {
#define MTIP_STATUS_CASE(name, text)                                                               \
    case name:                                                                                     \
        return text;
        MTIP_STATUS_LIST(MTIP_STATUS_CASE)
#undef MTIP_STATUS_CASE
    }
    return "unknown status";
}

const char *mtip_status_message(void)
{
    return last_message;
}

const char *mtip_status_origin(void)
{
    return last_origin;
}

enum mtip_status mtip_status_set(enum mtip_status status, const char *file, int line,
                                 const char *format, ...)
{
    /* Formatted aside first: the arguments may include the previous message. */
    char text[MTIP_MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(last_message, text, sizeof text);
    snprintf(last_origin, sizeof last_origin, "%s:%d", file, line);
    return status;
}
