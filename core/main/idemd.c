/* idemd: the host.  This file is its arguments; the work is supervisor_run's, in a child pipeline_run's. */
#include "core/main/idemd.h"
#include "core/admin/reference.h"
#include "core/base/log.h"
#include "core/main/environment.h"
#include "core/supervisor/supervisor.h"
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
        "idemd - applies every Kafka event to PostgreSQL exactly once, through handler plugins\n"
        "\n"
        "usage: idemd -c FILE\n"
        "       idemd -c FILE --check [--connect] | --show-config\n"
        "       idemd --print-sample | --print-reference | --print-metrics | --print-log-events\n"
        "       idemd --version | --help\n"
        "\n"
        "  -c, --config FILE   the configuration; without anything else the host runs until SIGTERM\n"
        "      --check         check the configuration and the plugins, every mistake with file and line; each\n"
        "                      plugin is loaded and created with its options in a process of its own;\n"
        "                      touches neither Kafka nor PostgreSQL\n"
        "      --connect       with --check: also connect to both: schema version, grants, topics\n"
        "      --show-config   print the configuration as understood, defaults included, secrets hidden\n"
        "      --print-sample  print a sample configuration with every setting\n"
        "      --print-reference\n"
        "                      print the table of settings\n"
        "      --print-metrics print the table of metrics\n"
        "      --print-log-events\n"
        "                      print the table of what is logged\n"
        "      --version       print the version\n"
        "  -h, --help          print this\n"
        "\n"
        "signals: SIGTERM, SIGINT  finish what was begun, commit, leave the groups, exit\n"
        "         SIGHUP           read the configuration again, check it whole, replace the pipelines that changed\n"
        "\n"
        "exit status:\n"
        "   0  stopped cleanly, or the check found nothing wrong\n"
        "  64  wrong arguments\n"
        "  69  PostgreSQL, Kafka or the admin address could not be had at the start\n"
        "  70  internal error, or a pipeline had to be killed while stopping\n"
        "  78  the configuration is wrong; nothing was touched\n"
        "\n"
        "See also: idemctl --help\n";

enum mode { MODE_RUN, MODE_CHECK, MODE_SHOW };

struct arguments {
	enum mode mode;
	bool connect;
	const char *config_path;
	const char *child_kind, *child_name, *plugin_path; /* a child's, set by the supervisor alone */
};

enum {
	OPTION_CHECK = 256,
	OPTION_CONNECT,
	OPTION_SHOW,
	OPTION_SAMPLE,
	OPTION_REFERENCE,
	OPTION_METRICS,
	OPTION_LOG_EVENTS,
	OPTION_VERSION,
	OPTION_CHILD,
	OPTION_PLUGIN
};

static const struct option long_options[] = {
        {"config", required_argument, NULL, 'c'},
        {"check", no_argument, NULL, OPTION_CHECK},
        {"connect", no_argument, NULL, OPTION_CONNECT},
        {"show-config", no_argument, NULL, OPTION_SHOW},
        {"print-sample", no_argument, NULL, OPTION_SAMPLE},
        {"print-reference", no_argument, NULL, OPTION_REFERENCE},
        {"print-metrics", no_argument, NULL, OPTION_METRICS},
        {"print-log-events", no_argument, NULL, OPTION_LOG_EVENTS},
        {"version", no_argument, NULL, OPTION_VERSION},
        {"help", no_argument, NULL, 'h'},
        {"child", required_argument, NULL, OPTION_CHILD},
        {"plugin", required_argument, NULL, OPTION_PLUGIN},
        {NULL, 0, NULL, 0},
};

static _Noreturn void wrong_usage(const char *why)
{
	fprintf(stderr, "idemd: %s; see idemd --help\n", why);
	exit(IDEM_EXIT_USAGE);
}

/* Output somebody waits for must have arrived. */
static _Noreturn void print_and_exit(void)
{
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fputs("idemd: the output could not be written\n", stderr);
		exit(IDEM_EXIT_INTERNAL);
	}
	exit(EXIT_SUCCESS);
}

static void take_option(int option, struct arguments *arguments)
{
	switch (option) {
	case 'c':
		arguments->config_path = optarg;
		return;
	case OPTION_CHECK:
		arguments->mode = MODE_CHECK;
		return;
	case OPTION_CONNECT:
		arguments->connect = true;
		return;
	case OPTION_SHOW:
		arguments->mode = MODE_SHOW;
		return;
	case OPTION_CHILD:
		arguments->child_kind = optarg;
		return;
	case OPTION_PLUGIN:
		arguments->plugin_path = optarg;
		return;
	case OPTION_SAMPLE:
		config_print_sample(stdout);
		print_and_exit();
	case OPTION_REFERENCE:
		config_print_reference(stdout);
		print_and_exit();
	case OPTION_METRICS:
		admin_print_metrics_page(stdout);
		print_and_exit();
	case OPTION_LOG_EVENTS:
		admin_print_log_page(stdout);
		print_and_exit();
	case OPTION_VERSION:
		puts("idemd " PACKAGE_VERSION);
		print_and_exit();
	case 'h':
		fputs(help, stdout);
		print_and_exit();
	default: /* getopt said why */
		fputs("see idemd --help\n", stderr);
		exit(IDEM_EXIT_USAGE);
	}
}

static struct arguments parse(int argc, char **argv)
{
	struct arguments arguments = {.mode = MODE_RUN};
	int option;

	while ((option = getopt_long(argc, argv, "c:h", long_options, NULL)) != -1)
		take_option(option, &arguments);
	if (arguments.child_kind) {
		if (strcmp(arguments.child_kind, "pipeline") != 0 || optind + 1 != argc || !arguments.plugin_path)
			wrong_usage("--child is for the supervisor alone");
		arguments.child_name = argv[optind];
		return arguments;
	}
	if (optind != argc)
		wrong_usage("an argument too many");
	if (!arguments.config_path)
		wrong_usage("-c FILE is missing");
	if (arguments.connect && arguments.mode != MODE_CHECK)
		wrong_usage("--connect goes with --check");
	return arguments;
}

static int show(const struct config *config)
{
	struct error error;

	if (config_print(config, NULL, false, stdout, &error))
		print_and_exit();
	fprintf(stderr, "idemd: %s\n", error.text);
	return IDEM_EXIT_INTERNAL;
}

/* ---- running ---- */

static int run(const struct config *config)
{
	char **environment = environment_for_children(environ);
	struct supervisor_options options = {
	        .config_path = config->file,
	        .environment = environment,
	};
	int status;

	log_open("supervisor", config->log_level);
	status = supervisor_run(&options, config);
	free(environment);
	return status;
}

static int check(const struct config *config, bool connect)
{
	int status;

	log_open("supervisor", LOG_LEVEL_ERROR); /* the findings say it better */
	status = connect ? check_services(config, stdout) : EXIT_SUCCESS;
	if (status == EXIT_SUCCESS)
		printf("%s: no mistakes found, %zu pipeline%s\n", config->file, config->pipeline_count,
		       config->pipeline_count == 1 ? "" : "s");
	return status;
}

static int work(const struct arguments *arguments, const struct config *config)
{
	switch (arguments->mode) {
	case MODE_SHOW:
		return show(config);
	case MODE_CHECK:
		return check(config, arguments->connect);
	case MODE_RUN:
		return run(config);
	}
	return IDEM_EXIT_INTERNAL;
}

int main(int argc, char **argv)
{
	struct arguments arguments = parse(argc, argv);
	struct config config;
	struct config_report report;
	int status = IDEM_EXIT_CONFIGURATION;

	if (arguments.child_name)
		child_main(arguments.child_name, arguments.plugin_path);
	/* When the host runs, a plugin that does not fit keeps down its own pipeline only. */
	if (config_load(arguments.config_path, &config, &report) && arguments.mode == MODE_CHECK)
		supervisor_check_plugins(&config, &report);
	config_report_print(&report, arguments.config_path, stderr);
	if (report.error_count == 0)
		status = work(&arguments, &config);
	config_report_done(&report);
	config_done(&config);
	return status;
}
