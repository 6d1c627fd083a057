/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* client_test.c - signals do not interrupt a client of ibsim */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unit_test.h"
#include "sim/ibsim/client.h"
#include "sim/ibsim/packet.h"

enum { QUERIES = 3, SLOT = 4, RESPONSE_AFTER_US = 60000 };

static char name[32];

static int bound(const char *what)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	socklen_t len = client_address(&address, name, what);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, len), 0);
	return fd;
}

static void on_signal(int number)
{
	(void)number;
}

/* Runs in a process of its own. Return: an exit status that identifies the failed step. */
static int run_client(void)
{
	const struct itimerval often = { .it_interval = { .tv_usec = 5000 }, .it_value = { .tv_usec = 5000 } };
	struct sigaction action = { .sa_handler = on_signal }; /* no SA_RESTART */
	struct client_query queries[QUERIES] = { { .lid = 1 }, { .lid = 2 }, { .lid = 3 } };
	struct client client;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	if (client_open(&client, name, NULL) < 0)
		return 1;
	if (client_attach(&client, "H-1", NULL) < 0)
		return 2;
	if (client.number != SLOT)
		return 3;
	if (client_query(&client, queries, QUERIES, NULL) < 0)
		return 4;
	for (int i = 0; i < QUERIES; i++)
		if (!queries[i].answered)
			return 5;
	/* Attach to another node. */
	if (client_attach(&client, "H-2", NULL) < 0)
		return 6;
	client_close(&client);
	return 0;
}

/* Like ibsim, but slower: some signals arrive before each response. */
static void response_control(int ctl, enum ctl_type type)
{
	struct ctl_message message;
	struct ctl_connect attached;
	struct sockaddr_un peer;
	socklen_t len = sizeof(peer);

	assert_int_equal(recvfrom(ctl, &message, sizeof(message), 0, (struct sockaddr *)&peer, &len), sizeof(message));
	assert_int_equal(message.type, type);
	if (type == CTL_CONNECT) {
		memcpy(&attached, message.data, sizeof(attached));
		attached.id = SLOT;
		memcpy(message.data, &attached, sizeof(attached));
	}
	usleep(RESPONSE_AFTER_US);
	assert_int_equal(sendto(ctl, &message, sizeof(message), 0, (struct sockaddr *)&peer, len), sizeof(message));
}

TEST(signals_do_not_interrupt_a_response)
{
	struct packet packets[QUERIES];
	int ctl, out, status;
	char what[16];
	pid_t child;

	snprintf(name, sizeof(name), "client-test-%ld", (long)getpid());
	snprintf(what, sizeof(what), "out%d", SLOT);
	ctl = bound("ctl");
	out = bound(what);
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(run_client());
	alarm(100);
	response_control(ctl, CTL_CONNECT);
	for (int i = 0; i < QUERIES; i++) {
		struct sockaddr_un peer;
		socklen_t len = sizeof(peer);

		assert_int_equal(recvfrom(out, &packets[i], sizeof(packets[i]), 0, (struct sockaddr *)&peer, &len),
				 sizeof(packets[i]));
		usleep(RESPONSE_AFTER_US);
		assert_int_equal(sendto(out, &packets[i], sizeof(packets[i]), 0, (struct sockaddr *)&peer, len),
				 sizeof(packets[i]));
	}
	response_control(ctl, CTL_DISCONNECT);
	response_control(ctl, CTL_CONNECT);
	response_control(ctl, CTL_DISCONNECT);
	alarm(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(ctl);
	close(out);
}
