/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* relay.h - the process between ibsim and its clients: sockets and clock of relay_model.h */
#ifndef IBWIRE_SIM_RELAY_H
#define IBWIRE_SIM_RELAY_H

#include <stddef.h>

struct error;
struct fabric;
struct text;

struct relay_options {
	const struct fabric *fabric;
	const char *ibsim_name; /* socket name of ibsim */
	const char *name;       /* socket name of the relay, for clients */
	const char *wire;       /* "latency=20us ..."; NULL: defaults */
	const char *const *pma; /* "NODES caps=..." */
	size_t pma_count;
	int ready_fd;           /* a NUL is written when clients can connect, then it is closed and set to -1 */
};

/* relay_check - validate the options of relay_run(). Return: 0, ERR_USAGE or ERR_NOMEM. */
int relay_check(const struct relay_options *options, struct error *err);

/* relay_run - relay MADs until SIGTERM or the end of ibsim. Return: 0 or an error. */
int relay_run(struct relay_options *options, struct error *err);

/*
 * relay_control - send a command to the relay of a simulation; @response is appended to
 * @name:     $IBSIM_SOCKNAME
 * @command:  "wire latency=20us", "pma NODES caps=...", "wire": print settings and statistics;
 *            "waits GUID/PORT=RATE ...": PortXmitWait's increments in ticks per second
 * Return: 0; ERR_USAGE; ERR_UNAVAILABLE if the relay does not respond.
 */
int relay_control(const char *name, const char *command, struct text *response, struct error *err);

#endif
