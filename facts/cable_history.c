/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "facts/cable_history.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "fabric/counter.h"

/* Ports that are followed: those of the subject, of its cables, and their peers. */
enum { PORTS_MOST = 256 };

/* Errors while a link trains do not count. */
#define TRAINING_US (300 * US_PER_S)

/* Errors of the link itself; discards and packets that were damaged before are not. */
#define LINK_ERRORS (COUNTER_BIT(COUNTER_SYMBOL_ERRORS) | COUNTER_BIT(COUNTER_LINK_ERROR_RECOVERY) | \
		     COUNTER_BIT(COUNTER_RCV_ERRORS) | COUNTER_BIT(COUNTER_LOCAL_LINK_INTEGRITY_ERRORS) | \
		     COUNTER_BIT(COUNTER_EXCESSIVE_BUFFER_OVERRUN_ERRORS))

/* A cable in a port, with the limits of the time that are known for it. */
struct stay {
	const char *serial; /* borrowed from the places of the port */
	int64_t from_us, to_us;
};

struct followed {
	struct history_port who;
	struct cable_place *places;
	size_t place_count, place_capacity;
	struct port_link *links;
	size_t link_count, link_capacity;
	struct stay *stays;  /* parallel to places */
};

struct loading {
	struct cable_history *history;
	struct reader *reader;
	int64_t since_us, until_us;
	struct followed *ports;
	size_t count;
	struct cable_period *periods; /* capacity */
	size_t period_capacity;
	struct error *err;
	bool failed;
};

static bool is_same_port(const struct history_port *a, const struct history_port *b)
{
	return a->node_guid == b->node_guid && a->num == b->num;
}

static struct followed *find_port(struct loading *loading, const struct history_port *who)
{
	for (size_t i = 0; i < loading->count; i++)
		if (is_same_port(&loading->ports[i].who, who))
			return &loading->ports[i];
	return NULL;
}

static bool keep_place(struct cable_place **list, size_t *count, size_t *capacity, const struct cable_place *place)
{
	struct cable_place *added = array_add(list, count, capacity, sizeof(*added));

	if (added)
		*added = *place;
	return added;
}

/* --- what is stored of a port --- */

struct of_port {
	struct loading *loading;
	struct followed *port;
};

static bool take_place(void *ctx, const struct cable_place *place)
{
	struct of_port *of = ctx;

	of->loading->failed |= !keep_place(&of->port->places, &of->port->place_count, &of->port->place_capacity, place);
	return !of->loading->failed;
}

static bool take_link(void *ctx, const struct port_link *link)
{
	struct of_port *of = ctx;
	struct port_link *added = array_add(&of->port->links, &of->port->link_count, &of->port->link_capacity,
					    sizeof(*added));

	if (added)
		*added = *link;
	of->loading->failed |= !added;
	return added;
}

static int follow_port(struct loading *loading, const struct history_port *who)
{
	struct followed *port;
	struct of_port of = { .loading = loading };
	struct cable_query query = { .node_guid = who->node_guid, .port = who->num, .since_us = loading->since_us,
				     .until_us = loading->until_us };
	int code;

	if (find_port(loading, who) || loading->count == PORTS_MOST)
		return 0;
	port = of.port = &loading->ports[loading->count++];
	port->who = *who;
	code = reader_cables(loading->reader, &query, take_place, &of, loading->err);
	if (code == 0)
		code = reader_port_links(loading->reader, who->node_guid, who->num, take_link, &of, loading->err);
	return code < 0 ? code : loading->failed ? err_nomem(loading->err) : 0;
}

/* The peers of all ports so far. */
static int follow_peers(struct loading *loading)
{
	size_t count = loading->count;
	int code = 0;

	for (size_t i = 0; code == 0 && i < count; i++)
		for (size_t j = 0; code == 0 && j < loading->ports[i].link_count; j++) {
			const struct port_link *link = &loading->ports[i].links[j];

			if (link->peer_guid && (!link->to_us || link->to_us > loading->since_us) &&
			    link->from_us < loading->until_us)
				code = follow_port(loading, &(struct history_port){ link->peer_guid, link->peer_port });
		}
	return code;
}

struct collected {
	struct cable_place *list;
	size_t count, capacity;
	bool failed;
};

static bool collect_place(void *ctx, const struct cable_place *place)
{
	struct collected *collected = ctx;

	collected->failed |= !keep_place(&collected->list, &collected->count, &collected->capacity, place);
	return !collected->failed;
}

/* The ports that a cable was in. Read first: a query does not begin within another one. */
static int follow_cable(struct loading *loading, const char *serial, bool of_subject)
{
	struct cable_query query = { .serial = serial, .port = -1, .since_us = loading->since_us,
				     .until_us = loading->until_us };
	struct cable_history *history = loading->history;
	struct collected places = { 0 };
	int code = reader_cables(loading->reader, &query, collect_place, &places, loading->err);

	if (code == 0 && places.failed)
		code = err_nomem(loading->err);
	for (size_t i = 0; code == 0 && i < places.count; i++) {
		const struct cable_place *place = &places.list[i];

		if (of_subject && !keep_place(&history->places, &history->place_count, &history->place_capacity, place))
			code = err_nomem(loading->err);
		else
			code = follow_port(loading, &(struct history_port){ place->node_guid, place->port });
	}
	free(places.list);
	return code;
}

static int follow_all(struct loading *loading, const char *serial, const struct history_port *ports, size_t port_count)
{
	struct cable_history *history = loading->history;
	size_t seeds;
	int code = serial ? follow_cable(loading, serial, true) : 0;

	for (size_t i = 0; code == 0 && i < port_count; i++)
		code = follow_port(loading, &ports[i]);
	for (size_t i = 0; code == 0 && !serial && i < loading->count; i++)
		for (size_t j = 0; code == 0 && j < loading->ports[i].place_count; j++)
			if (!keep_place(&history->places, &history->place_count, &history->place_capacity,
					&loading->ports[i].places[j]))
				code = err_nomem(loading->err);
	/* Nothing was imported of the subject. */
	if (code < 0 || !history->place_count)
		return code;
	code = follow_peers(loading);
	seeds = loading->count;
	for (size_t i = 0; code == 0 && i < seeds; i++)
		for (size_t j = 0; code == 0 && j < loading->ports[i].place_count; j++)
			code = follow_cable(loading, loading->ports[i].places[j].texts[IBDIAGNET_SERIAL], false);
	return code ? code : follow_peers(loading);
}

/* --- when a cable was in a port --- */

/*
 * The first and the last time in (after, before) at which a port had no link.
 * Return: false: none is known.
 */
static bool find_down(const struct followed *port, int64_t after_us, int64_t before_us, int64_t *ret_first,
		      int64_t *ret_last)
{
	bool found = false;

	for (size_t i = 0; i < port->link_count; i++) {
		const struct port_link *link = &port->links[i];
		int64_t to_us = link->to_us ? link->to_us : INT64_MAX;

		if ((link->active && link->peer_guid) || to_us <= after_us || link->from_us >= before_us)
			continue;
		if (!found)
			*ret_first = link->from_us > after_us ? link->from_us : after_us;
		*ret_last = to_us < before_us ? to_us : before_us;
		found = true;
	}
	return found;
}

static int find_stays(struct loading *loading, struct followed *port)
{
	int64_t first_us, last_us;

	port->stays = calloc(port->place_count + 1, sizeof(*port->stays));
	if (!port->stays)
		return err_nomem(loading->err);
	for (size_t i = 0; i < port->place_count; i++) {
		const struct cable_place *place = &port->places[i];
		struct stay *stay = &port->stays[i], *before = i ? &port->stays[i - 1] : NULL;
		int64_t after_us = i ? port->places[i - 1].last_us : 0;

		*stay = (struct stay){ place->texts[IBDIAGNET_SERIAL], place->from_us, place->last_us };
		/* The same cable with another firmware, or whose properties were read differently. */
		if (before && !strcmp(before->serial, stay->serial)) {
			before->to_us = stay->from_us;
			continue;
		}
		if (find_down(port, after_us, place->from_us, &first_us, &last_us)) {
			stay->from_us = last_us;
			if (before)
				before->to_us = first_us;
		} else if (!before) {
			/* No cable is exchanged while the link is up. */
			stay->from_us = loading->since_us;
		}
	}
	if (port->place_count) {
		struct stay *last = &port->stays[port->place_count - 1];

		last->to_us = find_down(port, last->to_us, loading->until_us, &first_us, &last_us) ? first_us :
											     loading->until_us;
	}
	return 0;
}

/* --- errors --- */

struct count {
	struct cable_period *period;
	int64_t hour, bad_hour;
	int64_t elapsed_us[2];
};

static bool count_piece(void *ctx, const struct history_piece *piece)
{
	struct count *count = ctx;

	count->hour = piece->from_us / (3600 * US_PER_S);
	return true;
}

static bool count_delta(void *ctx, size_t port, const struct history_port *who, const struct delta *delta,
			int64_t samples)
{
	struct count *count = ctx;
	uint64_t errors = 0;

	(void)who;
	(void)samples;
	count->elapsed_us[port] += delta->elapsed_us;
	for (int i = COUNTER_TRAFFIC_COUNT; i < COUNTER_COUNT; i++)
		if (LINK_ERRORS & delta->known & COUNTER_BIT(i))
			errors += delta->value[i];
	if (!errors)
		return true;
	count->period->errors += errors;
	count->period->bad_hours += count->hour != count->bad_hour;
	count->bad_hour = count->hour;
	return true;
}

/* Count what both ends of a link counted while it was up. */
static int count_errors(struct loading *loading, struct cable_period *period)
{
	struct count count = { .period = period, .bad_hour = -1 };
	const struct history_consumer consumer = { count_piece, count_delta, &count };
	struct history_damage damage = { 0 };
	struct history_query query = { .longest_us = 3600 * US_PER_S, .ports = period->ports, .port_count = 2,
				       .counters = LINK_ERRORS, .damage = &damage };
	struct history_range range;
	int64_t us;
	int code;

	if (period->to_us - period->from_us <= TRAINING_US)
		return 0;
	code = reader_history_range(loading->reader, period->from_us + TRAINING_US, period->to_us, &range,
				    loading->err);
	if (code < 0 || range.after == range.until)
		return code;
	query.after = range.after;
	query.until = range.until;
	code = reader_history(loading->reader, &query, &consumer, loading->err);
	us = count.elapsed_us[0] > count.elapsed_us[1] ? count.elapsed_us[0] : count.elapsed_us[1];
	period->hours = (double)us / (3600.0 * US_PER_S);
	/* Of less than an hour, all of it. */
	if (period->bad_hours > period->hours)
		period->bad_hours = period->hours;
	return code;
}

/* --- periods --- */

/* The cable in a port at a time, and the next time at which that changes. @ret_until: not later than it was */
static const char *cable_at(const struct followed *port, int64_t at_us, int64_t *ret_until)
{
	for (size_t i = 0; port && i < port->place_count; i++) {
		const struct stay *stay = &port->stays[i];

		if (stay->from_us > at_us && stay->from_us < *ret_until)
			*ret_until = stay->from_us;
		if (stay->from_us > at_us || stay->to_us <= at_us)
			continue;
		if (stay->to_us < *ret_until)
			*ret_until = stay->to_us;
		return stay->serial;
	}
	return "";
}

/* Add a period, or continue the last one of the same link. */
static int add_period(struct loading *loading, const struct cable_period *period)
{
	struct cable_history *history = loading->history;
	struct cable_period *added;

	for (size_t i = history->period_count; i-- > 0;) {
		struct cable_period *before = &loading->periods[i];

		if (!is_same_port(&before->ports[0], &period->ports[0]))
			break;
		if (is_same_port(&before->ports[1], &period->ports[1]) &&
		    !memcmp(before->serials, period->serials, sizeof(period->serials))) {
			before->to_us = period->to_us;
			before->hours += period->hours;
			before->bad_hours += period->bad_hours;
			before->errors += period->errors;
			return 0;
		}
		break;
	}
	added = array_add(&loading->periods, &history->period_count, &loading->period_capacity, sizeof(*added));
	if (!added)
		return err_nomem(loading->err);
	*added = *period;
	return 0;
}

/* The periods of a link while it had one peer. */
static int add_link(struct loading *loading, const struct followed *port, const struct port_link *link)
{
	int64_t until_us = link->to_us && link->to_us < loading->until_us ? link->to_us : loading->until_us;
	int64_t at_us = link->from_us > loading->since_us ? link->from_us : loading->since_us, next_us;
	struct cable_period period = { .ports = { port->who, { link->peer_guid, link->peer_port } } };
	const struct followed *peer = find_port(loading, &period.ports[1]);
	int code = 0;

	/* Once for both ends. */
	if (peer && peer < port)
		return 0;
	for (; code == 0 && at_us < until_us; at_us = next_us) {
		const char *serial, *other;

		next_us = until_us;
		serial = cable_at(port, at_us, &next_us);
		other = cable_at(peer, at_us, &next_us);
		if (!*serial && !*other)
			continue;
		memset(period.serials, 0, sizeof(period.serials));
		memcpy(period.serials[0], serial, strlen(serial));
		memcpy(period.serials[1], other, strlen(other));
		period.from_us = at_us;
		period.to_us = next_us;
		period.hours = period.bad_hours = 0;
		period.errors = 0;
		code = count_errors(loading, &period);
		if (code == 0)
			code = add_period(loading, &period);
	}
	return code;
}

static int add_links(struct loading *loading)
{
	int code = 0;

	for (size_t i = 0; code == 0 && i < loading->count; i++)
		code = find_stays(loading, &loading->ports[i]);
	for (size_t i = 0; code == 0 && i < loading->count; i++)
		for (size_t j = 0; code == 0 && j < loading->ports[i].link_count; j++) {
			const struct port_link *link = &loading->ports[i].links[j];

			if (link->active && link->peer_guid)
				code = add_link(loading, &loading->ports[i], link);
		}
	return code;
}

/* --- verdict --- */

static uint64_t port_part(const struct history_port *port)
{
	return map_mix(port->node_guid) ^ map_mix((uint64_t)port->num + 1);
}

static uint64_t cable_part(const char *serial)
{
	return map_hash_text(MAP_HASH_START, serial);
}

static void set_parts(struct cable_history *history, size_t at, struct link_period *ret)
{
	const struct cable_period *period = &history->periods[at];

	*ret = (struct link_period){ .hours = period->hours, .bad_hours = period->bad_hours };
	for (size_t end = 0; end < 2; end++) {
		history->part_ports[at][ret->part_count] = period->ports[end];
		ret->parts[ret->part_count++] = port_part(&period->ports[end]);
	}
	/* A cable has the same number at both ends, transceivers have one each. */
	for (size_t end = 0; end < 2; end++) {
		if (!*period->serials[end] || (end && !strcmp(period->serials[0], period->serials[1])))
			continue;
		memcpy(history->parts[at][ret->part_count], period->serials[end], IBDIAGNET_TEXT_SIZE);
		ret->parts[ret->part_count++] = cable_part(period->serials[end]);
	}
	history->part_counts[at] = ret->part_count;
}

static int compare_periods(const void *a, const void *b)
{
	const struct cable_period *x = a, *y = b;

	return x->from_us < y->from_us ? -1 : x->from_us > y->from_us;
}

static int judge(struct loading *loading, const char *serial, const struct history_port *ports, size_t port_count)
{
	struct cable_history *history = loading->history;
	size_t count = history->period_count, of_count = 0;
	struct link_period *periods = calloc(count + 1, sizeof(*periods));
	uint64_t of[3] = { 0 };

	history->parts = calloc(count + 1, sizeof(*history->parts));
	history->part_ports = calloc(count + 1, sizeof(*history->part_ports));
	history->part_counts = calloc(count + 1, sizeof(*history->part_counts));
	if (!periods || !history->parts || !history->part_ports || !history->part_counts) {
		free(periods);
		return err_nomem(loading->err);
	}
	if (count)
		qsort(history->periods, count, sizeof(*history->periods), compare_periods);
	for (size_t i = 0; i < count; i++)
		set_parts(history, i, &periods[i]);
	if (serial)
		of[of_count++] = cable_part(serial);
	for (size_t i = 0; i < port_count && i < 2; i++)
		of[of_count++] = port_part(&ports[i]);
	history->fault = link_fault_find(periods, count, of, of_count);
	free(periods);
	return 0;
}

int cable_history_load(struct cable_history *ret, struct reader *reader, const char *serial,
		       const struct history_port *ports, size_t port_count, int64_t since_us, int64_t until_us,
		       struct error *err)
{
	struct loading loading = { .history = ret, .reader = reader, .since_us = since_us, .until_us = until_us,
				   .ports = calloc(PORTS_MOST, sizeof(*loading.ports)), .err = err };
	int code = loading.ports ? follow_all(&loading, serial, ports, port_count) : err_nomem(err);

	if (code == 0 && ret->place_count)
		code = add_links(&loading);
	ret->periods = loading.periods;
	if (code == 0)
		code = judge(&loading, serial, ports, port_count);
	for (size_t i = 0; i < loading.count; i++) {
		free(loading.ports[i].places);
		free(loading.ports[i].links);
		free(loading.ports[i].stays);
	}
	free(loading.ports);
	return code;
}

void cable_history_done(struct cable_history *history)
{
	free(history->places);
	free(history->periods);
	free(history->parts);
	free(history->part_ports);
	free(history->part_counts);
	*history = (struct cable_history){ 0 };
}
