# mtip: density from snapshots of single particles in unknown orientations.
#
#   make                 the program build/mtip and the libraries
#   make check           all tests; check-unit, check-mpi, check-san, check-e2e ... are parts of it
#   make demo            a reconstruction from start to picture
#   make bench           timings
#   make install         into PREFIX (DESTDIR is honoured)
#   make info            what was found on this machine
#
# Options, on the command line or in config.mk:
#   CUDA=auto|0|1  CUDA_ARCH="80 90"  DEBUG=1  SAN=1  WERROR=1  V=1  BUILD=dir  PREFIX=dir
#   CC (an MPI compiler wrapper), CFLAGS, LDFLAGS and LDLIBS are appended to what the project needs.

-include config.mk

CUDA ?= auto
CUDA_ARCH ?= 80 90
SAN ?= 0
BUILD ?= build$(if $(filter 1,$(SAN)),/san)$(if $(filter 1,$(DEBUG)),/debug)
PREFIX ?= /usr/local
VERSION := 0.1.0

# ---- what this machine has -------------------------------------------------------------------
ifeq ($(origin CC),default)
CC := mpicc
endif
PKG_CONFIG ?= pkg-config
NVCC ?= $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
pkg_first = $(firstword $(foreach p,$(1),$(shell $(PKG_CONFIG) --exists $(p) 2>/dev/null && echo $(p))))
pkg_cflags = $(if $(1),$(shell $(PKG_CONFIG) --cflags $(1)))
pkg_libs = $(if $(1),$(shell $(PKG_CONFIG) --libs $(1)),$(2))

HDF5_PKG := $(call pkg_first,hdf5-serial hdf5-openmpi hdf5)
BLAS_PKG := $(call pkg_first,openblas blas)
CONFIG_PKG := $(call pkg_first,libconfig)
FFTW_PKG := $(call pkg_first,fftw3)
FFTWF_PKG := $(call pkg_first,fftw3f)
CMOCKA_PKG := $(call pkg_first,cmocka)

ifeq ($(CUDA),auto)
HAVE_CUDA := $(if $(NVCC),1,0)
else
HAVE_CUDA := $(CUDA)
endif
# The CUDA backend is whole when every *_cpu.c has its twin *_cuda.c; in part it cannot be linked.
CUDA_MISSING := $(filter-out $(wildcard src/*/*_cuda.c),$(patsubst %_cpu.c,%_cuda.c,$(wildcard src/*/*_cpu.c)))
ifneq ($(CUDA_MISSING),)
HAVE_CUDA := 0
endif
CUDA_INCLUDE := $(firstword $(patsubst %/cuda_runtime.h,%,$(wildcard \
    $(addsuffix /cuda_runtime.h,$(CUDA_HOME)/include $(if $(NVCC),$(dir $(NVCC))../include) /usr/local/cuda/include))))
CUDA_LIB := $(firstword $(wildcard $(CUDA_INCLUDE)/../lib64 $(CUDA_INCLUDE)/../lib))

# ---- flags -----------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wconversion
OPTIMISE := $(if $(filter 1,$(DEBUG)),-O0 -g3,$(if $(filter 1,$(SAN)),-O1 -g,-O3 -g))
SANITIZE := $(if $(filter 1,$(SAN)),-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
INCLUDES := -Isrc $(call pkg_cflags,$(HDF5_PKG)) $(call pkg_cflags,$(BLAS_PKG)) \
    $(call pkg_cflags,$(CONFIG_PKG)) $(call pkg_cflags,$(FFTW_PKG))
DEFINES := -DMTIP_VERSION='"$(VERSION)"' $(if $(filter 1,$(HAVE_CUDA)),-DMTIP_HAVE_CUDA=1)
ALL_CFLAGS := -std=c11 $(OPTIMISE) -fno-math-errno -ffp-contract=off -fopenmp -fPIC $(WARNINGS) \
    $(if $(filter 1,$(WERROR)),-Werror) $(SANITIZE) $(INCLUDES) $(DEFINES) $(CFLAGS)
LIBS := $(call pkg_libs,$(CONFIG_PKG),-lconfig) $(call pkg_libs,$(HDF5_PKG),-lhdf5) \
    $(call pkg_libs,$(FFTW_PKG),-lfftw3) $(call pkg_libs,$(FFTWF_PKG),-lfftw3f) \
    $(call pkg_libs,$(BLAS_PKG),-lopenblas) -lm
LIBS_HOST := $(LIBS)
ALL_LDFLAGS := -fopenmp $(SANITIZE) $(LDFLAGS)
ALL_LDLIBS = $(LIBS) $(LDLIBS)

# ---- sources ---------------------------------------------------------------------------------
MODULES := cli mtip io nufft core
# *_cuda.c, *_cuda_*.c and *.cu take part only where the CUDA toolkit does.
module_sources = $(filter-out $(if $(filter 1,$(HAVE_CUDA)),,$(wildcard src/$(1)/*_cuda.c src/$(1)/*_cuda_*.c)),$(wildcard src/$(1)/*.c))
module_objects = $(patsubst %.c,$(BUILD)/%.o,$(call module_sources,$(1))) \
    $(if $(filter 1,$(HAVE_CUDA)),$(patsubst %.cu,$(BUILD)/%.cu.o,$(wildcard src/$(1)/*.cu)))
ARCHIVES := $(foreach m,$(MODULES),$(BUILD)/lib$(m).a)
PROGRAM := $(BUILD)/mtip
# $(call longest_first,NAMES,PROGRAMS): two at a time, what takes longest must not begin last.
longest_first = $(foreach n,$(1),$(filter %/$(n),$(2))) $(filter-out $(addprefix %/,$(1)),$(2))
UNIT_TESTS := $(call longest_first,test_compare test_nufft_edges test_nufft test_nufft_finufft,$(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c)))
MPI_TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/mpi_*.c))
TEST_SUPPORT := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/support*.c))

Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $(1) $(2))

.PHONY: all
all: $(PROGRAM)

$(PROGRAM): $(BUILD)/src/main.o $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(ALL_LDLIBS)

define module_archive
$(BUILD)/lib$(1).a: $(call module_objects,$(1))
	$$(call say,AR,$$@)
	@mkdir -p $$(@D)
	$(Q)rm -f $$@ && ar rcs $$@ $$^
endef
$(foreach m,$(MODULES),$(eval $(call module_archive,$(m))))

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@
# Those of the tests, too, are kept: a change then compiles what it must.
.PRECIOUS: $(BUILD)/%.o

# The NUFFT's CPU kernels are compiled once an instruction set and chosen at run time.
NUFFT_KERNELS := $(BUILD)/src/nufft/nufft_cpu_portable.o $(BUILD)/src/nufft/nufft_cpu_avx2.o \
    $(BUILD)/src/nufft/nufft_cpu_avx512.o
# Undefined-behaviour checks on top of the address ones take minutes to compile here, for arithmetic on floats.
# Loops that matter are unrolled by hand: -O3 and full debug information would double the time to compile, for nothing.
NUFFT_OPTIMISE := $(if $(filter 1,$(DEBUG) $(SAN)),,-O2 -g1 -ftree-vectorize $(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),,-fvect-cost-model=dynamic))
$(NUFFT_KERNELS): ALL_CFLAGS += $(NUFFT_OPTIMISE) -ffp-contract=fast -fno-trapping-math $(if $(filter 1,$(SAN)),-fno-sanitize=undefined)
# The sanitizers check the portable ones, which are the same text: the others stay empty there.
ifneq ($(if $(filter 1,$(SAN)),,$(filter x86_64%,$(shell $(CC) -dumpmachine))),)
$(BUILD)/src/nufft/nufft_cpu_avx2.o: ALL_CFLAGS += -mavx2 -mfma
$(BUILD)/src/nufft/nufft_cpu_avx512.o: ALL_CFLAGS += -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma
endif

# ---- the NUFFT alone, for other programs -----------------------------------------------------
# Both libraries show the names of nufft.h and status.h and no others, so that a program may use any name it likes.
NUFFT_OBJECTS := $(call module_objects,nufft) $(patsubst %,$(BUILD)/src/core/%.o,fftw_lock memory status $(if $(filter 1,$(HAVE_CUDA)),status_cuda))
NUFFT_LIBS := $(call pkg_libs,$(FFTW_PKG),-lfftw3) $(call pkg_libs,$(FFTWF_PKG),-lfftw3f) -lm
NUFFT_PUBLIC := nufft_plan_* nufft_options_default mtip_status_*
NUFFT_SONAME := libmtipnufft.so.$(firstword $(subst ., ,$(VERSION)))
NUFFT_CUDA_LIBS = $(if $(filter 1,$(HAVE_CUDA)),$(CUDA_LIBS))
OBJCOPY ?= objcopy
.PHONY: nufft
nufft: $(BUILD)/libmtipnufft.so $(BUILD)/libmtipnufft.a
$(BUILD)/libmtipnufft.so: $(NUFFT_OBJECTS)
	$(call say,LINK,$@)
	@echo '{ global: $(NUFFT_PUBLIC:=;) local: *; };' >$(@:.so=.map)
	$(Q)$(CC) -shared $(ALL_LDFLAGS) -Wl,-soname,$(NUFFT_SONAME) -Wl,--version-script,$(@:.so=.map) -Wl,--as-needed \
	    -o $@ $^ $(NUFFT_LIBS) $(NUFFT_CUDA_LIBS)
$(BUILD)/libmtipnufft.a: $(NUFFT_OBJECTS)
	$(call say,AR,$@)
	$(Q)$(LD) -r -o $(@:.a=.o) $^
	$(Q)$(OBJCOPY) --wildcard $(patsubst %,--keep-global-symbol='%',$(NUFFT_PUBLIC)) $(@:.a=.o)
	$(Q)rm -f $@ && ar rcs $@ $(@:.a=.o)

# ---- CUDA: the real build --------------------------------------------------------------------
# What ptxas tells of registers, stack and shared memory is kept beside the object, for the gates.
# Code for each of CUDA_ARCH, and PTX of the last for chips to come. The program starts without a
# driver: only the runtime library is linked, never libcuda.
CUDA_GENCODE = $(foreach a,$(CUDA_ARCH),-gencode arch=compute_$(a),code=sm_$(a)) \
    -gencode arch=compute_$(lastword $(CUDA_ARCH)),code=compute_$(lastword $(CUDA_ARCH))
NVCC_FLAGS = -std=c++17 -O3 -lineinfo -Xptxas -v $(CUDA_GENCODE) -Isrc $(DEFINES) \
    -Xcompiler -fPIC,-Wall,-Wextra,-Wno-unknown-pragmas $(if $(filter 1,$(WERROR)),-Werror all-warnings) $(NVCCFLAGS)
CUDA_LIBS = -Wl,--as-needed -L$(CUDA_LIB) -Wl,-rpath,$(abspath $(CUDA_LIB)) -lcufft -lcublas -lcudart -lstdc++
$(BUILD)/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call say,NVCC,$<)
	$(Q)$(NVCC) $(NVCC_FLAGS) -MMD -MP -MF $(@:.o=.d) -c $< -o $@ >$(@:.o=.ptxas) 2>&1; code=$$?; \
	    grep -vE 'ptxas info|bytes stack frame|^$$' $(@:.o=.ptxas) >&2; exit $$code
ifeq ($(HAVE_CUDA),1)
INCLUDES += -isystem $(CUDA_INCLUDE)
LIBS += $(CUDA_LIBS)
endif

# The tests of kernels on a real device (on the host they run on the layer below).
CUDA_TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/cuda_*.c))
$(BUILD)/tests/cuda_%: $(BUILD)/tests/cuda_%.o $(TEST_SUPPORT) $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(CMOCKA_PKG),-lcmocka) $(ALL_LDLIBS)
.PHONY: cuda-tests
cuda-tests: $(CUDA_TESTS)
# The same and mtip around one shared library, to be carried to another machine (scripts/gpu_check.sh --bundle).
SHARED := $(BUILD)/shared
SHARED_LINK = $(CC) $(ALL_LDFLAGS) -Wl,-rpath,'$$ORIGIN' -o $@
$(SHARED)/libmtip.so: $(ARCHIVES)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(SHARED_LINK) -shared -Wl,--whole-archive $^ -Wl,--no-whole-archive $(ALL_LDLIBS)
$(SHARED)/mtip: $(BUILD)/src/main.o $(SHARED)/libmtip.so
	$(call say,LINK,$@)
	$(Q)$(SHARED_LINK) $^ $(ALL_LDLIBS)
$(SHARED)/cuda_%: $(BUILD)/tests/cuda_%.o $(TEST_SUPPORT) $(SHARED)/libmtip.so
	$(call say,LINK,$@)
	$(Q)$(SHARED_LINK) $^ $(call pkg_libs,$(CMOCKA_PKG),-lcmocka) $(ALL_LDLIBS)
.PHONY: cuda-shared
cuda-shared: $(SHARED)/mtip $(patsubst tests/%.c,$(SHARED)/%,$(wildcard tests/cuda_*.c))

# ---- CUDA on the CPU: the host-CUDA layer (tests/hostcuda/README.md) -------------------------
# All of it is built apart, in $(BUILD)/hostcuda: the kernels, tests and programs once a mode HC_MODE = plain, address,
# thread, coverage, the C sources of tests twice (HC_C). The C sources of the product are those of the program itself
# (HC_SRC), where it has CUDA and the mode is not address. The layer itself and the CPU's NUFFT kernels are never sanitized.
HC_MODE ?= plain
HC := $(BUILD)/hostcuda/$(HC_MODE)
HC_C := $(BUILD)/hostcuda/c$(if $(filter address,$(HC_MODE)),-address)
HC_SRC := $(if $(filter address,$(HC_MODE)),$(HC_C),$(if $(filter 1,$(HAVE_CUDA)),$(BUILD),$(HC_C)))
HC_LAYER := $(BUILD)/hostcuda/libhostcuda.a
# GCC's ThreadSanitizer crashes on so many fibers.
HC_CXX := $(if $(filter thread,$(HC_MODE)),clang++,g++)
HC_ADDRESS := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
HC_WARNINGS := -Wall -Wextra -Wshadow -Wno-unknown-pragmas -Wno-unused-function
HC_DEFINES := -DMTIP_VERSION='"$(VERSION)"' -DMTIP_HAVE_CUDA=1 -DMTIP_HOSTCUDA=1
HC_INCLUDES := -Isrc -Itests -Itests/hostcuda $(filter-out -Isrc,$(INCLUDES)) -isystem $(CUDA_INCLUDE)
HC_CFLAGS = -std=c11 -O2 -g -fno-math-errno -ffp-contract=off -fopenmp -fPIC $(WARNINGS) $(if $(filter 1,$(WERROR)),-Werror) \
    $(if $(filter address,$(HC_MODE)),$(HC_ADDRESS)) $(HC_DEFINES) $(HC_INCLUDES) $(CFLAGS)
# The kernels are many instances of unrolled templates: -O2 takes twice as long to compile and gains nothing here.
HC_CXXFLAGS_plain := -O1 -g1
# Sections with shared arrays must be named for their overflows to be seen.
HC_CXXFLAGS_address := -O1 -g1 $(HC_ADDRESS) -fsanitize-sections=.hcshared.*
# Where instances are most, the checks at -O1 take three times as long to compile.
$(BUILD)/hostcuda/address/src/nufft/nufft_kernels_column_%.cu.o: HC_CXXFLAGS_address += -O0
HC_CXXFLAGS_thread := -O1 -g1 -fsanitize=thread
HC_CXXFLAGS_coverage := -O1 -g1 --coverage
HC_CUFLAGS = -std=c++17 $(HC_CXXFLAGS_$(HC_MODE)) -ffp-contract=off -fPIC $(HC_WARNINGS) $(if $(filter 1,$(WERROR)),-Werror) $(HC_DEFINES) \
    $(HC_INCLUDES) -include tests/hostcuda/hostcuda.h
HC_LDLIBS = $(HC_LAYER) $(LIBS_HOST) -lstdc++ -ldl -lpthread
HC_LINK_plain = $(CC) -fopenmp
HC_LINK_address = $(CC) -fopenmp $(HC_ADDRESS)
HC_LINK_coverage = $(CC) -fopenmp --coverage
HC_LINK_thread = $(HC_CXX) -fsanitize=thread
HC_MPI_LIBS = $(if $(filter thread,$(HC_MODE)),-lgomp $(shell $(CC) --showme:link 2>/dev/null || $(CC) -link_info 2>/dev/null | cut -d' ' -f2-))

HC_OBJECTS := $(NUFFT_KERNELS) \
    $(filter-out $(NUFFT_KERNELS:$(BUILD)/%=$(HC_SRC)/%),$(patsubst %.c,$(HC_SRC)/%.o,$(filter-out src/cli/%,$(wildcard src/*/*.c)))) \
    $(patsubst %.cu,$(HC)/%.cu.o,$(wildcard src/*/*.cu))
HC_LAYER_OBJECTS := $(patsubst %.cpp,$(BUILD)/hostcuda/layer/%.o,$(notdir $(wildcard tests/hostcuda/*.cpp)))
HC_PRODUCT := $(HC)/libmtip.a
HC_COMMANDS := $(patsubst %.c,$(HC_SRC)/%.o,$(wildcard src/cli/*.c) src/main.c)
HC_TESTS := $(call longest_first,cuda_nufft cuda_nufft_repeat cuda_algorithms,$(patsubst tests/%.c,$(HC)/tests/%,$(wildcard tests/cuda_*.c)))
HC_SELFTESTS := $(patsubst tests/hostcuda/kernels/%.c,$(HC)/selftest/%,$(wildcard tests/hostcuda/kernels/*.c))
HC_SUPPORT := $(patsubst %.c,$(HC_C)/%.o,$(wildcard tests/support*.c))

$(BUILD)/hostcuda/layer/%.o: tests/hostcuda/%.cpp
	@mkdir -p $(@D)
	$(call say,C++,$<)
	$(Q)g++ -std=c++17 -O2 -g -fPIC $(HC_WARNINGS) $(HC_INCLUDES) -MMD -MP -c $< -o $@
$(HC_LAYER): $(HC_LAYER_OBJECTS)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^
$(HC_C)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(HC_CFLAGS) -MMD -MP -c $< -o $@
$(HC)/%.cu.o: %.cu
	@mkdir -p $(@D)
	$(call say,HOSTCU,$<)
	$(Q)$(HC_CXX) $(HC_CUFLAGS) -MMD -MP -MF $(@:.o=.d) -x c++ -c $< -o $@
$(HC_PRODUCT): $(HC_OBJECTS)
	$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^
# The layer's own tests: each kernels/*.c a program, with all kernels of that folder.
HC_KERNELS := $(patsubst %.cu,$(HC)/%.cu.o,$(wildcard tests/hostcuda/kernels/*.cu))
define hc_selftest
$(HC)/selftest/$(1): $(HC_C)/tests/hostcuda/kernels/$(1).o $(HC_KERNELS) $(HC_LAYER)
	@mkdir -p $$(@D)
	$$(call say,LINK,$$@)
	$(Q)$$(HC_LINK_$(HC_MODE)) -o $$@ $$(filter %.o,$$^) $$(HC_LDLIBS) $$(HC_MPI_LIBS)
endef
$(foreach t,$(notdir $(HC_SELFTESTS)),$(eval $(call hc_selftest,$(t))))
$(HC)/tests/cuda_%: $(HC_C)/tests/cuda_%.o $(HC_SUPPORT) $(HC_PRODUCT) $(HC_LAYER)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(HC_LINK_$(HC_MODE)) -o $@ $(filter-out $(HC_LAYER),$^) $(call pkg_libs,$(CMOCKA_PKG),-lcmocka) $(HC_LDLIBS) $(HC_MPI_LIBS)
$(HC)/mtip: $(HC_COMMANDS) $(HC_PRODUCT) $(HC_LAYER)
	$(call say,LINK,$@)
	$(Q)$(HC_LINK_$(HC_MODE)) -o $@ $(filter-out $(HC_LAYER),$^) $(HC_LDLIBS) $(HC_MPI_LIBS)

# The timing program of scripts/gpu_check.sh, to be tested itself.
HC_BENCH := $(patsubst %,$(HC_C)/bench/gpu/%.o,bench_gpu bench_data bench_peer)
$(HC)/bench_gpu: $(HC_BENCH) $(HC_PRODUCT) $(HC_LAYER)
	$(call say,LINK,$@)
	$(Q)$(HC_LINK_$(HC_MODE)) -o $@ $(filter-out $(HC_LAYER),$^) $(HC_LDLIBS) $(HC_MPI_LIBS)

.PHONY: hostcuda hostcuda-tests hostcuda-selftests hostcuda-program hostcuda-bench
.PRECIOUS: $(BUILD)/hostcuda/layer/%.o $(HC_C)/%.o $(HC)/%.cu.o
hostcuda: $(HC_LAYER)
hostcuda-tests: $(HC_TESTS)
hostcuda-selftests: $(HC_SELFTESTS)
hostcuda-program: $(HC)/mtip
hostcuda-bench: $(HC)/bench_gpu

# check-hostcuda is the part of `make check`: every kernel and all host code on the layer, plain (eager streams) with the lines of
# kernels counted, under AddressSanitizer and UBSan (lazy streams, reverse order) and under ThreadSanitizer (random streams
# and order), a short end-to-end run, and the static gates. check-cuda runs the tests plain with every kind of stream and
# order too, those under sanitizers at full length, the long end-to-end run and a reconstruction to its end. One mode after
# another, each in a make of its own. Under ThreadSanitizer tests stop at the first race, and OpenMP, whose barriers it does
# not know, has one thread.
HC_RUN = TSAN_OPTIONS=halt_on_error=1:atexit_sleep_ms=0 ASAN_OPTIONS=detect_leaks=0 sh $(RUN_TESTS) -j $(if $(HC_BESIDE),3,2) -t 300
HC_EACH_ORDER = for streams in eager lazy random; do \
	    HC_STREAMS=$$streams HC_ORDER=$$(echo $$streams | sed 's/eager/forward/;s/lazy/reverse/') \
	        $(HC_RUN) -l $$streams $(HC_TESTS) || exit 1; \
	done
HC_E2E = MTIP="$(abspath $(HC)/mtip)" sh $(RUN_TESTS) -j 2 -t 300 -l hostcuda tests/e2e_cuda.sh
HC_CONVERGE = MTIP="$(abspath $(HC)/mtip)" sh $(RUN_TESTS) -t 900 -l hostcuda tests/e2e_cuda_converge.sh
.PHONY: check-hostcuda check-cuda check-cuda-mode check-cuda-gates hc-mode-plain hc-mode-coverage hc-mode-address hc-mode-thread
ifeq ($(CUDA_INCLUDE),)
check-hostcuda check-cuda:
	@SKIPPED="no CUDA headers on this machine (cuda_runtime.h; CUDA_HOME names the toolkit)" \
	    sh $(RUN_TESTS) tests/hostcuda/skipped.sh
else
check-hostcuda:
	@+$(MAKE) --no-print-directory HC_MODE=coverage check-cuda-mode
	@+for mode in address thread; do \
	    MTIP_TEST_SHORT=1 $(MAKE) --no-print-directory HC_MODE=$$mode check-cuda-mode || exit 1; \
	done
	@+$(MAKE) --no-print-directory check-cuda-gates
check-cuda:
	@+for mode in plain address thread; do \
	    $(MAKE) --no-print-directory HC_MODE=$$mode check-cuda-mode || exit 1; \
	done
	@+$(MAKE) --no-print-directory check-cuda-gates
endif
check-cuda-mode: hc-mode-$(HC_MODE)
$(HC)/selftest.sh: $(HC_SELFTESTS)
	@echo 'exec python3 tests/hostcuda/selftest.py $(HC)/selftest $(HC_MODE:coverage=plain)' >$@
hc-mode-plain: $(HC_TESTS) $(HC)/selftest.sh $(HC)/mtip $(HC)/bench_gpu
	@$(HC_EACH_ORDER)
	@$(HC_E2E) $(HC)/selftest.sh
	@$(HC_CONVERGE)
	@BENCH="$(HC)/bench_gpu" sh $(RUN_TESTS) -t 300 tests/hostcuda/bench.sh
hc-mode-coverage: $(HC)/selftest.sh $(HC)/mtip
	@+MTIP_E2E_SHORT=1 MTIP="$(abspath $(HC)/mtip)" $(MAKE) --no-print-directory HC_MODE=coverage \
	    HC_BESIDE="tests/e2e_cuda.sh $(HC)/selftest.sh" cuda-coverage-run
hc-mode-address: $(HC_TESTS) $(HC)/selftest.sh
	@HC_STREAMS=lazy HC_ORDER=reverse $(HC_RUN) -l address $(HC)/selftest.sh $(HC_TESTS)
HC_LACKING := $(if $(filter thread,$(HC_MODE)),$(shell \
    echo 'int main() { return 0; }' | clang++ -fsanitize=thread -x c++ -o /dev/null - 2>/dev/null || echo clang++))
ifneq ($(HC_LACKING),)
hc-mode-thread:
	@SKIPPED="races are found by clang++ with ThreadSanitizer, which is not here" sh $(RUN_TESTS) tests/hostcuda/skipped.sh
else
hc-mode-thread: $(HC_TESTS) $(HC)/selftest.sh
	@HC_STREAMS=random HC_ORDER=random OMP_NUM_THREADS=1 $(HC_RUN) -l thread $(HC)/selftest.sh $(HC_TESTS)
endif

# Line coverage of the .cu files by tests/cuda_*.c: every line must run. HC_BESIDE: programs that run beside them, uncounted.
.PHONY: cuda-coverage cuda-coverage-run
cuda-coverage:
	@+$(MAKE) --no-print-directory HC_MODE=coverage cuda-coverage-run
cuda-coverage-run: $(HC_TESTS)
	@find $(HC) -name '*.gcda' -delete
	@$(HC_RUN) -l plain $(HC_BESIDE) $(HC_TESTS)
	@python3 tests/hostcuda/coverage.py --min 100 $(HC) $(wildcard src/*/*.cu)

# Static gates: what nvcc and ptxas say, and that programs linked with the real libraries start without a driver: one of a
# kernel alone, and mtip, of the C objects that the layer uses too.
GATES_CU := $(patsubst %.cu,$(BUILD)/%.cu.o,$(wildcard src/*/*.cu))
GATES_OBJECTS := $(GATES_CU) $(BUILD)/tests/hostcuda/kernels/basics.cu.o
GATES_OVER := $(BUILD)/tests/hostcuda/gates/over.cu.o
GATES_START := $(BUILD)/tests/hostcuda/gates/start
GATES_PROGRAM := $(BUILD)/tests/hostcuda/gates/mtip
$(GATES_START): tests/hostcuda/gates/start.c $(BUILD)/tests/hostcuda/kernels/basics.cu.o
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -std=c11 -O1 -isystem $(CUDA_INCLUDE) -o $@ $^ $(CUDA_LIBS) -lm
$(GATES_PROGRAM): $(HC_COMMANDS) $(filter-out %.cu.o,$(HC_OBJECTS)) $(GATES_CU)
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) -fopenmp -o $@ $^ $(LIBS_HOST) $(CUDA_LIBS)
ifeq ($(and $(NVCC),$(CUDA_LIB)),)
check-cuda-gates:
	@SKIPPED="the static gates need nvcc (NVCC or CUDA_HOME name it)" sh $(RUN_TESTS) tests/hostcuda/skipped.sh
else
check-cuda-gates: $(GATES_OBJECTS) $(GATES_OVER) $(GATES_START) $(GATES_PROGRAM)
	@GATES_LOGS="$(GATES_OBJECTS:.o=.ptxas)" GATES_OVER="$(GATES_OVER:.o=.ptxas)" GATES_ARCH="$(CUDA_ARCH)" \
	    GATES_START="$(GATES_START)" GATES_PROGRAM="$(GATES_PROGRAM)" sh $(RUN_TESTS) tests/hostcuda/gates.sh
endif

# ---- CUDA: end -------------------------------------------------------------------------------

# ---- tests -----------------------------------------------------------------------------------
$(BUILD)/tests/test_%: $(BUILD)/tests/test_%.o $(TEST_SUPPORT) $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(CMOCKA_PKG),-lcmocka) $(ALL_LDLIBS)

$(BUILD)/tests/mpi_%: $(BUILD)/tests/mpi_%.o $(TEST_SUPPORT) $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(CMOCKA_PKG),-lcmocka) $(ALL_LDLIBS)

.PHONY: tests
tests: $(UNIT_TESTS) $(MPI_TESTS)

# Suites of `make check`, in this order. check-cuda goes further than check-hostcuda and takes longer than all of this.
SUITES = format headers scripts report unit mpi e2e hostcuda san
RUN_TESTS := tests/run_tests.sh
HEADER_FLAGS = $(INCLUDES) $(if $(NVCC),-I$(dir $(NVCC))../include)

.PHONY: check check-unit check-mpi check-san check-headers check-format check-scripts check-report check-e2e
check:
	@+SAN_LEAVE_OUT="nufft nufft_finufft compare" sh tests/check.sh $(MAKE) $(SUITES)

check-unit: $(UNIT_TESTS)
	@sh $(RUN_TESTS) -j 2 $(UNIT_TESTS)

check-mpi: $(MPI_TESTS)
	@sh $(RUN_TESTS) -n "1 2 3" $(MPI_TESTS)

# Three tests that take long are left out by `make check`, for the sake of its time. Leaks are looked for where there
# is no MPI start-up: what the MPI library keeps lies in modules that are unloaded at the end and cannot be told apart
# (tests/lsan.supp). Fresh memory is full of NaN, so that what is read without having been written shows.
SAN_FILL = max_malloc_fill_size=1073741824:malloc_fill_byte=255
check-san:
	@+$(MAKE) --no-print-directory SAN=1 CUDA=0 BUILD=$(BUILD)/san san-all
SAN_TESTS = $(filter-out $(SAN_LEAVE_OUT:%=$(BUILD)/tests/test_%),$(UNIT_TESTS))
san-all: $(PROGRAM) $(SAN_TESTS) $(MPI_TESTS)
	@LSAN_OPTIONS=suppressions=tests/lsan.supp:print_suppressions=0 ASAN_OPTIONS=$(SAN_FILL) \
	    sh $(RUN_TESTS) -j 2 -t 300 -l san $(SAN_TESTS)
	@ASAN_OPTIONS=detect_leaks=0:$(SAN_FILL) sh $(RUN_TESTS) -n 2 -t 300 -l san $(MPI_TESTS)

check-headers:
	@CC="$(CC)" HEADER_FLAGS="$(HEADER_FLAGS)" sh $(RUN_TESTS) -j 2 tests/check_headers.sh tests/check_kernels.sh \
	    tests/check_aarch64.sh

check-format check-report: check-%:
	@sh $(RUN_TESTS) tests/check_$*.sh

check-scripts: $(PROGRAM)
	@MTIP="$(abspath $(PROGRAM))" sh $(RUN_TESTS) tests/check_scripts.sh

check-e2e: $(PROGRAM) nufft
	@BUILD="$(BUILD)" MAKE="$(MAKE)" MTIP="$(abspath $(PROGRAM))" sh $(RUN_TESTS) -j 3 -t 300 $(filter-out tests/e2e_cuda%,$(wildcard tests/e2e_*.sh))

# ---- tools -----------------------------------------------------------------------------------
.PHONY: demo
demo: $(PROGRAM)
	@MTIP="$(PROGRAM)" sh scripts/demo.sh

.PHONY: bench
bench: $(PROGRAM)
	$(PROGRAM) bench nufft
	$(PROGRAM) bench phase

.PHONY: install install-program
install: install-program
install-program: $(PROGRAM)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/mtip
	install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/mtip
	install -m 755 scripts/report.py $(DESTDIR)$(PREFIX)/share/mtip/report.py
	cp -R configs scripts/slurm $(DESTDIR)$(PREFIX)/share/mtip/

# The commented configuration with every key, from the key table; a test compares it.
.PHONY: configs
configs: $(PROGRAM)
	$(PROGRAM) info --keys > configs/reference.cfg

install: install-nufft
.PHONY: install-nufft
install-nufft: nufft
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include/mtipnufft/nufft \
	    $(DESTDIR)$(PREFIX)/include/mtipnufft/core
	install -m 644 $(BUILD)/libmtipnufft.a $(DESTDIR)$(PREFIX)/lib/libmtipnufft.a
	install -m 755 $(BUILD)/libmtipnufft.so $(DESTDIR)$(PREFIX)/lib/libmtipnufft.so.$(VERSION)
	ln -sf libmtipnufft.so.$(VERSION) $(DESTDIR)$(PREFIX)/lib/$(NUFFT_SONAME)
	ln -sf $(NUFFT_SONAME) $(DESTDIR)$(PREFIX)/lib/libmtipnufft.so
	install -m 644 src/nufft/nufft.h $(DESTDIR)$(PREFIX)/include/mtipnufft/nufft/nufft.h
	install -m 644 src/core/status.h $(DESTDIR)$(PREFIX)/include/mtipnufft/core/status.h
	printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$${prefix}/lib' 'includedir=$${prefix}/include/mtipnufft' \
	    '' 'Name: mtipnufft' 'Description: nonuniform fast Fourier transforms, types 1 to 3, 1-D to 3-D' \
	    'Version: $(VERSION)' 'Cflags: -I$${includedir}' 'Libs: -L$${libdir} -lmtipnufft' \
	    'Libs.private: $(NUFFT_LIBS) $(NUFFT_CUDA_LIBS) -fopenmp' > $(DESTDIR)$(PREFIX)/lib/pkgconfig/mtipnufft.pc

.PHONY: format
format:
	clang-format -i $(wildcard src/*.[ch] src/*/*.[ch] src/*/*.cu tests/*.[ch] tests/hostcuda/*.[ch] examples/*.c)

.PHONY: info
info:
	@echo "version    $(VERSION)"
	@echo "compiler   $(CC): $(shell $(CC) --version 2>/dev/null | head -1)"
	@echo "hdf5       $(or $(HDF5_PKG),not found by pkg-config: -lhdf5 is tried)"
	@echo "libconfig  $(or $(CONFIG_PKG),not found by pkg-config: -lconfig is tried)"
	@echo "fftw       $(or $(FFTW_PKG),not found by pkg-config: -lfftw3 is tried)"
	@echo "blas       $(or $(BLAS_PKG),not found by pkg-config: -lopenblas is tried)"
	@echo "cmocka     $(or $(CMOCKA_PKG),not found: tests cannot be built)"
	@echo "cuda       $(if $(filter 1,$(HAVE_CUDA)),on ($(NVCC), sm $(CUDA_ARCH)),off)"
	@echo "build      $(BUILD)"

.PHONY: clean
clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
