# sdk
idemincludedir = $(includedir)/idem
ideminclude_HEADERS = sdk/include/idem/plugin.h sdk/include/idem/sugar.h
