/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check_sums.c - the HCAs of a log and the ports of its hosts, as rails */
#include "analysis/nccl/check.h"

#include <math.h>
#include <string.h>

#include "analysis/nccl/input.h"

/* A port that carries less than this share of the mean of the job's ports is idle. */
static const double IDLE_SHARE = 0.02;

static struct nccl_rail *rail_find(struct nccl_check *check, const char *name)
{
	for (size_t i = 0; i < check->rail_count; i++)
		if (!strcmp(check->rails[i].name, name))
			return &check->rails[i];
	if (check->rail_count == NCCL_RAILS_MOST)
		return NULL;
	check->rails[check->rail_count] = (struct nccl_rail){ .name = name };
	return &check->rails[check->rail_count++];
}

/* The host of a port, by its name, which NCCL cuts at the first dot, or by its LID. Return: UINT32_MAX: none. */
static uint32_t host_of(const struct nccl_log *log, const struct nccl_port *port)
{
	uint32_t host;

	if (map_get(&log->host_map, nccl_hash(port->host, strcspn(port->host, "."), 1), &host) ||
	    (port->lid && map_get(&log->lid_map, port->lid, &host)))
		return host;
	return UINT32_MAX;
}

static const struct nccl_hca *hca_of(const struct nccl_log *log, uint32_t host, const char *name, unsigned port)
{
	uint64_t key = nccl_hash(name, strlen(name), (uint64_t)host << 8 | (port ? port : 1));
	uint32_t hca;

	return map_get(&log->hca_map, key, &hca) ? &log->hcas[hca] : NULL;
}

/* The HCAs of the log, as rails and fabrics. */
static void log_sum(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;
	uint64_t listed[NCCL_FABRIC_COUNT] = { 0 };

	for (size_t i = 0; i < log->hca_count; i++) {
		const struct nccl_hca *hca = &log->hcas[i];
		uint64_t connections = (uint64_t)hca->sends + hca->receives;
		struct nccl_rail *rail = rail_find(check, hca->name);

		listed[hca->fabric]++;
		check->fabrics[hca->fabric] += connections;
		if (!rail)
			continue;
		rail->fabric = hca->fabric;
		rail->listed += !check->by_host[hca->host].torn;
		rail->used += connections > 0;
		if (!connections || check->by_host[hca->host].connected || check->by_host[hca->host].torn)
			continue;
		check->by_host[hca->host].connected = true;
		check->hosts++;
	}
	for (size_t i = 0; i < log->test_count; i++)
		if (log->tests[i].all.hosts > check->hosts)
			check->hosts = log->tests[i].all.hosts;
	/* Merged devices count a connection each, so that these are not summed over HCAs. */
	check->staged = log->net_connections - log->net_direct;
	check->staged -= log->net_tcp < check->staged ? log->net_tcp : check->staged;
	for (size_t i = 0; i < check->rail_count; i++)
		check->used_rails += check->rails[i].used > 0;
	for (enum nccl_fabric fabric = 0; fabric < NCCL_FABRIC_COUNT; fabric++)
		if (check->fabrics[fabric] > check->fabrics[check->fabric])
			check->fabric = fabric;
	if (!check->fabrics[check->fabric])
		for (enum nccl_fabric fabric = 0; fabric < NCCL_FABRIC_COUNT; fabric++)
			if (listed[fabric] > listed[check->fabric])
				check->fabric = fabric;
}

/* Sum the ports of the log's hosts. */
static void ports_sum(struct nccl_check *check)
{
	for (size_t i = 0; i < check->port_count; i++) {
		const struct nccl_port *port = &check->ports[i];
		uint32_t host = host_of(check->log, port);
		struct nccl_rail *rail;

		if (host == UINT32_MAX)
			continue;
		check->named |= port->hca && hca_of(check->log, host, port->hca, port->port);
		if (!port->known) {
			check->unknown++;
			continue;
		}
		check->known++;
		check->counted += !check->by_host[host].counted;
		check->by_host[host].counted = true;
		check->unknown += port->at_least;
		check->tx_bytes += (double)port->tx_bytes;
		check->rx_bytes += (double)port->rx_bytes;
		rail = port->hca ? rail_find(check, port->hca) : NULL;
		if (!rail)
			continue;
		rail->bytes += (double)port->tx_bytes + (double)port->rx_bytes;
		rail->ports++;
	}
}

/* Ports with connections that are idle on the wire. */
static void ports_idle(struct nccl_check *check)
{
	double mean = check->known ? (check->tx_bytes + check->rx_bytes) / (double)check->known : 0;

	for (size_t i = 0; i < check->port_count; i++) {
		const struct nccl_port *port = &check->ports[i];
		uint32_t host = host_of(check->log, port);
		const struct nccl_hca *hca;
		struct nccl_rail *rail;
		uint64_t bytes = port->tx_bytes + port->rx_bytes;

		if (host == UINT32_MAX || !port->known || port->at_least || !port->hca ||
		    (double)bytes > mean * IDLE_SHARE)
			continue;
		hca = hca_of(check->log, host, port->hca, port->port);
		rail = hca && hca->sends + hca->receives ? rail_find(check, port->hca) : NULL;
		if (!rail)
			continue;
		if (!rail->idle++)
			rail->idle_host = check->log->hosts[host].name;
		if (bytes > rail->idle_bytes)
			rail->idle_bytes = bytes;
	}
}

/*
 * The beginning of a torn message is lost: "pha:70:81 [0] NCCL INFO" of "alpha:70:81". Such a host has few
 * messages, and a process of the same id exists on a host whose name ends with it.
 */
static void find_torn(struct nccl_check *check)
{
	enum { MESSAGES_MOST = 2 };
	const struct nccl_log *log = check->log;

	for (size_t i = 0; i < log->process_count; i++) {
		const struct nccl_process *process = &log->processes[i];
		const char *name = log->hosts[process->host].name;
		uint32_t at;

		for (size_t from = 1; name[from]; from++) {
			uint64_t key = nccl_hash(name + from, strlen(name + from), process->pid);

			if (!map_get(&log->process_map, key, &at) || log->processes[at].messages > MESSAGES_MOST ||
			    log->processes[at].messages >= process->messages ||
			    log->processes[at].host == process->host ||
			    log->hosts[log->processes[at].host].processes > 1)
				continue;
			check->by_host[log->processes[at].host].torn = true;
		}
	}
	for (size_t i = 0; i < log->host_count; i++)
		check->log_hosts += !check->by_host[i].torn;
}

void nccl_check_sum(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;

	find_torn(check);
	check->ranks = log->ranks_logged > log->process_count ? log->ranks_logged : log->process_count;
	check->partial = log->repeated || (log->ranks && check->ranks < log->ranks);
	log_sum(check);
	ports_sum(check);
	ports_idle(check);
}

double nccl_check_evenness(const struct nccl_check *check)
{
	double sum = 0, squares = 0, mean;
	size_t count = 0;

	for (size_t i = 0; i < check->rail_count; i++) {
		const struct nccl_rail *rail = &check->rails[i];

		if (!rail->ports || (check->named && !rail->used))
			continue;
		count++;
		sum += rail->bytes;
		squares += rail->bytes * rail->bytes;
	}
	if (count < 2 || sum <= 0)
		return -1;
	mean = sum / (double)count;
	return fmax(0, 1 - sqrt(fmax(0, squares / (double)count - mean * mean)) / mean);
}

double nccl_check_host_rate(const struct nccl_check *check)
{
	double most = 0;

	for (size_t i = 0; i < check->log->host_count; i++)
		check->by_host[i].rate = 0;
	for (size_t i = 0; i < check->port_count; i++) {
		uint32_t host = host_of(check->log, &check->ports[i]);
		const struct nccl_hca *hca = host == UINT32_MAX || !check->ports[i].hca ? NULL :
					     hca_of(check->log, host, check->ports[i].hca, check->ports[i].port);

		if (hca && hca->sends + hca->receives)
			check->by_host[host].rate += check->ports[i].rate_gbps / 8;
	}
	for (size_t i = 0; i < check->log->host_count; i++)
		most = fmax(most, check->by_host[i].rate);
	if (most <= 0) {
		for (size_t i = 0; i < check->log->hca_count; i++) {
			const struct nccl_hca *hca = &check->log->hcas[i];

			if (hca->sends + hca->receives)
				check->by_host[hca->host].rate += hca->speed_mbps / 8000.0;
		}
		for (size_t i = 0; i < check->log->host_count; i++)
			most = fmax(most, check->by_host[i].rate);
	}
	return most;
}
