// cufft.cpp - cuFFT over FFTW: plans of rank 1 to 3, all six types, batches, strides and embedded
// layouts, work areas, streams. The arithmetic is FFTW's; cuFFT's rules about plans, devices, work
// areas and layouts are checked here.
#include <algorithm>
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

static auto &plans = leaky<std::map<cufftHandle, FftPlan>>();
static cufftHandle next_handle = 1;

static bool is_double(cufftType t)
{
    return t == CUFFT_Z2Z || t == CUFFT_D2Z || t == CUFFT_Z2D;
}
static bool real_in(cufftType t)
{
    return t == CUFFT_R2C || t == CUFFT_D2Z;
}
static bool real_out(cufftType t)
{
    return t == CUFFT_C2R || t == CUFFT_Z2D;
}

static FftPlan *find_plan(cufftHandle handle)
{
    auto it = plans.find(handle);
    return it == plans.end() ? nullptr : &it->second;
}

static cufftResult enter_fft(const char *function)
{
    switch (enter(Kind::fft, function)) {
    case cudaSuccess:
        return CUFFT_SUCCESS;
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
        return CUFFT_SETUP_FAILED;
    default:
        return CUFFT_INTERNAL_ERROR; // injected
    }
}
#define HC_ENTER_FFT()                                                                             \
    Lock lock(layer_lock());                                                                       \
    {                                                                                              \
        const cufftResult entered = enter_fft(__func__);                                           \
        if (entered != CUFFT_SUCCESS) {                                                            \
            return entered;                                                                        \
        }                                                                                          \
    }

// ---- layouts -----------------------------------------------------------------------------------
static long long product(const std::vector<long long> &v)
{
    long long p = 1;
    for (const long long x : v) {
        p *= x;
    }
    return p;
}

// Elements from the first to the last one touched.
static long long extent(const Layout &layout, const std::vector<long long> &n, long long batch)
{
    long long last = 0;
    for (size_t k = 0; k < n.size(); k++) {
        last = last * (k ? layout.embed[k] : 1) + n[k] - 1;
    }
    return last * layout.stride + layout.distance * (batch - 1) + 1;
}

static std::vector<long long> stored_sizes(const FftPlan &plan, bool input)
{
    std::vector<long long> n = plan.n;
    if (input ? real_out(plan.type) : real_in(plan.type)) {
        n.back() = n.back() / 2 + 1; // the half spectrum
    }
    return n;
}

static size_t element_bytes(const FftPlan &plan, bool input)
{
    const size_t real = is_double(plan.type) ? 8 : 4;
    return (input ? real_in(plan.type) : real_out(plan.type)) ? real : 2 * real;
}

// The basic layout of real data in place: rows padded to hold the half spectrum.
static Layout layout_for(const FftPlan &plan, bool input, bool in_place)
{
    Layout layout = input ? plan.in : plan.out;
    if (plan.basic && in_place && (input ? real_in(plan.type) : real_out(plan.type))) {
        layout.embed.back() = 2 * (plan.n.back() / 2 + 1);
        layout.distance = product(layout.embed);
    }
    return layout;
}

static cufftResult describe(FftPlan *plan, int rank, const long long *n, const long long *in_embed,
                            long long in_stride, long long in_distance, const long long *out_embed,
                            long long out_stride, long long out_distance, cufftType type,
                            long long batch)
{
    if (rank < 1 || rank > 3 || !n) {
        return CUFFT_INVALID_VALUE;
    }
    if (type != CUFFT_C2C && type != CUFFT_R2C && type != CUFFT_C2R && type != CUFFT_Z2Z &&
        type != CUFFT_D2Z && type != CUFFT_Z2D) {
        return CUFFT_INVALID_TYPE;
    }
    for (int i = 0; i < rank; i++) {
        if (n[i] < 1) {
            return CUFFT_INVALID_SIZE;
        }
    }
    if (batch < 1) {
        return CUFFT_INVALID_SIZE;
    }
    plan->type = type;
    plan->batch = batch;
    plan->n.assign(n, n + rank);
    plan->basic = !in_embed || !out_embed;
    plan->in = {stored_sizes(*plan, true), 1, product(stored_sizes(*plan, true))};
    plan->out = {stored_sizes(*plan, false), 1, product(stored_sizes(*plan, false))};
    if (!plan->basic) {
        plan->in = {std::vector<long long>(in_embed, in_embed + rank), in_stride, in_distance};
        plan->out = {std::vector<long long>(out_embed, out_embed + rank), out_stride, out_distance};
        for (int i = 1; i < rank; i++) {
            if (in_embed[i] < plan->n[(size_t)i] / 2 + 1 || out_embed[i] < 1) {
                return CUFFT_INVALID_VALUE;
            }
        }
    }
    plan->in_bytes =
        (size_t)extent(plan->in, stored_sizes(*plan, true), batch) * element_bytes(*plan, true);
    plan->out_bytes =
        (size_t)extent(plan->out, stored_sizes(*plan, false), batch) * element_bytes(*plan, false);
    plan->work_bytes = std::max(plan->in_bytes, plan->out_bytes); // cuFFT often asks for as much
    return CUFFT_SUCCESS;
}

static cufftResult make(cufftHandle handle, int rank, const long long *n, const long long *in_embed,
                        long long in_stride, long long in_distance, const long long *out_embed,
                        long long out_stride, long long out_distance, cufftType type,
                        long long batch, size_t *work_bytes)
{
    FftPlan *plan = find_plan(handle);
    if (!plan || plan->made) {
        return CUFFT_INVALID_PLAN;
    }
    const cufftResult result = describe(plan, rank, n, in_embed, in_stride, in_distance, out_embed,
                                        out_stride, out_distance, type, batch);
    if (result != CUFFT_SUCCESS) {
        return result;
    }
    plan->device = current_device;
    if (work_bytes) {
        *work_bytes = plan->work_bytes;
    }
    if (plan->auto_allocate) {
        if (cudaMalloc(&plan->work, plan->work_bytes) != cudaSuccess) {
            cudaGetLastError();
            return CUFFT_ALLOC_FAILED;
        }
        plan->owns_work = true;
    }
    plan->made = true;
    return CUFFT_SUCCESS;
}

static cufftResult make_many(cufftHandle handle, int rank, const int *n, const int *in_embed,
                             int in_stride, int in_distance, const int *out_embed, int out_stride,
                             int out_distance, cufftType type, int batch, size_t *work_bytes)
{
    if (rank < 1 || rank > 3 || !n) {
        return CUFFT_INVALID_VALUE;
    }
    long long wide[3][3];
    for (int i = 0; i < rank; i++) {
        wide[0][i] = n[i];
        wide[1][i] = in_embed ? in_embed[i] : 0;
        wide[2][i] = out_embed ? out_embed[i] : 0;
    }
    return make(handle, rank, wide[0], in_embed ? wide[1] : nullptr, in_stride, in_distance,
                out_embed ? wide[2] : nullptr, out_stride, out_distance, type, batch, work_bytes);
}

static void drop_work(FftPlan *plan)
{
    if (plan->owns_work && plan->work) {
        cudaFree(plan->work);
    }
    plan->work = nullptr;
    plan->owns_work = false;
}

static cufftResult create(cufftHandle *handle)
{
    *handle = next_handle++;
    plans[*handle] = FftPlan();
    return CUFFT_SUCCESS;
}

// Creates and makes in one; leaves nothing behind when it fails.
static cufftResult plan_at_once(cufftHandle *handle, int rank, const int *n, const int *in_embed,
                                int in_stride, int in_distance, const int *out_embed,
                                int out_stride, int out_distance, cufftType type, int batch)
{
    create(handle);
    const cufftResult result = make_many(*handle, rank, n, in_embed, in_stride, in_distance,
                                         out_embed, out_stride, out_distance, type, batch, nullptr);
    if (result != CUFFT_SUCCESS) {
        plans.erase(*handle);
    }
    return result;
}

// ---- execution ---------------------------------------------------------------------------------
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

static cufftResult estimate(int rank, const int *n, const int *in_embed, int in_stride,
                            int in_distance, const int *out_embed, int out_stride, int out_distance,
                            cufftType type, int batch, size_t *work_bytes)
{
    if (rank < 1 || rank > 3 || !n) {
        return CUFFT_INVALID_VALUE;
    }
    const std::vector<long long> wide(n, n + rank);
    std::vector<long long> in, out;
    if (in_embed && out_embed) {
        in.assign(in_embed, in_embed + rank);
        out.assign(out_embed, out_embed + rank);
    }
    FftPlan plan;
    const cufftResult result =
        describe(&plan, rank, wide.data(), in.empty() ? nullptr : in.data(), in_stride, in_distance,
                 out.empty() ? nullptr : out.data(), out_stride, out_distance, type, batch);
    *work_bytes = plan.work_bytes;
    return result;
}

} // namespace hc

using namespace hc;

extern "C" {

cufftResult cufftCreate(cufftHandle *handle)
{
    HC_ENTER_FFT();
    return create(handle);
}

cufftResult cufftDestroy(cufftHandle handle)
{
    Lock lock(layer_lock());
    FftPlan *plan = find_plan(handle);
    if (!plan) {
        return CUFFT_INVALID_PLAN;
    }
    if (!plan->owns_work && plan->made) {
        run_device(plan->device); // as freeing its work area would
    }
    drop_work(plan);
    plans.erase(handle);
    return CUFFT_SUCCESS;
}

cufftResult cufftPlan1d(cufftHandle *handle, int nx, cufftType type, int batch)
{
    HC_ENTER_FFT();
    return plan_at_once(handle, 1, &nx, nullptr, 1, 0, nullptr, 1, 0, type, batch);
}

cufftResult cufftPlan2d(cufftHandle *handle, int nx, int ny, cufftType type)
{
    HC_ENTER_FFT();
    const int n[2] = {nx, ny};
    return plan_at_once(handle, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1);
}

cufftResult cufftPlan3d(cufftHandle *handle, int nx, int ny, int nz, cufftType type)
{
    HC_ENTER_FFT();
    const int n[3] = {nx, ny, nz};
    return plan_at_once(handle, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1);
}

cufftResult cufftPlanMany(cufftHandle *handle, int rank, int *n, int *inembed, int istride,
                          int idist, int *onembed, int ostride, int odist, cufftType type,
                          int batch)
{
    HC_ENTER_FFT();
    return plan_at_once(handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type,
                        batch);
}

cufftResult cufftMakePlan1d(cufftHandle handle, int nx, cufftType type, int batch, size_t *work)
{
    HC_ENTER_FFT();
    return make_many(handle, 1, &nx, nullptr, 1, 0, nullptr, 1, 0, type, batch, work);
}

cufftResult cufftMakePlan2d(cufftHandle handle, int nx, int ny, cufftType type, size_t *work)
{
    HC_ENTER_FFT();
    const int n[2] = {nx, ny};
    return make_many(handle, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, work);
}

cufftResult cufftMakePlan3d(cufftHandle handle, int nx, int ny, int nz, cufftType type,
                            size_t *work)
{
    HC_ENTER_FFT();
    const int n[3] = {nx, ny, nz};
    return make_many(handle, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, work);
}

cufftResult cufftMakePlanMany(cufftHandle handle, int rank, int *n, int *inembed, int istride,
                              int idist, int *onembed, int ostride, int odist, cufftType type,
                              int batch, size_t *work)
{
    HC_ENTER_FFT();
    return make_many(handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
                     work);
}

cufftResult cufftMakePlanMany64(cufftHandle handle, int rank, long long int *n,
                                long long int *inembed, long long int istride, long long int idist,
                                long long int *onembed, long long int ostride, long long int odist,
                                cufftType type, long long int batch, size_t *work)
{
    HC_ENTER_FFT();
    return make(handle, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch,
                work);
}

cufftResult cufftEstimate1d(int nx, cufftType type, int batch, size_t *work)
{
    return estimate(1, &nx, nullptr, 1, 0, nullptr, 1, 0, type, batch, work);
}

cufftResult cufftEstimate2d(int nx, int ny, cufftType type, size_t *work)
{
    const int n[2] = {nx, ny};
    return estimate(2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, work);
}

cufftResult cufftEstimate3d(int nx, int ny, int nz, cufftType type, size_t *work)
{
    const int n[3] = {nx, ny, nz};
    return estimate(3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, work);
}

cufftResult cufftEstimateMany(int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *work)
{
    return estimate(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, work);
}

cufftResult cufftGetSizeMany(cufftHandle handle, int rank, int *n, int *inembed, int istride,
                             int idist, int *onembed, int ostride, int odist, cufftType type,
                             int batch, size_t *work)
{
    if (!find_plan(handle)) {
        return CUFFT_INVALID_PLAN;
    }
    return estimate(rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, work);
}

cufftResult cufftGetSize(cufftHandle handle, size_t *work)
{
    Lock lock(layer_lock());
    FftPlan *plan = find_plan(handle);
    if (!plan || !plan->made) {
        return CUFFT_INVALID_PLAN;
    }
    *work = plan->work_bytes;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int allocate)
{
    Lock lock(layer_lock());
    FftPlan *plan = find_plan(handle);
    if (!plan || plan->made) {
        return CUFFT_INVALID_PLAN;
    }
    plan->auto_allocate = allocate != 0;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void *work)
{
    Lock lock(layer_lock());
    FftPlan *plan = find_plan(handle);
    if (!plan || !plan->made) {
        return CUFFT_INVALID_PLAN;
    }
    drop_work(plan);
    plan->work = work;
    return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
    HC_ENTER_FFT();
    FftPlan *plan = find_plan(handle);
    if (!plan) {
        return CUFFT_INVALID_PLAN;
    }
    plan->stream = stream;
    return CUFFT_SUCCESS;
}

cufftResult cufftGetVersion(int *version)
{
    *version = CUFFT_VERSION;
    return CUFFT_SUCCESS;
}

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
