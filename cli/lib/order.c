/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/lib/nearest.h"
#include "cli/lib/options.h"
#include "cli/lib/view.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "storage/reader.h"

/* Sort key of a node. */
struct named_node {
	const char *name;
	uint64_t guid;
	uint32_t index;
};

static int compare_nodes(const void *a, const void *b)
{
	const struct named_node *left = a, *right = b;
	int by_name = names_compare(left->name, right->name);

	if (by_name)
		return by_name;
	return left->guid < right->guid ? -1 : 1;
}

int order_nodes(const struct fabric *fabric, char *const *names, uint32_t **ret, struct error *err)
{
	struct named_node *sorted = calloc(fabric->node_count + 1, sizeof(*sorted));
	uint32_t *order = calloc(fabric->node_count + 1, sizeof(*order)), i;

	if (!sorted || !order) {
		free(sorted);
		free(order);
		return err_nomem(err);
	}
	for (i = 0; i < fabric->node_count; i++)
		sorted[i] = (struct named_node){ .name = names[i], .guid = fabric->nodes[i].guid, .index = i };
	qsort(sorted, fabric->node_count, sizeof(*sorted), compare_nodes);
	for (i = 0; i < fabric->node_count; i++)
		order[i] = sorted[i].index;
	free(sorted);
	*ret = order;
	return 0;
}

static double by_xmit(const struct port_view *port)
{
	return port->xmit_bytes_per_s;
}

static double by_rcv(const struct port_view *port)
{
	return port->rcv_bytes_per_s;
}

static double by_xmit_packets(const struct port_view *port)
{
	return port->xmit_packets_per_s;
}

static double by_rcv_packets(const struct port_view *port)
{
	return port->rcv_packets_per_s;
}

static double by_xmit_percent(const struct port_view *port)
{
	return port->xmit_percent;
}

static double by_rcv_percent(const struct port_view *port)
{
	return port->rcv_percent;
}

static double by_stall(const struct port_view *port)
{
	return port->stall_percent;
}

static double by_rate(const struct port_view *port)
{
	return port->rate_gbps;
}

static double by_errors(const struct port_view *port)
{
	return port->errors_known ? (double)port->error_count : NAN;
}

static double by_age(const struct port_view *port)
{
	return port->age_s;
}

static double by_status(const struct port_view *port)
{
	return (double)port->word;
}

static double by_symbol_ber(const struct port_view *port)
{
	return port->ber[VIEW_BER_SYMBOL].rate;
}

static double by_effective_ber(const struct port_view *port)
{
	return port->ber[VIEW_BER_EFFECTIVE].rate;
}

static double by_raw_ber(const struct port_view *port)
{
	return port->ber[VIEW_BER_RAW].rate;
}

static const struct {
	const char *key;
	double (*value)(const struct port_view *port);
} keys[] = {
	{ "xmit_bytes_per_s", by_xmit },
	{ "rcv_bytes_per_s", by_rcv },
	{ "xmit_packets_per_s", by_xmit_packets },
	{ "rcv_packets_per_s", by_rcv_packets },
	{ "xmit_utilization_percent", by_xmit_percent },
	{ "rcv_utilization_percent", by_rcv_percent },
	{ "stall_percent", by_stall },
	{ "rate_gbps", by_rate },
	{ "errors", by_errors },
	{ "age_s", by_age },
	{ "status", by_status },
	{ "symbol_ber", by_symbol_ber },
	{ "effective_ber", by_effective_ber },
	{ "raw_ber", by_raw_ber },
};

enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };

/* The only text key: ports are in this order already. */
static const char node_key[] = "node";

static int find_key(const char *key)
{
	int i;

	for (i = 0; i < KEY_COUNT; i++)
		if (!strcmp(keys[i].key, key))
			return i;
	return -1;
}

int order_check(const struct command *command, const char *key, struct error *err)
{
	struct nearest nearest;
	int i;

	if (!key || !strcmp(key, node_key) || find_key(key) >= 0 || counter_by_key(key) != COUNTER_COUNT)
		return 0;
	nearest_init(&nearest, key);
	nearest_offer(&nearest, node_key);
	for (i = 0; i < KEY_COUNT; i++)
		nearest_offer(&nearest, keys[i].key);
	for (i = 0; i < COUNTER_COUNT; i++)
		nearest_offer(&nearest, counter_info((enum counter)i)->key);
	if (nearest.best)
		return options_usage_error(command, err, "unknown sort key '%.64s': did you mean '%s'?", key,
					   nearest.best);
	return options_usage_error(command, err, "unknown sort key '%.64s': use for example rcv_bytes_per_s, "
		"errors, node or age_s",
				   key);
}

struct sortable {
	double value; /* the largest first; NAN last */
	size_t place; /* position before sorting */
};

static int compare(const void *a, const void *b)
{
	const struct sortable *left = a, *right = b;

	if (isnan(left->value) != isnan(right->value))
		return isnan(left->value) ? 1 : -1;
	if (left->value < right->value)
		return 1;
	if (left->value > right->value)
		return -1;
	return left->place < right->place ? -1 : 1;
}

static double counter_value(const struct view *view, const struct port_view *port, enum counter counter)
{
	const struct delta *sum = &view->snapshot->rows[port->port].sum;

	return sum->known & COUNTER_BIT(counter) ? (double)sum->value[counter] : NAN;
}

int order_ports(const struct command *command, const struct view *view, const char *key, struct port_view *ports,
		size_t count, struct error *err)
{
	enum counter counter = counter_by_key(key);
	int index = find_key(key), code = order_check(command, key, err);
	struct sortable *order;
	struct port_view *sorted;
	size_t i;

	if (code < 0 || !strcmp(key, node_key))
		return code;
	order = calloc(count + 1, sizeof(*order));
	sorted = calloc(count + 1, sizeof(*sorted));
	if (!order || !sorted) {
		free(order);
		free(sorted);
		return err_nomem(err);
	}
	for (i = 0; i < count; i++) {
		order[i].place = i;
		order[i].value = index >= 0 ? keys[index].value(&ports[i]) : counter_value(view, &ports[i], counter);
	}
	qsort(order, count, sizeof(*order), compare);
	for (i = 0; i < count; i++)
		sorted[i] = ports[order[i].place];
	memcpy(ports, sorted, count * sizeof(*ports));
	free(order);
	free(sorted);
	return 0;
}
