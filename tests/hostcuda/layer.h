// layer.h - what the parts of the stand-in libraries share: options, the lock, simulated devices,
// streams, failure injection and reports. Private to tests/hostcuda.
//
// All state sits behind one recursive lock, which every public function takes through HC_ENTER.
// Objects of static storage are never destroyed (leaky()), so that calls made while the program
// exits stay valid. This code is always compiled without sanitizers; their hooks are weak symbols.
#ifndef HOSTCUDA_LAYER_H
#define HOSTCUDA_LAYER_H

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace hc
{

template <class T> T &leaky()
{
    return *new T();
}

// ---- options.cpp -------------------------------------------------------------------------------
enum class Order { sequential, reversed, random };
enum class Mode { eager, lazy, random };
// ThreadSanitizer: whose accesses count as unordered. `turns` chooses for each launch.
enum class Races { turns, grid, within, between };

struct Options {
    int devices = 2;
    size_t memory = 8ull << 30; // bytes a device
    bool protect = true;        // device memory inaccessible outside kernels and copies
    bool strict = true;         // legal but suspect code is an error
    bool fill = true;           // fresh memory is filled with 0xff: NaN, -1
    bool no_driver = false;
    bool leaks = false;
    bool trace = false;
    bool statistics = false;
    Races races = Races::turns;
    Order order = Order::sequential;
    Mode streams = Mode::eager;
    uint64_t seed = 1;
    size_t stack = 64 << 10; // bytes a kernel thread
    int arch_major = 9, arch_minor = 0;
    int multiprocessors = 8;
    size_t shared_default = 48 << 10;
    size_t shared_optin = 227 << 10;
    size_t shared_multiprocessor = 228 << 10;
};
extern Options options;
void initialise(); // reads the environment, reserves memory; does nothing the second time
uint32_t random_below(uint32_t n);

typedef std::lock_guard<std::recursive_mutex> Lock;
std::recursive_mutex &layer_lock();

// ---- report.cpp --------------------------------------------------------------------------------
[[noreturn]] void die(const char *format, ...) __attribute__((format(printf, 1, 2)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
// "function file:line" of a code address, as far as it can be found.
std::string describe_address(const void *pc);
struct CallStack {
    void *pc[8];
    int depth;
};
CallStack take_call_stack();
// The innermost frames outside the layer, "a file:line < b file:line".
std::string describe_call_stack(const CallStack &stack);
void install_fault_handler();
double wall_seconds();

// ---- inject.cpp --------------------------------------------------------------------------------
// What kind of call this is, for HC_FAIL_<KIND>=n. "none" is never made to fail.
enum class Kind { none, device, alloc, pinned, copy, stream, event, sync, launch, fft, blas };
// Counts the call and says whether it shall fail.
bool call_fails(Kind kind, const char *function);
cudaError_t injected_error(Kind kind);

// ---- device.cpp --------------------------------------------------------------------------------
extern thread_local int current_device;
cudaError_t set_error(cudaError_t error); // remembers it for cudaGetLastError; returns it
// Initialises, then returns the error with which the call must end at once, or success.
cudaError_t enter(Kind kind, const char *function);
#define HC_ENTER(kind)                                                                             \
    hc::Lock lock(hc::layer_lock());                                                               \
    {                                                                                              \
        const cudaError_t entered = hc::enter((kind), __func__);                                   \
        if (entered != cudaSuccess) {                                                              \
            return entered;                                                                        \
        }                                                                                          \
    }

// ---- memory.cpp --------------------------------------------------------------------------------
struct Allocation {
    size_t size;
    size_t span; // with the red zone behind it
    bool free_pending;
    CallStack made;
};
struct Device {
    char *base = nullptr;
    size_t used = 0;
    size_t high_water = 0;
    int open = 0;                      // nesting of DeviceOpen
    std::map<size_t, Allocation> live; // by offset
    std::map<size_t, size_t> holes;    // offset -> size
    std::vector<bool> peer;
};
std::vector<Device> &devices();
void reserve_device_memory();
int owner(const void *pointer); // device whose memory holds the address, or -1
// The live allocation around a device address: its offset and record, or null.
const std::pair<const size_t, Allocation> *find_allocation(int device, const void *pointer);
bool is_pinned(const void *pointer);
// "offset 40 of 4096 bytes allocated at ..." for reports.
std::string describe_device_address(int device, const void *pointer);
// Whether [pointer, pointer + bytes) may be used by a copy or a library call; *device is -1 for
// host memory.
bool check_range(const void *pointer, size_t bytes, const char *what, int *device);
void check_red_zones(int device, const char *culprit);
// Makes a device's memory accessible while alive; -1 does nothing. Nests.
class DeviceOpen
{
  public:
    explicit DeviceOpen(int device);
    ~DeviceOpen();
    DeviceOpen(const DeviceOpen &) = delete;
    DeviceOpen &operator=(const DeviceOpen &) = delete;

  private:
    int device_;
};
void report_leaks();

// ---- stream.cpp --------------------------------------------------------------------------------
struct Stream;
struct HostRange {
    const char *begin = nullptr;
    size_t bytes = 0;
};
struct Operation {
    std::function<void()> run;
    std::vector<std::pair<Stream *, uint64_t>> waits;
    HostRange reads;       // pinned memory that will be read
    bool any_host = false; // may read any pinned memory (host functions, kernels)
};
struct Stream {
    Stream(int on_device, bool independent) : device(on_device), nonblocking(independent)
    {
    }
    int device;
    bool nonblocking; // does not wait for the default stream, nor it for this
    bool destroyed = false;
    std::deque<Operation> queue;
    uint64_t enqueued = 0, done = 0;
};
Stream *find_stream(cudaStream_t stream); // null for a handle that is not one
void enqueue(Stream *stream, Operation operation);
void run_until(Stream *stream, uint64_t count);
void run_device(int device);
void run_all();
bool host_read_pending(const void *pointer, size_t bytes);
size_t pending_operations();

// ---- launch.cpp, library helpers ---------------------------------------------------------------
// Runs `work` in stream order on device memory: each range must lie in one live allocation of the
// stream's device. For the stand-ins of cuFFT and cuBLAS.
cudaError_t enqueue_library_call(cudaStream_t stream, const char *what,
                                 std::initializer_list<std::pair<const void *, size_t>> ranges,
                                 std::function<void()> work);
int stream_device(cudaStream_t stream);
void report_statistics();

// ---- grid.cpp ----------------------------------------------------------------------------------
bool kernel_running();
// "kernel x block (..) thread (..) launched at file:line" while one runs, else "".
std::string describe_running_thread();
const char *describe_kernel_address(const void *pointer); // shared memory, stacks; null if neither

} // namespace hc

#endif
