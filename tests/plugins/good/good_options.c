/* Options of every type.  create() fails unless they read as the unit test has set them. */
#include <idem/sugar.h>

static idem_status create(const struct idem_host_api *api, void **out_self)
{
	const struct idem_options_api *options = api->options;
	struct idem_bytes text;
	int64_t number;
	double real;
	int is_right =
	        idem_equal_string(idem_option_text(api, "greeting"), "hello") &&
	        idem_option_int64(api, "count", 0) == -12 && options->real(api->host, "ratio", &real) == IDEM_OK &&
	        real == 0.25 && options->real(api->host, "count", &real) == IDEM_OK && real == -12 &&
	        idem_option_int64(api, "strict", 0) == 1 && idem_option_int64(api, "wait", 0) == 90000 &&
	        idem_option_int64(api, "room", 0) == 64 * 1024 &&
	        idem_equal_string(idem_option_text(api, "token"), "s3cret") &&
	        options->list(api->host, "regions", 0, &text) == IDEM_OK && idem_equal_string(text, "north") &&
	        options->list(api->host, "regions", 1, &text) == IDEM_OK && idem_equal_string(text, "south, east") &&
	        options->list(api->host, "regions", 2, &text) == IDEM_E_NOT_FOUND &&
	        options->list(api->host, "levels", 1, &text) == IDEM_OK && idem_equal_string(text, "b") &&
	        options->integer(api->host, "unset", &number) == IDEM_E_NOT_FOUND &&
	        options->list(api->host, "no_list", 0, &text) == IDEM_E_NOT_FOUND &&
	        options->integer(api->host, "undeclared", &number) == IDEM_E_INVALID &&
	        options->integer(api->host, "greeting", &number) == IDEM_E_TYPE &&
	        options->text(api->host, "regions", &text) == IDEM_E_TYPE;

	(void)out_self;
	return is_right ? IDEM_OK : IDEM_E_INVALID;
}

static idem_verdict handle(void *self, struct idem_call *call, const struct idem_event *event)
{
	(void)self;
	(void)call;
	(void)event;
	return IDEM_DONE;
}

static const struct idem_option options[] = {{"greeting", "string", "hello", "what it says"},
                                             {"count", "int", NULL, NULL},
                                             {"ratio", "real", NULL, NULL},
                                             {"strict", "bool", "true", NULL},
                                             {"wait", "duration", NULL, NULL},
                                             {"room", "size", "64KiB", NULL},
                                             {"token", "secret", NULL, NULL},
                                             {"regions", "list", "elsewhere", NULL},
                                             {"levels", "list", "a, b ,c", NULL},
                                             {"no_list", "list", NULL, NULL},
                                             {"unset", "int", NULL, NULL},
                                             {0}};

IDEM_PLUGIN_DEFINE("good_options", "1.0.0", "idem", "tests", .options = options, .create = create, .handle = handle);
