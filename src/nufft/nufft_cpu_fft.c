/* nufft_cpu_fft.c - CPU backend: from the fine grid to the modes and back, by FFTs of only those lines that hold or need
 * data.
 *
 * The fine grid holds N of nf modes an axis. Type 1 transforms the grid in place along x, then along y only the columns
 * of kept k_x, then along z only those of kept k_x and k_y; type 2 the other way round. In 3-D with nf = 2 N this is
 * 58 % of a full FFT. Lines along y and z are gathered LINES at a time into a buffer that stays in cache, zero-padded
 * and corrected on the way. Along x rows are contiguous and are transformed where they are.
 *
 * The line of a 1-D grid is transformed by all threads together. FFTW cuts it into LINE_PARTS parts whatever their number, so
 * that this does not show in the results.
 *
 * Plans are made with FFTW_ESTIMATE: measured plans would differ from run to run and rank to rank, and so would the
 * last bits of results.
 */
#include <fftw3.h>
#include <omp.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

#include "core/memory.h"
#include "nufft/nufft_cpu.h"

/* Lines along y or z transformed together: a cache line (two in double precision) of the grid. */
#define LINES 8
/* Parts of a 1-D line, hence threads that can share it. */
#define LINE_PARTS 8

struct nufft_cpu_fft {
    int n_buffers;
    int64_t buffer_values; /* of one thread's buffer */
    void *buffers;         /* owned [n_buffers][buffer_values] */
    void *x;               /* owned FFTW plan of a row, in place */
    void *columns[3];      /* owned FFTW plans of LINES interleaved lines along y and z, in place */
};

/* FFTW's own guard (make_planner_thread_safe of its OpenMP flavour) does not hold between threads that OpenMP
 * did not make. */
static pthread_mutex_t planner_lock = PTHREAD_MUTEX_INITIALIZER;

/* Once for each precision: a planner's tables take 2 MiB. */
static once_flag planner_once[2] = {ONCE_FLAG_INIT, ONCE_FLAG_INIT};

static void prepare_planner_float(void)
{
    fftwf_init_threads();
    fftwf_make_planner_thread_safe();
}

static void prepare_planner_double(void)
{
    fftw_init_threads();
    fftw_make_planner_thread_safe();
}

#define REAL float
#define NAME(x) x##_float
#define FFTW(x) fftwf_##x
#include "nufft/nufft_cpu_fft_impl.h"
#undef REAL
#undef NAME
#undef FFTW
#define REAL double
#define NAME(x) x##_double
#define FFTW(x) fftw_##x
#include "nufft/nufft_cpu_fft_impl.h"
#undef REAL
#undef NAME
#undef FFTW

static int64_t buffer_values(const struct nufft_plan *plan)
{
    int64_t longest = 1;
    for (int a = 1; a < plan->dimension; a++) {
        longest = plan->axis[a].nf > longest ? plan->axis[a].nf : longest;
    }
    return 2 * LINES * longest;
}

size_t nufft_cpu_fft_memory(const struct nufft_plan *plan, int n_threads)
{
    return (size_t)buffer_values(plan) * (size_t)n_threads *
           (plan->precision == NUFFT_FLOAT ? sizeof(float) : sizeof(double));
}

enum mtip_status nufft_cpu_fft_create(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    enum mtip_status status = MTIP_OK;
    call_once(&planner_once[plan->precision],
              plan->precision == NUFFT_FLOAT ? prepare_planner_float : prepare_planner_double);
    MTIP_TRY(MEMORY_ALLOC(&state->fft, 1, "nufft FFT state"));
    state->fft->n_buffers = state->n_threads;
    state->fft->buffer_values = buffer_values(plan);
    MTIP_TRY(memory_alloc(&state->fft->buffers, state->fft->n_buffers * state->fft->buffer_values,
                          state->real_size, "nufft FFT buffers"));
    pthread_mutex_lock(&planner_lock);
    status = plan->precision == NUFFT_FLOAT ? make_plans_float(plan) : make_plans_double(plan);
    pthread_mutex_unlock(&planner_lock);
cleanup:
    return status;
}

void nufft_cpu_fft_destroy(struct nufft_plan *plan)
{
    struct nufft_cpu_state *state = plan->state;
    if (state->fft == NULL) {
        return;
    }
    pthread_mutex_lock(&planner_lock);
    if (plan->precision == NUFFT_FLOAT) {
        free_plans_float(state->fft);
    } else {
        free_plans_double(state->fft);
    }
    pthread_mutex_unlock(&planner_lock);
    memory_free(&state->fft->buffers);
    memory_free(&state->fft);
}

/* FFTW's parallel loops take as many threads as OpenMP would. Returns that number, to be set again. */
static int use_threads(int n)
{
    const int before = omp_get_max_threads();
    omp_set_num_threads(n);
    return before;
}

enum mtip_status nufft_cpu_grid_to_modes(struct nufft_plan *plan, void *modes, int64_t count)
{
    const int before = use_threads(nufft_cpu_threads(plan));
    if (plan->precision == NUFFT_FLOAT) {
        grid_to_modes_float(plan, modes, count);
    } else {
        grid_to_modes_double(plan, modes, count);
    }
    omp_set_num_threads(before);
    return MTIP_OK;
}

enum mtip_status nufft_cpu_modes_to_grid(struct nufft_plan *plan, const void *modes, int64_t count)
{
    const int before = use_threads(nufft_cpu_threads(plan));
    if (plan->precision == NUFFT_FLOAT) {
        modes_to_grid_float(plan, modes, count);
    } else {
        modes_to_grid_double(plan, modes, count);
    }
    omp_set_num_threads(before);
    return MTIP_OK;
}
