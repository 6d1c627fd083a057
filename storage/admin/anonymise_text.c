/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* anonymise_text.c - replacement of names in sentences of events */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "fabric/counter.h"
#include "fabric/fabric.h"
#include "storage/admin/anonymise.h"

/*
 * Words of ibwire's events, of this and earlier versions. A missing one becomes an asterisk in an
 * anonymised copy, which is harmless; an unnecessary one could be a name.
 */
static const char own_words[] =
	" a active again agents ahead all amounts an and anew another answer answered answers are armed aside "
	"asked asking associated at b back backwards bad be because before belong belongs below beyond both "
	"but by bytes cabled called came cannot change changed changes cleared clock collector come count "
	"counted counters counts d damaged data database datagrams ddr default deltas description "
	"descriptions device devices differently disabled discarded discards discovered discovery disk do "
	"does down dropped during each edr elsewhere end ended ends error errorrecovery errors event events "
	"every explain explains fabric failed fast fdr fdr10 few file first folder follow for forward "
	"forwards found free from full gave gb gib given go goes going gone good grow guid h had half has "
	"have hca hcas hdr held here higher hold holds host host's hour hours in init instead interval is it "
	"its itself kb keep keeps kept key keys kib kind known last layout less lid lids like limit limits "
	"lines link links linkup local longer lost m m_key mad mads make management manager many master may "
	"mb member mib more most moved ms name names ndr nevertheless new next no nobody node nodes none "
	"normal not nothing now number of off old oldest on once one ones only open or order other others out "
	"over own owner packets part partition performance phytest planes pm_key point polling port port's "
	"ports probably qdr queries query question questions rate rates reach read reading receive received "
	"remove removed reports reset resets rights room running s said same samples saw say says sdr "
	"security see seen sent set share silent since size sleep sm smaller smp smps so some somebody space "
	"start started starts state stay stays step stopped stored subnet sums sweep sweeps switch switches "
	"symbol take takes tb than that the their them themselves there these they this thread till time "
	"times to told too took topology touched training two under unknown until up us wall was way were "
	"what when where which while who why will with within without would written x xdr "
	"added affected after apply attributes coming connected continues different entries externally "
	"increase lft lfts memory peer peers pma polled remains renamed respond responds saturated "
	"suppressed use ";

static bool is_own(const char *word, size_t len)
{
	char wanted[40];

	if (len + 3 > sizeof(wanted))
		return false;
	wanted[0] = ' ';
	for (size_t i = 0; i < len; i++)
		wanted[i + 1] = (char)tolower((unsigned char)word[i]);
	strcpy(wanted + len + 1, " ");
	if (strstr(own_words, wanted))
		return true;
	wanted[len + 1] = '\0';
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (!strcmp(counter_info((enum counter)i)->key, wanted + 1))
			return true;
	return false;
}

/* Only "17", "31.2", "4x", "3h05m", "12m30s": a name may consist of digits and letters too. */
static bool is_number(const char *word, size_t len)
{
	size_t digits = 0, points = 0, letters = 0;

	for (size_t i = 0; i < len; i++) {
		if (isdigit((unsigned char)word[i]))
			digits++;
		else if (word[i] == '.')
			points++;
		else if (strchr("smhdwx", word[i]))
			letters++;
		else
			return false;
	}
	return digits && points <= 1 && letters <= 2 && isdigit((unsigned char)word[0]);
}

/* Characters of words; all others separate words. */
static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80 || strchr("_.-'\\", c);
}

/* The longest name at the beginning of @rest. Return: its replacement, or NULL. */
static const char *name_at(const struct anonymiser *anonymiser, const char *rest, size_t *ret_len)
{
	char name[NODE_NAME_SIZE];

	for (size_t len = strnlen(rest, sizeof(name) - 1); len; len--) {
		const char *alias;

		if (is_of_word(rest[len - 1]) && rest[len] && is_of_word(rest[len]) && rest[len] != '.')
			continue;
		memcpy(name, rest, len);
		name[len] = '\0';
		alias = anonymise_name(anonymiser, name);
		if (alias) {
			*ret_len = len;
			return alias;
		}
	}
	return NULL;
}

/* "0x" and 16 digits at the beginning of @rest. */
static bool guid_at(const char *rest, uint64_t *ret)
{
	if (strncmp(rest, "0x", 2) || strspn(rest + 2, "0123456789abcdefABCDEF") != 16)
		return false;
	*ret = strtoull(rest, NULL, 16);
	return true;
}

static size_t word_length(const char *word)
{
	size_t len = 0;

	while (word[len] && is_of_word(word[len]))
		len++;
	/* Punctuation after a word is not part of it. */
	while (len > 1 && strchr(".-'", word[len - 1]))
		len--;
	return len;
}

/* The parts of a hyphenated word are checked separately. */
static void put_word(struct text *ret, const char *word, size_t len)
{
	size_t at = 0;

	if (is_own(word, len) || is_number(word, len) || strspn(word, ".-'") >= len) {
		text_append_bytes(ret, word, len);
		return;
	}
	for (bool known = true; known && at < len;) {
		size_t part = 0;

		while (at + part < len && word[at + part] != '-')
			part++;
		known = !part || is_own(word + at, part) || is_number(word + at, part);
		at += part + 1;
		if (known && at >= len) {
			text_append_bytes(ret, word, len);
			return;
		}
	}
	text_append(ret, "*");
}

int anonymise_text(struct anonymiser *anonymiser, const char *text, struct text *ret, struct error *err)
{
	const char *rest = text;

	while (*rest) {
		const char *alias;
		uint64_t guid;
		size_t len;

		if (guid_at(rest, &guid)) {
			if (anonymise_guid(anonymiser, guid, &guid, err) < 0)
				return ERR_NOMEM;
			text_appendf(ret, "0x%016" PRIx64, guid);
			rest += 18;
		} else if ((alias = name_at(anonymiser, rest, &len))) {
			text_append(ret, alias);
			rest += len;
		} else if (is_of_word(*rest)) {
			len = word_length(rest);
			put_word(ret, rest, len);
			rest += len;
		} else {
			text_append_bytes(ret, rest++, 1);
		}
	}
	return text_failed(ret) ? err_nomem(err) : 0;
}
