/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* check_devices.c - may programs here open the HCAs: device nodes, their permissions, limits of the cgroup */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "local/capture.h"
#include "local/checks.h"

enum { RDMA_MAX_MOST = 1 << 16 };

static const char *const grant =
	"pass the devices to the container: docker run --device=/dev/infiniband --cap-add=IPC_LOCK; Kubernetes: "
	"request the resource of the RDMA device plugin (docs/jobs.md); on a host: modprobe ib_uverbs";

/* Adapters that the host passes to virtual machines. */
static void add_passed_through(struct checks *checks)
{
	const struct local_host *host = &checks->host;
	struct text names = { 0 };
	unsigned count = 0;

	for (size_t i = 0; i < host->adapter_count; i++)
		if (!strncmp(host->adapters[i].driver, "vfio", 4))
			text_appendf(&names, "%s%s", count++ ? ", " : "", host->adapters[i].address);
	if (count)
		check_add(checks, CHECK_PASS, "", NULL,
			  "bound to vfio-pci for virtual machines, not usable on this host: %s", text_chars(&names));
	checks->failed |= text_failed(&names);
	text_done(&names);
}

/* The device node of an HCA, "uverbs0"; "": not known. */
static void find_node(struct checks *checks, const struct local_names *nodes, const char *hca, char ret[64])
{
	char owner[LOCAL_NAME_SIZE];

	ret[0] = '\0';
	for (size_t i = 0; i < nodes->count && !ret[0]; i++)
		if (local_read(checks->root, owner, sizeof(owner), "sys/class/infiniband_verbs/%s/ibdev",
			nodes->names[i]) &&
		    !strcmp(owner, hca))
			snprintf(ret, 64, "%.63s", nodes->names[i]);
}

static void add_node(struct checks *checks, const char *hca, const char *node)
{
	int error = local_open_error(checks->root, "dev/infiniband/%s", node);
	char common[128];

	if (error == ENOENT)
		check_add(checks, CHECK_FAIL, hca, grant, "/dev/infiniband/%s is missing: programs cannot open this "
			"HCA", node);
	else if (error)
		check_add(checks, CHECK_FAIL, hca,
			  error == EPERM ? "the cgroup of the container denies the device: pass it with "
			  "--device=/dev/infiniband, or request it from the device plugin" :
					   "give the user permission: udev sets mode 0666 (rdma-core), or add the "
					   "group of the device",
			  "/dev/infiniband/%s cannot be opened: %s", node, strerror(error));
	if (!error)
		return;
	snprintf(common, sizeof(common), error == ENOENT ?
		 "no device in /dev/infiniband: programs cannot open these HCAs%s" :
		 "devices in /dev/infiniband cannot be opened: %s", error == ENOENT ? "" : strerror(error));
	check_fold_as(checks, hca, common);
}

/* "mlx5_0 hca_handle=2 hca_object=2000". Source: Linux, Documentation/admin-guide/cgroup-v2.rst, "RDMA". */
static void add_cgroup(struct checks *checks)
{
	struct text limits = { 0 };
	char hca[LOCAL_NAME_SIZE], handles[24], objects[24];

	local_read_text(checks->root, &limits, RDMA_MAX_MOST, "sys/fs/cgroup/rdma.max");
	for (const char *line = text_chars(&limits); line && *line; line = strchr(line, '\n'), line += line ? 1 : 0)
		if (sscanf(line, "%63s hca_handle=%23s hca_object=%23s", hca, handles, objects) == 3 &&
		    (strcmp(handles, "max") || strcmp(objects, "max")))
			check_add(checks, strtoul(handles, NULL, 10) || !strcmp(handles, "max") ? CHECK_WARN :
				CHECK_FAIL, hca,
				  "raise rdma.max of the cgroup, or set it to max",
				  "the cgroup limits this HCA to %s handles and %s objects (QPs, MRs, CQs)", handles,
				  objects);
	checks->failed |= text_failed(&limits);
	text_done(&limits);
}

void check_devices(struct checks *checks)
{
	const struct local_host *host = &checks->host;
	struct local_names nodes = { 0 };
	size_t before, used = 0, count = 0;
	char node[64];

	add_passed_through(checks);
	if (!host->hca_count || checks->root->layout != LOCAL_LAYOUT_WHOLE)
		return;
	if (!local_exists(checks->root, "dev")) {
		check_add(checks, CHECK_SKIP, "", NULL, "/dev is not in this tree: permissions for HCAs are not known");
		return;
	}
	before = checks->count;
	checks->failed |= local_list(checks->root, &nodes, "dev/infiniband") != 0;
	capture_folder(checks->root->capture, "dev");
	for (size_t i = 0; i < nodes.count; i++) {
		if (strncmp(nodes.names[i], "uverbs", 6))
			continue;
		count++;
		snprintf(node, sizeof(node), "dev/infiniband/%.40s", nodes.names[i]);
		capture_file(checks->root->capture, node, "", 0);
	}
	local_names_done(&nodes);
	checks->failed |= local_list(checks->root, &nodes, "sys/class/infiniband_verbs") != 0;
	for (size_t i = 0; i < host->hca_count && count; i++) {
		if (!check_hca_is_used(checks, &host->hcas[i]))
			continue;
		used++;
		find_node(checks, &nodes, host->hcas[i].name, node);
		if (node[0])
			add_node(checks, host->hcas[i].name, node);
	}
	if (!count)
		check_add(checks, CHECK_FAIL, "", grant,
			  "/dev/infiniband has no uverbs device: programs cannot open any HCA, and NCCL uses TCP or "
			  "fails");
	else if (!nodes.count && count < used)
		check_add(checks, CHECK_WARN, "", grant, "/dev/infiniband has a uverbs device for %zu of %zu HCAs",
			count, used);
	add_cgroup(checks);
	if (checks->count == before)
		check_add(checks, CHECK_PASS, "", NULL, "/dev/infiniband has %zu uverbs device%s", count, count == 1 ?
			"" : "s");
	local_names_done(&nodes);
}
