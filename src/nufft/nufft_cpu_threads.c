/* nufft_cpu_threads.c - CPU backend: loops over items by a plan's threads. */
#include <omp.h>

#include "nufft/nufft_cpu.h"

int nufft_cpu_threads(const struct nufft_plan *plan)
{
    return plan->options.n_threads > 0 ? plan->options.n_threads : omp_get_max_threads();
}

/* One thread's items, one after the other. */
static void run_alone(int64_t n, nufft_cpu_item *item, void *work)
{
    for (int64_t i = 0; i < n; i++) {
        item(work, i, 0);
    }
}

void nufft_cpu_for(int n_threads, int64_t n, nufft_cpu_item *item, void *work)
{
    if (n_threads == 1) {
        run_alone(n, item, work);
        return;
    }
#pragma omp parallel num_threads(n_threads)
    {
        const int thread = omp_get_thread_num();
        const int64_t team = omp_get_num_threads();
        const int64_t used = team < n ? team : n;
        const int64_t end = thread < used ? n * (thread + 1) / used : 0;
        for (int64_t i = thread < used ? n * thread / used : 0; i < end; i++) {
            item(work, i, thread);
        }
    }
}

void nufft_cpu_for_uneven(int n_threads, int64_t n, nufft_cpu_item *item, void *work)
{
    if (n_threads == 1) {
        run_alone(n, item, work);
        return;
    }
#pragma omp parallel for num_threads(n_threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < n; i++) {
        item(work, i, omp_get_thread_num());
    }
}
