/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * survey.h - the nodes, ports and links that a discovery has found so far
 *
 * A link is found by querying the node behind one of its ports. The response names the port at the
 * far end, so the other direction is not queried, unless there is a contradiction: two nodes with
 * one GUID, or a cable that was moved during the discovery. `own` links were queried from the port itself and
 * take precedence over those seen from the other end.
 */
#ifndef IBWIRE_WIRE_SURVEY_H
#define IBWIRE_WIRE_SURVEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/path.h"
#include "wire/mad.h"
#include "wire/smp.h"

struct error;

struct survey_port {
	uint64_t guid;             /* NodeInfo.PortGUID; 0: unknown */
	uint32_t peer_node;        /* index, if linked */
	uint8_t peer_port;
	bool known;                /* its PortInfo was read */
	bool linked;
	bool own;                  /* its link was queried from here */
	bool probed;               /* the node behind it was queried */
	bool requested;            /* of a border node: its PortInfo is queried */
	bool listed;               /* of a border node: its peer is queried, too, even if it is still the same */
	uint8_t info[SMP_DATA_SIZE];     /* PortInfo */
	uint8_t extended[SMP_DATA_SIZE]; /* Mellanox ExtendedPortInfo, or zeros */
};

struct survey_node {
	struct node node;          /* first NodeInfo, description, SwitchInfo */
	struct path path;          /* path on which it was found */
	uint32_t request_node;             /* of its requests (wire/engine.h) */
	unsigned failed_in_a_row;  /* consecutive SMPs to it that timed out */
	bool dropped;              /* its queries were cancelled once */
	bool doubtful;             /* its GUID or links are contradictory: query all of its links from here */
	bool border;               /* of a part (wire/merge.h): only some of its ports are read */
	struct survey_port *ports; /* port_count + 1 of them, by number */
};

struct survey {
	struct survey_node *nodes; /* in order of discovery; the first is the node of this host */
	size_t count, capacity;
	struct map by_guid;
	uint8_t from_port;         /* port of this host */
	struct text notes;         /* lines about inconsistencies */
	unsigned note_count;
};

/* A zeroed survey is empty. */
void survey_done(struct survey *survey);

/* survey_note - add a line about an inconsistency; beyond a limit they are only counted. */
void survey_note(struct survey *survey, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* survey_take_notes - append the notes to a text, with the number of omitted ones. */
void survey_take_notes(const struct survey *survey, struct text *ret);

/*
 * survey_add - add the node of a NodeInfo response
 * @path:     path of the query
 * @ret:      its index
 * @ret_new:  it was not known before
 *
 * Return: 0; 1: it is ignored and a note has the reason: no GUID, an impossible port number, or the
 * GUID of another node; ERR_NOMEM.
 */
int survey_add(struct survey *survey, const struct smp_node *info, const struct path *path, uint32_t request_node,
		uint32_t *ret, bool *ret_new, struct error *err);

/*
 * survey_link - a node was found behind a port
 * @first:  it was not known before: its path uses this link
 *
 * Return: whether it agrees with all previous links. Otherwise a note is added, the nodes at both
 * ends are marked doubtful, and the previous link stays, unless this one was seen from nearer.
 */
bool survey_link(struct survey *survey, uint32_t node, uint8_t num, uint32_t found, uint8_t far_num, bool first);

/* survey_caps - the PortInfo with the CapabilityMask of a port: that of port 0 if it was read */
const uint8_t *survey_caps(const struct survey_node *node, uint8_t num);

/* survey_read_port - decode a port; without its PortInfo only its number is set */
void survey_read_port(const struct survey_node *node, uint8_t num, struct port *ret);

/* survey_add_to - add a node with its ports to a fabric. Return: 0; ERR_NOMEM. */
int survey_add_to(const struct survey_node *node, struct fabric *fabric, struct error *err);

/* survey_finish - the result as a fabric. Return: 0; ERR_NOMEM. */
int survey_finish(const struct survey *survey, struct fabric **ret, struct error *err);

#endif
