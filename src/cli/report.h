/* report.h - named values on standard output, as aligned lines for people or as one JSON object.
 *
 *   struct report report;
 *   report_begin(&report, stdout, json);
 *   report_integer(&report, "frames", 1000, "");
 *   report_end(&report);
 */
#ifndef MTIP_CLI_REPORT_H
#define MTIP_CLI_REPORT_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct report {
    FILE *out; /* borrowed */
    int json;
    int n_items;
};

void report_begin(struct report *report, FILE *out, int json);

/* One item. Names are JSON keys; units ("" = none) are shown to people only, so names carry them too.
 * Numbers that are not finite are null in JSON and "unknown" otherwise. */
void report_text(struct report *report, const char *name, const char *text);
void report_integer(struct report *report, const char *name, int64_t value, const char *units);
void report_real(struct report *report, const char *name, double value, const char *units);
void report_boolean(struct report *report, const char *name, int value);

/* n values as a JSON array, or on one line for people. */
void report_integers(struct report *report, const char *name, int64_t n, const int64_t *values);
void report_reals(struct report *report, const char *name, int64_t n, const double *values);

void report_end(struct report *report);

/* Writes a JSON string with its quotes. */
void report_json_text(FILE *out, const char *text);

#ifdef __cplusplus
}
#endif

#endif
