/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * drains - random drains of a simulated fabric: what `ibwire what-if` predicts, and what opensm and the traffic then do
 *
 * usage: ibwire-sim run ... -- drains COUNT SEED
 *        drains time     (how long what-if takes for 11,264 HCAs in three tiers)
 *
 * For each drain: the tables that opensm wrote are read, and the load of all links with random traffic is computed
 * along them (sim/traffic.h). From these two, what_if_compute() predicts. Then the links are taken out of ibsim, and
 * when opensm has routed again, its new tables are the truth: hosts without a route to the largest part, and the load
 * of the busiest link with the same traffic. The links come back before the next drain.
 *
 * Prints a line for each drain and each kind of traffic, and the sums:
 *
 *	links hosts cut_off predicted measured traffic verdict
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/predict.h"
#include "base/err.h"
#include "base/map.h"
#include "base/text.h"
#include "fabric/bad_links.h"
#include "fabric/fabric.h"
#include "fabric/netfile.h"
#include "fabric/shape.h"
#include "fabric/variant.h"
#include "facts/order.h"
#include "pages/what_if.h"
#include "sim/ibsim/attach.h"
#include "sim/ibsim/console.h"
#include "sim/ibsim/programs.h"
#include "sim/lft.h"
#include "sim/net_shape.h"
#include "sim/traffic.h"

enum { LINKS_MOST = 256, WAIT_MS = 30000, STEP_MS = 50, QUIET_STEPS = 6 };
#define CLOSE 0.1

/* Kinds of traffic. */
enum { EQUAL, WEIGHTED, JOBS, RINGS, KINDS };
static const char *const kind_names[KINDS] = { "equal", "weighted", "jobs", "rings" };

struct bench {
	const char *dir, *console;
	struct fabric *fabric;
	struct shape *shape;
	struct order shown;
	uint32_t *hcas;           /* ports of HCAs with a link */
	uint32_t hca_count;
	uint32_t sm_port;
	uint64_t random;
	uint32_t links[LINKS_MOST];
	uint32_t link_count;
	bool *nodes, *ports;
	/* Results. */
	unsigned drains, cut_exact, tables_same, close[KINDS], judged[KINDS];
	uint64_t entries, entries_same;
};

static uint64_t next_random(struct bench *bench)
{
	return bench->random = map_mix(bench->random + 0x9e3779b97f4a7c15ULL);
}

static void fail(const char *what, const struct error *err)
{
	fprintf(stderr, "drains: %s: %s\n", what, err ? err->text : "");
	exit(1);
}

static void check(int code, const char *what, const struct error *err)
{
	if (code < 0)
		fail(what, err);
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static bool read_dump(const struct bench *bench, struct lft *ret)
{
	struct text text = { 0 };
	char path[512];
	bool good;

	snprintf(path, sizeof(path), "%s/" LFT_FILE, bench->dir);
	good = text_read_file(path, "", TEXT_FABRIC_MOST, &text, NULL) == 0 &&
	       lft_parse(bench->fabric, text_chars(&text), text.len, ret, NULL) == 0;
	text_done(&text);
	return good;
}

/* A variant with the LIDs of a dump. */
static struct fabric *with_lids(const struct bench *bench, const struct lft *lft)
{
	struct fabric *fabric = fabric_variant_create(bench->fabric, NULL);

	if (!fabric)
		fail("no memory", NULL);
	for (uint32_t i = 0; i < fabric->port_count; i++) {
		struct node *node = &fabric->nodes[fabric->ports[i].node];

		if (node->type != NODE_SWITCH)
			fabric->ports[i].lid = lft->port_lids[i];
		else if (node->first_port == i)
			node->lid = lft->port_lids[i];
	}
	return fabric;
}

/* --- the drain --- */

static void console(const struct bench *bench, const char *command, uint32_t port)
{
	char id[ATTACH_ID_SIZE], line[CONSOLE_MAX_LINE];
	struct text output = { 0 };
	struct error err = { 0 };

	attach_id(bench->fabric, bench->fabric->ports[port].node, id);
	snprintf(line, sizeof(line), "%s \"%s\"[%u]", command, id, bench->fabric->ports[port].num);
	check(console_run(bench->console, bench->dir, line, &output, &err), line, &err);
	text_done(&output);
}

static bool is_switch(const struct bench *bench, uint32_t port)
{
	return bench->fabric->nodes[bench->fabric->ports[port].node].type == NODE_SWITCH;
}

static bool is_out(const struct bench *bench, uint32_t port)
{
	for (uint32_t i = 0; i < bench->link_count; i++)
		if (bench->links[i] == port || bench->fabric->ports[bench->links[i]].peer == port)
			return true;
	return false;
}

static void add_link(struct bench *bench, uint32_t port)
{
	if (bench->link_count < LINKS_MOST && link_is_usable(bench->fabric, port) && !is_out(bench, port))
		bench->links[bench->link_count++] = port;
}

/* A switch, all links of a host, or up to twelve links, of which most are uplinks. */
static void choose_drain(struct bench *bench)
{
	const struct fabric *fabric = bench->fabric;
	unsigned what = (unsigned)(next_random(bench) % 8), count;
	uint32_t node = (uint32_t)(next_random(bench) % fabric->node_count);

	bench->link_count = 0;
	memset(bench->nodes, 0, fabric->node_count * sizeof(*bench->nodes));
	memset(bench->ports, 0, fabric->port_count * sizeof(*bench->ports));
	if (what < 2) {
		while ((fabric->nodes[node].type == NODE_SWITCH) != (what == 0))
			node = (node + 1) % (uint32_t)fabric->node_count;
		bench->nodes[node] = true;
		for (uint32_t i = 0; i < fabric->nodes[node].ports; i++)
			add_link(bench, fabric->nodes[node].first_port + i);
		return;
	}
	count = 1 + (unsigned)(next_random(bench) % 12);
	for (unsigned tries = 0; bench->link_count < count && tries < 10000; tries++) {
		uint32_t port = (uint32_t)(next_random(bench) % fabric->port_count);

		if (fabric->ports[port].peer == FABRIC_NONE || !is_switch(bench, port))
			continue;
		if (is_switch(bench, fabric->ports[port].peer) || next_random(bench) % 8 == 0)
			add_link(bench, port);
	}
	for (uint32_t i = 0; i < bench->link_count; i++)
		bench->ports[bench->links[i]] = true;
}

/* Do the tables of a dump use a link that is out, or lack a port that has a link? */
static bool is_settled(const struct bench *bench, const struct lft *lft, bool complete)
{
	for (size_t i = 0; i < lft->routes.count; i++) {
		const struct route_table *table = &lft->routes.tables[i];
		uint32_t node = fabric_find_node(bench->fabric, table->node_guid);
		bool out[256] = { false };

		for (uint32_t k = 0; node != FABRIC_NONE && k < bench->fabric->nodes[node].ports; k++)
			out[bench->fabric->ports[bench->fabric->nodes[node].first_port + k].num] =
				!complete && is_out(bench, bench->fabric->nodes[node].first_port + k);
		out[0] = false;
		for (uint32_t lid = 1; lid < table->lids; lid++)
			if (table->ports[lid] != ROUTES_NO_PORT && out[table->ports[lid]])
				return false;
	}
	for (uint32_t i = 0; complete && i < bench->hca_count; i++)
		if (!lft->port_lids[bench->hcas[i]])
			return false;
	return lft->routes.count > 0;
}

/* Wait until opensm has routed, and does nothing more for a while. */
static void wait_routed(const struct bench *bench, unsigned before, bool complete, struct lft *ret)
{
	unsigned quiet = 0, last = before;

	for (int waited = 0; waited < WAIT_MS; waited += STEP_MS) {
		unsigned now = opensm_routed_count(bench->dir);

		pause_ms(STEP_MS);
		quiet = now == last ? quiet + 1 : 0;
		last = now;
		if (now == before || quiet < QUIET_STEPS || !read_dump(bench, ret))
			continue;
		if (is_settled(bench, ret, complete))
			return;
		lft_done(ret);
	}
	fail("opensm did not route again in time", NULL);
}

/* --- traffic --- */

static void add_flow(struct flow_list *list, uint32_t from, uint32_t to, double rate)
{
	if (list->count == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 1024;
		list->flows = realloc(list->flows, list->capacity * sizeof(*list->flows));
		if (!list->flows)
			fail("no memory", NULL);
	}
	list->flows[list->count++] = (struct flow){ .from = from, .to = to, .demand_bits_per_s = rate };
}

static double uniform(struct bench *bench)
{
	return (double)(next_random(bench) >> 11) / (double)(UINT64_C(1) << 53);
}

static void make_traffic(struct bench *bench, unsigned kind, struct flow_list *list)
{
	uint32_t count = bench->hca_count, jobs = 2 + (uint32_t)(next_random(bench) % 4);
	double *weights = calloc(count, sizeof(*weights)), rates[8];
	uint32_t *job_of = calloc(count, sizeof(*job_of));

	if (!weights || !job_of)
		fail("no memory", NULL);
	for (uint32_t i = 0; i < 8; i++)
		rates[i] = 0.2 + uniform(bench);
	for (uint32_t i = 0; i < count; i++) {
		weights[i] = kind == WEIGHTED ? 0.1 + uniform(bench) : 1;
		job_of[i] = kind == JOBS ? (uint32_t)(next_random(bench) % jobs) : 0;
	}
	for (uint32_t i = 0; kind != RINGS && i < count; i++)
		for (uint32_t k = 0; k < count; k++)
			if (i != k && job_of[i] == job_of[k])
				add_flow(list, bench->hcas[i], bench->hcas[k],
					 weights[i] * weights[k] * (kind == JOBS ? rates[job_of[i]] : 1));
	for (uint32_t ring = 0; kind == RINGS && ring < 3; ring++) {
		uint32_t stride = 1 + (uint32_t)(next_random(bench) % (count - 1));

		for (uint32_t i = 0; i < count; i++)
			add_flow(list, bench->hcas[i], bench->hcas[(i + stride) % count], rates[ring]);
	}
	list->coupled = calloc(1, sizeof(*list->coupled));
	list->job_count = 1;
	free(weights);
	free(job_of);
}

/* What a port sends. */
static double load_of(const struct bench *bench, const struct traffic *traffic, uint32_t port)
{
	return (double)port_rate_bits_per_s(&bench->fabric->ports[port]) - share_idle(&traffic->share, port);
}

/* The busiest link between switches, as a share of its rate. */
static double busiest(const struct bench *bench, const struct traffic *traffic)
{
	double most = 0;

	for (uint32_t i = 0; i < bench->fabric->port_count; i++) {
		uint32_t peer = bench->fabric->ports[i].peer;
		uint64_t rate = port_rate_bits_per_s(&bench->fabric->ports[i]);

		if (peer != FABRIC_NONE && rate && is_switch(bench, i) && is_switch(bench, peer))
			most = fmax(most, load_of(bench, traffic, i) / (double)rate);
	}
	return most;
}

/* Scale the demand so that the busiest link before the drain has between a fifth and two thirds of its rate. */
static void scale_traffic(struct bench *bench, struct traffic *traffic, struct flow_list *list, const struct lft *lft)
{
	double most, wanted = 0.2 + uniform(bench) * 0.45;
	struct error err = { 0 };

	for (size_t i = 0; i < list->count; i++)
		list->flows[i].demand_bits_per_s *= 1e6;
	check(traffic_route(traffic, lft, &err), "traffic", &err);
	most = busiest(bench, traffic);
	for (size_t i = 0; i < list->count && most > 0; i++)
		list->flows[i].demand_bits_per_s *= wanted / most;
	check(traffic_route(traffic, lft, &err), "traffic", &err);
}

/* --- a drain and its truth --- */

static bool reaches(const struct bench *bench, const struct lft *lft, uint32_t a, uint32_t b)
{
	uint32_t path[TRAFFIC_MAX_HOPS];

	return traffic_find_path(bench->fabric, lft, bench->hcas[a], bench->hcas[b], path) &&
	       traffic_find_path(bench->fabric, lft, bench->hcas[b], bench->hcas[a], path);
}

/* By host of the shape: is it cut off by the routes of a dump? Hosts reach each other if both routes arrive. */
static unsigned find_truth(const struct bench *bench, const struct lft *lft, bool *ret)
{
	uint32_t best = 0, most = 0;
	unsigned *reached = calloc(bench->hca_count + 1, sizeof(*reached)), count = 0;
	bool *in = calloc(bench->shape->host_count + 1, sizeof(*in));

	for (uint32_t i = 0; i < bench->hca_count; i++)
		for (uint32_t k = 0; k < bench->hca_count; k++)
			reached[i] += i != k && reaches(bench, lft, i, k);
	for (uint32_t i = 0; i < bench->hca_count; i++) {
		if (reached[i] <= most)
			continue;
		most = reached[i];
		best = i;
	}
	for (uint32_t i = 0; i < bench->hca_count; i++)
		if (i == best || reaches(bench, lft, best, i))
			in[bench->shape->nodes[bench->fabric->ports[bench->hcas[i]].node].host] = true;
	for (size_t i = 0; i < bench->shape->host_count; i++) {
		const struct shape_host *host = &bench->shape->hosts[i];
		bool taken = true;

		for (uint32_t k = host->first; k < host->first + host->count; k++)
			taken = taken && bench->nodes[bench->shape->host_nodes[k]];
		ret[i] = !in[i] && !taken;
		count += ret[i];
	}
	free(reached);
	free(in);
	return count;
}

static void compute(struct bench *bench, const struct fabric *fabric, struct shape *shape, const struct lft *lft,
		    const struct traffic *traffic, struct what_if *ret)
{
	size_t ports = fabric->port_count + 1;
	double *xmit = calloc(ports, sizeof(*xmit)), *rcv = calloc(ports, sizeof(*rcv));
	double *measured = calloc(ports, sizeof(*measured));
	struct error err = { 0 };

	for (uint32_t i = 0; i < fabric->port_count; i++) {
		xmit[i] = measured[i] = load_of(bench, traffic, i);
		rcv[i] = fabric->ports[i].peer == FABRIC_NONE ? 0 : load_of(bench, traffic, fabric->ports[i].peer);
	}
	*ret = (struct what_if){ .fabric = fabric, .shape = shape, .shown = &bench->shown, .nodes = bench->nodes,
				 .ports = bench->ports, .routes = &lft->routes, .xmit = xmit, .rcv = rcv,
				 .measured = measured, .keep = true };
	check(what_if_prepare(ret, &err), "what_if_prepare", &err);
	check(what_if_compute(ret, &err), "what_if_compute", &err);
	free(xmit);
	free(rcv);
	free(measured);
}

static bool same_hosts(const struct cut_off *cut_off, const bool *truth, unsigned count)
{
	for (size_t i = 0; i < cut_off->count; i++)
		if (!truth[cut_off->hosts[i]])
			return false;
	return cut_off->count == count;
}

/* Entries of HCAs that are as predicted. */
static void compare_tables(struct bench *bench, const struct what_if *what_if, const struct lft *after)
{
	uint64_t entries = 0, same = 0;

	for (size_t i = 0; i < after->routes.count; i++) {
		const struct route_table *table = &after->routes.tables[i];
		const struct route_table *predicted = routes_find(&what_if->routes_after, table->node_guid);

		for (uint32_t k = 0; k < bench->hca_count; k++) {
			uint16_t lid = after->port_lids[bench->hcas[k]];

			if (!lid)
				continue;
			entries++;
			same += routes_out_port(table, lid) == routes_out_port(predicted, lid);
		}
	}
	bench->entries += entries;
	bench->entries_same += same;
	bench->tables_same += entries == same;
}

static void run_drain(struct bench *bench)
{
	struct lft before, after, again;
	struct flow_list lists[KINDS] = { { 0 } };
	struct traffic traffics[KINDS];
	struct what_if predicted[KINDS];
	bool *truth = calloc(bench->shape->host_count + 1, sizeof(*truth));
	struct fabric *fabric;
	struct shape *shape;
	struct error err = { 0 };
	unsigned cut_off, routed;

	if (!read_dump(bench, &before))
		fail("cannot read the tables", NULL);
	fabric = with_lids(bench, &before);
	check(shape_create(fabric, NULL, &shape, &err), "shape", &err);
	/* The subnet manager is to remain in the largest part. */
	for (bool good = false; !good;) {
		struct fabric *variant = fabric_variant_create(fabric, NULL);
		struct cut_off cut;

		choose_drain(bench);
		for (uint32_t i = 0; i < bench->link_count; i++)
			fabric_variant_take_out(variant, bench->links[i]);
		check(cut_off_find(shape, variant, NULL, &cut, &err), "cut off", &err);
		good = bench->link_count > 0 && link_is_usable(variant, bench->sm_port);
		for (size_t i = 0; i < cut.count; i++)
			good = good && cut.hosts[i] != shape->nodes[fabric->ports[bench->sm_port].node].host;
		cut_off_done(&cut);
		fabric_variant_destroy(variant);
	}
	for (unsigned kind = 0; kind < KINDS; kind++) {
		make_traffic(bench, kind, &lists[kind]);
		check(traffic_create(fabric, &lists[kind], &traffics[kind], &err), "traffic", &err);
		scale_traffic(bench, &traffics[kind], &lists[kind], &before);
		compute(bench, fabric, shape, &before, &traffics[kind], &predicted[kind]);
	}
	routed = opensm_routed_count(bench->dir);
	for (uint32_t i = 0; i < bench->link_count; i++)
		console(bench, "Unlink", bench->links[i]);
	wait_routed(bench, routed, false, &after);
	cut_off = find_truth(bench, &after, truth);
	bench->drains++;
	bench->cut_exact += same_hosts(&predicted[0].cut_off, truth, cut_off);
	compare_tables(bench, &predicted[0], &after);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		double guess = fmin(predicted[kind].busiest_after, 1), measured;
		bool close;

		check(traffic_route(&traffics[kind], &after, &err), "traffic", &err);
		measured = busiest(bench, &traffics[kind]);
		close = isnan(guess) ? measured == 0 : fabs(guess - measured) <= CLOSE * measured;
		bench->judged[kind]++;
		bench->close[kind] += close;
		printf("%u links, %u hosts cut off (predicted %zu), busiest %.1f %% (before %.1f %%), predicted %.1f "
		       "%%, %s: %s\n", bench->link_count, cut_off, predicted[kind].cut_off.count, 100 * measured,
		       100 * predicted[kind].busiest_before, 100 * guess, kind_names[kind], close ? "ok" : "NOT OK");
		what_if_done(&predicted[kind]);
		traffic_done(&traffics[kind]);
		free(lists[kind].flows);
		free(lists[kind].coupled);
	}
	fflush(stdout);
	routed = opensm_routed_count(bench->dir);
	for (uint32_t i = 0; i < bench->link_count; i++)
		console(bench, "ReLink", bench->links[i]);
	wait_routed(bench, routed, true, &again);
	lft_done(&again);
	lft_done(&before);
	lft_done(&after);
	shape_destroy(shape);
	fabric_variant_destroy(fabric);
	free(truth);
}

static void open_bench(struct bench *bench)
{
	struct netfile_notes notes;
	struct text text = { 0 };
	struct error err = { 0 };
	char path[512];

	bench->dir = getenv("IBWIRE_SIM_DIR");
	bench->console = getenv("IBWIRE_SIM_CONSOLE");
	if (!bench->dir || !bench->console)
		fail("run this within ibwire-sim run", NULL);
	snprintf(path, sizeof(path), "%s/" IBSIM_NET_FILE, bench->dir);
	check(text_read_file(path, "", TEXT_FABRIC_MOST, &text, &err), "net", &err);
	check(netfile_read(text_chars(&text), text.len, NULL, &bench->fabric, &notes, &err), "net", &err);
	text_done(&text);
	check(shape_create(bench->fabric, NULL, &bench->shape, &err), "shape", &err);
	check(order_names(&bench->shown, bench->fabric, &err), "names", &err);
	bench->nodes = calloc(bench->fabric->node_count + 1, sizeof(*bench->nodes));
	bench->ports = calloc(bench->fabric->port_count + 1, sizeof(*bench->ports));
	bench->hcas = calloc(bench->fabric->port_count + 1, sizeof(*bench->hcas));
	for (uint32_t i = 0; i < bench->fabric->port_count; i++)
		if (bench->fabric->nodes[bench->fabric->ports[i].node].type == NODE_CA &&
		    link_is_usable(bench->fabric, i))
			bench->hcas[bench->hca_count++] = i;
	/* opensm runs on the first management host. */
	bench->sm_port = bench->hcas[0];
}

/* --- time --- */

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Loads as gravity gives them, and some noise, so that the fit has work to do. */
static double *make_loads(struct bench *bench, const struct fabric *fabric, const struct routes *routes,
			  const double *rates)
{
	const struct demand_input input = { .fabric = fabric, .xmit = rates, .rcv = rates };
	double *loads = calloc(fabric->port_count + 1, sizeof(*loads)), error, lost;
	struct error err = { 0 };
	struct demand *demand = demand_create(&input, &error, &err);

	if (!demand || !loads || demand_route(demand, fabric, routes, loads, &lost, &err) < 0)
		fail("demand", &err);
	demand_destroy(demand);
	for (uint32_t i = 0; i < fabric->port_count; i++)
		loads[i] *= 0.7 + 0.6 * uniform(bench);
	return loads;
}

/* A twentieth of the links between switches are bad. */
static void time_bad_links(struct bench *bench, const struct shape *shape)
{
	struct bad_link *links = calloc(shape->fabric->port_count + 1, sizeof(*links));
	struct error err = { 0 };
	struct bad_links_plan plan;
	size_t count = 0;
	static const double keeps[] = { 0.75, 0.9, 0.95 };
	double begin;

	for (uint32_t i = 0; i < shape->fabric->port_count; i++)
		if (shape->ports[i].way == WAY_UP && next_random(bench) % 20 == 0)
			links[count++] = (struct bad_link){ .port = i };
	for (size_t i = 0; i < sizeof(keeps) / sizeof(keeps[0]); i++) {
		begin = cpu_s();
		check(bad_links_plan(shape, links, count, keeps[i], &plan, &err), "bad links", &err);
		printf("bad links, keep %.0f %%: %zu of %zu at once%s, %u rounds: %.2f s\n", 100 * keeps[i], plan.first,
		       count, plan.largest ? "" : " (not proven)", plan.rounds, cpu_s() - begin);
	}
	free(links);
}

static int measure_time(struct bench *bench)
{
	static const char *const options[][2] = {
		{ "units", "22" }, { "leafs", "16" }, { "hosts", "32" }, { "spines", "16" }, { "cores", "256" },
	};
	struct net_shape net = net_shape_default(NET_SHAPE_TREE3);
	struct what_if what_if;
	struct routes routes = { 0 };
	struct fabric *fabric;
	struct error err = { 0 };
	double *rates, *loads, begin;

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		check(net_shape_option(&net, options[i][0], options[i][1], &err), "shape", &err);
	check(net_shape_build(&net, &bench->fabric, &err), "shape", &err);
	fabric = fabric_variant_create(bench->fabric, &err);
	check((int)fabric_variant_assign_lids(fabric, &err), "LIDs", &err);
	begin = cpu_s();
	check(routes_spread(fabric, SPREAD_MINHOP, NULL, &routes, &err), "tables", &err);
	printf("tables as minhop: %.2f s\n", cpu_s() - begin);
	check(shape_create(fabric, NULL, &bench->shape, &err), "shape", &err);
	check(order_names(&bench->shown, fabric, &err), "names", &err);
	rates = calloc(fabric->port_count + 1, sizeof(*rates));
	bench->nodes = calloc(fabric->node_count + 1, sizeof(*bench->nodes));
	for (uint32_t i = 0; i < fabric->port_count; i++)
		if (fabric->nodes[fabric->ports[i].node].type == NODE_CA && fabric->ports[i].peer != FABRIC_NONE)
			rates[i] = 1e9 * (1 + 99 * uniform(bench));
	loads = make_loads(bench, fabric, &routes, rates);
	for (uint32_t i = 0; i < fabric->node_count; i++)
		if (bench->shape->nodes[i].tier == 2 && !bench->nodes[0])
			bench->nodes[i] = bench->nodes[0] = true;
	bench->nodes[0] = false; /* an HCA, which served as a mark */
	what_if = (struct what_if){ .fabric = fabric, .shape = bench->shape, .shown = &bench->shown,
				    .nodes = bench->nodes, .routes = &routes, .xmit = rates, .rcv = rates,
				    .measured = loads, .keep = true };
	begin = cpu_s();
	check(what_if_prepare(&what_if, &err), "prepare", &err);
	check(what_if_compute(&what_if, &err), "compute", &err);
	printf("what-if of a spine, %zu nodes: %.2f s, loads met within %.1f %%\n", fabric->node_count,
	       cpu_s() - begin, 100 * what_if.fit_error);
	what_if_done(&what_if);
	time_bad_links(bench, bench->shape);
	free(rates);
	free(loads);
	free(bench->nodes);
	routes_done(&routes);
	order_done(&bench->shown);
	shape_destroy(bench->shape);
	fabric_variant_destroy(fabric);
	fabric_destroy(bench->fabric);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench bench = { .random = argc > 2 ? strtoull(argv[2], NULL, 10) : 1 };
	unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
	bool good;

	if (argc > 1 && !strcmp(argv[1], "time"))
		return measure_time(&bench);
	open_bench(&bench);
	for (unsigned i = 0; i < count; i++)
		run_drain(&bench);
	printf("%u drains: cut-off hosts exact in %u, all tables as predicted in %u (%" PRIu64 " of %" PRIu64
	       " entries); busiest link within 10 %%:", bench.drains, bench.cut_exact, bench.tables_same,
	       bench.entries_same, bench.entries);
	for (unsigned kind = 0; kind < KINDS; kind++)
		printf(" %s %u", kind_names[kind], bench.close[kind]);
	printf("\n");
	good = bench.cut_exact == bench.drains;
	for (unsigned kind = EQUAL; kind <= JOBS; kind++)
		good = good && bench.close[kind] * 100 >= bench.judged[kind] * 95 - 100;
	order_done(&bench.shown);
	shape_destroy(bench.shape);
	fabric_destroy(bench.fabric);
	free(bench.nodes);
	free(bench.ports);
	free(bench.hcas);
	return good ? 0 : 1;
}
