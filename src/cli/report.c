/* report.c - named values as lines or JSON. */
#include "cli/report.h"

#include <inttypes.h>
#include <math.h>

#define NAME_WIDTH 24

void report_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        const unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\') {
            fprintf(out, "\\%c", byte);
        } else if (byte < 0x20) {
            fprintf(out, "\\u%04x", byte);
        } else {
            fputc(byte, out);
        }
    }
    fputc('"', out);
}

static void put_name(struct report *report, const char *name)
{
    if (report->json) {
        fputs(report->n_items > 0 ? ",\n  " : "\n  ", report->out);
        report_json_text(report->out, name);
        fputs(": ", report->out);
    } else {
        fprintf(report->out, "%-*s  ", NAME_WIDTH, name);
    }
    report->n_items++;
}

static void put_units(struct report *report, const char *units)
{
    if (!report->json) {
        fprintf(report->out, "%s%s\n", units[0] != '\0' ? " " : "", units);
    }
}

static void put_real(struct report *report, double value)
{
    if (!isfinite(value)) {
        fputs(report->json ? "null" : "unknown", report->out);
    } else {
        fprintf(report->out, report->json ? "%.10g" : "%.6g", value);
    }
}

void report_begin(struct report *report, FILE *out, int json)
{
    *report = (struct report){.out = out, .json = json};
    if (json) {
        fputc('{', out);
    }
}

void report_end(struct report *report)
{
    if (report->json) {
        fputs("\n}\n", report->out);
    }
}

void report_text(struct report *report, const char *name, const char *text)
{
    put_name(report, name);
    if (report->json) {
        report_json_text(report->out, text);
    } else {
        fputs(text, report->out);
    }
    put_units(report, "");
}

void report_integer(struct report *report, const char *name, int64_t value, const char *units)
{
    put_name(report, name);
    fprintf(report->out, "%" PRId64, value);
    put_units(report, units);
}

void report_real(struct report *report, const char *name, double value, const char *units)
{
    put_name(report, name);
    put_real(report, value);
    put_units(report, units);
}

void report_boolean(struct report *report, const char *name, int value)
{
    put_name(report, name);
    fputs(report->json ? (value ? "true" : "false") : (value ? "yes" : "no"), report->out);
    put_units(report, "");
}

void report_integers(struct report *report, const char *name, int64_t n, const int64_t *values)
{
    put_name(report, name);
    fputs(report->json ? "[" : "", report->out);
    for (int64_t i = 0; i < n; i++) {
        fprintf(report->out, "%s%" PRId64, i == 0 ? "" : report->json ? ", " : " x ", values[i]);
    }
    fputs(report->json ? "]" : "", report->out);
    put_units(report, "");
}

void report_reals(struct report *report, const char *name, int64_t n, const double *values)
{
    put_name(report, name);
    fputs(report->json ? "[" : "", report->out);
    for (int64_t i = 0; i < n; i++) {
        fputs(i == 0 ? "" : report->json ? ", " : " ", report->out);
        put_real(report, values[i]);
    }
    fputs(report->json ? "]" : "", report->out);
    put_units(report, "");
}
