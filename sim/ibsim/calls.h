/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * calls.h - the library that is preloaded into the programs of a simulation, ibwire-sim-umad.so
 *
 * It stands before the C library's functions for descriptors (sim/ibsim/calls.c) and has two halves, which
 * know nothing of each other:
 *
 *   sim/ibsim/umad_mads.c   in clients, before libumad2sim.so: MADs go between the program and the wire in the thread
 *                     that sends or receives them, whole, as the kernel would do it. umad2sim has a thread in
 *                     between, which costs two system calls and a change of threads per MAD, and loses the last
 *                     32 bytes.
 *   sim/ibsim/ibsim_batch.c in ibsim: datagrams are taken and given several at a time.
 *
 * It goes into every program of the simulation, shells too, so it needs nothing of ours and is built
 * without sanitizers. What is none of its business it hands on.
 */
#ifndef IBWIRE_SIM_CALLS_H
#define IBWIRE_SIM_CALLS_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>

/* The functions behind ours: umad2sim's where it is loaded, else the C library's. */
struct calls {
	int (*bind)(int fd, const struct sockaddr *address, socklen_t len);
	int (*close)(int fd);
	int (*connect)(int fd, const struct sockaddr *address, socklen_t len);
	int (*ioctl)(int fd, unsigned long request, ...);
	int (*poll)(struct pollfd *fds, nfds_t count, int timeout_ms);
	ssize_t (*read)(int fd, void *buffer, size_t size);
	int (*select)(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout);
	ssize_t (*write)(int fd, const void *buffer, size_t size);
};

extern struct calls next_calls;

/* Descriptors that umad2sim makes up; the kernel's are below. Source: umad2sim.c, open and fd_to_dev. */
static inline bool is_umad(int fd)
{
	return fd >= 1024 && fd < 2048;
}

/* --- sim/ibsim/umad_mads.c --- */

/* mads_connected - a socket was connected to where the wire takes a client's datagrams: umad2sim's perhaps. */
void mads_connected(int fd);

/* mads_are_ours - is this a descriptor of umad2sim's whose MADs are carried here? */
bool mads_are_ours(int fd);

/* As the functions of the C library, for a descriptor that is ours. */
int mads_ioctl(int fd, unsigned long request, void *argument);
int mads_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
ssize_t mads_read(int fd, void *buffer, size_t size);
ssize_t mads_write(int fd, const void *buffer, size_t size);
void mads_close(int fd);

/* --- sim/ibsim/ibsim_batch.c --- */

/* batch_bound - a socket was bound where ibsim takes a client's datagrams. */
void batch_bound(int fd);

/* batch_is_ours - was this one? */
bool batch_is_ours(int fd);

void batch_connected(int fd);
ssize_t batch_read(int fd, void *buffer, size_t size);
ssize_t batch_write(int fd, const void *buffer, size_t size);

/* batch_select - as select() without a timeout; what was written goes out first. */
int batch_select(int count, fd_set *in);

#endif
