/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "local/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "fabric/names.h"
#include "local/capture.h"

#define INFINIBAND "sys/class/infiniband"

enum { TRIES_MOST = 1000 };

void local_problem(struct local_root *root, const char *path, const char *fmt, ...)
{
	char why[96], safe[96];
	size_t len = strlen(path), cut = len > 80 ? len - 80 : 0;
	va_list args;

	if (root->problem_count++ >= LOCAL_PROBLEMS_MOST)
		return;
	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	text_sanitise(path + cut, len - cut, safe, sizeof(safe));
	snprintf(root->problems[root->problem_count - 1], sizeof(root->problems[0]), "%s%s %s", cut ? "..." : "", safe,
		 why);
}

/* The path in the tree; NULL: a tree of this layout does not have it. */
static const char *in_layout(const struct local_root *root, const char *path)
{
	const char *prefix = root->layout == LOCAL_LAYOUT_SYS ? "sys" : INFINIBAND;
	size_t len = strlen(prefix);

	if (root->layout == LOCAL_LAYOUT_WHOLE)
		return path;
	if (strncmp(path, prefix, len) || (path[len] && path[len] != '/'))
		return NULL;
	return path[len] ? path + len + 1 : ".";
}

static int open_at(const struct local_root *root, const char *path, int flags)
{
	struct open_how how = {
		/* Without O_NONBLOCK a named pipe would block; openat2() refuses it together with O_PATH. */
		.flags = (unsigned)(flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY)),
		.resolve = root->live ? 0 : RESOLVE_IN_ROOT,
	};
	const char *inside = in_layout(root, path);
	int fd, tries = 0;

	if (!inside) {
		errno = ENOENT;
		return -1;
	}
	/* EAGAIN: any rename on this host while the kernel followed a ".." of a link. */
	do
		fd = (int)syscall(__NR_openat2, root->fd, inside, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && tries++ < TRIES_MOST);
	/* Linux before 5.6 does not know the call; seccomp filters of containers may refuse it with EPERM. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root->fd, inside, (int)how.flags);
	return fd;
}

/* An errno that means "not known" rather than a fault of the tree: drivers return these for what they lack. */
static bool is_absent(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EINVAL || error == EOPNOTSUPP || error == ENODATA ||
	       error == ENODEV || error == ENXIO;
}

/* Open a regular file. Return: -1: absent, or a problem, which is counted. */
static int open_file(struct local_root *root, const char *path)
{
	struct stat status;
	int fd = open_at(root, path, O_RDONLY);

	if (fd < 0) {
		if (!is_absent(errno))
			local_problem(root, path, "cannot be opened: %s", strerror(errno));
		return -1;
	}
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	local_problem(root, path, S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file");
	close(fd);
	return -1;
}

long local_read_bytes(struct local_root *root, void *ret, size_t size, const char *path)
{
	int fd = open_file(root, path);
	size_t done = 0;
	ssize_t got = 1;

	if (fd < 0)
		return -1;
	while (done < size && got > 0) {
		got = read(fd, (char *)ret + done, size - done);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			done += (size_t)got;
	}
	if (got < 0 && !is_absent(errno))
		local_problem(root, path, "cannot be read: %s", strerror(errno));
	close(fd);
	if (got < 0)
		return -1;
	capture_file(root->capture, path, ret, done);
	return (long)done;
}

bool local_read_text(struct local_root *root, struct text *ret, size_t most, const char *path)
{
	char *room = text_reserve(ret, most + 1);
	long got = room ? local_read_bytes(root, room, most + 1, path) : -1;

	if (got < 0)
		return false;
	if ((size_t)got > most) {
		local_problem(root, path, "is larger than %zu bytes", most);
		room[0] = '\0';
		return false;
	}
	text_extend(ret, (size_t)got);
	return true;
}

/* The first line of a file of at most one page. */
static bool read_value(struct local_root *root, char *ret, size_t size, const char *path)
{
	char page[LOCAL_VALUE_MOST + 1];
	long got = local_read_bytes(root, page, sizeof(page), path);
	const char *end = got > 0 ? memchr(page, '\n', (size_t)got) : NULL;

	ret[0] = '\0';
	if (got > LOCAL_VALUE_MOST)
		local_problem(root, path, "is larger than %d bytes", LOCAL_VALUE_MOST);
	if (got < 0 || got > LOCAL_VALUE_MOST)
		return false;
	text_sanitise(page, end ? (size_t)(end - page) : (size_t)got, ret, size);
	return ret[0] != '\0';
}

/* Format a path. Return: false if it is too long. */
__attribute__((format(printf, 3, 0)))
static bool format_path(struct local_root *root, char path[LOCAL_PATH_SIZE], const char *fmt, va_list args)
{
	int len = vsnprintf(path, LOCAL_PATH_SIZE, fmt, args);

	if (len >= 0 && len < LOCAL_PATH_SIZE)
		return true;
	local_problem(root, path, "has too long a path");
	return false;
}

bool local_read(struct local_root *root, char *ret, size_t size, const char *fmt, ...)
{
	char path[LOCAL_PATH_SIZE];
	va_list args;
	bool good;

	va_start(args, fmt);
	good = format_path(root, path, fmt, args);
	va_end(args);
	ret[0] = '\0';
	return good && read_value(root, ret, size, path);
}

bool local_read_number(struct local_root *root, uint64_t *ret, const char *fmt, ...)
{
	char path[LOCAL_PATH_SIZE], value[64], *end;
	unsigned long long number;
	va_list args;
	bool good;

	va_start(args, fmt);
	good = format_path(root, path, fmt, args);
	va_end(args);
	/* "N/A (no PMA)": the kernel's word for a counter that the device does not have (core/sysfs.c). */
	if (!good || !read_value(root, value, sizeof(value), path) || !strncmp(value, "N/A", 3))
		return false;
	errno = 0;
	number = strtoull(value, &end, strncmp(value, "0x", 2) ? 10 : 16);
	if (value[0] < '0' || value[0] > '9' || *end || errno) {
		local_problem(root, path, "is not a number: '%.32s'", value);
		return false;
	}
	*ret = number;
	return true;
}

bool local_exists(struct local_root *root, const char *fmt, ...)
{
	char path[LOCAL_PATH_SIZE];
	va_list args;
	bool good;
	int fd;

	va_start(args, fmt);
	good = format_path(root, path, fmt, args);
	va_end(args);
	fd = good ? open_at(root, path, O_PATH) : -1;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int local_open_error(struct local_root *root, const char *fmt, ...)
{
	char path[LOCAL_PATH_SIZE], number[16];
	uint64_t captured = 0;
	va_list args;
	bool good;
	int fd, error;

	va_start(args, fmt);
	good = format_path(root, path, fmt, args);
	va_end(args);
	if (!good || !local_exists(root, "%s", path))
		return ENOENT;
	if (!root->live) {
		local_read_number(root, &captured, "ibwire/open/%s", path);
		return (int)captured;
	}
	fd = open_at(root, path, O_RDWR);
	error = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	capture_file(root->capture, path, "", 0);
	if (error && strlen(path) < LOCAL_PATH_SIZE - 16) {
		char copy[LOCAL_PATH_SIZE];

		snprintf(copy, sizeof(copy), "ibwire/open/%.490s", path);
		snprintf(number, sizeof(number), "%d\n", error);
		capture_file(root->capture, copy, number, strlen(number));
	}
	return error;
}

/* Remove "." and ".." from @path by its text; what leads above the root stays at the root. */
static void normalise(char *path)
{
	char *from = path, *to = path;

	while (*from) {
		size_t len = strcspn(from, "/");

		if (len == 2 && !strncmp(from, "..", 2)) {
			while (to > path && *--to != '/')
				;
		} else if (len && !(len == 1 && *from == '.')) {
			if (to > path)
				*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len + (from[len] == '/');
	}
	*to = '\0';
}

bool local_resolve(struct local_root *root, const char *path, char ret[LOCAL_PATH_SIZE])
{
	const char *inside = in_layout(root, path), *slash = strrchr(path, '/');
	char target[LOCAL_PATH_SIZE];
	ssize_t len = inside ? readlinkat(root->fd, inside, target, sizeof(target) - 1) : -1;
	int most;

	if (len < 0 || len >= LOCAL_PATH_SIZE - 1) {
		snprintf(ret, LOCAL_PATH_SIZE, "%s", path);
		return len < 0 && local_exists(root, "%s", path);
	}
	target[len] = '\0';
	if (!text_is_plain(target, (size_t)len)) {
		local_problem(root, path, "links to an unprintable name");
		return false;
	}
	if (target[0] == '/')
		most = snprintf(ret, LOCAL_PATH_SIZE, "%s", target);
	else
		most = snprintf(ret, LOCAL_PATH_SIZE, "%.*s/%s", slash ? (int)(slash - path) : 0, path, target);
	if (most >= LOCAL_PATH_SIZE)
		return false;
	normalise(ret);
	if (!local_exists(root, "%s", ret))
		return false;
	capture_link(root->capture, path, target);
	capture_folder(root->capture, ret);
	return true;
}

static int compare_names(const void *a, const void *b)
{
	return names_compare(*(char *const *)a, *(char *const *)b);
}

/* Names of the kernel are printable ASCII; others could not be shown, or quoted in JSON, as they are. */
static bool is_name(const char *name)
{
	return text_is_plain(name, strlen(name)) && !strpbrk(name, "\"\\");
}

static int add_name(struct local_names *names, const char *name)
{
	char *copy = strdup(name), **added = copy ? array_add(&names->names, &names->count, &names->capacity,
							      sizeof(*added)) : NULL;

	if (added)
		*added = copy;
	else
		free(copy);
	return added ? 0 : ERR_NOMEM;
}

int local_list(struct local_root *root, struct local_names *ret, const char *fmt, ...)
{
	char path[LOCAL_PATH_SIZE];
	const struct dirent *entry;
	va_list args;
	DIR *folder;
	int fd, code = 0;
	bool good;

	va_start(args, fmt);
	good = format_path(root, path, fmt, args);
	va_end(args);
	fd = good ? open_at(root, path, O_RDONLY | O_DIRECTORY) : -1;
	if (fd < 0) {
		if (good && errno == ENOTDIR && local_exists(root, "%s", path))
			local_problem(root, path, "is not a folder");
		else if (good && !is_absent(errno))
			local_problem(root, path, "cannot be opened: %s", strerror(errno));
		return 0;
	}
	folder = fdopendir(fd);
	if (!folder) {
		close(fd);
		return ERR_NOMEM;
	}
	capture_folder(root->capture, path);
	while (code == 0 && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		if (ret->count >= LOCAL_ENTRIES_MOST) {
			local_problem(root, path, "has more than %d entries", LOCAL_ENTRIES_MOST);
			break;
		}
		if (!is_name(entry->d_name)) {
			local_problem(root, path, "has an entry with an unprintable name");
			continue;
		}
		code = add_name(ret, entry->d_name);
	}
	closedir(folder);
	if (ret->count)
		qsort(ret->names, ret->count, sizeof(*ret->names), compare_names);
	return code;
}

void local_names_done(struct local_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct local_names){ 0 };
}

/* Is it a copy of /sys/class/infiniband: has one of its folders ports? */
static bool has_hcas(struct local_root *root)
{
	struct local_names names = { 0 };
	bool found = false;

	root->layout = LOCAL_LAYOUT_INFINIBAND;
	if (local_list(root, &names, INFINIBAND) == 0)
		for (size_t i = 0; i < names.count && !found; i++)
			found = local_exists(root, INFINIBAND "/%s/ports", names.names[i]);
	local_names_done(&names);
	return found;
}

int local_root_open(struct local_root *root, const char *dir, struct error *err)
{
	*root = (struct local_root){ .live = !dir };
	root->fd = open(dir ? dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root->fd < 0)
		return err_set(err, ERR_IO, "cannot open the folder '%.200s': %s", dir ? dir : "/", strerror(errno));
	if (!dir || local_exists(root, "sys"))
		return 0;
	root->layout = LOCAL_LAYOUT_SYS;
	if (local_exists(root, "sys/class") || has_hcas(root))
		return 0;
	local_root_close(root);
	return err_set(err, ERR_USAGE, "'%.200s' is not a tree of a host: it has no sys, class or HCA folder "
		       "(unpack what 'ibwire doctor --capture FILE' wrote)", dir);
}

void local_root_close(struct local_root *root)
{
	if (root->fd >= 0)
		close(root->fd);
	root->fd = -1;
}
