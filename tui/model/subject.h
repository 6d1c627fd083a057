/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * subject.h - what a row, cell or line of a screen represents
 *
 * Identified by GUID, port number and id, so it stays valid when the snapshot changes.
 */
#ifndef IBWIRE_TUI_MODEL_SUBJECT_H
#define IBWIRE_TUI_MODEL_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct finding_row;
struct shape;

enum subject_kind {
	SUBJECT_NONE,
	SUBJECT_FABRIC,
	SUBJECT_NODE,
	SUBJECT_PORT,    /* and the link at this port */
	SUBJECT_GROUP,   /* the uplinks of a switch, or its parallel links to the switch peer_guid */
	SUBJECT_FINDING,
	SUBJECT_TEXT,    /* output of a command */
};

struct subject {
	enum subject_kind kind;
	uint64_t node_guid;
	uint64_t peer_guid;  /* GROUP: the other switch, 0: uplinks */
	uint8_t port;        /* PORT */
	int64_t id;          /* FINDING, TEXT */
};

/*
 * subject_group - index of the group of a subject in the shape, or SHAPE_NONE. @shape: may be NULL.
 */
uint32_t subject_group(const struct shape *shape, const struct subject *subject);

/* subject_of_finding - the port, node, group or fabric that a finding is about. */
struct subject subject_of_finding(const struct finding_row *row);

bool subject_equal(const struct subject *a, const struct subject *b);

#endif
