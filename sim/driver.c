/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/driver.h"
#include "base/err.h"
int driver_run(struct driver_options *options, struct error *err)
{
	(void)options;
	return err_set(err, ERR_INTERNAL, "x");
}
int driver_control(const char *sockname, const char *command, struct text *answer, struct error *err)
{
	(void)sockname; (void)command; (void)answer;
	return err_set(err, ERR_INTERNAL, "x");
}
