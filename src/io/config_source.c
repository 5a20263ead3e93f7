/* config_source.c - libconfig files and --set options as a stream of typed values.
 *
 * The text goes through prepare_text before libconfig sees it, for two habits of libconfig 1.5: an
 * integer beyond 32 bits without the suffix L wraps silently, and @include reads other files.
 */
#define _POSIX_C_SOURCE 200809L
#include "io/config_source.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <libconfig.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "core/memory.h"

#define FILE_SIZE_MAX ((long)1 << 20)

/* ---- numbers ---------------------------------------------------------------------------------- */

/* Reads an integer as libconfig writes them: sign, decimal or 0x, optional L or LL. 1 = an integer,
 * 0 = something else, -1 = an integer that 64 bits cannot hold. *end is behind it. */
static int scan_integer(int64_t *value, const char *text, const char **end)
{
    const char *c = text;
    const int hex = c[0] == '0' && (c[1] == 'x' || c[1] == 'X');
    if (!hex && (*c == '+' || *c == '-')) {
        c++;
    }
    if (hex ? !isxdigit((unsigned char)c[2]) : !isdigit((unsigned char)*c)) {
        return 0;
    }
    char *stop = NULL;
    errno = 0;
    *value = hex ? strtoll(text, &stop, 16) : strtoll(text, &stop, 10);
    const int fits = errno == 0;
    if (!hex && (*stop == '.' || *stop == 'e' || *stop == 'E')) {
        return 0;
    }
    for (int i = 0; i < 2 && *stop == 'L'; i++) {
        stop++;
    }
    *end = stop;
    return fits ? 1 : -1;
}

static int is_token_byte(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '+' || c == '-';
}

/* ---- the text of a file ----------------------------------------------------------------------- */

static enum mtip_status read_text(char **text, const char *path)
{
    enum mtip_status status = MTIP_OK;
    struct stat info;
    FILE *file = NULL;
    *text = NULL;
    if (stat(path, &info) != 0) {
        MTIP_FAIL(MTIP_ERR_CONFIG, "%s: cannot read the configuration: %s", path, strerror(errno));
    }
    if (S_ISDIR(info.st_mode)) {
        MTIP_FAIL(MTIP_ERR_CONFIG, "%s: is a folder; a configuration file is expected", path);
    }
    file = fopen(path, "rb");
    if (file == NULL) {
        MTIP_FAIL(MTIP_ERR_CONFIG, "%s: cannot read the configuration: %s", path, strerror(errno));
    }
    MTIP_TRY(MEMORY_ALLOC(text, FILE_SIZE_MAX + 2, "configuration text"));
    const size_t size = fread(*text, 1, (size_t)FILE_SIZE_MAX + 1, file);
    if (ferror(file)) {
        MTIP_FAIL(MTIP_ERR_CONFIG, "%s: cannot read the configuration: %s", path, strerror(errno));
    }
    if (size > (size_t)FILE_SIZE_MAX || memchr(*text, '\0', size) != NULL) {
        MTIP_FAIL(MTIP_ERR_CONFIG, "%s: is not a configuration: it is %s", path,
                  size > (size_t)FILE_SIZE_MAX ? "larger than 1 MiB" : "a binary file");
    }
cleanup:
    if (file != NULL) {
        fclose(file);
    }
    if (status != MTIP_OK) {
        memory_free(text);
    }
    return status;
}

/* Length of the comment or quoted text at c, 0 when there is none. */
static size_t skip_length(const char *c)
{
    if (*c == '"') {
        size_t i = 1;
        while (c[i] != '\0' && c[i] != '"') {
            i += c[i] == '\\' && c[i + 1] != '\0' ? 2 : 1;
        }
        return c[i] == '"' ? i + 1 : i;
    }
    if (*c == '#' || (c[0] == '/' && c[1] == '/')) {
        return strcspn(c, "\n");
    }
    if (c[0] == '/' && c[1] == '*') {
        const char *end = strstr(c + 2, "*/");
        return end != NULL ? (size_t)(end - c) + 2 : strlen(c);
    }
    return 0;
}

static int count_lines(const char *from, const char *to)
{
    int lines = 0;
    for (const char *c = from; c < to; c++) {
        lines += *c == '\n';
    }
    return lines;
}

/* *prepared: the text with an L behind each integer that needs 64 bits. Owned by the caller. */
static enum mtip_status prepare_text(char **prepared, const char *text, const char *path)
{
    enum mtip_status status = MTIP_OK;
    *prepared = NULL;
    /* An integer that needs the suffix has at least 10 bytes (0x80000000). */
    MTIP_TRY(MEMORY_ALLOC(prepared, (int64_t)(strlen(text) + strlen(text) / 8 + 16),
                          "configuration text"));
    char *out = *prepared;
    const char *c = text;
    while (*c != '\0') {
        size_t length = skip_length(c);
        if (length == 0 && strncmp(c, "@include", 8) == 0) {
            MTIP_FAIL(MTIP_ERR_CONFIG,
                      "%.440s:%d: @include is not supported; put the keys into this file", path,
                      1 + count_lines(text, c));
        }
        const char *suffix = "";
        if (length == 0) {
            length = 1;
            if (is_token_byte(*c)) {
                int64_t value = 0;
                const char *end = c;
                while (is_token_byte(c[length])) {
                    length++;
                }
                const int kind = scan_integer(&value, c, &end);
                if (kind < 0) {
                    MTIP_FAIL(MTIP_ERR_CONFIG,
                              "%.440s:%d: the integer %.40s does not fit into 64 bits", path,
                              1 + count_lines(text, c), c);
                }
                if (kind > 0 && end == c + length && end[-1] != 'L' &&
                    (value > INT32_MAX || value < INT32_MIN)) {
                    suffix = "L";
                }
            }
        }
        memcpy(out, c, length);
        out += length;
        c += length;
        if (*suffix != '\0') {
            *out++ = *suffix;
        }
    }
    *out = '\0';
cleanup:
    if (status != MTIP_OK) {
        memory_free(prepared);
    }
    return status;
}

/* ---- settings --------------------------------------------------------------------------------- */

static void value_of(struct config_value *value, const config_setting_t *setting)
{
    memset(value, 0, sizeof *value);
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
        value->kind = CONFIG_VALUE_INTEGER;
        value->integer = config_setting_type(setting) == CONFIG_TYPE_INT
                             ? config_setting_get_int(setting)
                             : config_setting_get_int64(setting);
        snprintf(value->source, sizeof value->source, "%" PRId64, value->integer);
        break;
    case CONFIG_TYPE_FLOAT:
        value->kind = CONFIG_VALUE_REAL;
        value->real = config_setting_get_float(setting);
        snprintf(value->source, sizeof value->source, "%.15g", value->real);
        break;
    case CONFIG_TYPE_BOOL:
        value->kind = CONFIG_VALUE_BOOLEAN;
        value->integer = config_setting_get_bool(setting);
        snprintf(value->source, sizeof value->source, "%s", value->integer ? "true" : "false");
        break;
    case CONFIG_TYPE_STRING:
        value->kind = CONFIG_VALUE_TEXT;
        value->text = config_setting_get_string(setting);
        snprintf(value->source, sizeof value->source, "\"%.100s\"", value->text);
        break;
    default:
        value->kind = CONFIG_VALUE_OTHER;
        break;
    }
}

static enum mtip_status visit(const config_setting_t *root, config_setting_fn *take, void *context)
{
    enum mtip_status status = MTIP_OK;
    struct config_value value;
    for (int i = 0; i < config_setting_length(root); i++) {
        config_setting_t *group = config_setting_get_elem(root, (unsigned)i);
        value_of(&value, group);
        value.kind = config_setting_is_group(group) ? CONFIG_VALUE_GROUP : value.kind;
        const char *group_name = config_setting_name(group);
        MTIP_TRY(take(context, NULL, group_name, (int)config_setting_source_line(group), &value));
        for (int j = 0; value.kind == CONFIG_VALUE_GROUP && j < config_setting_length(group); j++) {
            config_setting_t *setting = config_setting_get_elem(group, (unsigned)j);
            struct config_value member;
            value_of(&member, setting);
            MTIP_TRY(take(context, group_name, config_setting_name(setting),
                          (int)config_setting_source_line(setting), &member));
        }
    }
cleanup:
    return status;
}

enum mtip_status config_source_each(const char *path, config_setting_fn *take, void *context)
{
    enum mtip_status status = MTIP_OK;
    char *text = NULL;
    char *prepared = NULL;
    config_t parsed;
    config_init(&parsed);
    MTIP_TRY(read_text(&text, path));
    MTIP_TRY(prepare_text(&prepared, text, path));
    if (config_read_string(&parsed, prepared) != CONFIG_TRUE) {
        const char *what = config_error_text(&parsed);
        MTIP_FAIL(MTIP_ERR_CONFIG, "%.440s:%d: %s (expected: group = { key = value; ... };)", path,
                  config_error_line(&parsed), what != NULL ? what : "syntax error");
    }
    MTIP_TRY(visit(config_root_setting(&parsed), take, context));
cleanup:
    config_destroy(&parsed);
    memory_free(&prepared);
    memory_free(&text);
    return status;
}

/* ---- options ---------------------------------------------------------------------------------- */

/* Undoes the quotes and escapes of `text`; 0 when it is not one whole quoted text. */
static int unquote(char *out, const char *text)
{
    const char *c = text + 1;
    for (; *c != '"'; c++) {
        if (*c == '\0') {
            return 0;
        }
        if (*c == '\\') {
            static const char from[] = "nrtf\\\"";
            static const char to[] = "\n\r\t\f\\\"";
            const char *found = c[1] != '\0' ? strchr(from, c[1]) : NULL;
            if (found == NULL) {
                return 0;
            }
            *out++ = to[found - from];
            c++;
        } else {
            *out++ = *c;
        }
    }
    *out = '\0';
    return c[1] == '\0';
}

enum mtip_status config_source_option(struct config_value *value, char *buffer, size_t size,
                                      const char *text, int wants_text, const char *where)
{
    memset(value, 0, sizeof *value);
    snprintf(value->source, sizeof value->source, "%.100s", text);
    if (strlen(text) >= size) {
        return MTIP_ERROR(MTIP_ERR_CONFIG, "%.200s...: the value is too long", where);
    }
    if (text[0] == '"') {
        value->kind = CONFIG_VALUE_TEXT;
        value->text = buffer;
        if (!unquote(buffer, text)) {
            return MTIP_ERROR(MTIP_ERR_CONFIG,
                              "%s: a text in quotes must end at its closing quote; escapes are "
                              "\\\" \\\\ \\n \\r \\t \\f",
                              where);
        }
        return MTIP_OK;
    }
    const char *end = text;
    char *stop = NULL;
    const int kind = wants_text ? 0 : scan_integer(&value->integer, text, &end);
    if (kind != 0 && *end == '\0') {
        value->kind = CONFIG_VALUE_INTEGER;
        return kind > 0 ? MTIP_OK
                        : MTIP_ERROR(MTIP_ERR_CONFIG, "%s: the integer does not fit into 64 bits",
                                     where);
    }
    /* strtod also takes "nan", "infinity" and hexadecimal; libconfig does not. */
    if (!wants_text && strspn(text, "+-.0123456789eE") == strlen(text) && text[0] != '\0') {
        value->real = strtod(text, &stop);
        if (*stop == '\0') {
            value->kind = CONFIG_VALUE_REAL;
            return MTIP_OK;
        }
    }
    if (!wants_text && (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)) {
        value->kind = CONFIG_VALUE_BOOLEAN;
        value->integer = strcasecmp(text, "true") == 0;
        return MTIP_OK;
    }
    strcpy(buffer, text);
    value->kind = CONFIG_VALUE_TEXT;
    value->text = buffer;
    return MTIP_OK;
}
