/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/preload.h"

#include <errno.h>
#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

/* The library described in sim/ibsim/umad_preload.h. */
#define OWN_LIBRARY "ibwire-sim-umad.so"

/* ibsim-run is a shell script with a line sim_so=PATH. */
static bool from_script(const char *script, char ret[PATH_MAX])
{
	FILE *file = fopen(script, "re");
	char line[PATH_MAX];
	bool found = false;

	while (file && !found && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "sim_so=", 7))
			continue;
		line[strcspn(line, "\r\n")] = '\0';
		found = access(line + 7, R_OK) == 0;
		if (found)
			memcpy(ret, line + 7, strlen(line + 7) + 1);
	}
	if (file)
		fclose(file);
	return found;
}

int preload_find(char ret[PATH_MAX], struct error *err)
{
	static const char *const scripts[] = { "/usr/bin/ibsim-run", "/usr/local/bin/ibsim-run" };
	static const char *const patterns[] = {
		"/usr/lib/*/umad2sim/libumad2sim.so", "/usr/lib64/umad2sim/libumad2sim.so",
		"/usr/lib/umad2sim/libumad2sim.so", "/usr/local/lib*/umad2sim/libumad2sim.so",
	};
	const char *chosen = getenv("IBWIRE_UMAD2SIM");
	size_t i;

	if (chosen && *chosen) {
		if (access(chosen, R_OK) < 0)
			return err_set(err, ERR_UNAVAILABLE, "IBWIRE_UMAD2SIM=%s cannot be read", chosen);
		snprintf(ret, PATH_MAX, "%s", chosen);
		return 0;
	}
	for (i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		if (from_script(scripts[i], ret))
			return 0;
	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob_t found;

		if (glob(patterns[i], 0, NULL, &found) == 0) {
			snprintf(ret, PATH_MAX, "%s", found.gl_pathv[0]);
			globfree(&found);
			return 0;
		}
	}
	return err_set(err, ERR_UNAVAILABLE, "libumad2sim.so is missing: install ibsim-utils (Debian, Ubuntu) or ibsim "
		       "(RHEL, Fedora, SUSE)");
}

/* In the directory of this program, else in the installed one, relative to this program first. */
static int find_own(char ret[PATH_MAX], struct error *err)
{
	static const char *const beside[] = { OWN_LIBRARY, "../lib/ibwire/" OWN_LIBRARY };
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;
	size_t i;

	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	for (i = 0; slash && i < sizeof(beside) / sizeof(beside[0]); i++)
		if (snprintf(ret, PATH_MAX, "%.*s/%s", (int)(slash - self), self, beside[i]) < PATH_MAX &&
		    access(ret, R_OK) == 0)
			return 0;
	snprintf(ret, PATH_MAX, "%s", IBWIRE_PKGLIBDIR "/" OWN_LIBRARY);
	if (access(ret, R_OK) == 0)
		return 0;
	return err_set(err, ERR_UNAVAILABLE, OWN_LIBRARY " is neither in the directory of ibwire-sim nor in "
		       IBWIRE_PKGLIBDIR ": build and install it with make and make install");
}

int preload_value(const char *umad2sim, const char *dir, char ret[PRELOAD_SIZE], struct error *err)
{
	char own[PATH_MAX], link[PATH_MAX + 32];
	int code = find_own(own, err);

	if (code < 0)
		return code;
	if (!strpbrk(own, " :")) {
		snprintf(ret, PRELOAD_SIZE, "%s:%s", own, umad2sim);
		return 0;
	}
	snprintf(link, sizeof(link), "%s/" OWN_LIBRARY, dir);
	if (strpbrk(link, " :"))
		return err_set(err, ERR_IO, "%s cannot be preloaded: set TMPDIR to a path without spaces and colons",
			       link);
	if (symlink(own, link) < 0)
		return err_set(err, ERR_IO, "cannot make the link %s: %s", link, strerror(errno));
	snprintf(ret, PRELOAD_SIZE, "%s:%s", link, umad2sim);
	return 0;
}
