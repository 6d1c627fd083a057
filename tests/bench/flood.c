/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * flood - the reference for a sweep: a bare loop that reads PortCounters and PortCountersExtended of
 * ports and ignores the values
 *
 * usage: flood WINDOW PER_NODE <PORTS      (lines "LID PORT")
 *
 * Prints microseconds, requests, and requests without a good response.
 */
#include <infiniband/umad.h>

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAD_LEN 256
#define LIDS 65536
#define TIMEOUT_MS 1000

struct request {
	uint16_t lid, attribute;
	uint8_t port;
	int sent;
};

struct flood {
	struct request *requests;
	size_t count, first; /* first: those before it are sent */
	unsigned busy[LIDS]; /* in flight to a LID */
	unsigned window, per_node, in_flight;
	int fd, agent;
	void *buffer;
	size_t done, bad;
};

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static int send_request(struct flood *flood, size_t index)
{
	struct request *request = &flood->requests[index];
	uint8_t *mad = umad_get_mad(flood->buffer);
	uint32_t tid = htonl((uint32_t)index + 1);

	memset(flood->buffer, 0, umad_size() + MAD_LEN);
	mad[0] = mad[2] = mad[3] = 1;
	mad[1] = 4;
	memcpy(mad + 12, &tid, sizeof(tid));
	mad[16] = (uint8_t)(request->attribute >> 8);
	mad[17] = (uint8_t)request->attribute;
	mad[65] = request->port;
	umad_set_addr(flood->buffer, request->lid, 1, 0, 0x80010000);
	request->sent = 1;
	flood->busy[request->lid]++;
	flood->in_flight++;
	return umad_send(flood->fd, flood->agent, flood->buffer, MAD_LEN, TIMEOUT_MS, 0);
}

/* The next requests to nodes that are not busy; the search is limited to 512 requests. */
static int send_some(struct flood *flood)
{
	size_t end = flood->count - flood->first > 512 ? flood->first + 512 : flood->count;

	for (size_t i = flood->first; i < end && flood->in_flight < flood->window; i++) {
		struct request *request = &flood->requests[i];

		if (request->sent || flood->busy[request->lid] >= flood->per_node)
			continue;
		if (send_request(flood, i) < 0)
			return -1;
	}
	while (flood->first < flood->count && flood->requests[flood->first].sent)
		flood->first++;
	return 0;
}

static int receive_one(struct flood *flood)
{
	int len = MAD_LEN;
	const uint8_t *mad;
	uint32_t tid;

	if (umad_recv(flood->fd, flood->buffer, &len, 2 * TIMEOUT_MS) < 0)
		return -1;
	mad = umad_get_mad(flood->buffer);
	memcpy(&tid, mad + 12, sizeof(tid));
	tid = ntohl(tid);
	if (!tid || tid > flood->count)
		return 0;
	flood->bad += umad_status(flood->buffer) || mad[4] || mad[5];
	flood->busy[flood->requests[tid - 1].lid]--;
	flood->in_flight--;
	flood->done++;
	return 0;
}

/* Ports of all nodes in turn, so that nodes work in parallel. */
static int read_ports(struct flood *flood)
{
	unsigned lid, port;
	size_t capacity = 0;

	while (scanf("%u %u", &lid, &port) == 2) {
		if (flood->count + 2 > capacity) {
			struct request *more;

			capacity = capacity ? 2 * capacity : 1024;
			more = realloc(flood->requests, capacity * sizeof(*more));
			if (!more)
				return -1;
			flood->requests = more;
		}
		flood->requests[flood->count++] =
			(struct request){ .lid = (uint16_t)lid, .port = (uint8_t)port, .attribute = 0x12 };
		flood->requests[flood->count++] =
			(struct request){ .lid = (uint16_t)lid, .port = (uint8_t)port, .attribute = 0x1d };
	}
	return flood->count ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct flood *flood = calloc(1, sizeof(*flood));
	int64_t began;

	if (!flood || argc != 3 || read_ports(flood) < 0) {
		fprintf(stderr, "usage: flood WINDOW PER_NODE <PORTS (lines \"LID PORT\")\n");
		return 64;
	}
	flood->window = (unsigned)atoi(argv[1]);
	flood->per_node = (unsigned)atoi(argv[2]);
	if (umad_init() < 0 || (flood->fd = umad_open_port(NULL, 0)) < 0 ||
	    (flood->agent = umad_register(flood->fd, 4, 1, 0, NULL)) < 0 ||
	    !(flood->buffer = umad_alloc(1, umad_size() + MAD_LEN))) {
		fprintf(stderr, "flood: no umad port\n");
		return 69;
	}
	began = now_us();
	while (flood->done < flood->count)
		if (send_some(flood) < 0 || (flood->in_flight && receive_one(flood) < 0)) {
			fprintf(stderr, "flood: lost after %zu of %zu\n", flood->done, flood->count);
			return 74;
		}
	printf("%lld %zu %zu\n", (long long)(now_us() - began), flood->count, flood->bad);
	umad_close_port(flood->fd);
	umad_done();
	free(flood->buffer);
	free(flood->requests);
	free(flood);
	return 0;
}
