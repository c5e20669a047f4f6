/* Whose fault a failed statement of a plugin's is (ENGINE section 4): the event's, the moment's, or the
 * infrastructure's. */
#ifndef IDEM_DB_TRIAGE_H
#define IDEM_DB_TRIAGE_H

enum triage {
	TRIAGE_REJECT,    /* the event's: 22, 23, 44, 54, P0 and whatever is not named */
	TRIAGE_RETRY,     /* 57014: a statement time-out or cancellation; this event again, counted */
	TRIAGE_AGAIN,     /* 40001, 40P01, 55P03: the transaction again, smaller, uncounted */
	TRIAGE_UNDECIDED, /* 42, 3F: the statement may be wrong for every event (a missing migration or grant) */
	TRIAGE_DATABASE   /* no state, 08, 53, 57P, 58, 25006, 28, 3D, XX: nobody's; wait and try again */
};

enum triage triage_sqlstate(const char *sqlstate); /* "": the connection is gone */
#endif
