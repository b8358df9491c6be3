# SPDX-License-Identifier: MIT
# Known call chains, built in many ways. A variant's name is the compiler and
# words for flags, as gcc-O2-static; `few` and `all` list variants.
UNWIND_SRC := $(filter-out %/plugin.c,$(wildcard tests/load/unwind/*.c))
UNWIND_FEW := gcc-O2-pie gcc-O0-nopie gcc-O1-static gcc-O2-pie-fpleaf \
	clang-O3-staticpie clang-O1-pie-lld
UNWIND_ALL := $(UNWIND_FEW) gcc-O3-pie-gold-gc $(foreach cc,gcc clang,$(foreach opt,0 1 2 3, \
	$(foreach kind,pie nopie static staticpie,$(cc)-O$(opt)-$(kind))) \
	$(foreach more,pie-fp pie-fpleaf pie-lld pie-gold pie-separate \
	pie-joined pie-gc pie-apart nopie-apart static-nohdr static-lld-gc \
	static-gold pie-lld-joined,$(cc)-O2-$(more)))
unwind_pie := -fPIE -pie
unwind_nopie := -fno-PIE -no-pie
unwind_static := -fno-PIE -static -DCHAIN_STATIC
unwind_staticpie := -fPIE -static-pie -DCHAIN_STATIC
unwind_fp := -fno-omit-frame-pointer
unwind_fpleaf := -fno-omit-frame-pointer -momit-leaf-frame-pointer
unwind_lld := -fuse-ld=lld
unwind_gold := -fuse-ld=gold
unwind_separate := -Wl,-z,separate-code
unwind_joined := -Wl,-z,noseparate-code
unwind_gc := -ffunction-sections -Wl,--gc-sections
unwind_apart := -Wl,--section-start=apart_code=0x2000000
unwind_nohdr := -Wl,--no-eh-frame-hdr
unwind_words = $(subst -, ,$*)
unwind_flags = -std=c11 -D_GNU_SOURCE $(WARN) -fomit-frame-pointer \
	-foptimize-sibling-calls $(foreach word,$(wordlist 2,9,$(unwind_words)), \
	$(or $(unwind_$(word)),-$(word)))

$(B)/load/unwind/few: $(UNWIND_FEW:%=$(B)/load/unwind/%)
$(B)/load/unwind/all: $(sort $(UNWIND_ALL:%=$(B)/load/unwind/%))
$(B)/load/unwind/few $(B)/load/unwind/all:
	$(Q)echo $(^F) | tr ' ' '\n' >$@
$(B)/load/unwind/plugin_%.so: tests/load/unwind/plugin.c \
		tests/load/unwind/chain.h
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -D_GNU_SOURCE $(WARN) -fomit-frame-pointer -fPIC -shared \
		-nostartfiles -DROOM=$(if $(filter a,$*),64,4096) -Wl,-z,lazy -o $@ $<
$(B)/load/unwind/%: $(UNWIND_SRC) tests/load/unwind/chain.h
	@mkdir -p $(@D)
	$(Q)$(patsubst musl,musl-gcc,$(firstword $(unwind_words))) \
		$(unwind_flags) -o $@ $(UNWIND_SRC)
unwind-few unwind-all: unwind-%: $(B)/load/unwind/% \
		$(B)/load/unwind/plugin_a.so $(B)/load/unwind/plugin_b.so
.PHONY: unwind-few unwind-all

# The kernel program's walk, and its double built for user space, over stopped
# programs; and the double against libdwfl.
$(B)/unwind/compare: $(B)/tests/unwind/compare.o $(B)/tests/unwind/double.o \
		$(B)/collector.a $(B)/store.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(B)/unwind/at_syscall: $(B)/tests/unwind/at_syscall.o \
		$(B)/tests/unwind/double.o $(B)/collector.a $(B)/store.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ $(RECORD_LIBS)
$(B)/tests/unwind/at_syscall.o: $(B)/gen/at_syscall.skel.h
$(B)/gen/at_syscall.bpf.o: tests/unwind/at_syscall.bpf.c $(wildcard bpf/*.h)
	@mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -I. -c -o $@ $<
$(B)/gen/at_syscall.skel.h: $(B)/gen/at_syscall.bpf.o
	$(Q)$(BPFTOOL) gen skeleton $< name at_syscall_bpf >$@
unwind-doubles: $(B)/unwind/compare $(B)/unwind/at_syscall
.PHONY: unwind-doubles
tests: unwind-few unwind-doubles
