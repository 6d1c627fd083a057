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
#include "base/text.h"
#include "cli/lib/options.h"

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

/* Lines "POD NODE", with white space between them; '#' begins a comment. */
static int read_hosts_map(const char *path, struct nccl_log *log, struct error *err)
{
	char pod[NCCL_NAME_SIZE * 2], node[NCCL_NAME_SIZE * 2], more[2];
	struct unread unread = { 0 };
	struct text text = { 0 };
	size_t number = 0;
	int code = text_read_file(path, "the map of hosts ", TEXT_SMALL_MOST, &text, err);

	for (char *line = text.chars, *next; code == 0 && line < text.chars + text.len; line = next) {
		char *stop = memchr(line, '\n', (size_t)(text.chars + text.len - line));
		int words;

		number++;
		next = stop ? stop + 1 : text.chars + text.len;
		if (memchr(line, '\0', (size_t)(next - line))) {
			unread_add(&unread, number);
			continue;
		}
		if (stop)
			*stop = '\0';
		line[strcspn(line, "#")] = '\0';
		words = sscanf(line, "%127s %127s %1s", pod, node, more);
		if (words == 2)
			code = nccl_rename_host(log, pod, node, err);
		else if (words > 0)
			unread_add(&unread, number);
	}
	if (code == 0)
		options_warn_unread(path, &unread, "a pod and its node");
	text_done(&text);
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
