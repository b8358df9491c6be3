# SPDX-License-Identifier: MIT
# Writers of trace context, one for each way in which a thread's record can be
# found. Words as for unwind: a libc, how the variable is accessed, how the
# executable is linked; lib-* are the libraries.
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
# clang knows one dialect only.
tls_cc = $(if $(filter musl,$(tls_words)),musl-gcc,$(CC:clang%=gcc))
tls_flags = -std=c11 -D_GNU_SOURCE -O2 -g -I. $(WARN) \
	$(foreach word,$(wordlist 2,9,$(tls_words)),$(tls_$(word)))
$(TLS_DIR)/exe-%: tests/load/tls/main.c tests/load/tls/slot.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(tls_cc) $(tls_flags) -o $@ $(filter %.c,$^) -pthread
$(TLS_DIR)/lib-%.so: tests/load/tls/slot.c
	@mkdir -p $(@D)
	$(Q)$(tls_cc) $(tls_flags) -fPIC -shared -Wl,-soname,$(@F) -o $@ $<
$(TLS_DIR)/start-%: tests/load/tls/main.c $(TLS_DIR)/lib-%.so $(KNOWN_HEADERS)
	$(Q)$(tls_cc) $(tls_flags) -o $@ $< $(TLS_DIR)/lib-$*.so \
		-Wl,-rpath,'$$ORIGIN' -pthread
$(TLS_DIR)/opener-%: tests/load/tls/main.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(tls_cc) $(tls_flags) -DTLS_OPENS -o $@ $< -pthread
$(TLS_DIR)/life: tests/load/tls/life.c tests/load/tls/slot.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(tls_flags) $(tls_pie) -o $@ $(filter %.c,$^) -pthread
$(TLS_DIR)/flood: tests/load/tls/flood.c tests/load/tls/slot.c $(KNOWN_HEADERS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(tls_flags) $(tls_pie) -fno-omit-frame-pointer -o $@ \
		$(filter %.c,$^) -pthread
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
tls-writers: $(TLS_DIR)/life $(TLS_DIR)/flood $(TLS_DIR)/routes $(TLS_DIR)/reopen $(TLS_DIR)/hostile \
	$(TLS_GLIBC:%=$(TLS_DIR)/%) $(if $(shell command -v musl-gcc), \
	$(TLS_MUSL:%=$(TLS_DIR)/%))
.PHONY: tls-writers
tests: tls-writers
