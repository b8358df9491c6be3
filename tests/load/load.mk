# SPDX-License-Identifier: MIT
# Loads: programs of known behaviour, a source each.
$(B)/load/%: tests/load/%.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) $(LDFLAGS) -o $@ $<

# Its code has 32-bit addresses.
$(B)/load/code_32: tests/load/code_32.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(KNOWN_FLAGS) -fno-pie -no-pie -o $@ $<

# It needs a library.
$(B)/load/stuck_fs: tests/load/fuse/stuck_fs.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 $(WARN) $(shell pkg-config --cflags fuse3) \
		-o $@ $< $(shell pkg-config --libs fuse3)
tests: $(B)/load/stuck_fs
