/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ibwire-sim routes: save, load and skew the forwarding tables of a running simulation */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "fabric/names.h"
#include "fabric/netfile.h"
#include "sim/cmd.h"
#include "sim/ibsim/programs.h"
#include "sim/launch.h"
#include "sim/lft.h"
#include "sim/rundir.h"

#define TIMEOUT_US (30 * US_PER_S)

/* The fabric and opensm's forwarding tables. */
struct tables {
	const char *sockname, *dir;
	struct fabric *fabric;
	char *chars; /* the dump */
	size_t len;
	struct lft lft;
};

static int usage(struct error *err)
{
	return err_set(err, ERR_USAGE, "usage: ibwire-sim routes save FILE | load FILE | skew NODE/PORT SHARE | reset");
}

static void tables_done(struct tables *tables)
{
	fabric_destroy(tables->fabric);
	free(tables->chars);
	lft_done(&tables->lft);
}

static void wait_briefly(void)
{
	const struct timespec interval = { .tv_nsec = 20000000 };

	nanosleep(&interval, NULL);
}

/* Retries while the dump is incomplete: opensm may be writing it. */
static int read_dump(struct tables *tables, struct error *err)
{
	int64_t deadline_us = clock_boottime_us(clock_system()) + TIMEOUT_US;
	char path[PATH_MAX + 32];
	int code;

	snprintf(path, sizeof(path), "%s/" LFT_FILE, tables->dir);
	for (;;) {
		free(tables->chars);
		tables->chars = NULL;
		lft_done(&tables->lft);
		code = rundir_read(path, &tables->chars, &tables->len, err);
		if (code == 0)
			code = lft_parse(tables->fabric, tables->chars, tables->len, &tables->lft, err);
		if (code != ERR_IO || clock_boottime_us(clock_system()) > deadline_us)
			return code;
		wait_briefly();
	}
}

int cmd_load_fabric(const char *dir, struct fabric **ret, struct error *err)
{
	char path[PATH_MAX + 32], *net;
	size_t len;
	int code;

	snprintf(path, sizeof(path), "%s/" IBSIM_NET_FILE, dir);
	code = rundir_read(path, &net, &len, err);
	if (code < 0)
		return code;
	code = netfile_read(net, len, NULL, ret, NULL, err);
	free(net);
	return code;
}

static int tables_init(struct tables *tables, struct error *err)
{
	int code;

	memset(tables, 0, sizeof(*tables));
	tables->sockname = getenv("IBSIM_SOCKNAME");
	tables->dir = getenv("IBWIRE_SIM_DIR");
	if (!tables->sockname || !tables->dir)
		return err_set(err, ERR_UNAVAILABLE, "IBWIRE_SIM_DIR is not set: run this command within "
			       "ibwire-sim run");
	code = cmd_load_fabric(tables->dir, &tables->fabric, err);
	return code ? code : read_dump(tables, err);
}

static bool is_routed(const struct routes *routes, uint16_t lid)
{
	for (size_t i = 0; i < routes->count; i++)
		if (routes_out_port(&routes->tables[i], lid) != ROUTES_NO_PORT)
			return true;
	return false;
}

/*
 * Do opensm's tables contain all entries of @wanted?
 * @fresh: they were written since it was told to load these; it has none of a switch that does not respond, and no
 * entries for what is behind it
 */
static bool tables_match(const struct tables *tables, const struct routes *wanted, bool fresh)
{
	bool any = false;

	for (size_t i = 0; i < wanted->count; i++) {
		const struct route_table *table = &wanted->tables[i];
		const struct route_table *now = routes_find(&tables->lft.routes, table->node_guid);

		if (!now && fresh)
			continue;
		for (uint32_t lid = 0; lid < table->lids; lid++) {
			if (table->ports[lid] == ROUTES_NO_PORT)
				continue;
			if (table->ports[lid] == routes_out_port(now, (uint16_t)lid))
				any = true;
			else if (!fresh || is_routed(&tables->lft.routes, (uint16_t)lid))
				return false;
		}
	}
	return any || !wanted->count;
}

/* Number of the file that opensm wrote: another one each time. */
static int64_t dump_number(const struct tables *tables)
{
	char path[PATH_MAX + 32];
	struct stat file;

	snprintf(path, sizeof(path), "%s/" LFT_FILE, tables->dir);
	return stat(path, &file) < 0 ? 0 : file.st_mtim.tv_sec * INT64_C(1000000000) + file.st_mtim.tv_nsec;
}

static int signal_opensm(const struct tables *tables, struct error *err)
{
	long pid = 0;
	int code = cmd_control_opensm(tables->sockname, tables->dir, "status", &pid, err);

	if (code < 0)
		return code;
	if (!pid)
		return err_set(err, ERR_UNAVAILABLE, "opensm is not running: start it with ibwire-sim opensm start");
	if (kill((pid_t)pid, SIGHUP) < 0)
		return err_set(err, ERR_UNAVAILABLE, "cannot send a signal to opensm (process %ld): %s", pid,
			       strerror(errno));
	return 0;
}

/* Make opensm load these tables and wait until they are in use. */
static int load_text(struct tables *tables, const char *chars, size_t len, struct error *err)
{
	int64_t deadline_us = clock_boottime_us(clock_system()) + TIMEOUT_US, before = dump_number(tables);
	struct lft wanted;
	int code = lft_parse(tables->fabric, chars, len, &wanted, err);

	if (code < 0)
		return code;
	code = rundir_write(tables->dir, OPENSM_LFTS, chars, len, err);
	if (code == 0)
		code = signal_opensm(tables, err);
	while (code == 0) {
		bool fresh = dump_number(tables) != before;

		code = read_dump(tables, err);
		if (code == 0 && tables_match(tables, &wanted.routes, fresh))
			break;
		if (code == 0 && clock_boottime_us(clock_system()) > deadline_us)
			code = err_set(err, ERR_UNAVAILABLE, "opensm did not load these tables within 30 s: "
				       "is another routing_engine configured? See %s/" OPENSM_LOG, tables->dir);
		wait_briefly();
	}
	lft_done(&wanted);
	return code;
}

static int load(struct tables *tables, const char *path, struct error *err)
{
	char *chars;
	size_t len;
	int code = rundir_read(path, &chars, &len, err);

	if (code < 0)
		return code;
	code = load_text(tables, chars, len, err);
	free(chars);
	return code < 0 ? err_prefix(err, "%s", path) : 0;
}

static int skew(struct tables *tables, const char *port_typed, const char *share_typed, struct error *err)
{
	struct routes routes = { 0 };
	struct text text = { 0 };
	unsigned moved = 0, all = 0;
	uint32_t port = FABRIC_NONE;
	char *end;
	double share = strtod(share_typed, &end);
	int code = *end || end == share_typed ? usage(err) : names_find_port(tables->fabric, port_typed, &port, err);

	if (code == 0)
		code = skew_routes(tables->fabric, &tables->lft, port, share, &routes, &moved, &all, err);
	if (code == 0)
		code = lft_write(tables->chars, tables->len, &routes, &text, err);
	if (code == 0)
		code = load_text(tables, text_chars(&text), text.len, err);
	if (code == 0)
		printf("%u of %u destinations moved to %s\n", moved, all, port_typed);
	text_done(&text);
	routes_done(&routes);
	return code;
}

/* Without the file opensm computes routes again. There are no tables to compare with: its log shows when it did. */
static int reset(struct tables *tables, struct error *err)
{
	unsigned before = opensm_routed_count(tables->dir);
	int64_t deadline_us = clock_boottime_us(clock_system()) + TIMEOUT_US;
	char path[PATH_MAX + 32];
	int code;

	snprintf(path, sizeof(path), "%s/" OPENSM_LFTS, tables->dir);
	if (remove(path) < 0 && errno != ENOENT)
		return err_set(err, ERR_IO, "cannot remove %s: %s", path, strerror(errno));
	code = signal_opensm(tables, err);
	while (code == 0 && opensm_routed_count(tables->dir) == before) {
		if (clock_boottime_us(clock_system()) > deadline_us)
			code = err_set(err, ERR_UNAVAILABLE, "opensm did not compute routes within 30 s: see %s/"
				       OPENSM_LOG, tables->dir);
		wait_briefly();
	}
	return code;
}

int cmd_routes(int argc, char **argv, struct error *err)
{
	static const struct {
		const char *name;
		int argc;
	} actions[] = { { "save", 3 }, { "load", 3 }, { "skew", 4 }, { "reset", 2 } };
	struct tables tables;
	size_t which = 0;
	int code;

	while (argc > 1 && which < 4 && strcmp(actions[which].name, argv[1]))
		which++;
	if (argc < 2 || which == 4 || argc != actions[which].argc)
		return usage(err);
	code = tables_init(&tables, err);
	if (code == 0 && which == 0)
		code = rundir_write(NULL, argv[2], tables.chars, tables.len, err);
	else if (code == 0 && which == 1)
		code = load(&tables, argv[2], err);
	else if (code == 0 && which == 2)
		code = skew(&tables, argv[2], argv[3], err);
	else if (code == 0)
		code = reset(&tables, err);
	tables_done(&tables);
	return code;
}
