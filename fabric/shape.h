/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shape.h - what a fabric is built like: tiers, hosts, rails, uplink groups
 *
 * A pure function of a fabric and of settings: made when the topology changes,
 * then only read. Everything is found by identity and by cabling; nothing by
 * port number.
 *
 * Tiers: 1 are switches with hosts, each further one stands above. A link
 * between neighbouring tiers is an uplink seen from below and a downlink seen
 * from above. A switch that fits no tier has tier 0 and says why. Hosts on a
 * core switch (management, storage, aggregation nodes) do not make it a tier 1.
 *
 * What was built and what works now are two things: a cable whose link is down
 * is built as long as the topology remembers it or its siblings say that it
 * must be there; a fabric that was never seen whole cannot say more than it shows.
 */
#ifndef IBWIRE_FABRIC_SHAPE_H
#define IBWIRE_FABRIC_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;

/* No host, rail, group, or plane. */
#define SHAPE_NONE UINT32_MAX

enum shape_kind {
	SHAPE_FAT_TREE,  /* every switch has a tier, every link leads one tier up or down */
	SHAPE_IRREGULAR, /* a tree for the most part: some switches or links do not fit */
	SHAPE_NO_TREE,   /* torus, mesh, dragonfly ...: it has no tiers */
	SHAPE_NO_SWITCH, /* HCAs cabled to each other, or a single node */
};

/* What a node is for, told by identity: device, description, GUIDs; settings override. */
enum node_class {
	CLASS_COMPUTE, CLASS_STORAGE, CLASS_MANAGEMENT, /* hosts; a subnet manager's own is management */
	CLASS_ROUTER, CLASS_AGGREGATION, CLASS_SWITCH, CLASS_COUNT,
};

/* Why a switch has no tier. */
enum shape_why {
	SHAPE_FITS,        /* it has one */
	SHAPE_UNCONNECTED, /* no path to the largest part of the fabric */
	SHAPE_SAME_TIER,   /* linked to a switch of its own tier */
	SHAPE_SKIPS_TIER,  /* linked past a tier */
	SHAPE_NO_HOSTS_BELOW, /* no path down to a host, and nothing that it would join */
	SHAPE_WHOLE_NO_TREE,  /* the fabric is no tree at all */
	SHAPE_WHY_COUNT,
};

struct shape_node {
	uint8_t tier;   /* of a switch, from 1; 0: none (HCAs have none) */
	uint8_t why;    /* enum shape_why */
	uint8_t class;  /* enum node_class */
	uint8_t part;   /* which unconnected part of the fabric, 0: the largest; 255: 255 and more */
	uint32_t host;  /* index into hosts, or SHAPE_NONE */
	uint32_t plane; /* of spines and above: which of the planes, or SHAPE_NONE */
	uint32_t up_group; /* of a switch: its group of uplinks, or SHAPE_NONE */
	uint32_t box;   /* index of the first node with its SystemImageGUID: the ASICs of a director share it */
};

/* Where a port leads to. */
enum shape_way {
	WAY_NONE,
	WAY_HOST,   /* of a switch: to an HCA of any class */
	WAY_UP, WAY_DOWN, WAY_ACROSS,
	WAY_SWITCH, /* of an HCA */
};

struct shape_port {
	uint8_t way;    /* enum shape_way; of a port without a peer WAY_NONE */
	uint32_t rail;  /* of an HCA's port: index into rails, or SHAPE_NONE */
	uint32_t group; /* the uplink group or bundle that it is a member of, or SHAPE_NONE */
	uint16_t cage, split; /* as printed on the box: "6.2" is 6 and 2; 0: not known, or not split */
};

/* The HCAs of one machine. */
struct shape_host {
	const char *name;     /* unique among hosts (owned by the shape) */
	uint64_t system_guid; /* 0 where its HCAs differ */
	uint8_t class;
	uint32_t first, count; /* in host_nodes: HCA nodes, in natural order of device */
};

/* HCAs' ports that belong together: the same device in most hosts, on the same set of leafs. */
struct shape_rail {
	const char *name;      /* the device's name ("mlx5_3"), or that of the settings (owned by the shape) */
	uint8_t class;
	uint32_t first, count; /* in rail_ports: HCA ports, in order of host */
	uint32_t first_leaf, leafs; /* in rail_leafs: switches that serve it */
	uint32_t miswired;     /* how many of its ports are cabled to a leaf of another rail */
};

/*
 * Ports of one switch over which traffic can choose: all of its uplinks, or all
 * of its links down to one and the same switch. Members are ports that have a
 * peer, whatever their state.
 */
enum shape_group_kind { GROUP_UP, GROUP_DOWN, GROUP_ACROSS };

struct shape_group {
	uint8_t kind;          /* enum shape_group_kind */
	uint8_t tier;          /* of its switch */
	uint32_t node;         /* its switch */
	uint32_t peer;         /* GROUP_DOWN, GROUP_ACROSS: the other switch; GROUP_UP: FABRIC_NONE */
	uint32_t first, count; /* in members: ports, in order of number */
	uint32_t built;        /* how many it should have: what most of its kind have; count where that says nothing */
};

/* Two switches that are cabled with fewer links than the pairs around them. */
struct shape_missing {
	uint32_t low, high;      /* switches, indices of nodes */
	uint32_t links, expected;
};

/* An HCA port on another leaf than its rail's. */
struct shape_miswired {
	uint32_t port;      /* of the HCA */
	uint32_t leaf;      /* where it is */
	uint32_t leaf_rail; /* the rail that this leaf serves */
};

/* A link between switches that runs slower than what is built beside it. */
struct shape_slow {
	uint32_t port;           /* the end with the smaller index */
	uint64_t bits_per_s;     /* what it runs at */
	uint64_t expected_bits_per_s; /* what most links of its groups run at */
};

struct shape_tier {
	uint32_t switches, boxes;
	uint32_t links_up, links_up_active;  /* to the tier above; built and Active */
	uint64_t up_bits_per_s, up_bits_per_s_now;     /* data rate of all links up, one way: as built, now */
	uint64_t down_bits_per_s, down_bits_per_s_now; /* of all links down, hosts' included */
};

#define SHAPE_TIERS_MAX 8

struct shape {
	const struct fabric *fabric; /* borrowed: must outlive the shape */
	enum shape_kind kind;
	char reason[160];            /* one line: why this kind; what is irregular */
	unsigned tier_count;
	unsigned parts;              /* unconnected parts */
	struct shape_tier tiers[SHAPE_TIERS_MAX + 1]; /* by tier; [0] is not used */
	struct shape_node *nodes;    /* by node */
	struct shape_port *ports;    /* by port */
	uint64_t *built_bits_per_s;  /* by port of a switch: what its link is built for; 0: not known */
	struct shape_host *hosts;    /* in natural order of name */
	uint32_t *host_nodes;
	struct shape_rail *rails;    /* compute first, then in natural order of name */
	uint32_t *rail_ports, *rail_leafs;
	struct shape_group *groups;
	uint32_t *members;
	struct shape_missing *missing;
	struct shape_miswired *miswired;
	struct shape_slow *slow;
	size_t host_count, rail_count, group_count, missing_count, miswired_count, slow_count;
	uint32_t empty_leafs; /* switches of tier 1 without a host: cabled as a leaf is */
	uint32_t across, skips; /* links between switches of one tier, and past a tier */
	uint32_t plane_count;
	uint64_t bisection_bits_per_s, bisection_bits_per_s_now; /* 0: not known (no fat-tree) */
	void *memory;                /* inside the shape only */
};

/* What a person says and the fabric does not. Patterns are globs (fnmatch) on names; each list ends with NULL. */
struct shape_settings {
	struct shape_class_rule { const char *pattern; uint8_t class; } *classes; /* ends with a pattern of NULL */
	struct shape_rail_rule { const char *pattern, *rail; } *rails; /* "HOST DEVICE" pattern; ends with NULL */
	/* Switches of which a person says whether they route adaptively: nothing on the wire tells. Ends with NULL. */
	struct shape_adaptive_rule { const char *pattern; bool on; } *adaptive;
};

/*
 * shape_create - find the shape of a fabric
 * @settings:  or NULL
 *
 * Return: 0, also where it is no tree (kind says so); ERR_NOMEM.
 */
int shape_create(const struct fabric *fabric, const struct shape_settings *settings, struct shape **ret,
		 struct error *err);
void shape_destroy(struct shape *shape);

/* shape_oversubscription - of one switch: bandwidth down by bandwidth up, as built or now; 0: nothing leads up. */
double shape_oversubscription(const struct shape *shape, uint32_t node, bool now);

/* Words: "compute", "fat-tree", "linked to a switch of its own tier". */
const char *node_class_name(uint8_t class);
const char *shape_kind_name(enum shape_kind kind);
const char *shape_why_text(uint8_t why);

/*
 * shape_tier_name - "leaf", "spine", "core", "tier4": of switches, from 1 up; 0, that of none, is "switch"
 * Return: @ret.
 */
#define SHAPE_TIER_SIZE 16
const char *shape_tier_name(unsigned tier, char ret[SHAPE_TIER_SIZE]);

/*
 * shape_port_role - what a port is there for: "leaf-uplink", "spine-downlink", "leaf-to-host", "across" of a switch;
 * of an HCA its class: "compute", "storage" ...
 * Return: @ret; NULL for a port without a peer.
 */
#define SHAPE_ROLE_SIZE 32
const char *shape_port_role(const struct shape *shape, uint32_t port, char ret[SHAPE_ROLE_SIZE]);

/* shape_port_tier - the tier of a port's switch; 0: an HCA's, or none. */
unsigned shape_port_tier(const struct shape *shape, uint32_t port);

/*
 * shape_port_name - "NAME/PORT", and the cage where it is known and is not the port's own number: "leaf01/12 (cage
 * 6.2)"
 * @ret:  @size bytes
 * Return: @ret.
 */
const char *shape_port_name(const struct shape *shape, uint32_t port, char *ret, size_t size);

#endif
