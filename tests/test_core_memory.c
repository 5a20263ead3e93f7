/* test_core_memory.c - sizes that do not fit, alignment, zeros, untouched pages, the memory plan. */
#include "support.h"

#include <stdint.h>
#include <string.h>

#include "core/memory.h"

static void sizes_are_checked_before_they_overflow(void **state)
{
    (void)state;
    static const struct {
        int64_t count;
        size_t item_size;
        enum mtip_status expected;
    } cases[] = {
        {0, 8, MTIP_OK},
        {1, 8, MTIP_OK},
        {INT64_C(1) << 40, 16, MTIP_OK},
        {5, 0, MTIP_OK},
        {-1, 8, MTIP_ERR_MEMORY},
        {INT64_MIN, 1, MTIP_ERR_MEMORY},
        {INT64_MAX, 2, MTIP_ERR_MEMORY}, /* 2^64 - 2: fits, but not once rounded up to a page */
        {INT64_MAX, 8, MTIP_ERR_MEMORY},
        {INT64_C(1) << 61, 8, MTIP_ERR_MEMORY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t bytes = 77;
        assert_status(memory_bytes(&bytes, cases[i].count, cases[i].item_size, "array"),
                      cases[i].expected);
        const size_t product = (size_t)cases[i].count * cases[i].item_size;
        assert_int_equal(bytes, cases[i].expected == MTIP_OK ? product : 0);
    }
}

static void memory_comes_aligned_and_zeroed(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 7, 64, 1000, (4 << 20) - 1, 4 << 20, (6 << 20) + 3};
    /* Each size twice: the second time the memory has been used before. */
    for (size_t i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++) {
        const int64_t count = counts[i / 2];
        unsigned char *memory = NULL;
        assert_ok(MEMORY_ALLOC(&memory, count, "bytes"));
        assert_non_null(memory);
        const uintptr_t alignment = count >= 4 << 20 ? 2 << 20 : 64;
        assert_int_equal((uintptr_t)memory % alignment, 0);
        int any = 0;
        for (int64_t j = 0; j < count; j++) {
            any |= memory[j];
        }
        assert_int_equal(any, 0);
        memset(memory, 0xff, (size_t)count);
        memory_free(&memory);
        assert_null(memory);
    }
}

static void untouched_memory_takes_no_pages(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    const int fills = 1; /* AddressSanitizer writes to fresh memory */
#else
    const int fills = 0;
#endif
    const int64_t size = (int64_t)64 << 20;
    const int64_t before = support_resident_bytes();
    unsigned char *untouched = NULL;
    assert_ok(MEMORY_ALLOC_UNTOUCHED(&untouched, size + 5, "bytes"));
    assert_int_equal((uintptr_t)untouched % (2 << 20), 0);
    assert_true(fills || support_resident_bytes() - before < size / 4);
    memset(untouched, 1, (size_t)size + 5);
    assert_true(support_resident_bytes() - before >= size);
    unsigned char *zeroed = NULL;
    assert_ok(MEMORY_ALLOC(&zeroed, size, "bytes"));
    assert_true(support_resident_bytes() - before >= 2 * size);
    memory_free(&zeroed);
    memory_free(&untouched);
    double *none = NULL;
    assert_ok(MEMORY_ALLOC_UNTOUCHED(&none, 0, "nothing"));
    assert_null(none);
    assert_status(MEMORY_ALLOC_UNTOUCHED(&none, INT64_MAX, "score matrix"), MTIP_ERR_MEMORY);
    assert_message_has("score matrix");
}

static void nothing_and_too_much_give_null(void **state)
{
    (void)state;
    double *memory = (double *)(uintptr_t)8;
    assert_ok(MEMORY_ALLOC(&memory, 0, "nothing"));
    assert_null(memory);
    memory_free(&memory);
    assert_null(memory);
    memory = (double *)(uintptr_t)8;
    assert_status(MEMORY_ALLOC(&memory, INT64_MAX, "score matrix"), MTIP_ERR_MEMORY);
    assert_null(memory);
    assert_message_has("score matrix");
}

static void a_plan_adds_up(void **state)
{
    (void)state;
    struct memory_plan plan = {.n_items = 0};
    memory_plan_add(&plan, "frames", 100, 0);
    memory_plan_add(&plan, "slices", 30, 1);
    memory_plan_add(&plan, "grid", 5, 0);
    assert_int_equal(plan.n_items, 3);
    assert_string_equal(plan.items[1].name, "slices");
    assert_int_equal(memory_plan_total(&plan, 0), 105);
    assert_int_equal(memory_plan_total(&plan, 1), 30);
    for (int i = 0; i < 2 * MEMORY_PLAN_MAX_ITEMS; i++) {
        memory_plan_add(&plan, "more", 1, 0);
    }
    assert_int_equal(plan.n_items, MEMORY_PLAN_MAX_ITEMS);
    assert_int_equal(memory_plan_total(&plan, 0), 105 + 2 * MEMORY_PLAN_MAX_ITEMS);
}

static void bytes_are_written_in_binary_units(void **state)
{
    (void)state;
    static const struct {
        size_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {(size_t)12 << 20, "12.0 MiB"},
        {(size_t)300 << 20, "300 MiB"},
        {(size_t)3 << 29, "1.5 GiB"},
        {(size_t)5 << 40, "5.0 TiB"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        assert_string_equal(memory_format_bytes(text, sizeof text, cases[i].bytes), cases[i].text);
    }
}

static void free_memory_of_the_host_is_known(void **state)
{
    (void)state;
    /* Linux always has MemAvailable (since 3.14); a test that runs has at least a megabyte left. */
    assert_true(memory_available() > (size_t)1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_checked_before_they_overflow),
        cmocka_unit_test(memory_comes_aligned_and_zeroed),
        cmocka_unit_test(untouched_memory_takes_no_pages),
        cmocka_unit_test(nothing_and_too_much_give_null),
        cmocka_unit_test(a_plan_adds_up),
        cmocka_unit_test(bytes_are_written_in_binary_units),
        cmocka_unit_test(free_memory_of_the_host_is_known),
    };
    return cmocka_run_group_tests_name("core/memory", tests, NULL, NULL);
}
