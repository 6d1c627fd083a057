/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/polling.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/lib/options.h"
#include "cli/topology/topology.h"
#include "fabric/fabric.h"
#include "wire/hca.h"
#include "wire/keys.h"

int polling_find_port(const struct options *common, const char *smi_ca, struct hca_port *ret, struct error *err)
{
	int code = hca_find(common->ca, common->port, smi_ca, ret, err);

	if (code == 0)
		code = hca_set_pkey(ret, common->pkey, err);
	if (code < 0)
		return code;
	ret->sl = (uint8_t)common->sl;
	if (!ret->pkey)
		log_warning("%s port %d is not in the default partition: the first one of its P_Key table is used "
			    "(--pkey selects another)", ret->ca_name, ret->port);
	else if (!(ret->pkey & PKEY_FULL))
		log_warning("%s port %d is a limited member of partition 0x%04x: other limited members, usually all "
			    "hosts, do not respond. Make it a full member in the subnet manager's partitions",
			    ret->ca_name, ret->port, ret->pkey);
	return 0;
}

void polling_helper_command(const struct polling *polling, const struct hca_port *local, struct helper_command *ret)
{
	/* The directory, not the keys: command lines are public. */
	const char *const options[] = {
		"--Ca", local->ca_name, "--Port", ret->port, "--max-smps", ret->max_smps,
		"--timeout", polling->timeout_ms ? ret->timeout : NULL,
		"--retries", polling->retries < 0 ? NULL : ret->retries,
		"--deadline", ret->deadline,
		"--discovery", polling->discovery, "--security-keys", polling->security_keys,
		"--smi-ca", polling->smi_ca,
	};
	bool by_library = !strcmp(polling->discovery, "libibnetdisc");
	int64_t deadline_us = by_library ? discovery_fallback_us(polling->deadline_us) : polling->deadline_us;
	int64_t early_us = deadline_us / 10;
	size_t count = 0;

	/* The helper prints what it has found shortly before it would be killed. */
	if (early_us > US_PER_S)
		early_us = US_PER_S;
	snprintf(ret->deadline, sizeof(ret->deadline), "%" PRId64 "us", deadline_us - early_us);
	snprintf(ret->port, sizeof(ret->port), "%d", local->port);
	snprintf(ret->timeout, sizeof(ret->timeout), "%d", polling->timeout_ms);
	snprintf(ret->retries, sizeof(ret->retries), "%" PRId64, polling->retries);
	snprintf(ret->max_smps, sizeof(ret->max_smps), "%" PRId64, polling->max_smps);
	ret->argv[count++] = "/proc/self/exe";
	ret->argv[count++] = "discover";
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i += 2) {
		if (!options[i + 1])
			continue;
		ret->argv[count++] = options[i];
		ret->argv[count++] = options[i + 1];
	}
	ret->argv[count] = NULL;
	ret->fallback[0] = NULL;
	for (size_t i = 0; i <= count && by_library; i++)
		ret->fallback[i] = ret->argv[i] == polling->discovery ? "explorer" : ret->argv[i];
}

int polling_keys(struct polling *polling, uint64_t own_guid, struct keys **ret, struct error *err)
{
	size_t different;
	int code;

	if (!polling->security_keys)
		return 0;
	code = keys_load(polling->security_keys, ret, err);
	if (code < 0)
		return code;
	if (keys_are_exposed(*ret))
		log_warning("%s: a file of keys is world-readable: run chmod o-r on it", polling->security_keys);
	for (int i = 0; i < KEYS_FILE_COUNT; i++) {
		const struct keys_file *file = keys_file(*ret, (enum keys_files)i);
		char line[UNREAD_SIZE];

		if (unread_describe(&file->unread, "valid", line))
			log_warning("%s/%s: %s: %s", polling->security_keys, file->name, line, file->why);
	}
	keys_pick(*ret, own_guid, &different);
	log_info("M_Keys of %zu port%s loaded", keys_count(*ret), text_plural(keys_count(*ret)));
	if (different > 1 && !strcmp(polling->discovery, "libibnetdisc")) {
		log_info("%zu different M_Keys: the explorer discovers the fabric, because libibnetdisc would send "
			 "one key to all nodes", different);
		polling->discovery = "explorer";
	}
	return 0;
}

/* --- the topology of a file --- */

/* Without any LID no port can be polled; ports without one are not polled. */
static int check_lids(const char *path, const struct fabric *fabric, struct error *err)
{
	size_t with = 0, without = 0;

	for (size_t i = 0; i < fabric->port_count; i++) {
		const struct port *port = &fabric->ports[i];

		if (!port_is_pollable(fabric, port) || port->state < PORT_INIT)
			continue;
		with += port_is_live(fabric, port);
		without += !port_is_live(fabric, port);
	}
	if (!with)
		return err_set(err, ERR_IO, "%s has no LIDs, which polling needs: use an output of ibnetdiscover, or "
			       "of 'ibwire topology save'", path);
	if (without)
		log_warning("%s: %zu ports have no LID and are not polled", path, without);
	return 0;
}

static int read_topology(struct topology_file *file, struct fabric **ret, struct error *err)
{
	char path[601], time[WHEN_SIZE];
	struct fabric *fabric = NULL;
	int code;

	file_stamp_take(&file->stamp, file->path);
	code = topology_read_file(file->path, NULL, &fabric, err);
	if (code == 0)
		code = check_lids(file->path, fabric, err);
	if (code < 0) {
		fabric_destroy(fabric);
		return code;
	}
	text_sanitise(file->path, strnlen(file->path, 150), path, sizeof(path));
	snprintf(file->name_and_time, sizeof(file->name_and_time), "%.150s of %s", path,
		 when_format_local(file->stamp.read.st_mtim.tv_sec * US_PER_S, time));
	*ret = fabric;
	return 0;
}

static const char *describe(void *ctx, bool *ret_changed)
{
	struct topology_file *file = ctx;

	*ret_changed = file_stamp_changed(&file->stamp, file->path);
	return file->name_and_time;
}

static int start(void *ctx, const struct fabric *last, const struct explore_port *ports, size_t count,
		 struct error *err)
{
	(void)ctx;
	(void)last;
	(void)ports;
	(void)count;
	(void)err;
	return 0;
}

static int step(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *ret_trailer,
		struct error *err)
{
	struct topology_file *file = ctx;
	int code = file->first ? 0 : read_topology(file, &file->first, err);

	(void)timeout_ms;
	if (code < 0)
		return code;
	*ret = file->first;
	file->first = NULL;
	*ret_trailer = (struct record_trailer){ 0 };
	return 1;
}

static void cancel(void *ctx)
{
	(void)ctx;
}

int topology_file_open(struct topology_file *file, const char *path, struct error *err)
{
	*file = (struct topology_file){
		.discoverer = { .start = start, .step = step, .cancel = cancel, .ctx = file, .file = describe },
		.path = path,
	};
	return read_topology(file, &file->first, err);
}

void topology_file_close(struct topology_file *file)
{
	fabric_destroy(file->first);
}
