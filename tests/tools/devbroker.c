/* devbroker [NAME:PARTITIONS…]: a Kafka broker inside one small process (librdkafka's mock cluster), for demonstrations
 * and tests.  It keeps about 5 MB a partition, in memory only.  Prints "bootstrap=127.0.0.1:PORT", then runs until
 * SIGTERM, SIGINT or the end of its standard input. */
#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static void quiet(const rd_kafka_t *client, int level, const char *facility, const char *text)
{
	(void)client;
	(void)level;
	(void)facility;
	(void)text;
}

static rd_kafka_t *client_create(void)
{
	char text[256];
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	rd_kafka_conf_set_log_cb(conf, quiet);
	rd_kafka_t *client = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
	if (!client) {
		fprintf(stderr, "devbroker: %s\n", text);
		exit(1);
	}
	return client;
}

static bool create_topic(rd_kafka_mock_cluster_t *cluster, const char *argument)
{
	char name[250];
	const char *colon = strrchr(argument, ':');
	char *end;
	long partitions = colon ? strtol(colon + 1, &end, 10) : 0;
	if (!colon || (size_t)(colon - argument) >= sizeof(name) || *end || partitions < 1 || partitions > 1000) {
		fprintf(stderr, "devbroker: %s is not NAME:PARTITIONS\n", argument);
		return false;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(colon - argument), argument);
	rd_kafka_resp_err_t code = rd_kafka_mock_topic_create(cluster, name, (int)partitions, 1);
	if (code)
		fprintf(stderr, "devbroker: topic %s: %s\n", name, rd_kafka_err2str(code));
	return !code;
}

/* Until a signal comes or standard input ends. */
static void wait_for_end(int signals)
{
	struct pollfd wait[] = {{.fd = signals, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
	char bytes[256];
	for (;;) {
		if (poll(wait, 2, -1) < 0 && errno != EINTR)
			return;
		if (wait[0].revents)
			return;
		if (wait[1].revents && read(STDIN_FILENO, bytes, sizeof(bytes)) <= 0)
			return;
	}
}

int main(int argc, char **argv)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0) /* before librdkafka's threads start */
		return 1;
	int signals = signalfd(-1, &set, SFD_CLOEXEC);
	rd_kafka_t *client = client_create();
	rd_kafka_mock_cluster_t *cluster = rd_kafka_mock_cluster_new(client, 1);
	if (signals < 0 || !cluster)
		return 1;
	for (int i = 1; i < argc; i++)
		if (!create_topic(cluster, argv[i]))
			return 2;
	printf("bootstrap=%s\n", rd_kafka_mock_cluster_bootstraps(cluster));
	fflush(stdout);
	wait_for_end(signals);
	rd_kafka_mock_cluster_destroy(cluster);
	rd_kafka_destroy(client);
	return 0;
}
