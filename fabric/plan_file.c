/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "base/err.h"
#include "base/text.h"
#include "fabric/plan.h"

int plan_read_file(struct plan *plan, const char *path, struct error *err)
{
	struct text text = { 0 };
	int code = text_read_bytes(path, "the plan ", TEXT_FABRIC_MOST, &text, err);

	if (code == 0)
		code = plan_read(plan, path, text_chars(&text), text.len, err);
	text_done(&text);
	return code;
}
