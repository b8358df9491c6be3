# SPDX-License-Identifier: MIT
# The publisher: a source of programs of ours, and a library as applications get
# it, for programs and for libraries.
PUBLISHER := tools/publisher/otel-thread-ctx.c
EXPORT_CONTEXT := -Wl,--export-dynamic-symbol=otel_thread_ctx_v1

publisher: $(B)/libotel-thread-ctx.a
$(B)/libotel-thread-ctx.a: $(PUBLISHER) $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -Wpedantic $(WARN) $(OPT) -fPIC $(CFLAGS) \
		-c -o $(B)/otel-thread-ctx.o $<
	$(Q)rm -f $@ && $(AR) rcs $@ $(B)/otel-thread-ctx.o

install-publisher: publisher
	$(Q)$(INSTALL) -D -m 644 tools/publisher/otel-thread-ctx.h \
		$(DESTDIR)$(PREFIX)/include/otel-thread-ctx.h
	$(Q)$(INSTALL) -D -m 644 $(B)/libotel-thread-ctx.a \
		$(DESTDIR)$(PREFIX)/lib/libotel-thread-ctx.a
	$(Q)$(INSTALL) -d $(DESTDIR)$(PREFIX)/lib/pkgconfig
	$(Q)sed -e 's,@PREFIX@,$(PREFIX),' -e "s,@VERSION@,$$(sed -n \
		's/.*WEFT_VERSION "\(.*\)"/\1/p' store/weft.h)," \
		tools/publisher/otel-thread-ctx.pc.in \
		>$(DESTDIR)$(PREFIX)/lib/pkgconfig/otel-thread-ctx.pc

uninstall-publisher:
	$(Q)rm -f $(DESTDIR)$(PREFIX)/include/otel-thread-ctx.h \
		$(DESTDIR)$(PREFIX)/lib/libotel-thread-ctx.a \
		$(DESTDIR)$(PREFIX)/lib/pkgconfig/otel-thread-ctx.pc
.PHONY: publisher install-publisher uninstall-publisher
