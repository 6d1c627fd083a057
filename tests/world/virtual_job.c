/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* virtual_job.c - parse the jobs of a virtual fabric; their flows */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/map.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "sim/relay/key_values.h"
#include "tests/world/virtual.h"

static const char *const patterns[] = {
	[PATTERN_RING] = "ring", [PATTERN_SHUFFLE] = "shuffle", [PATTERN_ALLTOALL] = "alltoall",
	[PATTERN_TREE] = "tree", [PATTERN_INCAST] = "incast", [PATTERN_PAIRS] = "pairs",
};

static void add_flow(struct virtual_job *job, uint32_t from, uint32_t to)
{
	job->flows = virtual_grow(job->flows, job->flow_count, &job->flow_capacity, sizeof(*job->flows));
	job->flows[job->flow_count++] = (struct virtual_flow){ .from = from, .to = to };
}

static bool takes_part(const struct virtual *world, const struct virtual_job *job, const struct port *port)
{
	return port->state == PORT_ACTIVE && !job->left[port->node] && !world->nodes[port->node].idle;
}

/* HCAs of a job's hosts on one rail, in order of host. @ret has room for all hosts. */
static size_t rail_ports(const struct virtual *world, const struct virtual_job *job, const bool *hosts, uint32_t rail,
			 uint32_t *ret)
{
	size_t count = 0;

	for (size_t i = 0; i < world->hosts.hca_count; i++) {
		const struct host_hca *hca = &world->hosts.hcas[i];
		const struct port *port = &world->built->ports[hca->port];

		if (hosts[hca->host] && hca->rail == rail && takes_part(world, job, port))
			ret[count++] = hca->port;
	}
	return count;
}

/* A checksum of the HCAs that take part now. */
static uint64_t sum_members(const struct virtual *world, const struct virtual_job *job)
{
	uint64_t sum = 1;

	for (size_t i = 0; i < world->hosts.hca_count; i++) {
		const struct host_hca *hca = &world->hosts.hcas[i];
		const struct port *port = &world->built->ports[hca->port];

		if ((job->hosts[hca->host] || job->targets[hca->host]) && takes_part(world, job, port))
			sum += map_mix(hca->port + ((uint64_t)port->peer << 32));
	}
	return sum;
}

static void shuffle(uint64_t seed, uint32_t *ports, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t j = map_mix(seed + i) % i;
		uint32_t other = ports[j];

		ports[j] = ports[i - 1];
		ports[i - 1] = other;
	}
}

static void fill_ring(struct virtual_job *job, const uint32_t *ports, size_t count, size_t stride)
{
	for (size_t i = 0; count > 1 && i < count; i++)
		if (ports[(i + stride) % count] != ports[i])
			add_flow(job, ports[i], ports[(i + stride) % count]);
}

static void fill_alltoall(struct virtual_job *job, const uint32_t *ports, size_t count, uint32_t rail)
{
	for (size_t i = 0; count > 1 && i < job->fan; i++)
		fill_ring(job, ports, count, 1 + map_mix(job->seed + 31 * rail + i) % (count - 1));
}

/* The root of a reduction tree: a switch without hosts at the top. */
static uint32_t tree_root(const struct virtual *world, uint64_t seed)
{
	const struct fabric *built = world->built;
	uint32_t begin = (uint32_t)(map_mix(seed) % world->spread.count);

	for (uint32_t i = world->spread.count; i-- > 0;) {
		uint32_t node = world->spread.nodes[(begin + i) % world->spread.count];
		const struct node *owner = &built->nodes[node];
		bool hosts = false;

		for (uint32_t j = owner->first_port; j < owner->first_port + owner->ports; j++)
			hosts |= built->ports[j].peer != FABRIC_NONE &&
				 built->nodes[built->ports[built->ports[j].peer].node].type != NODE_SWITCH;
		if (!hosts)
			return node;
	}
	return world->spread.nodes[begin];
}

/* Links from a leaf to the root and back, each once; stops at another leaf's branch. */
static void add_branch(struct virtual *world, struct virtual_job *job, uint32_t leaf, uint32_t root, bool *branched)
{
	const struct fabric *built = world->built;

	while (leaf != root && !branched[leaf]) {
		const struct node *owner = &built->nodes[leaf];
		uint32_t i = owner->first_port, last = i + owner->ports;

		branched[leaf] = true;
		while (i < last && !(built->ports[i].num && spread_nearer(&world->spread, built, i, root)))
			i++;
		if (i == last)
			return;
		add_flow(job, i, FABRIC_NONE);
		add_flow(job, built->ports[i].peer, FABRIC_NONE);
		leaf = built->ports[built->ports[i].peer].node;
	}
}

/* A reduction in the switches: each link of the tree carries the data once in each direction. */
static void fill_tree(struct virtual *world, struct virtual_job *job, const uint32_t *ports, size_t count,
		      uint32_t rail)
{
	uint32_t root = tree_root(world, job->seed + rail);
	bool *branched = virtual_alloc(world->built->node_count, sizeof(*branched));

	for (size_t i = 0; i < count; i++) {
		uint32_t up = world->built->ports[ports[i]].peer;

		add_flow(job, ports[i], FABRIC_NONE);
		add_flow(job, up, FABRIC_NONE);
		add_branch(world, job, world->built->ports[up].node, root, branched);
	}
	free(branched);
}

static void fill_incast(struct virtual *world, struct virtual_job *job, const uint32_t *ports, size_t count,
			uint32_t rail)
{
	uint32_t *targets = virtual_alloc(world->hosts.host_count, sizeof(*targets));
	size_t targets_count = rail_ports(world, job, job->targets, rail, targets);

	for (size_t i = 0; targets_count && i < count; i++)
		if (targets[i % targets_count] != ports[i])
			add_flow(job, ports[i], targets[i % targets_count]);
	free(targets);
}

void virtual_fill_job(struct virtual *world, struct virtual_job *job)
{
	uint64_t members = sum_members(world, job);
	uint32_t *ports;

	if (job->pattern == PATTERN_PAIRS || members == job->members)
		return;
	ports = virtual_alloc(world->hosts.host_count, sizeof(*ports));
	job->members = members;
	job->flow_count = 0;
	for (uint32_t rail = 0; rail < 64; rail++) {
		size_t count = job->rails >> rail & 1 ? rail_ports(world, job, job->hosts, rail, ports) : 0;

		switch (job->pattern) {
		case PATTERN_SHUFFLE:
			shuffle(job->seed + rail, ports, count);
			fill_ring(job, ports, count, 1);
			break;
		case PATTERN_ALLTOALL:
			fill_alltoall(job, ports, count, rail);
			break;
		case PATTERN_TREE:
			fill_tree(world, job, ports, count, rail);
			break;
		case PATTERN_INCAST:
			fill_incast(world, job, ports, count, rail);
			break;
		default:
			fill_ring(job, ports, count, job->stride);
		}
	}
	free(ports);
}

/* "10s/20s": communication time / computation time. */
static int parse_phase(char *value, struct virtual_job *job, struct error *err)
{
	char *slash = strchr(value, '/');

	if (!slash)
		return err_set(err, ERR_USAGE, "phase=%s must be two times such as 10s/20s", value);
	*slash = '\0';
	if (when_span_parse(value, &job->on_us, err) < 0 || when_span_parse(slash + 1, &job->off_us, err) < 0)
		return ERR_USAGE;
	return 0;
}

static int parse_pairs(struct virtual *world, char *list, struct virtual_job *job, struct error *err)
{
	char *rest = NULL, *item;

	for (item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
		char *to = strchr(item, '>');
		uint32_t a, b;

		if (!to)
			return err_set(err, ERR_USAGE, "\"%s\" is not a pair such as "
				       "\"node0001 mlx5_0>node0002 mlx5_0\"", item);
		*to++ = '\0';
		if (names_find_node(world->built, item, &a, err) < 0 ||
		    names_find_node(world->built, to, &b, err) < 0)
			return ERR_USAGE;
		add_flow(job, world->built->nodes[a].first_port, world->built->nodes[b].first_port);
	}
	return 0;
}

static int parse_option(struct virtual *world, char *word, struct virtual_job *job, char **ret_without,
			struct error *err)
{
	char *value = strchr(word, '=');

	if (!value)
		return err_set(err, ERR_USAGE, "\"%s\" is not an option of a job", word);
	*value++ = '\0';
	if (!strcmp(word, "hosts"))
		return job_parse_hosts(value, &world->hosts, job->hosts, err);
	if (!strcmp(word, "targets"))
		return job_parse_hosts(value, &world->hosts, job->targets, err);
	if (!strcmp(word, "rails"))
		return job_parse_rails(value, &job->rails, err);
	if (!strcmp(word, "phase"))
		return parse_phase(value, job, err);
	if (!strcmp(word, "shift"))
		return when_span_parse(value, &job->phase_us, err);
	if (!strcmp(word, "pairs"))
		return parse_pairs(world, value, job, err);
	if (!strcmp(word, "load"))
		return virtual_real(word, value, 0, 1, &job->load, err);
	if (!strcmp(word, "noise"))
		return virtual_real(word, value, 0, 1, &job->noise, err);
	if (!strcmp(word, "stride"))
		return virtual_whole(word, value, 0, UINT32_MAX, &job->stride, err);
	if (!strcmp(word, "fan"))
		return virtual_whole(word, value, 0, UINT32_MAX, &job->fan, err);
	if (!strcmp(word, "seed"))
		return virtual_whole(word, value, 0, UINT64_MAX, &job->seed, err);
	if (!strcmp(word, "coupled"))
		return virtual_choice(word, value, "yes", "no", &job->coupled, err);
	if (!strcmp(word, "spread"))
		return virtual_choice(word, value, "adaptive", "static", &job->adaptive, err);
	if (!strcmp(word, "starts"))
		return virtual_choice(word, value, "now", "later", &job->runs, err);
	if (strcmp(word, "without"))
		return err_set(err, ERR_USAGE, "a job has no option \"%s\"", word);
	*ret_without = value;
	return 0;
}

static int parse_pattern(const char *word, struct virtual_job *job, struct error *err)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		if (strcmp(word, patterns[i]))
			continue;
		job->pattern = (enum job_pattern)i;
		return 0;
	}
	return err_set(err, ERR_USAGE, "\"%s\" is not a pattern: ring, shuffle, alltoall, tree, incast, pairs",
		       word);
}

static int parse_job(struct virtual *world, char *spec, struct virtual_job *job, struct error *err)
{
	char *words[32], *without = NULL;
	size_t count;
	int code = words_split(spec, words, 32, &count, err);

	if (code < 0)
		return code;
	if (count < 2)
		return err_set(err, ERR_USAGE, "a job needs a name and a pattern");
	snprintf(job->name, sizeof(job->name), "%s", words[0]);
	code = parse_pattern(words[1], job, err);
	for (size_t i = 2; code == 0 && i < count; i++)
		code = parse_option(world, words[i], job, &without, err);
	if (code == 0 && (!(job->load > 0 && job->load <= 1) || !(job->noise >= 0 && job->noise <= 1) || !job->fan))
		code = err_set(err, ERR_USAGE, "job %s: load is above 0 and at most 1, noise 0 to 1, fan at least 1",
			       job->name);
	for (size_t i = 0; code == 0 && i < world->hosts.host_count; i++)
		job->hosts[i] = job->hosts[i] && !job->targets[i];
	if (code == 0 && without) {
		uint32_t node;

		code = names_find_node(world->built, without, &node, err);
		if (code == 0)
			job->left[node] = true;
	}
	if (code == 0)
		virtual_fill_job(world, job);
	if (code == 0 && !job->flow_count)
		code = err_set(err, ERR_USAGE, "job %s has no flow: it needs two hosts", job->name);
	return code;
}

int virtual_job(struct virtual *world, const char *spec, struct error *err)
{
	struct virtual_job job = { .load = 0.5, .pace = 1, .coupled = true, .runs = true, .on_us = 1,
				   .stride = 1, .fan = 4, .seed = world->job_count + 1, .rails = UINT64_MAX };
	char *copy = strdup(spec);
	int code;

	job.hosts = virtual_alloc(world->hosts.host_count, sizeof(bool));
	job.targets = virtual_alloc(world->hosts.host_count, sizeof(bool));
	job.left = virtual_alloc(world->built->node_count, sizeof(bool));
	memset(job.hosts, true, world->hosts.host_count);
	code = parse_job(world, copy, &job, err);
	free(copy);
	if (code < 0) {
		free(job.hosts);
		free(job.targets);
		free(job.left);
		free(job.flows);
		return code;
	}
	world->jobs = virtual_grow(world->jobs, world->job_count, &world->job_capacity, sizeof(*world->jobs));
	world->jobs[world->job_count++] = job;
	world->loads_changed = true;
	return 0;
}
