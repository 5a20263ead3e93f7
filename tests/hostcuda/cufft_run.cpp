// cufft_run.cpp - execution of the cuFFT stand-in's plans by FFTW.
#include "fft_plan.h"

namespace hc
{

static std::vector<fftw_iodim64> dimensions(const FftPlan &plan, bool in_place)
{
    const Layout in = layout_for(plan, true, in_place), out = layout_for(plan, false, in_place);
    std::vector<fftw_iodim64> dims(plan.n.size());
    long long is = in.stride, os = out.stride;
    for (size_t k = plan.n.size(); k-- > 0;) {
        dims[k] = {(ptrdiff_t)plan.n[k], (ptrdiff_t)is, (ptrdiff_t)os};
        is *= in.embed[k];
        os *= out.embed[k];
    }
    return dims;
}

// FFTW_ESTIMATE does not touch the arrays.
static std::shared_ptr<FftwPlan> fftw_plan_for(FftPlan *plan, void *in, void *out, int direction)
{
    const bool in_place = in == out;
    std::shared_ptr<FftwPlan> &cached = plan->fftw[direction * 2 + (in_place ? 1 : 0)];
    if (cached) {
        return cached;
    }
    cached.reset(new FftwPlan);
    const std::vector<fftw_iodim64> dims = dimensions(*plan, in_place);
    const fftw_iodim64 many = {(ptrdiff_t)plan->batch,
                               (ptrdiff_t)layout_for(*plan, true, in_place).distance,
                               (ptrdiff_t)layout_for(*plan, false, in_place).distance};
    const int rank = (int)dims.size();
    const unsigned flags = FFTW_ESTIMATE | FFTW_UNALIGNED;
    switch (plan->type) {
    case CUFFT_C2C:
        cached->f = fftwf_plan_guru64_dft(rank, dims.data(), 1, &many, (fftwf_complex *)in,
                                          (fftwf_complex *)out, direction, flags);
        break;
    case CUFFT_R2C:
        cached->f = fftwf_plan_guru64_dft_r2c(rank, dims.data(), 1, &many, (float *)in,
                                              (fftwf_complex *)out, flags);
        break;
    case CUFFT_C2R:
        cached->f = fftwf_plan_guru64_dft_c2r(rank, dims.data(), 1, &many, (fftwf_complex *)in,
                                              (float *)out, flags);
        break;
    case CUFFT_Z2Z:
        cached->d = fftw_plan_guru64_dft(rank, dims.data(), 1, &many, (fftw_complex *)in,
                                         (fftw_complex *)out, direction, flags);
        break;
    case CUFFT_D2Z:
        cached->d = fftw_plan_guru64_dft_r2c(rank, dims.data(), 1, &many, (double *)in,
                                             (fftw_complex *)out, flags);
        break;
    default:
        cached->d = fftw_plan_guru64_dft_c2r(rank, dims.data(), 1, &many, (fftw_complex *)in,
                                             (double *)out, flags);
        break;
    }
    return cached;
}

static void run_fftw(const FftwPlan &fftw, cufftType type, void *in, void *out)
{
    switch (type) {
    case CUFFT_C2C:
        fftwf_execute_dft(fftw.f, (fftwf_complex *)in, (fftwf_complex *)out);
        break;
    case CUFFT_R2C:
        fftwf_execute_dft_r2c(fftw.f, (float *)in, (fftwf_complex *)out);
        break;
    case CUFFT_C2R:
        fftwf_execute_dft_c2r(fftw.f, (fftwf_complex *)in, (float *)out);
        break;
    case CUFFT_Z2Z:
        fftw_execute_dft(fftw.d, (fftw_complex *)in, (fftw_complex *)out);
        break;
    case CUFFT_D2Z:
        fftw_execute_dft_r2c(fftw.d, (double *)in, (fftw_complex *)out);
        break;
    default:
        fftw_execute_dft_c2r(fftw.d, (fftw_complex *)in, (double *)out);
        break;
    }
}

// cuFFT may use the input of a complex-to-real transform as scratch: its values are gone.
static void spoil_input(cufftType type, const Layout &layout, const std::vector<long long> &n,
                        long long batch, void *in)
{
    const long long rows = n.size() > 2 ? n[0] : 1;
    const long long lines = n.size() > 1 ? n[n.size() - 2] : 1;
    const long long line_step = n.size() > 1 ? layout.embed[n.size() - 1] : 0;
    const long long row_step = n.size() > 2 ? layout.embed[1] * layout.embed[2] : 0;
    for (long long b = 0; b < batch; b++) {
        for (long long z = 0; z < rows; z++) {
            for (long long y = 0; y < lines; y++) {
                const long long first =
                    b * layout.distance + (z * row_step + y * line_step) * layout.stride;
                for (long long x = 0; x < n.back(); x++) {
                    const long long i = 2 * (first + x * layout.stride);
                    if (type == CUFFT_C2R) {
                        ((float *)in)[i] = ((float *)in)[i + 1] = (float)(0.0 / 0.0);
                    } else {
                        ((double *)in)[i] = ((double *)in)[i + 1] = 0.0 / 0.0;
                    }
                }
            }
        }
    }
}

static cufftResult execute(cufftHandle handle, cufftType type, const char *function, void *in,
                           void *out, int direction)
{
    Lock lock(layer_lock());
    const cufftResult entered = enter_fft(function);
    if (entered != CUFFT_SUCCESS) {
        return entered == CUFFT_INTERNAL_ERROR ? CUFFT_EXEC_FAILED : entered;
    }
    FftPlan *plan = find_plan(handle);
    if (!plan || !plan->made) {
        return CUFFT_INVALID_PLAN;
    }
    if (plan->type != type) {
        return CUFFT_INVALID_TYPE;
    }
    if (direction != CUFFT_FORWARD && direction != CUFFT_INVERSE) {
        return CUFFT_INVALID_VALUE;
    }
    if (stream_device(plan->stream) != plan->device || current_device != plan->device) {
        note("%s: the plan was made on device %d, the current device is %d, the stream's %d",
             function, plan->device, current_device, stream_device(plan->stream));
        return CUFFT_INVALID_DEVICE;
    }
    if (!plan->work) {
        return CUFFT_NO_WORKSPACE;
    }
    const std::shared_ptr<FftwPlan> fftw = fftw_plan_for(plan, in, out, direction);
    if (!fftw->d && !fftw->f) {
        return CUFFT_INTERNAL_ERROR;
    }
    const bool spoil = real_out(type) && in != out && options.strict && options.fill;
    const Layout layout = plan->in;
    const std::vector<long long> stored = stored_sizes(*plan, true);
    const long long batch = plan->batch;
    const cudaError_t error = enqueue_library_call(
        plan->stream, function,
        {{in, plan->in_bytes}, {out, plan->out_bytes}, {plan->work, plan->work_bytes}}, [=] {
            run_fftw(*fftw, type, in, out);
            if (spoil) {
                spoil_input(type, layout, stored, batch, in);
            }
        });
    return error == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

} // namespace hc

using namespace hc;

extern "C" {

cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction)
{
    return execute(plan, CUFFT_C2C, __func__, in, out, direction);
}

cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleComplex *out,
                         int direction)
{
    return execute(plan, CUFFT_Z2Z, __func__, in, out, direction);
}

cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out)
{
    return execute(plan, CUFFT_R2C, __func__, in, out, CUFFT_FORWARD);
}

cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in, cufftDoubleComplex *out)
{
    return execute(plan, CUFFT_D2Z, __func__, in, out, CUFFT_FORWARD);
}

cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out)
{
    return execute(plan, CUFFT_C2R, __func__, in, out, CUFFT_INVERSE);
}

cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in, cufftDoubleReal *out)
{
    return execute(plan, CUFFT_Z2D, __func__, in, out, CUFFT_INVERSE);
}

} // extern "C"
