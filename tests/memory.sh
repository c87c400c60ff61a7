#!/bin/sh
# Prints a directory in memory, if there is one with room in which programs may be executed: on a disk, the tests take a
# quarter longer.
set -eu
place=/dev/shm
room=$(df -Pk "$place" 2>/dev/null | awk 'NR == 2 && $1 == "tmpfs" { print $4 }')
[ "${room:-0}" -gt 4000000 ] || exit 0
tried=$(mktemp "$place/orch-XXXXXX") || exit 0
printf '#!/bin/sh\n' > "$tried"
chmod +x "$tried"
if "$tried" 2>/dev/null; then echo "$place"; fi
rm -f "$tried"
