/* test_nufft_allocations.c - NUFFT on CPUs: execute takes no memory. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "nufft_support.h"

/* Calls of malloc and its kin by anybody in this program, libraries too: this program's own malloc takes the place of the C
 * library's, or AddressSanitizer tells of each. */
static atomic_long allocations;
#ifdef __SANITIZE_ADDRESS__
#define COUNTS_ALLOCATIONS 1
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));
static void count_allocation(const volatile void *memory, size_t size)
{
    (void)memory;
    (void)size;
    atomic_fetch_add(&allocations, 1);
}
static void ignore_free(const volatile void *memory)
{
    (void)memory;
}
#elif defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 1
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void *malloc(size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_malloc(size);
}
void *calloc(size_t n, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_calloc(n, size);
}
void *realloc(void *memory, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_realloc(memory, size);
}
void *memalign(size_t alignment, size_t size)
{
    atomic_fetch_add(&allocations, 1);
    return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size)
{
    *memory = memalign(alignment, size);
    return *memory != NULL ? 0 : ENOMEM;
}
#else
#define COUNTS_ALLOCATIONS 0
#endif

/* Once a plan has run, so that OpenMP has its threads, neither execute nor interpolate allocates anything: not this library,
 * not FFTW, not OpenMP. */
static void execute_allocates_nothing(void **state)
{
    (void)state;
    if (!COUNTS_ALLOCATIONS) {
        skip();
    }
    const long at_start = atomic_load(&allocations);
    void *volatile one = malloc(1);
    free(one);
    assert_int_equal(atomic_load(&allocations), at_start + 1); /* it does count */
    for (int i = 0; i < 3 * 3 * 2 * 2 * 2; i++) {
        struct nufft_case c = {.n_points = 3000, .n_targets = 700, .n_vectors = 3};
        c.type = 1 + i % 3;
        c.dimension = 1 + i / 3 % 3;
        c.precision = i / 9 % 2 ? NUFFT_DOUBLE : NUFFT_FLOAT;
        c.real_data = c.type < 3 && i / 18 % 2;
        c.n_threads = 1 + i / 36;
        c.tolerance = c.precision == NUFFT_DOUBLE ? 1e-9 : 1e-4;
        static const int64_t n_modes[3][3] = {{20011}, {301, 250}, {40, 35, 31}};
        memcpy(c.n_modes, n_modes[c.dimension - 1], sizeof c.n_modes);
        struct nufft_data data;
        struct nufft_run r;
        struct nufft_plan *plan = NULL;
        nufft_data_make(&data, &c);
        nufft_run_start(&r, &c, &data);
        assert_ok(nufft_case_plan(&plan, &c));
        nufft_run_points(plan, &r);
        assert_ok(nufft_plan_execute(plan, r.strengths, r.modes));
        const long before = atomic_load(&allocations);
        assert_ok(nufft_plan_execute(plan, r.strengths, r.modes));
        assert_int_equal(atomic_load(&allocations), before);
        if (c.type == 2) {
            assert_ok(nufft_plan_prepare(plan, r.modes)); /* may, for more vectors at once */
            const long prepared = atomic_load(&allocations);
            assert_ok(nufft_plan_interpolate(plan, r.strengths));
            assert_int_equal(atomic_load(&allocations), prepared);
        }
        nufft_plan_destroy(&plan);
        nufft_run_finish(&r);
        nufft_data_free(&data);
    }
}

int main(void)
{
#ifdef __SANITIZE_ADDRESS__
    assert_true(__sanitizer_install_malloc_and_free_hooks(count_allocation, ignore_free) != 0);
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(execute_allocates_nothing),
    };
    return cmocka_run_group_tests_name("nufft/allocations", tests, NULL, NULL);
}
