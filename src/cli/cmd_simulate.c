/* cmd_simulate.c - `mtip simulate`. */
#include "cli/cmd_simulate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report.h"
#include "core/backend.h"
#include "core/log.h"
#include "core/memory.h"
#include "io/config.h"
#include "mtip/simulate.h"

struct options {
    const char *config_path; /* NULL = defaults and --set alone */
    const char **sets;       /* owned array of borrowed strings */
    int n_sets;
    int json;
    enum log_level level;
};

void cmd_simulate_help(void)
{
    static const char *const groups[] = {"simulate", NULL};
    printf("usage: mtip simulate [CONFIG] [--set group.key=value ...] [--json] [-q]\n"
           "\n"
           "Writes photon frames of a particle in uniformly random orientations: a flat detector,\n"
           "curved on the Ewald sphere, linear polarisation along x, solid angle, Poisson noise.\n"
           "The truth (orientations, fluence, atoms) is stored beside the frames, for\n"
           "`mtip compare`; a reconstruction does not look at it. The particle is a PDB file or\n"
           "one of the built-in ones.\n"
           "\n"
           "  CONFIG               libconfig file (configs/ has a commented one with every key)\n"
           "  --set group.key=v    sets one key, after the file; may be repeated\n"
           "  --json               what was made as one JSON object\n"
           "  -q, --quiet          no progress\n"
           "\n"
           "examples: mtip simulate --set simulate.output=frames.h5\n"
           "          mtip simulate --set simulate.pdb=2cex.pdb --set simulate.photons=200\n"
           "\n"
           "Keys, with their defaults (run.threads counts too):\n");
    config_print_help(stdout, groups);
}

static enum mtip_status parse(struct options *options, int argc, char **argv)
{
    *options = (struct options){.level = LOG_NORMAL};
    options->sets = calloc((size_t)argc, sizeof *options->sets);
    if (options->sets == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "options: out of memory");
    }
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        if (strcmp(arg, "--set") == 0) {
            if (i + 1 == argc) {
                return MTIP_ERROR(MTIP_ERR_USAGE, "--set needs group.key=value after it");
            }
            options->sets[options->n_sets++] = argv[++i];
        } else if (strncmp(arg, "--set=", 6) == 0) {
            options->sets[options->n_sets++] = arg + 6;
        } else if (strcmp(arg, "--json") == 0) {
            options->json = 1;
        } else if (strcmp(arg, "-q") == 0 || strcmp(arg, "--quiet") == 0) {
            options->level = LOG_QUIET;
        } else if (arg[0] == '-') {
            return MTIP_ERROR(MTIP_ERR_USAGE,
                              "simulate: unknown option %s (mtip simulate --help lists them)", arg);
        } else if (options->config_path != NULL) {
            return MTIP_ERROR(MTIP_ERR_USAGE, "simulate: two configuration files, %s and %s",
                              options->config_path, arg);
        } else {
            options->config_path = arg;
        }
    }
    return MTIP_OK;
}

static void print_summary(const struct simulate_summary *summary, const struct config *config,
                          int json)
{
    struct report report;
    const struct config_simulate *simulate = &config->simulate;
    report_begin(&report, stdout, json);
    report_text(&report, "file", simulate->output);
    report_text(&report, "particle", simulate->pdb[0] != '\0' ? simulate->pdb : simulate->particle);
    report_integer(&report, "atoms", summary->n_atoms, "");
    report_integer(&report, "frames", summary->n_frames, "");
    report_integer(&report, "pixels", summary->n_pixel, "");
    report_integer(&report, "pixels_used", summary->n_used, "");
    report_real(&report, "photons_mean", summary->mean_photons, "a frame");
    report_real(&report, "photons_brightest_pixel", summary->brightest, "");
    report_real(&report, "wavelength_A", summary->wavelength_A, "A");
    report_real(&report, "corner_resolution_A", summary->corner_resolution_A,
                "A (finest of a used pixel)");
    report_real(&report, "pixels_per_fringe", summary->pixels_per_fringe,
                "(about 2 and more resolve the speckles)");
    report_real(&report, "edge_resolution_A", summary->edge_resolution_A,
                "A (give as resolution.limit)");
    report_real(&report, "diameter_A", summary->diameter_A, "A (give as particle.diameter)");
    report_real(&report, "mass_kDa", summary->mass_kDa, "kDa (give as particle.mass)");
    report_end(&report);
}

enum mtip_status cmd_simulate(int argc, char **argv)
{
    enum mtip_status status = MTIP_OK;
    struct options options = {0};
    struct config *config = NULL;
    struct backend *backend = NULL;
    struct log *log = NULL;
    struct simulate_summary summary;

    MTIP_TRY(parse(&options, argc, argv));
    MTIP_TRY(MEMORY_ALLOC(&config, 1, "configuration"));
    MTIP_TRY(config_load(config, options.config_path, options.n_sets, options.sets));
    MTIP_TRY(log_create(&log, 0, options.level));
    MTIP_TRY(backend_create(&backend, "cpu", 0, (int)config->run.threads));
    MTIP_TRY(simulate_run(&summary, config, backend->n_threads, log));
    print_summary(&summary, config, options.json);

cleanup:
    backend_destroy(&backend);
    log_destroy(&log);
    memory_free(&config);
    free(options.sets);
    return status;
}
