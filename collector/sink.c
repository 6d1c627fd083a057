/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sink.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"

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

void restored_done(struct restored *restored)
{
	fabric_destroy(restored->fabric);
	free(restored->ports);
	free(restored->details);
	free(restored->caps);
	free(restored->findings);
	routes_done(&restored->routes);
	memset(restored, 0, sizeof(*restored));
}
