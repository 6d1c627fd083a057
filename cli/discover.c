/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * discover - the discovery helper: one discovery, its records on stdout
 *
 * Hidden: `ibwire collect` runs it, in a process of its own, because
 * libibnetdisc can crash or hang.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "fabric/fabric.h"
#include "fabric/record.h"
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
		code = err_set(err, ERR_IO, "cannot write the records of the discovery: is the reader gone?");
	text_done(&text);
	return code;
}

int discover_run(const struct command *command, int argc, char **argv, struct error *err)
{
	const struct clock *clock = clock_system();
	int64_t max_smps = 8, retries = 3, started_us = clock_boottime_us(clock);
	const char *security_keys = NULL, *smi_ca = NULL;
	const struct option_spec specs[] = {
		{ "max-smps", 0, OPTION_NUMBER, "N", "SMPs in flight at a time", &max_smps, 1 },
		{ "retries", 0, OPTION_NUMBER, "N", "how often an SMP is sent again", &retries, 0 },
		{ "security-keys", 0, OPTION_TEXT, "DIR", "directory with the subnet manager's guid2mkey",
		  &security_keys, 0 },
		{ "smi-ca", 0, OPTION_TEXT, "NAME[:PORT]", "device that sends SMPs", &smi_ca, 0 },
		{ 0 },
	};
	struct netdisc_settings settings = { 0 };
	struct record_trailer trailer = { 0 };
	struct hca_port local;
	struct options options;
	struct fabric *fabric;
	struct keys *keys;
	size_t different;
	int code;

	/* Whoever started this reads the answer: without it there is nothing to do. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	code = options_parse(command, COMMON_DEVICE, specs, argc, argv, clock_wall_us(clock), &options, err);
	if (code != 0)
		return code < 0 ? code : 0;
	code = options_no_arguments(command, &options, err);
	if (code == 0)
		code = hca_find(options.ca, options.port, smi_ca, &local, err);
	if (code < 0)
		return code;
	if (security_keys) {
		code = keys_load(security_keys, &keys, err);
		if (code < 0)
			return code;
		settings.mkey = keys_pick(keys, local.port_guid, &different);
		keys_destroy(keys);
	}
	settings.ca_name = local.smi_ca_name;
	settings.port = local.smi_port;
	settings.max_smps = (unsigned)max_smps;
	settings.timeout_ms = options.timeout_ms ? (unsigned)options.timeout_ms : 1000;
	settings.retries = (unsigned)retries;
	code = netdisc_run(&settings, &fabric, &trailer.smps, &trailer.hops, err);
	if (code < 0)
		return code;
	trailer.took_us = (uint64_t)(clock_boottime_us(clock) - started_us);
	code = print_records(fabric, &trailer, err);
	fabric_destroy(fabric);
	return code;
}
