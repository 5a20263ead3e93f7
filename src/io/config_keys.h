/* config_keys.h - the table behind the configuration, for the files that read, write or explain it
 * (config.c, config_text.c, result.c). Not for callers elsewhere: they use config.h.
 */
#ifndef MTIP_IO_CONFIG_KEYS_H
#define MTIP_IO_CONFIG_KEYS_H

#include <stddef.h>

#include "io/config.h"

#ifdef __cplusplus
extern "C" {
#endif

enum config_type {
    CONFIG_INTEGER, /* int64_t */
    CONFIG_REAL,    /* double */
    CONFIG_BOOLEAN, /* int, 0 or 1 */
    CONFIG_TEXT,    /* char[] */
    CONFIG_PATH,    /* char[], relative to the configuration file */
    CONFIG_WORD     /* char[], one of `words` */
};

struct config_key {
    const char *group;
    const char *name;
    enum config_type type;
    size_t offset;     /* in struct config */
    size_t size;       /* bytes of the member */
    double number;     /* default of integers, reals and booleans */
    const char *text;  /* default of the others */
    double min, max;   /* inclusive; INFINITY = no bound */
    int above_min;     /* min itself is not allowed */
    int odd;           /* odd numbers only, and 0 */
    const char *unit;  /* "" = none */
    const char *words; /* "raar|hio|er", NULL = any */
    const char *help;  /* one sentence */
};

extern const struct config_key config_keys[];
extern const int config_n_keys;

/* Where a key's value lies in a configuration. */
void *config_key_value(struct config *config, const struct config_key *key);
const void *config_key_value_const(const struct config *config, const struct config_key *key);

/* The value as libconfig text that reads back to the same value: 10, 0.5, true, "text". */
#define CONFIG_VALUE_TEXT_SIZE (4 * CONFIG_TEXT_SIZE + 8)
void config_key_format(char text[CONFIG_VALUE_TEXT_SIZE], const struct config *config,
                       const struct config_key *key);

/* What values are allowed, for messages: "an integer, at least 1", "one of raar, hio, er", ...; and
 * for help: ">= 1", "raar, hio, er"; "" for free texts. */
void config_key_allowed(char text[256], const struct config_key *key);
void config_key_range(char text[256], const struct config_key *key);

/* The known key nearest to group.name by edit distance; never NULL. `group` may be "". */
const struct config_key *config_key_nearest(const char *group, const char *name);

/* Levenshtein distance of the first 64 bytes of two names. */
int config_edit_distance(const char *a, const char *b);

/* The key group.name, or NULL. */
const struct config_key *config_key_find(const char *group, const char *name);

#ifdef __cplusplus
}
#endif

#endif
