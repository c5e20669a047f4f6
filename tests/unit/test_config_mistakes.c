#include "tests/unit/config_files.h"
#include "tests/unit/run_suite.h"

struct wrong {
	const char *text;
	const char *expected; /* the whole report; FOLDER stands for the folder of the file */
};

#define TOPIC_RULE "can't be the name of a topic or group: letters, digits, dots, underscores and hyphens are allowed\n"
#define HUNDRED "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"

static const struct wrong wrong[] = {
        /* what libconfig itself finds */
        {WITH_PIPELINE("workers = ;"), "c:5: error: syntax error\n"},
        {WITH_PIPELINE("workers = 1; workers = 2;"), "c:5: error: duplicate setting name\n"},
        {"@include \"gone\"\n" HOST_LINES,
         "c:1: error: @include: FOLDER/gone can't be opened: No such file or directory\n"},

        /* names */
        {WITH_HOST("log_levl = \"info\";"), "c:1: error: log_levl: unknown setting; did you mean log_level?\n"},
        {WITH_HOST("zzzzzz = 1;"), "c:1: error: zzzzzz: unknown setting\n"},
        {WITH_PIPELINE("wrokers = 1;"), "c:5: error: pipelines.wrokers: unknown setting; did you mean workers?\n"},
        {WITH_PIPELINE("bacth = { };"), "c:5: error: pipelines.bacth: unknown setting; did you mean batch?\n"},
        {WITH_PIPELINE("batch = { maxi = 1; };"), "c:5: error: batch.maxi: unknown setting; did you mean max?\n"},

        /* numbers that libconfig would cut to 32 bits */
        {WITH_PIPELINE("workers = 4294967297; # not 4294967298\n"),
         "c:5: error: 4294967297 is too large for a plain number; write 4294967297L, or a size such as \"8GiB\"\n"},
        {WITH_PIPELINE("workers = 4294967297L;"),
         "c:5: error: workers: 4294967297 is out of bounds, 1 to 256 are allowed\n"},

        /* types */
        {WITH_PIPELINE("workers = \"4\";"), "c:5: error: workers: must be a whole number, is text\n"},
        {WITH_PIPELINE("workers = 1.5;"), "c:5: error: workers: must be a whole number, is a number with a fraction\n"},
        {WITH_PIPELINE("ordering = 1;"), "c:5: error: ordering: must be text in quotes, is a whole number\n"},
        {WITH_PIPELINE("batch = 5;"), "c:5: error: batch: must be a group { … }, is a whole number\n"},
        {WITH_PIPELINE("revoke_max = true;"),
         "c:5: error: revoke_max: must be a duration such as \"30s\", is true or false\n"},
        {WITH_PIPELINE("memory_max = [ ];"),
         "c:5: error: memory_max: must be a size such as \"64MiB\", is an array [ … ]\n"},
        {WITH_PIPELINE("retry = { delays = { }; };"),
         "c:5: error: retry.delays: must be an array [ … ], is a group { … }\n"},
        {WITH_PIPELINE("kafka = \"x\";"), "c:5: error: kafka: must be a group { … }, is text\n"},
        {WITH_PIPELINE("kafka = { client_id = [\"x\"]; };"),
         "c:5: error: kafka.client_id: must be text, a number, or true or false\n"},
        {HOST_LINES "pipelines = { };\n",
         "c:3: error: pipelines: must be a list of at least one group; write pipelines = ({ name = … });\n"},
        {HOST_LINES "pipelines = ( );\n",
         "c:3: error: pipelines: must be a list of at least one group; write pipelines = ({ name = … });\n"},
        {HOST_LINES,
         "c:1: error: pipelines: must be a list of at least one group; write pipelines = ({ name = … });\n"},
        {HOST_LINES "pipelines = (3);\n", "c:3: error: pipelines: must be a group { … }, is a whole number\n"},

        /* units and bounds */
        {WITH_PIPELINE("retry = { delays = [\"5s\", \"10 m\"]; };"),
         "c:5: error: retry.delays: 10 m is no duration; write 100ms, 30s, 5m, 1h or 7d\n"},
        {WITH_PIPELINE("revoke_max = \"5\";"),
         "c:5: error: revoke_max: 5 is no duration; write 100ms, 30s, 5m, 1h or 7d\n"},
        {WITH_PIPELINE("queue = { max_bytes = \"64Mb\"; };"),
         "c:5: error: queue.max_bytes: 64Mb is no size; write 512B, 64KiB, 64MiB, 1GiB, or 64kB, 64MB, 1GB\n"},
        {WITH_PIPELINE("queue = { max_bytes = \"9999999999GiB\"; };"),
         "c:5: error: queue.max_bytes: 9999999999GiB is no size; write 512B, 64KiB, 64MiB, 1GiB, or 64kB, 64MB, 1GB\n"},
        {WITH_PIPELINE("workers = 0;"), "c:5: error: workers: 0 is out of bounds, 1 to 256 are allowed\n"},
        {WITH_PIPELINE("workers = 257;"), "c:5: error: workers: 257 is out of bounds, 1 to 256 are allowed\n"},
        {WITH_PIPELINE("batch = { max = 0; };"), "c:5: error: batch.max: 0 is out of bounds, 1 to 10000 are allowed\n"},
        {WITH_PIPELINE("batch = { max = 10001; };"),
         "c:5: error: batch.max: 10001 is out of bounds, 1 to 10000 are allowed\n"},
        {WITH_PIPELINE("batch = { max_ms = \"2m\"; };"),
         "c:5: error: batch.max_ms: 2m is out of bounds, 1ms to 1m are allowed\n"},
        {WITH_PIPELINE("event = { max_bytes = \"2GiB\"; };"),
         "c:5: error: event.max_bytes: 2GiB is out of bounds, 1B to 1GiB are allowed\n"},
        {WITH_PIPELINE("drain_max = -1;"),
         "c:5: error: drain_max: -1 is no duration; write 100ms, 30s, 5m, 1h or 7d\n"},

        /* choices */
        {WITH_PIPELINE("ordering = \"keys\";"),
         "c:5: error: ordering: \"keys\" is none of partition, key, none; did you mean key?\n"},
        {WITH_HOST("log_level = \"loud\";"),
         "c:1: error: log_level: \"loud\" is none of error, warning, notice, info, debug\n"},

        /* CONS-1: who the pipeline is */
        {HOST_LINES "pipelines = ({ topics = [\"orders\"];\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: name: is missing\n"},
        {HOST_LINES "pipelines = ({ name = \"\"; topics = [\"orders\"];\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: name: must not be empty\n"},
        {HOST_LINES "pipelines = ({ name = \"a b\"; topics = [\"orders\"];\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: name: \"a b\" " TOPIC_RULE},
        {HOST_LINES "pipelines = ({ name = \"" HUNDRED
                    "1\"; topics = [\"orders\"];\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: name: \"" HUNDRED "1\" is longer than 100 characters\n"},
        {HOST_LINES PIPELINE_LINES
         "}, { name = \"billing\"; topics = [\"orders\"]; plugin = { file = \"p.so\"; };\n});\n",
         "c:5: error: name: \"billing\" is already the name of the pipeline at line 3\n"},

        /* U9: topics */
        {HOST_LINES "pipelines = ({ name = \"billing\";\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: topics: is missing\n"},
        {HOST_LINES "pipelines = ({ name = \"billing\"; topics = [ ];\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: topics: must not be empty\n"},
        {HOST_LINES
         "pipelines = ({ name = \"billing\"; plugin = { file = \"p.so\"; };\ntopics = [\"a\", \"b\",\n\"a\"]; });\n",
         "c:5: error: topics: \"a\" is listed twice\n"},
        {HOST_LINES
         "pipelines = ({ name = \"billing\"; topics = [\"^orders.*\"];\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: topics: \"^orders.*\" " TOPIC_RULE},
        {HOST_LINES "pipelines = ({ name = \"billing\"; topics = [\"..\"];\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: topics: \"..\" can't be the name of a topic or group\n"},
        {WITH_PIPELINE("dlq = { topic = \"orders\"; };"), "c:5: error: dlq.topic: \"orders\" is also one of topics, so "
                                                          "that dead letters would be handled again and again\n"},
        {WITH_PIPELINE("dlq = { topic = \"billing.retry.x\"; };"),
         "c:5: error: dlq.topic: \"billing.retry.x\" contains .retry., so that dead letters would be read as retries; "
         "use "
         "another name\n"},
        {HOST_LINES "pipelines = ({ name = \"a.retry.b\"; topics = [\"x\"];\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: name: \"a.retry.b\" contains .retry., so that its topics would be read as the retry topics of a; "
         "use "
         "another name\n"},
        {HOST_LINES "pipelines = ({ name = \"b\"; topics = [\"x\", \"b.retry.10m\"]; ordering = \"none\";\n"
                    "plugin = { file = \"p.so\"; }; });\n",
         "c:3: error: topics: \"b.retry.10m\" is the retry topic of the delay 10m; leave it out\n"},
        {HOST_LINES "pipelines = ({ name = \"b\"; topics = [\"b.dlq\"];\nplugin = { file = \"p.so\"; }; });\n",
         "c:3: error: dlq.topic: \"b.dlq\" is also one of topics, so that dead letters would be handled again and "
         "again\n"},
        {HOST_LINES "pipelines = ({ name = \"a\"; topics = [\"x\",\n\"b.dlq\"]; plugin = { file = \"p.so\"; }; },\n"
                    "{ name = \"b\"; topics = [\"y\",\n\"a.retry.1s\"]; plugin = { file = \"p.so\"; }; });\n",
         "c:4: error: topics: \"b.dlq\" is where pipeline b puts its dead letters; leave it out, and send them again "
         "with idemctl dlq replay\n"
         "c:6: error: topics: \"a.retry.1s\" is a retry topic of pipeline a; leave it out\n"},

        /* retries */
        {WITH_PIPELINE("ordering = \"none\"; retry = { delays = [\"10m\", \"5s\"]; };"),
         "c:5: error: retry.delays: 5s comes after a longer one; write the delays in ascending order\n"},
        {WITH_PIPELINE("ordering = \"none\"; retry = { mode = \"parked\"; };"),
         "c:5: error: retry.mode: parked keeps an order, and ordering is none; use topics, or ordering = \"key\"\n"},
        {WITH_PIPELINE("retry = { mode = \"parked\"; max_parked = 10; max_parked_per_key = 11; };"),
         "c:5: error: retry.max_parked_per_key: must not be above retry.max_parked (10)\n"},
        {WITH_PIPELINE("ordering = \"none\"; retry = { delays = [\"60s\", \"1m\"]; };"),
         "c:5: error: retry.delays: 1m is there twice, and each delay has its own topic\n"},
        {WITH_PIPELINE("retry = { delays = [\"8d\"]; };"),
         "c:5: error: retry.delays: 8d is out of bounds, 10ms to 7d are allowed\n"},

        /* what librdkafka would find only when it connects */
        {WITH_PIPELINE("kafka = { ssl_ca_location = \"/nowhere/ca.pem\"; };"),
         "c:5: error: kafka.ssl_ca_location: /nowhere/ca.pem: No such file or directory\n"},
        {WITH_PIPELINE("kafka = { bootstrap_servers = \"\"; };"),
         "c:5: error: kafka.bootstrap_servers: must not be empty; write \"host:9092\"\n"},
        {WITH_PIPELINE("kafka = { bootstrap_servers = \"a:9092,b:65536\"; };"),
         "c:5: error: kafka.bootstrap_servers: \"b:65536\" has no valid port; 1 to 65535 are allowed\n"},
        {WITH_PIPELINE("kafka = { bootstrap_servers = \"SSL://[::1]:0,b\"; };"),
         "c:5: error: kafka.bootstrap_servers: \"SSL://[::1]:0\" has no valid port; 1 to 65535 are allowed\n"},
        {WITH_PIPELINE("kafka = { metadata_broker_list = \"a:kafka\"; };"),
         "c:5: error: kafka.metadata_broker_list: \"a:kafka\" has no valid port; 1 to 65535 are allowed\n"},

        /* CONS-2, CONS-4: what the host keeps to itself */
        {WITH_PIPELINE("kafka = { enable_auto_commit = false; };"),
         "c:5: error: kafka.enable_auto_commit: can't be set: the host commits an offset itself, after the transaction "
         "of its "
         "event; leave it out\n"},
        {WITH_PIPELINE("kafka = { enable_auto_offset_store = true; };"),
         "c:5: error: kafka.enable_auto_offset_store: can't be set: the host commits an offset itself, after the "
         "transaction of "
         "its event; leave it out\n"},
        {WITH_PIPELINE("kafka = { auto_offset_reset = \"latest\"; };"),
         "c:5: error: kafka.auto_offset_reset: can't be set: write start = \"earliest\" or \"latest\" in the "
         "pipeline\n"},
        {WITH_PIPELINE("kafka = { group_id = \"x\"; };"),
         "c:5: error: kafka.group_id: can't be set: the pipeline's name is its consumer group; write name = \"…\"\n"},
        {WITH_PIPELINE("kafka = { isolation_level = \"read_uncommitted\"; };"),
         "c:5: error: kafka.isolation_level: can't be set: the host reads committed records only; leave it out\n"},
        {WITH_PIPELINE("kafka = { acks = \"1\"; };"), "c:5: error: kafka.acks: can't be set: what the host writes must "
                                                      "be acknowledged by all in-sync replicas, in order; "
                                                      "leave it out\n"},
        {WITH_PIPELINE("kafka = { plugin_library_paths = \"x\"; };"),
         "c:5: error: kafka.plugin_library_paths: can't be set: the supervisor runs no foreign code; leave it out\n"},

        /* librdkafka */
        {WITH_PIPELINE("kafka = { sesion_timeout_ms = 1; };"),
         "c:5: error: kafka.sesion_timeout_ms: librdkafka has no such property; did you mean session_timeout_ms?\n"},
        {WITH_PIPELINE("kafka = { security_protocol = \"tls\"; };"),
         "c:5: error: kafka.security_protocol: Invalid value \"tls\" for configuration property "
         "\"security.protocol\"\n"},
        {WITH_PIPELINE("kafka = { sasl_password_file = \"gone\"; };"),
         "c:5: error: kafka.sasl_password_file: FOLDER/gone: No such file or directory\n"},
        {WITH_PIPELINE("kafka = { sasl_password_env = \"IDEM_TEST_UNSET\"; };"),
         "c:5: error: kafka.sasl_password_env: the environment variable IDEM_TEST_UNSET is not set\n"},
        {WITH_PIPELINE("kafka = { session_timeout_ms = 90000; };"),
         "c:5: error: kafka: session_timeout_ms (90000) must not be above max_poll_interval_ms (60000)\n"},
        {WITH_PIPELINE("revoke_max = \"1m\";"),
         "c:5: error: revoke_max: must be under max_poll_interval_ms (60000), after which "
         "the group goes on without us\n"},
        {"database = { conninfo = \"\"; };\nkafka = { };\n" PIPELINE_LINES "});\n",
         "c:1: error: database.conninfo: must not be empty\n"
         "c:3: error: kafka: bootstrap_servers is missing; write kafka = { bootstrap_servers = \"host:9092\"; };\n"},

        /* IDEM-X2: where a record lies is no identity */
        {WITH_PIPELINE("event = { business_key = \"{eventType}:{offset}\"; };"),
         "c:5: error: event.business_key: {offset}: where a record lies in kafka says nothing about what it means; a "
         "dedup key is "
         "built from payload fields and the type only\n"},
        {WITH_PIPELINE("event = { business_key = \"{/Partition}\"; };"),
         "c:5: error: event.business_key: {/Partition}: where a record lies in kafka says nothing about what it means; "
         "a dedup key "
         "is built from payload fields and the type only\n"},
        {WITH_PIPELINE("event = { id = \"kafka:offset\"; };"),
         "c:5: error: event.id: \"kafka:offset\" is no place; write payload:field or header:name\n"},
        {WITH_PIPELINE("event = { id = [\"timestamp\"]; };"),
         "c:5: error: event.id: timestamp: where a record lies in kafka is no identity; name the field that holds the "
         "event's "
         "uuid\n"},
        {WITH_PIPELINE("event = { id = [ ]; };"), "c:5: error: event.id: must not be empty\n"},
        {WITH_PIPELINE("event = { type = \"header:\"; };"),
         "c:5: error: event.type: \"header:\" names no field; write payload:field or header:name\n"},
        {WITH_PIPELINE("event = { business_key = \"{orderId\"; };"),
         "c:5: error: event.business_key: a brace is not closed; write {field}\n"},
        {WITH_PIPELINE("event = { business_key = \"orderId}\"; };"),
         "c:5: error: event.business_key: a brace is closed that was not opened; write {field}\n"},
        {WITH_PIPELINE("event = { business_key = \"a:{}\"; };"), "c:5: error: event.business_key: {} names no field\n"},
        {WITH_PIPELINE("event = { business_key = \"order\"; };"),
         "c:5: error: event.business_key: names no field that tells one event from another, such as {orderId}\n"},
        {WITH_PIPELINE("event = { business_key = \"" HUNDRED HUNDRED "{a}\"; };"),
         "c:5: error: event.business_key: makes keys of more than 200 characters\n"},

        {WITH_PIPELINE("event = { business_key = \"{eventType}\"; };"),
         "c:5: error: event.business_key: names no field that tells one event from another, such as {orderId}\n"},
        {WITH_PIPELINE("event = { business_key = \"{a}-{b}\"; };"),
         "c:5: error: event.business_key: needs a ':' before {b}, or different events could get the same key\n"},
        {WITH_PIPELINE("event = { business_key = \"{/a~2}\"; };"),
         "c:5: error: event.business_key: \"/a~2\" is no JSON pointer; ~ is written ~0\n"},
        {WITH_PIPELINE("event = { business_key = \"{/meta/offset}\"; };"),
         "c:5: error: event.business_key: {/meta/offset}: where a record lies in kafka says nothing about what it "
         "means; a dedup "
         "key is built from payload fields and the type only\n"},

        {WITH_PIPELINE("event = { key = \"/a~\"; };"),
         "c:5: error: event.key: \"/a~\" is no JSON pointer; ~ is written ~0\n"},
        {WITH_PIPELINE("event = { type = \"payload:/a~2/b\"; };"),
         "c:5: error: event.type: \"/a~2/b\" is no JSON pointer; ~ is written ~0\n"},
        {WITH_PIPELINE("event = { key = \"a~\"; type = \"header:/~\"; }; workers = 0;"),
         "c:5: error: workers: 0 is out of bounds, 1 to 256 are allowed\n"},

        /* files */
        {HOST_LINES "pipelines = ({ name = \"b\"; topics = [\"x\"];\nplugin = { }; });\n",
         "c:4: error: plugin.file: is missing\n"},
        {HOST_LINES "pipelines = ({ name = \"b\"; topics = [\"x\"];\n});\n", "c:3: error: plugin.file: is missing\n"},
        {HOST_LINES "pipelines = ({ name = \"b\"; topics = [\"x\"];\nplugin = { file = \"gone.so\"; }; });\n",
         "c:4: error: plugin.file: FOLDER/gone.so: No such file or directory\n"},
        {HOST_LINES "pipelines = ({ name = \"b\"; topics = [\"x\"];\nplugin = { file = \"schemas\"; }; });\n",
         "c:4: error: plugin.file: FOLDER/schemas is a folder\n"},
        {HOST_LINES
         "pipelines = ({ name = \"b\"; topics = [\"x\"];\nplugin = { file = \"p.so\"; sha256 = \"e3b0\"; }; });\n",
         "c:4: error: plugin.sha256: must be 64 hex digits, as sha256sum prints them\n"},
        {HOST_LINES "pipelines = ({ name = \"b\"; topics = [\"x\"];\nplugin = { file = \"p.so\"; options = { a = { b = "
                    "1; }; }; }; "
                    "});\n",
         "c:4: error: plugin.options.a: a group must be { file = \"…\" } or { env = \"…\" }\n"},
        {WITH_PIPELINE("event = { schemas = \"gone/\"; };"),
         "c:5: error: event.schemas: FOLDER/gone/: No such file or directory\n"},
        {WITH_PIPELINE("event = { schemas = \"p.so\"; };"), "c:5: error: event.schemas: FOLDER/p.so is no folder\n"},

        /* limits that belong together */
        {WITH_PIPELINE("workers = 99;"),
         "c:5: error: workers: the pipelines up to here need 101 database connections (workers + 2 each), but "
         "database.max_connections is 100; lower workers or raise it\n"},
        {WITH_PIPELINE("dedup = { day = \"1m\"; };"),
         "c:5: error: dedup: retention holds 10080 days, more than 1000 tables are too many; make day longer\n"},
        {WITH_PIPELINE("memory_max = \"100MiB\";"),
         "c:5: error: memory_max: must be at least twice queue.max_bytes (67108864)\n"},
        {WITH_PIPELINE("event = { max_bytes = \"65MiB\"; };"),
         "c:5: error: event.max_bytes: must not be above queue.max_bytes (67108864)\n"},

        /* admin port */
        {WITH_HOST("admin = { listen = \"9464\"; };"),
         "c:1: error: admin.listen: \"9464\" is no address; write 127.0.0.1:9464\n"},
        {WITH_HOST("admin = { listen = \"127.0.0.1:70000\"; };"),
         "c:1: error: admin.listen: \"127.0.0.1:70000\" has no valid port; 1 to 65535 are allowed\n"},
        {WITH_HOST("admin = { token_file = \"gone\"; };"),
         "c:1: error: admin.token_file: FOLDER/gone: No such file or directory\n"},
};

/* The database stands in HOST_LINES, so these bring their own. */
#define WITH_DATABASE(text)                                                                                            \
	"database = {\n" text "\n};\nkafka = { bootstrap_servers = \"127.0.0.1:9092\"; };\n" PIPELINE_LINES "});\n"

static const struct wrong wrong_database[] = {
        {WITH_DATABASE(""), "c:1: error: database.conninfo: is missing\n"},
        {WITH_DATABASE("conninfo = \"hos=1\";"), "c:2: error: database.conninfo: invalid connection option \"hos\"\n"},
        {WITH_DATABASE("conninfo = \"user=a password=s3cret and more\";"),
         "c:2: error: database.conninfo: is no connection string of libpq; write key=value pairs or a postgresql:// "
         "address\n"},
        {WITH_DATABASE("conninfo = \"postgresql://u:s3cret@[x/y\";"),
         "c:2: error: database.conninfo: is no connection string of libpq; write key=value pairs or a postgresql:// "
         "address\n"},
        {WITH_DATABASE("conninfo = \"host=x port=65536\";"),
         "c:2: error: database.conninfo: port=65536 is no valid port; 1 to 65535 are allowed\n"},
        {WITH_DATABASE("conninfo = \"host=x,y,z port=1,,5432x\";"),
         "c:2: error: database.conninfo: port=5432x is no valid port; 1 to 65535 are allowed\n"},
        {WITH_DATABASE("conninfo = \"postgresql://u:s3cret@x:0/d\";"),
         "c:2: error: database.conninfo: port=0 is no valid port; 1 to 65535 are allowed\n"},
        {WITH_DATABASE("conninfo = \"host=x sslmode=verify-full sslrootcert=/nowhere/ca.pem\";"),
         "c:2: error: database.conninfo: sslrootcert=/nowhere/ca.pem: No such file or directory\n"},
        {WITH_DATABASE("\nconninfo = \"host=x sslkey=/nowhere/key.pem sslcert=/nowhere/cert.pem password=s3cret\";"),
         "c:3: error: database.conninfo: sslcert=/nowhere/cert.pem: No such file or directory\n"},
        {WITH_DATABASE("conninfo = \"host=x\"; password_file = \"gone\";"),
         "c:2: error: database.password_file: FOLDER/gone: No such file or directory\n"},
        {WITH_DATABASE("conninfo = \"host=x\"; password_file = \"empty\";"),
         "c:2: error: database: the password can't be read: FOLDER/empty is empty\n"},
        {WITH_DATABASE("conninfo = \"host=x\"; password_env = \"IDEM_TEST_UNSET\";"),
         "c:2: error: database: the password can't be read: the environment variable IDEM_TEST_UNSET is not set\n"},
        {WITH_DATABASE("conninfo = \"host=x\";\npassword = \"a\"; password_file = \"secret\";"),
         "c:3: error: database: give one of password, password_file and password_env\n"},
        {WITH_DATABASE("conninfo = \"host=x\"; pooler = \"session\";"),
         "c:2: error: database.pooler: \"session\" is none of none, transaction\n"},
        {"database = { conninfo = \"host=x\"; pooler = \"transaction\"; };\n"
         "kafka = { bootstrap_servers = \"127.0.0.1:9092\"; };\n" PIPELINE_LINES "isolation = \"event\";\n});\n",
         "c:5: error: isolation: event needs a database session of its own, which database.pooler = \"transaction\" "
         "does "
         "not give; connect without the pooler or use isolation = \"batch\"\n"},
};

/* FOLDER in the expectation is where the file lies. */
static void expect(const struct wrong *one)
{
	char expected[2048] = "", *found;
	struct config_report report;
	struct config config;
	const char *rest = one->expected, *mark;

	for (; (mark = strstr(rest, "FOLDER")) != NULL; rest = mark + strlen("FOLDER"))
		snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%.*s%s", (int)(mark - rest),
		         rest, config_folder);
	snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s", rest);
	config_file_write("empty", "\n");
	config_file_write("c", one->text);
	chmod(config_path, 0600);
	ck_assert(!config_load(config_path, &config, &report));
	found = config_report_text(&report);
	ck_assert_str_eq(found, expected);
	free(found);
	config_report_done(&report);
	config_done(&config);
}

START_TEST(a_mistake_is_told_with_its_line)
{
	expect(&wrong[_i]);
}
END_TEST

START_TEST(a_mistake_of_the_database_is_told_with_its_line)
{
	expect(&wrong_database[_i]);
}
END_TEST

START_TEST(all_mistakes_are_told_in_order_of_line)
{
	expect(&(struct wrong){
	        "pipelines = ({ name = \"b\"; topics = [\"x\"];\n"
	        "workers = 0;\n"
	        "plugin = { file = \"p.so\"; };\n"
	        "batch = { maks = 1; };\n"
	        "});\n"
	        "database = { conninfo = \"host=x\"; };\n"
	        "kafka = { bootstrap_servers = \"b:1\"; group_id = 3; };\n"
	        "log_level = \"debg\";\n",
	        "c:2: error: workers: 0 is out of bounds, 1 to 256 are allowed\n"
	        "c:4: error: batch.maks: unknown setting; did you mean max?\n"
	        "c:7: error: kafka.group_id: can't be set: the pipeline's name is its consumer group; write name = "
	        "\"…\"\n"
	        "c:8: error: log_level: \"debg\" is none of error, warning, notice, info, debug; did you mean debug?\n",
	});
}
END_TEST

START_TEST(a_mistake_in_an_included_file_names_that_file)
{
	config_file_write("more", "\nlog_levl = 1;\n");
	expect(&(struct wrong){WITH_HOST("@include \"more\""),
	                       "more:2: error: log_levl: unknown setting; did you mean log_level?\n"});
}
END_TEST

START_TEST(what_can_not_be_included_is_told_with_its_line)
{
	static const char no_file[] = "is no regular file; name each file to include\n";
	char path[128], expected[512];

	snprintf(path, sizeof(path), "%s/more", config_folder);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	snprintf(expected, sizeof(expected),
	         "c:2: error: @include: FOLDER/schemas %sc:4: error: @include: FOLDER/more %s", no_file, no_file);
	expect(&(struct wrong){"/*\n*/@include \"x\"\n", "c:2: error: syntax error\n"});
	expect(&(struct wrong){"# @include \"x\"\n@include \"schemas\"\n\n\t@include  \"more\"\n", expected});
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("/dev/zero", path), 0);
	snprintf(expected, sizeof(expected), "c:1: error: @include: FOLDER/more %s", no_file);
	expect(&(struct wrong){"@include \"more\"\n", expected});
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink("p.so", path), 0);
	ck_assert_int_eq(truncate(path, 100 << 20), 0);
	expect(&(struct wrong){"@include \"more\"\n",
	                       "c:1: error: @include: FOLDER/more is larger than 16777216 bytes\n"});
	ck_assert_int_eq(truncate(path, 1), 0);
	expect(&(struct wrong){"@include \"more\"\n",
	                       "c:1: error: @include: FOLDER/more holds a NUL byte; it must be text\n"});
	ck_assert_int_eq(unlink(path), 0);
	config_file_write("more", "\n@include \"more\"\n");
	expect(&(struct wrong){"@include \"more\"\n",
	                       "more:2: error: @include: FOLDER/more is one file too many, 10 levels and 100 files are "
	                       "allowed; does a file include itself?\n"});
}
END_TEST

START_TEST(a_secret_never_gets_into_the_report)
{
	struct config_report report;
	struct config config;
	char *text;

	config_file_write(
	        "c", WITH_PIPELINE("kafka = { ssl_key_pem = \"s3cret\"; sasl_oauthbearer_client_secret = \"s3cret\";"
	                           " sasl_password = [\"s3cret\"]; };"));
	ck_assert(!config_load(config_path, &config, &report));
	text = config_report_text(&report);
	ck_assert_ptr_null(strstr(text, "s3cret"));
	free(text);
	config_report_done(&report);
	config_done(&config);
}
END_TEST

static void expect_warnings(const char *text, const char *expected)
{
	struct config_report report;
	struct config config;
	char *found;

	config_file_write("c", text);
	ck_assert(config_load(config_path, &config, &report));
	found = config_report_text(&report);
	ck_assert_str_eq(found, expected);
	free(found);
	config_report_done(&report);
	config_done(&config);
}

START_TEST(delivered_tombstones_without_an_ordering_key_are_warned_of)
{
	expect_warnings(
	        WITH_PIPELINE("ordering = \"key\"; event = { key = \"a\"; tombstone = \"deliver\"; };"),
	        "c:5: warning: event.tombstone: a tombstone has no payload to take event.key from, so its order "
	        "among its key's events is not kept; leave event.key out to order by the record's key\n");
	expect_warnings(WITH_PIPELINE("ordering = \"key\"; event = { tombstone = \"deliver\"; };"), "");
	expect_warnings(WITH_PIPELINE("ordering = \"key\"; event = { key = \"a\"; };"), "");
	expect_warnings(WITH_PIPELINE("ordering = \"partition\"; event = { key = \"a\"; tombstone = \"deliver\"; };"),
	                "");
}
END_TEST

static void expect_unreadable(const char *path, const char *expected)
{
	struct config_report report;
	struct config config;
	char *text;

	ck_assert(!config_load(path, &config, &report));
	text = config_report_text(&report);
	ck_assert_str_eq(text, expected);
	free(text);
	config_report_done(&report);
	config_done(&config);
}

START_TEST(a_file_that_is_no_text_is_told)
{
	expect_unreadable("/nowhere/c", "c: error: can't be opened: No such file or directory\n");
	expect_unreadable(config_folder, "c: error: can't be read: Is a directory\n");
	expect_unreadable("/dev/zero", "c: error: is larger than 16777216 bytes\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("config_mistakes");
	TCase *tests = tcase_create("config_mistakes");

	tcase_add_checked_fixture(tests, config_files_setup, config_files_teardown);
	tcase_add_loop_test(tests, a_mistake_is_told_with_its_line, 0, (int)(sizeof(wrong) / sizeof(wrong[0])));
	tcase_add_loop_test(tests, a_mistake_of_the_database_is_told_with_its_line, 0,
	                    (int)(sizeof(wrong_database) / sizeof(wrong_database[0])));
	tcase_add_test(tests, all_mistakes_are_told_in_order_of_line);
	tcase_add_test(tests, a_mistake_in_an_included_file_names_that_file);
	tcase_add_test(tests, what_can_not_be_included_is_told_with_its_line);
	tcase_add_test(tests, a_secret_never_gets_into_the_report);
	tcase_add_test(tests, a_file_that_is_no_text_is_told);
	tcase_add_test(tests, delivered_tombstones_without_an_ordering_key_are_warned_of);
	suite_add_tcase(suite, tests);
	return run_suite(suite);
}
