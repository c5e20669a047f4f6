/* From the text of a value to what is stored, and back. */
#ifndef IDEM_CONFIG_VALUE_H
#define IDEM_CONFIG_VALUE_H
#include "core/config/settings.h"

/* "30s"; bare: a number without unit is milliseconds. */
bool value_parse_duration(const char *text, bool bare, int64_t *out_ms, struct error *error) MUST_CHECK;
/* "64MiB", "64MB"; bare: a number without unit is bytes. */
bool value_parse_size(const char *text, bool bare, int64_t *out_bytes, struct error *error) MUST_CHECK;
void value_size_text(int64_t bytes, char *out, size_t size);

/* One value of the setting, or one element of its list, into *field; strings are copied into the arena. */
bool value_store(const struct setting *setting, const char *text, bool bare, struct arena *arena, void *field,
                 struct error *error) MUST_CHECK;
/* Makes the list at `field` (of a list setting, inside its struct) count elements long and returns a row for
 * value_store of one element; *out_items is the first and *out_step the distance between two. */
struct setting value_list_begin(const struct setting *setting, size_t count, struct arena *arena, void *field,
                                char **out_items, size_t *out_step);
bool value_is_list(enum setting_kind kind);
/* The default into *field, which was zeroed. */
void value_store_preset(const struct setting *setting, struct arena *arena, void *field);
#endif
