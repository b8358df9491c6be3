# SPDX-License-Identifier: MIT
# Programs that the benchmarks measure with.
BENCH := $(patsubst %,$(B)/bench/%,stopwatch store_rows generate build_table \
	empty_program ctrl_c scale)

$(B)/bench/stopwatch: $(B)/tools/bench/stopwatch.o $(B)/store.a
$(B)/bench/store_rows: $(B)/tools/bench/store_rows.o \
		$(B)/tools/bench/service.o $(B)/store.a
$(B)/bench/generate: $(B)/tools/bench/generate.o \
		$(B)/tools/bench/service.o $(B)/store.a
$(B)/bench/empty_program: $(B)/tools/bench/empty_program.o
$(B)/bench/scale: $(B)/tools/bench/scale.o $(B)/collector.a $(B)/store.a
$(B)/bench/ctrl_c: $(B)/tools/bench/ctrl_c.o $(B)/store.a
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
