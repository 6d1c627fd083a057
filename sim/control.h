/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * control.h - how the parts of a running simulation are told something
 *
 * Each listens on an abstract socket beside ibsim's, named after the simulation
 * and the part. One connection is one command and one answer.
 */
#ifndef IBWIRE_SIM_CONTROL_H
#define IBWIRE_SIM_CONTROL_H

#include <stdint.h>

struct error;
struct text;

/* The longest command, with a NUL behind it. */
#define CONTROL_MAX 4096

/*
 * control_listen - be told things
 * @sockname:  of the simulation (IBSIM_SOCKNAME)
 * @part:      "traffic", "wire"
 * @ret_fd:    a listening socket, not blocking; the caller's to close
 *
 * Return: 0 or ERR_UNAVAILABLE.
 */
int control_listen(const char *sockname, const char *part, int *ret_fd, struct error *err);

/*
 * control_serve - take one command and answer it
 * @fd:           of control_listen(), readable
 * @timeout_us:  how long the other side may take to send its command
 * @handle_command:         does it: fills @answer and returns 0, or a negative error
 */
typedef int control_handler(void *ctx, const char *command, struct text *response, struct error *err);
void control_serve(int fd, int64_t timeout_us, control_handler *handle_command, void *ctx);

/*
 * control_send - tell a part something, and wait until it is done
 * @nobody:  the error's text where nobody listens
 *
 * Return: 0 with @answer filled; ERR_UNAVAILABLE where nobody listens; what the
 * other side says otherwise.
 */
int control_send(const char *sockname, const char *part, const char *command, const char *nobody, struct text *response,
		struct error *err);

#endif
