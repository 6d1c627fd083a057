#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The packed tables in another program that speaks SQLite: the sqlite3 shell with ibwire-sql.so
# prints what `ibwire sql` prints.
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

extension=${IBWIRE_BUILD:?}/ibwire-sql.so
command -v sqlite3 >/dev/null || skip_all "the sqlite3 shell is not installed"

"$IBWIRE_BUILD/tests/screen/sample_db" fabric.db 2 300 1 || exit 1
cp fabric.db before.db

# shell STATEMENT - what the sqlite3 shell answers, as CSV with its header; each quotes in its own way
shell() {
	sqlite3 -readonly -header -csv fabric.db ".load $extension" "$1" 2>&1 | tr -d '\r"'
}

# ours STATEMENT - what ibwire answers
ours() {
	"$IBWIRE" sql --db fabric.db --format csv "$1" 2>&1 | tr -d '\r"'
}

# alike NAME STATEMENT - both give the same, and it is not nothing
alike() {
	answer=$(ours "$2")
	equal "$1" "$(shell "$2")" "$answer"
	if [ "$(printf '%s\n' "$answer" | wc -l)" -gt 1 ]; then
		pass "$1: there is an answer"
	else
		fail "$1: there is an answer" "$answer"
	fi
}

alike "sample has the same rows" "SELECT * FROM sample WHERE sweep BETWEEN 100 AND 102 ORDER BY sweep, port_id"
alike "port_sum has the same sums" "SELECT * FROM port_sum('-1h') ORDER BY port_id"
alike "delta has the same rows" "SELECT * FROM delta WHERE sweep = 77 ORDER BY port"
alike "the view traffic works" \
	"SELECT node, port, sum(xmit_bytes) AS bytes FROM traffic WHERE time > '2020' GROUP BY 1, 2 ORDER BY 1, 2"
equal "samples and sums agree" "$(shell "SELECT sum(xmit_bytes) AS b FROM sample('-1h')")" \
	"$(shell "SELECT sum(xmit_bytes) AS b FROM port_sum('-1h')")"
contains "an invalid time is an error" "$(shell "SELECT * FROM sample('soon')")" "'soon' is not a time"
contains "nothing can be written through it" "$(shell "DELETE FROM sample")" "may not be modified"
contains "without it the error names what is missing" "$(sqlite3 -readonly fabric.db "SELECT * FROM traffic" 2>&1)" \
	"no such table: main.sample"

# A database that is none of ours: loaded, and nothing is there.
contains "another database has no samples" \
	"$(sqlite3 :memory: ".load $extension" "SELECT count(*) FROM sample" 2>&1)" "no such table"

# One blob less: what is left is still given.
cp before.db damaged.db
sqlite3 damaged.db "UPDATE hot SET samples = x'ff00' WHERE id = (SELECT min(id) FROM hot);
	UPDATE chunk SET samples = x'ff00' WHERE id = (SELECT min(id) FROM chunk)"
rows=$(sqlite3 -readonly damaged.db ".load $extension" "SELECT count(*) > 100 FROM sample" 2>&1)
equal "a damaged blob does not hide the others" "$rows" "1"

done_testing
