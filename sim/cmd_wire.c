/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The commands that tell a running simulation's relay what to do: wire and pma. */
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/text.h"
#include "sim/cmd.h"
#include "sim/relay/relay.h"

static int tell(const char *what, const char *settings, struct error *err)
{
	const char *name = getenv("IBSIM_SOCKNAME");
	struct text command = { 0 }, answer = { 0 };
	int code = 0;

	if (!name || !*name)
		return err_set(err, ERR_UNAVAILABLE, "IBSIM_SOCKNAME is not set: this works within ibwire-sim run");
	text_appendf(&command, "%s%s%s", what, settings ? " " : "", settings ? settings : "");
	code = text_failed(&command) ? err_nomem(err) : relay_control(name, text_chars(&command), &answer, err);
	if (code == 0)
		fputs(text_chars(&answer), stdout);
	text_done(&command);
	text_done(&answer);
	return code;
}

int cmd_wire(int argc, char **argv, struct error *err)
{
	if (argc > 2)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim wire ['latency=20us service=100us hold=1s "
			       "loss=0 dead=NODES locked=NODES'] (one argument)");
	return tell("wire", argc == 2 ? argv[1] : NULL, err);
}

int cmd_pma(int argc, char **argv, struct error *err)
{
	if (argc != 2)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim pma 'NODES caps=0x5300 caps2=0x2 tick=7 ...' "
			       "(one argument)");
	return tell("pma", argv[1], err);
}
