/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * forged_test.c - every command survives databases that were forged or damaged
 *
 * Each variant changes a small database by its seed: values, rows, the schema's
 * text, pages, header, log. A child process then runs some of the commands over it,
 * and in a third of the variants a collector that restores, stores and packs. Each
 * must end within 5 s of processor time and 1 GB of memory (2 GB with
 * AddressSanitizer) with a documented exit status, and at most one line of error
 * and one of warning (job begin: one for each job that it closes). FORGED_VARIANTS
 * variants (1,000; 200 with sanitizers, 80 in their short form) from FORGED_FIRST (1) on are tried,
 * and variant 0, which is unchanged and runs all commands.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "base/test_cases.h"
#include "base/unit_test.h"
#include "cli/command.h"
#include "storage/test/test_base.h"
#include "storage/test/test_folder.h"
#include "storage/test/test_model.h"
#include "storage/writer.h"

enum { LIMIT_S = 5, LIMIT_MB = 1024, WINDOW = 4, WORDS_MOST = 16, JOBS = 3 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
/*
 * Called by the sanitizer. It limits a single allocation, because RLIMIT_AS cannot be used with
 * sanitizers. Freed memory is kept for a short time, so that a variant takes 14 % less time.
 */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "max_allocation_size_mb=1024:hard_rss_limit_mb=2048:quarantine_size_mb=2";
}
#define SANITIZED 1
#define MEMORY_LIMIT "2 GB of resident memory"
#else
#define SANITIZED 0
#define MEMORY_LIMIT "1 GB of memory"
#endif

static struct model *model;
static char *base;    /* the bytes of the database that is changed */
static size_t base_len;
static uint64_t seed; /* of the variant */

/*
 * Words of each command line are separated by '|'; NODE is a GUID, COPY a file that does not exist. A line that begins
 * with '?' names an object, which a forged database may lack.
 */
static const char *const lines[] = {
	"status|--format|json", "ports", "ports|--format|csv|--since|2026-11-18", "ports|--counters|--all",
	"ports|--details", "ports|--at|2026-11-18T11:40:00Z", "nodes", "links", "history|--top|3|--since|2026-11-18",
	"history|all|--since|2026-11-18|--step|1h|--format|csv", "history|all|--since|2026-11-18|--each", "events",
	"events|--since|2026-11-18", "health|--all", "health|--since|2026-11-18", "balance|--all",
	"balance|--since|2026-11-18", "sql|SELECT * FROM traffic", "sql|SELECT * FROM port_sum",
	"sql|SELECT * FROM errors", "sql|SELECT * FROM details",
	"sql|SELECT * FROM ports, nodes, gaps, findings, events, sweeps LIMIT 100", "db", "snapshot|list",
	"job|list", "snapshot|diff", "?snapshot|diff|one|--all", "?snapshot|diff|one|two|--all", "topology|show",
	"topology|dot", "topology|save|COPY", "?topology|route|NODE|0x1e535eede31428f1",
	"?report|NODE|--since|2026-11-18",
	"names|suggest", "metrics|--once", "?job|report|1", "?job|report|1|--format|json", "?job|report|1|--html|COPY",
	"?job|compare|1|2", "status|--html=-|--links", "history|all|--html=-|--since|2026-11-18", "db|check",
	"db|backup|COPY", "db|export|COPY", "db|export|COPY|--anonymise", "db|compact", "?health|ack|1|--reason|known",
	"?snapshot|remove|one", "job|begin|7|--no-snapshot", "?job|end|3|--no-snapshot|--status|1", "?job|remove|2",
};
enum { LINE_COUNT = sizeof(lines) / sizeof(*lines), LINES_A_VARIANT = 2 };

static uint64_t random_below(uint64_t below)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

/* --- changes --- */

/* Any of these statements may fail. */
static void change(sqlite3 *db, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void change(sqlite3 *db, const char *format, ...)
{
	char sql[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(sql, sizeof(sql), format, args);
	va_end(args);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* A text from a random row of a query. */
static void pick(sqlite3 *db, const char *sql, char *ret, size_t size)
{
	sqlite3_stmt *rows;
	uint64_t count = 0;

	*ret = '\0';
	if (sqlite3_prepare_v2(db, sql, -1, &rows, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(rows) == SQLITE_ROW)
		if (random_below(++count) == 0)
			snprintf(ret, size, "%s", (const char *)sqlite3_column_text(rows, 0));
	sqlite3_finalize(rows);
}

static const char *pick_value(const char *column)
{
	static const char *const values[] = {
		"'text'", "''", "x'00ff'", "zeroblob(70000)", "NULL", "-1", "0", "1", "2", "255", "256", "65536",
		"2147483647", "2147483648", "4294967295", "4294967296", "1099511627776", "4611686018427387904",
		"9223372036854775807", "-9223372036854775808", "0.5", "1e300", "'[1'", "'{\"a\":[{}]}'",
	};
	static const char *const relative[] = {
		"+ 1", "- 1", "+ 0.5", "+ 1000", "+ 2147483648", "+ 4294967296", "+ 70368744177664", "* -1", "* 65536",
		"+ 2097152", "/ 2", "|| ''",
	};
	static char ret[128];

	if (random_below(2))
		return values[random_below(sizeof(values) / sizeof(*values))];
	snprintf(ret, sizeof(ret), "%s %s", column, relative[random_below(sizeof(relative) / sizeof(*relative))]);
	return ret;
}

static void change_value(sqlite3 *db)
{
	char table[64], column[64], sql[128];

	pick(db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('code', 'counter',"
	     " 'detail_counter')", table, sizeof(table));
	snprintf(sql, sizeof(sql), "SELECT name FROM pragma_table_info('%s')", table);
	/* The first columns are keys, which affect more code. */
	if (random_below(2))
		snprintf(sql + strlen(sql), sizeof(sql) - strlen(sql), " WHERE cid < 4");
	pick(db, sql, column, sizeof(column));
	switch (random_below(8)) {
	case 0:
		change(db, "UPDATE OR IGNORE %s SET %s = %s", table, column, pick_value(column));
		break;
	case 1:
		change(db, "DELETE FROM %s WHERE abs(random()) %% %d = 0", table, 1 + (int)random_below(3));
		break;
	case 2:
		change(db, "CREATE TEMP TABLE copy AS SELECT * FROM %s; UPDATE copy SET %s = %s; INSERT OR"
		       " IGNORE INTO %s"
		       " SELECT * FROM copy; DROP TABLE copy", table, column, pick_value(column), table);
		break;
	case 3:
		change(db, "UPDATE OR IGNORE %s SET %s = %s WHERE %s = (SELECT max(%s) FROM %s)", table, column,
		       pick_value(column), column, column, table);
		break;
	default:
		change(db, "UPDATE OR IGNORE %s SET %s = %s WHERE %s = (SELECT %s FROM %s LIMIT 1 OFFSET"
		       " (SELECT count(*)"
		       " FROM %s) * %u / 16)", table, column, pick_value(column), column, column, table, table,
		       (unsigned)random_below(16));
	}
}

static void change_schema(sqlite3 *db)
{
	char name[64];

	pick(db, "SELECT name FROM sqlite_schema WHERE type = 'table'", name, sizeof(name));
	switch (random_below(7)) {
	case 0: /* replaced by a view with endless rows */
		change(db, "UPDATE sqlite_schema SET type = 'view', rootpage = 0, sql = 'CREATE VIEW %s AS"
		       " WITH RECURSIVE"
		       " r (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM r) SELECT a AS id, a AS sweep, a AS"
		       " port FROM r'"
		       " WHERE name = '%s'", name, name);
		break;
	case 1:
		change(db, "CREATE TABLE other AS SELECT * FROM %s; DROP TABLE %s; CREATE VIEW %s AS SELECT *"
		       " FROM other",
		       name, name, name);
		break;
	case 2:
		change(db, "DELETE FROM sqlite_schema WHERE rowid = %u", 1 + (unsigned)random_below(60));
		break;
	case 3:
		change(db, "UPDATE sqlite_schema SET rootpage = %u WHERE name ="
		       " '%s'", (unsigned)random_below(70), name);
		break;
	case 4:
		change(db, "CREATE TRIGGER t AFTER INSERT ON sweep BEGIN DELETE FROM %s; END", name);
		break;
	case 5:
		change(db, "UPDATE sqlite_schema SET sql = replace(sql, 'sweep', 'swept') WHERE name = '%s'", name);
		break;
	default:
		pick(db, "SELECT name FROM sqlite_schema WHERE type = 'view'", name, sizeof(name));
		change(db, "DROP VIEW %s; CREATE VIEW %s AS WITH RECURSIVE r (a) AS (SELECT 1 UNION ALL SELECT"
		       " a + 1 FROM"
		       " r) SELECT a AS node, 1 AS from_sweep, a AS name FROM r", name, name);
	}
}

/*
 * Change rows with SQL. Declared types and ranges are removed from the schema before, and mostly restored. Indexes are
 * sometimes removed and restored too, and then have the old values.
 */
static void change_rows(void)
{
	bool schema = random_below(6) == 0, stale = random_below(4) == 0;
	sqlite3 *db;

	if (sqlite3_open(path, &db) != SQLITE_OK)
		return;
	change(db, "PRAGMA synchronous = OFF; PRAGMA writable_schema = ON; PRAGMA ignore_check_constraints = ON;"
	       "CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema;"
	       "UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table';"
	       "DELETE FROM sqlite_schema WHERE type = 'index' AND sql NOT NULL AND %d;"
	       "PRAGMA writable_schema = RESET", stale);
	for (uint64_t i = 1 + random_below(3); i > 0; i--)
		change_value(db);
	change(db, "PRAGMA writable_schema = ON; INSERT INTO sqlite_schema SELECT * FROM kept WHERE type = 'index'"
	       " AND sql NOT NULL AND %d", stale);
	if (random_below(8))
		change(db, "UPDATE sqlite_schema SET sql = (SELECT k.sql FROM kept k WHERE k.name = sqlite_master.name)"
		       " WHERE type = 'table'");
	if (schema)
		change_schema(db);
	sqlite3_close(db);
}

static void change_bytes(char *bytes, size_t *len)
{
	size_t at = random_below(3) ? random_below(*len) : random_below(100);
	size_t count = 1 + random_below(random_below(2) ? 4 : 200);

	switch (random_below(8)) {
	case 0:
		*len = random_below(*len);
		break;
	case 1: { /* one page in the place of another */
		size_t pages = *len / 16384;

		memcpy(bytes + 16384 * random_below(pages), base + 16384 * random_below(pages), 16384);
		break;
	}
	default: /* often a page header */
		if (random_below(3) == 0)
			at = at / 16384 * 16384 + random_below(16);
		for (size_t i = 0; i < count && at + i < *len; i++)
			bytes[at + i] = (char)random_below(256);
	}
}

static void forge(void)
{
	char *bytes = malloc(base_len), path_of_log[128];
	size_t len = base_len;

	memcpy(bytes, base, base_len);
	if (random_below(4) == 0)
		for (uint64_t i = 1 + random_below(3); i > 0 && len > 16384; i--)
			change_bytes(bytes, &len);
	test_file_write(path, bytes, len);
	if (len == base_len && !memcmp(bytes, base, len))
		change_rows();
	if (random_below(16) == 0) { /* a log of random bytes, sometimes with a valid header */
		for (size_t i = 0; i < 40000; i++)
			bytes[i] = (char)random_below(256);
		if (random_below(2))
			memcpy(bytes, "\x37\x7f\x06\x82\0\x2d\xe2\x18\0\0\x40\0", 12);
		snprintf(path_of_log, sizeof(path_of_log), "%s-%s", path, random_below(4) ? "wal" : "shm");
		test_file_write(path_of_log, bytes, random_below(40000));
	}
	free(bytes);
}

/* --- commands on the changed database --- */

static void end_with(const char *what, int code, const struct error *err)
{
	fprintf(stderr, "%s: status %d, \"%s\"\n", what, -code, err->text);
	_exit(1);
}

/* Lines on stderr, a file, from an offset on. */
static int count_lines(off_t from)
{
	char chars[4096];
	int count = 0;

	for (ssize_t len; (len = pread(STDERR_FILENO, chars, sizeof(chars), from)) > 0; from += len)
		for (ssize_t i = 0; i < len; i++)
			count += chars[i] == '\n';
	return count;
}

/* CPU time is independent of the machine's load; the limit of elapsed time is generous. */
static void begin_limit(void)
{
	const struct itimerval limit = { .it_value.tv_sec = LIMIT_S };

	setitimer(ITIMER_PROF, &limit, NULL);
	alarm(20 * LIMIT_S);
}

static int run(const char *line, struct error *err)
{
	char chars[256], node[32], copy[128], *argv[WORDS_MOST], *save = NULL;
	int argc = 0, code;

	snprintf(chars, sizeof(chars), "%s", *line == '?' ? line + 1 : line);
	snprintf(copy, sizeof(copy), "%s/copy", folder);
	unlink(copy);
	snprintf(node, sizeof(node), "0x%016llx", (unsigned long long)model->nodes[0].node.guid);
	for (char *word = strtok_r(chars, "|", &save); word; word = strtok_r(NULL, "|", &save))
		argv[argc++] = !strcmp(word, "NODE") ? node : !strcmp(word, "COPY") ? copy : word;
	argv[argc++] = (char[]){ "--db" };
	argv[argc++] = path;
	argv[argc] = NULL;
	begin_limit();
	code = command_find(argv[0])->run(command_find(argv[0]), argc, argv, err);
	fflush(stdout);
	return code;
}

static void run_writer(void)
{
	struct restored restored = { 0 };
	struct error err = { 0 };
	struct writer *writer;
	int code;

	begin_limit();
	code = writer_open(path, &writer, &err);
	if (!code) {
		writer_set_retention(writer, &(struct writer_retention){ .window_sweeps = WINDOW, .raw_us = 1,
								     .sums_us = 1 });
		code = writer_sink(writer)->restore(writer, &restored, &err);
		restored_done(&restored);
		if (!code)
			code = writer_sink(writer)->store(writer, model_step(model), &err);
		writer_close(writer);
	}
	if (code && (code != ERR_IO || !*err.text || strchr(err.text, '\n')))
		end_with("collect", code, &err);
}

static void run_all(bool forged)
{
	struct rlimit memory = { LIMIT_MB * UINT64_C(1048576), LIMIT_MB * UINT64_C(1048576) };
	int first = (int)random_below(LINE_COUNT), count = forged ? LINES_A_VARIANT : LINE_COUNT;

	if (!SANITIZED)
		setrlimit(RLIMIT_AS, &memory);
	for (int i = 0; i < count; i++) {
		const char *line = lines[(first + 5 * i) % LINE_COUNT];
		struct error err = { 0 };
		off_t begin;
		int code;

		if (!forged)
			test_file_write(path, base, base_len);
		/* If a command hangs, the last line names it. */
		fprintf(stderr, "# %s\n", line);
		begin = lseek(STDERR_FILENO, 0, SEEK_CUR);
		code = run(line, &err);
		/* A warning of damage, or one for each job that is closed; the program then prints the error. */
		if (count_lines(begin) > (strncmp(line, "job|begin", 9) ? 1 : JOBS) ||
		    (code < 0 && (!*err.text || strchr(err.text, '\n'))))
			end_with(line, code, &err);
		if (code < 0 && code != ERR_IO && code != ERR_UNAVAILABLE && !(code == ERR_USAGE && *line == '?'))
			end_with(line, code, &err);
		/* Positive statuses are results of these two. */
		if ((code > 0 || !forged) && code && strncmp(line, "health", 6) != 0 && !strstr(line, "topology|route"))
			end_with(line, code, &err);
	}
	fprintf(stderr, "# collect\n");
	if (!forged || random_below(3) == 0)
		run_writer();
}

/* The last lines of a child's output: its commands and results. */
static void show(void)
{
	char output[128], *chars, *line, *save = NULL;
	size_t len;

	snprintf(output, sizeof(output), "%s/output", folder);
	chars = test_file_read(output, &len);
	chars = realloc(chars, len + 1);
	chars[len] = '\0';
	for (line = strtok_r(chars, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (*line != '#' || *save != '#')
			print_message("# %s\n", line);
	free(chars);
}

/* Run a variant in a child process and print its output on failure. Return: success. */
static bool try_variant(uint64_t number)
{
	int status;
	pid_t child;

	test_folder_renew();
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char output[128];
		int null = open("/dev/null", O_WRONLY), file;

		snprintf(output, sizeof(output), "%s/output", folder);
		file = open(output, O_RDWR | O_CREAT, 0600);
		dup2(null, STDOUT_FILENO);
		dup2(file, STDERR_FILENO);
		seed = number * UINT64_C(0x2545f4914f6cdd1d);
		if (number)
			forge();
		else
			test_file_write(path, base, base_len);
		run_all(number != 0);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (!status)
		return true;
	show();
	print_message("# variant %llu: %s %d\n", (unsigned long long)number, WIFSIGNALED(status) ? "signal" : "status",
		      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return false;
}

static uint64_t setting(const char *name, uint64_t absent)
{
	const char *value = getenv(name);

	return value ? strtoull(value, NULL, 10) : absent;
}

TEST_IN_FOLDER(forged_databases_are_handled)
{
	uint64_t first = setting("FORGED_FIRST", 1), failed = 0;
	uint64_t count = setting("FORGED_VARIANTS", !SANITIZED ? 1000 : getenv("IBWIRE_TEST_SHORT") ? 80 : 200);

	unsetenv("IBWIRE_DB");
	model = test_base_store();
	base = test_file_read(path, &base_len);
	for (uint64_t i = 0; i <= count; i++)
		failed += !try_variant(i ? first + i - 1 : 0);
	model_destroy(model);
	free(base);
	assert_int_equal(failed, 0);
	reliability_report("Forged or damaged database", count, "databases", "commands and a collector: documented "
			   "exit status, at most one line of error and one of warning (job begin: one for each job "
			   "that it closes), 5 s of CPU time, " MEMORY_LIMIT ", no crash");
}
