/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "collector/sink.h"

#include <stdlib.h>
#include <string.h>

#include "fabric/fabric.h"

void running_jobs_done(struct running_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		free(jobs->list[i].id);
		free(jobs->list[i].hosts);
	}
	free(jobs->list);
	*jobs = (struct running_jobs){ 0 };
}

bool sink_leaves_out(const struct sink *sink, uint64_t node_guid)
{
	return sink && sink->is_left_out && sink->is_left_out(sink->ctx, node_guid);
}

void restored_done(struct restored *restored)
{
	fabric_destroy(restored->fabric);
	free(restored->ports);
	free(restored->details);
	free(restored->caps);
	free(restored->firmware);
	free(restored->findings);
	free(restored->counts);
	routes_done(&restored->routes);
	pkeys_done(&restored->pkeys);
	memset(restored, 0, sizeof(*restored));
}
