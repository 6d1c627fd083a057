/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Symbol errors, FEC errors, damaged packets and discards. Root causes come first: damaged packets
 * are a symptom of symbol and FEC errors of the same link, and packets marked as bad downstream
 * are counted with the link that damaged them.
 */
#include <math.h>

#include "analysis/health/state.h"
#include "fabric/pkeys.h"

/* Bits per second; 0: unknown. */
static double rate_of(const struct health_port *port)
{
	return (double)link_rate_bits_per_s(port->width, (enum link_speed)port->speed);
}

/*
 * Thresholds for symbol errors. The settings hold for one hour at 400 Gb/s. A slower link has a
 * longer window for the same number (HDR 2 h, at most 4 h), because half the number per hour would
 * be within chance. A faster link has a higher number per hour. Before HDR the threshold is a bit
 * error rate over one hour.
 */
struct symbol_limit {
	double warning, critical;
	double hours;
	unsigned buckets;
};

static struct symbol_limit symbol_limit(const struct health_settings *settings, const struct health_port *port)
{
	const struct health_limits *limits = &settings->limits[FINDING_SYMBOL_ERRORS];
	struct symbol_limit ret = { .hours = 1 };
	double rate = rate_of(port), times;

	if (port->speed >= LINK_SPEED_HDR) {
		while (ret.hours < 4 && rate * ret.hours < 400e9)
			ret.hours *= 2;
		times = rate * ret.hours / 400e9;
		ret.warning = ceil(limits->warning * times - 1e-9);
		ret.critical = ceil(limits->critical * times - 1e-9);
	} else {
		ret.warning = ceil(settings->old_ber_warning * rate * 3600 - 1e-9);
		ret.critical = ceil(settings->old_ber_critical * rate * 3600 - 1e-9);
	}
	ret.warning = ret.warning < 1 ? 1 : ret.warning;
	ret.buckets = (unsigned)(ret.hours * HOUR_US / SYMBOL_BUCKET_US);
	return ret;
}

/* Hysteresis: a finding opens at the threshold and stays open above half of it. */
static bool holds(const struct health_port *port, const struct health_open_finding *open, double count,
		  double limit)
{
	return open ? count * 2 >= limit : port->tracker->reportable && count >= limit;
}

static struct health_open_finding *hold_link(struct health *health, const struct health_port *port,
					     enum finding_kind kind, bool critical, enum health_ring_kind ring)
{
	return health_hold(health, &(struct health_case){
		.kind = kind, .severity = critical ? FINDING_CRITICAL : FINDING_WARNING,
		.port = port, .link = true, .either_end = true,
		.since = port->tracker->rings[ring].since, .cause = "cable" });
}

/* Ports behind the switch that received packets which were marked as bad upstream. */
static void add_downstream(struct health *health, struct health_open_finding *open, const struct health_node *node)
{
	double ports = 0, packets = 0;
	bool at_least = false;

	for (uint32_t i = 0; node->type == NODE_SWITCH && i < node->slots; i++) {
		const struct health_port *peer = node->ports[i].peer;
		double here = peer && peer->tracker ? health_ring_sum(health, peer->tracker, RING_REMOTE, 0, NULL) : 0;

		ports += here > 0;
		packets += here;
		at_least |= here > 0 && health_ring_at_least(health, peer, RING_REMOTE, 0);
	}
	if (ports <= 0)
		return;
	health_number(open, "downstream_ports", ports);
	health_number(open, "downstream_remote_errors_per_hour", packets);
	health_lower_bound(open, at_least);
}

static void check_symbols(struct health *health, struct health_port *port)
{
	struct symbol_limit limit = symbol_limit(&health->settings, port);
	struct health_open_finding *open = health_find_link(health, FINDING_SYMBOL_ERRORS, port);
	unsigned sweeps;
	char amount[96];
	double rate = rate_of(port);
	double count = health_ring_sum(health, port->tracker, RING_SYMBOLS, limit.buckets, &sweeps);
	double hours = health_ring_hours(health, port, RING_SYMBOLS, limit.buckets);

	/* The threshold depends on the rate. */
	if (rate <= 0 || !holds(port, open, count, limit.warning) ||
	    (!open && sweeps < health->settings.symbol_sweeps))
		return;
	open = hold_link(health, port, FINDING_SYMBOL_ERRORS, count >= limit.critical, RING_SYMBOLS);
	health_text(open, "%s at %s/%u; warning threshold for %s: %.0f in %.0f h",
		    health_ring_amount(health, open, port, RING_SYMBOLS, limit.buckets, count, "symbol errors", amount),
		    port->node->name, port->num, link_speed_name((enum link_speed)port->speed), limit.warning,
		    limit.hours);
	health_number(open, "symbol_errors", count);
	health_number(open, "window_h", limit.hours);
	health_number(open, "symbol_errors_per_hour", count / hours);
	health_number(open, "symbol_ber", count / (3600 * hours) / rate);
	health_ring_number(health, open, port, RING_RECEIVE, "receive_errors_per_hour");
	/* Those for its rate, over the same time. */
	health_number(open, FINDING_THRESHOLD_WARNING "_symbol_errors", limit.warning);
	health_number(open, FINDING_THRESHOLD_CRITICAL "_symbol_errors", limit.critical);
	health_ring_increase(health, open, port, RING_SYMBOLS, limit.buckets);
	add_downstream(health, open, port->node);
}

static void check_fec(struct health *health, struct health_port *port)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_FEC_UNCORRECTABLE];
	double count = health_ring_sum(health, port->tracker, RING_FEC, 0, NULL);
	double ber = count * fec_block_errors((enum fec_layout)port->tracker->fec_layout) / (600 * rate_of(port));
	struct health_open_finding *open = health_find_link(health, FINDING_FEC_UNCORRECTABLE, port);
	char amount[96];

	if (rate_of(port) <= 0 || !holds(port, open, ber, limits->warning))
		return;
	open = hold_link(health, port, FINDING_FEC_UNCORRECTABLE, ber >= limits->critical, RING_FEC);
	health_text(open, "%s at %s/%u: effective bit error rate over 10 min at least %.1e; warning threshold: %.1e",
		    health_ring_amount(health, open, port, RING_FEC, 0, count, "FEC uncorrectable blocks", amount),
		    port->node->name, port->num, ber, limits->warning);
	health_number(open, "fec_uncorrected_blocks_per_10min", count);
	health_number(open, "effective_ber", ber);
	health_ring_increase(health, open, port, RING_FEC, 0);
}

/* A finding about symbol or FEC errors of the link explains its damaged packets. */
static bool is_explained(struct health *health, const struct health_port *port)
{
	return health_find_link(health, FINDING_SYMBOL_ERRORS, port) ||
	       health_find_link(health, FINDING_FEC_UNCORRECTABLE, port);
}

static void check_receive(struct health *health, struct health_port *port)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_RECEIVE_ERRORS];
	double all = health_ring_sum(health, port->tracker, RING_RECEIVE, 0, NULL);
	double remote = health_ring_sum(health, port->tracker, RING_REMOTE, 0, NULL);
	struct health_open_finding *open = health_find_link(health, FINDING_RECEIVE_ERRORS, port);
	char amount[96];

	if (!holds(port, open, all, limits->warning) || is_explained(health, port))
		return;
	open = hold_link(health, port, FINDING_RECEIVE_ERRORS, all >= limits->critical, RING_RECEIVE);
	health_text(open, "%s at %s/%u; warning threshold: %.0f in 1 h",
		    health_ring_amount(health, open, port, RING_RECEIVE, 0, all, "damaged packets received", amount),
		    port->node->name, port->num, limits->warning);
	health_number(open, "receive_errors_per_hour", all);
	if (remote > 0)
		health_ring_number(health, open, port, RING_REMOTE, "remote_errors_per_hour");
	health_ring_increase(health, open, port, RING_RECEIVE, 0);
	add_downstream(health, open, port->node);
}

/*
 * VL15Dropped: management packets dropped for lack of buffers. A fault of the node, not of the
 * link: tag 1.
 */
static void check_drops(struct health *health, struct health_port *port)
{
	double drops = health_ring_sum(health, port->tracker, RING_DROPS, 0, NULL);
	struct health_open_finding *open = health_find(health, FINDING_RECEIVE_ERRORS, port->node, port->num, 1);
	char amount[96];

	if (!holds(port, open, drops, health->settings.vl15_drops))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_RECEIVE_ERRORS, .severity = FINDING_WARNING, .port = port, .tag = 1,
		.since = port->tracker->rings[RING_DROPS].since, .cause = "management" });
	health_text(open, "%s; warning threshold: %.0f in 5 min; the node "
		    TENSE("receives", "received") " more SMPs than it can process",
		    health_ring_amount(health, open, port, RING_DROPS, 0, drops, "subnet management packets dropped",
				       amount),
		    health->settings.vl15_drops);
	health_number(open, "vl15_dropped_per_5min", drops);
	health_ring_increase(health, open, port, RING_DROPS, 0);
	health_affected_link(health, open, port);
}

static bool has_other_cause(struct health *health, const struct health_port *port)
{
	return health_find_link(health, FINDING_LINK_DEGRADED, port) ||
	       health_find_link(health, FINDING_LINK_FLAPPING, port) ||
	       health_find_link(health, FINDING_LINK_DOWN, port);
}

static void check_link(struct health *health, struct health_port *port)
{
	double limit = health->settings.limits[FINDING_LINK_ERRORS].warning;
	double count = health_ring_sum(health, port->tracker, RING_LINK, 0, NULL);
	struct health_open_finding *open = health_find_link(health, FINDING_LINK_ERRORS, port);
	char amount[96];

	if (!holds(port, open, count, limit) || is_explained(health, port) || has_other_cause(health, port))
		return;
	open = hold_link(health, port, FINDING_LINK_ERRORS, false, RING_LINK);
	health_text(open, "%s at %s/%u (recoveries, local integrity, buffer overruns); warning threshold: %.0f in "
		    "5 min", health_ring_amount(health, open, port, RING_LINK, 0, count, "link errors", amount),
		    port->node->name, port->num, limit);
	health_number(open, "link_errors_per_5min", count);
	health_ring_increase(health, open, port, RING_LINK, 0);
}

/*
 * What the P_Key tables of both ends of a link say about dropped packets, as they were last read
 * @ret_cause:  unchanged if they are not known
 */
static void explain_constraints(const struct health *health, const struct health_port *port, const char **ret_cause,
				char ret[200])
{
	const struct pkeys *pkeys = health->input->pkeys;
	const struct pkey_table *of_switch = pkeys ? pkeys_find(pkeys, port->node->guid, port->num) : NULL;
	const struct pkey_table *of_host =
		pkeys && port->peer ? pkeys_find(pkeys, port->peer->node->guid, port->peer->num) : NULL;
	uint16_t lacking;

	ret[0] = '\0';
	if (!of_switch || !of_switch->enforcement || !of_host)
		return;
	lacking = pkeys_lacking(of_host, of_switch);
	*ret_cause = lacking ? "switch-port" : "other-member";
	if (lacking)
		snprintf(ret, 200, ": the switch port lacks P_Key 0x%04x of %.80s", lacking, port->peer->node->name);
	else
		snprintf(ret, 200, ": the tables of both ends agree, so the packets have a P_Key that %.80s does not "
			 "have, or no longer has", port->peer->node->name);
}

static void check_constraints(struct health *health, struct health_port *port)
{
	double limit = health->settings.limits[FINDING_CONSTRAINT_ERRORS].warning;
	double count = health_ring_sum(health, port->tracker, RING_CONSTRAINTS, 0, NULL);
	struct health_open_finding *open = health_find(health, FINDING_CONSTRAINT_ERRORS, port->node, port->num, 0);
	const char *cause = "partition";
	char amount[96], why[200];

	if (!holds(port, open, count, limit))
		return;
	explain_constraints(health, port, &cause, why);
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_CONSTRAINT_ERRORS, .severity = FINDING_WARNING, .port = port,
		.since = port->tracker->rings[RING_CONSTRAINTS].since, .cause = cause });
	health_text(open, "%s because of their partition (P_Key)%s; warning threshold: %.0f in 5 min",
		    health_ring_amount(health, open, port, RING_CONSTRAINTS, 0, count, "packets dropped", amount), why,
		    limit);
	health_number(open, "constraint_errors_per_5min", count);
	health_ring_increase(health, open, port, RING_CONSTRAINTS, 0);
	health_affected_link(health, open, port);
}

/*
 * Number of the last ten minutes with at least @limit discards, and the largest count of a minute.
 */
static unsigned bad_minutes(struct health *health, struct health_tracker *tracker, double limit, double *ret_worst)
{
	const struct health_ring *ring = &tracker->rings[RING_DISCARDS];
	unsigned bad = 0;

	health_ring_sum(health, tracker, RING_DISCARDS, 1, NULL); /* advances the ring */
	*ret_worst = 0;
	for (unsigned i = 0; i < DISCARD_BUCKETS && (int64_t)i <= ring->bucket; i++) {
		double count = ring->count[(ring->bucket - i) % RING_BUCKETS];

		bad += count >= limit;
		*ret_worst = fmax(*ret_worst, count);
	}
	return bad;
}

/*
 * A port discards packets that wait too long for credits. If the switch behind it discards, too,
 * the cause is there.
 */
static bool is_discard_symptom(struct health *health, const struct health_port *port)
{
	const struct health_node *node;
	double worst;

	if (!port->peer || health_link_is_down(port))
		return true;
	node = port->peer->node;
	for (uint32_t i = 0; node->type == NODE_SWITCH && i < node->slots; i++)
		if (&node->ports[i] != port->peer && node->ports[i].tracker &&
		    bad_minutes(health, node->ports[i].tracker, 1, &worst) >= 3)
			return true;
	return false;
}

static struct health_open_finding *hold_discards(struct health *health, const struct health_port *port, bool critical,
						 const char *cause)
{
	return health_hold(health, &(struct health_case){
		.kind = FINDING_XMIT_DISCARDS, .severity = critical ? FINDING_CRITICAL : FINDING_WARNING,
		.port = port, .link = true, .since = port->tracker->rings[RING_DISCARDS].since,
		.cause = cause });
}

static void check_trunk_discards(struct health *health, struct health_port *port)
{
	const struct health_limits *limits = &health->settings.limits[FINDING_XMIT_DISCARDS];
	char amount[96];
	double worst;
	unsigned bad = bad_minutes(health, port->tracker, limits->warning, &worst);
	struct health_open_finding *open = health_find(health, FINDING_XMIT_DISCARDS, port->node, port->num, 0);

	if ((bad < 3 && !(open && bad)) || is_discard_symptom(health, port) ||
	    has_other_cause(health, port))
		return;
	open = hold_discards(health, port, bad >= 3 && worst >= limits->critical, "congestion");
	health_text(open,
		    "%s %.0f packets discarded per minute at %s/%u; above the warning threshold of %.0f in %u of "
		    "the last 10 min", health_ring_at_least(health, port, RING_DISCARDS, 0) ? "at least" : "up to",
		    worst, port->node->name, port->num, limits->warning, bad);
	health_number(open, "discards_per_minute", worst);
	health_number(open, "minutes_of_10", bad);
	health_ring_increase(health, open, port, RING_DISCARDS, 0);
	health_ring_amount(health, open, port, RING_DISCARDS, 0, worst, "packets discarded", amount);
}

static void check_edge_discards(struct health *health, struct health_port *port)
{
	double count = health_ring_sum(health, port->tracker, RING_DISCARDS, 5, NULL);
	struct health_open_finding *open = health_find(health, FINDING_XMIT_DISCARDS, port->node, port->num, 0);
	char amount[96];

	if (!holds(port, open, count, health->settings.edge_discards) || has_other_cause(health, port) ||
	    health_link_is_down(port))
		return;
	open = hold_discards(health, port, false, "host");
	health_text(open, "%s at %s/%u; warning threshold: %.0f in 5 min",
		    health_ring_amount(health, open, port, RING_DISCARDS, 5, count, "packets discarded", amount),
		    port->node->name, port->num, health->settings.edge_discards);
	health_number(open, "discards_per_5min", count);
	health_ring_increase(health, open, port, RING_DISCARDS, 5);
}

/* Any error count of a link is at its threshold. */
static bool passes(struct health *health, const struct health_port *port)
{
	const struct health_settings *settings = &health->settings;
	struct symbol_limit symbols = symbol_limit(settings, port);

	return health_ring_sum(health, port->tracker, RING_SYMBOLS, symbols.buckets, NULL) >= symbols.warning ||
	       health_ring_sum(health, port->tracker, RING_RECEIVE, 0, NULL) >=
		       settings->limits[FINDING_RECEIVE_ERRORS].warning ||
	       health_ring_sum(health, port->tracker, RING_DISCARDS, 5, NULL) >= settings->edge_discards ||
	       health_ring_sum(health, port->tracker, RING_DROPS, 0, NULL) >= settings->vl15_drops ||
	       health_ring_sum(health, port->tracker, RING_LINK, 0, NULL) >=
		       settings->limits[FINDING_LINK_ERRORS].warning ||
	       health_ring_sum(health, port->tracker, RING_CONSTRAINTS, 0, NULL) >=
		       settings->limits[FINDING_CONSTRAINT_ERRORS].warning ||
	       health_ring_sum(health, port->tracker, RING_FEC, 0, NULL) > 0;
}

/*
 * Errors of a host link must stay above the threshold for restart_within before they are reported:
 * by then a restart of the host is detected.
 */
static bool may_report(struct health *health, struct health_port *port)
{
	struct health_tracker *tracker = port->tracker;

	if (!health_edge_host(port))
		return true;
	if (!passes(health, port)) {
		tracker->edge_since_us = HEALTH_LONG_AGO;
		return false;
	}
	if (tracker->edge_since_us == HEALTH_LONG_AGO)
		tracker->edge_since_us = health->now_us;
	return health->now_us - tracker->edge_since_us >= health->settings.restart_within_us;
}

static void check_causes(struct health *health, struct health_port *port)
{
	port->tracker->reportable = may_report(health, port);
	check_symbols(health, port);
	check_fec(health, port);
}

static void check_symptoms(struct health *health, struct health_port *port)
{
	check_receive(health, port);
	check_drops(health, port);
	check_link(health, port);
	check_constraints(health, port);
	if (!port->tracker->rings[RING_DISCARDS].total)
		return;
	if (health_is_trunk(port))
		check_trunk_discards(health, port);
	else
		check_edge_discards(health, port);
}

static void sweep(struct health *health, void *state)
{
	struct health_port *port;

	(void)state;
	/* Symbol and FEC errors first: they explain damaged packets, also at the other end. */
	for (unsigned pass = 0; pass < 2; pass++)
		for (port = health_next_port(health, NULL); port; port = health_next_port(health, port))
			if (health_errors_count(health, port))
				(pass ? check_symptoms : check_causes)(health, port);
}

const struct health_rule health_errors = { .sweep = sweep };
