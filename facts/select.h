/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * select.h - the notation that selects ports, links, nodes and boxes
 *
 * One parser and one table of keys for the subjects of commands, subject= of /api/ and the filter of the screen:
 *
 *	TERM TERM         both hold
 *	TERM|TERM         either holds; a blank binds more strongly
 *	!TERM             does not hold
 *	KEY:VALUE         select_keys[]: tier:2, rail:mlx5_3, class:storage, state:down
 *	KEY:VALUE/PORTS   those of the ports 3, 17-20, 1,4,7-9 or a pattern: tier:1/1-4
 *	KEY:"VALUE"       a value with blanks
 *	WORD              commands: a subject (facts/selection.h); screen: text or a regular expression
 *
 * A blank or '|' inside parentheses and brackets belongs to its term. A value that is a name matches the full name, if
 * one exists, else the names that match it as a pattern of fnmatch(3) or begin with it; letters match in both cases.
 * Terms are limited to SELECT_TERMS.
 *
 * A port is selected by its own facts. A link has two ends: a term holds for it if it holds for either end, and only
 * then is it negated, so "!tier:2" is the links without an end of tier 2. A node or box is selected by its ports.
 */
#ifndef IBWIRE_FACTS_SELECT_H
#define IBWIRE_FACTS_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct fabric;
struct finding_row;
struct port_facts;
struct shape;

enum select_key {
	SELECT_TIER, SELECT_RAIL, SELECT_HOST, SELECT_CLASS, SELECT_ROLE, SELECT_STATE, SELECT_SPEED, SELECT_WIDTH,
	SELECT_ERRORS, SELECT_FINDING, SELECT_NAME, SELECT_GUID, SELECT_LID, SELECT_PORT, SELECT_TAGGED,
	SELECT_KEY_COUNT,
	SELECT_WORD, /* a term without a key */
};

/* Facts that cost time or memory, and are loaded when an expression needs them. */
enum select_need { SELECT_NEEDS_SHAPE = 1, SELECT_NEEDS_PORTS = 2, SELECT_NEEDS_FINDINGS = 4 };

struct select_key_info {
	const char *key;
	const char *example;  /* of a term */
	const char *help;     /* one line: what it selects */
	unsigned needs;       /* bits of enum select_need */
	bool names_ports;     /* a port that it selects without its node is listed even if it was never up */
	bool screen_only;
};
extern const struct select_key_info select_keys[SELECT_KEY_COUNT];

#define SELECT_SIZE 1024
#define SELECT_TERMS 32

struct select_term {
	char *text;           /* the word, or the value of the key (into select.chars) */
	uint16_t start, end;  /* of the term in select.typed */
	uint8_t key;          /* enum select_key */
	uint8_t alternative;  /* terms of one alternative are adjacent */
	bool negated;
	bool is_unknown;      /* a word that looks like an unknown key */
};

/* A parsed expression. Zeroed: selects everything. */
struct select {
	char typed[SELECT_SIZE];
	char chars[2 * SELECT_SIZE];
	struct select_term terms[SELECT_TERMS];
	size_t term_count;
	bool incomplete;      /* a '!' without a term, or a key without a value: such a term is left out */
	bool cut;             /* it was too long */
};

/* select_parse - parse an expression, cut at SELECT_SIZE - 1 bytes and SELECT_TERMS terms. Every text is valid. */
void select_parse(struct select *select, const char *typed);

/* select_unknown_key - "there is no key 'tire': did you mean 'tier'?" of a term with is_unknown. Return: ERR_USAGE. */
int select_unknown_key(const struct select_term *term, struct error *err);

/* What expressions are evaluated against. All members are borrowed. */
struct select_facts {
	const struct fabric *fabric;
	const struct shape *shape;
	const struct port_facts *ports;     /* parallel to the ports of the fabric */
	const uint32_t *finding_of;         /* by port: 1 + index of its worst finding; 0: none (facts/port_marks.h) */
	const struct finding_row *findings;
	/*
	 * load - set members that are NULL
	 * @needs:  bits of enum select_need, of these members
	 * Return: 0 or an error. NULL: what is not there is unknown, and its terms hold for nothing.
	 */
	int (*load)(struct select_facts *facts, unsigned needs, struct error *err);
};

/*
 * For which terms of an expression a port or node matches: bit i for term i. The bits of a link are those of both ends,
 * ORed. The upper half excludes: "err:no" matches an end without errors, and excludes a link of which an end has some.
 */
typedef uint64_t select_bits;

static inline bool select_has(select_bits bits, size_t term)
{
	return bits >> term & 1 && !(bits >> SELECT_TERMS >> term & 1);
}

struct select_marks {
	select_bits *ports, *nodes; /* parallel to those of the fabric */
};
void select_marks_done(struct select_marks *marks);

/*
 * select_mark - evaluate the keys of all terms
 * @ret:  of another expression or zeroed; words and tagged: have no bits
 *
 * Linear in terms and ports.
 * Return: 0; ERR_USAGE: a value that nothing in the fabric has, with the nearest or all that exist; @ret is valid and
 * the term holds for nothing; ERR_NOMEM, or an error of load().
 */
int select_mark(const struct select *select, struct select_facts *facts, struct select_marks *ret, struct error *err);

/*
 * select_hosts_named - mark the HCAs of the hosts of a name (shape_hosts_named()). Return: are there any?
 * select_host_list - the same of a list ("node[001-016]"), each of which must exist. Return: 0; ERR_USAGE; ERR_NOMEM
 * @shape:  or NULL: no host is known
 */
typedef void select_mark_node_fn(void *ctx, uint32_t node);
bool select_hosts_named(const struct shape *shape, const char *name, select_mark_node_fn *mark, void *ctx);
int select_host_list(const struct shape *shape, const char *list, select_mark_node_fn *mark, void *ctx,
		     struct error *err);

/* select_passes - whether the expression holds for these bits, where each word has its bit, too. */
bool select_passes(const struct select *select, select_bits bits);

/* select_set_end - the end of a bracket expression, behind its ']'; @set if it is not closed. */
const char *select_set_end(const char *set);

/*
 * select_is_port_list - "3", "17-20", "1,4,7-9" or a pattern
 * select_has_port - is a port number in such a list?
 * select_is_lid - is @typed the number of a LID of this port? Port 0 has the LIDs of a switch.
 */
bool select_is_port_list(const char *typed);
bool select_has_port(const char *list, unsigned num);
bool select_is_lid(const struct fabric *fabric, uint32_t port, const char *typed);

#endif
