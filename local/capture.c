/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "local/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/new_file.h"

extern char **environ;

enum { BLOCK = 512, NAME = 100 };

/* Header of a member. Source: POSIX.1-2017, pax, "ustar Interchange Format". */
struct ustar {
	char name[NAME], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[NAME], magic[6];
	char version[2], user[32], group[32], major[8], minor[8], prefix[155], unused[12];
};
_Static_assert(sizeof(struct ustar) == BLOCK, "a header is one block");

static void append_member(struct capture *capture, struct ustar *header, const void *bytes, size_t len)
{
	static const char zeros[BLOCK];
	unsigned sum = 0;

	memcpy(header->mode, header->type == '5' ? "0000755" : "0000644", 8);
	memcpy(header->uid, "0000000", 8);
	memcpy(header->gid, "0000000", 8);
	memcpy(header->magic, "ustar", 6);
	memcpy(header->version, "00", 2);
	snprintf(header->size, sizeof(header->size), "%011zo", len);
	snprintf(header->mtime, sizeof(header->mtime), "%011o", 0u);
	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += ((const unsigned char *)header)[i];
	snprintf(header->checksum, sizeof(header->checksum), "%06o", sum & 0777777);
	text_append_bytes(&capture->tar, (const char *)header, sizeof(*header));
	text_append_bytes(&capture->tar, len ? bytes : "", len);
	text_append_bytes(&capture->tar, zeros, (BLOCK - len % BLOCK) % BLOCK);
}

/* Set a name of a header. One that does not fit is a member of its own before it, of this type (GNU tar). */
static void set_name(struct capture *capture, char field[NAME], const char *chars, char type)
{
	size_t len = strlen(chars);

	if (len > NAME)
		append_member(capture, &(struct ustar){ .name = "././@LongLink", .type = type }, chars, len + 1);
	memcpy(field, chars, len > NAME ? NAME : len);
}

/* FNV-1a; on a collision the later path is omitted. */
static uint64_t hash(const char *path)
{
	uint64_t value = 0xcbf29ce484222325ULL;

	for (; *path; path++)
		value = (value ^ (unsigned char)*path) * 0x100000001b3ULL;
	return value;
}

static void add(struct capture *capture, char type, const char *path, const char *link, const void *bytes, size_t len)
{
	struct ustar header = { .type = type };
	char name[1024];
	uint32_t seen;

	if (map_get(&capture->known, hash(path), &seen))
		return;
	if (map_put(&capture->known, hash(path), 1))
		capture->tar.failed = true;
	snprintf(name, sizeof(name), "%s/%s%s", capture->folder, path, type == '5' ? "/" : "");
	set_name(capture, header.name, name, 'L');
	if (link)
		set_name(capture, header.link, link, 'K');
	append_member(capture, &header, bytes, len);
	capture->files += type != '5';
}

void capture_file(struct capture *capture, const char *path, const void *bytes, size_t len)
{
	if (capture)
		add(capture, '0', path, NULL, bytes, len);
}

void capture_link(struct capture *capture, const char *path, const char *target)
{
	if (capture)
		add(capture, '2', path, target, NULL, 0);
}

void capture_folder(struct capture *capture, const char *path)
{
	if (capture)
		add(capture, '5', path, NULL, NULL, 0);
}

/* Start gzip from the pipe @ret_in to the file @out. Return: 0 or an errno. */
static int start_gzip(int out, int *ret_in, pid_t *ret_pid)
{
	static char gzip[] = "gzip", option[] = "-c";
	posix_spawn_file_actions_t actions;
	int pipe_fds[2], code;

	if (pipe2(pipe_fds, O_CLOEXEC))
		return errno;
	code = posix_spawn_file_actions_init(&actions);
	if (code == 0) {
		posix_spawn_file_actions_adddup2(&actions, pipe_fds[0], STDIN_FILENO);
		posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
		code = posix_spawnp(ret_pid, gzip, &actions, NULL, (char *[]){ gzip, option, NULL }, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(pipe_fds[0]);
	if (code)
		close(pipe_fds[1]);
	else
		*ret_in = pipe_fds[1];
	return code;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t done = write(fd, bytes, len);

		if (done < 0 && errno != EINTR)
			return false;
		bytes += done < 0 ? 0 : done;
		len -= done < 0 ? 0 : (size_t)done;
	}
	return true;
}

static int write_zipped(const struct capture *capture, struct new_file *file, struct error *err)
{
	int in = -1, status = 0, code;
	pid_t pid = 0;
	bool good;

	code = start_gzip(fileno(file->stream), &in, &pid);
	if (code)
		return err_set(err, ERR_UNAVAILABLE, "cannot run gzip: %s (install it)", strerror(code));
	good = write_all(in, capture->tar.chars, capture->tar.len);
	close(in);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return good && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 :
		err_set(err, ERR_IO, "cannot write '%.200s': gzip failed (is the disk full?)", file->path);
}

int capture_write(struct capture *capture, const char *path, struct error *err)
{
	static const char end[2 * BLOCK];
	struct new_file file;
	int code;

	text_append_bytes(&capture->tar, end, sizeof(end));
	if (text_failed(&capture->tar))
		return err_nomem(err);
	code = new_file_open(path, true, &file, err);
	return code < 0 ? code : new_file_end(&file, write_zipped(capture, &file, err), err);
}

void capture_done(struct capture *capture)
{
	text_done(&capture->tar);
	map_done(&capture->known);
}
