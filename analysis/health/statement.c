/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What an open finding states: its text in present and past tense, its numbers, and what remains at its end. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analysis/health/state.h"

/* Keep one of the two alternatives of each TENSE. */
static void set_tense(const char *both, bool past, char *ret, size_t size)
{
	size_t len = 0;
	char part = 0;

	for (; *both && len + 1 < size; both++)
		if (*both >= 1 && *both <= 3)
			part = *both % 3;
		else if (!part || past == (part == 2))
			ret[len++] = *both;
	ret[len] = '\0';
}

void health_text(struct health_open_finding *open, const char *format, ...)
{
	char both[2 * sizeof(open->finding.text)];
	va_list args;

	va_start(args, format);
	vsnprintf(both, sizeof(both), format, args);
	va_end(args);
	set_tense(both, false, open->finding.text, sizeof(open->finding.text));
	set_tense(both, true, open->past, sizeof(open->past));
}

void health_number(struct health_open_finding *open, const char *key, double value)
{
	struct finding *finding = &open->finding;

	if (finding->number_count < FINDING_NUMBERS_MAX)
		finding->numbers[finding->number_count++] = (struct finding_number){ key, value };
}

void health_lower_bound(struct health_open_finding *open, bool at_least)
{
	for (unsigned i = 0; i < open->finding.number_count; i++)
		at_least &= strcmp(open->finding.numbers[i].key, FINDING_LOWER_BOUND) != 0;
	if (at_least)
		health_number(open, FINDING_LOWER_BOUND, 1);
}

void health_window(const struct health *health, struct health_open_finding *open, int64_t from_us, int64_t until_us)
{
	health_number(open, FINDING_WINDOW_FROM, (double)(health->wall_us - (health->now_us - from_us)));
	health_number(open, FINDING_WINDOW_UNTIL, (double)(health->wall_us - (health->now_us - until_us)));
}

/*
 * The last window may end after the repair, and have little of the fault; what many ports, nodes or hosts have in
 * common ends at some of them earlier. Of equal extents the last remains, which has lasted longest.
 */
void health_keep_worst(struct health_open_finding *open)
{
	const struct finding *finding = &open->finding;
	const struct finding_number *number = finding_magnitude(finding);
	bool of_window = finding_is_of_window(finding->kind);
	double magnitude = !of_window ? open->extent : number ? number->value : 0;

	if ((of_window ? !number : !(magnitude > 0)) ||
	    (*open->worst.past && (magnitude < open->worst.magnitude ||
				   (of_window && magnitude <= open->worst.magnitude))))
		return;
	memcpy(open->worst.past, open->past, sizeof(open->worst.past));
	memcpy(open->worst.numbers, finding->numbers, sizeof(open->worst.numbers));
	open->worst.number_count = finding->number_count;
	memcpy(open->worst.hosts, finding->hosts, sizeof(open->worst.hosts));
	open->worst.host_count = finding->host_count;
	open->worst.affected_hosts = finding->affected_hosts;
	memcpy(open->worst.ports, finding->ports, sizeof(open->worst.ports));
	open->worst.port_count = finding->port_count;
	open->worst.magnitude = magnitude;
}

void health_restore_worst(struct health_open_finding *open)
{
	struct finding *finding = &open->finding;

	if (!*open->worst.past)
		return;
	memcpy(open->past, open->worst.past, sizeof(open->past));
	memcpy(finding->numbers, open->worst.numbers, sizeof(open->worst.numbers));
	finding->number_count = open->worst.number_count;
	memcpy(finding->hosts, open->worst.hosts, sizeof(open->worst.hosts));
	finding->host_count = open->worst.host_count;
	finding->affected_hosts = open->worst.affected_hosts;
	open->affected_generation = 0;
	memcpy(finding->ports, open->worst.ports, sizeof(open->worst.ports));
	finding->port_count = open->worst.port_count;
}
