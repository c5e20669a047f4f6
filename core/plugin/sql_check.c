/* What a plugin's SQL may not do, as far as words can tell (ENGINE section 3).  The second net is the host's check of
 * the transaction's id before COMMIT. */
#include "core/base/assert.h"
#include "core/base/failpoint.h"
#include "core/plugin/plugin.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum token_kind {
	TOKEN_END,
	TOKEN_WORD,   /* keyword or identifier, also quoted (without its quotes) */
	TOKEN_STRING, /* its content */
	TOKEN_SEMICOLON,
	TOKEN_OTHER,
	TOKEN_UNICODE, /* U&"…", which could spell any name */
	TOKEN_UNTERMINATED
};

struct token {
	enum token_kind kind;
	bool is_quoted;
	struct bytes text;
};

/* ---- letters ---- */

static char fold(char letter)
{
	return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

static bool is_space(char letter)
{
	return letter == ' ' || (letter >= '\t' && letter <= '\r');
}

static bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

static bool begins_word(char letter)
{
	return (fold(letter) >= 'a' && fold(letter) <= 'z') || letter == '_' || (unsigned char)letter >= 0x80;
}

static bool goes_on_word(char letter)
{
	return begins_word(letter) || is_digit(letter) || letter == '$';
}

static bool same(struct bytes text, const char *word)
{
	size_t length = strlen(word);

	if (text.len != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (fold(text.ptr[i]) != fold(word[i]))
			return false;
	return true;
}

/* ---- tokens; each function gets the position behind what it recognised, or NULL when that never ends ---- */

static const char *skip_line(const char *at)
{
	return at + strcspn(at, "\n\r");
}

/* At the first character of a nested comment. */
static const char *skip_comment(const char *at)
{
	size_t depth = 0;

	do {
		if (!*at)
			return NULL;
		bool opens = at[0] == '/' && at[1] == '*', closes = at[0] == '*' && at[1] == '/';
		depth += opens;
		depth -= closes;
		at += opens || closes ? 2 : 1;
	} while (depth > 0);
	return at;
}

static const char *skip_blanks(const char *at)
{
	while (at) {
		if (is_space(*at))
			at++;
		else if (at[0] == '-' && at[1] == '-')
			at = skip_line(at);
		else if (at[0] == '/' && at[1] == '*')
			at = skip_comment(at);
		else
			break;
	}
	return at;
}

/* Behind the opening quote; a doubled quote stands for one. */
static const char *end_of_quoted(const char *at, char quote, bool has_escapes)
{
	for (; *at; at++) {
		if (has_escapes && at[0] == '\\' && at[1])
			at++;
		else if (at[0] == quote && at[1] == quote)
			at++;
		else if (at[0] == quote)
			return at + 1;
	}
	return NULL;
}

/* E'…' goes on in a next quote behind a line end, still with escapes. */
static const char *end_of_escape_string(const char *at)
{
	while ((at = end_of_quoted(at, '\'', true))) {
		const char *next = at;
		bool has_line_end = false;
		while (is_space(*next) || (next[0] == '-' && next[1] == '-')) {
			has_line_end |= *next == '\n' || *next == '\r';
			next = is_space(*next) ? next + 1 : skip_line(next);
		}
		if (*next != '\'' || !has_line_end)
			return at;
		at = next + 1;
	}
	return NULL;
}

/* At a '$': the length of $tag$, 0 when it is none. */
static size_t dollar_tag(const char *at)
{
	size_t length = 1;

	if (begins_word(at[1]))
		while (goes_on_word(at[length]) && at[length] != '$')
			length++;
	return at[length] == '$' ? length + 1 : 0;
}

static const char *end_of_dollar_string(const char *at, size_t tag)
{
	for (const char *end = at + tag; (end = strchr(end, '$')); end++)
		if (strncmp(end, at, tag) == 0)
			return end + tag;
	return NULL;
}

static const char *take_token(struct token *token, enum token_kind kind, const char *start, const char *end)
{
	*token = (struct token){.kind = end ? kind : TOKEN_UNTERMINATED,
	                        .text = {start, end ? (size_t)(end - start) : 0}};
	return end;
}

static const char *next_quoted(const char *at, struct token *token)
{
	const char *end = end_of_quoted(at + 1, *at, false);

	take_token(token, *at == '"' ? TOKEN_WORD : TOKEN_STRING, at + 1, end ? end - 1 : NULL);
	token->is_quoted = true;
	return end;
}

static const char *next_word(const char *at, struct token *token)
{
	const char *end = at;

	while (goes_on_word(*end))
		end++;
	struct bytes word = {at, (size_t)(end - at)};
	if (same(word, "e") && *end == '\'')
		return take_token(token, TOKEN_STRING, end, end_of_escape_string(end + 1));
	if (same(word, "u") && end[0] == '&' && end[1] == '"')
		return take_token(token, TOKEN_UNICODE, at, end + 2);
	return take_token(token, TOKEN_WORD, at, end);
}

static const char *next_token(const char *at, struct token *token)
{
	at = skip_blanks(at);
	if (!at)
		return take_token(token, TOKEN_OTHER, NULL, NULL);
	if (!*at)
		return take_token(token, TOKEN_END, at, at);
	if (*at == '\'' || *at == '"')
		return next_quoted(at, token);
	if (begins_word(*at))
		return next_word(at, token);
	if (*at == '$' && dollar_tag(at) > 0)
		return take_token(token, TOKEN_STRING, at, end_of_dollar_string(at, dollar_tag(at)));
	if (*at == '$' || is_digit(*at)) { /* $1, and a number with what sticks to it */
		const char *end = at + 1;
		while (is_digit(*end))
			end++;
		return take_token(token, TOKEN_OTHER, at, end);
	}
	return take_token(token, *at == ';' ? TOKEN_SEMICOLON : TOKEN_OTHER, at, at + 1);
}

/* ---- rules ---- */

static const char *const refused_first[] = {"BEGIN",      "START",     "COMMIT",  "END",     "ROLLBACK",
                                            "ABORT",      "SAVEPOINT", "RELEASE", "PREPARE", "EXECUTE",
                                            "DEALLOCATE", "SET",       "RESET",   "DISCARD", "LISTEN",
                                            "UNLISTEN",   "LOAD",      "COPY",    "VACUUM"};

/* Functions whose effect outlives the event; session locks in all their forms. */
static const char *const refused_names[] = {"set_config",
                                            "pg_advisory_lock",
                                            "pg_advisory_lock_shared",
                                            "pg_try_advisory_lock",
                                            "pg_try_advisory_lock_shared",
                                            "pg_advisory_unlock",
                                            "pg_advisory_unlock_shared",
                                            "pg_advisory_unlock_all"};

/* Statements whose effect outlives the event, and the words behind which a statement of a block begins. */
static const char *const refused_in_code[] = {"SET", "RESET", "LISTEN", "UNLISTEN", "LOAD"};
static const char *const openers[] = {"begin", "then", "else", "loop"};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool refuse_name(const char *name, struct error *error)
{
	return error_set(
	        error, ERROR_PLUGIN,
	        "a statement names %s, whose effect reaches other events: it needs isolation = \"event\" and the "
	        "capability IDEM_CAP_ISOLATED",
	        name);
}

static bool check_first(struct token token, struct error *error)
{
	if (token.kind == TOKEN_END || token.kind == TOKEN_SEMICOLON)
		return error_set(error, ERROR_PLUGIN, "a statement is empty");
	for (size_t i = 0; i < COUNT(refused_first); i++)
		if (token.kind == TOKEN_WORD && !token.is_quoted && same(token.text, refused_first[i]))
			return error_set(
			        error, ERROR_PLUGIN,
			        "a statement begins with %s: transactions, settings and sessions are the host's",
			        refused_first[i]);
	return true;
}

static bool check_name(struct token token, struct error *error)
{
	for (size_t i = 0; i < COUNT(refused_names); i++)
		if (same(token.text, refused_names[i]))
			return refuse_name(refused_names[i], error);
	return true;
}

static bool begins_statement(struct token before)
{
	if (before.kind == TOKEN_END || before.kind == TOKEN_SEMICOLON)
		return true;
	for (size_t i = 0; i < COUNT(openers); i++)
		if (before.kind == TOKEN_WORD && same(before.text, openers[i]))
			return true;
	return false;
}

static bool check_statement_of_code(struct token before, struct token token, struct error *error)
{
	for (size_t i = 0; i < COUNT(refused_in_code); i++)
		if (token.kind == TOKEN_WORD && !token.is_quoted && same(token.text, refused_in_code[i]) &&
		    begins_statement(before))
			return refuse_name(refused_in_code[i], error);
	return true;
}

static struct bytes code_of(struct bytes string)
{
	bool is_escape_string = string.len > 1 && string.ptr[0] == '\'' && string.ptr[string.len - 1] == '\'';
	size_t quote = string.len > 0 && string.ptr[0] == '$' ? dollar_tag(string.ptr) : is_escape_string;

	return (struct bytes){string.ptr + quote, string.len - 2 * quote};
}

static bool check_statements_of_code(struct bytes code, struct error *error)
{
	char *copy = strndup(code.ptr, code.len);
	const char *at = copy;
	struct token before, token = {0};
	bool ok = true;

	ASSERT(copy);
	do {
		before = token;
		at = next_token(at, &token);
		ok = check_statement_of_code(before, token, error);
	} while (ok && at && token.kind != TOKEN_END);
	free(copy);
	return ok;
}

/* The text of a DO block or a function is a string to the lexer, but code all the same. */
static bool check_code(struct token token, struct error *error)
{
	for (size_t i = 0; i < COUNT(refused_names); i++) {
		size_t length = strlen(refused_names[i]);
		for (size_t at = 0; at + length <= token.text.len; at++)
			if (same((struct bytes){token.text.ptr + at, length}, refused_names[i]))
				return refuse_name(refused_names[i], error);
	}
	return check_statements_of_code(code_of(token.text), error);
}

static bool check_token(struct token first, struct token token, bool isolated, struct error *error)
{
	bool is_word = token.kind == TOKEN_WORD, has_code = same(first.text, "do") || same(first.text, "create");

	if (token.kind == TOKEN_UNTERMINATED)
		return error_set(error, ERROR_PLUGIN, "a string, quoted name or comment in a statement does not end");
	if (token.kind == TOKEN_UNICODE)
		return error_set(error, ERROR_PLUGIN, "a statement has a name written as U&\"…\": write it plainly");
	if (is_word && same(first.text, "explain") && same(token.text, "execute"))
		return error_set(error, ERROR_PLUGIN, "a statement begins with EXPLAIN and executes a prepared one");
	if (isolated)
		return true;
	if (is_word)
		return check_name(token, error);
	return token.kind != TOKEN_STRING || !has_code || check_code(token, error);
}

bool plugin_check_sql(const char *sql, bool isolated, struct error *error)
{
	struct token first = {0}, token;
	bool has_first = false, has_ended = false;

	if (FAILPOINT("sql_check_off"))
		return true;
	do {
		sql = next_token(sql, &token);
		if (has_ended && token.kind != TOKEN_END && token.kind != TOKEN_UNTERMINATED)
			return error_set(error, ERROR_PLUGIN,
			                 "a statement goes on behind its ';': one statement at a time");
		bool is_bracket = token.kind == TOKEN_OTHER && token.text.ptr && token.text.ptr[0] == '(';
		if (!has_first && !is_bracket && token.kind != TOKEN_UNTERMINATED) {
			if (!check_first(token, error))
				return false;
			first = token;
			has_first = true;
		}
		if (!check_token(first, token, isolated, error))
			return false;
		has_ended |= token.kind == TOKEN_SEMICOLON;
	} while (token.kind != TOKEN_END);
	return true;
}
