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

const char *port_word_name(enum port_word word)
{
	static const char *const names[WORD_COUNT] = {
		[WORD_OK] = "ok", [WORD_IDLE] = "idle", [WORD_NEW] = "new", [WORD_MIRRORED] = "mirrored",
		[WORD_UNPLANNED] = "unplanned", [WORD_UNFINISHED] = "unfinished", [WORD_INIT] = "init",
		[WORD_UNSUPPORTED] = "unsupported", [WORD_LOCKED] = "locked", [WORD_SILENT] = "silent",
		[WORD_DOWN] = "down",
	};

	return names[word];
}

enum port_word port_word_worse(enum port_word a, enum port_word b)
{
	if (a <= WORD_IDLE && b <= WORD_IDLE)
		return a == WORD_OK || b == WORD_OK ? WORD_OK : WORD_IDLE;
	return a > b ? a : b;
}

enum port_word port_word(const struct port *port, enum sample_status status, double xmit_bytes_per_s,
			 double rcv_bytes_per_s)
{
	uint64_t rate = port_rate_bits_per_s(port);

	if (port->state == PORT_DOWN)
		return WORD_DOWN;
	switch (status) {
	case SAMPLE_DOWN:
		return WORD_DOWN;
	case SAMPLE_SILENT:
	case SAMPLE_BACKOFF:
		return WORD_SILENT;
	case SAMPLE_LOCKED:
		return WORD_LOCKED;
	case SAMPLE_UNSUPPORTED:
	case SAMPLE_UNPLANNED:
		if (!isnan(xmit_bytes_per_s) || !isnan(rcv_bytes_per_s))
			return WORD_MIRRORED;
		return status == SAMPLE_UNPLANNED ? WORD_UNPLANNED : WORD_UNSUPPORTED;
	case SAMPLE_UNFINISHED:
		return WORD_UNFINISHED;
	case SAMPLE_OK:
	case SAMPLE_STATUS_COUNT:
		break;
	}
	return rate_is_idle(rate_utilization_percent(xmit_bytes_per_s, rate),
			    rate_utilization_percent(rcv_bytes_per_s, rate)) ? WORD_IDLE : WORD_OK;
}

enum port_word port_word_now(const struct port *port, enum sample_status status, double xmit_bytes_per_s,
			     double rcv_bytes_per_s)
{
	enum port_word word = port_word(port, status, xmit_bytes_per_s, rcv_bytes_per_s);

	if (word != WORD_OK && word != WORD_IDLE)
		return word;
	if (port->state == PORT_INIT || port->state == PORT_ARMED)
		return WORD_INIT;
	return isnan(xmit_bytes_per_s) && isnan(rcv_bytes_per_s) ? WORD_NEW : word;
}
