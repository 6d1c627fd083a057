/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rails of hosts: uneven, unused or miswired. Jobs are unknown here, so a host is compared only
 * with hosts that use the same rails in the same minute; what they have in common is a property of
 * the job.
 */
#include <math.h>
#include <stdlib.h>

#include "base/text.h"
#include "analysis/health/state.h"
#include "fabric/shape.h"

enum { RAILS_MOST = 64, ALIKE_LEAST = 3, RAIL_WINDOWS = 10, RAIL_WINDOWS_OFF = 9, JOB_RAILS_LEAST = 4,
       BUSY_WINDOWS = 3, IDLE_WINDOWS_MOST = 120,
       RAIL_LAST_WINDOWS = 0xf, OFF_HOSTS_MOST = 2 };

/* One host in this window. */
struct rails_in_use {
	uint64_t active, known;      /* rails, by bit */
	uint32_t host;               /* of the shape */
	uint32_t first;              /* of its ports in an array by host and rail */
};

struct rail_port { struct health_port *port; double bytes, used; }; /* port: NULL: none; used: 0..1 */

struct rails {
	struct rails_in_use *in_use;
	struct rail_port *ports;
	size_t count, rails;
};

static void add_port(struct health *health, struct rails *rails, uint32_t rail, uint32_t p)
{
	const struct shape *shape = health->input->shape;
	const struct port *port = &health->input->fabric->ports[p];
	const struct balance_load *load = &health->window.loads[p];
	uint32_t host = shape->nodes[port->node].host;
	double rate = (double)port_rate_bits_per_s(port) / 8e6, used;
	struct rail_port *at;

	if (host == SHAPE_NONE || shape->hosts[host].class != CLASS_COMPUTE || !load->known || load->elapsed_us <= 0 ||
	    !(rate > 0))
		return;
	at = &rails->ports[host * rails->rails + rail];
	if (at->port)
		return;
	at->port = health->port_of[p];
	at->bytes = load->xmit_bytes + load->rcv_bytes;
	used = (load->xmit_bytes > load->rcv_bytes ? load->xmit_bytes : load->rcv_bytes) / load->elapsed_us / rate;
	at->used = used;
	rails->in_use[host].known |= UINT64_C(1) << rail;
	if (used >= health->settings.balance.active_mean)
		rails->in_use[host].active |= UINT64_C(1) << rail;
}

static int compare_active(const void *a, const void *b)
{
	const struct rails_in_use *x = a, *y = b;

	if (x->active != y->active)
		return x->active < y->active ? -1 : 1;
	return (x->host > y->host) - (x->host < y->host);
}

/* The hosts of this window, those with the same active rails together. Return: false: no memory. */
static bool rails_make(struct health *health, struct rails *rails)
{
	const struct shape *shape = health->input->shape;

	rails->count = shape->host_count;
	rails->rails = shape->rail_count < RAILS_MOST ? shape->rail_count : RAILS_MOST;
	rails->in_use = calloc(rails->count + 1, sizeof(*rails->in_use));
	rails->ports = calloc(rails->count * rails->rails + 1, sizeof(*rails->ports));
	if (!rails->in_use || !rails->ports)
		return false;
	for (size_t i = 0; i < rails->count; i++) {
		rails->in_use[i].host = (uint32_t)i;
		rails->in_use[i].first = (uint32_t)(i * rails->rails);
	}
	for (size_t r = 0; r < rails->rails; r++)
		for (size_t i = 0; i < shape->rails[r].count; i++)
			add_port(health, rails, (uint32_t)r, shape->rail_ports[shape->rails[r].first + i]);
	qsort(rails->in_use, rails->count, sizeof(*rails->in_use), compare_active);
	return true;
}

static unsigned bits(uint64_t mask)
{
	return (unsigned)__builtin_popcountll(mask);
}

/* Number of hosts from one on that use the same rails. */
static size_t count_same(const struct rails *rails, size_t from)
{
	size_t count = 1;

	while (from + count < rails->count && rails->in_use[from + count].active == rails->in_use[from].active)
		count++;
	return count;
}

/* Load of a rail relative to the median of the active rails of its host. */
static double relative(const struct rails *rails, const struct rails_in_use *in_use, size_t rail)
{
	double values[RAILS_MOST], middle;
	size_t count = 0;

	for (size_t r = 0; r < rails->rails; r++)
		if (in_use->active & UINT64_C(1) << r)
			values[count++] = rails->ports[in_use->first + r].bytes;
	middle = balance_median(values, count);
	return middle > 0 ? rails->ports[in_use->first + rail].bytes / middle : NAN;
}

static void shift(struct health *health, uint32_t *mask, struct health_time *since, bool bit)
{
	if (bit && !(*mask & ((1u << RAIL_WINDOWS) - 1)))
		*since = health->window.start;
	*mask = *mask << 1 | bit;
}

static void hold_imbalance(struct health *health, const struct health_port *port, const struct rails *rails,
			   const struct rails_in_use *in_use, size_t rail, double others)
{
	const struct shape *shape = health->input->shape;
	const char *host = shape->hosts[in_use->host].name;
	double own = 100 * relative(rails, in_use, rail);
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_RAIL_IMBALANCE, .severity = FINDING_WARNING, .port = port,
		.link = true, .since = port->tracker->rail_since, .cause = "host" });

	health_subject(open, "%s rail %s", host, shape->rails[rail].name);
	health_text(open,
		    TENSE("carries", "carried") " %.0f %% of the load of the other %u rail%s of %s; %.0f %% on hosts "
		    "that use the same rails (threshold: %.0f %% difference)", own, bits(in_use->active) - 1,
		    text_plural(bits(in_use->active) - 1), host,
		    100 * others, health->settings.limits[FINDING_RAIL_IMBALANCE].warning);
	health_number(open, "of_other_rails_percent", own);
	health_number(open, "like_hosts_percent", 100 * others);
	health_window(health, open, health->window.start.us, health->window.end_us);
}

/*
 * Compare one rail over hosts that use the same rails. A deviation of several hosts has a common
 * cause, such as a job that crosses a slow link, and is not reported.
 */
static void check_rail(struct health *health, const struct rails *rails, const struct rails_in_use *in_use,
		       size_t count, size_t rail, double *values)
{
	double limit = health->settings.limits[FINDING_RAIL_IMBALANCE].warning / 100, others;
	size_t off_hosts = 0;

	for (size_t i = 0; i < count; i++)
		values[i] = relative(rails, &in_use[i], rail);
	others = balance_median(values, count);
	for (size_t i = 0; i < count; i++)
		off_hosts += others > 0 && fabs(relative(rails, &in_use[i], rail) / others - 1) > limit;
	for (size_t i = 0; i < count; i++) {
		double own = relative(rails, &in_use[i], rail);
		bool off = others > 0 && fabs(own / others - 1) > limit && off_hosts <= OFF_HOSTS_MOST;
		struct health_port *port = rails->ports[in_use[i].first + rail].port;
		struct health_tracker *tracker = off ? health_track(health, port) : port->tracker;
		unsigned windows;

		if (!tracker)
			continue;
		shift(health, &tracker->rail_off, &tracker->rail_since, off);
		windows = bits(tracker->rail_off & ((1u << RAIL_WINDOWS) - 1));
		if (windows >= RAIL_WINDOWS_OFF ||
		    (tracker->rail_off & RAIL_LAST_WINDOWS &&
		     health_find(health, FINDING_RAIL_IMBALANCE, port->node, port->num, 0)))
			hold_imbalance(health, port, rails, &in_use[i], rail, others);
	}
}

/*
 * Rails that a host does not use and comparable hosts do: at least three hosts that use one or two
 * more rails, and ten times as many as hosts with the same rails as this one.
 */
static uint64_t unused_rails(const struct rails *rails, size_t from, size_t alike, size_t *ret_others)
{
	uint64_t own = rails->in_use[from].active, missing = 0;
	size_t n;

	*ret_others = 0;
	for (size_t i = 0; i < rails->count; i += n) {
		uint64_t active = rails->in_use[i].active, more = active & ~own;

		n = count_same(rails, i);
		if ((active & own) != own || !more || bits(more) > 2 || n < ALIKE_LEAST ||
		    (alike > 1 && n < 10 * alike) || n <= *ret_others)
			continue;
		missing = more;
		*ret_others = n;
	}
	return missing;
}

/* "no traffic" or "only 2.1 % of its rate": below the share from which a rail is active. */
static const char *write_used(double used, char ret[40])
{
	snprintf(ret, 40, used > 0 ? "only %.1f %% of its rate" : "no traffic", 100 * used);
	return ret;
}

static void hold_unused(struct health *health, const struct rail_port *at, const char *host, const char *rail,
			size_t others)
{
	const struct health_port *port = at->port;
	char used[40];
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_NIC_UNUSED, .severity = FINDING_WARNING, .port = port,
		.link = true, .since = port->tracker->unused_since, .cause = "host" });

	health_subject(open, "%s rail %s", host, rail);
	health_text(open,
		    TENSE("carries", "carried") " %s while the other rails of %s " TENSE("are", "were")
		    " busy; %zu comparable hosts " TENSE("use", "used") " this rail (threshold: %u)",
		    write_used(at->used, used), host, others, ALIKE_LEAST);
	health_number(open, "like_hosts", (double)others);
	health_number(open, "utilization_percent", 100 * at->used);
	health_window(health, open, health->window.start.us, health->window.end_us);
}

static void check_unused(struct health *health, const struct rails *rails, size_t from, size_t alike)
{
	const struct shape *shape = health->input->shape;
	size_t others;
	uint64_t missing = unused_rails(rails, from, alike, &others);

	for (size_t i = from; i < from + alike; i++)
		for (size_t r = 0; r < rails->rails; r++) {
			const struct rails_in_use *in_use = &rails->in_use[i];
			bool unused = missing & UINT64_C(1) << r;
			struct health_tracker *tracker;
			struct health_port *port;

			/* A port that was not read or is down is not unused. */
			if (!(in_use->known & UINT64_C(1) << r))
				continue;
			port = rails->ports[in_use->first + r].port;
			tracker = unused ? health_track(health, port) : port->tracker;
			if (!tracker)
				continue;
			shift(health, &tracker->unused, &tracker->unused_since, unused);
			if (bits(tracker->unused & ((1u << RAIL_WINDOWS) - 1)) == RAIL_WINDOWS ||
			    (unused && health_find(health, FINDING_NIC_UNUSED, port->node, port->num, 0)))
				hold_unused(health, &rails->ports[in_use->first + r], shape->hosts[in_use->host].name,
					    shape->rails[r].name, others);
		}
}

/* No busy host uses one of the rails: the jobs are configured so. */
static void check_unused_by_all(struct health *health, const struct rails *rails, unsigned *idle_windows)
{
	const struct shape *shape = health->input->shape;
	struct health_open_finding *open;
	uint64_t compute = 0, used = 0;
	size_t busy = 0, r;

	for (r = 0; r < rails->rails; r++)
		if (shape->rails[r].class == CLASS_COMPUTE)
			compute |= UINT64_C(1) << r;
	for (size_t i = 0; i < rails->count; i++) {
		used |= rails->in_use[i].active;
		busy += rails->in_use[i].active != 0;
	}
	if (bits(compute) < JOB_RAILS_LEAST || busy < ALIKE_LEAST || bits(compute & ~used) != 1) {
		if (busy)
			*idle_windows = 0;
		return;
	}
	for (r = 0; !(compute & ~used & UINT64_C(1) << r); r++)
		;
	if (++*idle_windows < RAIL_WINDOWS)
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_NIC_UNUSED, .severity = FINDING_INFO, .tag = (uint8_t)(r + 1), .cause = "job" });
	health_subject(open, "rail %s", shape->rails[r].name);
	health_text(open, "none of the %zu busy hosts " TENSE("uses", "used") " rail %s; the other %u rails "
		    TENSE("are", "were") " in use", busy,
		    shape->rails[r].name, bits(compute) - 1);
	health_number(open, "busy_hosts", (double)busy);
	health_window(health, open, health->window.start.us, health->window.end_us);
}

/* Number of hosts that use exactly these rails. */
static uint32_t count_alike(const struct rails *rails, uint64_t active)
{
	uint32_t count = 0;

	for (size_t i = 0; i < rails->count; i++)
		count += rails->in_use[i].active == active;
	return count;
}

static void hold_idle(struct health *health, const struct health_host *host, const struct rails *rails,
		      const struct rails_in_use *in_use, uint32_t peers)
{
	double most = 0;
	char used[40];
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_NIC_UNUSED, .severity = FINDING_INFO, .node = host->first,
		.since = host->idle_since, .cause = "idle", .subject = host->name });

	for (size_t r = 0; r < rails->rails; r++)
		if (in_use->known & UINT64_C(1) << r)
			most = fmax(most, rails->ports[in_use->first + r].used);
	health_text(open,
		    TENSE("carries", "carried") " %s on any rail, while %u hosts that were busy on the same "
		    "rails " TENSE("continue: its work ended, or uses", "continued: its work ended, or used")
		    " another network", write_used(most, used), peers);
	health_number(open, "like_hosts", peers);
	health_number(open, "utilization_percent", 100 * most);
	health_window(health, open, health->window.start.us, health->window.end_us);
	health_affected_host(open, host->name);
}

static struct health_host *host_of(struct health *health, const struct rails_in_use *in_use)
{
	const struct shape *shape = health->input->shape;
	uint32_t first = shape->host_nodes[shape->hosts[in_use->host].first];
	const struct health_node *node = health_find_node(health, health->input->fabric->nodes[first].guid);

	return node ? node->host : NULL;
}

/* @stopped: number of busy hosts by windows since they stopped */
static void record_busy(struct health *health, const struct rails *rails, const struct rails_in_use *in_use,
		      uint32_t stopped[IDLE_WINDOWS_MOST + 1])
{
	struct health_host *host = host_of(health, in_use);

	if (!host || !in_use->known)
		return;
	if (in_use->active) {
		if (in_use->active != host->rails_used)
			host->busy_windows = 0;
		host->rails_used = in_use->active;
		host->peers = count_alike(rails, in_use->active) - 1;
		host->busy_windows += host->busy_windows < BUSY_WINDOWS;
		host->idle_windows = 0;
		return;
	}
	if (!host->idle_windows)
		host->idle_since = health->window.start;
	host->idle_windows += host->idle_windows < IDLE_WINDOWS_MOST;
	stopped[host->idle_windows] += host->busy_windows == BUSY_WINDOWS;
}

/*
 * A single host stops carrying traffic while comparable hosts continue: it lost its access to the
 * fabric, or its work ended. Counters cannot distinguish that, so the finding is info. Where
 * several stop, a job ended.
 */
static void check_idle(struct health *health, const struct rails *rails)
{
	uint32_t stopped[IDLE_WINDOWS_MOST + 1] = { 0 }, alike, with;
	size_t known = 0, all = 0;

	for (size_t i = 0; i < rails->count; i++) {
		known += rails->in_use[i].known != 0;
		all += health->input->shape->hosts[rails->in_use[i].host].class == CLASS_COMPUTE;
	}
	/* With too few readings no host is known to be idle. */
	if (known * 10 < all * 9)
		return;
	for (size_t i = 0; i < rails->count; i++)
		record_busy(health, rails, &rails->in_use[i], stopped);
	for (size_t i = 0; i < rails->count; i++) {
		struct health_host *host = host_of(health, &rails->in_use[i]);

		if (!host || !host->idle_windows || host->busy_windows < BUSY_WINDOWS)
			continue;
		alike = count_alike(rails, host->rails_used);
		with = stopped[host->idle_windows] + stopped[host->idle_windows - 1] +
		       (host->idle_windows < IDLE_WINDOWS_MOST ? stopped[host->idle_windows + 1] : 0);
		if (with > 1 || host->peers < ALIKE_LEAST || alike * 10 < host->peers * 9 ||
		    host->idle_windows == IDLE_WINDOWS_MOST)
			host->busy_windows = 0;
		else if (host->idle_windows >= RAIL_WINDOWS)
			hold_idle(health, host, rails, &rails->in_use[i], alike);
	}
}

static void run_window(struct health *health, void *state)
{
	struct rails rails = { 0 };
	double *values;
	size_t n;

	if (health->input->shape->rail_count < 2)
		return;
	values = calloc(health->input->shape->host_count + 1, sizeof(*values));
	if (!values || !rails_make(health, &rails)) {
		health->failed = true;
	} else {
		for (size_t i = 0; i < rails.count; i += n) {
			uint64_t active = rails.in_use[i].active;

			n = count_same(&rails, i);
			for (size_t r = 0; r < rails.rails && n >= ALIKE_LEAST && bits(active) >= 2; r++)
				if (active & UINT64_C(1) << r)
					check_rail(health, &rails, &rails.in_use[i], n, r, values);
			if (active)
				check_unused(health, &rails, i, n);
		}
		check_unused_by_all(health, &rails, state);
		check_idle(health, &rails);
	}
	free(values);
	free(rails.in_use);
	free(rails.ports);
}

/*
 * One finding for each host with HCAs on leaves of other rails: two swapped cables are one fault.
 */
static void check_miswired(struct health *health, void *state)
{
	const struct shape *shape = health->input->shape;
	const struct fabric *fabric = health->input->fabric;

	(void)state;
	for (size_t i = 0; i < shape->miswired_count; i++) {
		const struct shape_miswired *wrong = &shape->miswired[i];
		uint32_t node = fabric->ports[wrong->port].node, host = shape->nodes[node].host;
		uint32_t rail = shape->ports[wrong->port].rail;
		struct health_open_finding *open;
		unsigned ports = 1;
		bool first = true;

		for (size_t j = 0; j < shape->miswired_count; j++) {
			uint32_t other = fabric->ports[shape->miswired[j].port].node;

			if (j == i || host == SHAPE_NONE || shape->nodes[other].host != host)
				continue;
			first &= fabric->nodes[node].guid < fabric->nodes[other].guid;
			ports++;
		}
		if (!first)
			continue;
		open = health_hold(health, &(struct health_case){
			.kind = FINDING_RAIL_MISWIRED, .severity = FINDING_WARNING,
			.port = health->port_of[wrong->port], .link = true,
			.cause = ports > 1 ? "swapped" : "cabling" });
		health_text(open, ports == 1 ?
			    "rail %s " TENSE("is", "was") " cabled to %.100s, a leaf of rail %s; %u HCA of this host "
			    TENSE("is", "was") " miswired" :
			    "rail %s " TENSE("is", "was") " cabled to %.100s, a leaf of rail %s; %u HCAs of this host "
			    TENSE("are", "were") " miswired",
			    rail == SHAPE_NONE ? "?" : shape->rails[rail].name, shape->fabric->names.shown[wrong->leaf],
			    wrong->leaf_rail == SHAPE_NONE ? "?" : shape->rails[wrong->leaf_rail].name, ports);
		health_number(open, "ports", ports);
		open->extent = ports;
	}
}

/* The state: number of windows in which no host used one of the rails. */
const struct health_rule health_rails = {
	.state_size = sizeof(unsigned), .sweep = check_miswired, .window = run_window,
};
