/* start.c - a program linked with the real libraries must start where there is no driver: it asks for
 * devices and says so in one word. References to all three libraries make it need them at run time.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cufft.h>
#include <stdio.h>

int main(void)
{
    int count = 0, version = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice) {
        printf("ok - starts without a driver (error %d)\n", (int)error);
        return 0;
    }
    cufftHandle plan;
    cublasHandle_t handle = NULL;
    if (error != cudaSuccess || cufftGetVersion(&version) != CUFFT_SUCCESS ||
        cufftPlan1d(&plan, 64, CUFFT_C2C, 1) != CUFFT_SUCCESS ||
        cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) {
        printf("not ok - %d devices, error %d\n", count, (int)error);
        return 1;
    }
    cublasDestroy(handle);
    cufftDestroy(plan);
    printf("ok - starts, %d devices\n", count);
    return 0;
}
