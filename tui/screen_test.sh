#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The screen in a terminal (tmux): keys, and what must be seen then, on a database
# of a made-up fabric (tui/sample.h says what stands out in it). timeout: 300
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

: "${IBWIRE:?}"
sample_db=${IBWIRE_BUILD:?}/tests/screen/sample_db
command -v tmux >/dev/null || skip_all "tmux is not installed"

export TMUX_TMPDIR="$PWD" TERM=screen-256color
# A signal that comes while LeakSanitizer looks for leaks makes it wait for ever. Leaks of
# the screen are looked for in its unit tests.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
unset TMUX
collector=""

tm() { tmux -L screen -f /dev/null "$@"; }

trap '[ -z "$collector" ] || kill "$collector"; tm kill-server 2>/dev/null' EXIT
trap 'exit 1' INT TERM HUP

seen() { tm capture-pane -p -t top 2>/dev/null; }

# wait_for TEXT - until the screen shows it, 10 s at most
wait_for() {
	tries=0
	while [ $tries -lt 100 ]; do
		case $(seen) in *"$1"*) return 0 ;; esac
		sleep 0.1
		tries=$((tries + 1))
	done
	return 1
}

# all_ended - no screen is left, 10 s at most: with sanitizers ending takes its time
all_ended() {
	tries=0
	while pgrep -f "^$IBWIRE top --db fabric.db" >/dev/null && [ $tries -lt 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	[ $tries -lt 100 ]
}

# start COLUMNSxROWS COMMAND... - in a fresh terminal, with a line that a restored screen shows again
start() {
	# The sanitizer's search for leaks hangs in a process whose terminal goes meanwhile: first the one, then the other.
	pkill -f "^$IBWIRE top --db fabric.db"
	all_ended || fail "the screen before this one has ended" "$(pgrep -fa "^$IBWIRE top")"
	tm kill-session -t top 2>/dev/null
	size=$1
	shift
	tm new-session -d -s top -x "${size%x*}" -y "${size#*x}" \
		"PS1= LC_ALL=${locale:-C.UTF-8} TERM=${term:-screen-256color}; export LC_ALL TERM; echo before; $*; echo exit \$?; echo modes \$(stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(echo|icanon)'); exec sleep 1000"
}

keys() { for key in "$@"; do tm send-keys -t top "$key"; done; }

# shows NAME TEXT [KEY...] - after these keys the screen shows it
shows() {
	name=$1 text=$2
	shift 2
	keys "$@"
	if wait_for "$text"; then
		pass "$name"
	else
		fail "$name" "after the keys: $*" "there is no \"$text\" on:" "$(seen)"
	fi
}

# hides NAME TEXT [KEY...] - after these keys the screen does not show it
hides() {
	name=$1 text=$2
	shift 2
	keys "$@"
	tries=0
	while [ $tries -lt 100 ]; do
		case $(seen) in
		*"$text"*) ;;
		*) pass "$name" && return ;;
		esac
		sleep 0.1
		tries=$((tries + 1))
	done
	fail "$name" "after the keys: $*" "there still is \"$text\" on:" "$(seen)"
}

# line NUMBER - of the screen, from 1
line() { seen | sed -n "$1p"; }

# head_line - the number of the line with the heads of the columns
head_line() { seen | grep -n '^PORT' | cut -d: -f1; }
first_row() { line $(($(head_line) + 1)); }

# restored NAME STATUS - the program has ended so, and the terminal is as it was
restored() {
	wait_for "modes " || true
	text=$(seen)
	contains "$1: exit status $2" "$text" "exit $2"
	contains "$1: what was there before is back" "$text" "before"
	equal "$1: the alternate screen is left" "$(tm display-message -p -t top '#{alternate_on}')" 0
	contains "$1: the terminal's modes are back" "$text" "modes icanon echo"
}

# collect SWEEPS INTERVAL - a database that a collector holds
collect() {
	rm -f fabric.db*
	"$sample_db" fabric.db 4 "$1" "$2" hold &
	collector=$!
	tries=0
	while ! "$IBWIRE" status --db fabric.db >/dev/null 2>&1 && [ $tries -lt 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
}

stop_collector() {
	kill "$collector"
	wait "$collector"
	collector=""
}

# A server with no session ends; this one keeps it.
tm new-session -d -s keep "exec sleep 1000" || skip_all "tmux does not start here"
collect 6 60
top="$IBWIRE top --db fabric.db"

# 80x24: everything that matters, and every key.
start 80x24 "$top"
shows "it says that the data is live" "LIVE"
shows "and how much was answered" "answered 379/381"
shows "and who manages the subnet" "SM node0001 ok"
shows "and what answers to others only" "1 locked"
shows "and what there is" "128 hosts, 20 switches  links 193:  2 down  1 port silent"
shows "the overview comes first: no problems" "PROBLEMS 0"
shows "and that not all is known" "2 of 381 ports did not answer"
shows "and the groups of ports" "leaf up"
shows "2 is the links" "PORT  " 2
equal "80 columns have the ten that matter" "$(line "$(head_line)" | tr -s ' ')" \
	"PORT PEER STATUS LINK TXb/s▼ TX RXb/s RX ERR AGE"
contains "the busiest port is first" "$(first_row)" "leaf01/1"
contains "with its peer, state, rates and bars" "$(first_row)" \
	"node0001 ml…_0/1 ok     4xHDR 190.0G ███▊ 100.0G ██      0"
hides "ports that were never up are hidden" "leaf01/64" /
shows "a filter is typed" "/leaf02/2_" l e a f 0 2 / 2
shows "and works at once: errors are counted" "  3"
shows "letters may be of either case, and | is or" "4 of 1,408 ports" C-u L E A F 0 2 / 3 3 "|" s p i n e 0 1 / 2 "|" L O C K E D "|" S I L E N T
shows "a silent port says so, and has no numbers" "silent 4xHDR      -           -"
shows "a port that went down says so" "down   -          -"
shows "what matches nothing says how to get back" "No port matches" C-u n o p e
shows "Esc ends the filter" "384 of 1,408 ports" Escape
shows "Enter keeps the filter" "/unsupported " / u n s u p p o r t e d Enter
shows "unsupported is a word of its own" "unsup… 4xHDR"
shows "Esc drops a filter that was kept" "384 of 1,408 ports" Escape
shows "d shows the ports that were never up" "1,408 of 1,408 ports" d
hides "and hides them again" "1,408 of 1,408 ports" d
shows "> sorts by the next column" "TX▼" ">"
shows "< by the one before" "TXb/s▼" "<"
shows "r reverses" "TXb/s▲" r
contains "then an idle port is first, with zeros" "$(first_row)" "idle   4xHDR      0           0"
contains "its hostile name is harmless" "$(first_row)" '\x1b[31mred'
shows "I reverses too" "TXb/s▼" I
shows "F6 lists all columns" "SORT BY" F6
# From XMIT down to ERRORS.
shows "one is chosen with arrows and Enter" "ERR▼" Down Down Down Down Down Down Down Down Down Down Enter
contains "the port with errors is first" "$(first_row)" "leaf02/2 "
shows "Esc leaves the list as it was" "ERR▼" s Down Down Escape
hides "and closes it" "SORT BY"
shows "F1 is help" "KEYS EVERYWHERE" F1
shows "it scrolls, down to the meaning of the columns" "who the node is" End
shows "and leaves" "ERR▼" Escape
shows "? is help too" "KEYS EVERYWHERE" "?"
shows "so is leaving it with q" "ERR▼" q

# The cursor (in reverse video) stays on its port when the order changes.
under_cursor() { tm capture-pane -p -e -t top | sed -n '4,$p' | grep -v 'PORT' | grep -a "$(printf '\033')\[[0-9;]*7m" | head -1; }
keys Home Down Down Down
sleep 0.5
marked=$(under_cursor | sed "s/$(printf '\033')\[[0-9;]*m//g" | cut -c1-17)
[ -n "$marked" ] || fail "there is a cursor" "$(seen)"
keys r
sleep 0.5
equal "the cursor stays on its port" \
	"$(under_cursor | sed "s/$(printf '\033')\[[0-9;]*m//g" | cut -c1-17)" "$marked"
keys r s Up Up Up Up Up Up Up Up Up Enter G
shows "G goes to the last row" "spine01/2"
shows "g to the first" "leaf01/1 " g
before=$(first_row | cut -c1-60)
keys NPage NPage
hides "PgDn goes on" "$before"
shows "PgUp back" "$before" PPage PPage
shows "Space holds the picture" "PAUSED at" Space
hides "and lets it go" "PAUSED" Space
keys q
restored "q" 0

# Other sizes, one running screen resized.
start 120x40 "$top"
shows "a high terminal says what the hosts send" "hosts send 10.6 Tb/s"
keys 2
shows "120 columns: words and units in full" "190.0 Gb/s  95%"
shows "and a hint of every key" "r reverse"
contains "with unsupported as a whole word" "$(keys / u n s u p; sleep 0.5; seen)" "unsupported"
keys Escape
tm resize-window -t top -x 200 -y 60
shows "200 columns: resized at once, with packets, waits and counters" "WHICH ERRORS"
contains "and the counters that moved" "$(keys / l e a f 0 2 / 2; sleep 0.5; seen)" "symbol_errors 2"
shows "and all ports again" "384 of" Escape
shows "z sums errors anew" "errors 0 since" z
equal "60 rows are used" "$(seen | grep -c 'HDR')" 55
tm resize-window -t top -x 40 -y 10
shows "40x10 has the least" "PORT           STATUS TXb/s▼  RXb/s  ERR"
tm resize-window -t top -x 39 -y 10
shows "below, it says what it needs" "too small"
tm resize-window -t top -x 80 -y 24
shows "and comes back" "F1 help"
for size in 41x11 63x14 79x19 81x20 99x23 133x50 251x33 300x100; do
	tm resize-window -t top -x "${size%x*}" -y "${size#*x}"
	wait_for "of 1,408 ports" || fail "$size is drawn" "$(seen)"
	sleep 0.3
	shot=$(seen)
	if [ "$(printf '%s\n' "$shot" | grep -c '^PORT')" = 1 ] && printf '%s\n' "$shot" | tail -1 | grep -q 'of 1,408 ports$' &&
		printf '%s\n' "$shot" | awk 'NR > 8' | grep -q 'ok '; then
		pass "$size is whole"
	else
		fail "$size is whole" "$shot"
	fi
done

# What happens beside the screen is told, and the screen stays.
stop_collector
shows "a collector that ends is told" "NOT LIVE: data"
shows "and what to do" "no collector is running"
contains "the numbers stay" "$(seen)" "leaf01/1"
rm -f fabric.db*
shows "a database that vanishes is told" "the database is gone: fabric.db"
contains "the numbers stay then too" "$(seen)" "leaf01/1"
collect 2 1
shows "another one in its place is taken up" "LIVE"
hides "and all is well" "gone"
"$IBWIRE" status --db fabric.db >/dev/null
tm resize-window -t top -x 120 -y 40
keys q
restored "q after all that" 0

# Signals. The process is the one in the terminal's foreground.
pid_of_top() { pgrep -f "^$IBWIRE top --db fabric.db$" | head -1; }
for signal in TERM HUP INT; do
	start 80x24 "$top"
	wait_for "LIVE" || fail "it starts" "$(seen)"
	kill -$signal "$(pid_of_top)"
	restored "SIG$signal" 0
done
start 80x24 "$top"
wait_for "LIVE" || fail "it starts" "$(seen)"
kill -ABRT "$(pid_of_top)"
restored "a crash" 134
stop_collector

# Colours and characters.
collect 3 60
# colored NAME - it is started, and uses colours
colored() {
	wait_for "LIVE" || fail "it starts" "$(seen)"
	if [ "$(colors)" -gt 0 ]; then
		pass "$1"
	else
		fail "$1" "$(seen)"
	fi
}
colors() { tm capture-pane -p -e -t top | grep -c "$(printf '\033')\[[0-9;]*\(38;5\|3[0-7]\|9[0-7]\)[;m]"; }
start 80x24 "$top"
colored "256 colours"
start 80x24 "NO_COLOR=1 $top"
wait_for "LIVE" || fail "it starts" "$(seen)"
equal "none with NO_COLOR" "$(colors)" 0
start 80x24 "$top --color never"
wait_for "LIVE" || fail "it starts" "$(seen)"
equal "none with --color never" "$(colors)" 0
start 80x24 "NO_COLOR=1 $top --color always"
colored "--color always wins over NO_COLOR"
term=vt100 start 80x24 "$top"
wait_for "LIVE" || fail "it starts" "$(seen)"
equal "a terminal without colours has none" "$(colors)" 0
term=linux start 80x24 "$top"
colored "8 colours"
locale=C start 80x24 "$top"
wait_for "LIVE" || fail "it starts" "$(seen)"
if seen | LC_ALL=C grep -q '[^ -~]'; then
	fail "only ASCII where the locale is not UTF-8" "$(seen)"
else
	pass "only ASCII where the locale is not UTF-8"
fi
shows "the links too" "PORT  " 2
contains "with bars of ASCII" "$(first_row)" "####"
shows "and order marked in ASCII" "TXb/sv"
keys q
term=dumb start 80x24 "$top"
wait_for "exit" || true
contains "a terminal that cannot move its cursor is told so" "$(seen)" "cannot move its cursor"
contains "with status 64" "$(seen)" "exit 64"
term=nonsense-9 start 80x24 "$top"
wait_for "exit" || true
contains "one that nobody knows, too" "$(seen)" "of which this host knows nothing"
output=$("$IBWIRE" top --db fabric.db 2>&1 </dev/null)
equal "no terminal: status 64" "$?" 64
contains "and what to use instead" "$output" "ibwire ports"
stop_collector

# No collector, and no fabric for one of its own.
rm -f fabric.db*
start 80x24 "$top --Ca nonsense_0"
wait_for "exit" || true
contains "no device: its collector's reason and status" "$(seen)" "exit 69"
contains "in one line" "$(seen)" "ibwire: "
equal "nothing is left running" "$(pgrep -fc "^ibwire collect --db fabric.db")" 0
printf 'this is no database' >fabric.db
start 80x24 "$top"
wait_for "exit" || true
contains "a foreign file is refused" "$(seen)" "exit 74"
equal "and untouched" "$(cat fabric.db)" "this is no database"
rm -f fabric.db
"$sample_db" fabric.db 4 3 2
start 80x24 "$top --Ca nonsense_0"
shows "with old data the screen stays, and tells why it gets no newer" "the collector ended (exit status 69)"
shows "as old as it is" "NOT LIVE: data"
keys q
restored "q then" 0
start 80x24 "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 $top"
wait_for "NOT LIVE" || fail "it starts" "$(seen)"
tm kill-session -t top
if all_ended; then
	pass "it ends with its terminal"
else
	fail "it ends with its terminal" "$(pgrep -fa "^$IBWIRE top")"
fi
# A time that was.
collect 6 60
start 100x24 "$top --at now"
shows "the screen of a time says which" "HISTORY -"
shows "with what there was then" "128 hosts, 20 switches"
keys q
restored "a time is left" 0
start 100x24 "$top --at 2001-01-01"
wait_for "exit 69" || true
contains "a time before all that is stored is one line" "$(seen)" "the oldest is of"
stop_collector

done_testing
