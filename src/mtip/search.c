/* search.c - references round the ring, and local refinement. */
#include "mtip/search.h"

#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "mtip/match.h"
#include "mtip/orient.h"
#include "mtip/turns.h"

/* In units of the spacing of references: the standard deviation of a random turn's components, and the step of
 * the first stencil, halved from round to round. */
#define RANDOM_STEP 0.35
#define STENCIL_STEP 0.2

struct search {
    const struct comm *comm; /* borrowed, as the next four */
    const struct backend *backend;
    const struct geometry *geometry;
    const struct frames *frames;
    struct slicer *slicer;
    enum nufft_precision precision;
    int64_t max_rotations;
    struct matcher *matcher;
    void *block[2];  /* backend, [max_rotations][P]: the block being matched, and the next */
    void *staged[2]; /* host images of the blocks where they are not host memory, else the same */
    double *quaternions; /* host, [max_rotations][4] */
    double *centres;     /* host, [max_rotations][4] */
    struct rng *rngs;    /* host, [max_rotations] */
    double *scores;      /* host, [max_rotations] */
    double *sums;        /* host, [max_rotations] */
    int64_t *best;       /* host, [n] */
};

static size_t block_bytes(const struct geometry *geometry, enum nufft_precision precision,
                          int64_t max_rotations)
{
    return (size_t)(max_rotations * geometry->n_pixel) * slicer_item_size(precision);
}

void search_plan_memory(struct memory_plan *plan, const struct backend *backend,
                        const struct geometry *geometry, const struct frames *frames,
                        enum nufft_precision precision, int64_t max_rotations)
{
    const int on_device = backend->kind != BACKEND_CPU;
    const size_t bytes = 2 * block_bytes(geometry, precision, max_rotations);
    memory_plan_add(plan, "slices", bytes, on_device);
    if (on_device) {
        memory_plan_add(plan, "slices in flight", bytes, 0);
    }
    memory_plan_add(plan, "score tiles", matcher_bytes(backend, frames, precision, max_rotations),
                    on_device);
}

enum mtip_status search_create(struct search **search, const struct comm *comm,
                               const struct backend *backend, const struct geometry *geometry,
                               const struct frames *frames, struct slicer *slicer,
                               enum nufft_precision precision, int64_t max_rotations)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n_values = max_rotations * geometry->n_pixel;
    const size_t item = slicer_item_size(precision);
    *search = NULL;
    struct search *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return MTIP_ERROR(MTIP_ERR_MEMORY, "search: cannot allocate %zu bytes", sizeof *s);
    }
    s->comm = comm;
    s->backend = backend;
    s->geometry = geometry;
    s->frames = frames;
    s->slicer = slicer;
    s->precision = precision;
    s->max_rotations = max_rotations;
    MTIP_TRY(matcher_create(&s->matcher, backend, frames, precision, max_rotations));
    for (int i = 0; i < 2; i++) {
        MTIP_TRY(backend_alloc(backend, &s->block[i], n_values, item, "slices"));
        s->staged[i] = s->block[i];
        if (backend->kind != BACKEND_CPU) {
            MTIP_TRY(
                backend_alloc_host(backend, &s->staged[i], n_values, item, "slices in flight"));
        }
    }
    MTIP_TRY(MEMORY_ALLOC(&s->quaternions, 4 * max_rotations, "rotations"));
    MTIP_TRY(MEMORY_ALLOC(&s->centres, 4 * max_rotations, "rotations"));
    MTIP_TRY(MEMORY_ALLOC(&s->rngs, max_rotations, "random streams"));
    MTIP_TRY(MEMORY_ALLOC(&s->scores, max_rotations, "scores"));
    MTIP_TRY(MEMORY_ALLOC(&s->sums, max_rotations, "slice sums"));
    MTIP_TRY(MEMORY_ALLOC(&s->best, frames->n, "best references"));
    *search = s;
    s = NULL;
cleanup:
    search_destroy(&s);
    return status;
}

void search_destroy(struct search **search)
{
    struct search *s = *search;
    if (s == NULL) {
        return;
    }
    memory_free(&s->best);
    memory_free(&s->sums);
    memory_free(&s->scores);
    memory_free(&s->rngs);
    memory_free(&s->centres);
    memory_free(&s->quaternions);
    for (int i = 0; i < 2; i++) {
        if (s->staged[i] != s->block[i]) {
            backend_free_host(s->backend, &s->staged[i]);
        }
        backend_free(s->backend, &s->block[i]);
    }
    matcher_destroy(&s->matcher);
    free(s);
    *search = NULL;
}

/* The fresh random turn of a generation's references. */
static void reference_turn(double turn[4], const struct search_options *options)
{
    struct rng rng = rng_stream(options->seed, RNG_REFERENCES, (uint64_t)options->generation, 0);
    rng_quaternion(&rng, turn);
}

/* Lets each frame draw its candidates. */
static void draw_candidates(struct search *s, const struct search_options *options)
{
    struct rng rng = rng_stream(options->seed, RNG_CANDIDATES, (uint64_t)options->generation, 0);
    const uint64_t high = rng_bits(&rng), low = rng_bits(&rng);
    if (options->n_candidates > 0) {
        matcher_draw(s->matcher, (double)options->n_candidates / (double)options->n_references,
                     high << 32 | low);
    }
}

/* The part of rank `owner`'s references that round `round` of `block` references covers. */
static void round_range(int64_t *first, int64_t *count, int64_t n_references, int size, int owner,
                        int64_t round, int64_t block)
{
    int64_t begin = 0, share = 0;
    comm_split(n_references, size, owner, &begin, &share);
    const int64_t left = share - round * block;
    *first = begin + round * block;
    *count = left < 0 ? 0 : left < block ? left : block;
}

/* Slices this rank's references of a round into block[0] and, staged, ready for the ring. */
static enum mtip_status slice_round(struct search *s, const double turn[4], int64_t first,
                                    int64_t count, const struct search_options *options)
{
    enum mtip_status status = MTIP_OK;
    for (int64_t i = 0; i < count; i++) {
        orient_super_fibonacci(s->quaternions + 4 * i, first + i, options->n_references, turn);
    }
    MTIP_TRY(
        slicer_log_slices(s->slicer, s->block[0], NULL, s->quaternions, count, options->n_use));
    if (s->staged[0] != s->block[0]) {
        MTIP_TRY(
            backend_download(s->backend, s->staged[0], s->block[0],
                             (size_t)(count * options->n_use) * slicer_item_size(s->precision)));
    }
cleanup:
    return status;
}

static void swap_blocks(struct search *s)
{
    void *block = s->block[0], *staged = s->staged[0];
    s->block[0] = s->block[1];
    s->staged[0] = s->staged[1];
    s->block[1] = block;
    s->staged[1] = staged;
}

/* One round: every rank's block visits every rank, each matched while the next is on its way. A local
 * failure is kept in `status` and the ring goes on, so that no other rank is left waiting. */
static enum mtip_status match_round(struct search *s, enum mtip_status status, int64_t round,
                                    int64_t block, const struct search_options *options)
{
    const struct comm *comm = s->comm;
    const size_t bytes = (size_t)(block * options->n_use) * slicer_item_size(s->precision);
    for (int step = 0; step < comm->size; step++) {
        const int owner = (comm->rank - step + comm->size) % comm->size;
        const int more = step + 1 < comm->size;
        struct comm_ring ring = {.n_requests = 0};
        enum mtip_status passed = MTIP_OK;
        int64_t first = 0, count = 0;
        round_range(&first, &count, options->n_references, comm->size, owner, round, block);
        if (more) {
            passed = comm_ring_begin(comm, &ring, s->staged[0], s->staged[1], bytes);
        }
        if (status == MTIP_OK) {
            status = matcher_block(s->matcher, s->block[0], count, options->n_use, first);
        }
        if (status == MTIP_OK) {
            status = backend_synchronize(s->backend);
        }
        if (more && passed == MTIP_OK) {
            passed = comm_ring_end(&ring);
        }
        if (status == MTIP_OK) {
            status = passed;
        }
        if (more) {
            if (status == MTIP_OK && s->staged[1] != s->block[1]) {
                status = backend_upload(s->backend, s->block[1], s->staged[1], bytes);
            }
            swap_blocks(s);
        }
    }
    return status;
}

enum mtip_status search_references(struct search *s, double *quaternions,
                                   const struct search_options *options, double seconds[2],
                                   struct log *log)
{
    enum mtip_status status = MTIP_OK;
    const struct comm *comm = s->comm;
    const int64_t share = (options->n_references + comm->size - 1) / comm->size;
    const int64_t block = share < s->max_rotations ? share : s->max_rotations;
    const int64_t n_rounds = (share + block - 1) / block;
    double turn[4];

    reference_turn(turn, options);
    MTIP_TRY(comm_agree(comm, matcher_reset(s->matcher)));
    draw_candidates(s, options);
    for (int64_t round = 0; round < n_rounds; round++) {
        int64_t first = 0, count = 0;
        double clock = log_seconds();
        log_progress(log, "matching", round, n_rounds);
        round_range(&first, &count, options->n_references, comm->size, comm->rank, round, block);
        if (status == MTIP_OK) {
            status = slice_round(s, turn, first, count, options);
        }
        seconds[0] += log_seconds() - clock;
        clock = log_seconds();
        status = match_round(s, status, round, block, options);
        seconds[1] += log_seconds() - clock;
    }
    log_progress(log, "matching", n_rounds, n_rounds);
    if (status == MTIP_OK) {
        /* the scores are read again by the refinement: only the indices count here */
        double *unused = NULL;
        status = MEMORY_ALLOC(&unused, s->frames->n, "scores");
        if (status == MTIP_OK) {
            status = matcher_best(s->matcher, unused, s->best);
        }
        memory_free(&unused);
    }
    MTIP_TRY(comm_agree(comm, status));
    for (int64_t f = 0; f < s->frames->n; f++) {
        /* a frame that has drawn no candidate, which hardly happens, goes anywhere */
        const int64_t drawn = (s->frames->first + f) % options->n_references;
        orient_super_fibonacci(quaternions + 4 * f, s->best[f] < 0 ? drawn : s->best[f],
                               options->n_references, turn);
    }
cleanup:
    return status;
}

/* Scores the trials in s->quaternions, n_trials for each frame, and keeps each frame's best. */
static enum mtip_status score_trials(struct search *s, const struct search_best *best,
                                     int64_t first, int64_t count, int64_t n_trials, int64_t n_use)
{
    enum mtip_status status = MTIP_OK;
    MTIP_TRY(slicer_log_slices(s->slicer, s->block[0], s->sums, s->quaternions, count * n_trials,
                               n_use));
    MTIP_TRY(matcher_trials(s->matcher, s->scores, s->block[0], first, count, n_trials, n_use));
    for (int64_t i = 0; i < count; i++) {
        const double *scores = s->scores + i * n_trials;
        int64_t top = 0;
        for (int64_t t = 1; t < n_trials; t++) {
            top = scores[t] > scores[top] ? t : top;
        }
        memcpy(best->quaternions + 4 * (first + i), s->quaternions + 4 * (i * n_trials + top),
               4 * sizeof *best->quaternions);
        best->score[first + i] = scores[top];
        best->slice_sum[first + i] = s->sums[i * n_trials + top];
    }
cleanup:
    return status;
}

/* One round of random turns; rngs[i] belongs to frame first + i. */
static enum mtip_status refine_randomly(struct search *s, const struct search_best *best,
                                        int64_t first, int64_t count, double step,
                                        const struct search_options *options)
{
    for (int64_t i = 0; i < count; i++) {
        turns_random(s->quaternions + 4 * i * options->refine_trials,
                     best->quaternions + 4 * (first + i), &s->rngs[i], options->refine_trials,
                     step);
    }
    return score_trials(s, best, first, count, options->refine_trials, options->n_use);
}

/* Later rounds: a stencil about the best, then its peak against the best of the stencil. */
static enum mtip_status refine_by_parabola(struct search *s, const struct search_best *best,
                                           int64_t first, int64_t count, double step, int64_t n_use)
{
    enum mtip_status status = MTIP_OK;
    for (int64_t i = 0; i < count; i++) {
        double *centre = s->centres + 4 * i;
        memcpy(centre, best->quaternions + 4 * (first + i), 4 * sizeof *centre);
        turns_stencil(s->quaternions + 4 * i * TURNS_STENCIL, centre, step);
    }
    MTIP_TRY(score_trials(s, best, first, count, TURNS_STENCIL, n_use));
    for (int64_t i = 0; i < count; i++) {
        double *pair = s->quaternions + 8 * i;
        turns_peak(pair, s->centres + 4 * i, s->scores + i * TURNS_STENCIL, step);
        memcpy(pair + 4, best->quaternions + 4 * (first + i), 4 * sizeof *pair);
    }
    MTIP_TRY(score_trials(s, best, first, count, 2, n_use));
cleanup:
    return status;
}

/* All rounds of one batch of frames. */
static enum mtip_status refine_batch(struct search *s, const struct search_best *best,
                                     int64_t first, int64_t count,
                                     const struct search_options *options)
{
    enum mtip_status status = MTIP_OK;
    const double spacing = orient_spacing(options->n_references);
    if (options->refine_rounds == 0) {
        /* each frame is scored once where it is */
        memcpy(s->quaternions, best->quaternions + 4 * first,
               4 * (size_t)count * sizeof *s->quaternions);
        return score_trials(s, best, first, count, 1, options->n_use);
    }
    for (int64_t i = 0; i < count; i++) {
        s->rngs[i] = rng_stream(options->seed, RNG_REFINE, (uint64_t)options->generation,
                                (uint64_t)(s->frames->first + first + i));
    }
    double scale = 1.0;
    for (int64_t round = 0; round < options->refine_rounds; round++) {
        if (round == 0 || options->explore) {
            MTIP_TRY(
                refine_randomly(s, best, first, count, scale * RANDOM_STEP * spacing, options));
        } else {
            MTIP_TRY(refine_by_parabola(s, best, first, count, 2.0 * scale * STENCIL_STEP * spacing,
                                        options->n_use));
        }
        scale *= 0.5;
    }
cleanup:
    return status;
}

int64_t search_least_rotations(int64_t refine_trials)
{
    return refine_trials > TURNS_STENCIL ? refine_trials : TURNS_STENCIL;
}

enum mtip_status search_refine(struct search *s, const struct search_best *best,
                               const struct search_options *options, struct log *log)
{
    enum mtip_status status = MTIP_OK;
    const int64_t n = s->frames->n;
    const int64_t batch = s->max_rotations / search_least_rotations(options->refine_trials);
    for (int64_t first = 0; first < n; first += batch) {
        const int64_t count = n - first < batch ? n - first : batch;
        log_progress(log, "refining", first, n);
        MTIP_TRY(refine_batch(s, best, first, count, options));
    }
cleanup:
    log_progress(log, "refining", n, n);
    return status;
}
