/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/select.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/text.h"

const struct select_key_info select_keys[SELECT_KEY_COUNT] = {
	[SELECT_TIER] = { "tier", "tier:2", "switches of a tier: 1 leaf, 2 spine, 3 core", SELECT_NEEDS_SHAPE,
			  .names_ports = true },
	[SELECT_RAIL] = { "rail", "rail:mlx5_2", "HCA ports of a rail, by name or by the number at its end: rail:2",
			  SELECT_NEEDS_SHAPE, .names_ports = true },
	[SELECT_HOST] = { "host", "host:node01", "HCAs of hosts; also a list: host:node[001-016]", SELECT_NEEDS_SHAPE,
			  .names_ports = true },
	[SELECT_CLASS] = { "class", "class:storage",
			   "nodes of a class: compute, storage, management, router, switch, ...",
			   SELECT_NEEDS_SHAPE, .names_ports = true },
	[SELECT_ROLE] = { "role", "role:leaf-uplink", "ports by role: leaf-to-host, leaf-uplink, spine-downlink, ...",
			  SELECT_NEEDS_SHAPE, .names_ports = false },
	[SELECT_STATE] = { "state", "state:degraded",
			   "ports with a STATUS; degraded: below what both ends support; unidentified: the peer",
			   SELECT_NEEDS_PORTS | SELECT_NEEDS_SHAPE, .names_ports = false },
	[SELECT_SPEED] = { "speed", "speed:ndr", "ports by active speed", .names_ports = false },
	[SELECT_WIDTH] = { "width", "width:1x", "ports by active width", .names_ports = false },
	[SELECT_ERRORS] = { "err", "err:yes", "ports with errors in the shown window; err:no: without",
			    SELECT_NEEDS_PORTS, .names_ports = false },
	[SELECT_FINDING] = { "finding", "finding:critical",
			     "ports with an open finding: yes, no, a severity, clearing, acknowledged, a kind",
			     SELECT_NEEDS_FINDINGS | SELECT_NEEDS_SHAPE, .names_ports = false },
	[SELECT_NAME] = { "name", "name:leaf*", "nodes by full or displayed name", .names_ports = true },
	[SELECT_GUID] = { "guid", "guid:0x2c90300a1b2c3", "a node or port by GUID", .names_ports = true },
	[SELECT_LID] = { "lid", "lid:17", "a switch or HCA port by LID", .names_ports = true },
	[SELECT_PORT] = { "port", "port:1,4-6", "ports by number", .names_ports = true },
	[SELECT_TAGGED] = { "tagged", "tagged:yes", "links with a tag", .screen_only = true },
};

/* --- the parser --- */

const char *select_set_end(const char *set)
{
	const char *at = set + 1;

	at += *at == '^';
	at += *at == ']';
	for (; *at; at++) {
		const char *class = at[0] == '[' && at[1] && strchr(":.=", at[1]) ? strstr(at + 2, "]") : NULL;

		if (*at == ']')
			return at + 1;
		if (class && class[-1] == at[1])
			at = class;
	}
	return set;
}

/* The end of a term: a blank or '|' outside parentheses and brackets. */
static const char *term_end(const char *start)
{
	const char *at = start + strspn(start, "!abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	const char *quote = at > start && at[0] == ':' && at[1] == '"' ? strchr(at + 2, '"') : NULL;
	int depth = 0;

	for (at = quote ? quote + 1 : start; *at && (depth || (*at != ' ' && *at != '|')); at++) {
		if (*at == '\\' && at[1]) {
			at++;
		} else if (*at == '[' && select_set_end(at) != at) {
			at = select_set_end(at) - 1;
		} else {
			depth += *at == '(';
			depth -= *at == ')' && depth;
		}
	}
	/* An unclosed parenthesis does not extend the term. */
	return depth ? start + strcspn(start, " |") : at;
}

/* Remove the quotes of "VALUE" and "VALUE"/PORTS. */
static void unquote(char *value)
{
	char *end = value[0] == '"' ? strchr(value + 1, '"') : NULL;

	if (!end)
		return;
	memmove(end, end + 1, strlen(end + 1) + 1);
	memmove(value, value + 1, strlen(value + 1) + 1);
}

/* "tier:2" is a key and its value; text with any other colon is a word. Return: whether the term is complete. */
static bool parse_term(struct select_term *term)
{
	size_t len = strspn(term->text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
	unsigned key = 0;

	term->key = SELECT_WORD;
	if (!len || term->text[len] != ':')
		return *term->text;
	while (key < SELECT_KEY_COUNT &&
	       (strncasecmp(select_keys[key].key, term->text, len) || select_keys[key].key[len]))
		key++;
	term->is_unknown = key == SELECT_KEY_COUNT;
	if (term->is_unknown)
		return true;
	term->key = (uint8_t)key;
	term->text += len + 1;
	unquote(term->text);
	return *term->text;
}

void select_parse(struct select *select, const char *typed)
{
	char *to = select->chars;
	const char *at, *end;
	uint8_t alternative = 0;

	*select = (struct select){ 0 };
	select->cut = snprintf(select->typed, sizeof(select->typed), "%s", typed) >= (int)sizeof(select->typed);
	for (at = select->typed; *at; at = end) {
		struct select_term *term;

		end = at + 1;
		alternative += *at == '|';
		if (*at == '|' || *at == ' ')
			continue;
		if (select->term_count == SELECT_TERMS) {
			select->cut = true;
			return;
		}
		end = term_end(at);
		term = &select->terms[select->term_count];
		*term = (struct select_term){
			.text = to, .alternative = alternative, .negated = *at == '!',
			.start = (uint16_t)(at - select->typed), .end = (uint16_t)(end - select->typed),
		};
		at += term->negated;
		memcpy(to, at, (size_t)(end - at));
		to += end - at;
		*to++ = '\0';
		if (parse_term(term))
			select->term_count++;
		else
			select->incomplete = true;
	}
}

int select_unknown_key(const struct select_term *term, struct error *err)
{
	size_t len = strcspn(term->text, ":"), best = len / 3 + 2;
	const char *nearest = NULL;
	struct text keys = { 0 };
	char key[32];

	snprintf(key, sizeof(key), "%.*s", (int)len, term->text);
	for (unsigned i = 0; i < SELECT_KEY_COUNT; i++) {
		size_t distance = text_distance(key, select_keys[i].key);

		if (distance < best) {
			best = distance;
			nearest = select_keys[i].key;
		}
	}
	if (nearest)
		return err_set(err, ERR_USAGE, "there is no key '%s': did you mean '%s'?", key, nearest);
	for (unsigned i = 0; i < SELECT_KEY_COUNT; i++)
		text_appendf(&keys, "%s%s", i ? ", " : "", select_keys[i].key);
	err_set(err, ERR_USAGE, "there is no key '%s': the keys are %s", key, text_chars(&keys));
	text_done(&keys);
	return ERR_USAGE;
}

bool select_passes(const struct select *select, select_bits bits)
{
	size_t i = 0;

	while (i < select->term_count) {
		uint8_t alternative = select->terms[i].alternative;
		bool all = true;

		for (; i < select->term_count && select->terms[i].alternative == alternative; i++)
			all = all && select_has(bits, i) != select->terms[i].negated;
		if (all)
			return true;
	}
	return !select->term_count;
}

/* --- lists --- */

bool select_is_port_list(const char *typed)
{
	if (strpbrk(typed, " |"))
		return false;
	return strpbrk(typed, "*?[") || (isdigit((unsigned char)*typed) && !typed[strspn(typed, "0123456789-,")]);
}
