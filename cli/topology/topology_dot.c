/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology_dot.c - `ibwire topology dot`: for graphviz */
#include "base/text.h"
#include "cli/lib/output.h"
#include "cli/topology/topology.h"
#include "export/dot.h"

int topology_dot(const struct topology_options *options, const struct topology *topology, struct error *err)
{
	struct text text = { 0 };

	dot_write(&text, topology->shape, topology->shown.names, options->hosts);
	return output_text(&text, err);
}
