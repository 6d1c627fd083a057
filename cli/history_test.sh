#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# `ibwire history`: a plot above a table on a terminal (script(1)), a table on a pipe, from a
# database with a gap.
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

: "${IBWIRE:?}"
can_open_terminal || skip_all "$no_terminal"
export TZ=UTC0 TERM=xterm
# The first sweep, 900 s ago, is not the last one of a step of 2 min: there would be a row of it alone, which has no rate.
while [ $((($(date +%s) - 900) % 120)) -ge 115 ]; do
	sleep 1
done
"${IBWIRE_BUILD:?}/tests/screen/sample_db" fabric.db 2 900 1 gap || exit 1
export IBWIRE_DB="$PWD/fabric.db"

# on_terminal LOCALE COLUMNS ARGUMENTS - output on a terminal
on_terminal() {
	LC_ALL=$1 COLUMNS=$2 script -qec "stty cols $2; $IBWIRE history --color never $3" /dev/null </dev/null |
		tr -d '\r'
}

# widest TEXT - the longest line, in columns
widest() {
	printf '%s\n' "$1" | LC_ALL=C.UTF-8 wc -L
}

seen=$(on_terminal C.UTF-8 90 "leaf01/1 --counter xmit_bytes --since -20m")
contains "there is a heading" "$seen" "xmit_bytes"
contains "there is a plot of blocks" "$seen" "█"
contains "the plot has a value axis with a unit" "$seen" "Gb/s ┤"
contains "the plot has a time axis" "$seen" "└"
contains "the table is below" "$seen" "MEAN"
contains "the heading has the source" "$seen" "raw"
if [ "$(widest "$seen")" -le 90 ]; then
	pass "nothing is wider than the terminal"
else
	fail "nothing is wider than the terminal" "$seen"
fi
# Nothing was stored in the middle third: no bar, and dashes. Before the first sweep there is no row.
contains "a gap is a dash" "$seen" "           -"
equal "a gap is blank in the plot" "$(printf '%s\n' "$seen" | grep '[┤│]' | grep -vc '█ \{20,30\}█\|▄ \{20,30\}▄')" "0"
contains "the plot begins with the first sweep" "$seen" "┤▄"
case $(printf '%s\n' "$seen" | sed -n '/READINGS/{n;p}') in
*" -"*) fail "no row is before the first sweep" "$seen" ;;
*) pass "no row is before the first sweep" ;;
esac

for plain in "C 90 leaf01/1" "C.UTF-8 90 --ascii leaf01/1"; do
	# shellcheck disable=SC2086 # locale, columns, arguments
	set -- $plain
	where=$1
	wide=$2
	shift 2
	seen=$(on_terminal "$where" "$wide" "--counter xmit_bytes $*")
	contains "a plot of plain characters ($plain)" "$seen" "#"
	equal "nothing but ASCII is in it ($plain)" "$(printf '%s' "$seen" | LC_ALL=C tr -d '\001-\177')" ""
done

seen=$(on_terminal C.UTF-8 30 "leaf01/1 --counter errors")
if [ "$(widest "$(printf '%s\n' "$seen" | grep '[┤│└]')")" -le 30 ]; then
	pass "a narrow terminal has a narrow plot"
else
	fail "a narrow terminal has a narrow plot" "$seen"
fi

piped=$("$IBWIRE" history leaf01/1 --counter rcv_bytes)
contains "a pipe has the table" "$piped" "MEAN"
case $piped in
*┤*) fail "a pipe has no plot" "$piped" ;;
*) pass "a pipe has no plot" ;;
esac
contains "a note has the number of ports" "$(on_terminal C.UTF-8 120 "--top 3")" "3 of "
equal "--top limits the rows" "$("$IBWIRE" history --top 3 --format csv | wc -l)" "4"

# An unreadable pack of samples is reported, and the others are shown.
if command -v sqlite3 >/dev/null; then
	cp fabric.db old.db
	sqlite3 old.db "UPDATE chunk SET samples = x'ff00' WHERE id = (SELECT min(id) FROM chunk)"
	contains "the page of the fabric reports damage of an old sweep" \
		"$("$IBWIRE" status --html=- --db old.db 2>&1 >/dev/null)" "database is damaged: "
	sqlite3 fabric.db "UPDATE hot SET samples = x'ff00' WHERE id = (SELECT max(id) FROM hot);
		UPDATE chunk SET samples = x'ff00'
		WHERE id = (SELECT max(id) FROM chunk) AND NOT EXISTS (SELECT 1 FROM hot)"
	contains "damage is reported" "$("$IBWIRE" history all -c errors 2>&1 >/dev/null)" "database is damaged: 1 "
	contains "undamaged data is shown" "$("$IBWIRE" history all -c errors 2>/dev/null)" "/h"
else
	skip "damage is reported" "sqlite3 is not installed"
fi

done_testing
