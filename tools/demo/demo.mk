# SPDX-License-Identifier: MIT
# The demo: a traced service, and who asks it.
LOAD_SRC := tools/demo/load.c tools/demo/plan.c
SERVICE_SRC := $(filter-out $(LOAD_SRC),$(wildcard tools/demo/*.c)) $(PUBLISHER)

$(B)/demo/service: $(SERVICE_SRC) $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) $(LDFLAGS) $(EXPORT_CONTEXT) -o $@ \
		$(SERVICE_SRC) -luv -lhttp_parser -lz -lcrypto
$(B)/demo/load: $(LOAD_SRC) $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) $(LDFLAGS) -o $@ $(LOAD_SRC) -lhttp_parser

# Set-up first, by a make of its own: it installs what the build looks for.
demo:
	$(Q)tools/setup.sh
	$(Q)$(MAKE) $(JOBS) --no-print-directory all known
	$(Q)WEFT_BUILD=$(B) tools/demo/demo.sh
.PHONY: demo
