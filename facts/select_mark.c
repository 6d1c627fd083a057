/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* select_mark.c - evaluation of the keys of select.h against a fabric */
#include <ctype.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/name_pattern.h"
#include "fabric/names.h"
#include "fabric/shape.h"
#include "facts/link.h"
#include "facts/port_facts.h"
#include "facts/port_marks.h"
#include "facts/select.h"
#include "storage/findings.h"

/* --- values --- */

/* Bytes of names in an error. */
enum { NAMES_MOST = 100 };

/* A typed value; how it selects names is known after all of them were offered. */
struct wanted {
	const char *typed;
	bool is_full;      /* a name is exactly this */
	bool found;        /* a name matches */
	bool is_pattern;
	size_t distance;   /* of the nearest name */
	char nearest[64];
	struct text names; /* all, separated by commas */
};

static struct wanted wanted_value(const char *typed)
{
	return (struct wanted){
		.typed = typed, .is_pattern = strpbrk(typed, "*?["), .distance = strlen(typed) / 3 + 2,
	};
}

static bool wanted_has(const struct wanted *wanted, const char *name)
{
	if (wanted->is_full)
		return !strcasecmp(name, wanted->typed);
	if (wanted->is_pattern)
		return !fnmatch(wanted->typed, name, FNM_NOESCAPE | FNM_CASEFOLD);
	return !strncasecmp(name, wanted->typed, strlen(wanted->typed));
}

/* Consider a name that exists. */
static void wanted_offer(struct wanted *wanted, const char *name)
{
	wanted->is_full |= !strcasecmp(name, wanted->typed);
	wanted->found |= wanted_has(wanted, name);
}

/* For the error if no name matches: collect the nearest name, and all of them. */
static void wanted_suggest(struct wanted *wanted, const char *name)
{
	size_t distance = text_distance(wanted->typed, name);

	if (distance < wanted->distance) {
		wanted->distance = distance;
		snprintf(wanted->nearest, sizeof(wanted->nearest), "%s", name);
	}
	if (wanted->names.len < NAMES_MOST)
		text_appendf(&wanted->names, "%s%s", wanted->names.len ? ", " : "", name);
	else if (wanted->names.len > 4 && strcmp(wanted->names.chars + wanted->names.len - 4, " ..."))
		text_append(&wanted->names, ", ...");
}

/* "no state is called 'donw': did you mean 'down'?", or all that exist. */
static int no_such(struct wanted *wanted, const char *what, struct error *err)
{
	if (wanted->nearest[0])
		err_set(err, ERR_USAGE, "no %s is called '%s': did you mean '%s'?", what, wanted->typed,
			wanted->nearest);
	else
		err_set(err, ERR_USAGE, "no %s is called '%s': there are %s", what, wanted->typed,
			wanted->names.len ? text_chars(&wanted->names) : "none");
	text_done(&wanted->names);
	return ERR_USAGE;
}

/* Return: 0, or ERR_USAGE with the nearest of these names. */
static int want_names(struct wanted *wanted, const char *what, const char *const *names, size_t count,
		      struct error *err)
{
	for (size_t i = 0; i < count; i++)
		wanted_offer(wanted, names[i]);
	for (size_t i = 0; err && !wanted->found && i < count; i++)
		wanted_suggest(wanted, names[i]);
	return wanted->found ? 0 : no_such(wanted, what, err);
}

/* --- bits --- */

struct marking {
	const struct select_facts *facts;
	struct select_marks *marks;
	select_bits has, excludes; /* of the term */
};

static void mark_port(const struct marking *marking, uint32_t port, select_bits bits)
{
	marking->marks->ports[port] |= bits;
}

static void mark_node(void *ctx, uint32_t node)
{
	const struct marking *marking = ctx;
	const struct node *self = &marking->facts->fabric->nodes[node];

	marking->marks->nodes[node] |= marking->has;
	for (uint32_t i = self->first_port; i < self->first_port + self->ports; i++)
		mark_port(marking, i, marking->has);
}

/* --- one function per key. Return: 0; ERR_USAGE; ERR_NOMEM --- */

static int mark_tier(struct marking *marking, const char *value, struct error *err)
{
	const struct shape *shape = marking->facts->shape;
	char *end;
	unsigned long tier = strtoul(value, &end, 10);
	bool found = false;

	if (!isdigit((unsigned char)*value) || *end)
		tier = 0;
	for (uint32_t i = 0; shape && tier && i < shape->fabric->node_count; i++) {
		if (shape->fabric->nodes[i].type != NODE_SWITCH || shape->nodes[i].tier != tier)
			continue;
		mark_node(marking, i);
		found = true;
	}
	if (found || !shape)
		return 0;
	return err_set(err, ERR_USAGE, "no switch is of tier '%s': tiers are 1 to %u", value, shape->tier_count);
}

/* The number at the end of "mlx5_3" or "rail 3"; -1: none. */
static long trailing_number(const char *name)
{
	size_t len = strlen(name);

	while (len && isdigit((unsigned char)name[len - 1]))
		len--;
	return name[len] ? strtol(name + len, NULL, 10) : -1;
}

static int mark_rail(struct marking *marking, const char *value, struct error *err)
{
	const struct shape *shape = marking->facts->shape;
	struct wanted wanted = wanted_value(value);
	bool is_number = value[strspn(value, "0123456789")] == '\0', found = false;
	struct text names = { 0 };

	for (size_t i = 0; shape && i < shape->rail_count; i++)
		wanted_offer(&wanted, shape->rails[i].name);
	for (size_t i = 0; shape && i < shape->rail_count; i++) {
		const struct shape_rail *rail = &shape->rails[i];

		/* "3" is rail mlx5_3, and not mlx5_13. */
		if (is_number && !wanted.is_full ? trailing_number(rail->name) != strtol(value, NULL, 10) :
						   !wanted_has(&wanted, rail->name))
			continue;
		for (uint32_t j = rail->first; j < rail->first + rail->count; j++)
			mark_port(marking, shape->rail_ports[j], marking->has);
		found = true;
	}
	if (found || !shape)
		return 0;
	for (size_t i = 0; err && i < shape->rail_count; i++)
		text_appendf(&names, "%s%s", i ? ", " : "", shape->rails[i].name);
	err_set(err, ERR_USAGE, "no rail is called '%s': the rails are %.159s", value,
		names.len ? text_chars(&names) : "unknown");
	text_done(&names);
	return ERR_USAGE;
}

bool select_hosts_named(const struct shape *shape, const char *name, select_mark_node_fn *mark, void *ctx)
{
	uint32_t count = 0, first = shape ? shape_hosts_named(shape, name, &count) : SHAPE_NONE;

	for (uint32_t i = 0; i < count; i++) {
		const struct shape_host *host = &shape->hosts[first + i];

		for (uint32_t k = host->first; k < host->first + host->count; k++)
			mark(ctx, shape->host_nodes[k]);
	}
	return count;
}

int select_host_list(const struct shape *shape, const char *list, select_mark_node_fn *mark, void *ctx,
		     struct error *err)
{
	struct host_set set = { 0 };
	int code = host_set_add(&set, list, err);

	for (size_t i = 0; code == 0 && i < set.count; i++)
		if (!select_hosts_named(shape, set.names[i], mark, ctx))
			code = err_set(err, ERR_USAGE, "no HCA of host '%s': 'ibwire nodes' lists them", set.names[i]);
	host_set_done(&set);
	return code;
}

static int mark_host(struct marking *marking, const char *value, struct error *err)
{
	const struct shape *shape = marking->facts->shape;
	struct wanted wanted = wanted_value(value);

	if (!shape)
		return 0;
	if (name_pattern_is_list(value))
		return select_host_list(shape, value, mark_node, marking, err);
	for (size_t i = 0; i < shape->host_count; i++)
		wanted_offer(&wanted, shape->hosts[i].name);
	for (uint32_t i = 0; wanted.found && i < shape->fabric->node_count; i++)
		if (shape->nodes[i].host != SHAPE_NONE && wanted_has(&wanted, shape->hosts[shape->nodes[i].host].name))
			mark_node(marking, i);
	wanted.found = wanted.found || select_hosts_named(shape, value, mark_node, marking);
	for (size_t i = 0; err && !wanted.found && i < shape->host_count; i++)
		wanted_suggest(&wanted, shape->hosts[i].name);
	if (wanted.found)
		return 0;
	if (!wanted.nearest[0]) {
		text_done(&wanted.names);
		return err_set(err, ERR_USAGE, "no host is called '%s': 'ibwire nodes' lists them", value);
	}
	return no_such(&wanted, "host", err);
}

static int mark_class(struct marking *marking, const char *value, struct error *err)
{
	const struct shape *shape = marking->facts->shape;
	struct wanted wanted = wanted_value(value);
	const char *names[CLASS_COUNT];
	int code;

	for (unsigned i = 0; i < CLASS_COUNT; i++)
		names[i] = node_class_name((uint8_t)i);
	code = want_names(&wanted, "class", names, CLASS_COUNT, err);
	for (uint32_t i = 0; code == 0 && shape && i < shape->fabric->node_count; i++)
		if (wanted_has(&wanted, names[shape->nodes[i].class]))
			mark_node(marking, i);
	return code;
}

/* The role of a port depends on its direction, and on the class of its HCA or the tier of its switch. */
#define ROLES ((WAY_SWITCH + 1) * 16)

static unsigned role_of(const struct shape *shape, uint32_t port)
{
	const struct shape_port *place = &shape->ports[port];
	unsigned rest = place->way == WAY_SWITCH ? shape->nodes[shape->fabric->ports[port].node].class :
						   shape_port_tier(shape, port);

	return place->way * 16u + (rest & 15);
}

/* Names of the roles are made once each: it is the name that takes time. */
static int mark_role(struct marking *marking, const char *value, struct error *err)
{
	const struct shape *shape = marking->facts->shape;
	struct wanted wanted = wanted_value(value);
	char texts[ROLES][SHAPE_ROLE_SIZE] = { 0 };
	const char *names[ROLES];
	bool has[ROLES];
	size_t count = 0;
	int code;

	for (uint32_t i = 0; shape && i < shape->fabric->port_count; i++) {
		char *text = texts[role_of(shape, i)];

		if (shape->ports[i].way != WAY_NONE && !*text)
			names[count++] = shape_port_role(shape, i, text);
	}
	if (!shape)
		return 0;
	code = want_names(&wanted, "role", names, count, err);
	for (unsigned i = 0; i < ROLES; i++)
		has[i] = texts[i][0] && wanted_has(&wanted, texts[i]);
	for (uint32_t i = 0; code == 0 && i < shape->fabric->port_count; i++)
		if (has[role_of(shape, i)])
			mark_port(marking, i, marking->has);
	return code;
}

static int mark_state(struct marking *marking, const char *value, struct error *err)
{
	const struct select_facts *facts = marking->facts;
	struct wanted wanted = wanted_value(value);
	enum { DEGRADED = STATUS_COUNT, UNIDENTIFIED, STATES };
	const char *names[STATES];
	bool has[STATES];
	int code;

	for (unsigned i = 0; i < STATUS_COUNT; i++)
		names[i] = port_status_name((enum port_status)i);
	names[DEGRADED] = LINK_DEGRADED;
	names[UNIDENTIFIED] = "unidentified";
	code = want_names(&wanted, "state", names, STATES, err);
	for (unsigned i = 0; i < STATES; i++)
		has[i] = wanted_has(&wanted, names[i]);
	for (uint32_t i = 0; code == 0 && facts->ports && i < facts->fabric->port_count; i++)
		if (has[facts->ports[i].status] ||
		    (has[DEGRADED] && link_is_degraded(facts->shape, i)) ||
		    (has[UNIDENTIFIED] && port_is_unidentified(&facts->fabric->ports[i])))
			mark_port(marking, i, marking->has);
	return code;
}

static int mark_speed(struct marking *marking, const char *value, struct error *err)
{
	const struct fabric *fabric = marking->facts->fabric;
	struct wanted wanted = wanted_value(value);
	const char *names[LINK_SPEED_COUNT - LINK_SPEED_SDR];
	bool has[LINK_SPEED_COUNT] = { false };
	int code;

	for (unsigned i = LINK_SPEED_SDR; i < LINK_SPEED_COUNT; i++)
		names[i - LINK_SPEED_SDR] = link_speed_name((enum link_speed)i);
	code = want_names(&wanted, "speed", names, LINK_SPEED_COUNT - LINK_SPEED_SDR, err);
	for (unsigned i = LINK_SPEED_SDR; i < LINK_SPEED_COUNT; i++)
		has[i] = wanted_has(&wanted, names[i - LINK_SPEED_SDR]);
	for (uint32_t i = 0; code == 0 && i < fabric->port_count; i++)
		if (has[fabric->ports[i].speed])
			mark_port(marking, i, marking->has);
	return code;
}

static int mark_width(struct marking *marking, const char *value, struct error *err)
{
	const struct fabric *fabric = marking->facts->fabric;
	char *end;
	unsigned long lanes = strtoul(value, &end, 10);

	end += *end == 'x' || *end == 'X';
	if (!isdigit((unsigned char)*value) || *end || lanes > 12 || !link_width_code((unsigned)lanes))
		return err_set(err, ERR_USAGE, "'%s' is no width: there are 1x, 2x, 4x, 8x, 12x", value);
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (link_width_lanes(fabric->ports[i].width) == lanes)
			mark_port(marking, i, marking->has);
	return 0;
}

static int mark_errors(struct marking *marking, const char *value, struct error *err)
{
	static const char *const names[] = { "yes", "no" };
	const struct select_facts *facts = marking->facts;
	struct wanted wanted = wanted_value(value);
	int code = want_names(&wanted, "value of err", names, 2, err);
	bool yes = code == 0 && wanted_has(&wanted, "yes");

	for (uint32_t i = 0; code == 0 && facts->ports && i < facts->fabric->port_count; i++) {
		struct measure errors = facts->ports[i].errors;

		if (isnan(errors.value))
			continue;
		mark_port(marking, i, facts_has_errors(errors) == yes ? marking->has : yes ? 0 : marking->excludes);
	}
	return code;
}

static int mark_finding(struct marking *marking, const char *value, struct error *err)
{
	static const char *const marks[] = {
		[MARK_ACKNOWLEDGED] = "acknowledged", [MARK_CLEARING] = "clearing", [MARK_INFO] = "info",
		[MARK_WARNING] = "warning", [MARK_CRITICAL] = "critical",
	};
	const struct select_facts *facts = marking->facts;
	struct wanted wanted = wanted_value(value);
	const char *names[2 + MARK_CRITICAL + FINDING_KIND_COUNT] = { "yes", "no" };
	size_t count = 2;
	bool yes, no;
	int code;

	for (unsigned i = MARK_ACKNOWLEDGED; i <= MARK_CRITICAL; i++)
		names[count++] = marks[i];
	for (unsigned i = 0; i < FINDING_KIND_COUNT; i++)
		names[count++] = finding_kind_name((enum finding_kind)i);
	code = want_names(&wanted, "finding", names, count, err);
	yes = wanted_has(&wanted, "yes");
	no = wanted_has(&wanted, "no");
	for (uint32_t i = 0; code == 0 && facts->finding_of && i < facts->fabric->port_count; i++) {
		uint32_t of = facts->finding_of[i];
		const struct finding_row *row = of ? &facts->findings[of - 1] : NULL;
		bool has = row ? yes || wanted_has(&wanted, marks[port_mark_of(row)]) ||
				 wanted_has(&wanted, finding_kind_name(row->finding.kind)) : no;

		mark_port(marking, i, has ? marking->has : no && row ? marking->excludes : 0);
	}
	return code;
}

static int mark_name(struct marking *marking, const char *value, struct error *err)
{
	const struct fabric *fabric = marking->facts->fabric;
	struct wanted wanted = wanted_value(value);
	uint32_t node;

	for (uint32_t i = 0; i < fabric->node_count; i++) {
		wanted_offer(&wanted, fabric->nodes[i].name);
		wanted_offer(&wanted, fabric->names.shown[i]);
	}
	for (uint32_t i = 0; wanted.found && i < fabric->node_count; i++)
		if (wanted_has(&wanted, fabric->nodes[i].name) || wanted_has(&wanted, fabric->names.shown[i]))
			mark_node(marking, i);
	if (wanted.found || names_find_node(fabric, value, &node, err) < 0)
		return wanted.found ? 0 : ERR_USAGE;
	mark_node(marking, node);
	return 0;
}

static int mark_guid(struct marking *marking, const char *value, struct error *err)
{
	const struct fabric *fabric = marking->facts->fabric;
	char *end;
	uint64_t guid = strtoull(value, &end, 16);
	bool found = false;

	for (uint32_t i = 0; isxdigit((unsigned char)*value) && !*end && i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (node->guid == guid) {
			mark_node(marking, i);
			found = true;
		}
		for (uint32_t j = node->first_port; node->guid != guid && j < node->first_port + node->ports; j++)
			if (guid && fabric->ports[j].guid == guid) {
				mark_port(marking, j, marking->has);
				found = true;
			}
	}
	return found ? 0 : err_set(err, ERR_USAGE, "no node has the GUID %s: 'ibwire nodes' lists them", value);
}

bool select_is_lid(const struct fabric *fabric, uint32_t index, const char *typed)
{
	const struct port *port = &fabric->ports[index];
	uint16_t base = fabric_port_lid(fabric, port);
	char *end;
	unsigned long lid = strtoul(typed, &end, 0);

	if (!isdigit((unsigned char)*typed) || *end || !base ||
	    (fabric->nodes[port->node].type == NODE_SWITCH && port->num > 0))
		return false;
	return lid >= base && lid < base + (1ul << (port->lmc & 7));
}

static int mark_lid(struct marking *marking, const char *value, struct error *err)
{
	const struct fabric *fabric = marking->facts->fabric;
	bool found = false;

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		if (!select_is_lid(fabric, i, value))
			continue;
		if (fabric->nodes[fabric->ports[i].node].type == NODE_SWITCH)
			mark_node(marking, fabric->ports[i].node);
		else
			mark_port(marking, i, marking->has);
		found = true;
	}
	return found ? 0 : err_set(err, ERR_USAGE, "no port has LID %s", value);
}

bool select_has_port(const char *list, unsigned num)
{
	char digits[4];

	snprintf(digits, sizeof(digits), "%u", num & 255u);
	if (strpbrk(list, "*?["))
		return !fnmatch(list, digits, FNM_NOESCAPE);
	while (isdigit((unsigned char)*list)) {
		char *end;
		unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		if (num >= first && num <= last)
			return true;
		list = end + (*end == ',');
	}
	return false;
}

static int mark_ports(struct marking *marking, const char *value, struct error *err)
{
	const struct fabric *fabric = marking->facts->fabric;
	bool has[256];

	if (!select_is_port_list(value))
		return err_set(err, ERR_USAGE, "'%s' is no list of ports, such as 3, 17-20 or 1,4,7-9", value);
	for (unsigned i = 0; i < 256; i++)
		has[i] = select_has_port(value, i);
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (has[fabric->ports[i].num])
			mark_port(marking, i, marking->has);
	return 0;
}

/* --- expressions --- */

static int mark_value(struct marking *marking, uint8_t key, const char *value, struct error *err)
{
	typedef int mark_fn(struct marking *marking, const char *value, struct error *err);
	static mark_fn *const functions[SELECT_KEY_COUNT] = {
		[SELECT_TIER] = mark_tier,     [SELECT_RAIL] = mark_rail,     [SELECT_HOST] = mark_host,
		[SELECT_CLASS] = mark_class,   [SELECT_ROLE] = mark_role,     [SELECT_STATE] = mark_state,
		[SELECT_SPEED] = mark_speed,   [SELECT_WIDTH] = mark_width,   [SELECT_ERRORS] = mark_errors,
		[SELECT_FINDING] = mark_finding, [SELECT_NAME] = mark_name,   [SELECT_GUID] = mark_guid,
		[SELECT_LID] = mark_lid,       [SELECT_PORT] = mark_ports,
	};

	/* Tags are known to the screen only. */
	return functions[key] ? functions[key](marking, value, err) : 0;
}

/* Keep the marks of these ports; of nodes none remain. A list without any port of the marked ones is an error. */
static int keep_ports(struct marking *marking, const char *list, struct error *err)
{
	const struct fabric *fabric = marking->facts->fabric;
	select_bits others = ~(marking->has | marking->excludes);
	const struct node *first = NULL;
	bool has[256], found = false;

	for (unsigned i = 0; i < 256; i++)
		has[i] = select_has_port(list, i);
	for (uint32_t i = 0; i < fabric->node_count; i++)
		marking->marks->nodes[i] &= others;
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		bool marked = marking->marks->ports[i] & marking->has;

		if (marked && !first)
			first = &fabric->nodes[fabric->ports[i].node];
		found |= marked && has[fabric->ports[i].num];
		if (!has[fabric->ports[i].num])
			marking->marks->ports[i] &= others;
	}
	if (found || !first)
		return 0;
	return err_set(err, ERR_USAGE, "%s has no port %s (it has %u)", fabric->names.shown[first - fabric->nodes],
		       list, first->port_count);
}

/* A value may contain a slash: try it first, then VALUE/PORTS. */
static int mark_term(struct marking *marking, const struct select_term *term, struct error *err)
{
	const char *slash = strrchr(term->text, '/');
	bool has_ports = slash && slash > term->text && select_is_port_list(slash + 1);
	int code = mark_value(marking, term->key, term->text, has_ports ? NULL : err);
	char *value;

	if (code != ERR_USAGE || !has_ports)
		return code;
	value = strndup(term->text, (size_t)(slash - term->text));
	code = value ? mark_value(marking, term->key, value, err) : err_nomem(err);
	free(value);
	if (code < 0)
		return code;
	/* That no port of a list is down, for example, is no mistake. */
	code = keep_ports(marking, slash + 1, select_keys[term->key].names_ports ? err : NULL);
	return select_keys[term->key].names_ports ? code : 0;
}

void select_marks_done(struct select_marks *marks)
{
	free(marks->ports);
	free(marks->nodes);
	*marks = (struct select_marks){ 0 };
}

int select_mark(const struct select *select, struct select_facts *facts, struct select_marks *ret, struct error *err)
{
	const struct fabric *fabric = facts->fabric;
	unsigned needs = 0;
	int code = 0;

	select_marks_done(ret);
	for (size_t i = 0; i < select->term_count; i++)
		needs |= select->terms[i].key < SELECT_KEY_COUNT ? select_keys[select->terms[i].key].needs : 0;
	needs &= ~((facts->shape ? SELECT_NEEDS_SHAPE : 0u) | (facts->ports ? SELECT_NEEDS_PORTS : 0u) |
		   (facts->finding_of ? SELECT_NEEDS_FINDINGS : 0u));
	if (needs && facts->load)
		code = facts->load(facts, needs, err);
	if (code < 0)
		return code;
	ret->ports = calloc(fabric->port_count + 1, sizeof(*ret->ports));
	ret->nodes = calloc(fabric->node_count + 1, sizeof(*ret->nodes));
	if (!ret->ports || !ret->nodes)
		return err_nomem(err);
	for (size_t i = 0; i < select->term_count; i++) {
		struct marking marking = {
			.facts = facts, .marks = ret, .has = UINT64_C(1) << i,
			.excludes = UINT64_C(1) << (SELECT_TERMS + i),
		};
		int failed = select->terms[i].key < SELECT_KEY_COUNT ?
			     mark_term(&marking, &select->terms[i], code ? NULL : err) : 0;

		if (failed && failed != ERR_USAGE)
			return failed;
		code = code ? code : failed;
	}
	return code;
}
