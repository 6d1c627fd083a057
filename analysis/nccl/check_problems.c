/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check_problems.c - lines about the problems of a log: how often, what they name, what to do */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/nccl/check.h"
#include "analysis/nccl/input.h"
#include "base/text.h"

/* A name in a torn message may be another one than NCCL printed. */
static bool is_named(const struct nccl_check *check, enum nccl_place place, const char *name)
{
	const struct nccl_log *log = check->log;
	bool listed = false;

	for (size_t i = 0; place == NCCL_REPORTER && i < log->host_count; i++)
		if (!strcmp(log->hosts[i].name, name))
			return !check->by_host[i].torn;
	for (size_t i = 0; place == NCCL_DEVICE && i < log->hca_count; i++) {
		if (!strcmp(log->hcas[i].name, name))
			return true;
		listed |= log->hcas[i].named;
	}
	return !listed;
}

/* "; 21 of 22 name 10.0.0.19, mlx5_6": what the most of them name. */
static void names_text(const struct nccl_check *check, size_t at, char *ret, size_t size)
{
	enum { SHARE_LEAST = 10 };
	static const char *const words[NCCL_PLACES] = { "peer ", "HCA ", "rank ", "reported by " };
	const struct nccl_problem *problem = &check->log->problems[at];
	size_t len = 0;

	ret[0] = '\0';
	for (enum nccl_place place = 0; check->log->tallies && place < NCCL_PLACES; place++) {
		const struct nccl_tally *tallies = check->log->tallies[at][place], *top = &tallies[0];
		uint32_t least;

		for (size_t i = 1; i < NCCL_TALLY_MOST; i++)
			if (tallies[i].count - tallies[i].excess > top->count - top->excess)
				top = &tallies[i];
		least = top->count - top->excess;
		/* A name in few failures is no evidence: others are as frequent. */
		if (!top->count || !is_named(check, place, top->name) ||
		    (problem->count > 1 && (least < 2 || least < problem->count / SHARE_LEAST)) || len >= size)
			continue;
		if (problem->count == 1)
			len += (size_t)snprintf(ret + len, size - len, "%s%s%s", len ? ", " : "; ", words[place],
						top->name);
		else
			len += (size_t)snprintf(ret + len, size - len, "%s%s%s (%s%" PRIu32 " of %" PRIu32 ")",
						len ? ", " : "; ", words[place], top->name, top->excess ? "at least "
							: "",
						least, problem->count);
	}
}

static enum nccl_severity severity_of(const struct nccl_check *check, const struct nccl_problem *problem)
{
	return check->log->ended_badly && problem->severity == NCCL_WARN ? NCCL_FAIL : problem->severity;
}

static void problem_check(struct nccl_check *check, size_t at)
{
	static const char *const kinds[NCCL_PROBLEM_KINDS] = {
		"failed work requests", "events of the HCA", "timeouts", "connections refused or closed by the peer",
		"failed calls of NCCL", "warnings",
	};
	const struct nccl_problem *problem = &check->log->problems[at];
	const struct nccl_status *status = nccl_status_find(problem->status);
	bool harmless = problem->severity == NCCL_NOTE;
	char names[256];

	names_text(check, at, names, sizeof(names));
	if (problem->kind == NCCL_COMPLETION)
		nccl_check_add(check, NCCL_FAIL, status->fix,
			       "%u failed work request%s, status %d (%s)%s: %s", problem->count,
			       text_plural(problem->count),
			       problem->status, status->text, names, problem->text);
	else
		nccl_check_add(check, severity_of(check, problem), problem->known ? problem->known->fix :
			       problem->kind == NCCL_TIMEOUT ? "find the rank that did not call the operation: stack "
			       "and log of each process; then its link: ibwire health" :
			       "look for the first failure in the logs of all ranks, with NCCL_DEBUG=INFO",
			       "%s%s: %u%s: %s%s%s", harmless ? "harmless " : "", kinds[problem->kind],
			       problem->count, names,
			       problem->text, harmless ? "; printed since version " : "",
			       harmless ? problem->known->since : "");
}

/*
 * What the ranks wait for when PyTorch's watchdog ends them. All ranks of a group run the same operations in the same
 * order: the rank with the lowest number has not reached the operation of the others.
 */
static void overdue_check(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;

	for (size_t i = 0; i < log->overdue_count; i++) {
		const struct nccl_overdue *last = &log->overdue[i], *most = last;

		for (size_t j = 0; j < log->overdue_count; j++) {
			const struct nccl_overdue *other = &log->overdue[j];

			if (strcmp(other->group, last->group) != 0)
				continue;
			if (other->sequence < last->sequence)
				last = NULL;
			if (!last)
				break;
			if (other->ranks > most->ranks || (other->ranks == most->ranks &&
							   other->sequence > most->sequence))
				most = other;
		}
		if (!last || most == last || last->rank == UINT32_MAX)
			continue;
		nccl_check_add(check, NCCL_FAIL, "look at the process of this rank: stack, data loader, GPU, and "
			       "its log",
			       "rank %" PRIu32 "%s is behind: %s (SeqNum %" PRIu64 "); %"
			       PRIu64 " rank%s wait%s in %s (SeqNum %"
			       PRIu64 ")", last->rank, last->ranks > 1 ? " and others" : "", last->operation,
				       last->sequence,
			       most->ranks, text_plural(most->ranks), most->ranks == 1 ? "s" : "", most->operation,
			       most->sequence);
	}
}

void nccl_check_problems(struct nccl_check *check)
{
	overdue_check(check);
	for (size_t i = 0; i < check->log->problem_count; i++)
		problem_check(check, i);
}
