/* Impossible states end the process, also in release builds; the parent restarts it.  [any thread] */
#ifndef IDEM_BASE_ASSERT_H
#define IDEM_BASE_ASSERT_H

/* Prints what failed and the event the thread works on (assert_note), then abort(). */
_Noreturn void assert_failed(const char *expression, const char *file, int line);
/* What this thread is working on, shown by assert_failed; copied, at most 200 bytes; NULL clears. */
void assert_note(const char *what);

#define ASSERT(expression) ((expression) ? (void)0 : assert_failed(#expression, __FILE__, __LINE__))
/* Every pthread result is looked at. */
#define PTHREAD_OK(call) ASSERT((call) == 0)
#endif
