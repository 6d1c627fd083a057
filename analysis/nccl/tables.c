/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * tables.c - tables of nccl-tests and rccl-tests, and what they must put on the wire
 *
 * Formats of nccl-tests 2.0 to 2.19.6 (src/common.cu and the file of each operation) and rccl-tests
 * (src/common.cu). Columns differ by operation and version, so that the header of the table gives
 * their meaning.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/nccl/input.h"
#include "base/array.h"

static const char *const operations[NCCL_OPERATION_COUNT] = {
	"unknown", "all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "gather",
	"scatter", "sendrecv", "alltoallv", "hypercube",
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
	/* "reduce_scatter_perf" also begins with "reduce_". */
	for (enum nccl_operation op = NCCL_ALL_REDUCE; op < NCCL_OPERATION_COUNT; op++)
		if (!strncmp(program, operations[op], strlen(operations[op])) &&
			program[strlen(operations[op])] == '_' &&
		    (!ret || strlen(operations[op]) > strlen(operations[ret])))
			ret = op;
	return ret;
}

static uint32_t number_after(const char *text, const char *key, uint32_t otherwise)
{
	const char *at = strstr(text, key);
	unsigned long number = at ? strtoul(at + strlen(key), NULL, 10) : 0;

	return number && number < UINT32_MAX ? (uint32_t)number : otherwise;
}

/*
 * "nThread 1 nGpus 1 minBytes 8 ... warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0"; rccl-tests:
 * "nThread: 1 nGpus: 1 ... warmupIters: 5 iters: 20". "": the header of the test is not in the log.
 */
static void test_start(struct nccl_log *log, const char *text)
{
	struct nccl_input *input = log->input;
	struct nccl_test *test;

	map_done(&input->test_hosts);
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
	test->aggregated = number_after(text, " agg iters: ", 1);
	test->launches = number_after(text, " graph: ", 1);
	/* " iters:" occurs in "warmup iters:" and "agg iters:", too. */
	text = strstr(text, "warmup") ? strstr(text, "warmup") : "";
	test->warmups = number_after(text, "ters: ", 0);
	text = strstr(text, "ters: ") ? strstr(text, "ters: ") + 6 : "";
	test->iterations = number_after(text, " iters: ", 0);
	input->next_operation = NCCL_OP_UNKNOWN;
	input->test = test;
}

/* Count a rank of a group on a host. @ranks: so far on this host. */
static void group_count(struct nccl_group *group, uint32_t ranks)
{
	group->hosts += !ranks;
	group->ranks++;
	group->pairs_inside += 2 * (uint64_t)ranks + 1;
	if (ranks + 1 > group->ranks_most)
		group->ranks_most = ranks + 1;
}

/* Ranks of this key so far, which is counted. */
static uint32_t ranks_of(struct nccl_log *log, uint64_t key)
{
	uint32_t ranks = 0;

	map_get(&log->input->test_hosts, key, &ranks);
	if (map_put(&log->input->test_hosts, key, ranks + 1))
		log->failed = true;
	return ranks;
}

static struct nccl_group *group_find(struct nccl_log *log, struct nccl_test *test, uint32_t number)
{
	struct nccl_group *group;

	for (size_t i = test->group_count; i-- > 0;)
		if (test->groups[i].number == number)
			return &test->groups[i];
	if (test->group_count == NCCL_GROUPS_MOST) {
		log->dropped++;
		return NULL;
	}
	group = array_add(&test->groups, &test->group_count, &test->group_capacity, sizeof(*group));
	if (group)
		*group = (struct nccl_group){ .number = number };
	else
		log->failed = true;
	return group;
}

void nccl_rank_add(struct nccl_log *log, uint32_t rank, uint32_t number, const char *host, size_t len)
{
	struct nccl_test *test = log->input->test;
	struct nccl_group *group;
	uint32_t index = UINT32_MAX;

	if (!test || test->row_count)
		return;
	/* Ranks are numbered over all groups, so that a second rank 0 is that of another program. */
	test->alone |= !rank && ranks_of(log, nccl_hash("rank 0", 6, 4)) > 0;
	/* Only the first rank prints the table: the hosts are known without messages of the others. */
	index = nccl_host_find(log, host, len);
	if (index == UINT32_MAX)
		return;
	test->host = index;
	group_count(&test->all, ranks_of(log, nccl_hash(host, len, 2)));
	group = group_find(log, test, number);
	if (group)
		group_count(group, ranks_of(log, map_mix(nccl_hash(host, len, 2) ^ (number + 1ull))));
}

/* "Rank  0 Group  0 Pid  4711 on  node01 device  0 [0x1b] NVIDIA H100": Group since 2.13 */
static void device_line(struct nccl_log *log, const char *text)
{
	const char *on = strstr(text, " on ");

	if (!on || !strstr(on, " device "))
		return;
	on += 4;
	on += strspn(on, " ");
	nccl_rank_add(log, number_after(text, "Rank ", 0), number_after(text, " Group ", 0), on, strcspn(on, " "));
}

static enum nccl_column column_of(const char *word)
{
	static const struct { const char *word; enum nccl_column column; } columns[] = {
		{ "size", COLUMN_SIZE }, { "count", COLUMN_COUNT }, { "type", COLUMN_TYPE }, { "redop", COLUMN_OP },
		{ "root", COLUMN_ROOT }, { "time", COLUMN_TIME }, { "cputime", COLUMN_TIME }, { "algbw", COLUMN_ALGBW },
		{ "busbw", COLUMN_BUSBW }, { "#wrong", COLUMN_WRONG },
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

/*
 * "size count type redop root time algbw busbw #wrong time algbw busbw #wrong", "error" before 2.13. What follows are
 * options of the program, such as a time stamp, which is two words, and only in rows with results in place.
 */
static void header_read(struct nccl_log *log, const char *text)
{
	struct nccl_input *input = log->input;
	char copy[512], *words[NCCL_COLUMNS_MOST];
	size_t len = strnlen(text, sizeof(copy) - 1);
	unsigned count;

	memcpy(copy, text, len);
	copy[len] = '\0';
	count = split(copy, words, NCCL_COLUMNS_MOST);
	while (count && strcmp(words[count - 1], "#wrong") && strcmp(words[count - 1], "error"))
		count--;
	for (unsigned i = 0; i < count; i++)
		input->columns[i] = column_of(words[i]);
	input->column_count = count < 5 ? 0 : count;
	/* A table whose header is not in the log, or a second one of it. */
	if (input->column_count && (!input->test || input->test->concluded))
		test_start(log, "");
}

void nccl_test_begin(struct nccl_log *log, const char *program, uint32_t iterations)
{
	log->input->next_operation = operation_of(program);
	test_start(log, "");
	if (log->input->test)
		log->input->test->iterations = iterations;
}

void nccl_comment(struct nccl_log *log, const char *text)
{
	struct nccl_input *input = log->input;

	text += strspn(text, "# ");
	if (!strncmp(text, "Collective test starting: ", 26)) {
		char program[NCCL_TEXT_SIZE];

		nccl_copy(program, sizeof(program), text + 26, strcspn(text + 26, "\r\n"));
		input->next_operation = operation_of(program);
	} else if (!strncmp(text, "Collective test concluded: ", 27)) {
		char program[NCCL_TEXT_SIZE];
		enum nccl_operation operation;

		nccl_copy(program, sizeof(program), text + 27, strcspn(text + 27, "\r\n"));
		operation = operation_of(program);
		if (input->test && operation) {
			input->test->operation = operation;
			input->test->inferred = false;
		}
	} else if (!strncmp(text, "nThread", 7)) {
		input->column_count = 0;
		test_start(log, text);
	} else if (!strncmp(text, "size ", 5) && strstr(text, "busbw")) {
		header_read(log, text);
	} else if (!input->test) {
		return;
	} else if (!strncmp(text, "Rank ", 5)) {
		device_line(log, text);
	} else if (!strncmp(text, "Out of bounds values", 20)) {
		/* The column "error" of versions before 2.13 is a deviation, which only this line judges. */
		uint32_t wrong = number_after(text, ": ", 0);

		if (wrong > input->test->wrong)
			input->test->wrong = wrong;
		input->test->concluded = true;
		input->column_count = 0;
	} else if (!strncmp(text, "Avg bus bandwidth", 17)) {
		/* Of NCCL_TESTS_MIN_BW less 10 %. */
		input->test->below_minimum |= strstr(text, " FAILED") != NULL;
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
	bool empty; /* the row has no word in the column of the operator */
};

/*
 * The operation of a table without the name of its program. With an operator and without a root,
 * all_reduce and sendrecv have count x type = size, reduce_scatter less; busbw is algbw for sendrecv.
 * Where two operations print the same columns, the one with the smaller bound is taken.
 */
static enum nccl_operation operation_infer(const struct row_words *words, uint32_t ranks)
{
	bool reduces = words->op && strcmp(words->op, "none"), rooted = words->root && atoi(words->root) >= 0;
	uint64_t size = strtoull(words->size, NULL, 10), per_rank;
	const struct nccl_row *group = &words->groups[0];

	if (!size || !words->count || !words->type || !type_bytes(words->type))
		return NCCL_OP_UNKNOWN;
	if (__builtin_mul_overflow(strtoull(words->count, NULL, 10), type_bytes(words->type), &per_rank))
		return NCCL_OP_UNKNOWN;
	/* Before 2.13 operations without an operator left its column out (all_gather), or empty (alltoall). */
	if (!words->op && !words->root)
		return words->empty ? NCCL_ALL_TO_ALL : per_rank < size ? NCCL_ALL_GATHER : NCCL_OP_UNKNOWN;
	if (words->empty)
		return NCCL_HYPERCUBE;
	if (rooted)
		return per_rank < size ? NCCL_SCATTER : reduces ? NCCL_REDUCE : NCCL_BROADCAST;
	if (per_rank < size)
		return reduces ? NCCL_REDUCE_SCATTER : NCCL_ALL_GATHER;
	/* With two ranks busbw is algbw for all_reduce, too. */
	return reduces && (ranks == 2 || group->busbw_gb_per_s < 0.1 ||
		group->busbw_gb_per_s > 1.02 * group->algbw_gb_per_s) ?
	       NCCL_ALL_REDUCE : NCCL_SEND_RECV;
}

static bool number_read(const char *word, double *ret)
{
	char *end;

	*ret = strtod(word, &end);
	return end > word && !*end && *ret >= 0 && *ret < 1e18;
}

static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

/* One word of a row in a column. Return: false: it is not of this column. */
static bool word_assign(enum nccl_column column, const char *word, struct row_words *ret)
{
	struct nccl_row *group = ret->group_count ? &ret->groups[ret->group_count - 1] : NULL;
	double number;

	switch (column) {
	case COLUMN_SIZE: ret->size = word; return is_number(word);
	case COLUMN_COUNT: ret->count = word; return is_number(word);
	case COLUMN_TYPE: ret->type = word; return isalpha((unsigned char)*word);
	case COLUMN_OP: ret->op = word; return isalpha((unsigned char)*word);
	case COLUMN_ROOT: ret->root = word; return is_number(word + (*word == '-'));
	case COLUMN_TIME:
		if (ret->group_count == 2)
			return false;
		return number_read(word, &ret->groups[ret->group_count++].time_us);
	case COLUMN_ALGBW: return group && number_read(word, &group->algbw_gb_per_s);
	case COLUMN_BUSBW: return group && number_read(word, &group->busbw_gb_per_s);
	case COLUMN_WRONG: /* "N/A" without validation */
		if (number_read(word, &number))
			ret->wrong += (uint64_t)number;
		return true;
	case COLUMN_OTHER: break;
	}
	return true;
}

/* @empty: the row has no word in the column of the operator. A row may end after its first column group. */
static bool words_assign(const struct nccl_input *input, char **words, unsigned count, bool empty,
			 struct row_words *ret)
{
	unsigned i = 0;

	*ret = (struct row_words){ .empty = empty };
	for (unsigned c = 0; c < input->column_count; c++) {
		if (empty && input->columns[c] == COLUMN_OP)
			continue;
		if (i == count)
			return ret->group_count && input->columns[c] == COLUMN_TIME;
		if (!word_assign(input->columns[c], words[i++], ret))
			return false;
	}
	return ret->size && ret->group_count;
}

static bool has_column(const struct nccl_input *input, enum nccl_column column)
{
	for (unsigned i = 0; i < input->column_count; i++)
		if (input->columns[i] == column)
			return true;
	return false;
}

/* A row in @line: launchers and loggers put words before it, options of the program behind it. */
static bool row_split(const struct nccl_input *input, char *line, struct row_words *ret)
{
	char *words[2 * NCCL_COLUMNS_MOST];
	unsigned count = split(line, words, 2 * NCCL_COLUMNS_MOST);

	for (unsigned from = 0; from < count; from++)
		for (int empty = 0; is_number(words[from]) && empty <= has_column(input, COLUMN_OP); empty++)
			if (words_assign(input, words + from, count - from, empty, ret))
				return true;
	return false;
}

void nccl_row_add(struct nccl_log *log, const struct nccl_row *groups, unsigned count, uint64_t wrong)
{
	struct nccl_test *test = log->input->test;

	for (unsigned i = 0; test && i < count; i++) {
		const struct nccl_row *group = &groups[i];

		if (__builtin_add_overflow(test->size_sum_bytes, group->size_bytes, &test->size_sum_bytes))
			test->size_sum_bytes = UINT64_MAX;
		if (group->busbw_gb_per_s > test->best.busbw_gb_per_s)
			test->best = *group;
		if (test->row_count < NCCL_ROWS_MOST &&
		    (!i || group->busbw_gb_per_s > test->rows[test->row_count].busbw_gb_per_s))
			test->rows[test->row_count] = *group;
	}
	if (!test)
		return;
	test->wrong += wrong;
	test->row_count += test->row_count < UINT32_MAX;
}

void nccl_row_read(struct nccl_log *log, const char *line)
{
	struct nccl_input *input = log->input;
	struct nccl_test *test = input->test;
	char copy[1024];
	enum nccl_operation inferred;
	struct row_words row;

	if (!test || strlen(line) >= sizeof(copy) || !row_split(input, strcpy(copy, line), &row))
		return;
	inferred = test->inferred || !test->operation ?
		   operation_infer(&row, test->all.ranks ? test->all.ranks : log->ranks) : NCCL_OP_UNKNOWN;
	if (inferred) {
		test->operation = inferred;
		test->inferred = true;
	}
	for (unsigned i = 0; i < row.group_count; i++)
		row.groups[i].size_bytes = strtoull(row.size, NULL, 10);
	nccl_row_add(log, row.groups, row.group_count, row.wrong);
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
static uint64_t group_least(const struct nccl_test *test, const struct nccl_group *group, bool sharp)
{
	uint64_t size = multiply(multiply(test->size_sum_bytes, test->iterations),
				 multiply(test->aggregated, test->launches));
	uint64_t ranks = group->ranks, hosts = group->hosts;

	if (hosts < 2 || ranks < hosts)
		return 0;
	switch (test->operation) {
	case NCCL_ALL_REDUCE: return multiply(size, sharp ? hosts : 2 * (hosts - 1));
	case NCCL_REDUCE_SCATTER:
	case NCCL_REDUCE: return multiply(size, sharp ? 1 : hosts - 1);
	case NCCL_ALL_GATHER:
	case NCCL_HYPERCUBE: /* an all-gather by sends */
	case NCCL_BROADCAST: return multiply(size, hosts - 1);
	case NCCL_ALL_TO_ALL: return multiply(size / ranks, ranks * ranks - group->pairs_inside);
	case NCCL_GATHER:
	case NCCL_SCATTER: return multiply(size / ranks, ranks - group->ranks_most);
	case NCCL_SEND_RECV: return multiply(size, hosts);
	case NCCL_OP_UNKNOWN:
	case NCCL_ALL_TO_ALL_V:
	case NCCL_OPERATION_COUNT: break;
	}
	return 0;
}

uint64_t nccl_test_least_bytes(const struct nccl_log *log, const struct nccl_test *test, bool sharp)
{
	struct nccl_group all = test->all;
	uint64_t sum = 0;

	if (log->mnnvl || test->alone)
		return 0;
	/* Without a list of devices the ranks are spread as unevenly as can be: a lower bound. */
	if (!all.ranks && log->ranks >= log->nodes) {
		all.ranks = log->ranks;
		all.hosts = log->nodes;
		all.ranks_most = all.ranks - all.hosts + 1;
		all.pairs_inside = (uint64_t)all.ranks_most * all.ranks_most + all.hosts - 1;
	}
	if (test->group_count < 2)
		return group_least(test, &all, sharp);
	for (size_t i = 0; i < test->group_count; i++)
		if (__builtin_add_overflow(sum, group_least(test, &test->groups[i], sharp), &sum))
			return UINT64_MAX;
	return sum;
}
