/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tui/model/job_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/balance.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "base/when.h"
#include "fabric/fabric.h"
#include "fabric/host_set.h"
#include "fabric/shape.h"
#include "storage/history.h"
#include "tui/model/live.h"

/* Minimum interval of reading the list, also as a multiple of its duration, and the bytes of a running job. */
#define RELOAD_US (3 * US_PER_S)
#define RELOAD_SHARE 300

/* Those that began last. */
#define JOBS_MOST 1000
#define BYTES_RELOAD_US (30 * US_PER_S)

static void free_rows(struct job_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		job_done(&rows[i].job);
	free(rows);
}

void job_list_done(struct job_list *list)
{
	free_rows(list->rows, list->count);
	*list = (struct job_list){ 0 };
}

static size_t count_hosts(const char *hosts)
{
	struct host_set set = { 0 };
	size_t count = hosts[0] && host_set_add(&set, hosts, NULL) == 0 ? set.count : 0;

	host_set_done(&set);
	return count;
}

static bool add_row(void *ctx, const struct job *job)
{
	struct job_list *list = ctx;
	struct job_row *rows = array_grow(list->rows, list->count, &list->capacity, sizeof(*rows)), *row;

	if (!rows)
		goto no_memory;
	list->rows = rows;
	row = &rows[list->count];
	*row = (struct job_row){ .job = *job, .bytes = NAN };
	row->job.hosts = strdup(job->hosts);
	row->job.command = strdup(job->command);
	list->count++;
	if (row->job.hosts && row->job.command)
		return true;
	job_done(&list->rows[--list->count].job);
no_memory:
	snprintf(list->problem, sizeof(list->problem), "not enough memory for all jobs");
	return false;
}

/* Jobs of the old list keep what was computed, unless they have ended since. */
static void keep_known(struct job_list *list, const struct job_row *old, size_t old_count)
{
	for (size_t i = 0, k = 0; i < list->count; i++) {
		struct job_row *row = &list->rows[i];

		while (k < old_count && old[k].job.number < row->job.number)
			k++;
		if (k == old_count || old[k].job.number != row->job.number) {
			row->hosts = count_hosts(row->job.hosts);
			continue;
		}
		row->hosts = old[k].hosts;
		row->bytes = old[k].bytes;
		row->read_boot_us = old[k].job.ending == row->job.ending ? old[k].read_boot_us : 0;
	}
}

void job_list_load(struct job_list *list, const struct live *live)
{
	int64_t now_us = clock_boottime_us(live->clock);
	int64_t pause_us = RELOAD_SHARE * list->took_us > RELOAD_US ? RELOAD_SHARE * list->took_us : RELOAD_US;
	struct job_list next = { .loaded_boot_us = now_us, .at_us = live->at_us };
	const struct job_query query = { .most = JOBS_MOST, .at_us = live->at_us };
	struct error trouble = { 0 };

	if (!live->reader || (list->loaded_boot_us && list->at_us == live->at_us &&
			      now_us - list->loaded_boot_us < pause_us))
		return;
	if (jobs_list(live->reader, &query, NULL, add_row, &next, &trouble) < 0)
		snprintf(next.problem, sizeof(next.problem), "%s", trouble.text);
	keep_known(&next, list->rows, list->count);
	free_rows(list->rows, list->count);
	next.took_us = clock_boottime_us(live->clock) - now_us;
	*list = next;
}

/* The HCA ports of a job's hosts. Return: their number. */
static size_t find_ports(const struct job *job, const struct shape *shape, uint32_t *ret)
{
	const struct fabric *fabric = shape->fabric;
	bool *listed = calloc(shape->host_count + 1, sizeof(*listed));
	size_t count = 0;

	if (!listed || shape_mark_hosts(shape, job->hosts, listed, NULL, NULL) < 0)
		goto out;
	for (size_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];

		for (uint32_t k = host->first; listed[i] && k < host->first + host->count; k++) {
			const struct node *node = &fabric->nodes[shape->host_nodes[k]];

			for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
				if (port_is_pollable(fabric, &fabric->ports[port]))
					ret[count++] = port;
		}
	}
out:
	free(listed);
	return count;
}

bool job_list_read_bytes(struct job_row *row, const struct live *live, const struct shape *shape)
{
	const struct snapshot *shown = live->shown;
	int64_t now_us = clock_boottime_us(live->clock);
	struct load_query query = { .since_us = row->job.begin_us, .until_us = row->job.end_us, .snapshot = shown };
	struct balance_load *loads;
	uint32_t *ports;
	double bytes = NAN;

	if (!live->reader || !shape ||
	    (row->read_boot_us && (row->job.end_us || now_us - row->read_boot_us < BYTES_RELOAD_US)))
		return false;
	loads = calloc(shown->fabric->port_count + 1, sizeof(*loads));
	ports = calloc(shown->fabric->port_count + 1, sizeof(*ports));
	if (loads && ports) {
		query.ports = ports;
		query.port_count = find_ports(&row->job, shape, ports);
		if (!query.until_us)
			query.until_us = live->status.last.wall_us;
		if (query.port_count && reader_history_loads(live->reader, &query, loads, NULL) > 0)
			for (size_t i = 0; i < query.port_count; i++)
				if (loads[ports[i]].known)
					bytes = (isnan(bytes) ? 0 : bytes) + loads[ports[i]].xmit_bytes +
						loads[ports[i]].rcv_bytes;
	}
	row->bytes = bytes;
	row->read_boot_us = now_us;
	free(loads);
	free(ports);
	return true;
}

static bool job_runs(const struct job *job, int64_t wall_us)
{
	return job->begin_us <= wall_us && (!job->end_us || job->end_us >= wall_us);
}

size_t job_list_line(const struct job_list *list, int64_t now_us, char *ret, size_t size)
{
	size_t running = 0;
	struct text line = { 0 };

	for (size_t i = 0; i < list->count; i++) {
		const struct job_row *row = &list->rows[i];
		char span[WHEN_SIZE];

		if (!job_runs(&row->job, now_us))
			continue;
		text_appendf(&line, "%s%s%s%s ", running ? ", " : "", row->job.display_id, row->job.name[0] ? " " : "",
			     row->job.name);
		if (row->hosts)
			text_appendf(&line, "%zu host%s ", row->hosts, row->hosts == 1 ? "" : "s");
		else
			text_append(&line, "all hosts ");
		text_append(&line, when_format_span((now_us - row->job.begin_us) / US_PER_S * US_PER_S, span));
		running++;
	}
	/* Texts of jobs are sanitised; a character has at most four bytes. */
	snprintf(ret, size, "%.*s", (int)text_prefix_bytes(text_chars(&line), size / 4), text_chars(&line));
	text_done(&line);
	return running;
}
