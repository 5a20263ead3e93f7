/* cufft11.c - the functions of libcufft.so.11 (CUDA 12) that cuFINUFFT's wheels call, handed on to the cuFFT of this
 * machine's toolkit (CUFFT_LIBRARY), whose interface is the same. For scripts/gpu_check.sh, where the toolkit is CUDA 13.
 */
#include <cufft.h>
#include <dlfcn.h>
#include <string.h>

/* Sets *function; dlsym gives an object pointer, POSIX has it copied like this. */
static int find(void *function, const char *name)
{
    void *const library = dlopen(CUFFT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *const symbol = library != NULL ? dlsym(library, name) : NULL;
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist,
                          int *onembed, int ostride, int odist, cufftType type, int batch)
{
    cufftResult (*real)(cufftHandle *, int, int *, int *, int, int, int *, int, int, cufftType,
                        int);
    return find(&real, "cufftPlanMany")
               ? real(plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch)
               : CUFFT_INTERNAL_ERROR;
}

cufftResult cufftDestroy(cufftHandle plan)
{
    cufftResult (*real)(cufftHandle);
    return find(&real, "cufftDestroy") ? real(plan) : CUFFT_INTERNAL_ERROR;
}

cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
    cufftResult (*real)(cufftHandle, cudaStream_t);
    return find(&real, "cufftSetStream") ? real(plan, stream) : CUFFT_INTERNAL_ERROR;
}

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction)
{
    cufftResult (*real)(cufftHandle, cufftComplex *, cufftComplex *, int);
    return find(&real, "cufftExecC2C") ? real(plan, in, out, direction) : CUFFT_INTERNAL_ERROR;
}

cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out,
                         int direction)
{
    cufftResult (*real)(cufftHandle, cufftDoubleComplex *, cufftDoubleComplex *, int);
    return find(&real, "cufftExecZ2Z") ? real(plan, in, out, direction) : CUFFT_INTERNAL_ERROR;
}
