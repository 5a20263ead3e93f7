/* config_source.h - where configuration values come from: a libconfig file or a --set option. Used by
 * config.c alone; the only place that knows libconfig.
 */
#ifndef MTIP_IO_CONFIG_SOURCE_H
#define MTIP_IO_CONFIG_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum config_value_kind {
    CONFIG_VALUE_INTEGER,
    CONFIG_VALUE_REAL,
    CONFIG_VALUE_BOOLEAN, /* in `integer` */
    CONFIG_VALUE_TEXT,
    CONFIG_VALUE_OTHER, /* a group, list or array where a key stands */
    CONFIG_VALUE_GROUP  /* a group at the top level */
};

struct config_value {
    enum config_value_kind kind;
    int64_t integer;
    double real;
    const char *text; /* borrowed, valid during the call */
    char source[128]; /* for messages; cut */
};

/* Called for each setting: group NULL at the top level (a group, or something that should be one). */
typedef enum mtip_status config_setting_fn(void *context, const char *group, const char *name,
                                           int line, const struct config_value *value);

/* Parses the file and calls `take` for every setting in order until one fails. Errors: MTIP_ERR_CONFIG
 * (cannot be read, syntax, @include, an integer beyond 64 bits; with file:line), or what `take`
 * returned. */
enum mtip_status config_source_each(const char *path, config_setting_fn *take,
                                    void *context) MTIP_NODISCARD;

/* Value of an option: a libconfig scalar (12, 0x1F, 3L, 1e-4, true, "text") or a bare word. wants_text: everything
 * that is not quoted is text. `buffer` holds an unquoted copy. `where` heads the message. */
enum mtip_status config_source_option(struct config_value *value, char *buffer, size_t size,
                                      const char *text, int wants_text,
                                      const char *where) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
