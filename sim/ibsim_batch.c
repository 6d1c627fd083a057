/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In ibsim: it waits, takes one datagram, answers it, and waits again: three system
 * calls for each MAD. Here it gets what has come at once, and what it answers is sent
 * when it has answered all of that, before it waits. It has one thread.
 * Source: ibsim.c, sim_run and sim_read_pkt.
 */
#include <errno.h>
#include <string.h>

#include "sim/calls.h"
#include "sim/packet.h"

/* More does not wait in a socket (/proc/sys/net/unix/max_dgram_qlen is 10). */
#define BATCH 16

#define NOBODY (-1)

struct bundle {
	struct packet packets[BATCH];
	size_t len[BATCH];     /* of what came: ibsim refuses what is too short */
	unsigned first, count; /* first: those before it are read, or sent */
};

static struct line {
	int fd;
	int cause; /* errno of datagrams that were not taken, which ibsim does not know yet; or 0 */
	struct bundle in, out;
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
		lines[line_count++] = (struct line){ .fd = fd };
}

/* Another client sits there now: answers to the former one are nobody's. */
void batch_connected(int fd)
{
	struct line *line = find_line(fd);

	line->out.first = line->out.count = 0;
	line->cause = 0;
}

static unsigned fill_messages(struct mmsghdr *messages, struct iovec *parts, struct packet *packets, unsigned count)
{
	unsigned i;

	memset(messages, 0, count * sizeof(*messages));
	for (i = 0; i < count; i++) {
		parts[i] = (struct iovec){ .iov_base = &packets[i], .iov_len = sizeof(packets[i]) };
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	return count;
}

ssize_t batch_read(int fd, void *buffer, size_t size)
{
	struct line *line = find_line(fd);
	struct bundle *in = &line->in;
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];

	int i;

	reading = fd;
	if (in->first == in->count) {
		int got = recvmmsg(fd, messages, fill_messages(messages, parts, in->packets, BATCH), MSG_DONTWAIT, NULL);

		in->first = in->count = 0;
		if (got <= 0)
			return got;
		in->count = (unsigned)got;
		for (i = 0; i < got; i++)
			in->len[i] = messages[i].msg_len;
	}
	if (size > in->len[in->first])
		size = in->len[in->first];
	memcpy(buffer, &in->packets[in->first++], size);
	return (ssize_t)size;
}

/* All that ibsim has written to this client. It is waited for where its socket is full, as ibsim does, but not spinning. */
static void flush(struct line *line)
{
	struct bundle *out = &line->out;
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];

	while (out->first < out->count) {
		int sent = sendmmsg(line->fd, messages,
				    fill_messages(messages, parts, out->packets + out->first, out->count - out->first),
				    MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			out->first += (unsigned)sent;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			next_calls.poll(&(struct pollfd){ .fd = line->fd, .events = POLLOUT }, 1, 10);
		} else if (errno != EINTR) {
			line->cause = errno;
			break;
		}
	}
	out->first = out->count = 0;
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
	memcpy(&line->out.packets[line->out.count++], buffer, size);
	/* Whether a question was taken by another client ibsim wants to know at once: else it reports a timeout. */
	if (fd != reading || line->out.count == BATCH)
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
		if (lines[i].in.first < lines[i].in.count && FD_ISSET(lines[i].fd, in)) {
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
