# SPDX-License-Identifier: MIT
# What tests run. A unit test's second word names the room that it is of.
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/t_*.c))
TEST_LIBS = $(RECORD_LIBS) $(QUERY_LIBS) -lcmocka
$(B)/tests/t_store_%: $(B)/tests/unit/t_store_%.o $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(QUERY_LIBS) -lcmocka
$(B)/tests/t_store_faults: LDFLAGS += -Wl,--wrap=malloc,--wrap=calloc \
	-Wl,--wrap=realloc,--wrap=reallocarray,--wrap=strdup
$(B)/tests/t_query_%: $(B)/tests/unit/t_query_%.o $(B)/query.a $(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(QUERY_LIBS) -lcmocka
$(B)/tests/t_collector_%: $(B)/tests/unit/t_collector_%.o $(B)/collector.a \
		$(B)/store.a
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(TEST_LIBS)
$(B)/tests/unit/%.o: tests/unit/%.c | $(GEN)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/tests/t_tools_%: tests/unit/t_tools_%.c $(PUBLISHER) $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(EXPORT_CONTEXT) -o $@ $< \
		$(PUBLISHER) -lcmocka
tests: $(UNIT)

# Lines as inspectors tell them, for tests/interop/40-addr2line.sh.
$(B)/lines/ask_lines: $(B)/tests/lines/ask_lines.o $(B)/collector.a \
		$(B)/store.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)
tests: $(B)/lines/ask_lines

include tests/fuzz/fuzz.mk
include tests/fault/fault.mk
include tests/load/load.mk
include tests/load/tls/tls.mk
include tests/load/older/older.mk
include tests/unwind/unwind.mk
