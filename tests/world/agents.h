/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* agents.h - the subnet management and performance agents of a virtual fabric's nodes */
#ifndef IBWIRE_TESTS_WORLD_AGENTS_H
#define IBWIRE_TESTS_WORLD_AGENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/mad.h"

struct virtual;

/*
 * agents_respond - the response of the node that a Get is addressed to
 * @port_of_lid: by LID: port 0 of a switch, or an HCA's port; FABRIC_NONE where there is none
 * @mad:         the Get; replaced by the GetResp
 * @at_us:       since the beginning: when the counters are read
 *
 * Return: false where no node responds; then @mad is unchanged.
 */
bool agents_respond(struct virtual *world, const uint32_t port_of_lid[UINT16_MAX + 1], const struct mad_address *to,
		    uint8_t mad[MAD_SIZE], int64_t at_us);

#endif
