/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * discovery.h - discovery in a helper process with a deadline
 *
 * libibnetdisc discovers the whole fabric, the explorer does if it fails. Where the result of the
 * library has holes (wire/merge.h), the explorer completes it in another process.
 *
 * The helper is a program that writes the records of a fabric (fabric/record.h) to its standard
 * output: ibwire itself with a hidden command. If it crashes, hangs or writes invalid records, the
 * caller gets an error and keeps its fabric. Its stderr is logged, escaped, ten lines at most.
 */
#ifndef IBWIRE_WIRE_DISCOVERY_H
#define IBWIRE_WIRE_DISCOVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fabric/record.h"

struct clock;
struct discovery;
struct error;
struct explore_port;
struct fabric;

/* Discovers a fabric, one discovery at a time: a struct discovery, a file, or a virtual fabric in tests. */
struct discoverer {
	/*
	 * Start a discovery. Not to be called while one is running.
	 * @last:   the last topology, or NULL; borrowed for this call
	 * @ports:  of @last: only these are explored (wire/explore.h), the rest is taken from @last
	 * @count:  of ports; 0: the whole fabric is discovered
	 * Return: 0 or a negative error.
	 */
	int (*start)(void *ctx, const struct fabric *last, const struct explore_port *ports, size_t count,
		     struct error *err);
	/*
	 * Wait for it, at most @timeout_ms. Return: 0: it is running; 1: it is finished, *ret (owned by the
	 * caller) and *ret_trailer are set, and *err to a sentence: with ERR_UNAVAILABLE why the fallback
	 * discovered it, with code 0 what both engines found differently; negative: it failed, of ports also if
	 * the whole fabric must be discovered.
	 */
	int (*step)(void *ctx, unsigned timeout_ms, struct fabric **ret, struct record_trailer *ret_trailer,
		    struct error *err);
	/* End a running discovery, and free the rest of a finished one. */
	void (*cancel)(void *ctx);
	void *ctx;
	/*
	 * NULL: the topology is discovered. Otherwise it is read from a file without verification, and no SMPs
	 * are sent. Return: "FILE of TIME" of the file last read (borrowed); *ret_changed: whether the file
	 * has changed since.
	 */
	const char *(*file)(void *ctx, bool *ret_changed);
};

struct discovery_settings {
	const char *const *argv; /* of the helper, NULL-terminated; argv[0] is the path of the program */
	/* NULL or empty: `argv` is the explorer. Otherwise of the explorer, if `argv` fails or leaves holes. */
	const char *const *fallback_argv;
	int64_t deadline_us;     /* maximum duration; with a fallback the first helper has a quarter of it */
	size_t output_max;       /* of a helper, in bytes; 0: 512 MB */
	bool pass_last;          /* whole discoveries get the last topology on stdin, too: for the M_Keys of nodes */
};

/* discovery_fallback_us - what the first helper leaves of a deadline to the fallback. */
int64_t discovery_fallback_us(int64_t deadline_us);

/*
 * discovery_create - a discoverer that starts a helper process
 * @settings, @clock:  borrowed, must outlive it
 *
 * A discovery is finished when the helper has closed its output after the last record (it may still be
 * running), has exited, or was killed at its deadline. ERR_UNAVAILABLE: it cannot be started or failed;
 * the text has its exit status and the last line of its stderr.
 * Return: 0 or ERR_NOMEM.
 */
int discovery_create(const struct discovery_settings *settings, const struct clock *clock, struct discovery **ret,
		     struct error *err);

/* discovery_destroy - kill the helper if it is running, and free the discovery. */
void discovery_destroy(struct discovery *discovery);

/* discovery_discoverer - its table of functions (borrowed from @discovery) */
const struct discoverer *discovery_discoverer(struct discovery *discovery);

/* discovery_run - one discovery. Return: 1: *ret is set; 0: a stop was requested (base/stop.h); an error. */
int discovery_run(const struct discovery_settings *settings, const struct clock *clock, struct fabric **ret,
		  struct record_trailer *ret_trailer, struct error *err);

/* discovery_end - wait briefly for the helper to exit, then kill it. Return: whether it succeeded. */
bool discovery_end(struct discovery *discovery);

/* discovery_messages - stderr of the helper so far, as received (borrowed, not escaped) */
const char *discovery_messages(const struct discovery *discovery);

#endif
