/* What idemctl shows of a plugin's file. */
#include "core/base/escape.h"
#include "core/plugin/internal.h"
#include "core/plugin/metadata.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void print_json(const char *file, const struct plugin_metadata *metadata, const char *digest,
                       const struct elf_image *image, FILE *out)
{
	const struct {
		const char *name, *value;
	} texts[] = {{"file", file},
	             {"name", metadata->name},
	             {"version", metadata->version},
	             {"vendor", metadata->vendor},
	             {"build_id", metadata->build_id},
	             {"sha256", digest}};
	const char *symbol;

	fputc('{', out);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fprintf(out, "\"%s\": ", texts[i].name);
		escape_json(bytes_from_string(texts[i].value), out);
		fputs(", ", out);
	}
	fprintf(out, "\"abi_major\": %u, \"abi_minor\": %u, \"min_host_minor\": %u, \"loadable\": %s, \"exports\": [",
	        metadata->abi_major, metadata->abi_minor, metadata->min_host_minor,
	        metadata_check(metadata, NULL) ? "true" : "false");
	for (size_t i = 0; (symbol = elf_image_export(image, i)); i++)
		fprintf(out, "%s\"%s\"", i > 0 ? ", " : "", symbol);
	fputs("]}\n", out);
}

static void print_text(const char *file, const struct plugin_metadata *metadata, const char *digest,
                       const struct elf_image *image, FILE *out)
{
	struct error error = {0};
	const char *symbol;

	fprintf(out, "file      %s\nname      %s\nversion   %s\nvendor    %s\nbuild     %s\nsha256    %s\n", file,
	        metadata->name, metadata->version, metadata->vendor, metadata->build_id, digest);
	fprintf(out, "abi       %u.%u, needs a host with %u.%u or later\nexports  ", metadata->abi_major,
	        metadata->abi_minor, metadata->abi_major, metadata->min_host_minor);
	for (size_t i = 0; (symbol = elf_image_export(image, i)); i++)
		fprintf(out, " %s", symbol);
	fprintf(out, "\nthis host %s\n", metadata_check(metadata, &error) ? "can load it" : error.text);
}

/* Also shows a plugin that this host can't load: that is what people ask for. */
static bool print_image(const char *file, bool json, const struct elf_image *image, FILE *out, struct error *error)
{
	char digest[METADATA_DIGEST_BYTES];
	struct bytes section = elf_image_section(image, IDEM_METADATA_SECTION);
	struct plugin_metadata metadata;

	if (!section.ptr)
		return error_set(error, ERROR_PLUGIN, "has no section " IDEM_METADATA_SECTION ": it is no idem plugin");
	if (!metadata_parse(section, &metadata, error))
		return false;
	metadata_digest(image, digest);
	(json ? print_json : print_text)(file, &metadata, digest, image, out);
	return true;
}

bool plugin_print_inspect(const char *file, bool json, FILE *out, struct error *error)
{
	struct elf_image image;
	bool is_printed = elf_image_open(&image, file, error) && print_image(file, json, &image, out, error);

	elf_image_close(&image);
	return is_printed || error_wrap(error, "plugin %s", file);
}

/* ---- check ---- */

static void print_options(const struct plugin *plugin, FILE *out)
{
	for (size_t i = 0; i < plugin->options.count; i++) {
		const struct idem_option *row = plugin->options.items[i].row;
		fprintf(out, "option    %s: %s, preset %s%s%s\n", row->name, row->type,
		        row->preset ? row->preset : "none", row->help ? ": " : "", row->help ? row->help : "");
	}
}

static void print_created(const struct plugin *plugin, FILE *out)
{
	const struct idem_plugin *descriptor = &plugin->descriptor;

	fputs("types    ", out);
	for (const char *const *type = descriptor->event_types; type && *type; type++)
		fprintf(out, " %s", *type);
	fprintf(out, "%s\n", descriptor->event_types && descriptor->event_types[0] ? "" : " every known type");
	fprintf(out, "callbacks handle%s%s%s\n", descriptor->handle_batch ? ", handle_batch" : "",
	        plugin_is_concurrent(plugin) ? ", concurrent" : ", one worker",
	        plugin_is_isolated(plugin) ? ", isolated" : "");
	print_options(plugin, out);
	for (uint32_t i = 0; i < plugin->statement_count; i++)
		fprintf(out, "statement %u: %s\n", i + 1, plugin->statements[i]->pg.sql);
}

/* In the child: everything up to create() and destroy(). */
static int check_in_child(const char *file, FILE *out)
{
	const struct config_plugin config = {.file = (char *)(uintptr_t)file};
	struct error error = {0};
	struct plugin *plugin = plugin_open(file, &config, "check", &error);

	if (plugin && plugin_create(plugin, &error))
		print_created(plugin, out);
	plugin_destroy(plugin);
	if (error.code != ERROR_NONE)
		fprintf(out, "refused   %s\n", error.text);
	fflush(out);
	return error.code == ERROR_NONE ? 0 : 1;
}

static bool wait_for_child(pid_t child, struct error *error)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(error, ERROR_IO, "waiting for the check: %s", strerror(errno));
	if (WIFSIGNALED(status))
		return error_set(error, ERROR_PLUGIN, "it died of signal %d (%s) while it was loaded and created",
		                 WTERMSIG(status), strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0)
		return error_set(error, ERROR_PLUGIN, "it was refused");
	return true;
}

static bool check_exports(const char *file, FILE *out, struct error *error)
{
	struct elf_image image;
	const char *symbol;

	if (!elf_image_open(&image, file, error))
		return false;
	for (size_t i = 0; (symbol = elf_image_export(&image, i)); i++)
		if (strcmp(symbol, IDEM_ENTRY_SYMBOL) != 0)
			fprintf(out,
			        "warning   exports %s: link with -fvisibility=hidden, so that it meets no other "
			        "library's\n",
			        symbol);
	elf_image_close(&image);
	return true;
}

bool plugin_print_check(const char *file, FILE *out, struct error *error)
{
	if (!plugin_print_inspect(file, false, out, error))
		return false;
	if (!check_exports(file, out, error))
		return error_wrap(error, "plugin %s", file);
	fflush(out);
	pid_t child = fork();
	if (child < 0)
		return error_set(error, ERROR_IO, "fork: %s", strerror(errno));
	if (child == 0)
		_exit(check_in_child(file, out));
	return wait_for_child(child, error) || error_wrap(error, "plugin %s", file);
}
