/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cli/collect_fast.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/lib/options.h"
#include "fabric/fabric.h"
#include "fabric/shape.h"
#include "storage/jobs.h"
#include "storage/reader.h"

/* The hosts of all running jobs. */
struct running {
	const struct shape *shape;
	bool *listed; /* by host */
	uint64_t jobs;
	int code;
	struct error *err;
};

static bool add_job(void *ctx, const struct job *job)
{
	struct running *running = ctx;
	int code;

	if (job->end_us || job->suspended_since_us)
		return true;
	running->jobs++;
	code = shape_mark_hosts(running->shape, job->hosts, running->listed, NULL, running->err);
	running->code = code < 0 ? code : 0;
	return code >= 0;
}

/* Without a database no job is known. */
static int read_jobs(const struct options *options, struct running *running, struct error *err)
{
	const struct job_query query = { .most = 1 };
	struct reader *reader = NULL;
	char path[PATH_MAX];
	int code = options_db_path(options, false, path, sizeof(path), err);

	if (code == 0)
		code = reader_open(path, &reader, err);
	if (code == ERR_UNAVAILABLE)
		return 0;
	if (code == 0)
		code = jobs_list(reader, &query, NULL, add_job, running, err);
	reader_close(reader);
	return code < 0 ? code : running->code;
}

static uint64_t count_ports(const struct shape *shape, const bool *listed)
{
	const struct fabric *fabric = shape->fabric;
	uint64_t ports = 0;

	for (size_t i = 0; i < shape->host_count; i++) {
		const struct shape_host *host = &shape->hosts[i];

		for (uint32_t j = host->first; listed[i] && j < host->first + host->count; j++) {
			const struct node *node = &fabric->nodes[shape->host_nodes[j]];

			for (uint32_t port = node->first_port; port < node->first_port + node->ports; port++)
				ports += port_is_live(fabric, &fabric->ports[port]);
		}
	}
	return ports;
}

int collect_fast_assume(const struct options *options, const struct fabric *fabric,
			const struct shape_settings *settings, struct fast_assumption *ret, struct error *err)
{
	struct running running = { .err = err };
	struct shape *shape;
	int code = shape_create(fabric, settings, &shape, err);

	if (code < 0)
		return code;
	running.shape = shape;
	running.listed = calloc(shape->host_count + 1, sizeof(*running.listed));
	code = running.listed ? read_jobs(options, &running, err) : err_nomem(err);
	if (code == 0 && !running.jobs) {
		code = shape_mark_hosts(shape, "", running.listed, NULL, err);
		code = code < 0 ? code : 0;
	}
	if (code == 0) {
		*ret = (struct fast_assumption){ .jobs = running.jobs, .ports = count_ports(shape, running.listed) };
		if (running.jobs)
			snprintf(ret->text, sizeof(ret->text), "%" PRIu64 " running job%s", running.jobs,
				 text_plural(running.jobs));
		else
			snprintf(ret->text, sizeof(ret->text), "no job runs: all hosts");
	}
	free(running.listed);
	shape_destroy(shape);
	return code;
}
