/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/test_world.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "fabric/detail.h"
#include "fabric/keep.h"
#include "fabric/netfile.h"
#include "fabric/shape.h"

uint64_t world_kinds;

static uint32_t add_node(struct world *world, uint8_t type, uint64_t guid, unsigned ports)
{
	assert(world->node_count < WORLD_NODES && ports < 256);
	world->nodes[world->node_count] = (struct world_node){ .type = type, .guid = guid, .ports = (uint8_t)ports };
	return world->node_count++;
}

static void add_link(struct world *world, uint32_t a, unsigned a_num, uint32_t b, unsigned b_num)
{
	assert(world->link_count < WORLD_LINKS);
	world->links[world->link_count++] = (struct world_link){
		.end = { { .node = a, .num = (uint8_t)a_num }, { .node = b, .num = (uint8_t)b_num } },
		.width = LINK_WIDTH_4X, .speed = LINK_SPEED_NDR,
	};
}

static void index_links(struct world *world)
{
	memset(world->link_of, 0, sizeof(world->link_of));
	for (uint32_t i = 0; i < world->link_count; i++)
		for (int end = 0; end < 2; end++)
			world->link_of[world->links[i].end[end].node][world->links[i].end[end].num] = &world->links[i];
}

int world_end_of(const struct world_link *link, uint32_t node, unsigned num)
{
	return link->end[1].node == node && link->end[1].num == num;
}

static void build(struct world *world)
{
	const struct world_shape *made = &world->made;
	unsigned per_leaf = (made->hosts + made->leaves - 1) / made->leaves;

	for (unsigned l = 0; l < made->leaves; l++)
		snprintf(world->nodes[add_node(world, NODE_SWITCH, 0x1000 + l,
					       100 + made->spines * made->parallel)].name, 32, "leaf%u", l);
	for (unsigned s = 0; s < made->spines; s++)
		snprintf(world->nodes[add_node(world, NODE_SWITCH, 0x2000 + s,
					       made->leaves * made->parallel)].name, 32, "spine%u", s);
	for (unsigned h = 0; h < made->hosts; h++)
		for (unsigned r = 0; r < made->rails; r++) {
			uint32_t hca = add_node(world, NODE_CA, 0x10000 + h * 16 + r, 1);
			bool many = made->rails > 1;

			snprintf(world->nodes[hca].name, 32, "h%u mlx5_%u", h, r);
			add_link(world, many ? r % made->leaves : h / per_leaf,
				 1 + (many ? h + r / made->leaves * made->hosts : h % per_leaf), hca, 1);
		}
	for (unsigned l = 0; l < made->leaves; l++)
		for (unsigned s = 0; s < made->spines; s++)
			for (unsigned p = 0; p < made->parallel; p++)
				add_link(world, l, 101 + s * made->parallel + p, made->leaves + s,
					 1 + l * made->parallel + p);
}

struct world *world_create(const struct world_shape *shape)
{
	struct world *world = calloc(1, sizeof(*world));

	if (!world)
		abort();
	world->made = *shape;
	world->interval_us = 10000000;
	world->changed = true;
	world->rates = (struct world_rates){
		LINK_WIDTH_1X | LINK_WIDTH_4X | LINK_WIDTH_8X, LINK_WIDTH_1X | LINK_WIDTH_4X,
		(2 << LINK_SPEED_NDR) - 1, (2 << LINK_SPEED_NDR) - 1 };
	world->sm_guid = 0x77;
	world->sm_masters = 1;
	health_settings_default(&world->settings);
	world->health = health_create(&world->settings);
	if (!world->health)
		abort();
	build(world);
	index_links(world);
	return world;
}

void world_destroy(struct world *world)
{
	health_destroy(world->health);
	shape_destroy(world->shape);
	shape_destroy(world->old_shape);
	fabric_destroy(world->fabric);
	fabric_destroy(world->old_fabric);
	routes_done(&world->routes);
	plan_done(&world->plan);
	pkeys_done(&world->pkeys);
	free(world->counts);
	free(world);
}

static bool is_up(const struct world *world, const struct world_link *link)
{
	return !link->down && !world->nodes[link->end[0].node].dead && !world->nodes[link->end[1].node].dead;
}

/* Discovery finds no node whose links are all down. */
static bool is_found(const struct world *world, uint32_t node)
{
	for (unsigned num = 1; num < 256 && !world->nodes[node].hung; num++)
		if (world->link_of[node][num] && is_up(world, world->link_of[node][num]))
			return true;
	return false;
}

static void discover_node(struct world *world, struct fabric *fabric, uint32_t at)
{
	const struct world_node *from = &world->nodes[at];
	bool is_switch = from->type == NODE_SWITCH;
	struct node node = { .guid = from->guid, .system_guid = is_switch ? from->guid : from->guid & ~UINT64_C(15),
			     .type = from->type, .vendor_id = 0x2c9, .device_id = is_switch ? 0xd2f2 : 4129,
			     .port_count = from->ports, .lid = (uint16_t)(is_switch ? at + 1 : 0),
			     .firmware = from->firmware };

	snprintf(node.desc, sizeof(node.desc), "%s", from->name);
	if (fabric_add_node(fabric, &node, NULL) < 0)
		abort();
	for (unsigned num = is_switch ? 0 : 1; num <= from->ports; num++) {
		const struct world_link *link = num ? world->link_of[at][num] : NULL;
		bool up = !num || (link && is_up(world, link));
		struct port port = {
			.num = (uint8_t)num,
			.state = !up ? PORT_DOWN : link && link->init ? PORT_INIT : PORT_ACTIVE,
			.phys_state = up ? PHYS_LINK_UP : PHYS_POLLING, .lid = (uint16_t)(is_switch ? 0 : at + 1),
			.speed_supported = world->rates.speeds, .speed_enabled = world->rates.speeds_enabled,
			.width_supported = world->rates.widths, .width_enabled = world->rates.widths_enabled,
			.width = up && link ? link->width : 0, .speed = up && link ? link->speed : 0,
		};

		if (fabric_add_port(fabric, &port, NULL) < 0)
			abort();
	}
}

static uint32_t find_guid(const struct world *world, uint64_t guid)
{
	for (uint32_t i = 0; i < world->node_count; i++)
		if (world->nodes[i].guid == guid)
			return i;
	abort();
}

static void discover(struct world *world)
{
	struct fabric *fabric = fabric_create(NULL), *held = NULL;

	index_links(world);
	if (!fabric)
		abort();
	for (uint32_t i = 0; i < world->node_count; i++)
		if (is_found(world, i))
			discover_node(world, fabric, i);
	for (uint32_t i = 0; i < world->link_count; i++) {
		const struct world_end *end = world->links[i].end;
		uint32_t a = fabric_find_port(fabric, world->nodes[end[0].node].guid, end[0].num);
		uint32_t b = fabric_find_port(fabric, world->nodes[end[1].node].guid, end[1].num);

		if (is_up(world, &world->links[i]) && a != FABRIC_NONE && b != FABRIC_NONE &&
		    fabric_link(fabric, a, b, NULL) < 0)
			abort();
	}
	if (fabric_finish(fabric, NULL, NULL) < 0)
		abort();
	/* As the collector does: a node that hangs stays, with its links. */
	if (world->fabric && fabric_keep_silent(world->fabric, fabric, &held, NULL) > 0) {
		fabric_destroy(fabric);
		fabric = held;
	}
	shape_destroy(world->old_shape);
	fabric_destroy(world->old_fabric);
	world->old_fabric = world->fabric;
	world->old_shape = world->shape;
	world->fabric = fabric;
	for (uint32_t i = 0; i < fabric->node_count; i++)
		world->node_of[i] = find_guid(world, fabric->nodes[i].guid);
	if (shape_create(fabric, NULL, &world->shape, NULL) < 0)
		abort();
}

static struct world_report *find_report(struct world *world, const struct finding *finding)
{
	for (size_t i = 0; i < world->report_count; i++) {
		const struct finding *known = &world->reports[i].finding;

		if (known->kind == finding->kind && known->node_guid == finding->node_guid &&
		    known->port == finding->port && known->tag == finding->tag)
			return &world->reports[i];
	}
	assert(world->report_count < WORLD_REPORTS);
	return &world->reports[world->report_count++];
}

/* Does it name a place? Some findings are about the fabric as a whole or about the collector. */
static bool has_location(const struct finding *finding)
{
	world_kinds |= UINT64_C(1) << finding->kind;
	return finding->node_guid || finding->port_count || finding->kind == FINDING_SM_LOST ||
	       finding->kind == FINDING_TOPOLOGY_CHANGED || finding->kind == FINDING_LOG_GROWING ||
	       finding->kind == FINDING_STORE_STALLED || finding->kind == FINDING_TRAFFIC_FELL ||
	       finding->kind == FINDING_NODES_LEFT_OUT;
}

/* Is it about nodes, and leads to their ports with a link? */
static bool is_about_links(const struct finding *finding)
{
	return finding->kind == FINDING_NODE_SILENT || finding->kind == FINDING_NODE_MISSING ||
	       finding->kind == FINDING_HOST_RESTART || (finding->kind == FINDING_LOCKED && finding->node_guid);
}

/* There is such a port, or such a node. */
static bool is_port(const struct world *world, const struct finding_port *port, bool linked)
{
	uint32_t node = find_guid(world, port->node_guid);
	bool has_link = false;

	for (unsigned i = 0; i < world->link_count; i++)
		has_link |= world->links[i].end[world_end_of(&world->links[i], node, port->port)].node == node &&
			    world->links[i].end[world_end_of(&world->links[i], node, port->port)].num == port->port;
	return port->port <= world->nodes[node].ports && (has_link || !linked);
}

static void record_report(void *ctx, enum health_change change, struct finding *finding)
{
	struct world *world = ctx;
	struct world_report *report = find_report(world, finding);

	assert(finding->subject[0] && finding->text[0] && finding->advice && finding->cause);
	assert(has_location(finding));
	assert(finding->port_count || !is_about_links(finding));
	for (unsigned i = 0; i < finding->port_count; i++)
		assert(is_port(world, &finding->ports[i], is_about_links(finding)));
	if (change == HEALTH_OPENED && !report->opened)
		report->opened_us = world->now_us;
	report->finding = *finding;
	report->opened += change == HEALTH_OPENED;
	report->changed += change == HEALTH_CHANGED;
	report->closed += change == HEALTH_CLOSED;
	if (finding->severity > report->worst)
		report->worst = finding->severity;
}

/* The counts of one port since the previous sweep. */
static void fill_delta(const struct world *world, const struct world_link *link, int end, struct delta *delta)
{
	double words;

	*delta = (struct delta){ .elapsed_us = world->interval_us, .known = COUNTER_BIT(COUNTER_COUNT) - 1 };
	if (!link)
		return;
	words = (double)link_rate_bits_per_s(link->width, (enum link_speed)link->speed) / 32e6 *
		(double)world->interval_us;
	delta->reset = link->end[end].reset;
	delta->saturated = link->end[end].saturated;
	memcpy(delta->value, link->end[end].counts, sizeof(delta->value));
	delta->value[COUNTER_XMIT_DATA] += (uint64_t)(words * link->end[end].load);
	delta->value[COUNTER_RCV_DATA] += (uint64_t)(words * link->end[!end].load);
	/* Quantum-2, Tick 7: a tick is the time of 64 bits (analysis/rate.c). */
	delta->value[COUNTER_XMIT_WAIT] += (uint64_t)(words / 2 * link->end[end].stall);
}

static void shuffle(struct world *world, struct health_sample *samples, size_t count)
{
	srand(world->shuffle);
	for (size_t i = count; world->shuffle && i > 1; i--) {
		size_t j = (size_t)rand() % i;
		struct health_sample kept = samples[i - 1];

		samples[i - 1] = samples[j];
		samples[j] = kept;
	}
}

/* One sweep with room for all ports. */
struct sweep_data {
	struct health_sample *samples;
	struct health_detail *details;
	struct delta *deltas;
	struct detail_delta *fec;
	struct health_job jobs[WORLD_JOBS];
	char job_ids[WORLD_JOBS][16];
	uint32_t *job_ports;
};

static void fill_samples(struct world *world, struct sweep_data *data, struct health_input *input)
{
	const struct fabric *fabric = world->fabric;

	for (uint32_t p = 0; p < fabric->port_count; p++) {
		const struct port *port = &fabric->ports[p];
		uint32_t node = world->node_of[port->node];
		const struct world_link *link = world->link_of[node][port->num];
		int end = link ? world_end_of(link, node, port->num) : 0;
		size_t at = input->sample_count, f = input->detail_count;
		struct health_sample *sample = &data->samples[at];

		if (!port_is_pollable(fabric, port))
			continue;
		input->sample_count++;
		*sample = (struct health_sample){ .port = p, .status = SAMPLE_OK };
		if (port->state < PORT_INIT)
			sample->status = SAMPLE_DOWN;
		else if (world->nodes[node].silent || world->nodes[node].hung)
			sample->status = SAMPLE_SILENT;
		else if (world->nodes[node].refuses)
			sample->status = SAMPLE_UNSUPPORTED;
		else if (at * 37 % 100 < world->unread_percent)
			sample->status = SAMPLE_UNFINISHED;
		if (sample->status != SAMPLE_OK)
			continue;
		fill_delta(world, link, end, &data->deltas[at]);
		sample->delta = &data->deltas[at];
		if (!link || (!link->end[end].uncorrected && !link->end[end].corrected))
			continue;
		data->fec[f] = (struct detail_delta){ .elapsed_us = world->interval_us,
			.known = 1u << DETAIL_FEC_UNCORRECTED_BLOCKS | 1u << DETAIL_FEC_CORRECTED_SYMBOLS };
		data->fec[f].value[DETAIL_FEC_CORRECTED_SYMBOLS] = link->end[end].corrected;
		data->fec[f].value[DETAIL_FEC_UNCORRECTED_BLOCKS] = link->end[end].uncorrected;
		data->details[f] = (struct health_detail){
			.port = p, .attribute = DETAIL_EXTENDED_SPEEDS, .layout = FEC_LAYOUT_RS, .delta = &data->fec[f],
		};
		input->detail_count++;
	}
	shuffle(world, data->samples, input->sample_count);
}

static void fill_jobs(const struct world *world, struct sweep_data *data, struct health_input *input)
{
	const struct fabric *fabric = world->fabric;
	size_t count = 0;

	for (unsigned i = 0; i < WORLD_JOBS; i++) {
		size_t first = count;
		unsigned host;

		for (uint32_t p = 0; world->jobs[i].number && p < fabric->port_count; p++)
			if (sscanf(world->nodes[world->node_of[fabric->ports[p].node]].name, "h%u", &host) == 1 &&
			    fabric->ports[p].peer != FABRIC_NONE && host >= world->jobs[i].first &&
			    host <= world->jobs[i].last)
				data->job_ports[count++] = p;
		if (!world->jobs[i].number)
			continue;
		snprintf(data->job_ids[i], sizeof(data->job_ids[i]), "%u", world->jobs[i].number);
		data->jobs[input->job_count++] = (struct health_job){ world->jobs[i].number, data->job_ids[i],
								      data->job_ports + first, count - first };
	}
	input->jobs = data->jobs;
}

static void clear_counts(struct world *world)
{
	world->read_count = world->changed_count = 0;
	for (uint32_t i = 0; i < 2 * world->link_count; i++) {
		struct world_end *end = &world->links[i / 2].end[i % 2];

		memset(end->counts, 0, sizeof(end->counts));
		end->reset = end->uncorrected = end->corrected = 0;
	}
}

void world_read_table(struct world *world, uint32_t at)
{
	uint8_t block[ROUTES_BLOCK];

	for (uint32_t lid = 0; lid <= world->node_count; lid += ROUTES_BLOCK) {
		for (uint32_t i = 0; i < ROUTES_BLOCK; i++)
			block[i] = lid + i && lid + i <= world->node_count ? world->tables[at][lid + i] :
									     ROUTES_NO_PORT;
		if (routes_set_block(&world->routes, world->nodes[at].guid, lid / ROUTES_BLOCK, block, NULL, NULL) < 0)
			abort();
	}
	world->read_guids[world->read_count++] = world->nodes[at].guid;
	if (!world->changes[at])
		return;
	world->changed_entries[world->changed_count] = world->changes[at];
	world->changed_guids[world->changed_count++] = world->nodes[at].guid;
	world->changes[at] = 0;
}

/* The counts of a sweep, as the store has them at a restart. */
static void record_counts(struct world *world, const struct health_input *input)
{
	for (size_t i = 0; i < input->sample_count + input->detail_count; i++) {
		bool fec = i >= input->sample_count;
		const struct health_detail *detail = fec ? &input->details[i - input->sample_count] : NULL;
		const struct delta *delta = fec ? NULL : input->samples[i].delta;
		const struct port *port = &world->fabric->ports[fec ? detail->port : input->samples[i].port];

		for (int counter = COUNTER_TRAFFIC_COUNT; counter <= HEALTH_COUNT_FEC; counter++) {
			bool is_fec = counter == HEALTH_COUNT_FEC;
			uint64_t value = is_fec != fec ? 0 : fec ? detail->delta->value[DETAIL_FEC_UNCORRECTED_BLOCKS] :
					 delta ? delta->value[counter] : 0;

			bool at_least = delta && !is_fec &&
					(delta->reset | delta->saturated) & COUNTER_BIT(counter);

			if (!value && !at_least)
				continue;
			world->counts = array_grow(world->counts, world->count_count, &world->count_capacity,
						   sizeof(*world->counts));
			world->counts[world->count_count++] = (struct health_count){
				.wall_us = input->wall_us, .node_guid = world->fabric->nodes[port->node].guid,
				.port = port->num, .counter = (uint8_t)counter, .value = value, .at_least = at_least,
				.first_wall_us = WORLD_WALL_US,
				.layout = fec ? detail->layout : 0 };
		}
	}
}

static void sweep(struct world *world)
{
	struct pma_caps caps[WORLD_NODES];
	uint64_t locked[WORLD_NODES];
	const uint64_t *wanted;
	struct sweep_data data;
	struct health_input input = {
		.wall_us = WORLD_WALL_US + world->now_us + world->clock_us,
		.boot_us = WORLD_BOOT_US + world->now_us,
		.interval_us = world->interval_us, .topology_changed = world->changed, .sm_known = !world->sm_lost,
		.sm_guid = world->sm_guid, .sm_masters = world->sm_masters,
		.routes = world->has_routes ? &world->routes : NULL,
		.routes_changed_guids = world->changed_guids, .routes_changed_count = world->changed_count,
		.routes_changed_entries = world->changed_entries, .routes_read_guids = world->read_guids,
		.routes_read_count = world->read_count, .locked_guids = locked, .caps = caps,
		.log_bytes = world->log_bytes, .log_holders = "process 4711 (less)",
		.left_out = world->left_out, .left_out_first = "switch 01 (0x1) at leaf0/3",
		.plan = world->plan_generation ? &world->plan : NULL, .plan_generation = world->plan_generation,
		.cables = world->cables, .cable_count = world->cable_count,
		.pkeys = world->pkeys.count ? &world->pkeys : NULL, .pkeys_revision = world->pkeys_revision,
		.pkeys_settled = !world->pkeys_unsettled,
		.stalled_us = world->stalled_us, .stall_reason = "no space left on its disk; free some space",
	};
	size_t ports, requested;

	if (world->changed)
		discover(world);
	world->changed = false;
	ports = world->fabric->port_count + 1;
	data = (struct sweep_data){ calloc(ports, sizeof(*data.samples)), calloc(ports, sizeof(*data.details)),
				    calloc(ports, sizeof(*data.deltas)), calloc(ports, sizeof(*data.fec)),
				    .job_ports = calloc(WORLD_JOBS * ports, sizeof(*data.job_ports)) };
	if (!data.samples || !data.job_ports || !data.deltas || !data.details || !data.fec)
		abort();
	for (uint32_t i = 0; i < world->fabric->node_count; i++)
		caps[i] = (struct pma_caps){ .known = true, .tick_known = true, .tick = 7 };
	for (uint32_t i = 0; i < world->node_count; i++)
		if (world->nodes[i].locked)
			locked[input.locked_count++] = world->nodes[i].guid;
	input.fabric = world->fabric;
	input.shape = world->shape;
	input.samples = data.samples;
	input.details = data.details;
	fill_samples(world, &data, &input);
	fill_jobs(world, &data, &input);
	record_counts(world, &input);
	if (health_step(world->health, &input, record_report, world, NULL) < 0)
		abort();
	clear_counts(world);
	/* Requested tables are read before the next sweep. */
	requested = health_wants_tables(world->health, &wanted);
	for (size_t i = 0; i < requested && world->has_routes; i++)
		world_read_table(world, find_guid(world, wanted[i]));
	free(data.samples);
	free(data.deltas);
	free(data.details);
	free(data.fec);
	free(data.job_ports);
}

void world_sweeps(struct world *world, unsigned count)
{
	for (; count; count--) {
		sweep(world);
		world->now_us += world->interval_us;
	}
}

void world_plan(struct world *world)
{
	struct text text = { 0 };
	struct plan plan = { 0 };

	netfile_write(&text, world->fabric);
	if (plan_read(&plan, "plan.net", text_chars(&text), text.len, NULL) < 0)
		abort();
	text_done(&text);
	plan_done(&world->plan);
	world->plan = plan;
	world->plan_generation++;
}

void world_restart(struct world *world)
{
	const struct finding *const *open;
	size_t count = health_open(world->health, &open);
	struct health *health = health_create(&world->settings);

	if (!health)
		abort();
	for (size_t i = 0; i < count; i++)
		if (health_restore(health, open[i], NULL) < 0)
			abort();
	if (health_restore_counts(health, world->counts, world->count_count, NULL) < 0)
		abort();
	health_destroy(world->health);
	world->health = health;
	world->changed = true;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

const char *world_summary(const struct world *world, bool infos, char *ret, size_t size)
{
	static char lines[WORLD_REPORTS][128];
	size_t count = 0, at = 0;

	for (size_t i = 0; i < world->report_count; i++) {
		const struct world_report *report = &world->reports[i];
		uint64_t guid = report->finding.node_guid;
		char port[8] = "", times[16] = "";

		if (!report->opened || (!infos && report->worst == FINDING_INFO))
			continue;
		if (report->finding.port)
			snprintf(port, sizeof(port), "/%u", report->finding.port);
		if (report->opened > 1)
			snprintf(times, sizeof(times), " x%u", report->opened);
		snprintf(lines[count++], sizeof(lines[0]), "%s %s %s%s%s%s", finding_kind_name(report->finding.kind),
			 finding_severity_name(report->worst),
			 guid ? world->nodes[find_guid(world, guid)].name : "fabric", port, times,
			 report->closed >= report->opened ? " closed" : "");
	}
	qsort(lines, count, sizeof(lines[0]), compare_lines);
	ret[0] = 0;
	for (size_t i = 0; i < count && at < size; i++)
		at += (size_t)snprintf(ret + at, size - at, "%s%s", i ? "; " : "", lines[i]);
	return ret;
}

unsigned world_check(const struct world_shape *shape, bool infos, const struct world_case *cases)
{
	char found[4096];
	unsigned failed = 0;

	for (; cases->name; cases++) {
		struct world *world = world_create(shape);

		if (strncmp(cases->script, "cold;", 5) != 0)
			world_run(world, "wait 60");
		world_run(world, cases->script);
		world_summary(world, infos, found, sizeof(found));
		if (strcmp(found, cases->expected) != 0) {
			fprintf(stderr, "%s: %s\n  expected \"%s\"\n  found    \"%s\"\n", cases->name, cases->script,
				cases->expected, found);
			failed++;
		}
		world_destroy(world);
	}
	return failed;
}

const struct world_report *world_find_tag(const struct world *world, enum finding_kind kind, uint8_t tag)
{
	for (size_t i = 0; i < world->report_count; i++)
		if (world->reports[i].finding.kind == kind && world->reports[i].finding.tag == tag)
			return &world->reports[i];
	return NULL;
}

double world_number(const struct finding *finding, const char *key)
{
	for (unsigned i = 0; i < finding->number_count; i++)
		if (!strcmp(finding->numbers[i].key, key))
			return finding->numbers[i].value;
	return NAN;
}

const struct world_report *world_find(const struct world *world, enum finding_kind kind)
{
	for (size_t i = 0; i < world->report_count; i++)
		if (world->reports[i].finding.kind == kind)
			return &world->reports[i];
	return NULL;
}

/* The link down from a spine to a leaf, one of those that are up; 0: none. */
static unsigned port_down(const struct world *world, uint32_t spine, uint32_t leaf, uint32_t lid)
{
	unsigned parallel = world->made.parallel;

	for (unsigned i = 0; i < parallel; i++) {
		unsigned num = 1 + leaf * parallel + (lid / world->made.spines + i) % parallel;

		if (is_up(world, world->link_of[spine][num]))
			return num;
	}
	return 0;
}

/* The output port of a switch for a LID in even tables. */
static uint8_t even_port(const struct world *world, uint32_t at, uint32_t lid)
{
	const struct world_shape *made = &world->made;
	uint32_t to = lid - 1, leaf, uplinks = made->spines * made->parallel;
	unsigned num;

	if (world->nodes[to].type != NODE_CA)
		return ROUTES_NO_PORT;
	leaf = world->link_of[to][1]->end[0].node;
	if (at >= made->leaves) {
		num = port_down(world, at, leaf, lid);
		return num ? (uint8_t)num : ROUTES_NO_PORT;
	}
	for (num = 1; num <= 100; num++)
		if (world->link_of[at][num] && world->link_of[at][num]->end[1].node == to)
			return (uint8_t)num;
	for (uint32_t i = 0; i < uplinks; i++) {
		num = 101 + (lid + i) % uplinks;
		if (is_up(world, world->link_of[at][num]) &&
		    port_down(world, world->link_of[at][num]->end[1].node, leaf, lid))
			return (uint8_t)num;
	}
	return ROUTES_NO_PORT;
}

void world_settle_routes(struct world *world)
{
	for (uint32_t at = 0; at < world->made.leaves + world->made.spines; at++)
		for (uint32_t lid = 1; lid <= world->node_count; lid++) {
			uint8_t port = even_port(world, at, lid);

			world->changes[at] += world->tables[at][lid] != port;
			world->tables[at][lid] = port;
		}
}

void world_make_routes(struct world *world)
{
	bool first = !world->has_routes;

	world->has_routes = true;
	world_settle_routes(world);
	for (uint32_t at = 0; at < world->made.leaves + world->made.spines; at++)
		world_read_table(world, at);
	if (first)
		world->changed_count = 0;
}

void world_skew_routes(struct world *world, uint32_t at, uint8_t num, unsigned count)
{
	for (uint32_t lid = 1; lid <= world->node_count && count; lid++) {
		uint8_t was = world->tables[at][lid];

		if (was == ROUTES_NO_PORT || (at < world->made.leaves && was <= 100) || was == num)
			continue;
		world->tables[at][lid] = num;
		world->changes[at]++;
		count--;
	}
}
