#include "core/main/environment.h"
#include "core/base/assert.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What a child may inherit; anything else could be a secret of the host's. */
static bool is_inherited(const char *variable)
{
	static const char *const names[] = {
	        "PATH=",
	        "HOME=",
	        "USER=",
	        "LANG=",
	        "LC_",
	        "TZ=",
	        "TMPDIR=",
	        "LD_LIBRARY_PATH=",
	        "KRB5",
	        "SSL_CERT_FILE=",
	        "SSL_CERT_DIR=",
	        "OPENSSL_CONF=",
	        "MALLOC_",
	        "GLIBC_TUNABLES=",
	        "ASAN_OPTIONS=",
	        "LSAN_OPTIONS=",
	        "UBSAN_OPTIONS=",
	        "TSAN_OPTIONS=",
#ifdef IDEM_FAILPOINTS
	        "IDEM_FAILPOINTS",
	        "IDEM_CLOCK_",
	        "LD_PRELOAD=", /* a test's clock */
#endif
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

char **environment_for_children(char *const *all)
{
	size_t count = 0, kept = 0;
	char **environment;

	while (all[count])
		count++;
	environment = calloc(count + 1, sizeof(*environment));
	ASSERT(environment);
	for (size_t i = 0; i < count; i++)
		if (is_inherited(all[i]))
			environment[kept++] = all[i];
	return environment;
}
