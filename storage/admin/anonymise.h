/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * anonymise.h - consistent replacement of names and GUIDs (private to storage/)
 *
 * The replacement cannot be reversed: names are numbered, GUIDs are numbered in random order, and
 * the mapping is not stored. The structure remains: devices of one host have one host name; names
 * of one scheme ("leaf-01", "leaf-02") get a common stem and numbers in the same order; GUIDs of one
 * device (node, ports, system) keep their distances; model names of switches and device names
 * ("mlx5_0") do not change.
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

/* A name and its replacement. */
struct alias {
	char *was, *is;
	bool on_switch;
};

struct guid_alias {
	uint64_t was, is;
};

struct anonymiser {
	struct alias *aliases; /* sorted by strcmp() once complete */
	size_t alias_count, alias_capacity;
	struct guid_alias *guids;
	size_t guid_count, guid_capacity;
	struct map guid_index;
	struct alias *boots;   /* ids of boots */
	size_t boot_count, boot_capacity;
	uint64_t next_device;  /* the next unused device number */
};

/* anonymise_add_name, anonymise_add_guid - add one to be replaced. Return: 0 or ERR_NOMEM. */
int anonymise_add_name(struct anonymiser *anonymiser, const char *name, bool on_switch, struct error *err);
int anonymise_add_guid(struct anonymiser *anonymiser, uint64_t guid, struct error *err);

/* anonymise_invent_names - the part of anonymise_complete() for names. */
int anonymise_invent_names(struct anonymiser *anonymiser, struct error *err);

/* anonymise_complete - create all replacements. Return: 0, ERR_NOMEM, ERR_IO (no random numbers). */
int anonymise_complete(struct anonymiser *anonymiser, struct error *err);
void anonymise_done(struct anonymiser *anonymiser);

/* anonymise_name - Return: the replacement of a name; NULL: it was not added. */
const char *anonymise_name(const struct anonymiser *anonymiser, const char *name);

/* anonymise_guid - replacement of any GUID; 0 for 0. Return: 0 or ERR_NOMEM. */
int anonymise_guid(struct anonymiser *anonymiser, uint64_t guid, uint64_t *ret, struct error *err);

/*
 * anonymise_text - replace names and GUIDs in a sentence of an event
 * A word that is neither one of the program's own, a number nor such a name becomes an asterisk, so
 * unexpected words are hidden.
 */
int anonymise_text(struct anonymiser *anonymiser, const char *text, struct text *ret, struct error *err);

/*
 * anonymise_functions - SQL functions hide_guid, hide_name, hide_description, hide_text, hide_boot
 * @anonymiser: complete; borrowed until the connection is closed
 */
int anonymise_functions(struct sqlite3 *db, struct anonymiser *anonymiser, struct error *err);

#endif
