/* What the index keeps of a dead letter, from the event as the pipeline or the operator's tool sees it. */
#ifndef IDEM_RETRY_LETTER_H
#define IDEM_RETRY_LETTER_H
#include "core/db/letters.h"
#include "core/event/event.h"

/* Texts are in the arena, valid UTF-8 without NUL (what is none is escaped), and cut where they come from outside.  Its
 * place in the DLQ is not set.  [any thread] */
struct letter letter_of_event(const struct event *event, struct bytes reason, struct bytes error_text,
                              struct arena *arena);
#endif
