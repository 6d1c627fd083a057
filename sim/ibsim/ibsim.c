/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/ibsim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "fabric/fabric.h"
#include "sim/process.h"

/* Sizes that ibsim needs as options; at least its defaults. Source: ibsim sim.h. */
struct net_size {
	size_t nodes, switches, ports;
	unsigned linear_cap;
};

static struct net_size measure_net(const struct fabric *fabric)
{
	struct net_size size = { .nodes = 2048, .switches = 256, .ports = 13312, .linear_cap = 30720 };
	size_t switches = 0, ports = 0, lids = 0, i;
	uint16_t top = 0;

	for (i = 0; i < fabric->node_count; i++) {
		const struct node *node = &fabric->nodes[i];

		switches += node->type == NODE_SWITCH;
		ports += node->port_count + 1u;
		lids += node->type == NODE_SWITCH ? 1 : node->port_count;
		top = node->lid > top ? node->lid : top;
	}
	for (i = 0; i < fabric->port_count; i++)
		top = fabric->ports[i].lid > top ? fabric->ports[i].lid : top;
	if (fabric->node_count > size.nodes)
		size.nodes = fabric->node_count;
	if (switches > size.switches)
		size.switches = switches;
	if (ports > size.ports)
		size.ports = ports;
	/* Room for LIDs that opensm assigns above those in the file. */
	if (top + lids + 64 > size.linear_cap)
		size.linear_cap = 0xc000;
	return size;
}

int ibsim_start(const struct ibsim_place *place, pid_t *ret, int *ret_output_fd, struct error *err)
{
	struct net_size size = measure_net(place->fabric);
	char nodes[24], switches[24], ports[24], cap[24], sockname[80];
	char *argv[] = { (char[]){ "ibsim" }, (char[]){ "-s" }, (char[]){ "-N" }, nodes, (char[]){ "-S" }, switches,
			 (char[]){ "-P" }, ports, (char[]){ "-L" }, cap, (char[]){ IBSIM_NET_FILE }, NULL };
	struct process_spec spec = {
		.argv = argv, .dir = place->dir, .env = { sockname }, .own_group = true, .death_signal = SIGKILL,
	};
	int pipe_ends[2], code;

	snprintf(nodes, sizeof(nodes), "%zu", size.nodes);
	snprintf(switches, sizeof(switches), "%zu", size.switches);
	snprintf(ports, sizeof(ports), "%zu", size.ports);
	snprintf(cap, sizeof(cap), "%u", size.linear_cap);
	snprintf(sockname, sizeof(sockname), "IBSIM_SOCKNAME=%s", place->sockname);
	if (pipe2(pipe_ends, O_CLOEXEC) < 0)
		return err_set(err, ERR_NOMEM, "cannot make a pipe: %s", strerror(errno));
	/* ibsim blocks while the pipe is full: make it large if permitted. */
	fcntl(pipe_ends[0], F_SETPIPE_SZ, 1 << 20);
	fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
	spec.in = open(place->console, O_RDONLY | O_CLOEXEC);
	spec.out = pipe_ends[1];
	code = spec.in < 0 ? err_set(err, ERR_IO, "cannot open %s: %s", place->console, strerror(errno)) :
		process_start(&spec, ret, err);
	if (code == ERR_UNAVAILABLE)
		err_set(err, code, "ibsim is missing: install the package ibsim-utils (RHEL, Fedora, SUSE: ibsim)");
	close(spec.in);
	close(pipe_ends[1]);
	*ret_output_fd = pipe_ends[0];
	return code;
}
