/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * err.h - error codes and texts
 *
 * A function that can fail returns 0 or a negative code. Its last parameter is a struct error (NULL
 * allowed) that receives one line: what happened and what to do. A code is the negated exit status
 * of sysexits.h, so a command that fails exits with -code.
 */
#ifndef IBWIRE_BASE_ERR_H
#define IBWIRE_BASE_ERR_H

enum {
	ERR_USAGE = -64,       /* wrong option or argument */
	ERR_UNAVAILABLE = -69, /* no fabric, no device, no collector */
	ERR_INTERNAL = -70,    /* internal error */
	ERR_NOMEM = -71,       /* out of memory, or another system failure */
	ERR_IO = -74,          /* database or I/O error */
};

struct error {
	int code;       /* 0 or one of ERR_* */
	char text[512]; /* one line, no newline at its end */
};

/*
 * err_set - fill in an error
 * @err:   the error to fill, or NULL
 * @code:  one of ERR_*
 * @fmt:   printf format of the line
 *
 * Return: @code, so that a function can end with "return err_set(...)".
 */
int err_set(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * err_prefix - put "context: " before the text of an error
 * @err:  a filled error, or NULL
 * @fmt:  printf format of the context
 *
 * Return: err->code (ERR_INTERNAL if @err is NULL).
 */
int err_prefix(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* err_nomem - report a failed allocation. Return: ERR_NOMEM. */
int err_nomem(struct error *err);

#endif
