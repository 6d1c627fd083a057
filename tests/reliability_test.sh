#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# tests/reliability.sh replaces the rows of the parts that ran and keeps the others.
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"

# A folder that nothing else uses: this overwrites files with the names of the source tree.
mkdir tree && cd tree || exit 1
mkdir -p tests/integration docs build
cp "$IBWIRE_SRCDIR/tests/reliability.sh" "$IBWIRE_SRCDIR/tests/run-tests" tests
printf 'all script-programs:\n' >build/Makefile
# shellcheck disable=SC2016 # variables of that script
printf '#!/bin/sh\nprintf "1..1\\nok 1 - it\\n$LINES"\nexit $STATUS\n' >tests/integration/stop_test.py
chmod +x tests/integration/stop_test.py
cat >tests/reliability.parts <<'END'
# a comment
one     release tests/integration/stop_test.py STATUS=0 LINES=RELIABILITY\tcrashes\t2000_calls\tnone\t0\n
pair-1  release tests/integration/stop_test.py STATUS=0 LINES=RELIABILITY\tpairs\t1_points\tall\t0\n
pair-2  release tests/integration/stop_test.py STATUS=0 LINES=RELIABILITY\tpairs\t2_points\tall\t0\n
new     release tests/integration/stop_test.py STATUS=0 | A new part | Everything
bad     release tests/integration/stop_test.py STATUS=1
END
cat >docs/reliability.md <<'END'
before
<!-- make reliability: begin -->
| one | Old crashes | 1 call | - | 0 |
| pair | Old pairs | 5 points | - | 0 |
| bad | Old | 1 call | - | 0 |
| removed | Old part | 1 call | - | 0 |
| one | `program` | 2026-01-01 | 123 | 1,000 s |
| pair-1 | `program` | 2026-01-01 | 123 | 20 s |
| pair-2 | `program` | 2026-01-01 | 123 | 30 s |
| bad | `program` | 2026-01-01 | 123 | 40 s |
| all | | | | 1,090 s |
<!-- make reliability: end -->
| one | after |
END

# rows PART... - run them; the page without dates and commits, spaces as underscores
rows() {
	env -u MAKEFLAGS tests/reliability.sh build "$@" >log 2>&1
	echo $? >status
	sed -e 's/ | 20.*/ |/' -e 's/1,09[01] s/1,090 s/' docs/reliability.md
}
header='| part | faults | cases | what was checked | result |
|---|---|---|---|---|'
runs='| part | program | date (UTC) | commit | CPU time |
|---|---|---|---|---|'
fake="\`tests/integration/stop_test.py STATUS="

equal "rows of other parts remain" "$(rows new)" "before
<!-- make reliability: begin -->

$header
| one | Old crashes | 1 call | - | 0 |
| pair | Old pairs | 5 points | - | 0 |
| new | A new part | 1 tests | Everything | 0 failures |
| bad | Old | 1 call | - | 0 |

$runs
| one | \`program\` |
| pair-1 | \`program\` |
| pair-2 | \`program\` |
| new | ${fake}0\` |
| bad | \`program\` |
| all | | | | 1,090 s |

<!-- make reliability: end -->
| one | after |"
page=$(rows one pair-1)
contains "the row of a part that ran is replaced" "$page" '| one | Crashes | 2,000_calls | None | 0 |'
equal "a part has one row" "$(echo "$page" | grep -c '^| one | [^\`a]')" 1
contains "rows of a group remain until all of its parts ran" "$page" '| pair | Old pairs | 5 points | - | 0 |'
contains "the same of their programs" "$page" "| pair-1 | \`program\` |"
page=$(rows pair-2)
contains "the numbers of a group are sums" "$page" '| pair | Pairs | 3_points | All | 0 |'
contains "the programs of a group are replaced" "$page" "| pair-1 | ${fake}0"
rm -r build/reliability
equal "results of an earlier run are not required" "$(rows nothing)" "$page"
page=$(rows bad)
equal "a failed part is reported" "$(cat status)" 1
contains "a failed part replaces the row of its success" "$page" '| bad | Bad | - | Tests/integration/stop_test.py STATUS=1 | FAILED |'
done_testing
