/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * health_state.h - what analysis/health*.c have between them; private
 *
 * One step: health_memory follows the fabric and takes in the samples, then the
 * rules run, origins before echoes, each holding what holds now; in the end
 * health.c closes what nobody held for its recovery window and reports.
 *
 * Everything here is by index of its own (nodes, ports, hosts), which stays the same
 * while topologies come and go; node->now leads into the fabric of this step.
 * Times are boot_us, where no name says wall.
 */
#ifndef IBWIRE_ANALYSIS_HEALTH_STATE_H
#define IBWIRE_ANALYSIS_HEALTH_STATE_H

#include "analysis/health.h"
#include "base/map.h"
#include "fabric/fabric.h"

#define HEALTH_NONE UINT32_MAX
/* "Since before we know", and "never". */
#define HEALTH_LONG_AGO (INT64_MIN / 2)

enum { SECOND_US = 1000000, MINUTE_US = 60 * SECOND_US };
#define HOUR_US (INT64_C(60) * MINUTE_US)

enum health_link { LINK_NEVER_UP, LINK_IS_UP, LINK_IS_DOWN };

/* A port; a few dozen bytes, as there are many and most are healthy. */
struct health_port {
	uint32_t node, peer;     /* peer: a port of ours, remembered while the link is down; or NONE */
	uint32_t tracker;        /* NONE: it has nothing to say */
	uint8_t num;
	uint8_t link;            /* enum health_link */
	uint8_t way;             /* enum shape_way when it last had a peer */
	uint8_t downs;           /* seen returning since its last delta, and counted */
	bool downed;             /* LinkDowned counted since it was last seen returning: that loss is counted */
	bool returned;           /* in this step's fabric it is up again */
	uint8_t width, speed;    /* active, when it was last up */
	uint8_t degraded;        /* enum health_degraded */
	bool full;               /* an error counter of it is saturated */
	int64_t degraded_us, degraded_wall_us;
	int64_t changed_us;      /* up: since when; down: when it was last seen up */
	int64_t changed_wall_us; /* of the first sweep in which it was so */
};

enum health_degraded { DEGRADED_NO, DEGRADED_WIDTH, DEGRADED_SPEED, DEGRADED_BY_HAND };

struct health_node {
	uint64_t guid, system_guid;
	char *name;
	uint32_t host, host_next;     /* the HCAs of a host are a list */
	uint32_t first_port, slots;   /* ports by number: first_port + num */
	uint32_t now;                 /* index in this step's fabric, or FABRIC_NONE */
	uint8_t type, class, tier;
	/* Links, when some are down: */
	bool dark;                    /* had links and has none */
	bool claimed;                 /* a finding about a whole node has its links */
	uint32_t cluster;             /* union-find, of dark ones */
	/* Of the node that stands for a cluster: what is in it; racks: hosts that are of one already. */
	uint32_t cluster_switches, cluster_hosts, cluster_racks;
	uint32_t dark_host;           /* of a leaf: a dark HCA behind it, or NONE */
	int64_t dark_us, dark_wall_us;
	/* Answers: */
	uint32_t asked, answered, unread; /* ports, in this step */
	uint32_t silent_sweeps;
	int64_t answered_us, silent_wall_us;
	bool silent;                  /* for long enough to say so */
	bool silent_echo;             /* and so is the switch that it hangs on */
	/* Tables: */
	int64_t hole_us, hole_wall_us; /* since when routes end here, 0: they do not */
	uint64_t hole_check;           /* step in which they were last seen to */
	int64_t routes_us, routes_wall_us; /* last change that was seen, 0: none */
	int64_t turned_wall_us;       /* when that was, as the load tells; 0: it does not */
	uint32_t suspect_port;        /* carries what the tables do not explain, or NONE */
	double suspect_measured, suspect_predicted;
	/* What its group carried in that window and in the one before; 0: not known. */
	double suspect_mean, suspect_before;
	/* What its uplinks sent in the last active window, of their rate; 0: nothing yet. */
	double uplinks_mean;
	bool reread;                  /* in this step, and was wanted */
	int64_t want_us, asked_us;    /* tables were asked for; 0: not wanted */
	int64_t read_us;              /* last read, LONG_AGO: never since we run */
	int64_t want_again_us;        /* not before */
	int64_t want_pause_us;
};

struct health_host {
	char *name;
	uint8_t class;
	uint32_t first;               /* node */
	bool down;
	uint64_t rails_used;          /* in its last busy windows */
	uint32_t mates;               /* that used the same */
	uint16_t busy_windows, idle_windows;
	int64_t idle_wall_us;
	bool behind_dark;             /* down because all of its leafs are */
	int64_t down_us, down_wall_us; /* when it was last seen up */
	int64_t charge_until_us;      /* its leafs' errors are its own */
	int64_t restart_us, restart_wall_us; /* last one that was seen, LONG_AGO: never */
	uint64_t touched;             /* health->touch */
	uint8_t rack_tag;
	uint64_t rack_guid;           /* it went with others: node of that finding, 0: alone */
};

/* Counts of the last while in buckets of equal length. */
#define RING_BUCKETS 24
struct health_ring {
	int64_t bucket;               /* number of the newest */
	uint64_t total;               /* of all buckets: most rings are empty */
	uint32_t count[RING_BUCKETS];
	uint16_t sweeps[RING_BUCKETS]; /* that counted something */
	int64_t since_wall_us;        /* first that was counted since it was empty */
};

/* Causes of a link that is down: between switches, and to a host. */
#define LINK_CAUSE_TRUNK "cable"
#define LINK_CAUSE_EDGE "cable-or-hca"

#define FLAPS_MAX 4
#define FLAPS_LAST_US (24 * HOUR_US)

/* What a port has that has something to say. */
struct health_tracker {
	uint32_t port;
	struct health_ring symbols, receive, remote, discards, drops, fec;
	int64_t error_us;             /* when it counted an error last */
	int64_t flap_since_us;        /* flaps have been enough since; LONG_AGO: not */
	int64_t edge_since_us;        /* errors of a host's link have been enough since; LONG_AGO: not */
	bool told;                    /* what is enough may be told */
	int64_t flaps[FLAPS_MAX];     /* the newest first; LONG_AGO */
	int64_t flaps_wall_us[FLAPS_MAX];
	/* Of each of the last windows a bit, the newest the lowest. */
	uint32_t stalled, stalled_critical, rail_off, unused;
	int64_t rail_wall_us, unused_wall_us; /* first of those */
	uint32_t hot[2];              /* it was the hottest of an uneven group, by enum balance_direction */
	int64_t hot_wall_us[2];
	int64_t harm_us;              /* it was the hottest of its group, to the harm of others */
	int64_t stall_us;             /* end of the window that the newest bit is of */
	int64_t awaited_us;           /* end of the window in which others waited for it last, as it was full */
	double awaited_stall;         /* how long, 0..1 */
	bool is_full;                 /* in the last active window */
	int64_t stall_wall_us;        /* first stalled one of those */
	double stall_percent;         /* of the last window */
};

/* Sums of one port over the window that is running. */
struct health_load {
	double elapsed_us, xmit_bytes, rcv_bytes, stall_us, discards;
	uint16_t sweeps;
	bool lost;                    /* a sweep without a reading, or an unknown counter */
	bool stall_lost, discards_lost;
};

struct health_open_finding {
	struct finding finding;       /* first: health_open() gives it away */
	int64_t held_us;              /* last time that it held */
	int64_t severe_us;            /* last time that it held with the severity that it has */
	int64_t recovery_us;
	bool is_new, changed, dropped;
	bool restored;                /* and not held since */
	uint64_t touched;             /* generation for which its hosts were found */
};

struct health {
	struct health_settings settings;
	const struct health_input *input; /* of the step that runs */
	int64_t now_us, wall_us, last_us; /* last: of the step before */
	uint64_t returned_generation;
	uint64_t step, generation;    /* generation: of the fabric */
	uint64_t touch;               /* of which finding hosts are listed */
	bool failed;                  /* memory was out in this step */
	bool restored;                /* restored findings wait for the first step */
	const struct fabric *fabric;  /* only compared: is it another */

	struct health_node *nodes;
	size_t node_count, node_capacity;
	struct map by_guid;
	struct health_port *ports;
	size_t port_count, port_capacity;
	struct health_host *hosts;
	size_t host_count, host_capacity;
	struct map host_by_name;
	uint32_t *port_of;            /* by port of the fabric */
	size_t port_of_capacity;
	size_t down_ports, degraded_ports;
	size_t to_nobody;             /* ports of this fabric with a link to nobody known */
	uint32_t dark_switches;
	bool dark_before;             /* links were down at the step before */

	struct health_tracker *trackers;
	size_t tracker_count, tracker_capacity;
	int64_t forgot_us;            /* when quiet ones were looked for last */

	struct health_load *loads;    /* by port, the window that runs */
	size_t load_capacity;
	int64_t window_start_us, window_start_wall_us;
	unsigned window_sweeps;
	struct balance_memory *balance_memory;
	struct balance_load *last_loads; /* by port of the fabric: the window before, to judge again */
	uint8_t *last_adaptive;       /* by node of the fabric */
	uint64_t last_generation;     /* of the fabric that they are of */
	double last_window_us;
	int64_t last_window_wall_us, last_end_us; /* its start, its end */
	bool reread;                  /* wanted tables came in this step */
	unsigned rail_idle_windows;   /* in which nobody used one of the rails */

	struct health_open_finding **open;
	struct finding **views;       /* the same, for whoever looks */
	size_t open_count, open_capacity;
	struct map open_by_key;
	bool rehash;

	struct health_gone { int64_t us; uint32_t host; } *gone; /* hosts that are down, for one step */
	size_t gone_capacity;

	uint64_t *wants;
	size_t want_count, want_capacity;

	/* Of the fabric (health_fabric.c): */
	uint32_t nodes_asked, nodes_silent;
	bool silence_of_many;         /* so many that it is not theirs */
	unsigned coverage_sweeps;
	int64_t coverage_good_us, coverage_bad_wall_us;
	int64_t expected_good_us, expected_bad_wall_us;
	unsigned sm_bad_sweeps, sm_twin_sweeps;
	int64_t sm_good_us, sm_bad_wall_us, sm_single_us, sm_twin_wall_us;
	uint64_t sm_guid;
	struct health_cleared { uint32_t port; int64_t wall_us; } *cleared;
	size_t cleared_count, cleared_capacity;
	int64_t cleared_us;           /* when the batch began */
	uint32_t nodes_added, nodes_gone, links_added, links_gone, links_moved; /* in this step's topology */
	uint64_t checked_generation;  /* of the fabric for which routes were checked */
	int64_t checked_us;           /* when; 0: never */
	bool first_reads;             /* tables came since then that were not read before in this run */
	struct health_hole *holes;
	size_t hole_count, hole_capacity;
};

/* health.c */

/* What a rule holds. */
struct health_case {
	enum finding_kind kind;
	enum finding_severity severity;
	uint32_t node;         /* or NONE: the whole fabric */
	uint32_t port;         /* of ours, or NONE: the node itself; then node is its */
	uint32_t peer;         /* port, or NONE */
	uint8_t tag;
	bool either_end;       /* one that is open at the peer is the same */
	int64_t since_wall_us; /* taken when it opens */
	int64_t at_us, at_wall_us; /* when it held; 0: now */
	const char *cause;
};

/*
 * health_hold - this holds: open it, or go on
 * Numbers start empty. Return: the open finding, to fill in text and numbers; NULL where the kind
 * is off, or memory is out (health->failed).
 */
struct health_open_finding *health_hold(struct health *health, const struct health_case *what);
struct health_open_finding *health_find(struct health *health, enum finding_kind kind, uint64_t guid, uint8_t port,
					uint8_t tag);
/* health_find_link - of a kind at one of a link's ends. */
struct health_open_finding *health_find_link(struct health *health, enum finding_kind kind, uint32_t port);
/* health_drop - it is another kind now: close it in this step. */
void health_drop(struct health_open_finding *open);

void health_subject(struct health_open_finding *open, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void health_text(struct health_open_finding *open, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void health_number(struct health_open_finding *open, const char *key, double value);
void health_touch(struct health_open_finding *open, const char *host);

/* health_names.c */
#define HEALTH_LABEL 160
const char *health_port_label(const struct health *health, uint32_t port, char ret[HEALTH_LABEL]);
/* health_link_label - "leaf01/12 (cage 6.2) - spine09/3", the lower end first. */
void health_link_subject(struct health *health, struct health_open_finding *open, uint32_t port);
/* health_touch_link - the host at its end, or the hosts below a trunk. */
void health_touch_link(struct health *health, struct health_open_finding *open, uint32_t port);
void health_touch_below(struct health *health, struct health_open_finding *open, uint32_t node);
/* health_duration - "42 s", "17 min", "3 h". */
const char *health_duration(int64_t us, char ret[32]);

/* health_memory.c */
int health_follow(struct health *health);
void health_take_answers(struct health *health);
bool health_is_trunk(const struct health *health, uint32_t port);
/* health_add_node - one that was never seen; its name is not set. Return: its index, or NONE: no memory. */
uint32_t health_add_node(struct health *health, uint64_t guid, uint32_t slots);
bool health_copy_name(char **name, const char *now);
/* health_find_host - by its name; made where it was never seen. Return: its index, or NONE: no memory. */
uint32_t health_find_host(struct health *health, const char *name);
/* health_link_is_down - one of its ends is. */
bool health_link_is_down(const struct health *health, const struct health_port *port);
/* health_edge_host - the host at a port's end or at its peer's, or NONE. */
uint32_t health_edge_host(const struct health *health, uint32_t port);
/* health_is_charged - is what this port counts a restarting host's? */
bool health_is_charged(const struct health *health, uint32_t port);
void health_memory_done(struct health *health);

/* health_tracker.c */
void health_tracker_init(struct health_tracker *tracker, uint32_t port);
/* health_track - the tracker of a port, made where it has none. It may move the others. Return: NULL: no memory. */
struct health_tracker *health_track(struct health *health, uint32_t port);
/* health_errors_count - was there an error so lately that a rule looks at it? */
bool health_errors_count(const struct health *health, const struct health_tracker *tracker);
/*
 * health_forget_quiet - once an hour: trackers whose past no rule looks at any more
 * Else each port of a fabric would have one in the end, which are 80 MB with 65,536 ports.
 */
void health_forget_quiet(struct health *health);

/* health_ring: counting */
void ring_add(struct health_ring *ring, int64_t now_us, int64_t bucket_us, uint64_t count, int64_t wall_us);
uint64_t ring_sum(struct health_ring *ring, int64_t now_us, int64_t bucket_us, unsigned buckets, unsigned *ret_sweeps);
/* How long buckets are and how many are looked at. */
#define ERROR_BUCKET_US (5 * MINUTE_US)
#define SYMBOL_BUCKET_US (10 * MINUTE_US)
enum { SYMBOL_BUCKETS = 24, ERROR_BUCKETS = 12, DISCARD_BUCKETS = 10, DROP_BUCKETS = 5, FEC_BUCKETS = 10 };
/* health_is_training - did the link come up so little ago that errors are of its training? */
bool health_is_training(const struct health *health, uint32_t port);

/* health_want - a switch's table must be read again; while it is not, each call asks once more, every 30 s at most. */
void health_want(struct health *health, uint32_t node);

/* Rules, in the order in which they run. */
void health_nodes(struct health *health);   /* missing, restart */
void health_silent(struct health *health);
void health_links(struct health *health);   /* down, degraded, flapping */
void health_take_counters(struct health *health); /* health_take.c: after whole nodes, which are charged with some */
void health_errors(struct health *health);  /* symbols, receive, fec, discards */
void health_window(struct health *health);  /* balance, congestion, rails: what needs a minute */
void health_reread(struct health *health);  /* health_balance.c: tables that were asked for */
void health_balance(struct health *health);
void health_rails(struct health *health);
void health_miswired(struct health *health); /* health_rails.c */
/* Of FINDING_TOPOLOGY_CHANGED: fewer than expected. */
enum { EXPECTED_TAG = 1 };

void health_expected(struct health *health); /* fewer than a person says that there are */
void health_fabric(struct health *health);  /* coverage, SM, locked, cleared, routes, topology */
/* health_forget_host - errors and downs of its ports are its own. */
void health_forget_host(struct health *health, uint32_t host);
/* health_forget_lately - what a tracker noted since @from_us. */
void health_forget_lately(struct health_tracker *tracker, int64_t from_us, int64_t now_us);

/* health_restore.c: what open findings of an earlier run tell, before the rules of the first step. */
void health_restore_memory(struct health *health);
/* health_restored_nodes - hold those about nodes that were gone before this run, until they are back. */
void health_restored_nodes(struct health *health);
void health_find_degraded(struct health *health);

#endif
