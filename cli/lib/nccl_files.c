/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/lib/nccl_files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/nccl.h"
#include "base/err.h"
#include "cli/lib/options.h"
#include "fabric/host_map.h"

static int read_file(const char *path, struct nccl_log *log, struct error *err)
{
	bool standard = !strcmp(path, "-");
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	struct unread before_torn = log->torn;
	size_t before = log->lines;
	int code;

	if (fd < 0)
		return err_set(err, ERR_IO, "cannot read %s: %s", path, strerror(errno));
	log->torn = (struct unread){ 0 };
	code = nccl_read(log, fd, standard ? "standard input" : path, err);
	log->torn.first -= log->torn.lines ? before : 0;
	if (code == 0)
		options_warn_unread(path, &log->torn, "a whole message of NCCL");
	log->torn.lines += before_torn.lines;
	if (code == ERR_IO)
		err_prefix(err, "cannot read %s", standard ? "standard input" : path);
	if (!standard)
		close(fd);
	return code;
}

int nccl_files_check(const struct command *command, const struct nccl_files *files, struct error *err)
{
	return files->hosts_map && !files->pattern ?
	       options_usage_error(command, err, "--hosts-map requires --nccl") : 0;
}

static int read_hosts_map(const char *path, struct nccl_log *log, struct error *err)
{
	struct host_map map;
	int code = host_map_read(path, &map, err);

	for (size_t i = 0; i < map.count && code == 0; i++)
		code = nccl_rename_host(log, map.entries[i].from, map.entries[i].to, err);
	if (code == 0)
		options_warn_unread(path, &map.unread, "a pod and its node");
	host_map_done(&map);
	return code;
}

int nccl_files_read(const struct nccl_files *files, char *const *more, int count, struct nccl_log *ret,
		    struct error *err)
{
	glob_t found;
	int code;

	nccl_init(ret);
	code = files->hosts_map ? read_hosts_map(files->hosts_map, ret, err) : 0;
	if (code)
		return code;
	if (glob(files->pattern, GLOB_NOCHECK, NULL, &found) != 0)
		return err_nomem(err);
	for (size_t i = 0; i < found.gl_pathc && code == 0; i++)
		code = read_file(found.gl_pathv[i], ret, err);
	globfree(&found);
	for (int i = 0; i < count && code == 0; i++)
		code = read_file(more[i], ret, err);
	return code;
}
