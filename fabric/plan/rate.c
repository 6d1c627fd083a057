/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rate of a link as people write it. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fabric/plan/build.h"
#include "fabric/speed.h"

/* Above every rate in Gb/s, below every one in Mb/s: a number without a unit is either. */
enum { MOST_GBITS = 2400 };

/* Names of rates that are not data rates: signalling rates of 8b/10b and 64b/66b codes, Mb/s. */
static const struct {
	uint32_t name, data;
} nominal[] = {
	{ 2500, 2000 }, { 5000, 4000 }, { 10000, 8000 }, { 20000, 16000 }, { 40000, 32000 }, { 60000, 48000 },
	{ 14000, 13636 }, { 56000, 54545 }, { 112000, 109090 }, { 120000, 96000 }, { 168000, 163636 },
};

static uint32_t data_rate(double mbits, uint8_t speed)
{
	uint32_t rounded = (uint32_t)(mbits + 0.5);

	/* FDR10 has the data rates that QDR has in name. */
	for (size_t i = 0; i < sizeof(nominal) / sizeof(nominal[0]) && speed != LINK_SPEED_FDR10; i++)
		if (rounded == nominal[i].name)
			return nominal[i].data;
	return rounded;
}

/* Skip a unit after a number. Return: Mb/s of it, or 0: none. */
static double skip_unit(const char **text)
{
	const char *at = *text + strspn(*text, " ");
	char unit = (char)tolower((unsigned char)*at);
	double mbits = unit == 'm' ? 1 : unit == 'g' ? 1000 : unit == 't' ? 1000000 : 0;
	static const char *const ends[] = {
		"bits/s", "bit/s", "bps", "b/s", "bits", "bit", "be", "b", "e",
	};

	if (mbits == 0)
		return 0;
	at++;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strncasecmp(at, ends[i], strlen(ends[i]))) {
			at += strlen(ends[i]);
			break;
		}
	/* "200 gauge" has no unit. */
	if (isalpha((unsigned char)*at))
		return 0;
	*text = at;
	return mbits;
}

/* A word such as "HDR", "FDR10", "NDR200". Return: whether it is one. */
static bool take_speed(const char *word, size_t len, struct plan_rate *rate, double *mbits)
{
	char name[8];
	size_t letters = 0;

	while (letters < len && isalpha((unsigned char)word[letters]))
		letters++;
	if (letters != 3 || len >= sizeof(name))
		return false;
	memcpy(name, word, len);
	name[len] = '\0';
	rate->speed = (uint8_t)link_speed_by_name(name);
	if (rate->speed != LINK_SPEED_NONE)
		return true;
	name[3] = '\0';
	rate->speed = (uint8_t)link_speed_by_name(name);
	if (rate->speed != LINK_SPEED_NONE)
		*mbits = 1000 * strtod(word + letters, NULL);
	return rate->speed != LINK_SPEED_NONE;
}

bool plan_parse_rate(const char *text, struct plan_rate *ret)
{
	static const char *const nothing[] = { "", "-", "auto", "any", "n/a", "na", "none", "tbd", "?", "max" };
	struct plan_rate rate = { 0 };
	double mbits = 0;
	char *end;

	for (size_t i = 0; i < sizeof(nothing) / sizeof(nothing[0]); i++)
		if (!strcasecmp(text, nothing[i])) {
			*ret = rate;
			return true;
		}
	while (*text) {
		if (isdigit((unsigned char)*text)) {
			double number = strtod(text, &end), unit;
			/* "1e6" and "0x..." are no rates. */
			size_t digits = strspn(text, "0123456789.");

			if (end != text + digits) {
				end = (char *)text + digits;
				number = atof(text);
			}
			text = end;
			unit = skip_unit(&text);
			if (unit > 0)
				mbits = number * unit;
			else if (tolower((unsigned char)*text) == 'x' && number <= 12 &&
				 link_width_code((unsigned)number)) {
				rate.width = link_width_code((unsigned)number);
				text++;
			} else if (mbits == 0 && number <= 1e9 && !isalpha((unsigned char)*text)) {
				mbits = number > MOST_GBITS ? number : number * 1000;
			}
			continue;
		}
		if (isalpha((unsigned char)*text)) {
			size_t len = 0;

			while (isalnum((unsigned char)text[len]))
				len++;
			take_speed(text, len, &rate, &mbits);
			text += len;
			continue;
		}
		text++;
	}
	if (mbits > 0 && mbits < 4e9)
		rate.mbits_per_s = data_rate(mbits, rate.speed);
	if (!rate.mbits_per_s && !rate.width && !rate.speed)
		return false;
	*ret = rate;
	return true;
}
