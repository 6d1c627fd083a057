/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* what_if.c - `ibwire what-if`: what happens if links or nodes are taken out; which bad links can be */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/moment_options.h"
#include "cli/lib/options.h"
#include "cli/topology/topology.h"
#include "cli/what_if_opensm.h"
#include "export/page.h"
#include "fabric/fabric.h"
#include "fabric/lft_dump.h"
#include "fabric/shape.h"
#include "fabric/variant.h"
#include "facts/port_marks.h"
#include "facts/select.h"
#include "facts/selection.h"
#include "pages/bad_links.h"
#include "pages/what_if.h"
#include "storage/findings.h"
#include "storage/history.h"
#include "storage/reader.h"

#define WINDOW_US (3600 * US_PER_S)
#define KEEP_DEFAULT 75

struct what_if_command {
	const struct command *command;
	struct topology_options options;
	struct option_list without, with_speed;
	const char *routing, *keep, *html;
	bool bad_links, all, opensm;
	int64_t since_us, until_us;
	struct topology topology;
	struct what_if what_if;
	bool *nodes, *ports;
	struct what_if_rate *rates;
	size_t rate_count;
	double *xmit, *rcv, *measured;
	struct routes routes;
	struct lft lft;
};

/* --- subjects --- */

static int resolve(struct what_if_command *of, const char *typed, struct selection *ret, struct error *err)
{
	char *args[] = { (char *)typed };
	struct select_facts facts = { .fabric = of->topology.fabric, .shape = of->topology.shape };

	return of->options.from ? selection_init(ret, &facts, args, 1, err) :
				  moment_select(&of->topology.moment, args, 1, ret, err);
}

/* A node is selected as a whole unless some of its ports were named. */
static bool selects_node(const struct fabric *fabric, const struct selection *selection, uint32_t node)
{
	const struct node *self = &fabric->nodes[node];

	if (!selection->nodes[node])
		return false;
	for (uint32_t port = self->first_port; port < self->first_port + self->ports; port++)
		if (selection->named[port])
			return false;
	return true;
}

static int take_subject(struct what_if_command *of, const char *typed, struct error *err)
{
	const struct fabric *fabric = of->topology.fabric;
	struct selection selection;
	bool any = false;
	int code = resolve(of, typed, &selection, err);

	if (code < 0)
		return code;
	for (uint32_t i = 0; i < fabric->node_count; i++)
		of->nodes[i] |= selects_node(fabric, &selection, i);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		any |= selection.ports[i] && link_is_usable(fabric, i);
		of->ports[i] |= selection.ports[i];
	}
	selection_done(&selection);
	return any ? 0 : err_set(err, ERR_USAGE, "%s has no link that is up: nothing to take out", typed);
}

static int take_subjects(struct what_if_command *of, char *const *subjects, size_t count, struct error *err)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i++) {
		for (size_t k = 0; k < i && code == 0; k++)
			if (!strcmp(subjects[i], subjects[k]))
				code = options_usage_error(of->command, err, "%s is named twice", subjects[i]);
		if (code == 0)
			code = take_subject(of, subjects[i], err);
	}
	return code;
}

/* "HDR" or "2xHDR" */
static int parse_rate(const struct command *command, const char *typed, struct what_if_rate *ret, struct error *err)
{
	const char *name = strchr(typed, 'x');
	char *end = (char *)typed;
	unsigned lanes = name ? (unsigned)strtoul(typed, &end, 10) : 0;

	ret->width = LINK_WIDTH_NONE;
	if (end > typed && end == name) {
		ret->width = link_width_code(lanes);
		typed = name + 1;
	}
	ret->speed = link_speed_by_name(typed);
	if (ret->speed == LINK_SPEED_NONE || (lanes && ret->width == LINK_WIDTH_NONE))
		return options_usage_error(command, err, "--with-speed: '%.32s' is not a speed such as HDR or 2xNDR",
					   end > typed ? end : typed);
	return 0;
}

static int take_speed(struct what_if_command *of, const char *typed, struct error *err)
{
	const struct fabric *fabric = of->topology.fabric;
	const char *sign = strrchr(typed, '=');
	struct what_if_rate rate = { 0 };
	struct selection selection;
	size_t before = of->rate_count;
	char *subject;
	int code;

	if (!sign || sign == typed)
		return options_usage_error(of->command, err,
					   "--with-speed requires SUBJECT=SPEED, such as leaf01/12=HDR");
	code = parse_rate(of->command, sign + 1, &rate, err);
	subject = code == 0 ? strndup(typed, (size_t)(sign - typed)) : NULL;
	if (code == 0)
		code = subject ? resolve(of, subject, &selection, err) : err_nomem(err);
	if (code < 0) {
		free(subject);
		return code;
	}
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (!selection.ports[i] || !link_is_usable(fabric, i))
			continue;
		/* Of a link with both ends selected the first one. */
		if (fabric->ports[i].peer < i && selection.ports[fabric->ports[i].peer])
			continue;
		rate.port = i;
		of->rates[of->rate_count++] = rate;
	}
	if (before == of->rate_count)
		code = err_set(err, ERR_USAGE, "%s has no link that is up: no speed to change", subject);
	selection_done(&selection);
	free(subject);
	return code;
}

static int find_subjects(struct what_if_command *of, struct error *err)
{
	const struct fabric *fabric = of->topology.fabric;
	struct options *options = &of->options.common;
	size_t count = of->without.count + (size_t)options->argc, used = 0;
	char **subjects = calloc(count + 1, sizeof(*subjects)), *joined = NULL;
	int code = 0;

	of->nodes = calloc(fabric->node_count + 1, sizeof(*of->nodes));
	of->ports = calloc(fabric->port_count + 1, sizeof(*of->ports));
	of->rates = calloc((of->with_speed.count + 1) * (fabric->port_count + 1), sizeof(*of->rates));
	if (!subjects || !of->nodes || !of->ports || !of->rates)
		code = err_nomem(err);
	if (code == 0 && !of->without.count)
		code = selection_join(fabric, options->argv, options->argc, &joined, err);
	for (size_t i = 0; code == 0 && i < of->without.count; i++)
		subjects[used++] = (char *)of->without.items[i];
	if (joined)
		subjects[used++] = joined;
	for (int i = 0; code == 0 && !joined && i < options->argc; i++)
		subjects[used++] = options->argv[i];
	if (code == 0)
		code = take_subjects(of, subjects, used, err);
	for (size_t i = 0; code == 0 && i < of->with_speed.count; i++)
		code = take_speed(of, of->with_speed.items[i], err);
	free(joined);
	free(subjects);
	return code;
}

/* --- traffic and tables --- */

/* Set rates by port from the loads. Return: whether the hosts sent anything. */
static bool set_rates(struct what_if_command *of, const struct balance_input *input)
{
	const struct fabric *fabric = of->topology.fabric;
	bool any = false;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		bool is_switch = fabric->nodes[fabric->ports[i].node].type == NODE_SWITCH;
		double xmit = balance_port_rate(input, i, true) * BALANCE_BITS_PER_S;

		of->xmit[i] = is_switch ? NAN : xmit;
		of->rcv[i] = is_switch ? NAN : balance_port_rate(input, i, false) * BALANCE_BITS_PER_S;
		of->measured[i] = is_switch ? xmit : NAN;
		any |= of->xmit[i] > 0;
	}
	return any;
}

static int read_traffic(struct what_if_command *of, struct error *err)
{
	const struct moment *moment = &of->topology.moment;
	size_t ports = of->topology.fabric->port_count + 1;
	struct balance_load *loads = calloc(ports, sizeof(*loads));
	int64_t until_us = moment->snapshot->sweep.wall_us;
	int64_t since_us = of->since_us ? of->since_us : until_us - WINDOW_US;
	struct history_damage damage = { 0 };
	struct history_range range;
	int code;

	of->xmit = calloc(ports, sizeof(*of->xmit));
	of->rcv = calloc(ports, sizeof(*of->rcv));
	of->measured = calloc(ports, sizeof(*of->measured));
	code = loads && of->xmit && of->rcv && of->measured ? 0 : err_nomem(err);
	if (code == 0)
		code = reader_history_range(moment->reader, since_us, until_us, &range, err);
	if (code == 0) {
		const struct load_query query = { .since_us = range.since_us, .until_us = until_us,
						  .round = !of->since_us, .snapshot = moment->snapshot,
						  .damage = &damage };

		code = range.since_us < until_us ? reader_history_loads(moment->reader, &query, loads, err) : 0;
	}
	if (code > 0) {
		const struct balance_input input = { .shape = of->topology.shape, .loads = loads,
						     .window_us = (double)(until_us - range.since_us) };

		of->what_if.since_us = range.since_us;
		of->what_if.until_us = until_us;
		if (set_rates(of, &input)) {
			of->what_if.xmit = of->xmit;
			of->what_if.rcv = of->rcv;
			of->what_if.measured = of->measured;
		}
	}
	free(loads);
	options_warn_damage(damage.count, damage.first);
	return code < 0 ? code : 0;
}

static int read_tables(struct what_if_command *of, struct error *err)
{
	const struct moment *moment = &of->topology.moment;
	int code = reader_routes(moment->reader, moment->snapshot->sweep.wall_us, &of->routes, err);

	if (code == 0 && of->routes.count)
		of->what_if.routes = &of->routes;
	return code;
}

/* --- jobs --- */

struct job_work {
	struct what_if *what_if;
	int64_t past_us; /* the jobs that ran at this time; 0: those that run now */
	struct error *err;
	int code;
};

static bool add_job(void *ctx, const struct job *job)
{
	struct job_work *work = ctx;

	bool suspended = job->ending == JOB_SUSPENDED && job->suspended_since_us <= work->past_us;

	if (work->past_us ? !suspended : job->ending == JOB_RUNNING)
		work->code = what_if_add_job(work->what_if, job, work->err);
	return work->code == 0;
}

static int read_jobs(struct what_if_command *of, struct error *err)
{
	int64_t at_us = of->topology.moment.snapshot->sweep.wall_us;
	struct job_work work = { &of->what_if, of->options.common.at_us ? at_us : 0, err, 0 };
	/* Now, those that began after the last sweep run, too. */
	const struct job_query query = { .since_us = at_us, .until_us = work.past_us };
	int code = jobs_list(of->topology.moment.reader, &query, NULL, add_job, &work, err);

	return code < 0 ? code : work.code;
}

/* Let opensm run on an HCA that is not cut off: it routes only what it reaches. */
static int run_opensm(struct what_if_command *of, struct error *err)
{
	const struct cut_off *cut_off = &of->what_if.cut_off;
	const struct fabric *after = of->what_if.after;

	for (uint32_t i = 0; i < after->node_count; i++) {
		uint32_t host = of->topology.shape->nodes[i].host, port = fabric_node_port(after, i, 1);
		bool good = host != SHAPE_NONE && port != FABRIC_NONE && link_is_usable(after, port) &&
			    after->nodes[after->ports[after->ports[port].peer].node].type == NODE_SWITCH;

		for (size_t k = 0; good && k < cut_off->count; k++)
			good = cut_off->hosts[k] != host;
		if (good)
			return what_if_run_opensm(after, i, &of->lft, err);
	}
	return err_set(err, ERR_UNAVAILABLE, "--opensm requires an HCA whose port 1 is connected to a switch");
}

/* --- the two pages --- */

static int show_what_if(struct what_if_command *of, struct error *err)
{
	int code = find_subjects(of, err);

	if (code == 0 && !of->options.from)
		code = read_traffic(of, err);
	if (code == 0 && !of->options.from)
		code = read_tables(of, err);
	if (code < 0)
		return code;
	of->what_if.fabric = of->topology.fabric;
	of->what_if.shape = of->topology.shape;
	of->what_if.settings = &of->topology.settings.shape;
	of->what_if.shown = &of->topology.shown;
	of->what_if.nodes = of->nodes;
	of->what_if.ports = of->ports;
	of->what_if.rates = of->rates;
	of->what_if.rate_count = of->rate_count;
	of->what_if.engine = of->routing && !strcmp(of->routing, "updn") ? SPREAD_UPDN : SPREAD_MINHOP;
	of->what_if.keep = !of->routing || !strcmp(of->routing, "kept");
	code = what_if_prepare(&of->what_if, err);
	if (code == 0 && of->opensm) {
		code = run_opensm(of, err);
		of->what_if.opensm = &of->lft;
	}
	if (code == 0)
		code = what_if_compute(&of->what_if, err);
	if (code == 0 && !of->options.from)
		code = read_jobs(of, err);
	if (code == 0)
		code = output_page(what_if_page(&of->what_if, of->all), &of->options.common, of->html, err);
	return code < 0 ? code : !of->what_if.safe;
}

static int parse_keep(const struct what_if_command *of, double *ret, struct error *err)
{
	char *end;

	*ret = of->keep ? strtod(of->keep, &end) : KEEP_DEFAULT;
	if (of->keep && (end == of->keep || (*end && strcmp(end, "%")) || !(*ret >= 0 && *ret <= 100)))
		return options_usage_error(of->command, err, "--keep requires a percentage from 0 to 100");
	*ret /= 100;
	return 0;
}

static int show_bad_links(struct what_if_command *of, struct error *err)
{
	struct bad_links bad = { .shape = of->topology.shape, .shown = &of->topology.shown };
	struct finding_row *rows = NULL;
	size_t count = 0;
	int code = parse_keep(of, &bad.keep, err);

	if (code == 0 && !of->options.from)
		code = open_findings_load(of->topology.moment.reader,
					  &(struct finding_query){ .at_us = of->options.common.at_us,
								   .now_us = of->options.common.now_us },
					  &rows, &count, err);
	if (code == 0)
		code = of->options.from ? bad_links_of_shape(&bad, err) : bad_links_of_findings(&bad, rows, count, err);
	if (code == 0)
		code = bad_links_plan(bad.shape, bad.links, bad.count, bad.keep, &bad.plan, err);
	if (code == 0)
		code = output_page(bad_links_page(&bad, of->all), &of->options.common, of->html, err);
	free(rows);
	bad_links_done(&bad);
	return code < 0 ? code : bad.plan.first < bad.count;
}

static int check(struct what_if_command *of, struct error *err)
{
	const struct options *options = &of->options.common;
	bool subjects = of->without.count || options->argc || of->with_speed.count;

	if (of->options.from && (options->at_us || options->since_us || options->until_us))
		return options_usage_error(of->command, err, "--from cannot be combined with --at, --since or --until");
	if (of->options.from && options->db)
		return options_usage_error(of->command, err, "--from and --db are mutually exclusive");
	if (of->routing && strcmp(of->routing, "kept") && strcmp(of->routing, "minhop") && strcmp(of->routing, "updn"))
		return options_usage_error(of->command, err, "--routing must be kept, minhop or updn");
	if (of->opensm && of->routing)
		return options_usage_error(of->command, err, "--opensm and --routing are mutually exclusive");
	if (of->bad_links && (subjects || of->routing || of->opensm))
		return options_usage_error(of->command, err, "--bad-links finds the links itself: it takes no subject, "
					   "--with-speed, --routing or --opensm");
	if (of->keep && !of->bad_links)
		return options_usage_error(of->command, err, "--keep requires --bad-links");
	if (!of->bad_links && !subjects)
		return options_usage_error(of->command, err, "name what is taken out: a link, switch or host, or "
					   "--bad-links");
	return 0;
}

int what_if_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct what_if_command of = { .command = command };
	const struct option_spec specs[] = {
		OPT_LIST("without", 'w', "SUBJECT", &of.without, "what is taken out, as further arguments are"),
		OPT_LIST("with-speed", 0, "SUBJECT=SPEED", &of.with_speed,
			 "run links at another speed: leaf01/12=HDR, 2xNDR"),
		OPT_TEXT("routing", 0, "HOW", &of.routing,
			 "forwarding tables after it: kept where possible (default), minhop, updn"),
		OPT_FLAG("opensm", 0, &of.opensm, "let opensm compute the tables on a simulated copy (ibwire-sim)"),
		OPT_FLAG("bad-links", 'b', &of.bad_links, "which links with open findings can be taken out at once"),
		OPT_TEXT("keep", 0, "PERCENT", &of.keep,
			 "--bad-links: share of its uplinks that each leaf keeps to every tier (75%)"),
		OPT_FLAG("all", 'a', &of.all, "list all hosts and links"),
		OPT_TEXT("html", 0, "FILE", &of.html, "write the page as HTML to FILE (- is stdout)"),
		TOPOLOGY_SOURCE_OPTIONS(of.options),
		{ 0 },
	};
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, specs, argc, argv,
				 &of.options.common, err);

	if (code)
		return code < 0 ? code : 0;
	code = check(&of, err);
	if (code < 0)
		return code;
	/* The fabric at the end of the window; loads are read separately. */
	of.since_us = of.options.common.since_us;
	if (of.options.common.until_us)
		of.options.common.at_us = of.options.common.until_us;
	of.options.common.since_us = of.options.common.until_us = 0;
	code = topology_open(&of.options, &of.topology, err);
	if (code < 0)
		return code;
	code = of.bad_links ? show_bad_links(&of, err) : show_what_if(&of, err);
	what_if_done(&of.what_if);
	routes_done(&of.routes);
	lft_done(&of.lft);
	free(of.nodes);
	free(of.ports);
	free(of.rates);
	free(of.xmit);
	free(of.rcv);
	free(of.measured);
	topology_close(&of.topology);
	return code;
}
