/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* host_set.h - moved to fabric/host_set.h, which the screen may include too */
#ifndef IBWIRE_CLI_HOST_SET_H
#define IBWIRE_CLI_HOST_SET_H

#include "fabric/host_set.h"

#endif
