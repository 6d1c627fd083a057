/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * state.h - the state of analysis/health.h and the functions that its rules share; private
 *
 * Each step updates the inventory from the fabric (inventory.c). Then the rules run, root causes
 * before symptoms; each holds the findings that apply in this step. Finally health.c closes the
 * findings that no rule held for their recovery window, and reports all changes.
 *
 * Nodes, ports and hosts stay valid when the topology changes. Times are CLOCK_BOOTTIME, and wall
 * clock where the name contains wall.
 */
#ifndef IBWIRE_ANALYSIS_HEALTH_STATE_H
#define IBWIRE_ANALYSIS_HEALTH_STATE_H

#include <stdio.h>

#include "analysis/health.h"
#include "base/map.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"

/* A time before the start of this process, or never. */
#define HEALTH_LONG_AGO (INT64_MIN / 2)

enum { SECOND_US = 1000000, MINUTE_US = 60 * SECOND_US };
#define HOUR_US (INT64_C(60) * MINUTE_US)

enum health_link { LINK_NEVER_UP, LINK_IS_UP, LINK_IS_DOWN };
/* After enum link_verdict: a link that is up, and not Active. */
enum { HEALTH_NOT_ACTIVE = LINK_BELOW_NEIGHBORS + 1 };

/* A moment: @us is compared; @wall_us is what the wall clock showed then, a label: it may be set back. */
struct health_time { int64_t us, wall_us; };

/* A condition that must last for some sweeps and some time before it is reported. */
struct debounce {
	unsigned sweeps;              /* consecutive bad ones */
	int64_t good_us;              /* last good sweep, 0: none yet */
	struct health_time bad;       /* first bad one since */
};

/* Number of kinds of findings of which many equal ones are one finding (groups.c); at most 16. */
enum { HEALTH_GROUPED = 9 };

/* A port. Kept small: there are many, and most of them are healthy. */
struct health_port {
	struct health_node *node;
	struct health_port *peer;     /* remembered while the link is down; or NULL */
	struct health_tracker *tracker; /* NULL: no recent error */
	uint8_t num;
	uint8_t link;                 /* enum health_link */
	uint8_t way;                  /* enum shape_way when it last had a peer */
	uint8_t downs;                /* link losses seen in the topology since its last delta, already counted */
	bool downed;                  /* LinkDowned counted the current link loss */
	bool returned;                /* the link came back in the fabric of this step */
	uint8_t width, speed;         /* active, when it was last up */
	uint8_t degraded;             /* enum link_verdict, or HEALTH_NOT_ACTIVE */
	uint8_t merged[HEALTH_GROUPED]; /* by grouped kind: tag of its finding of equal ports; 0: not part of one */
	uint16_t merged_held;         /* bits of those kinds: held in this step */
	uint16_t merged_before;       /* and in the previous one */
	counter_set saturated;        /* as of its last reading */
	int64_t bound_us;             /* last delta after a reset, whose errors are lower bounds; 0: none */
	int64_t excused_us;           /* last delta whose errors do not count: of training, or a restart; 0: none */
	bool is_read;                 /* it had a delta in this run */
	int64_t read_us;              /* the last of them; 0: none */
	bool load_lost;               /* a sweep of the window without a reading, or without the data counters */
	float moves[2], mean[2];      /* sent, received, bytes/s: in this step, or NAN; over minutes (traffic.c) */
	struct balance_load load;     /* sums over the current window; stall in us */
	int64_t degraded_us;          /* LONG_AGO: at the first sight */
	struct health_time degraded_since;
	int64_t waiting_us;           /* not Active: since both ends and the subnet manager respond */
	bool degraded_at_least;       /* it was so at the first sight */
	int64_t changed_us;           /* up: since when; down: when it was last seen up */
	struct health_time began;     /* of the first sweep in that state */
	struct health_time first_reset; /* reset of its counters that was not reported yet; 0: none */
	struct health_resets {        /* the resets that follow each other (resets.c) */
		int64_t first_us, last_us;
		uint32_t count;       /* 0: none */
		uint32_t bounds;      /* deltas that are lower bounds, with those of suspected resets */
		uint32_t deltas;      /* since the first, with it */
	} resets;
};

struct health_node {
	uint64_t guid, system_guid;
	size_t index;                 /* in health->nodes */
	char *name;
	struct health_host *host;
	struct health_node *host_next; /* the HCAs of a host are a list */
	struct health_port *ports;    /* by number */
	uint32_t slots;
	uint32_t now;                 /* index in the fabric of this step, or FABRIC_NONE */
	uint8_t type, class, tier;

	/* nodes.c, while links are down: */
	bool isolated;                /* had links and has none that is up */
	bool claimed;                 /* a finding about a whole node explains its links */
	struct health_node *cluster;  /* union-find over isolated nodes */
	/* Set at the node that represents a cluster; racks: number of its hosts that already belong to a rack. */
	uint32_t cluster_switches, cluster_hosts, cluster_racks;
	struct health_node *isolated_hca; /* of a leaf: an isolated HCA behind it, or NULL */
	int64_t isolated_us;
	struct health_time isolated_since;

	/* silent.c: */
	uint32_t polled, responded, unread, refused; /* ports, in this step */
	struct debounce silence, refusal;
	bool had_counters;            /* some port was read in this run */
	bool silent;                  /* unresponsive for long enough to be reported */
	bool unrouted;                /* the tables lead queries or responses to a link that is down */
	bool behind;                  /* unresponsive, and cabled only to nodes that are, too */
	struct health_node *through;  /* the node at the border of those, whose finding counts it; or NULL */
	uint32_t hidden_switches, hidden_hcas; /* at such a node */

	/* explain.c, while findings are open: */
	struct health_open_finding *failed; /* says that it does not work, or why it cannot be reached; or NULL */
	bool cut;                     /* cannot be reached, whether it works or not */

	/* Forwarding table (fabric_wide.c, imbalance.c): */
	int64_t hole_us;              /* when routes were found to end here; 0: they do not */
	struct health_time hole_since; /* when they began to */
	uint64_t hole_check;          /* step in which routes were last seen to end here */
	struct health_time routes_changed; /* last change that was seen; 0: none */
	struct health_time shift;     /* time of that change as inferred from the load; 0: unknown */
	struct health_port *suspect;  /* carries load that the known tables do not explain, or NULL */
	double suspect_measured, suspect_predicted;
	/* Mean load of its group in that window and in the window before; 0: unknown. */
	double suspect_mean, suspect_before;
	double uplinks_mean;          /* mean utilization of its uplinks in the last active window; 0: none yet */
	bool table_reread;            /* in this step, on request */
	int64_t table_wanted_us, table_requested_us; /* first and last request of a read; 0: none pending */
	int64_t read_us;              /* last read; LONG_AGO: not yet in this run */
	int64_t table_next_us;        /* earliest time of the next request */
	int64_t table_pause_us;
};

struct health_host {
	char *name;
	uint8_t class;
	struct health_node *first;
	bool down;
	bool behind_isolated;         /* down because all of its leaves are */
	int64_t down_us;              /* when it was last seen up */
	struct health_time down_since;
	int64_t charge_until_us;      /* errors of its leaf ports are attributed to its restart until then */
	struct health_time restart_since; /* begin of that restart */
	int64_t restart_us;           /* last restart that was seen; LONG_AGO: none */
	uint64_t affected_pass;       /* health->affected_pass when it was last added to a finding */
	uint8_t rack_tag;
	uint64_t rack_guid;           /* it failed with others: node of that finding; 0: alone */

	/* rail_use.c: */
	uint64_t rails_used;          /* in its last busy windows */
	uint32_t peers;               /* hosts that used the same rails */
	uint16_t busy_windows, idle_windows;
	struct health_time idle_since;
};

/* Counts of the recent past in buckets of equal length. */
#define RING_BUCKETS 24
struct health_ring {
	int64_t bucket;               /* number of the newest */
	uint64_t total;               /* of all buckets: most rings are empty */
	uint32_t count[RING_BUCKETS];
	uint16_t sweeps[RING_BUCKETS]; /* with a count above 0 */
	struct health_time since;     /* first count since the ring was empty */
	struct health_time last;      /* last count */
};

/* The rings of a tracker; counters.c has their counters and lengths. */
enum health_ring_kind { RING_SYMBOLS, RING_RECEIVE, RING_REMOTE, RING_DISCARDS, RING_DROPS, RING_LINK, RING_CONSTRAINTS,
			RING_FEC, RING_COUNT };

/* Causes of a link that is down: between switches, and to a host. */
#define LINK_CAUSE_TRUNK "cable"
#define LINK_CAUSE_EDGE "cable-or-hca"

#define FLAPS_MAX 4
#define FLAPS_LAST_US (24 * HOUR_US)

/* Recent errors and load anomalies of a port. */
struct health_tracker {
	uint8_t fec_layout;           /* enum fec_layout, when RING_FEC last counted */
	struct health_ring rings[RING_COUNT];
	int64_t error_us;             /* last error */
	int64_t flap_since_us;        /* flaps are above the threshold since; LONG_AGO: they are not */
	int64_t edge_since_us;        /* errors of a host link are above the threshold since; LONG_AGO */
	bool reportable;              /* errors above the threshold may be reported in this step */
	struct health_time flaps[FLAPS_MAX]; /* newest first; LONG_AGO: none */
	/* One bit for each of the last windows, newest in bit 0. */
	uint32_t stalled, stalled_critical, rail_off, unused;
	struct health_time rail_since, unused_since; /* start of the first of those windows */
	uint32_t hot[2];              /* hottest member of an uneven group, by enum balance_direction */
	struct health_time hot_since[2];
	int64_t harm_us;              /* last window in which it was the hottest of its group, with harm */
	int64_t stall_us;             /* end of the window of the newest bit of stalled */
	int64_t awaited_us;           /* end of the last window in which others stalled for it because it was full */
	double awaited_stall;         /* how long, 0..1 */
	bool awaited_at_least;        /* a lower bound */
	bool is_full;                 /* in the last active window */
	struct health_time stall_since; /* start of the first stalled window */
	double stall_percent;         /* of the last stalled window */
	bool stall_at_least;          /* a lower bound */
};

struct health_open_finding {
	struct finding finding;       /* must be first */
	struct health_time since;     /* its label is finding.since_us */
	int64_t increased_us;         /* that of finding.increased_us */
	int64_t held_us;              /* last time that it held */
	uint64_t held_step;           /* last step in which a rule held it */
	char past[320];               /* its text in the past tense; "": text of an earlier run */
	double extent;                /* ports, nodes, cables in this step, set by its rule; 0: none */
	/*
	 * Of the window in which it was worst, or the sweep of its largest extent: what remains
	 * once it has ended; past "": not known.
	 */
	struct {
		char past[320];
		double magnitude;
		struct finding_number numbers[FINDING_NUMBERS_MAX];
		unsigned number_count;
		char hosts[FINDING_HOSTS_MAX][64];
		unsigned host_count, affected_hosts;
		struct finding_port ports[FINDING_PORTS_MAX];
		unsigned port_count;
	} worst;
	int64_t severe_us;            /* last time that it held with its current severity */
	int64_t recovery_us;
	bool is_new, changed, dropped;
	bool ended;                   /* held by a count that no longer increases: it is clearing */
	bool restored;                /* and not held since */
	bool folded;                  /* new, and part of the finding of a group: never reported */
	struct health_group *group;   /* of one that opened recently, or NULL */
	int64_t opened_us;            /* when it opened */
	uint64_t affected_generation; /* fabric generation for which its hosts were listed */
	/* explain.c: the finding that explains it, before chains are followed, and what its rule found; or NULL */
	struct health_open_finding *origin, *next_origin, *rule_origin;
	char advice[400];             /* with an origin */
};

/*
 * Equal findings of ports: of one kind, class and device IDs, and with the same health_case.equal. Many
 * of them that open within a minute are one finding of the fabric, with a tag.
 */
struct health_group {
	uint64_t key;        /* 0: not used */
	uint8_t kind, tag;   /* index of the kind */
	bool link, joined;   /* findings of links; ports joined in this step */
	uint32_t due, held;  /* in this step: recent findings of single ports; ports of the group */
	struct health_open_finding *open; /* its finding, once it is held in this step */
};

/* The rules, in the order in which they run. @state: zeroed at first, of @state_size bytes. */
struct health_rule {
	size_t state_size;
	void (*sweep)(struct health *health, void *state);
	void (*window)(struct health *health, void *state); /* NULL; after the sweep that ends a window */
	void (*explain)(struct health *health, void *state); /* NULL; explain.c has marked the nodes that failed */
	void (*done)(void *state);    /* NULL; frees what the state points to */
};
extern const struct health_rule health_nodes;      /* missing nodes, restarts */
extern const struct health_rule health_silent;     /* unresponsive nodes, coverage */
extern const struct health_rule health_counters;   /* records the counters for the rules below */
extern const struct health_rule health_links;      /* down, not active, degraded, flapping */
extern const struct health_rule health_errors;     /* symbol errors, receive errors, FEC, discards */
extern const struct health_rule health_imbalance;
extern const struct health_rule health_congestion; /* also ends the windows */
extern const struct health_rule health_rails;      /* use and cabling of rails */
extern const struct health_rule health_resets;     /* counters that were reset */
extern const struct health_rule health_fabric;     /* SM, M_Keys, topology, routes, database */
extern const struct health_rule health_traffic;    /* traffic that falls */
extern const struct health_rule health_cabling;    /* differences from the cabling plan */
extern const struct health_rule health_firmware;   /* nodes of one kind with different versions */
extern const struct health_rule health_cables;     /* hot transceivers */
extern const struct health_rule health_partitions; /* P_Keys that do not fit */
extern const struct health_rule health_jobs;       /* jobs that stall or become slower */
enum { HEALTH_RULES = 16 };

struct health {
	struct health_settings settings;
	const struct health_input *input; /* of the current step */
	int64_t now_us, wall_us, last_us; /* last: of the previous step */
	int64_t first_us;             /* of the first step */
	int64_t stored_us;            /* of the first stored sweep that counts were restored from */
	uint64_t step;
	bool failed;                  /* out of memory in this step */
	void *rule_states[HEALTH_RULES];

	/* inventory.c: */
	uint64_t generation;          /* of the fabric */
	const struct fabric *fabric;  /* only to detect a change */
	struct health_node **nodes;
	size_t node_count, node_capacity;
	struct map by_guid;
	struct health_host **hosts;
	size_t host_count, host_capacity;
	struct map host_by_name;
	struct health_port **port_of; /* by port of the fabric */
	/* Of this step: */
	struct { uint32_t nodes_added, nodes_removed, links_added, links_removed, links_moved; } changes;
	size_t unidentified;          /* ports of this fabric with a link to an unidentified node */
	size_t down_ports;

	uint32_t isolated_switches;   /* nodes.c */
	int64_t pruned_us;            /* counters.c: last removal of unused trackers */
	bool first_table_read;        /* tables were read since the last check for the first time in this run */
	struct { uint64_t *guids; size_t count, capacity; } table_requests; /* of this step */

	/* congestion.c: the last complete window */
	struct {
		struct balance_load *loads; /* by port of the fabric */
		uint64_t generation;        /* of that fabric */
		double window_us;
		struct health_time start;
		int64_t end_us;
		uint64_t step;              /* in which it ended */
	} window;

	/* health.c: */
	struct {
		struct finding **list;      /* each in a struct health_open_finding */
		size_t count, capacity;
		struct map by_key;
	} open;
	bool restored;                /* restored findings wait for the first step */
	struct health_count *counts;  /* the same */
	size_t count_count;
	uint64_t affected_pass;       /* number of the current walk over affected hosts */
	struct health_open_finding ignored; /* what health_hold() returns instead of none */
	/* By kind and tag. If two keys have the same tag, findings of the second one have no group. */
	struct health_group groups[HEALTH_GROUPED][256];
	/*
	 * A port whose finding is part of the open finding of a group. health_hold() returns pending.open, in
	 * which the rule sets text and numbers. Therefore the port is added to the group later: by the next
	 * health_hold(), or at the end of the step (health_add_pending).
	 */
	struct {
		struct health_group *group; /* NULL: no port is pending */
		struct health_port *port;
		struct health_open_finding open;
	} pending;
	bool any_merged_held;         /* a port has bits in merged_held */
};

/* health.c */

/* health_before - the moment @ago_us before this step, by the present wall clock. */
static inline struct health_time health_before(const struct health *health, int64_t ago_us)
{
	return (struct health_time){ health->now_us - ago_us, health->wall_us - ago_us };
}

static inline struct health_time health_now(const struct health *health)
{
	return health_before(health, 0);
}

/* A finding as a rule sees it in this step; fields that are 0 or NULL do not apply. */
struct health_case {
	enum finding_kind kind;
	enum finding_severity severity;
	const struct health_node *node; /* NULL: that of the port, or the whole fabric */
	const struct health_port *port; /* NULL: the node itself */
	bool link;             /* the port with its peer: names both, and the affected hosts */
	bool either_end;       /* an open finding at the peer is the same finding */
	uint8_t tag;
	struct health_time since; /* used when the finding opens; 0: now */
	struct health_time at; /* when it held; 0: now */
	const char *cause;
	const char *subject;   /* NULL: the name of the link, port or node, else "fabric" */
	uint64_t equal;        /* findings of ports are equal only with the same value (struct health_group) */
};

/*
 * health_hold - open a finding, or keep it open
 * It clears the numbers and sets the subject. The first number decides which port of a group is the worst.
 *
 * Return: the finding, whose text and numbers the caller sets before the next call: of this case alone, or
 * health->pending where it is part of a group. One that is never reported if the kind is disabled or memory
 * is exhausted (health->failed).
 */
struct health_open_finding *health_hold(struct health *health, const struct health_case *what);
/* health_extend - keep a finding open whose condition cannot be measured in this window; its text is of the past. */
void health_extend(struct health *health, struct health_open_finding *open);
struct health_open_finding *health_open_at(const struct health *health, size_t at);
/* health_find_open - the open finding of this subject itself, not of its group; NULL: none. */
struct health_open_finding *health_find_open(const struct health *health, enum finding_kind kind, uint64_t guid,
					     uint8_t port, uint8_t tag);
/*
 * health_find - an open finding, or that of the group to which the port belongs, or NULL
 * @node: NULL: the fabric; @port: 0: the node itself
 */
struct health_open_finding *health_find(struct health *health, enum finding_kind kind, const struct health_node *node,
					uint8_t port, uint8_t tag);
/* health_find_link - the same at either end of a link. */
struct health_open_finding *health_find_link(struct health *health, enum finding_kind kind,
					     const struct health_port *port);
/*
 * health_set_severity - raise it at once, or lower it when the higher one has not held for the recovery window
 * @at_us: CLOCK_BOOTTIME at which it held
 */
void health_set_severity(struct health_open_finding *open, enum finding_severity severity, int64_t at_us);
/* health_holds_now - does its condition hold in this step, or in the last window if it is evaluated in windows? */
bool health_holds_now(const struct health *health, const struct health_open_finding *open);
/* health_explain_rules - the rules explain their findings. */
void health_explain_rules(struct health *health);
/* health_drop - close a finding in this step; another kind replaces it. @open: or NULL */
void health_drop(struct health_open_finding *open);
/* health_run_window - the rules evaluate a window that ended. */
void health_run_window(struct health *health);

#define health_subject(open, ...) snprintf((open)->finding.subject, sizeof((open)->finding.subject), __VA_ARGS__)
/*
 * health_text - set the text of a finding
 * Once its condition has ended, its verbs are shown in the past tense: write both with TENSE.
 */
#define TENSE(present, past) "\1" present "\2" past "\3"
__attribute__((format(printf, 2, 3))) void health_text(struct health_open_finding *open, const char *format, ...);
void health_number(struct health_open_finding *open, const char *key, double value);
/* health_lower_bound - add FINDING_LOWER_BOUND, once, if a number is one */
void health_lower_bound(struct health_open_finding *open, bool at_least);
/*
 * health_keep_worst - remember text, numbers, hosts and ports if the finding was never worse, or never wider
 * health_restore_worst - state those again, once it has ended
 */
void health_keep_worst(struct health_open_finding *open);
void health_restore_worst(struct health_open_finding *open);
/* health_window - add the window of the numbers. @from_us, @until_us: CLOCK_BOOTTIME */
void health_window(const struct health *health, struct health_open_finding *open, int64_t from_us, int64_t until_us);

/*
 * health_increase - add when the count of a finding last increased: decides whether it has stopped, and is clearing
 * @last:    that time
 * @gap_us:  mean time between two increases
 */
void health_increase(const struct health *health, struct health_open_finding *open, struct health_time last,
		     int64_t gap_us);

/*
 * health_debounce - record whether a condition holds in this sweep
 * Return: whether it has lasted for @sweeps and @after_us, or its finding is open.
 */
bool health_debounce(struct health *health, struct debounce *debounce, bool bad, unsigned sweeps, int64_t after_us,
		     bool is_open);

/* groups.c */

/* health_find_merged - the open finding of the group to which a port belongs, or NULL. @port: 0: no port */
struct health_open_finding *health_find_merged(const struct health *health, enum finding_kind kind,
					       const struct health_node *node, uint8_t port);
/* health_find_group - the group of a finding, or NULL: its kind has none, or another group has its tag. */
struct health_group *health_find_group(struct health *health, const struct health_case *what);
/*
 * health_find_member - the end of the port's link that belongs to a group whose finding is open, or NULL
 * After a restart of the collector, the ports whose condition holds in the first step belong to it.
 */
struct health_port *health_find_member(struct health *health, const struct health_case *what,
				       const struct health_group *group);
/* health_add_pending - add the pending port, if there is one, to the finding of its group. */
void health_add_pending(struct health *health);
/*
 * health_start_groups - before the rules
 * health_finish_groups - after them: fold many recent findings of one group into the finding of the group
 */
void health_start_groups(struct health *health);
void health_finish_groups(struct health *health);
/* health_restore_group - the ports of a restored finding belong to its group. */
void health_restore_group(struct health *health, const struct finding *finding);

/* labels.c */

/* health_name_port - set the subject: "leaf01/12", of a link "leaf01/12 - spine09/3", lower tier first. */
void health_name_port(const struct health *health, struct health_open_finding *open, const struct health_port *port,
		      bool link);
/* The ports that one finding is about. */
struct health_set {
	const struct health_port *first; /* NULL: none */
	bool several_nodes;
	unsigned count;
	struct finding_port ports[FINDING_PORTS_MAX]; /* the first of them */
};
void health_set_add(struct health_set *set, const struct health_port *port);
/* health_set_add_node - add port 0 of a switch, or the first cabled port of an HCA. @node: or NULL */
void health_set_add_node(struct health_set *set, const struct health_node *node);
/* health_is_read - have its counters been read in this run, and does its node respond? @port: or NULL */
bool health_is_read(const struct health_port *port);
/* health_set_add_links - add the ports of a node that have, or had, a link. @node: or NULL */
void health_set_add_links(struct health_set *set, const struct health_node *node);
/* health_set_add_host - the same for a node, or for all HCAs of its host. @silent: if they do not respond */
void health_set_add_host(struct health_set *set, const struct health_node *node, bool silent);
/* health_find_tag - the open finding with this tag, of whatever place; NULL: none. */
struct health_open_finding *health_find_tag(const struct health *health, enum finding_kind kind, uint8_t tag);
/* health_list_set - the ports of a finding are those of the set, which may be empty. */
void health_list_set(struct health_open_finding *open, const struct health_set *set);
/*
 * health_hold_set - as health_hold(): one finding of the only port, of the node, or of the fabric, with its ports
 * With a tag it becomes wider, not narrower, while it is open: that of the smaller place is dropped.
 * @what: its node and port are those of the set; @set: not empty
 */
struct health_open_finding *health_hold_set(struct health *health, const struct health_case *what,
					    const struct health_set *set);
/* The affected hosts of a finding: none, one more, or this one alone. */
void health_clear_affected(struct health_open_finding *open);
void health_add_affected(struct health_open_finding *open, const char *host);
void health_affected_host(struct health_open_finding *open, const char *host);
/*
 * health_affected_link - the host at the end of a link, or the hosts below a trunk
 * health_affected_below - the hosts below a switch
 * Both list them once for each fabric.
 */
void health_affected_link(struct health *health, struct health_open_finding *open, const struct health_port *port);
void health_affected_below(struct health *health, struct health_open_finding *open, const struct health_node *node);
/* health_describe_group - subject, text, count, hosts and ports of the finding of a group, after its last port. */
void health_describe_group(struct health *health, const struct health_group *group);
/* health_duration - "42 s", "17 min", "3 h". */
const char *health_duration(int64_t us, char ret[32]);

/* inventory.c */

/* health_update_inventory - nodes, ports, hosts and links of this step. Return: 0 or ERR_NOMEM. */
int health_update_inventory(struct health *health);
void health_inventory_done(struct health *health);
struct health_node *health_find_node(const struct health *health, uint64_t guid); /* or NULL */
/* health_own_node - the node of this host from which the fabric was discovered, or NULL. */
struct health_node *health_own_node(const struct health *health);
/* health_next_port - walk over the ports of all nodes; NULL: the first one. Return: NULL: no more. */
struct health_port *health_next_port(const struct health *health, const struct health_port *port);
/* health_add_node - a new node without a name. Return: NULL: no memory. */
struct health_node *health_add_node(struct health *health, uint64_t guid, uint32_t slots);
bool health_copy_name(char **name, const char *now);
/* health_find_host - find a host by name, or add it. Return: NULL: no memory. */
struct health_host *health_find_host(struct health *health, const char *name);
bool health_is_trunk(const struct health_port *port);
/* health_link_class - the class of a link by the nodes at its ends, below HEALTH_LINK_CLASSES. */
enum { HEALTH_LINK_CLASSES = 128 };
unsigned health_link_class(const struct health_port *port);
/* health_link_is_down - one of its ends is down. */
bool health_link_is_down(const struct health_port *port);
/* health_edge_host - the host at one end of a link, or NULL. */
struct health_host *health_edge_host(const struct health_port *port);
/* health_is_charged - errors of this port are attributed to a restarting host. */
bool health_is_charged(const struct health *health, const struct health_port *port);

/* counters.c */
void health_tracker_init(struct health_tracker *tracker);
/* health_track - the tracker of a port, created on demand. Return: NULL: no memory. */
struct health_tracker *health_track(struct health *health, struct health_port *port);
/* health_record_count - put a count of an earlier run into its ring. @at_us: CLOCK_BOOTTIME */
void health_record_count(struct health *health, struct health_port *port, const struct health_count *count,
			 int64_t at_us);
/* health_errors_count - the port has an error that is recent enough for a rule. */
bool health_errors_count(const struct health *health, const struct health_port *port);
/*
 * health_ring_sum - sum of the last @buckets, 0: of all
 * @ret_sweeps: number of sweeps with a count above 0, or NULL
 */
double health_ring_sum(const struct health *health, struct health_tracker *tracker, enum health_ring_kind kind,
		       unsigned buckets, unsigned *ret_sweeps);
/* health_ring_increase - health_increase() by the later count of a link's two ends in the last @buckets, 0: of all. */
void health_ring_increase(const struct health *health, struct health_open_finding *open, const struct health_port *port,
			  enum health_ring_kind kind, unsigned buckets);
/*
 * health_ring_amount - a sum of the last @buckets, 0: of all, in words: "at least 323 symbol errors in 113 min"
 * The window is not longer than this run, and the stored sweeps of a former one whose counts were restored. It is added
 * to the numbers, and whether the sum is a lower bound.
 * @what: "symbol errors"
 * Return: @ret.
 */
const char *health_ring_amount(const struct health *health, struct health_open_finding *open,
			       const struct health_port *port, enum health_ring_kind kind, unsigned buckets,
			       double sum, const char *what, char ret[96]);
/* health_ring_number - add the sum of a ring, and whether it is a lower bound */
void health_ring_number(const struct health *health, struct health_open_finding *open, const struct health_port *port,
			enum health_ring_kind kind, const char *key);
/* health_ring_hours - length of the window of a sum, as far as it is known: not longer than this run */
double health_ring_hours(const struct health *health, const struct health_port *port, enum health_ring_kind kind,
			 unsigned buckets);
/* health_ring_at_least - is the sum of the last @buckets a lower bound? */
bool health_ring_at_least(const struct health *health, const struct health_port *port, enum health_ring_kind kind,
			  unsigned buckets);
/* Bucket length of errors and of symbol errors; all others have buckets of a minute. */
#define ERROR_BUCKET_US (5 * MINUTE_US)
#define SYMBOL_BUCKET_US (10 * MINUTE_US)
enum { SYMBOL_BUCKETS = 24, DISCARD_BUCKETS = 10 };
/* health_is_training - the link came up so recently that its errors are due to training. */
bool health_is_training(const struct health *health, const struct health_port *port);
/* health_forget_host - remove recent errors and flaps of its ports: its restart caused them. */
void health_forget_host(struct health *health, const struct health_host *host);

/* links.c */

/* health_find_degraded - mark degraded links after a topology change. */
void health_find_degraded(struct health *health);

/* imbalance.c: health_request_table - request a read of its table; again after 30 s until it is read. */
void health_request_table(struct health *health, struct health_node *node);

/* counters.c: health_count_read - ports whose counters are known, of a node or (@guid 0) of all in the fabric. */
unsigned health_count_read(const struct health *health, uint64_t guid);

/* explain.c */

/* health_find_origins - find the origin of each finding, after the rules and before reports. */
void health_find_origins(struct health *health);
/* health_set_origin - @origin: NULL: none any more. */
void health_set_origin(struct health *health, struct health_open_finding *open, struct health_open_finding *origin);
/* health_link_root - the finding that says that a link carries no data, or NULL. */
struct health_open_finding *health_link_root(struct health *health, const struct health_port *port);

/*
 * health_event_root - what failed when something happened: the oldest of those within two minutes, or NULL
 * @since_us: when it happened
 * @event: what happened: other traffic explains neither new tables nor a new topology, and a subnet manager routes
 *         around switches and the links between them only
 */
enum health_event { EVENT_CHANGED, EVENT_REROUTED, EVENT_TRAFFIC_FELL };
struct health_open_finding *health_event_root(const struct health *health, int64_t since_us,
					      enum health_event event);

/*
 * jobs.c: health_jobs_state - health_job_state(). health_jobs_between - health_job_samples(). @jobs: of health_jobs
 * Return of the latter: 0, or -1: no memory.
 */
struct watched_jobs;
struct job_state;
const struct job_state *health_jobs_state(const struct watched_jobs *jobs, int64_t number);
int health_jobs_between(struct health *health, struct watched_jobs *jobs, int64_t boot_us,
			const struct health_sample *samples, size_t count);

/* nodes.c: health_cluster - the node that represents those that failed with an isolated node. */
struct health_node *health_cluster(struct health_node *node);

/* restore.c */

/* health_restore_state - put restored findings into the state of the rules, before the first step. */
void health_restore_state(struct health *health);
/* health_restored_nodes - hold findings about nodes that are missing since before this run. */
void health_restored_nodes(struct health *health);

#endif
