/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "tests/world/virtual_parse.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

int virtual_split(char *line, char **ret, size_t room, size_t *ret_count, struct error *err)
{
	char *from = line, *to;
	size_t count = 0;

	while (true) {
		bool quoted = false;

		from += strspn(from, " \t\r\n");
		if (!*from)
			break;
		if (count == room)
			return err_set(err, ERR_USAGE, "the line has more than %zu words", room);
		ret[count++] = to = from;
		while (*from && (quoted || !strchr(" \t\r\n", *from))) {
			if (*from == '"')
				quoted = !quoted;
			else
				*to++ = *from;
			from++;
		}
		if (quoted)
			return err_set(err, ERR_USAGE, "a quote is not closed");
		from += *from != '\0';
		*to = '\0';
	}
	*ret_count = count;
	return 0;
}

int virtual_whole(const char *name, const char *value, uint64_t least, uint64_t most, uint64_t *ret,
		  struct error *err)
{
	uint64_t number;
	char *end;

	errno = 0;
	number = strtoull(value, &end, 10);
	/* strtoull() accepts a sign and spaces. */
	if (!isdigit((unsigned char)*value) || *end || errno || number < least || number > most)
		return err_set(err, ERR_USAGE, "%s=%s: say a whole number from %" PRIu64 " to %" PRIu64, name, value,
			       least, most);
	*ret = number;
	return 0;
}

int virtual_real(const char *name, const char *value, double least, double most, double *ret, struct error *err)
{
	char *end;
	double number = strtod(value, &end);

	/* strtod() accepts "nan" and "infinity", which are outside all bounds. */
	if (end == value || *end || !(number >= least && number <= most))
		return err_set(err, ERR_USAGE, "%s=%s: say a number from %g to %g", name, value, least, most);
	*ret = number;
	return 0;
}

int virtual_choice(const char *name, const char *value, const char *yes, const char *no, bool *ret,
		   struct error *err)
{
	if (strcmp(value, yes) && strcmp(value, no))
		return err_set(err, ERR_USAGE, "%s=%s: say %s or %s", name, value, yes, no);
	*ret = !strcmp(value, yes);
	return 0;
}
