/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A library of its own, ibwire-sim-umad.so, that is preloaded into the clients of a
 * simulation together with libumad2sim.so: it stands before libibumad's umad_recv()
 * and gives a MAD back the bytes that umad2sim lost (sim/tail.h). It goes into
 * every program of the simulation, shells too, so it needs nothing of ours and
 * is built without sanitizers.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "sim/tail.h"

/* Descriptors that umad2sim makes up; the kernel's are below. Source: umad2sim.c, get_fd_data and read. */
#define SIMULATED_FD_MIN 1024

/* libibumad's. Its header is for wire/ alone, and what stands here must not change with it. */
int umad_recv(int fd, void *umad, int *length, int timeout_ms);
void *umad_get_mad(void *umad);

typedef int receive(int fd, void *umad, int *length, int timeout_ms);

static receive *real_umad_recv;

/* Once, before there are threads. */
__attribute__((constructor)) static void find_real(void)
{
	real_umad_recv = (receive *)dlsym(RTLD_NEXT, "umad_recv");
}

int umad_recv(int fd, void *umad, int *length, int timeout_ms)
{
	int agent;

	if (!real_umad_recv) {
		errno = ENOSYS;
		return -ENOSYS;
	}
	agent = real_umad_recv(fd, umad, length, timeout_ms);
	if (agent >= 0 && fd >= SIMULATED_FD_MIN && *length >= PACKET_MAD_SIZE)
		tail_restore(umad_get_mad(umad));
	return agent;
}
