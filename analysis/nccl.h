/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * nccl.h - what NCCL and RCCL logged about the network, compared with what the wire carried
 *
 * The reader takes the output of a job as it is: many ranks mixed with the output of the training,
 * several messages or half a message in a line, colours, CRLF, binary data. It needs the messages of
 * NCCL_DEBUG=INFO; formats of NCCL 2.4 to 2.30 and RCCL 2.20 are known (analysis/nccl/message.c).
 * Tables of nccl-tests and rccl-tests are read too. Memory is bounded by the limits below, not by
 * the size of the log.
 */
#ifndef IBWIRE_ANALYSIS_NCCL_H
#define IBWIRE_ANALYSIS_NCCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/unread.h"

struct error;
struct text;

enum {
	NCCL_NAME_SIZE = 64,
	NCCL_TEXT_SIZE = 200,
	NCCL_HOSTS_MOST = 16384,
	NCCL_PROCESSES_MOST = 131072,
	NCCL_HCAS_MOST = 131072,
	NCCL_SLOTS_MOST = 1048576,
	NCCL_SETTINGS_MOST = 64,
	NCCL_PROBLEMS_MOST = 32,
	NCCL_TALLY_MOST = 16,
	NCCL_OVERDUE_MOST = 32,
	NCCL_TESTS_MOST = 64,
	NCCL_GROUPS_MOST = 1024,
	NCCL_ROWS_MOST = 128, /* rows kept of a table; all are summed */
	NCCL_LINES_MOST = 64, /* lines of a verdict */
};

/* What carries the data. NCCL calls InfiniBand, RoCE and Omni-Path "IB", and EFA "Libfabric". */
enum nccl_fabric {
	NCCL_FABRIC_UNKNOWN,
	NCCL_INFINIBAND,
	NCCL_ROCE,
	NCCL_IWARP,
	NCCL_OMNI_PATH,
	NCCL_EFA,
	NCCL_SLINGSHOT,
	NCCL_GPUDIRECT_TCP, /* plugins of Google: GPUDirect-TCPX and TCPXO (FasTrak) */
	NCCL_TCP,
	NCCL_FABRIC_COUNT,
};

/* nccl_fabric_name - "InfiniBand", "RoCE", ... */
const char *nccl_fabric_name(enum nccl_fabric fabric);

struct nccl_host {
	char name[NCCL_NAME_SIZE]; /* up to the first dot, as NCCL prints it */
	uint32_t processes;
};

/* A network device of a host. */
struct nccl_hca {
	uint32_t host;
	char name[NCCL_NAME_SIZE]; /* "mlx5_0"; of a device that the log does not name "NETWORK/INDEX" */
	uint8_t port;              /* 0: unknown */
	bool named, sharp;         /* its name is known; the plugin prints it as SHARP-capable */
	enum nccl_fabric fabric;
	uint32_t speed_mbps;       /* 0: unknown (printed since 2.24 with NCCL_DEBUG_SUBSYS=NET) */
	uint32_t sends, receives;  /* connections of channels; 0: listed but not used */
	uint32_t direct;           /* of these with GDRDMA; the others are staged through host memory */
};

struct nccl_process {
	uint32_t host, pid;
	uint32_t first_slot; /* its device numbers; UINT32_MAX: none */
	uint8_t network;     /* index into networks + 1; 0: unknown */
	uint8_t problem;     /* index into problems + 1, of its last warning that is not harmless; 0: none */
	uint32_t messages;
	uint32_t rank, rank_of; /* in its largest communicator, which has @rank_of ranks; UINT32_MAX: of several */
	uint64_t longer;     /* hash of a longer name that ends with its name, in its last such message; 0: none */
	uint32_t longer_at;  /* its number of messages then */
};

/* One device number of one process. Devices that were merged have several with the same index. */
struct nccl_slot {
	uint32_t index, hca, next;
};

/* A setting that NCCL echoes, a version, or a network: a value with the number of messages. */
struct nccl_setting {
	char name[NCCL_NAME_SIZE], value[NCCL_NAME_SIZE * 2];
	uint32_t count;
};

enum nccl_problem_kind {
	NCCL_COMPLETION,  /* a work request failed; status is that of ibv_wc */
	NCCL_ASYNC_EVENT, /* of the HCA */
	NCCL_TIMEOUT,     /* of a connection or, by PyTorch's watchdog, of an operation */
	NCCL_CLOSED,      /* connection refused, or closed by the peer */
	NCCL_FAILED_CALL, /* a call of NCCL that failed, of which no warning is known */
	NCCL_WARNING,     /* any other NCCL WARN */
	NCCL_PROBLEM_KINDS,
};

enum nccl_severity { NCCL_OK, NCCL_NOTE, NCCL_WARN, NCCL_FAIL };

struct nccl_warning;

struct nccl_problem {
	enum nccl_problem_kind kind;
	enum nccl_severity severity;
	const struct nccl_warning *known; /* NULL: the text is not known */
	uint32_t count;             /* messages that differ only in numbers; NCCL_COMPLETION: with this status */
	int status;                 /* NCCL_COMPLETION: enum ibv_wc_status; else 0 */
	uint32_t process;           /* of the first one; UINT32_MAX: unknown */
	char text[NCCL_TEXT_SIZE];  /* of the first one, sanitised */
};

/* What problems name. */
enum nccl_place { NCCL_PEER, NCCL_DEVICE, NCCL_RANK, NCCL_REPORTER, NCCL_PLACES };

/*
 * How often a problem names a peer, an HCA, a reporting rank or host. The most frequent of many are kept (the algorithm
 * "space-saving"): the number is at least @count less @excess.
 */
struct nccl_tally {
	char name[NCCL_NAME_SIZE];
	uint32_t count, excess;
};

/* Ranks of which PyTorch's watchdog reports the same operation. */
struct nccl_overdue {
	char group[NCCL_NAME_SIZE]; /* of ranks: "PG 0"; "" if it is not printed */
	char operation[32];
	uint64_t sequence, ranks;
	uint32_t rank;              /* the first one; UINT32_MAX: unknown */
};

/* Operations of nccl-tests. */
enum nccl_operation {
	NCCL_OP_UNKNOWN,
	NCCL_ALL_REDUCE,
	NCCL_ALL_GATHER,
	NCCL_REDUCE_SCATTER,
	NCCL_ALL_TO_ALL,
	NCCL_BROADCAST,
	NCCL_REDUCE,
	NCCL_GATHER,
	NCCL_SCATTER,
	NCCL_SEND_RECV,
	NCCL_ALL_TO_ALL_V,
	NCCL_HYPERCUBE,
	NCCL_OPERATION_COUNT,
};


struct nccl_row {
	uint64_t size_bytes;
	double time_us, algbw_gb_per_s, busbw_gb_per_s; /* of the column group with the higher busbw */
};

/* Ranks that communicate with each other: all of a test, or with NCCL_TESTS_SPLIT a part of them. */
struct nccl_group {
	uint32_t number;          /* as the list of devices names it */
	uint32_t ranks, hosts;    /* 0: unknown */
	uint32_t ranks_most;      /* on one host */
	uint64_t pairs_inside;    /* ordered pairs of ranks on the same host, with itself */
};

/* A table of nccl-tests or rccl-tests. */
struct nccl_test {
	enum nccl_operation operation;
	bool inferred;            /* from the columns: before 2.17 the program's name is not printed */
	bool concluded;           /* its summary was printed */
	bool below_minimum;       /* of the mean busbw that NCCL_TESTS_MIN_BW demands */
	uint32_t host;            /* index into hosts, of the last rank of its list */
	bool alone;               /* several processes with a rank 0: built without MPI, each ran by itself */
	struct nccl_group all;    /* of its list of devices */
	struct nccl_group *groups; /* of its list, if it has several */
	size_t group_count, group_capacity;
	uint32_t iterations, warmups, aggregated, launches; /* of its header; aggregated and launches: at least 1 */
	uint32_t row_count;       /* all rows */
	uint64_t size_sum_bytes;  /* over rows and their column groups: out-of-place and in-place */
	uint64_t wrong;           /* values that the test found wrong */
	struct nccl_row best;     /* with the highest busbw */
	struct nccl_row rows[NCCL_ROWS_MOST]; /* the first ones */
};

struct nccl_log {
	uint64_t bytes, lines, messages;
	struct unread torn; /* messages that another process interrupted, and that could not be used */
	uint64_t dropped; /* messages beyond the limits above */

	struct nccl_host *hosts;
	struct nccl_hca *hcas;
	struct nccl_process *processes;
	struct nccl_slot *slots;
	size_t host_count, hca_count, process_count, slot_count;
	size_t host_capacity, hca_capacity, process_capacity, slot_capacity;

	/* name "NCCL" or "RCCL"; network as printed; settings "NCCL_IB_HCA" */
	struct nccl_setting versions[8], networks[8], settings[NCCL_SETTINGS_MOST];
	size_t version_count, network_count, setting_count;
	struct nccl_problem problems[NCCL_PROBLEMS_MOST];
	size_t problem_count;
	uint64_t problem_total[NCCL_PROBLEM_KINDS];
	struct nccl_tally (*tallies)[NCCL_PLACES][NCCL_TALLY_MOST]; /* by problem; NULL: no problem yet */
	struct nccl_overdue overdue[NCCL_OVERDUE_MOST];
	size_t overdue_count;
	uint32_t overdue_ranks; /* in overdue_map */
	struct map overdue_map;       /* ranks that are counted in them */
	bool ended_badly;             /* set before nccl_check(): the job ended with an error */

	uint32_t ranks, nodes;        /* of the largest communicator; 0: unknown */
	uint32_t channels, p2p_channels; /* most per communicator; 0: unknown */
	uint64_t net_connections, p2p_connections, shm_connections, collnet_connections;
	uint64_t net_direct;          /* of the connections over the network with GDRDMA */
	uint64_t net_tcp;             /* of them over TCP */
	uint64_t torn_connections;    /* messages of connections that were torn */
	uint64_t repeated;            /* messages that a launcher dropped as repetitions */
	struct map rank_map;          /* ranks whose initialization was logged */
	size_t ranks_logged;
	const char *foreign, *foreign_fix; /* what a log is instead of text: "zstd", and what to do; NULL: text */
	char foreign_name[128];       /* of the first such log, as it was given to nccl_read(); "": not known */
	uint64_t inflate_most;        /* of a log that is compressed with gzip, this many bytes are read */
	const char *cut, *cut_fix;    /* why the rest of such a log was not read, and what to do; NULL: it was */
	char cut_name[128];           /* of the log, as it was given to nccl_read() */
	bool sharp_plugin;            /* a CollNet plugin was loaded */
	bool no_device;               /* a process found no HCA */
	bool nvls;                    /* NVLink SHARP is used inside nodes */
	bool mnnvl;                   /* NVLink connects nodes, too */
	char provider[NCCL_NAME_SIZE];   /* of libfabric: "efa", "psm3" */
	char interfaces[NCCL_NAME_SIZE]; /* of NET/Socket: "eth0 eth1"; of the first process */
	uint32_t direct_devices, staged_devices; /* for which GPU Direct RDMA is reported as enabled, disabled */
	char gdr_reason[NCCL_TEXT_SIZE]; /* the first message that GPU Direct RDMA is disabled; "": none */

	struct nccl_test *tests;
	size_t test_count;

	char (*renamed)[NCCL_NAME_SIZE]; /* names of nodes for those of pods: nccl_rename_host() */
	size_t renamed_count, renamed_capacity;
	struct map renamed_map, lid_map; /* lid_map: LID of a port that NCCL prints -> host */

	struct nccl_input *input; /* private to analysis/nccl */
	struct map host_map, process_map, hca_map;
	bool failed;              /* no memory */
};

/* nccl_init - an empty log. nccl_done - free its memory. */
void nccl_init(struct nccl_log *log);
void nccl_done(struct nccl_log *log);

/*
 * nccl_rename_host - the name of a host for one that NCCL prints, such as that of a pod; before it is read
 * @from, @to:  up to the first dot
 * Return: 0; ERR_NOMEM.
 */
int nccl_rename_host(struct nccl_log *log, const char *from, const char *to, struct error *err);

/*
 * nccl_feed - read a piece of a log, of any length
 * nccl_end - the last piece was read: the line without newline at the end counts
 * Return of both: 0; ERR_NOMEM. More logs may follow after nccl_end(); they are one job.
 */
int nccl_feed(struct nccl_log *log, const char *bytes, size_t len, struct error *err);
int nccl_end(struct nccl_log *log, struct error *err);

/*
 * nccl_read - feed a file to its end; one that is compressed with gzip is decompressed
 * @fd:    not closed
 * @name:  of the file, for log->cut_name
 * Return: 0, also if the end of a compressed file is damaged (log->cut); ERR_IO; ERR_NOMEM.
 */
int nccl_read(struct nccl_log *log, int fd, const char *name, struct error *err);

/* nccl_test_name - "all_reduce"; if it was inferred and is ambiguous "all_gather or alltoall". */
const char *nccl_test_name(const struct nccl_test *test);

/* nccl_may_reduce - switches reduce (SHARP), or it is not known whether they do. */
bool nccl_may_reduce(const struct nccl_log *log);

/*
 * nccl_test_least_bytes - the least number of bytes that a test makes all hosts together receive
 * @sharp:  switches reduce; see nccl_may_reduce()
 *
 * A lower bound that no algorithm can undercut: data moves inside hosts for free, so that
 * nccl-tests' formulas apply with hosts in place of ranks (analysis/nccl/tables.c). Warm-up
 * iterations, validation, headers and acknowledgements come on top of it.
 * Return: bytes; 0: one host, hosts that NVLink connects, or operation, ranks or hosts are unknown.
 */
uint64_t nccl_test_least_bytes(const struct nccl_log *log, const struct nccl_test *test, bool sharp);

/* What one HCA port counted during the job. */
struct nccl_port {
	const char *host, *hca; /* hca "mlx5_0"; NULL: unknown, then only the host's sum is compared */
	unsigned port;
	uint16_t lid;           /* 0: unknown; finds the host of a log that has names of pods */
	bool known;             /* false: it could not be read */
	bool at_least;          /* bytes are a lower bound: a counter was reset or is saturated */
	uint64_t tx_bytes, rx_bytes;
	double rate_gbps;       /* of the link; 0: unknown */
};

/* nccl_severity_name - "ok", "note", "warning", "failure". */
const char *nccl_severity_name(enum nccl_severity severity);

struct nccl_line {
	enum nccl_severity severity;
	char text[512];
	const char *fix; /* action; of each warning and failure, else perhaps NULL */
};

/* The most important line comes first: it is the verdict. */
struct nccl_verdict {
	enum nccl_severity severity; /* the highest one */
	size_t count;
	struct nccl_line lines[NCCL_LINES_MOST];
};

/*
 * nccl_check - compare what NCCL reports with what the ports counted
 * @ports, @count:  ports of the job's hosts, or of some of them; 0: only the log is judged
 * Return: 0; ERR_NOMEM.
 */
int nccl_check(const struct nccl_log *log, const struct nccl_port *ports, size_t count, struct nccl_verdict *ret,
	       struct error *err);

#endif
