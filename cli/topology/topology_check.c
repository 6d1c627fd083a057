/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology_check.c - `ibwire topology check`: the fabric against its cabling plan */
#include "base/err.h"
#include "base/log.h"
#include "cli/topology/topology.h"
#include "export/page.h"
#include "fabric/plan.h"
#include "fabric/plan_diff.h"
#include "pages/plan.h"

/* Problems that are printed; all are in JSON and HTML. */
enum { PROBLEMS_MOST = 20 };

static void warn(const struct plan *plan, const struct plan_ports *ports)
{
	for (size_t i = 0; i < ports->problem_count && i < PROBLEMS_MOST; i++) {
		const struct plan_problem *problem = &ports->problems[i];

		if (problem->line)
			log_warning("%s:%u: %s", plan->files[problem->file].name, problem->line, problem->text);
		else
			log_warning("%s: %s", plan->files[problem->file].name, problem->text);
	}
	if (ports->problem_count > PROBLEMS_MOST)
		log_warning("and %zu more problems of the plan: --format json has all",
			    ports->problem_count - PROBLEMS_MOST);
}

static int compare(const struct topology_options *options, const struct topology *topology, const struct plan *plan,
		   struct error *err)
{
	struct plan_diff diff = { 0 };
	struct plan_ports ports;
	int code = plan_resolve(plan, topology->shape, &ports, err);

	if (code < 0)
		return code;
	code = plan_compare(plan, &ports, topology->shape, &diff, err);
	if (code == 0) {
		const struct plan_report report = { plan, &ports, topology->shape, &diff };

		warn(plan, &ports);
		code = output_page(plan_page(&report), &options->common, options->html, err);
	}
	/* A plan of which no link can be judged is that of another fabric. */
	if (code == 0 && !diff.planned && diff.not_judged)
		code = err_set(err, ERR_IO, "no link of the plan can be judged: the fabric does not have its devices "
			       "and ports");
	if (code == 0)
		code = diff.count || diff.not_judged;
	plan_diff_done(&diff);
	plan_ports_done(&ports);
	return code;
}

int topology_check(const struct topology_options *options, const struct topology *topology, char *const *files,
		   size_t count, struct error *err)
{
	const struct settings *settings = &topology->settings;
	struct plan plan = { 0 };
	int code = 0;

	if (!count && !settings->plan_file_count)
		return err_set(err, ERR_USAGE, "topology check: give a plan, or name one in the settings: "
			       "[plan] file = FILE");
	for (size_t i = 0; code == 0 && i < (count ? count : settings->plan_file_count); i++)
		code = plan_read_file(&plan, count ? files[i] : settings->plan_files[i], err);
	if (code == 0)
		code = compare(options, topology, &plan, err);
	plan_done(&plan);
	return code;
}
