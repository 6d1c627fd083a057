/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In ibsim: it waits, takes one datagram, answers it, and waits again: three system
 * calls for each MAD. Here it gets what has come at once, and what it answers is sent
 * when it has answered all of that, before it waits. It has one thread.
 * Source: ibsim.c, sim_run and sim_read_pkt.
 */
#include <errno.h>
#include <string.h>

#include "sim/ibsim/calls.h"
#include "sim/ibsim/packet.h"

/* More datagrams do not wait in a socket (/proc/sys/net/unix/max_dgram_qlen is 10). */
#define BATCH 12

#define NOBODY (-1)

static struct line {
	int fd;
	bool bundles; /* its reader takes several packets in a datagram */
	int cause;    /* errno of datagrams that were not taken, which ibsim does not know yet; or 0 */
	/* What came, and where ibsim is in it. */
	struct packet in[BATCH][PACKET_BUNDLE];
	size_t in_len[BATCH], offset;
	unsigned datagram, datagrams;
	/* What it wrote. */
	struct packet out[PACKET_BUNDLE];
	unsigned out_count;
} lines[IBSIM_CLIENTS];

static unsigned line_count;
static int reading = NOBODY; /* the descriptor that ibsim read from last: it is answering that */

static struct line *find_line(int fd)
{
	unsigned i;

	for (i = 0; i < line_count; i++)
		if (lines[i].fd == fd)
			return &lines[i];
	return NULL;
}

bool batch_is_ours(int fd)
{
	return line_count && find_line(fd);
}

void batch_bound(int fd)
{
	if (line_count < IBSIM_CLIENTS)
		lines[line_count++].fd = fd;
}

/* Another client sits there now: answers to the former one are nobody's. */
void batch_connected(int fd)
{
	struct line *line = find_line(fd);

	line->bundles = false;
	line->out_count = 0;
	line->cause = 0;
}

/* Take what is in the socket. Return: as recvmmsg(). */
static int take(struct line *line)
{
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	int got, i;

	for (i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ .iov_base = line->in[i], .iov_len = sizeof(line->in[i]) };
		messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i], .msg_iovlen = 1 } };
	}
	got = recvmmsg(line->fd, messages, BATCH, MSG_DONTWAIT, NULL);
	line->datagram = line->datagrams = 0;
	line->offset = 0;
	for (i = 0; i < got; i++)
		line->in_len[i] = messages[i].msg_len;
	line->datagrams = got > 0 ? (unsigned)got : 0;
	return got;
}

/* Behind what ibsim has read, and what is not for it. Return: is there more? */
static bool has_more(struct line *line)
{
	for (; line->datagram < line->datagrams; line->datagram++, line->offset = 0) {
		if (packet_is_hello(line->in[line->datagram], line->in_len[line->datagram]))
			line->bundles = true;
		else if (line->offset < line->in_len[line->datagram])
			return true;
	}
	return false;
}

ssize_t batch_read(int fd, void *buffer, size_t size)
{
	struct line *line = find_line(fd);
	size_t left;

	reading = fd;
	while (!has_more(line)) {
		int got = take(line);

		if (got <= 0)
			return got;
	}
	/* What is too short ibsim refuses itself. */
	left = line->in_len[line->datagram] - line->offset;
	if (left > sizeof(struct packet))
		left = sizeof(struct packet);
	if (size > left)
		size = left;
	memcpy(buffer, (const char *)line->in[line->datagram] + line->offset, size);
	line->offset += left;
	return (ssize_t)size;
}

/* All that ibsim has written to this client. A full socket is waited for, as ibsim does, but not spinning. */
static void flush(struct line *line)
{
	unsigned first = 0;

	while (first < line->out_count) {
		unsigned count = line->bundles ? line->out_count - first : 1;

		if (send(line->fd, &line->out[first], count * sizeof(line->out[0]), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
			first += count;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			next_calls.poll(&(struct pollfd){ .fd = line->fd, .events = POLLOUT }, 1, 10);
		} else if (errno != EINTR) {
			line->cause = errno;
			break;
		}
	}
	line->out_count = 0;
}

ssize_t batch_write(int fd, const void *buffer, size_t size)
{
	struct line *line = find_line(fd);

	if (line->cause) {
		errno = line->cause;
		line->cause = 0;
		return -1;
	}
	if (size != sizeof(struct packet))
		return next_calls.write(fd, buffer, size);
	memcpy(&line->out[line->out_count++], buffer, size);
	/* Whether a question was taken by another client ibsim wants to know at once: else it reports a timeout. */
	if (fd != reading || line->out_count == PACKET_BUNDLE)
		flush(line);
	if (!line->cause || fd == reading)
		return (ssize_t)size;
	errno = line->cause;
	line->cause = 0;
	return -1;
}

int batch_select(int count, fd_set *in)
{
	fd_set ready;
	int found = 0;
	unsigned i;

	FD_ZERO(&ready);
	for (i = 0; i < line_count; i++)
		if (has_more(&lines[i]) && FD_ISSET(lines[i].fd, in)) {
			FD_SET(lines[i].fd, &ready);
			found++;
		}
	if (found) {
		*in = ready;
		return found;
	}
	for (i = 0; i < line_count; i++)
		flush(&lines[i]);
	return next_calls.select(count, in, NULL, NULL, NULL);
}
