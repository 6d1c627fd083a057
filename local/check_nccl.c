/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check_nccl.c - variables of NCCL against what the host has */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "local/checks.h"

/* The entry of a list that begins at *@list, which advances; NULL: the end. */
static const char *next_entry(const char **list, char ret[128])
{
	size_t len = strcspn(*list, ",");

	while (!len && **list) {
		++*list;
		len = strcspn(*list, ",");
	}
	if (!len)
		return NULL;
	snprintf(ret, 128, "%.*s", (int)(len < 127 ? len : 127), *list);
	*list += len;
	return ret;
}

/* Does any HCA port, or any interface, match one entry of a list? */
static bool entry_exists(const struct checks *checks, bool hcas, bool whole, const char *entry)
{
	const struct local_host *host = &checks->host;
	char list[132];

	snprintf(list, sizeof(list), "%s%s", whole ? "=" : "", entry);
	for (size_t i = 0; hcas && i < host->hca_count; i++)
		for (size_t j = 0; j < host->hcas[i].port_count; j++)
			if (check_matches(list, host->hcas[i].name, host->hcas[i].ports[j].num))
				return true;
	for (size_t i = 0; !hcas && i < host->net_count; i++)
		if (check_matches(list, host->nets[i].name, 0))
			return true;
	return false;
}

/* Entries of a list that match nothing on this host. */
static void add_strangers(struct checks *checks, const char *variable, const char *list, bool hcas)
{
	const char *from = list + (*list == '^');
	bool whole = *from == '=';
	char entry[128];

	from += whole;
	while (next_entry(&from, entry))
		if (!entry_exists(checks, hcas, whole, entry))
			check_add(checks, CHECK_WARN, "", "correct the variable; ibwire doctor lists what is there",
				  "%s=%s: this host has no %s '%s'", variable, list, hcas ? "HCA port" : "interface",
				  entry);
}

/* Active ports that a list selects; "": all. */
static unsigned select_ports(const struct checks *checks, const char *list, struct text *ret_names, bool *ret_mixed)
{
	const struct local_host *host = &checks->host;
	const struct local_hca_port *first = NULL;
	unsigned count = 0;

	*ret_mixed = false;
	for (size_t i = 0; i < host->hca_count; i++)
		for (size_t j = 0; j < host->hcas[i].port_count; j++) {
			const struct local_hca_port *port = &host->hcas[i].ports[j];

			if (!check_is_active(port) || (*list && !check_matches(list, host->hcas[i].name, port->num)))
				continue;
			text_appendf(ret_names, "%s%s:%u", count++ ? "," : "", host->hcas[i].name, port->num);
			*ret_mixed |= first && (first->protocol != port->protocol || first->gbps != port->gbps);
			first = first ? first : port;
		}
	return count;
}

/* The fastest protocol's ports, as a value of NCCL_IB_HCA: InfiniBand before RoCE at one rate. */
static void suggest(const struct checks *checks, struct text *ret)
{
	const struct local_host *host = &checks->host;
	const struct local_hca_port *best = NULL;
	unsigned count = 0;

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < host->hca_count; i++)
			for (size_t j = 0; j < host->hcas[i].port_count; j++) {
				const struct local_hca_port *port = &host->hcas[i].ports[j];

				if (!check_is_active(port))
					continue;
				if (pass && port->gbps == best->gbps && port->protocol == best->protocol)
					text_appendf(ret, "%s%s:%u", count++ ? "," : "", host->hcas[i].name, port->num);
				if (!pass && (!best || port->gbps > best->gbps ||
					      (port->gbps == best->gbps && port->protocol < best->protocol)))
					best = port;
			}
}

static void add_mixed(struct checks *checks, const char *names)
{
	struct text fix = { 0 };

	/* The second "=" selects whole names: mlx5_1 is a prefix of mlx5_10. */
	text_append(&fix, "select the rails of the job, for example NCCL_IB_HCA==");
	suggest(checks, &fix);
	check_add(checks, CHECK_WARN, "", text_chars(&fix),
		  "NCCL may use ports of different kinds or rates as one set: %s", names);
	checks->failed |= text_failed(&fix);
	text_done(&fix);
}

void check_nccl_hca(struct checks *checks)
{
	struct text names = { 0 };
	char list[1024] = "", value[32];
	bool set = check_variable(checks, "NCCL_IB_HCA", list, sizeof(list)), mixed;
	unsigned count;

	if (check_variable(checks, "NCCL_IB_DISABLE", value, sizeof(value)) && strcmp(value, "0"))
		check_add(checks, CHECK_FAIL, "", "unset NCCL_IB_DISABLE", "NCCL_IB_DISABLE=%s: NCCL uses TCP", value);
	if (check_variable(checks, "NCCL_NET", value, sizeof(value)) && !strcasecmp(value, "Socket"))
		check_add(checks, CHECK_FAIL, "", "unset NCCL_NET", "NCCL_NET=%s: NCCL uses TCP", value);
	if (!checks->host.hca_count) {
		if (set)
			check_add(checks, CHECK_WARN, "",
				  "unset NCCL_IB_HCA", "NCCL_IB_HCA=%s, but there is no HCA", list);
		return;
	}
	count = select_ports(checks, list, &names, &mixed);
	if (set)
		add_strangers(checks, "NCCL_IB_HCA", list, true);
	if (!count)
		check_add(checks, CHECK_FAIL, "", "bring a port up, or correct NCCL_IB_HCA",
			  set ? "NCCL_IB_HCA=%s selects no active port: NCCL uses TCP" :
				"no port is active: NCCL uses TCP%s", list);
	else if (mixed)
		add_mixed(checks, text_chars(&names));
	else
		check_add(checks, CHECK_PASS, "", NULL, "NCCL_IB_HCA %s%s selects %u active port%s: %s",
			  set ? "=" : "is not set, which", set ? list : "", count, count == 1 ? "" : "s",
			  text_chars(&names));
	checks->failed |= text_failed(&names);
	text_done(&names);
}

static bool is_up(const struct local_net *net)
{
	return strcmp(net->state, "down") != 0;
}

/* What NCCL selects without the variable. Source: NCCL, src/misc/socket.cc, ncclFindInterfaces. */
static const char *default_nets(const struct local_host *host)
{
	for (size_t i = 0; i < host->net_count; i++)
		if (!strncmp(host->nets[i].name, "ib", 2) && is_up(&host->nets[i]))
			return "ib";
	return "^docker,lo,virbr";
}

void check_nccl_net(struct checks *checks)
{
	const struct local_host *host = &checks->host;
	struct text names = { 0 };
	char list[1024] = "";
	bool set = check_variable(checks, "NCCL_SOCKET_IFNAME", list, sizeof(list));
	unsigned count = 0;

	if (!host->nets_known) {
		check_add(checks, CHECK_SKIP, "", NULL, "sys/class/net is not in this tree");
		return;
	}
	if (set)
		add_strangers(checks, "NCCL_SOCKET_IFNAME", list, false);
	for (size_t i = 0; i < host->net_count; i++) {
		const struct local_net *net = &host->nets[i];

		if (!check_matches(set ? list : default_nets(host), net->name, 0) || !is_up(net))
			continue;
		text_appendf(&names, "%s%s", count++ ? ", " : "", net->name);
	}
	if (!count)
		check_add(checks, CHECK_FAIL, "", "set NCCL_SOCKET_IFNAME to an interface that connects the hosts",
			  set ? "NCCL_SOCKET_IFNAME=%s selects no interface that is up" :
				"no interface is up for the connections of NCCL%s", list);
	else
		check_add(checks, CHECK_PASS, "", NULL, "NCCL_SOCKET_IFNAME %s%s: %s", set ? "=" : "is not set",
			  set ? list : "", text_chars(&names));
	checks->failed |= text_failed(&names);
	text_done(&names);
}
