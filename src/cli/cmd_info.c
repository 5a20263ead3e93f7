/* cmd_info.c - `mtip info`. */
#include "cli/cmd_info.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/report.h"
#include "core/memory.h"
#include "io/config.h"
#include "io/dataset.h"
#include "io/mrc.h"
#include "io/pdb.h"
#include "io/result.h"

/* Frames are read in pieces of about this size. */
#define PIECE_BYTES ((int64_t)64 << 20)

void cmd_info_help(void)
{
    printf(
        "usage: mtip info FILE [--json]\n"
        "       mtip info --keys\n"
        "\n"
        "Tells what is in a frames file (HDF5), a result (HDF5), a volume (MRC) or a PDB file.\n"
        "\n"
        "  --json   as one JSON object\n"
        "  --keys   instead writes a commented configuration file with every key at its default\n"
        "\n"
        "examples: mtip info out/result.h5\n"
        "          mtip info --keys > my.cfg\n");
}

/* ---- frames ----------------------------------------------------------------------------------- */

struct photon_statistics {
    int64_t n_blank;
    double least, mean, most; /* photons a frame */
    double brightest;         /* photons in a pixel */
};

static enum mtip_status count_photons(struct photon_statistics *photons,
                                      const struct dataset *dataset)
{
    enum mtip_status status = MTIP_OK;
    float *frames = NULL;
    const int64_t n = dataset_n_frames(dataset);
    const int64_t n_pixel = dataset_detector(dataset)->n_pixel;
    int64_t rows = PIECE_BYTES / ((int64_t)sizeof *frames * n_pixel);
    double sum = 0.0;
    rows = rows < 1 ? 1 : rows > n ? n : rows;
    *photons = (struct photon_statistics){.least = INFINITY};
    MTIP_TRY(MEMORY_ALLOC(&frames, rows * n_pixel, "frames"));
    for (int64_t first = 0; first < n; first += rows) {
        const int64_t count = rows < n - first ? rows : n - first;
        MTIP_TRY(dataset_read(dataset, first, count, frames));
        for (int64_t i = 0; i < count; i++) {
            double total = 0.0;
            for (int64_t p = 0; p < n_pixel; p++) {
                const double value = (double)frames[i * n_pixel + p];
                total += value;
                photons->brightest = fmax(photons->brightest, value);
            }
            photons->least = fmin(photons->least, total);
            photons->most = fmax(photons->most, total);
            photons->n_blank += !(total > 0.0);
            sum += total;
        }
    }
    photons->mean = sum / (double)n;
cleanup:
    memory_free(&frames);
    return status;
}

static void report_detector(struct report *report, const struct detector *detector)
{
    int64_t n_used = 0;
    double s_max = 0.0, s_min = INFINITY;
    for (int64_t p = 0; p < detector->n_pixel; p++) {
        const double *s = &detector->s[3 * p];
        const double length = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
        if (detector->mask[p]) {
            n_used++;
            s_max = fmax(s_max, length);
            s_min = fmin(s_min, length);
        }
    }
    const int64_t shape[3] = {detector->n_panel, detector->ny, detector->nx};
    report_integers(report, "detector", 3, shape);
    report_integer(report, "pixels", detector->n_pixel, "");
    report_integer(report, "pixels_used", n_used, "");
    report_real(report, "finest_resolution_A", 1.0 / s_max, "A (largest |s| of a used pixel)");
    report_real(report, "coarsest_resolution_A", s_min > 0.0 ? 1.0 / s_min : NAN,
                "A (smallest |s| of a used pixel)");
    report_real(report, "wavelength_A",
                detector->wavelength_A > 0.0 ? detector->wavelength_A : (double)NAN, "A");
    report_boolean(report, "background", detector->background != NULL);
}

static enum mtip_status info_frames(const char *path, int json)
{
    enum mtip_status status = MTIP_OK;
    struct dataset *dataset = NULL;
    struct photon_statistics photons;
    struct report report;
    char checksum[65];
    MTIP_TRY(dataset_open(&dataset, path, NULL));
    MTIP_TRY(count_photons(&photons, dataset));
    MTIP_TRY(dataset_checksum(checksum, path));
    report_begin(&report, stdout, json);
    report_text(&report, "file", path);
    report_text(&report, "kind", "frames");
    report_text(&report, "format", dataset_format_name(dataset));
    report_text(&report, "checksum", checksum);
    report_integer(&report, "frames", dataset_n_frames(dataset), "");
    report_detector(&report, dataset_detector(dataset));
    report_real(&report, "photons_mean", photons.mean, "a frame");
    report_real(&report, "photons_least", photons.least, "in a frame");
    report_real(&report, "photons_most", photons.most, "in a frame");
    report_real(&report, "photons_brightest_pixel", photons.brightest, "");
    report_integer(&report, "blank_frames", photons.n_blank, "");
    report_boolean(&report, "true_orientations", dataset_has_truth(dataset));
    report_end(&report);
cleanup:
    dataset_close(&dataset);
    return status;
}

/* ---- results, volumes, atoms ------------------------------------------------------------------ */

static void report_volume(struct report *report, const double *volume, int64_t n, double voxel_A)
{
    double low = INFINITY, high = -INFINITY, sum = 0.0;
    for (int64_t i = 0; i < n * n * n; i++) {
        low = fmin(low, volume[i]);
        high = fmax(high, volume[i]);
        sum += volume[i];
    }
    report_integer(report, "grid_size", n, "voxels a side");
    report_real(report, "voxel_size_A", voxel_A > 0.0 ? voxel_A : (double)NAN, "A");
    report_real(report, "density_least", low, "");
    report_real(report, "density_mean", sum / (double)(n * n * n), "");
    report_real(report, "density_most", high, "");
}

static enum mtip_status info_result(const char *path, int json)
{
    struct result result;
    struct report report;
    const enum mtip_status status = result_read(&result, path);
    if (status != MTIP_OK) {
        return status;
    }
    report_begin(&report, stdout, json);
    report_text(&report, "file", path);
    report_text(&report, "kind", "result");
    report_text(&report, "version", result.version);
    report_text(&report, "input_path", result.input_path);
    report_text(&report, "input_checksum", result.input_checksum);
    report_text(&report, "backend", result.backend);
    report_integer(&report, "ranks", result.n_ranks, "");
    report_integer(&report, "threads", result.n_threads, "a rank");
    report_integer(&report, "seed", result.config.run.seed, "");
    report_volume(&report, result.density, result.grid_size, result.voxel_A);
    report_integer(&report, "frames", result.n_frames, "");
    report_integer(&report, "generations", result.n_generations, "");
    report_real(&report, "resolution_0.5_A",
                result.resolution_half_A > 0.0 ? result.resolution_half_A : (double)NAN,
                "A (half sets, FSC 0.5)");
    report_real(&report, "resolution_0.143_A",
                result.resolution_seventh_A > 0.0 ? result.resolution_seventh_A : (double)NAN,
                "A (half sets, FSC 1/7)");
    if (json && result.fsc != NULL && result.shell_resolution_A != NULL) {
        report_reals(&report, "shell_resolution_A", result.n_shells, result.shell_resolution_A);
        report_reals(&report, "fsc", result.n_shells, result.fsc);
    }
    if (json && result.prtf != NULL) {
        report_reals(&report, "prtf", result.n_shells, result.prtf);
    }
    report_end(&report);
    result_release(&result);
    return MTIP_OK;
}

static enum mtip_status info_volume(const char *path, int json)
{
    double *volume = NULL;
    double voxel_A = 0.0;
    int64_t n = 0;
    struct report report;
    const enum mtip_status status = mrc_read(&volume, &n, &voxel_A, path);
    if (status != MTIP_OK) {
        return status;
    }
    report_begin(&report, stdout, json);
    report_text(&report, "file", path);
    report_text(&report, "kind", "volume");
    report_volume(&report, volume, n, voxel_A);
    report_end(&report);
    memory_free(&volume);
    return MTIP_OK;
}

static enum mtip_status info_atoms(const char *path, int json)
{
    struct atoms atoms;
    struct report report;
    const enum mtip_status status = pdb_read(&atoms, path, 0);
    if (status != MTIP_OK) {
        return status;
    }
    double centre[3] = {0.0, 0.0, 0.0};
    double radius = 0.0, electrons = 0.0;
    for (int64_t i = 0; i < atoms.n; i++) {
        for (int k = 0; k < 3; k++) {
            centre[k] += atoms.xyz[3 * i + k] / (double)atoms.n;
        }
        electrons += atoms.occupancy[i] * atoms.element[i];
    }
    for (int64_t i = 0; i < atoms.n; i++) {
        const double *r = &atoms.xyz[3 * i];
        radius = fmax(radius, sqrt(pow(r[0] - centre[0], 2) + pow(r[1] - centre[1], 2) +
                                   pow(r[2] - centre[2], 2)));
    }
    report_begin(&report, stdout, json);
    report_text(&report, "file", path);
    report_text(&report, "kind", "atoms");
    report_integer(&report, "atoms", atoms.n, "without water");
    report_real(&report, "electrons", electrons, "");
    report_real(&report, "radius_A", radius, "A (about the mean position)");
    report_end(&report);
    atoms_release(&atoms);
    return MTIP_OK;
}

/* ---- the command ------------------------------------------------------------------------------ */

enum kind { KIND_HDF5, KIND_VOLUME, KIND_ATOMS, KIND_UNKNOWN };

static int ends_with(const char *path, const char *suffix)
{
    const size_t length = strlen(path), n = strlen(suffix);
    return length >= n && strcmp(path + length - n, suffix) == 0;
}

static enum kind find_kind(const char *path)
{
    unsigned char head[212] = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return KIND_HDF5; /* its reader says what is wrong */
    }
    const size_t n = fread(head, 1, sizeof head, file);
    fclose(file);
    if (n == 0 || memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0) {
        return KIND_HDF5;
    }
    if (memcmp(head + 208, "MAP", 3) == 0 || ends_with(path, ".mrc") || ends_with(path, ".map") ||
        ends_with(path, ".ccp4")) {
        return KIND_VOLUME;
    }
    if (ends_with(path, ".pdb") || ends_with(path, ".ent")) {
        return KIND_ATOMS;
    }
    return KIND_UNKNOWN;
}

enum mtip_status cmd_info(int argc, char **argv)
{
    const char *path = NULL;
    int json = 0, keys = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            cmd_info_help();
            return MTIP_OK;
        } else if (strcmp(argv[i], "--json") == 0) {
            json = 1;
        } else if (strcmp(argv[i], "--keys") == 0) {
            keys = 1;
        } else if (argv[i][0] == '-' && argv[i][1] != '\0') {
            return MTIP_ERROR(MTIP_ERR_USAGE,
                              "info: unknown option %s (mtip info --help lists them)", argv[i]);
        } else if (path != NULL) {
            return MTIP_ERROR(MTIP_ERR_USAGE, "info: one file at a time, not %s and %s", path,
                              argv[i]);
        } else {
            path = argv[i];
        }
    }
    if (keys && path == NULL && !json) {
        struct config defaults;
        const enum mtip_status status = config_load(&defaults, NULL, 0, NULL);
        if (status == MTIP_OK) {
            config_print(stdout, &defaults, 1);
        }
        return status;
    }
    if (path == NULL || keys) {
        return MTIP_ERROR(MTIP_ERR_USAGE, "info: usage: mtip info FILE [--json], or --keys alone");
    }
    switch (find_kind(path)) {
    case KIND_HDF5:
        return result_probe(path) ? info_result(path, json) : info_frames(path, json);
    case KIND_VOLUME:
        return info_volume(path, json);
    case KIND_ATOMS:
        return info_atoms(path, json);
    case KIND_UNKNOWN:
        break;
    }
    return MTIP_ERROR(MTIP_ERR_FORMAT,
                      "%s: is none of HDF5 (frames, result), MRC (.mrc, .map) and PDB (.pdb)",
                      path);
}
