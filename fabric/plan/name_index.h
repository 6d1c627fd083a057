/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* name_index.h - nodes, hosts and directors of a fabric by the names that a plan gives them; private to fabric/plan */
#ifndef IBWIRE_FABRIC_PLAN_NAME_INDEX_H
#define IBWIRE_FABRIC_PLAN_NAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "fabric/plan/build.h"

struct shape;
struct text;

/* Longer names are those of no node. */
enum { NAME_MAX_SIZE = 512 };

enum named {
	NAMED_NOTHING,
	NAMED_NODE,
	NAMED_PORT,    /* by its PortGUID */
	NAMED_HOST,
	NAMED_BOX,     /* several switches: a director, or a box with several ASICs */
	NAMED_SEVERAL, /* nodes or hosts that have nothing to do with each other */
};

struct name_entry {
	const char *key;
	uint32_t what; /* node, or host */
	uint32_t next; /* entry with the same hash, or FABRIC_NONE */
	uint8_t space;
};

struct name_index {
	const struct shape *shape;
	struct name_entry *entries;
	size_t count, capacity;
	struct map heads;         /* hash of a name to its first entry */
	struct map port_guids;    /* to port */
	struct plan_strings strings;
	size_t searches, comparisons; /* for hints, which take time */
};

/* What a name stands for. */
struct name_found {
	enum named named;
	uint32_t what;        /* NODE, PORT, HOST */
	uint32_t entry;       /* BOX: the first entry of its switches; SEVERAL: of the nodes or hosts */
	bool hosts;           /* SEVERAL: hosts */
	size_t count;         /* BOX, SEVERAL: their number */
	char rest[NAME_MAX_SIZE]; /* the part of the name that belongs to the port: "mlx5_0", "L16/U2"; or "" */
};

/* name_index_init - Return: 0 or ERR_NOMEM; name_index_done() in both cases. */
int name_index_init(struct name_index *index, const struct shape *shape);
void name_index_done(struct name_index *index);

/* name_index_find - what @typed names */
void name_index_find(const struct name_index *index, const char *typed, struct name_found *ret);

/* name_index_next - the next entry of the same name, from name_found.entry on, or FABRIC_NONE */
uint32_t name_index_next(const struct name_index *index, uint32_t entry);

/* name_index_similar - append ": did you mean leaf-01 or leaf-11?" for an unknown name, or nothing */
void name_index_similar(struct name_index *index, const char *typed, struct text *ret);

/*
 * name_module - line or spine module and ASIC of a part of a director: 'L', 16 and 2 of "MF0;NAME:MODEL/L16/U2"
 * Return: false: it is no part of a box.
 */
struct name_module {
	char kind;               /* 'L', 'S', or 0: the box has no modules */
	unsigned module, asic;
};
bool name_module(const char *name, struct name_module *ret);

#endif
