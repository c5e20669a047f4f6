/* A signal that ends the process leaves its number behind and a backtrace in the log.  A plugin that installs handlers
 * of its own takes that away, and nothing else. */
#ifndef IDEM_PIPELINE_CRASH_H
#define IDEM_PIPELINE_CRASH_H
#include <stdatomic.h>
#include <stdint.h>

/* Once; out_cause lives as long as the process. */
void crash_catch_signals(_Atomic uint32_t *out_cause);
/* For each thread that runs a plugin: a stack for the handler, so that an overflow is caught as well.  Answers what
 * crash_leave_thread takes. */
void *crash_enter_thread(void);
void crash_leave_thread(void *stack);
#endif
