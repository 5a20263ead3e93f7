/* cmd_bench.c - `mtip bench`: dispatch to the stages' benchmarks. */
#include "cli/cmd_bench.h"

#include <stdio.h>
#include <string.h>

#include "mtip/bench_nufft.h"
#include "mtip/bench_phase.h"

static const struct {
    const char *name;
    const char *summary;
    enum mtip_status (*run)(int argc, char **argv);
} stages[] = {
    {"nufft", "nonuniform FFTs of any kind", bench_nufft},
    {"phase", "iterations of phasing", bench_phase},
};

#define N_STAGES ((int)(sizeof stages / sizeof stages[0]))

void cmd_bench_help(void)
{
    printf("usage: mtip bench STAGE [options] [--json]\n\nStages:\n");
    for (int i = 0; i < N_STAGES; i++) {
        printf("  %-8s %s\n", stages[i].name, stages[i].summary);
    }
    printf("\n`mtip bench STAGE --list` explains a stage's options.\n");
}

enum mtip_status cmd_bench(int argc, char **argv)
{
    for (int i = 0; argc > 1 && i < N_STAGES; i++) {
        if (strcmp(argv[1], stages[i].name) == 0) {
            return stages[i].run(argc - 1, argv + 1);
        }
    }
    return MTIP_ERROR(MTIP_ERR_USAGE, "bench: %s%s; the stages are nufft and phase",
                      argc > 1 ? "unknown stage " : "name a stage", argc > 1 ? argv[1] : "");
}
