/* faults.c - does one wrong thing, named by its argument: `faults NAME`. What comes of it is judged by
 * selftest.py. Prints "value V" where the first element of a result is what shows it.
 */
#include <cuda_runtime_api.h>
#include <string.h>

#include "faults.h"
#include "selftest.h"

enum { N = 1000 };

struct setup {
    float *x, *y;  /* device 0, N each; y lies behind x */
    float *other;  /* device 1 */
    float *pinned; /* host */
    cudaStream_t a, b;
};

static void set_up(struct setup *s)
{
    MUST(cudaSetDevice(1));
    MUST(cudaMalloc((void **)&s->other, N * sizeof(float)));
    MUST(cudaSetDevice(0));
    MUST(cudaMalloc((void **)&s->x, N * sizeof(float)));
    MUST(cudaMalloc((void **)&s->y, N * sizeof(float)));
    MUST(cudaMallocHost((void **)&s->pinned, N * sizeof(float)));
    MUST(cudaStreamCreateWithFlags(&s->a, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&s->b, cudaStreamNonBlocking));
    memset(s->pinned, 0, N * sizeof(float));
    MUST(cudaMemset(s->x, 0, N * sizeof(float)));
    MUST(cudaDeviceSynchronize());
}

static void show(float value)
{
    printf("value %g\n", (double)value);
}

/* Host-side faults; returns 0 where the name is none of them. */
static int host_fault(const char *name, struct setup *s)
{
    const size_t bytes = N * sizeof(float);
    if (!strcmp(name, "host-read")) {
        show(s->x[3]); // plant host-read
    } else if (!strcmp(name, "host-memcpy")) {
        memcpy(s->pinned, s->x, bytes); // plant host-memcpy
    } else if (!strcmp(name, "host-argument")) {
        static float plain[N];
        MUST(faults_set(plain, N, 1.0f, s->a));
    } else if (!strcmp(name, "wrong-device-argument")) {
        MUST(faults_set(s->other, N, 1.0f, s->a));
    } else if (!strcmp(name, "wrong-device-struct")) {
        MUST(faults_set_in_struct(s->other, N, 1.0f, s->a));
        MUST(cudaDeviceSynchronize());
    } else if (!strcmp(name, "wrong-device-stream")) {
        MUST(cudaSetDevice(1));
        printf("code %d\n", (int)faults_set(s->other, N, 1.0f, s->a));
    } else if (!strcmp(name, "freed-argument")) {
        MUST(cudaFree(s->x)); // plant freed-argument
        MUST(faults_set(s->x, N, 1.0f, s->a));
    } else if (!strcmp(name, "freed-struct")) {
        MUST(cudaFree(s->x));
        MUST(faults_set_in_struct(s->x, N, 1.0f, s->a));
        MUST(cudaDeviceSynchronize());
    } else if (!strcmp(name, "freed-async")) {
        MUST(cudaFreeAsync(s->x, s->a)); // plant freed-async
        MUST(faults_set(s->x, N, 1.0f, s->a));
    } else if (!strcmp(name, "freed-twice")) {
        MUST(cudaFree(s->x)); // plant freed-twice
        MUST(cudaFree(s->x));
    } else if (!strcmp(name, "copy-bounds")) {
        printf("code %d\n", (int)cudaMemcpy(s->pinned, s->x + 10, bytes, cudaMemcpyDeviceToHost));
    } else if (!strcmp(name, "copy-direction")) {
        printf("code %d\n", (int)cudaMemcpy(s->pinned, s->x, bytes, cudaMemcpyHostToDevice));
    } else if (!strcmp(name, "leak")) {
        void *p = NULL;
        MUST(cudaMalloc(&p, 12345)); // plant leak
    } else {
        return 0;
    }
    return 1;
}

/* Faults of order; "right-..." does the same rightly. */
static int stream_fault(const char *name, struct setup *s)
{
    const size_t bytes = N * sizeof(float);
    if (!strcmp(name, "missing-sync") || !strcmp(name, "right-sync")) {
        MUST(faults_set(s->x, N, 2.0f, s->a));
        MUST(cudaMemcpyAsync(s->pinned, s->x, bytes, cudaMemcpyDeviceToHost, s->a));
        if (!strcmp(name, "right-sync")) {
            MUST(cudaStreamSynchronize(s->a));
        }
        show(s->pinned[0]);
    } else if (!strcmp(name, "missing-event") || !strcmp(name, "right-event")) {
        cudaEvent_t done;
        MUST(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
        MUST(faults_set(s->x, N, 2.0f, s->a));
        MUST(cudaEventRecord(done, s->a));
        if (!strcmp(name, "right-event")) {
            MUST(cudaStreamWaitEvent(s->b, done, 0));
        }
        MUST(cudaMemcpyAsync(s->pinned, s->x, bytes, cudaMemcpyDeviceToHost, s->b));
        MUST(cudaStreamSynchronize(s->b));
        show(s->pinned[0]);
        MUST(cudaEventDestroy(done));
    } else if (!strcmp(name, "missing-memset-order")) {
        MUST(cudaMemset(s->x, 0, bytes)); /* default stream; s->a does not wait for it */
        MUST(faults_set(s->x, N, 2.0f, s->a));
        MUST(cudaStreamSynchronize(s->a));
        MUST(cudaMemcpy(s->pinned, s->x, bytes, cudaMemcpyDeviceToHost));
        show(s->pinned[0]);
    } else if (!strcmp(name, "pinned-reused") || !strcmp(name, "right-pageable-reused")) {
        static float pageable[N];
        float *from = !strcmp(name, "pinned-reused") ? s->pinned : pageable;
        from[0] = 2.0f;
        MUST(cudaMemcpyAsync(s->x, from, bytes, cudaMemcpyHostToDevice, s->a));
        from[0] = 7.0f; /* before the copy was waited for */
        MUST(cudaStreamSynchronize(s->a));
        MUST(cudaMemcpy(s->pinned, s->x, bytes, cudaMemcpyDeviceToHost));
        show(s->pinned[0]);
    } else if (!strcmp(name, "right-default-stream")) {
        MUST(cudaMemset(s->x, 0, bytes));
        MUST(faults_set(s->x, N, 2.0f, NULL));
        MUST(cudaMemcpy(s->pinned, s->x, bytes, cudaMemcpyDeviceToHost));
        show(s->pinned[0]);
    } else {
        return 0;
    }
    return 1;
}

static int launch_fault(const char *name, struct setup *s)
{
    if (!strcmp(name, "too-many-threads")) {
        printf("code %d\n", (int)faults_shape(s->x, 1025, 8192, 0, s->a));
    } else if (!strcmp(name, "shared-without-opt-in")) {
        printf("code %d\n", (int)faults_shape(s->x, 64, 60000, 0, s->a));
    } else if (!strcmp(name, "right-opt-in")) {
        printf("code %d\n", (int)faults_shape(s->x, 64, 60000, 60000, s->a));
    } else if (!strcmp(name, "shared-beyond-device")) {
        printf("code %d\n", (int)faults_shape(s->x, 64, 240000, 240000, s->a));
    } else if (!strcmp(name, "no-threads")) {
        printf("code %d\n", (int)faults_shape(s->x, 0, 0, 0, s->a));
    } else {
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    struct setup s;
    set_up(&s);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (host_fault(name, &s) || stream_fault(name, &s) || launch_fault(name, &s)) {
        return 0;
    }
    const cudaError_t error = faults_launch(name, s.x, N, s.a);
    if (error != cudaSuccess) {
        fprintf(stderr, "faults: %s: code %d\n", name, (int)error);
        return 2;
    }
    MUST(cudaStreamSynchronize(s.a));
    MUST(cudaMemcpy(s.pinned, s.x, N * sizeof(float), cudaMemcpyDeviceToHost));
    show(s.pinned[0]);
    return 0;
}
