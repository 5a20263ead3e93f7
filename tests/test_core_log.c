/* test_core_log.c - what reaches standard error and the log file, by rank and level. Standard error
 * of this process is put into a file while a log is tried. */
#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"

struct capture {
    char directory[SUPPORT_PATH_SIZE];
    char shown[SUPPORT_PATH_SIZE + 16]; /* what went to standard error */
    char file[SUPPORT_PATH_SIZE + 16];  /* what went to the log file */
    int saved;
};

static void capture_begin(struct capture *capture)
{
    support_make_directory(capture->directory);
    snprintf(capture->shown, sizeof capture->shown, "%s/stderr", capture->directory);
    snprintf(capture->file, sizeof capture->file, "%s/log.txt", capture->directory);
    fflush(stderr);
    capture->saved = dup(STDERR_FILENO);
    const int to = open(capture->shown, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(to >= 0 && capture->saved >= 0);
    assert_true(dup2(to, STDERR_FILENO) >= 0);
    close(to);
}

static void capture_end(struct capture *capture)
{
    fflush(stderr);
    dup2(capture->saved, STDERR_FILENO);
    close(capture->saved);
}

/* The content of a file, "" when there is none, in a buffer that the next call reuses. */
static const char *content(const char *path)
{
    static char text[4096];
    FILE *file = fopen(path, "r");
    size_t length = 0;
    if (file != NULL) {
        length = fread(text, 1, sizeof text - 1, file);
        fclose(file);
    }
    text[length] = '\0';
    return text;
}

static enum mtip_status say_everything(const struct capture *capture, int rank,
                                       enum log_level level)
{
    enum mtip_status status = MTIP_OK;
    struct log *log = NULL;
    MTIP_TRY(log_create(&log, rank, level));
    log_info(log, "before %d", 1);
    MTIP_TRY(log_attach_file(log, capture->file, 0));
    log_info(log, "info %d", 2);
    log_warning(log, "careful %s", "now");
    log_detail(log, "detail");
    log_progress(log, "match", 1, 2); /* no terminal: nothing */
    log_progress(log, "match", 2, 2);
cleanup:
    log_destroy(&log);
    return status;
}

static void check_level(int rank, enum log_level level, const char *shown, const char *in_file)
{
    struct capture capture;
    capture_begin(&capture);
    const enum mtip_status status = say_everything(&capture, rank, level);
    capture_end(&capture);
    assert_ok(status);
    assert_string_equal(content(capture.shown), shown);
    assert_string_equal(content(capture.file), in_file);
    support_remove_directory(capture.directory);
}

static void levels_choose_what_is_shown(void **state)
{
    (void)state;
    const char *in_file = "info 2\nwarning: careful now\ndetail\n";
    check_level(0, LOG_QUIET, "warning: careful now\n", in_file);
    check_level(0, LOG_NORMAL, "before 1\ninfo 2\nwarning: careful now\n", in_file);
    check_level(0, LOG_VERBOSE, "before 1\ninfo 2\nwarning: careful now\ndetail\n", in_file);
}

static void other_ranks_are_silent(void **state)
{
    (void)state;
    check_level(1, LOG_VERBOSE, "", "");
}

static void a_log_file_can_be_continued(void **state)
{
    (void)state;
    char directory[SUPPORT_PATH_SIZE], path[SUPPORT_PATH_SIZE + 16];
    support_make_directory(directory);
    snprintf(path, sizeof path, "%s/log.txt", directory);
    for (int run = 0; run < 3; run++) {
        struct log *log = NULL;
        assert_ok(log_create(&log, 0, LOG_QUIET));
        assert_ok(log_attach_file(log, path, run == 1));
        log_info(log, "run %d", run);
        log_destroy(&log);
        assert_null(log);
        assert_string_equal(content(path), run == 1   ? "run 0\nrun 1\n"
                                           : run == 0 ? "run 0\n"
                                                      : "run 2\n");
    }
    support_remove_directory(directory);
}

static void a_file_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    struct log *log = NULL;
    assert_ok(log_create(&log, 0, LOG_QUIET));
    assert_status(log_attach_file(log, "/no/such/folder/log.txt", 0), MTIP_ERR_FILE);
    assert_message_has("/no/such/folder/log.txt");
    log_destroy(&log);
}

static void no_log_is_allowed(void **state)
{
    (void)state;
    struct log *none = NULL;
    log_info(none, "x");
    log_warning(none, "x");
    log_detail(none, "x");
    log_progress(none, "x", 1, 2);
    assert_ok(log_attach_file(none, "/no/such/folder/log.txt", 0));
    log_destroy(&none);
    assert_null(none);
}

static void the_clock_goes_forward(void **state)
{
    (void)state;
    const double start = log_seconds();
    double now = start;
    for (int i = 0; i < 1000; i++) {
        const double next = log_seconds();
        assert_true(next >= now);
        now = next;
    }
    assert_at_most(now - start, 60.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_choose_what_is_shown),
        cmocka_unit_test(other_ranks_are_silent),
        cmocka_unit_test(a_log_file_can_be_continued),
        cmocka_unit_test(a_file_that_cannot_be_written_is_named),
        cmocka_unit_test(no_log_is_allowed),
        cmocka_unit_test(the_clock_goes_forward),
    };
    return cmocka_run_group_tests_name("core/log", tests, NULL, NULL);
}
