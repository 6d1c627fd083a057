/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/relay/relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stop.h"
#include "base/text.h"
#include "fabric/fabric.h"
#include "sim/control.h"
#include "sim/ibsim/client.h"
#include "sim/process.h"
#include "sim/relay/relay_model.h"

#define NS_PER_S (US_PER_S * 1000)

/*
 * A sleep ends some tens of microseconds late, so the last part of a wait is spent polling. The process
 * sleeps if nothing is scheduled.
 */
#define SPIN_NS (60 * 1000)

/* Events due within this time are processed early: it is less than the time of a system call. */
#define SLACK_NS 2000

/* Name of its control socket, and the timeout for a command: MADs are delayed meanwhile. */
#define CONTROL_PART "wire"
#define CONTROL_TIMEOUT_US (100 * US_PER_MS)

/* Datagrams per system call; a socket queues 10 by default (/proc/sys/net/unix/max_dgram_qlen). */
#define BATCH 12

/* Elements for poll(): control, ibsim's control, two sockets for each client; the control socket. */
#define RELAY_POLLS (2 + 2 * IBSIM_CLIENTS)

/* Packets that do not fit into a full socket; reading continues, because ibsim spins on a full socket. */
struct backlog {
	struct packet *packets;
	size_t first, count, capacity; /* packets before @first have been sent */
};

struct relay_slot {
	int down_fd;  /* NAME:outN: to and from the client */
	int up_fd;    /* IBSIM:inPID: to and from ibsim; -1: the slot is free */
	uint32_t pid;
	struct backlog down, up;
};

struct relay_sockets {
	const char *name, *ibsim_name; /* borrowed */
	struct relay_model *model;     /* borrowed */
	int ctl_fd;    /* NAME:ctl */
	int ibsim_ctl; /* to IBSIM:ctl */
	struct relay_slot slots[IBSIM_CLIENTS];
	/* The control message that waits for a response of ibsim. */
	bool ctl_pending;
	struct ctl_message ctl;
	int ctl_up_fd; /* of a client that is connecting */
	struct sockaddr_un ctl_from;
	socklen_t ctl_from_len;
};

struct relay {
	struct relay_model model;
	struct relay_sockets sockets;
	int listen_fd;
	sigset_t signals; /* original mask: signals are delivered only while waiting */
};

/* --- sockets: ten clients on one side, ibsim on the other; no call blocks --- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_sockets(struct relay_sockets *sockets)
{
	for (int i = 0; i < IBSIM_CLIENTS; i++) {
		close_fd(&sockets->slots[i].down_fd);
		close_fd(&sockets->slots[i].up_fd);
		free(sockets->slots[i].down.packets);
		free(sockets->slots[i].up.packets);
	}
	close_fd(&sockets->ctl_up_fd);
	close_fd(&sockets->ctl_fd);
	close_fd(&sockets->ibsim_ctl);
}

static int open_sockets(struct relay_sockets *sockets, struct relay_model *model, const char *name,
			const char *ibsim_name, struct error *err)
{
	char what[32];
	bool good;

	memset(sockets, 0, sizeof(*sockets));
	sockets->model = model;
	sockets->name = name;
	sockets->ibsim_name = ibsim_name;
	sockets->ctl_up_fd = -1;
	sockets->ctl_fd = client_bind(name, "ctl", SOCK_NONBLOCK);
	snprintf(what, sizeof(what), "ctl%ld", (long)getpid());
	sockets->ibsim_ctl = client_bind(ibsim_name, what, SOCK_NONBLOCK);
	good = sockets->ctl_fd >= 0 && sockets->ibsim_ctl >= 0 &&
		client_connect(sockets->ibsim_ctl, ibsim_name, "ctl") == 0;
	for (int i = 0; i < IBSIM_CLIENTS; i++) {
		snprintf(what, sizeof(what), "out%d", i);
		sockets->slots[i].up_fd = -1;
		sockets->slots[i].down_fd = client_bind(name, what, SOCK_NONBLOCK);
		good = good && sockets->slots[i].down_fd >= 0;
	}
	if (good)
		return 0;
	err_set(err, ERR_UNAVAILABLE, "the relay cannot connect to ibsim \"%s\" or listen as \"%s\": %s", ibsim_name,
		name, strerror(errno));
	close_sockets(sockets);
	return ERR_UNAVAILABLE;
}

/* --- slots --- */

static void close_slot(struct relay_sockets *sockets, unsigned number)
{
	const struct sockaddr unconnected = { .sa_family = AF_UNSPEC };
	struct relay_slot *slot = &sockets->slots[number];

	if (slot->up_fd < 0)
		return;
	/* Packets from the next client would be refused otherwise. An error would show in the next connect. */
	connect(slot->down_fd, &unconnected, sizeof(unconnected));
	/* ibsim detects the end of the client at its next datagram. */
	close_fd(&slot->up_fd);
	slot->pid = 0;
	slot->down.first = slot->down.count = slot->up.first = slot->up.count = 0;
	relay_model_close(sockets->model, number);
}

/* ibsim has assigned this slot to the connecting client. */
static bool open_slot(struct relay_sockets *sockets, const struct ctl_connect *given, uint32_t pid)
{
	struct relay_slot *slot = &sockets->slots[given->id];
	char node[NODE_ID_SIZE + 1], what[32];
	struct packet stale;

	close_slot(sockets, given->id);
	while (recv(slot->down_fd, &stale, sizeof(stale), 0) >= 0)
		continue;
	slot->up_fd = sockets->ctl_up_fd;
	sockets->ctl_up_fd = -1;
	slot->pid = pid;
	memcpy(node, given->node, NODE_ID_SIZE);
	node[NODE_ID_SIZE] = '\0';
	relay_model_open(sockets->model, given->id, node);
	snprintf(what, sizeof(what), "out%u", given->id);
	if (client_connect(slot->up_fd, sockets->ibsim_name, what) < 0)
		return false;
	snprintf(what, sizeof(what), "in%u", pid);
	return client_connect(slot->down_fd, sockets->name, what) == 0;
}

/* --- control --- */

static void response_ctl(struct relay_sockets *sockets)
{
	/* A client that does not wait for the response has ended: the launcher frees its slot. */
	if (sendto(sockets->ctl_fd, &sockets->ctl, sizeof(sockets->ctl), 0, (struct sockaddr *)&sockets->ctl_from,
		   sockets->ctl_from_len) < 0)
		close_fd(&sockets->ctl_up_fd);
	sockets->ctl_pending = false;
}

static uint32_t ctl_pid(const struct ctl_message *ctl)
{
	struct ctl_connect connect;

	memcpy(&connect, ctl->data, sizeof(connect));
	return connect.id;
}

/* Create the socket for the client's process id, to which ibsim will connect. */
static bool prepare_connect(struct relay_sockets *sockets)
{
	uint32_t pid = ctl_pid(&sockets->ctl);
	char what[32];

	for (unsigned i = 0; i < IBSIM_CLIENTS; i++)
		if (sockets->slots[i].pid == pid)
			close_slot(sockets, i);
	close_fd(&sockets->ctl_up_fd);
	snprintf(what, sizeof(what), "in%u", pid);
	sockets->ctl_up_fd = client_bind(sockets->ibsim_name, what, SOCK_NONBLOCK);
	return sockets->ctl_up_fd >= 0;
}

static void process_ctl(struct relay_sockets *sockets)
{
	struct ctl_message *ctl = &sockets->ctl;

	sockets->ctl_from_len = sizeof(sockets->ctl_from);
	if (recvfrom(sockets->ctl_fd, ctl, sizeof(*ctl), 0, (struct sockaddr *)&sockets->ctl_from,
		     &sockets->ctl_from_len) != (ssize_t)sizeof(*ctl))
		return;
	/* ibsim would not respond to these, and only one response is awaited at a time. */
	if (ctl->magic != CTL_MAGIC || (ctl->client >= IBSIM_CLIENTS && ctl->type != CTL_CONNECT))
		return;
	if ((ctl->type == CTL_CONNECT && !prepare_connect(sockets)) ||
	    send(sockets->ibsim_ctl, ctl, sizeof(*ctl), 0) != (ssize_t)sizeof(*ctl)) {
		ctl->type = CTL_ERROR;
		response_ctl(sockets);
		return;
	}
	sockets->ctl_pending = true;
}

static int process_ctl_response(struct relay_sockets *sockets, struct error *err)
{
	struct ctl_message response;
	uint32_t pid = ctl_pid(&sockets->ctl);
	ssize_t got = recv(sockets->ibsim_ctl, &response, sizeof(response), 0);

	if (got < 0 && (errno == ECONNREFUSED || errno == ECONNRESET))
		return err_set(err, ERR_UNAVAILABLE, "ibsim has ended");
	if (got != (ssize_t)sizeof(response) || !sockets->ctl_pending)
		return 0;
	sockets->ctl = response;
	if (response.type == CTL_CONNECT) {
		struct ctl_connect given;

		memcpy(&given, response.data, sizeof(given));
		if (given.id >= IBSIM_CLIENTS || !open_slot(sockets, &given, pid))
			sockets->ctl.type = CTL_ERROR;
	} else if (response.type == CTL_DISCONNECT && response.client < IBSIM_CLIENTS) {
		close_slot(sockets, response.client);
	}
	response_ctl(sockets);
	return 0;
}

/* --- datagrams --- */

static void backlog_push(struct backlog *backlog, const struct packet *packet)
{
	struct packet *packets = array_grow(backlog->packets, backlog->count, &backlog->capacity, sizeof(*packets));

	/* Out of memory: the packet is lost, as on a real wire. */
	if (!packets)
		return;
	backlog->packets = packets;
	backlog->packets[backlog->count++] = *packet;
}

static void send_up(void *ctx, unsigned slot, const struct packet *packet)
{
	struct relay_sockets *sockets = ctx;

	backlog_push(&sockets->slots[slot].up, packet);
}

static void send_down(void *ctx, unsigned slot, const struct packet *packet)
{
	struct relay_sockets *sockets = ctx;

	backlog_push(&sockets->slots[slot].down, packet);
}

/* Return: false if the other end has closed its socket. */
static bool flush_backlog(int fd, struct backlog *backlog)
{
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];

	while (backlog->first < backlog->count) {
		size_t i;
		int sent;

		for (i = 0; i < BATCH && backlog->first + i < backlog->count; i++) {
			parts[i].iov_base = &backlog->packets[backlog->first + i];
			parts[i].iov_len = sizeof(struct packet);
			messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i], .msg_iovlen = 1 } };
		}
		sent = sendmmsg(fd, messages, (unsigned)i, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno != EINTR)
			return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS;
		backlog->first += sent > 0 ? (size_t)sent : 0;
	}
	backlog->first = backlog->count = 0;
	return true;
}

static void flush_sockets(struct relay_sockets *sockets)
{
	for (unsigned i = 0; i < IBSIM_CLIENTS; i++) {
		struct relay_slot *slot = &sockets->slots[i];

		if (slot->up_fd >= 0 &&
		    (!flush_backlog(slot->up_fd, &slot->up) || !flush_backlog(slot->down_fd, &slot->down)))
			close_slot(sockets, i);
	}
}

static short events_of(const struct backlog *backlog)
{
	return backlog->first < backlog->count ? POLLIN | POLLOUT : POLLIN;
}

/* Fill in @polls. Return: the number of elements. */
static size_t fill_polls(const struct relay_sockets *sockets, struct pollfd *polls)
{
	polls[0] = (struct pollfd){ .fd = sockets->ctl_pending ? -1 : sockets->ctl_fd, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = sockets->ibsim_ctl, .events = POLLIN };
	for (int i = 0; i < IBSIM_CLIENTS; i++) {
		const struct relay_slot *slot = &sockets->slots[i];
		bool open = slot->up_fd >= 0;

		polls[2 + 2 * i] = (struct pollfd){ .fd = open ? slot->down_fd : -1, .events = events_of(&slot->down) };
		polls[3 + 2 * i] = (struct pollfd){ .fd = slot->up_fd, .events = events_of(&slot->up) };
	}
	return RELAY_POLLS;
}

typedef void packet_function(struct relay_model *model, unsigned slot, const struct packet *packet, int64_t now_ns);

static void read_packets(struct relay_sockets *sockets, unsigned slot, int fd, packet_function *process, int64_t now_ns)
{
	struct packet packets[BATCH];
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];
	int got;

	for (int i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){ .iov_base = &packets[i], .iov_len = sizeof(packets[i]) };
		messages[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &parts[i], .msg_iovlen = 1 } };
	}
	got = recvmmsg(fd, messages, BATCH, MSG_DONTWAIT, NULL);
	for (int i = 0; i < got; i++)
		if (messages[i].msg_len == sizeof(packets[i]))
			process(sockets->model, slot, &packets[i], now_ns);
}

/* Receive packets, after poll(). Return: 0, or ERR_UNAVAILABLE if ibsim has ended. */
static int read_sockets(struct relay_sockets *sockets, const struct pollfd *polls, size_t count, int64_t now_ns,
			struct error *err)
{
	/* Responses first: ibsim blocks while it cannot send one. */
	for (unsigned i = 0; 3 + 2 * (size_t)i < count; i++)
		if (polls[3 + 2 * i].revents && sockets->slots[i].up_fd >= 0)
			read_packets(sockets, i, sockets->slots[i].up_fd, relay_model_from_ibsim, now_ns);
	for (unsigned i = 0; 2 + 2 * (size_t)i < count; i++)
		if (polls[2 + 2 * i].revents && sockets->slots[i].up_fd >= 0)
			read_packets(sockets, i, sockets->slots[i].down_fd, relay_model_from_client, now_ns);
	if (polls[1].revents && process_ctl_response(sockets, err) < 0)
		return ERR_UNAVAILABLE;
	if (polls[0].revents)
		process_ctl(sockets);
	return 0;
}

/* --- the model --- */

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int set_up_model(const struct relay_options *options, struct relay_model *model, const struct relay_io *io,
			struct error *err)
{
	int code = relay_model_init(model, options->fabric, io, err);

	if (code < 0)
		return code;
	if (options->wire)
		code = relay_model_set(model, options->wire, err);
	for (size_t i = 0; i < options->pma_count && code == 0; i++)
		code = responder_configure(&model->responder, options->pma[i], err);
	if (code < 0)
		relay_model_done(model);
	return code;
}

int relay_check(const struct relay_options *options, struct error *err)
{
	const struct relay_io no_io = { 0 };
	struct relay_model *model = malloc(sizeof(*model));
	int code = model ? set_up_model(options, model, &no_io, err) : err_nomem(err);

	if (code == 0)
		relay_model_done(model);
	free(model);
	return code;
}

/* --- control --- */

/* "0x1234/20=1e9 ...": ticks per second of ports */
static int set_waits(struct responder *responder, const char *list, struct error *err)
{
	while (*list) {
		char *end;
		uint64_t guid = strtoull(list, &end, 16);
		unsigned long port = *end == '/' ? strtoul(end + 1, &end, 10) : 0;
		double per_s = *end == '=' ? strtod(end + 1, &end) : -1;

		if (!(per_s >= 0 && per_s < 1e12) || (*end && *end != ' '))
			return err_set(err, ERR_USAGE, "\"%s\" is not a list such as 0x1234/20=1e9", list);
		responder_wait(responder, guid, (unsigned)port, per_s);
		list = end + strspn(end, " ");
	}
	return 0;
}

static int handle_command(void *ctx, const char *command, struct text *response, struct error *err)
{
	struct relay *relay = ctx;

	relay->model.responder.now_ns = now_ns();
	if (!strncmp(command, "pma ", 4))
		return responder_configure(&relay->model.responder, command + 4, err);
	if (!strncmp(command, "waits ", 6))
		return set_waits(&relay->model.responder, command + 6, err);
	if (!strncmp(command, "wire ", 5))
		return relay_model_set(&relay->model, command + 5, err);
	if (!strcmp(command, "wire")) {
		relay_model_describe(&relay->model, response);
		return 0;
	}
	return err_set(err, ERR_USAGE, "\"%s\" is not a command of the relay", command);
}

int relay_control(const char *name, const char *command, struct text *response, struct error *err)
{
	return control_send(name, CONTROL_PART, command, "the relay does not respond: has the simulation ended?",
			   response, err);
}

/* --- the loop --- */

/* Time to sleep; NULL: until a datagram arrives. */
static const struct timespec *sleep_time(const struct relay_model *model, struct timespec *ret)
{
	int64_t next_ns = relay_model_next_ns(model), wait_ns;

	if (next_ns == INT64_MAX)
		return NULL;
	wait_ns = next_ns - now_ns() - SPIN_NS;
	wait_ns = wait_ns > 0 ? wait_ns : 0;
	ret->tv_sec = wait_ns / NS_PER_S;
	ret->tv_nsec = wait_ns % NS_PER_S;
	return ret;
}

static int loop(struct relay *relay, struct error *err)
{
	struct pollfd polls[RELAY_POLLS + 1];
	struct timespec time;
	size_t count;
	int code = 0, ready;

	while (code == 0 && !stop_requested()) {
		relay_model_run(&relay->model, now_ns(), SLACK_NS);
		flush_sockets(&relay->sockets);
		count = fill_polls(&relay->sockets, polls);
		polls[count] = (struct pollfd){ .fd = relay->listen_fd, .events = POLLIN };
		ready = ppoll(polls, count + 1, sleep_time(&relay->model, &time), &relay->signals);
		if (ready <= 0)
			continue;
		code = read_sockets(&relay->sockets, polls, count, now_ns(), err);
		if (polls[count].revents)
			control_serve(relay->listen_fd, CONTROL_TIMEOUT_US, handle_command, relay);
	}
	return code;
}

static void block_signals(struct relay *relay)
{
	sigset_t mask;

	stop_install();
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, &relay->signals);
}

int relay_run(struct relay_options *options, struct error *err)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	struct relay_io io = { .to_ibsim = send_up, .to_client = send_down };
	int code;

	if (!relay)
		return err_nomem(err);
	io.ctx = &relay->sockets;
	relay->listen_fd = -1;
	block_signals(relay);
	/* The default timer slack is 50 us. */
	prctl(PR_SET_TIMERSLACK, 1);
	code = set_up_model(options, &relay->model, &io, err);
	if (code < 0)
		goto out;
	code = open_sockets(&relay->sockets, &relay->model, options->name, options->ibsim_name, err);
	if (code == 0) {
		code = control_listen(options->name, CONTROL_PART, &relay->listen_fd, err);
		if (code == 0) {
			process_report_ready(&options->ready_fd);
			code = loop(relay, err);
		}
		close_sockets(&relay->sockets);
	}
	if (relay->listen_fd >= 0)
		close(relay->listen_fd);
	relay_model_done(&relay->model);
out:
	free(relay);
	return code;
}
