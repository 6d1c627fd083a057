/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * anonymise.h - consistent replacement of names and GUIDs (private to storage/)
 *
 * The replacements are temporary tables (old, new) of the connection that writes the export, with
 * the original attached as "source": name_alias, guid_alias and boot_alias. They cannot be reversed:
 * hosts are numbered, GUIDs are numbered in random order, boot ids are random. ibwire-db(1) describes
 * which structure remains.
 */
#ifndef IBWIRE_STORAGE_ANONYMISE_H
#define IBWIRE_STORAGE_ANONYMISE_H

#include "base/text.h"

struct error;
struct sqlite3;

struct anonymiser {
	struct sqlite3 *db; /* borrowed */
	char **names;       /* result of sqlite3_get_table(): name_alias, sorted by strcmp() */
	int name_count;
};

/*
 * anonymise_begin - create all replacements, and the SQL functions sanitised() and hide_text()
 * @anonymiser:  zeroed; borrowed by @db, so anonymise_done() follows after the last statement
 * Return: 0 or a negative error.
 */
int anonymise_begin(struct anonymiser *anonymiser, struct sqlite3 *db, struct error *err);
void anonymise_done(struct anonymiser *anonymiser);

/* anonymise_names - create name_alias. Uses sanitised(). */
int anonymise_names(struct sqlite3 *db, struct error *err);

/*
 * anonymise_text - replace names and GUIDs in a sentence of an event
 * A word that is neither one of the program's own, a number nor such a name becomes an asterisk, so
 * unexpected words are hidden.
 */
int anonymise_text(struct anonymiser *anonymiser, const char *text, struct text *ret, struct error *err);

#endif
