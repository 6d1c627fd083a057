/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "local/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"

enum { GIDS_MOST = 1024, PORTS_MOST = 255 };

const char *local_protocol_name(enum local_protocol protocol)
{
	static const char *const names[] = {
		[LOCAL_PROTOCOL_UNKNOWN] = "unknown", [LOCAL_PROTOCOL_INFINIBAND] = "InfiniBand",
		[LOCAL_PROTOCOL_ROCE] = "RoCE", [LOCAL_PROTOCOL_IWARP] = "iWARP",
		[LOCAL_PROTOCOL_OMNIPATH] = "Omni-Path", [LOCAL_PROTOCOL_EFA] = "EFA",
	};

	return names[protocol];
}

/* The last component of a path. */
static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void read_pci(struct local_root *root, const char *link, struct local_pci *ret)
{
	char numa[24], domain[16];
	unsigned bus, slot, function;

	*ret = (struct local_pci){ .numa_node = -1 };
	if (!local_resolve(root, link, ret->path)) {
		ret->path[0] = '\0';
		return;
	}
	if (strlen(last_part(ret->path)) < sizeof(ret->address) &&
	    sscanf(last_part(ret->path), "%8[0-9a-f]:%x:%x.%x", domain, &bus, &slot, &function) == 4)
		snprintf(ret->address, sizeof(ret->address), "%.23s", last_part(ret->path));
	if (local_read(root, numa, sizeof(numa), "%s/numa_node", ret->path))
		ret->numa_node = strtol(numa, NULL, 10);
}

/* Drivers by the names that their devices and kernel modules have. */
static const struct {
	const char *prefix, *driver;
} drivers[] = {
	{ "mlx5", "mlx5" }, { "mlx4", "mlx4" }, { "hfi1", "hfi1" }, { "bnxt", "bnxt_re" }, { "irdma", "irdma" },
	{ "ice", "irdma" }, { "i40e", "irdma" }, { "idpf", "irdma" }, { "efa", "efa" }, { "rxe", "rxe" },
	{ "siw", "siw" },
};

static const char *driver_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
		if (!strncmp(name, drivers[i].prefix, strlen(drivers[i].prefix)))
			return drivers[i].driver;
	return NULL;
}

/* The driver, from the device, the name, or counters that only one driver has: udev may have renamed the HCA. */
static void find_driver(struct local_root *root, struct local_hca *hca)
{
	static const struct {
		const char *file, *driver;
	} marks[] = {
		{ "rx_write_requests", "mlx5" }, { "rq_num_oos", "mlx4" }, { "seq_err_naks_rcvd", "bnxt_re" },
		{ "ip4InOctets", "irdma" }, { "rdma_read_wrs", "efa" }, { "recv_wrs", "efa" },
	};
	char link[LOCAL_PATH_SIZE + 8], target[LOCAL_PATH_SIZE];
	const char *driver = NULL;

	snprintf(link, sizeof(link), "%s/driver", hca->pci.path);
	if (hca->pci.path[0] && strlen(link) < LOCAL_PATH_SIZE && local_resolve(root, link, target)) {
		driver = driver_by_name(last_part(target));
		snprintf(hca->driver, sizeof(hca->driver), "%.23s", driver ? driver : last_part(target));
		return;
	}
	driver = driver_by_name(hca->name);
	for (size_t i = 0; !driver && hca->port_count && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (local_exists(root, "%s/hw_counters/%s", hca->ports[0].path, marks[i].file) ||
		    local_exists(root, "%s/hw_counters/%s", hca->path, marks[i].file))
			driver = marks[i].driver;
	snprintf(hca->driver, sizeof(hca->driver), "%s", driver ? driver : "");
}

static enum local_protocol find_protocol(struct local_root *root, const struct local_hca *hca,
					 const struct local_hca_port *port)
{
	char type[32];

	/* hfi1 and efa are no InfiniBand, whatever their link layer is ("InfiniBand", "Unknown"). */
	if (!strcmp(hca->driver, "hfi1"))
		return LOCAL_PROTOCOL_OMNIPATH;
	if (!strcmp(hca->driver, "efa"))
		return LOCAL_PROTOCOL_EFA;
	if (!strcmp(port->link_layer, "InfiniBand"))
		return LOCAL_PROTOCOL_INFINIBAND;
	if (strcmp(port->link_layer, "Ethernet"))
		return LOCAL_PROTOCOL_UNKNOWN;
	/* "4: RNIC"; Source: Linux, drivers/infiniband/core/sysfs.c, node_type_show. */
	if (local_read(root, type, sizeof(type), "%s/node_type", hca->path) && type[0] == '4')
		return LOCAL_PROTOCOL_IWARP;
	return LOCAL_PROTOCOL_ROCE;
}

/* "400 Gb/sec (4X NDR)", "10 Gb/sec (4X)" is SDR. */
static void parse_rate(struct local_hca_port *port)
{
	char speed[8] = "";
	unsigned lanes;
	double gbps;

	if (sscanf(port->rate, "%lf Gb/sec (%uX %7[A-Z0-9])", &gbps, &lanes, speed) < 2)
		return;
	if (!(gbps > 0 && gbps < 1e6) || lanes > 12)
		return;
	port->gbps = gbps;
	port->lanes = lanes;
	port->speed = speed[0] ? link_speed_by_name(speed) : LINK_SPEED_NONE;
}

static bool is_zero_gid(const char *gid)
{
	return strspn(gid, "0:") == strlen(gid) || !strcmp(gid, "fe80:0000:0000:0000:0000:0000:0000:0000");
}

static int read_gids(struct local_root *root, struct local_hca_port *port)
{
	struct local_names names = { 0 };
	struct local_gid gid, *added;
	int code = local_list(root, &names, "%s/gids", port->path);

	for (size_t i = 0; i < names.count && code == 0 && port->gid_count < GIDS_MOST; i++) {
		gid = (struct local_gid){ .index = (unsigned)strtoul(names.names[i], NULL, 10) };
		if (!local_read(root, gid.gid, sizeof(gid.gid), "%s/gids/%s", port->path, names.names[i]) ||
		    is_zero_gid(gid.gid))
			continue;
		local_read(root, gid.type, sizeof(gid.type), "%s/gid_attrs/types/%s", port->path, names.names[i]);
		local_read(root, gid.net, sizeof(gid.net), "%s/gid_attrs/ndevs/%s", port->path, names.names[i]);
		added = array_add(&port->gids, &port->gid_count, &port->gid_capacity, sizeof(*added));
		if (added)
			*added = gid;
		else
			code = ERR_NOMEM;
		if (gid.net[0] && !port->net[0])
			snprintf(port->net, sizeof(port->net), "%s", gid.net);
	}
	local_names_done(&names);
	return code;
}

static int read_port(struct local_root *root, struct local_hca_port *port)
{
	struct local_names pkeys = { 0 };
	uint64_t number;
	int code;

	local_read(root, port->link_layer, sizeof(port->link_layer), "%s/link_layer", port->path);
	local_read(root, port->state, sizeof(port->state), "%s/state", port->path);
	local_read(root, port->phys_state, sizeof(port->phys_state), "%s/phys_state", port->path);
	local_read(root, port->rate, sizeof(port->rate), "%s/rate", port->path);
	port->state_code = port->state[0] >= '0' && port->state[0] <= '9' ? (unsigned)(port->state[0] - '0') : 0;
	parse_rate(port);
	port->lid_known = local_read_number(root, &number, "%s/lid", port->path);
	port->lid = port->lid_known ? (uint16_t)number : 0;
	port->sm_lid_known = local_read_number(root, &number, "%s/sm_lid", port->path);
	port->sm_lid = port->sm_lid_known ? (uint16_t)number : 0;
	code = read_gids(root, port);
	if (code == 0)
		code = local_list(root, &pkeys, "%s/pkeys", port->path);
	for (size_t i = 0; i < pkeys.count; i++)
		if (local_read_number(root, &number, "%s/pkeys/%s", port->path, pkeys.names[i]) && number & 0x7fff)
			port->pkeys++;
	local_names_done(&pkeys);
	return code;
}

static int read_ports(struct local_root *root, struct local_hca *hca)
{
	struct local_names names = { 0 };
	struct local_hca_port *port;
	int code = local_list(root, &names, "%s/ports", hca->path);

	for (size_t i = 0; i < names.count && code == 0 && hca->port_count < PORTS_MOST; i++) {
		unsigned long num = strtoul(names.names[i], NULL, 10);

		if (num < 1 || num > PORTS_MOST)
			continue;
		port = array_add(&hca->ports, &hca->port_count, &hca->port_capacity, sizeof(*port));
		if (!port) {
			code = ERR_NOMEM;
			break;
		}
		port->num = (unsigned)num;
		snprintf(port->path, LOCAL_PATH_SIZE, "%.400s/ports/%.16s", hca->path, names.names[i]);
		code = read_port(root, port);
	}
	local_names_done(&names);
	return code;
}

static int read_hca(struct local_root *root, const char *name, struct local_hca *hca)
{
	char path[LOCAL_PATH_SIZE], guid[24];
	unsigned g[4];
	int code;

	snprintf(hca->name, sizeof(hca->name), "%.63s", name);
	snprintf(path, sizeof(path), "sys/class/infiniband/%.255s", name);
	local_resolve(root, path, hca->path);
	snprintf(path, sizeof(path), "%.400s/device", hca->path);
	read_pci(root, path, &hca->pci);
	hca->virtual_function = local_exists(root, "%s/device/physfn", hca->path);
	local_read(root, hca->firmware, sizeof(hca->firmware), "%s/fw_ver", hca->path);
	local_read(root, hca->board, sizeof(hca->board), "%s/board_id", hca->path);
	local_read(root, hca->type, sizeof(hca->type), "%s/hca_type", hca->path);
	if (local_read(root, guid, sizeof(guid), "%s/node_guid", hca->path) &&
	    sscanf(guid, "%4x:%4x:%4x:%4x", &g[0], &g[1], &g[2], &g[3]) == 4)
		hca->guid = (uint64_t)g[0] << 48 | (uint64_t)g[1] << 32 | (uint64_t)g[2] << 16 | g[3];
	code = read_ports(root, hca);
	find_driver(root, hca);
	for (size_t i = 0; i < hca->port_count && code == 0; i++) {
		hca->ports[i].protocol = find_protocol(root, hca, &hca->ports[i]);
		/* hfi1/mad.c returns FLITs of 8 octets, everything else words of 4 (IBA, PortCounters). */
		local_counters_read_port(root, hca->path, hca->ports[i].path, strcmp(hca->driver, "hfi1") ? 4 : 8,
					 hca->port_count == 1, &hca->ports[i].counters);
	}
	return code;
}

static int read_hcas(struct local_root *root, struct local_host *host)
{
	struct local_names names = { 0 };
	struct local_hca *hca;
	int code = local_list(root, &names, "sys/class/infiniband");

	host->hcas_known = local_exists(root, "sys/class/infiniband") || local_exists(root, "sys/class");
	for (size_t i = 0; i < names.count && code == 0; i++) {
		/* A stray file in a copied folder is no HCA. */
		if (!local_exists(root, "sys/class/infiniband/%s/.", names.names[i])) {
			local_problem(root, names.names[i], "in sys/class/infiniband is not an HCA's folder");
			continue;
		}
		hca = array_add(&host->hcas, &host->hca_count, &host->hca_capacity, sizeof(*hca));
		code = hca ? read_hca(root, names.names[i], hca) : ERR_NOMEM;
	}
	local_names_done(&names);
	return code;
}

static int read_net(struct local_root *root, const char *name, struct local_net *net)
{
	struct local_names entries = { 0 };
	char path[LOCAL_PATH_SIZE], below[LOCAL_PATH_SIZE], port[32];
	int code;

	snprintf(net->name, sizeof(net->name), "%.63s", name);
	snprintf(path, sizeof(path), "sys/class/net/%.255s", name);
	local_resolve(root, path, net->path);
	snprintf(path, sizeof(path), "%.400s/device", net->path);
	read_pci(root, path, &net->pci);
	net->physical = net->pci.path[0];
	local_read(root, net->state, sizeof(net->state), "%s/operstate", net->path);
	local_read_number(root, &net->type, "%s/type", net->path);
	local_read_number(root, &net->mtu, "%s/mtu", net->path);
	local_read_number(root, &net->port, "%s/dev_port", net->path);
	local_read_number(root, &net->index, "%s/ifindex", net->path);
	/* Representors of virtual functions, "pf0vf1": the physical port carries the same bytes. */
	net->stacked = local_read(root, port, sizeof(port), "%s/phys_port_name", net->path) && !strncmp(port, "pf", 2);
	code = local_list(root, &entries, "%s", net->path);
	for (size_t i = 0; i < entries.count; i++)
		if (!strncmp(entries.names[i], "lower_", 6) || !strcmp(entries.names[i], "bridge")) {
			snprintf(path, sizeof(path), "%.400s/%.64s", net->path, entries.names[i]);
			net->stacked |= local_resolve(root, path, below);
		}
	local_names_done(&entries);
	local_counters_read_net(root, net->path, &net->counters);
	return code;
}

static int read_nets(struct local_root *root, struct local_host *host)
{
	struct local_names names = { 0 };
	struct local_net *net;
	int code = local_list(root, &names, "sys/class/net");

	host->nets_known = local_exists(root, "sys/class/net");
	for (size_t i = 0; i < names.count && code == 0; i++) {
		/* "bonding_masters" is a file. */
		if (!local_exists(root, "sys/class/net/%s/.", names.names[i]))
			continue;
		net = array_add(&host->nets, &host->net_count, &host->net_capacity, sizeof(*net));
		code = net ? read_net(root, names.names[i], net) : ERR_NOMEM;
	}
	local_names_done(&names);
	return code;
}

/* Interfaces of the ports: by the GID table, else by the device. */
static void match_nets(struct local_host *host)
{
	for (size_t i = 0; i < host->hca_count; i++) {
		struct local_hca *hca = &host->hcas[i];

		for (size_t j = 0; j < hca->port_count; j++)
			for (size_t k = 0; k < host->net_count && !hca->ports[j].net[0]; k++) {
				const struct local_net *net = &host->nets[k];

				if (net->physical && !strcmp(net->pci.path, hca->pci.path) &&
				    (hca->port_count == 1 || net->port == hca->ports[j].num - 1))
					snprintf(hca->ports[j].net, LOCAL_NAME_SIZE, "%s", net->name);
			}
	}
}

const struct local_net *local_find_net(const struct local_host *host, const char *name)
{
	for (size_t i = 0; i < host->net_count; i++)
		if (!strcmp(host->nets[i].name, name))
			return &host->nets[i];
	return NULL;
}

/* Vendors of GPUs by PCI id, with the classes 03 (display) and 12 (processing accelerators). */
static const char *gpu_vendor(uint64_t vendor, uint64_t class)
{
	uint64_t base = class >> 16;

	if (base != 0x03 && base != 0x12)
		return NULL;
	switch (vendor) {
	case 0x10de:
		return "NVIDIA";
	case 0x1002:
		return "AMD";
	case 0x8086: /* processor graphics are class 0300 */
		return class >> 8 == 0x0300 ? NULL : "Intel";
	case 0x1da3:
		return "Habana";
	default:
		return NULL;
	}
}

static int compare_gpus(const void *a, const void *b)
{
	return strcmp(((const struct local_gpu *)a)->pci.address, ((const struct local_gpu *)b)->pci.address);
}

/* "Model:           NVIDIA GB10". Source: NVIDIA's driver README, "The /proc/driver/nvidia Directory". */
static void read_model(struct local_root *root, struct local_gpu *gpu)
{
	struct text text = { 0 };
	char path[LOCAL_PATH_SIZE];
	const char *line = NULL;

	snprintf(path, sizeof(path), "proc/driver/nvidia/gpus/%s/information", gpu->pci.address);
	if (gpu->pci.address[0] && local_read_text(root, &text, LOCAL_VALUE_MOST, path))
		line = strstr(text_chars(&text), "Model:");
	if (line) {
		line += strlen("Model:");
		line += strspn(line, " \t");
		text_sanitise(line, strcspn(line, "\n"), gpu->model, sizeof(gpu->model));
	}
	text_done(&text);
}

static int add_gpu(struct local_root *root, struct local_host *host, const char *link, const char *vendor)
{
	struct local_gpu *gpu = array_add(&host->gpus, &host->gpu_count, &host->gpu_capacity, sizeof(*gpu));

	if (!gpu)
		return ERR_NOMEM;
	gpu->vendor = vendor;
	read_pci(root, link, &gpu->pci);
	read_model(root, gpu);
	return 0;
}

/* NVIDIA's (Mellanox) network adapters, and InfiniBand controllers of any vendor (class 0207). */
static bool is_adapter(uint64_t vendor, uint64_t class)
{
	return class >> 8 == 0x0207 || (vendor == 0x15b3 && class >> 8 == 0x0200);
}

static int add_adapter(struct local_root *root, struct local_host *host, const char *device, const char *address)
{
	struct local_adapter *adapter;
	char link[LOCAL_PATH_SIZE], driver[LOCAL_PATH_SIZE];

	if (strlen(device) > LOCAL_PATH_SIZE - 16 || local_exists(root, "%s/infiniband", device))
		return 0;
	adapter = array_add(&host->adapters, &host->adapter_count, &host->adapter_capacity, sizeof(*adapter));
	if (!adapter)
		return ERR_NOMEM;
	snprintf(adapter->address, sizeof(adapter->address), "%.23s", address);
	snprintf(link, sizeof(link), "%.490s/driver", device);
	if (local_resolve(root, link, driver))
		snprintf(adapter->driver, sizeof(adapter->driver), "%.23s", last_part(driver));
	return 0;
}

static int read_pci_devices(struct local_root *root, struct local_host *host)
{
	struct local_names names = { 0 };
	int code = local_list(root, &names, "sys/bus/pci/devices");

	host->pci_known = names.count > 0;
	for (size_t i = 0; i < names.count && code == 0; i++) {
		char path[LOCAL_PATH_SIZE], device[LOCAL_PATH_SIZE];
		uint64_t vendor, class;
		const char *name;

		snprintf(path, sizeof(path), "sys/bus/pci/devices/%.255s", names.names[i]);
		if (!local_resolve(root, path, device) || !local_read_number(root, &class, "%s/class", device) ||
		    !local_read_number(root, &vendor, "%s/vendor", device))
			continue;
		name = gpu_vendor(vendor, class);
		if (name)
			code = add_gpu(root, host, path, name);
		else if (is_adapter(vendor, class))
			code = add_adapter(root, host, device, names.names[i]);
	}
	/* Addresses are hexadecimal, which natural order is not. */
	if (host->gpu_count)
		qsort(host->gpus, host->gpu_count, sizeof(*host->gpus), compare_gpus);
	local_names_done(&names);
	return code;
}

int local_host_read(struct local_root *root, bool with_pci, struct local_host *ret, struct error *err)
{
	int code;

	*ret = (struct local_host){ .hca_count = 0 };
	code = read_hcas(root, ret);
	if (code == 0)
		code = read_nets(root, ret);
	if (code == 0 && with_pci)
		code = read_pci_devices(root, ret);
	if (code == 0) {
		match_nets(ret);
		return 0;
	}
	local_host_done(ret);
	return err_nomem(err);
}

void local_host_done(struct local_host *host)
{
	for (size_t i = 0; i < host->hca_count; i++) {
		for (size_t j = 0; j < host->hcas[i].port_count; j++)
			free(host->hcas[i].ports[j].gids);
		free(host->hcas[i].ports);
	}
	free(host->hcas);
	free(host->nets);
	free(host->gpus);
	free(host->adapters);
	*host = (struct local_host){ .hca_count = 0 };
}

/* The bridges above a device: the part of the path from "pciDDDD:BB/", after which they are listed. */
static const char *root_complex(const struct local_pci *pci)
{
	const char *found = strstr(pci->path, "/pci");

	return found ? found + 1 : NULL;
}

static unsigned count_parts(const char *path)
{
	unsigned parts = 0;

	for (; *path; path++)
		parts += *path == '/';
	return parts;
}

enum local_distance local_distance(const struct local_pci *a, const struct local_pci *b)
{
	const char *x = root_complex(a), *y = root_complex(b);
	size_t common = 0;
	unsigned shared = 0;

	if (!x || !y)
		return LOCAL_DISTANCE_UNKNOWN;
	for (size_t i = 0; x[i] && x[i] == y[i]; i++)
		if (x[i] == '/') {
			shared++;
			common = i;
		}
	if (!shared)
		return a->numa_node >= 0 && b->numa_node >= 0 && a->numa_node != b->numa_node ? LOCAL_SYS : LOCAL_NODE;
	if (shared == 1)
		return LOCAL_PHB;
	/* Below one switch both have a downstream port of it above them at most. */
	return count_parts(x + common) <= 2 && count_parts(y + common) <= 2 ? LOCAL_PIX : LOCAL_PXB;
}

const char *local_distance_name(enum local_distance distance)
{
	static const char *const names[] = { "PIX", "PXB", "PHB", "NODE", "SYS", "not known" };

	return names[distance];
}
