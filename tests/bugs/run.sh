#!/bin/sh
# Puts each deliberate bug into a clone of the committed tree and runs the tests that must fail. Prints a table of what
# caught it; exits with 1 if a bug survives, and with 2 if one does not compile. Arguments: the names of some bugs. The
# clone and its target directory are kept in BUGS_DIR, so that only this crate is compiled anew.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=${BUGS_DIR:-$root/target/bugs}
tree=$dir/tree
export CARGO_TARGET_DIR="$dir/target"
mkdir -p "$dir"
[ -d "$tree" ] || git clone -q --shared "$root" "$tree"
git -C "$tree" fetch -q "$root" HEAD
git -C "$tree" reset -q --hard FETCH_HEAD
[ $# -gt 0 ] || set -- $(cd "$root/tests/bugs" && ls -- *.patch | sed 's/\.patch$//')
survived=0
printf '| bug | caught by |\n| --- | --- |\n'
for name; do
    patch=$root/tests/bugs/$name.patch
    log=$dir/$name.log
    what=$(sed -n 's/^Bug: //p' "$patch")
    tests=$(sed -n 's/^Tests: //p' "$patch")
    case $tests in
        it*) target='--test it' ;;
        *) target="--package orch-agent-${tests%% *} --lib" ;;
    esac
    cd "$tree"
    git apply "$patch"
    if ! cargo test $target --no-run > "$log" 2>&1; then
        echo "$name does not compile, see $log" >&2
        exit 2
    fi
    if cargo test $target -- ${tests#* } > "$log" 2>&1; then
        survived=1
        caught='**nothing**'
    else
        caught=$(sed -n 's/^test \(.*\) \.\.\. FAILED$/`\1`/p' "$log" | sort | head -2 | paste -sd, | sed 's/,/, /g')
        count=$(grep -c '^test .* \.\.\. FAILED$' "$log" || true)
        [ "$count" -le 2 ] || caught="$caught and $((count - 2)) more"
    fi
    echo "| $what | ${caught:-see $log} |"
    git apply -R "$patch"
done
exit $survived
