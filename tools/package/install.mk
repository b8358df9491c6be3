# SPDX-License-Identifier: MIT
# What `make install` puts where, and the Debian package made of it. Each line
# of INSTALLED is a mode, a source and a place under PREFIX; uninstall removes
# the same places.
ZSH_DIR ?= share/zsh/site-functions
INSTALLED = $(foreach p,$(PROGRAMS),755:$(B)/$(p):bin/$(p)) \
	$(foreach m,$(wildcard man/*.[1-9]),644:$(m):share/man/man$(subst \
		.,,$(suffix $(m)))/$(notdir $(m))) \
	644:completions/weft.bash:share/bash-completion/completions/weft \
	644:completions/_weft:$(ZSH_DIR)/_weft \
	644:completions/weft.fish:share/fish/vendor_completions.d/weft.fish \
	644:$(B)/weft.so:lib/weft/weft.so
UNIT_DIR ?= lib/systemd/system
part = $(word $(1),$(subst :, ,$(2)))

install: all install-publisher
	$(Q)$(foreach i,$(INSTALLED),$(INSTALL) -D -m $(call part,1,$(i)) \
		$(call part,2,$(i)) $(DESTDIR)$(PREFIX)/$(call part,3,$(i)) &&) :
	$(Q)$(INSTALL) -d $(DESTDIR)$(PREFIX)/$(UNIT_DIR)
	$(Q)sed 's,@PREFIX@,$(PREFIX),' tools/package/weft.service.in \
		>$(DESTDIR)$(PREFIX)/$(UNIT_DIR)/weft.service

uninstall: uninstall-publisher
	$(Q)rm -f $(foreach i,$(INSTALLED),$(DESTDIR)$(PREFIX)/$(call \
		part,3,$(i))) \
		$(DESTDIR)$(PREFIX)/$(UNIT_DIR)/weft.service
	$(Q)rmdir $(DESTDIR)$(PREFIX)/lib/weft 2>/dev/null || :

# A package of this build, for the machine's own Debian release.
deb: all
	$(Q)tools/package/deb.sh $(B)

.PHONY: install uninstall deb
