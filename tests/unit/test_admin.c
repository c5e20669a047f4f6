/* The admin port: what it says, to whom, over real sockets. */
#include "core/admin/admin.h"
#include "core/admin/latency_window.h"
#include "core/base/clock.h"
#include "tests/unit/run_suite.h"
#include <arpa/inet.h>
#include <check.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

static struct metrics_page *page;
static struct admin_pipeline pipelines[2];
static struct admin_status status;
static struct admin *admin;
static char token_path[64];

static void set_up(void)
{
	page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	pipelines[0] = (struct admin_pipeline){.name = "billing",
	                                       .plugin_name = "pay",
	                                       .plugin_version = "1.2.0",
	                                       .state = "running",
	                                       .reason = "",
	                                       .running = true,
	                                       .pid = 7,
	                                       .restarts = 2,
	                                       .page = page};
	pipelines[1] = pipelines[0];
	pipelines[1].name = "audit";
	status = (struct admin_status){.pipelines = pipelines, .count = 1, .reload_failures = 3};
	admin = NULL;
	snprintf(token_path, sizeof(token_path), "/tmp/idem-token.XXXXXX");
	close(mkstemp(token_path));
}

static void tear_down(void)
{
	admin_destroy(admin);
	unlink(token_path);
	munmap(page, sizeof(*page));
}

static void look(void *self, struct admin_status *out_status)
{
	ck_assert_ptr_eq(self, &status);
	*out_status = status;
}

static void open_admin(const char *address, const char *token_file)
{
	struct config_admin config = {.listen = address, .token_file = token_file};
	struct admin_options options = {.config = &config, .look = look, .self = &status};
	struct error error = {0};

	admin = admin_create(&options, &error);
	ck_assert_msg(admin != NULL, "%s", error.text);
}

static void write_token(const char *text)
{
	FILE *out = fopen(token_path, "w");

	ck_assert_ptr_nonnull(out);
	fputs(text, out);
	fclose(out);
}

static int connect_to_admin(void)
{
	struct sockaddr_in address = {
	        .sin_family = AF_INET, .sin_port = htons(admin_port(admin)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Runs the port's loop as the supervisor does until the answer is whole; static storage. */
static const char *exchange(const char *request)
{
	static char answer[1 << 18];
	int64_t deadline_ms = clock_monotonic_ms() + 10000;
	struct pollfd fds[2] = {{.fd = connect_to_admin(), .events = POLLIN},
	                        {.fd = admin_poll_fd(admin), .events = POLLIN}};
	size_t used = 0;
	ssize_t len = 1;

	ck_assert_int_eq(send(fds[0].fd, request, strlen(request), 0), (ssize_t)strlen(request));
	while (len > 0) {
		int wait_ms = admin_timeout_ms(admin);

		ck_assert_int_lt(clock_monotonic_ms(), deadline_ms);
		ck_assert_int_ge(poll(fds, 2, wait_ms < 0 || wait_ms > 1000 ? 1000 : wait_ms), 0);
		admin_run(admin);
		if (!fds[0].revents)
			continue;
		len = recv(fds[0].fd, answer + used, sizeof(answer) - 1 - used, 0);
		used += len > 0 ? (size_t)len : 0;
	}
	answer[used] = '\0';
	close(fds[0].fd);
	return answer;
}

static const char *get(const char *path)
{
	char request[256];

	snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n\r\n", path);
	return exchange(request);
}

static void assert_status(const char *answer, int wanted)
{
	int found = 0;

	ck_assert_int_eq(sscanf(answer, "HTTP/%*d.%*d %d", &found), 1);
	ck_assert_msg(found == wanted, "status %d wanted, got:\n%s", wanted, answer);
}

static void assert_contains(const char *text, const char *wanted)
{
	ck_assert_msg(strstr(text, wanted) != NULL, "no \"%s\" in:\n%s", wanted, text);
}

/* ---- requests ---- */

START_TEST(healthz_is_ok_even_when_nothing_is_ready)
{
	open_admin("127.0.0.1:0", NULL);
	assert_status(get("/healthz"), 200);
	assert_status(get("/readyz"), 503);
}
END_TEST

START_TEST(readyz_says_which_pipeline_is_not_ready_and_why)
{
	open_admin("127.0.0.1:0", NULL);
	metrics_set_ready(page, true, "");
	status.count = 2;
	assert_status(get("/readyz"), 200);
	pipelines[1].running = false;
	pipelines[1].state = "down";
	pipelines[1].reason = "the plugin was refused";
	assert_status(get("/readyz"), 503);
	assert_contains(get("/readyz"), "billing: ready\naudit: not ready: down: the plugin was refused\n");
	pipelines[1].running = true;
	metrics_set_ready(page, false, "postgresql does not work");
	assert_contains(get("/readyz"), "billing: not ready: postgresql does not work\n");
}
END_TEST

START_TEST(readyz_is_red_while_draining)
{
	open_admin("127.0.0.1:0", NULL);
	metrics_set_ready(page, true, "");
	status.draining = true;
	assert_status(get("/readyz"), 503);
}
END_TEST

START_TEST(every_metric_of_the_table_is_there_with_help_and_type)
{
	static const char *const names[] = {
#define NAME_COUNTER "_total"
#define NAME_GAUGE ""
#define METRIC(name, kind, help) "idem_" #name NAME_##kind "{pipeline=\"billing\"} ",
#include "core/base/metrics.def"
#undef METRIC
	};
	const char *answer;

	open_admin("127.0.0.1:0", NULL);
	metrics_add(page, METRIC_events_duplicate, 12);
	answer = get("/metrics");
	assert_status(answer, 200);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_contains(answer, names[i]);
	assert_contains(answer, "# TYPE idem_events_duplicate_total counter\n"
	                        "idem_events_duplicate_total{pipeline=\"billing\"} 12\n");
	assert_contains(answer, "idem_child_restarts_total{pipeline=\"billing\"} 2\n");
	assert_contains(answer, "idem_reload_failures_total 3\n");
}
END_TEST

static const char *const operators_names[] = {"duplicate_detected_count", "consumer_lag", "processing_latency_p95",
                                              "dlq_enqueue_count"};

START_TEST(the_names_operators_search_for_are_found)
{
	open_admin("127.0.0.1:0", NULL);
	assert_contains(get("/metrics"), operators_names[_i]);
}
END_TEST

START_TEST(lag_is_told_by_partition)
{
	open_admin("127.0.0.1:0", NULL);
	snprintf(page->lag[5].topic, sizeof(page->lag[5].topic), "orders");
	page->lag[5].partition = 3;
	atomic_store(&page->lag[5].lag, 77);
	atomic_store(&page->lag[5].used, 1);
	assert_contains(get("/metrics"),
	                "idem_partition_lag{pipeline=\"billing\",topic=\"orders\",partition=\"3\"} 77\n");
	assert_contains(get("/api/v1/status"),
	                "\"name\":\"billing\",\"plugin\":{\"name\":\"pay\",\"version\":\"1.2.0\"}");
	assert_contains(get("/api/v1/status"), "\"partitions\":[{\"topic\":\"orders\",\"partition\":3,\"lag\":77}]");
}
END_TEST

START_TEST(the_latency_histogram_counts_every_observation_once)
{
	const char *answer;

	open_admin("127.0.0.1:0", NULL);
	metrics_observe_latency(page, 100);
	metrics_observe_latency(page, 255);
	metrics_observe_latency(page, 256);
	metrics_observe_latency(page, (int64_t)3600 * 1000000);
	answer = get("/metrics");
	assert_contains(answer, "idem_processing_latency_seconds_bucket{pipeline=\"billing\",le=\"0.000256\"} 2\n");
	assert_contains(answer, "idem_processing_latency_seconds_bucket{pipeline=\"billing\",le=\"0.000512\"} 3\n");
	assert_contains(answer, "idem_processing_latency_seconds_bucket{pipeline=\"billing\",le=\"67.1089\"} 3\n");
	assert_contains(answer, "idem_processing_latency_seconds_bucket{pipeline=\"billing\",le=\"+Inf\"} 4\n");
	assert_contains(answer, "idem_processing_latency_seconds_count{pipeline=\"billing\"} 4\n");
}
END_TEST

START_TEST(p95_is_that_of_the_last_minute_or_two)
{
	static struct latency_window window;
	int64_t now_ms = 1000;

	for (int i = 0; i < 100; i++)
		metrics_observe_latency(page, 1000000);
	latency_window_tick(&window, page, now_ms);
	ck_assert_int_ge(latency_window_p95_us(&window, page), 900000);
	latency_window_tick(&window, page, now_ms += LATENCY_WINDOW_MS - 1); /* too early to move on */
	latency_window_tick(&window, page, now_ms += 1);
	ck_assert_int_eq(latency_window_p95_us(&window, page), 0);
	metrics_observe_latency(page, 100);
	ck_assert_int_le(latency_window_p95_us(&window, page), 110);
	latency_window_tick(&window, page, now_ms + LATENCY_WINDOW_MS);
	ck_assert_int_gt(latency_window_p95_us(&window, page), 90);
}
END_TEST

START_TEST(what_a_plugin_scribbled_over_the_page_breaks_no_answer)
{
	const char *answer, *body;
	yajl_val tree;

	open_admin("127.0.0.1:0", NULL);
	memset(page->lag[0].topic, '"', sizeof(page->lag[0].topic));
	page->lag[0].topic[1] = '\n';
	page->lag[0].topic[2] = (char)0xff;
	atomic_store(&page->lag[0].used, 1);
	memset(page->not_ready_reason, '\\', sizeof(page->not_ready_reason));
	assert_status(get("/readyz"), 503);
	assert_contains(get("/metrics"), ",topic=\"\\\" ");
	answer = get("/api/v1/status");
	assert_status(answer, 200);
	body = strstr(answer, "\r\n\r\n");
	ck_assert_ptr_nonnull(body);
	tree = yajl_tree_parse(body + 4, NULL, 0);
	ck_assert_ptr_nonnull(tree);
	yajl_tree_free(tree);
}
END_TEST

static void publish(const char *text)
{
	metrics_publish_text(page, text, strlen(text));
}

START_TEST(a_plugin_s_own_metrics_are_told)
{
	open_admin("127.0.0.1:0", NULL);
	publish("# HELP idem_plugin_paid_total orders paid\n# TYPE idem_plugin_paid_total counter\n"
	        "idem_plugin_paid_total{pipeline=\"billing\"} 7\n");
	assert_contains(get("/metrics"), "# TYPE idem_plugin_paid_total counter\n"
	                                 "idem_plugin_paid_total{pipeline=\"billing\"} 7\n");
	publish("idem_plugin_wait_bucket{pipeline=\"billing\",le=\"+Inf\"} 3\n");
	assert_contains(get("/metrics"), "idem_plugin_wait_bucket{pipeline=\"billing\",le=\"+Inf\"} 3\n");
	ck_assert_ptr_null(strstr(get("/metrics"), "paid"));
}
END_TEST

START_TEST(two_pipelines_of_one_plugin_share_help_and_type)
{
	static const char text[] =
	        "# TYPE idem_plugin_paid_total counter\nidem_plugin_paid_total{pipeline=\"billing\"} 7\n";
	const char *answer, *first;

	open_admin("127.0.0.1:0", NULL);
	pipelines[1].name = "billing"; /* the same page twice */
	status.count = 2;
	publish(text);
	answer = get("/metrics");
	first = strstr(answer, "# TYPE idem_plugin_paid_total");
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(strstr(first + 1, "# TYPE idem_plugin_paid_total"));
	first = strstr(answer, "\nidem_plugin_paid_total{");
	ck_assert_ptr_nonnull(strstr(first + 1, "\nidem_plugin_paid_total{"));
}
END_TEST

static const char *const forged[] = {
        "idem_events_processed_total{pipeline=\"billing\"} 666",
        "idem_plugin_x{pipeline=\"audit\"} 666",
        "idem_plugin_x{pipeline=\"billing\"} 666 garbage",
        "idem_plugin_x{pipeline=\"billing\",le=\"a\"b\"} 666",
        "idem_plugin_x{pipeline=\"billing\",other=\"666\"} 666",
        "idem_plugin_x{pipeline=\"billing",
        "idem_plugin_x 666",
        "# TYPE idem_events_processed_total 666",
        "idem_plugin_\x01{pipeline=\"billing\"} 666",
        "666",
};

START_TEST(a_line_that_is_no_sample_of_the_plugin_s_own_is_left_out)
{
	open_admin("127.0.0.1:0", NULL);
	publish(forged[_i]);
	ck_assert_ptr_null(strstr(get("/metrics"), "666"));
	ck_assert_ptr_null(strstr(get("/metrics"), "idem_plugin_x"));
}
END_TEST

START_TEST(a_plugin_s_text_without_end_is_survived)
{
	open_admin("127.0.0.1:0", NULL);
	memset(&page->plugin, 0x41, sizeof(page->plugin));
	assert_status(get("/metrics"), 200);
}
END_TEST

START_TEST(only_get_and_head_of_what_is_there)
{
	open_admin("127.0.0.1:0", NULL);
	assert_status(get("/"), 404);
	assert_status(get("/metrics/"), 404);
	assert_status(exchange("POST /metrics HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello"), 405);
	assert_contains(exchange("DELETE /api/v1/status HTTP/1.0\r\n\r\n"), "Allow: GET, HEAD\r\n");
	assert_status(exchange("HEAD /healthz HTTP/1.0\r\n\r\n"), 200);
}
END_TEST

START_TEST(answers_are_not_cached_framed_or_sniffed)
{
	const char *answer;

	open_admin("127.0.0.1:0", NULL);
	answer = get("/api/v1/status");
	assert_contains(answer, "Cache-Control: no-store\r\n");
	assert_contains(answer, "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n");
	assert_contains(answer, "X-Content-Type-Options: nosniff\r\n");
}
END_TEST

/* ---- who may ask ---- */

START_TEST(the_api_wants_the_token_and_nothing_else_does)
{
	write_token("open sesame\n");
	open_admin("127.0.0.1:0", token_path);
	assert_status(get("/metrics"), 200);
	assert_status(get("/healthz"), 200);
	assert_status(get("/api/v1/status"), 401);
	assert_status(exchange("GET /api/v1/status HTTP/1.0\r\nAuthorization: Bearer open sesam\r\n\r\n"), 401);
	assert_status(exchange("GET /api/v1/status HTTP/1.0\r\nAuthorization: Bearer open sesamE\r\n\r\n"), 401);
	assert_status(exchange("GET /api/v1/status HTTP/1.0\r\nAuthorization: Basic open sesame\r\n\r\n"), 401);
	assert_status(exchange("GET /api/v1/status HTTP/1.0\r\nAuthorization: Bearer open sesame\r\n\r\n"), 200);
}
END_TEST

START_TEST(beyond_loopback_there_is_no_api_without_a_token)
{
	open_admin("0.0.0.0:0", NULL);
	assert_status(get("/metrics"), 200);
	assert_status(get("/api/v1/status"), 403);
}
END_TEST

START_TEST(a_token_file_that_cannot_be_used_keeps_the_old_token)
{
	struct error error;

	write_token("old");
	open_admin("127.0.0.1:0", token_path);
	write_token("\n");
	ck_assert(!admin_set_token_file(admin, token_path, &error));
	assert_status(exchange("GET /api/v1/status HTTP/1.0\r\nAuthorization: Bearer old\r\n\r\n"), 200);
	write_token("new");
	ck_assert(admin_set_token_file(admin, token_path, &error));
	assert_status(exchange("GET /api/v1/status HTTP/1.0\r\nAuthorization: Bearer old\r\n\r\n"), 401);
}
END_TEST

START_TEST(an_address_in_use_is_told)
{
	struct config_admin config;
	struct admin_options options = {.config = &config, .look = look, .self = &status};
	struct error error;
	char address[32];

	open_admin("127.0.0.1:0", NULL);
	snprintf(address, sizeof(address), "127.0.0.1:%u", admin_port(admin));
	config = (struct config_admin){.listen = address};
	ck_assert_ptr_null(admin_create(&options, &error));
	assert_contains(error.text, address);
	assert_contains(error.text, "in use");
}
END_TEST

START_TEST(a_client_that_says_nothing_holds_up_nobody)
{
	int silent;

	open_admin("127.0.0.1:0", NULL);
	silent = connect_to_admin();
	assert_status(get("/healthz"), 200);
	close(silent);
}
END_TEST

static Suite *admin_suite(void)
{
	Suite *suite = suite_create("admin");
	TCase *tests = tcase_create("port");

	tcase_set_timeout(tests, 30);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, healthz_is_ok_even_when_nothing_is_ready);
	tcase_add_test(tests, readyz_says_which_pipeline_is_not_ready_and_why);
	tcase_add_test(tests, readyz_is_red_while_draining);
	tcase_add_test(tests, every_metric_of_the_table_is_there_with_help_and_type);
	tcase_add_loop_test(tests, the_names_operators_search_for_are_found, 0,
	                    sizeof(operators_names) / sizeof(*operators_names));
	tcase_add_test(tests, lag_is_told_by_partition);
	tcase_add_test(tests, the_latency_histogram_counts_every_observation_once);
	tcase_add_test(tests, p95_is_that_of_the_last_minute_or_two);
	tcase_add_test(tests, what_a_plugin_scribbled_over_the_page_breaks_no_answer);
	tcase_add_test(tests, a_plugin_s_own_metrics_are_told);
	tcase_add_test(tests, two_pipelines_of_one_plugin_share_help_and_type);
	tcase_add_loop_test(tests, a_line_that_is_no_sample_of_the_plugin_s_own_is_left_out, 0,
	                    sizeof(forged) / sizeof(*forged));
	tcase_add_test(tests, a_plugin_s_text_without_end_is_survived);
	tcase_add_test(tests, only_get_and_head_of_what_is_there);
	tcase_add_test(tests, answers_are_not_cached_framed_or_sniffed);
	tcase_add_test(tests, the_api_wants_the_token_and_nothing_else_does);
	tcase_add_test(tests, beyond_loopback_there_is_no_api_without_a_token);
	tcase_add_test(tests, a_token_file_that_cannot_be_used_keeps_the_old_token);
	tcase_add_test(tests, an_address_in_use_is_told);
	tcase_add_test(tests, a_client_that_says_nothing_holds_up_nobody);
	suite_add_tcase(suite, tests);
	return suite;
}

int main(void)
{
	return run_suite(admin_suite());
}
