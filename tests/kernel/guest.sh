#!/bin/busybox sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=dash disable=SC2317
# The tests that run in the emulated machine, as its init; its output is TAP on the second serial line.
/bin/busybox mkdir -p /sbin /usr/bin /usr/sbin
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o mode=1777 tmp /tmp
stty -F /dev/ttyS1 -opost
exec </dev/null >/dev/ttyS1 2>&1
trap 'poweroff -f' EXIT
export PATH=/bin HOME=/tmp IBSIM_SOCKNAME=fabric OSM_TMP_DIR=/tmp OSM_CACHE_DIR=/tmp
cd /tmp || exit
# shellcheck source=tests/lib.sh
. /lib.sh

one=H-0c42a10300001000 # mgmt0001, where opensm runs
two=H-0c42a10300002000 # mgmt0002

# wait_for SECONDS COMMAND... - until the command succeeds
wait_for() {
	tries=$(($1 * 5))
	shift
	while ! "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.2
	done
}

# plug NAME NODE [PKEYS] - connect a device; it fails with the messages of the bridge
plug() {
	rm -f "$1.ready"
	bridge "$@" >"$1.ready" 2>"$1.errors" &
	echo $! >"$1.pid"
	wait_for 60 grep -q ready "$1.ready" || { cat "$1.errors" && return 1; }
}

# unplug NAME - remove a device
unplug() {
	kill "$(cat "$1.pid")" && wait_for 60 is_absent "/sys/class/infiniband/$1"
}

# in_state NAME STATE - whether port 1 of a device is ACTIVE, DOWN, ...
in_state() {
	grep -q "$2" "/sys/class/infiniband/$1/ports/1/state"
}

is_absent() {
	[ ! -e "$1" ]
}

# value NAME - the number in a line of the summary of "ibwire collect", from stdin
value() {
	sed -n "s/^$1  *//p"
}

# all_respond NAME OPTION... - one sweep; every port that is polled responds
all_respond() {
	name=$1
	shift
	if ibwire collect --once "$@" >summary 2>errors; then
		equal "$name" "$(value 'ports responding' <summary)" "$(value 'ports polled' <summary)"
	else
		fail "$name" "$(cat errors)"
	fi
}

# one_line NAME STATUS WORDS COMMAND... - it fails with the status and one line that contains the words
one_line() {
	name=$1 wanted=$2 words=$3
	shift 3
	"$@" >output 2>&1
	equal "$name: exit status" $? "$wanted"
	equal "$name: one line" "$(head -c 1000 output | tail -n +2)" ""
	contains "$name: the reason" "$(head -n 1 output)" "$words"
}

# waits_again FILE - whether a log has the second removal of a device
waits_again() {
	[ "$(grep -c 'was removed' "$1")" = 2 ]
}

# events FILE CONDITION - the kinds of stored events, in order
events() {
	ibwire sql --db "$1" --format csv "SELECT kind FROM event WHERE $2 ORDER BY id" | tr -d '\r' | tail -n +2 |
		tr '\n' ' ' | sed 's/ $//'
}

# has_event FILE CONDITION
has_event() {
	[ -n "$(events "$1" "$2")" ]
}

# collect DB OPTION... - start a collector, and wait for two sweeps; its process id is in $collector
collect() {
	db=$1
	shift
	# The time limit is only for the case that it does not end.
	timeout 300 ibwire collect --interval 1 --db "$db" "$@" >"$db.out" 2>"$db.err" &
	collector=$!
	wait_for 60 has_sweeps "$db" 2
}

# end PID - end a process that this shell has started
end() {
	kill "$1" && wait "$1"
}

# start_opensm NAME OPTION... - its process id is in $opensm, its log in NAME.log
start_opensm() {
	name=$1
	shift
	mkdir -p "$name.cache"
	printf 'sminfo_polling_timeout 1000\npolling_retry_number 2\n' >"$name.conf"
	OSM_CACHE_DIR=$name.cache opensm -F "$name.conf" -f "$name.log" "$@" >"$name.out" 2>&1 &
	opensm=$!
}

# count_sweeps FILE [CONDITION]
count_sweeps() {
	ibwire sql --db "$1" --format csv "SELECT count(*) FROM sweep WHERE ${2:-1}" | tr -d '\r' | tail -n 1
}

# has_sweeps FILE N [CONDITION] - whether a database has at least N such sweeps
has_sweeps() {
	[ "$(count_sweeps "$1" "${3:-1}")" -ge "$2" ]
}

# ibsim blocks on clients whose sockets are full, and ends at the end of its input.
echo 4096 >/proc/sys/net/unix/max_dgram_qlen
mkfifo console
ibsim -s /fabric.net <console >ibsim.log 2>&1 &
exec 3>console
wait_for 60 grep -q ready ibsim.log

# --- the module, the port, opensm ---

one_line "without ib_core" 69 "no InfiniBand device" ibwire collect --once --db none.db
for module in ib_core ib_umad softhca; do
	succeeds "$module is loaded" insmod "/modules/$module.ko"
done
succeeds "a device is plugged in" plug ibsw0 $one
contains "ibstat shows its identity" "$(ibstat ibsw0)" "Node GUID: 0x${one#H-}"
contains "ibstat shows its link layer" "$(ibstat ibsw0)" "Link layer: InfiniBand"
one_line "before the subnet manager" 69 "no port is Active (ibsw0 port 1 is Init" ibwire collect --once --db none.db
start_opensm opensm
succeeds "opensm activates the port" wait_for 60 in_state ibsw0 ACTIVE
succeeds "opensm is master" wait_for 60 grep -q "MASTER state" opensm.log
contains "sminfo finds it" "$(sminfo 2>&1)" SMINFO_MASTER
contains "perfquery reads a counter" "$(perfquery 2>&1)" "PortXmitPkts:"

# --- ibwire, compared with perfquery ---

# The linked ports of each switch, "GUID PORT,PORT..."
awk '/^$/ { guid = "" } $1 == "Switch" { split($3, id, /[-"]/); guid = id[3] }
	guid && /^\[/ { ports[guid] = ports[guid] (ports[guid] ? "," : "") substr($1, 2, index($1, "]") - 2) }
	END { for (guid in ports) print guid, ports[guid] }' /fabric.net >switches
# Each port has its own values.
awk '{ count = split($2, ports, ","); for (i = 1; i <= count; i++) { number++
	split("SymbolErrorCounter=" number * 11 " LinkDownedCounter=" number " PortXmitDiscards=" number * 100, sets, " ")
	for (set in sets) printf "PerformanceSet \"S-%s\"[%s] PortCounters.%s\n", $1, ports[i], sets[set] } }' switches >&3
all_respond "every port responds" --db fabric.db
# Later sweeps also send attributes that ibsim does not implement, and loses.
equal "no MAD timed out" "$(value 'MADs timed out' <summary)" 0
# The LID is in the first line of a switch, "port 0".
ibwire discover | awk '$1 == "node" { guid = $2 } $1 == "port" && $2 == "0" { print guid, $4 }' >lids
# read_counters - "GUID PORT" of each linked switch port, three error counters, sent and received data, by perfquery
read_counters() {
	while read -r guid ports; do
		perfquery "$(sed -n "s/^$guid //p" lids)" "$ports" 2>&1 | tr -d '.' | awk -F: -v guid="$guid" '{ value[$1] = $2 }
			$1 == "PortRcvPkts" { print guid, value["PortSelect"], value["SymbolErrorCounter"],
				value["LinkDownedCounter"], value["PortXmitDiscards"], value["PortXmitData"], value["PortRcvData"] }'
	done <switches | sort
}
# columns NAME... - these columns of a table in CSV
columns() {
	tr -d '\r' | awk -F, -v names="$*" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i
			count = split(names, name, " "); next }
		{ for (i = 1; i <= count; i++) printf "%s%s", $at[name[i]], i < count ? " " : "\n" }'
}
# stored_errors DB - the same ports and error counters, as stored
stored_errors() {
	ibwire ports --db "$1" --format csv | columns node_guid port counters.symbol_errors counters.link_downed \
		counters.xmit_discards | sed 's/^0x//' | sort |
		awk 'NR == FNR { known[$1 " " $2]; next } ($1 " " $2) in known' theirs -
}
read_counters >theirs
equal "perfquery reads each port" "$(wc -l <theirs)" "$(tr ',' '\n' <switches | wc -l)"
equal "error counters agree with perfquery" "$(stored_errors fabric.db)" "$(cut -d ' ' -f 1-5 theirs)"
succeeds "they are those that were set" grep -qE " 55 5 500( |$)" theirs
contains "the subnet manager is found" "$(ibwire status --db fabric.db)" "LID 1, master"

# --- a hostile wire: duplicated, foreign, late and truncated responses, redirection loops, garbage ---

ibwire collect --once --db hostile.db >summary 2>&1
equal "a sweep is stored before" $? 0
read_counters >begin
export HOSTILE=1
succeeds "a device with a hostile wire is plugged in" plug ibsw1 $two
unset HOSTILE
succeeds "its port is Active" wait_for 60 in_state ibsw1 ACTIVE
ibwire collect --interval 1 --count 60 --Ca ibsw1 --db hostile.db >summary 2>errors
equal "60 sweeps are stored" $? 0
succeeds "it is removed" unplug ibsw1
sed -n 's/^[0-9]/# hostile &/p' ibsw1.ready
equal "hostile MADs of each kind were sent" "$(grep -c '^[1-9]' ibsw1.ready)/$(grep -c '^[0-9]' ibsw1.ready)" 7/7
read_counters >end
all_respond "every port responds afterwards" --db hostile.db
# row STATEMENT - its only row
row() {
	ibwire sql --db hostile.db --format csv "$1" | tr -d '\r' | tail -n +2
}
note "ports polled, responding, MADs timed out: $(row "SELECT sum(ports_polled), sum(ports_answered),
	sum(mads_timed_out) FROM sweep")"
equal "at least 95 % of the ports are read" "$(row "SELECT sum(ports_answered) * 100 >= sum(ports_polled) * 95
	FROM sweep")" 1
equal "no counter was reset, no node was removed" \
	"$(events hostile.db "kind IN ('counters-cleared', 'node-removed')")" ""
# One that the last sweep of the run did not read responds in the sweep after it, which is of another collector.
equal "each node that did not respond responds again" "$(row "SELECT node_guid FROM event e GROUP BY 1
	HAVING sum(kind = 'node-silent') - sum(kind = 'node-answers') NOT IN (0, EXISTS (SELECT 1 FROM gaps g
	WHERE g.node_guid = printf('0x%016x', e.node_guid) AND g.to_sweep = (SELECT max(id) FROM sweep)))")" ""
# Ports of agents that redirect in a loop are not read.
equal "no finding but coverage" "$(row "SELECT kind, subject, text FROM findings
	WHERE severity <> 'info' AND kind <> 'coverage'")" ""
equal "error counters are those that were set" "$(stored_errors hostile.db)" "$(cut -d ' ' -f 1-5 theirs)"
read_counters >after
# Words sent and received: at least the growth between the first and the last sweep, at most that around them.
ibwire sql --db hostile.db --format csv "SELECT substr(node_guid, 3), port, sum(xmit_bytes) / 4, sum(rcv_bytes) / 4
	FROM traffic GROUP BY 1, 2" | tr -d '\r' | tr ',' ' ' >stored
equal "traffic agrees with perfquery" "$(awk '
	FILENAME == "stored" { xmit[$1 " " $2] = $3; rcv[$1 " " $2] = $4; next }
	{ port = $1 " " $2; x[FILENAME, port] = $6; r[FILENAME, port] = $7 }
	FILENAME == "after" && (xmit[port] < x["end", port] - x["begin", port] || xmit[port] > $6 - x["theirs", port] ||
		rcv[port] < r["end", port] - r["begin", port] || rcv[port] > $7 - r["theirs", port]) {
		print port ":", xmit[port], x["end", port] - x["begin", port], $6 - x["theirs", port],
			rcv[port], r["end", port] - r["begin", port], $7 - r["theirs", port] }' stored theirs begin end after)" ""

# --- users and other programs ---

one_line "a user without permissions" 69 "no permission to open the umad device of ibsw0 port 1" \
	su -s /bin/sh nobody -c 'exec ibwire collect --once --db /tmp/nobody.db'
ibwire collect --interval 1 --db first.db >first.out 2>&1 &
first=$!
succeeds "a collector runs" wait_for 60 has_sweeps first.db 2
one_line "a second collector on the same database" 69 "first.db" ibwire collect --once --db first.db
all_respond "a second collector on another database" --db second.db
complete=$(count_sweeps first.db 'ports_polled = ports_answered')
succeeds "the first collector continues beside it" wait_for 60 has_sweeps first.db $((complete + 2)) \
	'ports_polled = ports_answered'
end $first
equal "it stops" $? 0

# --- P_Keys: the fabric drops MADs of other partitions than the default one ---

succeeds "a second device is plugged in" plug ibsw1 $two 8001,8002,8003,0,0,ffff
succeeds "its port is Active" wait_for 60 in_state ibsw1 ACTIVE
one_line "its second port has no link" 69 "no port is Active (ibsw1 port 2 is Down)" \
	ibwire collect --once --Ca ibsw1 --Port 2 --db none.db
all_respond "the default P_Key at index 5 is used" --Ca ibsw1 --db keys.db
ibwire collect --once --Ca ibsw1 --pkey 0x8001 --timeout 50 --retries 0 --db keys1.db >summary 2>&1
equal "with the P_Key of index 0 no port responds" "$(value 'ports responding' <summary)" 0
one_line "a P_Key that is not in the table" 69 "not a member of partition 0x8004" \
	ibwire collect --once --Ca ibsw1 --pkey 0x8004 --db none.db

# --- port events ---

echo "Unlink \"$two\"" >&3
succeeds "the link goes down" wait_for 60 in_state ibsw1 DOWN
one_line "both ports are down" 69 "no port is Active (ibsw1 port 1 is Down)" \
	ibwire collect --once --Ca ibsw1 --db none.db
echo "ReLink \"$two\"" >&3
succeeds "the link returns" wait_for 60 in_state ibsw1 ACTIVE

# --- hot unplug ---

collect unplug.db --Ca ibsw1
equal "a collector runs on the second device" $? 0
succeeds "the device is removed under it" unplug ibsw1
succeeds "the collector waits for it" wait_for 60 grep -q "was removed.*waiting for ibsw1 port 1" unplug.db.err
contains "status shows that it waits" "$(ibwire status --db unplug.db)" ": ibsw1 port 1 of this host was removed; the newest"
sweeps=$(count_sweeps unplug.db)
succeeds "the device returns" plug ibsw1 $two
succeeds "its port is Active again" wait_for 60 in_state ibsw1 ACTIVE
succeeds "the collector continues" wait_for 60 has_sweeps unplug.db $((sweeps + 2))
contains "status shows that it is live" "$(ibwire status --db unplug.db)" "live: the newest sweep"
succeeds "the device is removed again" unplug ibsw1
succeeds "the collector waits again" wait_for 60 waits_again unplug.db.err
end $collector
equal "it ends on a signal meanwhile" $? 0
equal "events record it" "$(events unplug.db "kind LIKE 'device-%'")" "device-removed device-returned device-removed"
succeeds "the device is there for single runs" plug ibsw1 $two
all_respond "a single run continues the database" --Ca ibsw1 --db unplug.db

# --- subnet managers ---

# Kinds of events that report a change of the fabric.
changes="kind IN ('node-silent', 'fabric-silent', 'hcas-silent', 'node-removed', 'node-lid-changed', 'link-down', 'link-state')"
collect sm.db --Ca ibsw1
equal "a collector runs" $? 0
end $opensm
equal "opensm ends" $? 0
succeeds "an event reports it" wait_for 60 has_event sm.db "kind = 'sm-lost'"
contains "status shows it" "$(ibwire status --db sm.db)" "does not respond"
start_opensm opensm
first=$opensm
succeeds "an event reports that it is back" wait_for 60 has_event sm.db "kind = 'sm-answers'"
start_opensm opensm2 -g 0x0c42a10300002001
succeeds "a second one is standby" wait_for 60 grep -q "STANDBY state" opensm2.log
sweeps=$(count_sweeps sm.db)
succeeds "the collector continues" wait_for 60 has_sweeps sm.db $((sweeps + 2)) 'ports_polled = ports_answered'
end $first
equal "the first one ends" $? 0
succeeds "the second one is master" wait_for 60 grep -q "MASTER state" opensm2.log
succeeds "an event reports the handover" wait_for 60 has_event sm.db "kind = 'sm-changed'"
contains "status shows the new master" "$(ibwire status --db sm.db)" "mgmt0002 mlx5_0, port GUID"
end $collector
equal "the collector ends" $? 0
equal "no event reports a change of the fabric" "$(events sm.db "$changes")" ""

# --- ib_umad ---

collect umad.db --Ca ibsw1
equal "a collector runs" $? 0
end $opensm
equal "opensm ends" $? 0
one_line "ib_umad cannot be unloaded under a collector" 1 "Resource temporarily unavailable" rmmod ib_umad
succeeds "the device is removed" unplug ibsw1
succeeds "the collector waits for it" wait_for 60 grep -q "waiting for ibsw1 port 1" umad.db.err
succeeds "ib_umad is unloaded" rmmod ib_umad
one_line "without ib_umad" 69 "modprobe ib_umad" ibwire collect --once --db none.db
contains "the collector still waits" "$(ibwire status --db umad.db)" "waiting since"
succeeds "ib_umad is loaded again" insmod /modules/ib_umad.ko
succeeds "the device returns" plug ibsw1 $two
sweeps=$(count_sweeps umad.db)
succeeds "the collector continues" wait_for 60 has_sweeps umad.db $((sweeps + 2))
end $collector
equal "the collector ends" $? 0
for device in ibsw0 ibsw1; do
	succeeds "$device is removed" unplug $device
done
succeeds "ib_umad is unloaded" rmmod ib_umad
succeeds "softhca is unloaded" rmmod softhca
done_testing
