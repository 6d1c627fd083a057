/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check.c - what NCCL reports, compared with what the ports counted */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/nccl/check.h"
#include "base/err.h"
#include "base/text.h"

const char *nccl_fabric_name(enum nccl_fabric fabric)
{
	static const char *const names[NCCL_FABRIC_COUNT] = {
		"an unknown fabric", "InfiniBand", "RoCE", "iWARP", "Omni-Path", "EFA", "Slingshot",
		"GPUDirect-TCPX", "TCP",
	};
	return fabric < NCCL_FABRIC_COUNT ? names[fabric] : names[NCCL_FABRIC_UNKNOWN];
}

const char *nccl_severity_name(enum nccl_severity severity)
{
	static const char *const names[] = { "ok", "note", "warning", "failure" };

	return names[severity];
}

void nccl_check_add(struct nccl_check *check, enum nccl_severity severity, const char *fix, const char *fmt, ...)
{
	struct nccl_verdict *verdict = check->verdict;
	struct nccl_line *line;
	va_list args;

	if (severity > verdict->severity)
		verdict->severity = severity;
	if (verdict->count == NCCL_LINES_MOST)
		return;
	line = &verdict->lines[verdict->count++];
	*line = (struct nccl_line){ .severity = severity, .fix = fix };
	va_start(args, fmt);
	vsnprintf(line->text, sizeof(line->text), fmt, args);
	va_end(args);
}

#define line_add(check, severity, ...) nccl_check_add(check, severity, NULL, __VA_ARGS__)

/* "412 GB", "nothing" */
struct amount { char text[24]; };
static struct amount amount(double bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	struct amount ret;
	size_t unit = 0;

	if (bytes < 1) {
		snprintf(ret.text, sizeof(ret.text), "nothing");
		return ret;
	}
	for (; bytes >= 999.5 && unit + 1 < sizeof(units) / sizeof(units[0]); unit++)
		bytes /= 1000;
	snprintf(ret.text, sizeof(ret.text), bytes < 99.95 && unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
	return ret;
}

/* "; the wire moved 412 GB over 8 rails, evenness 0.98" */
static void wire_text(const struct nccl_check *check, char *ret, size_t size)
{
	size_t rails = 0, len;
	double even = nccl_check_evenness(check);

	ret[0] = '\0';
	if (!check->known)
		return;
	for (size_t i = 0; i < check->rail_count; i++)
		rails += check->rails[i].ports && check->rails[i].bytes > 0;
	len = (size_t)snprintf(ret, size, "; the wire moved %s", amount(check->tx_bytes).text);
	if (check->tx_bytes >= 1 && rails)
		len += (size_t)snprintf(ret + len, size - len, " over %zu rail%s", rails, rails == 1 ? "" : "s");
	if (even >= 0)
		len += (size_t)snprintf(ret + len, size - len, ", evenness %.2f", even);
	if (check->counted < check->hosts)
		snprintf(ret + len, size - len, ", on %zu of %zu hosts", check->counted, check->hosts);
}

/* "NCCL 2.19.3" or "RCCL 2.20.5", without the version of CUDA. */
static void library_text(const struct nccl_log *log, char *ret, size_t size)
{
	if (log->version_count)
		snprintf(ret, size, "%s %.*s", log->versions[0].name, (int)strcspn(log->versions[0].value, "+-"),
			 log->versions[0].value);
	else
		snprintf(ret, size, "NCCL");
}

static bool network_is(const struct nccl_log *log, const char *name)
{
	for (size_t i = 0; i < log->network_count; i++)
		if (!strcmp(log->networks[i].value, name))
			return true;
	return !log->network_count && !strcmp(name, "IB");
}

/* Why NCCL may have chosen TCP: "" or "; REASON". @ret_fix: action */
static const char *tcp_reason(const struct nccl_log *log, const char **ret_fix)
{
	if (network_is(log, "FastSocket")) {
		*ret_fix = "remove the plugin, or set NCCL_NET=IB";
		return "; the plugin FastSocket uses TCP";
	}
	for (size_t i = 0; i < log->setting_count; i++) {
		const struct nccl_setting *setting = &log->settings[i];

		if (!strcmp(setting->name, "NCCL_IB_DISABLE") && strcmp(setting->value, "0")) {
			*ret_fix = "unset NCCL_IB_DISABLE";
			return "; NCCL_IB_DISABLE is set";
		}
		if (!strcmp(setting->name, "NCCL_NET") && !strcmp(setting->value, "Socket")) {
			*ret_fix = "unset NCCL_NET";
			return "; NCCL_NET=Socket is set";
		}
	}
	*ret_fix = "check the links of the HCAs, NCCL_IB_HCA, and in the container libibverbs, /dev/infiniband and "
		   "memlock: ibwire doctor";
	return log->no_device ? "; it found no HCA" : "";
}

/* The network of most processes is TCP; if that is not logged: no HCA is listed. */
static bool chose_tcp(const struct nccl_log *log)
{
	uint64_t tcp = 0, others = 0;

	for (size_t i = 0; i < log->network_count; i++) {
		const struct nccl_setting *network = &log->networks[i];

		if (strstr(network->value, "Socket"))
			tcp += network->count;
		else
			others += network->count;
	}
	if (tcp + others)
		return tcp && tcp >= others;
	return !log->hca_count && (log->interfaces[0] || log->no_device);
}

static void foreign_check(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;

	if (log->foreign)
		nccl_check_add(check, NCCL_WARN, log->foreign_fix, "%s is compressed (%s) and was not read",
			       log->foreign_name[0] ? log->foreign_name : "a log", log->foreign);
}

/* No connection over a network was logged. */
static void summary_without_network(struct nccl_check *check, const char *library)
{
	const struct nccl_log *log = check->log;
	const char *fix, *reason = tcp_reason(log, &fix);
	bool apart = log->nodes ? log->nodes > 1 : check->log_hosts > 1;
	bool together = !apart && check->log_hosts <= 1 &&
			(log->nodes == 1 || (log->ranks ? !check->partial :
					     log->p2p_connections + log->shm_connections > 0));

	foreign_check(check);
	if (log->foreign && !log->messages)
		return;
	if (!log->messages)
		line_add(check, NCCL_NOTE, log->version_count ?
			 "%s logged no messages about its network: run with NCCL_DEBUG=INFO" :
			 log->test_count ? "the network is not known: the log has tables of nccl-tests, but no "
			 "messages of NCCL: run with NCCL_DEBUG=INFO" :
			 "the log contains no messages of NCCL: run with NCCL_DEBUG=INFO", library);
	else if (chose_tcp(log) && !together)
		/* Some of the ranks may be all that the log has. */
		nccl_check_add(check, apart || log->ranks ? NCCL_FAIL : NCCL_WARN, fix,
			       "%s chose NET/Socket%s%s: TCP, not RDMA%s%s", library,
			       log->interfaces[0] ? " on " : "", log->interfaces,
			       apart || log->ranks ? "" : ", if there are ranks on other hosts", reason);
	else if (together)
		line_add(check, NCCL_OK, "%s reports ranks on one host only and uses no network"
			 " (it lists %zu HCA%s, %s)", library, check->rail_count, text_plural(check->rail_count),
			 nccl_fabric_name(check->fabric));
	else if (log->torn_connections)
		nccl_check_add(check, NCCL_WARN, "let each process write a file of its own: "
			       "NCCL_DEBUG_FILE=nccl.%h.%p.log",
			       "%s: no message about a connection is whole, %llu are torn", library,
			       (unsigned long long)log->torn_connections);
	else
		line_add(check, NCCL_NOTE, "%s logged no connections: run with NCCL_DEBUG=INFO and without"
			 " NCCL_DEBUG_SUBSYS, or with INIT,NET", library);
}

#define FIX_PORTS "check that the log is of this job, which HCAs it used on each host (ibwire run --local), and " \
	"NCCL_IB_HCA"

static void summary(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;
	uint64_t rdma = log->net_connections - log->net_tcp;
	char library[sizeof(log->versions[0].value) + NCCL_NAME_SIZE], wire[128];
	const char *fix, *reason = tcp_reason(log, &fix);

	library_text(log, library, sizeof(library));
	wire_text(check, wire, sizeof(wire));
	if (!log->net_connections) {
		summary_without_network(check, library);
	} else if (log->net_tcp >= rdma) {
		nccl_check_add(check, NCCL_FAIL, fix, "%s reports NET/%s%s%s: TCP, not RDMA%s%s", library,
			       network_is(log, "FastSocket") ? "FastSocket" : "Socket",
			       log->interfaces[0] ? " on " : "", log->interfaces, wire, reason);
	} else if (!check->used_rails) {
		line_add(check, NCCL_NOTE, "%s reports %llu connections over a network, but the log has no names "
			 "of hosts%s",
			 library, (unsigned long long)log->net_connections, wire);
	} else {
		bool nothing = check->known && !check->unknown && check->tx_bytes < 1e6 &&
			       (check->fabric == NCCL_INFINIBAND || check->named);

		nccl_check_add(check, nothing ? NCCL_FAIL : NCCL_OK, nothing ? FIX_PORTS : NULL,
			       "%s reports %zu HCA%s per host (%s) on %zu host%s %s%s",
			       library, check->used_rails, text_plural(check->used_rails),
			       nccl_fabric_name(check->fabric),
			       check->hosts, text_plural(check->hosts), !check->staged ? "with GDRDMA" :
			       log->net_direct ? "partly with GDRDMA" : "without GDRDMA", wire);
		if (log->net_tcp)
			nccl_check_add(check, NCCL_FAIL, fix, "%llu of %llu connections use TCP (NET/Socket)%s",
				       (unsigned long long)log->net_tcp, (unsigned long long)log->net_connections,
				       reason);
	}
}

/* Ports of an InfiniBand fabric do not carry the data. */
static bool is_other_fabric(const struct nccl_check *check)
{
	return check->fabric == NCCL_ROCE || check->fabric == NCCL_IWARP || check->fabric == NCCL_OMNI_PATH ||
	       check->fabric == NCCL_EFA || check->fabric == NCCL_SLINGSHOT || check->fabric == NCCL_GPUDIRECT_TCP;
}

/* Connections by transport, and the settings that were echoed. */
static void contents(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;
	uint64_t inside = log->p2p_connections + log->shm_connections;
	char list[400] = "";
	size_t len = 0;

	if (log->channels)
		snprintf(list, sizeof(list), "%u channel%s; ", log->channels, text_plural(log->channels));
	if (log->net_connections || inside)
		line_add(check, NCCL_OK, "%sconnections: %llu network, %llu of these with GDRDMA, %llu P2P,"
			 " %llu shared memory", list, (unsigned long long)log->net_connections,
			 (unsigned long long)log->net_direct, (unsigned long long)log->p2p_connections,
			 (unsigned long long)log->shm_connections);
	for (size_t i = 0; i < log->setting_count && len < sizeof(list); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s=%s", len ? ", " : "",
					log->settings[i].name, log->settings[i].value);
	if (len)
		line_add(check, NCCL_OK, "settings: %s%s", list, len < sizeof(list) ? "" : " ...");
}

/* NCCL's names hide what the fabric is. */
static void fabric_named(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;
	bool libfabric = check->fabric == NCCL_EFA || check->fabric == NCCL_SLINGSHOT || log->provider[0];

	if (is_other_fabric(check))
		line_add(check, NCCL_NOTE, "%s%s here is %s, not InfiniBand: ports of an InfiniBand fabric do not carry"
			 " this traffic", libfabric ? "" : "network ", libfabric ? "libfabric" :
			 log->network_count ? log->networks[0].value : "IB", nccl_fabric_name(check->fabric));
}

/* "mlx5_4, mlx5_5 and 2 others" */
static void names_append(char *list, size_t size, unsigned *count, const char *name)
{
	size_t len = strlen(list);

	if ((*count)++ < 4)
		snprintf(list + len, size - len, "%s%s", len ? ", " : "", name);
	else if (len < size)
		snprintf(list + (strstr(list, " and ") ? (size_t)(strstr(list, " and ") - list) : len),
			 size - (strstr(list, " and ") ? (size_t)(strstr(list, " and ") - list) : len),
			 " and %u more", *count - 4);
}

/* Connections over ports of another kind than the most: they are slower, and not on the same fabric. */
static void mixed_check(struct nccl_check *check)
{
	for (enum nccl_fabric fabric = NCCL_INFINIBAND; fabric < NCCL_TCP; fabric++)
		if (fabric != check->fabric && check->fabric != NCCL_TCP && check->fabrics[fabric])
			nccl_check_add(check, NCCL_WARN, "select HCAs of one kind with NCCL_IB_HCA",
				       "%llu connections use %s, the others %s",
				       (unsigned long long)check->fabrics[fabric],
				       nccl_fabric_name(fabric), nccl_fabric_name(check->fabric));
}

static void rails_check(struct nccl_check *check)
{
	char unused[256] = "", foreign[256] = "";
	unsigned unused_count = 0, foreign_count = 0;
	double mean = check->known ? (check->tx_bytes + check->rx_bytes) / (double)check->known : 0;

	for (size_t i = 0; i < check->rail_count; i++) {
		const struct nccl_rail *rail = &check->rails[i];

		if (rail->idle)
			nccl_check_add(check, NCCL_FAIL, FIX_PORTS, "NCCL reports %s on %s of %s%s; %s moved %s",
				       check->fabric == NCCL_INFINIBAND ? "IB" : nccl_fabric_name(check->fabric),
				       rail->name, rail->idle_host, rail->idle > 1 ? " and other hosts" : "",
				       rail->idle > 1 ? "these ports" : "that port",
				       amount((double)rail->idle_bytes).text);
		if (rail->used || !check->log->net_connections)
			continue;
		/* A bond of Ethernet ports among InfiniBand ports is no rail. */
		if (rail->listed && (rail->fabric == check->fabric || check->fabric == NCCL_FABRIC_UNKNOWN))
			names_append(unused, sizeof(unused), &unused_count, rail->name);
		if (check->named && rail->ports && rail->bytes > mean * rail->ports / 10)
			names_append(foreign, sizeof(foreign), &foreign_count, rail->name);
	}
	if (unused_count && check->partial)
		line_add(check, NCCL_NOTE, "the log has messages of %zu of %u ranks: HCAs without connections are not"
			 " judged", check->ranks, check->log->ranks);
	else if (unused_count && check->fabric != NCCL_TCP)
		nccl_check_add(check, NCCL_WARN, "select the rails of the job with NCCL_IB_HCA; if these are rails, "
			       "check their distance to the GPUs (nvidia-smi topo -m)",
			       "NCCL lists %u HCA%s without any connection: %s", unused_count,
			       text_plural(unused_count),
			       unused);
	if (foreign_count)
		line_add(check, NCCL_NOTE, "ports that NCCL has no connection on moved data: %s", foreign);
}

#define FIX_DIRECT "load nvidia_peermem or use DMA-BUF, and check NCCL_NET_GDR_LEVEL"

static void direct_check(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;

	/* What is reported of devices counts if no connection is in the log. */
	if (!log->net_connections && log->nodes != 1 && log->staged_devices)
		nccl_check_add(check, log->direct_devices ? NCCL_NOTE : NCCL_WARN, FIX_DIRECT,
			       "GPU Direct RDMA is reported as disabled %u times, as enabled %u times%s%s",
			       log->staged_devices, log->direct_devices, log->gdr_reason[0] ? "; " : "",
			       log->gdr_reason);
	if (!check->staged)
		return;
	nccl_check_add(check, NCCL_WARN, check->fabric == NCCL_INFINIBAND || check->fabric == NCCL_ROCE ? FIX_DIRECT :
		       "check whether the GPU, the driver and the plugin of this network support GPU Direct RDMA",
		       "%llu of %llu connection%s staged through host memory (no GDRDMA)%s%s",
		       (unsigned long long)check->staged, (unsigned long long)log->net_connections,
		       log->net_connections == 1 ? " is" : "s are", log->gdr_reason[0] ? "; " : "", log->gdr_reason);
}

static void networks_check(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;
	uint32_t counts[9] = { 0 };
	char list[256] = "";
	size_t len = 0, used = 0;

	for (size_t i = 0; i < log->process_count; i++)
		counts[log->processes[i].network]++;
	for (size_t i = 0; i < log->network_count; i++) {
		if (!counts[i + 1])
			continue;
		used++;
		if (len < sizeof(list))
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s %u", len ? ", " : "",
						log->networks[i].value, counts[i + 1]);
	}
	if (used > 1)
		nccl_check_add(check, NCCL_WARN, "give all containers the same plugin and HCAs, or set NCCL_NET",
			       "processes use different networks: %s", list);
}

/*
 * What busbw all hosts reach with one rail each at large sizes, in GB/s: published results of nccl-tests on DGX A100
 * (HDR: 185 to 193 with 8 rails), H100 and H200 (NDR: 360 to 390), B200 with XDR. EDR is scaled from HDR.
 */
static const struct {
	const char *rate;
	double gb_per_s;
} references[] = { { "EDR", 11.5 }, { "HDR", 23 }, { "NDR", 46 }, { "XDR", 92 } };

/* Results below these shares of the rails, from this size on, where latency no longer counts. */
static const double SHARE_WARN = 0.7, SHARE_FAIL = 0.4;
static const uint64_t SIZE_LEAST = 64 << 20;

/*
 * What the rails of a host carry of the busbw of a test. Ranks of one host share its rails: rings of all_reduce and the
 * like enter each host once, in alltoall each rank sends to all ranks of other hosts. 0: there is no such bound.
 */
static double rails_share(const struct nccl_test *test)
{
	double most = test->all.ranks_most, others = (double)test->all.ranks - most;

	switch (test->operation) {
	case NCCL_ALL_REDUCE:
	case NCCL_ALL_GATHER:
	case NCCL_REDUCE_SCATTER:
	case NCCL_BROADCAST:
	case NCCL_REDUCE:
		return test->inferred && test->operation == NCCL_ALL_GATHER ? 0 : 1;
	case NCCL_ALL_TO_ALL:
		return test->all.ranks > 1 ? most * others / (test->all.ranks - 1.0) : 0;
	default:
		return 0;
	}
}

/* Is the best busbw what the rails allow? @rate: of the rails of a host in GB/s, 0: unknown. */
static enum nccl_severity speed_check(const struct nccl_check *check, const struct nccl_test *test, double rate,
				      char *ret, size_t size)
{
	double carried = rails_share(test) * test->best.busbw_gb_per_s, share;
	size_t len = 0, rails = check->used_rails;
	bool judged = carried > 0 && test->all.hosts > 1 && test->group_count < 2 && !test->alone &&
		      test->best.size_bytes >= SIZE_LEAST && !check->log->mnnvl;

	ret[0] = '\0';
	if (rate > 0) {
		share = carried / rate;
		if (carried > 0)
			snprintf(ret, size, "; the rails of a host carry %.1f GB/s (%.0f %%%s)", rate, 100 * share,
				 judged && share < SHARE_WARN ? ", 85 % and more are usual" : "");
		return !judged || share >= SHARE_WARN ? NCCL_OK : share < SHARE_FAIL ? NCCL_FAIL : NCCL_WARN;
	}
	if (!judged || !rails || (check->fabric != NCCL_INFINIBAND && check->fabric != NCCL_ROCE) ||
	    carried >= SHARE_WARN * references[1].gb_per_s * (double)rails)
		return NCCL_OK;
	len += (size_t)snprintf(ret, size, "; usual with %zu rail%s:", rails, text_plural(rails));
	for (size_t i = 0; i < sizeof(references) / sizeof(references[0]) && len < size; i++)
		len += (size_t)snprintf(ret + len, size - len, "%s %s %.0f", i ? "," : "", references[i].rate,
					references[i].gb_per_s * (double)rails / rails_share(test));
	return carried < SHARE_WARN * references[0].gb_per_s * (double)rails ? NCCL_WARN : NCCL_OK;
}

/* Each process of a build without MPI prints a table of its own. Return: how many tables are such. */
static size_t count_alone(const struct nccl_log *log)
{
	size_t single = 0, elsewhere = 0;

	if (log->nodes > 1)
		return 0;
	for (size_t i = 0; i < log->test_count; i++) {
		const struct nccl_test *test = &log->tests[i], *first = &log->tests[0];

		if (test->alone)
			return log->test_count;
		single += test->all.ranks == 1;
		elsewhere += test->all.hosts == 1 && test->host != first->host && test->operation == first->operation;
	}
	return log->test_count > 1 && (single == log->test_count || elsewhere) ? log->test_count : 0;
}

#define FIX_WRONG "look for a GPU with errors: dmesg (NVRM Xid), nvidia-smi -q -d ECC"
#define FIX_CUT "the test did not end: look for its first failure in the logs of all ranks"
#define FIX_SLOW "look for slow or failing links (ibwire links --degraded, ibwire health), missing GDRDMA, and PCI " \
	"links and settings of the hosts (ibwire doctor)"

static void test_check(struct nccl_check *check, const struct nccl_test *test, uint64_t bytes)
{
	char line_rate[160], parts[32] = "", ranks[96] = "ranks not known", wire[64];
	enum nccl_severity severity = speed_check(check, test, nccl_check_host_rate(check), line_rate,
		sizeof(line_rate));
	bool slow = severity > NCCL_NOTE || test->below_minimum, cut = !test->concluded;

	if (test->wrong || test->below_minimum)
		severity = NCCL_FAIL;
	else if (cut && check->log->ended_badly && severity < NCCL_WARN)
		severity = NCCL_WARN;
	if (test->group_count > 1)
		snprintf(parts, sizeof(parts), " in %zu groups", test->group_count);
	if (test->all.ranks)
		snprintf(ranks, sizeof(ranks), "%u rank%s on %u host%s%s", test->all.ranks,
			 text_plural(test->all.ranks),
			 test->all.hosts, text_plural(test->all.hosts), parts);
	if (bytes)
		snprintf(wire, sizeof(wire), "at least %s", amount((double)bytes).text);
	else
		snprintf(wire, sizeof(wire), test->all.ranks && (test->all.hosts < 2 || test->group_count > 1) ?
			 "nothing needs to be" : "unknown bytes");
	if (!test->row_count)
		nccl_check_add(check, NCCL_WARN, test->operation == NCCL_HYPERCUBE ?
			       "run it on a number of ranks that is a power of two" :
			       cut && check->log->problem_count ? FIX_CUT : "let only the first rank write to this log",
			       "%s: the table has no row that can be read", nccl_test_name(test));
	else
		nccl_check_add(check, severity, test->wrong ? FIX_WRONG : slow ? FIX_SLOW :
			       severity > NCCL_NOTE ? FIX_CUT : NULL,
			       "%s, %s, %u row%s: best busbw %.1f GB/s at %s%s; %s on the wire%s%s%s",
			       nccl_test_name(test), ranks, test->row_count, text_plural(test->row_count),
			       test->best.busbw_gb_per_s, amount((double)test->best.size_bytes).text, line_rate, wire,
			       test->wrong ? "; wrong values" : "", test->below_minimum ?
			       "; the mean busbw is below that of NCCL_TESTS_MIN_BW" : "",
			       cut ? "; the table is cut off" : "");
}

static void tests_check(struct nccl_check *check)
{
	const struct nccl_log *log = check->log;
	size_t alone = count_alone(log);
	double least = 0;

	if (alone)
		nccl_check_add(check, NCCL_WARN, "build it with make MPI=1",
			       "nccl-tests was built without MPI: %s, nothing went over the network",
			       log->tests[0].alone ? "its processes ran by themselves" :
			       "each of its processes ran by itself");
	for (size_t i = 0; i < log->test_count && !alone; i++) {
		uint64_t bytes = nccl_test_least_bytes(log, &log->tests[i], nccl_may_reduce(log));

		least += (double)bytes;
		test_check(check, &log->tests[i], bytes);
	}
	if (least <= 0 || !check->known || check->counted < check->hosts)
		return;
	if (check->rx_bytes < least && !check->unknown)
		nccl_check_add(check, is_other_fabric(check) && !check->named ? NCCL_NOTE : NCCL_FAIL, FIX_PORTS,
			       "the tests must put at least %s on the wire, but the hosts received only %s (%.1f %%):"
			       " the data did not take these ports", amount(least).text,
			       amount(check->rx_bytes).text, 100 * check->rx_bytes / least);
	else
		line_add(check, NCCL_OK, "the tests must put at least %s on the wire; the hosts received %s (%.0f %%)",
			 amount(least).text, amount(check->rx_bytes).text, 100 * check->rx_bytes / least);
}

int nccl_check(const struct nccl_log *log, const struct nccl_port *ports, size_t count, struct nccl_verdict *ret,
	       struct error *err)
{
	struct nccl_check check = { .log = log, .ports = ports, .port_count = count, .verdict = ret,
				    .by_host = calloc(log->host_count + 1, sizeof(*check.by_host)) };

	if (!check.by_host)
		return err_nomem(err);
	ret->severity = NCCL_OK;
	ret->count = 0;
	nccl_check_sum(&check);
	summary(&check);
	if (log->cut)
		nccl_check_add(&check, NCCL_WARN, log->cut_fix,
			       "the rest of %s, which is compressed with gzip, was not read: %s", log->cut_name,
			       log->cut);
	if (log->net_connections)
		foreign_check(&check);
	if (count && log->host_count && !check.known && !check.unknown)
		nccl_check_add(&check, NCCL_WARN, "if these are pods, name their nodes with --hosts-map FILE",
			       "none of the log's hosts (%s ...) is a host of the job: the log is not compared "
			       "with the wire", log->hosts[0].name);
	if (check.unknown)
		line_add(&check, NCCL_NOTE, "%zu port%s of the job could not be read or were reset: sums are at least"
			 " these", check.unknown, text_plural(check.unknown));
	fabric_named(&check);
	rails_check(&check);
	mixed_check(&check);
	if (log->collnet_connections)
		line_add(&check, NCCL_OK, "switches reduce (SHARP): %llu connections",
			 (unsigned long long)log->collnet_connections);
	else if (log->sharp_plugin && log->net_connections)
		line_add(&check, NCCL_NOTE, "the SHARP plugin is loaded, but no connection uses it");
	direct_check(&check);
	networks_check(&check);
	tests_check(&check);
	contents(&check);
	nccl_check_problems(&check);
	if (log->torn.lines && (log->net_connections || !log->torn_connections))
		line_add(&check, NCCL_NOTE, "%zu messages are torn and not counted: let each process write a file "
			 "of its own (NCCL_DEBUG_FILE=nccl.%%h.%%p.log)", log->torn.lines);
	if (log->repeated)
		line_add(&check, NCCL_NOTE, "%llu messages were dropped by the launcher as repetitions",
			 (unsigned long long)log->repeated);
	if (log->dropped)
		line_add(&check, NCCL_NOTE, "%llu messages exceed the limits of the reader and are not counted",
			 (unsigned long long)log->dropped);
	/* Stable: the summary stays the first of its severity. */
	for (size_t i = 1; i < ret->count; i++) {
		struct nccl_line line = ret->lines[i];
		size_t at = i;

		for (; at && ret->lines[at - 1].severity < line.severity; at--)
			ret->lines[at] = ret->lines[at - 1];
		ret->lines[at] = line;
	}
	free(check.by_host);
	return 0;
}
