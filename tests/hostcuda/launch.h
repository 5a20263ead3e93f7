// launch.h - a kernel launch as launch.cpp checks it and grid.cpp runs it.
#ifndef HOSTCUDA_LAUNCH_H
#define HOSTCUDA_LAUNCH_H

#include "engine.h"

namespace hc
{

struct Launch {
    const char *name;
    Site site;
    LaunchShape shape;
    Body body;
    int device;
};

void run_grid(const Launch &launch);
std::string text_of_site(const Site &site); // "file.cu:12"

} // namespace hc

#endif
