/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology.c - `ibwire topology`: summary, baseline, differences, cabling plan, graph, routes, files of schedulers */
#include "cli/topology/topology.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/options.h"
#include "export/dot.h"
#include "fabric/fabric.h"
#include "fabric/keep.h"
#include "fabric/name_map.h"
#include "fabric/netfile.h"
#include "fabric/shape.h"
#include "pages/partitions.h"
#include "storage/reader.h"

int topology_save(const struct topology_options *options, const struct topology *topology, const char *path,
		  struct error *err)
{
	struct text text = { 0 };
	size_t left_out;
	int code;

	left_out = netfile_write(&text, topology->fabric);
	code = output_file(&options->common, &text, path, err);
	text_done(&text);
	if (code == 0 && left_out)
		log_warning("%zu link%s not up: omitted from %s", left_out, left_out == 1 ? " is" : "s are", path);
	return code;
}

int topology_dot(const struct topology_options *options, const struct topology *topology, struct error *err)
{
	struct text text = { 0 };

	dot_write(&text, topology->shape, topology->shown.names, options->hosts);
	return output_text(&options->common, &text, err);
}

static void warn(void *path, const char *line)
{
	log_warning("%s: %s", *(const char **)path, line);
}

int topology_read_file(const char *path, const struct name_map *names, struct fabric **ret, struct error *err)
{
	struct text text = { 0 };
	struct netfile_notes notes;
	struct fabric *fabric = NULL;
	struct error why = { 0 };
	int code = text_read_file(path, "", TEXT_FABRIC_MOST, &text, err);

	if (code == 0) {
		code = netfile_read(text_chars(&text), text.len, names, &fabric, &notes, &why);
		if (code < 0)
			err_set(err, code, "%s: %s", path, why.text);
	}
	if (code == 0) {
		netfile_describe(&notes, warn, &path);
		code = fabric_sort(&fabric, names, err);
	}
	if (code == 0)
		*ret = fabric;
	else
		fabric_destroy(fabric);
	text_done(&text);
	return code;
}

static int load_file(const struct topology_options *options, struct topology *topology, struct error *err)
{
	int code = options_name_map(&options->common, &topology->names, err);

	if (code == 0)
		code = topology_read_file(options->from, topology->names, &topology->own, err);
	topology->fabric = topology->own;
	return code;
}

static int load_database(const struct topology_options *options, struct topology *topology, struct error *err)
{
	int code = options_open_moment(&options->common, false, &topology->moment, err);

	if (code < 0)
		return code;
	topology->fabric = topology->moment.fabric;
	topology->wall_us = topology->moment.snapshot->sweep.wall_us;
	return 0;
}

int topology_open(const struct topology_options *options, struct topology *ret, struct error *err)
{
	struct topology topology = { 0 };
	int code = settings_load(options->settings_path, &topology.settings, err);

	if (code == 0)
		code = options->from ? load_file(options, &topology, err) : load_database(options, &topology, err);
	if (code == 0)
		code = order_names(&topology.shown, topology.fabric, err);
	if (code == 0)
		code = shape_create(topology.fabric, &topology.settings.shape, &topology.shape, err);
	if (code < 0) {
		topology_close(&topology);
		return code;
	}
	*ret = topology;
	return 0;
}

void topology_close(struct topology *topology)
{
	shape_destroy(topology->shape);
	order_done(&topology->shown);
	fabric_destroy(topology->own);
	name_map_destroy(topology->names);
	settings_done(&topology->settings);
	if (topology->moment.reader)
		moment_done(&topology->moment);
	memset(topology, 0, sizeof(*topology));
}

/* `ibwire topology partitions` */
static int topology_partitions(const struct topology_options *options, struct topology *topology, struct error *err)
{
	struct page *page = NULL;
	int code = moment_load_pkeys(&topology->moment, err);

	if (code == 0)
		code = partitions_page(topology->shape, &topology->moment.pkeys, &page, err);
	return code < 0 ? code : output_page(page, &options->common, NULL, err);
}

enum { SHOW, SAVE, DIFF, CHECK, DOT, PARTITIONS, ROUTE, SLURM, SLURM_YAML, LABELS, WORDS };

static int run_subcommand(int word, const struct topology_options *options, struct error *err)
{
	struct topology topology;
	int code = topology_open(options, &topology, err);

	if (code < 0)
		return code;
	switch (word) {
	case SHOW:
		code = topology_show(options, &topology, err);
		break;
	case SAVE:
		code = topology_save(options, &topology, options->common.argv[1], err);
		break;
	case DIFF:
		code = topology_diff(options, &topology, options->common.argv[1], err);
		break;
	case CHECK:
		code = topology_check(options, &topology, options->common.argv + 1, (size_t)options->common.argc - 1,
				      err);
		break;
	case DOT:
		code = topology_dot(options, &topology, err);
		break;
	case PARTITIONS:
		code = topology_partitions(options, &topology, err);
		break;
	case SLURM:
	case SLURM_YAML:
	case LABELS:
		code = topology_scheduler(options, &topology, options->common.argv[0], err);
		break;
	}
	topology_close(&topology);
	return code;
}

static int check_options(const struct command *command, const struct topology_options *options, int word,
			 struct error *err)
{
	if (options->summary && word != SHOW)
		return options_usage_error(command, err, "--summary requires show");
	if (options->hosts && word != DOT)
		return options_usage_error(command, err, "--hosts requires dot");
	if (options->html && word != CHECK)
		return options_usage_error(command, err, "--html requires check");
	if (options->common.since_us || options->common.until_us)
		return options_usage_error(command, err, "--since and --until require route; use --at");
	if (options->from && options->common.at_us)
		return options_usage_error(command, err, "--from cannot be combined with --at");
	if (options->from && options->common.db)
		return options_usage_error(command, err, "--from and --db are mutually exclusive");
	if (options->from && word == PARTITIONS)
		return options_usage_error(command, err, "partitions requires the database, not --from");
	if (options->common.format != RESULT_TABLE && word != SHOW && word != DIFF && word != CHECK &&
	    word != PARTITIONS)
		return options_usage_error(command, err, "%s does not take --format", options->common.argv[0]);
	return topology_scheduler_check(command, options, options->common.argv[0], err);
}

int topology_run(const struct command *command, int argc, char **argv, struct error *err)
{
	static const struct { const char *word; int arguments; const char *takes; } words[WORDS] = {
		[SHOW] = { "show", 0, "no argument" }, [SAVE] = { "save", 1, "one file" },
		[DIFF] = { "diff", 1, "one file" }, [DOT] = { "dot", 0, "no argument" },
		[CHECK] = { "check", -1, "plans" }, [PARTITIONS] = { "partitions", 0, "no argument" },
		[ROUTE] = { "route", 2, "two ends" }, [SLURM] = { "slurm", 0, "no argument" },
		[SLURM_YAML] = { "slurm-yaml", 0, "no argument" }, [LABELS] = { "labels", 0, "no argument" },
	};
	struct topology_options options = { .from = NULL };
	const struct option_spec specs[] = {
		TOPOLOGY_SOURCE_OPTIONS(options),
		OPT_FLAG("summary", 's', &options.summary, "show: print only the summary"),
		OPT_FLAG("hosts", 0, &options.hosts, "dot: include hosts and routers"),
		OPT_TEXT("output", 'o', "FILE", &options.scheduler.output,
			 "slurm, slurm-yaml, labels: replace this file when the new one is complete"),
		OPT_TEXT("hosts-map", 0, "FILE", &options.scheduler.hosts_map,
			 "slurm, slurm-yaml, labels: names of hosts, in lines 'FABRIC NAME'"),
		OPT_FLAG("all-hosts", 0, &options.scheduler.all_hosts,
			 "slurm, slurm-yaml, labels: include storage and management hosts"),
		OPT_NUMBER("block-size", 0, "N", &options.scheduler.block_size, 1,
			   "slurm-yaml: hosts of a base block (of the smallest leaf)"),
		OPT_LIST("label-key", 0, "KEY", &options.scheduler.keys,
			 "labels: key of the leaf; again for the switch above it, and so on"),
		OPT_TEXT("html", 0, "FILE", &options.html, "check: write a page of HTML to FILE (- is stdout), with a "
			 "sheet to print for each rack"),
		{ 0 },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv, &options.common,
				 err), i;

	if (code)
		return code < 0 ? code : 0;
	for (i = 0; i < WORDS && options.common.argc && strcmp(words[i].word, options.common.argv[0]); i++)
		;
	if (i == WORDS || !options.common.argc)
		return options_usage_error(command, err, "give a sub-command: show, save, diff, check, dot, "
			"partitions, route, slurm, slurm-yaml or labels");
	if (words[i].arguments >= 0 && options.common.argc != 1 + words[i].arguments)
		return options_usage_error(command, err, "%s takes %s", words[i].word, words[i].takes);
	if (i == ROUTE && (options.from || options.summary || options.hosts || options.html || options.settings_path))
		return options_usage_error(command, err, "route does not take --from, --settings, --summary, "
			"--hosts or --html");
	if (i == ROUTE)
		return topology_route(command, &options.common, err);
	code = check_options(command, &options, i, err);
	return code < 0 ? code : run_subcommand(i, &options, err);
}
