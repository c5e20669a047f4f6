/* What a row of the table can't say: what settings mean together. */
#ifndef IDEM_CONFIG_CHECK_H
#define IDEM_CONFIG_CHECK_H
#include "core/config/reader.h"

/* Fills in the defaults that depend on other settings (dlq.topic, retry.mode, database.password), then reports what
 * does not go together. */
void check_config(struct reader *reader, const config_setting_t *root);
#endif
