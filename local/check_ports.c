/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check_ports.c - checks of HCAs and their ports */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "fabric/fabric.h"
#include "local/checks.h"
#include "local/flow.h"

static const struct local_hca_port *next_port(const struct checks *checks, size_t *hca, size_t *port)
{
	const struct local_host *host = &checks->host;

	for (; *hca < host->hca_count; ++*hca, *port = 0)
		while (*port < host->hcas[*hca].port_count)
			if (check_is_used(checks, &host->hcas[*hca], &host->hcas[*hca].ports[(*port)++]))
				return &host->hcas[*hca].ports[*port - 1];
	return NULL;
}

/* Loop over all ports that are in use: `hca` is the HCA of `port`. */
#define EACH_PORT(checks, hca, port) \
	size_t hca##_at = 0, port##_at = 0; \
	for (const struct local_hca_port *port; (port = next_port(checks, &hca##_at, &port##_at)) && \
	     ((hca) = &(checks)->host.hcas[hca##_at]);)

static const char *or_unknown(const char *value)
{
	return value[0] ? value : "not known";
}

/* "4: ACTIVE" without its number. */
static const char *state_word(const char *state)
{
	const char *colon = strstr(state, ": ");

	return or_unknown(colon ? colon + 2 : state);
}

static void add_port_state(struct checks *checks, const struct local_hca *hca, const struct local_hca_port *port)
{
	bool infiniband = port->protocol == LOCAL_PROTOCOL_INFINIBAND || port->protocol == LOCAL_PROTOCOL_OMNIPATH;
	const char *why = NULL;
	enum check_status status = CHECK_PASS;
	char name[96];

	check_port_name(hca, port, name);
	if (!port->state_code) {
		check_add(checks, CHECK_SKIP, name, NULL, "state is not known (%s)", or_unknown(port->state));
		return;
	}
	if (port->state_code == 1) {
		status = check_port_use(checks, hca, port) == PORT_PERHAPS_SPARE ? CHECK_WARN : CHECK_FAIL;
		why = infiniband ? "check the cable, the transceiver and the switch port (ibwire links, mlxlink)" :
				   "check the cable and the switch port; ip link set dev NAME up";
	} else if (!check_is_active(port)) {
		status = CHECK_FAIL;
		why = infiniband ? "no subnet manager has configured the port: start one, or check its log (sminfo)" :
				   "check the network interface of the port: ip link";
	}
	check_add(checks, status, name, why, "%s (%s), %s, %s, driver %s", port_state_name((uint8_t)port->state_code),
		  state_word(port->phys_state), or_unknown(port->rate), local_protocol_name(port->protocol),
		  or_unknown(hca->driver));
}

/* One line for all ports that are not in use for one reason. */
static void add_unused(struct checks *checks, enum port_use use, const char *text)
{
	const struct local_host *host = &checks->host;
	struct text names = { 0 };
	char name[96];

	for (size_t i = 0; i < host->hca_count; i++)
		for (size_t j = 0; j < host->hcas[i].port_count; j++)
			if (check_port_use(checks, &host->hcas[i], &host->hcas[i].ports[j]) == use)
				text_appendf(&names, "%s\n", check_port_name(&host->hcas[i], &host->hcas[i].ports[j],
					name));
	if (names.len) {
		struct text folded = { 0 };

		check_fold_names(text_chars(&names), &folded);
		check_add(checks, CHECK_PASS, "", NULL, "%s: %s", text, text_chars(&folded));
		checks->failed |= text_failed(&folded);
		text_done(&folded);
	}
	checks->failed |= text_failed(&names);
	text_done(&names);
}

/* A host without HCAs: adapters that are there explain why. */
static void add_no_hca(struct checks *checks)
{
	const struct local_host *host = &checks->host;
	const struct local_adapter *idle = NULL;
	size_t passed = 0;

	for (size_t i = 0; i < host->adapter_count; i++)
		if (!strncmp(host->adapters[i].driver, "vfio", 4))
			passed++;
		else
			idle = &host->adapters[i];
	if (!idle && passed)
		return; /* a host of virtual machines: check_devices() reports it */
	if (idle)
		check_add(checks, CHECK_FAIL, idle->address,
			  "modprobe mlx5_ib (mlx4_ib, ib_qib, ...); see dmesg; ibdev2netdev and rdma system show "
			  "whether another network namespace has the HCA",
			  "this host has a network adapter for RDMA (driver %s), but no HCA: /sys/class/infiniband is "
			  "empty",
			  idle->driver[0] ? idle->driver : "none");
	else
		check_add(checks, CHECK_FAIL, "",
			  "install an HCA, or load its driver: modprobe mlx5_ib (mlx4_ib, hfi1, bnxt_re, irdma, efa); "
			  "see dmesg; in a container, pass /sys and /dev/infiniband",
			  "this host has no HCA (/sys/class/infiniband is empty or missing); still checked: IOMMU, "
			  "memlock, /dev/shm, NCCL variables, SHARP");
}

void check_hca(struct checks *checks)
{
	const struct local_host *host = &checks->host;
	const struct local_hca *hca = NULL;

	if (!host->hcas_known) {
		check_add(checks, CHECK_SKIP, "", NULL, "sys/class/infiniband is not in this tree");
		return;
	}
	if (!host->hca_count)
		add_no_hca(checks);
	for (size_t i = 0; i < host->hca_count; i++)
		if (!host->hcas[i].port_count)
			check_add(checks, CHECK_FAIL, host->hcas[i].name, "reload its driver; see dmesg",
				  "has no port");
	{
		EACH_PORT(checks, hca, port)
			add_port_state(checks, hca, port);
	}
	add_unused(checks, PORT_EXCLUDED, "not checked, because NCCL_IB_HCA does not select them");
	add_unused(checks, PORT_IDLE_VF, "virtual functions that are not in use (Down)");
	add_unused(checks, PORT_SPARE,
		   "Down on all HCAs of the board, probably not cabled; the other port of the card is Active");
}

/* The fastest Active port of HCAs of the same board. */
static double fastest_of_board(const struct checks *checks, const struct local_hca *like)
{
	const struct local_hca *hca = NULL;
	double best = 0;

	EACH_PORT(checks, hca, port)
		if (check_is_active(port) && like->board[0] && !strcmp(hca->board, like->board) && port->gbps > best)
			best = port->gbps;
	return best;
}

/* The port as stored in the database, if its supported rates are known. */
static const struct port *find_supported(const struct checks *checks, const struct local_hca *hca, unsigned num)
{
	const struct fabric *fabric = checks->fabric;
	const struct node *node;
	uint32_t index;

	if (!fabric || !hca->guid || !map_get(&fabric->by_guid, hca->guid, &index))
		return NULL;
	node = &fabric->nodes[index];
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (fabric->ports[i].num == num && fabric->ports[i].width_supported && fabric->ports[i].speed_supported)
			return &fabric->ports[i];
	return NULL;
}

/*
 * HDR100 and NDR200 are products with two lanes: as designed if no port of the same board has more.
 * Source: NVIDIA, ConnectX-6 and ConnectX-7 user manuals, "InfiniBand HDR100", "NDR200".
 */
static bool is_two_lane_product(const struct local_hca_port *port, double best)
{
	return port->lanes == 2 && port->speed >= LINK_SPEED_HDR && port->gbps >= best;
}

static bool add_port_rate(struct checks *checks, const struct local_hca *hca, const struct local_hca_port *port)
{
	const struct port *known = find_supported(checks, hca, port->num);
	unsigned lanes = known ? link_width_lanes(link_width_best(known->width_supported)) : 0;
	enum link_speed speed = known ? link_speed_best(known->speed_supported) : LINK_SPEED_NONE;
	bool infiniband = port->protocol == LOCAL_PROTOCOL_INFINIBAND;
	double best = fastest_of_board(checks, hca);
	char name[96];

	check_port_name(hca, port, name);
	if (is_two_lane_product(port, best))
		lanes = port->lanes;
	if ((lanes && port->lanes < lanes) || (infiniband && !lanes && port->lanes < 4)) {
		check_add(checks, CHECK_WARN, name,
			  "reseat or replace the cable or transceiver; check both ends with mlxlink",
			  "%s: %uX of %uX lanes are up", port->rate, port->lanes, lanes ? lanes : 4);
		return true;
	}
	if (speed && port->speed && port->speed < speed) {
		check_add(checks, CHECK_WARN, name,
			  "check cable, transceiver, and the speed enabled at both ends (mlxlink)",
			  "%s; the port supports %s", port->rate, link_speed_name(speed));
		return true;
	}
	if (port->gbps < best) {
		check_add(checks, CHECK_WARN, name, "check cable, transceiver and switch port",
			  "%s; other ports of the same board (%s) run at %.0f Gb/s", port->rate, hca->board, best);
		return true;
	}
	return false;
}

void check_rate(struct checks *checks)
{
	const struct local_hca *hca = NULL;
	unsigned good = 0, bad = 0, known = 0, active = 0;

	EACH_PORT(checks, hca, port) {
		if (!check_is_active(port))
			continue;
		active++;
		if (!port->gbps)
			continue;
		if (add_port_rate(checks, hca, port)) {
			bad++;
			continue;
		}
		good++;
		known += find_supported(checks, hca, port->num) != NULL;
	}
	if (good + bad < active)
		check_add(checks, CHECK_SKIP, "", NULL, "the rate of %u active port%s is not known",
			  active - good - bad, text_plural(active - good - bad));
	if (good)
		check_add(checks, CHECK_PASS, "", NULL, "%u%s active port%s at %s", good, bad ? " other" : "",
			  good == 1 ? "" : "s", known >= good ? "the highest rate that the port supports" :
			  "full width and the rate of its board; the highest rate is only known from a database");
}

void check_link_layer(struct checks *checks)
{
	unsigned counts[LOCAL_PROTOCOL_EFA + 1] = { 0 }, total = 0;
	const struct local_hca *hca = NULL;
	struct text text = { 0 };

	EACH_PORT(checks, hca, port) {
		counts[port->protocol]++;
		total++;
		if (port->protocol == LOCAL_PROTOCOL_UNKNOWN) {
			char name[96];

			check_add(checks, CHECK_WARN, check_port_name(hca, port, name),
				  "report the driver: this version of ibwire does not know it",
				  "link layer '%s' of driver %s is not known", port->link_layer,
				  or_unknown(hca->driver));
		}
	}
	for (int i = LOCAL_PROTOCOL_INFINIBAND; i <= LOCAL_PROTOCOL_EFA; i++)
		if (counts[i])
			text_appendf(&text, "%s%u %s", text.len ? ", " : "", counts[i], local_protocol_name(i));
	if (text.len)
		check_add(checks, CHECK_PASS, "", NULL, "%s port%s", text_chars(&text), total == 1 ? "" : "s");
	checks->failed |= text_failed(&text);
	text_done(&text);
}

void check_firmware(struct checks *checks)
{
	const struct local_host *host = &checks->host;

	for (size_t i = 0; i < host->hca_count; i++) {
		const struct local_hca *hca = &host->hcas[i], *other = NULL;
		unsigned same = 0;
		bool first = true;

		for (size_t j = 0; j < host->hca_count; j++) {
			bool like = !strcmp(host->hcas[j].board, hca->board) && hca->board[0];

			first = first && !(like && j < i);
			same += like;
			if (like && strcmp(host->hcas[j].firmware, hca->firmware))
				other = &host->hcas[j];
		}
		if (!first)
			continue;
		if (!hca->firmware[0])
			check_add(checks, CHECK_SKIP, hca->name, NULL, "firmware version is not known");
		else if (other)
			check_add(checks, CHECK_WARN, hca->name,
				  "update all HCAs of one board to the same firmware (mlxfwmanager)",
				  "firmware %s, but %s has %s (board %s)", hca->firmware, other->name,
				  or_unknown(other->firmware), hca->board);
		else
			check_add(checks, CHECK_PASS, same > 1 ? "" : hca->name, NULL, "%s on %u HCA%s of board %s",
				  hca->firmware, same ? same : 1, same > 1 ? "s" : "", or_unknown(hca->board));
	}
}

void check_lid(struct checks *checks)
{
	const struct local_hca *hca = NULL;
	unsigned good = 0, unknown = 0;

	EACH_PORT(checks, hca, port) {
		char name[96];

		if (!check_is_active(port) || (port->protocol != LOCAL_PROTOCOL_INFINIBAND &&
					       port->protocol != LOCAL_PROTOCOL_OMNIPATH))
			continue;
		check_port_name(hca, port, name);
		if (!port->lid_known || !port->sm_lid_known)
			unknown++;
		else if (!port->lid || port->lid >= 0xc000)
			check_add(checks, CHECK_FAIL, name, "start a subnet manager on this subnet, or check its log",
				  "LID %u is not a unicast LID", port->lid);
		else if (!port->sm_lid)
			check_add(checks, CHECK_FAIL, name, "start a subnet manager on this subnet (sminfo)",
				  "LID %u, but no subnet manager is known", port->lid);
		else
			good++;
	}
	if (unknown)
		check_add(checks, CHECK_SKIP, "", NULL, "LIDs of %u port%s are not known", unknown,
			  text_plural(unknown));
	if (good)
		check_add(checks, CHECK_PASS, "", NULL, "%u port%s with a LID and a subnet manager", good,
			  good == 1 ? " is configured" : "s are configured");
}

static bool is_v2(const struct local_gid *gid)
{
	return !strcmp(gid->type, "RoCE v2");
}

static bool is_ipv4(const struct local_gid *gid)
{
	return !strncmp(gid->gid, "0000:0000:0000:0000:0000:ffff:", 30);
}

static void add_gid_index(struct checks *checks, const char *name, const struct local_hca_port *port,
			  const struct local_gid *best)
{
	char wanted[32], *end;
	unsigned long index;

	if (!check_variable(checks, "NCCL_IB_GID_INDEX", wanted, sizeof(wanted)))
		return;
	index = strtoul(wanted, &end, 10);
	if (wanted[0] < '0' || wanted[0] > '9' || *end)
		return; /* -1: NCCL selects it */
	for (size_t i = 0; i < port->gid_count; i++) {
		if (port->gids[i].index != index || !is_v2(&port->gids[i]))
			continue;
		if (best && is_ipv4(best) && !strncmp(port->gids[i].gid, "fe80:", 5))
			check_add(checks, CHECK_WARN, name,
				  "unset NCCL_IB_GID_INDEX (NCCL 2.21 and later select the GID), or set it to the "
				  "index of the IPv4 GID",
				  "NCCL_IB_GID_INDEX=%s is a link-local GID, which is not routed; the IPv4 address has "
				  "index %u",
				  wanted, best->index);
		return;
	}
	check_add(checks, CHECK_FAIL, name,
		  "unset NCCL_IB_GID_INDEX (NCCL 2.21 and later select it), or set it to a RoCE v2 index",
		  "NCCL_IB_GID_INDEX is %s, which is no RoCE v2 GID here", wanted);
}

void check_gid(struct checks *checks)
{
	const struct local_hca *hca = NULL;

	EACH_PORT(checks, hca, port) {
		const struct local_gid *best = NULL;
		bool typed = false;
		char name[96];

		if (!check_is_active(port) || port->protocol != LOCAL_PROTOCOL_ROCE)
			continue;
		check_port_name(hca, port, name);
		for (size_t i = 0; i < port->gid_count; i++) {
			typed |= port->gids[i].type[0];
			if (is_v2(&port->gids[i]) && (!best || (is_ipv4(&port->gids[i]) && !is_ipv4(best))))
				best = &port->gids[i];
		}
		if (!typed)
			check_add(checks, CHECK_SKIP, name, NULL, "the types of its GIDs are not known");
		else if (!best)
			check_add(checks, CHECK_FAIL, name, "give the interface an IP address, and select RoCE v2 "
				  "(cma_roce_mode)", "no RoCE v2 GID; RoCE v1 is not routed");
		else if (!is_ipv4(best))
			check_add(checks, CHECK_WARN, name,
				  "give the interface an IPv4 address, unless the network is IPv6",
				  "RoCE v2 GID index %u is IPv6 only (%s)", best->index, best->gid);
		else
			check_add(checks, CHECK_PASS, name, NULL, "RoCE v2 GID index %u on %s", best->index,
				  or_unknown(best->net));
		if (typed)
			add_gid_index(checks, name, port, best);
	}
}

/* MTU of RoCE packets by that of the interface: the largest that fits with 58 octets of headers. */
static unsigned roce_mtu(uint64_t mtu)
{
	unsigned roce = 4096;

	while (roce > 256 && roce + 58 > mtu)
		roce /= 2;
	return roce;
}

void check_mtu(struct checks *checks)
{
	const struct local_hca *hca = NULL;

	EACH_PORT(checks, hca, port) {
		const struct local_net *net = port->net[0] ? local_find_net(&checks->host, port->net) : NULL;
		char name[96];

		if (!check_is_active(port) || port->protocol != LOCAL_PROTOCOL_ROCE)
			continue;
		check_port_name(hca, port, name);
		if (!net || !net->mtu)
			check_add(checks, CHECK_SKIP, name, NULL, "the MTU of its network interface is not known");
		else if (roce_mtu(net->mtu) < 4096)
			check_add(checks, CHECK_WARN, name, "set MTU 9000 (4200 at least) on all hosts and switches: "
				  "ip link set dev NAME mtu 9000",
				  "MTU of %s is %" PRIu64 ": RoCE packets have %u of 4096 "
				  "bytes", net->name, net->mtu, roce_mtu(net->mtu));
		else
			check_add(checks, CHECK_PASS, name, NULL, "MTU of %s is %" PRIu64, net->name, net->mtu);
	}
	for (size_t i = 0; i < checks->host.net_count; i++)
		if (checks->host.nets[i].type == LOCAL_NET_INFINIBAND && checks->host.nets[i].mtu)
			check_add(checks, CHECK_PASS, checks->host.nets[i].name, NULL, "IPoIB, MTU %" PRIu64,
				  checks->host.nets[i].mtu);
}

/* The physical interface of a port: that of its GIDs may be a bond or a VLAN, which have no flow control. */
static const char *physical_net(const struct checks *checks, const struct local_hca *hca,
				const struct local_hca_port *port)
{
	for (size_t i = 0; i < checks->host.net_count; i++) {
		const struct local_net *net = &checks->host.nets[i];

		if (net->physical && !net->stacked && !strcmp(net->pci.path, hca->pci.path) &&
		    (hca->port_count == 1 || net->port == port->num - 1))
			return net->name;
	}
	return port->net;
}

/* Pause, PFC and ECN of RoCE ports. */
static void add_flow_control(struct checks *checks, const struct local_hca *hca, const struct local_hca_port *port)
{
	struct local_flow flow;
	struct text text = { 0 };
	const struct local_counters *counters = &port->counters;
	const char *net = physical_net(checks, hca, port);
	char name[96];

	check_port_name(hca, port, name);
	local_flow_read(checks->root, net, &flow);
	if (!flow.pfc_known && !flow.pause_known) {
		check_add(checks, CHECK_SKIP, name, NULL, "PFC and pause of %s are not known",
			  net[0] ? net : "its network interface");
		return;
	}
	if (flow.pfc_known)
		text_appendf(&text, "PFC %s0x%02x, %" PRIu64 " frame%s sent, %" PRIu64 " received",
			     flow.pfc_enabled ? "on priorities " : "off, mask ", flow.pfc_enabled, flow.pfc_requests,
			     flow.pfc_requests == 1 ? "" : "s", flow.pfc_indications);
	if (flow.pause_known)
		text_appendf(&text, "%spause rx %s tx %s", text.len ? "; " : "", flow.pause_rx ? "on" : "off",
			     flow.pause_tx ? "on" : "off");
	if (flow.frames_known)
		text_appendf(&text, ", %" PRIu64 " frames received, %" PRIu64 " sent", flow.pause_rx_frames,
			     flow.pause_tx_frames);
	if (local_counter_known(counters, LOCAL_ECN_MARKED))
		text_appendf(&text, "; ECN: %" PRIu64 " packet%s marked, CNPs %" PRIu64 " sent, %" PRIu64 " received",
			     counters->values[LOCAL_ECN_MARKED], text_plural(counters->values[LOCAL_ECN_MARKED]),
			     counters->values[LOCAL_CNP_SENT],
			     counters->values[LOCAL_CNP_RECEIVED]);
	if (flow.pfc_known && flow.pfc_enabled && flow.pause_known && (flow.pause_rx || flow.pause_tx))
		check_add(checks, CHECK_WARN, name, "switch global pause off: ethtool -A NAME rx off tx off",
			  "%s: %s; PFC and global pause exclude each other", net, text_chars(&text));
	else if (flow.pfc_known && flow.pause_known && !flow.pfc_enabled && !flow.pause_rx && !flow.pause_tx)
		check_add(checks, CHECK_WARN, name,
			  "enable PFC on the priority of RoCE (mlnx_qos -i NAME --pfc ..., or dcb pfc), unless the "
			  "network is lossy by design", "%s: %s; RoCE may lose packets", net,
			  text_chars(&text));
	else
		check_add(checks, CHECK_PASS, name, NULL, "%s: %s", net, text_chars(&text));
	checks->failed |= text_failed(&text);
	text_done(&text);
}

void check_flow_control(struct checks *checks)
{
	const struct local_hca *hca = NULL;

	EACH_PORT(checks, hca, port)
		if (check_is_active(port) && port->protocol == LOCAL_PROTOCOL_ROCE)
			add_flow_control(checks, hca, port);
}

void check_sharp(struct checks *checks)
{
	unsigned count = 0;

	if (!checks->fabric) {
		check_add(checks, CHECK_SKIP, "", NULL, "SHARP: no database of ibwire is readable here");
		return;
	}
	for (size_t i = 0; i < checks->fabric->node_count; i++)
		count += node_is_aggregation(&checks->fabric->nodes[i]);
	if (count)
		check_add(checks, CHECK_PASS, "", NULL, "the fabric has %u SHARP aggregation nodes", count);
	else
		check_add(checks, CHECK_PASS, "", NULL,
			  "the fabric has no SHARP aggregation nodes: NCCL cannot use SHARP");
}
