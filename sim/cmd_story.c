/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ibwire-sim story: a simulation with a job that stops or becomes slower, and what ibwire prints of it */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "sim/cmd.h"

/* Two units of eight hosts with two rails; each leaf has two uplinks. */
#define NET "rail --units 2 --hosts 8 --rails 2 --spines 2 --oversubscription 4"
#define JOBS_MOST 2

struct story {
	const char *name, *summary;
	const char *jobs[JOBS_MOST];
	const char *hosts;  /* of the first */
	const char *events; /* shell commands */
};

/* "show" prints a command and runs it. */
#define BEGIN \
	"set -u\n" \
	"show() { printf '\\n$ %s\\n' \"$*\"; \"$@\"; }\n" \
	"ibwire collect --interval 5s --fast-jobs 2>collect.log & collector=$!\n" \
	"trap 'kill $collector; wait $collector' EXIT\n" \
	"trap 'exit 130' INT TERM\n" \
	"until ibwire status >/dev/null 2>&1; do sleep 0.2; done\n"
#define LIST "show ibwire job list --columns id,name,hosts,period_s,wire_percent,phase\n"
#define REPORT \
	LIST \
	"show ibwire health\n" \
	"show ibwire job report 4711 --html report.html\n" \
	"show ibwire job report 4711\n"

static const struct story stories[] = {
	{ "hang", "a process of a job stops, and all others wait for it",
	  { "ring hosts=node0001-node0016 iteration=4s wire=30% rate=90Gb/s checkpoint=60s/8s" },
	  "node[0001-0016]",
	  "sleep 90\n"
	  LIST
	  "show ibwire-sim break freeze node0011\n"
	  "sleep 30\n" REPORT
	  "show ibwire-sim repair\n"
	  "sleep 45\n"
	  "show ibwire health\n" },
	{ "neighbor", "another job that shares uplinks makes a job slower",
	  { "ring hosts=node0001-node0004,node0009-node0012 stride=4 iteration=4s wire=30% rate=90Gb/s",
	    "ring hosts=node0005-node0008,node0013-node0016 stride=4 rate=90Gb/s start=130s" },
	  "node[0001-0004,0009-0012]",
	  "sleep 110\n"
	  LIST
	  "echo; echo 'job 4712 begins on other hosts'\n"
	  "show ibwire job begin 4712 --hosts 'node[0005-0008,0013-0016]' --name other --no-snapshot\n"
	  "sleep 120\n" REPORT },
	{ "straggler", "a host computes longer, and nothing on the fabric has changed",
	  { "ring hosts=node0001-node0016 iteration=4s wire=30% rate=90Gb/s" },
	  "node[0001-0016]",
	  "sleep 120\n"
	  LIST
	  "show ibwire-sim break straggle node0006 by=40%\n"
	  "sleep 120\n" REPORT
	  "show ibwire-sim repair\n" },
};
#define STORY_COUNT (sizeof(stories) / sizeof(stories[0]))

void cmd_story_help(void)
{
	for (size_t i = 0; i < STORY_COUNT; i++)
		printf("  %-10s %s\n", stories[i].name, stories[i].summary);
	puts("\nA new folder story-NAME gets the database, the report as a page, and the log of the collector.\n");
}

static const struct story *find_story(const char *name)
{
	for (size_t i = 0; i < STORY_COUNT; i++)
		if (!strcmp(stories[i].name, name))
			return &stories[i];
	return NULL;
}

/* Everything is in a folder of its own, which must be new. */
static int make_folder(const struct story *story, struct error *err)
{
	char folder[64], path[PATH_MAX], db[PATH_MAX + 16];

	snprintf(folder, sizeof(folder), "story-%s", story->name);
	if (mkdir(folder, 0777) < 0 || chdir(folder) < 0 || !getcwd(path, sizeof(path)))
		return err_set(err, errno == EEXIST ? ERR_USAGE : ERR_IO, "cannot create the folder %s: %s%s", folder,
			       strerror(errno), errno == EEXIST ? "; remove it, or change to another folder" : "");
	snprintf(db, sizeof(db), "%s/fabric.db", path);
	if (setenv("IBWIRE_DB", db, 1) < 0)
		return err_nomem(err);
	return 0;
}

int cmd_story(int argc, char **argv, struct error *err)
{
	const struct story *story = argc == 2 ? find_story(argv[1]) : NULL;
	struct text script = { 0 };
	char *words[24];
	int count = 0, code;

	if (!story)
		return err_set(err, ERR_USAGE, "usage: ibwire-sim story hang|neighbor|straggler");
	code = make_folder(story, err);
	if (code < 0)
		return code;
	cmd_add_own_directory();
	text_append(&script, BEGIN);
	text_appendf(&script, "show ibwire job begin 4711 --hosts '%s' --name train --no-snapshot\n%s",
		     story->hosts, story->events);
	if (text_failed(&script))
		return err_nomem(err);
	words[count++] = (char *)(uintptr_t) "run";
	words[count++] = (char *)(uintptr_t) "--gen";
	words[count++] = (char *)(uintptr_t)NET;
	words[count++] = (char *)(uintptr_t) "--name";
	words[count++] = (char *)(uintptr_t)story->name;
	words[count++] = (char *)(uintptr_t) "--pma";
	words[count++] = (char *)(uintptr_t) "all caps=0x5300 caps2=0x2 tick=7";
	for (size_t i = 0; i < JOBS_MOST && story->jobs[i]; i++) {
		words[count++] = (char *)(uintptr_t) "--traffic";
		words[count++] = (char *)(uintptr_t)story->jobs[i];
	}
	words[count++] = (char *)(uintptr_t) "--";
	words[count++] = (char *)(uintptr_t) "sh";
	words[count++] = (char *)(uintptr_t) "-c";
	words[count++] = script.chars;
	words[count] = NULL;
	code = cmd_run(count, words, err);
	text_done(&script);
	return code;
}
