/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Why a job stalled or became slower: the places that its traffic passes, open findings about them, and what else
 * changed at that time.
 *
 * Paths are those of the forwarding tables, from each leaf of the job to each member of the same rail that is on
 * another leaf. Of a leaf whose table is unknown, or that routes adaptively, they are all uplinks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/health/jobs.h"
#include "base/array.h"
#include "base/when.h"
#include "fabric/routes.h"

/* What began this long before or after a slowdown, and at least 3 sweeps, is related to it. */
enum { NEAR_US = 2 * MINUTE_US };
/* Firmware is read after a restart of its node, which takes minutes. */
#define FIRMWARE_US (15 * MINUTE_US)
/* Links are listed that failed this long before a job stalled: transports repeat packets for seconds. */
#define EVENTS_US (30 * SECOND_US)

#define BIT(kind) (UINT64_C(1) << FINDING_##kind)
/* About links and nodes that carry nothing, which stops a job; and about those that carry less. */
#define STOPS (BIT(LINK_DOWN) | BIT(LINK_NOT_ACTIVE) | BIT(NODE_MISSING) | BIT(NODE_SILENT) | BIT(HOST_RESTART) | \
	       BIT(BLACK_HOLE) | BIT(PARTITION))
#define SLOWS (BIT(LINK_DEGRADED) | BIT(LINK_FLAPPING) | BIT(SYMBOL_ERRORS) | BIT(RECEIVE_ERRORS) | \
	       BIT(FEC_UNCORRECTABLE) | BIT(XMIT_DISCARDS) | BIT(CONGESTION) | BIT(LINK_ERRORS) | \
	       BIT(CONSTRAINT_ERRORS) | BIT(RAIL_IMBALANCE) | BIT(NIC_UNUSED))

/* --- paths --- */

static void mark(struct job_paths *paths, uint64_t guid, uint8_t num, uint32_t bits, bool *ret_failed)
{
	uint32_t had = 0;

	map_get(&paths->places, job_place(guid, num), &had);
	paths->trunks += bits & ~had & PATH_SENDS ? 1 : 0;
	*ret_failed |= (had | bits) != had && map_put(&paths->places, job_place(guid, num), had | bits) < 0;
}

uint32_t job_path_at(const struct job_paths *paths, uint64_t guid, uint8_t num)
{
	uint32_t bits = 0;

	if (paths)
		map_get(&paths->places, job_place(guid, num), &bits);
	return bits;
}

void job_paths_destroy(struct job_paths *paths)
{
	if (!paths)
		return;
	map_done(&paths->places);
	free(paths);
}

/* A leaf from which a job sends on a rail. */
struct source { uint32_t node; uint8_t rail; };

struct walk {
	const struct health *health;
	struct job_paths *paths;
	const struct route_table **tables; /* by node */
	uint32_t *reached;                 /* by node: number of the destination by which it was reached last */
	struct source *sources;
	size_t source_count, source_capacity;
	bool failed;
};

/* Mark a link in one direction. Return: the node at its end, or FABRIC_NONE. */
static uint32_t mark_link(struct walk *walk, uint32_t port)
{
	const struct fabric *fabric = walk->health->input->fabric;
	const struct port *from = &fabric->ports[port], *to = from->peer == FABRIC_NONE ? NULL :
							      &fabric->ports[from->peer];

	mark(walk->paths, fabric->nodes[from->node].guid, from->num, PATH_SENDS, &walk->failed);
	mark(walk->paths, fabric->nodes[from->node].guid, 0, PATH_SWITCH, &walk->failed);
	if (!to || fabric->nodes[to->node].type != NODE_SWITCH)
		return FABRIC_NONE;
	mark(walk->paths, fabric->nodes[to->node].guid, to->num, PATH_RECEIVES, &walk->failed);
	mark(walk->paths, fabric->nodes[to->node].guid, 0, PATH_SWITCH, &walk->failed);
	return to->node;
}

static void mark_uplinks(struct walk *walk, uint32_t node)
{
	const struct shape *shape = walk->health->input->shape;
	uint32_t at = shape->nodes[node].up_group;
	const struct shape_group *group = at == SHAPE_NONE ? NULL : &shape->groups[at];

	for (uint32_t i = 0; group && i < group->count; i++) {
		uint32_t port = shape->members[group->first + i], peer = shape->fabric->ports[port].peer;

		mark_link(walk, port);
		if (peer != FABRIC_NONE)
			mark_link(walk, peer);
	}
}

static void add_source(struct walk *walk, uint32_t node, uint8_t rail)
{
	const struct health_input *input = walk->health->input;
	struct source *grown;

	for (size_t i = walk->source_count; i-- > 0;)
		if (walk->sources[i].node == node && walk->sources[i].rail == rail)
			return;
	walk->tables[node] = !input->routes || (input->adaptive && input->adaptive[node] == ADAPTIVE_ON) ? NULL :
			     routes_find(input->routes, input->fabric->nodes[node].guid);
	if (!walk->tables[node])
		mark_uplinks(walk, node);
	grown = array_grow(walk->sources, walk->source_count, &walk->source_capacity, sizeof(*grown));
	walk->failed |= !grown;
	if (!grown)
		return;
	walk->sources = grown;
	grown[walk->source_count++] = (struct source){ node, rail };
}

/* From a leaf to a destination, up to where another route to it has led. @number: of the destination, from 1 */
static void follow(struct walk *walk, uint32_t node, uint32_t last, uint16_t lid, uint32_t number)
{
	const struct health_input *input = walk->health->input;

	for (unsigned hops = 0; node != last && hops < ROUTE_HOPS_MAX && walk->reached[node] != number; hops++) {
		uint8_t num;
		uint32_t port;

		walk->reached[node] = number;
		if (!walk->tables[node])
			walk->tables[node] = routes_find(input->routes, input->fabric->nodes[node].guid);
		num = routes_out_port(walk->tables[node], lid);
		port = num == ROUTES_NO_PORT || !num ? FABRIC_NONE : fabric_node_port(input->fabric, node, num);
		if (port == FABRIC_NONE)
			return;
		node = mark_link(walk, port);
		if (node == FABRIC_NONE)
			return;
	}
}

static void mark_members(struct walk *walk, const struct watched_job *job)
{
	const struct fabric *fabric = walk->health->input->fabric;

	for (uint32_t i = 0; i < job->member_count; i++) {
		const struct job_port *port = &job->ports[i];
		const struct health_port *peer =
			port->num < port->node->slots ? port->node->ports[port->num].peer : NULL;
		uint32_t bits = PATH_HOST | job->members[i].host << PATH_HOST_SHIFT;

		mark(walk->paths, port->node->guid, port->num, bits, &walk->failed);
		mark(walk->paths, port->node->guid, 0, bits, &walk->failed);
		if (peer) {
			mark(walk->paths, peer->node->guid, peer->num, bits, &walk->failed);
			mark(walk->paths, peer->node->guid, 0, PATH_LEAF, &walk->failed);
		}
		if (port->peer != FABRIC_NONE && fabric->nodes[fabric->ports[port->peer].node].type == NODE_SWITCH)
			add_source(walk, fabric->ports[port->peer].node, job->members[i].rail);
	}
}

struct job_paths *job_paths_make(const struct health *health, const struct watched_job *job)
{
	const struct fabric *fabric = health->input->fabric;
	struct walk walk = { .health = health, .paths = calloc(1, sizeof(struct job_paths)),
			     .tables = calloc(fabric->node_count + 1, sizeof(*walk.tables)),
			     .reached = calloc(fabric->node_count + 1, sizeof(*walk.reached)) };

	walk.failed = !walk.paths || !walk.tables || !walk.reached;
	if (!walk.failed)
		mark_members(&walk, job);
	for (uint32_t i = 0; !walk.failed && i < job->member_count; i++) {
		const struct job_port *port = &job->ports[i];
		uint32_t last = port->peer == FABRIC_NONE ? FABRIC_NONE : fabric->ports[port->peer].node;

		for (size_t j = 0; last != FABRIC_NONE && j < walk.source_count; j++)
			if (walk.sources[j].rail == job->members[i].rail && walk.tables[walk.sources[j].node])
				follow(&walk, walk.sources[j].node, last, fabric->ports[port->now].lid, i + 1);
	}
	free(walk.tables);
	free(walk.reached);
	free(walk.sources);
	if (!walk.failed)
		return walk.paths;
	job_paths_destroy(walk.paths);
	return NULL;
}

/* --- findings --- */

unsigned job_path_of(const struct health *health, const struct watched_job *job, const struct finding *finding)
{
	const bool fails = finding->kind == FINDING_LINK_DOWN;
	unsigned nearest = 0, here;
	uint64_t guid;
	uint8_t num;

	for (unsigned at = 0; finding_end(finding, health->fabric, at, &guid, &num); at++) {
		uint32_t bits = guid ? job_path_at(job->paths, guid, num) : 0;

		here = bits != 0;
		/* Its tables may lead around the link already. */
		if (!bits && fails && num && job_path_at(job->paths, guid, 0) & PATH_LEAF) {
			const struct health_node *node = health_find_node(health, guid);

			here = node && num < node->slots && health_is_trunk(&node->ports[num]);
		}
		if (bits & PATH_HOST) {
			here = 2;
			for (unsigned i = 0; job->state && i < job->state->suspect_count; i++)
				if (job->state->suspects[i].host == bits >> PATH_HOST_SHIFT &&
				    job->state->suspects[i].evidence < JOB_EVIDENCE_NONE)
					here = 3;
		}
		nearest = here > nearest ? here : nearest;
	}
	return nearest;
}

static bool is_near(const struct health *health, int64_t us, int64_t since_us)
{
	int64_t most_us = NEAR_US > 3 * health->input->interval_us ? NEAR_US : 3 * health->input->interval_us;

	return us && llabs(us - since_us) <= most_us;
}

/* The nearest finding of some kinds that began about then, and of those the oldest. */
static struct health_open_finding *find_near(const struct health *health, const struct watched_job *job, uint64_t kinds,
					     int64_t since_us, bool roots)
{
	struct health_open_finding *found = NULL;
	unsigned nearest = 0;

	for (size_t i = 0; i < health->open.count; i++) {
		struct health_open_finding *open = health_open_at(health, i);
		const struct finding *finding = &open->finding;
		unsigned near;

		if (!(kinds >> finding->kind & 1) || open->dropped || !is_near(health, open->since.us, since_us) ||
		    finding_is_refusal(finding))
			continue;
		if (roots && (!health_holds_now(health, open) || (finding->severity < FINDING_WARNING &&
								  finding->kind != FINDING_HOST_RESTART)))
			continue;
		near = job_path_of(health, job, finding);
		if (!near || near < nearest || (found && near == nearest && open->since.us >= found->since.us))
			continue;
		nearest = near;
		found = open;
	}
	return found;
}

struct health_open_finding *job_find_origin(struct health *health, const struct watched_job *job,
					    enum finding_kind kind, struct health_time since)
{
	uint64_t kinds = kind == FINDING_JOB_STALLED ? STOPS : STOPS | SLOWS | BIT(UPLINK_IMBALANCE);

	return find_near(health, job, kinds, since.us, true);
}

/* --- causes of a slowdown --- */

struct look {
	struct health *health;
	const struct watched_jobs *jobs;
	const struct watched_job *job;
	int64_t since_us;
};

/* "12 s before", "3 s after", "at that time". */
static const char *say_when(const struct look *look, int64_t us, char ret[48])
{
	char span[32];

	health_duration(llabs(us - look->since_us), span);
	if (llabs(us - look->since_us) < SECOND_US)
		snprintf(ret, 48, "at that time");
	else
		snprintf(ret, 48, "%s %s", span, us < look->since_us ? "before" : "after");
	return ret;
}

static bool describe_finding(const struct look *look, uint64_t kinds, char ret[JOB_CAUSE_SIZE])
{
	const struct health_open_finding *open = find_near(look->health, look->job, kinds, look->since_us, false);
	char when[48];

	if (open)
		snprintf(ret, JOB_CAUSE_SIZE, "%s at %.80s began %s", finding_kind_name(open->finding.kind),
			 open->finding.subject, say_when(look, open->since.us, when));
	return open != NULL;
}

static bool find_link(const struct look *look, char ret[JOB_CAUSE_SIZE])
{
	return describe_finding(look, STOPS | SLOWS, ret);
}

static bool find_routes(const struct look *look, char ret[JOB_CAUSE_SIZE])
{
	const struct health_node *first = NULL;
	unsigned count = 0;
	char when[48];

	if (describe_finding(look, BIT(UPLINK_IMBALANCE), ret))
		return true;
	for (size_t i = 0; i < look->health->node_count; i++) {
		const struct health_node *node = look->health->nodes[i];

		if (!is_near(look->health, node->routes_changed.us, look->since_us) ||
		    !(job_path_at(look->job->paths, node->guid, 0) & (PATH_SWITCH | PATH_LEAF)))
			continue;
		first = !first || node->routes_changed.us < first->routes_changed.us ? node : first;
		count++;
	}
	if (count == 1)
		snprintf(ret, JOB_CAUSE_SIZE, "the forwarding table of %.60s, which it uses, changed %s", first->name,
			 say_when(look, first->routes_changed.us, when));
	else if (count)
		snprintf(ret, JOB_CAUSE_SIZE, "the forwarding tables of %.60s and %u other switch%s that it uses "
			 "changed %s", first->name, count - 1, count == 2 ? "" : "es",
			 say_when(look, first->routes_changed.us, when));
	return count > 0;
}

/* Links between switches that both jobs use in the same direction. */
static unsigned count_shared(const struct job_paths *a, const struct job_paths *b)
{
	unsigned count = 0;

	for (size_t i = 0; i < b->places.capacity; i++) {
		uint32_t bits = 0;

		if (b->places.slots[i].used && b->places.slots[i].value & PATH_SENDS &&
		    map_get(&a->places, b->places.slots[i].key, &bits))
			count += bits & PATH_SENDS ? 1 : 0;
	}
	return count;
}

static bool find_shared(const struct look *look, char ret[JOB_CAUSE_SIZE])
{
	unsigned most = 0;
	char when[48];

	for (size_t i = 0; i < look->jobs->count; i++) {
		const struct watched_job *other = look->jobs->list[i];
		int64_t began_us = is_near(look->health, other->active.us, look->since_us) ? other->active.us :
											 other->began.us;
		struct job_paths *paths;
		unsigned shared;

		if (other == look->job || !is_near(look->health, began_us, look->since_us))
			continue;
		paths = job_paths_make(look->health, other);
		if (!paths) {
			look->health->failed = true;
			continue;
		}
		shared = count_shared(look->job->paths, paths);
		if (shared > most)
			snprintf(ret, JOB_CAUSE_SIZE, "job %.40s (%u hosts) began to communicate %s and uses %u of "
				 "its %u paths between switches", other->id, other->host_count,
				 say_when(look, began_us, when), shared, look->job->paths->trunks);
		most = shared > most ? shared : most;
		job_paths_destroy(paths);
	}
	return most > 0;
}

static bool find_waits(const struct look *look, char ret[JOB_CAUSE_SIZE])
{
	const struct job_state *state = look->job->state;
	char evidence[JOB_CAUSE_SIZE];

	for (unsigned i = 0; i < state->suspect_count; i++) {
		if (state->suspects[i].evidence != JOB_EVIDENCE_NOT_RECEIVING)
			continue;
		snprintf(ret, JOB_CAUSE_SIZE, "%.40s %.140s", job_host_name(look->job, state->suspects[i].host),
			 job_evidence_text(look->job, &state->suspects[i], evidence));
		return true;
	}
	return false;
}

static bool find_rail(const struct look *look, char ret[JOB_CAUSE_SIZE])
{
	const struct shape *shape = look->health->input->shape;
	uint64_t fell = look->job->state->rails_fell, of_job = 0;
	size_t len = 0, count = 0;

	for (uint32_t i = 0; i < look->job->member_count; i++)
		of_job |= UINT64_C(1) << look->job->members[i].rail;
	/* What most rails have in common is not the fault of a rail. */
	fell &= of_job;
	if (2 * __builtin_popcountll(fell) > __builtin_popcountll(of_job))
		return false;
	for (size_t i = 0; i < shape->rail_count && i < 63; i++) {
		if (!(fell >> i & 1) || len > 80)
			continue;
		len += (size_t)snprintf(ret + len, JOB_CAUSE_SIZE - len, "%s%.24s",
					count++ ? ", " : __builtin_popcountll(fell) == 1 ? "rail " : "rails ",
					shape->rails[i].name);
	}
	if (count)
		snprintf(ret + len, JOB_CAUSE_SIZE - len, " %s less than the other rails, compared with before",
			 count == 1 ? TENSE("carries", "carried") : TENSE("carry", "carried"));
	return count > 0;
}

static bool find_fabric(const struct look *look, char ret[JOB_CAUSE_SIZE])
{
	const struct health_input *input = look->health->input;
	int64_t since_wall_us = input->wall_us - (input->boot_us - look->since_us);
	const struct node *changed = NULL;
	unsigned count = 0;
	char when[48];

	for (uint32_t i = 0; i < input->fabric->node_count; i++) {
		const struct node *node = &input->fabric->nodes[i];

		if (!node->firmware.changed_us || node->firmware.changed_us < since_wall_us - NEAR_US ||
		    node->firmware.changed_us > since_wall_us + FIRMWARE_US ||
		    !job_path_at(look->job->paths, node->guid, 0))
			continue;
		changed = changed ? changed : node;
		count++;
	}
	if (count)
		snprintf(ret, JOB_CAUSE_SIZE, "the firmware of %.60s%s was updated",
			 input->shape->fabric->names.shown[changed - input->fabric->nodes],
			 count > 1 ? " and other nodes on its paths" : "");
	else if (is_near(look->health, look->jobs->changed.us, look->since_us))
		snprintf(ret, JOB_CAUSE_SIZE, "the topology changed %s (%s)",
			 say_when(look, look->jobs->changed.us, when), look->jobs->change);
	else
		return false;
	return true;
}

static bool find_hosts(const struct look *look, char ret[JOB_CAUSE_SIZE])
{
	const struct job_state *state = look->job->state;
	char evidence[JOB_CAUSE_SIZE];

	if (state->suspect_count && *job_evidence_text(look->job, &state->suspects[0], evidence))
		snprintf(ret, JOB_CAUSE_SIZE, "nothing on the fabric changed: look at the hosts, first %.40s, "
			 "which %.140s", job_host_name(look->job, state->suspects[0].host), evidence);
	else
		snprintf(ret, JOB_CAUSE_SIZE, "nothing on the fabric changed: look at the hosts, of which none differs "
			 "from the others");
	return true;
}

void job_find_causes(struct health *health, const struct watched_jobs *jobs, struct watched_job *job)
{
	static bool (*const find[JOB_CAUSES])(const struct look *look, char ret[JOB_CAUSE_SIZE]) = {
		[JOB_CAUSE_LINK] = find_link, [JOB_CAUSE_ROUTES] = find_routes, [JOB_CAUSE_SHARED] = find_shared,
		[JOB_CAUSE_WAITS] = find_waits, [JOB_CAUSE_RAIL] = find_rail, [JOB_CAUSE_FABRIC] = find_fabric,
		[JOB_CAUSE_HOSTS] = find_hosts,
	};
	const struct look look = { health, jobs, job, job->state->since_us };
	char text[JOB_CAUSE_SIZE];

	for (unsigned i = 0; i < JOB_CAUSES; i++)
		if (find[i](&look, text))
			memcpy(job->causes[i], text, sizeof(text));
}

/* --- link events --- */

static bool had_errors(const struct health_port *port, int64_t since_us)
{
	static const enum health_ring_kind of_links[] = { RING_SYMBOLS, RING_RECEIVE, RING_DISCARDS, RING_LINK,
							  RING_FEC };

	for (size_t i = 0; port->tracker && i < sizeof(of_links) / sizeof(of_links[0]); i++)
		if (port->tracker->rings[of_links[i]].total && port->tracker->rings[of_links[i]].last.us >= since_us)
			return true;
	return false;
}

/* What happened to a link; NULL: nothing. @port: the first of its ends in the order of the walk */
static const char *event_of(const struct health *health, const struct health_port *port, int64_t since_us)
{
	bool changed = port->began.us >= since_us && port->began.us > health->first_us;

	if (port->link == LINK_IS_DOWN)
		return changed ? "went down" : NULL;
	if (port->link == LINK_IS_UP && changed)
		return "came back";
	return had_errors(port, since_us) || had_errors(port->peer, since_us) ? "had errors" : NULL;
}

unsigned job_link_events(struct health *health, const struct watched_job *job, int64_t since_us,
			 char ret[JOB_CAUSE_SIZE])
{
	struct health_open_finding name;
	unsigned count = 0;

	*ret = '\0';
	for (struct health_port *port = health_next_port(health, NULL); port; port = health_next_port(health, port)) {
		const char *what;

		/* Each link once. */
		if (!port->peer || port->node->guid > port->peer->node->guid ||
		    (port->node == port->peer->node && port->num > port->peer->num) ||
		    (port->link == LINK_IS_UP && !port->tracker && !port->peer->tracker &&
		     port->began.us < since_us - EVENTS_US))
			continue;
		if (!(job_path_at(job->paths, port->node->guid, port->num) |
		      job_path_at(job->paths, port->peer->node->guid, port->peer->num)))
			continue;
		what = event_of(health, port, since_us - EVENTS_US);
		if (!what || count++)
			continue;
		health_name_port(health, &name, port, true);
		snprintf(ret, JOB_CAUSE_SIZE, "link %.100s %s", name.finding.subject, what);
	}
	if (count > 1)
		snprintf(ret + strlen(ret), JOB_CAUSE_SIZE - strlen(ret), ", and %u other%s", count - 1,
			 count == 2 ? " link" : " links");
	return count;
}
