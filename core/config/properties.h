/* Groups whose names are not ours: librdkafka's properties and a plugin's options. */
#ifndef IDEM_CONFIG_PROPERTIES_H
#define IDEM_CONFIG_PROPERTIES_H
#include "core/config/reader.h"

void properties_read_kafka(struct reader *reader, const config_setting_t *group, struct config_properties *properties);
void properties_read_options(struct reader *reader, const config_setting_t *group,
                             struct config_properties *properties);
/* The value that counts, the last one of that name; NULL: not set. */
const char *properties_find(const struct config_properties *properties, const char *name);
#endif
