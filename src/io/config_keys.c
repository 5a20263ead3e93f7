/* config_keys.c - every key of the configuration: the one place where a default, a range, a unit or
 * a help text is written.
 */
#define _POSIX_C_SOURCE 200809L
#include "io/config_keys.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define NO_BOUND INFINITY

/* _Generic without a default: a key whose type is not that of its member does not compile. */
#define OFFSET(g, n, type) _Generic(((struct config *)0)->g.n, type : offsetof(struct config, g.n))
#define SIZE(g, n) sizeof(((struct config *)0)->g.n)

#define INTEGER(g, n, default_, min_, max_, unit_, help_)                                          \
    {                                                                                              \
        .group = #g, .name = #n, .type = CONFIG_INTEGER, .offset = OFFSET(g, n, int64_t),          \
        .size = SIZE(g, n), .number = (default_), .text = "", .min = (min_), .max = (max_),        \
        .unit = (unit_), .help = (help_)                                                           \
    }
#define ODD_INTEGER(g, n, default_, min_, max_, unit_, help_)                                      \
    {                                                                                              \
        .group = #g, .name = #n, .type = CONFIG_INTEGER, .offset = OFFSET(g, n, int64_t),          \
        .size = SIZE(g, n), .number = (default_), .text = "", .min = (min_), .max = (max_),        \
        .odd = 1, .unit = (unit_), .help = (help_)                                                 \
    }
#define REAL_BOUNDS(g, n, default_, above_, min_, max_, unit_, help_)                              \
    {                                                                                              \
        .group = #g, .name = #n, .type = CONFIG_REAL, .offset = OFFSET(g, n, double),              \
        .size = SIZE(g, n), .number = (default_), .text = "", .min = (min_), .max = (max_),        \
        .above_min = (above_), .unit = (unit_), .help = (help_)                                    \
    }
#define REAL(g, n, default_, min_, max_, unit_, help_)                                             \
    REAL_BOUNDS(g, n, default_, 0, min_, max_, unit_, help_)
#define POSITIVE(g, n, default_, max_, unit_, help_)                                               \
    REAL_BOUNDS(g, n, default_, 1, 0.0, max_, unit_, help_)
#define BOOLEAN(g, n, default_, help_)                                                             \
    {                                                                                              \
        .group = #g, .name = #n, .type = CONFIG_BOOLEAN, .offset = OFFSET(g, n, int),              \
        .size = SIZE(g, n), .number = (default_), .text = "", .max = 1.0, .unit = "",              \
        .help = (help_)                                                                            \
    }
#define STRING(type_, g, n, default_, words_, help_)                                               \
    {                                                                                              \
        .group = #g, .name = #n, .type = (type_), .offset = OFFSET(g, n, char *),                  \
        .size = SIZE(g, n), .text = (default_), .unit = "", .words = (words_), .help = (help_)     \
    }
#define PATH(g, n, default_, help_) STRING(CONFIG_PATH, g, n, default_, NULL, help_)
#define WORD(g, n, default_, words_, help_) STRING(CONFIG_WORD, g, n, default_, words_, help_)

const struct config_key config_keys[] = {
    PATH(input, file, "", "Frames file (HDF5)"),
    PATH(input, detector, "", "Detector file, for formats that keep the detector apart"),
    REAL(input, wavelength, 0, 0, 1e4, "A", "Wavelength, where the file lacks it; 0 = the file's"),
    INTEGER(input, bin, 1, 1, 1024, "pixels", "Sums blocks of bin x bin pixels into one"),
    INTEGER(input, max_frames, 0, 0, NO_BOUND, "frames", "Uses the first frames only; 0 = all"),

    REAL(particle, diameter, 0, 0, 1e6, "A", "Longest extent of the particle; 0 = unknown"),
    REAL(particle, mass, 0, 0, 1e7, "kDa", "Mass of the particle; 0 = unknown"),

    REAL(resolution, limit, 0, 0, 1e6, "A",
         "Finest resolution d that is used, twice the voxel size; 0 = the detector's edge"),

    ODD_INTEGER(grid, size, 0, 5, 4095, "voxels",
                "Voxels along a side of the grid; 0 = twice the diameter over the voxel size"),

    INTEGER(orientation, references, 8000, 1, 1e9, "",
            "Reference orientations that frames are matched with, at the full resolution"),
    INTEGER(orientation, references_min, 400, 1, 1e9, "",
            "Never fewer references than this at lower resolutions (a smaller `references` "
            "lowers it)"),
    INTEGER(orientation, candidates, 16, 0, 1e9, "",
            "References that a frame is matched with at first, about so many, drawn anew each "
            "generation: keeps frames from crowding into few views; 0 = all"),
    REAL(orientation, candidates_end, 0.7, 0, 1, "",
         "Part of the resolution limit (as |s|) from which frames are matched with all references"),
    INTEGER(orientation, refine_rounds, 3, 0, 32, "",
            "Rounds of local refinement about a frame's best reference; 0 = none"),
    INTEGER(orientation, refine_trials, 8, 1, 4096, "",
            "Small random rotations tried in a round; rounds after the first fit a parabola "
            "once frames have settled"),

    REAL(merge, regularization, 1e-4, 0, 1e3, "",
         "Pull toward the last generation's model, as a part of the weight sum"),
    INTEGER(merge, iterations, 30, 1, 1e6, "", "Most iterations of conjugate gradients"),
    POSITIVE(merge, tolerance, 1e-4, 1, "", "Relative residual at which conjugate gradients end"),
    POSITIVE(merge, weight_floor, 1e-4, 1, "",
             "Floor of the model intensity in weights and in matching, as a part of its maximum"),

    WORD(phasing, algorithm, "raar", "raar|hio|er", "Iteration that is alternated with ER"),
    POSITIVE(phasing, beta, 0.87, 1, "",
             "Relaxation of RAAR, feedback of HIO, inside generations (final phasings go "
             "from 0.95 to 0.7)"),
    INTEGER(phasing, loops, 4, 1, 1e6, "", "Loops (iterate, then shrink-wrap) in a generation"),
    INTEGER(phasing, iterations, 25, 0, 1e6, "", "Iterations of the algorithm in a loop"),
    INTEGER(phasing, er_iterations, 10, 0, 1e6, "", "Iterations of ER that end a loop"),
    REAL(phasing, support_sigma, 2.5, 0, 1e3, "voxels",
         "Blur of the density for shrink-wrap, first loop"),
    REAL(phasing, support_sigma_end, 1.2, 0, 1e3, "voxels",
         "Blur of the density for shrink-wrap, last loop"),
    POSITIVE(phasing, support_fraction, 0.45, 1, "",
             "Volume of the support while orientations are searched, as a part of the bounding "
             "ball"),
    POSITIVE(phasing, support_volume, 2.0, 1e6, "",
             "Volume of the support at the end, in volumes of the particle's mass (1.21 A^3 a "
             "Dalton)"),
    INTEGER(phasing, starts, 6, 1, 1e6, "", "Independent phasings at the end, shared by the ranks"),
    POSITIVE(phasing, keep, 0.67, 1, "", "The better part of the phasings, aligned and averaged"),
    INTEGER(phasing, final_loops, 10, 1, 1e6, "", "Loops of a phasing at the end"),
    INTEGER(phasing, final_iterations, 40, 0, 1e6, "",
            "Iterations of the algorithm in a loop at the end"),
    INTEGER(phasing, final_er_iterations, 15, 0, 1e6, "",
            "Iterations of ER that end a loop at the end"),

    PATH(run, output, "mtip-out", "Folder for results and log; created when missing"),
    INTEGER(run, generations, 26, 1, 1e6, "", "Most generations of slice, match, merge and phase"),
    INTEGER(run, seed, 1, 0, NO_BOUND, "", "Seed of all random choices"),
    WORD(run, backend, "auto", "auto|cpu|cuda", "Where the heavy stages run"),
    WORD(run, precision, "single", "single|double", "Precision of slices and matching"),
    INTEGER(run, threads, 0, 0, 65536, "", "Threads of a rank; 0 = all of this rank's cores"),
    POSITIVE(run, march_start, 0.35, 1, "",
             "Part of the resolution limit (as |s|) that the first generation uses"),
    POSITIVE(run, march_end, 0.6, 1, "",
             "Part of the generations after which all of the resolution is used"),
    REAL(run, settle, 2e-3, 0, 1, "",
         "Relative gain in log-likelihood under which, twice in a row at full resolution, the "
         "generations end; 0 = never"),
    REAL(run, memory, 0, 0, 1e9, "GiB",
         "Memory that a rank may take (of its device, on a GPU): batches and what is kept there "
         "are chosen to fit; "
         "0 = what is free"),

    PATH(simulate, output, "frames.h5", "Frames file to write"),
    PATH(simulate, pdb, "", "PDB file of the particle; \"\" = the built-in particle"),
    WORD(simulate, particle, "protein", "protein|rod", "Built-in particle"),
    BOOLEAN(simulate, water, 0, "Keeps the waters of the PDB file"),
    INTEGER(simulate, frames, 1000, 1, NO_BOUND, "frames", "Number of frames"),
    INTEGER(simulate, pixels, 32, 2, 65536, "pixels", "Pixels along a side of the detector"),
    REAL(simulate, photons, 1000, 0, 1e12, "photons", "Mean photons a frame; 0 = noise-free"),
    POSITIVE(simulate, edge_resolution, 7.2, 1e6, "A",
             "Resolution d at the middle of a detector edge, when `distance` is 0"),
    POSITIVE(simulate, wavelength, 1.5, 1e4, "A", "Wavelength of the beam"),
    REAL(simulate, distance, 0, 0, 1e9, "mm",
         "Detector distance; 0 = what puts `edge_resolution` at the edge"),
    REAL(simulate, pixel_size, 0, 0, 1e6, "mm", "Side of a pixel; needed with `distance`"),
    REAL(simulate, fluence_spread, 0, 0, 10, "",
         "Standard deviation of the logarithm of the fluence, shot to shot"),
    REAL(simulate, beamstop, 0, 0, 1, "",
         "Radius of the round beamstop, as a part of the detector's half width"),
    REAL(simulate, background, 0, 0, 1e9, "photons", "Mean background photons a pixel"),
    INTEGER(simulate, seed, 1, 0, NO_BOUND, "", "Seed of orientations, fluences and photons"),
};

const int config_n_keys = COUNT_OF(config_keys);

void *config_key_value(struct config *config, const struct config_key *key)
{
    return (char *)config + key->offset;
}

const void *config_key_value_const(const struct config *config, const struct config_key *key)
{
    return (const char *)config + key->offset;
}

const struct config_key *config_key_find(const char *group, const char *name)
{
    for (int i = 0; i < config_n_keys; i++) {
        if (strcmp(config_keys[i].group, group) == 0 && strcmp(config_keys[i].name, name) == 0) {
            return &config_keys[i];
        }
    }
    return NULL;
}

/* Shortest decimal text that reads back to the same double, with the point or exponent that makes
 * libconfig take it for a real number. */
static void format_real(char text[40], double value)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, 40, "%.*g", digits, value);
        if (!(strtod(text, NULL) < value) && !(strtod(text, NULL) > value)) {
            break;
        }
    }
    if (strpbrk(text, ".eni") == NULL) {
        strcat(text, ".0");
    }
}

static void format_quoted(char text[CONFIG_VALUE_TEXT_SIZE], const char *value)
{
    size_t length = 0;
    text[length++] = '"';
    for (const char *c = value; *c != '\0' && length + 6 < CONFIG_VALUE_TEXT_SIZE; c++) {
        const unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\') {
            text[length++] = '\\';
            text[length++] = *c;
        } else if (byte < 0x20) {
            length += (size_t)snprintf(text + length, 5, "\\x%02x", byte);
        } else {
            text[length++] = *c;
        }
    }
    text[length++] = '"';
    text[length] = '\0';
}

void config_key_format(char text[CONFIG_VALUE_TEXT_SIZE], const struct config *config,
                       const struct config_key *key)
{
    const void *value = config_key_value_const(config, key);
    switch (key->type) {
    case CONFIG_INTEGER: {
        const int64_t number = *(const int64_t *)value;
        /* Longer integers need the suffix: libconfig 1.5 would wrap them silently. */
        const char *suffix = number > INT32_MAX || number < INT32_MIN ? "L" : "";
        snprintf(text, CONFIG_VALUE_TEXT_SIZE, "%" PRId64 "%s", number, suffix);
        break;
    }
    case CONFIG_REAL:
        format_real(text, *(const double *)value);
        break;
    case CONFIG_BOOLEAN:
        strcpy(text, *(const int *)value ? "true" : "false");
        break;
    case CONFIG_TEXT:
    case CONFIG_PATH:
    case CONFIG_WORD:
        format_quoted(text, value);
        break;
    }
}

/* 15 digits: no bound is longer, and 1000 does not become 1e+03. */
static void allowed_range(char *text, size_t size, const struct config_key *key)
{
    const char *kind = key->type == CONFIG_REAL ? "a number"
                       : key->odd               ? "0 or an odd integer"
                                                : "an integer";
    if (isfinite(key->max)) {
        snprintf(text, size,
                 key->above_min ? "%s above %.15g, at most %.15g" : "%s from %.15g to %.15g", kind,
                 key->min, key->max);
    } else {
        snprintf(text, size, key->above_min ? "%s above %.15g" : "%s, at least %.15g", kind,
                 key->min);
    }
}

static void list_words(char *text, size_t size, const char *lead, const char *words)
{
    size_t length = (size_t)snprintf(text, size, "%s", lead);
    for (const char *c = words; *c != '\0' && length + 3 < size; c++) {
        if (*c == '|') {
            text[length++] = ',';
            text[length++] = ' ';
        } else {
            text[length++] = *c;
        }
    }
    text[length] = '\0';
}

void config_key_allowed(char text[256], const struct config_key *key)
{
    switch (key->type) {
    case CONFIG_INTEGER:
    case CONFIG_REAL:
        allowed_range(text, 256, key);
        break;
    case CONFIG_BOOLEAN:
        strcpy(text, "true or false");
        break;
    case CONFIG_TEXT:
    case CONFIG_PATH:
        snprintf(text, 256, "a text of at most %zu bytes", key->size - 1);
        break;
    case CONFIG_WORD:
        list_words(text, 256, "one of ", key->words);
        break;
    }
}

/* Bounds from here on only keep nonsense out; help need not show them. */
#define SHOWN_MAX 65536.0

void config_key_range(char text[256], const struct config_key *key)
{
    text[0] = '\0';
    if (key->type == CONFIG_WORD) {
        list_words(text, 256, "", key->words);
    } else if ((key->type == CONFIG_INTEGER || key->type == CONFIG_REAL) && key->max <= SHOWN_MAX) {
        snprintf(text, 256, key->above_min ? "above %.15g, to %.15g" : "%.15g to %.15g%s", key->min,
                 key->max, key->odd ? ", odd" : "");
    } else if (key->type == CONFIG_INTEGER || key->type == CONFIG_REAL) {
        snprintf(text, 256, key->above_min ? "above %.15g" : "%.15g or more", key->min);
    }
}

#define DISTANCE_MAX_LENGTH 64

int config_edit_distance(const char *a, const char *b)
{
    int row[DISTANCE_MAX_LENGTH + 1];
    const int na = (int)strnlen(a, DISTANCE_MAX_LENGTH);
    const int nb = (int)strnlen(b, DISTANCE_MAX_LENGTH);
    for (int j = 0; j <= nb; j++) {
        row[j] = j;
    }
    for (int i = 1; i <= na; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            const int change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const int shift = (row[j - 1] < row[j] ? row[j - 1] : row[j]) + 1;
            row[j] = change < shift ? change : shift;
        }
    }
    return row[nb];
}

const struct config_key *config_key_nearest(const char *group, const char *name)
{
    const struct config_key *nearest = &config_keys[0];
    int least = INT32_MAX;
    for (int i = 0; i < config_n_keys; i++) {
        /* A right name in a wrong group is nearer than another name in the right group. */
        const int in_name = config_edit_distance(name, config_keys[i].name);
        const int in_group = config_edit_distance(group, config_keys[i].group);
        const int distance = 8 * in_name + (in_group < 7 ? in_group : 7);
        if (distance < least) {
            least = distance;
            nearest = &config_keys[i];
        }
    }
    return nearest;
}
