/* test_core_comm.c - the block split, which needs no ranks. */
#include "support.h"

#include "core/comm.h"

static void splits_cover_every_item_once(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 2, 3, 5, 7, 16, 97, 1000, INT64_C(5000000011)};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int parts = 1; parts <= 19; parts++) {
            int64_t next = 0, largest = 0, smallest = INT64_MAX, previous = INT64_MAX;
            for (int part = 0; part < parts; part++) {
                int64_t begin = -1, count = -1;
                comm_split(sizes[s], parts, part, &begin, &count);
                assert_int_equal(begin, next);
                assert_true(count >= 0 && count <= previous); /* larger parts first */
                next = begin + count;
                previous = count;
                largest = count > largest ? count : largest;
                smallest = count < smallest ? count : smallest;
            }
            assert_int_equal(next, sizes[s]);
            assert_true(largest - smallest <= 1);
        }
    }
}

static void fewer_items_than_parts_leave_parts_empty(void **state)
{
    (void)state;
    for (int part = 0; part < 7; part++) {
        int64_t begin = -1, count = -1;
        comm_split(3, 7, part, &begin, &count);
        assert_int_equal(count, part < 3);
        assert_int_equal(begin, part < 3 ? part : 3);
    }
}

static void the_owner_is_the_part_that_holds_the_item(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 7, 16, 97};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int parts = 1; parts <= 19; parts++) {
            for (int64_t i = 0; i < sizes[s]; i++) {
                int64_t begin = -1, count = -1;
                const int owner = comm_split_owner(sizes[s], parts, i);
                assert_true(owner >= 0 && owner < parts);
                comm_split(sizes[s], parts, owner, &begin, &count);
                assert_true(i >= begin && i < begin + count);
            }
        }
    }
}

static void blocks_are_never_cut(void **state)
{
    (void)state;
    static const int64_t sizes[] = {0, 1, 7, 12, 97, 1000};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (int64_t blocks = sizes[s] > 0; blocks <= sizes[s] && blocks <= 30; blocks++) {
            for (int parts = 1; parts <= 13; parts++) {
                int64_t next = 0;
                for (int part = 0; part < parts; part++) {
                    int64_t begin = -1, count = -1, first = 0, own = 0, items = 0;
                    comm_split_blocks(sizes[s], blocks, parts, part, &begin, &count);
                    assert_int_equal(begin, next);
                    next += count;
                    comm_split(blocks, parts, part, &first, &own);
                    for (int64_t b = first; b < first + own; b++) {
                        int64_t from = 0, n = 0;
                        comm_split(sizes[s], blocks, b, &from, &n);
                        items += n;
                    }
                    assert_int_equal(count, items);
                }
                assert_int_equal(next, sizes[s]);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_cover_every_item_once),
        cmocka_unit_test(fewer_items_than_parts_leave_parts_empty),
        cmocka_unit_test(blocks_are_never_cut),
        cmocka_unit_test(the_owner_is_the_part_that_holds_the_item),
    };
    return cmocka_run_group_tests_name("core/comm, splits", tests, NULL, NULL);
}
