/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/nccl_files.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "analysis/nccl.h"
#include "base/err.h"
#include "cli/lib/options.h"

static int read_file(const char *path, struct nccl_log *log, struct error *err)
{
	bool standard = !strcmp(path, "-");
	FILE *file = standard ? stdin : fopen(path, "re");
	size_t before = log->lines;
	int code;

	if (!file)
		return err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
	log->torn = (struct unread){ 0 };
	code = nccl_read(log, file, err);
	log->torn.first -= log->torn.lines ? before : 0;
	if (code == 0)
		options_warn_unread(path, &log->torn, "a whole message of NCCL");
	if (code == ERR_IO)
		err_prefix(err, "cannot read %s", standard ? "standard input" : path);
	if (!standard)
		fclose(file);
	return code;
}

int nccl_files_read(const char *pattern, char *const *more, int count, struct nccl_log *ret, struct error *err)
{
	glob_t found;
	int code = 0;

	nccl_init(ret);
	if (glob(pattern, GLOB_NOCHECK, NULL, &found) != 0)
		return err_nomem(err);
	for (size_t i = 0; i < found.gl_pathc && code == 0; i++)
		code = read_file(found.gl_pathv[i], ret, err);
	globfree(&found);
	for (int i = 0; i < count && code == 0; i++)
		code = read_file(more[i], ret, err);
	return code;
}
