/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sink.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"

void restored_done(struct restored *restored)
{
	fabric_destroy(restored->fabric);
	free(restored->ports);
	free(restored->details);
	free(restored->caps);
	free(restored->findings);
	free(restored->counts);
	routes_done(&restored->routes);
	memset(restored, 0, sizeof(*restored));
}
