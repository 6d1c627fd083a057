/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* cables.c - transceivers that are hot, or became hotter between two imports (ibwire import) */
#include <math.h>

#include "analysis/health/state.h"
#include "base/when.h"

/* More than these are one finding: a cooling that fails is one fault. */
enum { MANY_HOT = 10, TAG_MANY = 1 };

/* A measurement of a week ago is no state any more. */
#define OLD_US (7 * 24 * HOUR_US)

static bool is_hot(const struct health *health, const struct health_cable *cable)
{
	double rise_c = cable->temperature_c - cable->before_c;

	if (health->wall_us - cable->wall_us > OLD_US)
		return false;
	return cable->temperature_c > health->settings.limits[FINDING_CABLE_HOT].warning ||
	       (!isnan(cable->before_c) && rise_c >= health->settings.cable_rise_c);
}

static struct health_port *find_port(const struct health *health, const struct health_cable *cable)
{
	struct health_node *node = health_find_node(health, cable->node_guid);

	return node && cable->port && cable->port < node->slots && node->ports[cable->port].node ?
		       &node->ports[cable->port] : NULL;
}

/* The reading of the other end of a link, if that is hot, too; or NULL. */
static const struct health_cable *find_other_end(const struct health *health, const struct health_port *port)
{
	for (size_t i = 0; port->peer && i < health->input->cable_count; i++) {
		const struct health_cable *other = &health->input->cables[i];

		if (other->node_guid == port->peer->node->guid && other->port == port->peer->num)
			return is_hot(health, other) ? other : NULL;
	}
	return NULL;
}

/* A link with two hot ends is one finding: about the hotter one. */
static bool is_reported_at(const struct health_cable *other, const struct health_cable *cable)
{
	if (!other || other->temperature_c < cable->temperature_c)
		return false;
	return other->temperature_c > cable->temperature_c || other->node_guid < cable->node_guid;
}

static void add_numbers(const struct health *health, struct health_open_finding *open,
			const struct health_cable *cable)
{
	health_number(open, "temperature_c", cable->temperature_c);
	if (!isnan(cable->before_c))
		health_number(open, "rise_c", cable->temperature_c - cable->before_c);
	health_number(open, "threshold_rise_c", health->settings.cable_rise_c);
}

static void hold_one(struct health *health, const struct health_port *port, const struct health_cable *cable,
		     const struct health_cable *other)
{
	double limit = health->settings.limits[FINDING_CABLE_HOT].warning;
	bool above = cable->temperature_c > limit;
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_CABLE_HOT, .severity = FINDING_WARNING, .port = port, .link = true,
		.either_end = true, .since = health_before(health, health->wall_us - cable->wall_us),
		.cause = above ? "temperature" : "rise" });
	char time[WHEN_SIZE], rise[64] = "", both[64] = "";

	if (!isnan(cable->before_c) && cable->temperature_c - cable->before_c >= health->settings.cable_rise_c)
		snprintf(rise, sizeof(rise), ", %.0f C more than in the import before",
			 cable->temperature_c - cable->before_c);
	if (other)
		snprintf(both, sizeof(both), "; %.0f C at the other end", other->temperature_c);
	when_format_local(cable->wall_us, time);
	health_text(open, "transceiver%s%s at %.77s/%u " TENSE("has", "had")
		    " %.0f C in the import of %s (limit %.0f C)%s%s", *cable->serial ? " " : "", cable->serial,
		    port->node->name, port->num, cable->temperature_c, time, limit, rise, both);
	add_numbers(health, open, cable);
}

static void hold_many(struct health *health, const struct health_set *ports, const struct health_cable *hottest,
		      int64_t wall_us)
{
	struct health_open_finding *open = health_hold(health, &(struct health_case){
		.kind = FINDING_CABLE_HOT, .severity = FINDING_WARNING, .tag = TAG_MANY,
		.since = health_before(health, health->wall_us - wall_us), .cause = "cooling",
		.subject = "transceivers" });
	char time[WHEN_SIZE];

	health_text(open, "%u transceivers " TENSE("are", "were") " above %.0f C, or %.0f C hotter than before, in the "
		    "import of %s; the hottest " TENSE("has", "had") " %.0f C", ports->count,
		    health->settings.limits[FINDING_CABLE_HOT].warning, health->settings.cable_rise_c,
		    when_format_local(wall_us, time), hottest->temperature_c);
	health_number(open, "transceivers", ports->count);
	add_numbers(health, open, hottest);
	open->extent = ports->count;
	health_list_set(open, ports);
}

static void sweep(struct health *health, void *ctx)
{
	const struct health_input *input = health->input;
	const struct health_cable *hottest = NULL;
	struct health_set ports = { 0 };
	int64_t wall_us = 0;

	(void)ctx;
	for (size_t i = 0; i < input->cable_count; i++) {
		const struct health_cable *cable = &input->cables[i];
		struct health_port *port = is_hot(health, cable) ? find_port(health, cable) : NULL;

		if (!port)
			continue;
		health_set_add(&ports, port);
		wall_us = cable->wall_us > wall_us ? cable->wall_us : wall_us;
		if (!hottest || cable->temperature_c > hottest->temperature_c)
			hottest = cable;
	}
	if (ports.count > MANY_HOT) {
		for (size_t i = 0; i < input->cable_count; i++)
			health_drop(health_find_open(health, FINDING_CABLE_HOT, input->cables[i].node_guid,
						     input->cables[i].port, 0));
		hold_many(health, &ports, hottest, wall_us);
		return;
	}
	health_drop(ports.count ? health_find_open(health, FINDING_CABLE_HOT, 0, 0, TAG_MANY) : NULL);
	for (size_t i = 0; ports.count && i < input->cable_count; i++) {
		const struct health_cable *cable = &input->cables[i], *other;
		const struct health_port *port = is_hot(health, cable) ? find_port(health, cable) : NULL;

		if (!port)
			continue;
		other = find_other_end(health, port);
		if (!is_reported_at(other, cable))
			hold_one(health, port, cable, other);
	}
}

const struct health_rule health_cables = { .sweep = sweep };
