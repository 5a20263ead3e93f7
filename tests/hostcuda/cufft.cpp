// cufft.cpp - cuFFT over FFTW: plans of rank 1 to 3, all six types, batches, strides and embedded
// layouts, work areas, streams. The arithmetic is FFTW's (cufft_run.cpp); cuFFT's rules about plans,
// devices, work areas and layouts are checked here.
#include <algorithm>

#include "fft_plan.h"

namespace hc
{

static auto &plans = leaky<std::map<cufftHandle, FftPlan>>();
static cufftHandle next_handle = 1;

static bool is_double(cufftType t)
{
    return t == CUFFT_Z2Z || t == CUFFT_D2Z || t == CUFFT_Z2D;
}

FftPlan *find_plan(cufftHandle handle)
{
    auto it = plans.find(handle);
    return it == plans.end() ? nullptr : &it->second;
}

cufftResult enter_fft(const char *function)
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

std::vector<long long> stored_sizes(const FftPlan &plan, bool input)
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
Layout layout_for(const FftPlan &plan, bool input, bool in_place)
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

} // extern "C"
