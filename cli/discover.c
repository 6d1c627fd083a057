/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * discover - discovery helper: runs one discovery and prints its records on stdout
 *
 * Hidden command: `ibwire collect` runs it in a separate process, because libibnetdisc can crash
 * or hang. The explorer (wire/explore.h) is isolated in the same way.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/lib/options.h"
#include "fabric/fabric.h"
#include "fabric/record.h"
#include "wire/explore.h"
#include "wire/hca.h"
#include "wire/keys.h"
#include "wire/netdisc.h"

static int print_records(const struct fabric *fabric, const struct record_trailer *trailer, struct error *err)
{
	struct text text = { 0 };
	int code = 0;

	record_write(&text, fabric, trailer);
	if (text_failed(&text))
		code = err_nomem(err);
	else if (fwrite(text_chars(&text), 1, text.len, stdout) != text.len || fflush(stdout) != 0)
		code = err_set(err, ERR_IO, "cannot write the discovery records: the reader closed the pipe");
	/* The reader has all records now and need not wait for the exit of this process. */
	close(STDOUT_FILENO);
	text_done(&text);
	return code;
}

/* SMPs in flight to one node: the next request is queued when a response is sent. */
#define PER_NODE 2

/* Defaults of the explorer. */
#define TIMEOUT_MS 1000
#define RETRIES 3

/* Maximum size of the records of the last discovery. */
#define RECORDS_MOST (256 << 20)

struct discover_options {
	struct options common;
	const char *discovery; /* "libibnetdisc" or "explorer" */
	const char *security_keys, *smi_ca, *ports;
	int64_t max_smps, retries, deadline_us;
};

static int discover_by_library(const struct discover_options *options, const struct hca_port *local,
			       const struct keys *keys, struct fabric **ret, struct record_trailer *trailer,
			       struct error *err)
{
	struct netdisc_settings settings = {
		.ca_name = local->smi_ca_name, .port = local->smi_port, .max_smps = (unsigned)options->max_smps,
		.timeout_ms = (unsigned)options->common.timeout_ms, .retries = (int)options->retries,
	};
	size_t different = 0;
	int code;

	if (keys)
		settings.mkey = keys_pick(keys, local->port_guid, &different);
	/* A wrong key is a violation, which nodes count and report. */
	if (different > 1)
		return err_set(err, ERR_UNAVAILABLE, "M_Keys differ by port, and libibnetdisc sends one key to all "
			       "nodes");
	code = netdisc_run(&settings, ret, &trailer->smps, &trailer->hops, err);
	/* The library repeats none: retries are sent by the kernel and not counted. */
	trailer->queries = trailer->smps;
	return code;
}

/* The list of --ports. Return: their number; ERR_USAGE. */
static int parse_ports(const char *list, struct explore_port *ret, struct error *err)
{
	int count = 0, length = 0;
	unsigned num;

	for (; *list; list += length) {
		if (count == EXPLORE_PORTS_MAX ||
		    sscanf(list, "%" SCNx64 ":%u,%n", &ret[count].node_guid, &num, &length) != 2 || num > UINT8_MAX)
			return err_set(err, ERR_USAGE, "--ports needs GUID:NUMBER, for each port");
		ret[count++].num = (uint8_t)num;
	}
	return count;
}

static int discover_by_explore(const struct discover_options *options, struct hca_port *local, const struct keys *keys,
			       int64_t started_us, struct fabric **ret, struct record_trailer *trailer,
			       struct error *err)
{
	struct explore_settings settings = {
		.max_smps = (unsigned)options->max_smps, .per_node = PER_NODE,
		.timeout_ms = options->common.timeout_ms ? (unsigned)options->common.timeout_ms : TIMEOUT_MS,
		.retries = options->retries < 0 ? RETRIES : (unsigned)options->retries,
		.keys = keys, .own_guid = local->port_guid,
		.deadline_us = options->deadline_us ? started_us + options->deadline_us : 0,
	};
	struct explore_port ports[EXPLORE_PORTS_MAX];
	struct text notes = { 0 }, records = { 0 };
	struct record_trailer last_trailer;
	struct fabric *last = NULL;
	struct hca *hca;
	int code = options->ports ? parse_ports(options->ports, ports, err) : 0;

	settings.ports = ports;
	settings.port_count = code > 0 ? (size_t)code : 0;
	local->directed = true;
	if (code >= 0)
		code = hca_open(local, &hca, err);
	if (code < 0)
		return code;
	/* Without them, keys come from the subnet manager's files alone. */
	if ((keys || settings.port_count) &&
	    text_read_file(NULL, "", RECORDS_MOST, &records, NULL) == 0 && records.len &&
	    record_read(text_chars(&records), records.len, &last, &last_trailer, NULL) == 0)
		settings.last = last;
	text_done(&records);
	if (settings.port_count && !last) {
		hca_close(hca);
		return err_set(err, ERR_IO, "--ports needs the records of the last topology on stdin");
	}
	code = explore_run(hca_transport(hca), clock_system(), &settings, ret, trailer, &notes, err);
	if (code == EXPLORE_OPEN)
		hca_leave(hca);
	else
		hca_close(hca);
	fabric_destroy(last);
	fputs(text_chars(&notes), stderr);
	text_done(&notes);
	return code;
}

static int discover(const struct discover_options *options, int64_t started_us, struct error *err)
{
	struct record_trailer trailer = { 0 };
	struct fabric *fabric = NULL;
	struct keys *keys = NULL;
	struct hca_port local;
	int code = hca_find(options->common.ca, options->common.port, options->smi_ca, &local, err);

	if (code == 0 && options->security_keys)
		code = keys_load(options->security_keys, &keys, err);
	if (code == 0 && !strcmp(options->discovery, "libibnetdisc"))
		code = discover_by_library(options, &local, keys, &fabric, &trailer, err);
	else if (code == 0)
		code = discover_by_explore(options, &local, keys, started_us, &fabric, &trailer, err);
	trailer.took_us = (uint64_t)(clock_boottime_us(clock_system()) - started_us);
	if (code >= 0) {
		bool open = code == EXPLORE_OPEN;

		code = print_records(fabric, &trailer, err);
		/*
		 * Exit without handlers: the simulator's would wait forever for unresponsive nodes.
		 */
		if (open && code == 0)
			_exit(0);
	}
	fabric_destroy(fabric);
	keys_destroy(keys);
	return code;
}

int discover_run(const struct command *command, int argc, char **argv, struct error *err)
{
	const struct clock *clock = clock_system();
	struct discover_options options = { .discovery = "libibnetdisc", .max_smps = 8, .retries = -1 };
	const struct option_spec specs[] = {
		OPT_TEXT("discovery", 0, "BY", &options.discovery, "discovery engine: libibnetdisc or explorer"),
		OPT_NUMBER("max-smps", 0, "N", &options.max_smps, 1, "maximum SMPs in flight"),
		OPT_NUMBER("retries", 0, "N", &options.retries, 0, "retries of an SMP that timed out"),
		OPT_TEXT("ports", 0, "GUID:NUMBER,...", &options.ports,
			 "explore only these ports, starting from the topology on stdin"),
		OPT_SPAN("deadline", 0, &options.deadline_us, "time after which the result is printed as it is"),
		OPT_TEXT("security-keys", 0, "DIR", &options.security_keys,
			 "directory with the subnet manager's guid2mkey"),
		OPT_TEXT("smi-ca", 0, "NAME[:PORT]", &options.smi_ca, "device that sends SMPs"),
		{ 0 },
	};
	int64_t started_us = clock_boottime_us(clock);
	int code;

	/* Exit with the parent process, which reads the records. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	code = options_parse(command, COMMON_DEVICE, specs, argc, argv, &options.common, err);
	if (code != 0)
		return code < 0 ? code : 0;
	code = options_no_arguments(command, &options.common, err);
	if (code == 0 && strcmp(options.discovery, "explorer") && strcmp(options.discovery, "libibnetdisc"))
		code = options_usage_error(command, err, "--discovery must be \"libibnetdisc\" or \"explorer\", "
					   "not \"%s\"", options.discovery);
	return code < 0 ? code : discover(&options, started_us, err);
}
