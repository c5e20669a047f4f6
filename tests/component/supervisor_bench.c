#include "tests/component/supervisor_bench.h"
#include "core/base/clock.h"
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAKE_CHILD "tests/tools/fakechild"
#define REF_PLUGIN "tests/plugins/ref/ref.so"
#define STEP_TIMEOUT_SECONDS 10

char directory[64];
pid_t host;
uint16_t port;
struct supervisor_limits limits;

static char config_path[128], plugin_path[128];
static int steps; /* what children tell */

/* ---- the stage ---- */

void path_in(char *out, size_t size, const char *name)
{
	snprintf(out, size, "%s/%s", directory, name);
}

void write_file(const char *name, const char *text)
{
	char path[192];
	FILE *out;

	path_in(path, sizeof(path), name);
	out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	ck_assert_int_ge(fputs(text, out), 0);
	ck_assert_int_eq(fclose(out), 0);
}

void order(const char *pipeline, const char *what)
{
	char name[80];

	snprintf(name, sizeof(name), "%s.do", pipeline);
	write_file(name, what);
}

void install_plugin(const char *tail)
{
	FILE *in = fopen(REF_PLUGIN, "r"), *out = fopen(plugin_path, "w");
	char buffer[65536];
	size_t len;

	ck_assert_ptr_nonnull(in);
	ck_assert_ptr_nonnull(out);
	while ((len = fread(buffer, 1, sizeof(buffer), in)) > 0)
		ck_assert_uint_eq(fwrite(buffer, 1, len, out), len);
	fputs(tail, out);
	fclose(in);
	ck_assert_int_eq(fclose(out), 0);
}

static uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, size), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	return ntohs(address.sin_port);
}

void write_config(const char *const *pipelines)
{
	char text[8192], admin[64] = "";
	size_t used;

	if (port)
		snprintf(admin, sizeof(admin), "admin = { listen = \"127.0.0.1:%u\"; };\n", port);

	snprintf(text, sizeof(text),
	         "state_dir = \"%s\";\n"
	         "database = { conninfo = \"host=127.0.0.1 dbname=x user=x\"; password_file = \"%s/pg.secret\"; };\n"
	         "kafka = { bootstrap_servers = \"127.0.0.1:1\"; };\n"
	         "%s"
	         "pipelines = (",
	         directory, directory, admin);
	for (size_t i = 0; pipelines[i]; i++) {
		const char *rest = strchr(pipelines[i], ' ');
		int len = rest ? (int)(rest - pipelines[i]) : (int)strlen(pipelines[i]);

		used = strlen(text);
		snprintf(text + used, sizeof(text) - used,
		         "%s{ name = \"%.*s\"; topics = [\"orders\"]; plugin = { file = \"%s\"; };%s }\n", i ? "," : "",
		         len, pipelines[i], plugin_path, rest ? rest : "");
	}
	used = strlen(text);
	snprintf(text + used, sizeof(text) - used, ");\n");
	write_file("idem.conf", text);
}

static void bind_steps(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct timeval timeout = {.tv_sec = STEP_TIMEOUT_SECONDS};

	path_in(address.sun_path, sizeof(address.sun_path), "steps");
	steps = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(steps, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(setsockopt(steps, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
}

void set_up(void)
{
	snprintf(directory, sizeof(directory), "/tmp/idem-supervisor.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	path_in(config_path, sizeof(config_path), "idem.conf");
	path_in(plugin_path, sizeof(plugin_path), "ref.so");
	bind_steps();
	port = free_port();
	write_file("pg.secret", "s3cret-of-pg\n");
	install_plugin("");
	limits = (struct supervisor_limits){.backoff_first_ms = 20, .backoff_max_ms = 80, .stop_ms = 10000};
	host = 0;
}

static int host_main(char *const *environment)
{
	struct supervisor_options options = {
	        .self_path = FAKE_CHILD, .config_path = config_path, .environment = environment, .limits = limits};
	struct config config;
	struct config_report report;
	int status;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!config_load(config_path, &config, &report)) {
		config_report_print(&report, config_path, stderr);
		return 1;
	}
	log_open("supervisor", LOG_LEVEL_INFO);
	status = supervisor_run(&options, &config);
	config_done(&config);
	config_report_done(&report);
	return status;
}

void start_host(void)
{
	static char path[] = "PATH=/usr/bin:/bin";
	char *environment[] = {path, NULL};

	host = fork();
	ck_assert_int_ge(host, 0);
	if (host == 0)
		_exit(host_main(environment));
}

int wait_host(void)
{
	int status;

	ck_assert_int_eq(waitpid(host, &status, 0), host);
	host = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int stop_host(void)
{
	ck_assert_int_eq(kill(host, SIGTERM), 0);
	return wait_host();
}

void tear_down(void)
{
	char command[128];
	pid_t remover;
	int status;

	if (host) {
		kill(host, SIGKILL);
		waitpid(host, &status, 0);
	}
	close(steps);
	snprintf(command, sizeof(command), "%s", directory);
	remover = fork();
	if (remover == 0) {
		execlp("rm", "rm", "-rf", command, (char *)NULL);
		_exit(127);
	}
	waitpid(remover, &status, 0);
}

/* ---- what is seen ---- */

struct step next_step(void)
{
	struct step step = {0};
	ssize_t len = recv(steps, step.line, sizeof(step.line) - 1, 0);
	int pid = 0;

	ck_assert_msg(len > 0, "no child told anything for %d s", STEP_TIMEOUT_SECONDS);
	ck_assert_int_eq(sscanf(step.line, "%15s %63s %d", step.what, step.name, &pid), 3);
	step.pid = pid;
	return step;
}

struct step expect_step(const char *what, const char *name)
{
	struct step step = next_step();

	ck_assert_msg(strcmp(step.what, what) == 0 && strcmp(step.name, name) == 0, "expected \"%s %s\", got \"%s\"",
	              what, name, step.line);
	return step;
}

void replace_plugin(struct step *out_before, struct step *out_after)
{
	CONFIG("billing");
	start_host();
	*out_before = expect_step("start", "billing");
	install_plugin("one byte more");
	ck_assert_int_eq(kill(host, SIGHUP), 0);
	expect_step("stop", "billing");
	*out_after = expect_step("start", "billing");
}

void expect_only_stop_of(const char *pipeline, pid_t pid)
{
	ck_assert_int_eq(kill(host, SIGTERM), 0);
	ck_assert_int_eq(expect_step("stop", pipeline).pid, pid);
	ck_assert_int_eq(wait_host(), 0);
}

const char *get(const char *path)
{
	static char answer[1 << 18];
	struct sockaddr_in address = {
	        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	char request[128];
	size_t used = 0;
	ssize_t len;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n\r\n", path);
	ck_assert_int_eq(send(fd, request, strlen(request), 0), (ssize_t)strlen(request));
	while ((len = recv(fd, answer + used, sizeof(answer) - 1 - used, 0)) > 0)
		used += (size_t)len;
	answer[used] = '\0';
	close(fd);
	return answer;
}

void assert_contains(const char *text, const char *wanted)
{
	ck_assert_msg(strstr(text, wanted) != NULL, "no \"%s\" in:\n%s", wanted, text);
}

void await_answer(const char *path, const char *wanted)
{
	int64_t deadline_ms = clock_monotonic_ms() + 1000 * STEP_TIMEOUT_SECONDS;
	const char *answer;

	do
		answer = get(path);
	while (!strstr(answer, wanted) && clock_monotonic_ms() < deadline_ms);
	assert_contains(answer, wanted);
}

void read_proc(pid_t pid, const char *file, char *out, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	len = read(fd, out, size - 1);
	ck_assert_int_ge(len, 0);
	close(fd);
	for (ssize_t i = 0; i < len; i++)
		if (!out[i])
			out[i] = ' ';
	out[len] = '\0';
}

bool exists(const char *name)
{
	char path[192];

	path_in(path, sizeof(path), name);
	return access(path, F_OK) == 0;
}

void read_back(const char *name, char *out, size_t size)
{
	char path[192];
	FILE *in;

	path_in(path, sizeof(path), name);
	in = fopen(path, "r");
	ck_assert_ptr_nonnull(in);
	out[fread(out, 1, size - 1, in)] = '\0';
	fclose(in);
}
