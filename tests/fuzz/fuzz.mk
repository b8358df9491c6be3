# SPDX-License-Identifier: MIT
# Parsers of foreign bytes. Linked with replay.c they run over a corpus; with
# libFuzzer in its place they look for more.
FUZZ := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/f_*.c))
FUZZ_ROOMS := $(B)/query.a $(B)/collector.a $(B)/store.a
FUZZ_LIBS = $(RECORD_LIBS) $(QUERY_LIBS)
$(B)/fuzz/f_%: $(B)/tests/fuzz/f_%.o $(B)/tests/fuzz/replay.o $(FUZZ_ROOMS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(FUZZ_LIBS)
fuzz-programs: $(FUZZ)
tests: fuzz-programs

SEARCH := $(FUZZ:$(B)/fuzz/f_%=$(B)/fuzz/search_%)
$(B)/fuzz/search_%: $(B)/tests/fuzz/f_%.o $(FUZZ_ROOMS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ \
		$(FUZZ_LIBS)
fuzz-search: $(SEARCH)

# Look for more: each target for FUZZ_SECONDS, from where the last run ended;
# FUZZ_TARGETS names some of them.
fuzz:
	$(Q)tools/setup.sh
	$(Q)$(MAKE) $(JOBS) --no-print-directory CC=clang OPT='-O1 -g' \
		SAN=address,undefined,fuzzer-no-link B=build/fuzz fuzz-search
	$(Q)FUZZ_BUILD=build/fuzz/fuzz tests/fuzz/search.sh
.PHONY: fuzz fuzz-programs fuzz-search
