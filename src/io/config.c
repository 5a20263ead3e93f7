/* config.c - fills a configuration: defaults, the file, the --set options, cross-checks. */
#include "io/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/config_keys.h"
#include "io/config_source.h"

#define WHERE_SIZE 512

/* What the loader knows besides the values. */
struct loader {
    struct config *config;
    int references_set, references_min_set;
};

/* ---- one key ---------------------------------------------------------------------------------- */

static enum mtip_status refuse(const char *where, const struct config_key *key, const char *what)
{
    char allowed[256];
    config_key_allowed(allowed, key);
    return MTIP_ERROR(MTIP_ERR_CONFIG, "%s: %s.%s: %s; allowed: %s%s%s", where, key->group,
                      key->name, what, allowed, key->unit[0] != '\0' ? ", in " : "", key->unit);
}

static enum mtip_status refuse_type(const char *where, const struct config_key *key,
                                    const struct config_value *value)
{
    static const char *const kinds[] = {"an integer", "a number", "true or false", "a text",
                                        "a group, list or array"};
    char what[160];
    if (value->kind == CONFIG_VALUE_OTHER) {
        snprintf(what, sizeof what, "%s where a single value is expected", kinds[value->kind]);
    } else {
        snprintf(what, sizeof what, "%.100s is %s", value->source, kinds[value->kind]);
    }
    return refuse(where, key, what);
}

static enum mtip_status check_range(const char *where, const struct config_key *key, double number)
{
    char what[64];
    if (key->odd && !(number > 0.0) && !(number < 0.0)) {
        return MTIP_OK;
    }
    if (key->odd && fmod(number, 2.0) == 0.0) {
        snprintf(what, sizeof what, "%.15g is even, it must be odd", number);
        return refuse(where, key, what);
    }
    const int in_range = (key->above_min ? number > key->min : number >= key->min) &&
                         number <= key->max && isfinite(number);
    if (in_range) {
        return MTIP_OK;
    }
    snprintf(what, sizeof what, "%.15g is out of range", number);
    return refuse(where, key, what);
}

static int is_word_of(const char *words, const char *text)
{
    const size_t length = strlen(text);
    for (const char *word = words; word != NULL; word = strchr(word, '|')) {
        word += *word == '|';
        if (length > 0 && strcspn(word, "|") == length && strncmp(word, text, length) == 0) {
            return 1;
        }
    }
    return 0;
}

/* Path in a configuration file: relative ones start at `folder` (with its slash, "" = as it is). */
static enum mtip_status assign_text(struct config *config, const struct config_key *key,
                                    const char *text, const char *folder, const char *where)
{
    char what[160];
    const char *prefix = "";
    if (key->type == CONFIG_WORD && !is_word_of(key->words, text)) {
        snprintf(what, sizeof what, "unknown word \"%.100s\"", text);
        return refuse(where, key, what);
    }
    if (key->type == CONFIG_PATH && text[0] != '\0' && text[0] != '/') {
        prefix = folder;
    }
    const size_t length = strlen(prefix) + strlen(text);
    if (length >= key->size) {
        snprintf(what, sizeof what, "a text of %zu bytes is too long", length);
        return refuse(where, key, what);
    }
    char *target = config_key_value(config, key);
    memset(target, 0, key->size);
    memcpy(target, prefix, strlen(prefix));
    memcpy(target + strlen(prefix), text, strlen(text));
    return MTIP_OK;
}

static enum mtip_status assign(struct loader *loader, const struct config_key *key,
                               const struct config_value *value, const char *folder,
                               const char *where)
{
    void *target = config_key_value(loader->config, key);
    enum mtip_status status = MTIP_OK;
    switch (key->type) {
    case CONFIG_INTEGER:
        if (value->kind != CONFIG_VALUE_INTEGER) {
            return refuse_type(where, key, value);
        }
        MTIP_TRY(check_range(where, key, (double)value->integer));
        *(int64_t *)target = value->integer;
        break;
    case CONFIG_REAL: {
        const int is_integer = value->kind == CONFIG_VALUE_INTEGER;
        if (!is_integer && value->kind != CONFIG_VALUE_REAL) {
            return refuse_type(where, key, value);
        }
        const double number = is_integer ? (double)value->integer : value->real;
        MTIP_TRY(check_range(where, key, number));
        *(double *)target = number;
        break;
    }
    case CONFIG_BOOLEAN:
        if (value->kind != CONFIG_VALUE_BOOLEAN) {
            return refuse_type(where, key, value);
        }
        *(int *)target = value->integer != 0;
        break;
    case CONFIG_TEXT:
    case CONFIG_PATH:
    case CONFIG_WORD:
        if (value->kind != CONFIG_VALUE_TEXT) {
            return refuse_type(where, key, value);
        }
        MTIP_TRY(assign_text(loader->config, key, value->text, folder, where));
        break;
    }
    loader->references_set |= target == (void *)&loader->config->orientation.references;
    loader->references_min_set |= target == (void *)&loader->config->orientation.references_min;
cleanup:
    return status;
}

static int is_group(const char *name)
{
    for (int i = 0; i < config_n_keys; i++) {
        if (strcmp(config_keys[i].group, name) == 0) {
            return 1;
        }
    }
    return 0;
}

static enum mtip_status unknown_key(const char *where, const char *group, const char *name)
{
    const struct config_key *nearest = config_key_nearest(group, name);
    return MTIP_ERROR(MTIP_ERR_CONFIG,
                      "%s: unknown key %.64s%s%.64s; the nearest known key is %s.%s", where, group,
                      group[0] != '\0' ? "." : "", name, nearest->group, nearest->name);
}

static enum mtip_status unknown_group(const char *where, const char *group)
{
    const struct config_key *nearest = config_key_nearest(group, "");
    char groups[160] = "";
    for (int i = 0, least = INT32_MAX; i < config_n_keys; i++) {
        if (i > 0 && strcmp(config_keys[i].group, config_keys[i - 1].group) == 0) {
            continue;
        }
        const int distance = config_edit_distance(group, config_keys[i].group);
        if (distance < least) {
            least = distance;
            nearest = &config_keys[i];
        }
        strcat(groups, i > 0 ? ", " : "");
        strcat(groups, config_keys[i].group);
    }
    return MTIP_ERROR(MTIP_ERR_CONFIG,
                      "%s: unknown group %.64s; the nearest known group is %s (groups: %s)", where,
                      group, nearest->group, groups);
}

/* ---- the file --------------------------------------------------------------------------------- */

struct file_context {
    struct loader *loader;
    const char *path;
    char folder[CONFIG_TEXT_SIZE];
};

/* One setting of the file, called by config_source_each in the order of the file. */
static enum mtip_status take_setting(void *context, const char *group, const char *name, int line,
                                     const struct config_value *value)
{
    struct file_context *file = context;
    char where[WHERE_SIZE];
    snprintf(where, sizeof where, "%.440s:%d", file->path, line);
    if (group == NULL) { /* top level */
        if (value->kind == CONFIG_VALUE_GROUP) {
            return is_group(name) ? MTIP_OK : unknown_group(where, name);
        }
        if (is_group(name)) {
            return MTIP_ERROR(MTIP_ERR_CONFIG, "%s: %s must be a group: %s = { ... };", where, name,
                              name);
        }
        return unknown_key(where, "", name);
    }
    const struct config_key *key = config_key_find(group, name);
    if (key == NULL) {
        return unknown_key(where, group, name);
    }
    return assign(file->loader, key, value, file->folder, where);
}

static enum mtip_status load_file(struct loader *loader, const char *path)
{
    struct file_context file = {.loader = loader, .path = path};
    const char *slash = strrchr(path, '/');
    if (slash != NULL) {
        const size_t length = (size_t)(slash - path) + 1;
        if (length >= sizeof file.folder) {
            return MTIP_ERROR(MTIP_ERR_CONFIG, "%.200s...: the path is too long", path);
        }
        memcpy(file.folder, path, length);
    }
    return config_source_each(path, take_setting, &file);
}

/* ---- options ---------------------------------------------------------------------------------- */

static enum mtip_status take_option(struct loader *loader, const char *option)
{
    char where[WHERE_SIZE];
    char group[64], name[64];
    snprintf(where, sizeof where, "--set %.440s", option);
    const char *equals = strchr(option, '=');
    const char *dot = strchr(option, '.');
    if (equals == NULL || dot == NULL || dot > equals) {
        return MTIP_ERROR(MTIP_ERR_CONFIG, "%s: expected group.key=value", where);
    }
    snprintf(group, sizeof group, "%.*s", (int)(dot - option), option);
    snprintf(name, sizeof name, "%.*s", (int)(equals - dot - 1), dot + 1);
    const struct config_key *key = config_key_find(group, name);
    if (key == NULL) {
        return is_group(group) || group[0] == '\0' ? unknown_key(where, group, name)
                                                   : unknown_group(where, group);
    }
    const int wants_text =
        key->type == CONFIG_TEXT || key->type == CONFIG_PATH || key->type == CONFIG_WORD;
    struct config_value value;
    char buffer[4 * CONFIG_TEXT_SIZE];
    enum mtip_status status =
        config_source_option(&value, buffer, sizeof buffer, equals + 1, wants_text, where);
    return status != MTIP_OK ? status : assign(loader, key, &value, "", where);
}

/* ---- all of it -------------------------------------------------------------------------------- */

static void set_defaults(struct config *config)
{
    memset(config, 0, sizeof *config);
    for (int i = 0; i < config_n_keys; i++) {
        const struct config_key *key = &config_keys[i];
        void *target = config_key_value(config, key);
        switch (key->type) {
        case CONFIG_INTEGER:
            *(int64_t *)target = (int64_t)key->number;
            break;
        case CONFIG_REAL:
            *(double *)target = key->number;
            break;
        case CONFIG_BOOLEAN:
            *(int *)target = key->number > 0.0;
            break;
        case CONFIG_TEXT:
        case CONFIG_PATH:
        case CONFIG_WORD:
            strcpy(target, key->text);
            break;
        }
    }
}

/* What no single key can tell. `where` names the file and says that options count too. */
static enum mtip_status cross_check(struct loader *loader, const char *where)
{
    struct config *c = loader->config;
    if (c->orientation.references_min > c->orientation.references) {
        if (loader->references_set && loader->references_min_set) {
            return MTIP_ERROR(MTIP_ERR_CONFIG,
                              "%s: orientation.references_min: %" PRId64
                              " must be at most orientation.references, %" PRId64,
                              where, c->orientation.references_min, c->orientation.references);
        }
        if (loader->references_min_set) {
            c->orientation.references = c->orientation.references_min;
        } else {
            c->orientation.references_min = c->orientation.references;
        }
    }
    if (c->phasing.iterations + c->phasing.er_iterations < 1 ||
        c->phasing.final_iterations + c->phasing.final_er_iterations < 1) {
        return MTIP_ERROR(MTIP_ERR_CONFIG,
                          "%s: phasing: a loop needs at least one iteration: raise %s", where,
                          c->phasing.iterations + c->phasing.er_iterations < 1
                              ? "phasing.iterations or phasing.er_iterations"
                              : "phasing.final_iterations or phasing.final_er_iterations");
    }
    if (c->simulate.distance > 0.0 && !(c->simulate.pixel_size > 0.0)) {
        return MTIP_ERROR(MTIP_ERR_CONFIG,
                          "%s: simulate.distance is set, so simulate.pixel_size (mm) must be too",
                          where);
    }
    /* A flat detector ends at 90 degrees: 1/d = 2 sin(45 degrees) / wavelength. */
    if (!(c->simulate.distance > 0.0) &&
        !(c->simulate.edge_resolution > c->simulate.wavelength / sqrt(2.0))) {
        return MTIP_ERROR(MTIP_ERR_CONFIG,
                          "%s: simulate.edge_resolution: %g A cannot be reached by a flat detector "
                          "at wavelength %g A; it must be above %.4g A",
                          where, c->simulate.edge_resolution, c->simulate.wavelength,
                          c->simulate.wavelength / sqrt(2.0));
    }
    return MTIP_OK;
}

enum mtip_status config_load(struct config *config, const char *path, int n_sets,
                             const char *const *sets)
{
    enum mtip_status status = MTIP_OK;
    struct loader loader = {.config = config};
    char where[WHERE_SIZE];
    set_defaults(config);
    if (path != NULL) {
        MTIP_TRY(load_file(&loader, path));
    }
    for (int i = 0; i < n_sets; i++) {
        MTIP_TRY(take_option(&loader, sets[i]));
    }
    snprintf(where, sizeof where, "%.440s%s", path != NULL ? path : "configuration",
             n_sets > 0 ? " with its --set options" : "");
    MTIP_TRY(cross_check(&loader, where));
cleanup:
    return status;
}
