/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/umad_preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#define INTERPOSED __attribute__((visibility("default")))

struct next_calls next_calls;

/* umad2sim's socket for exchanges with ibsim about this client; -1: not connected */
static int control_fd = -1;

/* Each replaced function calls this too: it may be called before constructors have run. */
__attribute__((constructor)) static void find_next(void)
{
	if (next_calls.write)
		return;
	*(void **)&next_calls.close = dlsym(RTLD_NEXT, "close");
	*(void **)&next_calls.connect = dlsym(RTLD_NEXT, "connect");
	*(void **)&next_calls.ioctl = dlsym(RTLD_NEXT, "ioctl");
	*(void **)&next_calls.poll = dlsym(RTLD_NEXT, "poll");
	*(void **)&next_calls.read = dlsym(RTLD_NEXT, "read");
	*(void **)&next_calls.write = dlsym(RTLD_NEXT, "write");
}

/* Is this the abstract address of a socket of ibsim, "NAME@part..."? @part: ":ctl", or ":out" for MADs */
static bool is_address_of(const char *part, const struct sockaddr *address, socklen_t len)
{
	const struct sockaddr_un *local = (const struct sockaddr_un *)(const void *)address;
	const char *name = getenv("IBSIM_SOCKNAME");
	size_t name_len = name ? strlen(name) : 0, part_len = strlen(part);

	return name_len && address && address->sa_family == AF_UNIX &&
		len > offsetof(struct sockaddr_un, sun_path) + 1 + name_len + part_len && !local->sun_path[0] &&
		!memcmp(local->sun_path + 1, name, name_len) && !memcmp(local->sun_path + 1 + name_len, part, part_len);
}

INTERPOSED int connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int result;

	find_next();
	result = next_calls.connect(fd, address, len);
	if (result == 0 && is_address_of(":out", address, len))
		mads_connected(fd);
	else if (result == 0 && is_address_of(":ctl", address, len))
		control_fd = fd;
	return result;
}

INTERPOSED int close(int fd)
{
	find_next();
	if (mads_own_fd(fd))
		mads_close(fd);
	if (fd == control_fd)
		control_fd = -1;
	return next_calls.close(fd);
}

INTERPOSED int ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	find_next();
	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	return mads_own_fd(fd) ? mads_ioctl(fd, request, argument) : next_calls.ioctl(fd, request, argument);
}

INTERPOSED int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	nfds_t i;

	find_next();
	for (i = 0; i < count; i++)
		if (mads_own_fd(fds[i].fd))
			return mads_poll(fds, count, timeout_ms);
	return next_calls.poll(fds, count, timeout_ms);
}

/* A signal that interrupts umad2sim's exchange with ibsim would end the program with status 255. */
static bool must_repeat(int fd, ssize_t result)
{
	return result < 0 && errno == EINTR && fd == control_fd;
}

INTERPOSED ssize_t read(int fd, void *buffer, size_t size)
{
	ssize_t result;

	find_next();
	do
		result = mads_own_fd(fd) ? mads_read(fd, buffer, size) : next_calls.read(fd, buffer, size);
	while (must_repeat(fd, result));
	return result;
}

INTERPOSED ssize_t write(int fd, const void *buffer, size_t size)
{
	ssize_t result;

	find_next();
	do
		result = mads_own_fd(fd) ? mads_write(fd, buffer, size) : next_calls.write(fd, buffer, size);
	while (must_repeat(fd, result));
	return result;
}
