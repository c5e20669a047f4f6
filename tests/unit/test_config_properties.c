#include "core/config/librdkafka.h"
#include "core/config/properties.h"
#include "tests/unit/config_files.h"
#include "tests/unit/run_suite.h"
#include <librdkafka/rdkafka.h>

static struct config config;
static struct config_properties consumer, producer;

static void setup(void)
{
	config_files_setup();
}

static void load(const char *host, const char *pipeline)
{
	char text[2048];

	snprintf(text, sizeof(text),
	         "database = { conninfo = \"host=x\"; };\nkafka = { bootstrap_servers = \"b:1\"; %s };\n" PIPELINE_LINES
	         "kafka = { %s };\n});\n",
	         host, pipeline);
	config_load_text(text, &config);
	config_consumer_properties(&config, &config.pipelines[0], &consumer);
	config_producer_properties(&config, &config.pipelines[0], &producer);
}

static void teardown(void)
{
	config_properties_done(&consumer);
	config_properties_done(&producer);
	config_done(&config);
	config_files_teardown();
}

START_TEST(our_defaults_are_there_unless_said_otherwise)
{
	load("", "");
	ck_assert_str_eq(properties_find(&consumer, "session.timeout.ms"), "30000");
	ck_assert_str_eq(properties_find(&consumer, "max.poll.interval.ms"), "60000");
	ck_assert_str_eq(properties_find(&consumer, "bootstrap.servers"), "b:1");
	ck_assert_str_eq(properties_find(&producer, "bootstrap.servers"), "b:1");
}
END_TEST

START_TEST(a_pipeline_overrides_what_holds_for_all)
{
	load("session_timeout_ms = 20000; fetch_min_bytes = 3; client_id = \"all\";", "session_timeout_ms = 10000;");
	ck_assert_str_eq(properties_find(&consumer, "session.timeout.ms"), "10000");
	ck_assert_str_eq(properties_find(&consumer, "fetch.min.bytes"), "3");
	ck_assert_str_eq(properties_find(&consumer, "client.id"), "all");
	config_properties_done(&consumer);
	config_consumer_properties(&config, NULL, &consumer);
	ck_assert_str_eq(properties_find(&consumer, "session.timeout.ms"), "20000");
}
END_TEST

START_TEST(each_client_gets_what_it_understands)
{
	load("linger_ms = 3; fetch_min_bytes = 2; compression_type = \"lz4\"; security_protocol = \"ssl\";",
	     "group_instance_id = \"one\"; partition_assignment_strategy = \"cooperative-sticky\";");
	ck_assert_ptr_null(properties_find(&consumer, "linger.ms"));
	ck_assert_ptr_null(properties_find(&consumer, "compression.type"));
	ck_assert_ptr_null(properties_find(&producer, "fetch.min.bytes"));
	ck_assert_ptr_null(properties_find(&producer, "session.timeout.ms"));
	ck_assert_ptr_null(properties_find(&producer, "partition.assignment.strategy"));
	ck_assert_str_eq(properties_find(&producer, "linger.ms"), "3");
	ck_assert_str_eq(properties_find(&producer, "security.protocol"), "ssl");
	ck_assert_str_eq(properties_find(&consumer, "security.protocol"), "ssl");
	ck_assert_str_eq(properties_find(&consumer, "partition.assignment.strategy"), "cooperative-sticky");
	ck_assert_str_eq(properties_find(&consumer, "group.instance.id"), "one");
}
END_TEST

START_TEST(secrets_come_from_files_and_are_marked)
{
	load("sasl_password_file = \"secret\"; sasl_username_file = \"secret\";", "ssl_key_password = \"x\";");
	ck_assert_str_eq(properties_find(&consumer, "sasl.password"), "s3cret");
	ck_assert_str_eq(properties_find(&producer, "sasl.username"), "s3cret");
	for (size_t i = 0; i < consumer.count; i++)
		ck_assert(consumer.items[i].secret == (strcmp(consumer.items[i].value, "s3cret") == 0 ||
		                                       strcmp(consumer.items[i].value, "x") == 0));
}
END_TEST

START_TEST(every_property_of_the_library_can_be_named)
{
	struct kafka_names names;
	char written[128];
	struct arena arena;

	arena_init(&arena, 16384);
	kafka_names_load(&arena, &names);
	ck_assert_uint_gt(names.count, 100);
	for (size_t i = 0; i < names.count; i++) {
		const struct kafka_name *found;

		kafka_name_written(names.items[i].name, written, sizeof(written));
		ck_assert_ptr_null(strchr(written, '.'));
		found = kafka_names_find(&names, written);
		ck_assert_ptr_nonnull(found);
		ck_assert_str_eq(found->name, names.items[i].name); /* no two are written the same */
	}
	arena_done(&arena);
}
END_TEST

static void create(rd_kafka_type_t type, const struct config_properties *properties)
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	char why[256] = "";
	rd_kafka_t *client;

	for (size_t i = 0; i < properties->count; i++)
		ck_assert_msg(rd_kafka_conf_set(conf, properties->items[i].name, properties->items[i].value, why,
		                                sizeof(why)) == RD_KAFKA_CONF_OK,
		              "%s", why);
	if (type == RD_KAFKA_CONSUMER)
		ck_assert_int_eq(rd_kafka_conf_set(conf, "group.id", "g", why, sizeof(why)), RD_KAFKA_CONF_OK);
	client = rd_kafka_new(type, conf, why, sizeof(why));
	ck_assert_msg(client != NULL, "%s", why);
	rd_kafka_destroy(client);
}

START_TEST(librdkafka_takes_them)
{
	load("linger_ms = 3; fetch_min_bytes = 2;", "session_timeout_ms = 45000; max_poll_interval_ms = 300000;");
	create(RD_KAFKA_CONSUMER, &consumer);
	create(RD_KAFKA_PRODUCER, &producer);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_properties");
	TCase *tests = tcase_create("config_properties");

	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, our_defaults_are_there_unless_said_otherwise);
	tcase_add_test(tests, a_pipeline_overrides_what_holds_for_all);
	tcase_add_test(tests, each_client_gets_what_it_understands);
	tcase_add_test(tests, secrets_come_from_files_and_are_marked);
	tcase_add_test(tests, every_property_of_the_library_can_be_named);
	tcase_add_test(tests, librdkafka_takes_them);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
