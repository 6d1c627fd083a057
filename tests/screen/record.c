/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/screen/record.h"

#include "base/err.h"
#include "storage/writer.h"
#include "tests/scenarios/compare.h"
#include "tests/world/collect.h"
#include "tests/world/virtual.h"

int record_scenario(const char *file, const char *path, int64_t length_us, int64_t end_us, struct error *err)
{
	struct scenario scenario = { 0 };
	struct virtual *world = NULL;
	struct writer *writer = NULL;
	int code = scenario_load(file, &scenario, err);

	if (code < 0)
		return code;
	if (length_us)
		scenario.length_us = length_us;
	code = scenario_begin(&scenario, &world, err);
	if (code == 0)
		code = writer_open(path, &writer, err);
	if (code == 0)
		code = world_collect(world, scenario.interval_us, scenario.length_us,
				     end_us - scenario.length_us + scenario.interval_us / WORLD_LEAD_PART,
				     writer_sink(writer), NULL, err);
	writer_close(writer);
	virtual_destroy(world);
	scenario_done(&scenario);
	return code;
}
