/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check_gpu.c - checks of GPUs: GPUDirect, their PCIe links, and their distance to HCAs */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "local/checks.h"

/* NCCL reads it if NCCL_TOPO_FILE is not set. Source: NCCL, src/graph/topo.cc. */
#define VIRTUAL_TOPOLOGY "var/run/nvidia-topologyd/virtualTopology.xml"

double check_read_speed(struct checks *checks, const char *device, const char *file)
{
	char value[64];

	return local_read(checks->root, value, sizeof(value), "%s/%s", device, file) ? strtod(value, NULL) : 0;
}

/* "pci0000:15" of a path of sysfs, in @ret_len; NULL: not known. */
static const char *root_of(const struct local_pci *pci, size_t *ret_len)
{
	const char *root = strstr(pci->path, "/pci");

	if (!root)
		return NULL;
	*ret_len = strcspn(root + 1, "/");
	return root + 1;
}

bool check_is_virtual(const struct checks *checks)
{
	const struct local_host *host = &checks->host;
	size_t count = host->gpu_count + host->hca_count;
	bool domains = true, roots = true;

	for (size_t i = 0; i < count; i++) {
		const struct local_pci *a = i < host->gpu_count ? &host->gpus[i].pci :
			&host->hcas[i - host->gpu_count].pci;
		size_t len = 0, other_len = 0;
		const char *root = root_of(a, &len);

		if (!root)
			return false;
		roots &= strlen(a->path) == (size_t)(root - a->path) + len + 1 + strlen(a->address);
		for (size_t j = 0; j < i; j++) {
			const struct local_pci *b = j < host->gpu_count ? &host->gpus[j].pci :
									  &host->hcas[j - host->gpu_count].pci;
			const char *other = root_of(b, &other_len);

			domains &= strncmp(root, other, strcspn(root, ":") + 1) != 0;
			roots &= len != other_len || strncmp(root, other, len);
		}
	}
	return count > 2 && (domains || roots);
}

static bool has_gpu(const struct checks *checks, const char *vendor)
{
	for (size_t i = 0; i < checks->host.gpu_count; i++)
		if (!strcmp(checks->host.gpus[i].vendor, vendor))
			return true;
	return false;
}

static bool has_module(struct checks *checks, const char *name)
{
	return local_exists(checks->root, "sys/module/%s", name);
}

/* DMA-BUF needs Linux 5.12 and NVIDIA's open kernel module, which names itself so. */
static bool has_nvidia_dmabuf(struct checks *checks, char kernel[64])
{
	unsigned major = 0, minor = 0;
	char version[256];

	local_read(checks->root, kernel, 64, "proc/sys/kernel/osrelease");
	local_read(checks->root, version, sizeof(version), "proc/driver/nvidia/version");
	return sscanf(kernel, "%u.%u", &major, &minor) == 2 && major * 1000 + minor >= 5012 &&
	       strstr(version, "Open Kernel Module");
}

/*
 * GPUs without GPUDirect RDMA: they share the memory of the CPU, or are not made for servers.
 * Source: NVIDIA, "GPUDirect RDMA" documentation, "Supported Systems"; DGX Spark user guide.
 */
static const char *const unsupported[] = { "GB10", "GeForce", "Orin", "Thor", "Xavier" };

/* GB10 without its name: one GPU of an Arm system whose HCAs all have four lanes. */
static bool looks_like_gb10(struct checks *checks)
{
	const struct local_host *host = &checks->host;
	char version[256];
	uint64_t width;

	if (host->gpu_count != 1 || host->hca_count < 2 ||
	    !local_read(checks->root, version, sizeof(version), "proc/driver/nvidia/version") ||
	    !strstr(version, "aarch64"))
		return false;
	for (size_t i = 0; i < host->hca_count; i++)
		if (!local_read_number(checks->root, &width, "%s/current_link_width", host->hcas[i].pci.path) ||
			width != 4)
			return false;
	return true;
}

/* Name of the GPU if this host's do not support GPUDirect RDMA; else NULL. */
static const char *find_unsupported(struct checks *checks)
{
	for (size_t i = 0; i < checks->host.gpu_count; i++)
		for (size_t j = 0; j < sizeof(unsupported) / sizeof(unsupported[0]); j++)
			if (strstr(checks->host.gpus[i].model, unsupported[j]))
				return unsupported[j];
	return looks_like_gb10(checks) ? unsupported[0] : NULL;
}

bool check_is_gb10(struct checks *checks)
{
	const char *name = find_unsupported(checks);

	return name && !strcmp(name, unsupported[0]);
}

/* GPUs of Grace superchips: their path to memory and HCAs is NVLink-C2C of the CPU, not their PCIe link. */
static bool is_superchip(const struct local_gpu *gpu)
{
	static const char *const models[] = { "GH200", "GB200", "GB300" };

	for (size_t i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strstr(gpu->model, models[i]))
			return true;
	return false;
}

/* All HCAs that jobs use are EFA, whose driver takes GPU memory from a module of its own. */
static bool is_efa(const struct checks *checks)
{
	size_t used = 0, efa = 0;

	for (size_t i = 0; i < checks->host.hca_count; i++) {
		if (!check_hca_is_used(checks, &checks->host.hcas[i]))
			continue;
		used++;
		efa += !strcmp(checks->host.hcas[i].driver, "efa");
	}
	return used && efa == used;
}

static void add_nvidia(struct checks *checks)
{
	const char *name = find_unsupported(checks);
	uint64_t users = 0;
	char kernel[64];

	if (name)
		check_add(checks, CHECK_PASS, "", NULL,
			  "%s does not support GPUDirect RDMA: NCCL stages data through host memory, as designed",
			  name);
	else if (has_module(checks, "nv_peer_mem") ||
		 (has_module(checks, "nvidia_peermem") &&
		  !local_read_number(checks->root, &users, "sys/module/nvidia_peermem/refcnt")))
		check_add(checks, CHECK_PASS, "", NULL, "nvidia_peermem is loaded");
	else if (has_module(checks, "nvidia_peermem") && users)
		check_add(checks, CHECK_PASS, "", NULL, "nvidia_peermem is loaded and in use (use count %" PRIu64 ")",
			users);
	else if (has_module(checks, "nvidia_peermem"))
		check_add(checks, CHECK_PASS, "", NULL,
			  "nvidia_peermem is loaded, but not in use now (use count 0): no process has registered GPU "
			  "memory; check again while a job runs");
	else if (is_efa(checks) && has_module(checks, "efa_nv_peermem"))
		check_add(checks, CHECK_PASS, "", NULL, "efa_nv_peermem is loaded");
	else if (has_nvidia_dmabuf(checks, kernel))
		check_add(checks, CHECK_PASS, "", NULL, "DMA-BUF: open NVIDIA kernel module on Linux %s", kernel);
	else if (is_efa(checks))
		check_add(checks, CHECK_WARN, "", "load efa_nv_peermem (EFA installer), or use the open NVIDIA kernel "
			  "module on Linux 5.12 or later",
			  "NVIDIA GPUs and EFA, but neither efa_nv_peermem nor DMA-BUF: data is staged through the "
			  "host, unless EFA's driver was built with GPUDirect RDMA");
	else
		check_add(checks, CHECK_FAIL, "",
			  "modprobe nvidia_peermem (and list it in /etc/modules-load.d), or use the open NVIDIA kernel "
			  "module on Linux 5.12 or later",
			  "NVIDIA GPUs, but neither nvidia_peermem nor DMA-BUF: data is staged through the host");
}

void check_gpudirect(struct checks *checks)
{
	const struct local_host *host = &checks->host;

	if (!host->pci_known || !host->hca_count)
		return;
	if (!host->gpu_count)
		check_add(checks, CHECK_PASS, "", NULL, "no GPU on this host: GPUDirect RDMA is not needed");
	if (has_gpu(checks, "NVIDIA"))
		add_nvidia(checks);
	if (!has_gpu(checks, "AMD"))
		return;
	if (has_module(checks, "amdgpu"))
		check_add(checks, CHECK_PASS, "", NULL, "amdgpu is loaded, which has peer memory and DMA-BUF");
	else
		check_add(checks, CHECK_FAIL, "", "modprobe amdgpu", "AMD GPUs, but amdgpu is not loaded");
}

void check_gpu_modules(struct checks *checks)
{
	bool copy = has_module(checks, "gdrdrv"), storage = has_module(checks, "nvidia_fs");

	if (checks->host.hca_count && has_gpu(checks, "NVIDIA"))
		check_add(checks, CHECK_PASS, "", NULL, "GDRCopy (gdrdrv) is %sloaded, GPUDirect Storage (nvidia_fs) "
			"is %sloaded%s",
			  copy ? "" : "not ", storage ? "" : "not ",
			  copy && storage ? "" : "; only UCX, NVSHMEM and storage need them");
}

/* Lanes only: an idle GPU lowers the speed of its link to save power. */
void check_gpu_link(struct checks *checks)
{
	unsigned good = 0;

	for (size_t i = 0; i < checks->host.gpu_count; i++) {
		const struct local_pci *pci = &checks->host.gpus[i].pci;
		uint64_t width = 0, widest = 0;

		if (is_superchip(&checks->host.gpus[i]))
			continue;
		local_read_number(checks->root, &width, "%s/current_link_width", pci->path);
		local_read_number(checks->root, &widest, "%s/max_link_width", pci->path);
		good += width && width >= widest;
		if (width && width < widest)
			check_add(checks, CHECK_WARN, pci->address,
				  "check the slot, the riser and BIOS settings (bifurcation); reseat the GPU",
				  "%s GPU, PCIe x%" PRIu64 " of x%" PRIu64 " lanes (at %.1f of %.1f GT/s now): it "
				  "cannot feed an HCA",
				  checks->host.gpus[i].vendor, width, widest, check_read_speed(checks, pci->path,
				  "current_link_speed"),
				  check_read_speed(checks, pci->path, "max_link_speed"));
	}
	if (good)
		check_add(checks, CHECK_PASS, "", NULL, "%u GPU%s with all PCIe lanes", good, good == 1 ? "" : "s");
}

static void add_near(struct checks *checks, const struct local_gpu *gpu, const char *hcas, enum local_distance distance)
{
	char item[LOCAL_ADDRESS_SIZE + 96], common[64];

	check_add(checks, CHECK_PASS, gpu->pci.address, NULL, "%s GPU, nearest HCA %s: %s", gpu->vendor, hcas,
		  local_distance_name(distance));
	snprintf(item, sizeof(item), "%s %s%.80s%s", gpu->pci.address, strchr(hcas, ',') ? "(" : "", hcas,
		 strchr(hcas, ',') ? ")" : "");
	snprintf(common, sizeof(common), "%s between %s GPU and nearest HCA", local_distance_name(distance),
		gpu->vendor);
	check_fold_as(checks, item, common);
}

void check_distance(struct checks *checks)
{
	const struct local_host *host = &checks->host;

	if (!host->hca_count || find_unsupported(checks))
		return;
	if (host->gpu_count && check_is_virtual(checks)) {
		char file[256];
		bool set = check_variable(checks, "NCCL_TOPO_FILE", file, sizeof(file)) ||
			   local_exists(checks->root, VIRTUAL_TOPOLOGY);

		check_add(checks, set ? CHECK_PASS : CHECK_WARN, "",
			  set ? NULL : "set NCCL_TOPO_FILE to the topology that the cloud provider publishes for this "
			  "machine type",
			  "each GPU and HCA has a PCI domain of its own, as in a virtual machine: distances are not "
			  "known%s",
			  set ? " here, NCCL reads them from a file" : ", and NCCL has no file of the topology");
		return;
	}
	for (size_t i = 0; i < host->gpu_count; i++) {
		const struct local_gpu *gpu = &host->gpus[i];
		enum local_distance best = LOCAL_DISTANCE_UNKNOWN;
		struct text names = { 0 };

		for (size_t j = 0; j < host->hca_count; j++) {
			enum local_distance distance = local_distance(&gpu->pci, &host->hcas[j].pci);

			if (!check_hca_is_used(checks, &host->hcas[j]))
				continue;
			if (distance < best)
				text_clear(&names);
			if (distance <= best && distance != LOCAL_DISTANCE_UNKNOWN)
				text_appendf(&names, "%s%s", names.len ? ", " : "", host->hcas[j].name);
			best = distance < best ? distance : best;
		}
		if (best == LOCAL_DISTANCE_UNKNOWN)
			check_add(checks, CHECK_SKIP, gpu->pci.address, NULL, "its distance to the HCAs is not known");
		else if (best >= LOCAL_NODE && !(best == LOCAL_NODE && is_superchip(gpu)))
			check_add(checks, CHECK_WARN, gpu->pci.address,
				  "move an HCA below its host bridge; NCCL uses GPUDirect RDMA up to PXB unless "
				  "NCCL_NET_GDR_LEVEL allows more",
				  "%s GPU, nearest HCA %s: %s", gpu->vendor, text_chars(&names),
				  best == LOCAL_SYS ? "SYS, on another NUMA node" : "NODE, another host bridge");
		else
			add_near(checks, gpu, text_chars(&names), best);
		checks->failed |= text_failed(&names);
		text_done(&names);
	}
}
