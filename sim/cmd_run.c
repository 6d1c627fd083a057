/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Net files, and simulations with them. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/cmd.h"
#include "sim/job.h"
#include "sim/launch.h"
#include "sim/net/mend.h"
#include "sim/net_shape.h"
#include "sim/relay/key_values.h"
#include "sim/relay/relay.h"
#include "sim/rundir.h"

#define GEN_ARGS_MAX 64
#define DEFAULT_TICK_MS 100

static int parse_kind(const char *word, enum net_shape_kind *ret, struct error *err)
{
	static const char *const kinds[] = {
		[NET_SHAPE_RAIL] = "rail", [NET_SHAPE_TREE2] = "tree2", [NET_SHAPE_TREE3] = "tree3",
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(word, kinds[i]))
			continue;
		*ret = (enum net_shape_kind)i;
		return 0;
	}
	return err_set(err, ERR_USAGE, "the kind of a net is rail, tree2 or tree3, not \"%s\"", word);
}

/* Parse "rail --units 4 --speed NDR", split into arguments. */
static int parse_shape(int argc, char **argv, struct net_shape *shape, struct error *err)
{
	enum net_shape_kind kind = NET_SHAPE_RAIL;

	if (argc < 1)
		return err_set(err, ERR_USAGE, "the kind of net is missing: rail, tree2 or tree3");
	if (parse_kind(argv[0], &kind, err) < 0)
		return ERR_USAGE;
	*shape = net_shape_default(kind);
	for (int i = 1; i < argc; i++) {
		const char *equals = strchr(argv[i], '=');
		char name[32];

		if (strncmp(argv[i], "--", 2))
			return err_set(err, ERR_USAGE, "\"%s\" is not an option of a net: see man ibwire-sim", argv[i]);
		snprintf(name, sizeof(name), "%.*s", equals ? (int)(equals - argv[i] - 2) : 31, argv[i] + 2);
		if (!equals && i + 1 >= argc)
			return err_set(err, ERR_USAGE, "--%s needs a value", name);
		if (net_shape_option(shape, name, equals ? equals + 1 : argv[++i], err) < 0)
			return ERR_USAGE;
	}
	return 0;
}

static void log_repair(void *ctx, const char *line)
{
	(void)ctx;
	log_info("%s", line);
}

/* Generate a fabric and its net file; list deviations from the options on stderr. */
static int make_net(const struct net_shape *shape, struct text *net, struct fabric **ret, struct error *err)
{
	struct mend_notes notes = { 0 };
	struct fabric *fabric;
	int code = net_shape_build(shape, &fabric, err);

	if (code < 0)
		return code;
	mend_fabric(fabric, &notes);
	mend_write(net, fabric);
	if (text_failed(net)) {
		fabric_destroy(fabric);
		return err_nomem(err);
	}
	mend_describe(&notes, log_repair, NULL);
	*ret = fabric;
	return 0;
}

/* Read an ibnetdiscover output ("-": stdin) and repair it; list the repairs on stderr. */
static int load_net(const char *path, struct text *net, struct fabric **ret, struct error *err)
{
	struct mend_notes notes;
	char *chars;
	size_t len;
	int code = rundir_read(strcmp(path, "-") ? path : NULL, &chars, &len, err);

	if (code < 0)
		return code;
	code = mend(chars, len, net, ret, &notes, err);
	free(chars);
	if (code < 0)
		return err_prefix(err, "%s", path);
	mend_describe(&notes, log_repair, NULL);
	return 0;
}

static int print_net(const struct text *net, struct error *err)
{
	if (fwrite(text_chars(net), 1, net->len, stdout) != net->len || fflush(stdout) != 0)
		return err_set(err, ERR_IO, "cannot write the net file: %s", strerror(errno));
	return 0;
}

int cmd_net(int argc, char **argv, struct error *err)
{
	struct text net = { 0 };
	struct fabric *fabric = NULL;
	struct net_shape shape;
	int code = parse_shape(argc - 1, argv + 1, &shape, err);

	if (code == 0)
		code = make_net(&shape, &net, &fabric, err);
	if (code == 0)
		code = print_net(&net, err);
	fabric_destroy(fabric);
	text_done(&net);
	return code;
}

int cmd_mend(int argc, char **argv, struct error *err)
{
	struct text net = { 0 };
	struct fabric *fabric = NULL;
	int code;

	if (argc != 2 || (argv[1][0] == '-' && argv[1][1]))
		return err_set(err, ERR_USAGE, "usage: ibwire-sim mend FILE (\"-\" for stdin)");
	code = load_net(argv[1], &net, &fabric, err);
	if (code == 0)
		code = print_net(&net, err);
	fabric_destroy(fabric);
	text_done(&net);
	return code;
}

struct run_options {
	struct launch_options launch;
	const char *net_file, *gen, *name;
	char truth[PATH_MAX]; /* absolute: the driver has another working directory */
};

static int set_number(const char *name, unsigned min, unsigned max, unsigned *ret, struct error *err)
{
	uint64_t number = 0;
	int code = parse_number(name, optarg, min, max, &number, err);

	*ret = (unsigned)number;
	return code;
}

static int set_truth(struct run_options *options, const char *path, struct error *err)
{
	char cwd[PATH_MAX];

	if (path[0] == '/' || !getcwd(cwd, sizeof(cwd)))
		cwd[0] = '\0';
	if ((size_t)snprintf(options->truth, sizeof(options->truth), "%s%s%s", cwd, cwd[0] ? "/" : "", path) >=
	    sizeof(options->truth))
		return err_set(err, ERR_USAGE, "the path of --truth is too long");
	options->launch.truth = options->truth;
	return 0;
}

static const struct option long_options[] = {
	{ "net", required_argument, NULL, 0 },     { "gen", required_argument, NULL, 0 },
	{ "attach", required_argument, NULL, 0 },  { "sm", required_argument, NULL, 0 },
	{ "traffic", required_argument, NULL, 0 }, { "truth", required_argument, NULL, 0 },
	{ "dir", required_argument, NULL, 0 },     { "tick", required_argument, NULL, 0 },
	{ "opensm", required_argument, NULL, 0 },  { "timeout", required_argument, NULL, 0 },
	{ "wire", required_argument, NULL, 0 },    { "pma", required_argument, NULL, 0 },
	{ "name", required_argument, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static int set_option(struct run_options *options, const char *name, struct error *err)
{
	struct launch_options *launch = &options->launch;
	const struct {
		const char *name, **value;
		size_t *count; /* NULL: one value, the last one */
	} strings[] = {
		{ "net", &options->net_file, NULL }, { "gen", &options->gen, NULL },
		{ "name", &options->name, NULL },
		{ "attach", &launch->attach, NULL }, { "sm", &launch->sm, NULL },
		{ "dir", &launch->dir, NULL }, { "wire", &launch->wire, NULL },
		{ "traffic", launch->traffic, &launch->traffic_count },
		{ "opensm", launch->opensm, &launch->opensm_count },
		{ "pma", launch->pma, &launch->pma_count },
	};

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++) {
		if (strcmp(name, strings[i].name))
			continue;
		if (strings[i].count && *strings[i].count >= LAUNCH_OPTIONS_MAX)
			return err_set(err, ERR_USAGE, "--%s is limited to %d times", name, LAUNCH_OPTIONS_MAX);
		strings[i].value[strings[i].count ? (*strings[i].count)++ : 0] = optarg;
		return 0;
	}
	if (!strcmp(name, "truth"))
		return set_truth(options, optarg, err);
	if (!strcmp(name, "tick"))
		return set_number("--tick", 10, 60000, &launch->tick_ms, err);
	return set_number("--timeout", 1, 86400, &launch->timeout_s, err);
}

/* "my-fabric" of "dumps/my fabric.ibnetdiscover", "rail" of "rail --units 2" */
static void set_name(struct run_options *options)
{
	const char *from = options->name ? options->name : options->net_file ? options->net_file : options->gen;
	const char *slash = !options->name && options->net_file ? strrchr(options->net_file, '/') : NULL;
	char *name = options->launch.name;
	size_t len = 0;

	from = slash ? slash + 1 : from ? from : "";
	for (; *from && *from != '.' && len + 1 < sizeof(options->launch.name); from++) {
		bool plain = (*from >= '0' && *from <= '9') || (*from >= 'A' && *from <= 'Z') ||
			     (*from >= 'a' && *from <= 'z') || *from == '_';

		if (!options->name && !options->net_file && *from == ' ')
			break;
		name[len++] = plain ? *from : '-';
	}
	name[len] = '\0';
}

static int parse_options(struct run_options *options, int argc, char **argv, struct error *err)
{
	int option, index = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+", long_options, &index)) != -1) {
		if (option == '?')
			return err_set(err, ERR_USAGE, "run has no option \"%s\", or its value is missing: "
				       "see man ibwire-sim", argv[optind - 1]);
		if (set_option(options, long_options[index].name, err) < 0)
			return ERR_USAGE;
	}
	if (options->net_file && options->gen)
		return err_set(err, ERR_USAGE, "--net and --gen are mutually exclusive");
	if (optind >= argc)
		return err_set(err, ERR_USAGE, "the command is missing: ibwire-sim run [options] -- COMMAND");
	options->launch.command = argv + optind;
	set_name(options);
	return 0;
}

static int parse_gen(const char *gen, struct net_shape *shape, struct error *err)
{
	char *copy = strdup(gen), *arguments[GEN_ARGS_MAX], *word, *rest = NULL;
	int count = 0, code;

	if (!copy)
		return err_nomem(err);
	for (word = strtok_r(copy, " \t", &rest); word && count < GEN_ARGS_MAX; word = strtok_r(NULL, " \t", &rest))
		arguments[count++] = word;
	code = parse_shape(count, arguments, shape, err);
	free(copy);
	return code;
}

static int check_relay(const struct launch_options *launch, const struct fabric *fabric, struct error *err)
{
	const struct relay_options relay = {
		.fabric = fabric, .wire = launch->wire, .pma = launch->pma, .pma_count = launch->pma_count,
	};

	return relay_check(&relay, err);
}

int cmd_run(int argc, char **argv, struct error *err)
{
	struct run_options options = { .launch = { .tick_ms = DEFAULT_TICK_MS } };
	struct text net = { 0 };
	struct fabric *fabric = NULL;
	struct net_shape shape;
	int status = 0, code = parse_options(&options, argc, argv, err);

	if (code == 0 && options.net_file)
		code = load_net(options.net_file, &net, &fabric, err);
	else if (code == 0 && (code = parse_gen(options.gen ? options.gen : "rail", &shape, err)) == 0)
		code = make_net(&shape, &net, &fabric, err);
	if (code == 0)
		code = jobs_check(fabric, options.launch.traffic, options.launch.traffic_count, err);
	if (code == 0)
		code = check_relay(&options.launch, fabric, err);
	if (code == 0) {
		options.launch.net = text_chars(&net);
		options.launch.net_len = net.len;
		options.launch.fabric = fabric;
		code = launch_run(&options.launch, &status, err);
	}
	fabric_destroy(fabric);
	text_done(&net);
	return code < 0 ? code : status;
}
