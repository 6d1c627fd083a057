/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tables.c - tables of nccl-tests and rccl-tests, and what they must put on the wire
 *
 * Formats of nccl-tests 2.0 to 2.19 (src/common.cu and the file of each operation) and rccl-tests
 * (src/common.cu). Columns differ by operation and version, so that the header of the table gives
 * their meaning.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/nccl/input.h"

static const char *const operations[NCCL_OPERATION_COUNT] = {
	"unknown", "all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "gather",
	"scatter", "sendrecv",
};

const char *nccl_test_name(const struct nccl_test *test)
{
	if (test->inferred && test->operation == NCCL_ALL_GATHER)
		return "all_gather or alltoall";
	if (test->inferred && test->operation == NCCL_SCATTER)
		return "gather or scatter";
	return operations[test->operation];
}

/* The operation of a program: "all_reduce_perf", "./build/all_reduce_perf_mpi". */
static enum nccl_operation operation_of(const char *program)
{
	const char *slash = strrchr(program, '/');
	enum nccl_operation ret = NCCL_OP_UNKNOWN;

	program = slash ? slash + 1 : program;
	for (enum nccl_operation op = NCCL_ALL_REDUCE; op < NCCL_OPERATION_COUNT; op++)
		if (!strncmp(program, operations[op], strlen(operations[op])) && program[strlen(operations[op])] == '_')
			ret = op;
	return ret;
}

static uint32_t number_after(const char *text, const char *key, uint32_t otherwise)
{
	const char *at = strstr(text, key);
	unsigned long number = at ? strtoul(at + strlen(key), NULL, 10) : 0;

	return number && number < UINT32_MAX ? (uint32_t)number : otherwise;
}

/* "nThread 1 nGpus 1 minBytes 8 ... warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0" */
static void test_begin(struct nccl_log *log, const char *text)
{
	struct nccl_input *input = log->input;
	struct nccl_test *test;

	map_done(&input->test_hosts);
	input->column_count = 0;
	input->test = NULL;
	if (!log->tests)
		log->tests = calloc(NCCL_TESTS_MOST, sizeof(*log->tests));
	log->failed |= !log->tests;
	if (!log->tests || log->test_count == NCCL_TESTS_MOST) {
		log->dropped++;
		return;
	}
	test = &log->tests[log->test_count++];
	*test = (struct nccl_test){ .operation = input->next_operation };
	test->warmups = number_after(text, "warmup iters: ", 0);
	test->aggregated = number_after(text, " agg iters: ", 1);
	test->launches = number_after(text, " graph: ", 1);
	/* " iters:" occurs in "warmup iters:" and "agg iters:", too. */
	text = strstr(text, "warmup iters:");
	test->iterations = text ? number_after(text + 13, " iters: ", 0) : 0;
	input->next_operation = NCCL_OP_UNKNOWN;
	input->test = test;
}

/* "Rank  0 Group  0 Pid  4711 on  node01 device  0 [0x1b] NVIDIA H100": Group since 2.13 */
static void device_line(struct nccl_log *log, const char *text)
{
	struct nccl_test *test = log->input->test;
	const char *on = strstr(text, " on ");
	uint32_t ranks = 0;
	uint64_t key;

	if (!test || !on || !strstr(on, " device ") || test->row_count)
		return;
	on += 4;
	on += strspn(on, " ");
	key = nccl_hash(on, strcspn(on, " "), 2);
	if (!map_get(&log->input->test_hosts, key, &ranks)) {
		if (test->hosts == NCCL_HOSTS_MOST) {
			log->dropped++;
			return;
		}
		test->hosts++;
	}
	if (map_put(&log->input->test_hosts, key, ranks + 1))
		log->failed = true;
	/* Only the first rank prints the table: the hosts are known without messages of the others. */
	nccl_host_find(log, on, strcspn(on, " "));
	test->ranks++;
	test->pairs_inside += 2 * (uint64_t)ranks + 1;
	if (ranks + 1 > test->ranks_most)
		test->ranks_most = ranks + 1;
}

static enum nccl_column column_of(const char *word)
{
	static const struct { const char *word; enum nccl_column column; } columns[] = {
		{ "size", COLUMN_SIZE }, { "count", COLUMN_COUNT }, { "type", COLUMN_TYPE }, { "redop", COLUMN_OP },
		{ "root", COLUMN_ROOT }, { "time", COLUMN_TIME }, { "cputime", COLUMN_TIME }, { "algbw", COLUMN_ALGBW },
		{ "busbw", COLUMN_BUSBW }, { "#wrong", COLUMN_WRONG }, { "error", COLUMN_WRONG },
	};
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (!strcmp(word, columns[i].word))
			return columns[i].column;
	return COLUMN_OTHER;
}

/* Split @line at white space, in place. Return: how many words; the last @most are in @ret. */
static unsigned split(char *line, char **ret, unsigned most)
{
	static const char space[] = " \t\r\n";
	unsigned count = 0;
	char *save = NULL;

	for (char *word = strtok_r(line, space, &save); word; word = strtok_r(NULL, space, &save)) {
		if (count == most) {
			memmove(ret, ret + 1, (most - 1) * sizeof(*ret));
			count--;
		}
		ret[count++] = word;
	}
	return count;
}

/* "size count type redop root time algbw busbw #wrong time algbw busbw #wrong" */
static void header_read(struct nccl_log *log, const char *text)
{
	struct nccl_input *input = log->input;
	char copy[512], *words[NCCL_COLUMNS_MOST];
	size_t len = strnlen(text, sizeof(copy) - 1);

	memcpy(copy, text, len);
	copy[len] = '\0';
	input->column_count = split(copy, words, NCCL_COLUMNS_MOST);
	for (unsigned i = 0; i < input->column_count; i++)
		input->columns[i] = column_of(words[i]);
	/* The comment below the time stamps column is another word there. */
	if (input->column_count < 5)
		input->column_count = 0;
}

void nccl_comment(struct nccl_log *log, const char *text)
{
	struct nccl_input *input = log->input;

	text += strspn(text, "# ");
	if (!strncmp(text, "Collective test starting: ", 26)) {
		char program[NCCL_TEXT_SIZE];

		nccl_copy(program, sizeof(program), text + 26, strcspn(text + 26, "\r\n"));
		input->next_operation = operation_of(program);
	} else if (!strncmp(text, "nThread ", 8) || !strncmp(text, "nThreads ", 9)) {
		test_begin(log, text);
	} else if (!input->test) {
		return;
	} else if (!strncmp(text, "Rank ", 5)) {
		device_line(log, text);
	} else if (!strncmp(text, "size ", 5) && strstr(text, "busbw")) {
		header_read(log, text);
	} else if (!strncmp(text, "Out of bounds values", 20) || !strncmp(text, "Avg bus bandwidth", 17)) {
		input->test->concluded = true;
		input->column_count = 0;
	}
}

static size_t type_bytes(const char *type)
{
	static const struct { const char *name; size_t bytes; } types[] = {
		{ "int8", 1 }, { "uint8", 1 }, { "char", 1 }, { "f8e4m3", 1 }, { "f8e5m2", 1 }, { "fp8_e4m3", 1 },
		{ "fp8_e5m2", 1 }, { "half", 2 }, { "float16", 2 }, { "bfloat16", 2 }, { "int32", 4 }, { "uint32", 4 },
		{ "int", 4 }, { "float", 4 }, { "float32", 4 }, { "int64", 8 }, { "uint64", 8 }, { "double", 8 },
		{ "float64", 8 },
	};
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(type, types[i].name))
			return types[i].bytes;
	return 0;
}

/* Words of a row by meaning. */
struct row_words {
	const char *size, *count, *type, *op, *root;
	struct nccl_row groups[2];
	unsigned group_count;
	uint64_t wrong;
};

/*
 * The operation of a table without the name of its program. With an operator and without a root,
 * all_reduce and sendrecv have count x type = size, reduce_scatter less; busbw is algbw for sendrecv.
 * Where two operations print the same columns, the one with the smaller bound is taken.
 */
static enum nccl_operation operation_infer(const struct row_words *words)
{
	bool reduces = words->op && strcmp(words->op, "none"), rooted = words->root && atoi(words->root) >= 0;
	uint64_t size = strtoull(words->size, NULL, 10), per_rank;
	const struct nccl_row *group = &words->groups[0];

	if (!size || !words->count || !words->type || !type_bytes(words->type) || (!words->op && !words->root))
		return NCCL_OP_UNKNOWN;
	if (__builtin_mul_overflow(strtoull(words->count, NULL, 10), type_bytes(words->type), &per_rank))
		return NCCL_OP_UNKNOWN;
	if (rooted)
		return per_rank < size ? NCCL_SCATTER : reduces ? NCCL_REDUCE : NCCL_BROADCAST;
	if (per_rank < size)
		return reduces ? NCCL_REDUCE_SCATTER : NCCL_ALL_GATHER;
	return reduces && (group->busbw_gb_per_s < 0.1 || group->busbw_gb_per_s > 1.02 * group->algbw_gb_per_s) ?
	       NCCL_ALL_REDUCE : NCCL_SEND_RECV;
}

static bool number_read(const char *word, double *ret)
{
	char *end;

	*ret = strtod(word, &end);
	return end > word && !*end && *ret >= 0 && *ret < 1e18;
}

static bool words_assign(const struct nccl_input *input, char **words, struct row_words *ret)
{
	struct nccl_row *group = NULL;

	*ret = (struct row_words){ 0 };
	for (unsigned i = 0; i < input->column_count; i++) {
		double number = 0;

		switch (input->columns[i]) {
		case COLUMN_SIZE: ret->size = words[i]; break;
		case COLUMN_COUNT: ret->count = words[i]; break;
		case COLUMN_TYPE: ret->type = words[i]; break;
		case COLUMN_OP: ret->op = words[i]; break;
		case COLUMN_ROOT: ret->root = words[i]; break;
		case COLUMN_TIME:
			if (ret->group_count == 2)
				return false;
			group = &ret->groups[ret->group_count++];
			if (!number_read(words[i], &group->time_us))
				return false;
			break;
		case COLUMN_ALGBW:
			if (!group || !number_read(words[i], &group->algbw_gb_per_s))
				return false;
			break;
		case COLUMN_BUSBW:
			if (!group || !number_read(words[i], &group->busbw_gb_per_s))
				return false;
			break;
		case COLUMN_WRONG: /* "N/A" without validation */
			if (number_read(words[i], &number))
				ret->wrong += (uint64_t)number;
			break;
		case COLUMN_OTHER: break;
		}
	}
	return ret->group_count && ret->size && strspn(ret->size, "0123456789") == strlen(ret->size);
}

void nccl_row_read(struct nccl_log *log, const char *line)
{
	struct nccl_input *input = log->input;
	struct nccl_test *test = input->test;
	char copy[1024], *words[NCCL_COLUMNS_MOST];
	size_t len = strlen(line);
	enum nccl_operation inferred;
	struct row_words row;
	uint64_t bytes;

	if (!test || len >= sizeof(copy))
		return;
	memcpy(copy, line, len + 1);
	/* The last words of the line: mpirun and srun may put a label before it. */
	if (split(copy, words, input->column_count) < input->column_count || !words_assign(input, words, &row))
		return;
	inferred = test->inferred || !test->operation ? operation_infer(&row) : NCCL_OP_UNKNOWN;
	if (inferred) {
		test->operation = inferred;
		test->inferred = true;
	}
	bytes = strtoull(row.size, NULL, 10);
	for (unsigned i = 0; i < row.group_count; i++) {
		struct nccl_row *group = &row.groups[i];

		group->size_bytes = bytes;
		if (__builtin_add_overflow(test->size_sum_bytes, bytes, &test->size_sum_bytes))
			test->size_sum_bytes = UINT64_MAX;
		if (group->busbw_gb_per_s > test->best.busbw_gb_per_s)
			test->best = *group;
		if (test->row_count < NCCL_ROWS_MOST &&
		    (!i || group->busbw_gb_per_s > test->rows[test->row_count].busbw_gb_per_s))
			test->rows[test->row_count] = *group;
	}
	test->wrong += row.wrong;
	test->row_count += test->row_count < UINT32_MAX;
}

bool nccl_may_reduce(const struct nccl_log *log)
{
	return log->collnet_connections || log->sharp_plugin || !log->net_connections;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
	uint64_t ret;

	return __builtin_mul_overflow(a, b, &ret) ? UINT64_MAX : ret;
}

/*
 * Bytes that all hosts together receive, S being the size column, N ranks on H hosts. nccl-tests'
 * doc/PERFORMANCE.md derives the transfers per element from additions and assignments on different
 * ranks: 2(N-1) for all-reduce, N-1 for the others. Ranks of one host exchange data without the
 * network, so that a host is one rank of a larger buffer: N becomes H. Switches that reduce (SHARP)
 * send the result to each host once: S for each host. Alltoall, gather and scatter have S/N distinct
 * bytes for each pair of ranks, which cross the network for ranks of different hosts. sendrecv sends
 * S from each rank to the next one, so that at least one rank of each host sends to another host.
 */
uint64_t nccl_test_least_bytes(const struct nccl_log *log, const struct nccl_test *test, bool sharp)
{
	uint64_t ranks = test->ranks ? test->ranks : log->ranks, hosts = test->ranks ? test->hosts : log->nodes;
	uint64_t size = multiply(multiply(test->size_sum_bytes, test->iterations),
				 multiply(test->aggregated, test->launches));
	/* Without a list of devices the ranks are spread as unevenly as can be: a lower bound. */
	uint64_t most = test->ranks ? test->ranks_most : ranks - hosts + 1;
	uint64_t inside = test->ranks ? test->pairs_inside : most * most + hosts - 1;

	if (hosts < 2 || ranks < hosts || log->mnnvl)
		return 0;
	switch (test->operation) {
	case NCCL_ALL_REDUCE: return multiply(size, sharp ? hosts : 2 * (hosts - 1));
	case NCCL_REDUCE_SCATTER:
	case NCCL_REDUCE: return multiply(size, sharp ? 1 : hosts - 1);
	case NCCL_ALL_GATHER:
	case NCCL_BROADCAST: return multiply(size, hosts - 1);
	case NCCL_ALL_TO_ALL: return multiply(size / ranks, ranks * ranks - inside);
	case NCCL_GATHER:
	case NCCL_SCATTER: return multiply(size / ranks, ranks - most);
	case NCCL_SEND_RECV: return multiply(size, hosts);
	case NCCL_OP_UNKNOWN:
	case NCCL_OPERATION_COUNT: break;
	}
	return 0;
}
