/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/patience.h"

#include "base/clock.h"
#include "wire/lanes.h"

/*
 * A MAD is given up after so many usual answer times of its node, but not before
 * so long: other hosts ask the same agent, and the scheduler of this one is no
 * real-time one.
 */
#define PATIENCE_FACTOR 4
#define PATIENCE_LEAST_US (20 * US_PER_MS)

/* A node that was never heard may be a slow one: it gets so long, unless it is only asked once more in vain. */
#define PATIENCE_FIRST_US (200 * US_PER_MS)

/*
 * All tries of a question share that time: the last one is sent when so many tenths of it are over, those between at
 * even distances. None is given up before a quarter of it, though it was sent late.
 */
#define LAST_TRY_TENTHS 7
#define TRY_SHARE 4

/*
 * A node that left a question open not longer ago is silent: another one is sent to it once, and waited
 * for a quarter of its time.
 */
#define SILENT_US (100 * US_PER_MS)

/*
 * A wire that loses MADs: of those that were answered in the end so many had to be sent
 * again, and at least one in so many. Then a question gets more tries before its node counts as silent.
 */
#define LOSSY_LEAST 8
#define LOSSY_SHARE 50
#define LOSSY_RETRIES 4

void patience_init(struct patience *patience, const struct engine_settings *settings)
{
	*patience = (struct patience){ .most_us = (int64_t)settings->timeout_ms * US_PER_MS,
				       .retries = settings->retries };
}

void patience_new_run(struct patience *patience)
{
	patience->answered /= 2;
	patience->repeated /= 2;
}

/* The mean takes an eighth of it, but believes the first and the slow at once. */
void patience_learn(const struct patience *patience, struct lane *lane, int64_t answer_us)
{
	lane->silent_us = 0;
	if (answer_us > patience->most_us)
		return;
	if (!lane->answer_us || answer_us > PATIENCE_FACTOR * lane->answer_us)
		lane->answer_us = answer_us;
	else
		lane->answer_us += (answer_us - lane->answer_us) / 8;
}

void patience_answered(struct patience *patience, unsigned repeated)
{
	patience->answered++;
	patience->repeated += repeated;
}

static bool is_lossy(const struct patience *patience)
{
	return patience->repeated >= LOSSY_LEAST && patience->repeated * LOSSY_SHARE >= patience->answered;
}

/*
 * Has the node just left another question open? Not one that was never heard, which may be slow; and where
 * the owner itself asks again, it knows better how long to wait.
 */
static bool is_silent(const struct patience *patience, const struct lane *lane, const struct entry *entry)
{
	return patience->retries && lane->answer_us && lane->silent_us &&
	       entry->first_us - lane->silent_us < SILENT_US;
}

/* How long the answer to a question is waited for, with all its tries. */
static int64_t question_us(const struct patience *patience, const struct lane *lane, const struct entry *entry)
{
	int64_t wait_us = PATIENCE_FACTOR * lane->answer_us;

	if (!lane->answer_us && !entry->request.once)
		wait_us = PATIENCE_FIRST_US;
	if (wait_us < PATIENCE_LEAST_US)
		wait_us = PATIENCE_LEAST_US;
	if (is_silent(patience, lane, entry))
		wait_us /= TRY_SHARE;
	return wait_us < patience->most_us ? wait_us : patience->most_us;
}

/* How long after its first try this try of a question is given up. */
static int64_t try_us(const struct patience *patience, const struct lane *lane, const struct entry *entry,
		      int64_t wait_us)
{
	int64_t least_us = lane->answer_us * 3 / 2, share_us;

	if (!entry->retries_left || is_silent(patience, lane, entry))
		return wait_us;
	share_us = wait_us * LAST_TRY_TENTHS / 10 * (entry->tries + 1) / (entry->tries + entry->retries_left);
	return share_us > least_us ? share_us : least_us;
}

bool patience_is_over(const struct patience *patience, const struct lane *lane, const struct entry *entry,
		      int64_t sent_us, int64_t now_us)
{
	int64_t wait_us = question_us(patience, lane, entry);

	return now_us - sent_us >= wait_us / TRY_SHARE &&
	       now_us - entry->first_us >= try_us(patience, lane, entry, wait_us);
}

/* Where MADs get lost, more often; else a node that is silent is not asked twice. */
bool patience_has_retry(const struct patience *patience, const struct lane *lane, struct entry *entry)
{
	if (!is_lossy(patience) && is_silent(patience, lane, entry))
		return false;
	if (!entry->retries_left && !entry->extended && !entry->request.once && patience->retries &&
	    is_lossy(patience)) {
		entry->extended = true;
		entry->retries_left = LOSSY_RETRIES;
	}
	return entry->retries_left > 0;
}
