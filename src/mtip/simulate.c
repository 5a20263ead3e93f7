/* simulate.c - a simulation from configuration to file. */
#include "mtip/simulate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "mtip/particle.h"

/* Frames written at a time hold about this many pixels. */
#define PIECE_PIXELS ((int64_t)1 << 22)

/* Photon counts are stored as whole numbers below 2^24, which float keeps exactly. */
#define MOST_PHOTONS_A_PIXEL 1e7

enum mtip_status simulate_particle(struct atoms *atoms, const struct config_simulate *config)
{
    enum mtip_status status = MTIP_OK;
    memset(atoms, 0, sizeof *atoms);
    if (config->pdb[0] == '\0') {
        MTIP_TRY(particle_create(atoms, config->particle));
    } else {
        MTIP_TRY(pdb_read(atoms, config->pdb, config->water));
        particle_centre(atoms);
    }
cleanup:
    return status;
}

static void summarise_geometry(struct simulate_summary *summary, const struct detector *detector,
                               const struct atoms *atoms)
{
    const int64_t n = detector->nx;
    double finest = 0.0;
    summary->n_pixel = detector->n_pixel;
    for (int64_t p = 0; p < detector->n_pixel; p++) {
        const double *s = &detector->s[3 * p];
        if (detector->mask[p]) {
            finest = fmax(finest, sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]));
            summary->n_used++;
        }
    }
    /* The outermost pixel centre of a row gives the angle; the edge is half a pixel further out. */
    const double *outer = &detector->s[3 * (n - 1)];
    const double wavelength = detector->wavelength_A;
    const double tangent = outer[0] / (outer[2] + 1.0 / wavelength) * (double)n / (double)(n - 1);
    summary->edge_resolution_A = wavelength / (2.0 * sin(0.5 * atan(tangent)));
    summary->corner_resolution_A = 1.0 / finest;
    summary->wavelength_A = wavelength;
    summary->n_atoms = atoms->n;
    summary->diameter_A = particle_diameter_A(atoms);
    summary->mass_kDa = particle_mass_kDa(atoms);
    const double pixel = 2.0 * tangent / ((double)n * wavelength);
    summary->pixels_per_fringe = 1.0 / (summary->diameter_A * pixel);
}

/* Truth and provenance. */
static enum mtip_status write_notes(struct dataset_writer *writer, const struct config *config,
                                    const struct atoms *atoms,
                                    const struct simulate_summary *summary)
{
    enum mtip_status status = MTIP_OK;
    char *text = NULL, number[64];
    MTIP_TRY(dataset_writer_atoms(writer, atoms));
    MTIP_TRY(config_to_text(&text, config));
    MTIP_TRY(dataset_writer_note(writer, "configuration", text));
    MTIP_TRY(dataset_writer_note(writer, "beam_polarization", "linear, along x of the detector"));
    snprintf(number, sizeof number, "%.6g", summary->diameter_A);
    MTIP_TRY(dataset_writer_note(writer, "particle_diameter_A", number));
    snprintf(number, sizeof number, "%.6g", summary->mass_kDa);
    MTIP_TRY(dataset_writer_note(writer, "particle_mass_kDa", number));
cleanup:
    memory_free(&text);
    return status;
}

/* Makes and writes all frames, piece by piece. */
static enum mtip_status write_frames(struct simulate_summary *summary,
                                     struct dataset_writer *writer, struct simulator *simulator,
                                     int64_t n_frames, int noise, struct log *log)
{
    enum mtip_status status = MTIP_OK;
    float *frames = NULL;
    double *quaternions = NULL, *fluence = NULL, sum = 0.0;
    const int64_t n_pixel = summary->n_pixel;
    int64_t piece = PIECE_PIXELS / n_pixel;
    piece = piece < 1 ? 1 : piece > n_frames ? n_frames : piece;
    MTIP_TRY(MEMORY_ALLOC(&frames, piece * n_pixel, "frames"));
    MTIP_TRY(MEMORY_ALLOC(&quaternions, 4 * piece, "orientations"));
    MTIP_TRY(MEMORY_ALLOC(&fluence, piece, "fluence"));
    for (int64_t first = 0; first < n_frames; first += piece) {
        const int64_t count = n_frames - first < piece ? n_frames - first : piece;
        log_progress(log, "frames", first, n_frames);
        MTIP_TRY(simulator_frames(simulator, frames, quaternions, fluence, first, count));
        for (int64_t i = 0; i < count * n_pixel; i++) {
            const double value = (double)frames[i];
            sum += value;
            summary->brightest = fmax(summary->brightest, value);
        }
        if (noise && summary->brightest > MOST_PHOTONS_A_PIXEL) {
            MTIP_FAIL(MTIP_ERR_CONFIG,
                      "simulate.photons: a pixel would hold %.3g photons; at most %.0e can be "
                      "stored (use photons = 0 for noise-free frames)",
                      summary->brightest, MOST_PHOTONS_A_PIXEL);
        }
        MTIP_TRY(dataset_writer_put(writer, first, count, frames, quaternions, fluence));
    }
    log_progress(log, "frames", n_frames, n_frames);
    summary->mean_photons = sum / (double)n_frames;
cleanup:
    memory_free(&fluence);
    memory_free(&quaternions);
    memory_free(&frames);
    return status;
}

enum mtip_status simulate_run(struct simulate_summary *summary, const struct config *config,
                              int n_threads, struct log *log)
{
    enum mtip_status status = MTIP_OK;
    const struct config_simulate *simulate = &config->simulate;
    struct atoms atoms = {0};
    struct detector detector = {0};
    struct simulator *simulator = NULL;
    struct dataset_writer *writer = NULL;

    memset(summary, 0, sizeof *summary);
    summary->n_frames = simulate->frames;
    MTIP_TRY(simulate_particle(&atoms, simulate));
    MTIP_TRY(simulate_detector(&detector, simulate));
    summarise_geometry(summary, &detector, &atoms);
    MTIP_TRY(dataset_writer_create(&writer, simulate->output, &detector, simulate->frames,
                                   simulate->photons > 0.0));
    MTIP_TRY(write_notes(writer, config, &atoms, summary));
    MTIP_TRY(simulator_create(&simulator, &detector, &atoms, simulate, n_threads));
    MTIP_TRY(
        write_frames(summary, writer, simulator, simulate->frames, simulate->photons > 0.0, log));
    MTIP_TRY(dataset_writer_finish(&writer));

cleanup:
    dataset_writer_destroy(&writer);
    simulator_destroy(&simulator);
    detector_release(&detector);
    atoms_release(&atoms);
    return status;
}
