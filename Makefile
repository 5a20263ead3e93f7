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
# Until there is a CUDA source there is nothing to link the toolkit for.
ifeq ($(wildcard src/*/*_cuda.c src/*/*.cu),)
HAVE_CUDA := 0
endif

# ---- flags -----------------------------------------------------------------------------------
WARNINGS := -Wall -Wextra -Wshadow -Wvla -Wstrict-prototypes -Wconversion
OPTIMISE := $(if $(filter 1,$(DEBUG)),-O0 -g3,-O3 -g)
SANITIZE := $(if $(filter 1,$(SAN)),-fsanitize=address -fsanitize=undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
INCLUDES := -Isrc $(call pkg_cflags,$(HDF5_PKG)) $(call pkg_cflags,$(BLAS_PKG)) \
    $(call pkg_cflags,$(CONFIG_PKG)) $(call pkg_cflags,$(FFTW_PKG))
DEFINES := -DMTIP_VERSION='"$(VERSION)"' $(if $(filter 1,$(HAVE_CUDA)),-DMTIP_HAVE_CUDA=1)
ALL_CFLAGS := -std=c11 $(OPTIMISE) -fno-math-errno -ffp-contract=off -fopenmp -fPIC $(WARNINGS) \
    $(if $(filter 1,$(WERROR)),-Werror) $(SANITIZE) $(INCLUDES) $(DEFINES) $(CFLAGS)
LIBS := $(call pkg_libs,$(CONFIG_PKG),-lconfig) $(call pkg_libs,$(HDF5_PKG),-lhdf5) \
    -lfftw3_omp -lfftw3f_omp $(call pkg_libs,$(FFTW_PKG),-lfftw3) $(call pkg_libs,$(FFTWF_PKG),-lfftw3f) \
    $(call pkg_libs,$(BLAS_PKG),-lopenblas) -lm
ALL_LDFLAGS := -fopenmp $(SANITIZE) $(LDFLAGS)
ALL_LDLIBS = $(LIBS) $(LDLIBS)

# ---- sources ---------------------------------------------------------------------------------
MODULES := cli mtip io nufft core
module_objects = $(patsubst %.c,$(BUILD)/%.o,$(wildcard src/$(1)/*.c))
ARCHIVES := $(foreach m,$(MODULES),$(BUILD)/lib$(m).a)
PROGRAM := $(BUILD)/mtip
UNIT_TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c))
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

# ---- tests -----------------------------------------------------------------------------------
$(BUILD)/tests/test_%: $(BUILD)/tests/test_%.o $(TEST_SUPPORT) $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(CMOCKA_PKG),-lcmocka) $(ALL_LDLIBS)

$(BUILD)/tests/mpi_%: $(BUILD)/tests/mpi_%.o $(TEST_SUPPORT) $(ARCHIVES)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(call pkg_libs,$(CMOCKA_PKG),-lcmocka) $(ALL_LDLIBS)

.PHONY: tests
tests: $(UNIT_TESTS) $(MPI_TESTS)

# Suites of `make check`, in this order. check-cuda joins where it is defined.
SUITES = format headers scripts unit mpi $(if $(filter check-cuda,$(TARGETS)),cuda) san e2e
TARGETS = $(shell sed -n 's/^\(check-[a-z]*\):.*/\1/p' $(MAKEFILE_LIST))
RUN_TESTS := tests/run_tests.sh
HEADER_FLAGS = $(INCLUDES) $(if $(NVCC),-I$(dir $(NVCC))../include)

.PHONY: check check-unit check-mpi check-san check-headers check-format check-scripts check-e2e
check:
	@+sh tests/check.sh $(MAKE) $(SUITES)

check-unit: $(UNIT_TESTS)
	@sh $(RUN_TESTS) -j 2 $(UNIT_TESTS)

check-mpi: $(MPI_TESTS)
	@sh $(RUN_TESTS) -n "1 2 3" $(MPI_TESTS)

# Also the build without CUDA. Leaks inside the MPI library are not ours (tests/lsan.supp).
check-san:
	@+$(MAKE) --no-print-directory SAN=1 CUDA=0 BUILD=$(BUILD)/san san-all
san-all: $(PROGRAM) $(UNIT_TESTS)
	@LSAN_OPTIONS=suppressions=tests/lsan.supp:print_suppressions=0 \
	    sh $(RUN_TESTS) -j 2 -t 300 -l san $(UNIT_TESTS)

check-headers:
	@CC="$(CC)" HEADER_FLAGS="$(HEADER_FLAGS)" sh $(RUN_TESTS) tests/check_headers.sh

check-format:
	@sh $(RUN_TESTS) tests/check_format.sh

check-scripts: $(PROGRAM)
	@MTIP="$(abspath $(PROGRAM))" sh $(RUN_TESTS) tests/check_scripts.sh

check-e2e: $(PROGRAM)
	@MTIP="$(abspath $(PROGRAM))" sh $(RUN_TESTS) -t 300 $(wildcard tests/e2e_*.sh)

# ---- tools -----------------------------------------------------------------------------------
.PHONY: demo
demo: $(PROGRAM)
	@MTIP="$(PROGRAM)" sh scripts/demo.sh

.PHONY: install install-program
install: install-program
install-program: $(PROGRAM)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/mtip
	install -m 755 $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/mtip
	install -m 755 scripts/report.py $(DESTDIR)$(PREFIX)/share/mtip/report.py
	cp -R configs scripts/slurm $(DESTDIR)$(PREFIX)/share/mtip/

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
