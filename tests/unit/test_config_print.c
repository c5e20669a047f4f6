#include "tests/unit/config_files.h"
#include "tests/unit/run_suite.h"
#include <sys/mman.h>

static struct config config;

/* Everything that can be set, in two pipelines. */
static const char everything[] =
        "state_dir = \"state\"; log_level = \"debug\";\n"
        "database = { conninfo = \"host=127.0.0.1 password='s3 cret' user=billing\"; password_file = \"secret\"; "
        "schema = \"idem\";\n"
        "	pooler = \"transaction\"; max_connections = 50; allow_async_commit = true; connect_timeout = \"3s\"; "
        "};\n"
        "kafka = { bootstrap_servers = \"b:1\"; sasl_password_file = \"secret\"; ssl_key_password = \"s3cret\"; "
        "ssl_ca_location = "
        "\"/etc\"; };\n"
        "admin = { listen = \"127.0.0.1:9464\"; token_file = \"secret\"; };\n"
        "pipelines = ({ name = \"billing\"; topics = [\"orders\", \"more\"]; ordering = \"key\"; workers = 3;\n"
        "	plugin = { file = \"p.so\"; options = { note = \"a \\\"b\\\"\\n\\\\c\"; tags = [\"x\", \"y\"]; pin = { "
        "file = \"secret\"; }; };\n"
        "		sha256 = \"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\"; timeout = 1500; "
        "};\n"
        "	event = { id = [\"header:id\"]; type = \"header:kind\"; key = \"order\"; business_key = \"{a}:{b}\"; "
        "schemas = "
        "\"schemas\"; };\n"
        "	retry = { delays = [\"90s\", \"2h\"]; }; memory_max = \"1GiB\"; dlq = { topic = \"dead\"; };\n"
        "	kafka = { group_instance_id = \"one\"; fetch_wait_max_ms = 50; }; },\n"
        "{ name = \"audit\"; topics = [\"orders\"]; ordering = \"none\"; plugin = { file = \"p.so\"; }; });\n";

static void setup(void)
{
	config_files_setup();
	config_load_text(everything, &config);
}

static void teardown(void)
{
	config_done(&config);
	config_files_teardown();
}

static char *printed(const struct config *printed_config, const char *only, bool with_secrets)
{
	char *text = NULL;
	struct error error;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	ck_assert_msg(config_print(printed_config, only, with_secrets, memory, &error), "%s", error.text);
	fclose(memory);
	return text;
}

/* Through a descriptor, as a child gets it. */
static void read_back(const char *text, struct config *out_config)
{
	int fd = memfd_create("config", 0);
	struct config_report report;
	char *mistakes;

	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	if (!config_load_fd(fd, out_config, &report)) {
		mistakes = config_report_text(&report);
		ck_abort_msg("%s%s", mistakes, text);
	}
	config_report_done(&report);
	close(fd);
}

START_TEST(a_child_reads_back_what_its_parent_read)
{
	char *first = printed(&config, "billing", true), *second;
	const struct config_pipeline *pipeline;
	struct config child;

	read_back(first, &child);
	second = printed(&child, "billing", true);
	ck_assert_str_eq(first, second);
	ck_assert_uint_eq(child.pipeline_count, 1);
	pipeline = &child.pipelines[0];
	ck_assert_str_eq(child.database.password, "s3cret");
	ck_assert_str_eq(child.database.conninfo, "host=127.0.0.1 password='s3 cret' user=billing");
	ck_assert_str_eq(pipeline->plugin.options.items[0].value, "a \"b\"\n\\c");
	ck_assert_str_eq(pipeline->plugin.options.items[2].value, "y");
	ck_assert_str_eq(pipeline->plugin.options.items[3].value, "s3cret");
	ck_assert_int_eq(pipeline->plugin.timeout_ms, 1500);
	ck_assert_int_eq(pipeline->retry.delays.ms[1], 7200000);
	ck_assert_int_eq(pipeline->event.type.place, CONFIG_PLACE_HEADER);
	ck_assert_str_eq(pipeline->kafka.items[0].name, "group.instance.id");
	ck_assert_ptr_null(child.admin.listen);
	free(first);
	free(second);
	config_done(&child);
}
END_TEST

START_TEST(a_child_gets_its_own_pipeline_alone)
{
	char *text = printed(&config, "audit", true);

	ck_assert_ptr_null(strstr(text, "\"billing\""));
	ck_assert_ptr_nonnull(strstr(text, "\"audit\""));
	free(text);
}
END_TEST

START_TEST(people_are_shown_no_secret)
{
	char *text = printed(&config, NULL, false);

	ck_assert_ptr_null(strstr(text, "s3cret"));
	ck_assert_ptr_null(strstr(text, "s3 cret"));
	ck_assert_ptr_nonnull(strstr(text, "conninfo = \"user=billing password='(hidden)' host=127.0.0.1\";"));
	ck_assert_ptr_nonnull(strstr(text, "sasl_password = \"(hidden)\";"));
	ck_assert_ptr_nonnull(strstr(text, "ssl_key_password = \"(hidden)\";"));
	ck_assert_ptr_nonnull(strstr(text, "pin = \"(hidden)\";"));
	ck_assert_ptr_nonnull(strstr(text, "ssl_ca_location = \"/etc\";"));
	ck_assert_ptr_nonnull(strstr(text, "/secret\";"));
	ck_assert_ptr_null(strstr(text, "\tpassword = "));
	free(text);
}
END_TEST

START_TEST(a_password_written_in_the_file_is_hidden)
{
	char *text;

	config_done(&config);
	config_load_text("database = { conninfo = \"host=x\"; password = \"s3cret\"; };\n"
	                 "kafka = { bootstrap_servers = \"b:1\"; };\n" PIPELINE_LINES "});\n",
	                 &config);
	text = printed(&config, NULL, false);
	ck_assert_ptr_nonnull(strstr(text, "password = \"(hidden)\";"));
	ck_assert_ptr_nonnull(strstr(text, "conninfo = \"host=x\";"));
	free(text);
}
END_TEST

START_TEST(what_is_shown_without_secrets_can_be_loaded)
{
	char *text = printed(&config, NULL, false), *again;
	struct config shown;

	read_back(text, &shown);
	again = printed(&shown, NULL, false);
	ck_assert_uint_eq(shown.pipeline_count, 2);
	ck_assert_str_eq(shown.pipelines[1].dlq_topic, "audit.dlq");
	ck_assert_ptr_nonnull(strstr(again, "mode = \"topics\";"));
	free(text);
	free(again);
	config_done(&shown);
}
END_TEST

START_TEST(an_unknown_pipeline_and_a_full_disk_are_told)
{
	FILE *full = fopen("/dev/full", "w");
	struct error error;

	ck_assert(!config_print(&config, "gone", false, full, &error));
	ck_assert_int_eq(error.code, ERROR_NOT_FOUND);
	ck_assert(!config_print(&config, NULL, false, full, &error));
	ck_assert_int_eq(error.code, ERROR_IO);
	fclose(full);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_print");
	TCase *tests = tcase_create("config_print");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_child_reads_back_what_its_parent_read);
	tcase_add_test(tests, a_child_gets_its_own_pipeline_alone);
	tcase_add_test(tests, people_are_shown_no_secret);
	tcase_add_test(tests, a_password_written_in_the_file_is_hidden);
	tcase_add_test(tests, what_is_shown_without_secrets_can_be_loaded);
	tcase_add_test(tests, an_unknown_pipeline_and_a_full_disk_are_told);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
