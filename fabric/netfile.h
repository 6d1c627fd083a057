/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netfile.h - read and write ibnetdiscover outputs, which are also the net files of ibsim
 *
 * Reads the variants of the last twenty years: error lines in between, `Ca` or `Hca`, a LID and a
 * speed in the comment, chassis lines, extra suffixes, quotes and '#' inside descriptions.
 */
#ifndef IBWIRE_FABRIC_NETFILE_H
#define IBWIRE_FABRIC_NETFILE_H

#include <stddef.h>

struct error;
struct fabric;
struct name_map;
struct text;

/* Problems in the file. */
struct netfile_notes {
	size_t lines_ignored;   /* unknown lines (error messages) */
	size_t peers_unknown;   /* ports cabled to a node or port that is not in the file */
	size_t peers_one_sided; /* cables named by one end only; linked all the same */
	size_t peers_conflicting; /* ports with different peers at both ends; not linked */
};

/*
 * netfile_read - a fabric from an ibnetdiscover output
 * @chars, @len:  the file's text
 * @map:          node names, or NULL
 * @ret:          a finished fabric; ports that the file does not list are there
 *                and down (1..NumPorts); listed ones are Active. Untouched on error.
 * @ret_notes:    what was passed over, or NULL
 *
 * Width and speed of a link come from the comment ("4xHDR") or from ibsim's w=,
 * s= and e= masks, LIDs from the comment ("lid 7").
 * Return: 0; ERR_IO where there is no node in it, or it names a node twice; ERR_NOMEM.
 * Source: infiniband-diags ibnetdiscover.c (out_switch, out_ca, out_switch_port,
 * out_ca_port), ibsim sim_net.c (parse_port).
 */
int netfile_read(const char *chars, size_t len, const struct name_map *map, struct fabric **ret,
		 struct netfile_notes *ret_notes, struct error *err);

/*
 * netfile_write - append a fabric in the format of ibnetdiscover
 *
 * Writes links that are up with their speeds and LIDs; quotes and control characters in
 * descriptions are replaced. netfile_read() returns the same nodes and links; ibsim 0.10 reads NDR
 * and XDR as SDR.
 * Return: number of links left out because they are not up. text_failed() reports a lack of memory.
 * Source: infiniband-diags ibnetdiscover.c, as above.
 */
size_t netfile_write(struct text *text, const struct fabric *fabric);

#endif
