/* config.h - the configuration of a run: one table gives every key its type, range, default, unit
 * and help; a libconfig file and --set options fill it; anything unknown is an error.
 *
 * The table is config_keys in config_keys.c; help texts, the commented configuration file and
 * the copy kept in a result are all written from it.
 */
#ifndef MTIP_IO_CONFIG_H
#define MTIP_IO_CONFIG_H

#include <stdint.h>
#include <stdio.h>

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CONFIG_TEXT_SIZE 1024

/* Lengths in Angstrom, masses in kDa, angles in degrees, unless the name says otherwise. */
struct config_input {
    char file[CONFIG_TEXT_SIZE];     /* frames */
    char detector[CONFIG_TEXT_SIZE]; /* detector file, where the format has one */
    double wavelength;               /* where the file lacks it; 0 = from the file */
    int64_t bin;                     /* pixels binned bin x bin */
    int64_t max_frames;              /* 0 = all */
};

struct config_particle {
    double diameter; /* longest extent; 0 = unknown */
    double mass;     /* 0 = unknown */
};

struct config_resolution {
    double limit; /* d_min; 0 = the detector's edge */
};

struct config_grid {
    int64_t size; /* voxels a side, odd; 0 = from diameter and limit */
};

struct config_orientation {
    int64_t references;     /* at full resolution */
    int64_t references_min; /* never fewer */
    int64_t candidates;
    double candidates_end;
    int64_t refine_rounds;
    int64_t refine_trials;
};

struct config_merge {
    double regularization;
    int64_t iterations;
    double tolerance;
    double weight_floor;
};

struct config_phasing {
    char algorithm[32]; /* raar, hio, er */
    double beta;
    int64_t loops; /* inside a generation */
    int64_t iterations;
    int64_t er_iterations;
    double support_sigma; /* blur of shrink-wrap at the start, voxels */
    double support_sigma_end;
    double support_fraction; /* of the bounding ball, while orientations are searched */
    double support_volume;   /* at the end, in volumes of the particle's mass (1.21 A^3 a Dalton) */
    int64_t starts;          /* independent phasings at the end */
    double keep;             /* the better part of them, averaged */
    int64_t final_loops;
    int64_t final_iterations;
    int64_t final_er_iterations;
};

struct config_run {
    char output[CONFIG_TEXT_SIZE]; /* directory */
    int64_t generations;
    int64_t seed;
    char backend[32];   /* auto, cpu, cuda */
    char precision[32]; /* single, double */
    int64_t threads;    /* 0 = all of this rank's cores */
    double march_start; /* part of the resolution limit used by the first generation */
    double march_end;   /* part of the generations after which all of it is used */
    double
        settle; /* relative gain of the log-likelihood below which the run ends early; 0 = never */
    double memory; /* GiB a rank may take, of its device on a GPU; 0 = what is free */
};

struct config_simulate {
    char output[CONFIG_TEXT_SIZE]; /* file */
    char pdb[CONFIG_TEXT_SIZE];    /* "" = the built-in particle */
    char particle[32];             /* built-in particle: protein, rod */
    int water;                     /* keep the waters of the PDB file */
    int64_t frames;
    int64_t pixels;         /* a side */
    double photons;         /* mean a frame; 0 = noise-free */
    double edge_resolution; /* at the middle of a detector edge */
    double wavelength;
    double distance;       /* mm; 0 = flat detector from edge_resolution */
    double pixel_size;     /* mm */
    double fluence_spread; /* standard deviation of the logarithm */
    double beamstop;       /* part of the detector's half width */
    double background;     /* mean photons a pixel */
    int64_t seed;
};

struct config {
    struct config_input input;
    struct config_particle particle;
    struct config_resolution resolution;
    struct config_grid grid;
    struct config_orientation orientation;
    struct config_merge merge;
    struct config_phasing phasing;
    struct config_run run;
    struct config_simulate simulate;
};

/* Fills `config` with the defaults, then the file at `path` (NULL = none), then the `n_sets` options
 * "group.key=value" in order. Relative paths in the file are taken from the file's directory, those
 * of options from the working directory. A smaller orientation.references lowers the default of
 * references_min, and the other way round. Errors, all MTIP_ERR_CONFIG, name file, line (or
 * option), key, what is allowed, and for an unknown key the nearest known one. Not collective: rank
 * 0 loads and the struct, which is plain data, is broadcast. */
enum mtip_status config_load(struct config *config, const char *path, int n_sets,
                             const char *const *sets) MTIP_NODISCARD;

/* Writes the keys of the listed groups ("input", "run", ...; NULL-terminated, NULL = all) with
 * default, unit, range and help, for --help. */
void config_print_help(FILE *out, const char *const *groups);

/* Writes a complete libconfig file with these values, which loads to the same values again; each key
 * under its help as a comment when `comments`. (Not called config_write: libconfig has that name.) */
void config_print(FILE *out, const struct config *config, int comments);

/* The same as text, without comments. *text is owned by the caller (memory_free). */
enum mtip_status config_to_text(char **text, const struct config *config) MTIP_NODISCARD;

#ifdef __cplusplus
}
#endif

#endif
