/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/polling.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/lib/options.h"
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
	int64_t early_us = polling->deadline_us / 10;
	size_t count = 0;

	/* The helper prints what it has found shortly before it would be killed. */
	if (early_us > US_PER_S)
		early_us = US_PER_S;
	snprintf(ret->deadline, sizeof(ret->deadline), "%" PRId64 "us", polling->deadline_us - early_us);
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
	for (size_t i = 0; i <= count && strcmp(polling->discovery, "explorer") != 0; i++)
		ret->fallback[i] = ret->argv[i] == polling->discovery ? "explorer" : ret->argv[i];
}

int polling_keys(const struct polling *polling, uint64_t own_guid, struct keys **ret, struct error *err)
{
	size_t different;
	int code;

	if (!polling->security_keys)
		return 0;
	code = keys_load(polling->security_keys, ret, err);
	if (code < 0)
		return code;
	if (keys_are_exposed(*ret))
		log_warning("%s/" KEYS_FILE " is world-readable: run chmod o-r on it", polling->security_keys);
	keys_pick(*ret, own_guid, &different);
	if (different > 1 && !strcmp(polling->discovery, "libibnetdisc"))
		log_warning("%s/" KEYS_FILE " holds %zu different keys, but libibnetdisc sends only the key of the "
			    "local port: nodes with another key are not discovered", polling->security_keys, different);
	log_info("M_Keys of %zu ports loaded", keys_count(*ret));
	return 0;
}
