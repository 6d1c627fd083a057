/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "tests/world/training_model.h"
#include "tests/world/training_sweep.h"

static const double BETWEEN_MEMBERS_US = 30, DELAY_US = 10000;

bool training_sweep_init(struct training_sweep *sweep, struct training *world, const struct training_shape *shape,
			 const struct training_job *job, int64_t interval_us, uint64_t seed)
{
	size_t count = (size_t)job->host_count * shape->rails;

	*sweep = (struct training_sweep){ .world = world, .job = job, .interval_us = interval_us, .seed = seed,
					  .missing = 0.005, .member_count = count };
	sweep->readings = calloc(count, sizeof(*sweep->readings));
	sweep->down = calloc(count, sizeof(*sweep->down));
	sweep->members = calloc(count, sizeof(*sweep->members));
	sweep->last = calloc(count, sizeof(*sweep->last));
	sweep->last_us = calloc(count, sizeof(*sweep->last_us));
	if (!sweep->readings || !sweep->down || !sweep->members || !sweep->last || !sweep->last_us) {
		training_sweep_done(sweep);
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		uint32_t host = (uint32_t)(i / shape->rails);

		sweep->members[i] = (struct job_member){
			.node_guid = 0x1000 + (uint64_t)job->hosts[host] * shape->rails + i % shape->rails, .port = 1,
			.host = host, .rail = (uint8_t)(i % shape->rails) };
		sweep->last_us[i] = -1;
	}
	return true;
}

void training_sweep_done(struct training_sweep *sweep)
{
	free(sweep->readings);
	free(sweep->down);
	free(sweep->members);
	free(sweep->last);
	free(sweep->last_us);
}

void training_sweep_run(struct training_sweep *sweep, int64_t at_us)
{
	const struct training_shape *shape = &sweep->world->shape;

	sweep->count = 0;
	sweep->at_us = at_us;
	sweep->number++;
	for (size_t i = 0; i < sweep->member_count; i++) {
		uint32_t member = sweep->job->hosts[sweep->members[i].host] * shape->rails + sweep->members[i].rail;
		uint64_t bits = model_mix(sweep->seed + sweep->number, i);
		int64_t read_us = at_us + (int64_t)(BETWEEN_MEMBERS_US * member +
						    DELAY_US * (double)(bits & 0xffff) / 65536);
		struct training_counters *last = &sweep->last[i], now;
		double elapsed_s = (double)(read_us - sweep->last_us[i]) / 1e6;

		if (read_us > sweep->at_us)
			sweep->at_us = read_us;
		sweep->down[i] = !training_readable(sweep->world, member, read_us);
		if (sweep->down[i] || (double)(bits >> 40) / (1 << 24) < sweep->missing)
			continue;
		training_counters(sweep->world, member, read_us, &now);
		if (sweep->last_us[i] >= 0)
			sweep->readings[sweep->count++] = (struct job_reading){
				.member = (uint32_t)i, .at_us = read_us, .elapsed_us = read_us - sweep->last_us[i],
				.xmit_bytes = now.xmit_bytes - last->xmit_bytes,
				.rcv_bytes = now.rcv_bytes - last->rcv_bytes,
				.wait_own = (now.wait_own_s - last->wait_own_s) / elapsed_s,
				.wait_to = (now.wait_to_s - last->wait_to_s) / elapsed_s };
		*last = now;
		sweep->last_us[i] = read_us;
	}
}
