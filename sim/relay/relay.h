/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * relay.h - the process between ibsim and its clients
 *
 * For clients it is an ibsim of its own name. Towards ibsim it has, for
 * each of them, the socket that ibsim expects under the client's process id. What it does with
 * datagrams is relay_model's; here are sockets, and the time.
 */
#ifndef IBWIRE_SIM_RELAY_H
#define IBWIRE_SIM_RELAY_H

#include <stddef.h>

struct error;
struct fabric;
struct text;

struct relay_options {
	const struct fabric *fabric;
	const char *ibsim_name; /* socket name of ibsim */
	const char *name;       /* under which clients find the relay */
	const char *wire;       /* "latency=20us ..."; NULL: nothing */
	const char *const *pma; /* "NODES caps=..." */
	size_t pma_count;
	int ready_fd;           /* one NUL is written when clients can come, then it is closed and -1 */
};

/* relay_check - would relay_run() understand these? Return: 0, ERR_USAGE or ERR_NOMEM. */
int relay_check(const struct relay_options *options, struct error *err);

/* relay_run - relay until SIGTERM, or until ibsim is gone. Return: 0 or what went wrong. */
int relay_run(struct relay_options *options, struct error *err);

/*
 * relay_control - tell the relay of a simulation something
 * @name:     $IBSIM_SOCKNAME
 * @command:  "wire latency=20us", "pma NODES caps=...", "wire" alone: say how it is
 * @answer:   what it says is appended
 *
 * Return: 0; ERR_USAGE; ERR_UNAVAILABLE where no relay answers.
 */
int relay_control(const char *name, const char *command, struct text *response, struct error *err);

#endif
