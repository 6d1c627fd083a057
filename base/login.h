/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* login.h - who sits at the keyboard */
#ifndef IBWIRE_BASE_LOGIN_H
#define IBWIRE_BASE_LOGIN_H

#include <stddef.h>

/*
 * login_name - the name of who runs this program: behind sudo of the one who called it; "uid 1000" where it has none
 * @ret:  @size bytes; printable
 */
void login_name(char *ret, size_t size);

#endif
