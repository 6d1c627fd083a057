/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/traffic/feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "sim/ibsim/console.h"
#include "sim/ibsim/attach.h"
#include "sim/rundir.h"

/* Lines of a batch for ibsim: about a millisecond of its time. */
#define BATCH_LINES 600

/* Maximum number of checks whether a batch is processed; each one is a request to ibsim. */
#define ACK_TRIES 2000

/* Attribute ids. Source: libibmad mad.h, GSI_PORT_COUNTERS, GSI_PORT_COUNTERS_EXT. */
enum { ATTR_COUNTERS = 0x12, ATTR_COUNTERS_EXT = 0x1d };

enum amount {
	AMOUNT_XMIT_WORDS, AMOUNT_XMIT_PACKETS, AMOUNT_RCV_WORDS, AMOUNT_RCV_PACKETS, AMOUNT_XMIT_WAIT, AMOUNT_COUNT,
};

/* Offset and name of each counter. Source: libibmad fields.c (offsets in the attribute), ibsim sim_cmd.c (names). */
static const struct {
	uint16_t attribute;
	uint8_t offset, bytes;
	uint8_t amount;
	const char *name;
} fields[] = {
	{ ATTR_COUNTERS_EXT, 8, 8, AMOUNT_XMIT_WORDS, "PortCountersExtended.PortXmitData=" },
	{ ATTR_COUNTERS_EXT, 16, 8, AMOUNT_RCV_WORDS, "PortCountersExtended.PortRcvData=" },
	{ ATTR_COUNTERS_EXT, 24, 8, AMOUNT_XMIT_PACKETS, "PortCountersExtended.PortXmitPkts=" },
	{ ATTR_COUNTERS_EXT, 32, 8, AMOUNT_RCV_PACKETS, "PortCountersExtended.PortRcvPkts=" },
	{ ATTR_COUNTERS_EXT, 40, 8, AMOUNT_XMIT_PACKETS, "PortCountersExtended.PortUnicastXmitPkts=" },
	{ ATTR_COUNTERS_EXT, 48, 8, AMOUNT_RCV_PACKETS, "PortCountersExtended.PortUnicastRcvPkts=" },
	{ ATTR_COUNTERS, 24, 4, AMOUNT_XMIT_WORDS, "PortCounters.PortXmitData=" },
	{ ATTR_COUNTERS, 28, 4, AMOUNT_RCV_WORDS, "PortCounters.PortRcvData=" },
	{ ATTR_COUNTERS, 32, 4, AMOUNT_XMIT_PACKETS, "PortCounters.PortXmitPkts=" },
	{ ATTR_COUNTERS, 36, 4, AMOUNT_RCV_PACKETS, "PortCounters.PortRcvPkts=" },
	{ ATTR_COUNTERS, 40, 4, AMOUNT_XMIT_WAIT, "PortCounters.PortXmitWait=" },
};

#define FIELD_COUNT (sizeof(fields) / sizeof(fields[0]))

int feed_open(struct feed *feed, const struct fabric *fabric, const struct lft *lft, const char *sockname,
	      const char *dir, int console_fd, struct error *err)
{
	memset(feed, 0, sizeof(*feed));
	feed->fabric = fabric;
	feed->lft = lft;
	feed->dir = dir;
	feed->console_fd = console_fd;
	feed->applied = calloc(fabric->port_count + 1, sizeof(*feed->applied));
	if (!feed->applied)
		return err_nomem(err);
	return client_open(&feed->client, sockname, err);
}

void feed_close(struct feed *feed)
{
	client_close(&feed->client);
	text_done(&feed->lines);
	free(feed->applied);
	memset(feed, 0, sizeof(*feed));
}

static uint64_t get_field(const uint8_t *data, size_t bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *data++;
	return value;
}

/* The part of the pending amounts that is applied now. */
static struct port_amount due_amount(const struct port_amount *pending, bool all)
{
	struct port_amount due = { 0 };

	if (all)
		return *pending;
	if (pending->xmit_packets >= FEED_MIN_PACKETS)
		due.xmit_packets = pending->xmit_packets;
	if (pending->rcv_packets >= FEED_MIN_PACKETS)
		due.rcv_packets = pending->rcv_packets;
	/* MADs do not change this counter. */
	due.xmit_wait = pending->xmit_wait;
	return due;
}

static bool is_due(const struct port_amount *pending, bool all)
{
	struct port_amount due = due_amount(pending, all);

	return due.xmit_packets || due.rcv_packets || due.xmit_wait;
}

static void add_line(struct feed *feed, const char *prefix, const char *name, uint64_t value)
{
	char digits[24];
	size_t i = sizeof(digits);

	digits[--i] = '\n';
	do
		digits[--i] = (char)('0' + value % 10);
	while (value /= 10);
	text_append(&feed->lines, prefix);
	text_append(&feed->lines, name);
	text_append_bytes(&feed->lines, digits + i, sizeof(digits) - i);
	feed->line_count++;
}

/* Add the commands for a port, from its two responses. */
static void add_port(struct feed *feed, uint32_t port, const struct client_query responses[2],
		     struct port_amount *pending, bool all)
{
	struct port_amount due = due_amount(pending, all);
	const uint64_t amounts[AMOUNT_COUNT] = {
		[AMOUNT_XMIT_WORDS] = due.xmit_packets * TRAFFIC_PACKET_WORDS, [AMOUNT_XMIT_PACKETS] = due.xmit_packets,
		[AMOUNT_RCV_WORDS] = due.rcv_packets * TRAFFIC_PACKET_WORDS, [AMOUNT_RCV_PACKETS] = due.rcv_packets,
		[AMOUNT_XMIT_WAIT] = due.xmit_wait,
	};
	char prefix[64], id[ATTACH_ID_SIZE];

	snprintf(prefix, sizeof(prefix), "PerformanceSet \"%s\"[%u] ",
		 attach_id(feed->fabric, feed->fabric->ports[port].node, id), feed->fabric->ports[port].num);
	for (size_t i = 0; i < FIELD_COUNT; i++) {
		const struct client_query *response = &responses[fields[i].attribute == ATTR_COUNTERS];
		uint64_t max = fields[i].bytes == 8 ? UINT64_MAX : UINT32_MAX;
		uint64_t old = get_field(response->data + fields[i].offset, fields[i].bytes), new;

		new = amounts[fields[i].amount] > max - old ? max : old + amounts[fields[i].amount];
		if (new == old)
			continue;
		add_line(feed, prefix, fields[i].name, new);
		feed->last = *response;
		feed->last_offset = fields[i].offset;
		feed->last_bytes = fields[i].bytes;
		feed->last_value = new;
	}
	feed->applied[port].xmit_packets += due.xmit_packets;
	feed->applied[port].rcv_packets += due.rcv_packets;
	feed->applied[port].xmit_wait += due.xmit_wait;
	pending->xmit_packets -= due.xmit_packets;
	pending->rcv_packets -= due.rcv_packets;
	pending->xmit_wait -= due.xmit_wait;
}

/*
 * Send the batch to ibsim and read its last counter until it has changed. The client is attached to the node
 * of that port.
 */
static int flush(struct feed *feed, struct error *err)
{
	char name[32], command[48];
	int code;

	if (!feed->line_count)
		return 0;
	if (text_failed(&feed->lines))
		return err_nomem(err);
	snprintf(name, sizeof(name), "traffic-%u.cmd", feed->batch++ % 2);
	snprintf(command, sizeof(command), "!%s\n", name);
	code = rundir_write(feed->dir, name, text_chars(&feed->lines), feed->lines.len, err);
	if (code == 0)
		code = console_send(feed->console_fd, command, err);
	text_clear(&feed->lines);
	feed->line_count = 0;
	for (int tries = 0; code == 0 && feed->client.attached && tries < ACK_TRIES; tries++) {
		struct client_query query = feed->last;

		code = client_query(&feed->client, &query, 1, err);
		if (code == 0 && query.answered &&
		    get_field(query.data + feed->last_offset, feed->last_bytes) >= feed->last_value)
			return 0;
	}
	/* That counter was reset meanwhile: the batch has been processed anyway. */
	return code;
}

/* The node from which a port is read: its own, or for further ports of a CA the switch they are connected to. */
static uint32_t origin_of(const struct fabric *fabric, uint32_t port)
{
	const struct port *own = &fabric->ports[port];

	if (fabric->nodes[own->node].type == NODE_SWITCH || own->num == 1 || own->peer == FABRIC_NONE)
		return own->node;
	return fabric->ports[own->peer].node;
}

static uint16_t lid_of(const struct feed *feed, uint32_t port)
{
	const struct node *node = &feed->fabric->nodes[feed->fabric->ports[port].node];

	/* Port 0 of a switch is its first port. */
	return feed->lft->port_lids[node->type == NODE_SWITCH ? node->first_port : port];
}

static int feed_ports(struct feed *feed, uint32_t origin, const uint32_t *ports, size_t count,
		      struct port_amount *pending, bool all, size_t *left, struct error *err)
{
	struct client_query *queries = calloc(count * 2, sizeof(*queries));
	char id[ATTACH_ID_SIZE];
	int code;

	if (!queries)
		return err_nomem(err);
	for (size_t i = 0; i < 2 * count; i++) {
		queries[i].lid = lid_of(feed, ports[i / 2]);
		queries[i].port = feed->fabric->ports[ports[i / 2]].num;
		queries[i].attribute = i % 2 ? ATTR_COUNTERS : ATTR_COUNTERS_EXT;
	}
	code = client_attach(&feed->client, attach_id(feed->fabric, origin, id), err);
	if (code == 0)
		code = client_query(&feed->client, queries, 2 * count, err);
	for (size_t i = 0; code == 0 && i < count; i++) {
		if (queries[2 * i].answered && queries[2 * i + 1].answered)
			add_port(feed, ports[i], &queries[2 * i], &pending[ports[i]], all);
		else
			(*left)++;
	}
	free(queries);
	if (code == 0 && feed->line_count >= BATCH_LINES)
		code = flush(feed, err);
	return code;
}

int feed_apply(struct feed *feed, struct port_amount *pending, bool all, size_t *ret_left, struct error *err)
{
	const struct fabric *fabric = feed->fabric;
	size_t left = 0, i = 0;
	int code = 0;

	while (i < fabric->port_count && code == 0) {
		uint32_t ports[UINT8_MAX + 1], origin = FABRIC_NONE;
		size_t count = 0;

		/* Consecutive ports that are read from the same node. */
		for (; i < fabric->port_count && count < UINT8_MAX; i++) {
			uint32_t own_origin = origin_of(fabric, (uint32_t)i);

			if (!is_due(&pending[i], all))
				continue;
			if (count && own_origin != origin)
				break;
			origin = own_origin;
			ports[count++] = (uint32_t)i;
		}
		if (count)
			code = feed_ports(feed, origin, ports, count, pending, all, &left, err);
	}
	/* Values that were read must be set now, even if attaching to the next node failed. */
	if (code == 0)
		code = flush(feed, err);
	else
		flush(feed, NULL);
	client_detach(&feed->client);
	*ret_left = left;
	return code;
}
