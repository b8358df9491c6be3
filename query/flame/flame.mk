# SPDX-License-Identifier: MIT
# The page of weft flame, built into weft. Its script and style are let in by
# their hashes, which are of these files one after the other.
FLAME_STYLE := query/flame/style.css
FLAME_SCRIPT := $(patsubst %,query/flame/%.js,data stats graph colours draw \
	describe requests main)
FLAME_HASH = $$(cat $(1) | sha256sum | cut -c 1-64)

$(B)/gen/flame_page.h $(B)/gen/flame_page.c: query/flame/page.html \
		$(FLAME_STYLE) $(FLAME_SCRIPT) tools/embed-page.awk
	@mkdir -p $(@D)
	$(Q)awk -v part=$(@:$(B)/gen/flame_page.%=%) \
		-v style_hash=$(call FLAME_HASH,$(FLAME_STYLE)) \
		-v script_hash=$(call FLAME_HASH,$(FLAME_SCRIPT)) \
		-f tools/embed-page.awk query/flame/page.html $(FLAME_STYLE) \
		$(FLAME_SCRIPT) >$@

QUERY += $(B)/gen/flame_page.o
