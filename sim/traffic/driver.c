/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/traffic/driver.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stop.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "sim/control.h"
#include "sim/ibsim/client.h"
#include "sim/job.h"
#include "sim/lft.h"
#include "sim/process.h"
#include "sim/relay/key_values.h"
#include "sim/relay/relay.h"
#include "sim/rundir.h"
#include "sim/traffic.h"
#include "sim/traffic/feed.h"
#include "sim/traffic/phases.h"

/* Name of its control socket. */
#define CONTROL_PART "traffic"

/* opensm writes its tables before it reports that the subnet is up, or shortly after. */
#define FIRST_TABLES_US (20 * US_PER_S)

/* A file unchanged for this time is parsed; its end shows whether it is complete. */
#define TABLES_SETTLE_US (100 * US_PER_MS)

/* How long to search for a port whose skew costs the jobs a tenth of their rate. */
#define SKEW_TRY_US (2 * US_PER_S)

/* How long all slots of ibsim may be used by other clients before that is an error. */
#define NO_SLOT_US (30 * US_PER_S)

struct driver {
	struct driver_options *options;
	struct host_table hosts;
	struct flow_list list;
	struct traffic traffic;
	struct lft lft;
	struct feed feed;
	uint8_t *widths;     /* by port: those of the net file */
	double *waits;       /* by port: wait rates that the relay has */
	double *waited;      /* by port: traffic.waited when they were sent */
	int64_t waits_us;    /* and the time */
	int listen_fd;
	bool paused;
	int64_t last_us;     /* time up to which traffic was advanced */
	int64_t no_slot_since_us;
	struct stat status;    /* status of the file of the tables when last checked */
	int64_t changed_us;  /* when it changed; 0: its tables are in use */
};

static int64_t now_us(void)
{
	return clock_boottime_us(clock_system());
}

static int load_tables(struct driver *driver, const char *path, struct error *err)
{
	struct lft lft;
	char *chars;
	size_t len;
	int code = rundir_read(path, &chars, &len, err);

	if (code < 0)
		return code;
	code = lft_parse(driver->options->fabric, chars, len, &lft, err);
	free(chars);
	if (code < 0)
		return code;
	lft_done(&driver->lft);
	driver->lft = lft;
	return traffic_route(&driver->traffic, &driver->lft, err);
}

/* Characters in a command for a port: GUID, number and rate. */
#define WAIT_CHARS 48

/* With phases: the mean since the last call, with which the relay counts until the next one. */
static double wait_rate(const struct driver *driver, size_t port, double elapsed_s)
{
	if (driver->paused)
		return 0;
	if (!driver->traffic.phases)
		return driver->traffic.wait_rate[port];
	return elapsed_s > 0 ? (driver->traffic.waited[port] - driver->waited[port]) / elapsed_s : 0;
}

/* The relay counts PortXmitWait where it has 64 bits. What it does not get is counted by ibsim, in 32 bits. */
static void publish_waits(struct driver *driver)
{
	double elapsed_s = (double)(driver->last_us - driver->waits_us) / US_PER_S;
	const struct fabric *fabric = driver->options->fabric;
	struct text command = { 0 }, response = { 0 };

	for (size_t i = 0; i <= fabric->port_count; i++) {
		bool last = i == fabric->port_count;
		double rate = last ? 0 : wait_rate(driver, i, elapsed_s);

		if (command.len && (last || command.len + WAIT_CHARS > CONTROL_MAX)) {
			if (!text_failed(&command) &&
			    relay_control(driver->options->control, text_chars(&command), &response, NULL) < 0)
				log_debug("the relay has ended");
			text_clear(&command);
		}
		if (last || rate == driver->waits[i])
			continue;
		driver->waits[i] = rate;
		text_appendf(&command, "%s0x%" PRIx64 "/%u=%.6g", command.len ? " " : "waits ",
			     fabric->nodes[fabric->ports[i].node].guid, fabric->ports[i].num, rate);
	}
	memcpy(driver->waited, driver->traffic.waited, fabric->port_count * sizeof(*driver->waited));
	driver->waits_us = driver->last_us;
	text_done(&command);
	text_done(&response);
}

/* Load new tables when opensm has written them completely. Return: ERR_IO if there are none yet. */
static int check_tables(struct driver *driver, struct error *err)
{
	char path[PATH_MAX + 32];
	struct stat status;
	int code;

	snprintf(path, sizeof(path), "%s/" LFT_FILE, driver->options->dir);
	if (stat(path, &status) < 0)
		return err_set(err, ERR_IO, "opensm has not written %s", path);
	if (status.st_ino != driver->status.st_ino || status.st_size != driver->status.st_size ||
	    status.st_mtim.tv_sec != driver->status.st_mtim.tv_sec ||
	    status.st_mtim.tv_nsec != driver->status.st_mtim.tv_nsec) {
		driver->status = status;
		driver->changed_us = now_us();
	}
	if (!driver->changed_us)
		return 0;
	if (now_us() - driver->changed_us < TABLES_SETTLE_US)
		return err_set(err, ERR_IO, "%s is being written", path);
	code = load_tables(driver, path, err);
	if (code == 0)
		driver->changed_us = 0;
	if (code == 0)
		publish_waits(driver);
	return code;
}

static void write_truth_rows(const struct driver *driver, struct text *text)
{
	const struct fabric *fabric = driver->options->fabric;

	text_append(text, "node_guid,port,xmit_words,xmit_packets,rcv_words,rcv_packets,xmit_wait\n");
	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];
		const struct port_amount *amount = &driver->feed.applied[i];

		if (port->peer == FABRIC_NONE)
			continue;
		text_appendf(text, "0x%016" PRIx64 ",%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			     fabric->nodes[port->node].guid, port->num, amount->xmit_packets * TRAFFIC_PACKET_WORDS,
			     amount->xmit_packets, amount->rcv_packets * TRAFFIC_PACKET_WORDS, amount->rcv_packets,
			     amount->xmit_wait);
	}
}

/* Written to a temporary file and renamed: a reader never gets an incomplete file. */
static int write_truth(const struct driver *driver, struct error *err)
{
	const char *path = driver->options->truth;
	char new_path[PATH_MAX + 16];
	struct text text = { 0 };
	int code;

	snprintf(new_path, sizeof(new_path), "%s.new", path);
	write_truth_rows(driver, &text);
	code = text_failed(&text) ? err_nomem(err) : rundir_write(NULL, new_path, text_chars(&text), text.len, err);
	text_done(&text);
	if (code == 0 && rename(new_path, path) < 0)
		code = err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(errno));
	return code;
}

static void advance_traffic(struct driver *driver)
{
	int64_t now = now_us();

	if (!driver->paused)
		traffic_advance(&driver->traffic, (double)(now - driver->last_us) / US_PER_S);
	driver->last_us = now;
}

static int tick(struct driver *driver, struct error *err)
{
	struct error ignored = { 0 };
	size_t left;
	int code;

	/* Traffic up to now takes the old paths. Incomplete tables are retried in the next tick. */
	advance_traffic(driver);
	if (check_tables(driver, &ignored) == ERR_NOMEM)
		return err_nomem(err);
	if (driver->traffic.phases)
		publish_waits(driver);
	code = feed_apply(&driver->feed, driver->traffic.pending, false, &left, err);
	if (code != ERR_UNAVAILABLE) {
		driver->no_slot_since_us = 0;
		return code;
	}
	if (!driver->no_slot_since_us)
		driver->no_slot_since_us = now_us();
	return now_us() - driver->no_slot_since_us > NO_SLOT_US ? code : 0;
}

/* Add all data sent so far to ibsim's counters. */
static int settle(struct driver *driver, struct error *err)
{
	size_t left = 0;
	int code;

	advance_traffic(driver);
	for (int tries = 0; tries < 3; tries++) {
		code = feed_apply(&driver->feed, driver->traffic.pending, true, &left, err);
		if (code == 0 && left == 0)
			return write_truth(driver, err);
	}
	if (code < 0)
		return code;
	return err_set(err, ERR_UNAVAILABLE, "%zu ports do not respond: their counters are incomplete", left);
}

static void describe(const struct driver *driver, struct text *response)
{
	const struct flow_list *list = &driver->list;

	text_appendf(response, "%s, %zu flows, %zu of them with a route\n", driver->paused ? "paused" : "flowing",
		     list->count, driver->traffic.routed_count);
	for (size_t job = 0; job < list->job_count; job++) {
		double slowest = 0, fastest = 0, demand = 0; /* bits per second */
		size_t flows = 0;

		for (size_t i = 0; i < list->count; i++) {
			double rate = traffic_rate(&driver->traffic, i);

			if (list->flows[i].job != job)
				continue;
			slowest = !flows || rate < slowest ? rate : slowest;
			fastest = rate > fastest ? rate : fastest;
			demand = list->flows[i].demand_bits_per_s > demand ? list->flows[i].demand_bits_per_s : demand;
			flows++;
		}
		text_appendf(response, "job %zu: %zu flows, demand up to %.3f Gb/s, slowest %.3f Gb/s, "
			     "fastest %.3f Gb/s\n", job + 1, flows, demand / 1e9, slowest / 1e9, fastest / 1e9);
	}
}

static int parse_jobs(const struct driver *driver, struct flow_list *ret, struct error *err)
{
	const struct driver_options *options = driver->options;
	int code = 0;

	for (size_t i = 0; code == 0 && i < options->job_count; i++)
		code = job_parse(options->jobs[i], options->fabric, &driver->hosts, ret, err);
	return code;
}

/* The jobs start again with the HCAs that are not idle. Data already sent is counted. */
static int restart_jobs(struct driver *driver, struct error *err)
{
	struct flow_list list = { 0 };
	struct traffic traffic;
	struct port_amount *pending;
	int code = parse_jobs(driver, &list, err);

	if (code == 0)
		code = traffic_create(driver->options->fabric, &list, &traffic, err);
	if (code < 0) {
		flow_list_done(&list);
		return code;
	}
	advance_traffic(driver);
	pending = traffic.pending;
	traffic.pending = driver->traffic.pending;
	driver->traffic.pending = pending;
	if (traffic.phases && driver->traffic.phases)
		traffic.phases->now_s = driver->traffic.phases->now_s;
	memset(driver->waited, 0, driver->options->fabric->port_count * sizeof(*driver->waited));
	traffic_done(&driver->traffic);
	flow_list_done(&driver->list);
	driver->list = list;
	driver->traffic = traffic;
	driver->traffic.list = &driver->list;
	return traffic_route(&driver->traffic, &driver->lft, err);
}

static int set_idle(struct driver *driver, const char *nodes, struct error *err)
{
	const struct fabric *fabric = driver->options->fabric;
	bool *members = calloc(fabric->node_count + 1, sizeof(*members));
	int code = members ? parse_nodes(fabric, nodes, members, err) : err_nomem(err);

	for (size_t i = 0; code == 0 && i < driver->hosts.hca_count; i++)
		driver->hosts.hcas[i].idle = members[fabric->ports[driver->hosts.hcas[i].port].node];
	free(members);
	return code < 0 ? code : restart_jobs(driver, err);
}

/* The processes of these hosts have stopped: "0x1234,node0002", "none". */
static int set_frozen(struct driver *driver, const char *nodes, struct error *err)
{
	const struct fabric *fabric = driver->options->fabric;
	bool *members = calloc(fabric->node_count + 1, sizeof(*members));
	int code = members ? parse_nodes(fabric, nodes, members, err) : err_nomem(err);

	advance_traffic(driver);
	for (size_t i = 0; code == 0 && i < driver->hosts.host_count; i++)
		driver->hosts.hosts[i].frozen = false;
	for (size_t i = 0; code == 0 && i < driver->hosts.hca_count; i++)
		driver->hosts.hosts[driver->hosts.hcas[i].host].frozen |=
			members[fabric->ports[driver->hosts.hcas[i].port].node];
	free(members);
	return code;
}

/* "none,0x1234=0.2": the hosts of these HCAs compute so much longer. */
static int set_slower(struct driver *driver, const char *list, struct error *err)
{
	const struct fabric *fabric = driver->options->fabric;

	advance_traffic(driver);
	for (size_t i = 0; i < driver->hosts.host_count; i++)
		driver->hosts.hosts[i].slower = 0;
	for (list += strncmp(list, "none", 4) ? 0 : 4; *list == ',';) {
		char *end;
		uint64_t guid = strtoull(list + 1, &end, 16);
		double slower = *end == '=' ? strtod(end + 1, &end) : -1;

		if (!(slower >= 0) || (*end && *end != ','))
			return err_set(err, ERR_USAGE, "\"%s\" is not a list such as none,0x1234=0.2", list);
		for (size_t i = 0; i < driver->hosts.hca_count; i++)
			if (fabric->nodes[fabric->ports[driver->hosts.hcas[i].port].node].guid == guid)
				driver->hosts.hosts[driver->hosts.hcas[i].host].slower = slower;
		list = end;
	}
	return 0;
}

/* "leaf-1/3,leaf-2/7": these links have one lane; "none". */
static int set_narrow(struct driver *driver, const char *list, struct error *err)
{
	struct fabric *fabric = driver->options->fabric;
	char *copy = strdup(list), *item, *rest = NULL;
	uint32_t port;
	int code = copy ? 0 : err_nomem(err);

	advance_traffic(driver);
	for (size_t i = 0; i < fabric->port_count; i++)
		fabric->ports[i].width = driver->widths[i];
	for (item = copy ? strtok_r(copy, ",", &rest) : NULL; item && code == 0; item = strtok_r(NULL, ",", &rest)) {
		if (!strcmp(item, "none"))
			continue;
		code = names_find_port(fabric, item, &port, err);
		if (code < 0)
			break;
		fabric->ports[port].width = LINK_WIDTH_1X;
		if (fabric->ports[port].peer != FABRIC_NONE)
			fabric->ports[fabric->ports[port].peer].width = LINK_WIDTH_1X;
	}
	free(copy);
	return code < 0 ? code : traffic_route(&driver->traffic, &driver->lft, err);
}

static double sum_rates(const struct traffic *traffic)
{
	double sum = 0;

	for (size_t i = 0; i < traffic->list->count; i++)
		sum += traffic_rate(traffic, i);
	return sum;
}

/* The rate of all jobs with some tables, all of them with data to send. */
static int full_rates(const struct driver *driver, const struct lft *lft, double *ret, struct error *err)
{
	struct traffic traffic;
	int code = traffic_create(driver->options->fabric, &driver->list, &traffic, err);

	if (code < 0)
		return code;
	code = traffic_route(&traffic, lft, err);
	if (code == 0)
		*ret = sum_rates(&traffic);
	traffic_done(&traffic);
	return code;
}

/*
 * Part of the rate of all jobs that they would lose if this share of a switch's destinations left by a port.
 * @now:  the rate with the present tables
 */
static int skew_loss(const struct driver *driver, uint32_t port, double share, double now, double *ret,
		     struct error *err)
{
	const struct fabric *fabric = driver->options->fabric;
	struct lft lft = driver->lft;
	unsigned moved, all;
	double skewed;
	int code = skew_routes(fabric, &driver->lft, port, share, &lft.routes, &moved, &all, err);

	if (code < 0)
		return code;
	code = full_rates(driver, &lft, &skewed, err);
	if (code == 0)
		*ret = 1 - skewed / now;
	routes_done(&lft.routes);
	return code;
}

/*
 * "0.5 leaf-1/17": what skewed routes would cost; "0.5": of all ports between switches, the first by which
 * the jobs lose a tenth, else the one by which they lose most. The response: index of the port, loss.
 */
static int find_skew(const struct driver *driver, const char *command, struct text *response, struct error *err)
{
	const struct fabric *fabric = driver->options->fabric;
	char *target;
	double share = strtod(command, &target), most = -1, loss, rates = 0;
	int64_t until_us = now_us() + SKEW_TRY_US;
	uint32_t port, best = FABRIC_NONE;
	int code = full_rates(driver, &driver->lft, &rates, err);

	if (code == 0 && *target == ' ') {
		code = names_find_port(fabric, target + 1, &best, err);
		if (code == 0)
			code = skew_loss(driver, best, share, rates, &most, err);
	}
	for (port = *target ? (uint32_t)fabric->port_count : 0;
	     code == 0 && port < fabric->port_count && most < 0.1 && now_us() < until_us; port++) {
		uint32_t node = fabric->ports[port].node, peer = fabric->ports[port].peer;

		if (fabric->nodes[node].type != NODE_SWITCH || peer == FABRIC_NONE ||
		    fabric->nodes[fabric->ports[peer].node].type != NODE_SWITCH || !fabric->ports[port].num)
			continue;
		code = skew_loss(driver, port, share, rates, &loss, err);
		if (code == 0 && loss > most) {
			most = loss;
			best = port;
		}
	}
	if (code == 0 && best == FABRIC_NONE)
		code = err_set(err, ERR_USAGE, "the fabric has no link between switches");
	if (code == 0)
		text_appendf(response, "%u %.4f\n", best, most > 0 ? most : 0);
	return code;
}

static int run_command(struct driver *driver, const char *command, struct text *response, struct error *err)
{
	if (!strcmp(command, "pause")) {
		if (settle(driver, err) < 0)
			return err ? err->code : ERR_UNAVAILABLE;
		driver->paused = true;
	} else if (!strcmp(command, "resume")) {
		advance_traffic(driver);
		driver->paused = false;
	} else if (!strcmp(command, "truth")) {
		return settle(driver, err);
	} else if (!strcmp(command, "status")) {
		describe(driver, response);
	} else if (!strncmp(command, "idle ", 5)) {
		return set_idle(driver, command + 5, err);
	} else if (!strncmp(command, "freeze ", 7)) {
		return set_frozen(driver, command + 7, err);
	} else if (!strncmp(command, "slower ", 7)) {
		return set_slower(driver, command + 7, err);
	} else if (!strncmp(command, "narrow ", 7)) {
		return set_narrow(driver, command + 7, err);
	} else if (!strncmp(command, "skew ", 5)) {
		return find_skew(driver, command + 5, response, err);
	} else {
		return err_set(err, ERR_USAGE, "\"%s\" is not pause, resume, truth, status, idle NODES, freeze NODES, "
			       "slower LIST, narrow PORTS or skew SHARE [PORT]",
			       command);
	}
	return 0;
}

static int handle_command(void *ctx, const char *command, struct text *response, struct error *err)
{
	struct driver *driver = ctx;
	int code = run_command(driver, command, response, err);

	publish_waits(driver);
	return code;
}

static int wait_for_tables(struct driver *driver, struct error *err)
{
	int64_t until_us = now_us() + FIRST_TABLES_US;
	int code;

	while ((code = check_tables(driver, err)) == ERR_IO && now_us() < until_us && !stop_requested())
		clock_system()->sleep_until(clock_system()->ctx, now_us() + 20 * US_PER_MS);
	if (code < 0)
		return code;
	if (!driver->traffic.routed_count)
		return err_set(err, ERR_UNAVAILABLE, "opensm's tables have a route for none of the %zu flows",
			       driver->list.count);
	if (driver->traffic.routed_count < driver->list.count)
		log_warning("opensm's tables have routes for only %zu of %zu flows", driver->traffic.routed_count,
			    driver->list.count);
	return 0;
}

static int prepare(struct driver *driver, struct error *err)
{
	const struct driver_options *options = driver->options;
	int code = host_table_create(options->fabric, &driver->hosts, err);

	driver->widths = calloc(options->fabric->port_count + 1, sizeof(*driver->widths));
	driver->waits = calloc(options->fabric->port_count + 1, sizeof(*driver->waits));
	driver->waited = calloc(options->fabric->port_count + 1, sizeof(*driver->waited));
	for (size_t i = 0; driver->widths && i < options->fabric->port_count; i++)
		driver->widths[i] = options->fabric->ports[i].width;
	if (code == 0)
		code = driver->widths && driver->waits && driver->waited ? parse_jobs(driver, &driver->list, err)
									 : err_nomem(err);
	if (code == 0)
		code = traffic_create(options->fabric, &driver->list, &driver->traffic, err);
	if (code == 0)
		code = wait_for_tables(driver, err);
	if (code == 0)
		code = feed_open(&driver->feed, options->fabric, &driver->lft, options->sockname, options->dir,
				 options->console_fd, err);
	if (code == 0)
		code = control_listen(options->control, CONTROL_PART, &driver->listen_fd, err);
	return code;
}

static int drive(struct driver *driver, struct error *err)
{
	struct pollfd control = { .fd = driver->listen_fd, .events = POLLIN };
	int64_t tick_us = driver->options->tick_ms * US_PER_MS, next_us;
	int code = 0;

	driver->last_us = now_us();
	next_us = driver->last_us + tick_us;
	while (code == 0 && !stop_requested()) {
		int64_t now = now_us(), worked;

		if (now < next_us) {
			if (poll(&control, 1, (int)((next_us - now + US_PER_MS - 1) / US_PER_MS)) > 0)
				control_serve(driver->listen_fd, US_PER_S, handle_command, driver);
			continue;
		}
		code = driver->paused ? 0 : tick(driver, err);
		/* Ticks take long on a large fabric: use at most half of the time. */
		worked = now_us() - now;
		next_us = now + (tick_us > 2 * worked ? tick_us : 2 * worked);
	}
	return code;
}

int driver_run(struct driver_options *options, struct error *err)
{
	struct driver *driver = calloc(1, sizeof(*driver));
	int code;

	if (!driver)
		return err_nomem(err);
	stop_install();
	driver->options = options;
	driver->listen_fd = -1;
	driver->feed.client.ctl_fd = driver->feed.client.data_fd = -1;
	code = prepare(driver, err);
	if (code == 0) {
		process_report_ready(&options->ready_fd);
		code = drive(driver, err);
		if (code == 0)
			code = settle(driver, err);
	}
	feed_close(&driver->feed);
	if (driver->listen_fd >= 0)
		close(driver->listen_fd);
	traffic_done(&driver->traffic);
	lft_done(&driver->lft);
	flow_list_done(&driver->list);
	host_table_done(&driver->hosts);
	free(driver->widths);
	free(driver->waits);
	free(driver->waited);
	free(driver);
	return code;
}

int driver_control(const char *sockname, const char *command, struct text *response, struct error *err)
{
	return control_send(sockname, CONTROL_PART, command,
			   "no traffic driver is running: was ibwire-sim run started with --traffic?", response, err);
}
