# sdk: headers, pkg-config file, template; and the gate that keeps the contract
idemincludedir = $(includedir)/idem
ideminclude_HEADERS = sdk/include/idem/plugin.h sdk/include/idem/sugar.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = sdk/idem-plugin.pc
templatedir = $(pkgdatadir)/template
dist_template_DATA = sdk/template/Makefile sdk/template/handler.c sdk/template/README.md
EXTRA_DIST += sdk/README.md sdk/idem-plugin.pc.in
CLEANFILES += sdk/idem-plugin.pc

sdk/idem-plugin.pc: sdk/idem-plugin.pc.in Makefile
	@$(MKDIR_P) $(@D)
	$(AM_V_GEN)sed -e 's|@prefix[@]|$(prefix)|' -e 's|@exec_prefix[@]|$(exec_prefix)|' -e 's|@includedir[@]|$(includedir)|' \
		-e 's|@libdir[@]|$(libdir)|' -e 's|@pkglibdir[@]|$(pkglibdir)|' -e 's|@VERSION[@]|$(VERSION)|' \
		$(srcdir)/sdk/idem-plugin.pc.in > $@

TESTS += tests/abi/run.sh
EXTRA_DIST += tests/abi/run.sh tests/abi/gen_contract.py tests/abi/contract_v1_0.c tests/abi/README.md
