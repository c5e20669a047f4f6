#include "core/admin/admin.h"
#include "core/base/assert.h"
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64
#define CONNECTION_MEMORY_BYTES (16 * 1024)
#define IDLE_SECONDS 10
#define TOKEN_BYTES 512
#define LISTEN_BACKLOG 64

struct admin {
	struct MHD_Daemon *daemon;
	void (*look)(void *self, struct admin_status *out_status);
	void *self;
	bool is_loopback;
	char token[TOKEN_BYTES]; /* "" none */
};

struct answer {
	unsigned status;
	const char *content_type;
	char *text; /* malloc */
	size_t len;
};

/* ---- what is answered ---- */

static FILE *answer_begin(struct answer *answer, const char *content_type)
{
	FILE *out = open_memstream(&answer->text, &answer->len);

	ASSERT(out);
	answer->status = MHD_HTTP_OK;
	answer->content_type = content_type;
	return out;
}

static void answer_end(FILE *out)
{
	ASSERT(fclose(out) == 0);
}

static void answer_text(struct answer *answer, unsigned status, const char *text)
{
	FILE *out = answer_begin(answer, "text/plain; charset=utf-8");

	fprintf(out, "%s\n", text);
	answer_end(out);
	answer->status = status;
}

static void answer_metrics(const struct admin_status *status, struct answer *answer)
{
	FILE *out = answer_begin(answer, "text/plain; version=0.0.4; charset=utf-8");

	admin_print_metrics(status, out);
	answer_end(out);
}

static void answer_health(const struct admin_status *status, struct answer *answer)
{
	(void)status;
	answer_text(answer, MHD_HTTP_OK, "ok");
}

static void answer_ready(const struct admin_status *status, struct answer *answer)
{
	FILE *out = answer_begin(answer, "text/plain; charset=utf-8");
	bool ready = admin_print_ready(status, out);

	answer_end(out);
	answer->status = ready ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

static void answer_status(const struct admin_status *status, struct answer *answer)
{
	FILE *out = answer_begin(answer, "application/json");

	admin_print_status(status, out);
	answer_end(out);
}

static const struct route {
	const char *path;
	bool is_api;
	void (*answer)(const struct admin_status *status, struct answer *answer);
} routes[] = {
        {"/metrics", false, answer_metrics},
        {"/healthz", false, answer_health},
        {"/readyz", false, answer_ready},
        {"/api/v1/status", true, answer_status},
};

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++)
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	return NULL;
}

/* ---- who may ask ---- */

/* In constant time for a given length: the token can't be guessed byte by byte. */
static bool has_token(const struct admin *admin, struct MHD_Connection *connection)
{
	static const char scheme[] = "Bearer ";
	const char *given = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	size_t len = strlen(admin->token);

	if (!given || strncmp(given, scheme, sizeof(scheme) - 1) != 0)
		return false;
	given += sizeof(scheme) - 1;
	return strlen(given) == len && CRYPTO_memcmp(given, admin->token, len) == 0;
}

/* True: go on; false: the refusal is in *answer. */
static bool may_use_api(const struct admin *admin, struct MHD_Connection *connection, struct answer *answer)
{
	if (!*admin->token && admin->is_loopback)
		return true;
	if (!*admin->token) {
		answer_text(answer, MHD_HTTP_FORBIDDEN,
		            "the api listens beyond loopback: set admin.token_file to use it");
		return false;
	}
	if (has_token(admin, connection))
		return true;
	answer_text(answer, MHD_HTTP_UNAUTHORIZED, "send the token of admin.token_file: Authorization: Bearer TOKEN");
	return false;
}

/* ---- one request ---- */

static void handle(const struct admin *admin, struct MHD_Connection *connection, const char *path, const char *method,
                   struct answer *answer)
{
	const struct route *route = find_route(path);
	struct admin_status status;

	if (!route) {
		answer_text(answer, MHD_HTTP_NOT_FOUND, "not found: try /metrics, /healthz, /readyz or /api/v1/status");
		return;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		answer_text(answer, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
		return;
	}
	if (route->is_api && !may_use_api(admin, connection, answer))
		return;
	admin->look(admin->self, &status);
	route->answer(&status, answer);
}

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
	ASSERT(MHD_add_response_header(response, name, value) == MHD_YES);
}

static enum MHD_Result send_answer(struct MHD_Connection *connection, struct answer *answer)
{
	struct MHD_Response *response =
	        MHD_create_response_from_buffer(answer->len, answer->text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	ASSERT(response);
	add_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->content_type);
	add_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	add_header(response, "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
	add_header(response, "X-Content-Type-Options", "nosniff");
	add_header(response, "Referrer-Policy", "no-referrer");
	add_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		add_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (answer->status == MHD_HTTP_UNAUTHORIZED)
		add_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	result = MHD_queue_response(connection, answer->status, response);
	MHD_destroy_response(response);
	return result;
}

/* Called by libmicrohttpd: first with the headers, then with what body there is, then once with none. */
static enum MHD_Result on_request(void *self, struct MHD_Connection *connection, const char *path, const char *method,
                                  const char *version, const char *body, size_t *body_size, void **request)
{
	static int seen;
	struct answer answer = {0};

	(void)version;
	(void)body;
	if (!*request) {
		*request = &seen;
		return MHD_YES;
	}
	if (*body_size) { /* nobody here reads bodies */
		*body_size = 0;
		return MHD_YES;
	}
	handle(self, connection, path, method, &answer);
	return send_answer(connection, &answer);
}

/* ---- listening ---- */

/* "host:port", "[v6]:port" */
static bool split_address(const char *listen, char *host, size_t host_size, const char **out_port)
{
	const char *colon = strrchr(listen, ':'), *begin = listen, *end = colon;

	if (!colon || !colon[1])
		return false;
	if (*begin == '[' && end[-1] == ']') {
		begin++;
		end--;
	}
	if (end <= begin || (size_t)(end - begin) >= host_size)
		return false;
	memcpy(host, begin, (size_t)(end - begin));
	host[end - begin] = '\0';
	*out_port = colon + 1;
	return true;
}

static bool address_is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24) == 127;
	return address->sa_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static int open_socket(const struct addrinfo *info)
{
	int one = 1, fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) == 0 &&
	    bind(fd, info->ai_addr, info->ai_addrlen) == 0 && listen(fd, LISTEN_BACKLOG) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The listening socket, or -1. */
static int listen_on(const char *listen, bool *out_is_loopback, struct error *error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *info;
	char host[256];
	const char *port;
	int code, fd;

	if (!split_address(listen, host, sizeof(host), &port)) {
		error_set(error, ERROR_CONFIG, "admin.listen \"%s\": write it as address:port", listen);
		return -1;
	}
	code = getaddrinfo(host, port, &hints, &info);
	if (code != 0) {
		error_set(error, ERROR_CONFIG, "admin.listen \"%s\": %s", listen, gai_strerror(code));
		return -1;
	}
	fd = open_socket(info);
	if (fd < 0)
		error_set(error, ERROR_IO, "admin.listen \"%s\": can't listen: %s", listen, strerror(errno));
	*out_is_loopback = address_is_loopback(info->ai_addr);
	freeaddrinfo(info);
	return fd;
}

static bool read_token(const char *file, char token[TOKEN_BYTES], struct error *error)
{
	FILE *in = fopen(file, "re");
	char line[TOKEN_BYTES];
	bool good;

	if (!in)
		return error_set(error, ERROR_CONFIG, "admin.token_file %s: %s", file, strerror(errno));
	good = fgets(line, sizeof(line), in) != NULL;
	fclose(in);
	if (good)
		line[strcspn(line, "\r\n")] = '\0';
	if (!good || !*line)
		return error_set(error, ERROR_CONFIG, "admin.token_file %s: is empty; write one line of random text",
		                 file);
	memcpy(token, line, sizeof(line));
	return true;
}

bool admin_set_token_file(struct admin *admin, const char *token_file, struct error *error)
{
	if (token_file)
		return read_token(token_file, admin->token, error);
	admin->token[0] = '\0';
	return true;
}

struct admin *admin_create(const struct admin_options *options, struct error *error)
{
	struct admin *admin = calloc(1, sizeof(*admin));
	int fd;

	ASSERT(admin);
	admin->look = options->look;
	admin->self = options->self;
	if (!admin_set_token_file(admin, options->config->token_file, error))
		goto failed;
	fd = listen_on(options->config->listen, &admin->is_loopback, error);
	if (fd < 0)
		goto failed;
	admin->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, admin, MHD_OPTION_LISTEN_SOCKET, fd,
	                                 MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
	                                 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY_BYTES,
	                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_END);
	if (!admin->daemon) {
		error_set(error, ERROR_IO, "admin.listen \"%s\": the http server did not start",
		          options->config->listen);
		close(fd);
		goto failed;
	}
	return admin;
failed:
	free(admin);
	return NULL;
}

int admin_poll_fd(const struct admin *admin)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(admin->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	ASSERT(info);
	return info->epoll_fd;
}

int admin_timeout_ms(const struct admin *admin)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (MHD_get_timeout(admin->daemon, &ms) != MHD_YES)
		return -1;
	return ms > 1000 * IDLE_SECONDS ? 1000 * IDLE_SECONDS : (int)ms;
}

void admin_run(struct admin *admin)
{
	ASSERT(MHD_run(admin->daemon) == MHD_YES);
}

uint16_t admin_port(const struct admin *admin)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(admin->daemon, MHD_DAEMON_INFO_LISTEN_FD);
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	ASSERT(info && getsockname(info->listen_fd, (struct sockaddr *)&address, &size) == 0);
	if (address.ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)(const void *)&address)->sin6_port);
	return ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port);
}

void admin_destroy(struct admin *admin)
{
	if (!admin)
		return;
	MHD_stop_daemon(admin->daemon);
	OPENSSL_cleanse(admin->token, sizeof(admin->token));
	free(admin);
}
