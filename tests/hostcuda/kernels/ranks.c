/* ranks.c - several ranks on simulated devices: `ranks turns` has each take the device of its node-local
 * rank modulo the number there are, and work on it; `ranks give-device-memory` hands MPI a pointer to
 * device memory, which the layer must name. Ends collectively: verdicts are reduced.
 */
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <string.h>

#include "faults.h"
#include "selftest.h"

enum { N = 500 };

/* Every device has as many ranks as the others or one more, and each rank's work is right. */
static int take_turns(int rank, int size)
{
    MPI_Comm node;
    int node_rank = 0, n_devices = 0, right = 1, users[16] = {0};
    float *x = NULL, host[N];
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &node_rank);
    MPI_Comm_free(&node);
    MUST(cudaGetDeviceCount(&n_devices));
    MUST(cudaSetDevice(node_rank % n_devices));
    MUST(cudaMalloc((void **)&x, sizeof host));
    MUST(faults_set(x, N, (float)rank, NULL));
    MUST(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    MUST(cudaFree(x));
    for (int i = 0; i < N; i++) {
        right = right && host[i] == (float)rank;
    }
    users[node_rank % n_devices] = 1;
    MPI_Allreduce(MPI_IN_PLACE, users, 16, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int d = 0; d < n_devices; d++) {
        right = right && users[d] == size / n_devices + (d < size % n_devices);
    }
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return right;
}

static void give_device_memory(int rank)
{
    float *x = NULL, host[N];
    MUST(cudaMalloc((void **)&x, sizeof host));
    if (rank == 0) {
        MPI_Send(x, N, MPI_FLOAT, 1, 0, MPI_COMM_WORLD); // plant give-device-memory
    } else {
        MPI_Recv(host, N, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int rank = 0, size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && !strcmp(argv[1], "give-device-memory")) {
        give_device_memory(rank);
    } else {
        const int right = take_turns(rank, size);
        if (rank == 0) {
            verdict(right, "devices in turn, each rank's work on its own");
        }
    }
    MPI_Finalize();
    return selftest_failures != 0;
}
