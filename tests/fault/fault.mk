# SPDX-License-Identifier: MIT
# What makes a recorder fail, loaded into it by LD_PRELOAD. Without sanitizers:
# they are loaded before the sanitizers' own libraries.
$(B)/fault/%.so: tests/fault/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARN) -O2 -g $(CFLAGS) -fPIC -shared \
		$(LDFLAGS) -o $@ $< -ldl $(LIBS)
$(B)/fault/crash_at.so: private LIBS := -lsqlite3
tests: $(patsubst tests/fault/%.c,$(B)/fault/%.so,$(wildcard tests/fault/*.c))
