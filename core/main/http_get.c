#include "core/main/http_get.h"
#include "core/base/assert.h"
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MAX_BYTES (16u << 20)
#define TIMEOUT_SECONDS 5

/* "host:port", "[v6]:port" cut into its parts, an any-address made this machine's own. */
static bool split_address(const char *listen, char *host, size_t size, const char **out_port)
{
	const char *colon = strrchr(listen, ':');
	bool bracketed = *listen == '[' && colon && colon[-1] == ']';
	int len = colon ? (int)(colon - listen) - (bracketed ? 2 : 0) : 0;

	if (len <= 0 || (size_t)len >= size)
		return false;
	snprintf(host, size, "%.*s", len, listen + bracketed);
	if (strcmp(host, "0.0.0.0") == 0)
		snprintf(host, size, "127.0.0.1");
	else if (strcmp(host, "::") == 0)
		snprintf(host, size, "::1");
	*out_port = colon + 1;
	return true;
}

static int connect_to(const char *listen, struct error *error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *info;
	struct timeval timeout = {.tv_sec = TIMEOUT_SECONDS};
	char host[256];
	const char *port;
	int fd, code;

	if (!split_address(listen, host, sizeof(host), &port)) {
		error_set(error, ERROR_CONFIG, "admin.listen \"%s\" is not an address with a port", listen);
		return -1;
	}
	code = getaddrinfo(host, port, &hints, &info);
	if (code != 0) {
		error_set(error, ERROR_IO, "admin port %s: %s", listen, gai_strerror(code));
		return -1;
	}
	fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) != 0 ||
	    connect(fd, info->ai_addr, info->ai_addrlen) != 0) {
		error_set(error, ERROR_IO, "admin port %s: %s; is idemd running?", listen, strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(info);
	return fd;
}

static bool read_token(const char *file, char *token, size_t size, struct error *error)
{
	FILE *in;

	token[0] = '\0';
	if (!file)
		return true;
	in = fopen(file, "re");
	if (!in)
		return error_set(error, ERROR_CONFIG, "admin.token_file %s: %s", file, strerror(errno));
	if (fgets(token, (int)size, in))
		token[strcspn(token, "\r\n")] = '\0';
	fclose(in);
	return true;
}

static bool send_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t sent = send(fd, text, len, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		text += sent;
		len -= (size_t)sent;
	}
	return true;
}

/* Until the other side closes, which HTTP/1.0 does after one answer. */
static bool read_all(int fd, FILE *out)
{
	char buffer[16384];
	size_t total = 0;
	ssize_t len;

	while ((len = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
		total += (size_t)len;
		if (total > ANSWER_MAX_BYTES || fwrite(buffer, 1, (size_t)len, out) != (size_t)len)
			return false;
	}
	return len == 0;
}

static bool exchange(int fd, const char *path, const char *token, char **out_answer, struct error *error)
{
	char request[1024];
	size_t len;
	FILE *out = open_memstream(out_answer, &len);
	bool good;

	ASSERT(out);
	snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\n%s%s%s\r\n", path,
	         *token ? "Authorization: Bearer " : "", token, *token ? "\r\n" : "");
	good = send_all(fd, request, strlen(request)) && read_all(fd, out);
	ASSERT(fclose(out) == 0);
	return good || error_set(error, ERROR_IO, "admin port: no whole answer came");
}

/* Leaves the body alone in *answer. */
static bool take_body(char *answer, struct error *error)
{
	char *body = strstr(answer, "\r\n\r\n");
	int status = 0;

	if (!body || sscanf(answer, "HTTP/%*d.%*d %d", &status) != 1)
		return error_set(error, ERROR_IO, "admin port: what answers there is no http server");
	body += 4;
	memmove(answer, body, strlen(body) + 1);
	if (status != 200)
		return error_set(error, ERROR_INVALID, "admin port: status %d: %.200s", status, answer);
	return true;
}

bool http_get(const struct config_admin *admin, const char *path, char **out_body, struct error *error)
{
	char token[512], *answer = NULL;
	bool good;
	int fd;

	if (!admin->listen)
		return error_set(error, ERROR_CONFIG, "admin.listen is not set: idemd has no admin port to ask");
	if (!read_token(admin->token_file, token, sizeof(token), error))
		return false;
	fd = connect_to(admin->listen, error);
	if (fd < 0)
		return false;
	good = exchange(fd, path, token, &answer, error) && take_body(answer, error);
	close(fd);
	if (good)
		*out_body = answer;
	else
		free(answer);
	return good;
}
