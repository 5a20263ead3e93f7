// report.cpp - messages, the names of code addresses, and the handler that turns a memory fault into
// a sentence: who touched what, on which line.
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "layer.h"
#include "sanitizers.h"

namespace hc
{

void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "hostcuda: ERROR: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    fflush(stderr);
    va_end(arguments);
    abort();
}

void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "hostcuda: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
}

double wall_seconds()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// ---- names of addresses ------------------------------------------------------------------------
// What addr2line says of an address of the object file, "function at file:line". Not popen(): that
// one must not be used in a signal handler, fork and exec may.
static std::string addr2line(const char *object, size_t offset)
{
    char address[32];
    snprintf(address, sizeof address, "0x%zx", offset);
    int ends[2];
    if (pipe(ends) != 0) {
        return "";
    }
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], 1);
        const int null = open("/dev/null", O_WRONLY);
        dup2(null, 2);
        close(ends[0]);
        execlp("addr2line", "addr2line", "-C", "-f", "-s", "-e", object, address, (char *)nullptr);
        _exit(127);
    }
    close(ends[1]);
    std::string text;
    char buffer[512];
    ssize_t n;
    while (child > 0 && (n = read(ends[0], buffer, sizeof buffer)) > 0) {
        text.append(buffer, (size_t)n);
    }
    close(ends[0]);
    if (child > 0) {
        waitpid(child, nullptr, 0);
    }
    const size_t newline = text.find('\n'); // "function\nfile:line\n"
    if (newline == std::string::npos || text.compare(newline + 1, 2, "??") == 0) {
        return "";
    }
    std::string place = text.substr(newline + 1);
    place = place.substr(0, place.find_first_of(" \n"));
    return text.substr(0, newline) + " " + place;
}

std::string describe_address(const void *pc)
{
    Dl_info info;
    if (!dladdr(pc, &info) || !info.dli_fname) {
        return "unknown code";
    }
    // Position-independent programs are asked by offset, others by address.
    const char *object = info.dli_fname;
    static char self[512];
    if (!strchr(object, '/')) {
        const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = '\0';
        object = self;
    }
    std::string text = addr2line(object, (size_t)((const char *)pc - (const char *)info.dli_fbase));
    if (text.empty()) {
        text = addr2line(object, (size_t)pc);
    }
    if (text.empty()) {
        text = info.dli_sname ? info.dli_sname : "unknown function";
    }
    return text;
}

CallStack take_call_stack()
{
    CallStack stack;
    void *pc[12];
    const int n = backtrace(pc, 12);
    stack.depth = 0;
    for (int i = 1; i < n && stack.depth < 8; i++) {
        stack.pc[stack.depth++] = (char *)pc[i] - 1; // the call, not the return
    }
    return stack;
}

// The program under test is C and CUDA; the layer and the headers it uses are C++.
static bool is_of_program(const std::string &frame)
{
    const bool source =
        frame.find(".c:") != std::string::npos || frame.find(".cu:") != std::string::npos;
    return source && frame.find("libc-start") == std::string::npos &&
           frame.find("libc_start") == std::string::npos;
}

std::string describe_call_stack(const CallStack &stack)
{
    std::string text;
    int shown = 0;
    for (int i = 0; i < stack.depth && shown < 3; i++) {
        const std::string frame = describe_address(stack.pc[i]);
        if (!is_of_program(frame)) {
            continue;
        }
        text += (shown++ ? " < " : "") + frame;
    }
    return text.empty() ? "an unknown place" : text;
}

// ---- memory faults -----------------------------------------------------------------------------
static struct sigaction previous[2]; // SIGSEGV, SIGBUS

static std::string describe_fault(const char *address)
{
    const int device = owner(address);
    if (kernel_running()) {
        std::string text = describe_running_thread() + ": ";
        if (device >= 0) {
            return text + "access to memory of device " + std::to_string(device) + ", " +
                   describe_device_address(device, address);
        }
        const char *what = describe_kernel_address(address);
        return text + (what ? what : "access to an address that is not mapped");
    }
    if (device >= 0) {
        return "HOST access to memory of device " + std::to_string(device) + ", " +
               describe_device_address(device, address);
    }
    return "";
}

static void on_fault(int signal_number, siginfo_t *info, void *machine)
{
    struct sigaction *chain = &previous[signal_number == SIGSEGV ? 0 : 1];
    static bool nested = false;
    std::string text;
    if (!nested) {
        nested = true;
        text = describe_fault((const char *)info->si_addr);
        if (!text.empty()) {
            std::string where;
#if defined(__x86_64__)
            where =
                describe_address((const void *)((ucontext_t *)machine)->uc_mcontext.gregs[REG_RIP]);
#endif
            fprintf(stderr, "hostcuda: ERROR: %s, in %s\n", text.c_str(), where.c_str());
            fflush(stderr);
        }
        nested = false;
    }
    // A sanitizer adds its own report; other handlers (a test framework's long jump) must not go on.
    const bool ours = !text.empty();
    if ((!ours || with_asan() || with_tsan()) && (chain->sa_flags & SA_SIGINFO) &&
        chain->sa_sigaction && chain->sa_sigaction != on_fault) {
        chain->sa_sigaction(signal_number, info, machine);
    } else if (!ours && chain->sa_handler != SIG_DFL && chain->sa_handler != SIG_IGN) {
        chain->sa_handler(signal_number);
        return;
    }
    signal(signal_number, SIG_DFL);
    if (ours) {
        abort();
    }
    raise(signal_number);
}

// A kernel thread's stack may be what overflowed, so the handler needs a stack of its own.
static void give_signals_a_stack()
{
    static thread_local bool done = false;
    if (done) {
        return;
    }
    done = true;
    const size_t size = 256 << 10;
    stack_t old;
    memset(&old, 0, sizeof old);
    sigaltstack(nullptr, &old);
    if (!(old.ss_flags & SS_DISABLE) && old.ss_size >= size) {
        return;
    }
    stack_t own;
    memset(&own, 0, sizeof own);
    own.ss_sp = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    own.ss_size = size;
    if (own.ss_sp != MAP_FAILED) {
        sigaltstack(&own, nullptr);
    }
}

// Called at every entry: test frameworks put their own handlers in place before each test.
void install_fault_handler()
{
    give_signals_a_stack();
    const int signals[2] = {SIGSEGV, SIGBUS};
    for (int i = 0; i < 2; i++) {
        struct sigaction now;
        sigaction(signals[i], nullptr, &now);
        if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault) {
            continue;
        }
        previous[i] = now;
        struct sigaction own;
        memset(&own, 0, sizeof own);
        own.sa_sigaction = on_fault;
        own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigemptyset(&own.sa_mask);
        sigaction(signals[i], &own, nullptr);
    }
}

} // namespace hc
