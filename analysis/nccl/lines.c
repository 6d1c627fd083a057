/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* lines.c - the bytes of a log: compression, encoding, and what loggers write around a line */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "analysis/nccl/input.h"
#include "base/err.h"

/* Remove escape sequences of colours. Return: the new length. */
static size_t strip_colours(char *line, size_t len)
{
	size_t to = 0;

	for (size_t i = 0; i < len; i++) {
		if (line[i] != '\033' || i + 1 >= len || line[i + 1] != '[') {
			line[to++] = line[i];
			continue;
		}
		for (i += 2; i < len && (isdigit((unsigned char)line[i]) || line[i] == ';' || line[i] == '?'); i++)
			;
	}
	return to;
}

/* Docker and containerd split a line after 16 kB, conmon of CRI-O after 8 kB. */
enum { SPLIT_LEAST = 16000, PART_LEAST = 8000 };

/* Which logger wrote a line, and of which stream. */
enum { LOGGER_JSON = 1, LOGGER_CRI, LOGGER_STDERR = 4 };

/*
 * The head of a line of containerd and CRI-O, "2026-01-02T03:04:05.123456789Z stdout P ": P of one that is split, F of
 * its last part. Return: its length; 0: there is none.
 */
static size_t cri_head(const char *line, size_t len)
{
	enum { HEAD_MOST = 64 };
	const char *at = len && isdigit((unsigned char)line[0]) ?
			 memmem(line, len < HEAD_MOST ? len : HEAD_MOST, " std", 4) : NULL;
	size_t head = at ? (size_t)(at - line) + 10 : 0;

	return head && head <= len && line[head - 1] == ' ' && (line[head - 2] == 'P' || line[head - 2] == 'F') ?
	       head : 0;
}

/* Return: 0: no logger. */
static unsigned logger_of(const char *line, size_t len)
{
	size_t head;

	if (len && line[0] == '{')
		return LOGGER_JSON | (memmem(line, len, "\"stderr\"", 8) ? LOGGER_STDERR : 0);
	head = cri_head(line, len);
	return !head ? 0 : LOGGER_CRI | (line[head - 6] == 'e' ? LOGGER_STDERR : 0);
}

/*
 * A line of docker's and of other loggers: {"log":"TEXT\\n","stream":"stdout"}. The text replaces the line.
 * @ret_split:  the logger split the line: the rest is in the next one
 * Return: its length.
 */
static size_t unwrap(char *line, size_t len, bool *ret_split)
{
	static const char *const keys[] = { "\"log\":", "\"message\":", "\"msg\":", "\"MESSAGE\":", "\"text\":",
					    "\"textPayload\":", "\"line\":", "\"short_message\":" };
	const char *end = line + len, *at = NULL;
	bool ended = false, docker = false; /* docker alone has the newline in the text */
	size_t to = 0;

	*ret_split = memmem(line, len, "\"logtag\":\"P\"", 12) || memmem(line, len, "\"partial_message\":\"true\"", 24);
	for (size_t i = 0; !at && i < sizeof(keys) / sizeof(keys[0]); i++) {
		at = memmem(line, len, keys[i], strlen(keys[i]));
		at = at ? at + strlen(keys[i]) : NULL;
		while (at && at < end && *at == ' ')
			at++;
		if (at && (at == end || *at != '"'))
			at = NULL;
		docker = at && !i;
	}
	if (!at)
		return len;
	for (at++; at < end && *at != '"'; at++) {
		if (*at != '\\' || at + 1 == end) {
			line[to++] = *at;
			continue;
		}
		at++;
		ended = *at == 'n';
		if (*at == 'u' && end - at > 4) {
			char digits[5] = { at[1], at[2], at[3], at[4], '\0' };
			unsigned long code = strtoul(digits, NULL, 16);

			line[to++] = code && code < 128 ? (char)code : '?';
			at += 4;
		} else if (*at != 'n' && *at != 'r') {
			line[to++] = *at == 't' ? ' ' : *at;
		}
	}
	*ret_split = !ended && (*ret_split || (docker && to >= SPLIT_LEAST));
	return to;
}

/*
 * The text of a line of containerd and CRI-O replaces it if it is a part of a line.
 * @rest:  it continues the line before
 */
static size_t unwrap_cri(char *line, size_t len, bool rest, bool *ret_split)
{
	size_t head = cri_head(line, len);

	*ret_split = head && line[head - 2] == 'P';
	if (!head || (!rest && !*ret_split))
		return len;
	memmove(line, line + head, len - head);
	return len - head;
}

/* The line is longer than the buffer: read what is whole, and keep its end and a prefix before it. */
static void line_cut(struct nccl_log *log)
{
	enum { PREFIX_MOST = 512 };
	struct nccl_input *input = log->input;
	size_t limit = input->len - NCCL_MESSAGE_MOST, from = limit - PREFIX_MOST;

	nccl_line_read(log, input->len, limit);
	memmove(input->line, input->line + from, input->len - from);
	input->len -= from;
	input->done = PREFIX_MOST;
	input->joined = 0;
}

/* The line is whole, without what a logger wrote around it. */
static void line_finish(struct nccl_log *log)
{
	struct nccl_input *input = log->input;

	if (memchr(input->line, '\033', input->len) && !input->done)
		input->len = strip_colours(input->line, input->len);
	nccl_line_read(log, input->len, input->len);
	input->len = 0;
	input->done = 0;
	input->joined = 0;
}

/* The parts of a line are joined until another logger or stream writes: the last part is lost, or comes later. */
static void end_joined(struct nccl_log *log)
{
	struct nccl_input *input = log->input;
	size_t from = input->joined, len = input->len - from;
	char first = input->line[from]; /* a NUL ends the line before */

	input->len = from;
	line_finish(log);
	input->line[from] = first;
	memmove(input->line, input->line + from, len);
	input->len = len;
}

static void line_end(struct nccl_log *log)
{
	struct nccl_input *input = log->input;
	bool split = false;
	unsigned logger;
	size_t len;
	char *part;

	if (input->joined && logger_of(input->line + input->joined, input->len - input->joined) != input->logger)
		end_joined(log);
	part = input->line + input->joined;
	len = input->len - input->joined;
	/* A line that was cut does not begin here. */
	logger = input->joined || !input->done ? logger_of(part, len) : 0;
	if (logger & LOGGER_JSON)
		len = unwrap(part, len, &split);
	else if (logger)
		len = unwrap_cri(part, len, input->joined, &split);
	input->len = input->joined + len;
	if (!split) {
		line_finish(log);
		log->lines++;
		return;
	}
	log->lines++;
	if (input->len > NCCL_LINE_MOST / 2)
		line_cut(log);
	input->joined = input->len;
	input->logger = logger;
}

/* Lines without anything of interest are most of a log: they are not copied. Colours may split words. */
static bool is_of_interest(const struct nccl_log *log, const char *line, size_t len)
{
	return log->input->column_count || nccl_test_runs(log) || len >= PART_LEAST || memchr(line, '#', len) ||
	       memchr(line, '\033', len) || memmem(line, len, "CCL", 3);
}

#define DECOMPRESS(command) "decompress it: " command " FILE | ibwire ... --nccl -"

/* What a log may be instead of text, by its first bytes. */
static const struct {
	const char *magic, *name, *fix;
} formats[] = {
	{ "\x1f\x8b", "gzip", DECOMPRESS("zcat") }, { "\x28\xb5\x2f\xfd", "zstd", DECOMPRESS("zstdcat") },
	{ "\xfd" "7zXZ", "xz", DECOMPRESS("xzcat") }, { "BZh", "bzip2", DECOMPRESS("bzcat") },
	{ "PK\x03\x04", "zip", DECOMPRESS("unzip -p") }, { "\x04\x22\x4d\x18", "lz4", DECOMPRESS("lz4cat") },
};

/* The first bytes of a log decide how it is read. */
static void log_begin(struct nccl_log *log, const char *bytes, size_t len)
{
	struct nccl_input *input = log->input;

	input->started = true;
	input->skipped = false;
	input->wide = text_is_wide(bytes, len);
	input->half = -1;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (len >= strlen(formats[i].magic) && !memcmp(bytes, formats[i].magic, strlen(formats[i].magic))) {
			input->skipped = true;
			log->foreign = formats[i].name;
			log->foreign_fix = formats[i].fix;
		}
	input->json.active = !input->skipped && nccl_json_begins(bytes, len);
}

static void text_feed(struct nccl_log *log, const char *bytes, size_t len)
{
	const char *end = bytes + len;

	while (bytes < end && !log->failed) {
		struct nccl_input *input = log->input;
		const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
		size_t part = (size_t)((newline ? newline : end) - bytes);

		if (newline && !input->len && !is_of_interest(log, bytes, part)) {
			log->lines++;
			bytes = newline + 1;
			continue;
		}
		if (part > NCCL_LINE_MOST - input->len) {
			part = NCCL_LINE_MOST - input->len;
			newline = NULL;
		}
		memcpy(input->line + input->len, bytes, part);
		input->len += part;
		bytes += part + (newline != NULL);
		if (newline)
			line_end(log);
		else if (bytes < end)
			line_cut(log);
	}
}

/* UTF-16, as PowerShell writes it: what is not ASCII becomes '?'. */
static void wide_feed(struct nccl_log *log, const char *bytes, size_t len)
{
	struct nccl_input *input = log->input;
	char text[1024];
	size_t count = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		unsigned code;

		if (input->half < 0) {
			input->half = byte;
			continue;
		}
		code = input->wide == WIDE_LITTLE ? (unsigned)input->half | (unsigned)byte << 8 :
						    (unsigned)input->half << 8 | byte;
		input->half = -1;
		if (code != 0xfeff)
			text[count++] = code < 128 ? (char)code : '?';
		if (count == sizeof(text)) {
			text_feed(log, text, count);
			count = 0;
		}
	}
	text_feed(log, text, count);
}

static void bytes_feed(struct nccl_log *log, const char *bytes, size_t len)
{
	if (log->input->skipped)
		return;
	if (log->input->json.active)
		nccl_json_feed(log, bytes, len);
	else if (log->input->wide)
		wide_feed(log, bytes, len);
	else
		text_feed(log, bytes, len);
}

/* The first bytes were collected. */
static void head_feed(struct nccl_log *log)
{
	struct nccl_input *input = log->input;

	log_begin(log, input->head, input->head_len);
	bytes_feed(log, input->head, input->head_len);
}

int nccl_feed(struct nccl_log *log, const char *bytes, size_t len, struct error *err)
{
	struct nccl_input *input;

	if (!log->input)
		log->input = calloc(1, sizeof(*log->input));
	input = log->input;
	if (!input)
		return err_nomem(err);
	log->bytes += len;
	while (len && !input->started) {
		input->head[input->head_len++] = *bytes++;
		len--;
		if (input->head_len == sizeof(input->head))
			head_feed(log);
	}
	if (len)
		bytes_feed(log, bytes, len);
	return log->failed ? err_nomem(err) : 0;
}

int nccl_end(struct nccl_log *log, struct error *err)
{
	if (log->input) {
		if (!log->input->started && log->input->head_len)
			head_feed(log);
		log->input->head_len = 0;
		if (log->input->len)
			line_end(log);
		if (log->input->len) /* its last part is not in the log */
			line_finish(log);
		log->input->test = NULL;
		log->input->column_count = 0;
		log->input->started = false;
		log->input->json = (struct nccl_json){ .active = false };
	}
	return log->failed ? err_nomem(err) : 0;
}

int nccl_read(struct nccl_log *log, int fd, const char *name, struct error *err)
{
	enum { SIZE = 1 << 18 };
	int own = dup(fd), code = 0, got, ret = 0;
	gzFile file = own < 0 ? NULL : gzdopen(own, "r");
	char *piece = file ? malloc(SIZE) : NULL;
	uint64_t before = log->bytes;
	bool foreign_before = log->foreign != NULL;

	if (!piece) {
		if (file)
			gzclose(file);
		else if (own >= 0)
			close(own);
		return own < 0 ? err_set(err, ERR_IO, "%s", strerror(errno)) : err_nomem(err);
	}
	while ((got = gzread(file, piece, SIZE)) > 0 && !ret) {
		ret = nccl_feed(log, piece, (size_t)got, err);
		if (log->bytes - before >= log->inflate_most && !gzdirect(file)) {
			log->cut = "it is too large";
			log->cut_fix = DECOMPRESS("zcat");
			break;
		}
	}
	/* Of a file that ends within a block gzread() returns what is whole, and then 0. */
	gzerror(file, &code);
	if (!ret && code == Z_ERRNO)
		ret = err_set(err, ERR_IO, "%s", strerror(errno));
	else if (!ret && code == Z_MEM_ERROR)
		ret = err_nomem(err);
	else if (code == Z_BUF_ERROR || code == Z_DATA_ERROR) {
		log->cut = code == Z_BUF_ERROR ? "the file ends within it" : "the file is damaged";
		log->cut_fix = "copy the file again, or wait until it is complete";
	}
	if (log->cut && !*log->cut_name)
		nccl_copy(log->cut_name, sizeof(log->cut_name), name, strlen(name));
	gzclose(file);
	free(piece);
	ret = ret ? ret : nccl_end(log, err);
	if (!foreign_before && log->foreign)
		nccl_copy(log->foreign_name, sizeof(log->foreign_name), name, strlen(name));
	return ret;
}
