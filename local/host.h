/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* host.h - HCAs, network interfaces and GPUs of one host, as sysfs has them */
#ifndef IBWIRE_LOCAL_HOST_H
#define IBWIRE_LOCAL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/speed.h"
#include "local/counters.h"
#include "local/root.h"

struct error;

enum { LOCAL_NAME_SIZE = 64, LOCAL_VALUE_SIZE = 96, LOCAL_ADDRESS_SIZE = 24 };

/* What a port speaks. */
enum local_protocol {
	LOCAL_PROTOCOL_UNKNOWN, LOCAL_PROTOCOL_INFINIBAND, LOCAL_PROTOCOL_ROCE, LOCAL_PROTOCOL_IWARP,
	LOCAL_PROTOCOL_OMNIPATH, LOCAL_PROTOCOL_EFA,
};

/* A device in the PCI tree. */
struct local_pci {
	char path[LOCAL_PATH_SIZE];       /* "sys/devices/pci0000:15/0000:15:01.0/..."; "": not known */
	char address[LOCAL_ADDRESS_SIZE]; /* "0000:18:00.0"; "": not known */
	long numa_node;                   /* -1: none, or not known */
};

struct local_gid {
	unsigned index;
	char gid[48];
	char type[24]; /* "RoCE v2", "IB/RoCE v1"; "": not known */
	char net[LOCAL_NAME_SIZE];
};

struct local_hca_port {
	unsigned num;
	char path[LOCAL_PATH_SIZE];
	enum local_protocol protocol;
	char link_layer[24], state[24], phys_state[32], rate[40]; /* as in sysfs, "" if not known */
	unsigned state_code;       /* IBA PortInfo.PortState, 4: Active; 0: not known */
	double gbps;               /* signalling rate as in sysfs; 0: not known */
	unsigned lanes;            /* 0: not known */
	enum link_speed speed;     /* LINK_SPEED_NONE: not known, or SDR, which sysfs does not name */
	bool lid_known, sm_lid_known;
	uint16_t lid, sm_lid;
	unsigned pkeys;            /* valid entries of the table */
	struct local_gid *gids;    /* other than zero */
	size_t gid_count, gid_capacity;
	char net[LOCAL_NAME_SIZE]; /* its network interface; "": none, or not known */
	struct local_counters counters;
};

struct local_hca {
	char name[LOCAL_NAME_SIZE], path[LOCAL_PATH_SIZE];
	char driver[24];           /* "mlx5", "mlx4", "hfi1", "bnxt_re", "irdma", "efa", or as in sysfs; "": unknown */
	char firmware[LOCAL_VALUE_SIZE], board[LOCAL_VALUE_SIZE], type[LOCAL_VALUE_SIZE];
	uint64_t guid;             /* 0: not known */
	bool virtual_function;     /* an SR-IOV virtual function whose physical function this host has */
	struct local_pci pci;
	struct local_hca_port *ports;
	size_t port_count, port_capacity;
};

enum { LOCAL_NET_ETHERNET = 1, LOCAL_NET_INFINIBAND = 32, LOCAL_NET_LOOPBACK = 772 }; /* ARPHRD_* */

struct local_net {
	char name[LOCAL_NAME_SIZE], path[LOCAL_PATH_SIZE], state[24];
	uint64_t type;       /* ARPHRD_*; 0: not known */
	uint64_t mtu;        /* 0: not known */
	uint64_t port;       /* dev_port, from 0 */
	uint64_t index;      /* ifindex; 0: not known */
	bool physical;       /* has a device */
	bool stacked;        /* bond, bridge, VLAN, representor: its bytes are those of another interface */
	struct local_pci pci;
	struct local_counters counters;
};

struct local_gpu {
	struct local_pci pci;
	const char *vendor;           /* "NVIDIA", "AMD", "Intel" */
	char model[LOCAL_NAME_SIZE];  /* as NVIDIA's driver names it; "": not known */
};

/* An adapter for RDMA that is in the PCI tree, but is not an HCA of this host. */
struct local_adapter {
	char address[LOCAL_ADDRESS_SIZE];
	char driver[24]; /* "vfio-pci"; "": none */
};

struct local_host {
	bool hcas_known, nets_known, pci_known; /* sysfs has the folder */
	struct local_hca *hcas;
	size_t hca_count, hca_capacity;
	struct local_net *nets;
	size_t net_count, net_capacity;
	struct local_gpu *gpus;
	size_t gpu_count, gpu_capacity;
	struct local_adapter *adapters;
	size_t adapter_count, adapter_capacity;
};

/*
 * local_host_read - read HCAs and network interfaces, and GPUs and adapters with @with_pci
 * Return: 0, or ERR_NOMEM.
 */
int local_host_read(struct local_root *root, bool with_pci, struct local_host *ret, struct error *err);
void local_host_done(struct local_host *host);

/* local_protocol_name - "InfiniBand", "RoCE", ...; "unknown". */
const char *local_protocol_name(enum local_protocol protocol);

const struct local_net *local_find_net(const struct local_host *host, const char *name);

/* How far two devices of the PCI tree are apart, named as nvidia-smi does. */
enum local_distance {
	LOCAL_PIX,  /* one PCIe switch */
	LOCAL_PXB,  /* several PCIe switches */
	LOCAL_PHB,  /* a PCIe host bridge */
	LOCAL_NODE, /* host bridges of one NUMA node */
	LOCAL_SYS,  /* NUMA nodes */
	LOCAL_DISTANCE_UNKNOWN,
};

enum local_distance local_distance(const struct local_pci *a, const struct local_pci *b);
const char *local_distance_name(enum local_distance distance); /* "PIX" */

#endif
