/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * netfile.h - read and write ibnetdiscover outputs, which are also the net files of ibsim
 *
 * Reads the variants of the last twenty years: error lines and shell prompts in between, `Ca` or
 * `Hca`, `Switch41` of a terminal log that lost a blank, a LID and a speed in the comment, chassis
 * lines, extra suffixes, quotes and '#' inside descriptions, CRLF.
 */
#ifndef IBWIRE_FABRIC_NETFILE_H
#define IBWIRE_FABRIC_NETFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/unread.h"

struct error;
struct fabric;
struct name_map;
struct text;

/* Problems in the file, each with the first line that has it. */
struct netfile_notes {
	struct unread ignored;       /* unknown lines (error messages) */
	struct unread damaged;       /* lines of which a part could not be read */
	struct unread peers_unknown; /* ports cabled to a node or port that is not in the file */
	struct unread peers_one_sided; /* cables named by one end only; linked all the same */
	struct unread peers_conflicting; /* ports with different peers at both ends; not linked */
	struct unread peers_self;    /* ports that are their own peer; not linked */
	struct unread rates_unknown; /* links without a rate */
	struct unread ends_unknown;  /* links with a rate at one end only */
	struct unread ends_differ;   /* links with another width or speed at each end */
	struct unread guids_unknown; /* GUIDs that are not hexadecimal (redacted) */
	struct unread guids_made;    /* nodes without a GUID, of which one was made */
	bool unfinished;             /* the file ends inside a line or a node */
};

/* A number of problems of one kind, and what follows the number: "line is ...", "lines are ...". */
struct netfile_note {
	struct unread where;
	const char *one, *many;
};

/*
 * netfile_describe - one line for each kind of problem
 * netfile_describe_counts - the same for the @len entries of @kinds whose count is not 0
 * @print:  called with each line
 */
typedef void netfile_print(void *ctx, const char *line);
void netfile_describe(const struct netfile_notes *notes, netfile_print *print, void *ctx);
void netfile_describe_counts(const struct netfile_note *kinds, size_t len, netfile_print *print, void *ctx);

/* A line before that of a node, which other programs skip: "#firmware=28.39.1002 psid=MT_0000000838" */
#define NETFILE_FIRMWARE "#firmware="

/*
 * netfile_read - a fabric from an ibnetdiscover output
 * @chars, @len:  the file's text
 * @map:          node names, or NULL
 * @ret:          a finished fabric; ports that the file does not list exist
 *                and are down (1..NumPorts); listed ones are Active. Untouched on error.
 * @ret_notes:    a note for each kind of content that was ignored, or NULL
 *
 * Width and speed of a link come from the comment ("4xHDR") or from ibsim's w=,
 * s= and e= masks, LIDs from the comment ("lid 7"). A link without them has no rate. Nodes are
 * identified by the quoted id: a GUID ("S-2c5eab0300b87b40"), or any text as ibsim has it, with the
 * GUID of the node's assignment ("switchguid=") or one made from the text.
 * Return: 0; ERR_IO where there is no node in it, or two nodes have one GUID or id; ERR_NOMEM.
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
