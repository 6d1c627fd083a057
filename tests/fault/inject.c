/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/fault/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#if !__GLIBC_PREREQ(2, 32)
#define strerrorname_np strerror
#endif

/* Limits of a run: bytes of output, system calls, seconds. */
enum { OUTPUT_MAX = 1 << 20, CALLS_MAX = 1 << 20, ALLOCATIONS_MAX = 1 << 22, LIMIT_S = 120, WAYS_MAX = 4, HALF = -1 };

/*
 * System calls and how each fails. Those that are missing: close() and munmap(), which succeed also if they
 * report an error; clocks, which do not enter the kernel; locks and memory of the C library (futex, brk, mprotect);
 * and those of signals, which fail for wrong arguments only.
 */
static const struct call {
	int number;
	const char *name;
	int ways[WAYS_MAX]; /* errno, or HALF of the bytes; 0: the end */
} table[] = {
#define CALL(name, ...) { __NR_##name, #name, { __VA_ARGS__ } }
	CALL(open, EMFILE, EIO), CALL(openat, EMFILE, EIO), CALL(read, EIO, EINTR, HALF), CALL(pread64, EIO, HALF),
	CALL(write, ENOSPC, EINTR, HALF), CALL(pwrite64, ENOSPC, EIO, HALF), CALL(writev, ENOSPC), CALL(lseek, EIO),
	CALL(stat, EIO), CALL(lstat, EIO), CALL(fstat, EIO), CALL(newfstatat, EIO), CALL(statfs, EIO),
	CALL(fstatfs, EIO), CALL(access, EIO), CALL(readlink, EIO), CALL(readlinkat, EIO), CALL(getdents64, EIO),
	CALL(fsync, EIO), CALL(fdatasync, EIO), CALL(ftruncate, EIO), CALL(fallocate, ENOSPC), CALL(rename, EIO),
	CALL(renameat2, EIO), CALL(unlink, EIO), CALL(mkdir, ENOSPC), CALL(chmod, EPERM), CALL(fchmod, EPERM),
	CALL(fchown, EPERM), CALL(fcntl, ENOLCK), CALL(flock, EINTR, ENOLCK), CALL(mmap, ENOMEM),
	CALL(mremap, ENOMEM), CALL(memfd_create, EMFILE), CALL(dup, EMFILE), CALL(dup2, EMFILE), CALL(pipe2, EMFILE),
	CALL(poll, EINTR, ENOMEM), CALL(ppoll, EINTR), CALL(clock_nanosleep, EINTR), CALL(nanosleep, EINTR),
	CALL(getrandom, EINTR), CALL(socket, EMFILE), CALL(bind, EADDRINUSE), CALL(listen, EADDRINUSE),
	CALL(connect, ECONNREFUSED, EINTR), CALL(sendto, ENOBUFS), CALL(sendmsg, ENOBUFS), CALL(recvfrom, ECONNRESET),
	CALL(recvmsg, ENOMEM), CALL(setsockopt, ENOMEM), CALL(getsockname, ENOBUFS), CALL(accept4, EMFILE),
	CALL(epoll_create1, EMFILE), CALL(epoll_ctl, ENOMEM), CALL(epoll_wait, EINTR), CALL(clone, EAGAIN),
	CALL(clone3, EAGAIN), CALL(vfork, EAGAIN), CALL(fork, EAGAIN), CALL(wait4, EINTR), CALL(waitid, EINTR),
	CALL(kill, EPERM), CALL(setpgid, EACCES), CALL(prctl, EINVAL), CALL(prlimit64, EPERM), CALL(ioctl, EIO),
	CALL(sched_getaffinity, EINVAL),
#undef CALL
};
enum { TABLE_COUNT = sizeof(table) / sizeof(*table) };

/* Shared by parent and child. */
static struct shared {
	uint64_t allocations, failing; /* number of the allocation that fails, from 1; 0: none */
	int listener;
	bool calls; /* the calls of the child are intercepted */
	bool armed, counting; /* counting: with stacks */
	uint32_t stacks[ALLOCATIONS_MAX]; /* hash of the callers of each allocation, without SQLite's */
} *shared;

static bool intercepts; /* calls of a child can be intercepted here */
static __thread int paused;

/* --- allocations --- */

#if defined(__SANITIZE_ADDRESS__)
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif
#define PLAIN __attribute__((no_sanitize("address", "undefined"), noinline))
void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t count, size_t size);
void *REAL(realloc)(void *old, size_t size);
void __sanitizer_print_stack_trace(void) __attribute__((weak));

/* Code of libraries. */
static struct ranges {
	const char *name;
	uintptr_t from[8], to[8];
	size_t count;
} sanitizers = { .name = "san.so" }, sqlite = { .name = "libsqlite3" }, curses = { .name = "libncursesw" },
  tinfo = { .name = "libtinfo" };

static int add_range(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct ranges *ranges = ctx;

	(void)size;
	for (int i = 0; strstr(info->dlpi_name, ranges->name) && i < info->dlpi_phnum && ranges->count < 8; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		ranges->from[ranges->count] = info->dlpi_addr + part->p_vaddr;
		ranges->to[ranges->count] = ranges->from[ranges->count] + part->p_memsz;
		ranges->count++;
	}
	return 0;
}

PLAIN static bool is_in(const struct ranges *ranges, uintptr_t at)
{
	for (size_t i = 0; i < ranges->count; i++)
		if (at >= ranges->from[i] && at < ranges->to[i])
			return true;
	return false;
}

PLAIN static _Unwind_Reason_Code add_caller(struct _Unwind_Context *context, void *hash)
{
	if (!is_in(&sqlite, _Unwind_GetIP(context)))
		*(uint64_t *)hash = (*(uint64_t *)hash ^ _Unwind_GetIP(context)) * UINT64_C(0x9e3779b97f4a7c15);
	return _URC_NO_REASON;
}

PLAIN static void hash_callers(uint64_t number)
{
	uint64_t hash = 0;

	paused++;
	_Unwind_Backtrace(add_caller, &hash);
	shared->stacks[number % ALLOCATIONS_MAX] = (uint32_t)(hash >> 32);
	paused--;
}

/* Called before the sanitizer is initialised, too. The libraries of the terminal crash without memory. */
PLAIN static bool fails(const void *caller)
{
	uint64_t number;

	if (!shared || !shared->armed || paused || is_in(&curses, (uintptr_t)caller) ||
	    is_in(&tinfo, (uintptr_t)caller))
		return false;
	number = __atomic_add_fetch(&shared->allocations, 1, __ATOMIC_RELAXED);
	if (shared->counting)
		hash_callers(number - 1);
	if (number != shared->failing)
		return false;
	if (getenv("IBWIRE_FAULT_TRACE") && __sanitizer_print_stack_trace) {
		paused++;
		__sanitizer_print_stack_trace();
		paused--;
	}
	errno = ENOMEM;
	return true;
}

PLAIN void *malloc(size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : REAL(malloc)(size);
}

PLAIN void *calloc(size_t count, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : REAL(calloc)(count, size);
}

PLAIN void *realloc(void *old, size_t size)
{
	return fails(__builtin_return_address(0)) ? NULL : REAL(realloc)(old, size);
}

PLAIN void *reallocarray(void *old, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

PLAIN static char *copy(const char *string, size_t len, const void *caller)
{
	char *copied = fails(caller) ? NULL : REAL(malloc)(len + 1);

	if (!copied)
		return NULL;
	copied[len] = '\0';
	return memcpy(copied, string, len);
}

PLAIN char *strndup(const char *string, size_t len)
{
	return copy(string, strnlen(string, len), __builtin_return_address(0));
}

PLAIN char *strdup(const char *string)
{
	return copy(string, strlen(string), __builtin_return_address(0));
}

/* No test here loses what is not flushed. The kernel is called only if the parent counts or fails calls. */
int fsync(int fd)
{
	return shared && shared->calls ? (int)syscall(__NR_fsync, fd) : 0;
}

int fdatasync(int fd)
{
	return shared && shared->calls ? (int)syscall(__NR_fdatasync, fd) : 0;
}

void fault_pause(void)
{
	paused++;
}

void fault_resume(void)
{
	paused--;
}

/* --- system calls, in the parent --- */

struct monitor {
	pid_t child;
	int pidfd, listener;
	struct fault_plan *count;     /* or NULL */
	size_t failing;               /* index of the call that fails, and how */
	int way;
	size_t seen;
	struct fault_run *run;
};

/* Locks are released also if that reports an error, and SQLite ignores it. */
static bool cannot_fail(const struct seccomp_notif *call)
{
	uint64_t kind = call->data.args[1];
	struct flock lock = { 0 };
	struct iovec here = { &lock, sizeof(lock) }, there = { (void *)(uintptr_t)call->data.args[2], sizeof(lock) };

	return call->data.nr == __NR_fcntl && (kind == F_SETLK || kind == F_SETLKW || kind == F_OFD_SETLK) &&
	       process_vm_readv((pid_t)call->pid, &here, 1, &there, 1, 0) > 0 && lock.l_type == F_UNLCK;
}

static bool is_counted(const struct monitor *monitor, const struct seccomp_notif *call)
{
	char task[64];

	if (is_in(&sanitizers, (uintptr_t)call->data.instruction_pointer) || cannot_fail(call))
		return false;
	snprintf(task, sizeof(task), "/proc/%d/task/%d", (int)monitor->child, (int)call->pid);
	return (pid_t)call->pid == monitor->child || access(task, F_OK) == 0;
}

/* Read or write half of the bytes in place of the child. Return: their number, -errno, or 0: not possible. */
static int64_t do_half(const struct monitor *monitor, const struct seccomp_notif *call)
{
	size_t len = call->data.args[2] / 2;
	int fd = (int)syscall(__NR_pidfd_getfd, monitor->pidfd, (int)call->data.args[0], 0);
	char *bytes = REAL(malloc)(len + 1);
	struct iovec here = { bytes, len }, there = { (void *)(uintptr_t)call->data.args[1], len };
	off_t at = (off_t)call->data.args[3];
	ssize_t done = 0;

	if (fd >= 0 && len && call->data.nr == __NR_read)
		done = read(fd, bytes, len);
	else if (fd >= 0 && len && call->data.nr == __NR_pread64)
		done = pread(fd, bytes, len, at);
	else if (fd >= 0 && len && process_vm_readv(call->pid, &here, 1, &there, 1, 0) == (ssize_t)len)
		done = call->data.nr == __NR_write ? write(fd, bytes, len) : pwrite(fd, bytes, len, at);
	if (done > 0 && (call->data.nr == __NR_read || call->data.nr == __NR_pread64)) {
		here.iov_len = there.iov_len = (size_t)done;
		process_vm_writev(call->pid, &here, 1, &there, 1, 0);
	}
	if (fd >= 0)
		close(fd);
	free(bytes);
	return done < 0 ? -errno : done;
}

static size_t find_call(int number)
{
	size_t i = 0;

	while (table[i].number != number)
		i++;
	return i;
}

static int count_ways(const struct call *call)
{
	int count = 0;

	while (count < WAYS_MAX && call->ways[count])
		count++;
	return count;
}

static void fail_call(struct monitor *monitor, const struct seccomp_notif *call, struct seccomp_notif_resp *response)
{
	const struct call *kind = &table[find_call(call->data.nr)];
	int way = kind->ways[monitor->way < count_ways(kind) ? monitor->way : 0];
	int64_t done = way == HALF ? do_half(monitor, call) : -way;

	monitor->run->hidden = call->data.nr == __NR_write && call->data.args[0] == STDERR_FILENO;
	snprintf(monitor->run->what, sizeof(monitor->run->what), "%s %s", kind->name,
		 way == HALF ? "half" : strerrorname_np(way));
	if (!done)
		return;
	/* A read may return fewer bytes than half also without a fault. */
	monitor->run->failed = way != HALF || done < 0 || (size_t)done == (size_t)call->data.args[2] / 2;
	response->flags = 0;
	if (done < 0)
		response->error = (int)done;
	else
		response->val = done;
}

static void handle_call(struct monitor *monitor)
{
	union { struct seccomp_notif call; char room[512]; } in = { .room = { 0 } };
	union { struct seccomp_notif_resp response; char room[512]; } out = { .room = { 0 } };

	if (ioctl(monitor->listener, SECCOMP_IOCTL_NOTIF_RECV, &in) < 0)
		return;
	out.response.id = in.call.id;
	/* A flush that does not fail succeeds without waiting for the disk: see fsync(). */
	if (in.call.data.nr != __NR_fsync && in.call.data.nr != __NR_fdatasync)
		out.response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (is_counted(monitor, &in.call)) {
		if (monitor->count && monitor->seen < CALLS_MAX)
			monitor->count->calls[monitor->count->call_count++] = (uint16_t)find_call(in.call.data.nr);
		if (!monitor->count && monitor->seen == monitor->failing)
			fail_call(monitor, &in.call, &out.response);
		monitor->seen++;
	}
	ioctl(monitor->listener, SECCOMP_IOCTL_NOTIF_SEND, &out);
}

/* --- runs --- */

/*
 * In the child. A signal that arrives while the parent looks at a call ends it with EINTR, also calls that never
 * return this. From Linux 5.19 on the parent's answer is awaited once it has received the call. A removal from
 * epoll cannot fail, and libmicrohttpd aborts if it does: the parent does not see it.
 * Return: a descriptor of the filter, or -1.
 */
static int install_filter(void)
{
	enum { FIRST = 5, LEN = FIRST + TABLE_COUNT + 2 };
	static const unsigned flags[] = {
		SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		SECCOMP_FILTER_FLAG_NEW_LISTENER,
	};
	struct sock_filter code[LEN] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_epoll_ctl, 0, FIRST - 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, EPOLL_CTL_DEL, TABLE_COUNT + 1, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { .len = LEN, .filter = code };
	int fd = -1;

	for (size_t i = 0; i < TABLE_COUNT; i++)
		code[FIRST + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)table[i].number,
							       (uint8_t)(TABLE_COUNT - i), 0);
	code[LEN - 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[LEN - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags) && fd < 0; i++)
		fd = (int)syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, flags[i], &program);
	return fd;
}

static _Noreturn void run_child(void (*body)(void *), void *ctx, bool calls, int out, int err)
{
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGSYS };
	int null = open("/dev/null", O_RDONLY), listener;

	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	stdout = fdopen(STDOUT_FILENO, "w"); /* main() expects one that is not used yet */
	close(null);
	close(out);
	close(err);
	/* cmocka continues with the next test after these. */
	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		signal(fatal[i], SIG_DFL);
	alarm(LIMIT_S);
	if (calls) {
		listener = install_filter();
		/* The parent takes the descriptor with its first look; no call before that is in the table. */
		__atomic_store_n(&shared->listener, listener < 0 ? -1 : listener, __ATOMIC_SEQ_CST);
		while (listener >= 0 && __atomic_load_n(&shared->listener, __ATOMIC_SEQ_CST) != -2)
			syscall(__NR_sched_yield);
		close(listener);
	}
	shared->armed = true;
	body(ctx);
	exit(0);
}

static void open_listener(struct monitor *monitor)
{
	int number;

	monitor->listener = -1;
	while ((number = __atomic_load_n(&shared->listener, __ATOMIC_SEQ_CST)) == 0)
		syscall(__NR_sched_yield);
	if (number > 0)
		monitor->listener = (int)syscall(__NR_pidfd_getfd, monitor->pidfd, number, 0);
	__atomic_store_n(&shared->listener, -2, __ATOMIC_SEQ_CST);
}

static char *read_output(int fd)
{
	char *bytes = REAL(calloc)(1, OUTPUT_MAX + 1);

	if (pread(fd, bytes, OUTPUT_MAX, 0) < 0)
		abort();
	close(fd);
	return REAL(realloc)(bytes, strlen(bytes) + 1);
}

/* Return: whether calls were intercepted. */
static bool run(struct monitor *monitor, void (*body)(void *), void *ctx, bool calls)
{
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
	struct pollfd poll_fd = { .events = POLLIN };

	calls = calls && intercepts;
	shared->allocations = 0;
	shared->calls = calls;
	shared->listener = 0;
	fflush(NULL);
	monitor->child = fork();
	if (monitor->child == 0)
		run_child(body, ctx, calls, out, err);
	if (monitor->child < 0)
		abort();
	monitor->pidfd = (int)syscall(__NR_pidfd_open, monitor->child, 0);
	monitor->listener = -1;
	if (calls)
		open_listener(monitor);
	poll_fd.fd = monitor->listener;
	while (monitor->listener >= 0 && poll(&poll_fd, 1, -1) > 0 && poll_fd.revents & POLLIN)
		handle_call(monitor);
	if (waitpid(monitor->child, &monitor->run->status, 0) != monitor->child)
		abort();
	shared->armed = shared->calls = false;
	if (monitor->listener >= 0)
		close(monitor->listener);
	close(monitor->pidfd);
	monitor->run->out = read_output(out);
	monitor->run->err = read_output(err);
	return poll_fd.fd >= 0;
}

/* A container or a ptrace policy may forbid it, and a filter without its listener would fail every call. */
static bool can_take_descriptors(void)
{
	int pidfd, taken;
	pid_t child = fork();

	if (child < 0)
		abort();
	if (!child)
		for (;;)
			pause();
	pidfd = (int)syscall(__NR_pidfd_open, child, 0);
	taken = (int)syscall(__NR_pidfd_getfd, pidfd, STDIN_FILENO, 0);
	close(taken);
	close(pidfd);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return taken >= 0;
}

static void make_shared(void)
{
	if (shared)
		return;
	intercepts = can_take_descriptors();
	dl_iterate_phdr(add_range, &sanitizers);
	dl_iterate_phdr(add_range, &sqlite);
	dl_iterate_phdr(add_range, &curses);
	dl_iterate_phdr(add_range, &tinfo);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		abort();
}

bool fault_count(void (*body)(void *), void *ctx, bool stacks, struct fault_plan *ret_plan, struct fault_run *ret)
{
	struct monitor monitor = { .count = ret_plan, .run = ret };
	bool calls;

	make_shared();
	shared->failing = 0;
	shared->counting = stacks;
	*ret = (struct fault_run){ 0 };
	*ret_plan = (struct fault_plan){ .calls = REAL(calloc)(CALLS_MAX, sizeof(*ret_plan->calls)) };
	calls = run(&monitor, body, ctx, true);
	shared->counting = false;
	ret_plan->points = ret_plan->allocations = shared->allocations;
	ret_plan->stacks = REAL(malloc)(ret_plan->allocations * sizeof(*ret_plan->stacks));
	memcpy(ret_plan->stacks, shared->stacks, ret_plan->allocations * sizeof(*ret_plan->stacks));
	for (size_t i = 0; i < ret_plan->call_count; i++)
		ret_plan->points += (uint64_t)count_ways(&table[ret_plan->calls[i]]);
	return calls;
}

/* The system call of a point, and in @ret_way how it fails. */
static size_t call_of(const struct fault_plan *plan, uint64_t point, int *ret_way)
{
	size_t call = 0;

	point -= plan->allocations;
	while (point >= (uint64_t)count_ways(&table[plan->calls[call]]))
		point -= (uint64_t)count_ways(&table[plan->calls[call++]]);
	*ret_way = (int)point;
	return call;
}

const char *fault_call_name(const struct fault_plan *plan, uint64_t point)
{
	int way;

	return point < plan->allocations ? NULL : table[plan->calls[call_of(plan, point, &way)]].name;
}

void fault_run(void (*body)(void *), void *ctx, const struct fault_plan *plan, uint64_t point, struct fault_run *ret)
{
	struct monitor monitor = { .run = ret };

	*ret = (struct fault_run){ .what = "allocation" };
	if (point < plan->allocations) {
		shared->failing = point + 1;
		run(&monitor, body, ctx, false);
		ret->failed = shared->allocations >= shared->failing;
		return;
	}
	shared->failing = 0;
	monitor.failing = call_of(plan, point, &monitor.way);
	run(&monitor, body, ctx, true);
}

void fault_run_done(struct fault_run *run)
{
	free(run->out);
	free(run->err);
}

void fault_plan_done(struct fault_plan *plan)
{
	free(plan->calls);
	free(plan->stacks);
}
