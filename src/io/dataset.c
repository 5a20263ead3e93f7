/* dataset.c - the front of all frames files: chooses the format, bins, masks and checks. */
#include "io/dataset.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/dataset_format.h"

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Raw frames are binned in pieces of about this size. */
#define PIECE_BYTES ((int64_t)16 << 20)

/* Probed in this order; when none knows the file, the last one says what is wrong with it. */
static const struct dataset_format *const formats[] = {&dataset_format_native};

struct dataset {
    const struct dataset_format *format; /* static */
    char *path;                          /* owned */
    void *state;                         /* owned through format->close */
    int64_t bin;
    struct dataset_raw raw;   /* its arrays are freed once the detector is made */
    struct detector detector; /* owned */
};

void detector_release(struct detector *detector)
{
    memory_free(&detector->s);
    memory_free(&detector->mask);
    memory_free(&detector->response);
    memory_free(&detector->polarization);
    memory_free(&detector->background);
    memset(detector, 0, sizeof *detector);
}

static void release_raw(struct dataset_raw *raw)
{
    memory_free(&raw->s);
    memory_free(&raw->mask);
    memory_free(&raw->response);
    memory_free(&raw->background);
}

/* ---- the detector ----------------------------------------------------------------------------- */

/* Mask of raw pixels: the file's, less those without a position or a response. */
static enum mtip_status finish_raw_mask(struct dataset_raw *raw, const char *path)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n = raw->n_panel * raw->ny * raw->nx;
    if (raw->mask == NULL) {
        MTIP_TRY(MEMORY_ALLOC(&raw->mask, n, "mask"));
        memset(raw->mask, 1, (size_t)n);
    }
    for (int64_t p = 0; p < n; p++) {
        const double *s = &raw->s[3 * p];
        if (!raw->mask[p]) {
            continue;
        }
        if (!isfinite(s[0]) || !isfinite(s[1]) || !isfinite(s[2])) {
            raw->mask[p] = 0;
            continue;
        }
        if (raw->response != NULL && !(raw->response[p] >= 0.0 && isfinite(raw->response[p]))) {
            MTIP_FAIL(MTIP_ERR_DATA,
                      "%s: the response (polarization times solid_angle) of pixel %" PRId64
                      " is %g; a positive number is expected, or 0 in `mask`",
                      path, p, raw->response[p]);
        }
        if (raw->background != NULL &&
            !(raw->background[p] >= 0.0 && isfinite(raw->background[p]))) {
            MTIP_FAIL(MTIP_ERR_DATA,
                      "%s: `background` of pixel %" PRId64
                      " is %g; mean photons, at least 0, are expected, or 0 in `mask`",
                      path, p, raw->background[p]);
        }
        if (raw->response != NULL && !(raw->response[p] > 0.0)) {
            raw->mask[p] = 0;
        }
    }
cleanup:
    return status;
}

/* Sums one binned pixel at `to` from its bin x bin raw pixels, the first of which is `from`. */
static void bin_pixel(struct detector *detector, int64_t to, const struct dataset_raw *raw,
                      int64_t from, int64_t bin)
{
    const double part = 1.0 / (double)(bin * bin);
    double s[3] = {0.0, 0.0, 0.0};
    double response = 0.0, background = 0.0;
    int used = 1;
    for (int64_t y = 0; y < bin; y++) {
        for (int64_t x = 0; x < bin; x++) {
            const int64_t p = from + y * raw->nx + x;
            used &= raw->mask[p];
            for (int k = 0; k < 3; k++) {
                s[k] += part * raw->s[3 * p + k];
            }
            response += part * (raw->response != NULL ? raw->response[p] : 1.0);
            background += raw->background != NULL ? raw->background[p] : 0.0;
        }
    }
    detector->mask[to] = (uint8_t)used;
    /* Nothing downstream should meet a NaN, not even in pixels that are not used. */
    for (int k = 0; k < 3; k++) {
        detector->s[3 * to + k] = isfinite(s[k]) ? s[k] : 0.0;
    }
    detector->response[to] = isfinite(response) ? response : 0.0;
    if (detector->background != NULL) {
        detector->background[to] = isfinite(background) ? background : 0.0;
    }
}

/* Scales the response to mean 1 over used pixels and checks what the whole detector must satisfy. */
static enum mtip_status check_detector(struct detector *detector, const char *path)
{
    int64_t n_used = 0;
    double sum = 0.0, s_max = 0.0;
    for (int64_t p = 0; p < detector->n_pixel; p++) {
        if (detector->mask[p]) {
            const double *s = &detector->s[3 * p];
            n_used++;
            sum += detector->response[p];
            s_max = fmax(s_max, sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]));
        }
    }
    if (n_used == 0) {
        return MTIP_ERROR(MTIP_ERR_DATA,
                          "%s: no usable pixel among %" PRId64
                          ": all are masked, without position or without response",
                          path, detector->n_pixel);
    }
    if (!(s_max > 1e-6 && s_max < 100.0)) {
        return MTIP_ERROR(MTIP_ERR_DATA,
                          "%s: pixel positions reach |s| = %g 1/A; 1e-6 to 100 are expected: "
                          "`pixel_position_reciprocal` is in 1/m unless its attribute `units` says "
                          "otherwise",
                          path, s_max);
    }
    const double scale = (double)n_used / sum;
    for (int64_t p = 0; p < detector->n_pixel; p++) {
        detector->response[p] *= scale;
    }
    return MTIP_OK;
}

static enum mtip_status make_detector(struct dataset *dataset,
                                      const struct dataset_options *options)
{
    enum mtip_status status = MTIP_OK;
    const struct dataset_raw *raw = &dataset->raw;
    struct detector *detector = &dataset->detector;
    const int64_t bin = dataset->bin;
    if (bin > raw->ny || bin > raw->nx) {
        MTIP_FAIL(MTIP_ERR_CONFIG,
                  "%s: input.bin = %" PRId64 " is larger than a panel of %" PRId64 " x %" PRId64
                  " pixels",
                  dataset->path, bin, raw->ny, raw->nx);
    }
    MTIP_TRY(finish_raw_mask(&dataset->raw, dataset->path));
    detector->n_panel = raw->n_panel;
    detector->ny = raw->ny / bin;
    detector->nx = raw->nx / bin;
    detector->n_pixel = raw->n_panel * detector->ny * detector->nx;
    detector->wavelength_A =
        options->wavelength_A > 0.0 ? options->wavelength_A : raw->wavelength_A;
    MTIP_TRY(MEMORY_ALLOC(&detector->s, 3 * detector->n_pixel, "pixel positions"));
    MTIP_TRY(MEMORY_ALLOC(&detector->mask, detector->n_pixel, "mask"));
    MTIP_TRY(MEMORY_ALLOC(&detector->response, detector->n_pixel, "response"));
    if (raw->background != NULL) {
        MTIP_TRY(MEMORY_ALLOC(&detector->background, detector->n_pixel, "background"));
    }
    int64_t to = 0;
    for (int64_t panel = 0; panel < raw->n_panel; panel++) {
        for (int64_t y = 0; y < detector->ny; y++) {
            for (int64_t x = 0; x < detector->nx; x++) {
                bin_pixel(detector, to++, raw, ((panel * raw->ny) + y * bin) * raw->nx + x * bin,
                          bin);
            }
        }
    }
    MTIP_TRY(check_detector(detector, dataset->path));
cleanup:
    return status;
}

/* ---- open and close --------------------------------------------------------------------------- */

static const struct dataset_format *find_format(const char *path)
{
    for (int i = 0; i < COUNT_OF(formats); i++) {
        if (formats[i]->probe(path)) {
            return formats[i];
        }
    }
    return formats[COUNT_OF(formats) - 1];
}

enum mtip_status dataset_open(struct dataset **dataset, const char *path,
                              const struct dataset_options *options)
{
    enum mtip_status status = MTIP_OK;
    const struct dataset_options defaults = {0};
    struct dataset *d = NULL;
    options = options != NULL ? options : &defaults;
    *dataset = NULL;
    if (path == NULL || path[0] == '\0') {
        MTIP_FAIL(MTIP_ERR_CONFIG, "no frames file is named: set input.file");
    }
    MTIP_TRY(MEMORY_ALLOC(&d, 1, "dataset"));
    MTIP_TRY(MEMORY_ALLOC(&d->path, (int64_t)strlen(path) + 1, "path"));
    strcpy(d->path, path);
    d->bin = options->bin > 1 ? options->bin : 1;
    d->format = find_format(path);
    MTIP_TRY(d->format->open(&d->state, &d->raw, path, options));
    if (d->raw.n_frames < 1) {
        MTIP_FAIL(MTIP_ERR_DATA, "%s: dataset `intensities` holds zero frames", path);
    }
    MTIP_TRY(make_detector(d, options));
    *dataset = d;
cleanup:
    if (d != NULL) {
        release_raw(&d->raw);
    }
    if (status != MTIP_OK) {
        dataset_close(&d);
    }
    return status;
}

void dataset_close(struct dataset **dataset)
{
    struct dataset *d = *dataset;
    if (d != NULL) {
        if (d->state != NULL) {
            d->format->close(&d->state);
        }
        release_raw(&d->raw);
        detector_release(&d->detector);
        memory_free(&d->path);
        memory_free(dataset);
    }
}

const char *dataset_path(const struct dataset *dataset)
{
    return dataset->path;
}

const char *dataset_format_name(const struct dataset *dataset)
{
    return dataset->format->name;
}

int64_t dataset_n_frames(const struct dataset *dataset)
{
    return dataset->raw.n_frames;
}

const struct detector *dataset_detector(const struct dataset *dataset)
{
    return &dataset->detector;
}

/* ---- frames ----------------------------------------------------------------------------------- */

/* Sums the pixels of one raw frame. */
static void bin_frame(float *frame, const float *raw_frame, const struct dataset *dataset)
{
    const struct detector *detector = &dataset->detector;
    const int64_t bin = dataset->bin;
    const int64_t ny = dataset->raw.ny, nx = dataset->raw.nx;
    for (int64_t panel = 0; panel < detector->n_panel; panel++) {
        for (int64_t y = 0; y < detector->ny; y++) {
            for (int64_t x = 0; x < detector->nx; x++) {
                const float *block = raw_frame + ((panel * ny) + y * bin) * nx + x * bin;
                double sum = 0.0;
                for (int64_t i = 0; i < bin * bin; i++) {
                    sum += (double)block[(i / bin) * nx + i % bin];
                }
                *frame++ = (float)sum;
            }
        }
    }
}

/* Zeroes masked pixels and refuses what is no photon count in the others. */
static enum mtip_status check_frame(float *frame, int64_t index, const struct dataset *dataset)
{
    const struct detector *detector = &dataset->detector;
    for (int64_t p = 0; p < detector->n_pixel; p++) {
        if (!detector->mask[p]) {
            frame[p] = 0.0f;
        } else if (!(frame[p] >= 0.0f && isfinite(frame[p]))) {
            const int64_t panel = p / (detector->ny * detector->nx);
            return MTIP_ERROR(MTIP_ERR_DATA,
                              "%s: frame %" PRId64 " holds %g at pixel [%" PRId64 "][%" PRId64
                              "][%" PRId64 "]; photons, at least 0, are expected: put the pixel "
                              "into `mask` or leave the frame out",
                              dataset->path, index, (double)frame[p], panel,
                              p / detector->nx % detector->ny, p % detector->nx);
        }
    }
    return MTIP_OK;
}

enum mtip_status dataset_read(const struct dataset *dataset, int64_t first, int64_t count,
                              float *frames)
{
    enum mtip_status status = MTIP_OK;
    float *piece = NULL;
    const int64_t n_pixel = dataset->detector.n_pixel;
    const int64_t n_raw = dataset->raw.n_panel * dataset->raw.ny * dataset->raw.nx;
    if (first < 0 || count < 0 || first > dataset->raw.n_frames - count) {
        MTIP_FAIL(MTIP_ERR_ARGUMENT,
                  "%s: frames %" PRId64 " + %" PRId64 " are not among its %" PRId64 " frames",
                  dataset->path, first, count, dataset->raw.n_frames);
    }
    if (dataset->bin == 1) {
        MTIP_TRY(dataset->format->read(dataset->state, first, count, frames));
    } else {
        int64_t rows = PIECE_BYTES / ((int64_t)sizeof *piece * n_raw);
        rows = rows < 1 ? 1 : rows > count ? count : rows;
        MTIP_TRY(MEMORY_ALLOC(&piece, rows * n_raw, "frames before binning"));
        for (int64_t done = 0; done < count; done += rows) {
            const int64_t n = rows < count - done ? rows : count - done;
            MTIP_TRY(dataset->format->read(dataset->state, first + done, n, piece));
            for (int64_t i = 0; i < n; i++) {
                bin_frame(frames + (done + i) * n_pixel, piece + i * n_raw, dataset);
            }
        }
    }
    for (int64_t i = 0; i < count; i++) {
        MTIP_TRY(check_frame(frames + i * n_pixel, first + i, dataset));
    }
cleanup:
    memory_free(&piece);
    return status;
}

/* ---- the truth -------------------------------------------------------------------------------- */

int dataset_has_truth(const struct dataset *dataset)
{
    return dataset->raw.has_orientations;
}

enum mtip_status dataset_read_orientations(const struct dataset *dataset, double *quaternions)
{
    enum mtip_status status = MTIP_OK;
    if (!dataset->raw.has_orientations) {
        MTIP_FAIL(MTIP_ERR_DATA, "%s: has no true orientations (dataset `orientations`)",
                  dataset->path);
    }
    MTIP_TRY(dataset->format->read_orientations(dataset->state, quaternions));
    for (int64_t i = 0; i < dataset->raw.n_frames; i++) {
        double *q = &quaternions[4 * i];
        const double norm = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
        if (!(norm > 0.5 && norm < 2.0)) {
            MTIP_FAIL(MTIP_ERR_DATA,
                      "%s: `orientations` of frame %" PRId64
                      " is (%g, %g, %g, %g); a unit quaternion (w, x, y, z) is expected",
                      dataset->path, i, q[0], q[1], q[2], q[3]);
        }
        for (int k = 3; k >= 0; k--) { /* q[0] last: the others need its sign */
            q[k] *= (q[0] < 0.0 ? -1.0 : 1.0) / norm;
        }
    }
cleanup:
    return status;
}

enum mtip_status dataset_read_fluence(const struct dataset *dataset, double *fluence)
{
    if (!dataset->raw.has_fluence) {
        return MTIP_ERROR(MTIP_ERR_DATA, "%s: has no dataset `fluence`", dataset->path);
    }
    return dataset->format->read_fluence(dataset->state, fluence);
}
