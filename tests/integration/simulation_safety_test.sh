#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#
# The simulator's subnet manager cannot manage a real fabric. A preloaded library connects it to ibsim; the loader
# ignores a library that it cannot load, and opensm would then use the host's own port. So opensm is bound to a port
# GUID that exists in the simulation only.
# shellcheck source=tests/lib.sh
. "${IBWIRE_SRCDIR:?}/tests/lib.sh"
PATH=$PATH:/usr/sbin
command -v opensm >/dev/null || skip_all "opensm is not installed"
command -v ibsim >/dev/null || skip_all "ibsim is not installed"

# An opensm that copies its configuration and executes the real one.
mkdir bin
cat >bin/opensm <<END
#!/bin/sh
[ "\$1" = -F ] && cp "\$2" "$PWD/configuration"
env | grep '^LD_PRELOAD=' >"$PWD/preload"
exec $(command -v opensm) "\$@"
END
chmod +x bin/opensm

for seat in "mgmt0001 mlx5_0" "node0002 mlx5_1"; do
	# shellcheck disable=SC2016 # for the shell in the simulation
	port=$(PATH=$PWD/bin:$PATH "$IBWIRE_SIM" run --gen 'rail --hosts 2' --sm "$seat" -- \
		sh -c 'smpquery nodedesc "$(ibstat 2>/dev/null | sed -n "s/.*SM lid: //p" | head -n 1)" 2>/dev/null')
	contains "$seat is where the simulated subnet manager sits" "$port" "$seat"
	guid=$(sed -n 's/^guid 0x0*\([1-9a-f][0-9a-f]*\)$/\1/p' configuration)
	node=$("$IBWIRE_SIM" net rail --hosts 2 | sed -n "s/^Ca.*\"H-0*\([0-9a-f]*\)\".*\"$seat\".*/\1/p")
	equal "it may use the port of $seat only" "$guid" "$(printf '%x' $((0x$node + 1)))"
	contains "it is preloaded with the simulator" "$(cat preload)" "umad2sim"
done

# Without the simulator's library, on a host with or without InfiniBand, it ends.
: >empty.so
output=$(IBWIRE_UMAD2SIM=$PWD/empty.so "$IBWIRE_SIM" run --gen 'rail --hosts 2' --timeout 20 -- echo up 2>&1)
status=$?
equal "with a library that cannot be loaded there is no simulation" "$status" 69
contains "and it is said" "$output" "opensm"
done_testing
