/* mpi_core_comm.c - agreement on failure, gather and scatter, reductions, the ring; for 1, 2, 3 ranks.
 *
 * Each rank checks what it can see into `ok`; only the verdict of all ranks is asserted.
 */
#include "support.h"

#include <stdio.h>
#include <string.h>

#include "core/comm.h"
#include "core/memory.h"

/* What row `row` holds at byte `k`: differs between neighbouring rows and bytes. */
static unsigned char row_byte(int64_t row, size_t k)
{
    return (unsigned char)(row * 31 + (int64_t)k * 7 + 1);
}

static void ranks_know_where_they_are(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    int ok = comm->size >= 1 && comm->rank >= 0 && comm->rank < comm->size;
    ok &= comm->node_rank >= 0 && comm->node_rank < comm->node_size;
    ok &= comm->node_size <= comm->size;
    double ranks = comm->rank;
    ok &= comm_allreduce_sum(comm, &ranks, 1) == MTIP_OK;
    ok &= ranks == 0.5 * comm->size * (comm->size - 1);
    assert_true(support_all_ranks(comm, ok));
}

static void agreement_is_ok_when_all_are(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    assert_true(support_all_ranks(comm, comm_agree(comm, MTIP_OK) == MTIP_OK));
}

/* Every set of failing ranks: all return the status and message of the lowest one. */
static void all_ranks_fail_with_the_lowest_failing_one(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    int ok = 1;
    for (int set = 1; set < 1 << comm->size; set++) {
        int lowest = 0;
        while ((set >> lowest & 1) == 0) {
            lowest++;
        }
        enum mtip_status local = MTIP_OK;
        if (set >> comm->rank & 1) {
            local = MTIP_ERROR(comm->rank % 2 == 0 ? MTIP_ERR_FILE : MTIP_ERR_MEMORY,
                               "rank %d, set %d", comm->rank, set);
        }
        char expected[64];
        snprintf(expected, sizeof expected, "rank %d, set %d", lowest, set);
        const enum mtip_status agreed = comm_agree(comm, local);
        ok &= agreed == (lowest % 2 == 0 ? MTIP_ERR_FILE : MTIP_ERR_MEMORY);
        ok &= strcmp(mtip_status_message(), expected) == 0;
    }
    assert_true(support_all_ranks(comm, ok));
}

/* Scatter from `root`, check the rows, gather back to `root`, check the whole. */
static int rows_go_and_come_back(const struct comm *comm, int64_t n_rows, int64_t blocks,
                                 size_t row_bytes, int root)
{
    enum mtip_status status = MTIP_OK;
    int ok = 1;
    unsigned char *all = NULL, *mine = NULL;
    int64_t begin = 0, count = 0;
    comm_split_blocks(n_rows, blocks, comm->size, comm->rank, &begin, &count);
    if (comm->rank == root) {
        MTIP_TRY(MEMORY_ALLOC(&all, n_rows * (int64_t)row_bytes, "all rows"));
        for (int64_t i = 0; i < n_rows * (int64_t)row_bytes; i++) {
            all[i] = row_byte(i / (int64_t)row_bytes, (size_t)i % row_bytes);
        }
    }
    MTIP_TRY(MEMORY_ALLOC(&mine, count * (int64_t)row_bytes, "my rows"));
    MTIP_TRY(comm_scatter_rows(comm, mine, all, n_rows, blocks, row_bytes, root));
    for (int64_t i = 0; i < count * (int64_t)row_bytes; i++) {
        ok &= mine[i] == row_byte(begin + i / (int64_t)row_bytes, (size_t)i % row_bytes);
    }
    if (comm->rank == root && n_rows > 0) {
        memset(all, 0, (size_t)n_rows * row_bytes);
    }
    MTIP_TRY(comm_gather_rows(comm, all, mine, n_rows, blocks, row_bytes, root));
    for (int64_t i = 0; comm->rank == root && i < n_rows * (int64_t)row_bytes; i++) {
        ok &= all[i] == row_byte(i / (int64_t)row_bytes, (size_t)i % row_bytes);
    }
cleanup:
    memory_free(&all);
    memory_free(&mine);
    return ok && status == MTIP_OK;
}

static void odd_numbers_of_rows_reach_their_owners(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    static const int64_t sizes[] = {0, 1, 2, 3, 4, 5, 7, 97};
    static const size_t row_bytes[] = {1, 4, 32, 1001};
    int ok = 1;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t b = 0; b < sizeof row_bytes / sizeof row_bytes[0]; b++) {
            for (int root = 0; root < comm->size; root++) {
                ok &= rows_go_and_come_back(comm, sizes[s], sizes[s], row_bytes[b], root);
                ok &= rows_go_and_come_back(comm, sizes[s], (sizes[s] + 2) / 3, row_bytes[b], root);
            }
        }
    }
    assert_true(support_all_ranks(comm, ok));
}

static void broadcasts_copy_the_root(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    int ok = 1;
    for (int root = 0; root < comm->size; root++) {
        unsigned char data[1003];
        for (size_t i = 0; i < sizeof data; i++) {
            data[i] = comm->rank == root ? row_byte(root, i) : 0;
        }
        ok &= comm_broadcast(comm, data, sizeof data, root) == MTIP_OK;
        for (size_t i = 0; i < sizeof data; i++) {
            ok &= data[i] == row_byte(root, i);
        }
    }
    ok &= comm_broadcast(comm, NULL, 0, 0) == MTIP_OK;
    assert_true(support_all_ranks(comm, ok));
}

static void reductions_are_elementwise(void **state)
{
    (void)state;
    enum { N = 1009 };
    const struct comm *comm = support_comm();
    const int last = comm->size - 1;
    const double ranks = comm->size * (comm->size + 1) / 2.0;
    static double sum[N], at_root[N], least[N], most[N];
    int ok = 1;
    for (int i = 0; i < N; i++) {
        sum[i] = at_root[i] = least[i] = most[i] = (comm->rank + 1) * (double)i;
    }
    ok &= comm_allreduce_sum(comm, sum, N) == MTIP_OK;
    ok &= comm_reduce_sum(comm, at_root, N, last) == MTIP_OK;
    ok &= comm_allreduce_min(comm, least, N) == MTIP_OK;
    ok &= comm_allreduce_max(comm, most, N) == MTIP_OK;
    for (int i = 0; i < N; i++) {
        /* small integers: sums are exact in any order */
        ok &= sum[i] == ranks * i && least[i] == i && most[i] == comm->size * (double)i;
        ok &= at_root[i] == (comm->rank == last ? ranks : comm->rank + 1.0) * i;
    }
    ok &= comm_allreduce_sum(comm, NULL, 0) == MTIP_OK;
    assert_true(support_all_ranks(comm, ok));
}

static void the_ring_brings_every_block_round(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 8, 4096, 3000017}; /* eager and rendezvous messages */
    const struct comm *comm = support_comm();
    enum mtip_status status = MTIP_OK;
    unsigned char *held = NULL, *coming = NULL;
    int ok = 1;
    MTIP_TRY(MEMORY_ALLOC(&held, 3000017, "block"));
    MTIP_TRY(MEMORY_ALLOC(&coming, 3000017, "block"));
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        for (size_t i = 0; i < sizes[s]; i++) {
            held[i] = row_byte(comm->rank, i);
        }
        for (int step = 0; step < comm->size; step++) {
            struct comm_ring ring;
            MTIP_TRY(comm_ring_begin(comm, &ring, held, coming, sizes[s]));
            MTIP_TRY(comm_ring_end(&ring));
            unsigned char *swap = held;
            held = coming;
            coming = swap;
            const int from = (comm->rank + 2 * comm->size - step - 1) % comm->size;
            for (size_t i = 0; i < sizes[s]; i++) {
                ok &= held[i] == row_byte(from, i);
            }
        }
    }
cleanup:
    memory_free(&held);
    memory_free(&coming);
    assert_true(support_all_ranks(comm, ok && status == MTIP_OK));
}

static void messages_pass_between_two_ranks(void **state)
{
    (void)state;
    const struct comm *comm = support_comm();
    int ok = 1;
    for (int from = 0; from < comm->size; from++) {
        for (int to = 0; to < comm->size; to++) {
            unsigned char data[77] = {0};
            if (from != to && comm->rank == from) {
                for (size_t i = 0; i < sizeof data; i++) {
                    data[i] = row_byte(from, i);
                }
                ok &= comm_send(comm, data, sizeof data, to, COMM_TAG_FRAMES) == MTIP_OK;
            } else if (from != to && comm->rank == to) {
                ok &= comm_receive(comm, data, sizeof data, from, COMM_TAG_FRAMES) == MTIP_OK;
                for (size_t i = 0; i < sizeof data; i++) {
                    ok &= data[i] == row_byte(from, i);
                }
            }
        }
    }
    assert_true(support_all_ranks(comm, ok));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_know_where_they_are),
        cmocka_unit_test(agreement_is_ok_when_all_are),
        cmocka_unit_test(all_ranks_fail_with_the_lowest_failing_one),
        cmocka_unit_test(odd_numbers_of_rows_reach_their_owners),
        cmocka_unit_test(broadcasts_copy_the_root),
        cmocka_unit_test(reductions_are_elementwise),
        cmocka_unit_test(the_ring_brings_every_block_round),
        cmocka_unit_test(messages_pass_between_two_ranks),
    };
    support_mpi_begin(&argc, &argv);
    return support_mpi_end(cmocka_run_group_tests_name("core/comm", tests, NULL, NULL));
}
