/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "local/usage.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

/*
 * Traffic below this is background: address resolution, monitoring and the set-up of connections. LRH, BTH, DETH, the
 * IPoIB header and ICRC are 8 + 12 + 8 + 4 + 4 bytes; multicast adds a GRH, so that 40 is a mean.
 */
enum { BACKGROUND_BYTES = 1000000, BACKGROUND_BYTES_PER_S = 100000, IPOIB_HEADER_BYTES = 40, UNUSED_SHARE = 100 };

const char *local_verdict_name(enum local_verdict verdict)
{
	static const char *const names[] = { "unknown", "rdma", "tcp", "neither" };

	return names[verdict];
}

static void append_bytes(struct text *text, uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)bytes;
	int unit = 0;

	for (; value >= 999.5 && unit < 6; unit++)
		value /= 1000;
	text_appendf(text, "%.*f %s", unit && value < 99.95 ? 1 : 0, value, units[unit]);
}

static uint64_t sum_bytes(const struct local_counters *counters)
{
	return counters->values[LOCAL_XMIT_BYTES] + counters->values[LOCAL_RCV_BYTES];
}

static bool bytes_known(const struct local_counters *counters)
{
	return local_counter_known(counters, LOCAL_XMIT_BYTES) && local_counter_known(counters, LOCAL_RCV_BYTES);
}

static const struct local_hca_port *find_port(const struct local_host *host, const char *hca, unsigned num)
{
	for (size_t i = 0; i < host->hca_count; i++)
		for (size_t j = 0; j < host->hcas[i].port_count && !strcmp(host->hcas[i].name, hca); j++)
			if (host->hcas[i].ports[j].num == num)
				return &host->hcas[i].ports[j];
	return NULL;
}

/* What appeared in between counts from 0, so what it counted is at least in that time. */
static void subtract(const struct local_counters *before, const struct local_counters *after, struct local_carrier *ret)
{
	if (before)
		local_counters_subtract(before, after, &ret->delta, &ret->at_least);
}

static int add_ports(const struct local_host *before, const struct local_host *after, struct local_usage *usage)
{
	size_t count = 0;

	for (size_t i = 0; i < after->hca_count; i++)
		count += after->hcas[i].port_count;
	usage->ports = calloc(count + 1, sizeof(*usage->ports));
	if (!usage->ports)
		return ERR_NOMEM;
	for (size_t i = 0; i < after->hca_count; i++)
		for (size_t j = 0; j < after->hcas[i].port_count; j++) {
			const struct local_hca_port *port = &after->hcas[i].ports[j];
			const struct local_hca_port *first = find_port(before, after->hcas[i].name, port->num);
			struct local_carrier *carrier = &usage->ports[usage->port_count++];

			snprintf(carrier->name, sizeof(carrier->name), "%s/%u", after->hcas[i].name, port->num);
			carrier->protocol = port->protocol;
			carrier->active = port->state_code == 4;
			carrier->gbps = port->gbps;
			carrier->net = local_find_net(after, port->net) ? port->net : NULL;
			subtract(first ? &first->counters : NULL, &port->counters, carrier);
		}
	return 0;
}

/*
 * Interfaces whose bytes are added up: physical ones, or in a container, which has none, all others. Bonds, bridges and
 * VLANs carry what the interfaces below them do.
 */
static bool is_counted(const struct local_host *host, const struct local_net *net)
{
	bool physical = false;

	for (size_t i = 0; i < host->net_count; i++)
		physical |= host->nets[i].physical;
	return net->type != LOCAL_NET_LOOPBACK && !net->stacked && net->physical == physical;
}

static int add_nets(const struct local_host *before, const struct local_host *after, struct local_usage *usage)
{
	usage->nets = calloc(after->net_count + 1, sizeof(*usage->nets));
	if (!usage->nets)
		return ERR_NOMEM;
	for (size_t i = 0; i < after->net_count; i++) {
		const struct local_net *net = &after->nets[i], *first = local_find_net(before, net->name);
		struct local_carrier *carrier = &usage->nets[usage->net_count++];

		snprintf(carrier->name, sizeof(carrier->name), "%s", net->name);
		carrier->ipoib = net->type == LOCAL_NET_INFINIBAND;
		carrier->counted = is_counted(after, net);
		subtract(first ? &first->counters : NULL, &net->counters, carrier);
	}
	return 0;
}

/* Bytes of an HCA, without the bytes of its IPoIB interfaces. */
static uint64_t hca_rdma_bytes(const struct local_host *host, const struct local_usage *usage, size_t hca,
			       size_t first_port)
{
	uint64_t bytes = 0, ipoib = 0;

	for (size_t j = 0; j < host->hcas[hca].port_count; j++)
		bytes += sum_bytes(&usage->ports[first_port + j].delta);
	for (size_t i = 0; i < host->net_count; i++) {
		const struct local_counters *delta = &usage->nets[i].delta;

		if (usage->nets[i].ipoib && host->nets[i].physical &&
		    !strcmp(host->nets[i].pci.path, host->hcas[hca].pci.path))
			ipoib += sum_bytes(delta) + IPOIB_HEADER_BYTES * (delta->values[LOCAL_XMIT_PACKETS] +
									  delta->values[LOCAL_RCV_PACKETS]);
	}
	return bytes > ipoib ? bytes - ipoib : 0;
}

/* Compute the sums. @ret_ports, @ret_nets: whether any port, any interface, has counters */
static void add_up(const struct local_host *host, struct local_usage *usage, bool *ret_ports, bool *ret_nets)
{
	uint32_t bytes = 1u << LOCAL_XMIT_BYTES | 1u << LOCAL_RCV_BYTES;
	size_t first = 0;

	for (size_t i = 0; i < host->hca_count; first += host->hcas[i++].port_count)
		usage->rdma_bytes += hca_rdma_bytes(host, usage, i, first);
	for (size_t i = 0; i < usage->port_count; i++) {
		*ret_ports |= bytes_known(&usage->ports[i].delta);
		usage->at_least |= usage->ports[i].at_least & bytes;
	}
	for (size_t i = 0; i < usage->net_count; i++) {
		if (!usage->nets[i].counted)
			continue;
		usage->tcp_bytes += sum_bytes(&usage->nets[i].delta);
		*ret_nets |= bytes_known(&usage->nets[i].delta);
		usage->at_least |= usage->nets[i].at_least & bytes;
	}
}

/* Ports that were used, and evenness over the active ports of the kind of the busiest one. */
static void find_unused(struct local_usage *usage)
{
	const struct local_carrier *busiest = NULL;
	double sum = 0, squares = 0;
	unsigned count = 0;

	usage->evenness = NAN;
	for (size_t i = 0; i < usage->port_count; i++)
		if (!busiest || sum_bytes(&usage->ports[i].delta) > sum_bytes(&busiest->delta))
			busiest = &usage->ports[i];
	for (size_t i = 0; i < usage->port_count; i++) {
		struct local_carrier *port = &usage->ports[i];
		double bytes = (double)sum_bytes(&port->delta);
		bool idle = bytes * UNUSED_SHARE <= (double)sum_bytes(&busiest->delta);

		usage->used_ports += !idle;
		if (!port->active || port->protocol != busiest->protocol || port->gbps < busiest->gbps)
			continue;
		port->unused = idle;
		count++;
		sum += bytes;
		squares += bytes * bytes;
	}
	if (count >= 2 && sum > 0)
		usage->evenness = sqrt(fmax(squares / count - sum / count * (sum / count), 0)) / (sum / count);
}

/* " (eth0, ib0)": the counted interfaces that carried more than 1 % of the TCP bytes. */
static void append_nets(const struct local_usage *usage, struct text *text)
{
	unsigned count = 0;

	for (size_t i = 0; i < usage->net_count; i++) {
		const struct local_carrier *net = &usage->nets[i];

		if (net->counted && sum_bytes(&net->delta) * UNUSED_SHARE > usage->tcp_bytes)
			text_appendf(text, "%s%s%s", count++ ? ", " : " (", net->name,
				     net->ipoib ? ", which is IPoIB" : "");
	}
	text_append(text, count ? ")" : "");
}

static void append_protocols(const struct local_usage *usage, struct text *text)
{
	bool seen[LOCAL_PROTOCOL_EFA + 1] = { false };
	unsigned count = 0;

	for (size_t i = 0; i < usage->port_count; i++) {
		const struct local_carrier *port = &usage->ports[i];

		if (seen[port->protocol] ||
		    sum_bytes(&port->delta) * UNUSED_SHARE <= usage->rdma_bytes / usage->port_count)
			continue;
		seen[port->protocol] = true;
		text_appendf(text, "%s%s", count++ ? ", " : " (", local_protocol_name(port->protocol));
	}
	text_append(text, count ? ")" : "");
}

static void append_verdict(struct local_usage *usage)
{
	const char *at_least = usage->at_least ? "at least " : "";
	struct text *text = &usage->text;

	switch (usage->verdict) {
	case LOCAL_VERDICT_RDMA:
		text_appendf(text, "RDMA: %s", at_least);
		append_bytes(text, usage->rdma_bytes);
		text_appendf(text, " sent and received over %u of %zu HCA port%s", usage->used_ports, usage->port_count,
			     usage->port_count == 1 ? "" : "s");
		append_protocols(usage, text);
		if (!isnan(usage->evenness))
			text_appendf(text, ", evenness cv %.2f", usage->evenness);
		text_append(text, "; TCP ");
		append_bytes(text, usage->tcp_bytes);
		append_nets(usage, text);
		break;
	case LOCAL_VERDICT_TCP:
		text_appendf(text, "%s: %s", usage->port_count ? "TCP fallback" : "TCP, there is no HCA", at_least);
		append_bytes(text, usage->tcp_bytes);
		text_append(text, " sent and received over TCP");
		append_nets(usage, text);
		if (usage->port_count) {
			text_append(text, "; RDMA ");
			append_bytes(text, usage->rdma_bytes);
			text_appendf(text, " over %zu HCA port%s", usage->port_count,
				     usage->port_count == 1 ? "" : "s");
		}
		break;
	case LOCAL_VERDICT_NEITHER:
		text_append(text, "neither RDMA nor TCP carried more than background traffic: RDMA ");
		append_bytes(text, usage->rdma_bytes);
		text_append(text, ", TCP ");
		append_bytes(text, usage->tcp_bytes);
		break;
	case LOCAL_VERDICT_UNKNOWN:
		text_append(text, "not known: this host has no readable counters of HCAs and network interfaces");
		break;
	}
}

static uint64_t sum_of(const struct local_usage *usage, enum local_counter counter)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < usage->port_count; i++)
		sum += usage->ports[i].delta.values[counter];
	return sum;
}

/*
 * Interfaces of RoCE ports that carried as much as the port did. Most drivers do not count RDMA there; mlx5 in
 * switchdev mode counts the physical port. Return: whether there is one.
 */
static bool append_shared_nets(struct local_usage *usage)
{
	bool found = false;

	for (size_t i = 0; i < usage->port_count; i++)
		for (size_t j = 0; j < usage->net_count && usage->ports[i].net; j++) {
			uint64_t bytes = sum_bytes(&usage->ports[i].delta);

			if (strcmp(usage->nets[j].name, usage->ports[i].net) || usage->nets[j].ipoib ||
			    bytes < usage->background || sum_bytes(&usage->nets[j].delta) < bytes)
				continue;
			text_appendf(&usage->notes, "%s carried as much as %s: it may count RDMA too\n",
				     usage->nets[j].name, usage->ports[i].name);
			found = true;
		}
	return found;
}

static void append_notes(struct local_usage *usage)
{
	static const struct {
		enum local_counter counter;
		const char *what;
	} signs[] = {
		{ LOCAL_RETRANSMITS, "retransmissions" }, { LOCAL_OUT_OF_SEQUENCE, "packets out of sequence" },
		{ LOCAL_CNP_SENT, "congestion notifications sent" },
		{ LOCAL_CNP_RECEIVED, "congestion notifications received" },
		{ LOCAL_ECN_MARKED, "packets with a congestion mark" }, { LOCAL_DISCARDS, "discarded packets" },
		{ LOCAL_ERRORS, "damaged packets and symbol errors" }, { LOCAL_LINK_DOWNED, "links that went down" },
	};
	unsigned count = 0;

	for (size_t i = 0; i < usage->port_count && usage->verdict == LOCAL_VERDICT_RDMA; i++)
		if (usage->ports[i].unused)
			text_appendf(&usage->notes, "%s%s", count++ ? ", " : "unused, although the others of their "
				     "kind were not: ", usage->ports[i].name);
	text_append(&usage->notes, count ? "\n" : "");
	count = 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		uint64_t sum = sum_of(usage, signs[i].counter);

		if (sum)
			text_appendf(&usage->notes, "%s%" PRIu64 " %s", count++ ? ", " : "", sum, signs[i].what);
	}
	text_append(&usage->notes, count ? "\n" : "");
	if (usage->verdict == LOCAL_VERDICT_RDMA && !append_shared_nets(usage) && usage->tcp_bytes > usage->rdma_bytes)
		text_append(&usage->notes,
			    "more bytes over TCP than over RDMA: data and checkpoints, or some processes fell back to "
			    "TCP\n");
}

int local_usage_compute(const struct local_host *before, const struct local_host *after, int64_t elapsed_us,
			struct local_usage *ret, struct error *err)
{
	bool ports = false, nets = false, rdma, tcp;
	int code;

	*ret = (struct local_usage){ .elapsed_us = elapsed_us };
	code = add_ports(before, after, ret);
	if (code == 0)
		code = add_nets(before, after, ret);
	if (code) {
		local_usage_done(ret);
		return err_nomem(err);
	}
	ret->background = BACKGROUND_BYTES + (uint64_t)(elapsed_us / US_PER_S) * BACKGROUND_BYTES_PER_S;
	add_up(after, ret, &ports, &nets);
	find_unused(ret);
	rdma = ret->rdma_bytes > ret->background && ret->rdma_bytes >= ret->tcp_bytes / 9;
	tcp = ret->tcp_bytes > ret->background;
	if (rdma)
		ret->verdict = LOCAL_VERDICT_RDMA;
	else if (ports || (nets && !ret->port_count))
		ret->verdict = tcp ? LOCAL_VERDICT_TCP : LOCAL_VERDICT_NEITHER;
	append_verdict(ret);
	append_notes(ret);
	if (!text_failed(&ret->text) && !text_failed(&ret->notes))
		return 0;
	local_usage_done(ret);
	return err_nomem(err);
}

void local_usage_done(struct local_usage *usage)
{
	free(usage->ports);
	free(usage->nets);
	text_done(&usage->text);
	text_done(&usage->notes);
	*usage = (struct local_usage){ .elapsed_us = 0 };
}
