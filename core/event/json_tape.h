/* What json*.c share: a parsed document is an array of nodes in the order of the text. */
#ifndef IDEM_EVENT_JSON_TAPE_H
#define IDEM_EVENT_JSON_TAPE_H
#include "core/event/json.h"

struct json_node {        /* 32 bytes: the tape of a hostile text "[0,0,0,..." is 16 times its size */
	const char *key;  /* decoded; NULL: not a member of an object */
	const char *text; /* as struct json_value's */
	uint32_t key_bytes, text_bytes;
	uint32_t end; /* index behind its last descendant: its next sibling, if it has one.  While an array or
	                 object is open: the index of the one it stands in */
	uint8_t type; /* enum json_type */
};

struct json_document {
	const struct json_node *nodes; /* [0] is the root, children stand directly behind their parent */
	uint32_t count;
};

/* What yajl does not refuse: text that is not UTF-8, control characters (it takes \v and \f for spaces), \u0000,
 * surrogates without their other half.  NULL: nothing found; else what, and where. */
const char *json_check_text(struct bytes text, size_t *out_at);
/* UTF-8 without control characters; for text that comes from elsewhere. */
bool json_is_clean(struct bytes text);
/* Exact integers of 64 bits, doubles by the rules of the "C" locale.  A character that ends the number is behind it. */
void json_convert_number(struct bytes text, struct json_value *out_value);
/* Codepoint of four hexadecimal digits, or -1. */
int32_t json_hex4(const char *digits);
/* One reference token of a pointer, which begins behind a '/'; *pointer moves to the next '/' or to the end. */
struct bytes json_pointer_token(const char **pointer);
bool json_pointer_is_valid(const char *pointer);
/* True when the token, with ~0 and ~1 decoded, is that name. */
bool json_token_equals(struct bytes token, struct bytes name);
/* The array index a token writes, or SIZE_MAX. */
size_t json_token_index(struct bytes token);
#endif
