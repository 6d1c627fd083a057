/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/cmd.h"
#include "sim/job.h"
#include "sim/launch.h"
#include "sim/net_shape.h"
#include "sim/relay/key_values.h"
#include "sim/relay/relay.h"

#define GEN_ARGS_MAX 64
#define DEFAULT_TICK_MS 100

struct run_options {
	struct launch_options launch;
	const char *net_file, *gen;
	char truth[PATH_MAX]; /* absolute: the driver has another working directory */
};

static int set_number(const char *name, unsigned min, unsigned max, unsigned *ret, struct error *err)
{
	uint64_t number = 0;
	int code = parse_number(name, optarg, min, max, &number, err);

	*ret = (unsigned)number;
	return code;
}

static int add_string(const char **strings, size_t *count, const char *string, const char *name, struct error *err)
{
	if (*count >= LAUNCH_OPTIONS_MAX)
		return err_set(err, ERR_USAGE, "%s is limited to %d times", name, LAUNCH_OPTIONS_MAX);
	strings[(*count)++] = string;
	return 0;
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

enum { OPT_NET = 1, OPT_GEN, OPT_ATTACH, OPT_SM, OPT_TRAFFIC, OPT_TRUTH, OPT_DIR, OPT_TICK, OPT_OPENSM, OPT_TIMEOUT,
       OPT_WIRE, OPT_PMA };

static const struct option long_options[] = {
	{ "net", required_argument, NULL, OPT_NET },         { "gen", required_argument, NULL, OPT_GEN },
	{ "attach", required_argument, NULL, OPT_ATTACH },   { "sm", required_argument, NULL, OPT_SM },
	{ "traffic", required_argument, NULL, OPT_TRAFFIC }, { "truth", required_argument, NULL, OPT_TRUTH },
	{ "dir", required_argument, NULL, OPT_DIR },         { "tick", required_argument, NULL, OPT_TICK },
	{ "opensm", required_argument, NULL, OPT_OPENSM },   { "timeout", required_argument, NULL, OPT_TIMEOUT },
	{ "wire", required_argument, NULL, OPT_WIRE },       { "pma", required_argument, NULL, OPT_PMA },
	{ NULL, 0, NULL, 0 },
};

static int set_option(struct run_options *options, int option, struct error *err)
{
	struct launch_options *launch = &options->launch;

	switch (option) {
	case OPT_NET:
		options->net_file = optarg;
		return 0;
	case OPT_GEN:
		options->gen = optarg;
		return 0;
	case OPT_ATTACH:
		launch->attach = optarg;
		return 0;
	case OPT_SM:
		launch->sm = optarg;
		return 0;
	case OPT_TRAFFIC:
		return add_string(launch->traffic, &launch->traffic_count, optarg, "--traffic", err);
	case OPT_TRUTH:
		return set_truth(options, optarg, err);
	case OPT_DIR:
		launch->dir = optarg;
		return 0;
	case OPT_TICK:
		return set_number("--tick", 10, 60000, &launch->tick_ms, err);
	case OPT_OPENSM:
		return add_string(launch->opensm, &launch->opensm_count, optarg, "--opensm", err);
	case OPT_WIRE:
		launch->wire = optarg;
		return 0;
	case OPT_PMA:
		return add_string(launch->pma, &launch->pma_count, optarg, "--pma", err);
	case OPT_TIMEOUT:
		return set_number("--timeout", 1, 86400, &launch->timeout_s, err);
	default:
		return ERR_USAGE;
	}
}

static int parse_options(struct run_options *options, int argc, char **argv, struct error *err)
{
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+", long_options, NULL)) != -1) {
		if (option == '?')
			return err_set(err, ERR_USAGE, "run has no option \"%s\", or its value is missing: "
				       "see man ibwire-sim", argv[optind - 1]);
		if (set_option(options, option, err) < 0)
			return ERR_USAGE;
	}
	if (options->net_file && options->gen)
		return err_set(err, ERR_USAGE, "--net and --gen are mutually exclusive");
	if (optind >= argc)
		return err_set(err, ERR_USAGE, "the command is missing: ibwire-sim run [options] -- COMMAND");
	options->launch.command = argv + optind;
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
	code = cmd_parse_shape(count, arguments, shape, err);
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
		code = cmd_load_net(options.net_file, &net, &fabric, err);
	else if (code == 0 && (code = parse_gen(options.gen ? options.gen : "rail", &shape, err)) == 0)
		code = cmd_make_net(&shape, &net, &fabric, err);
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
