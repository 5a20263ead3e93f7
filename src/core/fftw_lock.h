/* fftw_lock.h - FFTW makes and destroys plans in one thread at a time; executing them is free of that. All who use FFTW
 * here hold this lock meanwhile. No MPI, no CUDA: the NUFFT library uses this too.
 */
#ifndef MTIP_CORE_FFTW_LOCK_H
#define MTIP_CORE_FFTW_LOCK_H

#ifdef __cplusplus
extern "C" {
#endif

void fftw_lock(void);
void fftw_unlock(void);

#ifdef __cplusplus
}
#endif

#endif
