# SPDX-License-Identifier: MIT
# weft: build/weft (reads), build/weft-record (records), build/weft-symbolize
# (names what a recording has no name for), build/weft-import (adds spans) and
# build/weft-doctor (says what stands in the way) and build/weft-list (what can be
# recorded).
#   make            all, after tools/setup.sh has installed what they need
#   make demo       set up, build, record a traced service, print the answer
#   make check      set up, build, run the tests (also check-asan,
#                   check-lint, check-long, check-interop, bench)
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
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
OPT ?= -O2 -g
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -I. -I$(B) $(WARN) $(OPT) $(SANFLAGS) \
	$(CFLAGS)
RECORD_LIBS := -lbpf -ldw -lelf -luv -lsqlite3 -lcap -liberty -lprotobuf-c \
	-llzma -lz -ljansson -lmicrohttpd
QUERY_LIBS := -lsqlite3 -lm

# A room is an archive; a program is its main.o and the rooms it may know.
objects = $(patsubst %.c,$(B)/%.o,$(filter-out %/main.c %_main.c, \
	$(wildcard $(1)/*.c)))
STORE := $(call objects,store) $(B)/gen/store_sql.o
COLLECTOR := $(call objects,collector) $(B)/gen/context_process.pb-c.o \
	$(B)/gen/otlp.pb-c.o
QUERY := $(call objects,query) $(B)/gen/query_sql.o

all: $(B)/weft $(B)/weft-record $(B)/weft-symbolize $(B)/weft-import \
	$(B)/weft-doctor $(B)/weft-list publisher

$(B)/weft: $(B)/query/main.o $(B)/query.a $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(QUERY_LIBS)

$(B)/weft-record: $(B)/collector/main.o $(B)/collector.a $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)

$(B)/weft-symbolize: $(B)/collector/symbolize_main.o $(B)/collector.a \
		$(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS) -ldebuginfod

$(B)/weft-import: $(B)/collector/import_main.o $(B)/collector.a $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)

$(B)/weft-doctor: $(B)/collector/doctor_main.o $(B)/collector.a $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)

$(B)/weft-list: $(B)/collector/list_main.o $(B)/collector.a $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)

$(B)/store.a: $(STORE)
$(B)/collector.a: $(COLLECTOR)
$(B)/query.a: $(QUERY)
%.a:
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Generated: statements, the kernel program and its skeleton.
GEN := $(B)/gen/store_sql.h $(B)/gen/query_sql.h $(B)/gen/weft.skel.h \
	$(B)/gen/threads.skel.h $(B)/gen/measure.skel.h $(B)/gen/syscalls.h \
	$(B)/gen/context_process.pb-c.h $(B)/gen/otlp.pb-c.h
STORE_SQL := $(wildcard store/sql/*.sql store/sql/schema/*.sql)
QUERY_SQL := $(wildcard query/*.sql)

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

# The parts of a process context (OTEP 4719) and of OTLP that are read.
$(B)/gen/%.pb-c.c $(B)/gen/%.pb-c.h: collector/%.proto
	@mkdir -p $(@D)
	$(Q)protoc-c --proto_path=collector --c_out=$(B)/gen $<

$(B)/%.o: %.c | $(GEN)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/gen/%.o: $(B)/gen/%.c | $(GEN)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# Tests. A unit test's second word names the room that it is of.
TEST_LIBS = $(RECORD_LIBS) $(QUERY_LIBS) -lcmocka
$(B)/tests/t_store_%: $(B)/tests/unit/t_store_%.o $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(QUERY_LIBS) -lcmocka
$(B)/tests/t_query_%: $(B)/tests/unit/t_query_%.o $(B)/query.a $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(QUERY_LIBS) -lcmocka
$(B)/tests/t_collector_%: $(B)/tests/unit/t_collector_%.o $(B)/collector.a \
		$(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)
$(B)/tests/unit/%.o: tests/unit/%.c | $(GEN)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# ---- demo, publisher and loads: programs of known behaviour. They keep frame
# pointers and named calls, so that what a profile must show is known.
KNOWN_FLAGS = -std=c11 -D_GNU_SOURCE -Itools/publisher $(WARN) -O2 -g \
	-fno-omit-frame-pointer -fno-optimize-sibling-calls $(SANFLAGS) $(CFLAGS)
PUBLISHER := tools/publisher/otel-thread-ctx.c
EXPORT_CONTEXT := -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
LOAD_SRC := tools/demo/load.c tools/demo/plan.c
SERVICE_SRC := $(filter-out $(LOAD_SRC),$(wildcard tools/demo/*.c)) $(PUBLISHER)
KNOWN_HEADERS := $(wildcard tools/demo/*.h tools/publisher/*.h tests/load/*.h \
	tests/load/tls/*.h)
KNOWN := $(B)/demo/service $(B)/demo/load \
	$(patsubst tests/load/%.c,$(B)/load/%,$(wildcard tests/load/*.c))

known: $(KNOWN)

$(B)/demo/service: $(SERVICE_SRC) $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) $(LDFLAGS) $(EXPORT_CONTEXT) -o $@ \
		$(SERVICE_SRC) -luv -lhttp_parser -lz -lcrypto
$(B)/demo/load: $(LOAD_SRC) $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) $(LDFLAGS) -o $@ $(LOAD_SRC) -lhttp_parser
$(B)/load/%: tests/load/%.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) $(LDFLAGS) -o $@ $<
$(B)/tests/t_tools_%: tests/unit/t_tools_%.c $(PUBLISHER) $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(EXPORT_CONTEXT) -o $@ $< \
		$(PUBLISHER) -lcmocka

# The publisher as applications get it: for programs and for libraries.
publisher: $(B)/libotel-thread-ctx.a
$(B)/libotel-thread-ctx.a: $(PUBLISHER) $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -Wpedantic $(WARN) $(OPT) -fPIC $(CFLAGS) \
		-c -o $(B)/otel-thread-ctx.o $<
	$(Q)rm -f $@ && $(AR) rcs $@ $(B)/otel-thread-ctx.o
# Always anew: PREFIX may be another at `make install` than at `make`.
$(B)/otel-thread-ctx.pc: tools/publisher/otel-thread-ctx.pc.in publisher
	$(Q)sed -e 's,@PREFIX@,$(PREFIX),' -e "s,@VERSION@,$$(sed -n \
		's/.*WEFT_VERSION "\(.*\)"/\1/p' store/weft.h)," $< >$@

# Set-up first, by a make of its own: it installs what the build looks for.
demo:
	$(Q)tools/setup.sh
	$(Q)$(MAKE) --no-print-directory all known
	$(Q)WEFT_BUILD=$(B) tools/demo/demo.sh
.PHONY: known publisher demo
# ---- end of demo, publisher and loads

# Programs for tests that need more than one source or a library.
$(B)/load/stuck_fs: tests/load/fuse/stuck_fs.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 $(WARN) $(shell pkg-config --cflags fuse3) \
		-o $@ $< $(shell pkg-config --libs fuse3)

# ---- unwind: known call chains, built in many ways. A variant's name is the
# compiler and words for flags, as gcc-O2-static; `few` and `all` list variants.
UNWIND_SRC := $(filter-out %/plugin.c,$(wildcard tests/load/unwind/*.c))
UNWIND_FEW := gcc-O2-pie gcc-O0-nopie gcc-O1-static gcc-O2-pie-fpleaf \
	gcc-O3-pie-gold-gc clang-O2-pie clang-O3-staticpie clang-O1-pie-lld
UNWIND_ALL := $(UNWIND_FEW) $(foreach cc,gcc clang,$(foreach opt,0 1 2 3, \
	$(foreach kind,pie nopie static staticpie,$(cc)-O$(opt)-$(kind))) \
	$(foreach more,pie-fp pie-fpleaf pie-lld pie-gold pie-separate \
	pie-joined pie-gc pie-apart nopie-apart static-nohdr static-lld-gc \
	static-gold pie-lld-joined,$(cc)-O2-$(more)))
unwind_pie := -fPIE -pie
unwind_nopie := -fno-PIE -no-pie
unwind_static := -fno-PIE -static -DCHAIN_STATIC
unwind_staticpie := -fPIE -static-pie -DCHAIN_STATIC
unwind_fp := -fno-omit-frame-pointer
unwind_fpleaf := -fno-omit-frame-pointer -momit-leaf-frame-pointer
unwind_lld := -fuse-ld=lld
unwind_gold := -fuse-ld=gold
unwind_separate := -Wl,-z,separate-code
unwind_joined := -Wl,-z,noseparate-code
unwind_gc := -ffunction-sections -Wl,--gc-sections
unwind_apart := -Wl,--section-start=apart_code=0x2000000
unwind_nohdr := -Wl,--no-eh-frame-hdr
unwind_words = $(subst -, ,$*)
unwind_flags = -std=c11 -D_GNU_SOURCE $(WARN) -fomit-frame-pointer \
	-foptimize-sibling-calls $(foreach word,$(wordlist 2,9,$(unwind_words)), \
	$(or $(unwind_$(word)),-$(word)))

$(B)/load/unwind/few: $(UNWIND_FEW:%=$(B)/load/unwind/%)
$(B)/load/unwind/all: $(sort $(UNWIND_ALL:%=$(B)/load/unwind/%))
$(B)/load/unwind/few $(B)/load/unwind/all:
	$(Q)echo $(^F) | tr ' ' '\n' >$@
$(B)/load/unwind/plugin_%.so: tests/load/unwind/plugin.c \
		tests/load/unwind/chain.h
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -D_GNU_SOURCE $(WARN) -fomit-frame-pointer -fPIC -shared \
		-nostartfiles -DROOM=$(if $(filter a,$*),64,4096) -Wl,-z,lazy -o $@ $<
$(B)/load/unwind/%: $(UNWIND_SRC) tests/load/unwind/chain.h
	@mkdir -p $(@D)
	$(Q)$(patsubst musl,musl-gcc,$(firstword $(unwind_words))) \
		$(unwind_flags) -o $@ $(UNWIND_SRC)
unwind-few unwind-all: unwind-%: $(B)/load/unwind/% \
		$(B)/load/unwind/plugin_a.so $(B)/load/unwind/plugin_b.so
.PHONY: unwind-few unwind-all

# The kernel program's walk, and its double built for user space, over stopped
# programs; and the double against libdwfl.
$(B)/unwind/compare: $(B)/tests/unwind/compare.o $(B)/tests/unwind/double.o \
		$(B)/collector.a $(B)/store.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(B)/unwind/at_syscall: $(B)/tests/unwind/at_syscall.o \
		$(B)/tests/unwind/double.o $(B)/collector.a $(B)/store.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(B)/tests/unwind/at_syscall.o: $(B)/gen/at_syscall.skel.h
$(B)/gen/at_syscall.bpf.o: tests/unwind/at_syscall.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -I. -c -o $@ $<
$(B)/gen/at_syscall.skel.h: $(B)/gen/at_syscall.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name at_syscall_bpf >$@
unwind-doubles: $(B)/unwind/compare $(B)/unwind/at_syscall
.PHONY: unwind-doubles
# ---- end of unwind

# ---- tls: writers of trace context, one for each way in which a thread's record
# can be found. Words as for unwind: a libc, how the variable is accessed, how
# the executable is linked; lib-* are the libraries.
TLS_GLIBC := exe-glibc-gnu-pie exe-glibc-gnu-nopie exe-glibc-gnu2-pie \
	exe-glibc-gnu2-nopie exe-glibc-gnu-static exe-glibc-gnu2-staticpie \
	exe-glibc-gnu-pie-lld start-glibc-gnu start-glibc-gnu2 start-glibc-ie \
	opener-glibc lib-glibc-gnu.so lib-glibc-gnu2.so lib-glibc-ie.so \
	lib-glibc-gnu2-large.so lib-glibc-none.so
TLS_MUSL := exe-musl-gnu-pie exe-musl-gnu2-pie exe-musl-gnu-static \
	start-musl-gnu start-musl-gnu2 opener-musl lib-musl-gnu.so \
	lib-musl-gnu2.so
TLS_DIR := $(B)/load/tls
tls_gnu := -mtls-dialect=gnu
tls_gnu2 := -mtls-dialect=gnu2
tls_ie := -ftls-model=initial-exec
tls_none := -DTLS_NO_CODE
tls_large := -DTLS_LARGE
tls_pie := -fPIE -pie -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
tls_nopie := -fno-PIE -no-pie -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
tls_static := -fno-PIE -static
tls_staticpie := -fPIE -static-pie
tls_lld := -fuse-ld=lld
tls_words = $(subst -, ,$*)
tls_cc = $(if $(filter musl,$(tls_words)),musl-gcc,$(CC))
tls_flags = -std=c11 -D_GNU_SOURCE -O2 -g -I. $(WARN) \
	$(foreach word,$(wordlist 2,9,$(tls_words)),$(tls_$(word)))
$(TLS_DIR)/exe-%: tests/load/tls/main.c tests/load/tls/slot.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(tls_cc) $(tls_flags) -o $@ $(filter %.c,$^) -pthread
$(TLS_DIR)/lib-%.so: tests/load/tls/slot.c
	@mkdir -p $(@D)
	$(Q)$(tls_cc) $(tls_flags) -fPIC -shared -o $@ $<
$(TLS_DIR)/start-%: tests/load/tls/main.c $(TLS_DIR)/lib-%.so $(KNOWN_HEADERS)
	$(Q)$(tls_cc) $(tls_flags) -o $@ $< $(TLS_DIR)/lib-$*.so \
		-Wl,-rpath,'$$ORIGIN' -pthread
$(TLS_DIR)/opener-%: tests/load/tls/main.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(tls_cc) $(tls_flags) -DTLS_OPENS -o $@ $< -pthread
$(TLS_DIR)/life: tests/load/tls/life.c tests/load/tls/slot.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(tls_flags) $(tls_pie) -o $@ $(filter %.c,$^) -pthread
$(TLS_DIR)/routes: tests/load/tls/routes.c tests/load/tls/slot.c \
		$(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(tls_flags) $(tls_pie) -fno-omit-frame-pointer -o $@ \
		$(filter %.c,$^) -pthread
$(TLS_DIR)/reopen: tests/load/tls/reopen.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(tls_flags) -o $@ $< -pthread
$(TLS_DIR)/hostile: tests/load/tls/hostile.c $(TLS_DIR)/lib-glibc-gnu.so \
		$(KNOWN_HEADERS)
	$(Q)$(CC) $(tls_flags) -o $@ $< $(TLS_DIR)/lib-glibc-gnu.so \
		-Wl,-rpath,'$$ORIGIN' -pthread
tls-writers: $(TLS_DIR)/life $(TLS_DIR)/routes $(TLS_DIR)/reopen $(TLS_DIR)/hostile \
	$(TLS_GLIBC:%=$(TLS_DIR)/%) $(if $(shell command -v musl-gcc), \
	$(TLS_MUSL:%=$(TLS_DIR)/%))
.PHONY: tls-writers
tests: tls-writers
# ---- end of tls

# ---- older: writers as agents before OTEP 4947 are; see the source.
older_elastic := -DOLDER_ELASTIC
older_labels := -DOLDER_LABELS -Wl,--export-dynamic
older_labels2 := -DOLDER_LABELS -DOLDER_ABI=2 -Wl,--export-dynamic
older_go = -DOLDER_GO='"go1.$(1).3"' -DOLDER_CURG=$(2) -DOLDER_AT=$(3) \
	-DOLDER_SLICE=$(4)
older_go17 := $(call older_go,17,192,360,0)
older_go21 := $(call older_go,21,192,344,0)
older_go23 := $(call older_go,23,192,352,0)
older_go24 := $(call older_go,24,192,352,1)
older_go25 := $(call older_go,25,184,344,1)
older_go26 := $(call older_go,26,184,352,1)
older_go99 := $(call older_go,99,184,352,1)
OLDER := $(patsubst %,$(B)/load/older/%,elastic labels labels2 go17 go21 \
	go23 go24 go25 go26 go99)
$(OLDER): $(B)/load/older/%: tests/load/older/writer.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) -I. $(older_$*) $(LDFLAGS) -o $@ $< -pthread
$(B)/load/older/probed: tests/load/older/probed.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) -I. $(LDFLAGS) -o $@ $< -pthread
tests: $(OLDER) $(B)/load/older/probed
# ---- end of older

# Lines as inspectors tell them, for tests/interop/40-addr2line.sh.
$(B)/lines/ask_lines: $(B)/tests/lines/ask_lines.o $(B)/collector.a \
		$(B)/store.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)
tests: $(B)/lines/ask_lines

# Parsers of foreign bytes. Linked with replay.c they run over a corpus; with
# -fsanitize=fuzzer in its place they look for more.
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/f_*.c))
$(B)/fuzz/f_%: $(B)/tests/fuzz/f_%.o $(B)/tests/fuzz/replay.o \
		$(B)/collector.a $(B)/store.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)

UNIT := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/t_*.c))
CLI := $(wildcard tests/cli/[0-9]*.sh)
LIVE := $(wildcard tests/live/[0-9]*.sh)
# Debian's programs before the wrappers of version managers, which take long to
# start; --timer shows where the minutes go.
PROVE = PATH=/usr/bin:$$PATH WEFT_BUILD=$(abspath $(B)) prove -e '' --comments \
	--timer
tests: all known unwind-few unwind-doubles $(B)/load/stuck_fs $(UNIT) $(FUZZ)

check:
	$(Q)tools/setup.sh
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)$(PROVE) -j2 $(UNIT) $(CLI)
	$(Q)$(PROVE) $(LIVE) # these measure: one at a time

# The user-space suite under AddressSanitizer and UBSan.
check-asan:
	$(Q)tools/setup.sh
	$(Q)$(MAKE) --no-print-directory SAN=address,undefined check-user
check-user: all known $(UNIT) $(FUZZ)
	$(Q)$(PROVE) $(UNIT) $(CLI)

# No warning by either compiler, the format, the layers, the scripts.
check-lint:
	$(Q)tools/setup.sh lint
	$(Q)$(MAKE) --no-print-directory DEV=1 CC=gcc B=build/dev-gcc tests
	$(Q)$(MAKE) --no-print-directory DEV=1 CC=clang B=build/dev-clang tests
	$(Q)tools/lint.sh

# Hours: many kills, long attribution, all ways to build the known chains.
check-long: check
	$(Q)SURVIVES_KILLS=500 ATTRIBUTION_SECONDS=120 UNWIND_MATRIX=all \
		NAMES_MANY=3000 NAMES_BUILDS=all TLS_SECONDS=60 LIFE_MS=30000 \
		JIT_MODES="swap grow anew late" MEASURE_CALLS=2500000 \
		CALLS=5000000 \
		TRUTH_REQUESTS=10000 TRUTH_TREES=100000 \
		$(PROVE) tests/live/25-whole-stacks.sh \
		tests/live/31-names.sh tests/live/33-many-binaries.sh \
		tests/live/35-jit-code.sh tests/live/40-survives.sh \
		tests/live/70-measure.sh tests/live/71-calls.sh \
		tests/live/61-tls-models.sh tests/live/62-lives.sh \
		tests/live/63-hostile-context.sh tests/live/67-truth.sh \
		$(wildcard tests/live/*attribution.sh)

# Heavy partners, each installed by the script that needs it.
check-interop:
	$(Q)tools/setup.sh interop
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)$(PROVE) $(wildcard tests/interop/[0-9]*.sh)

bench:
	$(Q)tools/setup.sh bench
	$(Q)$(MAKE) --no-print-directory tests
	$(Q)WEFT_BUILD=$(abspath $(B)) tools/bench/bench.sh

# ---- bench: programs that tools/bench measures with
BENCH := $(patsubst %,$(B)/bench/%,stopwatch store_rows generate build_table \
	empty_program)

$(B)/bench/stopwatch: $(B)/tools/bench/stopwatch.o $(B)/store.a
$(B)/bench/store_rows: $(B)/tools/bench/store_rows.o \
		$(B)/tools/bench/service.o $(B)/store.a
$(B)/bench/generate: $(B)/tools/bench/generate.o \
		$(B)/tools/bench/service.o $(B)/store.a
$(B)/bench/empty_program: $(B)/tools/bench/empty_program.o
$(B)/bench/build_table: $(B)/tools/bench/build_table.o $(B)/collector.a \
		$(B)/store.a
$(BENCH):
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS) $(QUERY_LIBS)
# The load deep as it is unwound by frame pointers alone, and by tables alone.
deep_pointers := -fno-asynchronous-unwind-tables -fno-unwind-tables
deep_tables := -fomit-frame-pointer
$(B)/load/deep_%: tests/load/deep.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) $(deep_$*) $(LDFLAGS) -o $@ $<
tests: $(BENCH) $(B)/load/deep_pointers $(B)/load/deep_tables
# ---- end of bench

install: all install-publisher
	$(INSTALL) -D -m 755 $(B)/weft $(DESTDIR)$(PREFIX)/bin/weft
	$(INSTALL) -D -m 755 $(B)/weft-record $(DESTDIR)$(PREFIX)/bin/weft-record
	$(INSTALL) -D -m 755 $(B)/weft-symbolize \
		$(DESTDIR)$(PREFIX)/bin/weft-symbolize
	$(INSTALL) -D -m 755 $(B)/weft-import $(DESTDIR)$(PREFIX)/bin/weft-import
	$(INSTALL) -D -m 755 $(B)/weft-doctor $(DESTDIR)$(PREFIX)/bin/weft-doctor
	$(INSTALL) -D -m 755 $(B)/weft-list $(DESTDIR)$(PREFIX)/bin/weft-list

install-publisher: publisher $(B)/otel-thread-ctx.pc
	$(INSTALL) -D -m 644 tools/publisher/otel-thread-ctx.h \
		$(DESTDIR)$(PREFIX)/include/otel-thread-ctx.h
	$(INSTALL) -D -m 644 $(B)/libotel-thread-ctx.a \
		$(DESTDIR)$(PREFIX)/lib/libotel-thread-ctx.a
	$(INSTALL) -D -m 644 $(B)/otel-thread-ctx.pc \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig/otel-thread-ctx.pc

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/weft $(DESTDIR)$(PREFIX)/bin/weft-record \
		$(DESTDIR)$(PREFIX)/bin/weft-symbolize \
		$(DESTDIR)$(PREFIX)/bin/weft-import \
		$(DESTDIR)$(PREFIX)/bin/weft-doctor \
		$(DESTDIR)$(PREFIX)/bin/weft-list \
		$(DESTDIR)$(PREFIX)/include/otel-thread-ctx.h \
		$(DESTDIR)$(PREFIX)/lib/libotel-thread-ctx.a \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig/otel-thread-ctx.pc

clean:
	rm -rf build

.PHONY: all tests check check-asan check-user check-lint check-long \
	check-interop bench install install-publisher uninstall clean
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
