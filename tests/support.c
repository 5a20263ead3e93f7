/* support.c - assertions, temporary folders and the frame of MPI test programs. */
#define _XOPEN_SOURCE 700
#include "support.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct comm world = {.mpi = MPI_COMM_NULL};

void support_assert_close(double got, double want, double tolerance, const char *what,
                          const char *file, int line)
{
    if (!(fabs(got - want) <= tolerance)) {
        print_error("%s is %.17g, expected %.17g within %.3g\n", what, got, want, tolerance);
        _fail(file, line);
    }
}

void support_assert_at_most(double value, double bound, const char *what, const char *file,
                            int line)
{
    if (!(value <= bound)) {
        print_error("%s is %.9g, expected at most %.9g\n", what, value, bound);
        _fail(file, line);
    }
}

void support_assert_status(enum mtip_status got, enum mtip_status want, const char *what,
                           const char *file, int line)
{
    if (got != want) {
        print_error("%s: %s (%s; %s), expected: %s\n", what, mtip_status_text(got),
                    mtip_status_message(), mtip_status_origin(), mtip_status_text(want));
        _fail(file, line);
    }
}

void support_assert_message_has(const char *text, const char *file, int line)
{
    if (strstr(mtip_status_message(), text) == NULL) {
        print_error("the message \"%s\" does not name \"%s\"\n", mtip_status_message(), text);
        _fail(file, line);
    }
}

static double relative(double difference, double norm)
{
    if (difference == 0.0) {
        return 0.0;
    }
    return norm == 0.0 ? INFINITY : sqrt(difference / norm);
}

double support_relative_l2(const double *a, const double *b, int64_t n)
{
    double difference = 0.0, norm = 0.0;
    for (int64_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return relative(difference, norm);
}

double support_relative_l2_float(const float *a, const float *b, int64_t n)
{
    double difference = 0.0, norm = 0.0;
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)a[i], y = (double)b[i];
        difference += (x - y) * (x - y);
        norm += y * y;
    }
    return relative(difference, norm);
}

int64_t support_resident_bytes(void)
{
    long pages[2] = {0, 0};
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &pages[0], &pages[1]), 2);
    fclose(file);
    return pages[1] * sysconf(_SC_PAGESIZE);
}

void support_make_directory(char path[SUPPORT_PATH_SIZE])
{
    const char *base = getenv("TMPDIR");
    snprintf(path, SUPPORT_PATH_SIZE, "%s/mtip-test-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(path) == NULL) {
        print_error("cannot make the folder %s\n", path);
        fail();
    }
}

void support_remove_directory(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return;
    }
    const struct dirent *entry = NULL;
    while ((entry = readdir(directory)) != NULL) {
        char file[SUPPORT_PATH_SIZE + 300];
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
            if (unlink(file) != 0) {
                support_remove_directory(file);
            }
        }
    }
    closedir(directory);
    rmdir(path);
}

int support_all_ranks(const struct comm *comm, int ok)
{
    int all = ok != 0;
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_LAND, comm->mpi);
    return all;
}

void support_mpi_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    if (comm_create(&world, MPI_COMM_WORLD) != MTIP_OK) {
        fprintf(stderr, "%s\n", mtip_status_message());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int support_mpi_end(int failures)
{
    const int all_passed = support_all_ranks(&world, failures == 0);
    comm_destroy(&world);
    MPI_Finalize();
    return all_passed ? 0 : 1;
}

const struct comm *support_comm(void)
{
    return &world;
}
