#!/bin/sh
# git 2.47.3: a `+` before a refspec switches its explicit lease off.
#
# Guess:  in `git push --force-with-lease=REF:EXPECTED origin +VALUE:REF` the plus allows what is no fast-forward, and the
#         lease still says from where.
# Seen:   the lease is not compared: the push succeeds from a value that was never expected. Without the plus it is refused.
# Why:    the plus looks needed, because a reference to a blob never moves by a fast-forward. It turns a compare-and-swap
#         into an overwrite that says nothing.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export HOME="$work" GIT_CONFIG_GLOBAL="$work/settings"
git --version
git init -q --bare server.git
git init -q -b main clone
cd clone
git remote add origin ../server.git
one=$(echo 'held by one' | git hash-object -w --stdin)
two=$(echo 'held by two' | git hash-object -w --stdin)
three=$(echo 'held by three' | git hash-object -w --stdin)
git push -q origin "$one:refs/leases/task"
plain=0
git push --porcelain "--force-with-lease=refs/leases/task:$three" origin "$two:refs/leases/task" || plain=$?
plus=0
git push --porcelain "--force-with-lease=refs/leases/task:$three" origin "+$two:refs/leases/task" || plus=$?
now=$(git -C ../server.git cat-file blob refs/leases/task)
echo "without the plus: exit $plain; with it: exit $plus; on the server: $now"
if [ "$plain $plus $now" = "1 0 held by two" ]; then
    echo "seen: the plus switches the lease off"
else
    echo "no longer seen"
    exit 1
fi
