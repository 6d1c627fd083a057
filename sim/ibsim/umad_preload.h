/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * umad_preload.h - ibwire-sim-umad.so, the library that is preloaded into clients of ibsim
 *
 * umad_preload.c replaces functions of the C library, umad_mads.c transfers MADs (docs/simulation.md).
 * It is loaded into every program of the simulation, shells included, so it uses only the C library and
 * is built without sanitizers.
 */
#ifndef IBWIRE_SIM_UMAD_PRELOAD_H
#define IBWIRE_SIM_UMAD_PRELOAD_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

/* The replaced functions: umad2sim's if it is loaded, else the C library's. */
struct next_calls {
	int (*close)(int fd);
	int (*connect)(int fd, const struct sockaddr *address, socklen_t len);
	int (*ioctl)(int fd, unsigned long request, ...);
	int (*poll)(struct pollfd *fds, nfds_t count, int timeout_ms);
	ssize_t (*read)(int fd, void *buffer, size_t size);
	ssize_t (*write)(int fd, const void *buffer, size_t size);
};

extern struct next_calls next_calls;

/* mads_connected - take over umad2sim's socket. @fd: connected to a data socket of the simulation */
void mads_connected(int fd);

/* mads_own_fd - is this a umad descriptor emulated by umad2sim, whose MADs are transferred here? */
bool mads_own_fd(int fd);

/* As the functions of the C library, for a descriptor of mads_own_fd(). */
int mads_ioctl(int fd, unsigned long request, void *argument);
int mads_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
ssize_t mads_read(int fd, void *buffer, size_t size);
ssize_t mads_write(int fd, const void *buffer, size_t size);
void mads_close(int fd);

#endif
