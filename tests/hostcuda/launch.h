// launch.h - a kernel launch as launch.cpp checks it and grid.cpp runs it.
#ifndef HOSTCUDA_LAUNCH_H
#define HOSTCUDA_LAUNCH_H

#include "engine.h"

namespace hc
{

struct Launch {
    const void *function;
    const char *name;
    Site site;
    LaunchShape shape;
    Body body;
    int device;
};

void run_grid(const Launch &launch);

// shared.cpp: around the launch and around each of its blocks.
void prepare_shared_memory();
void start_shared_memory(const Launch &launch, uint64_t nth_block);
void end_shared_memory(const Launch &launch, uint64_t nth_block);
bool in_dynamic_shared(const void *pointer); // or on its guard pages

std::string text_of_site(const Site &site); // "file.cu:12"

} // namespace hc

#endif
