/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * topology_save.c - `ibwire topology save`: a file to hold later fabrics against
 *
 * It has the form of an ibnetdiscover output, so that people, the
 * infiniband-diags, ibwire-sim and `--from` read it, and so that an output of
 * ibnetdiscover itself is a baseline as good. What that form cannot say, a link
 * that is down, is left out.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/lib/output.h"
#include "cli/topology/topology.h"
#include "fabric/netfile.h"

static int write_all(int fd, const char *chars, size_t len)
{
	while (len) {
		ssize_t done = write(fd, chars, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -errno;
		chars += done;
		len -= (size_t)done;
	}
	return 0;
}

/* Beside it, and then in its place: a full disk leaves an older baseline as it was. */
static int write_file(const char *path, const struct text *text, struct error *err)
{
	struct text beside = { 0 };
	int fd, failure;

	text_appendf(&beside, "%s.new", path);
	if (text_failed(&beside))
		return err_nomem(err);
	fd = open(beside.chars, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	failure = fd < 0 ? -errno : write_all(fd, text->chars, text->len);
	if (fd >= 0 && failure == 0 && fsync(fd) < 0 && errno != EINVAL)
		failure = -errno;
	if (fd >= 0 && close(fd) < 0 && failure == 0)
		failure = -errno;
	if (failure == 0 && rename(beside.chars, path) < 0)
		failure = -errno;
	if (failure && fd >= 0)
		unlink(beside.chars);
	text_done(&beside);
	return failure ? err_set(err, ERR_IO, "cannot write %s: %s", path, strerror(-failure)) : 0;
}

int topology_save(const struct topology *topology, const char *path, struct error *err)
{
	struct text text = { 0 };
	size_t left_out;
	int code;

	left_out = netfile_write(&text, topology->fabric);
	if (!strcmp(path, "-"))
		code = output_text(&text, err);
	else
		code = text_failed(&text) ? err_nomem(err) : write_file(path, &text, err);
	text_done(&text);
	if (code == 0 && left_out)
		log_warning("%zu link%s not up: left out of %s", left_out, left_out == 1 ? " is" : "s are", path);
	return code;
}
