/* cmd_compare.c - `mtip compare`. */
#include "cli/cmd_compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "core/backend.h"
#include "core/log.h"
#include "core/memory.h"
#include "io/dataset.h"
#include "io/dataset_atoms.h"
#include "io/mrc.h"
#include "io/pdb.h"
#include "io/result.h"
#include "mtip/compare.h"
#include "mtip/orient.h"
#include "mtip/particle.h"

#define BUILTIN "builtin:"

struct options {
    const char *result_path, *reference_path;
    double limit_A;
    int threads;
    int json;
    enum log_level level;
};

void cmd_compare_help(void)
{
    printf(
        "usage: mtip compare RESULT REFERENCE [--limit A] [--threads N] [--json] [-q]\n"
        "\n"
        "Judges a result against a truth. The rotation between the two is searched over all\n"
        "rotations; hand (inversion) and translation, which intensities do not tell, are undone;\n"
        "then the Fourier shell correlation (FSC) says to what resolution they agree.\n"
        "\n"
        "  RESULT       result.h5 of a reconstruction, or a volume (.mrc, .map)\n"
        "  REFERENCE    a PDB file (.pdb, .ent); a volume or another result; builtin:protein or\n"
        "               builtin:rod; or a frames file of `mtip simulate`: its atoms, and its true\n"
        "               orientations, against which those of RESULT are judged modulo a global\n"
        "               rotation and the half turn about the beam\n"
        "  --limit A    finest resolution used (default: the grid of RESULT)\n"
        "  --threads N  cores used (default: all)\n"
        "  --json       as one JSON object\n"
        "  -q, --quiet  no progress\n"
        "\n"
        "examples: mtip compare out/result.h5 frames.h5\n"
        "          mtip compare out/density.mrc 2cex.pdb --json\n");
}

static enum mtip_status parse_number(double *value, int argc, char **argv, int i, double low)
{
    char *end = NULL;
    *value = i + 1 < argc ? strtod(argv[i + 1], &end) : 0.0;
    if (end == NULL || end == argv[i + 1] || *end != '\0' || !(*value >= low) ||
        !isfinite(*value)) {
        return MTIP_ERROR(MTIP_ERR_USAGE, "compare: %s needs a number of at least %g after it",
                          argv[i], low);
    }
    return MTIP_OK;
}

static enum mtip_status parse(struct options *options, int argc, char **argv)
{
    enum mtip_status status = MTIP_OK;
    double number = 0.0;
    *options = (struct options){.level = LOG_NORMAL};
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--json") == 0) {
            options->json = 1;
        } else if (strcmp(arg, "-q") == 0 || strcmp(arg, "--quiet") == 0) {
            options->level = LOG_QUIET;
        } else if (strcmp(arg, "--limit") == 0) {
            MTIP_TRY(parse_number(&options->limit_A, argc, argv, i++, 1e-3));
        } else if (strcmp(arg, "--threads") == 0) {
            MTIP_TRY(parse_number(&number, argc, argv, i++, 0.0));
            options->threads = (int)fmin(number, 4096.0);
        } else if (arg[0] == '-' && arg[1] != '\0') {
            MTIP_FAIL(MTIP_ERR_USAGE, "compare: unknown option %s (mtip compare --help lists them)",
                      arg);
        } else if (options->result_path == NULL) {
            options->result_path = arg;
        } else if (options->reference_path == NULL) {
            options->reference_path = arg;
        } else {
            MTIP_FAIL(MTIP_ERR_USAGE, "compare: two files, not a third one, %s", arg);
        }
    }
    if (options->reference_path == NULL) {
        MTIP_FAIL(MTIP_ERR_USAGE, "compare: usage: mtip compare RESULT REFERENCE");
    }
cleanup:
    return status;
}

/* ---- files ------------------------------------------------------------------------------------ */

enum kind { KIND_RESULT, KIND_FRAMES, KIND_VOLUME, KIND_ATOMS, KIND_BUILTIN };

static int ends_with(const char *path, const char *suffix)
{
    const size_t length = strlen(path), n = strlen(suffix);
    return length >= n && strcmp(path + length - n, suffix) == 0;
}

static enum kind find_kind(const char *path)
{
    if (strncmp(path, BUILTIN, strlen(BUILTIN)) == 0) {
        return KIND_BUILTIN;
    }
    if (ends_with(path, ".mrc") || ends_with(path, ".map") || ends_with(path, ".ccp4")) {
        return KIND_VOLUME;
    }
    if (ends_with(path, ".pdb") || ends_with(path, ".ent")) {
        return KIND_ATOMS;
    }
    return result_probe(path) ? KIND_RESULT : KIND_FRAMES;
}

/* The truth: atoms or a volume, and orientations. */
struct truth {
    struct atoms atoms;   /* owned, n = 0 where there are none */
    struct result volume; /* owned; density NULL where there is none */
    double *orientations; /* owned [n_frames][4], NULL where there are none */
    int64_t n_frames;
};

static void truth_release(struct truth *truth)
{
    memory_free(&truth->orientations);
    result_release(&truth->volume);
    atoms_release(&truth->atoms);
}

static enum mtip_status read_volume(struct result *result, const char *path)
{
    enum mtip_status status = MTIP_OK;
    memset(result, 0, sizeof *result);
    MTIP_TRY(mrc_read(&result->density, &result->grid_size, &result->voxel_A, path));
    if (!(result->voxel_A > 0.0)) {
        MTIP_FAIL(MTIP_ERR_DATA, "%s: the header has no voxel size", path);
    }
cleanup:
    return status;
}

static enum mtip_status read_judged(struct result *result, const char *path)
{
    memset(result, 0, sizeof *result);
    switch (find_kind(path)) {
    case KIND_VOLUME:
        return read_volume(result, path);
    case KIND_RESULT:
    case KIND_FRAMES: /* not a result, or not there: its reader says what is wrong */
        return result_read(result, path);
    default:
        return MTIP_ERROR(MTIP_ERR_USAGE,
                          "compare: %s: RESULT is a result.h5 or a volume (.mrc, .map)", path);
    }
}

static enum mtip_status read_frames_truth(struct truth *truth, const char *path)
{
    enum mtip_status status = MTIP_OK;
    struct dataset *dataset = NULL;
    MTIP_TRY(dataset_open(&dataset, path, NULL));
    if (dataset_has_truth(dataset)) {
        truth->n_frames = dataset_n_frames(dataset);
        MTIP_TRY(MEMORY_ALLOC(&truth->orientations, 4 * truth->n_frames, "true orientations"));
        MTIP_TRY(dataset_read_orientations(dataset, truth->orientations));
    }
    if (dataset_has_atoms(path)) {
        MTIP_TRY(dataset_read_atoms(&truth->atoms, path));
        particle_centre(&truth->atoms);
    }
    if (truth->orientations == NULL && truth->atoms.n == 0) {
        MTIP_FAIL(MTIP_ERR_DATA,
                  "%s: these frames hold neither true orientations nor the atoms of the particle",
                  path);
    }
cleanup:
    dataset_close(&dataset);
    return status;
}

static enum mtip_status read_truth(struct truth *truth, const char *path)
{
    enum mtip_status status = MTIP_OK;
    switch (find_kind(path)) {
    case KIND_BUILTIN:
        status = particle_create(&truth->atoms, path + strlen(BUILTIN));
        if (status == MTIP_ERR_ARGUMENT) {
            MTIP_FAIL(MTIP_ERR_USAGE, "compare: %s", mtip_status_message());
        }
        MTIP_TRY(status);
        break;
    case KIND_ATOMS:
        MTIP_TRY(pdb_read(&truth->atoms, path, 0));
        particle_centre(&truth->atoms);
        break;
    case KIND_VOLUME:
        MTIP_TRY(read_volume(&truth->volume, path));
        break;
    case KIND_RESULT:
        MTIP_TRY(result_read(&truth->volume, path));
        break;
    default:
        MTIP_TRY(read_frames_truth(truth, path));
        break;
    }
cleanup:
    return status;
}

/* ---- output ----------------------------------------------------------------------------------- */

#define BAR_WIDTH 40

static void print_bars(const struct compare_fit *fit)
{
    printf("\nresolution/A    FSC\n");
    for (int64_t i = 0; i < fit->n_shells; i++) {
        const double value = isfinite(fit->fsc[i]) ? fmin(fmax(fit->fsc[i], 0.0), 1.0) : 0.0;
        const int length = (int)lround(value * BAR_WIDTH);
        printf("%12.2f  %5.2f  |", fit->shell_A[i], fit->fsc[i]);
        for (int k = 1; k <= BAR_WIDTH; k++) {
            const int mark = k == BAR_WIDTH / 2;
            putchar(k <= length ? '#' : mark ? ':' : ' ');
        }
        printf("|\n");
    }
    printf("%*s0%*s0.5%*s1\n", 21, "", BAR_WIDTH / 2 - 2, "", BAR_WIDTH / 2 - 3, "");
}

static void print_report(const struct options *options, const struct compare_fit *fit,
                         const struct compare_orientations *orientations, int64_t n_frames)
{
    struct report report;
    const double angle = 2.0 * acos(fmin(fit->rotation[0], 1.0)) * 180.0 / 3.14159265358979323846;
    report_begin(&report, stdout, options->json);
    report_text(&report, "result", options->result_path);
    report_text(&report, "reference", options->reference_path);
    if (fit->fsc != NULL) {
        report_real(&report, "resolution_0.5_A", fit->resolution_half_A, "A (FSC 0.5)");
        report_real(&report, "resolution_0.143_A", fit->resolution_seventh_A, "A (FSC 1/7)");
        report_real(&report, "amplitude_correlation", fit->amplitude_correlation, "");
        report_real(&report, "rotation_deg", angle, "deg, from the result to the reference");
        report_boolean(&report, "inverted", fit->inverted);
        if (options->json) {
            report_reals(&report, "rotation", 4, fit->rotation);
            report_reals(&report, "shift_A", 3, fit->shift_A);
            report_reals(&report, "shell_resolution_A", fit->n_shells, fit->shell_A);
            report_reals(&report, "fsc", fit->n_shells, fit->fsc);
        }
    }
    if (n_frames > 0) {
        report_integer(&report, "frames", n_frames, "");
        report_real(&report, "orientation_median_deg", orientations->median_deg,
                    "deg, median error");
        report_real(&report, "orientation_within_10_deg", orientations->within_10_deg,
                    "of the frames");
    }
    report_end(&report);
    if (fit->fsc != NULL && !options->json) {
        print_bars(fit);
    }
}

/* ---- the command ------------------------------------------------------------------------------ */

/* Orientations of the result against the true ones. *n_frames stays 0 where one side has none. A
 * result made of the first frames of the file (input.max_frames) is judged by those. */
static enum mtip_status judge_orientations(struct compare_orientations *orientations,
                                           int64_t *n_frames, const struct result *result,
                                           const struct truth *truth, const struct options *options)
{
    *n_frames = 0;
    if (result->orientations == NULL || truth->orientations == NULL) {
        return MTIP_OK;
    }
    if (result->n_frames > truth->n_frames) {
        return MTIP_ERROR(MTIP_ERR_DATA, "compare: %s has orientations of %lld frames, %s has %lld",
                          options->result_path, (long long)result->n_frames,
                          options->reference_path, (long long)truth->n_frames);
    }
    *n_frames = result->n_frames;
    return compare_orientations(orientations, result->orientations, truth->orientations,
                                result->n_frames);
}

enum mtip_status cmd_compare(int argc, char **argv)
{
    enum mtip_status status = MTIP_OK;
    struct options options;
    struct result *result = NULL;
    struct truth *truth = NULL;
    struct backend *backend = NULL;
    struct log *log = NULL;
    struct compare_fit fit = {.fsc = NULL};
    struct compare_orientations orientations = {.median_deg = 0.0};
    double hints[8] = {1.0, 0.0, 0.0, 0.0};
    int64_t n_frames = 0;

    MTIP_TRY(parse(&options, argc, argv));
    MTIP_TRY(MEMORY_ALLOC(&result, 1, "result"));
    MTIP_TRY(MEMORY_ALLOC(&truth, 1, "reference"));
    MTIP_TRY(read_judged(result, options.result_path));
    MTIP_TRY(read_truth(truth, options.reference_path));
    MTIP_TRY(log_create(&log, 0, options.level));
    MTIP_TRY(backend_create(&backend, "cpu", 0, options.threads));
    MTIP_TRY(judge_orientations(&orientations, &n_frames, result, truth, &options));
    if (truth->atoms.n > 0 || truth->volume.density != NULL) {
        const struct compare_reference reference = {
            .atoms = truth->atoms.n > 0 ? &truth->atoms : NULL,
            .volume = truth->volume.density,
            .n = truth->volume.grid_size,
            .voxel_A = truth->volume.voxel_A,
        };
        /* estimate ~ global * truth: what turns the result's frame into the truth's is the
         * inverse */
        quaternion_conjugate(&hints[4], orientations.global);
        const struct compare_options compare = {.limit_A = options.limit_A,
                                                .hints = hints,
                                                .n_hints = n_frames > 0 ? 2 : 1,
                                                .n_threads = backend->n_threads,
                                                .log = log};
        MTIP_TRY(compare_volume(&fit, result->density, result->grid_size, result->voxel_A,
                                &reference, &compare));
    } else if (n_frames == 0) {
        MTIP_FAIL(MTIP_ERR_DATA,
                  "compare: %s has true orientations only, %s has none to judge by them",
                  options.reference_path, options.result_path);
    }
    print_report(&options, &fit, &orientations, n_frames);

cleanup:
    compare_fit_release(&fit);
    backend_destroy(&backend);
    log_destroy(&log);
    if (truth != NULL) {
        truth_release(truth);
    }
    memory_free(&truth);
    if (result != NULL) {
        result_release(result);
    }
    memory_free(&result);
    return status;
}
