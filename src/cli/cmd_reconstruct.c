/* cmd_reconstruct.c - `mtip reconstruct`. */
#define _POSIX_C_SOURCE 200809L
#include "cli/cmd_reconstruct.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "io/config.h"
#include "mtip/reconstruct.h"

struct options {
    const char *config_path; /* NULL = defaults and --set alone */
    const char **sets;       /* owned array of borrowed strings */
    int n_sets;
    int force;
    enum log_level level;
};

void cmd_reconstruct_help(void)
{
    static const char *const groups[] = {"input", "particle", "resolution", "grid", "orientation",
                                         "merge", "phasing",  "run",        NULL};
    printf("usage: mtip reconstruct [CONFIG] [--set group.key=value ...] [--force] [-q | -v]\n"
           "       mpirun -n RANKS mtip reconstruct ...      srun mtip reconstruct ...\n"
           "\n"
           "Recovers a particle's density from photon frames in unknown orientations. Writes\n"
           "result.h5, density.mrc and log.txt into the directory run.output.\n"
           "\n"
           "  CONFIG               libconfig file (configs/ has a commented one with every key)\n"
           "  --set group.key=v    sets one key, after the file; may be repeated\n"
           "  --force              replace a result that is already in run.output\n"
           "  -q, --quiet          warnings and errors only\n"
           "  -v, --verbose        more detail: memory by item, solver iterations\n"
           "\n"
           "example: mpirun -n 4 mtip reconstruct --set input.file=frames.h5 \\\n"
           "             --set particle.diameter=80 --set resolution.limit=7\n"
           "\n"
           "Keys, with their defaults:\n");
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
        } else if (strcmp(arg, "--force") == 0) {
            options->force = 1;
        } else if (strcmp(arg, "-q") == 0 || strcmp(arg, "--quiet") == 0) {
            options->level = LOG_QUIET;
        } else if (strcmp(arg, "-v") == 0 || strcmp(arg, "--verbose") == 0) {
            options->level = LOG_VERBOSE;
        } else if (arg[0] == '-') {
            return MTIP_ERROR(MTIP_ERR_USAGE,
                              "reconstruct: unknown option %s (mtip reconstruct --help lists them)",
                              arg);
        } else if (options->config_path != NULL) {
            return MTIP_ERROR(MTIP_ERR_USAGE, "reconstruct: two configuration files, %s and %s",
                              options->config_path, arg);
        } else {
            options->config_path = arg;
        }
    }
    return MTIP_OK;
}

/* Makes the directory `path` with its parents. */
static enum mtip_status make_directory(const char *path)
{
    char partial[CONFIG_TEXT_SIZE];
    snprintf(partial, sizeof partial, "%s", path);
    for (char *at = partial + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(partial, 0777); /* the last mkdir tells whether it worked */
            *at = '/';
        }
    }
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        return MTIP_ERROR(MTIP_ERR_FILE, "run.output: cannot make the directory %s: %s", path,
                          strerror(errno));
    }
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) {
        return MTIP_ERROR(MTIP_ERR_FILE, "run.output: %s is not a directory", path);
    }
    if (access(path, W_OK) != 0) {
        return MTIP_ERROR(MTIP_ERR_FILE, "run.output: cannot write to %s: %s", path,
                          strerror(errno));
    }
    return MTIP_OK;
}

/* Rank 0: the output directory, no result in it that would be lost, and the log. */
static enum mtip_status prepare_output(const struct config *config, int force, struct log *log)
{
    enum mtip_status status = MTIP_OK;
    char path[CONFIG_TEXT_SIZE + 16];
    if (config->input.file[0] == '\0') {
        MTIP_FAIL(MTIP_ERR_CONFIG, "input.file is not set: name the file of frames, for example "
                                   "--set input.file=frames.h5");
    }
    if (access(config->input.file, F_OK) != 0) {
        MTIP_FAIL(MTIP_ERR_FILE, "%s: %s", config->input.file, strerror(errno));
    }
    MTIP_TRY(make_directory(config->run.output));
    snprintf(path, sizeof path, "%s/result.h5", config->run.output);
    if (!force && access(path, F_OK) == 0) {
        MTIP_FAIL(MTIP_ERR_USAGE, "%s exists already: choose another run.output, or --force", path);
    }
    snprintf(path, sizeof path, "%s/log.txt", config->run.output);
    MTIP_TRY(log_attach_file(log, path, 0));
cleanup:
    return status;
}

enum mtip_status cmd_reconstruct(const struct comm *comm, int argc, char **argv)
{
    enum mtip_status status = MTIP_OK;
    struct options options = {0};
    struct config *config = calloc(1, sizeof *config);
    struct log *log = NULL;

    status = config == NULL ? MTIP_ERROR(MTIP_ERR_MEMORY, "configuration: out of memory")
                            : parse(&options, argc, argv);
    if (status == MTIP_OK) {
        status = log_create(&log, comm->rank, options.level);
    }
    if (status == MTIP_OK && comm->rank == 0) {
        status = config_load(config, options.config_path, options.n_sets, options.sets);
    }
    MTIP_TRY(comm_agree(comm, status));
    MTIP_TRY(comm_broadcast(comm, config, sizeof *config, 0));
    if (comm->rank == 0) {
        status = prepare_output(config, options.force, log);
    }
    MTIP_TRY(comm_agree(comm, status));
    log_info(log, "mtip %s", MTIP_VERSION);
    status = reconstruct_run(config, comm, log);
    if (status != MTIP_OK) {
        log_detail(log, "failed: %s", mtip_status_message()); /* main prints it too */
    }
cleanup:
    log_destroy(&log);
    free(options.sets);
    free(config);
    return status;
}
