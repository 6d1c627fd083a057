/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* output.h - an answer that is one text */
#ifndef IBWIRE_CLI_OUTPUT_H
#define IBWIRE_CLI_OUTPUT_H

struct error;
struct text;

/*
 * output_text - write it to stdout, and free it
 *
 * A reader that leaves early is no error. Return: 0; ERR_NOMEM where the text could not be made; ERR_IO.
 */
int output_text(struct text *text, struct error *err);

#endif
