/* comm.c - agreement, splits and large transfers over MPI. */
#include "core/comm.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Bytes of one message; also keeps every MPI count far below INT_MAX. */
#define PIECE_BYTES ((size_t)1 << 28)

/* One checked conversion to an MPI count; callers split larger transfers into pieces. */
static int mpi_count(size_t count)
{
    return count <= (size_t)INT_MAX ? (int)count : -1;
}

static enum mtip_status check(int code, const char *what)
{
    if (code == MPI_SUCCESS) {
        return MTIP_OK;
    }
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(code, text, &length);
    return MTIP_ERROR(MTIP_ERR_MPI, "%s: %s", what, text);
}

enum mtip_status comm_create(struct comm *comm, MPI_Comm mpi)
{
    enum mtip_status status = MTIP_OK;
    MPI_Comm node = MPI_COMM_NULL;
    *comm = (struct comm){.mpi = MPI_COMM_NULL};
    MTIP_TRY(check(MPI_Comm_dup(mpi, &comm->mpi), "MPI_Comm_dup"));
    MTIP_TRY(
        check(MPI_Comm_set_errhandler(comm->mpi, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler"));
    MPI_Comm_rank(comm->mpi, &comm->rank);
    MPI_Comm_size(comm->mpi, &comm->size);
    MTIP_TRY(check(
        MPI_Comm_split_type(comm->mpi, MPI_COMM_TYPE_SHARED, comm->rank, MPI_INFO_NULL, &node),
        "MPI_Comm_split_type"));
    MPI_Comm_rank(node, &comm->node_rank);
    MPI_Comm_size(node, &comm->node_size);
cleanup:
    if (node != MPI_COMM_NULL) {
        MPI_Comm_free(&node);
    }
    if (status != MTIP_OK) {
        comm_destroy(comm);
    }
    return status;
}

void comm_destroy(struct comm *comm)
{
    if (comm->mpi != MPI_COMM_NULL) {
        MPI_Comm_free(&comm->mpi);
    }
    comm->mpi = MPI_COMM_NULL;
}

enum mtip_status comm_agree(const struct comm *comm, enum mtip_status local)
{
    struct {
        int status;
        char message[MTIP_MESSAGE_SIZE];
    } report = {.status = (int)local};
    int first = local != MTIP_OK ? comm->rank : comm->size;
    int code = MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm->mpi);
    if (code != MPI_SUCCESS) {
        return check(code, "MPI_Allreduce");
    }
    if (first == comm->size) {
        return MTIP_OK;
    }
    if (first == comm->rank) {
        snprintf(report.message, sizeof report.message, "%s", mtip_status_message());
    }
    code = MPI_Bcast(&report, (int)sizeof report, MPI_BYTE, first, comm->mpi);
    if (code != MPI_SUCCESS) {
        return check(code, "MPI_Bcast");
    }
    return MTIP_ERROR((enum mtip_status)report.status, "%s", report.message);
}

void comm_split(int64_t n, int64_t parts, int64_t part, int64_t *begin, int64_t *count)
{
    const int64_t base = n / parts;
    const int64_t extra = n % parts;
    *begin = part * base + (part < extra ? part : extra);
    *count = base + (part < extra ? 1 : 0);
}

void comm_split_blocks(int64_t n, int64_t blocks, int parts, int part, int64_t *begin,
                       int64_t *count)
{
    int64_t first = 0, own = 0, next = 0, unused = 0;
    *begin = *count = 0;
    if (blocks == 0) {
        return;
    }
    comm_split(blocks, parts, part, &first, &own);
    comm_split(n, blocks, first, begin, &unused);
    comm_split(n, blocks, first + own, &next, &unused);
    *count = next - *begin;
}

int comm_split_owner(int64_t n, int parts, int64_t i)
{
    const int64_t base = n / parts;
    const int64_t extra = n % parts;
    const int64_t in_larger = extra * (base + 1);
    return (int)(i < in_larger ? i / (base + 1) : extra + (i - in_larger) / base);
}

enum mtip_status comm_broadcast(const struct comm *comm, void *data, size_t bytes, int root)
{
    char *bytes_at = data;
    for (size_t done = 0; done < bytes; done += PIECE_BYTES) {
        const size_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        const int code = MPI_Bcast(bytes_at + done, mpi_count(piece), MPI_BYTE, root, comm->mpi);
        if (code != MPI_SUCCESS) {
            return check(code, "MPI_Bcast");
        }
    }
    return MTIP_OK;
}

static enum mtip_status allreduce(const struct comm *comm, double *data, int64_t count, MPI_Op op)
{
    const int64_t step = (int64_t)(PIECE_BYTES / sizeof(double));
    for (int64_t done = 0; done < count; done += step) {
        const int64_t piece = count - done < step ? count - done : step;
        const int code = MPI_Allreduce(MPI_IN_PLACE, data + done, mpi_count((size_t)piece),
                                       MPI_DOUBLE, op, comm->mpi);
        if (code != MPI_SUCCESS) {
            return check(code, "MPI_Allreduce");
        }
    }
    return MTIP_OK;
}

enum mtip_status comm_allreduce_sum(const struct comm *comm, double *data, int64_t count)
{
    return allreduce(comm, data, count, MPI_SUM);
}

enum mtip_status comm_allreduce_max(const struct comm *comm, double *data, int64_t count)
{
    return allreduce(comm, data, count, MPI_MAX);
}

enum mtip_status comm_allreduce_min(const struct comm *comm, double *data, int64_t count)
{
    return allreduce(comm, data, count, MPI_MIN);
}

enum mtip_status comm_reduce_sum(const struct comm *comm, double *data, int64_t count, int root)
{
    const int64_t step = (int64_t)(PIECE_BYTES / sizeof(double));
    for (int64_t done = 0; done < count; done += step) {
        const int64_t piece = count - done < step ? count - done : step;
        const int n = mpi_count((size_t)piece);
        const int code =
            comm->rank == root
                ? MPI_Reduce(MPI_IN_PLACE, data + done, n, MPI_DOUBLE, MPI_SUM, root, comm->mpi)
                : MPI_Reduce(data + done, NULL, n, MPI_DOUBLE, MPI_SUM, root, comm->mpi);
        if (code != MPI_SUCCESS) {
            return check(code, "MPI_Reduce");
        }
    }
    return MTIP_OK;
}

enum mtip_status comm_send(const struct comm *comm, const void *data, size_t bytes, int to,
                           enum comm_tag tag)
{
    const char *bytes_at = data;
    for (size_t done = 0; done < bytes; done += PIECE_BYTES) {
        const size_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        const int code =
            MPI_Send(bytes_at + done, mpi_count(piece), MPI_BYTE, to, (int)tag, comm->mpi);
        if (code != MPI_SUCCESS) {
            return check(code, "MPI_Send");
        }
    }
    return MTIP_OK;
}

enum mtip_status comm_receive(const struct comm *comm, void *data, size_t bytes, int from,
                              enum comm_tag tag)
{
    char *bytes_at = data;
    for (size_t done = 0; done < bytes; done += PIECE_BYTES) {
        const size_t piece = bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES;
        const int code = MPI_Recv(bytes_at + done, mpi_count(piece), MPI_BYTE, from, (int)tag,
                                  comm->mpi, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) {
            return check(code, "MPI_Recv");
        }
    }
    return MTIP_OK;
}

enum mtip_status comm_gather_rows(const struct comm *comm, void *all, const void *mine,
                                  int64_t n_rows, int64_t blocks, size_t row_bytes, int root)
{
    int64_t begin = 0, count = 0;
    comm_split_blocks(n_rows, blocks, comm->size, comm->rank, &begin, &count);
    if (comm->rank != root) {
        return comm_send(comm, mine, (size_t)count * row_bytes, root, COMM_TAG_GATHER);
    }
    if (count > 0) {
        memcpy((char *)all + (size_t)begin * row_bytes, mine, (size_t)count * row_bytes);
    }
    enum mtip_status status = MTIP_OK;
    for (int from = 0; from < comm->size && status == MTIP_OK; from++) {
        if (from != root) {
            comm_split_blocks(n_rows, blocks, comm->size, from, &begin, &count);
            status = comm_receive(comm, (char *)all + (size_t)begin * row_bytes,
                                  (size_t)count * row_bytes, from, COMM_TAG_GATHER);
        }
    }
    return status;
}

enum mtip_status comm_scatter_rows(const struct comm *comm, void *mine, const void *all,
                                   int64_t n_rows, int64_t blocks, size_t row_bytes, int root)
{
    int64_t begin = 0, count = 0;
    comm_split_blocks(n_rows, blocks, comm->size, comm->rank, &begin, &count);
    if (comm->rank != root) {
        return comm_receive(comm, mine, (size_t)count * row_bytes, root, COMM_TAG_GATHER);
    }
    if (count > 0) {
        memcpy(mine, (const char *)all + (size_t)begin * row_bytes, (size_t)count * row_bytes);
    }
    enum mtip_status status = MTIP_OK;
    for (int to = 0; to < comm->size && status == MTIP_OK; to++) {
        if (to != root) {
            comm_split_blocks(n_rows, blocks, comm->size, to, &begin, &count);
            status = comm_send(comm, (const char *)all + (size_t)begin * row_bytes,
                               (size_t)count * row_bytes, to, COMM_TAG_GATHER);
        }
    }
    return status;
}

enum mtip_status comm_ring_begin(const struct comm *comm, struct comm_ring *ring, const void *send,
                                 void *receive, size_t bytes)
{
    ring->n_requests = 0;
    if (comm->size == 1) {
        memcpy(receive, send, bytes);
        return MTIP_OK;
    }
    const size_t max_bytes = PIECE_BYTES * (COMM_RING_MAX_REQUESTS / 2);
    if (bytes > max_bytes) {
        return MTIP_ERROR(MTIP_ERR_MPI, "ring exchange of %zu bytes, at most %zu fit", bytes,
                          max_bytes);
    }
    const int next = (comm->rank + 1) % comm->size;
    const int previous = (comm->rank + comm->size - 1) % comm->size;
    for (size_t done = 0; done < bytes; done += PIECE_BYTES) {
        const int piece = mpi_count(bytes - done < PIECE_BYTES ? bytes - done : PIECE_BYTES);
        int code = MPI_Irecv((char *)receive + done, piece, MPI_BYTE, previous, COMM_TAG_RING,
                             comm->mpi, &ring->requests[ring->n_requests]);
        if (code != MPI_SUCCESS) {
            return check(code, "MPI_Irecv");
        }
        ring->n_requests++;
        code = MPI_Isend((const char *)send + done, piece, MPI_BYTE, next, COMM_TAG_RING, comm->mpi,
                         &ring->requests[ring->n_requests]);
        if (code != MPI_SUCCESS) {
            return check(code, "MPI_Isend");
        }
        ring->n_requests++;
    }
    return MTIP_OK;
}

enum mtip_status comm_ring_end(struct comm_ring *ring)
{
    const int n = ring->n_requests;
    ring->n_requests = 0;
    return n == 0 ? MTIP_OK
                  : check(MPI_Waitall(n, ring->requests, MPI_STATUSES_IGNORE), "MPI_Waitall");
}
