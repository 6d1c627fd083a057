/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * warnings.c - known texts of NCCL WARN: what each means, and what to do
 *
 * Texts and versions as read in NCCL's sources of the tags 2.3.5 to 2.30.7 (transport/net_ib, net_socket, shm,
 * misc/ibvwrap, misc/socket, misc/shmutils, bootstrap, init, graph), in RCCL 2.20 and 2.21, in the plugins
 * aws-ofi-nccl, nccl-rdma-sharp-plugins (IBext, UCX) and FastSocket, and in nccl-tests.
 * A text that is not listed is a warning.
 */
#include <assert.h>
#include <string.h>

#include "analysis/nccl/input.h"

#define FIX_MEMLOCK "set memlock to unlimited for the job (ulimit -l; limits.conf, LimitMEMLOCK of slurmd or " \
	"containerd)"
#define FIX_LINK "check the HCA and its link: ibwire doctor on this host, ibwire health"
#define FIX_FIREWALL "check that the peer's process still runs, that no firewall blocks TCP between the hosts, and " \
	"that " \
	"NCCL_SOCKET_IFNAME selects an interface which connects them"
#define FIX_INTERFACE "set NCCL_SOCKET_IFNAME to an interface that is up and connects the hosts"
#define FIX_SHM "enlarge /dev/shm: docker --shm-size=16g --ipc=host; in Kubernetes an emptyDir with medium: Memory"
#define FIX_GID "set NCCL_IB_GID_INDEX to the RoCE v2 entry of IPv4 (show_gids, ibwire doctor), or unset it"
#define FIX_MIXED "select HCAs of one kind on all hosts with NCCL_IB_HCA"
#define FIX_FIRST "a consequence: look for the first failure in the log of the peer"
#define FIX_LOCAL "containers of one host need a common network namespace, or one container for all ranks of a host"
#define FIX_RANKS "each process must have a rank of its own and the same number of ranks: check the launcher"
#define FIX_SHARP "SHARP is not used: check its aggregation manager and the plugin (SHARP_COLL_LOG_LEVEL=3)"
#define FIX_TRANSPORT "check NCCL_NET and the variables that forbid transports (NCCL_P2P_DISABLE, NCCL_SHM_DISABLE)"
#define FIX_EFA_DIRECT "load efa_nv_peermem, or use open GPU kernel modules with DMA-BUF"
#define FIX_ROCR "install the ROCm runtime (ROCr) of RCCL's version in the container: DMA-BUF needs it"
#define FIX_GPU "a failure of the GPU or its driver: see dmesg for NVRM Xid"
#define FIX_CALL "all ranks must call the same operation with the same size, in the same order"

/* The first one that matches is taken: special texts are before general ones. */
static const struct nccl_warning warnings[] = {
	/* Harmless: NCCL continues with another value. */
	{ "NCCL_SOCKET_NTHREADS is greater than the maximum allowed", "2.4.8", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "number of sockets is greater than the maximum allowed", "2.4.8", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "Ignoring SHM locality", "2.13.4", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "NCCL_WORK_FIFO_", "2.13.4", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "NCCL_NET_MERGE_POLICY: unknown value", "2.30.7", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "plugin has incompatible version", "2.21.5", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "Both NCCL_CTA_POLICY_ZERO and", "2.29.2", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "NET/OFI Only EFA provider is supported", "aws-ofi-nccl 1.0", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "NUMA auto balancing enabled", "RCCL 2.18", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "upper limit*cap it to", "2.18.1", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "NCCL_CGA_CLUSTER_SIZE value*Limiting value", "2.15.1", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "Turning off TX zero copy", "FastSocket", NCCL_WARNING, NCCL_NOTE, NULL },
	{ "Got async event : GID table change", "2.3.5", NCCL_ASYNC_EVENT, NCCL_NOTE, NULL },
	{ "Got async event : client reregistration", "2.3.5", NCCL_ASYNC_EVENT, NCCL_NOTE, NULL },
	{ "Got non-fatal async event: client reregistration", "2.28.7", NCCL_ASYNC_EVENT, NCCL_NOTE, NULL },
	{ "GID table changed", "2.28.3", NCCL_ASYNC_EVENT, NCCL_NOTE, NULL },

	/* Failed work requests: the remedy depends on the status. */
	{ "Got completion from peer", "2.10.3", NCCL_COMPLETION, NCCL_FAIL, NULL },
	{ "Got completion with", "2.3.5", NCCL_COMPLETION, NCCL_FAIL, NULL },
	{ "Got CQE with error", "2.29.7", NCCL_COMPLETION, NCCL_FAIL, FIX_LINK },

	{ "async fatal event", "2.23.4", NCCL_ASYNC_EVENT, NCCL_FAIL, FIX_LINK },
	{ "async event", "2.3.5", NCCL_ASYNC_EVENT, NCCL_WARN, FIX_LINK },
	{ "async*event", "2.3.5", NCCL_ASYNC_EVENT, NCCL_WARN, FIX_LINK },

	/* Calls of libibverbs. */
	{ "ibv_reg_mr*Cannot allocate memory", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_MEMLOCK },
	{ "ibv_create_*Cannot allocate memory", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_MEMLOCK },
	{ "ibv_reg_dmabuf_mr", "2.13.4", NCCL_WARNING, NCCL_FAIL,
	  "GPU memory cannot be registered by DMA-BUF: load nvidia_peermem, or use open GPU kernel modules" },
	{ "ibv_reg_mr", "2.3.5", NCCL_WARNING, NCCL_FAIL,
	  FIX_MEMLOCK "; for GPU memory load nvidia_peermem or use DMA-BUF" },
	{ "ibv_create_qp", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_MEMLOCK "; check the limits of a virtual function" },
	{ "mlx5dv_create_qp", "2.30.3", NCCL_WARNING, NCCL_FAIL, FIX_MEMLOCK },
	{ "ibv_create_cq", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_MEMLOCK },
	{ "ibv_modify_qp failed*No such device", "2.3.5", NCCL_WARNING, NCCL_FAIL,
	  "the interface of the RoCE port has no such GID in this namespace: " FIX_GID },
	{ "ibv_modify_qp failed*nvalid argument", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_GID },
	{ "ibv_modify_qp failed*timed out", "2.3.5", NCCL_WARNING, NCCL_FAIL,
	  "the peer's address was not resolved: check routes and VLANs of the RoCE interfaces; " FIX_GID },
	{ "ibv_modify_qp", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_GID "; " FIX_LINK },
	{ "GID index", "2.24.3", NCCL_WARNING, NCCL_FAIL, FIX_GID },
	{ "ibv_query_gid", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_GID },
	{ "Unable to open device", "2.3.5", NCCL_WARNING, NCCL_FAIL,
	  "give the container /dev/infiniband and the right to lock memory (IPC_LOCK): ibwire doctor" },
	{ "Unable to query ", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_LINK },
	{ "Call to ibv_", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_LINK },
	{ "Failed to open libibverbs", "2.3.5", NCCL_WARNING, NCCL_WARN,
	  "install libibverbs (rdma-core) in the container: NCCL uses TCP without it" },
	{ "NET/IB : No IP interface found", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_INTERFACE },
	{ "NET/IB : No device found", "2.3.5", NCCL_WARNING, NCCL_WARN,
	  "check libibverbs and /dev/infiniband in the container, and NCCL_IB_HCA" },
	{ "NET/IB*incompatible", "2.26.2", NCCL_WARNING, NCCL_FAIL, FIX_MIXED },
	{ "mixed local*device counts", "2.30.3", NCCL_WARNING, NCCL_FAIL, FIX_MIXED },
	{ "different link_layer", "2.20.3", NCCL_WARNING, NCCL_FAIL, FIX_MIXED },
	{ "different number of devices", "2.20.3", NCCL_WARNING, NCCL_FAIL, FIX_MIXED },
	{ "PCI relaxed order*not supported", "IBext", NCCL_WARNING, NCCL_WARN,
	  "unset NCCL_IB_PCI_RELAXED_ORDERING, or update rdma-core" },
	{ "remote FLID configured as zero", "2.22.3", NCCL_WARNING, NCCL_WARN,
	  "configure FLIDs of the router in the subnet manager" },

	{ "ibv_post_", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_LINK },
	{ "Initiating recovery", "2.30.3", NCCL_WARNING, NCCL_WARN, FIX_LINK },
	{ "Maximum number of probing attempts", "2.29.7", NCCL_WARNING, NCCL_FAIL, FIX_LINK },
	{ "Could not find a functional device", "2.29.7", NCCL_WARNING, NCCL_FAIL, FIX_LINK },
	{ "Could not find a replacement QP", "2.29.7", NCCL_WARNING, NCCL_FAIL, FIX_LINK },
	{ "lib wrapper not initialized", "2.3.5", NCCL_WARNING, NCCL_FAIL,
	  "install libibverbs (rdma-core) in the container" },
	{ "Cannot initialize CollNet, using point-to-point", "2.9.6", NCCL_WARNING, NCCL_WARN, FIX_SHARP },
	{ "SHARP coll init error", "IBext", NCCL_WARNING, NCCL_WARN, FIX_SHARP },
	{ "SHARP group create", "IBext", NCCL_WARNING, NCCL_WARN, FIX_SHARP },
	{ "sharp_coll_caps_query failed", "IBext", NCCL_WARNING, NCCL_WARN, FIX_SHARP },
	{ "Error: network*not found", "2.10.3", NCCL_WARNING, NCCL_FAIL,
	  "set NCCL_NET to the name of a network or plugin that the container has, or unset it" },
	{ "No transport found for rank", "2.12.7", NCCL_WARNING, NCCL_FAIL, FIX_TRANSPORT },
	{ "has no transport for", "2.9.6", NCCL_WARNING, NCCL_FAIL, FIX_TRANSPORT },
	{ "Failed to initialize any NET plugin", "2.27.3", NCCL_WARNING, NCCL_FAIL,
	  "check NCCL_NET and NCCL_NET_PLUGIN, and that the container has the plugin" },

	/* libfabric, by aws-ofi-nccl. */
	{ "EFA provider requires at least libfabric", "aws-ofi-nccl", NCCL_WARNING, NCCL_FAIL,
	  "install a newer EFA installer or libfabric in the container" },
	{ "GDR disabled on GDR-supported", "aws-ofi-nccl", NCCL_WARNING, NCCL_WARN, FIX_EFA_DIRECT },
	{ "GDR support reported to NCCL but", "aws-ofi-nccl", NCCL_WARNING, NCCL_FAIL, FIX_EFA_DIRECT },
	{ "does not support communication using CUDA buffers", "aws-ofi-nccl", NCCL_WARNING, NCCL_FAIL,
	  FIX_EFA_DIRECT },
	{ "NET/OFI*register memory", "aws-ofi-nccl", NCCL_WARNING, NCCL_FAIL,
	  FIX_MEMLOCK "; for GPU memory " FIX_EFA_DIRECT },

	/* Shared memory. */
	{ "failed to extend", "2.12.7", NCCL_WARNING, NCCL_FAIL, FIX_SHM },
	{ "shared memory file", "2.22.3", NCCL_WARNING, NCCL_FAIL, FIX_SHM },
	{ "/dev/shm", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_SHM },
	{ "No space left on device", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_SHM },
	{ "shared memory segment", "2.4.2", NCCL_WARNING, NCCL_FAIL, FIX_SHM },

	{ "Test timeout (", "nccl-tests 2.9", NCCL_TIMEOUT, NCCL_FAIL,
	  "find the rank that stopped: stack and log of each process; then its link: ibwire health" },

	/* Sockets, of which those inside a host come first. */
	{ "UDS: *failed", "2.17.1", NCCL_WARNING, NCCL_FAIL, FIX_LOCAL },
	{ "UDS: Socket creation error", "2.17.1", NCCL_WARNING, NCCL_FAIL, FIX_LOCAL },
	{ "onnection refused", "2.3.5", NCCL_CLOSED, NCCL_FAIL, FIX_FIREWALL },
	{ "No route to host", "2.3.5", NCCL_CLOSED, NCCL_FAIL, FIX_FIREWALL },
	{ "etwork is unreachable", "2.3.5", NCCL_CLOSED, NCCL_FAIL, FIX_INTERFACE },
	{ "onnection timed out", "2.3.5", NCCL_TIMEOUT, NCCL_FAIL, FIX_FIREWALL },
	{ "exceeded error retry count", "2.24.3", NCCL_TIMEOUT, NCCL_FAIL, FIX_FIREWALL },
	{ "exceeded retries (", "2.16.2", NCCL_TIMEOUT, NCCL_FAIL, FIX_FIREWALL },
	{ "Maximum retry reached for", "FastSocket", NCCL_TIMEOUT, NCCL_FAIL, FIX_FIREWALL },
	{ "exceeded timeouts", "2.16.2", NCCL_TIMEOUT, NCCL_FAIL, FIX_FIREWALL },
	{ "onnection closed by", "2.3.5", NCCL_CLOSED, NCCL_FAIL, FIX_FIRST },
	{ "onnection reset", "2.3.5", NCCL_CLOSED, NCCL_FAIL, FIX_FIRST },
	{ "roken pipe", "2.3.5", NCCL_CLOSED, NCCL_FAIL, FIX_FIRST },
	{ "o socket interface found", "2.4.8", NCCL_WARNING, NCCL_FAIL, FIX_INTERFACE },
	{ "o interface found", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_INTERFACE },
	{ "NET/Socket : No usable listening interface", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_INTERFACE },
	{ "verify NCCL_OOB_NET_IFNAME", "2.24.3", NCCL_WARNING, NCCL_FAIL, "correct or unset NCCL_OOB_NET_IFNAME" },
	{ "Invalid NCCL_COMM_ID", "2.3.5", NCCL_WARNING, NCCL_FAIL, "set NCCL_COMM_ID=ADDRESS:PORT, or unset it" },
	{ "getting address info", "2.3.5", NCCL_WARNING, NCCL_FAIL,
	  "the name of a host is not resolved: check DNS and /etc/hosts" },
	{ "socket progress error", "2.4.8", NCCL_CLOSED, NCCL_FAIL, FIX_FIRST },
	{ "Socket recv failed while polling", "2.17.1", NCCL_CLOSED, NCCL_FAIL, FIX_FIRST },
	{ "Error encountered progressing operation", "2.17.1", NCCL_CLOSED, NCCL_FAIL, FIX_FIRST },
	{ "Could not receive type from localRank", "2.12.7", NCCL_CLOSED, NCCL_FAIL, FIX_FIRST },
	{ "] Failed to execute operation", "2.12.7", NCCL_WARNING, NCCL_FAIL, FIX_FIRST },
	{ "Call to recv from", "2.10.3", NCCL_CLOSED, NCCL_FAIL, FIX_FIRST },
	{ "onnect to*returned", "2.20.3", NCCL_CLOSED, NCCL_FAIL, FIX_FIREWALL },
	{ "onnect to*failed", "2.3.5", NCCL_CLOSED, NCCL_FAIL, FIX_FIREWALL },
	{ "Accept failed", "2.12.7", NCCL_CLOSED, NCCL_FAIL, FIX_FIREWALL },
	{ "message truncated", "2.4.2", NCCL_WARNING, NCCL_FAIL, FIX_CALL },
	{ "Message truncated", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_CALL },
	{ "timed out", "2.3.5", NCCL_TIMEOUT, NCCL_FAIL, FIX_FIREWALL },
	{ "imeout", "2.3.5", NCCL_TIMEOUT, NCCL_FAIL, FIX_FIREWALL },

	/* Initialization. */
	{ "mismatch in info from procs", "2.23.4", NCCL_WARNING, NCCL_FAIL, FIX_RANKS },
	{ "has already checked in", "2.3.7", NCCL_WARNING, NCCL_FAIL, FIX_RANKS },
	{ "failed to peer with device", "2.3.5", NCCL_WARNING, NCCL_FAIL,
	  "check IOMMU and ACS of the host: nvidia-smi topo -p2p r; NCCL_P2P_DISABLE=1 avoids it" },
	{ "ersion mismatch", "2.23.4", NCCL_WARNING, NCCL_FAIL, "use one version of NCCL in all containers" },
	{ "Mismatched NCCL version", "2.23.4", NCCL_WARNING, NCCL_FAIL, "use one version of NCCL in all containers" },
	{ "Duplicate GPU detected", "2.5.6", NCCL_WARNING, NCCL_FAIL,
	  "each rank needs a GPU of its own: check CUDA_VISIBLE_DEVICES and the local rank" },
	{ "Multiple Ranks are using the same GPU", "2.30.7", NCCL_WARNING, NCCL_FAIL,
	  "each rank needs a GPU of its own: check CUDA_VISIBLE_DEVICES and the local rank" },
	{ "P2P is disabled between NVLINK connected GPUs", "2.12.7", NCCL_WARNING, NCCL_WARN,
	  "check NCCL_P2P_DISABLE, and IOMMU and ACS of the host: nvidia-smi topo -p2p r" },
	{ "Could not open XML topology file", "2.6.4", NCCL_WARNING, NCCL_WARN,
	  "set NCCL_TOPO_FILE to a file that the container has, or unset it" },
	{ "Unable to find algorithm files", "RCCL", NCCL_WARNING, NCCL_WARN,
	  "install RCCL with its folder msccl-algorithms, or set RCCL_MSCCL_ENABLE=0" },
	{ "Failed to find ROCm runtime library", "RCCL", NCCL_WARNING, NCCL_WARN, FIX_ROCR },
	{ "Failed to load ROCr missing symbol", "RCCL", NCCL_WARNING, NCCL_WARN, FIX_ROCR },
	{ "Missing \"iommu=pt\"", "RCCL 2.18", NCCL_WARNING, NCCL_WARN, "add iommu=pt to the kernel command line" },
	{ "Test CUDA failure*out of memory", "nccl-tests 2.0", NCCL_WARNING, NCCL_FAIL,
	  "end other processes on the GPU, or test smaller sizes (-e)" },
	{ "Test CUDA failure", "nccl-tests 2.0", NCCL_WARNING, NCCL_FAIL, FIX_GPU },
	{ "Cuda failure", "2.3.5", NCCL_WARNING, NCCL_FAIL, FIX_GPU },
	{ "communicator encountered a fatal error", "2.23.4", NCCL_WARNING, NCCL_FAIL, FIX_FIRST },
	{ "The error is fatal", "2.29.7", NCCL_WARNING, NCCL_FAIL, FIX_LINK },
	{ "NET/IB: Fatal error", "2.30.7", NCCL_WARNING, NCCL_FAIL, FIX_LINK },
};

enum { PATTERNS = sizeof(warnings) / sizeof(warnings[0]) };

/* Does the text begin with the first part of a pattern, and contain the others in their order? */
static bool has(const char *text, const char *pattern)
{
	size_t len = strcspn(pattern, "*");

	if (strncmp(text, pattern, len) != 0)
		return false;
	for (text += len, pattern += len; *pattern == '*'; text += len, pattern += len) {
		len = strcspn(++pattern, "*");
		text = memmem(text, strlen(text), pattern, len);
		if (!text)
			return false;
	}
	return true;
}

/* A text is searched once for all patterns: by the bytes with which each of them begins. */
enum { BEGIN = 5 };

static unsigned bucket_of(const char *bytes)
{
	uint32_t word;

	memcpy(&word, bytes, sizeof(word));
	return ((word ^ (uint32_t)(unsigned char)bytes[4] << 12) * 2654435761u) >> 22;
}

static void index_fill(struct nccl_warning_index *index)
{
	static_assert(PATTERNS < sizeof(index->next), "numbers of patterns are bytes");
	for (unsigned i = PATTERNS; i-- > 0;) {
		unsigned bucket = bucket_of(warnings[i].pattern);

		assert(strcspn(warnings[i].pattern, "*") >= BEGIN);
		index->next[i + 1] = index->first[bucket];
		index->first[bucket] = (uint8_t)(i + 1);
	}
	index->filled = true;
}

const struct nccl_warning *nccl_warning_find(struct nccl_warning_index *index, const char *text)
{
	unsigned found = PATTERNS + 1;

	if (!index->filled)
		index_fill(index);
	for (size_t len = strlen(text); len >= BEGIN; len--, text++)
		for (unsigned i = index->first[bucket_of(text)]; i && i < found; i = index->next[i])
			if (has(text, warnings[i - 1].pattern))
				found = i;
	return found > PATTERNS ? NULL : &warnings[found - 1];
}

const struct nccl_status *nccl_status_find(int status)
{
	static const struct nccl_status statuses[] = {
		{ 1, "local length error", FIX_CALL },
		{ 4, "local protection error",
		  "memory was freed or remapped during the transfer: check the version of nvidia_peermem" },
		{ 5, "flushed after an earlier error",
		  "a consequence: look for the first failure with another status" },
		{ 9, "remote invalid request", FIX_CALL },
		{ 10, "remote access error", "memory of the peer was freed or remapped: look at the peer's log" },
		{ 11, "remote operation error", "look at the peer's log" },
		{ 12, "transport retries exceeded: the peer or the path did not respond",
		  "check that the peer runs, its link and that of the HCA (ibwire health), and on RoCE PFC; then raise "
		  "NCCL_IB_TIMEOUT" },
		{ 13, "receiver-not-ready retries exceeded",
		  "the peer posted no buffer in time: look for a rank that stopped" },
		{ 0, "see ibv_wc_status in verbs.h", FIX_LINK },
	};
	size_t i = 0;

	while (statuses[i].status && statuses[i].status != status)
		i++;
	return &statuses[i];
}
