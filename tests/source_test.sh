#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Static checks of the sources.
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

cd "$IBWIRE_SRCDIR" || exit 1
# Without tests/run-tests, which gives each program a folder.
if [ -z "${TMPDIR:-}" ]; then
	TMPDIR=$(mktemp -d) && trap 'rm -rf "$TMPDIR"' EXIT
fi

# The files of the project: the files in git, or everything in an unpacked release.
files() {
	if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
		git ls-files
	else
		# Without git, what the Autotools made lies among them.
		find . -type f ! -path './.git/*' ! -path './build*' ! -path './autom4te.cache/*' ! -name aclocal.m4 \
			! -name configure ! -name '*~' ! -name config.h.in ! -name Makefile.in | sed 's|^\./||'
	fi | while read -r file; do
		[ -f "$file" ] && echo "$file"
	done
}
files >"$TMPDIR/files"
code=$(grep -E '\.[ch]$' "$TMPDIR/files")
scripts=$(while read -r file; do
	case $(head -c 20 "$file" | tr -d '\0') in
	'#!/bin/sh'* | '#!/bin/bash'*) echo "$file" ;;
	esac
done <"$TMPDIR/files")
pythons=$(grep -E '\.py$' "$TMPDIR/files")
manuals=$(grep -E '^man/.*\.[1-8]$' "$TMPDIR/files")

# none NAME LINES - passes where there are no lines
none() {
	if [ -z "$2" ]; then
		pass "$1"
	else
		fail "$1" "$2"
	fi
}

# Words are put together here, so that this file does not hold them.
left='TO''DO|FIX''ME|XX''X'
none "nothing is left for later" "$(xargs grep -nIE "(^|[^A-Za-z0-9])($left)([^A-Za-z0-9]|$)" <"$TMPDIR/files")"

licence='BSD-2-Clause OR GPL-2.0-only'
# shellcheck disable=SC2086 # a list of names without spaces
none "every source names its licence" "$(grep -L "SPDX-License-Identifier: $licence" \
	$code $scripts $pythons configure.ac 2>/dev/null | grep -v '^configure.ac$')"
# The checksum is that of https://www.gnu.org/licenses/old-licenses/gpl-2.0.txt as Debian's base-files has it.
equal "LICENSES has the text of GPL-2.0" "$(sha256sum <LICENSES/GPL-2.0-only.txt)" \
	"8177f97513213526df2cf6184d8ff986c675afb514d4e68a404010521b880643  -"
equal "LICENSES and the Debian packages have the same text of BSD-2-Clause" \
	"$(sed -n '/^License: BSD-2-Clause$/,/^$/s/^ //p' dist/debian/copyright | sed 's/^\.$//')" \
	"$(sed '1,2d' LICENSES/BSD-2-Clause.txt)"
equal "LICENSE, .reuse/dep5 and the RPM packages have the same expression" "$(
	sed -n 's/^ *SPDX-License-Identifier: //p' LICENSE
	sed -n 's/^License: *//p' .reuse/dep5 dist/rpm/ibwire.spec | sort -u)" "$licence
$licence"
if command -v reuse >/dev/null && [ -e .git ]; then
	succeeds "licences follow REUSE" reuse lint
else
	skip "licences follow REUSE" "reuse is not installed, or there is no repository"
fi
# shellcheck disable=SC2086
none "no line of code is longer than 120 columns" "$(for file in $code; do
	expand -t 8 "$file" | awk -v file="$file" 'length($0) > 120 { print file ":" NR ": " length($0) " columns" }'
done)"
# shellcheck disable=SC2086
none "no trailing space in code" "$(grep -nE '[ 	]+$' $code)"
# exit() belongs to main: a library that ends the program takes the decision from its caller.
# _exit in a forked child is something else.
# shellcheck disable=SC2086
none "only main functions end the program" "$(grep -nE '(^|[^_a-zA-Z])exit\(' $code |
	grep -vE '^(cli/main\.c|sim/main\.c|[a-z0-9_/]+_test\.c|tests/[^:]*):' | grep -vE ':[0-9]+:[ 	]*(\*|/\*)')"

# SQL of the oldest SQLite that is supported, 3.34: this machine's is newer, and accepts more.
# shellcheck disable=SC2086
none "SQL needs no newer SQLite than 3.34" "$(awk '
	FILENAME ~ /_test\.c$/ || !/"/ { next }
	FNR < 5 { last = before = "" }
	/"[^"]*(RETURNING|[^_]unixepoch\(|->>|DISTINCT FROM|(FULL|RIGHT) (OUTER )?JOIN|DROP COLUMN)/ ||
	    (/"[^"]*HAVING/ && (before last $0) !~ /GROUP BY/) { print FILENAME ":" FNR ": " $0 }
	{ before = last; last = $0 }' $code)"

# Only one file may open the device in the mode that lets Set requests pass.
# shellcheck disable=SC2086
none "only clear can open a device that writes" "$(grep -nE '(hca_open_gated|mad_is_clear|clear_open|clear_write)' $code |
	grep -vE '^(wire/clear(_mad)?\.[ch]|wire/hca\.[ch]|cli/clear\.c|wire/(clear|clear_mad|hca)_test\.c|wire/mad\.h):')"

none "every kind of event is in its manual page" "$(sed -n 's/^#define EVENT_[A-Z_]* "\(.*\)"$/\1/p' collector/events.h |
	while read -r kind; do grep -qE "^.It Li .*\b$kind\b" man/ibwire-events.1 || echo "$kind"; done)"
none "every kind of event is accepted by ibwire events" "$(sed -n 's/^#define \(EVENT_[A-Z_]*\) ".*"$/\1/p' collector/events.h |
	while read -r kind; do grep -q "\b$kind," cli/events.c || echo "$kind"; done)"

none "every test in SECURITY.md exists" "$(
	grep -oE '[a-z]+/[a-z_/]+_test(\.[a-z]+)?' SECURITY.md | sort -u | while read -r name; do
		[ -f "$name" ] || [ -f "$name.c" ] || echo "$name"
	done
	# shellcheck disable=SC2016
	awk -F '|' '{ print $4 }' SECURITY.md | grep -oE '`[a-z/_]+_test`|`[a-z0-9_]+`' | tr -d '`' | while read -r name; do
		case $name in
		*/*) file=$name.c ;;
		*) grep -qE "TEST[A-Z_]*\(${name}[,)]" "$file" || echo "$file: $name" ;;
		esac
	done)"

# .clang-format is for changed lines; the code was written without it (4.3 % of its lines, with clang-format 14).
if command -v clang-format >/dev/null; then
	# shellcheck disable=SC2086
	differ=$(clang-format --style=file $code >"$TMPDIR/formatted" && cat $code | diff - "$TMPDIR/formatted" | grep -c '^<')
	# shellcheck disable=SC2086
	lines=$(cat $code | wc -l)
	equal "clang-format would change at most 5 % of the lines" "${differ:-none of $lines} $((${differ:-$lines} * 20 <= lines))" \
		"$differ 1"
else
	skip "clang-format would change at most 5 % of the lines" "clang-format is not installed"
fi
equal ".clang-format and .editorconfig agree" "$(sed -n 's/^UseTab: Always/tab/p; s/^TabWidth: //p; s/^ColumnLimit: //p' .clang-format)" \
	"$(sed -n '/^\[{\*\.c,/,/^$/s/^\(indent_style\|tab_width\) = //p; s/^max_line_length = //p' .editorconfig)"
if command -v shellcheck >/dev/null; then
	# shellcheck disable=SC2086
	succeeds "shellcheck is content" shellcheck -x --source-path=. $scripts tests/lib.sh
else
	skip "shellcheck is content" "shellcheck is not installed"
fi
if [ -z "$manuals" ]; then
	skip "manual pages are well-formed" "there is no manual page"
elif command -v mandoc >/dev/null; then
	# shellcheck disable=SC2086
	succeeds "manual pages are well-formed" mandoc -Tlint -Wwarning $manuals
else
	skip "manual pages are well-formed" "mandoc is not installed"
fi
# A condition that fails is a skip, after which systemd never starts the service.
none "the service is started after the driver, and again until the device is there" \
	"$(grep '^Condition' "$IBWIRE_BUILD/dist/ibwire.service"
	for line in After=modprobe@ib_umad.service PartOf=openibd.service Restart=on-failure; do
		grep -q "^$line" "$IBWIRE_BUILD/dist/ibwire.service" || echo "missing: $line"
	done)"
if ! systemd-analyze security --help 2>&1 | grep -q offline; then
	skip "the exposure of the services is at most 2.0" "systemd-analyze is not installed, or older than 250"
else
	succeeds "the exposure of the services is at most 2.0" systemd-analyze --no-pager security --offline=true \
		--threshold=20 "$IBWIRE_BUILD/dist/ibwire.service" "$IBWIRE_BUILD/dist/ibwire-metrics.service" \
		"$IBWIRE_BUILD/dist/ibwire-push@.service" "$IBWIRE_BUILD/dist/ibwire-alert.service"
fi
# Programs of a build without sanitizers: position-independent, with read-only relocations, a protected stack and checked
# calls of the C library.
if ! command -v readelf >/dev/null || ! grep -q '^IBWIRE_HARDENED_LDFLAGS = -' "$IBWIRE_BUILD/Makefile"; then
	skip "programs are hardened" "no readelf, or a build without hardening"
else
	none "programs are hardened" "$(for file in ibwire ibwire-sim ibwire-sql.so; do
		all=$(readelf -hldW "$IBWIRE_BUILD/$file" && readelf -sW "$IBWIRE_BUILD/$file")
		for part in 'Type: *DYN' GNU_RELRO BIND_NOW __stack_chk_fail '_chk@'; do
			printf '%s\n' "$all" | grep -q "$part" || echo "$file: no $part"
		done
	done)"
fi
equal "README.md has at most 110 lines" "$(awk 'END { print (NR <= 110) }' README.md)" 1
version=$(sed -n 's/^AC_INIT(\[ibwire\], \[\([0-9.]*\)\].*/\1/p' configure.ac)
equal "CHANGELOG.md begins with this version, and a date" "$(dist/changelog version)" "$version"
# Packages and the tarball take the version from configure; images have tags.
none "no other version is in dist" "$(grep -rnE 'ibwire[:_ -]*\(?[0-9]+\.[0-9]+\.[0-9]+|^Version: *[0-9]' dist |
	grep -vF "ibwire:$version")"
# Reserved names (RFC 2606) are for hosts in examples and tests. The project has no address yet: only configure.ac has the
# placeholder, of which a tarball has copies in dist/debian, and only CONTRIBUTING.md states it.
equal "the only mail address is that in configure.ac" "$(xargs grep -nIEo '[A-Za-z0-9._-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+' \
	<"$TMPDIR/files" | grep -vE '\.service$|@127\.0\.0\.1$|^dist/debian/.*:ibwire@users\.invalid$' | cut -d : -f 1,3-)" "configure.ac:$(
	sed -n 's/^AC_INIT(.*\[\(.*@.*\)\])$/\1/p' configure.ac)"
none "no URL of the project is a name for examples" "$(xargs grep -nIE '//[A-Za-z0-9.-]*\.(example|invalid)([^.A-Za-z0-9]|$)' <"$TMPDIR/files")"
equal "one file states that there is no public repository" "$(xargs grep -lIi 'no public repository' <"$TMPDIR/files" |
	grep -v '^tests/source_test.sh$')" CONTRIBUTING.md
for file in CODE_OF_CONDUCT.md SECURITY.md; do
	contains "$file has the contact" "$(cat "$file")" "(CONTRIBUTING.md#contact)"
done

# Public forges run .ci/run in a container of Debian 12, and nothing else.
equal "forges run .ci/run" "$(sed -n 's/^ *- run: //p' .github/workflows/*.yml; sed -n '/^  script:$/,$s/^ *- //p' .gitlab-ci.yml)" \
	".ci/run
.ci/run"
none "forges have no other steps" "$(grep -nE '^ *(- )?(run|script|before_script|after_script|uses|services|include):' \
	.github/workflows/*.yml .gitlab-ci.yml | grep -vE 'uses: actions/checkout@v[0-9]+$|- run: \.ci/run$|  script:$')"
equal "forges use Debian 12" "$(sed -nE 's/^ *(container|image): //p' .github/workflows/*.yml .gitlab-ci.yml | sort -u)" "debian:12"
none "issue templates are the same on both forges" "$(for name in bug feature; do
	awk 'n == 2; /^---$/ { n++ }' ".github/ISSUE_TEMPLATE/$name.md" | cmp - ".gitlab/issue_templates/$name.md" 2>&1
done; cmp .github/pull_request_template.md .gitlab/merge_request_templates/default.md 2>&1)"
if [ -z "$pythons" ]; then
	skip "Python files parse" "there is none"
elif command -v python3 >/dev/null; then
	# shellcheck disable=SC2086
	succeeds "Python files parse" python3 -c '
import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name, encoding="utf-8").read(), name)' $pythons
else
	skip "Python files parse" "python3 is not installed"
fi
done_testing
