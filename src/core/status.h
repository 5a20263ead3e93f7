/* status.h - status codes and the message that goes with the last error.
 *
 * Every fallible function returns an enum mtip_status. A failing function also leaves one message
 * (what was wrong, where, and what would be right) in thread-local storage; the caller passes the
 * code on with MTIP_TRY and whoever ends the operation reads it with mtip_status_message().
 * Nothing here allocates, prints or exits.
 */
#ifndef MTIP_CORE_STATUS_H
#define MTIP_CORE_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#define MTIP_STATUS_LIST(X)                                                                        \
    X(MTIP_OK, "success")                                                                          \
    X(MTIP_ERR_ARGUMENT, "invalid argument")                                                       \
    X(MTIP_ERR_USAGE, "bad command line")                                                          \
    X(MTIP_ERR_CONFIG, "bad configuration")                                                        \
    X(MTIP_ERR_FILE, "cannot access file")                                                         \
    X(MTIP_ERR_FORMAT, "file is not in the expected format")                                       \
    X(MTIP_ERR_DATA, "data cannot be used")                                                        \
    X(MTIP_ERR_MEMORY, "out of memory")                                                            \
    X(MTIP_ERR_MPI, "communication failed")                                                        \
    X(MTIP_ERR_DEVICE, "device failed")                                                            \
    X(MTIP_ERR_UNSUPPORTED, "not supported")                                                       \
    X(MTIP_ERR_INTERNAL, "internal error")

enum mtip_status {
#define MTIP_STATUS_ENUM(name, text) name,
    MTIP_STATUS_LIST(MTIP_STATUS_ENUM)
#undef MTIP_STATUS_ENUM
};

#if defined(__GNUC__)
#define MTIP_NODISCARD __attribute__((warn_unused_result))
#define MTIP_PRINTF(fmt_index, args_index) __attribute__((format(printf, fmt_index, args_index)))
#else
#define MTIP_NODISCARD
#define MTIP_PRINTF(fmt_index, args_index)
#endif

/* Longest message kept, in bytes with the final zero; longer ones are cut. */
#define MTIP_MESSAGE_SIZE 1024

/* Fixed text of a code ("success", "out of memory", ...). Never NULL. */
const char *mtip_status_text(enum mtip_status status);

/* Message of the last error made in this thread, "" if there was none. Valid until the next error
 * is made in the same thread. */
const char *mtip_status_message(void);

/* "file:line" where the last error of this thread was made, "" if there was none. */
const char *mtip_status_origin(void);

/* Makes `status` the last error of this thread with a formatted message, and returns `status`.
 * Use through MTIP_ERROR. The format may refer to the previous mtip_status_message(). */
enum mtip_status mtip_status_set(enum mtip_status status, const char *file, int line,
                                 const char *format, ...) MTIP_PRINTF(4, 5);

/* Makes an error: sets the message and yields the code. */
#define MTIP_ERROR(status_, ...) mtip_status_set((status_), __FILE__, __LINE__, __VA_ARGS__)

/* Passes an error on: needs a local `enum mtip_status status` and a label `cleanup`. */
#define MTIP_TRY(call)                                                                             \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != MTIP_OK) {                                                                   \
            goto cleanup;                                                                          \
        }                                                                                          \
    } while (0)

/* Makes an error and leaves through `cleanup`. */
#define MTIP_FAIL(status_, ...)                                                                    \
    do {                                                                                           \
        status = MTIP_ERROR((status_), __VA_ARGS__);                                               \
        goto cleanup;                                                                              \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif
