/* idemctl: the operator's tool.  This file is its arguments; every command is a function of its own. */
#include "core/main/idemctl.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum needs { NEEDS_NOTHING, NEEDS_DATABASE, NEEDS_ADMIN, NEEDS_ALL };

struct command {
	const char *noun, *verb; /* verb NULL: the noun alone */
	const char *arguments;   /* for people */
	size_t min_words, max_words;
	enum needs needs; /* of the configuration */
	int (*run)(const struct ctl *ctl);
	const char *help;
};

static const struct command commands[] = {
        {"status", NULL, "", 0, 0, NEEDS_ADMIN, ctl_status, "what the running host does: pipelines, counters, lag"},
        {"lag", NULL, "", 0, 0, NEEDS_ADMIN, ctl_lag, "records behind, by pipeline, topic and partition"},
        {"schema", "apply", "[--role NAME]", 0, 0, NEEDS_DATABASE, ctl_schema_apply,
         "apply the missing migrations, grant the host's role what it needs"},
        {"schema", "status", "", 0, 0, NEEDS_DATABASE, ctl_schema_status,
         "the migrations; exit status 1 when one is missing"},
        {"dedup", "status", "[PIPELINE]", 0, 1, NEEDS_DATABASE, ctl_dedup_status,
         "what each group remembers, with sizes"},
        {"dedup", "expire", "[PIPELINE]", 0, 1, NEEDS_ALL, ctl_dedup_expire,
         "forget now what is past its retention, as the host does by itself"},
        {"plugin", "inspect", "FILE", 1, 1, NEEDS_NOTHING, ctl_plugin_inspect,
         "what a plugin says of itself; runs none of its code"},
        {"plugin", "check", "FILE", 1, 1, NEEDS_NOTHING, ctl_plugin_check,
         "that, and loads and creates it in a process of its own"},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

struct arguments {
	const char *config_path;
	struct ctl ctl;
};

static void print_help(FILE *out)
{
	fputs("idemctl - the operator's tool of idem\n\nusage: idemctl -c FILE COMMAND [ARGUMENT] "
	      "[OPTION]\n\ncommands:\n",
	      out);
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s %s", commands[i].noun, commands[i].verb ? " " : "",
		         commands[i].verb ? commands[i].verb : "", commands[i].arguments);
		fprintf(out, "  %-30s %s\n", name, commands[i].help);
	}
	fputs("\noptions:\n"
	      "  -c, --config FILE    idemd's configuration\n"
	      "      --json           print JSON\n"
	      "      --conninfo TEXT  schema, dedup: connect with this instead of database.conninfo, e.g. as the\n"
	      "                       owner of the schema; a password in it shows in ps: use PGPASSFILE\n"
	      "      --role NAME      schema apply: the role idemd connects as, which is granted what it needs\n"
	      "      --version        print the version\n"
	      "  -h, --help           print this\n"
	      "\n"
	      "exit status:\n"
	      "   0  done, or yes\n"
	      "   1  it failed, or the answer is no (stderr says why)\n"
	      "  64  wrong arguments\n"
	      "  69  PostgreSQL or idemd's admin port could not be reached\n"
	      "  78  the configuration is wrong\n",
	      out);
}

static _Noreturn void wrong_usage(const char *why, const char *what)
{
	fprintf(stderr, "idemctl: %s%s%s; see idemctl --help\n", why, *what ? " " : "", what);
	exit(CTL_USAGE);
}

int ctl_fail(const struct error *error)
{
	fprintf(stderr, "idemctl: %s\n", error->text);
	switch (error->code) {
	case ERROR_CONFIG:
		return CTL_CONFIGURATION;
	case ERROR_IO:
	case ERROR_TIMEOUT:
		return CTL_SERVICE_MISSING;
	default:
		return CTL_NO;
	}
}

int ctl_with_database(const struct ctl *ctl, int (*run)(const struct ctl *ctl, struct pg *pg))
{
	struct config_database database = ctl->config->database;
	struct error error;
	struct pg *pg;
	int status;

	if (ctl->conninfo) {
		database.conninfo = ctl->conninfo;
		database.password = NULL;
	}
	pg = pg_open(&database, "idemctl", 0, &error);
	if (!pg) {
		ctl_fail(&error);
		return CTL_SERVICE_MISSING;
	}
	status = run(ctl, pg);
	pg_close(pg);
	return status;
}

static const struct command *find_command(int count, char **words)
{
	bool noun_known = false;

	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(commands[i].noun, words[0]) != 0)
			continue;
		if (!commands[i].verb || (count > 1 && strcmp(commands[i].verb, words[1]) == 0))
			return &commands[i];
		noun_known = true;
	}
	if (noun_known)
		wrong_usage(count > 1 ? "no such command:" : "what to do with", count > 1 ? words[1] : words[0]);
	wrong_usage("no such command:", words[0]);
}

static void check_options(const struct command *command, const struct arguments *arguments)
{
	if (arguments->ctl.conninfo && strcmp(command->noun, "schema") != 0 && strcmp(command->noun, "dedup") != 0)
		wrong_usage("--conninfo goes with schema and dedup", "");
	if (arguments->ctl.role && command->run != ctl_schema_apply)
		wrong_usage("--role goes with schema apply", "");
	if (command->needs && !arguments->config_path)
		wrong_usage("-c FILE is missing", "");
	if (arguments->ctl.word_count < command->min_words)
		wrong_usage("an argument is missing:", command->arguments);
	if (arguments->ctl.word_count > command->max_words)
		wrong_usage("an argument too many:", arguments->ctl.words[command->max_words]);
}

static void parse_options(int argc, char **argv, struct arguments *arguments)
{
	enum { OPTION_JSON = 256, OPTION_CONNINFO, OPTION_ROLE, OPTION_VERSION };
	static const struct option options[] = {
	        {"config", required_argument, NULL, 'c'},
	        {"json", no_argument, NULL, OPTION_JSON},
	        {"conninfo", required_argument, NULL, OPTION_CONNINFO},
	        {"role", required_argument, NULL, OPTION_ROLE},
	        {"version", no_argument, NULL, OPTION_VERSION},
	        {"help", no_argument, NULL, 'h'},
	        {NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			arguments->config_path = optarg;
			break;
		case OPTION_JSON:
			arguments->ctl.json = true;
			break;
		case OPTION_CONNINFO:
			arguments->ctl.conninfo = optarg;
			break;
		case OPTION_ROLE:
			arguments->ctl.role = optarg;
			break;
		case OPTION_VERSION:
			puts("idemctl " PACKAGE_VERSION);
			exit(CTL_OK);
		case 'h':
			print_help(stdout);
			exit(CTL_OK);
		default:
			exit(CTL_USAGE); /* getopt said why */
		}
	}
}

/* True: what the command needs is there.  A mistake elsewhere in the file is no reason to refuse a look at the host
 * that still runs with the old one. */
static bool load_config(enum needs needs, const char *path, struct config *config, struct config_report *report)
{
	if (needs == NEEDS_DATABASE)
		return config_load_database(path, config, report);
	return config_load(path, config, report) || (needs == NEEDS_ADMIN && config->admin.listen);
}

static int run_configured(const struct command *command, const struct arguments *arguments)
{
	struct ctl ctl = arguments->ctl;
	struct config config;
	struct config_report report;
	int status = CTL_CONFIGURATION;

	if (load_config(command->needs, arguments->config_path, &config, &report)) {
		ctl.config = &config;
		status = command->run(&ctl);
	} else {
		config_report_print(&report, arguments->config_path, stderr);
	}
	config_report_done(&report);
	config_done(&config);
	return status;
}

int main(int argc, char **argv)
{
	struct arguments arguments = {0};
	const struct command *command;
	int status, own_words;

	parse_options(argc, argv, &arguments);
	if (optind == argc)
		wrong_usage("a command is missing", "");
	command = find_command(argc - optind, argv + optind);
	own_words = command->verb ? 2 : 1;
	arguments.ctl.words = (const char *const *)(argv + optind + own_words);
	arguments.ctl.word_count = (size_t)(argc - optind - own_words);
	check_options(command, &arguments);
	status = command->needs ? run_configured(command, &arguments) : command->run(&arguments.ctl);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fputs("idemctl: the output could not be written\n", stderr);
		return CTL_NO;
	}
	return status;
}
