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
#include "storage/reader.h"

/* Keys of doubles, and of the status. */
static const struct {
	const char *key;
	size_t offset; /* in struct port_view */
} keys[] = {
	{ "xmit_bytes_per_s", offsetof(struct port_view, xmit_bytes_per_s) },
	{ "rcv_bytes_per_s", offsetof(struct port_view, rcv_bytes_per_s) },
	{ "xmit_packets_per_s", offsetof(struct port_view, xmit_packets_per_s) },
	{ "rcv_packets_per_s", offsetof(struct port_view, rcv_packets_per_s) },
	{ "xmit_utilization_percent", offsetof(struct port_view, xmit_percent) },
	{ "rcv_utilization_percent", offsetof(struct port_view, rcv_percent) },
	{ "stall_percent", offsetof(struct port_view, stall_percent) },
	{ "rate_gbps", offsetof(struct port_view, rate_gbps) },
	{ "errors", offsetof(struct port_view, errors) },
	{ "age_s", offsetof(struct port_view, age_s) },
	{ "status", offsetof(struct port_view, status) },
	{ "symbol_ber", offsetof(struct port_view, ber[VIEW_BER_SYMBOL].rate) },
	{ "effective_ber", offsetof(struct port_view, ber[VIEW_BER_EFFECTIVE].rate) },
	{ "raw_ber", offsetof(struct port_view, ber[VIEW_BER_RAW].rate) },
};

enum { KEY_COUNT = sizeof(keys) / sizeof(keys[0]) };

/* The only text key: ports are in this order already. */
static const char node_key[] = "node";

static int find_key(const char *key)
{
	for (int i = 0; i < KEY_COUNT; i++)
		if (!strcmp(keys[i].key, key))
			return i;
	return -1;
}

int order_check(const struct command *command, const char *key, struct error *err)
{
	struct nearest nearest;

	if (!key || !strcmp(key, node_key) || find_key(key) >= 0 || counter_by_key(key) != COUNTER_COUNT)
		return 0;
	nearest_init(&nearest, key);
	nearest_offer(&nearest, node_key);
	for (int i = 0; i < KEY_COUNT; i++)
		nearest_offer(&nearest, keys[i].key);
	for (int i = 0; i < COUNTER_COUNT; i++)
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

static double key_value(const struct port_view *port, int key)
{
	double value;

	if (keys[key].offset == offsetof(struct port_view, status))
		return (double)port->status;
	memcpy(&value, (const char *)port + keys[key].offset, sizeof(value));
	return value;
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

	if (code < 0 || !strcmp(key, node_key))
		return code;
	order = calloc(count + 1, sizeof(*order));
	sorted = calloc(count + 1, sizeof(*sorted));
	if (!order || !sorted) {
		free(order);
		free(sorted);
		return err_nomem(err);
	}
	for (size_t i = 0; i < count; i++) {
		order[i].place = i;
		order[i].value = index >= 0 ? key_value(&ports[i], index) : counter_value(view, &ports[i], counter);
	}
	qsort(order, count, sizeof(*order), compare);
	for (size_t i = 0; i < count; i++)
		sorted[i] = ports[order[i].place];
	memcpy(ports, sorted, count * sizeof(*ports));
	free(order);
	free(sorted);
	return 0;
}
