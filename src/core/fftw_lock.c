/* fftw_lock.c - see fftw_lock.h. */
#include "core/fftw_lock.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void fftw_lock(void)
{
    pthread_mutex_lock(&lock);
}

void fftw_unlock(void)
{
    pthread_mutex_unlock(&lock);
}
