// options.cpp - the HC_ variables of the environment, read once, and the layer's random numbers.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "control.h"
#include "layer.h"
#include "sanitizers.h"

namespace hc
{

Options options;
static uint64_t random_state = 88172645463325252ull;

std::recursive_mutex &layer_lock()
{
    static auto &lock = leaky<std::recursive_mutex>();
    return lock;
}

uint32_t random_below(uint32_t n) // xorshift64
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 11) % n);
}

static void read_flag(const char *name, bool *value)
{
    if (const char *text = getenv(name)) {
        *value = *text != '\0' && strcmp(text, "0") != 0;
    }
}

static void read_int(const char *name, int *value)
{
    if (const char *text = getenv(name)) {
        *value = atoi(text);
    }
}

// "64", "64K", "1.5G" in bytes.
static size_t parse_size(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    switch (toupper((unsigned char)*end)) {
    case 'K':
        value *= 1 << 10;
        break;
    case 'M':
        value *= 1 << 20;
        break;
    case 'G':
        value *= 1 << 30;
        break;
    default:
        break;
    }
    return (size_t)value;
}

static void read_device_model()
{
    if (const char *text = getenv("HC_ARCH")) {
        const int arch = atoi(text);
        options.arch_major = arch / 10;
        options.arch_minor = arch % 10;
        if (arch == 80) {
            options.shared_optin = 163 << 10;
            options.shared_multiprocessor = 164 << 10;
        } else if (arch == 86 || arch == 89) {
            options.shared_optin = 99 << 10;
            options.shared_multiprocessor = 100 << 10;
        } else if (arch != 90 && arch != 100) {
            die("HC_ARCH=%s: 80, 86, 89, 90 and 100 are known", text);
        }
    }
    if (const char *text = getenv("HC_SHARED")) {
        options.shared_optin = std::min(parse_size(text), (size_t)227 << 10);
    }
    read_int("HC_SMS", &options.multiprocessors);
    read_int("HC_DEVICES", &options.devices);
    if (const char *text = getenv("CUDA_VISIBLE_DEVICES")) {
        const int listed = *text ? 1 + (int)std::count(text, text + strlen(text), ',') : 0;
        options.devices = std::min(options.devices, listed);
    }
    options.devices = std::max(options.devices, 0);
    if (const char *text = getenv("HC_MEM")) {
        options.memory = std::max(parse_size(text), (size_t)1 << 16);
    }
}

static void read_races()
{
    static const char *const names[] = {"turns", "grid", "within", "between"};
    const char *text = getenv("HC_RACES");
    if (!text) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        if (!strcmp(text, names[i])) {
            options.races = (Races)i;
            return;
        }
    }
    die("HC_RACES=%s: turns, grid, within and between are known", text);
}

static void read_schedule()
{
    if (const char *text = getenv("HC_ORDER")) {
        options.order = !strcmp(text, "random")    ? Order::random
                        : !strcmp(text, "reverse") ? Order::reversed
                                                   : Order::sequential;
        if (options.order == Order::sequential && strcmp(text, "forward") != 0) {
            die("HC_ORDER=%s: forward, reverse or random", text);
        }
    }
    if (const char *text = getenv("HC_STREAMS")) {
        options.streams = !strcmp(text, "lazy")     ? Mode::lazy
                          : !strcmp(text, "random") ? Mode::random
                                                    : Mode::eager;
        if (options.streams == Mode::eager && strcmp(text, "eager") != 0) {
            die("HC_STREAMS=%s: eager, lazy or random", text);
        }
    }
    if (const char *text = getenv("HC_SEED")) {
        options.seed = strtoull(text, nullptr, 0);
    }
    random_state ^= options.seed * 0x9E3779B97F4A7C15ull;
    random_state |= 1;
    for (int i = 0; i < 8; i++) {
        random_below(2);
    }
}

static void at_exit()
{
    Lock lock(layer_lock());
    if (options.statistics) {
        report_statistics();
    }
    if (options.leaks) {
        report_leaks();
    }
}

void initialise()
{
    static bool done = false;
    if (done) {
        return;
    }
    done = true;
    read_device_model();
    read_schedule();
    read_flag("HC_PROTECT", &options.protect);
    read_flag("HC_STRICT", &options.strict);
    read_flag("HC_FILL", &options.fill);
    read_flag("HC_NODRIVER", &options.no_driver);
    read_flag("HC_LEAKS", &options.leaks);
    read_flag("HC_TRACE", &options.trace);
    read_flag("HC_STATS", &options.statistics);
    read_races();
    if (with_asan() || with_tsan()) {
        options.stack = 256 << 10;
    }
    if (const char *text = getenv("HC_STACK")) {
        options.stack = (parse_size(text) + 4095) / 4096 * 4096;
    }
    if (!options.no_driver) {
        reserve_device_memory();
    }
    atexit(at_exit);
}

} // namespace hc

extern "C" void hostcuda_order(int order, unsigned long seed)
{
    hc::Lock lock(hc::layer_lock());
    hc::initialise();
    hc::options.order = order == HOSTCUDA_RANDOM    ? hc::Order::random
                        : order == HOSTCUDA_REVERSE ? hc::Order::reversed
                                                    : hc::Order::sequential;
    hc::options.seed = seed;
    hc::random_state = (0x2545F4914F6CDD1Dull ^ seed * 0x9E3779B97F4A7C15ull) | 1;
}
