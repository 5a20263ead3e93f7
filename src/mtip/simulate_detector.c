/* simulate_detector.c - a flat detector on the Ewald sphere. */
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "mtip/simulate.h"

/* Half width of the detector over its distance: the tangent of the angle to the middle of an
 * edge. From 2 sin(theta) = wavelength / d, or from distance and pixel size. */
static enum mtip_status edge_tangent(double *tangent, const struct config_simulate *config)
{
    if (config->distance > 0.0) {
        if (!(config->pixel_size > 0.0)) {
            return MTIP_ERROR(MTIP_ERR_CONFIG,
                              "simulate.distance is %g mm but simulate.pixel_size "
                              "is not set: give both, or neither",
                              config->distance);
        }
        *tangent = 0.5 * (double)config->pixels * config->pixel_size / config->distance;
        return MTIP_OK;
    }
    if (config->pixel_size > 0.0) {
        return MTIP_ERROR(MTIP_ERR_CONFIG,
                          "simulate.pixel_size is %g mm but simulate.distance is "
                          "not set: give both, or neither",
                          config->pixel_size);
    }
    const double sine = 0.5 * config->wavelength / config->edge_resolution;
    if (!(sine < 0.7)) { /* 2 theta = 90 degrees is at 0.7071 */
        return MTIP_ERROR(
            MTIP_ERR_CONFIG,
            "simulate.edge_resolution of %g A cannot be reached on a flat detector at a "
            "wavelength of %g A: the wavelength must be below %g A",
            config->edge_resolution, config->wavelength, 1.4 * config->edge_resolution);
    }
    *tangent = tan(2.0 * asin(sine));
    return MTIP_OK;
}

/* Scattering vector, polarisation factor and solid angle (relative) of the pixel at (x, y), in
 * units of the distance. */
static void place_pixel(double s[3], double *polarization, double *solid_angle, double x, double y,
                        double wavelength)
{
    const double norm = sqrt(x * x + y * y + 1.0);
    s[0] = x / (norm * wavelength);
    s[1] = y / (norm * wavelength);
    /* 1/norm - 1 without cancellation */
    s[2] = -(x * x + y * y) / (norm * (norm + 1.0) * wavelength);
    *polarization = 1.0 - x * x / (norm * norm);
    *solid_angle = 1.0 / (norm * norm * norm);
}

enum mtip_status simulate_detector(struct detector *detector, const struct config_simulate *config)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n = config->pixels, n_pixel = n * n;
    double tangent = 0.0, solid_angle = 0.0, sum = 0.0;
    int64_t n_used = 0;

    memset(detector, 0, sizeof *detector);
    MTIP_TRY(edge_tangent(&tangent, config));
    detector->n_panel = 1;
    detector->ny = detector->nx = n;
    detector->n_pixel = n_pixel;
    detector->wavelength_A = config->wavelength;
    MTIP_TRY(MEMORY_ALLOC(&detector->s, 3 * n_pixel, "pixel positions"));
    MTIP_TRY(MEMORY_ALLOC(&detector->mask, n_pixel, "pixel mask"));
    MTIP_TRY(MEMORY_ALLOC(&detector->response, n_pixel, "pixel response"));
    MTIP_TRY(MEMORY_ALLOC(&detector->polarization, n_pixel, "polarisation"));
    if (config->background > 0.0) {
        MTIP_TRY(MEMORY_ALLOC(&detector->background, n_pixel, "background"));
    }
    for (int64_t p = 0; p < n_pixel; p++) {
        const double ix = (double)(2 * (p % n) - n + 1) / (double)n; /* -1 .. 1 over the width */
        const double iy = (double)(2 * (p / n) - n + 1) / (double)n;
        place_pixel(&detector->s[3 * p], &detector->polarization[p], &solid_angle, tangent * ix,
                    tangent * iy, config->wavelength);
        detector->response[p] = detector->polarization[p] * solid_angle;
        detector->mask[p] = sqrt(ix * ix + iy * iy) >= config->beamstop;
        if (detector->background != NULL) {
            detector->background[p] = config->background;
        }
        if (detector->mask[p]) {
            sum += detector->response[p];
            n_used++;
        }
    }
    if (n_used == 0) {
        MTIP_FAIL(MTIP_ERR_CONFIG,
                  "simulate.beamstop of %g covers every pixel of the detector; less is right",
                  config->beamstop);
    }
    for (int64_t p = 0; p < n_pixel; p++) {
        detector->response[p] *= (double)n_used / sum;
    }

cleanup:
    if (status != MTIP_OK) {
        detector_release(detector);
    }
    return status;
}
