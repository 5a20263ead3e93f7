/* main.c - the program mtip: finds the command, starts MPI, ends the job with one message. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd_bench.h"
#include "cli/cmd_compare.h"
#include "cli/cmd_info.h"
#include "cli/cmd_reconstruct.h"
#include "cli/cmd_simulate.h"
#include "core/comm.h"
#include "core/status.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_BAD_USAGE = 2 };

struct command {
    const char *name;
    const char *summary;
    /* Commands of one rank run on rank 0 alone while the others wait. */
    enum mtip_status (*run)(int argc, char **argv);
    enum mtip_status (*run_collective)(const struct comm *comm, int argc, char **argv);
    void (*help)(void);
};

static const struct command commands[] = {
    {.name = "simulate",
     .summary = "photon frames of a particle in random orientations, the truth beside them",
     .run = cmd_simulate,
     .help = cmd_simulate_help},
    {.name = "reconstruct",
     .summary = "density from frames in unknown orientations (under mpirun or srun)",
     .run_collective = cmd_reconstruct,
     .help = cmd_reconstruct_help},
    {.name = "compare",
     .summary = "judge a result: against a volume, a PDB file or the truth of simulated frames",
     .run = cmd_compare,
     .help = cmd_compare_help},
    {.name = "info",
     .summary = "what is in a frames, result or volume file",
     .run = cmd_info,
     .help = cmd_info_help},
    {.name = "bench", .summary = "timings of the stages", .run = cmd_bench, .help = cmd_bench_help},
};

#define N_COMMANDS ((int)(sizeof commands / sizeof commands[0]))

static void print_help(FILE *out)
{
    fprintf(out,
            "mtip %s: from X-ray snapshots of single particles in unknown orientations to a "
            "3-D density.\n\n"
            "usage: mtip COMMAND [options]\n\n",
            MTIP_VERSION);
    for (int i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].summary);
    }
    fprintf(out, "\n`mtip COMMAND --help` explains a command and lists its keys with their "
                 "defaults.\n\n"
                 "A first result:\n"
                 "  mtip simulate --set simulate.output=frames.h5\n"
                 "  mpirun -n 2 mtip reconstruct --set input.file=frames.h5 \\\n"
                 "      --set particle.diameter=80 --set run.output=out\n"
                 "  mtip compare out/result.h5 frames.h5\n\n"
                 "Exit status: 0 success, 1 the run failed, 2 bad usage or bad configuration.\n");
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

static int wants_help(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return 1;
        }
    }
    return 0;
}

static int exit_code(enum mtip_status status)
{
    switch (status) {
    case MTIP_OK:
        return EXIT_OK;
    case MTIP_ERR_USAGE:
    case MTIP_ERR_CONFIG:
        return EXIT_BAD_USAGE;
    default:
        return EXIT_FAILED;
    }
}

/* Runs a command under MPI; returns the exit code, the same on every rank. */
static int run_command(const struct command *command, int argc, char **argv)
{
    struct comm comm;
    int provided = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    enum mtip_status status = comm_create(&comm, MPI_COMM_WORLD);
    if (status != MTIP_OK) {
        fprintf(stderr, "mtip: %s\n", mtip_status_message());
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILED);
        return EXIT_FAILED;
    }
    if (command->run_collective != NULL) {
        status = command->run_collective(&comm, argc, argv);
    } else {
        status = comm_agree(&comm, comm.rank == 0 ? command->run(argc, argv) : MTIP_OK);
    }
    if (status != MTIP_OK && comm.rank == 0) {
        fprintf(stderr, "mtip: error: %s\n", mtip_status_message());
    }
    comm_destroy(&comm);
    MPI_Finalize();
    return exit_code(status);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_BAD_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("mtip %s\n", MTIP_VERSION);
        return EXIT_OK;
    }
    const struct command *command = find_command(argv[1]);
    if (command == NULL) {
        fprintf(stderr, "mtip: error: unknown command %s (mtip --help lists them)\n", argv[1]);
        return EXIT_BAD_USAGE;
    }
    if (wants_help(argc - 1, argv + 1)) {
        command->help();
        return EXIT_OK;
    }
    return run_command(command, argc - 1, argv + 1);
}
