/* cuda_launch.h - kernel launches and dynamic shared memory in one spelling for nvcc and for the
 * test-only host-CUDA layer (tests/hostcuda), which runs the same sources on the CPU. For .cu files
 * only.
 *
 * LAUNCH(kernel, grid, block, shared, stream, args...) launches `kernel` with `shared` bytes of
 * dynamic shared memory on `stream`. A kernel name that holds a comma stands in parentheses:
 * LAUNCH((spread_kernel<float, 7>), grid, block, 0, stream, n, points). As with <<<>>>, a refused
 * launch shows in cudaGetLastError(), which launchers return to their caller.
 *
 * DYN_SHARED(T, name) declares `T *name`, the block's dynamic shared memory, 16-byte aligned. Once
 * in a kernel; further arrays are carved out of it by the kernel.
 *
 * LAUNCH_BY_ADDRESS(kernel), at file scope, makes a kernel known to cudaLaunchKernel(),
 * cudaFuncSetAttribute() needs no such line.
 */
#ifndef MTIP_CORE_CUDA_LAUNCH_H
#define MTIP_CORE_CUDA_LAUNCH_H

#ifdef MTIP_HOSTCUDA

#define LAUNCH(kernel, grid, block, shared, stream, ...)                                           \
    ((void)hc::launch(#kernel, __FILE__, __LINE__, (kernel),                                       \
                      hc::LaunchShape{(grid), (block), (shared), (stream)}, ##__VA_ARGS__))
#define DYN_SHARED(T, name) T *name = hc::dynamic_shared<T>()
#define LAUNCH_BY_ADDRESS(kernel) HC_REGISTER_KERNEL(kernel)

#else

#define LAUNCH(kernel, grid, block, shared, stream, ...)                                           \
    kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__)
/* One symbol of one type for all kernels of a file: extern arrays of differing types would clash. */
#define DYN_SHARED(T, name)                                                                        \
    extern __shared__ __align__(16) unsigned char dynamic_shared_bytes[];                          \
    T *name = reinterpret_cast<T *>(dynamic_shared_bytes)
#define LAUNCH_BY_ADDRESS(kernel)

#endif

#endif
