/* The reference plugin with a session of its own for every event: its SQL may name set_config and session locks. */
#define REF_NAME "ref_isolated"
#define REF_CAPABILITIES (IDEM_CAP_CONCURRENT | IDEM_CAP_ISOLATED)
#include "ref.c"
