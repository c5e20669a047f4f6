#include "tests/unit/config_files.h"
#include "tests/unit/run_suite.h"
#include <fcntl.h>

static struct config config;

static void setup(void)
{
	config_files_setup();
}

static void teardown(void)
{
	config_done(&config);
	config_files_teardown();
}

START_TEST(what_is_not_written_has_its_default)
{
	const struct config_pipeline *pipeline;

	config_load_text(WITH_PIPELINE(""), &config);
	ck_assert_str_eq(config.state_dir, "/var/lib/idem");
	ck_assert_int_eq(config.log_level, LOG_LEVEL_NOTICE);
	ck_assert_ptr_null(config.admin.listen);
	ck_assert_str_eq(config.database.schema, "public");
	ck_assert_int_eq(config.database.max_connections, 100);
	ck_assert_int_eq(config.database.tcp_user_timeout_ms, 10000);
	ck_assert_uint_eq(config.pipeline_count, 1);
	pipeline = config_find_pipeline(&config, "billing");
	ck_assert_ptr_nonnull(pipeline);
	ck_assert_str_eq(pipeline->dlq_topic, "billing.dlq");
	ck_assert_int_eq(pipeline->ordering, CONFIG_ORDERING_PARTITION);
	ck_assert_int_eq(pipeline->workers, 1);
	ck_assert_int_eq(pipeline->batch.max, 500);
	ck_assert_int_eq(pipeline->batch.max_ms, 100);
	ck_assert_int_eq(pipeline->revoke_max_ms, 5000);
	ck_assert_int_eq(pipeline->drain_max_ms, 20000);
	ck_assert_int_eq(pipeline->plugin.timeout_ms, 30000);
	ck_assert_int_eq(pipeline->plugin.grace_ms, 5000);
	ck_assert_int_eq(pipeline->start, CONFIG_START_EARLIEST);
	ck_assert_int_eq(pipeline->dedup.retention_ms, 7 * INT64_C(86400000));
	ck_assert_int_eq(pipeline->dedup.day_ms, 86400000);
	ck_assert_int_eq(pipeline->event.max_future_ms, 3600000);
	ck_assert_int_eq(pipeline->event.max_bytes, 1 << 20);
	ck_assert_int_eq(pipeline->event.max_depth, 64);
	ck_assert_uint_eq(pipeline->event.id_count, 2);
	ck_assert_int_eq(pipeline->event.ids[0].place, CONFIG_PLACE_PAYLOAD);
	ck_assert_int_eq(pipeline->event.ids[1].place, CONFIG_PLACE_HEADER);
	ck_assert_str_eq(pipeline->event.ids[1].name, "eventId");
	ck_assert_str_eq(pipeline->event.type.name, "eventType");
	ck_assert_uint_eq(pipeline->retry.delays.count, 3);
	ck_assert_int_eq(pipeline->retry.delays.ms[2], 600000);
	ck_assert_ptr_null(config_find_pipeline(&config, "other"));
}
END_TEST

START_TEST(what_is_written_counts)
{
	const struct config_pipeline *pipeline;

	config_load_text(
	        WITH_PIPELINE(
	                "ordering = \"key\"; workers = 4; batch = { max = 7; max_ms = 250; };\n"
	                "event = { id = \"header:id\"; type = \"kind\"; key = \"/order/id\"; schemas = \"schemas/\";"
	                " id_version = \"any\"; tombstone = \"dlq\"; on_reuse = \"log\"; max_bytes = \"2MB\"; };\n"
	                "retry = { delays = [ ]; }; dedup = { retention = \"30d\"; day = \"12h\"; };\n"
	                "queue = { depth = 10; max_ahead = 20; max_ahead_time = \"1h\"; max_bytes = \"2GiB\"; };\n"
	                "dlq = { topic = \"dead\"; }; start = \"latest\"; isolation = \"event\";"
	                " memory_max = 8589934592L;"),
	        &config);
	pipeline = &config.pipelines[0];
	ck_assert_int_eq(pipeline->line, 3);
	ck_assert_int_eq(pipeline->ordering, CONFIG_ORDERING_KEY);
	ck_assert_int_eq(pipeline->workers, 4);
	ck_assert_int_eq(pipeline->batch.max_ms, 250);
	ck_assert_uint_eq(pipeline->event.id_count, 1);
	ck_assert_int_eq(pipeline->event.ids[0].place, CONFIG_PLACE_HEADER);
	ck_assert_str_eq(pipeline->event.ids[0].name, "id");
	ck_assert_str_eq(pipeline->event.type.name, "kind");
	ck_assert_str_eq(pipeline->event.key, "/order/id");
	ck_assert_int_eq(pipeline->event.id_version, CONFIG_ID_ANY);
	ck_assert_int_eq(pipeline->event.tombstone, CONFIG_TOMBSTONE_DLQ);
	ck_assert_int_eq(pipeline->event.on_reuse, CONFIG_REUSE_LOG);
	ck_assert_int_eq(pipeline->event.max_bytes, 2000000);
	ck_assert_uint_eq(pipeline->retry.delays.count, 0);
	ck_assert_int_eq(pipeline->dedup.day_ms, 43200000);
	ck_assert_int_eq(pipeline->queue.max_ahead_ms, 3600000);
	ck_assert_int_eq(pipeline->queue.max_bytes, INT64_C(2) << 30);
	ck_assert_str_eq(pipeline->dlq_topic, "dead");
	ck_assert_int_eq(pipeline->start, CONFIG_START_LATEST);
	ck_assert_int_eq(pipeline->isolation, CONFIG_ISOLATION_EVENT);
	ck_assert_int_eq(pipeline->memory_max, INT64_C(8589934592));
}
END_TEST

START_TEST(the_retry_mode_follows_the_ordering)
{
	static const struct {
		const char *text;
		enum config_retry_mode mode;
	} cases[] = {
	        {"", CONFIG_RETRY_IN_PLACE},
	        {"ordering = \"key\";", CONFIG_RETRY_PARKED},
	        {"ordering = \"none\";", CONFIG_RETRY_TOPICS},
	        {"ordering = \"none\"; retry = { mode = \"in_place\"; };", CONFIG_RETRY_IN_PLACE},
	        {"ordering = \"key\"; retry = { mode = \"topics\"; };", CONFIG_RETRY_TOPICS},
	};
	char text[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		config_done(&config);
		snprintf(text, sizeof(text), WITH_PIPELINE("%s"), cases[i].text);
		config_load_text(text, &config);
		ck_assert_int_eq(config.pipelines[0].retry.mode, cases[i].mode);
	}
}
END_TEST

START_TEST(paths_begin_at_the_folder_of_the_file)
{
	char expected[128];

	config_load_text(WITH_PIPELINE("event = { schemas = \"schemas\"; };"), &config);
	snprintf(expected, sizeof(expected), "%s/p.so", config_folder);
	ck_assert_str_eq(config.pipelines[0].plugin.file, expected);
	snprintf(expected, sizeof(expected), "%s/schemas", config_folder);
	ck_assert_str_eq(config.pipelines[0].event.schemas, expected);
}
END_TEST

START_TEST(a_file_can_include_another)
{
	config_file_write("more", "log_level = \"debug\";\n");
	config_load_text(WITH_HOST("@include \"more\""), &config);
	ck_assert_int_eq(config.log_level, LOG_LEVEL_DEBUG);
}
END_TEST

#define WITH_PASSWORD(text)                                                                                            \
	"database = { conninfo = \"host=x\"; " text " };\nkafka = { bootstrap_servers = \"b:1\"; };\n" PIPELINE_LINES  \
	"});\n"

START_TEST(a_password_comes_from_where_it_is_kept)
{
	config_load_text(WITH_PASSWORD("password_file = \"secret\";"), &config);
	ck_assert_str_eq(config.database.password, "s3cret");
	config_done(&config);
	ck_assert_int_eq(setenv("IDEM_TEST_PASSWORD", "from outside", 1), 0);
	config_load_text(WITH_PASSWORD("password_env = \"IDEM_TEST_PASSWORD\";"), &config);
	ck_assert_str_eq(config.database.password, "from outside");
	config_done(&config);
	config_load_text(WITH_PASSWORD("password = \"here\";"), &config);
	ck_assert_str_eq(config.database.password, "here");
}
END_TEST

START_TEST(options_are_kept_as_they_were_written)
{
	const struct config_properties *options;

	config_load_text(HOST_LINES
	                 "pipelines = ({ name = \"b\"; topics = [\"x\"]; plugin = { file = \"p.so\"; options = {\n"
	                 "currency = \"EUR\"; limit = 12; rate = 0.25; strict = true; tags = [\"a\", \"b\"];\n"
	                 "key = { file = \"secret\"; }; }; }; });\n",
	                 &config);
	options = &config.pipelines[0].plugin.options;
	ck_assert_uint_eq(options->count, 7);
	ck_assert_str_eq(options->items[0].value, "EUR");
	ck_assert_str_eq(options->items[1].value, "12");
	ck_assert_str_eq(options->items[2].value, "0.25");
	ck_assert_str_eq(options->items[3].value, "true");
	ck_assert_str_eq(options->items[4].name, "tags");
	ck_assert_str_eq(options->items[5].name, "tags");
	ck_assert_str_eq(options->items[5].value, "b");
	ck_assert_str_eq(options->items[6].value, "s3cret");
	ck_assert(options->items[6].secret && !options->items[0].secret);
}
END_TEST

static void expect_warning(const char *text, mode_t mode, const char *expected)
{
	struct config_report report;
	char *found;

	config_file_write("c", text);
	ck_assert_int_eq(chmod(config_path, mode), 0);
	ck_assert(config_load(config_path, &config, &report));
	ck_assert_uint_eq(report.error_count, 0);
	found = config_report_text(&report);
	ck_assert_str_eq(found, expected);
	free(found);
	config_report_done(&report);
	config_done(&config);
}

START_TEST(what_is_probably_not_meant_is_warned_of)
{
	expect_warning(WITH_PIPELINE("retry = { mode = \"topics\"; };"), 0644,
	               "c:5: warning: retry.mode: topics gives up the order of a partition when an event is retried; "
	               "use parked "
	               "to keep it\n");
	expect_warning(WITH_PIPELINE("ordering = \"key\"; retry = { mode = \"topics\"; };"), 0644,
	               "c:5: warning: retry.mode: topics gives up the order of a key when an event is retried; use "
	               "parked to "
	               "keep it\n");
	expect_warning(WITH_PIPELINE("ordering = \"none\";"), 0644, "");
	expect_warning(
	        WITH_HOST("admin = { listen = \"0.0.0.0:9464\"; };"), 0644,
	        "c:1: warning: admin.listen: 0.0.0.0:9464 can be reached from elsewhere, and without token_file by "
	        "everybody\n");
	expect_warning(WITH_HOST("admin = { listen = \"127.0.0.1:9464\"; };"), 0644, "");
	expect_warning(WITH_HOST("admin = { listen = \"0.0.0.0:9464\"; token_file = \"secret\"; };"), 0644, "");
}
END_TEST

START_TEST(a_secret_file_that_everybody_reads_is_warned_of)
{
	char path[128], expected[256];

	snprintf(path, sizeof(path), "%s/secret", config_folder);
	ck_assert_int_eq(chmod(path, 0644), 0);
	snprintf(expected, sizeof(expected), "c:1: warning: %s holds a secret and everybody can read it; chmod o-r\n",
	         path);
	expect_warning(WITH_HOST("admin = { listen = \"127.0.0.1:9464\"; token_file = \"secret\"; };"), 0644, expected);
	ck_assert_int_eq(chmod(path, 0600), 0);
}
END_TEST

START_TEST(a_file_with_secrets_that_everybody_reads_is_warned_of)
{
	static const char warning[] =
	        "c: warning: holds secrets and everybody can read it; chmod o-r, or keep them in files of their own\n";

	expect_warning(WITH_PASSWORD("password = \"here\";"), 0644, warning);
	expect_warning(WITH_PASSWORD("password = \"here\";"), 0640, "");
	expect_warning(WITH_PASSWORD("password_file = \"secret\";"), 0644, "");
	expect_warning(WITH_PIPELINE("kafka = { sasl_password = \"here\"; };"), 0644, warning);
	expect_warning(WITH_PIPELINE("kafka = { sasl_password_file = \"secret\"; };"), 0644, "");
}
END_TEST

START_TEST(a_descriptor_is_read_without_looking_at_files)
{
	struct config_report report;
	int fd;

	config_file_write("c", HOST_LINES
	                  "pipelines = ({ name = \"b\"; topics = [\"x\"]; plugin = { file = \"/gone.so\"; };\n"
	                  "event = { schemas = \"/gone\"; }; });\n");
	fd = open(config_path, O_RDONLY);
	ck_assert_int_ge(fd, 0);
	ck_assert(config_load_fd(fd, &config, &report));
	ck_assert_str_eq(config.pipelines[0].plugin.file, "/gone.so");
	ck_assert_int_eq(close(fd), 0); /* left open for the caller */
	config_report_done(&report);
	config_done(&config);
	ck_assert(!config_load_fd(-1, &config, &report));
	config_report_done(&report);
}
END_TEST

START_TEST(the_database_can_be_read_alone)
{
	struct config_report report;

	config_file_write("c", "database = { conninfo = \"host=x\"; password_file = \"secret\"; };\n"
	                       "pipelines = ({ name = \"b\"; plugin = { file = \"gone.so\"; }; });\n");
	ck_assert(config_load_database(config_path, &config, &report));
	ck_assert_str_eq(config.database.password, "s3cret");
	ck_assert_uint_eq(config.pipeline_count, 0);
	config_report_done(&report);
	config_done(&config);
	config_file_write("c", "database = { conninf = \"host=x\"; };\n");
	ck_assert(!config_load_database(config_path, &config, &report));
	ck_assert_uint_eq(report.error_count, 2);
	config_report_done(&report);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config");
	TCase *tests = tcase_create("config");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, what_is_not_written_has_its_default);
	tcase_add_test(tests, what_is_written_counts);
	tcase_add_test(tests, the_retry_mode_follows_the_ordering);
	tcase_add_test(tests, paths_begin_at_the_folder_of_the_file);
	tcase_add_test(tests, a_file_can_include_another);
	tcase_add_test(tests, a_password_comes_from_where_it_is_kept);
	tcase_add_test(tests, options_are_kept_as_they_were_written);
	tcase_add_test(tests, what_is_probably_not_meant_is_warned_of);
	tcase_add_test(tests, a_secret_file_that_everybody_reads_is_warned_of);
	tcase_add_test(tests, a_file_with_secrets_that_everybody_reads_is_warned_of);
	tcase_add_test(tests, a_descriptor_is_read_without_looking_at_files);
	tcase_add_test(tests, the_database_can_be_read_alone);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
