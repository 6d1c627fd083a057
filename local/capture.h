/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* capture.h - a tar.gz of the files that were read, for examination elsewhere */
#ifndef IBWIRE_LOCAL_CAPTURE_H
#define IBWIRE_LOCAL_CAPTURE_H

#include <stddef.h>

#include "base/map.h"
#include "base/text.h"

struct error;

/* A zeroed struct with a folder name is empty. */
struct capture {
	const char *folder; /* in which all members are, borrowed */
	struct text tar;
	struct map known;   /* hashes of the paths that it has */
	size_t files;
};

/* Add a file, a symbolic link or a folder, once per path. Without a capture (NULL) nothing is done. */
void capture_file(struct capture *capture, const char *path, const void *bytes, size_t len);
void capture_link(struct capture *capture, const char *path, const char *target);
void capture_folder(struct capture *capture, const char *path);

/*
 * capture_write - write it, compressed by gzip(1), with permissions of the owner only
 * A failure leaves no file behind.
 * Return: 0; ERR_IO; ERR_UNAVAILABLE: no gzip; ERR_NOMEM.
 */
int capture_write(struct capture *capture, const char *file, struct error *err);
void capture_done(struct capture *capture);

#endif
