#!/bin/sh
# Real programs inside the fence of an executor: they do their work, and nothing else can be written. As this user and, if that
# is root and setpriv is there, as an ordinary one. What is not installed is skipped, and said.
#
#   tests/fence/run.sh [PROGRAM...]
#
# Without names: all of them. Exits with 0 and says so where the system permits no fence.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
orch=${ORCH:-$root/target/debug/orch}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
cp "$orch" "$place/orch"
cp "$here/in-fence.sh" "$here/w.md" "$place"
chmod 755 "$place/orch" "$place/in-fence.sh"

if [ $# -eq 0 ]; then
    set -- git linked cargo npm pytest editor
fi
programs=$*
failed=0

# Plays the programs in repositories of a user; the rest of the arguments starts a command as that user.
play() {
    name=$1
    shift
    mkdir -p "$place/$name"
    if [ "$name" = ordinary ]; then
        chown 1000:1000 "$place/$name"
    fi
    echo "$name user"
    if ! "$@" env HOME="$place/$name" PATH="$place:$PATH" GIT_CONFIG_NOSYSTEM=1 \
        CARGO_HOME="${CARGO_HOME:-$HOME/.cargo}" RUSTUP_HOME="${RUSTUP_HOME:-$HOME/.rustup}" ORCH_FENCE=required ORCH_TRUST_ONCE=1 \
        sh "$here/user.sh" "$place" "$place/$name" $programs; then
        failed=1
    fi
}

play present
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
    chmod 755 "$here"
    play ordinary setpriv --reuid=1000 --regid=1000 --clear-groups
else
    echo "skipped: an ordinary user beside this one needs root and setpriv"
fi

# Where the system permits no user namespaces, the run says so, and one that requires a fence is not started.
user=$(id -u)
[ "$user" != 0 ] || user=1000
mkdir -p "$place/denied"
if [ "$(id -u)" = 0 ]; then
    chown 1000:1000 "$place/denied"
fi
echo "a user without namespaces"
as_user() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
    else
        "$@"
    fi
}
# The limit holds in the namespace that is made for it, and ends with it.
without='echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all sh "$@"'
as_user unshare -U --map-user="$user" --map-group="$user" --keep-caps \
    env HOME="$place/denied" PATH="$place:$PATH" GIT_CONFIG_NOSYSTEM=1 ORCH_TRUST_ONCE=1 \
    sh -c "$without" sh "$here/denied.sh" "$place" > "$place/denied.log" 2>&1 || true
if grep -q "^denied: all is well$" "$place/denied.log"; then
    echo "  ok"
elif grep -q "^denied" "$place/denied.log"; then
    echo "  FAILED"
    sed 's/^/    /' "$place/denied.log"
    failed=1
else
    echo "  skipped: $(head -n 1 "$place/denied.log")"
fi
exit "$failed"
