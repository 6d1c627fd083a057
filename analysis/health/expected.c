/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* health_expected.c - fewer hosts, HCAs, switches or links than a person says that there are */
#include <stdio.h>

#include "analysis/health/state.h"
#include "fabric/shape.h"

struct counted {
	const char *what, *key;
	unsigned expected, found;
};

enum { HOSTS, HCAS, SWITCHES, LINKS, COUNTED };

static void count(const struct health *health, struct counted ret[COUNTED])
{
	const struct health_settings *settings = &health->settings;
	const struct fabric *fabric = health->input->fabric;

	ret[HOSTS] = (struct counted){ "hosts", "hosts_found", settings->expected_hosts,
				       (unsigned)health->input->shape->host_count };
	ret[HCAS] = (struct counted){ "HCAs", "hcas_found", settings->expected_hcas, 0 };
	ret[SWITCHES] = (struct counted){ "switches", "switches_found", settings->expected_switches, 0 };
	ret[LINKS] = (struct counted){ "Active links", "links_found", settings->expected_links, 0 };
	for (size_t i = 0; i < fabric->node_count; i++) {
		ret[SWITCHES].found += fabric->nodes[i].type == NODE_SWITCH;
		ret[HCAS].found += fabric->nodes[i].type == NODE_CA && !node_is_aggregation(&fabric->nodes[i]);
	}
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		ret[LINKS].found += port->peer != FABRIC_NONE && i < port->peer && port->state == PORT_ACTIVE &&
				    fabric->ports[port->peer].state == PORT_ACTIVE;
	}
}

/* What boots comes back: so it is told as late as a host that does not. */
static bool lasts(struct health *health, bool is_short)
{
	if (!is_short || !health->step) {
		health->expected_good_us = health->now_us;
		health->expected_bad_wall_us = health->wall_us;
	}
	return is_short && (health_find(health, FINDING_TOPOLOGY_CHANGED, 0, 0, EXPECTED_TAG) ||
			    health->now_us - health->expected_good_us >= health->settings.missing_after_us);
}

void health_expected(struct health *health)
{
	struct health_open_finding *open;
	struct counted counted[COUNTED];
	char text[200] = "";
	bool is_short = false;
	size_t len = 0;

	count(health, counted);
	for (int i = 0; i < COUNTED; i++) {
		if (counted[i].found >= counted[i].expected)
			continue;
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u of %u %s", is_short ? ", " : "",
					counted[i].found, counted[i].expected, counted[i].what);
		is_short = true;
	}
	if (!lasts(health, is_short))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_TOPOLOGY_CHANGED, .severity = FINDING_WARNING, .node = HEALTH_NONE, .port = HEALTH_NONE,
		.peer = HEALTH_NONE, .tag = EXPECTED_TAG, .since_wall_us = health->expected_bad_wall_us,
		.cause = "fewer-than-expected" });
	if (!open)
		return;
	health_subject(open, "fabric");
	health_text(open, "%s are there; the settings expect all of them", text);
	for (int i = 0; i < COUNTED; i++)
		if (counted[i].expected)
			health_number(open, counted[i].key, counted[i].found);
}
