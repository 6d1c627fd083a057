/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check_nccl.c - which HCAs and interfaces NCCL selects, against what the host has */
#include <stdio.h>
#include <stdlib.h>
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

/* Active ports that a list selects; "": all. @ret_lines: the same names, one per line. */
static unsigned select_ports(const struct checks *checks, const char *list, struct text *ret_names,
			     struct text *ret_lines, bool *ret_mixed)
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
			text_appendf(ret_lines, "%s:%u\n", host->hcas[i].name, port->num);
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

/* An entry that is the whole name of one HCA and a prefix of others: mlx5_1 also selects mlx5_10. */
static void add_prefixes(struct checks *checks, const char *list)
{
	const struct local_host *host = &checks->host;
	const char *from = list + (*list == '^');
	char entry[128];

	if (*from == '=')
		return;
	while (next_entry(&from, entry)) {
		const char *whole = NULL, *longer = NULL;
		size_t len = strcspn(entry, ":");

		for (size_t i = 0; i < host->hca_count; i++) {
			if (strncmp(host->hcas[i].name, entry, len))
				continue;
			if (host->hcas[i].name[len])
				longer = longer ? longer : host->hcas[i].name;
			else
				whole = host->hcas[i].name;
		}
		if (whole && longer)
			check_add(checks, CHECK_WARN, whole,
				  "begin the list with '=' to select whole names: NCCL_IB_HCA==NAME,...",
				  "NCCL_IB_HCA=%s: '%s' is a prefix, which also %s %s", list, entry,
				  *list == '^' ? "excludes" : "selects", longer);
	}
}

/* @list: of the variable; NULL: not set. @folded: @names for people. */
static void add_selection(struct checks *checks, const char *list, unsigned count, const char *names,
			  const char *folded)
{
	struct text common = { 0 };

	text_appendf(&common, "NCCL_IB_HCA%s%s selects %u active port%s: ", list ? "=" : " is not set, which",
		     list ? list : "", count, count == 1 ? "" : "s");
	check_add(checks, CHECK_PASS, "", NULL, "%s%s", text_chars(&common), names);
	text_append(&common, folded);
	check_fold_as(checks, "", text_chars(&common));
	checks->failed |= text_failed(&common);
	text_done(&common);
}

void check_nccl_hca(struct checks *checks)
{
	struct text names = { 0 }, lines = { 0 }, folded = { 0 };
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
	count = select_ports(checks, list, &names, &lines, &mixed);
	if (set) {
		add_strangers(checks, "NCCL_IB_HCA", list, true);
		add_prefixes(checks, list);
	}
	if (!count)
		check_add(checks, CHECK_FAIL, "", "bring a port up, or correct NCCL_IB_HCA",
			  set ? "NCCL_IB_HCA=%s selects no active port: NCCL uses TCP" :
				"no port is active: NCCL uses TCP%s", list);
	else if (mixed)
		add_mixed(checks, text_chars(&names));
	else {
		check_fold_names(text_chars(&lines), &folded);
		add_selection(checks, set ? list : NULL, count, text_chars(&names), text_chars(&folded));
	}
	checks->failed |= text_failed(&names) || text_failed(&lines) || text_failed(&folded);
	text_done(&names);
	text_done(&lines);
	text_done(&folded);
}

static bool is_up(const struct local_net *net)
{
	return strcmp(net->state, "down") != 0;
}

/* Interfaces of containers and virtual machines that no other host reaches. */
static bool is_local_net(const char *name)
{
	static const char *const prefixes[] = { "docker", "virbr", "veth", "cni", "cali", "flannel", "podman", "lxc" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* The active RoCE port of an interface; NULL: none. */
static const struct local_hca *roce_of(const struct local_host *host, const char *net)
{
	for (size_t i = 0; i < host->hca_count; i++)
		for (size_t j = 0; j < host->hcas[i].port_count; j++)
			if (host->hcas[i].ports[j].protocol == LOCAL_PROTOCOL_ROCE &&
			    check_is_active(&host->hcas[i].ports[j]) && !strcmp(host->hcas[i].ports[j].net, net))
				return &host->hcas[i];
	return NULL;
}

/* Is an interface up that is neither of RDMA nor local: one for the connections of NCCL? */
static const char *other_net(const struct local_host *host)
{
	for (size_t i = 0; i < host->net_count; i++) {
		const struct local_net *net = &host->nets[i];

		if (!strcmp(net->state, "up") && net->type == LOCAL_NET_ETHERNET && !is_local_net(net->name) &&
		    !roce_of(host, net->name))
			return net->name;
	}
	return NULL;
}

/* The first interface that NCCL_SOCKET_IFNAME selects, which NCCL uses. Return: whether it is good. */
static bool add_net_choice(struct checks *checks, const struct local_net *net, const char *list)
{
	const struct local_hca *hca = roce_of(&checks->host, net->name);
	const char *other = other_net(&checks->host);
	struct text fix = { 0 };
	const char *chars;

	text_appendf(&fix, "set NCCL_SOCKET_IFNAME==%s, or unset it",
		     other ? other : "NAME of the management interface");
	checks->failed |= text_failed(&fix);
	chars = text_failed(&fix) ? NULL : text_chars(&fix);
	if (net->type == LOCAL_NET_LOOPBACK || !strcmp(net->name, "lo"))
		check_add(checks, CHECK_FAIL, net->name, chars,
			  "NCCL_SOCKET_IFNAME=%s selects the loopback interface: other hosts cannot connect", list);
	else if (is_local_net(net->name))
		check_add(checks, CHECK_FAIL, net->name, chars,
			  "NCCL_SOCKET_IFNAME=%s selects a bridge of this host: other hosts cannot connect", list);
	else if (hca && other)
		check_add(checks, CHECK_WARN, net->name, chars,
			  "NCCL_SOCKET_IFNAME=%s selects the interface of %s: connections and RDMA share one network, "
			  "and fail together", list, hca->name);
	else
		hca = NULL;
	text_done(&fix);
	return !hca && net->type != LOCAL_NET_LOOPBACK && !is_local_net(net->name) && strcmp(net->name, "lo") != 0;
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
	const struct local_net *first = NULL;
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
		/* NCCL uses the order of getifaddrs(3), which is that of ifindex; else one that other hosts reach. */
		if (!first || (net->index ? net->index < first->index :
					    is_local_net(first->name) && !is_local_net(net->name)))
			first = net;
	}
	if (set && first && !add_net_choice(checks, first, list)) {
		text_done(&names);
		return;
	}
	if (!count)
		check_add(checks, CHECK_FAIL, "", "set NCCL_SOCKET_IFNAME to an interface that connects the hosts",
			  set ? "NCCL_SOCKET_IFNAME=%s selects no interface that is up" :
				"no interface is up for the connections of NCCL%s", list);
	else
		check_add(checks, CHECK_PASS, "", NULL, "NCCL_SOCKET_IFNAME%s%s: %s", set ? "=" : " is not set",
			  set ? list : "", text_chars(&names));
	checks->failed |= text_failed(&names);
	text_done(&names);
}
