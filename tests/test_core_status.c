/* test_core_status.c - status texts, the last message of a thread, passing errors on. */
#include "support.h"

#include <pthread.h>
#include <string.h>

static void every_code_has_its_own_text(void **state)
{
    (void)state;
    static const enum mtip_status codes[] = {
#define CODE(name, text) name,
        MTIP_STATUS_LIST(CODE)
#undef CODE
    };
    const int n = (int)(sizeof codes / sizeof codes[0]);
    assert_int_equal(MTIP_OK, 0);
    for (int i = 0; i < n; i++) {
        assert_true(strlen(mtip_status_text(codes[i])) > 0);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(mtip_status_text(codes[i]), mtip_status_text(codes[j]));
        }
    }
    assert_string_equal(mtip_status_text((enum mtip_status)9999), "unknown status");
}

static void an_error_carries_message_and_origin(void **state)
{
    (void)state;
    const enum mtip_status status = MTIP_ERROR(MTIP_ERR_FILE, "%s: line %d", "a.cfg", 7);
    assert_int_equal(status, MTIP_ERR_FILE);
    assert_string_equal(mtip_status_message(), "a.cfg: line 7");
    assert_non_null(strstr(mtip_status_origin(), "test_core_status.c:"));
}

static void a_message_may_hold_the_previous_one(void **state)
{
    (void)state;
    assert_int_equal(MTIP_ERROR(MTIP_ERR_FORMAT, "no dataset"), MTIP_ERR_FORMAT);
    assert_int_equal(MTIP_ERROR(MTIP_ERR_DATA, "x.h5: %s", mtip_status_message()), MTIP_ERR_DATA);
    assert_string_equal(mtip_status_message(), "x.h5: no dataset");
}

static void a_long_message_is_cut_and_terminated(void **state)
{
    (void)state;
    char text[3 * MTIP_MESSAGE_SIZE];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(MTIP_ERROR(MTIP_ERR_DATA, "%s", text), MTIP_ERR_DATA);
    assert_int_equal(strlen(mtip_status_message()), MTIP_MESSAGE_SIZE - 1);
}

static enum mtip_status counted(enum mtip_status result, int *calls)
{
    ++*calls;
    return result == MTIP_OK ? MTIP_OK : MTIP_ERROR(result, "call %d", *calls);
}

static enum mtip_status try_three(enum mtip_status second, int *calls, int *cleaned)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(counted(MTIP_OK, calls));
    MTIP_TRY(counted(second, calls));
    if (*calls != 2) {
        MTIP_FAIL(MTIP_ERR_INTERNAL, "never here");
    }
    MTIP_TRY(counted(MTIP_OK, calls));
cleanup:
    *cleaned = 1;
    return status;
}

static void try_stops_at_the_first_error(void **state)
{
    (void)state;
    int calls = 0, cleaned = 0;
    assert_ok(try_three(MTIP_OK, &calls, &cleaned));
    assert_int_equal(calls, 3);
    assert_int_equal(cleaned, 1);
    calls = cleaned = 0;
    assert_status(try_three(MTIP_ERR_MPI, &calls, &cleaned), MTIP_ERR_MPI);
    assert_int_equal(calls, 2);
    assert_int_equal(cleaned, 1);
    assert_string_equal(mtip_status_message(), "call 2");
}

static void *fail_elsewhere(void *argument)
{
    *(enum mtip_status *)argument = MTIP_ERROR(MTIP_ERR_MEMORY, "of the other thread");
    return NULL;
}

static void messages_belong_to_their_thread(void **state)
{
    (void)state;
    pthread_t thread;
    enum mtip_status other = MTIP_OK;
    assert_int_equal(MTIP_ERROR(MTIP_ERR_DATA, "of this thread"), MTIP_ERR_DATA);
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, &other), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(other, MTIP_ERR_MEMORY);
    assert_string_equal(mtip_status_message(), "of this thread");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_own_text),
        cmocka_unit_test(an_error_carries_message_and_origin),
        cmocka_unit_test(a_message_may_hold_the_previous_one),
        cmocka_unit_test(a_long_message_is_cut_and_terminated),
        cmocka_unit_test(try_stops_at_the_first_error),
        cmocka_unit_test(messages_belong_to_their_thread),
    };
    return cmocka_run_group_tests_name("core/status", tests, NULL, NULL);
}
