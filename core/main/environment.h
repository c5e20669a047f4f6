/* What a child may inherit of the host's environment: a list of names; everything else could be a secret. */
#ifndef IDEM_MAIN_ENVIRONMENT_H
#define IDEM_MAIN_ENVIRONMENT_H

/* all and the result end with NULL; free() the result, its strings are those of all. */
char **environment_for_children(char *const *all);
#endif
