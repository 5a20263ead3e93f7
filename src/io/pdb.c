/* pdb.c - reader of PDB files by columns (wwPDB format 3.3, section "Coordinate Section"). */
#include "io/pdb.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* Lines have 80 columns; longer ones are read and cut. */
#define LINE_SIZE 128

static const char *const symbols[] = {
    "",   "H",  "HE", "LI", "BE", "B",  "C",  "N",  "O",  "F",  "NE", "NA", "MG", "AL", "SI",
    "P",  "S",  "CL", "AR", "K",  "CA", "SC", "TI", "V",  "CR", "MN", "FE", "CO", "NI", "CU",
    "ZN", "GA", "GE", "AS", "SE", "BR", "KR", "RB", "SR", "Y",  "ZR", "NB", "MO", "TC", "RU",
    "RH", "PD", "AG", "CD", "IN", "SN", "SB", "TE", "I",  "XE", "CS", "BA", "LA", "CE", "PR",
    "ND", "PM", "SM", "EU", "GD", "TB", "DY", "HO", "ER", "TM", "YB", "LU", "HF", "TA", "W",
    "RE", "OS", "IR", "PT", "AU", "HG", "TL", "PB", "BI", "PO", "AT", "RN", "FR", "RA", "AC",
    "TH", "PA", "U",  "NP", "PU", "AM", "CM", "BK", "CF"};

enum mtip_status atoms_alloc(struct atoms *atoms, int64_t n)
{
    enum mtip_status status = MTIP_OK;
    memset(atoms, 0, sizeof *atoms);
    if (n > INT64_MAX / 4) {
        MTIP_FAIL(MTIP_ERR_MEMORY, "too many atoms");
    }
    MTIP_TRY(MEMORY_ALLOC(&atoms->xyz, 3 * n, "atom positions"));
    MTIP_TRY(MEMORY_ALLOC(&atoms->element, n, "atom elements"));
    MTIP_TRY(MEMORY_ALLOC(&atoms->occupancy, n, "atom occupancies"));
    MTIP_TRY(MEMORY_ALLOC(&atoms->b_factor, n, "atom B factors"));
    atoms->n = n;
cleanup:
    if (status != MTIP_OK) {
        atoms_release(atoms);
    }
    return status;
}

void atoms_release(struct atoms *atoms)
{
    memory_free(&atoms->xyz);
    memory_free(&atoms->element);
    memory_free(&atoms->occupancy);
    memory_free(&atoms->b_factor);
    memset(atoms, 0, sizeof *atoms);
}

/* ---- lines ------------------------------------------------------------------------------------ */

/* Next line without its end, padded with blanks to LINE_SIZE - 1; 0 at the end of the file. */
static int next_line(char line[LINE_SIZE], FILE *file)
{
    int c = getc(file);
    size_t length = 0;
    if (c == EOF) {
        return 0;
    }
    for (; c != EOF && c != '\n'; c = getc(file)) {
        if (length < LINE_SIZE - 1) {
            line[length++] = c == '\r' || c == '\0' ? ' ' : (char)c;
        }
    }
    memset(line + length, ' ', LINE_SIZE - 1 - length);
    line[LINE_SIZE - 1] = '\0';
    return 1;
}

static int starts_with(const char *line, const char *record)
{
    return strncmp(line, record, strlen(record)) == 0;
}

/* Is this line an atom that the caller wants? */
static int is_wanted(const char *line, int keep_water)
{
    static const char *const waters[] = {"HOH", "WAT", "DOD"};
    if (!starts_with(line, "ATOM  ") && !starts_with(line, "HETATM")) {
        return 0;
    }
    if (line[16] != ' ' && line[16] != 'A') {
        return 0;
    }
    for (size_t i = 0; !keep_water && i < sizeof waters / sizeof waters[0]; i++) {
        if (strncmp(line + 17, waters[i], 3) == 0) {
            return 0;
        }
    }
    return 1;
}

/* Columns first .. last (from 1) as a number: 1 = read, 0 = blank, -1 = something else. */
static int read_number(double *value, const char *line, int first, int last)
{
    char text[16];
    char *end = NULL;
    const size_t length = (size_t)(last - first + 1);
    memcpy(text, line + first - 1, length);
    text[length] = '\0';
    if (strspn(text, " \t") == length) {
        return 0;
    }
    /* Only what a decimal number is made of: strtod takes "nan" and "0x1" too. */
    if (strspn(text, " +-.0123456789eE") != length) {
        return -1;
    }
    *value = strtod(text, &end);
    return end != text && end[strspn(end, " ")] == '\0' && isfinite(*value) ? 1 : -1;
}

/* Atomic number of the one or two letters at `text`; 0 when there is no such element. */
static int find_element(char first, char second)
{
    char symbol[3] = {(char)toupper((unsigned char)first), (char)toupper((unsigned char)second), 0};
    if (second == ' ') {
        symbol[1] = '\0';
    }
    if (strcmp(symbol, "D") == 0) { /* deuterium scatters X-rays as hydrogen does */
        return 1;
    }
    for (int z = 1; z < (int)(sizeof symbols / sizeof symbols[0]); z++) {
        if (strcmp(symbols[z], symbol) == 0) {
            return z;
        }
    }
    return 0;
}

/* Columns 77-78, right-justified, or else the atom name in 13-16: its first two columns hold the
 * symbol right-justified, but for hydrogens with four-letter names (HG11 is no mercury). */
static int element_of(const char *line)
{
    const char *column = line + 76;
    if (isalpha((unsigned char)column[0]) || isalpha((unsigned char)column[1])) {
        return column[0] == ' ' ? find_element(column[1], ' ') : find_element(column[0], column[1]);
    }
    const char *name = line + 12;
    if (!isalpha((unsigned char)name[0])) { /* " CA ", "1HB " */
        return find_element(name[1], ' ');
    }
    if (toupper((unsigned char)name[0]) == 'H' && name[3] != ' ') {
        return 1;
    }
    const int two_letters = isalpha((unsigned char)name[1]) ? find_element(name[0], name[1]) : 0;
    return two_letters != 0 ? two_letters : find_element(name[0], ' ');
}

/* ---- the file --------------------------------------------------------------------------------- */

static enum mtip_status read_atom(struct atoms *atoms, int64_t i, const char *line,
                                  const char *path, long line_number)
{
    static const int columns[3] = {31, 39, 47};
    for (int k = 0; k < 3; k++) {
        if (read_number(&atoms->xyz[3 * i + k], line, columns[k], columns[k] + 7) != 1) {
            return MTIP_ERROR(
                MTIP_ERR_FORMAT, "%s:%ld: \"%.8s\" in columns %d-%d is no %c coordinate (A)", path,
                line_number, line + columns[k] - 1, columns[k], columns[k] + 7, 'x' + k);
        }
    }
    atoms->occupancy[i] = 1.0;
    if (read_number(&atoms->occupancy[i], line, 55, 60) < 0) {
        return MTIP_ERROR(MTIP_ERR_FORMAT, "%s:%ld: \"%.6s\" in columns 55-60 is no occupancy",
                          path, line_number, line + 54);
    }
    if (read_number(&atoms->b_factor[i], line, 61, 66) < 0) {
        return MTIP_ERROR(MTIP_ERR_FORMAT, "%s:%ld: \"%.6s\" in columns 61-66 is no B factor", path,
                          line_number, line + 60);
    }
    atoms->element[i] = element_of(line);
    if (atoms->element[i] == 0) {
        return MTIP_ERROR(MTIP_ERR_FORMAT,
                          "%s:%ld: unknown element: columns 77-78 hold \"%.2s\", the atom name is "
                          "\"%.4s\"",
                          path, line_number, line + 76, line + 12);
    }
    return MTIP_OK;
}

/* Goes through the first model; counts atoms, and stores them when `atoms` is given. */
static enum mtip_status walk(int64_t *n, struct atoms *atoms, FILE *file, int keep_water,
                             const char *path)
{
    char line[LINE_SIZE];
    long line_number = 0;
    *n = 0;
    rewind(file);
    while (next_line(line, file)) {
        line_number++;
        if (starts_with(line, "ENDMDL")) {
            break;
        }
        if (!is_wanted(line, keep_water)) {
            continue;
        }
        if (atoms != NULL) {
            if (*n == atoms->n) { /* the file grew between the passes */
                break;
            }
            const enum mtip_status status = read_atom(atoms, *n, line, path, line_number);
            if (status != MTIP_OK) {
                return status;
            }
        }
        ++*n;
    }
    if (ferror(file)) {
        return MTIP_ERROR(MTIP_ERR_FILE, "%s: cannot read: %s", path, strerror(errno));
    }
    return MTIP_OK;
}

enum mtip_status pdb_read(struct atoms *atoms, const char *path, int keep_water)
{
    enum mtip_status status = MTIP_OK;
    int64_t n = 0;
    memset(atoms, 0, sizeof *atoms);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: cannot open the PDB file: %s", path, strerror(errno));
    }
    MTIP_TRY(walk(&n, NULL, file, keep_water, path));
    if (n == 0) {
        MTIP_FAIL(MTIP_ERR_FORMAT,
                  "%s: has no atoms%s: ATOM or HETATM records of a PDB file are expected (mmCIF is "
                  "not read)",
                  path, keep_water ? "" : " besides water");
    }
    MTIP_TRY(atoms_alloc(atoms, n));
    MTIP_TRY(walk(&n, atoms, file, keep_water, path));
    atoms->n = n;
cleanup:
    if (file != NULL) {
        fclose(file);
    }
    if (status != MTIP_OK) {
        atoms_release(atoms);
    }
    return status;
}
