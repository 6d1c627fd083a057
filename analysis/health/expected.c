/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fewer hosts, HCAs, switches or links than the settings expect. */
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

void health_expected(struct health *health)
{
	bool is_open = health_find(health, FINDING_TOPOLOGY_CHANGED, 0, 0, EXPECTED_TAG);
	struct health_open_finding *open;
	struct counted counted[COUNTED];
	char text[200] = "";
	size_t len = 0;

	count(health, counted);
	for (int i = 0; i < COUNTED; i++)
		if (counted[i].found < counted[i].expected)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u of %u %s", len ? ", " : "",
						counted[i].found, counted[i].expected, counted[i].what);
	/* Nodes that boot come back, so the delay is that of a missing host. */
	if (!health_debounce(health, &health->expected, len > 0, 0, health->settings.missing_after_us, is_open))
		return;
	open = health_hold(health, &(struct health_case){
		.kind = FINDING_TOPOLOGY_CHANGED, .severity = FINDING_WARNING, .tag = EXPECTED_TAG,
		.since_wall_us = health->expected.bad_wall_us, .cause = "fewer-than-expected" });
	health_text(open, "%s found; warning threshold: all expected by the settings", text);
	for (int i = 0; i < COUNTED; i++)
		if (counted[i].expected)
			health_number(open, counted[i].key, counted[i].found);
}
