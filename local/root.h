/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * root.h - bounded reading of /sys and /proc, of this host or of a captured tree
 *
 * Paths have no leading slash: "sys/class/infiniband". A missing file is not an error; its value is
 * unknown. A path that exists but cannot be used (a folder in place of a file, a loop of symbolic
 * links, more than a page of data) is counted in struct local_root, and its value is unknown too.
 */
#ifndef IBWIRE_LOCAL_ROOT_H
#define IBWIRE_LOCAL_ROOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture;
struct error;
struct text;

/* Which part of a host a captured tree has. */
enum local_layout {
	LOCAL_LAYOUT_WHOLE,      /* DIR/sys/class/infiniband, DIR/proc */
	LOCAL_LAYOUT_SYS,        /* DIR/class/infiniband: a copy of /sys */
	LOCAL_LAYOUT_INFINIBAND, /* DIR/mlx5_0/ports: a copy of /sys/class/infiniband */
};

/* A value of sysfs is at most one page. */
enum { LOCAL_VALUE_MOST = 4096, LOCAL_PATH_SIZE = 512, LOCAL_PROBLEMS_MOST = 8, LOCAL_ENTRIES_MOST = 4096 };

struct local_root {
	int fd;
	enum local_layout layout;
	bool live;               /* this host, not a captured tree */
	struct capture *capture; /* receives what is read; NULL: none */
	unsigned problem_count;
	char problems[LOCAL_PROBLEMS_MOST][200]; /* the first ones, "PATH: what is wrong" */
};

/*
 * local_root_open - open a tree
 * @dir:  the root of the tree, of any layout; NULL: this host
 *
 * Symbolic links of a captured tree do not lead out of it (Linux 5.6 and later).
 * Return: 0; ERR_IO: it cannot be opened; ERR_USAGE: no layout fits.
 */
int local_root_open(struct local_root *root, const char *dir, struct error *err);
void local_root_close(struct local_root *root);

/*
 * local_read - the first line of a small file, sanitised
 * @ret:  @size bytes; "" if it is not known
 * @fmt:  printf format of the path
 * Return: whether it is known.
 */
bool local_read(struct local_root *root, char *ret, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* local_read_number - a decimal number or 0x and a hexadecimal one. Return: whether it is known; else untouched. */
bool local_read_number(struct local_root *root, uint64_t *ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* local_read_bytes - the first bytes of a file, at most @size. Return: how many; -1: not known. */
long local_read_bytes(struct local_root *root, void *ret, size_t size, const char *path);

/* local_read_text - append a file of at most @most bytes, as it is. Return: whether it is known. */
bool local_read_text(struct local_root *root, struct text *ret, size_t most, const char *path);

/* local_exists - whether a file or folder exists. */
bool local_exists(struct local_root *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * local_open_error - why a device node cannot be opened for reading and writing
 * A captured tree has the errno in ibwire/open/PATH for each one that could not be opened.
 * Return: 0 if it can; an errno; ENOENT: it does not exist.
 */
int local_open_error(struct local_root *root, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * local_resolve - follow a symbolic link by its text, one level
 * @ret:  LOCAL_PATH_SIZE bytes: path of the target, or @path if it is a folder
 * Return: whether it exists.
 */
bool local_resolve(struct local_root *root, const char *path, char ret[LOCAL_PATH_SIZE]);

/* Names of a folder in natural order. A zeroed struct is empty. */
struct local_names {
	char **names;
	size_t count, capacity;
};

/*
 * local_list - list a folder without names that begin with a dot; other than printable ones are problems
 * Return: 0, also if there is no such folder; ERR_NOMEM.
 */
int local_list(struct local_root *root, struct local_names *ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void local_names_done(struct local_names *names);

/* local_problem - count a file that cannot be used. */
void local_problem(struct local_root *root, const char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
