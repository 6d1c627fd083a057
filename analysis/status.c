/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/status.h"

#include <math.h>

#include "analysis/rate.h"
#include "fabric/fabric.h"

const char *sample_status_name(enum sample_status status)
{
	static const char *const names[SAMPLE_STATUS_COUNT] = {
		[SAMPLE_OK] = "ok", [SAMPLE_SILENT] = "silent", [SAMPLE_BACKOFF] = "backoff", [SAMPLE_DOWN] = "down",
		[SAMPLE_LOCKED] = "locked", [SAMPLE_UNSUPPORTED] = "unsupported", [SAMPLE_UNPLANNED] = "unplanned",
		[SAMPLE_UNFINISHED] = "unfinished",
	};

	return (unsigned)status < SAMPLE_STATUS_COUNT ? names[status] : "unknown";
}

const char *port_status_name(enum port_status status)
{
	static const char *const names[STATUS_COUNT] = {
		[STATUS_OK] = "ok", [STATUS_IDLE] = "idle", [STATUS_NEW] = "new", [STATUS_MIRRORED] = "mirrored",
		[STATUS_UNPLANNED] = "unplanned", [STATUS_UNFINISHED] = "unfinished", [STATUS_INIT] = "init",
		[STATUS_UNSUPPORTED] = "unsupported", [STATUS_LOCKED] = "locked", [STATUS_SILENT] = "silent",
		[STATUS_DOWN] = "down",
	};

	return names[status];
}

enum port_status port_status_worse(enum port_status a, enum port_status b)
{
	if (a <= STATUS_IDLE && b <= STATUS_IDLE)
		return a == STATUS_OK || b == STATUS_OK ? STATUS_OK : STATUS_IDLE;
	return a > b ? a : b;
}

enum port_status port_status(const struct port *port, enum sample_status status, bool counted,
			     struct measure xmit_bytes_per_s, struct measure rcv_bytes_per_s)
{
	uint64_t rate = port_rate_bits_per_s(port);

	if (port->state == PORT_DOWN)
		return STATUS_DOWN;
	switch (status) {
	case SAMPLE_DOWN:
		return STATUS_DOWN;
	case SAMPLE_SILENT:
	case SAMPLE_BACKOFF:
		return STATUS_SILENT;
	case SAMPLE_LOCKED:
		return STATUS_LOCKED;
	case SAMPLE_UNSUPPORTED:
	case SAMPLE_UNPLANNED:
		if (counted)
			return STATUS_MIRRORED;
		return status == SAMPLE_UNPLANNED ? STATUS_UNPLANNED : STATUS_UNSUPPORTED;
	case SAMPLE_UNFINISHED:
		return STATUS_UNFINISHED;
	case SAMPLE_OK:
	case SAMPLE_STATUS_COUNT:
		break;
	}
	if (port->state == PORT_INIT || port->state == PORT_ARMED)
		return STATUS_INIT;
	if (!counted)
		return STATUS_NEW;
	return rate_is_idle(rate_utilization_percent(xmit_bytes_per_s, rate),
			    rate_utilization_percent(rcv_bytes_per_s, rate)) ? STATUS_IDLE : STATUS_OK;
}
