/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * patience.h - how long an answer is waited for, and how often its question is asked again
 *
 * Inside the engine; engine.h says what comes of it. What is known of a node stands in its lane, what is known
 * of a question in its entry; here is what is known of the wire: does it lose MADs? No I/O, and no clock.
 */
#ifndef IBWIRE_WIRE_PATIENCE_H
#define IBWIRE_WIRE_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

struct engine_settings;
struct entry;
struct lane;

struct patience {
	int64_t most_us;             /* no answer is waited for longer */
	unsigned retries;            /* of each question, as the owner of the engine wants it */
	uint64_t answered, repeated; /* of late: questions answered, and how often those had to be sent again */
};

void patience_init(struct patience *patience, const struct engine_settings *settings);

/* patience_new_run - what was long ago counts less from now on. */
void patience_new_run(struct patience *patience);

/*
 * patience_learn - a node answered
 * @answer_us:  after so long. What is older than any answer may be has waited for us to read it, and says nothing.
 */
void patience_learn(const struct patience *patience, struct lane *lane, int64_t answer_us);

/* patience_answered - a question was answered that had been sent again so often. */
void patience_answered(struct patience *patience, unsigned repeated);

/*
 * patience_is_over - has this try of a question had its time?
 * All tries share the time of the question, that of the node's usual answers.
 * @lane, @entry:  the node's and the question's
 * @sent_us:       when this try was sent; @now_us is of the same clock
 */
bool patience_is_over(const struct patience *patience, const struct lane *lane, const struct entry *entry,
		      int64_t sent_us, int64_t now_us);

/* patience_has_retry - may a question that was given up be asked again? May give it the tries of a lossy wire. */
bool patience_has_retry(const struct patience *patience, const struct lane *lane, struct entry *entry);

#endif
