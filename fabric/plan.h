/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * plan.h - a cabling plan: which port is to be connected to which
 *
 * A plan is read from one or more files and names devices and ports as its author does. It is
 * resolved against a fabric (plan_resolve), and compared with it (fabric/plan_diff.h). A plan
 * without a fabric has no ports, so it outlives each topology.
 */
#ifndef IBWIRE_FABRIC_PLAN_H
#define IBWIRE_FABRIC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;
struct shape;
struct text;

enum plan_form { PLAN_NDT, PLAN_LIST, PLAN_TOPO, PLAN_DUMP, PLAN_FORM_COUNT };

/* One end of a planned link, as written. Strings are owned by the plan; "" where the file has none. */
struct plan_end {
	uint64_t guid;        /* of the node, from a dump, in which device is its displayed name; 0: by name */
	const char *device;   /* "leaf-a01", "node0001", "0x2c5eab0300b87b40" */
	const char *port;     /* "Port 21", "node0001 mlx5_0", "Blade 16_Port 2/20", "6.2" */
	const char *place;    /* rack and height of a spreadsheet: "Rack A #1 U41" */
};

struct plan_link {
	struct plan_end ends[2];
	const char *cable;       /* the cells of its columns of cables: "200G HDR cable, 10" */
	/* Planned data rate, all lanes: 200000; for "56G" 54545, as link_rate_bits_per_s() has it. 0: none given */
	uint32_t mbits_per_s;
	uint8_t width;           /* enum link_width; 0: none given */
	uint8_t speed;           /* enum link_speed; LINK_SPEED_NONE: none given */
	uint32_t file, line;     /* index into files; from 1, 0: not known */
	/* From a line with a problem: an end may be missing (""), and the other one may be without its port. */
	bool damaged;
};

/* A line that is not judged, and why. */
struct plan_problem {
	uint32_t file, line;
	const char *text;        /* one line, without file and number */
};

/* A zeroed struct is an empty plan. */
struct plan {
	struct plan_link *links;
	size_t link_count, link_capacity;
	struct plan_file { const char *name; enum plan_form form; } *files;
	size_t file_count;
	struct plan_problem *problems; /* of reading: torn lines, no such column */
	size_t problem_count, problem_capacity;
	bool incomplete;         /* a file ends in a line: links are missing */
	void *memory;            /* private */
};

/* plan_form_name - "NDT file", "list of links", "ibdiagnet topology file", "ibnetdiscover dump" */
const char *plan_form_name(enum plan_form form);

/*
 * plan_read - append the links of a file, whose form is found from its content
 * @name:   of the file, for messages
 * @chars, @len:  its bytes (text_read_bytes()): UTF-8 or UTF-16, with or without a byte order mark
 *
 * Lines that cannot be read are problems, and the others are links. A line of which an end can be read is both: its
 * damaged link keeps the cable at that end from being reported as extra. Lines and files with the same ends are one
 * link.
 * Return: 0; ERR_IO: no form of a plan, or no link in it; ERR_NOMEM. After an error the plan is as before.
 */
int plan_read(struct plan *plan, const char *name, const char *chars, size_t len, struct error *err);

/* plan_read_file - the same from a file. Return: also ERR_IO if it cannot be read. */
int plan_read_file(struct plan *plan, const char *path, struct error *err);
void plan_done(struct plan *plan);

/* A planned link in a fabric. */
struct plan_place {
	uint32_t node[2];  /* of its ends: index into nodes, or FABRIC_NONE: no such node */
	uint32_t port[2];  /* index into ports, or FABRIC_NONE: no such node or port; also if contradicted */
	bool known[2];     /* the fabric has its device, also if that has several HCAs or is one of several */
	bool contradicted; /* another line has another peer for one of its ports: neither can be judged */
	uint32_t named[2]; /* then: its ports */
	bool repeated;     /* an earlier link with other names has the same ports: does not count; ports: FABRIC_NONE */
};

struct plan_ports {
	struct plan_place *links;      /* parallel to plan->links */
	/*
	 * All problems in order of file and line: those of plan_read(), whose texts are owned by the plan, and one for
	 * each unknown or ambiguous name (once, with similar names), port, doubled end and loop.
	 */
	struct plan_problem *problems;
	size_t problem_count, problem_capacity;
	size_t not_judged;             /* links of which an end has no port, and contradicted ones */
	size_t repeated;               /* number of links that are marked so */
	void *memory;                  /* private */
};

/*
 * plan_resolve - find the ports of a plan in a fabric
 * @shape:  of the fabric: hosts, cages
 * @ret:    for plan_ports_done(); untouched on error
 *
 * A name is, in this order: a GUID; the complete name of a node; its displayed name; these without regard to
 * case and domain; a host with a device or with its only HCA; a director with line module and ASIC.
 * Return: 0 or ERR_NOMEM.
 */
int plan_resolve(const struct plan *plan, const struct shape *shape, struct plan_ports *ret, struct error *err);
void plan_ports_done(struct plan_ports *ports);

#endif
