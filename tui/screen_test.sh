#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# waits: for screens to be drawn
#
# The screen in a terminal (tmux): what only a real one shows. What stands on each screen
# is tested without one (tests/screen/, tui/model/*_test.c). The fabric is made up: tui/model/test_sample.h
# names the cells that stand out.

# until_true calls functions whose names it is given.
# shellcheck disable=SC2317
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

: "${IBWIRE:?}"
sample_db=${IBWIRE_BUILD:?}/tests/screen/sample_db
command -v tmux >/dev/null || skip_all "tmux is not installed"
can_open_terminal || skip_all "$no_terminal"

export TMUX_TMPDIR="$PWD" TERM=screen-256color XDG_CONFIG_HOME="$PWD/config"
# A signal that comes while LeakSanitizer looks for leaks makes it wait for ever. Leaks of
# the screen are looked for in its unit tests.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
unset TMUX
collector=""

tm() { tmux -L screen -f /dev/null "$@"; }

trap '[ -z "$collector" ] || kill "$collector"; tm kill-server 2>/dev/null' EXIT
trap 'exit 1' INT TERM HUP

seen() { tm capture-pane -p -t top 2>/dev/null; }

# until_true COMMAND... - wait for it, 10 s at most
until_true() {
	tries=0
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 1200 ] || return 1
		sleep 0.05
	done
}

has() { case $(seen) in *"$1"*) ;; *) return 1 ;; esac }
lacks() { ! has "$1"; }
wait_for() { until_true has "$1"; }

# ended - is the screen's process gone?
ended() { ! kill -0 "$(cat top.pid)" 2>/dev/null; }

# start COLUMNSxROWS COMMAND... - in a fresh terminal, with a line that a restored screen shows again
start() {
	# The sanitizer's search for leaks hangs in a process whose terminal goes meanwhile: first the one, then the other.
	[ ! -f top.pid ] || ended || kill "$(cat top.pid)"
	[ ! -f top.pid ] || until_true ended || fail "the screen before this one has ended"
	tm kill-session -t top 2>/dev/null
	rm -f top.pid
	# What the one before chose is kept for the next, unless it is forgotten.
	[ -n "${kept:-}" ] || rm -rf config
	size=$1
	shift
	tm new-session -d -s top -x "${size%x*}" -y "${size#*x}" \
		"PS1= LC_ALL=${locale:-C.UTF-8} TERM=${term:-screen-256color}; export LC_ALL TERM; echo before; sh -c 'echo \$\$ >top.pid; exec env $*'; echo exit \$?; echo modes \$(stty -a | tr ' ;' '\\n\\n' | grep -xE -- '-?(echo|icanon)'); exec sleep 1000"
}

# live COLUMNSxROWS COMMAND... - and wait until it shows the fabric
live() {
	start "$@"
	wait_for "LIVE" || fail "it starts: $*" "$(seen)"
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
	if until_true lacks "$text"; then
		pass "$name"
	else
		fail "$name" "after the keys: $*" "there still is \"$text\" on:" "$(seen)"
	fi
}

line() { seen | sed -n "$1p"; }

# press ROW COLUMN [BUTTON] - of the mouse (0: the left one, 64 and 65: the wheel), as this terminal type reports it
press() {
	# shellcheck disable=SC2046
	tm send-keys -t top -H $(printf '1b 5b 4d %x %x %x' $((32 + ${3:-0})) $((32 + $2)) $((32 + $1)))
	# A button is let go again, the wheel is not.
	# shellcheck disable=SC2046
	[ "${3:-0}" -ge 64 ] || tm send-keys -t top -H $(printf '1b 5b 4d 23 %x %x' $((32 + $2)) $((32 + $1)))
}

# clicks NAME TEXT ROW COLUMN [BUTTON] - the screen shows it then. A terminal that is so slow that a report comes in
# pieces is no fault of the screen: it is tried again.
clicks() {
	name=$1 text=$2
	shift 2
	for try in 1 2 3; do
		press "$@"
		if wait_for "$text"; then
			pass "$name"
			return
		fi
	done
	fail "$name" "after $try times" "there is no \"$text\" on:" "$(seen)"
}

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
	until_true "$IBWIRE" status --db fabric.db
}

stop_collector() {
	kill "$collector"
	wait "$collector"
	collector=""
}

# A server with no session ends; this one keeps it.
tm new-session -d -s keep "exec sleep 1000" || skip_all "tmux does not start here"
collect 6 600
top="$IBWIRE top --db fabric.db"

# Keys and the mouse, as a terminal sends them.
start 80x24 "$top"
shows "the data is live" "LIVE"
contains "the share of responses, and the subnet manager" "$(line 1)" "responded 379/381  SM node0001 ok"
contains "what there is" "$(line 2)" "128 hosts, 20 switches  links 192:  1 down  injection 25.6 Tb/s  1 port silent"
shows "the overview comes first" "PROBLEMS 0"
shows "the cursor is on the first group" ">compute out"
shows "Down moves it" ">compute in" Down
shows "End to the last" ">spine down" End
shows "Up back" ">leaf up" Up
shows "2 is the links" "193 of 193 links" 2
before=$(line 5 | cut -c1-27)
hides "PgDn goes on" "$before" NPage NPage NPage
shows "Home back" "$before" Home
shows "letters are a filter once / was pressed" "1 of 193 links" / n o d e 0 0 3 7
shows "Esc ends it" "193 of 193 links" Escape
shows "F6 is a menu" "SORT BY" F6
hides "Esc leaves that" "SORT BY" Escape
shows "Shift-Right moves the sort column, and ) as well" "TX%  RXb/s LOAD" S-Right ")" ")"
shows "Shift-Left moves it back" "LOAD%  TXb/s" S-Left S-Left S-Left
shows "Enter shows more of a row" "> node0" Home Enter
shows "Esc goes back" "193 of 193 links" Escape
shows "Tab goes on to balance" "spine" Tab
shows "Shift-Tab back" "193 of 193 links" BTab
shows "4 is the front panel" "45     47     49" 4
shows "5 the events" "EVENT" 5
shows "6 the snapshots" "n takes one" 6
shows "F1 is help" "KEYS OF THIS SCREEN" F1
hides "q leaves help, not the program" "KEYS OF THIS SCREEN" q
shows "it is still there" "n takes one"
clicks "the mouse chooses a tab" "193 of 193 links" 3 14
clicks "another tab" "PROBLEMS 0" 3 1
clicks "the mouse moves the cursor to a row" ">leaf up" 10 4
clicks "its wheel goes on" ">spine down" 10 4 65
keys C-l
shows "^L draws it again" ">spine down"
shows "Space holds the picture" "PAUSED at" Space
hides "and lets it go" "PAUSED" Space
keys q
restored "q" 0

# Saved choices are restored.
live 80x24 "$top"
shows "Balance has a list of groups" "GROUP  " 3 g
keys q
wait_for "modes "
kept=yes
live 80x24 "$top"
shows "the next start has it too" "GROUP  " 3
kept=""
keys q
restored "q with something to keep" 0

# One running screen in all sizes: on each tab the first line, the last line and the tab stand where they should.
live 120x40 "$top"
for size in 40x10 80x24 200x60 300x100 41x11 133x20; do
	tm resize-window -t top -x "${size%x*}" -y "${size#*x}"
	wrong=""
	for tab in Overview Links Balance Ports Events Snapshots; do
		case $tab in Overview) keys 1 ;; Links) keys 2 ;; Balance) keys 3 ;; Ports) keys 4 ;; Events) keys 5 ;; Snapshots) keys 6 ;; esac
		# Below 16 rows there is no line of tabs.
		whole() {
			shot=$(seen)
			[ "$(printf '%s\n' "$shot" | wc -l)" = "${size#*x}" ] && printf '%s\n' "$shot" | head -1 | grep -q 'LIVE' &&
				printf '%s\n' "$shot" | tail -1 | grep -q '[a-z]'
		}
		until_true whole || wrong="$wrong $tab: $(seen)"
	done
	equal "$size: every screen is whole" "$wrong" ""
done
tm resize-window -t top -x 39 -y 10
shows "below 40x10 a message shows the required size" "too small"
tm resize-window -t top -x 80 -y 24
shows "and comes back" "n takes one"
keys q
restored "q after that" 0
stop_collector

# The collector's sweeps as they come, and what happens to it and to its database.
collect 6 1
live 80x24 "$top"
# Not where it is late just now.
live_time() { first=$(line 1 | grep -o 'LIVE [0-9:]*'); }
until_true live_time || fail "a time is shown" "$(seen)"
hides "time goes on with the sweeps" "$first"
shows "a sweep back is history" "HISTORY -" "<"
shows "L is live again" "LIVE" L
stop_collector
shows "the end of the collector is shown" "NOT LIVE"
shows "and what to do" "no collector is running"
dimmed() { tm capture-pane -p -e -t top | sed -n 2p | grep -q "38;5;245m"; }
if until_true dimmed; then
	pass "what it left is dimmed"
else
	fail "what it left is dimmed" "$(tm capture-pane -p -e -t top)"
fi
contains "the numbers stay" "$(seen)" "compute out"
rm -f fabric.db*
shows "the removal of the database is shown" "the database was removed: fabric.db"
contains "the numbers stay then too" "$(seen)" "compute out"
collect 2 1
shows "another one in its place is taken up" "LIVE"
hides "and all is well" "gone"
stop_collector
rm -f fabric.db*
printf 'this is no database' >fabric.db
shows "a foreign file in its place is an error" "fabric.db"
contains "and the numbers stay" "$(seen)" "compute out"
keys q
restored "q after all that" 0
collect 6 600

# Signals, and a stop by the shell.
for signal in TERM HUP INT; do
	live 80x24 "$top"
	kill -$signal "$(cat top.pid)"
	restored "SIG$signal" 0
done
live 80x24 "$top"
keys C-c
restored "^C" 0
# A sanitizer has a handler of its own for this one.
crash=SEGV status=139
case ${ASAN_OPTIONS#:} in detect_leaks=0) ;; *) crash=ABRT status=134 ;; esac
live 80x24 "$top"
kill -$crash "$(cat top.pid)"
restored "a crash" $status
tm kill-session -t top
tm new-session -d -s top -x 80 -y 24 "PS1='ready> ' LC_ALL=C.UTF-8 TERM=screen-256color sh -i"
shows "a shell" "ready>"
shows "the screen in it" "LIVE" "$top" Enter
hides "^Z gives the terminal back" "PROBLEMS" C-z
shows "to the shell" "ready>"
shows "which has its echo" "echo  works" "echo  works" Enter
shows "fg takes it over again" "PROBLEMS" "fg" Enter
shows "and keys work" "193 of 193 links" 2
hides "q" "193 of 193" q
shows "leaves it" "ready>"
tm kill-session -t top

# Terminals: colours and characters.
# coloured - with the number of lines that have a colour
coloured() { tm capture-pane -p -e -t top | grep -c "$(printf '\033')\[[0-9;]*\(38;5\|3[0-7]\|9[0-7]\)[;m]"; }
# colors NAME YES|NO COMMAND...
colors() {
	name=$1 wanted=$2
	shift 2
	live 80x24 "$@"
	wait_for "PROBLEMS" || fail "$name: it is drawn" "$(seen)"
	if [ "$(coloured)" -gt 0 ]; then got=yes; else got=no; fi
	equal "$name" "$got" "$wanted"
}
colors "256 colours" yes "$top"
colors "none with NO_COLOR" no "NO_COLOR=1 $top"
colors "none with --color never" no "$top --color never"
colors "--color always wins over NO_COLOR" yes "NO_COLOR=1 $top --color always"
term=xterm-256color colors "another type with 256 colours" yes "$top"
term=xterm colors "8 colours" yes "$top"
term=linux colors "8 colours without a mouse" yes "$top"
term=vt100 colors "a terminal without colours has none" no "$top"
locale=C live 80x24 "$top"
for tab in 1 2 3 4 5 6; do
	keys $tab
	sleep 0.2
	text=$(seen)
	if printf '%s' "$text" | LC_ALL=C grep -q '[^ -~]'; then
		fail "only ASCII where the locale is not UTF-8: screen $tab" "$text"
	else
		pass "only ASCII where the locale is not UTF-8: screen $tab"
	fi
done
keys q
term=dumb start 80x24 "$top"
wait_for "exit" || true
contains "a terminal without cursor movement is an error" "$(seen)" "has no cursor movement"
contains "with status 64" "$(seen)" "exit 64"
term=nonsense-9 start 80x24 "$top"
wait_for "exit" || true
contains "an unknown terminal type, too" "$(seen)" "unknown terminal type"
output=$("$IBWIRE" top --db fabric.db 2>&1 </dev/null)
equal "no terminal: status 64" "$?" 64
contains "and what to use instead" "$output" "ibwire ports"

# A time that was.
start 100x24 "$top --at now"
shows "--at: the screen shows HISTORY" "HISTORY -"
shows "with what there was then" "128 hosts, 20 switches"
keys q
restored "history is left" 0
start 100x24 "$top --at 2001-01-01"
wait_for "exit 69" || true
contains "a time before all that is stored is one line" "$(seen)" "the oldest is of"
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
shows "with old data the screen stays, and tells why it gets no newer" "the collector ended: there is no InfiniBand device 'nonsense_0'"
shows "as old as it is" "NOT LIVE"
keys q
restored "q then" 0
start 80x24 "$top"
wait_for "NOT LIVE" || fail "it starts" "$(seen)"
tm kill-session -t top
if until_true ended; then
	pass "it ends with its terminal"
else
	fail "it ends with its terminal" "$(cat top.pid)"
fi

done_testing
