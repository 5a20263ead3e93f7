/* comm.h - the ranks of a run: agreement on failure, splits, and transfers whose counts may exceed
 * an int. mpi.h is included here and in the few files that communicate, nowhere else.
 *
 * "Collective" means that every rank of the communicator calls the function with the same sizes.
 */
#ifndef MTIP_CORE_COMM_H
#define MTIP_CORE_COMM_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct comm {
    MPI_Comm mpi; /* owned duplicate */
    int rank;
    int size;
    int node_rank; /* rank among those on the same host */
    int node_size;
};

/* Point-to-point tags, all of them. */
enum comm_tag { COMM_TAG_RING = 1, COMM_TAG_FRAMES = 2, COMM_TAG_GATHER = 3, COMM_TAG_GRID = 4 };

/* Duplicates `mpi` and finds the node-local rank. Collective. Destroy with comm_destroy. */
enum mtip_status comm_create(struct comm *comm, MPI_Comm mpi) MTIP_NODISCARD;
void comm_destroy(struct comm *comm);

/* Makes all ranks fail together. Each rank passes its own status; when all are MTIP_OK the result
 * is MTIP_OK, otherwise every rank returns the status of the lowest failing rank and has that
 * rank's message as its last message. Collective; the only place where ranks may differ is between
 * two calls of this. */
enum mtip_status comm_agree(const struct comm *comm, enum mtip_status local) MTIP_NODISCARD;

/* Block split: part `part` of `parts` of n items is [*begin, *begin + *count). Sizes differ by at
 * most one, the larger parts come first, n < parts gives empty parts. Pure. */
void comm_split(int64_t n, int64_t parts, int64_t part, int64_t *begin, int64_t *count);

/* The part that holds item i under comm_split. Pure. */
int comm_split_owner(int64_t n, int parts, int64_t i);

/* Split by whole blocks: n items lie in `blocks` blocks (comm_split of n), and part `part` of `parts` gets the blocks
 * that comm_split of `blocks` gives it: the items [*begin, *begin + *count). With blocks = n this is comm_split.
 * blocks <= n, 0 only for n = 0. Pure. */
void comm_split_blocks(int64_t n, int64_t blocks, int parts, int part, int64_t *begin,
                       int64_t *count);

/* Copies `bytes` bytes at `data` from rank `root` to all. Collective. */
enum mtip_status comm_broadcast(const struct comm *comm, void *data, size_t bytes,
                                int root) MTIP_NODISCARD;

/* Sums `count` doubles elementwise over all ranks, in place: on every rank (allreduce) or on `root`
 * alone (reduce; the others' data is unchanged). Collective. */
enum mtip_status comm_allreduce_sum(const struct comm *comm, double *data,
                                    int64_t count) MTIP_NODISCARD;
enum mtip_status comm_reduce_sum(const struct comm *comm, double *data, int64_t count,
                                 int root) MTIP_NODISCARD;
enum mtip_status comm_allreduce_max(const struct comm *comm, double *data,
                                    int64_t count) MTIP_NODISCARD;
enum mtip_status comm_allreduce_min(const struct comm *comm, double *data,
                                    int64_t count) MTIP_NODISCARD;

/* Blocking transfer of `bytes` bytes between two ranks. Self-sends are not allowed. */
enum mtip_status comm_send(const struct comm *comm, const void *data, size_t bytes, int to,
                           enum comm_tag tag) MTIP_NODISCARD;
enum mtip_status comm_receive(const struct comm *comm, void *data, size_t bytes, int from,
                              enum comm_tag tag) MTIP_NODISCARD;

/* Gathers the block-split rows of an array on `root`: `mine` holds this rank's rows of
 * comm_split_blocks(n_rows, blocks, size, rank), `all` (root only, else NULL) receives [n_rows][row_bytes].
 * `mine` may be NULL where this rank has no row. Collective. */
enum mtip_status comm_gather_rows(const struct comm *comm, void *all, const void *mine,
                                  int64_t n_rows, int64_t blocks, size_t row_bytes,
                                  int root) MTIP_NODISCARD;

/* The inverse of comm_gather_rows: root's [n_rows][row_bytes] go to their owners. Collective. */
enum mtip_status comm_scatter_rows(const struct comm *comm, void *mine, const void *all,
                                   int64_t n_rows, int64_t blocks, size_t row_bytes,
                                   int root) MTIP_NODISCARD;

/* Ring exchange: starts sending `bytes` bytes of `send` to the next rank and receiving as many into `receive`
 * from the previous; comm_ring_end waits. With one rank the data is copied. Buffers must stay
 * untouched in between. */
#define COMM_RING_MAX_REQUESTS 64
struct comm_ring {
    MPI_Request requests[COMM_RING_MAX_REQUESTS];
    int n_requests;
};
enum mtip_status comm_ring_begin(const struct comm *comm, struct comm_ring *ring, const void *send,
                                 void *receive, size_t bytes) MTIP_NODISCARD;
enum mtip_status comm_ring_end(struct comm_ring *ring) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
