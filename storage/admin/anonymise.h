/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * anonymise.h - names and GUIDs replaced alike everywhere (inside storage/ only)
 *
 * What is invented cannot be turned back: names are numbered, GUIDs counted in an
 * order drawn at random, and no table of what became what is kept. What stays is
 * structure: devices of one host keep one host's name; names of one scheme
 * ("leaf-01", "leaf-02") get one invented stem and numbers in the same order;
 * GUIDs of one device (node, ports, system) stay as far apart as they are; model
 * names of switches and device names ("mlx5_0") stay.
 */
#ifndef IBWIRE_STORAGE_ANONYMISE_H
#define IBWIRE_STORAGE_ANONYMISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/text.h"

struct error;
struct sqlite3;

/* A name and what is shown for it. */
struct alias {
	char *was, *is;
	bool on_switch;
};

struct anonymiser {
	struct alias *aliases; /* in order of strcmp() once complete */
	size_t alias_count, alias_capacity;
	size_t *lengths;       /* of the names that there are, longest first */
	size_t length_count;
	uint64_t *guids;       /* that were seen, and by their index ... */
	uint64_t *invented;    /* ... what is shown for them */
	size_t guid_count, guid_capacity;
	struct map guid_index;
	struct alias *boots;   /* ids of boots, as they come */
	size_t boot_count, boot_capacity;
	uint64_t next_device;  /* a number that no invented GUID has yet */
};

/* anonymise_add_name, anonymise_add_guid - what is to be replaced. Return: 0 or ERR_NOMEM. */
int anonymise_add_name(struct anonymiser *anonymiser, const char *name, bool on_switch, struct error *err);
int anonymise_add_guid(struct anonymiser *anonymiser, uint64_t guid, struct error *err);

/* anonymise_invent_names - the part of anonymise_complete() for names. */
int anonymise_invent_names(struct anonymiser *anonymiser, struct error *err);

/* anonymise_complete - invent for all that was added. Return: 0, ERR_NOMEM, or ERR_IO without random numbers. */
int anonymise_complete(struct anonymiser *anonymiser, struct error *err);
void anonymise_done(struct anonymiser *anonymiser);

/* anonymise_name - what is shown for a name; NULL where it was not added. */
const char *anonymise_name(const struct anonymiser *anonymiser, const char *name);

/*
 * anonymise_guid - what is shown for a GUID; 0 stays 0
 * One that was not added is invented now. Return: 0 or ERR_NOMEM.
 */
int anonymise_guid(struct anonymiser *anonymiser, uint64_t guid, uint64_t *ret, struct error *err);

/*
 * anonymise_text - a sentence of an event
 * Names and GUIDs are replaced. A word that is none of the program's own, no number and no such name
 * becomes an asterisk: so nothing passes that nobody thought of.
 */
int anonymise_text(struct anonymiser *anonymiser, const char *text, struct text *ret, struct error *err);

/*
 * anonymise_functions - hide_guid, hide_name, hide_description, hide_text, hide_boot for SQL on a connection
 * @disguise: complete; borrowed for as long as the connection is open
 */
int anonymise_functions(struct sqlite3 *db, struct anonymiser *anonymiser, struct error *err);

#endif
