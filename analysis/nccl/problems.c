/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* problems.c - warnings, failed calls and timeouts of a log, counted by text and by what they name */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/nccl/input.h"

/* Do the texts differ in numbers only? Hexadecimal digits are part of numbers: addresses. */
static bool is_same_text(const char *a, const char *b)
{
	for (;;) {
		while (isxdigit((unsigned char)*a))
			a++;
		while (isxdigit((unsigned char)*b))
			b++;
		if (*a != *b)
			return false;
		if (!*a)
			return true;
		a++;
		b++;
	}
}

/* Count a name. A new one replaces the rarest if there is no place: the most frequent ones stay. */
static void tally_add(struct nccl_tally tallies[NCCL_TALLY_MOST], const char *name, size_t len)
{
	struct nccl_tally wanted = { .count = 1 }, *rarest = tallies;

	if (!len || len >= NCCL_NAME_SIZE)
		return;
	nccl_copy(wanted.name, sizeof(wanted.name), name, len);
	for (size_t i = 0; i < NCCL_TALLY_MOST; i++) {
		if (tallies[i].count && !strcmp(tallies[i].name, wanted.name)) {
			tallies[i].count++;
			return;
		}
		if (tallies[i].count < rarest->count)
			rarest = &tallies[i];
	}
	wanted.count += rarest->count;
	wanted.excess = rarest->count;
	*rarest = wanted;
}

/*
 * The address after "from peer ", "connect to " and the like. Only what its end confirms is whole: a torn name would
 * be another one.
 */
static const char *named_peer(const char *text, size_t *ret_len)
{
	static const char *const words[] = { " peer ", "onnect to " };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (const char *at = text; (at = strstr(at, words[i]));) {
			size_t len, digits;

			at += strlen(words[i]);
			len = strcspn(at, " <,");
			digits = at[len] == '<' ? strspn(at + len + 1, "0123456789") : 0;
			if (!digits || at[len + 1 + digits] != '>')
				continue;
			*ret_len = len;
			return at;
		}
	return NULL;
}

/* "... hca mlx5_6" at the end, or "NET/IB : mlx5_3:1 Got async event". */
static const char *named_hca(const char *text, size_t *ret_len)
{
	const char *at = strstr(text, " hca ");

	if (at) {
		*ret_len = strcspn(at + 5, " ,");
		return at + 5;
	}
	if (strncmp(text, "NET/IB : ", 9))
		return NULL;
	at = text + 9;
	*ret_len = strcspn(at, ": ");
	return at[*ret_len] == ':' && isdigit((unsigned char)at[*ret_len + 1]) ? at : NULL;
}

/* @rank: UINT32_MAX: unknown, or that of the process */
static void tally_names(struct nccl_log *log, size_t problem, const struct nccl_process *process, uint32_t rank,
			const char *text)
{
	char number[16];
	const char *name;
	size_t len;

	if (!log->tallies)
		log->tallies = calloc(NCCL_PROBLEMS_MOST, sizeof(*log->tallies));
	if (!log->tallies) {
		log->failed = true;
		return;
	}
	name = named_peer(text, &len);
	if (name)
		tally_add(log->tallies[problem][NCCL_PEER], name, len);
	name = named_hca(text, &len);
	if (name)
		tally_add(log->tallies[problem][NCCL_DEVICE], name, len);
	if (process && process->rank_of)
		rank = process->rank;
	if (rank != UINT32_MAX)
		tally_add(log->tallies[problem][NCCL_RANK], number,
			  (size_t)snprintf(number, sizeof(number), "%u", rank));
	name = process ? log->hosts[process->host].name : NULL;
	if (name)
		tally_add(log->tallies[problem][NCCL_REPORTER], name, strlen(name));
}

/* @rank: that reports it without a process; UINT32_MAX: unknown. Return: its index; UINT32_MAX: beyond the limits. */
static uint32_t problem_add(struct nccl_log *log, const struct nccl_problem *like, const struct nccl_process *process,
			    uint32_t rank, const char *text)
{
	enum { END = 80 }; /* kept of a long text: the HCA is at the end */
	struct nccl_problem wanted = *like;
	size_t i, len = strlen(text);

	nccl_copy(wanted.text, sizeof(wanted.text), text, len);
	if (len >= sizeof(wanted.text)) {
		memcpy(wanted.text + sizeof(wanted.text) - END - 4, "... ", 4);
		nccl_copy(wanted.text + sizeof(wanted.text) - END, END, text + len - (END - 1), END - 1);
	}
	log->problem_total[wanted.kind]++;
	for (i = 0; i < log->problem_count; i++) {
		const struct nccl_problem *problem = &log->problems[i];

		if (problem->kind == wanted.kind && problem->status == wanted.status &&
		    problem->known == wanted.known &&
		    (wanted.kind == NCCL_COMPLETION || is_same_text(problem->text, wanted.text)))
			break;
	}
	if (i == NCCL_PROBLEMS_MOST) {
		log->dropped++;
		return UINT32_MAX;
	}
	if (i == log->problem_count) {
		wanted.count = 0;
		wanted.process = process ? (uint32_t)(process - log->processes) : UINT32_MAX;
		log->problems[log->problem_count++] = wanted;
	}
	log->problems[i].count++;
	tally_names(log, i, process, rank, text);
	return (uint32_t)i;
}

/*
 * The status of a failed work request: "error 12" until 2.19, then "status=12", since 2.28.7
 * "status=IBV_WC_RETRY_EXC_ERR(12)".
 */
static int completion_status(const char *text)
{
	const char *at = strstr(text, "status=");

	if (at)
		at += isdigit((unsigned char)at[7]) ? 7 : 7 + strcspn(at + 7, "(") + 1;
	else if ((at = strstr(text, "error ")))
		at += 6;
	return at && at < text + strlen(text) ? atoi(at) : 0;
}

void nccl_warning_read(struct nccl_log *log, struct nccl_process *process, const char *text)
{
	const struct nccl_warning *known = nccl_warning_find(&log->input->warnings, text);
	struct nccl_problem problem = { .kind = known ? known->kind : NCCL_WARNING, .known = known,
					.severity = known ? known->severity : NCCL_WARN };
	uint32_t found;

	if (problem.kind == NCCL_COMPLETION)
		problem.status = completion_status(text);
	found = problem_add(log, &problem, process, UINT32_MAX, text);
	if (process && found != UINT32_MAX && problem.severity > NCCL_NOTE)
		process->problem = (uint8_t)(found + 1);
}

/*
 * NCCLCHECK in NCCL's src/include/checks.h prints a line for each caller that a failure passes. Below the
 * outermost functions some failures are expected, and NCCL continues; results: 0 success, 7 in progress.
 */
bool nccl_trace_read(struct nccl_log *log, const struct nccl_process *process, const char *text)
{
	static const char *const outermost[] = { "init.cc:", "group.cc:", "enqueue.cc:", "init.cu:", "group.cu:",
						"enqueue.cu:" };
	const struct nccl_problem call = { .kind = NCCL_FAILED_CALL, .severity = NCCL_FAIL };
	const char *arrow = strstr(text, " -> "), *colon = strchr(text, ':'), *name = text;
	bool is_outermost;
	char *end;
	long result;

	if (!arrow || !colon || colon > arrow || strcspn(text, " ") != (size_t)(arrow - text) ||
	    strspn(colon + 1, "0123456789") != (size_t)(arrow - colon - 1))
		return false;
	result = strtol(arrow + 4, &end, 10);
	if (end == arrow + 4 || (*end && *end != ' ') || result == 0 || result == 7)
		return false;
	for (const char *at = text; at < colon; at++)
		if (*at == '/')
			name = at + 1;
	is_outermost = strstr(end, "thread]") != NULL;
	for (size_t i = 0; i < sizeof(outermost) / sizeof(outermost[0]); i++)
		is_outermost |= !strncmp(name, outermost[i], strlen(outermost[i]));
	if (process && process->problem)
		log->problems[process->problem - 1].severity = NCCL_FAIL;
	else if (is_outermost)
		problem_add(log, &call, process, UINT32_MAX, text);
	return true;
}

/* What follows a word, up to one of the bytes that end it. Return: false: it is not there. */
static bool word_after(const char *text, const char *word, const char *ends, char *ret, size_t size)
{
	const char *at = strstr(text, word);
	size_t len;

	if (!at)
		return false;
	at += strlen(word);
	len = strcspn(at, ends);
	if (!len || !at[len])
		return false;
	nccl_copy(ret, size, at, len);
	return true;
}

/* "[rank3]:" of PyTorch at the start of a line, or "[Rank 3]" in it. Return: UINT32_MAX: neither. */
static uint32_t line_rank(const char *line)
{
	char number[24];

	return (word_after(line, "[rank", "]", number, sizeof(number)) ||
		word_after(line, "[Rank ", "]", number, sizeof(number))) && isdigit((unsigned char)number[0]) ?
	       (uint32_t)strtoul(number, NULL, 10) : UINT32_MAX;
}

void nccl_failure_read(struct nccl_log *log, const char *line, const char *text)
{
	const struct nccl_problem call = { .kind = NCCL_FAILED_CALL, .severity = NCCL_FAIL };

	problem_add(log, &call, NULL, line_rank(line), text);
}

/*
 * "[rank3]:[E1119 13:21:12 ProcessGroupNCCL.cpp:616] [PG ID 0 PG GUID 0(default_pg) Rank 3] Watchdog caught
 * collective operation timeout: WorkNCCL(SeqNum=1559, OpType=ALLREDUCE, ...". Some releases print "[Rank 3]" or
 * "[PG 0 Rank 3]".
 */
void nccl_watchdog_read(struct nccl_log *log, const char *line, const char *text)
{
	const struct nccl_problem timeout = { .kind = NCCL_TIMEOUT, .severity = NCCL_FAIL };
	struct nccl_overdue wanted = { .ranks = 1 };
	const char *group = strstr(line, "[PG "), *words = strstr(line, "Watchdog caught "), *rank;
	char number[24];

	wanted.rank = line_rank(line);
	problem_add(log, &timeout, NULL, wanted.rank, text);
	if (!word_after(text, "SeqNum=", ",) ", number, sizeof(number)) ||
	    !word_after(text, "OpType=", ",) ", wanted.operation, sizeof(wanted.operation)))
		return;
	wanted.sequence = strtoull(number, NULL, 10);
	rank = group && words && group < words ? strstr(group, " Rank ") : NULL;
	if (rank && rank < words)
		nccl_copy(wanted.group, sizeof(wanted.group), group + 1, (size_t)(rank - group - 1));
	/* PyTorch prints it again when the thread and then the process end; a launcher may print a line twice. */
	if (wanted.rank != UINT32_MAX) {
		uint64_t key = map_mix(nccl_hash(wanted.group, strlen(wanted.group),
						 nccl_hash(wanted.operation, strlen(wanted.operation),
							   wanted.sequence)) ^ (wanted.rank + 1ull));
		uint32_t found;

		if (map_get(&log->overdue_map, key, &found))
			return;
		if (log->overdue_ranks == NCCL_PROCESSES_MOST) {
			log->dropped++;
			return;
		}
		log->overdue_ranks++;
		log->failed |= map_put(&log->overdue_map, key, 1) != 0;
	}
	for (size_t i = 0; i < log->overdue_count; i++) {
		struct nccl_overdue *overdue = &log->overdue[i];

		if (overdue->sequence != wanted.sequence || strcmp(overdue->operation, wanted.operation) != 0 ||
		    strcmp(overdue->group, wanted.group) != 0)
			continue;
		overdue->ranks++;
		return;
	}
	if (log->overdue_count < NCCL_OVERDUE_MOST)
		log->overdue[log->overdue_count++] = wanted;
	else
		log->dropped++;
}
