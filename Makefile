# SPDX-License-Identifier: MIT
# weft (reads), weft-record (records), weft-symbolize (names what a recording
# has no name for), weft-import (adds spans), weft-doctor (says what stands in the
# way), weft-list (what can be recorded), weft-gc (lets go what is old); all in
# build/.
#   make            all, after tools/setup.sh has installed what they need
#   make demo       set up, build, record a traced service, print the answer
#   make check      set up, build, run the tests (also check-asan,
#                   check-lint, check-analysis, check-tsan, check-valgrind,
#                   check-long, check-interop)
#   make bench      measure beside perf and bpftrace (also bench-smoke)
#   make install    into PREFIX under DESTDIR (also uninstall); make deb
#   make fuzz       look for inputs that do harm; FUZZ_SECONDS a target (600)
# V=1 shows commands; DEV=1 makes warnings errors; SAN=address,undefined
# builds into a directory of its own.

all:

-include config.mak

B := build$(if $(SAN),/san)$(if $(filter clang%,$(CC)),/clang)
CC := $(if $(filter default undefined,$(origin CC)),gcc,$(CC))
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
INSTALL ?= install
PREFIX ?= /usr/local
Q := $(if $(V),,@)

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wformat=2 \
	$(if $(DEV),-Werror)
# What UBSan finds ends the program: else it would only be printed.
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer) \
	$(if $(findstring undefined,$(SAN)),-fno-sanitize-recover=undefined)
OPT ?= -O2 -g
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -I$(B) $(WARN) $(OPT) $(SANFLAGS) \
	$(CFLAGS)
RECORD_LIBS := -lbpf -ldw -lelf -luv -lsqlite3 -lcap -liberty -lprotobuf-c \
	-llzma -lz -ljansson -lmicrohttpd -lseccomp
QUERY_LIBS := -lsqlite3 -lm -lprotobuf-c -lz

# A room, with its folders, is an archive; a program is its main.o and the rooms
# that it may know.
objects = $(patsubst %.c,$(B)/%.o,$(filter-out %/main.c %_main.c, \
	$(wildcard $(1)/*.c $(1)/*/*.c)))
STORE := $(call objects,store) $(B)/gen/store_sql.o
COLLECTOR := $(call objects,collector) $(B)/gen/context_process.pb-c.o \
	$(B)/gen/otlp.pb-c.o
QUERY := $(call objects,query) $(B)/gen/query_sql.o $(B)/gen/pprof.pb-c.o \
	$(B)/gen/otlp_profiles.pb-c.o
include query/flame/flame.mk

# Those of the collector's that do not record: NAME_main.c makes weft-NAME.
BESIDE := weft-symbolize weft-import weft-doctor weft-list weft-gc
PROGRAMS := weft weft-record $(BESIDE)

all: $(PROGRAMS:%=$(B)/%) publisher

$(B)/weft: $(B)/query/main.o $(B)/query.a $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(QUERY_LIBS)
$(B)/weft-record: $(B)/collector/main.o $(B)/collector.a $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(BESIDE:%=$(B)/%): $(B)/weft-%: $(B)/collector/%_main.o $(B)/collector.a \
		$(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS) $(MORE_LIBS)
$(B)/weft-symbolize: private MORE_LIBS := -ldebuginfod

# Functions for other programs' SQLite; the same sources are in weft. Programs
# that load it have no sanitizers.
$(B)/weft.so: query/sql_functions.c query/stats.c query/sql_functions.h \
		query/stats.h store/weft.h
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -I. $(WARN) $(OPT) $(CFLAGS) \
		-DWEFT_EXTENSION -fPIC -fvisibility=hidden -shared $(LDFLAGS) \
		-o $@ $(filter %.c,$^) -lm
all: $(B)/weft.so

$(B)/store.a: $(STORE)
$(B)/collector.a: $(COLLECTOR)
$(B)/query.a: $(QUERY)
%.a:
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Generated: statements, the kernel program and its skeleton.
GEN := $(B)/gen/flame_page.h $(B)/gen/store_sql.h $(B)/gen/query_sql.h \
	$(B)/gen/weft.skel.h $(B)/gen/threads.skel.h $(B)/gen/measure.skel.h \
	$(B)/gen/syscalls.h \
	$(B)/gen/context_process.pb-c.h $(B)/gen/otlp.pb-c.h \
	$(B)/gen/pprof.pb-c.h $(B)/gen/otlp_profiles.pb-c.h
STORE_SQL := $(wildcard store/sql/*.sql store/sql/schema/*.sql)
QUERY_SQL := $(wildcard query/*.sql query/*/*.sql)

$(B)/gen/store_sql.h $(B)/gen/store_sql.c: $(STORE_SQL) tools/embed-sql.awk
	@mkdir -p $(@D)
	$(Q)awk -v room=store -v part=$(@:$(B)/gen/store_sql.%=%) \
		-f tools/embed-sql.awk $(STORE_SQL) >$@

$(B)/gen/query_sql.h $(B)/gen/query_sql.c: $(QUERY_SQL) tools/embed-sql.awk
	@mkdir -p $(@D)
	$(Q)awk -v room=query -v part=$(@:$(B)/gen/query_sql.%=%) \
		-f tools/embed-sql.awk $(QUERY_SQL) >$@

BPF_FLAGS = -g -O2 -Wall -Werror -target bpf -mcpu=v3 -D__TARGET_ARCH_x86 \
	-I/usr/include/$(shell $(CC) -print-multiarch)
$(B)/gen/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -c -o $@ $<

$(B)/gen/%.skel.h: $(B)/gen/%.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf >$@

# The numbers of system calls by name, as the C library's headers have them.
$(B)/gen/syscalls.h:
	@mkdir -p $(@D)
	$(Q)echo '#include <asm/unistd.h>' | $(CC) -E -dM - | sort | awk \
		'/^#define __NR_[a-z]/ { printf "{ \"%s\", %s },\n", \
		substr($$2, 6), $$3 }' >$@

# What is read of a process context (OTEP 4719) and of OTLP, and the formats of
# profiles that are written.
vpath %.proto collector/context collector/otlp query/export
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: %.proto
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=$(<D) --c_out=$(B)/gen $<

$(B)/%.o: %.c | $(GEN)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/gen/%.o: $(B)/gen/%.c | $(GEN)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Programs of known behaviour: the demo and the loads of tests. They keep frame
# pointers and named calls, so that what a profile must show is known.
KNOWN_FLAGS = -std=c11 -D_GNU_SOURCE -Itools/publisher $(WARN) -O2 -g \
	-fno-omit-frame-pointer -fno-optimize-sibling-calls $(SANFLAGS) $(CFLAGS)
KNOWN_HEADERS := $(wildcard tools/demo/*.h tools/publisher/*.h tests/load/*.h \
	tests/load/tls/*.h tests/load/older/*.h)
KNOWN := $(B)/demo/service $(B)/demo/load \
	$(patsubst tests/load/%.c,$(B)/load/%,$(wildcard tests/load/*.c))
known: $(KNOWN)

# What is built beside the rooms has its rules where its sources are. `tests` is
# all that tests run: each file of rules adds its own.
tests: all known
include tools/publisher/publisher.mk
include tools/demo/demo.mk
include tests/tests.mk
include tools/bench/bench.mk
include tools/package/install.mk

CLI := $(wildcard tests/cli/[0-9]*.sh)
# In check-long alone: they take long, or set the machine's clock.
LONG := $(patsubst %,tests/live/%.sh,27-mapping-lists 29-tables \
	33-many-binaries 35-jit-code 38-huge-dwarf 41-faults 42-disk 43-bounds \
	44-hotplug 45-shells 47-notify 48-health 52-privileges 63-hostile-context \
	65-trace-probe 66-obi 67-precedence 71-by-time 72-truth 82-measure \
	83-examples 84-wall 86-same-twice 88-keep 90-soak)
# Their figures need the machine to themselves.
ALONE := $(patsubst %,tests/live/%.sh,10-conserved 20-known-shape \
	25-whole-stacks 26-chain-judge 28-kernel-and-double 30-short-lives \
	32-kernel-names 60-attribution 61-tls-models 80-blocks 87-rate-lowered)
LIVE := $(filter-out $(LONG) $(ALONE),$(wildcard tests/live/[0-9]*.sh))
# Debian's programs before the wrappers of version managers, which take long to
# start; --timer shows where the minutes go.
PROVE_WITH = PATH=/usr/bin:$$PATH prove -e '' --comments --timer
PROVE = WEFT_BUILD=$(abspath $(B)) $(PROVE_WITH)

# On all CPUs, where the user did not say on how many.
JOBS = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

check:
	$(Q)tools/setup.sh
	$(Q)$(MAKE) $(JOBS) --no-print-directory tests
	$(Q)$(PROVE) -j4 $(UNIT) $(CLI)
	$(Q)$(PROVE) -j2 $(LIVE)
	$(Q)$(PROVE) $(ALONE)

# The user-space suite under AddressSanitizer and UBSan.
check-asan:
	$(Q)tools/setup.sh
	$(Q)$(MAKE) --no-print-directory SAN=address,undefined check-user
check-user: all known $(UNIT) $(FUZZ) $(B)/lines/ask_lines
	$(Q)$(PROVE) $(UNIT) $(CLI)

# No race, by ThreadSanitizer: the unit tests that have threads, what compares
# requests on two, and recordings (as root) of programs that are built without.
TSAN := $(B)/san-thread
TSAN_UNIT := $(patsubst %,$(TSAN)/tests/t_collector_%,inspect inspect_fails \
	inspect_turns jit receiver) $(TSAN)/tests/t_query_conveyor
check-tsan:
	$(Q)tools/setup.sh
	$(Q)$(MAKE) $(JOBS) --no-print-directory all known
	$(Q)$(MAKE) $(JOBS) --no-print-directory SAN=thread B=$(TSAN) all \
		$(TSAN_UNIT)
	$(Q)WEFT_LOAD=$(abspath $(B))/load WEFT_BUILD=$(abspath $(TSAN)) \
		TSAN_OPTIONS=exitcode=66 $(PROVE_WITH) $(TSAN_UNIT) \
		tests/cli/25-diff.sh tests/sanitize/races.sh

# No wrong access and no leak in what reads a recording, by valgrind.
check-valgrind:
	$(Q)tools/setup.sh valgrind
	$(Q)$(MAKE) $(JOBS) --no-print-directory all
	$(Q)$(PROVE) tests/sanitize/valgrind.sh

# No warning by either compiler, the format, the layers, the scripts.
check-lint:
	$(Q)tools/setup.sh lint
	$(Q)$(MAKE) --no-print-directory DEV=1 CC=gcc B=build/dev-gcc tests
	$(Q)$(MAKE) --no-print-directory DEV=1 CC=clang B=build/dev-clang tests
	$(Q)tools/lint.sh

# What clang-tidy finds.
check-analysis: all
	$(Q)tools/setup.sh lint
	$(Q)WEFT_BUILD=$(B) tools/analyse.sh

# Hours: many kills, long attribution, all ways to build the known chains. Writes
# docs/reliability.md.
check-long: check check-tsan check-valgrind
	$(Q){ SURVIVES_KILLS=500 ATTRIBUTION_SECONDS=120 UNWIND_MATRIX=all \
		NAMES_MANY=3000 NAMES_BUILDS=all TLS_SECONDS=60 LIFE_MS=30000 \
		JIT_MODES="swap grow anew late" MEASURE_CALLS=2500000 \
		CALLS=5000000 \
		TRUTH_REQUESTS=10000 TRUTH_TREES=100000 SIMULATION_RUNS=20 \
		FAULTS=all BOUNDS_SECONDS=60 SHELLS_SECONDS=1800 \
		SOAK_SECONDS=1800 DISK_STUCK=1 LAST_ROUNDS=100 \
		$(PROVE) \
		$(B)/tests/t_query_simulation \
		$(B)/tests/t_collector_elf_dwarf \
		$(B)/tests/t_store_faults tests/live/25-whole-stacks.sh \
		tests/live/31-names.sh \
		tests/live/40-survives.sh tests/live/61-tls-models.sh \
		tests/live/62-lives.sh tests/live/81-calls.sh $(LONG) \
		tests/live/64-flood.sh tests/live/85-last-interval.sh \
		$(wildcard tests/live/*attribution.sh) && \
		SOAK_NEW=1 SOAK_SECONDS=900 $(PROVE) tests/live/90-soak.sh && \
		SOAK_DAY=1 SOAK_SECONDS=1800 $(PROVE) tests/live/90-soak.sh; \
	echo $$? >$(B)/check-long.status; } | tee $(B)/check-long.log; \
	tools/reliability.sh $(B)/check-long.log >docs/reliability.md; \
	exit $$(cat $(B)/check-long.status)

# Heavy partners, each installed by the script that needs it.
check-interop:
	$(Q)tools/setup.sh interop
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)$(PROVE) $(wildcard tests/interop/[0-9]*.sh) \
		tests/cli/47-completion.sh

bench:
	$(Q)tools/setup.sh bench
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)WEFT_BUILD=$(abspath $(B)) tools/bench/bench.sh

# Whether it works, briefly; its figures are none.
bench-smoke:
	$(Q)tools/setup.sh bench-smoke
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)WEFT_BUILD=$(abspath $(B)) tools/bench/bench.sh --smoke

clean:
	rm -rf build

.PHONY: all known tests check check-asan check-user check-lint check-analysis \
	check-long check-interop check-tsan check-valgrind bench bench-smoke \
	clean
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(B) -type f -name '*.d' 2>/dev/null)
