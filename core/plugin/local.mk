# core/plugin: loading, ABI checks, the tables handed to plugins
libidemcore_a_SOURCES += \
	core/plugin/call.c core/plugin/call.h \
	core/plugin/descriptor.c \
	core/plugin/elf_image.c core/plugin/elf_image.h \
	core/plugin/handle.h \
	core/plugin/inspect.c \
	core/plugin/internal.h \
	core/plugin/loader.c \
	core/plugin/metadata.c core/plugin/metadata.h \
	core/plugin/options.c core/plugin/options.h \
	core/plugin/plugin.c core/plugin/plugin.h \
	core/plugin/rows.c core/plugin/rows.h \
	core/plugin/sql_check.c \
	core/plugin/stage.c \
	core/plugin/tables_call.c core/plugin/tables_host.c core/plugin/tables_metrics.c core/plugin/tables_tx.c
EXTRA_DIST += core/plugin/README.md
