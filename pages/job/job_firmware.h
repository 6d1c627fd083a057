/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* job_firmware.h - firmware of the HCAs and switches of a job that is another one than in an earlier run */
#ifndef IBWIRE_PAGES_JOB_FIRMWARE_H
#define IBWIRE_PAGES_JOB_FIRMWARE_H

#include <stddef.h>

struct firmware;
struct job_report;
struct node;
struct page;

struct job_firmware {
	const char *name;          /* of the node */
	const struct node *node;   /* of the later run */
	/* Of the same node in the earlier run, or else of a node of the same kind, whose versions were all others. */
	const struct firmware *before;
};

/*
 * job_firmware_compare - the nodes of a run whose firmware is another one than in an earlier run
 * The nodes are the HCAs of the job, their leaves and the switches with uplinks in its report.
 * @ret_count:  their number
 * Return: a list with the lifetime of the page, switches first; NULL: none, or no memory (the page knows).
 */
const struct job_firmware *job_firmware_compare(const struct job_report *before, const struct job_report *now,
						struct page *page, size_t *ret_count);

#endif
