/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * alert_set.h - findings as alerts of Alertmanager, and those that have to be sent to it
 *
 * Labels identify an alert: kind, number, severity and subject of a finding, which are constant while it is open, and
 * those of --label. Where the severity rises, one alert ends and another begins. An alert is firing while it is sent
 * with an end in the future, so that it ends by itself if it is no longer sent. One that has ended is sent with its end
 * for ALERT_ENDED_US, but only if Alertmanager has had it as firing: an end alone would be reported as one.
 *
 * Source: Alertmanager 0.25, api/v2/openapi.yaml: postableAlerts, gettableAlerts.
 */
#ifndef IBWIRE_CLI_ALERT_SET_H
#define IBWIRE_CLI_ALERT_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "cli/lib/options.h"

struct error;
struct finding_row;

#define ALERT_ENDED_US (15 * 60 * INT64_C(1000000))
#define ALERT_LABELS_MAX 24

struct alert {
	char *labels, *annotations; /* JSON objects; labels are sorted by name */
	int64_t finding;            /* its number; 0: about the collector */
	int64_t starts_us, ends_us; /* wall clock; ends_us 0: it is open */
	bool is_known;              /* Alertmanager has had it as firing */
	bool is_current;            /* of the newest update */
};

/* A zeroed struct is empty. */
struct alert_set {
	const struct option_label *labels; /* of --label; borrowed */
	size_t label_count;
	struct alert *list;
	size_t count, capacity;
	bool is_changed; /* an alert has begun or ended since alert_set_sent() */
};

void alert_set_done(struct alert_set *set);

/*
 * alert_set_begin - begin an update with the alerts of the present
 * alert_set_add - a finding that is open. @may_begin: false: it is clearing; its alert continues, but none begins
 * alert_set_add_stale - nothing current is known, since a time
 * alert_set_end - the others end, at a time; those that are not known to Alertmanager are forgotten
 * alert_set_close - a finding that has ended did so then. @now_us: wall clock
 * Return: false: no memory.
 */
void alert_set_begin(struct alert_set *set);
bool alert_set_add(struct alert_set *set, const struct finding_row *row, bool may_begin);
bool alert_set_add_stale(struct alert_set *set, int64_t since_us, const char *summary);
void alert_set_end(struct alert_set *set, int64_t now_us);
void alert_set_close(struct alert_set *set, int64_t finding, int64_t closed_us);

/* alert_set_has_stale - is the alert of alert_set_add_stale() open? */
bool alert_set_has_stale(const struct alert_set *set);

/*
 * alert_set_learn - add the alerts that Alertmanager has as firing and that may be of an earlier process
 * @json:  response to GET /api/v2/alerts. Those with other labels than ours are left out.
 * Return: 0; ERR_IO: it is not such a response; ERR_NOMEM.
 */
int alert_set_learn(struct alert_set *set, const char *json, struct error *err);

/* alert_set_learn_closed - the same without such a response: a finding that has closed, as if it were known. */
bool alert_set_learn_closed(struct alert_set *set, const struct finding_row *row);

/*
 * alert_set_write - the body of a POST to /api/v2/alerts
 * @until_us:  end of those that are open
 * alert_set_sent - Alertmanager has accepted it
 */
void alert_set_write(const struct alert_set *set, int64_t until_us, struct text *ret);
void alert_set_sent(struct alert_set *set, int64_t now_us);

#endif
