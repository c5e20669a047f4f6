/* What the tests of the supervisor stand on: a host in a process of its own, with a folder, a configuration, a plugin,
 * and children (tests/tools/fakechild) that do what they are ordered to and tell each step. */
#ifndef IDEM_TESTS_SUPERVISOR_BENCH_H
#define IDEM_TESTS_SUPERVISOR_BENCH_H
#include "core/supervisor/supervisor.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

extern char directory[64];
extern pid_t host;    /* the process that runs supervisor_run; 0: none */
extern uint16_t port; /* of admin; 0: none */
extern struct supervisor_limits limits;

void set_up(void);
void tear_down(void);

/* Names are those of files in the folder. */
void path_in(char *out, size_t size, const char *name);
void write_file(const char *name, const char *text);
void read_back(const char *name, char *out, size_t size);
bool exists(const char *name);
void order(const char *pipeline, const char *what);
/* tail: bytes behind the library that change its digest and nothing else. */
void install_plugin(const char *tail);
/* pipelines: "name setting; …" each, NULL-terminated. */
void write_config(const char *const *pipelines);
#define CONFIG(...) write_config((const char *const[]){__VA_ARGS__, NULL})

void start_host(void);
/* The exit status, or 1000 + signal. */
int wait_host(void);
int stop_host(void);

struct step {
	char line[512], what[16], name[64];
	pid_t pid;
};
struct step next_step(void);
struct step expect_step(const char *what, const char *name);
/* A host with the pipeline billing is started and reloaded with another plugin file: the child before and the one
 * after. */
void replace_plugin(struct step *out_before, struct step *out_after);
/* The process that is told to stop now is the one that was started at first: nothing was replaced meanwhile. */
void expect_only_stop_of(const char *pipeline, pid_t pid);

/* The answer, headers and all; static storage. */
const char *get(const char *path);
void assert_contains(const char *text, const char *wanted);
/* Asks until the answer has it: what a signal set off is seen a moment later. */
void await_answer(const char *path, const char *wanted);
void read_proc(pid_t pid, const char *file, char *out, size_t size);
#endif
