/* frames.c - reading and scattering of frames. */
#include "mtip/frames.h"

#include <math.h>
#include <string.h>

#include "core/exact_sum.h"
#include "core/memory.h"

/* Bytes of raw frames read at a time: large enough for the file system, small beside the data. */
#define CHUNK_BYTES ((int64_t)64 << 20)

/* Points of a chunk: one NUFFT of so many costs little more than its share of a larger one. */
#define CHUNK_POINTS ((int64_t)1 << 20)

int64_t frames_chunk_count(int64_t n_total, int64_t n_pixel, int ranks)
{
    const int64_t whole = CHUNK_POINTS / n_pixel > 0 ? CHUNK_POINTS / n_pixel : 1;
    int64_t n = (n_total + whole - 1) / whole;
    n = n < FRAMES_LEAST_CHUNKS ? FRAMES_LEAST_CHUNKS : n;
    n = n < ranks ? ranks : n;
    return n < n_total ? n : n_total;
}

void frames_split(struct frames *frames, int64_t n_total, int64_t n_pixel, int ranks, int rank)
{
    frames->n_total = n_total;
    frames->n_pixel = n_pixel;
    frames->n_chunks = frames_chunk_count(n_total, n_pixel, ranks);
    comm_split(frames->n_chunks, ranks, rank, &frames->first_chunk, &frames->own_chunks);
    comm_split_blocks(n_total, frames->n_chunks, ranks, rank, &frames->first, &frames->n);
}

int64_t frames_half_chunk(const struct frames *frames)
{
    const int64_t longest = (frames->n_total + frames->n_chunks - 1) / frames->n_chunks;
    return (longest + 1) / 2;
}

/* Raw frames [count][detector pixels] to used pixels [count][P], background taken off. */
static void gather_pixels(float *out, const float *raw, int64_t count, int64_t n_raw,
                          const struct geometry *geometry)
{
    const int64_t n = geometry->n_pixel;
    for (int64_t f = 0; f < count; f++) {
        for (int64_t i = 0; i < n; i++) {
            out[f * n + i] = raw[f * n_raw + geometry->pixel[i]] - (float)geometry->background[i];
        }
    }
}

/* Rank 0's part of one chunk: read, gather, send what is not its own. Every chunk lies within one owner's
 * block. After a failure (`status`) nothing is read: the owner is told and stops waiting. */
static enum mtip_status deal_chunk(enum mtip_status status, struct frames *frames,
                                   const struct comm *comm, const struct dataset *dataset,
                                   const struct geometry *geometry, float *raw, float *chunk,
                                   int64_t first, int64_t count, int owner)
{
    const int64_t n_raw = dataset_detector(dataset)->n_pixel;
    if (status == MTIP_OK) {
        status = dataset_read(dataset, first, count, raw);
    }
    if (status == MTIP_OK) {
        float *out = owner == 0 ? frames->host + first * geometry->n_pixel : chunk;
        gather_pixels(out, raw, count, n_raw, geometry);
    }
    /* The receiver waits for a status first, so that a bad frame ends the run instead of hanging it. */
    if (owner != 0) {
        const int code = (int)status;
        enum mtip_status sent = comm_send(comm, &code, sizeof code, owner, COMM_TAG_FRAMES);
        if (status == MTIP_OK && sent == MTIP_OK) {
            sent = comm_send(comm, chunk, (size_t)(count * geometry->n_pixel) * sizeof *chunk,
                             owner, COMM_TAG_FRAMES);
        }
        status = status != MTIP_OK ? status : sent;
    }
    return status;
}

static enum mtip_status receive_chunk(struct frames *frames, const struct comm *comm, int64_t first,
                                      int64_t count)
{
    int code = 0;
    enum mtip_status status = comm_receive(comm, &code, sizeof code, 0, COMM_TAG_FRAMES);
    if (status == MTIP_OK && code != 0) {
        /* rank 0 has the message; comm_agree reports the lowest failing rank's */
        status = MTIP_ERROR(MTIP_ERR_DATA, "rank 0 could not read the frames");
    }
    if (status == MTIP_OK) {
        float *to = frames->host + (first - frames->first) * frames->n_pixel;
        status = comm_receive(comm, to, (size_t)(count * frames->n_pixel) * sizeof *to, 0,
                              COMM_TAG_FRAMES);
    }
    return status;
}

/* The loop both sides run: chunks of at most `step` frames inside each owner's block, in file order. */
static enum mtip_status deal_frames(struct frames *frames, const struct comm *comm,
                                    const struct dataset *dataset, const struct geometry *geometry,
                                    float *raw, float *chunk, int64_t step, struct log *log)
{
    enum mtip_status status = MTIP_OK;
    for (int owner = 0; owner < comm->size; owner++) {
        int64_t begin = 0, count = 0;
        comm_split_blocks(frames->n_total, frames->n_chunks, comm->size, owner, &begin, &count);
        for (int64_t done = 0; done < count; done += step) {
            const int64_t now = count - done < step ? count - done : step;
            if (comm->rank == 0) {
                log_progress(log, "reading", begin + done, frames->n_total);
                status = deal_chunk(status, frames, comm, dataset, geometry, raw, chunk,
                                    begin + done, now, owner);
            } else if (owner == comm->rank) {
                status = receive_chunk(frames, comm, begin + done, now);
            }
            if (status != MTIP_OK) {
                break;
            }
        }
    }
    log_progress(log, "reading", frames->n_total, frames->n_total);
    return status;
}

/* Memory of this rank's frames: all in backend memory, or windows there and all in pinned host memory. */
static enum mtip_status allocate(struct frames *frames, const struct backend *backend,
                                 int64_t window)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n_values = frames->n * frames->n_pixel;
    if (backend->kind == BACKEND_CPU || window <= 0 || window >= frames->n) {
        MTIP_TRY(BACKEND_ALLOC(backend, &frames->data, n_values, "frames"));
        if (backend->kind == BACKEND_CPU) {
            frames->host = frames->data;
        } else {
            MTIP_TRY(MEMORY_ALLOC(&frames->host, n_values, "frames"));
        }
        return MTIP_OK;
    }
    MTIP_TRY(MEMORY_ALLOC(&frames->stream, 1, "frame windows"));
    frames->stream->size = window;
    for (int i = 0; i < 2; i++) {
        MTIP_TRY(BACKEND_ALLOC(backend, &frames->stream->window[i], window * frames->n_pixel,
                               "frame windows"));
    }
    MTIP_TRY(BACKEND_ALLOC_HOST(backend, &frames->host, n_values, "frames"));
cleanup:
    return status;
}

/* Largest magnitude, and each pixel's sum of magnitudes: bounds of what is summed over frames later. */
static enum mtip_status find_magnitudes(struct frames *frames, const struct comm *comm)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n_values = frames->n * frames->n_pixel;
    MTIP_TRY(comm_agree(comm, MEMORY_ALLOC(&frames->magnitude, frames->n_pixel, "pixel sums")));
    for (int64_t i = 0; i < n_values; i++) {
        frames->largest = fmax(frames->largest, fabs((double)frames->host[i]));
    }
    MTIP_TRY(comm_allreduce_max(comm, &frames->largest, 1));
    const double anchor = exact_anchor(frames->largest * (double)frames->n_total);
    for (int64_t f = 0; f < frames->n; f++) {
        const float *d = frames->host + f * frames->n_pixel;
        for (int64_t p = 0; p < frames->n_pixel; p++) {
            frames->magnitude[p] += exact_round(fabs((double)d[p]), anchor);
        }
    }
    MTIP_TRY(comm_allreduce_sum(comm, frames->magnitude, frames->n_pixel));
cleanup:
    return status;
}

enum mtip_status frames_load(struct frames *frames, const struct comm *comm,
                             const struct backend *backend, const struct dataset *dataset,
                             const struct geometry *geometry, int64_t n_total, int64_t window,
                             struct log *log)
{
    enum mtip_status status = MTIP_OK;
    float *raw = NULL, *chunk = NULL;
    int64_t step = 1;

    memset(frames, 0, sizeof *frames);
    frames_split(frames, n_total, geometry->n_pixel, comm->size, comm->rank);
    status = allocate(frames, backend, window);
    if (status == MTIP_OK && comm->rank == 0) {
        const int64_t n_raw = dataset_detector(dataset)->n_pixel;
        step = CHUNK_BYTES / (n_raw * (int64_t)sizeof *raw);
        step = step < 1 ? 1 : step;
        status = MEMORY_ALLOC(&raw, step * n_raw, "frame chunk");
        if (status == MTIP_OK) {
            status = MEMORY_ALLOC(&chunk, step * frames->n_pixel, "frame chunk");
        }
    }
    MTIP_TRY(comm_agree(comm, status));
    MTIP_TRY(comm_broadcast(comm, &step, sizeof step, 0));
    status = deal_frames(frames, comm, dataset, geometry, raw, chunk, step, log);
    if (status == MTIP_OK && frames->data != NULL && frames->host != frames->data) {
        status = backend_upload(backend, frames->data, frames->host,
                                (size_t)(frames->n * frames->n_pixel) * sizeof *frames->data);
    }
    MTIP_TRY(comm_agree(comm, status));
    MTIP_TRY(find_magnitudes(frames, comm));

cleanup:
    memory_free(&raw);
    memory_free(&chunk);
    if (status != MTIP_OK) {
        frames_release(frames, backend);
    }
    return status;
}

void frames_release(struct frames *frames, const struct backend *backend)
{
    if (frames->stream != NULL) {
        backend_free(backend, &frames->stream->window[1]);
        backend_free(backend, &frames->stream->window[0]);
        backend_free_host(backend, &frames->host);
        memory_free(&frames->stream);
    } else if (frames->host != frames->data) {
        memory_free(&frames->host);
    }
    backend_free(backend, &frames->data);
    memory_free(&frames->magnitude);
    memset(frames, 0, sizeof *frames);
}

int64_t frames_window(const struct frames *frames)
{
    return frames->stream != NULL ? frames->stream->size : frames->n;
}

/* The window that holds these frames, -1 when none does. */
static int find_window(const struct frames_stream *stream, int64_t first, int64_t count)
{
    for (int i = 0; i < 2; i++) {
        if (first >= stream->first[i] && first + count <= stream->first[i] + stream->count[i]) {
            return i;
        }
    }
    return -1;
}

/* Starts the copy of a window's worth of frames from `first` on into the window not asked for last. */
static enum mtip_status begin_window(int *window, const struct frames *frames,
                                     const struct backend *backend, int64_t first)
{
    struct frames_stream *s = frames->stream;
    const int to = 1 - s->last;
    const int64_t count = frames->n - first < s->size ? frames->n - first : s->size;
    s->count[to] = 0; /* until the copy is on its way */
    const enum mtip_status status =
        backend_upload_ahead(backend, to, s->window[to], frames->host + first * frames->n_pixel,
                             (size_t)(count * frames->n_pixel) * sizeof *frames->host);
    if (status == MTIP_OK) {
        s->first[to] = first;
        s->count[to] = count;
    }
    *window = to;
    return status;
}

enum mtip_status frames_fetch(const float **data, const struct frames *frames,
                              const struct backend *backend, int64_t first, int64_t count)
{
    enum mtip_status status = MTIP_OK;
    struct frames_stream *s = frames->stream;
    if (s == NULL) {
        *data = frames->data + first * frames->n_pixel;
        return MTIP_OK;
    }
    *data = NULL;
    if (count > s->size) {
        return MTIP_ERROR(MTIP_ERR_INTERNAL, "%lld frames of windows of %lld", (long long)count,
                          (long long)s->size);
    }
    int window = find_window(s, first, count);
    if (window < 0) {
        MTIP_TRY(begin_window(&window, frames, backend, first));
    }
    MTIP_TRY(backend_wait_ahead(backend, window));
    s->last = window;
    *data = s->window[window] + (first - s->first[window]) * frames->n_pixel;
cleanup:
    return status;
}

enum mtip_status frames_prefetch(const struct frames *frames, const struct backend *backend,
                                 int64_t first)
{
    int window = 0;
    if (frames->stream == NULL || first >= frames->n ||
        find_window(frames->stream, first, 1) >= 0) {
        return MTIP_OK;
    }
    return begin_window(&window, frames, backend, first);
}

void frames_totals(double *totals, const struct frames *frames, int64_t n_use)
{
    for (int64_t f = 0; f < frames->n; f++) {
        const float *d = frames->host + f * frames->n_pixel;
        double sum = 0.0;
        for (int64_t p = 0; p < n_use; p++) {
            sum += (double)d[p];
        }
        totals[f] = sum;
    }
}

int frames_half(int64_t index)
{
    return (int)(index % 2);
}
