/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * incidents.c - all pairs of faults and random triples, and the number of findings that are shown for them
 *
 *	incidents                     3 places of each pair, 100 triples
 *	incidents --rounds 1          1 place
 *	incidents --triples 500
 *	incidents KIND [KIND [KIND]]  the findings of these faults; --seed 7: at other places
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tests/bench/measure.h"
#include "tests/scenarios/incidents.h"

struct total { unsigned cases, right, too_many, wrong, early, missing, shown, faults, most; };

static void count(struct total *total, const struct incident *one)
{
	total->cases++;
	total->right += incident_is_right(one);
	total->too_many += one->shown > one->faults;
	total->wrong += one->wrong > 0;
	total->early += one->early > 0;
	total->missing += one->missing > 0;
	total->shown += one->shown;
	total->faults += one->faults;
	if (one->most > total->most)
		total->most = one->most;
}

static void print_total(const char *what, const struct total *total)
{
	char name[64];

	printf("%s: %u cases, %u right; too many findings %u, at a wrong place %u (at any time %u), visible fault "
	       "missing %u; %.2f findings for each fault, at most %u at once\n", what, total->cases, total->right,
	       total->too_many, total->wrong, total->early, total->missing,
	       total->faults ? (double)total->shown / total->faults : 0.0, total->most);
	snprintf(name, sizeof(name), "incidents_%s_right", what);
	figure(name, total->cases ? (double)total->right / total->cases : 0, "share", 0, NULL, 0);
}

static int show(char *const *names, unsigned count, uint64_t seed)
{
	size_t kinds[INCIDENT_FAULTS_MAX];
	struct text text = { 0 };
	struct incident one;

	if (count > INCIDENT_FAULTS_MAX)
		return 64;
	for (unsigned i = 0; i < count; i++) {
		for (kinds[i] = 0; kinds[i] < incident_kinds(); kinds[i]++)
			if (!strcmp(incident_kind_name(kinds[i]), names[i]))
				break;
		if (kinds[i] == incident_kinds()) {
			fprintf(stderr, "incidents: %s is not a kind of fault\n", names[i]);
			return 64;
		}
	}
	one = incident_run(kinds, count, seed, &text);
	printf("%s%s: %u faults, %u findings shown (at most %u), %u at a wrong place (at any time %u), %u missing\n",
	       text_chars(&text), incident_is_right(&one) ? "right" : "WRONG", one.faults, one.shown, one.most,
	       one.wrong, one.early, one.missing);
	text_done(&text);
	return 0;
}

/* One cell: the largest number of findings shown; '!': at a wrong place, or too many; '-': a fault is missing. */
static void print_cell(const struct incident *ones, unsigned rounds)
{
	bool bad = false, missing = false;
	unsigned shown = 0;

	for (unsigned i = 0; i < rounds; i++) {
		shown = ones[i].shown > shown ? ones[i].shown : shown;
		bad |= ones[i].wrong || ones[i].shown > ones[i].faults;
		missing |= ones[i].missing > 0;
	}
	printf(" %2u%s", shown, bad && missing ? "?" : bad ? "!" : missing ? "-" : " ");
}

static void run_pairs(unsigned rounds, uint64_t seed)
{
	struct incident *ones = calloc(rounds, sizeof(*ones));
	struct total pairs = { 0 }, singles = { 0 };
	size_t kinds[2];

	if (!ones)
		abort();
	printf("%-16s one", "");
	for (size_t b = 0; b < incident_kinds(); b++)
		printf(" %3zu", b + 1);
	printf("\n");
	for (kinds[0] = 0; kinds[0] < incident_kinds(); kinds[0]++) {
		printf("%2zu %-13s", kinds[0] + 1, incident_kind_name(kinds[0]));
		for (unsigned i = 0; i < rounds; i++) {
			ones[i] = incident_run(kinds, 1, seed + i, NULL);
			count(&singles, &ones[i]);
		}
		print_cell(ones, rounds);
		for (kinds[1] = 0; kinds[1] <= kinds[0]; kinds[1]++) {
			for (unsigned i = 0; i < rounds; i++) {
				ones[i] = incident_run(kinds, 2, seed + i, NULL);
				count(&pairs, &ones[i]);
			}
			print_cell(ones, rounds);
		}
		printf("\n");
	}
	print_total("singles", &singles);
	print_total("pairs", &pairs);
	free(ones);
}

static void run_triples(unsigned triples, uint64_t seed)
{
	struct total total = { 0 };

	for (unsigned i = 0; i < triples; i++) {
		uint64_t at = (seed + i) * 7919;
		size_t kinds[3] = { at % incident_kinds(), at / 31 % incident_kinds(), at / 577 % incident_kinds() };
		struct incident one = incident_run(kinds, 3, seed + i, NULL);

		count(&total, &one);
		if (!incident_is_right(&one))
			printf("wrong: --seed %" PRIu64 " %s %s %s: %u shown, %u at a wrong place, %u missing\n",
			       seed + i, incident_kind_name(kinds[0]), incident_kind_name(kinds[1]),
			       incident_kind_name(kinds[2]), one.shown, one.wrong, one.missing);
	}
	print_total("triples", &total);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "rounds", required_argument, NULL, 'r' }, { "triples", required_argument, NULL, 't' },
		{ "seed", required_argument, NULL, 's' }, { 0 },
	};
	unsigned rounds = 3, triples = 100;
	uint64_t seed = 1;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (option == '?')
			return 64;
		if (option == 'r')
			rounds = (unsigned)strtoul(optarg, NULL, 10);
		else if (option == 't')
			triples = (unsigned)strtoul(optarg, NULL, 10);
		else
			seed = strtoull(optarg, NULL, 10);
	}
	if (optind < argc)
		return show(argv + optind, (unsigned)(argc - optind), seed);
	if (rounds)
		run_pairs(rounds, seed);
	run_triples(triples, seed);
	return 0;
}
