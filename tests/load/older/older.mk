# SPDX-License-Identifier: MIT
# Writers as agents before OTEP 4947 are; see the source.
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
$(B)/load/older/probed $(B)/load/older/obi: $(B)/load/older/%: \
		tests/load/older/%.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) -I. $(LDFLAGS) -o $@ $< -pthread
pair_otel_go := -DFIRST=otel -DSECOND=go -DHAS_OTEL -DHAS_GO $(older_go24)
pair_go_elastic := -DFIRST=go -DSECOND=elastic -DHAS_GO $(older_go24) \
	-DHAS_ELASTIC -Wl,--export-dynamic
pair_elastic_labels := -DFIRST=elastic -DSECOND=labels -DHAS_ELASTIC \
	-DHAS_LABELS -Wl,--export-dynamic
pair_labels_obi := -DFIRST=labels -DSECOND=obi -DHAS_LABELS -DHAS_OBI \
	-Wl,--export-dynamic
PAIRS := $(addprefix $(B)/load/older/,pair_otel_go pair_go_elastic \
	pair_elastic_labels pair_labels_obi)
$(PAIRS): $(B)/load/older/%: tests/load/older/pair.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) -I. $($*) $(LDFLAGS) -o $@ $< -pthread
tests: $(OLDER) $(B)/load/older/probed $(B)/load/older/obi $(PAIRS)
