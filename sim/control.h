/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* control.h - control sockets of a simulation's processes ("traffic", "wire", "opensm"): one command each */
#ifndef IBWIRE_SIM_CONTROL_H
#define IBWIRE_SIM_CONTROL_H

#include <stdint.h>

struct error;
struct text;

/* Maximum length of a command, including its final NUL. */
#define CONTROL_MAX 4096

/*
 * control_listen - open the control socket of a part of the simulation @sockname (IBSIM_SOCKNAME)
 * @ret_fd:  a non-blocking listening socket; closed by the caller
 * Return: 0 or ERR_UNAVAILABLE.
 */
int control_listen(const char *sockname, const char *part, int *ret_fd, struct error *err);

/*
 * control_serve - accept one connection, run its command and send the response
 * @fd:          of control_listen(), readable
 * @timeout_us:  how long to wait for the command
 * @handler:     appends to @response and returns 0, or a negative error
 */
typedef int control_handler(void *ctx, const char *command, struct text *response, struct error *err);
void control_serve(int fd, int64_t timeout_us, control_handler *handler, void *ctx);

/* Sends a command to a part of a simulation, as control_send() does. */
typedef int control_function(const char *sockname, const char *command, struct text *response, struct error *err);

/*
 * control_send - send a command and wait for its response
 * @unavailable:  error text if the part is not listening
 * @response:     appended to
 *
 * Return: 0; ERR_UNAVAILABLE if the part is not listening; otherwise the error of the handler.
 */
int control_send(const char *sockname, const char *part, const char *command, const char *unavailable,
		 struct text *response, struct error *err);

#endif
