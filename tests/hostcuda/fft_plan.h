// fft_plan.h - a plan of the cuFFT stand-in, shared by cufft.cpp (plans) and cufft_run.cpp (execution).
#ifndef HOSTCUDA_FFT_PLAN_H
#define HOSTCUDA_FFT_PLAN_H

#include <map>
#include <memory>
#include <vector>

#include <cufft.h>
#include <fftw3.h>

#include "layer.h"

namespace hc
{

// One FFTW plan of either precision, shared with the operations that use it.
struct FftwPlan {
    fftw_plan d = nullptr;
    fftwf_plan f = nullptr;
    ~FftwPlan()
    {
        if (d) {
            fftw_destroy_plan(d);
        }
        if (f) {
            fftwf_destroy_plan(f);
        }
    }
};

struct Layout { // of one side, in elements of that side
    std::vector<long long> embed;
    long long stride = 1, distance = 0;
};

struct FftPlan {
    bool made = false, auto_allocate = true, owns_work = false;
    void *work = nullptr;
    size_t work_bytes = 0;
    int device = 0;
    cudaStream_t stream = nullptr;
    cufftType type = CUFFT_C2C;
    std::vector<long long> n;
    long long batch = 1;
    bool basic = true; // no embedding was given
    Layout in, out;
    size_t in_bytes = 0, out_bytes = 0;
    std::map<int, std::shared_ptr<FftwPlan>> fftw; // by direction and in-place
};

FftPlan *find_plan(cufftHandle handle); // null where there is none
cufftResult enter_fft(const char *function);
// Sizes of the data as they are stored: the half spectrum of real data.
std::vector<long long> stored_sizes(const FftPlan &plan, bool input);
Layout layout_for(const FftPlan &plan, bool input, bool in_place);
inline bool real_in(cufftType t)
{
    return t == CUFFT_R2C || t == CUFFT_D2Z;
}
inline bool real_out(cufftType t)
{
    return t == CUFFT_C2R || t == CUFFT_Z2D;
}

} // namespace hc

#endif
