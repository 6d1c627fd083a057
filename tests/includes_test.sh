#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# Includes point one way only (docs/architecture.md). The rules are this table:
# for each folder, or single file, the folders or headers that it may include; then
# the system headers that belong to one folder alone. The test proves on planted
# files that each rule can fail.
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

rules='
base      base/
fabric    base/ fabric/
wire      base/ fabric/ wire/
analysis  base/ fabric/ analysis/
collector base/ fabric/ wire/ analysis/ collector/
storage   base/ fabric/ analysis/ collector/sink.h storage/
export    base/ fabric/ analysis/ storage/reader.h export/
facts     base/ fabric/ analysis/ collector/events.h storage/reader.h storage/cables.h storage/findings.h storage/history.h storage/jobs.h storage/saved.h export/result.h facts/
pages     base/ fabric/ analysis/ collector/events.h storage/reader.h storage/cables.h storage/findings.h storage/history.h storage/jobs.h storage/saved.h export/columns.h export/page.h export/result.h facts/ pages/
tui       base/ fabric/ analysis/ storage/reader.h storage/cables.h storage/findings.h storage/history.h storage/jobs.h storage/saved.h export/columns.h export/page.h export/result.h facts/ pages/ tui/
local     base/ fabric/ local/
cli       base/ fabric/ wire/ analysis/ collector/ storage/ export/ facts/ pages/ local/ cli/
cli/top.c tui/tui.h
tui/model/test_sample.h collector/sink.h
sim       base/ fabric/ sim/
'
# pattern of a system header, and the files that may include it
owners='
infiniband/ wire
rdma/       wire
sqlite3     storage
curses      tui
ncurses     tui
term.h      tui
'

# check_tree DIR - one line for each include that points the wrong way
check_tree() {
	(cd "$1" && find . -name '*.[ch]' ! -path './build*' ! -path './tests/*' ! -path './.git/*') | sed 's|^\./||' | sort |
	while read -r file; do
		awk -v file="$file" -v rules="$rules" -v owners="$owners" '
		function starts(text, with) { return substr(text, 1, length(with)) == with }
		BEGIN {
			folder = file; sub(/\/.*/, "", folder)
			n = split(rules, lines, "\n")
			for (i = 1; i <= n; i++) {
				words = split(lines[i], word, " ")
				if (!words || (word[1] != folder && word[1] != file)) continue
				known = 1
				for (k = 2; k <= words; k++) allowed[word[k]] = 1
			}
			n = split(owners, owner, "\n")
			if (!known) print file ": the folder \"" folder "\" has no rule in tests/includes_test.sh"
		}
		/^[ \t]*#[ \t]*include/ {
			what = $0; sub(/^[ \t]*#[ \t]*include[ \t]*/, "", what)
			if (what ~ /^"/) {
				sub(/^"/, "", what); sub(/".*/, "", what)
				if (what == "config.h") next
				if (what !~ /^[a-z]+(\/[a-z0-9_]+)+\.h$/) {
					print file ":" FNR ": \"" what "\" is not of the form \"folder/file.h\""
					next
				}
				# A sub-folder is private to its folder; its test/ is open to tests.
				if (what ~ /\/.*\// && !starts(what, folder "/") &&
				    !(what ~ /\/test\/[a-z0-9_]*\.h$/ && file ~ /(_test\.c|\/test_[a-z0-9_]*\.[ch])$/)) {
					print file ":" FNR ": \"" what "\" is private to its folder"
					next
				}
				ok = 0
				for (k in allowed) if (starts(what, k)) ok = 1
				if (!ok) print file ":" FNR ": " folder "/ may not include \"" what "\""
				next
			}
			if (what !~ /^</) { print file ":" FNR ": an include that cannot be checked: " what; next }
			sub(/^</, "", what); sub(/>.*/, "", what)
			for (i = 1; i <= n; i++) {
				words = split(owner[i], word, " ")
				if (!words || !starts(what, word[1])) continue
				ok = 0
				for (k = 2; k <= words; k++) if (word[k] == folder) ok = 1
				if (!ok) print file ":" FNR ": " folder "/ may not include <" what ">"
			}
		}' "$1/$file"
	done
}

found=$(check_tree "$IBWIRE_SRCDIR")
if [ -z "$found" ]; then
	pass "every include points the right way"
else
	fail "every include points the right way" "$found"
fi

tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
trap 'exit 1' INT TERM HUP

# plant NAME FILE INCLUDE WANTED - a tree with one bad file must be refused
plant() {
	mkdir -p "$tree/$(dirname "$2")"
	printf '/* planted */\n#include %s\n' "$3" >"$tree/$2"
	contains "$1" "$(check_tree "$tree")" "$4"
	rm "$tree/$2"
}
# good NAME FILE INCLUDE - and a right one must not be
good() {
	mkdir -p "$tree/$(dirname "$2")"
	printf '#include %s\n' "$3" >"$tree/$2"
	equal "$1" "$(check_tree "$tree")" ""
	rm "$tree/$2"
}

plant "base includes nothing above it" base/bad.c '"fabric/fabric.h"' 'base/ may not include "fabric/fabric.h"'
plant "fabric does not know the wire" fabric/bad.h '"wire/engine.h"' 'fabric/ may not'
plant "analysis does no I/O" analysis/bad.c '"storage/reader.h"' 'analysis/ may not'
plant "the wire does not know analysis" wire/bad.c '"analysis/delta.h"' 'wire/ may not'
plant "of the collector, storage includes only the sink" storage/bad.c '"collector/plan.h"' 'storage/ may not'
plant "of storage, the screen includes only the reader" tui/bad.c '"storage/writer.h"' 'tui/ may not'
plant "facts do not know the options" facts/bad.c '"cli/lib/options.h"' 'is private to its folder'
plant "facts do not know curses" facts/bad.c '<ncurses.h>' 'facts/ may not'
plant "a page does not know the options" pages/bad.c '"cli/command.h"' 'pages/ may not include "cli/command.h"'
plant "a page does not know its renderings" pages/bad.c '"export/html.h"' 'pages/ may not'
plant "a renderer does not know the facts" export/bad.c '"facts/order.h"' 'export/ may not'
plant "the commands do not know the screen" cli/bad.c '"tui/tui.h"' 'cli/ may not include "tui/tui.h"'
plant "of the screen, top includes only its start" cli/top.c '"tui/config_file.h"' 'cli/ may not'
plant "test helpers are for tests" cli/bad.c '"storage/test/test_model.h"' 'is private to its folder'
plant "local does not include storage" local/bad.c '"storage/reader.h"' 'local/ may not'
plant "the simulator stands apart" sim/bad.c '"collector/sink.h"' 'sim/ may not'
plant "only wire speaks InfiniBand" collector/bad.c '<infiniband/umad.h>' 'collector/ may not'
plant "only storage speaks SQL" cli/bad.c '<sqlite3.h>' 'cli/ may not'
plant "only the screen speaks curses" cli/bad.c '<ncurses.h>' 'cli/ may not'
plant "ncursesw's own folder is seen too" export/bad.c '<ncursesw/curses.h>' 'export/ may not'
plant "spaces hide nothing" base/bad.c ' "tui/tui.h"' 'base/ may not'
plant "includes name their folder" fabric/bad.c '"fabric.h"' 'is not of the form'
plant "headers in a sub-folder are private" cli/bad.c '"fabric/shape/build.h"' 'is private to its folder'
plant "a way around by dots is seen" fabric/bad.c '"../wire/engine.h"' 'is not of the form'
plant "a macro as include is refused" fabric/bad.c 'HEADER' 'cannot be checked'
plant "a new folder needs a rule" extra/bad.c '<stdio.h>' 'has no rule'
good "top starts the screen" cli/top.c '"tui/tui.h"'
good "storage may include the sink" storage/good.c '"collector/sink.h"'
good "a folder may include its sub-folders" fabric/good.c '"fabric/shape/build.h"'
good "a sub-folder may include its folder's others" storage/write/good.c '"storage/file/db.h"'
good "tests may include test helpers" cli/good_test.c '"storage/test/test_model.h"'
good "wire may include umad" wire/good.c '<infiniband/umad.h>'
good "the C library is for everybody" base/good.c '<stdio.h>'
done_testing
