/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/test_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/detail.h"
#include "fabric/shape.h"

static uint32_t add_node(struct world *world, const char *name, uint8_t type, uint64_t guid, unsigned ports)
{
	struct world_node *node = &world->nodes[world->node_count];

	assert(world->node_count < WORLD_NODES && ports < 256);
	snprintf(node->name, sizeof(node->name), "%s", name);
	node->type = type;
	node->guid = guid;
	node->ports = (uint8_t)ports;
	return world->node_count++;
}

static void add_link(struct world *world, uint32_t a, unsigned a_num, uint32_t b, unsigned b_num)
{
	assert(world->link_count < WORLD_LINKS);
	world->links[world->link_count++] = (struct world_link){
		.end = { { a, (uint8_t)a_num }, { b, (uint8_t)b_num } }, .width = LINK_WIDTH_4X,
			.speed = LINK_SPEED_NDR,
	};
}

static struct world_link *link_at(const struct world *world, uint32_t node, unsigned num)
{
	return world->link_of[node][num];
}

static void index_links(struct world *world)
{
	memset(world->link_of, 0, WORLD_NODES * sizeof(*world->link_of));
	for (uint32_t i = 0; i < world->link_count; i++)
		for (uint32_t end = 0; end < 2; end++)
			world->link_of[world->links[i].end[end].node][world->links[i].end[end].num] = &world->links[i];
}

static void build(struct world *world)
{
	const struct world_shape *made = &world->made;
	unsigned per_leaf = (made->hosts + made->leafs - 1) / made->leafs, l;
	char name[32];

	for (l = 0; l < made->leafs; l++) {
		snprintf(name, sizeof(name), "leaf%u", l);
		add_node(world, name, NODE_SWITCH, 0x1000 + l, 100 + made->spines * made->parallel);
	}
	for (unsigned s = 0; s < made->spines; s++) {
		snprintf(name, sizeof(name), "spine%u", s);
		add_node(world, name, NODE_SWITCH, 0x2000 + s, made->leafs * made->parallel);
	}
	for (unsigned h = 0; h < made->hosts; h++)
		for (unsigned r = 0; r < made->rails; r++) {
			uint32_t hca;

			snprintf(name, sizeof(name), "h%u mlx5_%u", h, r);
			hca = add_node(world, name, NODE_CA, 0x10000 + h * 16 + r, 1);
			l = made->rails > 1 ? r % made->leafs : h / per_leaf;
			add_link(world, l, 1 + (made->rails > 1 ? h + r / made->leafs * made->hosts : h % per_leaf),
				 hca, 1);
		}
	for (l = 0; l < made->leafs; l++)
		for (unsigned s = 0; s < made->spines; s++)
			for (unsigned p = 0; p < made->parallel; p++)
				add_link(world, l, 101 + s * made->parallel + p, made->leafs + s,
					 1 + l * made->parallel + p);
}

struct world *world_create(const struct world_shape *shape)
{
	struct world *world = calloc(1, sizeof(*world));

	if (!world)
		abort();
	world->made = *shape;
	world->counts = calloc(WORLD_NODES, sizeof(*world->counts));
	world->resets = calloc(WORLD_NODES, sizeof(*world->resets));
	world->full = calloc(WORLD_NODES, sizeof(*world->full));
	world->fec = calloc(WORLD_NODES, sizeof(*world->fec));
	world->mended = calloc(WORLD_NODES, sizeof(*world->mended));
	world->tables = calloc(WORLD_NODES, sizeof(*world->tables));
	world->link_of = calloc(WORLD_NODES, sizeof(*world->link_of));
	world->interval_us = 10000000;
	world->stale = true;
	world->sm_guid = 0x77;
	world->sm_masters = 1;
	health_settings_default(&world->settings);
	world->health = health_create(&world->settings);
	if (!world->counts || !world->resets || !world->full || !world->fec || !world->mended ||
	    !world->link_of || !world->tables || !world->health)
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
	free(world->link_of);
	free(world->tables);
	free(world->counts);
	free(world->resets);
	free(world->full);
	free(world->fec);
	free(world->mended);
	free(world);
}

bool world_link_is_up(const struct world *world, const struct world_link *link)
{
	return !link->down && !world->nodes[link->end[0].node].dead && !world->nodes[link->end[1].node].dead;
}

/* Discovery sees what it reaches: no node whose links are all down. */
static bool is_seen(const struct world *world, uint32_t node)
{
	if (world->nodes[node].hung)
		return false;
	for (uint32_t i = 0; i < world->link_count; i++)
		if ((world->links[i].end[0].node == node || world->links[i].end[1].node == node) &&
		    world_link_is_up(world, &world->links[i]))
			return true;
	return false;
}

static void discover_node(struct world *world, struct fabric *fabric, uint32_t at)
{
	const struct world_node *from = &world->nodes[at];
	struct node node = { .guid = from->guid, .system_guid = from->guid, .type = from->type, .vendor_id = 0x2c9,
			     .device_id = from->type == NODE_SWITCH ? 0xd2f2 : 4129, .port_count = from->ports,
			     .lid = (uint16_t)(from->type == NODE_SWITCH ? at + 1 : 0) };

	if (from->type == NODE_CA)
		node.system_guid = from->guid & ~UINT64_C(15);
	snprintf(node.desc, sizeof(node.desc), "%s", from->name);
	if (fabric_add_node(fabric, &node, NULL) < 0)
		abort();
	for (unsigned num = from->type == NODE_SWITCH ? 0 : 1; num <= from->ports; num++) {
		const struct world_link *link = num ? link_at(world, at, num) : NULL;
		bool up = !num || (link && world_link_is_up(world, link));
		struct port port = {
			.num = (uint8_t)num, .state = up ? PORT_ACTIVE : PORT_DOWN,
			.phys_state = up ? PHYS_LINK_UP : PHYS_POLLING,
				.lid = (uint16_t)(from->type == NODE_CA ? at + 1 : 0),
			.speed_supported = (2 << LINK_SPEED_NDR) - 1, .speed_enabled = (2 << LINK_SPEED_NDR) - 1,
			.width_supported = LINK_WIDTH_1X | LINK_WIDTH_4X,
				.width_enabled = LINK_WIDTH_1X | LINK_WIDTH_4X,
		};

		if (up && link) {
			port.width = link->width;
			port.speed = link->speed;
		}
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
	struct fabric *fabric = fabric_create(NULL);

	index_links(world);
	if (!fabric)
		abort();
	for (uint32_t i = 0; i < world->node_count; i++)
		if (is_seen(world, i))
			discover_node(world, fabric, i);
	for (uint32_t i = 0; i < world->link_count; i++) {
		const struct world_link *link = &world->links[i];
		uint32_t a = fabric_find_port(fabric, world->nodes[link->end[0].node].guid, link->end[0].num);
		uint32_t b = fabric_find_port(fabric, world->nodes[link->end[1].node].guid, link->end[1].num);

		if (world_link_is_up(world, link) && a != FABRIC_NONE && b != FABRIC_NONE &&
		    fabric_link(fabric, a, b, NULL) < 0)
			abort();
	}
	if (fabric_finish(fabric, NULL, NULL) < 0)
		abort();
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

static struct world_told *find_told(struct world *world, const struct finding *finding)
{
	for (size_t i = 0; i < world->told_count; i++) {
		const struct finding *told = &world->told[i].finding;

		if (told->kind == finding->kind && told->node_guid == finding->node_guid &&
		    told->port == finding->port &&
		    told->tag == finding->tag)
			return &world->told[i];
	}
	assert(world->told_count < WORLD_TOLD);
	return &world->told[world->told_count++];
}

static void take_report(void *ctx, enum health_change change, struct finding *finding)
{
	struct world *world = ctx;
	struct world_told *told = find_told(world, finding);

	if (getenv("WORLD_TRACE"))
		fprintf(stderr, "%6.0f s %s %s %s [%s] %s: %s\n", (double)world->now_us / 1e6,
			change == HEALTH_OPENED ? "opened" : change == HEALTH_CHANGED ? "changed" : "closed",
			finding_kind_name(finding->kind), finding_severity_name(finding->severity),
			finding->cause ? finding->cause : "", finding->subject, finding->text);
	assert(finding->subject[0] && finding->text[0] && finding->advice && finding->cause);
	if (change == HEALTH_OPENED && !told->opened)
		told->opened_us = world->now_us;
	told->finding = *finding;
	told->opened += change == HEALTH_OPENED;
	told->closed += change == HEALTH_CLOSED;
	if (finding->severity > told->worst)
		told->worst = finding->severity;
}

/* What one port counted since the sweep before. */
static void fill_delta(struct world *world, uint32_t node, unsigned num, struct delta *delta)
{
	const struct world_link *link = link_at(world, node, num);
	int end = link && link->end[1].node == node && link->end[1].num == num;
	double words = link ? (double)link_rate_bits_per_s(link->width, (enum link_speed)link->speed) / 32e6 : 0;

	*delta = (struct delta){ .elapsed_us = world->interval_us, .known = COUNTER_BIT(COUNTER_COUNT) - 1,
				 .reset = world->resets[node][num], .saturated = world->full[node][num] };
	for (int i = 0; i < COUNTER_COUNT; i++)
		delta->value[i] = world->counts[node][num][i];
	if (!link)
		return;
	delta->value[COUNTER_XMIT_DATA] += (uint64_t)(words * (double)world->interval_us * link->load[end]);
	delta->value[COUNTER_RCV_DATA] += (uint64_t)(words * (double)world->interval_us * link->load[!end]);
	/* Quantum-2, Tick 7: a tick is 64 bits' time (analysis/stall.c). */
	delta->value[COUNTER_XMIT_WAIT] += (uint64_t)(words / 2 * (double)world->interval_us * link->stall[end]);
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

static size_t fill_samples(struct world *world, struct health_sample *samples, struct delta *deltas,
			   struct health_detail *details, struct detail_delta *fec, size_t *ret_details)
{
	const struct fabric *fabric = world->fabric;
	size_t count = 0;

	*ret_details = 0;
	for (uint32_t p = 0; p < fabric->port_count; p++) {
		const struct port *port = &fabric->ports[p];
		uint32_t node = world->node_of[port->node];
		struct health_sample *sample = &samples[count];

		if (!port_is_pollable(fabric, port))
			continue;
		*sample = (struct health_sample){ .port = p, .status = SAMPLE_OK };
		if (port->state < PORT_INIT)
			sample->status = SAMPLE_DOWN;
		else if (world->nodes[node].silent)
			sample->status = SAMPLE_SILENT;
		else if (count * 37 % 100 < world->unread_percent)
			sample->status = SAMPLE_UNFINISHED;
		if (sample->status == SAMPLE_OK) {
			fill_delta(world, node, port->num, &deltas[count]);
			sample->delta = &deltas[count];
		}
		if (sample->status == SAMPLE_OK && (world->fec[node][port->num] || world->mended[node][port->num])) {
			fec[*ret_details] = (struct detail_delta){ .elapsed_us = world->interval_us,
				.known = 1u << DETAIL_FEC_UNCORRECTED_BLOCKS | 1u << DETAIL_FEC_CORRECTED_SYMBOLS };
			fec[*ret_details].value[DETAIL_FEC_CORRECTED_SYMBOLS] = world->mended[node][port->num];
			fec[*ret_details].value[DETAIL_FEC_UNCORRECTED_BLOCKS] = world->fec[node][port->num];
			details[*ret_details] = (struct health_detail){ p, DETAIL_EXTENDED_SPEEDS, &fec[*ret_details] };
			++*ret_details;
		}
		count++;
	}
	shuffle(world, samples, count);
	return count;
}

static void forget_counts(struct world *world)
{
	world->read_count = world->changed_count = 0;
	if (!world->counted)
		return;
	world->counted = false;
	memset(world->counts, 0, WORLD_NODES * sizeof(*world->counts));
	memset(world->resets, 0, WORLD_NODES * sizeof(*world->resets));
	memset(world->fec, 0, WORLD_NODES * sizeof(*world->fec));
	memset(world->mended, 0, WORLD_NODES * sizeof(*world->mended));
}

static void fill_locked(const struct world *world, struct health_input *input, uint64_t *locked)
{
	input->locked_guids = locked;
	for (uint32_t i = 0; i < world->node_count; i++)
		if (world->nodes[i].locked)
			locked[input->locked_count++] = world->nodes[i].guid;
}

/* Tables that are asked for are read before the next sweep. */
static void read_wanted(struct world *world)
{
	const uint64_t *wants;
	size_t count = health_wants_tables(world->health, &wants);

	for (size_t i = 0; i < count && world->has_routes; i++)
		world_read_table(world, find_guid(world, wants[i]));
}

static void sweep(struct world *world)
{
	size_t ports, count, detail_count;
	struct health_sample *samples;
	struct health_detail *details;
	struct detail_delta *fec;
	struct delta *deltas;
	struct pma_caps *caps;
	uint64_t locked[WORLD_NODES];
	struct health_input input = {
		.wall_us = WORLD_WALL_US + world->now_us, .boot_us = WORLD_BOOT_US + world->now_us,
		.interval_us = world->interval_us, .topology_changed = world->stale, .sm_known = !world->sm_lost,
		.sm_guid = world->sm_guid, .sm_masters = world->sm_masters,
			.routes = world->has_routes ? &world->routes : NULL,
		.routes_changed_us = world->changed_count ? WORLD_WALL_US + world->now_us : 0,
		.routes_changed_guids = world->changed_guids, .routes_changed_count = world->changed_count,
		.routes_changed_entries = world->changed_entries, .routes_read_guids = world->read_guids,
		.routes_read_count = world->read_count,
		.log_bytes = world->log_bytes, .log_holders = "process 4711 (less)",
		.stalled_us = world->stalled_us, .stall_reason = "no space left on its disk; free some space",
	};

	if (world->stale)
		discover(world);
	world->stale = false;
	ports = world->fabric->port_count + 1;
	samples = calloc(ports, sizeof(*samples));
	deltas = calloc(ports, sizeof(*deltas));
	details = calloc(ports, sizeof(*details));
	fec = calloc(ports, sizeof(*fec));
	caps = calloc(world->fabric->node_count + 1, sizeof(*caps));
	if (!samples || !deltas || !details || !fec || !caps)
		abort();
	for (uint32_t i = 0; i < world->fabric->node_count; i++)
		caps[i] = (struct pma_caps){ .known = true, .tick_known = true, .tick = 7 };
	count = fill_samples(world, samples, deltas, details, fec, &detail_count);
	fill_locked(world, &input, locked);
	input.fabric = world->fabric;
	input.shape = world->shape;
	input.samples = samples;
	input.sample_count = count;
	input.caps = caps;
	input.details = details;
	input.detail_count = detail_count;
	if (health_step(world->health, &input, take_report, world, NULL) < 0)
		abort();
	forget_counts(world);
	read_wanted(world);
	free(samples);
	free(deltas);
	free(details);
	free(fec);
	free(caps);
}

void world_sweeps(struct world *world, unsigned count)
{
	for (; count; count--) {
		sweep(world);
		world->now_us += world->interval_us;
	}
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
	health_destroy(world->health);
	world->health = health;
	world->stale = true;
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

const char *world_summary(const struct world *world, bool infos, char *ret, size_t size)
{
	static char lines[WORLD_TOLD][128];
	size_t count = 0, at = 0;

	for (size_t i = 0; i < world->told_count; i++) {
		const struct world_told *told = &world->told[i];
		char place[64], port[8] = "", times[16] = "";

		if (!told->opened || (!infos && told->worst == FINDING_INFO))
			continue;
		snprintf(place, sizeof(place), "%s",
			 told->finding.node_guid ? world->nodes[find_guid(world,
									  told->finding.node_guid)].name : "fabric");
		if (told->finding.port)
			snprintf(port, sizeof(port), "/%u", told->finding.port);
		if (told->opened > 1)
			snprintf(times, sizeof(times), " x%u", told->opened);
		snprintf(lines[count++], sizeof(lines[0]), "%s %s %s%s%s%s", finding_kind_name(told->finding.kind),
			 finding_severity_name(told->worst), place, port, times,
			 told->closed >= told->opened ? " closed" : "");
	}
	qsort(lines, count, sizeof(lines[0]), compare_lines);
	ret[0] = 0;
	for (size_t i = 0; i < count && at < size; i++)
		at += (size_t)snprintf(ret + at, size - at, "%s%s", i ? "; " : "", lines[i]);
	return ret;
}

unsigned world_check(const struct world_case *cases, size_t count, bool infos)
{
	char found[4096];
	unsigned failed = 0;

	for (size_t i = 0; i < count; i++) {
		struct world *world = world_create(cases[i].shape);

		world_run(world, cases[i].script);
		world_summary(world, infos, found, sizeof(found));
		if (strcmp(found, cases[i].expected) != 0) {
			fprintf(stderr, "%s: %s\n  expected \"%s\"\n  found    \"%s\"\n", cases[i].name,
				cases[i].script, cases[i].expected, found);
			failed++;
		}
		world_destroy(world);
	}
	return failed;
}

const struct world_told *world_find(const struct world *world, enum finding_kind kind)
{
	for (size_t i = 0; i < world->told_count; i++)
		if (world->told[i].finding.kind == kind)
			return &world->told[i];
	return NULL;
}
