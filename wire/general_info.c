/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/general_info.h"

#include "wire/pma.h"

/* Offsets in the MAD. BUILT: month, day and a year of 16 bits, as decimal digits. */
enum { VERSION = 65, BUILT = 72, PSID = 80, PSID_LENGTH = 16, EXTENDED = 100 };

/* Decimal digits, as in 0x2023; 0: others. */
static uint32_t read_digits(uint32_t digits)
{
	uint32_t number = 0;

	for (int shift = 12; shift >= 0; shift -= 4) {
		uint32_t digit = digits >> shift & 15;

		if (digit > 9)
			return 0;
		number = 10 * number + digit;
	}
	return number;
}

static uint32_t read_date(const uint8_t *at)
{
	uint32_t month = read_digits(at[0]), day = read_digits(at[1]), year = read_digits(get_be16(at + 2));

	return month && month <= 12 && day && day <= 31 && year ? 10000 * year + 100 * month + day : 0;
}

bool general_info_read(const uint8_t mad[MAD_SIZE], struct firmware *ret)
{
	const uint8_t *plain = mad + VERSION, *extended = mad + EXTENDED;
	uint32_t major = get_be32(extended), minor = get_be32(extended + 4), sub_minor = get_be32(extended + 8);

	if (answer_status(mad) != ANSWER_OK)
		return false;
	/* A software version of three bytes in the first of these words would be a major number above 255. */
	if (!(major | minor | sub_minor) || major > UINT8_MAX) {
		major = plain[0];
		minor = plain[1];
		sub_minor = plain[2];
	}
	if (!(major | minor | sub_minor))
		return false;
	ret->source = FIRMWARE_READ;
	ret->major = major;
	ret->minor = minor;
	ret->sub_minor = sub_minor;
	ret->built = read_date(mad + BUILT);
	firmware_set_psid(ret, (const char *)mad + PSID, PSID_LENGTH);
	return true;
}
