/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/polling.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "wire/hca.h"
#include "wire/keys.h"

void polling_helper_command(const struct polling *polling, const struct hca_port *local, struct helper_command *ret)
{
	size_t i = 0;

	snprintf(ret->port, sizeof(ret->port), "%d", local->port);
	snprintf(ret->timeout, sizeof(ret->timeout), "%d",
		 polling->timeout_ms ? polling->timeout_ms : POLLING_TIMEOUT_MS);
	snprintf(ret->max_smps, sizeof(ret->max_smps), "%" PRId64, polling->max_smps);
	ret->argv[i++] = "/proc/self/exe";
	ret->argv[i++] = "discover";
	ret->argv[i++] = "--Ca";
	ret->argv[i++] = local->ca_name;
	ret->argv[i++] = "--Port";
	ret->argv[i++] = ret->port;
	ret->argv[i++] = "--timeout";
	ret->argv[i++] = ret->timeout;
	ret->argv[i++] = "--max-smps";
	ret->argv[i++] = ret->max_smps;
	ret->argv[i++] = "--discovery";
	ret->argv[i++] = polling->discovery;
	/* The directory, not the keys: command lines are public. */
	if (polling->security_keys) {
		ret->argv[i++] = "--security-keys";
		ret->argv[i++] = polling->security_keys;
	}
	if (polling->smi_ca) {
		ret->argv[i++] = "--smi-ca";
		ret->argv[i++] = polling->smi_ca;
	}
	ret->argv[i] = NULL;
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
		log_warning("%s/" KEYS_FILE " holds %zu different keys, but libibnetdisc sends only the key of "
			"the local port: nodes with another key are not discovered", polling->security_keys,
			    different);
	log_info("M_Keys of %zu ports loaded", keys_count(*ret));
	return 0;
}
