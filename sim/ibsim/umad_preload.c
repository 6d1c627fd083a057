/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sim/ibsim/umad_preload.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/un.h>
#include <unistd.h>

#define INTERPOSED __attribute__((visibility("default")))

struct next_calls next_calls;

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

/* Is this the abstract address of a socket for a client's MADs, "NAME:out..."? */
static bool is_data_address(const struct sockaddr *address, socklen_t len)
{
	static const char out[] = ":out";
	const struct sockaddr_un *local = (const struct sockaddr_un *)(const void *)address;
	const char *name = getenv("IBSIM_SOCKNAME");
	size_t name_len = name ? strlen(name) : 0, out_len = strlen(out);

	return name_len && address && address->sa_family == AF_UNIX &&
		len > offsetof(struct sockaddr_un, sun_path) + 1 + name_len + out_len && !local->sun_path[0] &&
		!memcmp(local->sun_path + 1, name, name_len) && !memcmp(local->sun_path + 1 + name_len, out, out_len);
}

INTERPOSED int connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int result;

	find_next();
	result = next_calls.connect(fd, address, len);
	if (result == 0 && is_data_address(address, len))
		mads_connected(fd);
	return result;
}

INTERPOSED int close(int fd)
{
	find_next();
	if (mads_own_fd(fd))
		mads_close(fd);
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

INTERPOSED ssize_t read(int fd, void *buffer, size_t size)
{
	find_next();
	return mads_own_fd(fd) ? mads_read(fd, buffer, size) : next_calls.read(fd, buffer, size);
}

INTERPOSED ssize_t write(int fd, const void *buffer, size_t size)
{
	find_next();
	return mads_own_fd(fd) ? mads_write(fd, buffer, size) : next_calls.write(fd, buffer, size);
}
