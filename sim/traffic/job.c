/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/job.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "sim/net_shape.h"
#include "sim/relay/key_values.h"

/* --- hosts --- */

/* Maximum device number of a rail: the rails of a job are bits of a 64-bit number. */
#define RAIL_MAX 63

/* An HCA before hosts are numbered. */
struct found {
	char host[NODE_NAME_SIZE];
	uint32_t port, rail;
};

static int compare_found(const void *a, const void *b)
{
	const struct found *x = a, *y = b;
	int order = names_compare(x->host, y->host);

	if (order == 0 && x->rail != y->rail)
		order = x->rail < y->rail ? -1 : 1;
	if (order == 0)
		order = x->port < y->port ? -1 : x->port > y->port;
	return order;
}

/* The first port with a cable, or FABRIC_NONE. */
static uint32_t cabled_port(const struct fabric *fabric, const struct node *node)
{
	for (uint32_t i = node->first_port; i < node->first_port + node->ports; i++)
		if (fabric->ports[i].peer != FABRIC_NONE)
			return i;
	return FABRIC_NONE;
}

/* "node0001 mlx5_3" is rail 3 of node0001; any other description is a host. */
static void name_found(const struct node *node, struct found *found)
{
	const char *space = strchr(node->name, ' '), *digits = node->name + strlen(node->name);

	strncpy(found->host, node->name, sizeof(found->host) - 1);
	while (digits > node->name && isdigit((unsigned char)digits[-1]))
		digits--;
	if (!space || strchr(space + 1, ' ') || !*digits || digits <= space)
		return;
	if (strtoul(digits, NULL, 10) > RAIL_MAX)
		return;
	found->host[space - node->name] = '\0';
	found->rail = (uint32_t)strtoul(digits, NULL, 10);
}

static size_t find_hcas(const struct fabric *fabric, struct found *found)
{
	size_t count = 0;

	for (size_t i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];
		uint32_t port = cabled_port(fabric, node);

		if (node->type != NODE_CA || port == FABRIC_NONE || node_is_aggregation(node) ||
		    host_is_management(node->desc))
			continue;
		memset(&found[count], 0, sizeof(found[count]));
		found[count].port = port;
		name_found(node, &found[count]);
		count++;
	}
	return count;
}

/* Nodes with the same name and the same rail are separate hosts. */
static bool same_host(const struct found *a, const struct found *b)
{
	return !strcmp(a->host, b->host) && a->rail != b->rail;
}

int host_table_create(const struct fabric *fabric, struct host_table *ret, struct error *err)
{
	struct found *found = calloc(fabric->node_count + 1, sizeof(*found));
	struct host_table table = { 0 };
	size_t count = found ? find_hcas(fabric, found) : 0;

	table.hosts = calloc(count + 1, sizeof(*table.hosts));
	table.hcas = calloc(count + 1, sizeof(*table.hcas));
	if (!found || !table.hosts || !table.hcas)
		goto nomem;
	qsort(found, count, sizeof(*found), compare_found);
	for (size_t i = 0; i < count; i++) {
		struct host *host;

		if (i == 0 || !same_host(&found[i], &found[i - 1])) {
			host = &table.hosts[table.host_count++];
			host->name = strdup(found[i].host);
			if (!host->name)
				goto nomem;
			host->first_hca = i;
		}
		host = &table.hosts[table.host_count - 1];
		host->hca_count++;
		table.hcas[i].port = found[i].port;
		table.hcas[i].rail = found[i].rail;
		table.hcas[i].host = (uint32_t)table.host_count - 1;
	}
	table.hca_count = count;
	free(found);
	*ret = table;
	return 0;
nomem:
	free(found);
	host_table_done(&table);
	return err_nomem(err);
}

void host_table_done(struct host_table *table)
{
	for (size_t i = 0; table->hosts && i < table->host_count; i++)
		free(table->hosts[i].name);
	free(table->hosts);
	free(table->hcas);
	memset(table, 0, sizeof(*table));
}

/* --- jobs --- */

/* Default rate of a flow, as a part of the rate of its HCA's link. */
#define DEFAULT_LOAD 0.8

struct job {
	const struct fabric *fabric;
	bool *hosts;     /* by host: is in the job */
	uint64_t rails;  /* bits */
	uint64_t stride; /* host i sends to host i + stride */
	double rate;
	bool coupled;
	struct job_rhythm rhythm;
};

/* Share of an iteration on the wire. */
#define DEFAULT_WIRE 0.3

/* "180Gb/s", "40G", "1e9": bits per second. */
static int parse_rate(const char *value, double *ret, struct error *err)
{
	static const struct {
		char letter;
		double factor;
	} units[] = { { 'k', 1e3 }, { 'M', 1e6 }, { 'G', 1e9 }, { 'T', 1e12 } };
	char *end;
	double rate = strtod(value, &end);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (*end != units[i].letter)
			continue;
		rate *= units[i].factor;
		end++;
		break;
	}
	if (end == value || (*end && strcmp(end, "b/s") && strcmp(end, "bit/s")) || !(rate > 0 && rate <= 1e13))
		return err_set(err, ERR_USAGE, "rate=%s is not a rate such as 180Gb/s", value);
	*ret = rate;
	return 0;
}

int job_parse_rails(const char *value, uint64_t *ret, struct error *err)
{
	const char *s = value;

	*ret = strcmp(value, "all") ? 0 : UINT64_MAX;
	if (*ret)
		return 0;
	do {
		char *end;
		unsigned long first = strtoul(s, &end, 10), last = first;

		if (!isdigit((unsigned char)*s))
			break;
		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		if (last > RAIL_MAX || first > last || (*end && *end != ','))
			break;
		for (; first <= last; first++)
			*ret |= UINT64_C(1) << first;
		if (!*end)
			return 0;
		s = end + 1;
	} while (true);
	return err_set(err, ERR_USAGE, "rails=%s is not a list such as 0-7 or 0,2,4, or all (up to 63)", value);
}

/* Add all hosts of this name (several if descriptions are not unique). Return: whether there is one. */
static bool add_name(const struct host_table *table, const char *name, size_t len, bool *hosts)
{
	bool found = false;

	for (size_t i = 0; i < table->host_count; i++) {
		if (strlen(table->hosts[i].name) != len || memcmp(table->hosts[i].name, name, len))
			continue;
		hosts[i] = true;
		found = true;
	}
	return found;
}

static size_t prefix_len(const char *name, size_t len)
{
	while (len > 0 && isdigit((unsigned char)name[len - 1]))
		len--;
	return len;
}

/* "node0001-node0016": equal prefixes and a range of numbers. Return: whether it is a range with hosts. */
static bool add_range(const struct host_table *table, const char *from, size_t from_len, const char *to,
			 size_t to_len, bool *hosts)
{
	size_t prefix = prefix_len(from, from_len);
	unsigned long first, last;
	bool found = false;

	if (prefix == from_len || prefix_len(to, to_len) != prefix || prefix == to_len || memcmp(from, to, prefix))
		return false;
	first = strtoul(from + prefix, NULL, 10);
	last = strtoul(to + prefix, NULL, 10);
	for (size_t i = 0; i < table->host_count; i++) {
		const char *name = table->hosts[i].name;
		size_t len = strlen(name);
		unsigned long number;

		if (prefix_len(name, len) != prefix || len == prefix || memcmp(name, from, prefix))
			continue;
		number = strtoul(name + prefix, NULL, 10);
		if (number < first || number > last)
			continue;
		hosts[i] = true;
		found = true;
	}
	return found;
}

/* Add an item of hosts=. A name may contain '-', so each one is tried as that of a range. */
static int add_hosts(const struct host_table *table, const char *item, size_t len, bool *hosts, struct error *err)
{
	if (add_name(table, item, len, hosts))
		return 0;
	for (size_t i = 1; i + 1 < len; i++)
		if (item[i] == '-' && add_range(table, item, i, item + i + 1, len - i - 1, hosts))
			return 0;
	return err_set(err, ERR_USAGE, "hosts=%.*s: there is no such host; the first is \"%s\", the last \"%s\"",
		       (int)len, item, table->host_count ? table->hosts[0].name : "",
		       table->host_count ? table->hosts[table->host_count - 1].name : "");
}

int job_parse_hosts(const char *value, const struct host_table *table, bool *ret, struct error *err)
{
	bool all = !strcmp(value, "all");

	if (!value[strspn(value, ",")])
		return err_set(err, ERR_USAGE, "hosts=%s has no host: all, or node0001-node0016,node0020", value);
	memset(ret, all, table->host_count);
	while (*value && !all) {
		size_t len = strcspn(value, ",");

		if (len && add_hosts(table, value, len, ret, err) < 0)
			return ERR_USAGE;
		value += len;
		value += *value == ',';
	}
	return 0;
}

static int parse_seconds(const char *word, const char *value, double *ret_s, struct error *err)
{
	int64_t ns;

	if (parse_time(word, value, &ns, NULL) < 0 || ns <= 0)
		return err_set(err, ERR_USAGE, "%s: not a time such as 4s or 500ms", word);
	*ret_s = (double)ns / 1e9;
	return 0;
}

/* "60s/5s" */
static int parse_checkpoint(const char *word, const char *value, struct job_rhythm *ret, struct error *err)
{
	char every[32];
	const char *slash = strchr(value, '/');
	int code;

	if (!slash || (size_t)(slash - value) >= sizeof(every))
		return err_set(err, ERR_USAGE, "%s is not a period and a pause, such as checkpoint=60s/5s", word);
	memcpy(every, value, (size_t)(slash - value));
	every[slash - value] = '\0';
	code = parse_seconds(word, every, &ret->checkpoint_every_s, err);
	return code < 0 ? code : parse_seconds(word, slash + 1, &ret->checkpoint_s, err);
}

/* Return: 1 if the word is none of those; 0; or an error. */
static int parse_rhythm(const char *word, const char *value, struct job_rhythm *ret, struct error *err)
{
	char *end;

	if (!strncmp(word, "iteration=", 10))
		return parse_seconds(word, value, &ret->iteration_s, err);
	if (!strncmp(word, "start=", 6))
		return parse_seconds(word, value, &ret->start_s, err);
	if (!strncmp(word, "length=", 7))
		return parse_seconds(word, value, &ret->length_s, err);
	if (!strncmp(word, "checkpoint=", 11))
		return parse_checkpoint(word, value, ret, err);
	if (strncmp(word, "wire=", 5) != 0)
		return 1;
	ret->wire = strtod(value, &end) / 100;
	if (end == value || strcmp(end, "%") != 0 || !(ret->wire > 0 && ret->wire <= 1))
		return err_set(err, ERR_USAGE, "%s is not a share such as wire=30%%, above 0 up to 100%%", word);
	return 0;
}

static int parse_word(const char *word, const struct host_table *table, struct job *job, struct error *err)
{
	const char *value = strchr(word, '=');

	if (value && !strncmp(word, "hosts=", 6))
		return job_parse_hosts(value + 1, table, job->hosts, err);
	if (value && !strncmp(word, "rails=", 6))
		return job_parse_rails(value + 1, &job->rails, err);
	if (value && !strncmp(word, "rate=", 5))
		return parse_rate(value + 1, &job->rate, err);
	if (value && !strncmp(word, "stride=", 7))
		return parse_number("stride", value + 1, 1, 1000000, &job->stride, err);
	if (!strcmp(word, "coupled=yes") || !strcmp(word, "coupled=no")) {
		job->coupled = word[8] == 'y';
		return 0;
	}
	if (value) {
		int code = parse_rhythm(word, value + 1, &job->rhythm, err);

		if (code <= 0)
			return code;
	}
	return err_set(err, ERR_USAGE,
		       "\"%s\" is not part of a job: ring hosts=... rails=... rate=... stride=... coupled=yes|no "
		       "iteration=... wire=... checkpoint=.../... start=... length=...", word);
}

static int parse_words(char *spec, const struct host_table *table, struct job *job, struct error *err)
{
	char *rest = NULL, *word = strtok_r(spec, " \t", &rest);

	if (!word || strcmp(word, "ring"))
		return err_set(err, ERR_USAGE, "a job begins with its kind \"ring\", not with \"%s\"",
			       word ? word : "");
	memset(job->hosts, true, table->host_count);
	while ((word = strtok_r(NULL, " \t", &rest)))
		if (parse_word(word, table, job, err) < 0)
			return ERR_USAGE;
	if ((job->rhythm.iteration_s > 0 || job->rhythm.start_s > 0 || job->rhythm.length_s > 0) && !job->coupled)
		return err_set(err, ERR_USAGE, "coupled=no does not go with iteration=, start= or length=");
	return 0;
}

static int add_flow(struct flow_list *list, const struct job *job, uint32_t from, uint32_t to)
{
	double rate = job->rate;
	struct flow *flows;

	if (rate <= 0)
		rate = DEFAULT_LOAD * (double)port_rate_bits_per_s(&job->fabric->ports[from]);
	flows = array_grow(list->flows, list->count, &list->capacity, sizeof(*flows));
	if (!flows)
		return ERR_NOMEM;
	list->flows = flows;
	list->flows[list->count++] = (struct flow){
		.from = from, .to = to, .job = (uint32_t)list->job_count, .demand_bits_per_s = rate,
	};
	return 0;
}

/* Is this an HCA of the job's ring on a rail? */
static bool is_member(const struct job *job, const struct host_hca *hca, uint32_t rail)
{
	return hca->rail == rail && job->hosts[hca->host] && !hca->idle;
}

static size_t gcd(size_t a, size_t b)
{
	return b ? gcd(b, a % b) : a;
}

/* The ring has the hosts in the order of the table. */
static int add_ring(struct flow_list *list, const struct job *job, const struct host_table *table, uint32_t rail)
{
	uint32_t *hcas = calloc(table->hca_count + 1, sizeof(*hcas));
	size_t count = 0, first = list->count;
	int code = hcas ? 0 : ERR_NOMEM;

	for (size_t i = 0; code == 0 && i < table->hca_count; i++)
		if (is_member(job, &table->hcas[i], rail))
			hcas[count++] = (uint32_t)i;
	/* No host sends to itself. */
	for (size_t i = 0; code == 0 && count && job->stride % count && i < count; i++) {
		const struct host_hca *from = &table->hcas[hcas[i]];

		code = add_flow(list, job, from->port, table->hcas[hcas[(i + job->stride) % count]].port);
		if (code < 0)
			break;
		list->flows[list->count - 1].host = from->host;
		list->flows[list->count - 1].previous =
			(uint32_t)(first + (i + count - job->stride % count) % count);
		list->flows[list->count - 1].next = (uint32_t)(first + (i + job->stride) % count);
		list->flows[list->count - 1].ring_hosts = (uint32_t)(count / gcd(count, job->stride % count));
	}
	free(hcas);
	return code;
}

static int add_rings(struct flow_list *list, const struct job *job, const struct host_table *table, struct error *err)
{
	size_t before = list->count;
	struct job_rhythm *rhythms;
	bool *coupled;
	uint32_t rails = 0;

	for (size_t i = 0; i < table->hca_count; i++)
		rails = table->hcas[i].rail >= rails ? table->hcas[i].rail + 1 : rails;
	for (uint32_t rail = 0; rail < rails; rail++)
		if (job->rails >> rail & 1 && add_ring(list, job, table, rail) < 0)
			return err_nomem(err);
	if (list->count == before)
		return err_set(err, ERR_USAGE, "the job has no flow: a ring needs two hosts with an HCA of its rail");
	coupled = array_grow(list->coupled, list->job_count, &list->job_capacity, sizeof(*coupled));
	if (!coupled)
		return err_nomem(err);
	list->coupled = coupled;
	rhythms = array_grow(list->rhythms, list->job_count, &list->rhythm_capacity, sizeof(*rhythms));
	if (!rhythms)
		return err_nomem(err);
	list->rhythms = rhythms;
	list->rhythms[list->job_count] = job->rhythm;
	list->hosts = table->hosts;
	list->coupled[list->job_count++] = job->coupled;
	return 0;
}

int job_parse(const char *spec, const struct fabric *fabric, const struct host_table *table, struct flow_list *list,
	      struct error *err)
{
	struct job job = { .fabric = fabric, .rails = UINT64_MAX, .stride = 1, .coupled = true,
			   .rhythm.wire = DEFAULT_WIRE };
	char *copy = strdup(spec);
	int code;

	job.hosts = calloc(table->host_count + 1, sizeof(*job.hosts));
	if (!copy || !job.hosts)
		code = err_nomem(err);
	else
		code = parse_words(copy, table, &job, err);
	if (code == 0)
		code = add_rings(list, &job, table, err);
	free(job.hosts);
	free(copy);
	return code;
}

void flow_list_done(struct flow_list *list)
{
	free(list->flows);
	free(list->coupled);
	free(list->rhythms);
	memset(list, 0, sizeof(*list));
}

int jobs_check(const struct fabric *fabric, const char *const *specs, size_t count, struct error *err)
{
	struct host_table table = { 0 };
	struct flow_list list = { 0 };
	int code = host_table_create(fabric, &table, err);

	for (size_t i = 0; code == 0 && i < count; i++)
		code = job_parse(specs[i], fabric, &table, &list, err);
	flow_list_done(&list);
	host_table_done(&table);
	return code;
}
