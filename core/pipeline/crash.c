#include "core/pipeline/crash.h"

#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/assert.h"

#define STACK_BYTES (256 * 1024)
#define FRAMES 64

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
static _Atomic uint32_t *cause;

static void crash_write(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return; /* nobody reads it; the signal tells enough */
}

/* The signal's own default follows: a core file, and the parent sees how the process died. */
static void crash_signal(int number)
{
	static _Atomic bool is_told;
	void *frames[FRAMES];
	atomic_store(cause, (uint32_t)number);
	if (!atomic_exchange(&is_told, true)) {
		crash_write("backtrace of the thread that died:\n");
		backtrace_symbols_fd(frames, backtrace(frames, FRAMES), STDERR_FILENO);
	}
	(void)raise(number); /* blocked until this returns, and its default by SA_RESETHAND */
}

void crash_catch_signals(_Atomic uint32_t *out_cause)
{
	struct sigaction action = {.sa_handler = crash_signal, .sa_flags = SA_ONSTACK | SA_RESETHAND};
	void *frames[1];
	cause = out_cause;
	(void)backtrace(frames, 1); /* the first call loads a library, which no signal handler may */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they tell more */
	for (size_t i = 0; i < sizeof(fatal_signals) / sizeof(fatal_signals[0]); i++)
		ASSERT(sigaction(fatal_signals[i], &action, NULL) == 0);
#else
	(void)action;
	(void)fatal_signals;
#endif
}

void *crash_enter_thread(void)
{
	stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
	ASSERT(stack.ss_sp && sigaltstack(&stack, NULL) == 0);
	return stack.ss_sp;
}

void crash_leave_thread(void *stack)
{
	stack_t none = {.ss_flags = SS_DISABLE};
	ASSERT(sigaltstack(&none, NULL) == 0);
	free(stack);
}
