/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* anonymise_names.c - replacement of names; their structure remains */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "storage/admin/anonymise.h"

/* Parts of a name: "MF0;HOST:MODEL/U1", "HOST DEVICE" or HOST alone. */
struct parts {
	char host[NODE_NAME_SIZE];
	char before[8], behind[NODE_NAME_SIZE]; /* not replaced */
};

/* "mlx5_0", "HCA-1", "hfi1_0": stems of drivers with a short number. */
static bool is_device(const char *word)
{
	static const char *const stems[] = { "mlx4_", "mlx5_", "mlx5_bond_", "HCA-", "hfi1_", "qib" };

	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++) {
		size_t len = strlen(stems[i]), digits;

		if (strncmp(word, stems[i], len))
			continue;
		digits = strspn(word + len, "0123456789");
		if (digits && digits < 4 && !word[len + digits])
			return true;
	}
	return false;
}

/* "MQM8700", "SX6036", "IS5200": 2 to 4 capitals and 4 digits. */
static bool is_model(const char *model, size_t len)
{
	size_t letters = 0;

	while (letters < len && isupper((unsigned char)model[letters]))
		letters++;
	return letters >= 2 && letters <= 4 && len - letters == 4 && strspn(model + letters, "0123456789") >= 4;
}

/* "/U1", "/L12/U1", "/S3/U1" */
static bool is_module(const char *module)
{
	return strlen(module) < 12 && strspn(module, "/LSU0123456789") == strlen(module);
}

static bool split_managed(const char *name, struct parts *ret)
{
	const char *colon = strncmp(name, "MF0;", 4) ? NULL : strchr(name, ':');
	const char *slash = colon ? strchr(colon, '/') : NULL;
	size_t model;

	if (!slash || colon == name + 4)
		return false;
	strcpy(ret->before, "MF0;");
	snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(colon - name - 4), name + 4);
	model = (size_t)(slash - colon - 1);
	snprintf(ret->behind, sizeof(ret->behind), ":%.*s%s", is_model(colon + 1, model) ? (int)model : 6,
		 is_model(colon + 1, model) ? colon + 1 : "SW0000", is_module(slash) ? slash : "/U1");
	return true;
}

static void split(const char *name, struct parts *ret)
{
	const char *space = strchr(name, ' ');

	ret->before[0] = ret->behind[0] = '\0';
	if (split_managed(name, ret))
		return;
	if (space && space > name && is_device(space + 1)) {
		snprintf(ret->host, sizeof(ret->host), "%.*s", (int)(space - name), name);
		snprintf(ret->behind, sizeof(ret->behind), "%s", space);
	} else {
		snprintf(ret->host, sizeof(ret->host), "%s", name);
	}
}

/* Words of vendors, which identify no node. */
static bool is_vendor_word(const char *word, size_t len)
{
	static const char *const words[] = {
		"-", "Mellanox", "Technologies", "Aggregation", "Node", "InfiniHost", "InfiniHostEx", "Infiniscale-III",
		"Infiniscale-IV", "SwitchX", "SwitchIB", "Switch-IB", "Quantum", "Quantum-2", "Quantum-3", "localhost",
		"localhost.localdomain", "(none)", "ConnectX",
	};
	char copy[24];

	if (len >= sizeof(copy))
		return false;
	memcpy(copy, word, len);
	copy[len] = '\0';
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(copy, words[i]))
			return true;
	if (!strncmp(copy, "MT", 2) || !strncmp(copy, "ConnectX", 8)) {
		const char *digits = copy + (copy[0] == 'M' ? 2 : 8);

		return strspn(digits, "0123456789") == strlen(digits) && strlen(digits) < 6;
	}
	return is_device(copy);
}

/* A name of vendor words only: many nodes have it, and it is not replaced. */
static bool is_vendor_name(const char *name)
{
	size_t len;

	for (; *name; name += len) {
		name += strspn(name, " ");
		len = strcspn(name, " ");
		if (len && !is_vendor_word(name, len))
			return false;
	}
	return true;
}

/* The scheme of a name: each number becomes "#". */
static void stem_of(const char *host, char *ret)
{
	for (; *host; host++) {
		if (!isdigit((unsigned char)*host))
			*ret++ = *host;
		else if (!isdigit((unsigned char)host[1]))
			*ret++ = '#';
	}
	*ret = '\0';
}

/* Hosts while names are replaced, each once, in natural order. */
struct host {
	char *name, *stem;
	bool on_switch;
	size_t scheme, number;
};

static int compare_host_names(const void *a, const void *b)
{
	return names_compare(((const struct host *)a)->name, ((const struct host *)b)->name);
}

static int compare_host_stems(const void *a, const void *b)
{
	const struct host *left = a, *right = b;
	int order = left->on_switch != right->on_switch ? (left->on_switch ? 1 : -1) : strcmp(left->stem, right->stem);

	return order ? order : names_compare(left->name, right->name);
}

static int compare_hosts(const void *a, const void *b)
{
	return strcmp(((const struct host *)a)->name, ((const struct host *)b)->name);
}

/* "a" to "z", then "ba" and so on. */
static void scheme_letters(size_t scheme, char ret[16])
{
	char digits[16];
	size_t len = 0;

	do {
		digits[len++] = (char)('a' + scheme % 26);
		scheme /= 26;
	} while (scheme);
	for (size_t i = 0; i < len; i++)
		ret[i] = digits[len - 1 - i];
	ret[len] = '\0';
}

static void hosts_done(struct host *hosts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(hosts[i].name);
		free(hosts[i].stem);
	}
	free(hosts);
}

static size_t merge_hosts(struct host *hosts, size_t count)
{
	size_t unique = 0, schemes[2] = { 0 };

	qsort(hosts, count, sizeof(*hosts), compare_host_names);
	for (size_t i = 0; i < count; i++) {
		if (unique && !strcmp(hosts[unique - 1].name, hosts[i].name)) {
			hosts[unique - 1].on_switch |= hosts[i].on_switch;
			free(hosts[i].name);
			free(hosts[i].stem);
			continue;
		}
		hosts[unique++] = hosts[i];
	}
	qsort(hosts, unique, sizeof(*hosts), compare_host_stems);
	for (size_t i = 0; i < unique; i++) {
		bool same = i && hosts[i - 1].on_switch == hosts[i].on_switch &&
			    !strcmp(hosts[i - 1].stem, hosts[i].stem);

		hosts[i].scheme = same ? hosts[i - 1].scheme : schemes[hosts[i].on_switch]++;
		hosts[i].number = same ? hosts[i - 1].number + 1 : 1;
	}
	qsort(hosts, unique, sizeof(*hosts), compare_hosts);
	return unique;
}

static int list_hosts(const struct anonymiser *anonymiser, struct host **ret, size_t *ret_count, struct error *err)
{
	struct host *hosts = calloc(anonymiser->alias_count + 1, sizeof(*hosts));
	size_t count = 0;

	for (size_t i = 0; hosts && i < anonymiser->alias_count; i++) {
		struct parts parts;

		if (is_vendor_name(anonymiser->aliases[i].was))
			continue;
		split(anonymiser->aliases[i].was, &parts);
		hosts[count].name = strdup(parts.host);
		hosts[count].stem = malloc(strlen(parts.host) + 1);
		hosts[count].on_switch = anonymiser->aliases[i].on_switch;
		if (!hosts[count].name || !hosts[count].stem) {
			hosts_done(hosts, count + 1);
			return err_nomem(err);
		}
		stem_of(parts.host, hosts[count++].stem);
	}
	if (!hosts)
		return err_nomem(err);
	*ret_count = merge_hosts(hosts, count);
	*ret = hosts;
	return 0;
}

static int invent(struct alias *alias, const struct host *hosts, size_t count, struct error *err)
{
	struct host key = { 0 }, *host;
	struct text name = { 0 };
	struct parts parts;
	char letters[16];

	split(alias->was, &parts);
	key.name = parts.host;
	host = is_vendor_name(alias->was) ? NULL : bsearch(&key, hosts, count, sizeof(*hosts), compare_hosts);
	if (host) {
		scheme_letters(host->scheme, letters);
		text_appendf(&name, "%s%s-%s-%zu%s", parts.before, host->on_switch ? "switch" : "host", letters,
			     host->number, parts.behind);
	} else {
		text_append(&name, alias->was);
	}
	alias->is = text_failed(&name) ? NULL : strdup(text_chars(&name));
	text_done(&name);
	return alias->is ? 0 : err_nomem(err);
}

int anonymise_add_name(struct anonymiser *anonymiser, const char *name, bool on_switch, struct error *err)
{
	struct alias *aliases = array_grow(anonymiser->aliases, anonymiser->alias_count, &anonymiser->alias_capacity,
					   sizeof(*aliases));

	if (!aliases)
		return err_nomem(err);
	anonymiser->aliases = aliases;
	aliases[anonymiser->alias_count] = (struct alias){ .was = strdup(name), .on_switch = on_switch };
	return aliases[anonymiser->alias_count++].was ? 0 : err_nomem(err);
}

static int compare_aliases(const void *a, const void *b)
{
	return strcmp(((const struct alias *)a)->was, ((const struct alias *)b)->was);
}

static void merge_aliases(struct anonymiser *anonymiser)
{
	size_t unique = 0;

	if (anonymiser->alias_count)
		qsort(anonymiser->aliases, anonymiser->alias_count, sizeof(*anonymiser->aliases), compare_aliases);
	for (size_t i = 0; i < anonymiser->alias_count; i++) {
		if (unique && !strcmp(anonymiser->aliases[unique - 1].was, anonymiser->aliases[i].was)) {
			anonymiser->aliases[unique - 1].on_switch |= anonymiser->aliases[i].on_switch;
			free(anonymiser->aliases[i].was);
			continue;
		}
		anonymiser->aliases[unique++] = anonymiser->aliases[i];
	}
	anonymiser->alias_count = unique;
}

int anonymise_invent_names(struct anonymiser *anonymiser, struct error *err)
{
	struct host *hosts;
	size_t count;
	int result;

	merge_aliases(anonymiser);
	result = list_hosts(anonymiser, &hosts, &count, err);
	if (result < 0)
		return result;
	for (size_t i = 0; !result && i < anonymiser->alias_count; i++)
		result = invent(&anonymiser->aliases[i], hosts, count, err);
	hosts_done(hosts, count);
	return result;
}

const char *anonymise_name(const struct anonymiser *anonymiser, const char *name)
{
	struct alias key = { .was = (char *)name };
	const struct alias *found = NULL;

	if (anonymiser->alias_count)
		found = bsearch(&key, anonymiser->aliases, anonymiser->alias_count, sizeof(key), compare_aliases);
	return found ? found->is : NULL;
}
