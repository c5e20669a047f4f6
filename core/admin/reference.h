/* The manual's pages of what the host tells: generated from the tables that the code itself prints and logs by. */
#ifndef IDEM_ADMIN_REFERENCE_H
#define IDEM_ADMIN_REFERENCE_H
#include <stdio.h>

void admin_print_metrics_page(FILE *out);
void admin_print_log_page(FILE *out);
#endif
