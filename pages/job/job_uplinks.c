/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_uplinks.c - uplinks of the switches that a job uses: bytes, shares against the tables, other jobs */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/routes.h"
#include "fabric/shape.h"
#include "pages/job/job_work.h"
#include "storage/reader.h"

/* --- groups --- */

/* Switches above those that are marked. */
static void mark_above(const struct shape *shape, bool *above)
{
	const struct fabric *fabric = shape->fabric;

	for (unsigned tier = 1; tier <= shape->tier_count; tier++)
		for (size_t g = 0; g < shape->group_count; g++) {
			const struct shape_group *group = &shape->groups[g];

			for (uint32_t i = 0; group->kind == GROUP_UP && group->tier == tier && above[group->node] &&
					     i < group->count; i++) {
				uint32_t peer = fabric->ports[shape->members[group->first + i]].peer;

				if (peer != FABRIC_NONE)
					above[fabric->ports[peer].node] = true;
			}
		}
}

static int add_group(struct job_work *work, const struct shape_group *of, enum balance_direction direction,
		     struct error *err)
{
	struct job_report *report = work->report;
	struct job_group *group = job_grow(report, &report->groups, &report->group_count, sizeof(*group));

	if (!group)
		return err_nomem(err);
	*group = (struct job_group){
		.node = of->node, .tier = of->tier, .direction = direction,
		.bytes = MEASURE_NONE, .excess = MEASURE_NONE, .part_excess = { MEASURE_NONE, MEASURE_NONE },
		.hottest = UINT32_MAX, .first = (uint32_t)report->uplink_count, .count = of->count,
	};
	for (uint32_t i = 0; i < of->count; i++) {
		uint32_t port = report->shape->members[of->first + i], peer = report->fabric->ports[port].peer;
		struct job_uplink *uplink = job_grow(report, &report->uplinks, &report->uplink_count, sizeof(*uplink));

		if (!uplink)
			return err_nomem(err);
		*uplink = (struct job_uplink){ .port = port, .bytes = MEASURE_NONE, .part = { NAN, NAN } };
		work->on_job[port] = true;
		if (peer != FABRIC_NONE)
			work->on_job[peer] = true;
	}
	return 0;
}

int job_find_uplinks(struct job_work *work, struct error *err)
{
	const struct shape *shape = work->report->shape;
	int code = 0;

	memcpy(work->above, work->leaf, shape->fabric->node_count * sizeof(*work->above));
	mark_above(shape, work->above);
	for (size_t i = 0; i < shape->group_count && code == 0; i++) {
		const struct shape_group *group = &shape->groups[i];

		if (group->kind != GROUP_UP || !work->above[group->node])
			continue;
		code = add_group(work, group, BALANCE_XMIT, err);
		if (code == 0)
			code = add_group(work, group, BALANCE_RCV, err);
	}
	return code;
}

/* --- jobs at the same time --- */

struct others {
	struct job_work *work;
	bool *above;  /* by node: of one of them */
	bool *listed; /* by host: of the one that is looked at */
	struct error *err;
	int code;
};

/* Mark the leaves of a host. Return: is one of them a leaf of the job? */
static bool mark_host(const struct job_work *work, const struct shape_host *host, bool *leaves)
{
	const struct fabric *fabric = work->report->fabric;
	bool shares = false;

	for (uint32_t i = 0; i < host->count; i++) {
		const struct node *node = &fabric->nodes[work->report->shape->host_nodes[host->first + i]];

		for (uint32_t p = node->first_port; p < node->first_port + node->ports; p++) {
			uint32_t peer = fabric->ports[p].peer;

			if (peer == FABRIC_NONE)
				continue;
			leaves[fabric->ports[peer].node] = true;
			shares |= work->leaf[fabric->ports[peer].node];
		}
	}
	return shares;
}

static bool mark_job(struct others *others, const struct job *job)
{
	const struct shape *shape = others->work->report->shape;
	bool shares = false;
	int code;

	memset(others->listed, 0, shape->host_count * sizeof(*others->listed));
	code = shape_mark_hosts(shape, job->hosts, others->listed, NULL, others->err);
	others->code = code < 0 ? code : 0;
	for (size_t i = 0; code >= 0 && i < shape->host_count; i++)
		if (others->listed[i])
			shares |= mark_host(others->work, &shape->hosts[i], others->above);
	return shares;
}

static bool take_job(void *ctx, const struct job *job)
{
	struct others *others = ctx;
	struct job_report *report = others->work->report;
	int64_t end_us = job->end_us ? job->end_us : INT64_MAX;
	char **id;

	if (job->number == report->job.number || job->begin_us >= report->end_us || end_us <= report->begin_us ||
	    !mark_job(others, job))
		return others->code == 0;
	id = job_grow(report, &report->others, &report->other_count, sizeof(*id));
	if (id)
		*id = job_text(report, "%s", job->display_id);
	if (!id || !*id)
		others->code = err_nomem(others->err);
	return others->code == 0;
}

/* Jobs at the same time that are looked at. */
enum { OTHERS_MOST = 10000 };

static int find_shared(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	const struct job_query query = { .since_us = report->begin_us, .until_us = report->end_us,
		.most = OTHERS_MOST };
	struct others others = { .work = work, .err = err };
	int code;

	others.above = calloc(report->fabric->node_count + 1, sizeof(*others.above));
	others.listed = calloc(report->shape->host_count + 1, sizeof(*others.listed));
	if (!others.above || !others.listed) {
		code = err_nomem(err);
		goto out;
	}
	code = jobs_list(work->reader, &query, NULL, take_job, &others, err);
	code = code == 0 ? others.code : code;
	mark_above(report->shape, others.above);
	for (size_t i = 0; i < report->group_count; i++)
		report->groups[i].shared = report->other_count && others.above[report->groups[i].node];
out:
	free(others.above);
	free(others.listed);
	return code;
}

/* --- balance --- */

/* Loads of a part, for the ports that were read in it. */
static void loads_of_part(const struct job_work *work, int part, struct balance_load *loads)
{
	for (size_t i = 0; i < work->report->fabric->port_count; i++) {
		const struct job_load *load = &work->parts[part][i];

		loads[i] = (struct balance_load){ .known = load->elapsed_us > 0 && !load->unknown,
						  .elapsed_us = load->elapsed_us, .xmit_bytes = load->xmit,
						  .rcv_bytes = load->rcv, .stall = NAN, .xmit_discards = NAN };
	}
}

static const struct balance_result *result_of(const struct job_work *work, const struct balance *balance,
					      const struct job_group *group)
{
	return &balance->results[2 * work->report->shape->nodes[group->node].up_group + group->direction];
}

static struct measure uplink_bytes(const struct job_work *work, uint32_t port, enum balance_direction direction)
{
	enum counter counter = direction == BALANCE_XMIT ? COUNTER_XMIT_DATA : COUNTER_RCV_DATA;
	const struct delta *delta = &work->deltas[port];
	bool known = delta->elapsed_us > 0 && delta->known & COUNTER_BIT(counter);

	return measure_of(known ? (double)(delta->value[counter] * COUNTER_WORD_BYTES) : NAN,
			  !(delta_lower_bounds(delta) & COUNTER_BIT(counter)) && !job_is_cut(work, delta));
}

static void take_result(struct job_work *work, const struct balance_result *result, struct job_group *group)
{
	struct job_report *report = work->report;

	group->state = result->state;
	group->cause = result->cause;
	group->adaptive = result->adaptive;
	group->adaptive_inferred = result->adaptive_inferred;
	group->excess = balance_excess(result);
	group->hottest = result->hottest;
	for (uint32_t i = 0; i < group->count; i++) {
		struct job_uplink *uplink = &report->uplinks[group->first + i];

		uplink->member = result->members[i];
		uplink->share = balance_share(result, &result->members[i]);
		uplink->bytes = uplink_bytes(work, uplink->port, group->direction);
		group->bytes = measure_add(group->bytes, uplink->bytes);
	}
}

bool job_became_uneven(const struct job_group *group)
{
	double early = measure_exact(group->part_excess[JOB_EARLY]);

	return early <= JOB_UNEVEN && group->part_excess[JOB_LATE].value > early + JOB_UNEVEN;
}

static bool is_skewed(const struct balance_result *result)
{
	return result->cause == BALANCE_ROUTING || result->cause == BALANCE_NOT_FOLLOWING;
}

/* A part of the job: how uneven, and in the late part whether by the tables. */
static void take_part(struct job_work *work, const struct balance *balance, int part)
{
	for (size_t i = 0; i < work->report->group_count; i++) {
		struct job_group *group = &work->report->groups[i];
		const struct balance_result *result = result_of(work, balance, group);
		bool is_failed = result->cause == BALANCE_MISSING_MEMBER || result->cause == BALANCE_DEGRADED_MEMBER;

		if (result->state == BALANCE_ACTIVE)
			group->part_excess[part] = balance_excess(result);
		if (part != JOB_LATE || result->state != BALANCE_ACTIVE)
			continue;
		if (result->adaptive != ADAPTIVE_UNKNOWN) {
			group->adaptive = result->adaptive;
			group->adaptive_inferred = result->adaptive_inferred;
		}
		if (is_skewed(result)) {
			group->skewed = true;
			group->cause = result->cause;
		}
		/* It became uneven: without uneven tables other flows may have begun (see also job_findings.c). */
		group->skewed |= !is_failed && result->load_uneven && job_became_uneven(group) &&
				 (result->tables_uneven || !result->tables_known);
	}
}

/* Evaluate a window. @memory: of the windows before; a window is only itself for the cause "flows". */
static int evaluate_window(const struct job_work *work, const struct balance_input *input,
			   struct balance_memory *memory, struct balance *ret, struct error *err)
{
	int code = balance_evaluate(input, &work->balance, ret, err);

	if (code == 0)
		code = balance_memory_step(memory, input->shape, &work->balance, ret, err);
	if (code < 0)
		balance_done(ret);
	return code;
}

static int evaluate_parts(struct job_work *work, struct balance_input *input, struct balance_memory *memory,
			  struct balance_load *loads, struct error *err)
{
	struct balance balance = { 0 };
	int code = 0;

	input->window_us = 0;
	for (int part = 0; code == 0 && part < JOB_PARTS && work->report->has_history; part++) {
		loads_of_part(work, part, loads);
		code = evaluate_window(work, input, memory, &balance, err);
		if (code < 0)
			break;
		take_part(work, &balance, part);
		balance_done(&balance);
	}
	return code;
}

static int evaluate(struct job_work *work, struct balance_input *input, struct balance_load *loads, struct error *err)
{
	struct job_report *report = work->report;
	const struct fabric *fabric = report->fabric;
	struct balance_memory *memory = balance_memory_create();
	struct balance balance = { 0 };
	int code = memory ? 0 : err_nomem(err);

	for (size_t i = 0; i < fabric->port_count; i++)
		balance_load_of(&work->deltas[i], &fabric->nodes[fabric->ports[i].node], &fabric->ports[i],
				work->caps ? &work->caps[fabric->ports[i].node] : NULL, &loads[i]);
	input->window_us = (double)report->duration_us;
	if (code == 0)
		code = evaluate_window(work, input, memory, &balance, err);
	for (size_t i = 0; code == 0 && i < report->group_count; i++) {
		const struct balance_result *result = result_of(work, &balance, &report->groups[i]);

		take_result(work, result, &report->groups[i]);
		report->groups[i].skewed = is_skewed(result);
	}
	if (code == 0)
		code = evaluate_parts(work, input, memory, loads, err);
	balance_done(&balance);
	balance_memory_destroy(memory);
	return code;
}

/* Of a switch as set or read, else as inferred for what it sends. */
static void count_switches(struct job_work *work, const uint8_t *adaptive)
{
	struct job_report *report = work->report;

	for (size_t i = 0; i < report->fabric->node_count; i++) {
		const struct node *node = &report->fabric->nodes[i];
		uint8_t is = adaptive ? adaptive[i] : ADAPTIVE_UNKNOWN;

		report->aggregation_nodes += node_is_aggregation(node);
		if (!work->above[i])
			continue;
		for (size_t j = 0; j < report->group_count && is == ADAPTIVE_UNKNOWN; j++)
			if (report->groups[j].node == i && report->groups[j].direction == BALANCE_XMIT) {
				is = (uint8_t)report->groups[j].adaptive;
				report->adaptive_inferred += is != ADAPTIVE_UNKNOWN;
			}
		*(is == ADAPTIVE_ON ? &report->adaptive_on : is == ADAPTIVE_OFF ? &report->adaptive_off :
		  &report->adaptive_unknown) += 1;
	}
}

/* Worst first: skewed, then uneven, then by name. */
static int compare_groups(const void *a, const void *b, void *ctx)
{
	const struct job_group *x = a, *y = b;
	const struct job_report *report = ctx;
	bool x_active = x->state == BALANCE_ACTIVE, y_active = y->state == BALANCE_ACTIVE;

	if (x->skewed != y->skewed)
		return x->skewed ? -1 : 1;
	if (x_active != y_active)
		return x_active ? -1 : 1;
	if (x_active && fabs(x->excess.value - y->excess.value) >= 0.005)
		return x->excess.value > y->excess.value ? -1 : 1;
	if (x->node != y->node)
		return names_compare(job_report_node_name(report, x->node), job_report_node_name(report, y->node));
	return (int)x->direction - (int)y->direction;
}

void job_sort_uplinks(struct job_report *report)
{
	if (report->group_count)
		qsort_r(report->groups, report->group_count, sizeof(*report->groups), compare_groups, report);
}

/* --- the map --- */

static uint32_t map_node(struct job_work *work, uint32_t **list, uint32_t *count, uint32_t *index, uint32_t node)
{
	size_t size = *count;

	if (index[node] == FABRIC_NONE) {
		uint32_t *added = job_grow(work->report, list, &size, sizeof(*added));

		if (!added)
			return FABRIC_NONE;
		*added = node;
		index[node] = (*count)++;
	}
	return index[node];
}

static int compare_nodes(const void *a, const void *b, void *report)
{
	return names_compare(job_report_node_name(report, *(const uint32_t *)a),
			     job_report_node_name(report, *(const uint32_t *)b));
}

/* Groups are the worst first, the nodes of a map in natural order of their names. */
static void sort_nodes(struct job_report *report, uint32_t *list, uint32_t count, uint32_t *index)
{
	if (count)
		qsort_r(list, count, sizeof(*list), compare_nodes, report);
	for (uint32_t i = 0; i < count; i++)
		index[list[i]] = i;
}

static int list_map(struct job_work *work, uint32_t *index, struct error *err)
{
	struct job_report *report = work->report;
	struct job_map *map = &report->map;

	for (size_t g = 0; g < report->group_count; g++) {
		const struct job_group *group = &report->groups[g];

		if (!work->leaf[group->node] || group->direction != BALANCE_XMIT)
			continue;
		if (map_node(work, &map->row_nodes, &map->rows, index, group->node) == FABRIC_NONE)
			return err_nomem(err);
		for (uint32_t i = group->first; i < group->first + group->count; i++) {
			uint32_t peer = report->fabric->ports[report->uplinks[i].port].peer;

			if (peer != FABRIC_NONE && map_node(work, &map->column_nodes, &map->columns, index,
							    report->fabric->ports[peer].node) == FABRIC_NONE)
				return err_nomem(err);
		}
	}
	sort_nodes(report, map->row_nodes, map->rows, index);
	sort_nodes(report, map->column_nodes, map->columns, index);
	return 0;
}

/* Add up parallel links; @sums: zeroed, of the cells of both parts. A cell with a link that is not known is not. */
static void fill_map(struct job_work *work, const uint32_t *index, struct measure *sums)
{
	struct job_report *report = work->report;
	struct job_map *map = &report->map;
	size_t cells = (size_t)map->rows * map->columns;

	for (size_t g = 0; g < report->group_count; g++) {
		const struct job_group *group = &report->groups[g];

		for (uint32_t i = group->first; work->leaf[group->node] && i < group->first + group->count; i++) {
			uint32_t peer = report->fabric->ports[report->uplinks[i].port].peer;

			for (int part = 0; peer != FABRIC_NONE && part < JOB_PARTS; part++) {
				uint32_t row = index[group->node], column = index[report->fabric->ports[peer].node];
				struct measure *sum = &sums[part * cells + row * map->columns + column];

				*sum = measure_add(*sum, measure_of(report->uplinks[i].part[part], true));
			}
		}
	}
	for (size_t i = 0; i < JOB_PARTS * cells; i++)
		map->part[i / cells][i % cells] = sums[i].parts ? measure_exact(sums[i]) : NAN;
}

static int make_map(struct job_work *work, struct error *err)
{
	struct job_map *map = &work->report->map;
	size_t nodes = work->report->fabric->node_count, cells;
	uint32_t *index = malloc((nodes + 1) * sizeof(*index));
	struct measure *sums;
	int code = index ? 0 : err_nomem(err);

	if (code == 0) {
		memset(index, 0xff, (nodes + 1) * sizeof(*index)); /* FABRIC_NONE */
		code = list_map(work, index, err);
	}
	cells = (size_t)map->rows * map->columns;
	for (int part = 0; code == 0 && part < JOB_PARTS; part++) {
		map->part[part] = job_alloc(work->report, cells, sizeof(double));
		if (!map->part[part])
			code = err_nomem(err);
	}
	sums = calloc(JOB_PARTS * cells + 1, sizeof(*sums));
	if (code == 0 && !sums)
		code = err_nomem(err);
	if (code == 0)
		fill_map(work, index, sums);
	free(sums);
	free(index);
	return code;
}

int job_judge_uplinks(struct job_work *work, struct error *err)
{
	struct job_report *report = work->report;
	struct balance_load *loads = calloc(report->fabric->port_count + 1, sizeof(*loads));
	struct balance_input input = { .shape = report->shape, .loads = loads };
	struct routes routes = { 0 };
	uint8_t *adaptive = NULL;
	int code = loads ? balance_adaptive_create(work->settings->shape, report->fabric, &adaptive, err) :
			   err_nomem(err);

	input.adaptive = adaptive;
	if (code == 0 && work->snapshot)
		code = reader_routes(work->reader, report->running ? 0 : report->end_us, &routes, err);
	/* Tables that were not stored are unknown. */
	if (code == ERR_UNAVAILABLE)
		code = 0;
	report->routes_known = routes.count > 0;
	input.routes = report->routes_known ? &routes : NULL;
	if (code == 0)
		code = evaluate(work, &input, loads, err);
	if (code == 0)
		code = find_shared(work, err);
	if (code == 0)
		code = make_map(work, err);
	if (code == 0)
		count_switches(work, adaptive);
	routes_done(&routes);
	free(adaptive);
	free(loads);
	return code;
}
