/* idemctl: the operator's tool.  This file is its arguments; every command is a function of its own. */
#include "core/main/idemctl.h"
#include "core/base/assert.h"
#include "core/config/conninfo.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { /* of options without a letter */
       OPTION_JSON = 256,
       OPTION_VERSION,
       OPTION_CONNINFO,
       OPTION_ROLE,
       OPTION_PIPELINE,
       OPTION_ID,
       OPTION_REASON,
       OPTION_SINCE,
       OPTION_UNTIL,
       OPTION_ORIGIN,
       OPTION_AT,
       OPTION_LIMIT,
       OPTION_OPEN,
       OPTION_RAW,
       OPTION_ALL,
       OPTION_DRY_RUN,
       OPTION_RATE,
       OPTION_KEY
};
#define BIT(option) (1u << ((option)-OPTION_JSON))
#define TAKES_FILTER                                                                                                   \
	(BIT(OPTION_PIPELINE) | BIT(OPTION_ID) | BIT(OPTION_REASON) | BIT(OPTION_SINCE) | BIT(OPTION_UNTIL) |          \
	 BIT(OPTION_ORIGIN) | BIT(OPTION_AT))
#define TAKES_ACTION                                                                                                   \
	(TAKES_FILTER | BIT(OPTION_LIMIT) | BIT(OPTION_OPEN) | BIT(OPTION_ALL) | BIT(OPTION_DRY_RUN) |                 \
	 BIT(OPTION_CONNINFO))

enum needs { NEEDS_NOTHING, NEEDS_DATABASE, NEEDS_ADMIN, NEEDS_ALL };

struct command {
	const char *noun, *verb; /* verb NULL: the noun alone */
	const char *arguments;   /* for people */
	size_t min_words, max_words;
	unsigned takes;   /* options beside those that go with all */
	enum needs needs; /* of the configuration */
	int (*run)(const struct ctl *ctl);
	const char *help;
};

static const struct command commands[] = {
        {"status", NULL, "", 0, 0, 0, NEEDS_ADMIN, ctl_status, "what the running host does: pipelines, counters, lag"},
        {"lag", NULL, "", 0, 0, 0, NEEDS_ADMIN, ctl_lag, "records behind, by pipeline, topic and partition"},
        {"dlq", "list", "", 0, 0, TAKES_FILTER | BIT(OPTION_LIMIT) | BIT(OPTION_OPEN) | BIT(OPTION_CONNINFO), NEEDS_ALL,
         ctl_dlq_list, "the dead letters, each event once; claimed: it was processed or discarded meanwhile"},
        {"dlq", "show", "", 0, 0, TAKES_FILTER | BIT(OPTION_RAW) | BIT(OPTION_CONNINFO), NEEDS_ALL, ctl_dlq_show,
         "one dead letter: why, headers, key and payload"},
        {"dlq", "replay", "", 0, 0, TAKES_ACTION | BIT(OPTION_RATE) | BIT(OPTION_CONNINFO), NEEDS_ALL, ctl_dlq_replay,
         "send dead letters to their own group again; harmless if repeated"},
        {"dlq", "discard", "", 0, 0, TAKES_ACTION, NEEDS_ALL, ctl_dlq_discard,
         "claim the ids of dead letters, so that no later copy is applied"},
        {"parked", "list", "", 0, 0, BIT(OPTION_PIPELINE) | BIT(OPTION_KEY) | BIT(OPTION_LIMIT) | BIT(OPTION_CONNINFO),
         NEEDS_ALL, ctl_parked_list,
         "the keys that wait for another try, with their first event; with --key its events"},
        {"parked", "release", "", 0, 0,
         BIT(OPTION_PIPELINE) | BIT(OPTION_KEY) | BIT(OPTION_ALL) | BIT(OPTION_DRY_RUN) | BIT(OPTION_CONNINFO),
         NEEDS_ALL, ctl_parked_release, "try parked keys now instead of when they are due"},
        {"dlq", "index", "", 0, 0, BIT(OPTION_PIPELINE) | BIT(OPTION_CONNINFO), NEEDS_ALL, ctl_dlq_index,
         "make the index of the dead letters anew from the topic: after an upgrade or a restore"},
        {"schema", "apply", "", 0, 0, BIT(OPTION_CONNINFO) | BIT(OPTION_ROLE), NEEDS_DATABASE, ctl_schema_apply,
         "apply the missing migrations, grant the host's role what it needs"},
        {"schema", "status", "", 0, 0, BIT(OPTION_CONNINFO), NEEDS_DATABASE, ctl_schema_status,
         "the migrations; exit status 1 when one is missing"},
        {"dedup", "status", "[PIPELINE]", 0, 1, BIT(OPTION_CONNINFO), NEEDS_DATABASE, ctl_dedup_status,
         "what each group remembers, with sizes"},
        {"dedup", "expire", "[PIPELINE]", 0, 1, BIT(OPTION_CONNINFO), NEEDS_ALL, ctl_dedup_expire,
         "forget now what is past its retention, as the host does by itself"},
        {"dedup", "release", "PIPELINE ID", 2, 2, BIT(OPTION_CONNINFO), NEEDS_ALL, ctl_dedup_release,
         "let an event that died as id_too_old be applied, once; then replay it"},
        {"plugin", "inspect", "FILE", 1, 1, 0, NEEDS_NOTHING, ctl_plugin_inspect,
         "what a plugin says of itself; runs none of its code"},
        {"plugin", "check", "FILE", 1, 1, 0, NEEDS_NOTHING, ctl_plugin_check,
         "that, and loads and creates it in a process of its own"},
};
#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

struct arguments {
	const char *config_path;
	unsigned given; /* options, by their bit */
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
	      "      --conninfo TEXT  schema, dedup, dlq, parked: connect with this instead of database.conninfo, e.g. "
	      "as\n"
	      "                       the owner of the schema; a password in it shows in ps: use PGPASSFILE\n"
	      "      --role NAME      schema apply: the role idemd connects as, which is granted what it needs\n"
	      "      --pipeline NAME  dlq, parked: whose\n"
	      "      --key KEY        parked: the ordering key, or the whole name that parked list shows\n"
	      "      --id ID          dlq: the event with this id or business key; may be repeated\n"
	      "      --reason REASON  dlq: what died of it\n"
	      "      --origin PLACE   dlq: what came from TOPIC, TOPIC/PARTITION or TOPIC/PARTITION/OFFSET\n"
	      "      --at PLACE       dlq: the dead letter at PARTITION/OFFSET of the dead letter topic\n"
	      "      --since TIME     dlq: what died then or later: 2h (ago), 2026-12-01, 2026-12-01T10:00:00 (UTC)\n"
	      "      --until TIME     dlq: what died before\n"
	      "      --limit N        dlq, parked list: at most so many; list stops at 100, 0 is all\n"
	      "      --open           dlq list, replay, discard: only those that nobody replayed or discarded; list: "
	      "and that are\n"
	      "                       not claimed\n"
	      "      --raw            dlq show: the payload's bytes and nothing else\n"
	      "      --all            dlq replay, discard; parked release: all of them\n"
	      "      --dry-run        the same: say what would be done, change nothing\n"
	      "      --rate N         dlq replay: at most N a second\n"
	      "      --version        print the version\n"
	      "  -h, --help           print this\n"
	      "\n"
	      "exit status:\n"
	      "   0  done, or yes\n"
	      "   1  it failed, or the answer is no (stderr says why)\n"
	      "  64  wrong arguments\n"
	      "  69  PostgreSQL, Kafka or idemd's admin port could not be reached\n"
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
	case ERROR_KAFKA:
		return error->retriable ? CTL_SERVICE_MISSING : CTL_NO;
	default:
		return CTL_NO;
	}
}

struct pg *ctl_open_database(const struct ctl *ctl, struct error *error)
{
	struct config_database database = ctl->config->database;

	if (ctl->conninfo) {
		database.conninfo = ctl->conninfo;
		database.password = NULL;
	}
	return pg_open(&database, "idemctl", 0, error);
}

int ctl_with_database(const struct ctl *ctl, int (*run)(const struct ctl *ctl, struct pg *pg))
{
	struct error error;
	struct pg *pg = ctl_open_database(ctl, &error);
	int status;

	if (!pg) {
		ctl_fail(&error);
		return CTL_SERVICE_MISSING;
	}
	status = run(ctl, pg);
	pg_close(pg);
	return status;
}

const struct config_pipeline *ctl_find_pipeline(const struct ctl *ctl, const char *name)
{
	const struct config_pipeline *pipeline = config_find_pipeline(ctl->config, name);

	if (!pipeline)
		fprintf(stderr, "idemctl: %s has no pipeline %s\n", ctl->config->file, name);
	return pipeline;
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

static const struct option options[] = {
        {"config", required_argument, NULL, 'c'},
        {"json", no_argument, NULL, OPTION_JSON},
        {"conninfo", required_argument, NULL, OPTION_CONNINFO},
        {"role", required_argument, NULL, OPTION_ROLE},
        {"pipeline", required_argument, NULL, OPTION_PIPELINE},
        {"id", required_argument, NULL, OPTION_ID},
        {"reason", required_argument, NULL, OPTION_REASON},
        {"since", required_argument, NULL, OPTION_SINCE},
        {"until", required_argument, NULL, OPTION_UNTIL},
        {"origin", required_argument, NULL, OPTION_ORIGIN},
        {"at", required_argument, NULL, OPTION_AT},
        {"limit", required_argument, NULL, OPTION_LIMIT},
        {"open", no_argument, NULL, OPTION_OPEN},
        {"raw", no_argument, NULL, OPTION_RAW},
        {"all", no_argument, NULL, OPTION_ALL},
        {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
        {"rate", required_argument, NULL, OPTION_RATE},
        {"key", required_argument, NULL, OPTION_KEY},
        {"version", no_argument, NULL, OPTION_VERSION},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
};

static void check_conninfo(const char *conninfo)
{
	struct error error;

	if (conninfo && (!conninfo_check(conninfo, &error) || !conninfo_check_files(conninfo, &error)))
		wrong_usage("--conninfo:", error.text);
}

static void check_options(const struct command *command, const struct arguments *arguments)
{
	char what[64];

	snprintf(what, sizeof(what), "%s%s%s takes no option", command->noun, command->verb ? " " : "",
	         command->verb ? command->verb : "");
	for (const struct option *option = options; option->name; option++)
		if (option->val > OPTION_VERSION && (arguments->given & ~command->takes & BIT(option->val)))
			wrong_usage(what, option->name);
	if (command->needs && !arguments->config_path)
		wrong_usage("-c FILE is missing", "");
	if ((command->takes & BIT(OPTION_PIPELINE)) && !arguments->ctl.dlq.pipeline)
		wrong_usage("--pipeline NAME is missing", "");
	if (arguments->ctl.word_count < command->min_words)
		wrong_usage("an argument is missing:", command->arguments);
	if (arguments->ctl.word_count > command->max_words)
		wrong_usage("an argument too many:", arguments->ctl.words[command->max_words]);
	check_conninfo(arguments->ctl.conninfo);
}

/* Where the option's text goes; NULL: it has none, or is a list. */
static const char **text_of(struct ctl *ctl, int option)
{
	switch (option) {
	case OPTION_CONNINFO:
		return &ctl->conninfo;
	case OPTION_ROLE:
		return &ctl->role;
	case OPTION_PIPELINE:
		return &ctl->dlq.pipeline;
	case OPTION_REASON:
		return &ctl->dlq.reason;
	case OPTION_SINCE:
		return &ctl->dlq.since;
	case OPTION_UNTIL:
		return &ctl->dlq.until;
	case OPTION_ORIGIN:
		return &ctl->dlq.origin;
	case OPTION_AT:
		return &ctl->dlq.at;
	case OPTION_LIMIT:
		return &ctl->dlq.limit;
	case OPTION_RATE:
		return &ctl->dlq.rate;
	case OPTION_KEY:
		return &ctl->key;
	default:
		return NULL;
	}
}

static bool *flag_of(struct ctl *ctl, int option)
{
	switch (option) {
	case OPTION_JSON:
		return &ctl->json;
	case OPTION_OPEN:
		return &ctl->dlq.open;
	case OPTION_RAW:
		return &ctl->dlq.raw;
	case OPTION_ALL:
		return &ctl->dlq.all;
	case OPTION_DRY_RUN:
		return &ctl->dlq.dry_run;
	default:
		return NULL;
	}
}

static void take_option(int option, struct arguments *arguments)
{
	const char **text = text_of(&arguments->ctl, option);
	bool *flag = flag_of(&arguments->ctl, option);

	arguments->given |= BIT(option);
	if (text)
		*text = optarg;
	else if (flag)
		*flag = true;
	else if (option == OPTION_ID)
		arguments->ctl.dlq.ids[arguments->ctl.dlq.id_count++] = optarg;
}

static void parse_options(int argc, char **argv, struct arguments *arguments)
{
	int option;

	while ((option = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			arguments->config_path = optarg;
			break;
		case OPTION_VERSION:
			puts("idemctl " PACKAGE_VERSION);
			exit(CTL_OK);
		case 'h':
			print_help(stdout);
			exit(CTL_OK);
		case '?': /* getopt said why */
			fputs("see idemctl --help\n", stderr);
			exit(CTL_USAGE);
		default:
			take_option(option, arguments);
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

	arguments.ctl.dlq.ids = calloc((size_t)argc + 1, sizeof(*arguments.ctl.dlq.ids));
	ASSERT(arguments.ctl.dlq.ids);
	parse_options(argc, argv, &arguments);
	if (optind == argc)
		wrong_usage("a command is missing", "");
	command = find_command(argc - optind, argv + optind);
	own_words = command->verb ? 2 : 1;
	arguments.ctl.words = (const char *const *)(argv + optind + own_words);
	arguments.ctl.word_count = (size_t)(argc - optind - own_words);
	check_options(command, &arguments);
	status = command->needs ? run_configured(command, &arguments) : command->run(&arguments.ctl);
	free(arguments.ctl.dlq.ids);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fputs("idemctl: the output could not be written\n", stderr);
		return CTL_NO;
	}
	return status;
}
