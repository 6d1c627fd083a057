/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* db.h - what `ibwire db` shows (cli/db_info.c); the rest is in cli/db.c */
#ifndef IBWIRE_CLI_DB_H
#define IBWIRE_CLI_DB_H

struct error;
struct options;

/* db_show_info - what is kept, since when, and how large it is. Return: 0 or a negative error. */
int db_show_info(const struct options *options, const char *path, struct error *err);

#endif
