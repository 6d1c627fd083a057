/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check_system.c - checks of PCI, IOMMU, ACS and limits */
#include <inttypes.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "local/checks.h"

enum { FILE_MOST = 1 << 20, BRIDGES_MOST = 256 };

/* Gb/s of a PCIe link after its encoding: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, then FLITs. */
static double pcie_gbps(double speed, uint64_t width)
{
	return speed * (double)width * (speed < 8 ? 0.8 : speed < 64 ? 128.0 / 130 : 242.0 / 256);
}

static void add_pcie(struct checks *checks, const struct local_hca *hca)
{
	const char *path = hca->pci.path;
	double speed = check_read_speed(checks, path, "current_link_speed");
	double most = check_read_speed(checks, path, "max_link_speed"), rate = 0;
	uint64_t width = 0, widest = 0;

	for (size_t i = 0; i < hca->port_count; i++)
		rate += check_is_active(&hca->ports[i]) ? hca->ports[i].gbps : 0;
	local_read_number(checks->root, &width, "%s/current_link_width", path);
	local_read_number(checks->root, &widest, "%s/max_link_width", path);
	if (speed <= 0 || !width) {
		check_add(checks, CHECK_SKIP, hca->name, NULL, "its PCIe link is not known");
		return;
	}
	if (check_is_gb10(checks))
		check_add(checks, CHECK_PASS, hca->name, NULL,
			  "PCIe %.1f GT/s x%" PRIu64 ": as designed, the two functions of the HCA share its ports",
			  speed,
			  width);
	else if (pcie_gbps(speed, width) < rate)
		check_add(checks, CHECK_WARN, hca->name,
			  "move it to a slot with more lanes, or check BIOS settings and riser",
			  "PCIe %.1f GT/s x%" PRIu64 " carries %.0f Gb/s, less than the %.0f Gb/s of its ports", speed,
			  width,
			  pcie_gbps(speed, width), rate);
	else if (speed < most || width < widest)
		check_add(checks, CHECK_WARN, hca->name, "check the slot, the riser and BIOS settings; reseat the HCA",
			  "PCIe %.1f GT/s x%" PRIu64 " of %.1f GT/s x%" PRIu64, speed, width, most, widest);
	else {
		char common[96];

		snprintf(common, sizeof(common), "PCIe %.1f GT/s x%" PRIu64 ", NUMA node %ld", speed, width,
			 hca->pci.numa_node);
		check_add(checks, CHECK_PASS, hca->name, NULL, "%s, %s",
			  hca->pci.address[0] ? hca->pci.address : "PCI address not known", common);
		check_fold_as(checks, hca->name, common);
	}
	if (hca->pci.numa_node < 0 && !check_is_virtual(checks) &&
	    local_exists(checks->root, "sys/devices/system/node/node1"))
		check_add(checks, CHECK_WARN, hca->name, "update the BIOS: it does not describe the slot (ACPI _PXM)",
			  "its NUMA node is not known, although the host has several");
}

void check_pcie(struct checks *checks)
{
	for (size_t i = 0; i < checks->host.hca_count; i++)
		if (checks->host.hcas[i].pci.path[0] && check_hca_is_used(checks, &checks->host.hcas[i]))
			add_pcie(checks, &checks->host.hcas[i]);
	if (checks->host.hca_count && !checks->host.pci_known)
		check_add(checks, CHECK_SKIP, "", NULL, "the PCI tree is not in this tree: no PCIe links and GPUs");
}

/* Is @word one of the words of the kernel's command line? */
static bool has_word(const char *cmdline, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = cmdline; (at = strstr(at, word)); at += len)
		if ((at == cmdline || at[-1] == ' ') && (!at[len] || at[len] == ' ' || at[len] == '\n'))
			return true;
	return false;
}

void check_iommu(struct checks *checks)
{
	struct local_names units = { 0 };
	struct text cmdline = { 0 };
	char path[LOCAL_PATH_SIZE], group[LOCAL_PATH_SIZE], type[32];
	const struct local_host *host = &checks->host;
	unsigned translated = 0, identity = 0;
	bool known = local_read_text(checks->root, &cmdline, LOCAL_VALUE_MOST, "proc/cmdline");
	bool pass = has_word(text_chars(&cmdline), "iommu=pt") ||
		    has_word(text_chars(&cmdline), "iommu.passthrough=1");

	checks->failed |= local_list(checks->root, &units, "sys/class/iommu") != 0;
	for (size_t i = 0; i < host->hca_count; i++) {
		if (!host->hcas[i].pci.path[0] || strlen(host->hcas[i].pci.path) > LOCAL_PATH_SIZE - 16)
			continue;
		snprintf(path, sizeof(path), "%.490s/iommu_group", host->hcas[i].pci.path);
		if (!local_resolve(checks->root, path, group) ||
		    !local_read(checks->root, type, sizeof(type), "%s/type", group))
			continue;
		identity += !strcmp(type, "identity");
		translated += !strncmp(type, "DMA", 3);
	}
	if (translated)
		check_add(checks, CHECK_WARN, "",
			  "boot with iommu=pt, or switch the IOMMU off in the BIOS (bare metal)",
			  "the IOMMU translates DMA of %u HCA%s", translated, translated == 1 ? "" : "s");
	else if (identity)
		check_add(checks, CHECK_PASS, "", NULL, "the IOMMU passes DMA of HCAs through");
	else if (!known)
		check_add(checks, CHECK_SKIP, "", NULL, "the kernel's command line is not known");
	else if (!units.count && !local_exists(checks->root, "sys/class"))
		check_add(checks, CHECK_SKIP, "", NULL, "sys/class/iommu is not known");
	else if (!units.count || pass)
		check_add(checks, CHECK_PASS, "", NULL, units.count ? "iommu=pt" : "no IOMMU is enabled");
	else
		check_add(checks, CHECK_WARN, "", "boot with iommu=pt", "an IOMMU is enabled without iommu=pt");
	local_names_done(&units);
	checks->failed |= text_failed(&cmdline);
	text_done(&cmdline);
}

/*
 * ACS control register of a bridge. Source: Linux, include/uapi/linux/pci_regs.h, PCI_ACS_*.
 * Return: the bits that redirect peer-to-peer requests; -1: not known, which needs root; 0: none, or no ACS
 */
static int read_acs(struct checks *checks, const char *bridge)
{
	unsigned char config[4096];
	char path[LOCAL_PATH_SIZE + 8];
	unsigned at = 0x100;
	long len;

	snprintf(path, sizeof(path), "%s/config", bridge);
	len = local_read_bytes(checks->root, config, sizeof(config), path);
	if (len <= 64)
		return -1;
	for (int hops = 0; hops < 64 && at >= 0x100 && at + 8 <= (unsigned long)len; hops++) {
		unsigned id = config[at] | config[at + 1] << 8;

		if (id == PCI_EXT_CAP_ID_ACS)
			return config[at + PCI_ACS_CTRL] & (PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_UF);
		at = (config[at + 3] << 8 | config[at + 2]) >> 4 & 0xffc;
	}
	return 0;
}

/* Paths of the bridges above GPUs and HCAs, each once. */
struct bridges {
	char paths[BRIDGES_MOST][LOCAL_PATH_SIZE];
	size_t count;
};

static void add_bridges(struct bridges *bridges, const struct local_pci *pci)
{
	const char *root = strstr(pci->path, "/pci"), *from = root ? strchr(root + 1, '/') : NULL;

	for (const char *end = from ? strchr(from + 1, '/') : NULL; end; end = strchr(end + 1, '/')) {
		size_t len = (size_t)(end - pci->path), i = 0;

		while (i < bridges->count &&
		       (strlen(bridges->paths[i]) != len || strncmp(bridges->paths[i], pci->path, len)))
			i++;
		if (i < bridges->count || i >= BRIDGES_MOST)
			continue;
		memcpy(bridges->paths[i], pci->path, len);
		bridges->paths[i][len] = '\0';
		bridges->count++;
	}
}

void check_acs(struct checks *checks)
{
	struct bridges *bridges;
	unsigned redirecting = 0, unknown = 0;
	const char *first = NULL;

	if (!checks->host.gpu_count || !checks->host.hca_count)
		return;
	bridges = calloc(1, sizeof(*bridges));
	if (!bridges) {
		checks->failed = true;
		return;
	}
	for (size_t i = 0; i < checks->host.gpu_count; i++)
		add_bridges(bridges, &checks->host.gpus[i].pci);
	for (size_t i = 0; i < checks->host.hca_count; i++)
		add_bridges(bridges, &checks->host.hcas[i].pci);
	for (size_t i = 0; i < bridges->count; i++) {
		int acs = read_acs(checks, bridges->paths[i]);

		unknown += acs < 0;
		redirecting += acs > 0;
		if (acs > 0 && !first)
			first = strrchr(bridges->paths[i], '/') + 1;
	}
	if (redirecting)
		check_add(checks, CHECK_WARN, "",
			  "switch ACS off in the BIOS, or with setpci on each bridge (bare metal only; virtual "
			  "machines need it)",
			  "ACS of %u PCIe bridge%s (%s) redirects peer-to-peer traffic through the "
			  "CPU", redirecting, redirecting == 1 ? "" : "s", first);
	else if (unknown)
		check_add(checks, CHECK_SKIP, "",
			  "run it as root", "ACS of %u bridge%s is readable by root only", unknown,
			  unknown == 1 ? "" : "s");
	else if (bridges->count)
		check_add(checks, CHECK_PASS, "", NULL, "no ACS redirection on %zu PCIe bridges", bridges->count);
	free(bridges);
}

/* CAP_IPC_LOCK in the effective set of this process. */
static bool may_lock(struct checks *checks)
{
	struct text status = { 0 };
	const char *line;
	bool may = false;

	if (local_read_text(checks->root, &status, FILE_MOST, "proc/self/status")) {
		line = strstr(text_chars(&status), "\nCapEff:");
		may = line && strtoull(line + 8, NULL, 16) >> 14 & 1;
	}
	checks->failed |= text_failed(&status);
	text_done(&status);
	return may;
}

void check_memlock(struct checks *checks)
{
	struct text limits = { 0 };
	const char *line = NULL;
	bool may = may_lock(checks);
	uint64_t soft;

	if (local_read_text(checks->root, &limits, FILE_MOST, "proc/self/limits"))
		line = strstr(text_chars(&limits), "Max locked memory");
	line = line ? line + strlen("Max locked memory") : NULL;
	if (!line) {
		check_add(checks, CHECK_SKIP, "", NULL, "the limit of locked memory is not known");
	} else if (!strncmp(line + strspn(line, " "), "unlimited", 9)) {
		check_add(checks, CHECK_PASS, "", NULL, "locked memory is unlimited");
	} else {
		soft = strtoull(line, NULL, 10);
		check_add(checks, may || soft > 64u << 20 ? CHECK_WARN : CHECK_FAIL, "",
			  "set memlock unlimited in /etc/security/limits.d and LimitMEMLOCK=infinity of slurmd or the "
			  "container runtime; containers: --ulimit memlock=-1 or --cap-add=IPC_LOCK (Kubernetes: "
			  "securityContext.capabilities.add: [IPC_LOCK])", "locked memory is limited to %.1f MB: "
			  "memory cannot be registered beyond it%s",
			  (double)soft / 1e6, may ? ", except with CAP_IPC_LOCK as here" : "");
	}
	checks->failed |= text_failed(&limits);
	text_done(&limits);
}

/* Size of /dev/shm from its mount options; without "size=" it is half of the memory (tmpfs(5)). */
static bool find_shm(struct checks *checks, double *ret_bytes)
{
	struct text mounts = { 0 };
	char device[64], where[64], type[32], options[256];
	uint64_t kib = 0;
	bool found = false;

	local_read_text(checks->root, &mounts, FILE_MOST, "proc/self/mounts");
	for (const char *line = text_chars(&mounts); line && *line; line = strchr(line, '\n'), line += line ? 1 : 0) {
		const char *size;
		char unit = 0;

		if (sscanf(line, "%63s %63s %31s %255s", device, where, type, options) != 4 ||
		    strcmp(where, "/dev/shm"))
			continue;
		size = strstr(options, "size=");
		found = size && sscanf(size, "size=%" SCNu64 "%c", &kib, &unit) == 2;
		*ret_bytes = (double)kib * (unit == 'k' ? 1024 : unit == 'm' ? 1048576 : unit == 'g' ? 1073741824 : 1);
		if (!size) {
			struct text memory = { 0 };
			const char *total = NULL;

			if (local_read_text(checks->root, &memory, FILE_MOST, "proc/meminfo"))
				total = strstr(text_chars(&memory), "MemTotal:");
			found = total && sscanf(total, "MemTotal: %" SCNu64, &kib) == 1;
			*ret_bytes = (double)kib * 512;
			checks->failed |= text_failed(&memory);
			text_done(&memory);
		}
	}
	checks->failed |= text_failed(&mounts);
	text_done(&mounts);
	return found;
}

void check_shm(struct checks *checks)
{
	double bytes = 0;

	if (!find_shm(checks, &bytes)) {
		check_add(checks, CHECK_SKIP, "", NULL, "the size of /dev/shm is not known");
		return;
	}
	/* 64 MB is what container runtimes give by default. */
	check_add(checks, bytes < 70e6 ? CHECK_FAIL : bytes < 1e9 ? CHECK_WARN : CHECK_PASS, "",
		  bytes < 1e9 ? "mount -o remount,size=16G /dev/shm; containers: --shm-size=16g or --ipc=host" : NULL,
		  "/dev/shm has %.1f GB%s", bytes / 1e9, bytes < 1e9 ? ", NCCL and data loaders need more" : "");
}
