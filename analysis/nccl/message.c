/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * message.c - the messages of NCCL and RCCL about the network
 *
 * Formats as read in NCCL's sources of each tag from 2.4.2 to 2.30.7 (transport/net_ib, net_socket,
 * net, p2p, shm, coll_net, init, plugin/net), in RCCL 2.20, in nccl-rdma-sharp-plugins ("IBext") and
 * in aws-ofi-nccl ("Libfabric"; until 1.13 "AWS Libfabric").
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analysis/nccl/input.h"
#include "base/array.h"

/* Does @text begin with @with? @ret_rest: what follows. */
static bool skip(const char *text, const char *with, const char **ret_rest)
{
	size_t len = strlen(with);

	if (strncmp(text, with, len))
		return false;
	*ret_rest = text + len;
	return true;
}

static void setting_add(struct nccl_log *log, struct nccl_setting *settings, size_t *count, size_t most,
			const char *name, size_t name_len, const char *value, size_t value_len)
{
	struct nccl_setting wanted = { .count = 1 };

	nccl_copy(wanted.name, sizeof(wanted.name), name, name_len);
	nccl_copy(wanted.value, sizeof(wanted.value), value, value_len);
	for (size_t i = 0; i < *count; i++)
		if (!strcmp(settings[i].name, wanted.name) && !strcmp(settings[i].value, wanted.value)) {
			settings[i].count++;
			return;
		}
	if (*count < most)
		settings[(*count)++] = wanted;
	else
		log->dropped++;
}

void nccl_version(struct nccl_log *log, const char *library, const char *text)
{
	size_t len;

	text += strspn(text, ": ");
	for (len = 0; isalnum((unsigned char)text[len]) || (text[len] && strchr(".+-:_", text[len])); len++)
		;
	if (isdigit((unsigned char)*text))
		setting_add(log, log->versions, &log->version_count, sizeof(log->versions) / sizeof(log->versions[0]),
			    library, strlen(library), text, len);
}

/* The device of a host, added if it is new. Return: its index; UINT32_MAX: beyond the limits. */
static uint32_t hca_find(struct nccl_log *log, uint32_t host, const char *name, size_t len, uint8_t port)
{
	uint64_t key = nccl_hash(name, len, (uint64_t)host << 8 | port);
	struct nccl_hca *hcas;
	uint32_t found;

	if (map_get(&log->hca_map, key, &found))
		return found;
	if (log->hca_count == NCCL_HCAS_MOST) {
		log->dropped++;
		return UINT32_MAX;
	}
	hcas = array_grow(log->hcas, log->hca_count, &log->hca_capacity, sizeof(*hcas));
	if (hcas)
		log->hcas = hcas;
	if (!hcas || map_put(&log->hca_map, key, (uint32_t)log->hca_count)) {
		log->failed = true;
		return UINT32_MAX;
	}
	hcas[log->hca_count] = (struct nccl_hca){ .host = host, .port = port };
	nccl_copy(hcas[log->hca_count].name, NCCL_NAME_SIZE, name, len);
	return (uint32_t)log->hca_count++;
}

/* Device number @index of a process is @hca. */
static void slot_add(struct nccl_log *log, struct nccl_process *process, uint32_t index, uint32_t hca)
{
	enum { DEVICES_MOST = 256 }; /* of a process: each is compared with the others */
	struct nccl_slot *slots;
	unsigned devices = 0;

	for (uint32_t at = process->first_slot; at != UINT32_MAX; at = log->slots[at].next, devices++)
		if (log->slots[at].index == index && log->slots[at].hca == hca)
			return;
	if (log->slot_count == NCCL_SLOTS_MOST || devices >= DEVICES_MOST) {
		log->dropped++;
		return;
	}
	slots = array_grow(log->slots, log->slot_count, &log->slot_capacity, sizeof(*slots));
	if (!slots) {
		log->failed = true;
		return;
	}
	log->slots = slots;
	slots[log->slot_count] = (struct nccl_slot){ index, hca, process->first_slot };
	process->first_slot = (uint32_t)log->slot_count++;
}

/*
 * What a device is. NCCL prints the link layer "IB" of verbs, which Omni-Path has, too, and "RoCE"
 * for everything else. Names: hfi1 driver, and rdma-core's persistent names (rdma-ndd, rdma_rename).
 */
static enum nccl_fabric fabric_of(const char *name, const char *layer, size_t len)
{
	if (!strncmp(name, "hfi1_", 5) || !strncmp(name, "opa", 3))
		return NCCL_OMNI_PATH;
	if (!strncmp(name, "efa_", 4))
		return NCCL_EFA;
	if (!strncmp(name, "iwp", 3) || !strncmp(name, "cxgb", 4))
		return NCCL_IWARP;
	if (len >= 2 && !strncmp(layer, "IB", 2))
		return NCCL_INFINIBAND;
	return len >= 4 && !strncmp(layer, "RoCE", 4) ? NCCL_ROCE : NCCL_FABRIC_UNKNOWN;
}

/*
 * One device "mlx5_0:1/IB": since 2.4; the plugin IBext appends "/SHARP".
 * Return: what follows; NULL: it is not a device.
 */
static const char *device_read(struct nccl_log *log, struct nccl_process *process, const char *text, uint32_t index)
{
	size_t name = strcspn(text, ":/ ]},;"), layer;
	const char *at = text + name;
	unsigned long port;
	struct nccl_hca *hca;
	uint32_t found;
	char *end;

	if (*at != ':' || !name || name >= NCCL_NAME_SIZE)
		return NULL;
	port = strtoul(at + 1, &end, 10);
	if (end == at + 1 || *end != '/' || port > 255)
		return NULL;
	at = end + 1;
	layer = strcspn(at, "/ ]},;");
	found = hca_find(log, process->host, text, name, (uint8_t)port);
	if (found == UINT32_MAX)
		return NULL;
	hca = &log->hcas[found];
	hca->named = true;
	hca->fabric = fabric_of(hca->name, at, layer);
	at += layer;
	hca->sharp |= skip(at, "/SHARP", &at);
	slot_add(log, process, index, found);
	return at;
}

/*
 * "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>"
 * 2.20 to 2.23 print merged devices as " [0]={[0] mlx5_0:1/IB, [1] mlx5_1:1/IB}".
 */
static void devices_read(struct nccl_log *log, struct nccl_process *process, const char *text)
{
	bool merged = false;
	uint32_t index = 0;

	while (*text && *text != ';') {
		char *end;

		if (*text == '}')
			merged = false;
		if (*text++ != '[' || !isdigit((unsigned char)*text))
			continue;
		if (!merged)
			index = (uint32_t)strtoul(text, &end, 10);
		else
			strtoul(text, &end, 10);
		if (*end != ']')
			continue;
		text = end + 1;
		if (text[0] == '=' && text[1] == '{') {
			merged = true;
			continue;
		}
		text += *text == ' ';
		text = device_read(log, process, text, index);
		if (!text)
			return;
	}
}

/* " name=mlx5_0+mlx5_1 speed=400000 ndevs=2" of "Made virtual device [N]", since 2.24. */
static void virtual_read(struct nccl_log *log, struct nccl_process *process, const char *text)
{
	uint32_t index = (uint32_t)strtoul(text, NULL, 10), ndevs;
	const char *name = strstr(text, "name="), *speed = strstr(text, "speed="), *count = strstr(text, "ndevs=");

	if (!name || !speed || !count)
		return;
	ndevs = (uint32_t)strtoul(count + 6, NULL, 10);
	name += 5;
	while (ndevs && name < speed) {
		size_t len = strcspn(name, "+ ");
		/* The port is not printed: a device with two ports has a device each with one. */
		uint32_t found = len && len < NCCL_NAME_SIZE ? hca_find(log, process->host, name, len, 1) : UINT32_MAX;

		if (found == UINT32_MAX)
			return;
		log->hcas[found].speed_mbps = (uint32_t)(strtoul(speed + 6, NULL, 10) / ndevs);
		slot_add(log, process, index, found);
		if (name[len] != '+')
			return;
		name += len + 1;
	}
}

/* "NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:..." */
static void interfaces_read(struct nccl_log *log, const char *text)
{
	size_t len = 0;

	if (log->interfaces[0])
		return;
	while ((text = strchr(text, ']'))) {
		size_t name = strcspn(++text, ":< ");
		char word[32];

		nccl_copy(word, sizeof(word), text, name < sizeof(word) ? name : sizeof(word) - 1);
		if (!*word || len + strlen(word) + 2 > sizeof(log->interfaces))
			continue;
		if (len)
			log->interfaces[len++] = ' ';
		memcpy(log->interfaces + len, word, strlen(word) + 1);
		len += strlen(word);
	}
}

/* "Socket", or the plugin "FastSocket" of Google. */
static bool is_tcp(const char *network, size_t len)
{
	return len >= 6 && !memcmp(network + len - 6, "Socket", 6);
}

/* libfabric and sockets have device numbers of their own, other than those of "NET/IB : Using". */
static bool is_verbs(const char *network, size_t len)
{
	return !is_tcp(network, len) && !memmem(network, len, "Libfabric", 9) && !memmem(network, len, "OFI", 3) &&
	       !memmem(network, len, "GPUDirectTCPX", 13) && !memmem(network, len, "FasTrak", 7);
}

/* The fabric behind a network whose devices the log does not name. */
static enum nccl_fabric fabric_of_network(const struct nccl_log *log, const char *network, size_t len)
{
	static const struct { const char *provider; enum nccl_fabric fabric; } providers[] = {
		{ "efa", NCCL_EFA }, { "psm", NCCL_OMNI_PATH }, { "opx", NCCL_OMNI_PATH }, { "cxi", NCCL_SLINGSHOT },
		{ "tcp", NCCL_TCP }, { "sockets", NCCL_TCP },
	};
	if (is_tcp(network, len))
		return NCCL_TCP;
	if (memmem(network, len, "GPUDirectTCPX", 13) || memmem(network, len, "FasTrak", 7))
		return NCCL_GPUDIRECT_TCP;
	if (is_verbs(network, len))
		return NCCL_FABRIC_UNKNOWN;
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
		if (!strncmp(log->provider, providers[i].provider, strlen(providers[i].provider)))
			return providers[i].fabric;
	return NCCL_FABRIC_UNKNOWN;
}

static void hca_use(struct nccl_hca *hca, bool receive, bool direct)
{
	hca->sends += !receive;
	hca->receives += receive;
	hca->direct += direct;
}

/* A connection over device @index of @network; devices that were merged share it. */
static void connection_add(struct nccl_log *log, const struct nccl_process *process, const char *network, size_t len,
			   uint32_t index, bool receive, bool direct)
{
	char name[NCCL_NAME_SIZE + 16];
	bool found = false;
	uint32_t hca;

	log->net_connections++;
	log->net_direct += direct;
	log->net_tcp += fabric_of_network(log, network, len) == NCCL_TCP;
	if (!process)
		return;
	for (uint32_t at = process->first_slot; at != UINT32_MAX; at = log->slots[at].next) {
		if (log->slots[at].index != index || !is_verbs(network, len))
			continue;
		hca_use(&log->hcas[log->slots[at].hca], receive, direct);
		found = true;
	}
	if (found)
		return;
	snprintf(name, sizeof(name), "%.*s/%u", (int)(len < 48 ? len : 48), network, index);
	hca = hca_find(log, process->host, name, strlen(name), 0);
	if (hca == UINT32_MAX)
		return;
	log->hcas[hca].fabric = fabric_of_network(log, network, len);
	hca_use(&log->hcas[hca], receive, direct);
}

/*
 * "NET/IB/0", then "(PROXYRANK)" with PXN (since 2.12), "/GDRDMA", "(PCI)" (since 2.26), "/Shared"
 * (since 2.8), in RCCL " comm 0x... nRanks 16". A name may contain spaces and slashes.
 */
static bool net_read(struct nccl_log *log, const struct nccl_process *process, const char *text, bool receive)
{
	const char *slash = strchr(text, '/'), *rest;
	unsigned long index;
	bool direct;
	char *end;

	while (slash && !isdigit((unsigned char)slash[1]))
		slash = strchr(slash + 1, '/');
	if (!slash || slash == text)
		return false;
	index = strtoul(slash + 1, &end, 10);
	if (*end == '(') {
		strtoul(end + 1, &end, 10);
		if (*end++ != ')')
			return false;
	}
	rest = end;
	direct = skip(rest, "/GDRDMA", &rest);
	skip(rest, "(PCI)", &rest);
	skip(rest, "/Shared", &rest);
	if (index > 65535 || (*rest && *rest != ' '))
		return false;
	connection_add(log, process, text, (size_t)(slash - text), (uint32_t)index, receive, direct);
	return true;
}

/*
 * A connection of a channel; @text follows "Channel ", until 2.6 "Ring ". Numbers in brackets: none
 * in 2.4, bus ids until 2.17, GPUs since 2.18. "[send]" and "[receive]" since 2.4. Transports:
 * "P2P/IPC", "P2P/CUMEM", "direct shared memory" (until 2.12), "SHM/direct/direct", "NET/...".
 * Return: false: the message was torn.
 */
static bool channel_read(struct nccl_log *log, const struct nccl_process *process, const char *text)
{
	const char *via = strstr(text, " via "), *colon = strstr(text, " : ");

	if (!colon || colon - text > 12)
		return false;
	if (!strstr(colon, "->"))
		return strspn(colon, " :0123456789") == strlen(colon); /* the order of a ring */
	if (!via)
		return false;
	if (skip(via, " via NET/", &via))
		return net_read(log, process, via, strstr(text, "[receive]") != NULL);
	if (skip(via, " via P2P", &via))
		log->p2p_connections++;
	else if (skip(via, " via SHM", &via) || skip(via, " via direct shared", &via))
		log->shm_connections++;
	else
		return false;
	return true;
}

/* "CollNet 00/0 : 8 [send] via COLLNET/SHARP/0/GDRDMA", since 2.9. */
static bool collnet_read(struct nccl_log *log, const struct nccl_process *process, const char *text)
{
	const char *via = strstr(text, " via COLLNET/");

	/* Other messages begin with "CollNet channel", too. */
	if (!isdigit((unsigned char)*text))
		return true;
	if (!via || !net_read(log, process, via + 13, strstr(text, "[receive]") != NULL))
		return false;
	log->collnet_connections++;
	return true;
}

/* "8 coll channels, 0 collnet channels, 8 nvls channels, 16 p2p channels, 2 p2p channels per peer" */
static void channels_read(struct nccl_log *log, const char *text)
{
	const char *p2p = strstr(text, " p2p channels");
	uint32_t count = (uint32_t)strtoul(text, NULL, 10);

	if (count > log->channels && count <= 1024)
		log->channels = count;
	while (p2p > text && isdigit((unsigned char)p2p[-1]))
		p2p--;
	count = p2p ? (uint32_t)strtoul(p2p, NULL, 10) : 0;
	if (count > log->p2p_channels && count <= 1024)
		log->p2p_channels = count;
}

/* The largest number after a key. Something follows it: at the end of a line it may be torn. */
static void most(uint32_t *value, const char *text, const char *key)
{
	const char *at = strstr(text, key);
	char *end;
	unsigned long number = at ? strtoul(at + strlen(key), &end, 10) : 0;

	if (at && *end == ' ' && number > *value && number <= 10000000)
		*value = (uint32_t)number;
}

/* " rank 3 nranks 16": until 2.21 "nranks", and "nRanks". */
static void rank_read(struct nccl_log *log, struct nccl_process *process, const char *text)
{
	enum { RANKS_MOST = 1 << 20 };
	const char *at = strstr(text, " rank ");
	char *end;
	unsigned long rank = at ? strtoul(at + 6, &end, 10) : 0;
	uint32_t found, ranks = 0;

	if (!at || end == at + 6 || *end != ' ' || rank >= RANKS_MOST)
		return;
	most(&ranks, end, " nranks ");
	most(&ranks, end, " nRanks ");
	if (process && ranks > process->rank_of) {
		process->rank_of = ranks;
		process->rank = (uint32_t)rank;
	} else if (process && ranks == process->rank_of && rank != process->rank) {
		process->rank = UINT32_MAX;
	}
	if (map_get(&log->rank_map, rank + 1, &found))
		return;
	if (map_put(&log->rank_map, rank + 1, 1))
		log->failed = true;
	log->ranks_logged++;
}

/* "NCCL_IB_HCA set to mlx5_0,mlx5_1", "NCCL_NET_GDR_LEVEL set by environment to 5." (a dot after numbers) */
static void environment_read(struct nccl_log *log, const char *text)
{
	size_t name = strcspn(text, " "), len;
	const char *value;

	if (!skip(text + name, " set by environment to ", &value) && !skip(text + name, " set to ", &value))
		return;
	len = strlen(value);
	if (len && value[len - 1] == '.' && strspn(value, "-0123456789") == len - 1)
		len--;
	setting_add(log, log->settings, &log->setting_count, NCCL_SETTINGS_MOST, text, name, value, len);
}

static void network_read(struct nccl_log *log, struct nccl_process *process, const char *name)
{
	size_t len = strlen(name);

	setting_add(log, log->networks, &log->network_count, sizeof(log->networks) / sizeof(log->networks[0]),
		    "network", 7, name, len);
	for (size_t i = 0; process && i < log->network_count; i++)
		if (!strncmp(log->networks[i].value, name, sizeof(log->networks[i].value) - 1))
			process->network = (uint8_t)(i + 1);
}

/* "NCCL Dev 0 IbDev 0 Port 1 qpn 123 mtu 5 LID 17 subnet-prefix ...": of the port of this process. */
static void lid_read(struct nccl_log *log, const struct nccl_process *process, const char *text)
{
	const char *at = strstr(text, " qpn ") ? strstr(text, " LID ") : NULL;
	unsigned long lid = at ? strtoul(at + 5, NULL, 10) : 0;

	if (lid && lid < 0xc000 && map_put(&log->lid_map, lid, process->host))
		log->failed = true;
}

/*
 * "GPU Direct RDMA Disabled for GPU 1b000 / HCA 0 (distance 8 > 5)" until 2.27; of each network since 2.18
 * "NET/IBext_v8 : GPU Direct RDMA Enabled for HCA 0 'mlx5_0'"; of the plugin IBext "NET/IB : GPU Direct RDMA
 * (nvidia-peermem) enabled for HCA 0 'mlx5_0"; of aws-ofi-nccl "NET/OFI ... disabling GDR".
 */
static void direct_read(struct nccl_log *log, const char *text)
{
	const char *at = strstr(text, "GPU Direct RDMA ");
	bool off = strstr(text, "disabling GDR") != NULL;

	if (!strncmp(text, "NET/Socket", 10) || !strncmp(text, "NET/FastSocket", 14))
		return;
	at = at ? at + 16 : NULL;
	if (at && *at == '(' && strstr(at, ") "))
		at = strstr(at, ") ") + 2;
	off |= at && !strncasecmp(at, "disabled", 8);
	log->staged_devices += off;
	log->direct_devices += at && !strncasecmp(at, "enabled", 7);
	if (off && !log->gdr_reason[0])
		nccl_copy(log->gdr_reason, sizeof(log->gdr_reason), text, strlen(text));
}

/* Return: false: devices of an unknown process. */
static bool net_message(struct nccl_log *log, struct nccl_process *process, const char *text)
{
	const char *rest;

	if (!process && skip(text, "NET/IB : Using ", &rest))
		return false;
	if (process && skip(text, "NET/IB : Using ", &rest))
		devices_read(log, process, rest);
	else if (process && skip(text, "NET/IB: ", &rest))
		lid_read(log, process, rest);
	else if (skip(text, "NET/IB : No device found", &rest))
		log->no_device = true;
	else if (process && skip(text, "NET/IB : Made virtual device [", &rest))
		virtual_read(log, process, rest);
	else if (skip(text, "NET/Socket : Using ", &rest) || skip(text, "NET/FastSocket : Using ", &rest))
		interfaces_read(log, rest);
	else if (skip(text, "NET/OFI Selected Provider is ", &rest) ||
		 skip(text, "NET/OFI Selected provider is ", &rest))
		nccl_copy(log->provider, sizeof(log->provider), rest, strcspn(rest, " ,("));
	else if (skip(text, "NET/Plugin: Loaded coll", &rest))
		log->sharp_plugin |= strstr(rest, "SHARP") != NULL;
	else
		direct_read(log, text);
	return true;
}

void nccl_message(struct nccl_log *log, struct nccl_process *process, bool warn, const char *text)
{
	const char *rest;
	bool whole = true;

	if (warn) {
		nccl_warning_read(log, process, text);
		return;
	}
	/* Most messages are of channels. */
	if (skip(text, "Channel ", &rest) || skip(text, "Ring ", &rest))
		whole = channel_read(log, process, rest);
	else if (nccl_trace_read(log, process, text))
		return;
	else if (skip(text, "CollNet ", &rest))
		whole = collnet_read(log, process, rest);
	else if (skip(text, "NET/", &rest))
		whole = net_message(log, process, text);
	else if (skip(text, "Using network ", &rest))
		network_read(log, process, rest);
	else if (skip(text, "NCCL_", &rest) || skip(text, "RCCL_", &rest))
		environment_read(log, text);
	else if (skip(text, "GPU Direct RDMA ", &rest))
		direct_read(log, text);
	else if (skip(text, "Connected NVLS", &rest))
		log->nvls = true;
	else if (isdigit((unsigned char)*text) && strstr(text, " coll channels, "))
		channels_read(log, text);
	else if (strstr(text, "comm 0x")) {
		most(&log->ranks, text, " nranks ");
		most(&log->ranks, text, " nRanks ");
		most(&log->nodes, text, " nNodes ");
		rank_read(log, process, text);
		log->mnnvl |= strstr(text, " MNNVL 1") != NULL;
	}
	if (whole)
		return;
	unread_add(&log->torn, log->lines + 1);
	log->torn_connections += strncmp(text, "NET/", 4) != 0;
}
