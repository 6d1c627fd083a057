/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* topology_dot.c - `ibwire topology dot`: for graphviz */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/topology.h"
#include "export/dot.h"

int topology_dot(const struct topology_options *options, const struct topology *topology, struct error *err)
{
	struct text text = { 0 };
	int code = 0;

	dot_write(&text, topology->shape, topology->shown.names, options->hosts);
	if (text_failed(&text))
		code = err_nomem(err);
	else if (fwrite(text_chars(&text), 1, text.len, stdout) != text.len && errno != EPIPE)
		code = err_set(err, ERR_IO, "cannot write the output: %s", strerror(errno));
	text_done(&text);
	return code;
}
