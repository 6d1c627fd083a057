/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * survey.h - what a discovery has found so far
 *
 * Nodes by GUID, their ports, and the links between them, as one answer after
 * the other brings them. A link is found by asking out of one of its ports who
 * is behind it. That names the port at the far end too, so the other direction
 * need not be asked: unless something contradicts it, because two nodes have
 * one GUID, or a cable was moved meanwhile. What is a node's `own` has been asked out of
 * the port itself, and is believed before what was heard from the other end.
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
#include "wire/smp_read.h"

struct error;

struct survey_port {
	uint64_t guid;             /* NodeInfo.PortGUID; 0 where it is not known */
	uint32_t peer_node;        /* index; where linked */
	uint8_t peer_port;
	bool known;                /* its PortInfo came */
	bool linked;
	bool own;                  /* its link was found from here */
	bool probed;               /* it was asked who is behind it */
	uint8_t info[SMP_DATA_SIZE];     /* PortInfo */
	uint8_t extended[SMP_DATA_SIZE]; /* Mellanox' ExtendedPortInfo, or zeros */
};

struct survey_node {
	struct smp_node info;      /* NodeInfo as it came first */
	struct node node;          /* what else is known: description, SwitchInfo */
	struct path path;          /* the one by which it was found */
	uint32_t request_node;             /* of its requests (wire/engine.h) */
	unsigned failed_in_a_row;  /* SMPs to it that stayed without an answer */
	bool dropped;              /* it was taken for dead once */
	bool doubtful;             /* something contradicts its GUID or links: all of them are to be asked from here */
	struct survey_port *ports; /* port_count + 1 of them, by number */
};

struct survey {
	struct survey_node *nodes; /* in the order in which they were found; the first is this host's */
	size_t count, capacity;
	struct map by_guid;
	uint8_t from_port;         /* of this host's node */
	struct text notes;         /* lines for a person: what does not fit */
	unsigned note_count;
};

/* A zeroed survey is an empty one. */
void survey_done(struct survey *survey);

/* survey_note - add a line for a person; after some, only how many more there were. */
void survey_note(struct survey *survey, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* survey_take_notes - append them to a text, and how many are left out. */
void survey_take_notes(const struct survey *survey, struct text *ret);

/*
 * survey_meet - somebody answered NodeInfo
 * @path:     by which the question came to it
 * @ret:      its index
 * @ret_new:  was it not known before?
 *
 * Return: 0; 1 where it is to be left alone, and a note says why: it has no GUID, a port that it cannot have, or
 * the GUID of a node that is another one; ERR_NOMEM.
 */
int survey_meet(struct survey *survey, const struct smp_node *info, const struct path *path, uint32_t request_node,
		uint32_t *ret, bool *ret_new, struct error *err);

/*
 * survey_link - out of a port a node was met
 * @first:  it was not known before: its path goes through this link
 *
 * Return: whether it fits all that was found before. If not, a note says so, the
 * nodes at both ends are marked doubtful, and what was found first stays, unless this was seen from nearer.
 */
bool survey_link(struct survey *survey, uint32_t node, uint8_t num, uint32_t met, uint8_t met_num, bool first);

/* survey_caps - the PortInfo whose CapabilityMask speaks for a port; its own where port 0's did not come. */
const uint8_t *survey_caps(const struct survey_node *node, uint8_t num);

/* survey_finish - what was found as a fabric. Return: 0; ERR_NOMEM. */
int survey_finish(const struct survey *survey, struct fabric **ret, struct error *err);

#endif
