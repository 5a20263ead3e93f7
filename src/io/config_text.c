/* config_text.c - the key table as help, the values as a configuration file. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "io/config_keys.h"

#define LINE_WIDTH 100

/* Writes `text` from column `column` on, wrapped at words; further lines begin with `indent` spaces
 * and `lead`. */
static void put_wrapped(FILE *out, const char *text, int column, int indent, const char *lead)
{
    int first = 1;
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > LINE_WIDTH) {
            fprintf(out, "\n%*s%s", indent, "", lead);
            column = indent + (int)strlen(lead);
            first = 1;
        }
        column += fprintf(out, "%s%.*s", first ? "" : " ", length, text);
        text += length + (text[length] == ' ');
        first = 0;
    }
    fputc('\n', out);
}

/* Help with what is allowed: "Most iterations ... (1 to 1000, in A)". */
static void describe(char text[768], const struct config_key *key, int with_unit)
{
    char range[256];
    config_key_range(range, key);
    const char *unit = with_unit ? key->unit : "";
    const int has_both = range[0] != '\0' && unit[0] != '\0';
    const int has_any = range[0] != '\0' || unit[0] != '\0';
    snprintf(text, 768, "%s%s%s%s%s%s", key->help, has_any ? " (" : "", range,
             has_both ? ", in " : "", unit, has_any ? ")" : "");
}

static int is_listed(const char *group, const char *const *groups)
{
    if (groups == NULL) {
        return 1;
    }
    for (; *groups != NULL; groups++) {
        if (strcmp(*groups, group) == 0) {
            return 1;
        }
    }
    return 0;
}

void config_print_help(FILE *out, const char *const *groups)
{
    struct config defaults;
    char value[CONFIG_VALUE_TEXT_SIZE];
    char text[768];
    /* Defaults cannot fail: the tests load them. */
    if (config_load(&defaults, NULL, 0, NULL) != MTIP_OK) {
        return;
    }
    int name_width = 0, value_width = 0, unit_width = 0;
    for (int i = 0; i < config_n_keys; i++) {
        const struct config_key *key = &config_keys[i];
        if (is_listed(key->group, groups)) {
            const int name = (int)(strlen(key->group) + 1 + strlen(key->name));
            config_key_format(value, &defaults, key);
            name_width = name > name_width ? name : name_width;
            value_width = (int)strlen(value) > value_width ? (int)strlen(value) : value_width;
            unit_width = (int)strlen(key->unit) > unit_width ? (int)strlen(key->unit) : unit_width;
        }
    }
    const int column = 2 + name_width + 2 + value_width + 2 + unit_width + 2;
    for (int i = 0; i < config_n_keys; i++) {
        const struct config_key *key = &config_keys[i];
        if (is_listed(key->group, groups)) {
            char name[128];
            snprintf(name, sizeof name, "%s.%s", key->group, key->name);
            config_key_format(value, &defaults, key);
            describe(text, key, 0);
            fprintf(out, "  %-*s  %-*s  %-*s  ", name_width, name, value_width, value, unit_width,
                    key->unit);
            put_wrapped(out, text, column, column, "");
        }
    }
}

void config_print(FILE *out, const struct config *config, int comments)
{
    char value[CONFIG_VALUE_TEXT_SIZE];
    char text[768];
    if (comments) {
        fprintf(out,
                "# Configuration of mtip (libconfig). Every key may be left out; relative paths "
                "start at the folder\n# of this file. On the command line: --set "
                "group.key=value.\n\n");
    }
    for (int i = 0; i < config_n_keys; i++) {
        const struct config_key *key = &config_keys[i];
        const int opens = i == 0 || strcmp(key->group, config_keys[i - 1].group) != 0;
        const int closes =
            i + 1 == config_n_keys || strcmp(key->group, config_keys[i + 1].group) != 0;
        if (opens) {
            fprintf(out, "%s%s = {\n", i > 0 && comments ? "\n" : "", key->group);
        }
        if (comments) {
            describe(text, key, 1);
            fprintf(out, "    # ");
            put_wrapped(out, text, 6, 4, "# ");
        }
        config_key_format(value, config, key);
        fprintf(out, "    %s = %s;\n", key->name, value);
        if (closes) {
            fprintf(out, "};\n");
        }
    }
}

enum mtip_status config_to_text(char **text, const struct config *config)
{
    enum mtip_status status = MTIP_OK;
    char *buffer = NULL;
    size_t size = 0;
    *text = NULL;
    FILE *stream = open_memstream(&buffer, &size);
    if (stream == NULL) {
        MTIP_FAIL(MTIP_ERR_MEMORY, "configuration text: cannot allocate");
    }
    config_print(stream, config, 0);
    if (fclose(stream) != 0) {
        MTIP_FAIL(MTIP_ERR_MEMORY, "configuration text: cannot allocate");
    }
    MTIP_TRY(MEMORY_ALLOC(text, (int64_t)size + 1, "configuration text"));
    memcpy(*text, buffer, size);
cleanup:
    free(buffer);
    return status;
}
