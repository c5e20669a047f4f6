#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin_fixture.h"

#define GOOD PLUGIN_DIR "good/"
#define BAD PLUGIN_DIR "bad/"

/* ---- bad_*: each is refused with one sentence that says what to do ---- */

enum when { AT_OPEN, AT_CREATE, AT_START, AT_RUN };

static const struct {
	const char *name;
	enum when when;
	const char *sentence;
} bad[] = {
        {"bad_no_section", AT_OPEN, "has no section .idem_plugin: it is no idem plugin, or lacks IDEM_PLUGIN_METADATA"},
        {"bad_metadata_twice", AT_OPEN, "section .idem_plugin has \"name\" twice"},
        {"bad_metadata_short", AT_OPEN, "section .idem_plugin lacks \"version\": write it with IDEM_PLUGIN_METADATA"},
        {"bad_no_entry", AT_OPEN, "exports no function idem_plugin_v1: declare it with IDEM_EXPORT and link it in"},
        {"bad_null", AT_OPEN, "idem_plugin_v1() answered NULL"},
        {"bad_file_major", AT_OPEN,
         "is built for plugin ABI 2, this host loads ABI 1: rebuild it with this host's idem/plugin.h"},
        {"bad_code_major", AT_OPEN, "its description says plugin ABI 2, this host loads ABI 1"},
        {"bad_min_host_minor", AT_OPEN, "needs a host with plugin ABI 1.7, this one offers 1.0: install a newer idemd"},
        {"bad_code_minor", AT_OPEN, "its file says ABI 1.0 (needs minor 0), its code says 1.0 (needs 7)"},
        {"bad_struct_size", AT_OPEN, "plugin ABI 1.0 has 128: set it to sizeof(struct idem_plugin)"},
        {"bad_no_struct_size", AT_OPEN, "its description has struct_size 0, plugin ABI 1.0 has 128"},
        {"bad_no_create", AT_OPEN, "it has no create(), which is required"},
        {"bad_no_handle", AT_OPEN, "it has no handle(), which is required"},
        {"bad_file_name", AT_OPEN, "section .idem_plugin has a \"name\" that is not valid"},
        {"bad_code_name", AT_OPEN, "its file says name \"bad_code_name\", its code says \"something_else\""},
        {"bad_version", AT_OPEN, "its version is not valid"},
        {"bad_no_vendor", AT_OPEN, "its vendor is missing"},
        {"bad_build_id", AT_OPEN, "its file says build_id \"tests\", its code says \"another\""},
        {"bad_type", AT_OPEN, "its event type 1 is not 1 to 200 bytes without blanks"},
        {"bad_type_twice", AT_OPEN, "it lists the event type \"a.v1\" twice"},
        {"bad_option_name", AT_OPEN, "option 1 has no valid name: [a-z][a-z0-9_]*"},
        {"bad_option_type", AT_OPEN, "option \"limit\" has the type \"integer\"; there are string int real"},
        {"bad_option_preset", AT_OPEN, "the preset of option \"limit\": \"many\" is not a whole number"},
        {"bad_option_twice", AT_OPEN, "option \"limit\" is declared twice"},
        {"bad_capability", AT_OPEN, "it has the capability bits 0x200, which this host does not know"},
        {"bad_extension", AT_OPEN, "it requires the extension \"idem.produce/1\", which this host does not offer"},
        {"bad_outbound", AT_OPEN, "outbound needs idem.http/1, which this host does not offer"},
        {"bad_symbol", AT_OPEN, "undefined symbol: function_that_nobody_has"},
        {"bad_create", AT_CREATE, "create() answered -3 (out of memory)"},
        {"bad_create_sql", AT_CREATE,
         "create() answered -1 (invalid); the host had refused: a statement begins with COMMIT"},
        {"bad_start_declare", AT_START,
         "start() answered -1 (invalid); the host had refused: statements are declared in"},
        {"bad_create_abort", AT_RUN, NULL},
        {"bad_throw", AT_RUN, NULL},
};
#define BAD_COUNT ((int)(sizeof(bad) / sizeof(bad[0])))

static void refused_with(const struct error *error, const char *file, const char *sentence)
{
	ck_assert_msg(error->code == ERROR_PLUGIN || error->code == ERROR_IO, "%s", error->text);
	ck_assert_msg(strncmp(error->text, "plugin ", 7) == 0, "does not say what: %s", error->text);
	ck_assert_msg(strstr(error->text, sentence), "%s: \"%s\" lacks \"%s\"", file, error->text, sentence);
	ck_assert_msg(!strchr(error->text, '\n'), "more than one line: %s", error->text);
}

START_TEST(a_plugin_that_breaks_a_rule_is_refused_with_one_sentence)
{
	char file[200];
	struct error error = {0};

	snprintf(file, sizeof(file), BAD "%s.so", bad[_i].name);
	struct plugin *plugin = fixture_open(file, NULL, &error);
	ck_assert_msg(!plugin == (bad[_i].when == AT_OPEN), "%s: %s", file, error.text);
	if (plugin && bad[_i].when != AT_RUN) {
		ck_assert_int_eq(plugin_create(plugin, &error), bad[_i].when != AT_CREATE);
		if (bad[_i].when == AT_START)
			ck_assert(!plugin_start(plugin, &error));
	}
	plugin_destroy(plugin);
	if (bad[_i].sentence)
		refused_with(&error, file, bad[_i].sentence);
}
END_TEST

START_TEST(every_bad_plugin_has_its_sentence)
{
	glob_t found;

	ck_assert_int_eq(glob(BAD "bad_*.so", 0, NULL, &found), 0);
	ck_assert_uint_eq(found.gl_pathc, BAD_COUNT);
	globfree(&found);
}
END_TEST

/* ---- files that are no plugins of this machine (G1) ---- */

static char *read_plugin(const char *file, size_t *out_size)
{
	static char data[4 << 20];
	FILE *in = fopen(file, "rb");

	ck_assert_ptr_nonnull(in);
	*out_size = fread(data, 1, sizeof(data), in);
	ck_assert(*out_size > 0 && *out_size < sizeof(data));
	fclose(in);
	return data;
}

static const char *write_file(const void *data, size_t size)
{
	static char path[] = "test_loader.XXXXXX.so";
	FILE *out;

	snprintf(path, sizeof(path), "test_loader.XXXXXX.so");
	int descriptor = mkstemps(path, 3);
	ck_assert_int_ge(descriptor, 0);
	out = fdopen(descriptor, "wb");
	ck_assert_ptr_nonnull(out);
	ck_assert_uint_eq(fwrite(data, 1, size, out), size);
	ck_assert_int_eq(fclose(out), 0);
	return path;
}

static void refused_file(const void *data, size_t size, const char *sentence)
{
	struct error error = {0};
	const char *path = write_file(data, size);

	ck_assert_ptr_null(fixture_open(path, NULL, &error));
	unlink(path);
	refused_with(&error, path, sentence);
}

START_TEST(another_machine_class_or_kind_of_file_is_refused)
{
	size_t size;
	char *data = read_plugin(GOOD "good_minimal.so", &size);
	Elf64_Ehdr *head = (Elf64_Ehdr *)data;
	Elf64_Ehdr kept = *head;

	refused_file("name = \"billing\";\n", 18, "is not a shared object (no ELF file)");
	refused_file("", 0, "is not a shared object (no ELF file)");
	head->e_ident[EI_CLASS] = ELFCLASS32;
	refused_file(data, size, "is not a 64-bit little-endian object");
	*head = kept;
	head->e_ident[EI_DATA] = ELFDATA2MSB;
	refused_file(data, size, "is not a 64-bit little-endian object");
	*head = kept;
	head->e_machine = EM_RISCV;
	refused_file(data, size, "is built for RISC-V, this host runs on");
	*head = kept;
	head->e_type = ET_EXEC;
	refused_file(data, size, "link it with -shared");
}
END_TEST

START_TEST(a_file_cut_off_anywhere_is_refused)
{
	size_t size;
	char *data = read_plugin(GOOD "good_minimal.so", &size);
	struct plugin_metadata metadata;

	for (size_t cut = 0; cut < size; cut += cut < 300 ? 1 : 997) {
		const char *path = write_file(data, cut);
		ck_assert_msg(!plugin_inspect(path, NULL, &metadata, NULL), "accepted %zu bytes", cut);
		unlink(path);
	}
}
END_TEST

START_TEST(no_byte_of_the_headers_makes_the_reader_leave_the_file)
{
	size_t size;
	char *data = read_plugin(GOOD "good_minimal.so", &size);
	uint64_t sections = ((Elf64_Ehdr *)data)->e_shoff;
	struct plugin_metadata metadata;

	for (size_t at = 0; at < 64 + (size - sections); at += at < 64 ? 1 : 3) {
		size_t place = at < 64 ? at : sections + at - 64;
		char kept = data[place];
		data[place] = (char)0xff;
		const char *path = write_file(data, size);
		(void)!plugin_inspect(path, NULL, &metadata, NULL);
		unlink(path);
		data[place] = kept;
	}
}
END_TEST

START_TEST(what_is_no_readable_file_is_refused)
{
	struct error error = {0};

	ck_assert_ptr_null(fixture_open("no/such/plugin.so", NULL, &error));
	refused_with(&error, "", "can't be opened: No such file");
	ck_assert_ptr_null(fixture_open(PLUGIN_DIR, NULL, &error));
	refused_with(&error, "", "is not a regular file");
}
END_TEST

START_TEST(another_digest_is_refused)
{
	struct error error = {0};
	struct config_plugin config = {.file = GOOD "good_minimal.so",
	                               .sha256 = "0000000000000000000000000000000000000000000000000000000000000000"};

	ck_assert_ptr_null(plugin_open(config.file, &config, "p", &error));
	refused_with(&error, config.file, "it is not the file that was approved");
}
END_TEST

/* ---- good_* ---- */

START_TEST(a_plugin_is_read_without_running_it)
{
	struct plugin_metadata metadata;
	struct error error = {0};

	ck_assert_msg(plugin_inspect(GOOD "good_newer.so", NULL, &metadata, &error), "%s", error.text);
	ck_assert_str_eq(metadata.name, "good_newer");
	ck_assert_str_eq(metadata.version, "1.0.0");
	ck_assert_str_eq(metadata.vendor, "idem");
	ck_assert_str_eq(metadata.build_id, "tests");
	ck_assert(metadata.abi_major == 1 && metadata.abi_minor == 7 && metadata.min_host_minor == 0);
}
END_TEST

START_TEST(a_longer_description_of_a_later_minor_is_accepted)
{
	struct plugin *plugin = fixture_create(GOOD "good_newer.so");

	ck_assert_uint_eq(plugin_descriptor(plugin)->abi_minor, 7);
	plugin_destroy(plugin);
}
END_TEST

START_TEST(the_least_plugin_runs_on_one_worker)
{
	struct plugin *plugin = fixture_create(GOOD "good_minimal.so");
	struct error error;

	ck_assert(!plugin_is_concurrent(plugin) && !plugin_is_isolated(plugin) && !plugin_has_lock_params(plugin));
	ck_assert(plugin_start(plugin, &error));
	ck_assert_int_eq(plugin_descriptor(plugin)->handle(plugin_self(plugin), NULL, NULL), IDEM_DONE);
	plugin_stop(plugin);
	plugin_destroy(plugin);
}
END_TEST

START_TEST(an_isolated_plugin_may_name_session_functions)
{
	struct plugin *plugin = fixture_create(GOOD "good_isolated.so");

	ck_assert(plugin_is_isolated(plugin));
	plugin_destroy(plugin);
}
END_TEST

START_TEST(statements_are_numbered_from_one)
{
	struct plugin *plugin = fixture_create(PLUGIN_DIR "ref/ref.so");

	ck_assert_ptr_null(plugin_statement(plugin, 0));
	ck_assert_ptr_nonnull(strstr(plugin_statement(plugin, 1)->pg.sql, "INSERT INTO effect"));
	ck_assert_int_eq(plugin_statement(plugin, 1)->pg.param_count, 5);
	ck_assert_uint_eq(plugin_statement(plugin, 3)->lock_param, 1);
	ck_assert_ptr_null(plugin_statement(plugin, 6));
	ck_assert(plugin_has_lock_params(plugin) && plugin_is_concurrent(plugin));
	plugin_destroy(plugin);
}
END_TEST

/* G3: two instances of one file share nothing. */
START_TEST(two_instances_are_made_and_destroyed_on_their_own)
{
	struct plugin *one = fixture_create(GOOD "good_life.so"), *other = fixture_create(GOOD "good_life.so");
	struct error error;

	ck_assert_ptr_ne(plugin_self(one), plugin_self(other));
	ck_assert(plugin_start(one, &error));
	plugin_stop(one);
	plugin_destroy(one);
	ck_assert(plugin_start(other, &error));
	plugin_destroy(other);
}
END_TEST

static char *metrics_text(const struct plugin *plugin)
{
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");

	plugin_print_metrics(plugin, out);
	fclose(out);
	return text;
}

/* Handles one event; the metrics count only when the caller applies them. */
static void handle_one(struct plugin *plugin, bool commits)
{
	static struct idem_call call;
	struct arena arena;
	struct backend backend = {0};
	struct idem_event view;

	arena_init(&arena, 4096);
	struct event event = fixture_event(&arena, "{\"a\":1}");
	plugin_event_view(plugin, &event, &arena, &view);
	call_init(&call, &(struct call_context){plugin, 0, &arena, &fixture_backend, &backend}, &event);
	ck_assert_int_eq(plugin_descriptor(plugin)->handle(plugin_self(plugin), call_enter(&call, 1000), &view),
	                 IDEM_DONE);
	call_leave(&call);
	if (commits)
		call_apply_metrics(&call);
	call_done(&call);
	arena_done(&arena);
}

START_TEST(metrics_of_a_call_count_when_it_commits)
{
	struct plugin *plugin = fixture_create(GOOD "good_life.so");
	struct error error;

	ck_assert(plugin_start(plugin, &error));
	handle_one(plugin, true);
	handle_one(plugin, false);
	handle_one(plugin, true);
	const char *text = metrics_text(plugin);
	ck_assert_ptr_nonnull(strstr(text, "idem_plugin_seen_total{pipeline=\"pipeline-of-a-test\"} 2\n"));
	ck_assert_ptr_nonnull(strstr(text, "idem_plugin_size_bucket{pipeline=\"pipeline-of-a-test\",le=\"10\"} 2\n"));
	ck_assert_ptr_nonnull(strstr(text, "idem_plugin_size_bucket{pipeline=\"pipeline-of-a-test\",le=\"5\"} 0\n"));
	ck_assert_ptr_nonnull(strstr(text, "idem_plugin_size_sum{pipeline=\"pipeline-of-a-test\"} 14\n"));
	ck_assert_ptr_nonnull(strstr(text, "idem_plugin_size_count{pipeline=\"pipeline-of-a-test\"} 2\n"));
	ck_assert_ptr_nonnull(
	        strstr(text, "# TYPE idem_plugin_stage gauge\nidem_plugin_stage{pipeline=\"pipeline-of-a-test\"} 2"));
	plugin_destroy(plugin);
}
END_TEST

/* ---- staging ---- */

START_TEST(a_staged_copy_is_named_by_its_digest_and_made_once)
{
	char directory[] = "test_loader.XXXXXX", path[500], again[500];
	struct error error = {0};
	struct stat first, second;
	struct plugin_metadata metadata;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_msg(plugin_stage(GOOD "good_minimal.so", directory, path, sizeof(path), &error), "%s", error.text);
	ck_assert_int_eq(stat(path, &first), 0);
	ck_assert_int_eq(first.st_mode & 0777, 0555);
	ck_assert(plugin_inspect(path, NULL, &metadata, &error));
	ck_assert(plugin_stage(GOOD "good_minimal.so", directory, again, sizeof(again), &error));
	ck_assert_str_eq(path, again);
	ck_assert_int_eq(stat(path, &second), 0);
	ck_assert_uint_eq(first.st_ino, second.st_ino);

	/* A copy that somebody has changed is made anew. */
	ck_assert_int_eq(chmod(path, 0755), 0);
	ck_assert_int_eq(truncate(path, 100), 0);
	ck_assert(plugin_stage(GOOD "good_minimal.so", directory, again, sizeof(again), &error));
	ck_assert(plugin_inspect(path, NULL, &metadata, &error));
	unlink(path);
	ck_assert_int_eq(rmdir(directory), 0);
	ck_assert(!plugin_stage(BAD "no_such.so", directory, path, sizeof(path), &error));
}
END_TEST

/* ---- what idemctl prints ---- */

static char printed[16384];

static bool prints(bool (*print)(FILE *out, struct error *error), struct error *error)
{
	FILE *out = tmpfile(); /* a real file: the check's child writes into it too */

	ck_assert_ptr_nonnull(out);
	bool is_fine = print(out, error);
	rewind(out);
	printed[fread(printed, 1, sizeof(printed) - 1, out)] = '\0';
	fclose(out);
	return is_fine;
}

static bool inspect_text(FILE *out, struct error *error)
{
	return plugin_print_inspect(GOOD "good_newer.so", false, out, error);
}

static bool inspect_json(FILE *out, struct error *error)
{
	return plugin_print_inspect(BAD "bad_min_host_minor.so", true, out, error);
}

static bool check_good(FILE *out, struct error *error)
{
	return plugin_print_check(GOOD "good_options.so", out, error);
}

static bool check_abort(FILE *out, struct error *error)
{
	return plugin_print_check(BAD "bad_create_abort.so", out, error);
}

static bool check_exports(FILE *out, struct error *error)
{
	return plugin_print_check(BAD "bad_no_entry.so", out, error);
}

START_TEST(inspect_prints_what_the_file_says)
{
	struct error error = {0};

	ck_assert_msg(prints(inspect_text, &error), "%s", error.text);
	ck_assert_ptr_nonnull(strstr(printed, "name      good_newer\n"));
	ck_assert_ptr_nonnull(strstr(printed, "abi       1.7, needs a host with 1.0 or later\n"));
	ck_assert_ptr_nonnull(strstr(printed, "exports   idem_plugin_v1\n"));
	ck_assert(prints(inspect_json, &error));
	ck_assert_ptr_nonnull(
	        strstr(printed, "\"min_host_minor\": 7, \"loadable\": false, \"exports\": [\"idem_plugin_v1\"]}\n"));
}
END_TEST

START_TEST(check_runs_the_plugin_in_a_process_of_its_own)
{
	struct error error = {0};

	ck_assert(!prints(check_good, &error)); /* its create() wants other options */
	ck_assert_ptr_nonnull(strstr(printed, "refused   plugin good_options: create() answered -1 (invalid)"));
	ck_assert(!prints(check_abort, &error));
	ck_assert_ptr_nonnull(strstr(error.text, "it died of signal 6"));
	ck_assert(!prints(check_exports, &error));
	ck_assert_ptr_nonnull(strstr(printed, "warning   exports idem_plugin_v2"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader");
	TCase *tests = tcase_create("loader");

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, a_plugin_that_breaks_a_rule_is_refused_with_one_sentence, 0, BAD_COUNT);
	tcase_add_test(tests, every_bad_plugin_has_its_sentence);
	tcase_add_test(tests, another_machine_class_or_kind_of_file_is_refused);
	tcase_add_test(tests, a_file_cut_off_anywhere_is_refused);
	tcase_add_test(tests, no_byte_of_the_headers_makes_the_reader_leave_the_file);
	tcase_add_test(tests, what_is_no_readable_file_is_refused);
	tcase_add_test(tests, another_digest_is_refused);
	tcase_add_test(tests, a_plugin_is_read_without_running_it);
	tcase_add_test(tests, a_longer_description_of_a_later_minor_is_accepted);
	tcase_add_test(tests, the_least_plugin_runs_on_one_worker);
	tcase_add_test(tests, an_isolated_plugin_may_name_session_functions);
	tcase_add_test(tests, statements_are_numbered_from_one);
	tcase_add_test(tests, two_instances_are_made_and_destroyed_on_their_own);
	tcase_add_test(tests, metrics_of_a_call_count_when_it_commits);
	tcase_add_test(tests, a_staged_copy_is_named_by_its_digest_and_made_once);
	tcase_add_test(tests, inspect_prints_what_the_file_says);
	tcase_add_test(tests, check_runs_the_plugin_in_a_process_of_its_own);
	return fixture_run(suite);
}
