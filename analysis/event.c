/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "analysis/event.h"

const char *event_severity_name(enum event_severity severity)
{
	switch (severity) {
	case EVENT_INFO:
		return "info";
	case EVENT_WARNING:
		return "warning";
	case EVENT_CRITICAL:
		return "critical";
	}
	return "unknown";
}
