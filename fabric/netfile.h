/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netfile.h - the output of ibnetdiscover, which is also ibsim's net file
 *
 * Reads what real ibnetdiscovers of the last twenty years wrote: error lines in
 * between, `Ca` or `Hca`, a LID and a speed in the comment, chassis lines, extra
 * suffixes, quotes and '#' inside descriptions.
 */
#ifndef IBWIRE_FABRIC_NETFILE_H
#define IBWIRE_FABRIC_NETFILE_H

#include <stddef.h>

struct error;
struct fabric;
struct name_map;
struct text;

/* What had to be passed over; a reader may want to say it. */
struct netfile_notes {
	size_t lines_ignored;   /* lines of no known form (error messages) */
	size_t peers_unknown;   /* ports cabled to a node or port the file does not hold */
	size_t peers_one_sided; /* cables that only one end names; linked all the same */
	size_t peers_conflicting; /* ports that both ends give different peers; left unlinked */
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
 * netfile_write - append a fabric in the form of an ibnetdiscover output
 *
 * Links that are up, with speeds and LIDs as they are; quotes and control characters in descriptions become others.
 * netfile_read() has the same nodes and links of it; ibsim 0.10 takes NDR and XDR for SDR.
 * Return: how many links are left out, because they are not up. Whether memory sufficed says text_failed().
 * Source: infiniband-diags ibnetdiscover.c, as above.
 */
size_t netfile_write(struct text *text, const struct fabric *fabric);

#endif
