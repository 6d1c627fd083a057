/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* login.h - the user of this process */
#ifndef IBWIRE_BASE_LOGIN_H
#define IBWIRE_BASE_LOGIN_H

#include <stddef.h>

/*
 * login_name - name of the user of this process; under sudo the calling user; "uid 1000" without a
 * name
 * @ret:  @size bytes; printable
 */
void login_name(char *ret, size_t size);

#endif
