#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The table of commands, their --help and the man pages say the same.

. "${IBWIRE_SRCDIR:?}/tests/lib.sh"
man=$IBWIRE_SRCDIR/man

# The commands that 'ibwire help' lists.
commands() {
	"$IBWIRE" help | sed -n 's/^  \([a-z][a-z-]*\)  *[^ ].*/\1/p'
}

# Long options of a --help text on standard input.
help_options() {
	sed -n 's/^  ... --\([A-Za-z][A-Za-z-]*\).*/\1/p' | sort
}

# Long options of a man page: '.It Fl s , -sort Ar key'.
page_options() {
	sed -n 's/^\.It Fl //p' "$1" | tr ' ' '\n' | sed -n 's/^-\([A-Za-z].*\)/\1/p' | sort
}

listed=$(commands | sort)
equal "help lists the commands that are there" "$(echo "$listed" | grep -c .)" "$("$IBWIRE" help | grep -c '^  [a-z]')"

for command in $listed; do
	if ! text=$("$IBWIRE" "$command" --help 2>&1); then
		fail "$command --help is no error" "$text"
		continue
	fi
	equal "$command --help shows its usage" "$(echo "$text" | sed -n '1s/ \[options\].*//p')" "usage: ibwire $command"
	equal "help $command is the same" "$("$IBWIRE" help "$command" 2>&1)" "$text"
	[ "$command" = help ] && continue
	page=$man/ibwire-$command.1
	if [ ! -f "$page" ]; then
		fail "$command has a man page" "$page is missing"
		continue
	fi
	equal "$command: --help and the man page have the same options" "$(page_options "$page")" \
		"$(echo "$text" | help_options)"
done

# ibwire-sim is a program of its own.
pages=$(cd "$man" && for page in ibwire-*.1; do
	page=${page#ibwire-}
	[ "$page" = sim.1 ] || echo "${page%.1}"
done | sort)
equal "every man page has a command" "$pages" "$(echo "$listed" | grep -vx help)"
equal "ibwire(1) has every command" "$(sed -n 's/^\.It Cm \([a-z-]*\)$/\1/p' "$man/ibwire.1" | grep -vxE 'table|json|csv' | sort)" \
	"$listed"

if command -v mandoc >/dev/null; then
	for page in "$man"/*.1; do
		# Style is a matter of taste, and of what is installed here; what renders wrongly is not.
		faults=$(mandoc -Tlint -W warning "$page" 2>&1 | grep -v 'outdated mandoc.db')
		equal "mandoc finds no fault in ${page##*/}" "$faults" ""
	done
else
	skip "mandoc finds no fault in the man pages" "mandoc is not installed"
fi

done_testing
