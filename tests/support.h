/* support.h - what the tests share: cmocka with its includes, assertions for numbers and statuses,
 * temporary folders, and the start and end of an MPI test program.
 *
 * Assertions on numbers are written so that NaN fails.
 */
#ifndef MTIP_TESTS_SUPPORT_H
#define MTIP_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/comm.h"
#include "core/status.h"

/* |got - want| <= tolerance. */
#define assert_close(got, want, tolerance)                                                         \
    support_assert_close((got), (want), (tolerance), #got, __FILE__, __LINE__)

/* value <= bound. */
#define assert_at_most(value, bound)                                                               \
    support_assert_at_most((value), (bound), #value, __FILE__, __LINE__)

/* The call returns MTIP_OK. */
#define assert_ok(call) support_assert_status((call), MTIP_OK, #call, __FILE__, __LINE__)

/* The call returns this status. */
#define assert_status(call, expected)                                                              \
    support_assert_status((call), (expected), #call, __FILE__, __LINE__)

/* The last error's message contains `text`. */
#define assert_message_has(text) support_assert_message_has((text), __FILE__, __LINE__)

void support_assert_close(double got, double want, double tolerance, const char *what,
                          const char *file, int line);
void support_assert_at_most(double value, double bound, const char *what, const char *file,
                            int line);
void support_assert_status(enum mtip_status got, enum mtip_status want, const char *what,
                           const char *file, int line);
void support_assert_message_has(const char *text, const char *file, int line);

/* sqrt(sum |a - b|^2 / sum |b|^2) over n doubles (floats): 0 for two zero arrays, infinite when only b is 0. */
double support_relative_l2(const double *a, const double *b, int64_t n);
double support_relative_l2_float(const float *a, const float *b, int64_t n);

/* Bytes of this process that lie in memory. */
int64_t support_resident_bytes(void);

/* Makes a new empty folder and writes its path to `path`; support_remove_directory deletes it with
 * the files in it. Fails the test where that is not possible. */
#define SUPPORT_PATH_SIZE 512
void support_make_directory(char path[SUPPORT_PATH_SIZE]);
void support_remove_directory(const char *path);

/* 1 on every rank when `ok` is not 0 on all of them, else 0 on every rank. What an MPI test may assert. */
int support_all_ranks(const struct comm *comm, int ok);

/* MPI tests: the ranks of the program, valid between support_mpi_begin and support_mpi_end.
 *     int main(int argc, char **argv)
 *     {
 *         support_mpi_begin(&argc, &argv);
 *         return support_mpi_end(cmocka_run_group_tests(tests, NULL, NULL));
 *     }
 * begin ends the job when the library cannot start; end returns 1 on all ranks when any has failures. */
void support_mpi_begin(int *argc, char ***argv);
int support_mpi_end(int failures);
const struct comm *support_comm(void);

#endif
