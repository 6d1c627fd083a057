/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology.c - `ibwire topology`: how the fabric is built, and where its routes lead */
#include "cli/topology.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/command.h"
#include "cli/options.h"

int topology_run(const struct command *command, int argc, char **argv, struct error *err)
{
	struct options options;
	int code = options_parse(command, COMMON_SHOW | COMMON_AT | COMMON_WINDOW, NULL, argc, argv,
				 clock_wall_us(clock_system()), &options, err);

	if (code)
		return code < 0 ? code : 0;
	if (!options.argc || strcmp(options.argv[0], "route"))
		return options_usage_error(command, err, "say what: route A B");
	return topology_route(command, &options, err);
}
