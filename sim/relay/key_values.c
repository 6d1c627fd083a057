/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/relay/key_values.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"

#define NS_PER_US 1000.0
#define LONGEST_NS (3600 * US_PER_S * 1000)

/* Does this begin with "key="? */
static bool is_key(const char *item)
{
	size_t len = strspn(item, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return len && item[len] == '=';
}

static void trim_end(char *chars)
{
	size_t len = strlen(chars);

	while (len && isspace((unsigned char)chars[len - 1]))
		chars[--len] = '\0';
}

int words_split(char *line, char **ret, size_t room, size_t *ret_count, struct error *err)
{
	char *from = line, *to;
	size_t count = 0;

	while (true) {
		bool quoted = false;

		from += strspn(from, " \t\r\n");
		if (!*from)
			break;
		if (count == room)
			return err_set(err, ERR_USAGE, "the line has more than %zu words", room);
		ret[count++] = to = from;
		while (*from && (quoted || !strchr(" \t\r\n", *from))) {
			if (*from == '"')
				quoted = !quoted;
			else
				*to++ = *from;
			from++;
		}
		if (quoted)
			return err_set(err, ERR_USAGE, "a quote is not closed");
		from += *from != '\0';
		*to = '\0';
	}
	*ret_count = count;
	return 0;
}

int key_values_split(const char *text, struct key_values *ret, struct error *err)
{
	char *at;

	memset(ret, 0, sizeof(*ret));
	ret->copy = strdup(text);
	if (!ret->copy)
		return err_nomem(err);
	at = ret->copy + strspn(ret->copy, " \t\n");
	while (*at) {
		struct key_value *pair = &ret->pairs[ret->count++];

		pair->key = pair->value = at;
		if (is_key(at)) {
			pair->value = strchr(at, '=');
			*pair->value++ = '\0';
		} else {
			pair->key = at + strlen(at);
		}
		at = pair->value;
		while (*at && !(isspace((unsigned char)*at) && is_key(at + 1)))
			at++;
		if (*at)
			*at++ = '\0';
		trim_end(pair->value);
		if (*at && ret->count == KEY_VALUES_MAX) {
			key_values_done(ret);
			return err_set(err, ERR_USAGE, "more than %d settings at a time", KEY_VALUES_MAX);
		}
	}
	return 0;
}

void key_values_done(struct key_values *list)
{
	free(list->copy);
	memset(list, 0, sizeof(*list));
}

int parse_time(const char *key, const char *value, int64_t *ret_ns, struct error *err)
{
	static const struct {
		const char *name;
		double us;
	} units[] = { { "ns", 1e-3 }, { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 } };
	double number, ns;
	char *end;

	number = strtod(value, &end);
	if (end == value || !isfinite(number))
		goto wrong;
	end += strspn(end, " ");
	ns = *end ? -1 : number == 0 ? 0 : -1;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].name))
			ns = number * units[i].us * NS_PER_US;
	if (ns < 0 || ns > (double)LONGEST_NS)
		goto wrong;
	*ret_ns = (int64_t)ns;
	return 0;
wrong:
	return err_set(err, ERR_USAGE, "%s must be a time such as 20us, 1.5ms or 1s, not \"%s\"", key, value);
}

int parse_number(const char *key, const char *value, uint64_t min, uint64_t max, uint64_t *ret, struct error *err)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 0);
	if (!isdigit((unsigned char)*value) || *end || errno || number < min || number > max)
		return err_set(err, ERR_USAGE, "%s must be a number from %" PRIu64 " to %" PRIu64 ", not \"%s\"", key,
			       min, max, value);
	*ret = number;
	return 0;
}

int parse_percent(const char *key, const char *value, double *ret, struct error *err)
{
	char *end;
	double number = strtod(value, &end);

	end += *end == '%';
	if (end == value || *end || !(number >= 0 && number <= 100))
		return err_set(err, ERR_USAGE, "%s must be a percentage from 0 to 100, not \"%s\"", key, value);
	*ret = number;
	return 0;
}

/* Does a name or pattern match the node's full or short name ("leaf-u01-r0")? */
static bool matches_name(const struct fabric *fabric, const struct node *node, const char *item)
{
	char name[NODE_NAME_SIZE];

	if (!strcmp(item, node->name) || fnmatch(item, node->name, 0) == 0)
		return true;
	names_display(fabric, node->name, name);
	return fnmatch(item, name, 0) == 0;
}

/* Return: false if the item is neither a name nor a pattern. */
static bool add_named(const struct fabric *fabric, const char *item, bool *members, size_t *ret_matches)
{
	bool all = !strcmp(item, "all"), switches = !strcmp(item, "switches"), hcas = !strcmp(item, "hcas");

	*ret_matches = 0;
	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		if (all || (switches && node->type == NODE_SWITCH) || (hcas && node->type == NODE_CA) ||
		    (!all && !switches && !hcas && matches_name(fabric, node, item))) {
			members[i] = true;
			(*ret_matches)++;
		}
	}
	/* Otherwise it may be a GUID, or a misspelt name. */
	return *ret_matches || strpbrk(item, "*?[");
}

int parse_nodes(const struct fabric *fabric, const char *list, bool *members, struct error *err)
{
	char *copy = strdup(list), *item, *rest = NULL;
	size_t matches;
	uint32_t node;
	int code = 0;

	if (!copy)
		return err_nomem(err);
	memset(members, 0, fabric->node_count * sizeof(*members));
	for (item = strtok_r(copy, ",", &rest); item && code == 0; item = strtok_r(NULL, ",", &rest)) {
		item += strspn(item, " ");
		trim_end(item);
		if (!*item || !strcmp(item, "none"))
			continue;
		if (add_named(fabric, item, members, &matches)) {
			if (!matches)
				code = err_set(err, ERR_USAGE, "no node matches \"%s\"", item);
			continue;
		}
		code = names_find_node(fabric, item, &node, err);
		if (code == 0)
			members[node] = true;
	}
	free(copy);
	return code;
}
