/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/selection.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/host.h"
#include "fabric/name_pattern.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "facts/select.h"

/* --- what a subject selects --- */

static void clear(struct selection *match, const struct fabric *fabric)
{
	memset(match->nodes, 0, fabric->node_count * sizeof(*match->nodes));
	memset(match->ports, 0, fabric->port_count * sizeof(*match->ports));
	memset(match->named, 0, fabric->port_count * sizeof(*match->named));
}

static void mark_node(struct selection *match, const struct fabric *fabric, uint32_t node)
{
	match->nodes[node] = true;
	for (uint32_t i = 0; i < fabric->nodes[node].ports; i++)
		match->ports[fabric->nodes[node].first_port + i] = true;
}

static void mark_port(struct selection *match, const struct fabric *fabric, uint32_t port)
{
	match->nodes[fabric->ports[port].node] = true;
	match->ports[port] = match->named[port] = true;
}

/* The name that tables show; a name map may have longer names than fit: "". */
static const char *shown_name(const struct fabric *fabric, const struct node *node, char ret[NODE_NAME_SIZE])
{
	*ret = '\0';
	if (strlen(node->name) < NODE_NAME_SIZE)
		names_display(fabric, node->name, ret);
	return ret;
}

/* Mark the HCAs of all hosts. Return: are there any? */
static bool mark_hosts(struct selection *match, const struct fabric *fabric)
{
	char name[NODE_NAME_SIZE];
	bool found = false;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (!host_name(&fabric->nodes[i], name))
			continue;
		mark_node(match, fabric, i);
		found = true;
	}
	return found;
}

/* Does an HCA have a host of this name, without domains? Most words are none: the shape need not be made for them. */
static bool may_be_host(const struct fabric *fabric, const char *typed)
{
	char name[NODE_NAME_SIZE];

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		size_t len;

		if (!host_name(&fabric->nodes[i], name))
			continue;
		len = strcspn(name, ".");
		/* A cloned host has its GUID after a blank. */
		if (!strncmp(name, typed, len) && strchr(". ", typed[len]))
			return true;
	}
	return false;
}

static bool mark_lid(struct selection *match, const struct fabric *fabric, const char *typed)
{
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (!select_is_lid(fabric, i, typed))
			continue;
		if (fabric->nodes[fabric->ports[i].node].type == NODE_SWITCH)
			mark_node(match, fabric, fabric->ports[i].node);
		else
			mark_port(match, fabric, i);
		return true;
	}
	return false;
}

static bool is_glob(const char *typed)
{
	return strpbrk(typed, "*?[");
}

static bool mark_glob(struct selection *match, const struct fabric *fabric, const char *pattern)
{
	char shown[NODE_NAME_SIZE], host[NODE_NAME_SIZE];
	bool found = false;

	for (uint32_t i = 0; is_glob(pattern) && i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (!name_pattern_matches(pattern, node->name) &&
		    !name_pattern_matches(pattern, shown_name(fabric, node, shown)) &&
		    !(host_name(node, host) && name_pattern_matches(pattern, host)))
			continue;
		mark_node(match, fabric, i);
		found = true;
	}
	return found;
}

/* Replace the marked switches by their uplinks. */
static bool keep_uplinks(struct selection *match, const struct shape *shape)
{
	const struct fabric *fabric = shape->fabric;
	bool found = false;

	memset(match->nodes, 0, fabric->node_count * sizeof(*match->nodes));
	memset(match->named, 0, fabric->port_count * sizeof(*match->named));
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		uint32_t group = shape->ports[i].group;
		bool kept = match->ports[i] && group != SHAPE_NONE && shape->groups[group].kind == GROUP_UP;

		match->ports[i] = false;
		if (kept)
			mark_port(match, fabric, i);
		found |= kept;
	}
	return found;
}

/* --- the notation --- */

struct resolver {
	struct select_facts *facts;
	const struct fabric *fabric;
	struct selection match; /* of one subject */
	bool is_known;          /* the subject exists, whatever its suffixes leave of it */
	bool is_key;            /* it is a single KEY:VALUE */
};

/* Keys of the screen, and what parsing left out. */
static int check_key(const struct select *select, struct error *err)
{
	if (select->cut)
		return err_set(err, ERR_USAGE, "an expression has at most %d terms and %d bytes", SELECT_TERMS,
			       SELECT_SIZE - 1);
	if (select->incomplete)
		return err_set(err, ERR_USAGE, "'%.80s' is incomplete: a key needs a value, and '!' a term",
			       select->typed);
	for (size_t i = 0; i < select->term_count; i++)
		if (select->terms[i].key < SELECT_KEY_COUNT && select_keys[select->terms[i].key].screen_only)
			return err_set(err, ERR_USAGE, "'%s:' is a key of the screen only",
				       select_keys[select->terms[i].key].key);
	return 0;
}

static int find_shape(struct resolver *resolver, struct error *err)
{
	struct select_facts *facts = resolver->facts;

	return facts->shape || !facts->load ? 0 : facts->load(facts, SELECT_NEEDS_SHAPE, err);
}

static void mark_hca(void *ctx, uint32_t node)
{
	struct resolver *resolver = ctx;

	mark_node(&resolver->match, resolver->fabric, node);
}

/* A single KEY:VALUE, whose port marks and names are those of bit 0. */
static int resolve_key(struct resolver *resolver, const struct select *select, struct error *err)
{
	const struct select_key_info *key = &select_keys[select->terms[0].key];
	const struct fabric *fabric = resolver->fabric;
	struct select_marks marks = { 0 };
	int code = check_key(select, err);

	if (code == 0)
		code = select_mark(select, resolver->facts, &marks, err);
	for (uint32_t i = 0; code == 0 && i < fabric->node_count; i++)
		resolver->match.nodes[i] = select_has(marks.nodes[i], 0);
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		bool has = select_has(marks.ports[i], 0), whole = resolver->match.nodes[fabric->ports[i].node];

		resolver->match.ports[i] = has;
		resolver->match.named[i] = has && !whole && key->names_ports;
	}
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++)
		resolver->match.nodes[fabric->ports[i].node] |= resolver->match.ports[i];
	select_marks_done(&marks);
	return code;
}

/* Subjects with a keyword. Return: 1; 0 without one; or an error. */
static int resolve_keyword(struct resolver *resolver, const char *typed, struct error *err)
{
	struct select select;
	int code;

	if (!strcmp(typed, "all")) {
		for (uint32_t i = 0; i < resolver->fabric->node_count; i++)
			mark_node(&resolver->match, resolver->fabric, i);
		return 1;
	}
	if (!strcmp(typed, "hosts"))
		return mark_hosts(&resolver->match, resolver->fabric);
	if (!strcmp(typed, "uplinks")) {
		resolve_keyword(resolver, "all", err);
		code = find_shape(resolver, err);
		return code < 0 ? code : keep_uplinks(&resolver->match, resolver->facts->shape);
	}
	select_parse(&select, typed);
	if (select.term_count == 1 && select.terms[0].is_unknown && !select.terms[0].negated)
		return select_unknown_key(&select.terms[0], err);
	if (select.term_count != 1 || select.terms[0].key == SELECT_WORD || select.terms[0].negated ||
	    select.incomplete)
		return 0;
	code = resolve_key(resolver, &select, err);
	resolver->is_key = code == 0;
	return code < 0 ? code : 1;
}

/* A subject without /PORTS and uplinks. */
/* The error for a name that nothing has: a line module, "core-1/L16", is the switches "core-1/L16/U1", "... U2". */
static int unknown_name(struct resolver *resolver, const char *typed, struct error *err)
{
	char pattern[NODE_NAME_SIZE + 2];
	uint32_t node;

	snprintf(pattern, sizeof(pattern), "%.*s/*", NODE_NAME_SIZE - 1, typed);
	if (mark_glob(&resolver->match, resolver->fabric, pattern))
		return err_set(err, ERR_USAGE, "no node is called '%s': did you mean '%s'?", typed, pattern);
	return names_find_node(resolver->fabric, typed, &node, err);
}

static int resolve_name(struct resolver *resolver, const char *typed, struct error *err)
{
	const struct fabric *fabric = resolver->fabric;
	struct selection *match = &resolver->match;
	uint32_t node;
	char *end;
	int code;

	if (names_find_node(fabric, typed, &node, NULL) == 0) {
		mark_node(match, fabric, node);
		return 0;
	}
	code = may_be_host(fabric, typed) ? find_shape(resolver, err) : 0;
	if (code < 0 || select_hosts_named(resolver->facts->shape, typed, mark_hca, resolver))
		return code;
	code = resolve_keyword(resolver, typed, err);
	if (code)
		return code < 0 ? code : 0;
	if (name_pattern_is_list(typed)) {
		code = find_shape(resolver, err);
		return code < 0 ? code : select_host_list(resolver->facts->shape, typed, mark_hca, resolver, err);
	}
	if (mark_lid(match, fabric, typed) || mark_glob(match, fabric, typed))
		return 0;
	if (isdigit((unsigned char)*typed) && strtoul(typed, &end, 10) < 0x10000 && !*end)
		return err_set(err, ERR_USAGE, "no port has LID %s", typed);
	if (is_glob(typed))
		return err_set(err, ERR_USAGE, "no node or host matches '%s': 'ibwire nodes' lists them", typed);
	return err ? unknown_name(resolver, typed, err) : ERR_USAGE;
}

/* Keep the marked ports of these numbers. */
static int keep_ports(struct resolver *resolver, const char *list, struct error *err)
{
	const struct fabric *fabric = resolver->fabric;
	struct selection *match = &resolver->match;
	const struct node *first = NULL;
	char shown[NODE_NAME_SIZE];
	bool found = false;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (match->nodes[i] && !first)
			first = node;
		match->nodes[i] = false;
		for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++) {
			bool kept = match->ports[port] && select_has_port(list, fabric->ports[port].num);

			match->ports[port] = match->named[port] = kept;
			match->nodes[i] |= kept;
			found |= kept;
		}
	}
	if (found || !first)
		return 0;
	return err_set(err, ERR_USAGE, "%s has no port %s (it has %u)", shown_name(fabric, first, shown), list,
		       first->port_count);
}

/*
 * A name may contain a slash or a blank, so each shorter subject is tried only if the longer one is unknown: the
 * suffixes are cut off one after the other, and then applied once each.
 */
static int resolve(struct resolver *resolver, const char *typed, struct error *err)
{
	static const char suffix[] = " uplinks";
	const size_t suffix_len = sizeof(suffix) - 1;
	char *name = strdup(typed), *list = NULL, *slash;
	bool uplinks = false, ports_last = false;
	int code = name ? ERR_USAGE : err_nomem(err);

	while (code == ERR_USAGE) {
		size_t len = strlen(name);
		bool has_suffix = len > suffix_len && !strcmp(name + len - suffix_len, suffix);

		resolver->is_key = false;
		clear(&resolver->match, resolver->fabric); /* of a list of hosts, some may be marked */
		slash = list ? NULL : strrchr(name, '/');
		if (slash && !select_is_port_list(slash + 1))
			slash = NULL;
		code = resolve_name(resolver, name, has_suffix || slash ? NULL : err);
		if (code != ERR_USAGE || (!has_suffix && !slash))
			break;
		if (has_suffix) {
			name[len - suffix_len] = '\0';
			uplinks = true;
		} else {
			*slash = '\0';
			list = slash + 1;
			ports_last = !uplinks;
		}
	}
	resolver->is_known = code == 0;
	resolver->is_key &= !uplinks && !list;
	if (code == 0 && list && !ports_last)
		code = keep_ports(resolver, list, err);
	if (code == 0 && uplinks)
		code = find_shape(resolver, err);
	if (code == 0 && uplinks && !keep_uplinks(&resolver->match, resolver->facts->shape))
		code = err_set(err, ERR_USAGE, "%.*s has no uplinks: see ibwire topology show",
			       (int)(ports_last ? strlen(name) : strlen(typed) - suffix_len), typed);
	if (code == 0 && list && ports_last)
		code = keep_ports(resolver, list, err);
	free(name);
	return code;
}

static int allocate(struct selection *selection, const struct fabric *fabric, struct error *err)
{
	selection->nodes = calloc(fabric->node_count + 1, sizeof(bool));
	selection->ports = calloc(fabric->port_count + 1, sizeof(bool));
	selection->named = calloc(fabric->port_count + 1, sizeof(bool));
	selection->links = calloc(fabric->port_count + 1, sizeof(bool));
	return selection->nodes && selection->ports && selection->named && selection->links ? 0 : err_nomem(err);
}

/* --- expressions of several terms --- */

struct expression {
	struct select select;
	struct select_marks marks;
	uint32_t *named; /* by port: bits of the terms that name it */
};

/* Resolve @len bytes as one subject, and give its ports the bits of terms @first to @last. */
static int resolve_words(struct resolver *resolver, struct expression *expression, size_t first, size_t last,
			 struct error *err)
{
	const struct select_term *terms = expression->select.terms;
	const struct fabric *fabric = resolver->fabric;
	size_t start = terms[first].start + terms[first].negated;
	char *typed = strndup(expression->select.typed + start, terms[last].end - start);
	select_bits bits = ((UINT64_C(2) << last) - 1) & ~((UINT64_C(1) << first) - 1);
	int code = typed ? resolve(resolver, typed, err) : err_nomem(err);

	for (uint32_t i = 0; code == 0 && i < fabric->node_count; i++)
		expression->marks.nodes[i] |= resolver->match.nodes[i] && !fabric->nodes[i].ports ? bits : 0;
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		expression->marks.ports[i] |= resolver->match.ports[i] ? bits : 0;
		expression->named[i] |= resolver->match.named[i] ? (uint32_t)bits : 0;
	}
	free(typed);
	return code;
}

/* Adjacent words are one subject, "node1 mlx5_0", or else one each. */
static int resolve_all_words(struct resolver *resolver, struct expression *expression, struct error *err)
{
	const struct select_term *terms = expression->select.terms;
	size_t count = expression->select.term_count, last;
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i = last + 1) {
		last = i;
		if (terms[i].key != SELECT_WORD)
			continue;
		while (!terms[i].negated && last + 1 < count && terms[last + 1].key == SELECT_WORD &&
		       !terms[last + 1].negated && terms[last + 1].alternative == terms[i].alternative)
			last++;
		code = resolve_words(resolver, expression, i, last, err);
		if (code != ERR_USAGE || last == i)
			continue;
		/* Of several words the error stays that of all. */
		code = 0;
		for (size_t word = i; code == 0 && word <= last; word++)
			code = resolve_words(resolver, expression, word, word, NULL);
	}
	return code;
}

static void combine(struct selection *match, const struct fabric *fabric, const struct expression *expression)
{
	const struct select *select = &expression->select;
	uint32_t positive = 0;

	clear(match, fabric);
	for (size_t i = 0; i < select->term_count; i++)
		if (!select->terms[i].negated && (select->terms[i].key == SELECT_WORD ||
						  select_keys[select->terms[i].key].names_ports))
			positive |= UINT32_C(1) << i;
	for (uint32_t i = 0; i < fabric->node_count; i++)
		match->nodes[i] = !fabric->nodes[i].ports && select_passes(select, expression->marks.nodes[i]);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		select_bits bits = expression->marks.ports[i];
		/* Keys name ports that they select without their node. */
		uint32_t named = expression->named[i] | (uint32_t)(bits & ~expression->marks.nodes[port->node]);

		match->ports[i] = select_passes(select, bits);
		match->named[i] = match->ports[i] && named & positive;
		match->nodes[port->node] |= match->ports[i];
		if (port->peer != FABRIC_NONE)
			bits |= expression->marks.ports[port->peer];
		match->links[i] = select_passes(select, bits);
	}
}

static int resolve_expression(struct resolver *resolver, struct expression *expression, struct error *err)
{
	int code = check_key(&expression->select, err);

	expression->named = calloc(resolver->fabric->port_count + 1, sizeof(*expression->named));
	if (code == 0 && !expression->named)
		code = err_nomem(err);
	if (code == 0)
		code = select_mark(&expression->select, resolver->facts, &expression->marks, err);
	if (code == 0)
		code = resolve_all_words(resolver, expression, err);
	if (code == 0)
		combine(&resolver->match, resolver->fabric, expression);
	select_marks_done(&expression->marks);
	free(expression->named);
	return code;
}

/* Nothing but words is one subject, unless several alternatives or '!' make an expression of it. */
static bool is_expression(const struct select *select)
{
	bool found = select->incomplete;

	for (size_t i = 0; i < select->term_count; i++) {
		const struct select_term *term = &select->terms[i];

		found |= term->negated || term->alternative != select->terms[0].alternative ||
			 (select->term_count > 1 && term->key != SELECT_WORD);
	}
	return found;
}

static int resolve_argument(struct resolver *resolver, const char *typed, struct error *err)
{
	const struct fabric *fabric = resolver->fabric;
	struct expression expression = { 0 };
	struct error as_subject = { 0 };
	int code = resolve(resolver, typed, &as_subject);

	select_parse(&expression.select, typed);
	/* Links of a key are those of its bits, which exclude some. */
	if (resolver->is_key || (code == ERR_USAGE && !resolver->is_known && is_expression(&expression.select)))
		return resolve_expression(resolver, &expression, err);
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		uint32_t peer = fabric->ports[i].peer;

		resolver->match.links[i] = resolver->match.ports[i] ||
					   (peer != FABRIC_NONE && resolver->match.ports[peer]);
	}
	return code < 0 ? err_set(err, code, "%s", as_subject.text) : 0;
}

static int add(struct selection *selection, struct resolver *resolver, const char *typed, struct error *err)
{
	const struct fabric *fabric = resolver->fabric;
	int code = allocate(&resolver->match, fabric, err);

	if (code == 0)
		code = resolve_argument(resolver, typed, err);
	for (uint32_t i = 0; code == 0 && i < fabric->node_count; i++)
		selection->nodes[i] |= resolver->match.nodes[i];
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++) {
		selection->ports[i] |= resolver->match.ports[i];
		selection->named[i] |= resolver->match.named[i];
		selection->links[i] |= resolver->match.links[i];
	}
	selection_done(&resolver->match);
	return code;
}

int selection_join(const struct fabric *fabric, char *const *args, int count, char **ret, struct error *err)
{
	struct select select;
	int at = 1;
	uint32_t node;

	*ret = NULL;
	while (at < count && (!*args[at] || args[at][strspn(args[at], "0123456789")] ||
			      names_find_node(fabric, args[at], &node, NULL) == 0))
		at++;
	if (at >= count)
		return 0;
	if (count > 2)
		return err_set(err, ERR_USAGE, "'%.16s' could be a LID or a port: write lid:%.16s, or %.64s/%.16s",
			       args[at], args[at], args[at - 1], args[at]);
	/* "a|b/5" is all of a, and "!a/5" all but port 5. */
	select_parse(&select, args[0]);
	if (is_expression(&select) && names_find_node(fabric, args[0], &node, NULL) < 0)
		return err_set(err, ERR_USAGE, "'%.16s' could be a LID or a port of '%.64s': write lid:%.16s, or "
			       "/%.16s after each name", args[1], args[0], args[1], args[1]);
	return asprintf(ret, "%s/%s", args[0], args[1]) < 0 ? err_nomem(err) : 0;
}

int selection_init(struct selection *selection, struct select_facts *facts, char **args, int count, struct error *err)
{
	struct resolver resolver = { .facts = facts, .fabric = facts->fabric };
	char *joined;
	int code;

	*selection = (struct selection){ .all = count == 0 };
	if (selection->all)
		return 0;
	code = selection_join(facts->fabric, args, count, &joined, err);
	if (code < 0)
		return code;
	code = allocate(selection, facts->fabric, err);
	for (int i = 0; code == 0 && i < (joined ? 1 : count); i++)
		code = add(selection, &resolver, joined ? joined : args[i], err);
	if (code < 0)
		selection_done(selection);
	free(joined);
	return code;
}

/* The first of the natural order, among nodes with a mark. */
static uint32_t first_node(const struct fabric *fabric, const struct selection *selection, size_t *ret_count)
{
	uint32_t first = FABRIC_NONE;

	*ret_count = 0;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (!selection->nodes[i])
			continue;
		if (!(*ret_count)++ || names_compare(fabric->nodes[i].name, fabric->nodes[first].name) < 0)
			first = i;
	}
	return first;
}

int selection_find(struct select_facts *facts, const char *typed, uint32_t *ret_node, uint32_t *ret_port,
		   struct error *err)
{
	const struct fabric *fabric = facts->fabric;
	struct selection selection;
	struct error ambiguous = { 0 };
	uint32_t node, port = FABRIC_NONE;
	size_t nodes, ports = 0;
	char shown[NODE_NAME_SIZE];
	/* Equal names of several nodes are an error here, even if they are a host. */
	int code = names_find_node(fabric, typed, &node, &ambiguous);

	if (code == 0) {
		*ret_node = node;
		*ret_port = FABRIC_NONE;
		return 0;
	}
	code = selection_init(&selection, facts, (char *[]){ (char *)typed }, 1, err);
	if (code < 0)
		return code;
	node = first_node(fabric, &selection, &nodes);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (!selection.named[i])
			continue;
		if (!ports++)
			port = i;
	}
	selection_done(&selection);
	if (!nodes)
		return err_set(err, ERR_USAGE, "'%s' selects no node or port", typed);
	if (nodes > 1 && !strcmp(fabric->nodes[node].name, typed))
		return err_set(err, ambiguous.code, "%s", ambiguous.text);
	if (nodes > 1)
		return err_set(err, ERR_USAGE, "'%s' selects %zu nodes: give one, such as '%s'", typed, nodes,
			       shown_name(fabric, &fabric->nodes[node], shown));
	if (ports > 1)
		return err_set(err, ERR_USAGE, "'%s' selects %zu ports: give one, such as '%s/%u'", typed, ports,
			       shown_name(fabric, &fabric->nodes[node], shown), fabric->ports[port].num);
	*ret_node = node;
	*ret_port = port;
	return 0;
}

void selection_done(struct selection *selection)
{
	free(selection->nodes);
	free(selection->ports);
	free(selection->named);
	free(selection->links);
	*selection = (struct selection){ 0 };
}
