/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/login.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

void login_name(char *ret, size_t size)
{
	const char *sudo = getenv("SUDO_USER");
	const struct passwd *entry = sudo && *sudo ? NULL : getpwuid(getuid());

	if (sudo && *sudo)
		text_sanitise(sudo, strlen(sudo), ret, size);
	else if (entry)
		text_sanitise(entry->pw_name, strlen(entry->pw_name), ret, size);
	else
		snprintf(ret, size, "uid %u", (unsigned)getuid());
}
