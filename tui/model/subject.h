/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * subject.h - what a row, a cell or a line of a screen is about
 *
 * By identity and not by place: it outlives the snapshot that it was found in.
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
	SUBJECT_PORT,    /* and the link that begins there */
	SUBJECT_GROUP,   /* the uplinks of a switch, or its parallel links to the switch peer_guid */
	SUBJECT_FINDING,
	SUBJECT_TEXT,    /* what a command printed */
};

struct subject {
	enum subject_kind kind;
	uint64_t node_guid;
	uint64_t peer_guid;  /* GROUP: the other switch, 0: uplinks */
	uint8_t port;        /* PORT */
	int64_t id;          /* FINDING, TEXT */
};

/* subject_group - the group that a subject means: its index into the shape's, or SHAPE_NONE. @shape: or NULL. */
uint32_t subject_group(const struct shape *shape, const struct subject *subject);

/* subject_of_finding - where a finding is: its port, node, group, or the fabric. */
struct subject subject_of_finding(const struct finding_row *row);

bool subject_equal(const struct subject *a, const struct subject *b);

#endif
