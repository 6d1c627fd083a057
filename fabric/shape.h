/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shape.h - the structure of a fabric: tiers, hosts, rails, uplink groups
 *
 * A pure function of a fabric and of settings, computed when the topology changes and then
 * read-only. It uses identity and cabling, never port numbers.
 *
 * Tier 1 are the switches with hosts (leaves), each further tier is above the previous one. A link
 * between neighboring tiers is an uplink of the lower and a downlink of the upper switch. A switch
 * that fits no tier has tier 0 and a reason. Hosts on a core switch (management, storage,
 * aggregation nodes) do not make it a leaf.
 *
 * Built and current state are separate: a cable whose link is down counts as built while the
 * topology contains it, or its siblings imply it. Cables that were never seen up are unknown.
 */
#ifndef IBWIRE_FABRIC_SHAPE_H
#define IBWIRE_FABRIC_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/names.h"

struct error;
struct host_set;
struct fabric;

/* No host, rail, group or plane. */
#define SHAPE_NONE UINT32_MAX

enum shape_kind {
	SHAPE_FAT_TREE,  /* every switch has a tier, every link leads one tier up or down */
	SHAPE_IRREGULAR, /* mostly a tree: some switches or links do not fit */
	SHAPE_NO_TREE,   /* torus, mesh, dragonfly ...: no tiers */
	SHAPE_NO_SWITCH, /* HCAs cabled to each other, or a single node */
	SHAPE_UNKNOWN,   /* no switch has a host: tiers cannot be found */
	SHAPE_ONE_SWITCH, /* all hosts are on one switch */
};

/* Purpose of a node, from its device, description and GUIDs; settings take precedence. */
enum node_class {
	CLASS_COMPUTE, CLASS_STORAGE, CLASS_MANAGEMENT, /* the host of a subnet manager is management */
	CLASS_ROUTER, CLASS_AGGREGATION, CLASS_SWITCH, CLASS_COUNT,
};

/* Reason why a switch has no tier. */
enum shape_why {
	SHAPE_FITS,        /* it has a tier */
	SHAPE_UNCONNECTED, /* no path to the largest part of the fabric */
	SHAPE_SAME_TIER,   /* linked to a switch of its own tier */
	SHAPE_SKIPS_TIER,  /* linked past a tier */
	SHAPE_NO_HOSTS_BELOW, /* no path down to a host, and connects nothing */
	SHAPE_WHOLE_NO_TREE,  /* the fabric is not a tree */
	SHAPE_WHY_COUNT,
};

struct shape_node {
	uint8_t tier;   /* of a switch, from 1; 0: none */
	uint8_t why;    /* enum shape_why */
	uint8_t class;  /* enum node_class */
	uint8_t part;   /* unconnected part of the fabric, 0: the largest; 255: 255 and more */
	uint32_t host;  /* index into hosts, or SHAPE_NONE */
	uint32_t plane; /* of spines and above, or of all switches of separate planes: its index, or SHAPE_NONE */
	uint32_t up_group; /* of a switch: group of its uplinks, or SHAPE_NONE */
	uint32_t box;   /* index of the switch, or else the node, with the lowest GUID of its SystemImageGUID */
};

/* Direction of a port. */
enum shape_way {
	WAY_NONE,
	WAY_HOST,   /* of a switch: to an HCA of any class, or to a router */
	WAY_UP, WAY_DOWN, WAY_ACROSS,
	WAY_SWITCH, /* of an HCA */
};

/* Why a link runs below the rate it could (fabric/shape/slow.c). */
enum link_verdict {
	LINK_NOT_DEGRADED, /* or not known; always if an end is not Active */
	LINK_NARROW, LINK_SLOW, /* fewer lanes or a lower speed than both ends can do */
	LINK_LIMITED,      /* both ends can do more than is enabled */
	LINK_BELOW_NEIGHBORS, /* comparable links are faster */
};

struct shape_port {
	uint8_t way;    /* enum shape_way; without a peer WAY_NONE */
	uint8_t verdict; /* enum link_verdict, the same at both ends */
	uint32_t rail;  /* of an HCA port: index into rails, or SHAPE_NONE */
	uint32_t group; /* its group, or SHAPE_NONE */
	uint16_t cage, split; /* as printed on the front panel: "6.2" is 6 and 2; 0: unknown, or not split */
};

/* The HCAs of one host. */
struct shape_host {
	const char *name;     /* unique among hosts (owned by the shape) */
	uint64_t system_guid; /* 0: its HCAs differ */
	uint8_t class;
	uint32_t first, count; /* in host_nodes: HCA nodes, in natural order of device */
};

/* HCA ports with the same device in most hosts, on the same set of leaves. */
struct shape_rail {
	const char *name;      /* device name ("mlx5_3"), or the name from the settings (owned by the shape) */
	uint8_t class;
	uint32_t first, count; /* in rail_ports: HCA ports, in order of host */
	uint32_t first_leaf, leaves; /* in rail_leaves: leaves that serve it */
	uint32_t miswired;     /* number of its ports cabled to a leaf of another rail */
};

/*
 * Ports of one switch among which traffic can be distributed: all of its uplinks, or all of its
 * links down to one switch. Members are ports that have a peer, in any state.
 */
enum shape_group_kind { GROUP_UP, GROUP_DOWN, GROUP_ACROSS };

struct shape_group {
	uint8_t kind;          /* enum shape_group_kind */
	uint8_t tier;          /* of its switch */
	uint32_t node;         /* its switch */
	uint32_t peer;         /* GROUP_DOWN, GROUP_ACROSS: the other switch; GROUP_UP: FABRIC_NONE */
	uint32_t first, count; /* in members: ports, in order of number */
	uint32_t built;        /* expected size: that of most comparable groups; count where unknown */
};

/* Two switches connected by fewer cables than comparable pairs. */
struct shape_missing {
	uint32_t low, high;      /* switches, indices of nodes */
	uint32_t links, expected;
};

/* An HCA port on a leaf that does not serve its rail. */
struct shape_miswired {
	uint32_t port;      /* of the HCA */
	uint32_t leaf;      /* its leaf */
	uint32_t leaf_rail; /* the rail of that leaf */
};

/* A degraded link. */
struct shape_slow {
	uint32_t port;           /* the end with the lower GUID; of a link to an HCA that of the switch */
	uint64_t bits_per_s;     /* current rate */
	uint64_t expected_bits_per_s;
};

struct shape_tier {
	uint32_t switches, boxes;
	uint32_t links_up, links_up_active;  /* to the tier above; built and Active */
	uint64_t up_bits_per_s, up_bits_per_s_now;     /* data rate of all links up, one way: as built, now */
	uint64_t down_bits_per_s, down_bits_per_s_now; /* of all downlinks, including those to hosts */
};

#define SHAPE_TIERS_MAX 8

struct shape {
	const struct fabric *fabric; /* borrowed, must outlive the shape */
	enum shape_kind kind;
	char reason[160];            /* one line: reason for this kind, irregularities */
	unsigned tier_count;
	unsigned parts;              /* number of unconnected parts */
	struct shape_tier tiers[SHAPE_TIERS_MAX + 1]; /* by tier; [0] is not used */
	struct shape_node *nodes;    /* by node */
	struct shape_port *ports;    /* by port */
	uint64_t *built_bits_per_s;  /* by port of a switch: rate its link is built for; 0: unknown */
	struct shape_host *hosts;    /* in natural order of name */
	uint32_t *host_nodes;
	struct shape_rail *rails;    /* compute first, then in natural order of name */
	uint32_t *rail_ports, *rail_leaves;
	struct shape_group *groups;
	uint32_t *members;
	struct shape_missing *missing;
	struct shape_miswired *miswired;
	struct shape_slow *slow;
	size_t host_count, rail_count, group_count, missing_count, miswired_count, slow_count;
	uint32_t empty_leaves; /* leaves without a host */
	uint32_t across, skips; /* links within a tier, and links that skip a tier */
	uint32_t loops;        /* links of a switch to itself */
	uint32_t plane_count;
	/* Sets of at least two switches that are joined only by links within a tier; 0: none. */
	uint32_t island_count, island_links;
	uint64_t bisection_bits_per_s, bisection_bits_per_s_now; /* of the narrowest cut; 0: unknown */
	bool bisection_at_most;      /* not all cuts were compared: both are upper bounds */
	char bisection_cut[80];      /* which links that cut is: "half of the links from tier 1 up to tier 2" */
	struct shape_piece *memory;  /* private */
};

/*
 * Information that cannot be read from the fabric. Patterns are globs (fnmatch) on names; each list
 * ends with a NULL pattern.
 */
struct shape_settings {
	struct shape_class_rule { const char *pattern; uint8_t class; } *classes; /* by name */
	struct shape_rail_rule { const char *pattern, *rail; } *rails; /* pattern of "HOST DEVICE" */
	/* Adaptive routing of switches, which standard MADs do not show. */
	struct shape_adaptive_rule { const char *pattern; bool on; } *adaptive;
};

/*
 * shape_create - compute the shape of a fabric
 * @settings:  or NULL
 *
 * Return: 0, also if it is not a tree (see kind); ERR_NOMEM.
 */
int shape_create(const struct fabric *fabric, const struct shape_settings *settings, struct shape **ret,
		 struct error *err);
void shape_destroy(struct shape *shape);

/*
 * shape_oversubscription - bandwidth down divided by bandwidth up of a switch, as built or now; NAN:
 * no uplinks, or their rates are unknown.
 */
double shape_oversubscription(const struct shape *shape, uint32_t node, bool now);

/*
 * shape_hosts_named - the hosts that a batch system calls by this name: "node1.cluster" and "node1" are one, unless the
 * fabric has the name as it is given; cloned hosts, "gpu (0x...)", are all called "gpu"
 * shape_find_host - the same, if it is one
 * Return: index into hosts, of the first of *@ret_count; or SHAPE_NONE.
 */
uint32_t shape_hosts_named(const struct shape *shape, const char *name, uint32_t *ret_count);
uint32_t shape_find_host(const struct shape *shape, const char *name);

/*
 * shape_name_hosts - the hosts of a set as the shape calls them; names that the fabric does not have remain
 * @ret:  zeroed; its names are borrowed from both: free(@ret->names), also after an error
 */
int shape_name_hosts(const struct shape *shape, const struct host_set *hosts, struct host_set *ret, struct error *err);

/*
 * shape_mark_hosts - the hosts of a job
 * @list:     as batch systems write it (fabric/host_set.h); one that cannot be read has no hosts; "": all compute hosts
 * @ret:      by host, zeroed
 * @missing:  for host_set_done(): names that the fabric does not have, once each, in natural order; or NULL
 * Return: the number of names or hosts that were looked at; or ERR_NOMEM.
 */
int shape_mark_hosts(const struct shape *shape, const char *list, bool *ret, struct host_set *missing,
		     struct error *err);

/* Names: "compute", "fat-tree", "linked to a switch of its own tier", "width"; "": not degraded. */
const char *node_class_name(uint8_t class);
const char *shape_kind_name(enum shape_kind kind);
const char *shape_why_text(uint8_t why);
const char *link_verdict_name(uint8_t verdict);

/*
 * shape_tier_name - "leaf", "spine", "core", "tier4" for tiers from 1 on; "switch" for 0
 * Return: @ret.
 */
#define SHAPE_TIER_SIZE 16
const char *shape_tier_name(unsigned tier, char ret[SHAPE_TIER_SIZE]);

/*
 * shape_port_role - role of a port: "leaf-uplink", "spine-downlink", "leaf-to-host", "leaf-to-aggregation",
 * "leaf-to-router", "across" for switches; the class for HCAs: "compute", "storage" ...
 * Return: @ret; NULL: the port has no peer.
 */
#define SHAPE_ROLE_SIZE 32
const char *shape_port_role(const struct shape *shape, uint32_t port, char ret[SHAPE_ROLE_SIZE]);

/* shape_serves_host - is it a port of a switch to an HCA of a host, not to an aggregation node or a router? */
bool shape_serves_host(const struct shape *shape, uint32_t port);

/* link_is_degraded - has the link of a port a verdict? @shape: or NULL: not known */
bool link_is_degraded(const struct shape *shape, uint32_t port);

/* shape_port_tier - tier of the switch of a port; 0: an HCA, or no tier. */
unsigned shape_port_tier(const struct shape *shape, uint32_t port);

/* shape_unit_name - the name of the host of a node, or the displayed name of one that is in no host */
const char *shape_unit_name(const struct shape *shape, uint32_t node);

/*
 * shape_port_name - "NAME/PORT" with the displayed name, and with the cage if it is known and differs
 * from the port number: "leaf01/12 (cage 6.2)"
 * @ret:  @size bytes
 * Return: @ret.
 */
const char *shape_port_name(const struct shape *shape, uint32_t port, char *ret, size_t size);

#endif
