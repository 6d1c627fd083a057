/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/role.h"

#include <math.h>

enum role role_of_load(double percent)
{
	if (isnan(percent))
		return ROLE_FAINT;
	return percent >= 90 ? ROLE_LOAD_HIGH : percent >= 70 ? ROLE_LOAD_MIDDLE : ROLE_LOAD_LOW;
}
